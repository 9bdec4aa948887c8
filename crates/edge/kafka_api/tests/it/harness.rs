//! A server over a shard in a directory of its own, and a client that speaks in the library's messages.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use daybook_apply::ShardState;
use daybook_group_coordinator::Coordinator;
use daybook_kafka_api::{Options, Server};
use daybook_read::Reader;
use daybook_record::{BatchBuilder, Compression};
use daybook_shard::{Shard, ShardOptions, Storage, StorageOptions};
use daybook_types::{NodeId, ShardId, TimestampMs};
use daybook_world::{Disk, RealClock, RealDisk};
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::produce_response::PartitionProduceResponse;
use kafka_protocol::messages::{
    ApiKey, CreateTopicsRequest, MetadataRequest, ProduceRequest, ResponseHeader, TopicName,
};
use kafka_protocol::protocol::{Decodable, HeaderVersion, Request, StrBytes};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use uuid::Uuid;

use crate::requests;

/// No test waits longer for anything; it is no measure of anything.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Node {
    pub port: u16,
    shard: Shard,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    dir: TempDir,
}

/// Options of tests: what a default would let wait or hide is short and plain.
pub fn options() -> Options {
    Options { auto_create_topics: false, ..Options::default() }
}

impl Node {
    pub async fn start(options: Options) -> Self {
        Self::start_in(tempfile::tempdir().expect("a temporary directory"), options).await
    }

    async fn start_in(dir: TempDir, options: Options) -> Self {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(dir.path()).expect("the directory opens"));
        let wal = daybook_wal::Options { segment_bytes: 4 * 1024 * 1024, ..daybook_wal::Options::default() };
        let storage_options = StorageOptions { wal, kv: daybook_kv::Options::default() };
        let storage = Storage::open(&disk, dir.path(), Path::new("shard-0"), storage_options).expect("it is sound");
        let state = ShardState::restore(&storage.kv).expect("it is sound");
        let reader = Reader::new(state.posted(), Arc::clone(&storage.files));
        let shard_options = ShardOptions {
            node: NodeId(0),
            shard: ShardId(0),
            in_flight_bytes_max: 64 * 1024 * 1024,
            checkpoint_wal_bytes: 64 * 1024 * 1024,
            checkpoint_interval: Duration::from_secs(3600),
        };
        let shard = Shard::start(storage, state, Arc::new(RealClock), shard_options).await.expect("the shard starts");
        let topics = reader.clone();
        let coordinator =
            Coordinator::start(daybook_group_coordinator::Settings::default(), Arc::new(move || topics.catalog()));
        let addr = ([127, 0, 0, 1], 0).into();
        let server = Server::bind(addr, options, shard.door(), reader, coordinator).await.expect("a port is free");
        let port = server.local_addr().port();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.run(async move {
            let _ = stopped.await;
        }));
        Self { port, shard, stop, serving, dir }
    }

    pub async fn connect(&self) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.expect("it accepts");
        Client { stream, next_correlation_id: AtomicI32::new(1) }
    }

    /// Stops in order; the shard takes a last checkpoint.
    pub async fn stop(self) -> TempDir {
        drop(self.stop);
        timeout(PATIENCE, self.serving).await.expect("it stops").expect("it doesn't panic");
        self.shard.stop().await;
        self.dir
    }

    /// Stops and starts again: all that was in memory is in files then.
    pub async fn restart(self, options: Options) -> Self {
        Self::start_in(self.stop().await, options).await
    }
}

pub struct Client {
    pub stream: TcpStream,
    next_correlation_id: AtomicI32,
}

impl Client {
    /// Sends a request, its answer to be received later. Returns its number.
    pub async fn send<R: Request>(&mut self, version: i16, request: &R) -> i32 {
        let correlation_id = self.next_correlation_id.fetch_add(1, Ordering::Relaxed);
        let mut body = BytesMut::new();
        request.encode(&mut body, version).expect("the test's request has what its version has");
        let api = ApiKey::try_from(R::KEY).expect("the library knows its keys");
        let frame = requests::framed(api, version, correlation_id, &body);
        self.stream.write_all(&frame).await.expect("the server reads");
        correlation_id
    }

