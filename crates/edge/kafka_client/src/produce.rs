//! Produce: the request's frame is written here around the batches, which go from where they are to the socket.

use crate::wire::messages::{ProduceRequest, ProduceResponse};
use bytes::{BufMut, BytesMut};
use daybook_types::{Offset, PartitionIndex, ProducerEpoch, ProducerId, TopicId};

use crate::error::{KafkaCode, WireError};
use crate::wire::{Answer, Wire};

/// Which copies of a record an answer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// No answer at all.
    None,
    Leader,
    All,
}

impl Acks {
    fn code(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Leader => 1,
            Self::All => -1,
        }
    }
}

/// What makes a producer's batches recognisable when they are sent twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerIdentity {
    pub id: ProducerId,
    pub epoch: ProducerEpoch,
}

/// A record batch, encoded, and where it goes.
#[derive(Clone, Copy, Debug)]
pub struct PartitionBatch<'a> {
    pub topic: &'a str,
    /// Used instead of the name from version 13 on.
    pub topic_id: TopicId,
    pub partition: PartitionIndex,
    pub records: &'a [u8],
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducedPartition {
    /// Empty where the version names topics by id.
    pub topic: String,
    pub topic_id: TopicId,
    pub partition: PartitionIndex,
    pub code: KafkaCode,
    /// The server's own words about the code.
    pub message: Option<String>,
    /// Of the batch's first record; [`Offset::NONE`] with a code.
    pub base_offset: Offset,
}

/// From this version on lengths are varints and structs end in tagged fields.
const FLEXIBLE_VERSION: i16 = 9;
/// From this version on a topic is named by its id.
const TOPIC_ID_VERSION: i16 = 13;

impl Wire {
    /// Sends the batches as one request; those of one topic stand side by side. With [`Acks::None`] no answer
    /// comes, otherwise it is for [`Self::decode_produce`].
    pub async fn send_produce(
        &mut self,
        acks: Acks,
        timeout_ms: i32,
        batches: &[PartitionBatch<'_>],
    ) -> Result<(), WireError> {
        let has_ids = batches.iter().all(|batch| !batch.topic_id.is_none());
        let newest = if has_ids { TOPIC_ID_VERSION } else { TOPIC_ID_VERSION - 1 };
        let version = self.version_up_to::<ProduceRequest>(newest)?;
        let mut frame = self.begin_frame::<ProduceRequest>(version);
        let mut inserts = Vec::with_capacity(batches.len());
        put_body(&mut frame, version, acks, timeout_ms, batches, &mut inserts);
        self.send_frame(frame, &inserts, acks != Acks::None).await
    }

    pub fn decode_produce(&self, answer: Answer) -> Result<Vec<ProducedPartition>, WireError> {
        let response: ProduceResponse = self.decode(answer)?;
        let mut produced = Vec::new();
        for topic in response.responses {
            for row in topic.partition_responses {
                produced.push(ProducedPartition {
                    topic: topic.name.to_string(),
                    topic_id: TopicId(topic.topic_id),
                    partition: PartitionIndex(row.index),
                    code: KafkaCode(row.error_code),
                    message: row.error_message.map(|text| text.to_string()),
                    base_offset: Offset(row.base_offset),
                });
            }
        }
        Ok(produced)
    }
}

/// Appends the request's body without the batches, and notes where they belong.
pub(crate) fn put_body<'a>(
    frame: &mut BytesMut,
    version: i16,
    acks: Acks,
    timeout_ms: i32,
    batches: &[PartitionBatch<'a>],
    inserts: &mut Vec<(usize, &'a [u8])>,
) {
    let is_flexible = version >= FLEXIBLE_VERSION;
    // No transactional id.
    if is_flexible {
        frame.put_u8(0)
    } else {
        frame.put_i16(-1)
    }
    frame.put_i16(acks.code());
    frame.put_i32(timeout_ms);
    let same_topic = |a: &PartitionBatch<'_>, b: &PartitionBatch<'_>| a.topic == b.topic;
    put_length(frame, batches.chunk_by(same_topic).count(), is_flexible);
    for topic in batches.chunk_by(same_topic) {
        if version >= TOPIC_ID_VERSION {
            frame.put_slice(topic[0].topic_id.as_bytes());
        } else if is_flexible {
            put_length(frame, topic[0].topic.len(), true);
            frame.put_slice(topic[0].topic.as_bytes());
        } else {
            // A name longer than this would be refused by any broker; cut, it is refused too.
            let name = &topic[0].topic.as_bytes()[..topic[0].topic.len().min(i16::MAX as usize)];
            frame.put_i16(i16::try_from(name.len()).unwrap_or(i16::MAX));
            frame.put_slice(name);
        }
        put_length(frame, topic.len(), is_flexible);
        for batch in topic {
            frame.put_i32(batch.partition.0);
            put_length(frame, batch.records.len(), is_flexible);
            inserts.push((frame.len(), batch.records));
            put_no_tags(frame, is_flexible);
        }
        put_no_tags(frame, is_flexible);
    }
    put_no_tags(frame, is_flexible);
}

/// The length of an array, string or byte string: a varint of one more, or four bytes.
fn put_length(frame: &mut BytesMut, length: usize, is_flexible: bool) {
    let length = u32::try_from(length).unwrap_or(u32::MAX - 1);
    if !is_flexible {
        frame.put_u32(length);
        return;
    }
    let mut rest = length + 1;
    while rest >= 0x80 {
        frame.put_u8((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    frame.put_u8(rest as u8);
}

fn put_no_tags(frame: &mut BytesMut, is_flexible: bool) {
    if is_flexible {
        frame.put_u8(0);
    }
}
