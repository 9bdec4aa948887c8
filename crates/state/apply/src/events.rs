//! Events: appended on conditions, and posted into the index of streams.

use bytes::Bytes;
use daybook_catalog::{TimestampKind, Topic};
use daybook_command::{AppendEvents, EventsAppended, EventsRefusal, IndexRecords};
use daybook_event::Facts;
use daybook_event_stream::{Decision, EventStreams, PostedBatch};
use daybook_kv::KvError;
use daybook_partition::{Circumstances, Fate, Partition};
use daybook_record::{BatchHeader, records};
use daybook_shard::At;
use daybook_types::{Offset, TimestampMs};

use crate::posted::leader_epoch;
use crate::state::ShardState;

/// Each record's facts, with its distance from the batch's first offset. `None`: a record can't be read.
pub(crate) fn facts(batch: &Bytes) -> Option<Vec<(i64, Facts)>> {
    let records = records(batch).ok()?;
    let base = records.header().base_offset;
    let fact = |record: daybook_record::Record| Some((record.offset.0 - base.0, Facts::of(&record).ok()?));
    records.map(|record| record.ok().and_then(fact)).collect()
}

/// Whether the records of a batch are events: not where a transaction was aborted, or is told to have ended. None is open in a topic
/// that becomes an event topic, nor can one begin.
fn counts(partition: &Partition, header: &BatchHeader) -> bool {
    let is_aborted = || partition.log().fate(header.producer_id, header.base_offset) == Fate::Aborted;
    !(header.is_control() || header.is_transactional() && is_aborted())
}

pub(crate) fn circumstances(at: At, time: TimestampMs, topic: &Topic) -> Circumstances {
    let log_append_time = topic.settings.timestamp_kind == TimestampKind::LogAppendTime;
    Circumstances { leader_epoch: leader_epoch(at.term), time, log_append_time }
}

impl ShardState {
    pub(crate) fn append_events(
        &mut self,
        at: At,
        time: TimestampMs,
        append: &AppendEvents,
    ) -> Result<Result<EventsAppended, EventsRefusal>, KvError> {
        let mut all = Vec::new();
        let mut ends = Vec::with_capacity(append.batches.len());
        for batch in &append.batches {
            let topic = batch.partition.topic;
            if !self.partitions.contains_key(&batch.partition) {
                return Ok(Err(EventsRefusal::UnknownPartition { partition: batch.partition }));
            }
            match self.streams.topic(topic) {
                None => return Ok(Err(EventsRefusal::NotEventTopic { topic })),
                Some(found) if !found.is_ready() => return Ok(Err(EventsRefusal::Indexing { topic })),
                Some(_) => {}
            }
            let Some(facts) = facts(&batch.batch) else { return Ok(Err(EventsRefusal::DamagedBatch)) };
            all.extend(facts);
            ends.push(all.len());
        }
        let decided = match self.streams.decide(append, &all)? {
            Decision::Take(decided) => decided,
            Decision::Repeat(answer) => return Ok(Ok(answer)),
            Decision::Refuse(refusal) => return Ok(Err(refusal)),
        };
        let mut posted = Vec::with_capacity(append.batches.len());
        let mut begin = 0;
        for (batch, end) in append.batches.iter().zip(ends) {
            let id = batch.partition;
            let topic = self.posted.catalog.read().topic_by_id(id.topic).cloned();
            let (Some(topic), Some(partition)) = (topic, self.partitions.get_mut(&id)) else {
                return Ok(Err(EventsRefusal::UnknownPartition { partition: id }));
            };
            // Batches without a producer's sequence are never refused, and that they can be read was seen above.
            let Ok((appended, _)) = partition.append(&batch.batch, circumstances(at, time, &topic)) else {
                return Ok(Err(EventsRefusal::DamagedBatch));
            };
            self.changed.partitions.insert(id);
            let facts = &all[begin..end];
            posted.push(PostedBatch { topic: id.topic, partition: id.index, base: appended.base_offset, facts });
            begin = end;
        }
        let first = self.streams.post(&posted)?;
        // All of it is there now.
        for batch in &append.batches {
            if let Some(partition) = self.partitions.get(&batch.partition) {
                partition.log().wake();
            }
        }
        Ok(Ok(EventStreams::appended(&decided, first, all.len())))
    }

    /// Makes the index agree with the topic's config.
    pub(crate) fn look_at_streams(&mut self, topic: &Topic) {
        match (topic.settings.streams, self.streams.topic(topic.id)) {
            (true, None) => {
                let ends = topic.partition_ids().filter_map(|id| {
                    let partition = self.partitions.get(&id)?;
                    let (start, end) = partition.log().look(|tail| (tail.start, tail.end));
                    Some((id.index, start, end))
                });
                self.streams.add_topic(topic.id, ends);
            }
            (false, Some(_)) => self.streams.drop_topic(topic.id),
            _ => {}
        }
    }

    /// A record that can't be read has no place in the index; whoever proposed it has said so.
    pub(crate) fn index_records(&mut self, index: &IndexRecords) -> Result<(), KvError> {
        let id = index.partition;
        if self.streams.pending(id.topic, id.index) != Some(index.from) || index.to <= index.from {
            return Ok(());
        }
        let Some(partition) = self.partitions.get(&id) else { return Ok(()) };
        let end = partition.log().look(|tail| tail.end);
        if !index.batch.is_empty()
            && let Some(facts) = facts(&index.batch)
            && let Ok(header) = BatchHeader::read(&index.batch)
            && counts(partition, &header)
        {
            let base = header.base_offset;
            let due: Vec<(i64, Facts)> =
                facts.into_iter().filter(|(delta, _)| Offset(base.0 + delta) >= index.from).collect();
            self.streams.post(&[PostedBatch { topic: id.topic, partition: id.index, base, facts: &due }])?;
        }
        self.streams.advance(id.topic, id.index, index.to, index.to >= end);
        partition.log().wake();
        Ok(())
    }
}
