//! Fetch: what is asked for, and the answer's record bytes as they lie in the frame.

use crate::wire::messages::fetch_request::{FetchPartition, FetchTopic};
use crate::wire::messages::{FetchRequest, FetchResponse, TopicName};
use bytes::Bytes;
use daybook_types::{Offset, PartitionIndex, TopicId};

use crate::error::{KafkaCode, WireError};
use crate::topics::text;
use crate::wire::{Answer, Wire};

/// Where to read.
#[derive(Clone, Debug)]
pub struct FetchPosition<'a> {
    pub topic: &'a str,
    /// Used instead of the name from version 13 on.
    pub topic_id: TopicId,
    pub partition: PartitionIndex,
    pub offset: Offset,
}

/// How much, and how long to wait for it.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    pub wait_ms_max: i32,
    pub bytes_min: i32,
    pub bytes_max: i32,
    pub partition_bytes_max: i32,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { wait_ms_max: 500, bytes_min: 1, bytes_max: 50 * 1024 * 1024, partition_bytes_max: 1024 * 1024 }
    }
}

#[derive(Clone, Debug)]
pub struct FetchedPartition {
    /// Empty where the version names topics by id.
    pub topic: String,
    pub topic_id: TopicId,
    pub partition: PartitionIndex,
    pub code: KafkaCode,
    pub high_watermark: Offset,
    pub log_start: Offset,
    /// Whole batches, and perhaps a cut one at the end; the first may start before the offset asked for.
    pub records: Bytes,
}

/// From this version on a topic is named by its id.
const TOPIC_ID_VERSION: i16 = 13;

impl Wire {
    /// Asks for records; positions of one topic stand side by side. The answer is for [`Wire::decode_fetch`].
    pub async fn send_fetch(&mut self, limits: FetchLimits, positions: &[FetchPosition<'_>]) -> Result<(), WireError> {
        let has_ids = positions.iter().all(|position| !position.topic_id.is_none());
        let newest = if has_ids { i16::MAX } else { TOPIC_ID_VERSION - 1 };
        let version = self.version_up_to::<FetchRequest>(newest)?;
        self.send_version(&fetch_request(version, limits, positions), version).await
    }

    /// The partitions of an answer, or the code that stands for all of them.
    pub fn decode_fetch(&self, answer: Answer) -> Result<Result<Vec<FetchedPartition>, KafkaCode>, WireError> {
        let response: FetchResponse = self.decode(answer)?;
        if let Err(code) = KafkaCode::check(response.error_code) {
            return Ok(Err(code));
        }
        let mut fetched = Vec::new();
        for topic in response.responses {
            for partition in topic.partitions {
                fetched.push(FetchedPartition {
                    topic: topic.topic.to_string(),
                    topic_id: TopicId(topic.topic_id),
                    partition: PartitionIndex(partition.partition_index),
                    code: KafkaCode(partition.error_code),
                    high_watermark: Offset(partition.high_watermark),
                    log_start: Offset(partition.log_start_offset),
                    records: partition.records.unwrap_or_default(),
                });
            }
        }
        Ok(Ok(fetched))
    }
}

pub(crate) fn fetch_request(version: i16, limits: FetchLimits, positions: &[FetchPosition<'_>]) -> FetchRequest {
    let topics = positions.chunk_by(|a, b| a.topic == b.topic).map(|of_topic| {
        let partition = |position: &FetchPosition<'_>| {
            FetchPartition::default()
                .with_partition(position.partition.0)
                .with_current_leader_epoch(-1)
                .with_fetch_offset(position.offset.0)
                .with_last_fetched_epoch(-1)
                .with_log_start_offset(-1)
                .with_partition_max_bytes(limits.partition_bytes_max)
        };
        let topic = FetchTopic::default().with_partitions(of_topic.iter().map(partition).collect());
        if version >= TOPIC_ID_VERSION {
            topic.with_topic_id(of_topic[0].topic_id.0)
        } else {
            topic.with_topic(TopicName(text(of_topic[0].topic)))
        }
    });
    FetchRequest::default()
        .with_replica_id((-1).into())
        .with_max_wait_ms(limits.wait_ms_max)
        .with_min_bytes(limits.bytes_min)
        .with_max_bytes(limits.bytes_max)
        // No session: every request names all its partitions.
        .with_session_id(0)
        .with_session_epoch(-1)
        .with_topics(topics.collect())
}
