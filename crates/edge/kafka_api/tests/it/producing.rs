//! Produce: what is taken, what is refused, and in which order it is answered.

use bytes::{Bytes, BytesMut};
use daybook_kafka_api::Options;
use daybook_record::{BatchBuilder, Compression};
use daybook_types::{ProducerEpoch, ProducerId, TimestampMs};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{InitProducerIdRequest, MetadataRequest, ProduceRequest, TransactionalId};
use uuid::Uuid;

use crate::harness::{Node, batch, batch_at, now, options, produce_request, text};

const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const CORRUPT_MESSAGE: i16 = 2;
const MESSAGE_TOO_LARGE: i16 = 10;
const INVALID_REQUIRED_ACKS: i16 = 21;
const INVALID_TIMESTAMP: i16 = 32;
const INVALID_REQUEST: i16 = 42;
const OUT_OF_ORDER_SEQUENCE_NUMBER: i16 = 45;
const TRANSACTIONAL_ID_AUTHORIZATION_FAILED: i16 = 53;
const UNSUPPORTED_COMPRESSION_TYPE: i16 = 76;
const INVALID_RECORD: i16 = 87;
const UNKNOWN_TOPIC_ID: i16 = 100;

#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_are_answered_in_their_order() {
    let node = Node::start(Options { connection_in_flight_requests_max: 8, ..options() }).await;
    let mut client = node.connect().await;
    client.create_topic("t", 2, &[]).await;
    let mut numbers = Vec::new();
    for at in 0..100 {
        // Every tenth is refused at the door, and must not overtake.
        let topic = if at % 10 == 9 { "unknown" } else { "t" };
        numbers.push((topic, client.send(9, &produce_request(topic, at % 2, batch(&[b"a", b"b"]))).await));
    }
    let metadata = client.send(12, &MetadataRequest::default().with_topics(None)).await;
    let mut next = [0, 0];
    for (at, (topic, number)) in numbers.into_iter().enumerate() {
        let answer = client.receive::<ProduceRequest>(9, number).await;
        let partition = &answer.responses[0].partition_responses[0];
        if topic == "unknown" {
            assert_eq!((partition.error_code, partition.base_offset), (UNKNOWN_TOPIC_OR_PARTITION, -1));
        } else {
            assert_eq!((partition.error_code, partition.base_offset), (0, next[at % 2]), "request {at}");
            next[at % 2] += 2;
        }
    }
    client.receive::<MetadataRequest>(12, metadata).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_acks_there_is_no_answer_and_an_error_closes() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[]).await;
    let silent = produce_request("t", 0, batch(&[b"a"])).with_acks(0);
    client.send(9, &silent).await;
    client.send(9, &silent).await;
    // The next answer is that of the next request.
    assert_eq!(client.produce("t", 0, batch(&[b"a"])).await.base_offset, 2);
    client.send(9, &produce_request("unknown", 0, batch(&[b"a"])).with_acks(0)).await;
    assert!(client.is_closed().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_partition_refused_keeps_no_other_out() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 2, &[]).await;
    let data = |index| PartitionProduceData::default().with_index(index).with_records(Some(batch(&[b"a"])));
    let mut request = produce_request("t", 0, batch(&[b"a"]));
    request.topic_data[0].partition_data = vec![data(0), data(5), data(1)];
    let answer = client.call(9, &request).await;
    let outcomes: Vec<_> =
        answer.responses[0].partition_responses.iter().map(|p| (p.index, p.error_code, p.base_offset)).collect();
    assert_eq!(outcomes, [(0, 0, 0), (5, UNKNOWN_TOPIC_OR_PARTITION, -1), (1, 0, 0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn acks_are_none_one_or_all() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[]).await;
    for (acks, code) in [(-1, 0), (1, 0), (2, INVALID_REQUIRED_ACKS), (-2, INVALID_REQUIRED_ACKS)] {
        let answer = client.call(9, &produce_request("t", 0, batch(&[b"a"])).with_acks(acks)).await;
        assert_eq!(answer.responses[0].partition_responses[0].error_code, code, "acks {acks}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_are_named_by_id_in_the_newest_version() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    let id = client.create_topic("t", 1, &[]).await;
    let by_id = |id: Uuid| {
        let data = PartitionProduceData::default().with_index(0).with_records(Some(batch(&[b"a"])));
        let topic = TopicProduceData::default().with_topic_id(id).with_partition_data(vec![data]);
        ProduceRequest::default().with_acks(-1).with_topic_data(vec![topic])
    };
    let answer = client.call(13, &by_id(id)).await;
    assert_eq!((answer.responses[0].topic_id, answer.responses[0].partition_responses[0].error_code), (id, 0));
    let unknown = Uuid::from_u128(1);
    let answer = client.call(13, &by_id(unknown)).await;
    assert_eq!(
        (answer.responses[0].topic_id, answer.responses[0].partition_responses[0].error_code),
        (unknown, UNKNOWN_TOPIC_ID)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_takes_exactly_one_whole_batch() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[]).await;
    let one = batch(&[b"a"]);
    let two = Bytes::from([&one[..], &one[..]].concat());
    assert_eq!(client.produce("t", 0, two).await.error_code, INVALID_RECORD);
    assert_eq!(client.produce("t", 0, Bytes::new()).await.error_code, INVALID_RECORD);
    assert_eq!(client.produce("t", 0, one.slice(..one.len() - 1)).await.error_code, CORRUPT_MESSAGE);
    let mut damaged = BytesMut::from(&one[..]);
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let refused = client.produce("t", 0, damaged.freeze()).await;
    assert_eq!(refused.error_code, CORRUPT_MESSAGE);
    assert!(refused.error_message.is_some_and(|message| message.contains("checksum")));
    let mut old = BytesMut::from(&one[..]);
    old[16] = 1;
    assert_eq!(client.produce("t", 0, old.freeze()).await.error_code, INVALID_RECORD);
    let mut control = BatchBuilder::new(Compression::None).control(true);
    control.push(now(), Some(b"\0\0\0\0"), Some(b""), &[]);
    assert_eq!(client.produce("t", 0, control.build().expect("a batch")).await.error_code, INVALID_RECORD);
    assert_eq!(client.produce("t", 0, one).await.base_offset, 0);
}

/// The batch says that it has `count` records, whatever it has; its checksum is right.
fn claiming(batch: &Bytes, count: i32) -> Bytes {
    let mut claiming = BytesMut::from(&batch[..]);
    claiming[23..27].copy_from_slice(&(count - 1).to_be_bytes());
    claiming[57..61].copy_from_slice(&count.to_be_bytes());
    let header = daybook_record::BatchHeader::read(&claiming).expect("a header");
    let mut check = daybook_record::CrcCheck::new(&header);
    check.update(&claiming);
    let Err(daybook_record::BatchError::Crc { computed, .. }) = check.finish() else { return claiming.freeze() };
    claiming[17..21].copy_from_slice(&computed.to_be_bytes());
    claiming.freeze()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_has_as_many_records_as_it_claims() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[]).await;
    let two = batch(&[b"a", b"b"]);
    for (count, code) in [(1, INVALID_RECORD), (3, INVALID_RECORD), (1_000_000, INVALID_RECORD), (2, 0)] {
        assert_eq!(client.produce("t", 0, claiming(&two, count)).await.error_code, code, "{count}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_as_large_as_its_topic_allows() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    let fits = batch(&[&[7; 900]]);
    client.create_topic("t", 1, &[("max.message.bytes", "970")]).await;
    assert_eq!(fits.len(), 970, "the test's batch has the topic's limit");
    assert_eq!(client.produce("t", 0, fits).await.error_code, 0);
    assert_eq!(client.produce("t", 0, batch(&[&[7; 901]])).await.error_code, MESSAGE_TOO_LARGE);
}

#[tokio::test(flavor = "multi_thread")]
async fn timestamps_lie_within_the_topics_window() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client
        .create_topic(
            "t",
            1,
            &[("message.timestamp.before.max.ms", "60000"), ("message.timestamp.after.max.ms", "60000")],
        )
        .await;
    let at = |shift_ms: i64| batch_at(TimestampMs(now().0 + shift_ms), &[b"a"]);
    assert_eq!(client.produce("t", 0, at(0)).await.error_code, 0);
    assert_eq!(client.produce("t", 0, at(-120_000)).await.error_code, INVALID_TIMESTAMP);
    assert_eq!(client.produce("t", 0, at(120_000)).await.error_code, INVALID_TIMESTAMP);
    assert_eq!(client.produce("t", 0, batch_at(TimestampMs::NONE, &[b"a"])).await.error_code, 0);
    client
        .create_topic(
            "log-time",
            1,
            &[("message.timestamp.type", "LogAppendTime"), ("message.timestamp.after.max.ms", "60000")],
        )
        .await;
    let taken = client.produce("log-time", 0, at(120_000)).await;
    assert_eq!(taken.error_code, 0);
    assert!((now().0 - taken.log_append_time_ms).abs() < 60_000, "the log's time is about now");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compacted_topic_takes_only_records_with_keys() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[("cleanup.policy", "compact")]).await;
    let mut mixed = BatchBuilder::new(Compression::Zstd);
    for key in [Some(b"k"), None, Some(b"k"), None] {
        mixed.push(now(), key.map(|key| &key[..]), Some(b"v"), &[]);
    }
    let refused = client.produce("t", 0, mixed.build().expect("a batch")).await;
    assert_eq!(refused.error_code, INVALID_RECORD);
    let at_fault: Vec<_> = refused.record_errors.iter().map(|record| record.batch_index).collect();
    assert_eq!(at_fault, [1, 3]);
    let mut keyed = BatchBuilder::new(Compression::Gzip);
    keyed.push(now(), Some(b"k"), None, &[]);
    assert_eq!(client.produce("t", 0, keyed.build().expect("a batch")).await.error_code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn zstd_needs_a_version_that_knows_it() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[]).await;
    let mut zstd = BatchBuilder::new(Compression::Zstd);
    zstd.push(now(), None, Some(b"v"), &[]);
    let request = produce_request("t", 0, zstd.build().expect("a batch"));
    for (version, code) in [(6, UNSUPPORTED_COMPRESSION_TYPE), (7, 0)] {
        let answer = client.call(version, &request).await;
        assert_eq!(answer.responses[0].partition_responses[0].error_code, code, "version {version}");
    }
}

fn without_transactions() -> InitProducerIdRequest {
    InitProducerIdRequest::default().with_transactional_id(None)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotent_producers_batch_is_written_once() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[]).await;
    let given = client.call(5, &without_transactions().with_producer_id((-1).into()).with_producer_epoch(-1)).await;
    let other = client.call(0, &without_transactions()).await;
    assert_eq!((given.error_code, given.producer_epoch, other.error_code), (0, 0, 0));
    assert_ne!(given.producer_id, other.producer_id);
    let batch = |sequence| {
        let producer = ProducerId(given.producer_id.0);
        let mut batch = BatchBuilder::new(Compression::None).producer(producer, ProducerEpoch(0), sequence);
        batch.push(now(), None, Some(b"v"), &[]);
        batch.build().expect("a batch")
    };
    for (sequence, code, offset) in
        [(0, 0, 0), (1, 0, 1), (0, 0, 0), (1, 0, 1), (3, OUT_OF_ORDER_SEQUENCE_NUMBER, -1), (2, 0, 2)]
    {
        let answer = client.produce("t", 0, batch(sequence)).await;
        assert_eq!((answer.error_code, answer.base_offset), (code, offset), "sequence {sequence}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transactional_batch_needs_a_transactional_id_and_an_id_is_not_empty() {
    let node = Node::start(options()).await;
    let mut client = node.connect().await;
    client.create_topic("t", 1, &[]).await;
    let half_an_id = without_transactions().with_producer_id(5.into()).with_producer_epoch(-1);
    assert_eq!(client.call(4, &half_an_id).await.error_code, INVALID_REQUEST);
    let with_empty_id = InitProducerIdRequest::default().with_transactional_id(Some(TransactionalId(text(""))));
    assert_eq!(client.call(4, &with_empty_id).await.error_code, INVALID_REQUEST);
    let mut batch =
        BatchBuilder::new(Compression::None).producer(ProducerId(1), ProducerEpoch(0), 0).transactional(true);
    batch.push(now(), None, Some(b"v"), &[]);
    let refused = client.produce("t", 0, batch.build().expect("a batch")).await;
    assert_eq!(refused.error_code, TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
}
