//! Which broker the tests talk to, and what they ask of it apart from records.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use daybook_test_server::{Launch, Server, eventually};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::producer::{BaseProducer, Producer};
use rdkafka::types::RDKafkaErrorCode;
use tempfile::TempDir;

/// How long anything may take on a machine that does much else.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A broker to be tested instead of ours.
const STAND_IN: &str = "DAYBOOK_TEST_BOOTSTRAP";

pub fn stand_in() -> Option<&'static str> {
    static STAND_IN_ADDRESS: OnceLock<Option<String>> = OnceLock::new();
    STAND_IN_ADDRESS.get_or_init(|| std::env::var(STAND_IN).ok()).as_deref()
}

/// Address of the broker that all tests share.
pub fn shared() -> &'static str {
    static SHARED: OnceLock<(Server, TempDir)> = OnceLock::new();
    stand_in().unwrap_or_else(|| {
        let (server, _) = SHARED.get_or_init(|| {
            let data = TempDir::new().unwrap();
            (launch(&data).remove_data().start().unwrap(), data)
        });
        server.kafka()
    })
}

/// How a server of a test's own is started: groups don't wait for members that might come.
pub fn launch(data: &TempDir) -> Launch {
    Launch::on(data.path()).set("group.initial_rebalance_delay_ms", "100")
}

/// A name that no other test has, nor an earlier run on the same broker.
pub fn unique(name: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("daybook-clients-{}-{}-{name}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub fn client(bootstrap: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap);
    // Those who wait for a broker that comes back shouldn't wait for their own pauses.
    config.set("reconnect.backoff.ms", "10").set("reconnect.backoff.max.ms", "100");
    config
}

pub fn admin(bootstrap: &str) -> AdminClient<DefaultClientContext> {
    client(bootstrap).create().unwrap()
}

pub fn admin_options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(PATIENCE)).operation_timeout(Some(PATIENCE))
}

/// Runs what another thread of librdkafka will finish.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(2 * PATIENCE, future).await.expect("finished in time") })
}

/// Creates a topic that only this test has, and returns its name.
pub fn new_topic(bootstrap: &str, name: &str, partitions: i32, configs: &[(&str, &str)]) -> String {
    let name = unique(name);
    create_topic(bootstrap, &name, partitions, configs).unwrap();
    name
}

/// Creates a topic and waits until it has leaders.
pub fn create_topic(
    bootstrap: &str,
    name: &str,
    partitions: i32,
    configs: &[(&str, &str)],
) -> Result<(), RDKafkaErrorCode> {
    let mut topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
    topic.config.extend_from_slice(configs);
    let results = block_on(admin(bootstrap).create_topics([&topic], &admin_options())).unwrap();
    assert_eq!(results.len(), 1);
    results[0].as_ref().map_err(|(_, code)| *code)?;
    await_topic(bootstrap, name, partitions);
    Ok(())
}

/// Waits until every partition of a topic is known to have a leader.
pub fn await_topic(bootstrap: &str, name: &str, partitions: i32) {
    let asker: BaseProducer = client(bootstrap).create().unwrap();
    eventually(&format!("topic {name} is led"), PATIENCE, || {
        let metadata = asker.client().fetch_metadata(Some(name), PATIENCE).map_err(|error| error.to_string())?;
        let found = metadata.topics()[0].partitions();
        let led = found.iter().filter(|partition| partition.leader() >= 0).count();
        if led == partitions as usize { Ok(()) } else { Err(format!("{led} of {} partitions are led", found.len())) }
    });
}

/// Names of all topics.
pub fn topic_names(bootstrap: &str) -> Vec<String> {
    let asker: BaseProducer = client(bootstrap).create().unwrap();
    let metadata = asker.client().fetch_metadata(None, PATIENCE).unwrap();
    metadata.topics().iter().map(|topic| topic.name().to_owned()).collect()
}

/// First offset and the one after the last.
pub fn watermarks(bootstrap: &str, topic: &str, partition: i32) -> (i64, i64) {
    let asker: BaseProducer = client(bootstrap).create().unwrap();
    asker.client().fetch_watermarks(topic, partition, PATIENCE).unwrap()
}
