//! `bench events`: the event store through its leanest doors, conditional produce and HTTP.

mod append;
mod fill;
mod read;

use daybook_event::{NewEvent, header, push};
use daybook_kafka_client::{Acks, Cluster, NewTopic, TopicView};
use daybook_record::{BatchBuilder, Compression};
use rand::Rng;

use crate::bench::arguments::{EventsBench, EventsCommand, Load};
use crate::bench::payload;
use crate::bench::report::Report;
use crate::commands::topic::wait_until_led;
use crate::session::Session;

pub async fn run(session: &Session, bench: &EventsBench) -> anyhow::Result<Report> {
    match &bench.what {
        EventsCommand::Append { writers, connections, streams, events, span } => {
            let connections = connections.unwrap_or(*writers).min(*writers);
            append::run(session, bench, *writers, connections, *streams, *events, span).await
        }
        EventsCommand::Fill { streams, events, plain } => fill::run(session, bench, *streams, *events, *plain).await,
        EventsCommand::Read { streams, readers, events, http, span } => {
            read::run(session, bench, *streams, *readers, *events, http, span).await
        }
    }
}

/// The topic, made if there is none.
async fn topic(cluster: &mut Cluster, name: &str, with_streams: bool) -> anyhow::Result<TopicView> {
    if let Ok(topic) = cluster.topic(name, false).await {
        return Ok(topic);
    }
    let configs = vec![("daybook.streams".to_owned(), with_streams.to_string())];
    cluster.create_topic(&NewTopic { name: name.to_owned(), partitions: Some(1), replication: None, configs }).await?;
    wait_until_led(cluster, name).await
}

/// Builds events whose data is random, so that nothing on the way can compress it.
struct Events {
    data: Vec<u8>,
    next_id: u64,
}

impl Events {
    fn new(bytes: u32, seed: u64) -> Self {
        let mut data = vec![0; bytes as usize];
        rand::rng().fill(data.as_mut_slice());
        Self { data, next_id: seed << 40 }
    }

    /// `expected`: the header's text.
    fn push(&mut self, batch: &mut BatchBuilder, stream: &str, expected: Option<String>) {
        self.next_id += 1;
        let event = NewEvent {
            id: format!("{:032x}", self.next_id),
            event_type: "measured".to_owned(),
            data: self.data.clone().into(),
            ..NewEvent::default()
        };
        let now = payload::now();
        match expected {
            None => push(batch, now, Some(stream), &event),
            Some(expected) => {
                // The condition is a header that only Kafka's clients set, so it is not a field of an event.
                let headers = vec![(header::EXPECTED_VERSION.to_owned(), Some(expected.into()))];
                push(batch, now, Some(stream), &NewEvent { headers, ..event });
            }
        }
    }
}

fn batch() -> BatchBuilder {
    BatchBuilder::new(Compression::None)
}

/// What the report says of the load.
fn load(bench: &EventsBench, connections: u16, events: u32, batch_bytes: usize) -> Load {
    Load {
        record_bytes: bench.event_bytes,
        partitions: 1,
        connections,
        acks: Acks::All,
        compression: Compression::None,
        batch_bytes: batch_bytes as u64,
        in_flight: events.min(u32::from(u16::MAX)) as u16,
        topic: Some(bench.topic.clone()),
        configs: Vec::new(),
        keep_topic: true,
        pid: bench.pid,
        threads: bench.threads,
    }
}
