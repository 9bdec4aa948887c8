//! What is encoded by hand equals what the library encodes.

use bytes::{Bytes, BytesMut};
use daybook_types::{Offset, PartitionIndex, TopicId};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{FetchRequest, ProduceRequest, TopicName};
use kafka_protocol::protocol::{Decodable, Encodable, Message, StrBytes};

use crate::fetch::fetch_request;
use crate::groups::assignment;
use crate::produce::put_body;
use crate::{Acks, FetchLimits, FetchPosition, KafkaCode, PartitionBatch};

fn by_hand(version: i16, acks: Acks, batches: &[PartitionBatch<'_>]) -> Vec<u8> {
    let (mut frame, mut inserts) = (BytesMut::new(), Vec::new());
    put_body(&mut frame, version, acks, 1234, batches, &mut inserts);
    let (mut whole, mut from) = (Vec::new(), 0);
    for (at, piece) in inserts {
        whole.extend_from_slice(&frame[from..at]);
        whole.extend_from_slice(piece);
        from = at;
    }
    whole.extend_from_slice(&frame[from..]);
    whole
}

fn by_library(version: i16, acks: i16, batches: &[PartitionBatch<'_>]) -> Vec<u8> {
    let topics = batches.chunk_by(|a, b| a.topic == b.topic).map(|of_topic| {
        let partition = |batch: &PartitionBatch<'_>| {
            PartitionProduceData::default()
                .with_index(batch.partition.0)
                .with_records(Some(Bytes::copy_from_slice(batch.records)))
        };
        let topic = TopicProduceData::default().with_partition_data(of_topic.iter().map(partition).collect());
        if version >= 13 {
            topic.with_topic_id(of_topic[0].topic_id.0)
        } else {
            topic.with_name(TopicName(StrBytes::from_string(of_topic[0].topic.to_owned())))
        }
    });
    let request = ProduceRequest::default()
        .with_transactional_id(None)
        .with_acks(acks)
        .with_timeout_ms(1234)
        .with_topic_data(topics.collect());
    let mut encoded = BytesMut::new();
    request.encode(&mut encoded, version).expect("the library encodes its own message");
    encoded.to_vec()
}

#[test]
fn produce_equals_the_librarys_in_every_version() {
    let long = vec![7; 20_000];
    let batch = |topic, index, records| PartitionBatch {
        topic,
        topic_id: TopicId::from_bytes([index as u8 + 1; 16]),
        partition: PartitionIndex(index),
        records,
    };
    let cases: [&[PartitionBatch<'_>]; 4] = [
        &[],
        &[batch("a", 0, b"".as_slice())],
        &[batch("orders", 3, b"records".as_slice()), batch("orders", 4, &long)],
        &[batch("one", 0, &long), batch("two", 1, b"x".as_slice()), batch("two", 2, b"yy".as_slice())],
    ];
    for version in ProduceRequest::VERSIONS.min..=ProduceRequest::VERSIONS.max {
        for batches in cases {
            for (acks, code) in [(Acks::None, 0), (Acks::Leader, 1), (Acks::All, -1)] {
                assert_eq!(by_hand(version, acks, batches), by_library(version, code, batches), "version {version}");
            }
        }
    }
}

#[test]
fn fetch_names_topics_as_its_version_asks() {
    let id = TopicId::from_bytes([9; 16]);
    let positions =
        [0, 1].map(|p| FetchPosition { topic: "t", topic_id: id, partition: PartitionIndex(p), offset: Offset(5) });
    for version in FetchRequest::VERSIONS.min..=FetchRequest::VERSIONS.max {
        let mut encoded = BytesMut::new();
        fetch_request(version, FetchLimits::default(), &positions).encode(&mut encoded, version).expect("encodes");
        let back = FetchRequest::decode(&mut encoded.freeze(), version).expect("decodes");
        assert_eq!(back.topics.len(), 1);
        assert_eq!(back.topics[0].partitions.len(), 2);
        assert_eq!(back.topics[0].partitions[1].fetch_offset, 5);
        if version >= 13 {
            assert_eq!(back.topics[0].topic_id, id.0);
        } else {
            assert_eq!(&**back.topics[0].topic, "t");
        }
    }
}

#[test]
fn codes_are_shown_by_their_names_in_kafkas_documentation() {
    assert_eq!(KafkaCode(0).to_string(), "NONE");
    assert_eq!(KafkaCode(3).to_string(), "UNKNOWN_TOPIC_OR_PARTITION");
    assert_eq!(KafkaCode(46).to_string(), "DUPLICATE_SEQUENCE_NUMBER");
    assert_eq!(KafkaCode(9999).to_string(), "error code 9999");
    assert!(KafkaCode::NOT_LEADER_OR_FOLLOWER.is_retriable() && !KafkaCode::TOPIC_ALREADY_EXISTS.is_retriable());
}

#[test]
fn assignments_of_consumers_are_read_and_others_are_not() {
    let bytes = b"\0\x01\0\0\0\x01\0\x02ab\0\0\0\x02\0\0\0\x03\0\0\0\x04\xff\xff\xff\xff";
    let read = assignment(Bytes::from_static(bytes)).expect("an assignment");
    let read: Vec<_> = read.iter().map(|p| (p.topic.as_str(), p.partition.0)).collect();
    assert_eq!(read, [("ab", 3), ("ab", 4)]);
    for length in 0..bytes.len() - 4 {
        assert!(assignment(Bytes::copy_from_slice(&bytes[..length])).is_none(), "cut at {length}");
    }
}