    /// The next answer. Panics if it isn't to the request of this number, or holds more than it should.
    pub async fn receive<R: Request>(&mut self, version: i16, correlation_id: i32) -> R::Response {
        let mut answer = self.receive_raw().await.expect("an answer, not the end of the connection");
        let header_version = <R::Response as HeaderVersion>::header_version(version);
        let header = ResponseHeader::decode(&mut answer, header_version).expect("a header");
        assert_eq!(header.correlation_id, correlation_id);
        let response = R::Response::decode(&mut answer, version).expect("an answer of this version");
        assert_eq!(answer.len(), 0, "bytes after the answer");
        response
    }

    /// The next answer without its length; none if the server closed the connection.
    pub async fn receive_raw(&mut self) -> Option<Bytes> {
        let mut length = [0; 4];
        match timeout(PATIENCE, self.stream.read_exact(&mut length)).await.expect("an answer in time") {
            Ok(_) => {}
            Err(_) => return None,
        }
        let mut answer = vec![0; u32::from_be_bytes(length) as usize];
        timeout(PATIENCE, self.stream.read_exact(&mut answer)).await.expect("in time").expect("the whole answer");
        Some(answer.into())
    }

    pub async fn call<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        let correlation_id = self.send(version, request).await;
        self.receive::<R>(version, correlation_id).await
    }

    /// Whether the server closes the connection without another answer.
    pub async fn is_closed(&mut self) -> bool {
        self.receive_raw().await.is_none()
    }

    pub async fn create_topic(
        &mut self,
        name: &'static str,
        partitions: i32,
        configs: &[(&'static str, &'static str)],
    ) -> Uuid {
        let config = |(name, value): &(&'static str, &'static str)| {
            CreatableTopicConfig::default().with_name(text(name)).with_value(Some(text(value)))
        };
        let topic = CreatableTopic::default()
            .with_name(topic_name(name))
            .with_num_partitions(partitions)
            .with_replication_factor(1)
            .with_configs(configs.iter().map(config).collect());
        let answer = self.call(7, &CreateTopicsRequest::default().with_topics(vec![topic])).await;
        assert_eq!(answer.topics[0].error_code, 0, "{:?}", answer.topics[0].error_message);
        answer.topics[0].topic_id
    }

    /// Produces one batch with acks=all.
    pub async fn produce(&mut self, topic: &'static str, partition: i32, batch: Bytes) -> PartitionProduceResponse {
        let request = produce_request(topic, partition, batch);
        let mut answer = self.call(9, &request).await;
        answer.responses.remove(0).partition_responses.remove(0)
    }

    pub async fn topic_names(&mut self) -> Vec<String> {
        let answer = self.call(12, &MetadataRequest::default().with_topics(None)).await;
        answer.topics.into_iter().filter_map(|topic| topic.name).map(|name| name.0.to_string()).collect()
    }
}

pub fn produce_request(topic: &'static str, partition: i32, batch: Bytes) -> ProduceRequest {
    let data = PartitionProduceData::default().with_index(partition).with_records(Some(batch));
    let topic = TopicProduceData::default().with_name(topic_name(topic)).with_partition_data(vec![data]);
    ProduceRequest::default().with_acks(-1).with_timeout_ms(1000).with_topic_data(vec![topic])
}

/// A batch of these values, without keys, at the present time.
pub fn batch(values: &[&[u8]]) -> Bytes {
    batch_at(now(), values)
}

pub fn batch_at(time: TimestampMs, values: &[&[u8]]) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::None);
    for value in values {
        builder.push(time, None, Some(value), &[]);
    }
    builder.build().expect("it has records")
}

pub fn now() -> TimestampMs {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    TimestampMs(since_epoch.as_millis() as i64)
}

/// The values of all records in a records field, which may hold several batches.
pub fn values(records: Option<Bytes>) -> Vec<(i64, Vec<u8>)> {
    let mut found = Vec::new();
    for batch in daybook_record::batches(records.unwrap_or_default()) {
        let (_, batch) = batch.expect("whole batches");
        daybook_record::verify(&batch).expect("undamaged batches");
        for record in daybook_record::records(&batch).expect("readable batches") {
            let record = record.expect("readable records");
            found.push((record.offset.0, record.value.map(|value| value.to_vec()).unwrap_or_default()));
        }
    }
    found
}

pub fn text(text: &'static str) -> StrBytes {
    StrBytes::from_static_str(text)
}

pub fn topic_name(name: &'static str) -> TopicName {
    TopicName(text(name))
}
