//! The half of the index that only apply touches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_command::{
    ActualVersion, AppendEvents, AppendRefusal, EventsAppended, EventsRefusal, ExpectedVersion, StreamConflict,
    StreamSpan,
};
use daybook_event::{Expectation, Facts};
use daybook_kv::{KvError, Op, Space, Store};
use daybook_types::{FaultKind, Offset, PartitionIndex, Position, StreamVersion, TopicId};
use hashbrown::hash_map::EntryRef;
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use crate::condition::{id_term, tag_term, type_term};
use crate::decide::{Verdict, fits, judge};
use crate::generation::{Generation, Touched};
use crate::index::{Memory, StreamIndex};
use crate::stored::{Place, StoredStreamError, Stream, StreamId};
use crate::topics::{EventTopic, EventTopics, TopicNumber};

const COUNTERS_KEY: &[u8] = b"events";
const COUNTERS_FORMAT_VERSION: u8 = 1;
/// Keys of a dropped topic that one checkpoint removes.
const SWEPT_KEYS_MAX: usize = 200_000;

/// The index as apply sees it.
#[derive(Debug)]
pub struct EventStreams {
    index: Arc<StreamIndex>,
    counters: Counters,
    /// Dropped event topics whose keys are still in the index store.
    dropped: BTreeSet<TopicNumber>,
    changed_topics: BTreeSet<TopicId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    next_position: Position,
    next_stream: u64,
    next_topic: u32,
    /// Chains everything posted, in order: equal chains mean equal indexes.
    contents: u64,
}

/// A batch that the log took.
#[derive(Clone, Copy, Debug)]
pub struct PostedBatch<'a> {
    pub topic: TopicId,
    pub partition: PartitionIndex,
    /// The offset that its first record got.
    pub base: Offset,
    /// Its records, each with its distance from the first.
    pub facts: &'a [(i64, Facts)],
}

#[derive(Debug, Error)]
pub enum RestoreError {
    #[error(transparent)]
    Index(#[from] KvError),
    #[error("event topic {topic}: {source}")]
    Topic { topic: TopicId, source: StoredStreamError },
    #[error("the counters of the index of streams are malformed or of a newer format")]
    Counters,
    #[error("the index store has a malformed key in the space of event topics")]
    Key,
}

impl RestoreError {
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Index(error) => error.kind(),
            _ => FaultKind::Corrupt,
        }
    }
}

/// What to do with an append.
#[derive(Debug)]
pub enum Decision {
    Take(Decided),
    /// It was done before, with this answer.
    Repeat(EventsAppended),
    Refuse(EventsRefusal),
}

/// An append that may be done.
#[derive(Debug)]
pub struct Decided {
    /// Version of the first event of each stream that is written.
    firsts: Vec<Option<StreamVersion>>,
    /// Number in the command of the last event of each stream.
    lasts: Vec<usize>,
    counts: Vec<u64>,
}

impl EventStreams {
    pub fn empty() -> Self {
        Self::new(None, EventTopics::default(), Counters::default(), BTreeSet::new())
    }

    /// The index as of the last checkpoint.
    pub fn restore(kv: &Arc<Store>) -> Result<Self, RestoreError> {
        let mut topics = EventTopics::default();
        for item in kv.scan(Space::EventTopics, &[]) {
            let (key, value) = item?;
            let id = <[u8; 16]>::try_from(key.as_ref()).map_err(|_| RestoreError::Key)?;
            let topic = TopicId::from_bytes(id);
            topics.put(topic, EventTopic::decode(&value).map_err(|source| RestoreError::Topic { topic, source })?);
        }
        let (counters, dropped) = match kv.get(Space::Meta, COUNTERS_KEY)? {
            Some(bytes) => decode_counters(bytes).ok_or(RestoreError::Counters)?,
            None => Default::default(),
        };
        Ok(Self::new(Some(Arc::clone(kv)), topics, counters, dropped))
    }

    fn new(kv: Option<Arc<Store>>, topics: EventTopics, counters: Counters, dropped: BTreeSet<TopicNumber>) -> Self {
        let index = Arc::new(StreamIndex::new(kv, topics, counters.next_position));
        Self { index, counters, dropped, changed_topics: BTreeSet::new() }
    }

    /// The half that readers share.
    pub fn index(&self) -> &Arc<StreamIndex> {
        &self.index
    }

    /// Chain of all that was posted and the counters, for the digest.
    pub fn digest(&self) -> [u64; 4] {
        let Counters { next_position, next_stream, next_topic, contents } = self.counters;
        [next_position.0, next_stream, next_topic.into(), contents]
    }

    /// Gives a topic an index. `partitions`: where its records begin and end now; they are indexed later, by `advance`.
    pub fn add_topic(&mut self, id: TopicId, partitions: impl Iterator<Item = (PartitionIndex, Offset, Offset)>) {
        let number = TopicNumber(self.counters.next_topic);
        self.counters.next_topic += 1;
        let pending: BTreeMap<_, _> =
            partitions.filter(|(_, start, end)| start < end).map(|(index, start, _)| (index, start)).collect();
        self.chain(&[u64::from(number.0), pending.len() as u64]);
        self.index.change_topics(|topics| topics.put(id, EventTopic { number, pending }));
        self.changed_topics.insert(id);
    }

    /// Drops a topic's index, if it has one. Positions of its events stay gaps.
    pub fn drop_topic(&mut self, id: TopicId) {
        let Some(topic) = self.index.change_topics(|topics| topics.remove(id)) else { return };
        self.chain(&[u64::from(topic.number.0), u64::MAX]);
        self.index.memory.write().active.topics.remove(&topic.number);
        self.dropped.insert(topic.number);
        self.changed_topics.insert(id);
    }

    pub fn topic(&self, id: TopicId) -> Option<EventTopic> {
        self.index.topic(id)
    }

    /// Where the index of a partition stands, if it is being built.
    pub fn pending(&self, id: TopicId, partition: PartitionIndex) -> Option<Offset> {
        self.index.topics.read().get(id)?.pending.get(&partition).copied()
    }

    /// Records of a partition up to `to` are indexed; `is_done`: from now on new ones are indexed as they are appended.
    pub fn advance(&mut self, id: TopicId, partition: PartitionIndex, to: Offset, is_done: bool) {
        self.index.change_topics(|topics| {
            let Some(topic) = topics.get_mut(id) else { return };
            match is_done {
                true => topic.pending.remove(&partition),
                false => topic.pending.insert(partition, to),
            };
        });
        self.changed_topics.insert(id);
    }

    /// Decides an append. `facts`: those of all its events in order, each with its distance from its batch's first.
    pub fn decide(&self, append: &AppendEvents, facts: &[(i64, Facts)]) -> Result<Decision, KvError> {
        let streams = append.streams.len();
        let mut ids: Vec<Vec<u64>> = vec![Vec::new(); streams];
        let mut lasts = vec![0; streams];
        for (number, (_, fact)) in facts.iter().enumerate() {
            let Some(name) = &fact.stream else { continue };
            // Few streams stand in one append, so a search is quicker than a map.
            let Some(stream) = append.streams.iter().position(|stream| stream.name == *name) else {
                return Ok(Decision::Refuse(EventsRefusal::DamagedBatch));
            };
            ids[stream].push(fact.id);
            lasts[stream] = number;
        }
        let mut firsts = Vec::with_capacity(streams);
        let mut conflicts = Vec::new();
        let (mut taken, mut repeated, mut partly) = (0, 0, None);
        let mut spans = Vec::with_capacity(streams);
        for (number, (check, ids)) in append.streams.iter().zip(&ids).enumerate() {
            let stream_number = number as u32;
            let Some(topic) = self.index.topic(check.topic) else {
                return Ok(Decision::Refuse(EventsRefusal::NotEventTopic { topic: check.topic }));
            };
            if !topic.is_ready() {
                return Ok(Decision::Refuse(EventsRefusal::Indexing { topic: check.topic }));
            }
            let stream = self.index.stream_of(topic.number, &check.name)?;
            let stored_ids = |from, to| -> Result<Vec<u64>, KvError> {
                Ok(self
                    .index
                    .places_of(topic.number, &check.name, from, to)?
                    .iter()
                    .map(|(_, place)| place.id)
                    .collect())
            };
            let (mut first, mut span) = (None, None);
            match judge(stream.as_ref(), check.expected, ids, stored_ids)? {
                Verdict::Take(next) => {
                    if !ids.is_empty() {
                        taken += 1;
                        first = Some(next);
                    }
                }
                Verdict::Repeated(from) => {
                    repeated += 1;
                    let last = from.plus(ids.len() as u64 - 1);
                    let place = self.index.places_of(topic.number, &check.name, last, last.next())?;
                    let last_position = place.first().map_or(Position(0), |(_, place)| place.position);
                    span = Some(StreamSpan { first_version: from, last_version: last, last_position });
                }
                Verdict::PartlyRepeated => partly = partly.or(Some(stream_number)),
                Verdict::Conflict(actual) => conflicts.push(StreamConflict { stream: stream_number, actual }),
                Verdict::Tombstoned => {
                    return Ok(Decision::Refuse(EventsRefusal::Tombstoned { stream: stream_number }));
                }
            }
            firsts.push(first);
            spans.push(span);
        }
        if repeated > 0 && taken == 0 && partly.is_none() {
            let last_position = spans.iter().flatten().map(|span| span.last_position).max();
            return Ok(Decision::Repeat(EventsAppended { spans, last_position, repeated: true }));
        }
        if !conflicts.is_empty() {
            return Ok(Decision::Refuse(EventsRefusal::Conflicts(conflicts)));
        }
        if let Some(stream) = partly.or_else(|| spans.iter().position(Option::is_some).map(|stream| stream as u32)) {
            return Ok(Decision::Refuse(EventsRefusal::PartlyRepeated { stream }));
        }
        if let Some(condition) = &append.condition
            && let Some(position) = self.index.last_match(condition)?
        {
            if let Some(last_position) = self.repeated_without_stream(facts)? {
                return Ok(Decision::Repeat(EventsAppended {
                    spans,
                    last_position: Some(last_position),
                    repeated: true,
                }));
            }
            return Ok(Decision::Refuse(EventsRefusal::ConditionFailed { position }));
        }
        let counts = ids.iter().map(|ids| ids.len() as u64).collect();
        Ok(Decision::Take(Decided { firsts, lasts, counts }))
    }

    /// Events of no stream that all are in the log, one after the other: the position of the last.
    fn repeated_without_stream(&self, facts: &[(i64, Facts)]) -> Result<Option<Position>, KvError> {
        let Some((_, first)) = facts.first() else { return Ok(None) };
        if first.id == 0 || facts.iter().any(|(_, fact)| fact.stream.is_some()) {
            return Ok(None);
        }
        let Some(begin) = self.index.position_of_id(first.id)? else { return Ok(None) };
        for (number, (_, fact)) in facts.iter().enumerate().skip(1) {
            if fact.id == 0 || self.index.position_of_id(fact.id)? != Some(begin.plus(number as u64)) {
                return Ok(None);
            }
        }
        Ok(Some(begin.plus(facts.len() as u64 - 1)))
    }

    /// What became of an append that was posted from `first` on.
    pub fn appended(decided: &Decided, first: Position, events: usize) -> EventsAppended {
        let span = |stream: usize| {
            let first_version = decided.firsts[stream]?;
            let last_version = StreamVersion(first_version.0 + decided.counts[stream] - 1);
            let last_position = first.plus(decided.lasts[stream] as u64);
            Some(StreamSpan { first_version, last_version, last_position })
        };
        let spans = (0..decided.firsts.len()).map(span).collect();
        let last_position = (events > 0).then(|| Position(first.0 + events as u64 - 1));
        EventsAppended { spans, last_position, repeated: false }
    }

    /// Checks what Kafka's producers expect of streams, record by record. A topic without an index has none.
    pub fn check_expectations(
        &self,
        topic: TopicId,
        facts: &[(i64, Facts)],
    ) -> Result<Result<(), AppendRefusal>, KvError> {
        let Some(found) = self.index.topic(topic) else { return Ok(Ok(())) };
        let mut written: BTreeMap<&[u8], u64> = BTreeMap::new();
        for (record, (_, fact)) in facts.iter().enumerate() {
            let Some(name) = fact.stream.as_deref() else { continue };
            let before = written.entry(name).or_default();
            let already = std::mem::replace(before, *before + 1);
            let Some(expected) = fact.expected else { continue };
            if !found.is_ready() {
                return Ok(Err(AppendRefusal::Indexing { topic }));
            }
            let stream = self.index.stream_of(found.number, name)?;
            let actual = match (already, stream.as_ref().map_or(StreamVersion(0), |stream| stream.next)) {
                (0, _) => stream.as_ref().map_or(ActualVersion::None, Stream::actual),
                (already, next) => ActualVersion::At(StreamVersion(next.0 + already - 1)),
            };
            let expected = match expected {
                Expectation::Any => ExpectedVersion::Any,
                Expectation::NoStream => ExpectedVersion::NoStream,
                Expectation::Exact(version) => ExpectedVersion::Exact(version),
            };
            if !fits(expected, actual) {
                let stream = String::from_utf8_lossy(name).into_owned();
                return Ok(Err(AppendRefusal::WrongVersion { record: record as i32, stream, expected, actual }));
            }
        }
        Ok(Ok(()))
    }

    /// Posts batches of records, all at once: no reader sees some of them without the others. Those of topics without an index are
    /// left out. Returns the position of the first record.
    pub fn post(&mut self, batches: &[PostedBatch<'_>]) -> Result<Position, KvError> {
        let first = self.counters.next_position;
        let index = Arc::clone(&self.index);
        let mut memory = index.memory.write();
        for batch in batches {
            let Some(number) = index.topics.read().get(batch.topic).map(|topic| topic.number) else { continue };
            for (delta, fact) in batch.facts {
                let offset = Offset(batch.base.0 + delta);
                self.post_one(&mut memory, number, batch.partition, offset, fact)?;
            }
        }
        drop(memory);
        index.end.send_replace(self.counters.next_position);
        Ok(first)
    }

    fn post_one(
        &mut self,
        memory: &mut Memory,
        topic: TopicNumber,
        partition: PartitionIndex,
        offset: Offset,
        fact: &Facts,
    ) -> Result<(), KvError> {
        let position = self.counters.next_position;
        let mut version = None;
        if let Some(name) = fact.stream.as_deref() {
            let touched = self.touch(memory, topic, name)?;
            let stream = &mut touched.stream;
            if stream.settings.is_deleted() {
                stream.born = stream.next;
                stream.settings.truncate_before = None;
            }
            let place = Place { partition, offset, position, id: fact.id };
            touched.places.push(place);
            stream.last = Some(place);
            stream.is_tombstoned |= fact.is_tombstone();
            version = Some(stream.next);
            let told = [xxh3_64(name), stream.next.0, position.0, offset.0 as u64, partition.0 as u64, fact.id];
            stream.next = stream.next.next();
            self.chain(&told);
        } else {
            self.chain(&[position.0, offset.0 as u64, partition.0 as u64, fact.id]);
            if fact.id != 0 {
                memory.active.terms.entry(id_term(fact.id)).or_default().push(position);
            }
        }
        if let (Some(settings), Some(name)) = (fact.settings, fact.described()) {
            let touched = self.touch(memory, topic, name)?;
            touched.stream.settings = settings;
            self.chain(&[xxh3_64(name), settings.truncate_before.map_or(0, |version| version.0)]);
        }
        if let Some(name) = &fact.event_type {
            memory.active.terms.entry(type_term(name)).or_default().push(position);
        }
        for tag in &fact.tags {
            let positions = memory.active.terms.entry(tag_term(tag)).or_default();
            if positions.last() != Some(&position) {
                positions.push(position);
            }
        }
        memory.active.push(topic, partition, offset, version);
        self.counters.next_position = position.next();
        Ok(())
    }

    /// The stream in the generation that is being written, where it may be changed.
    fn touch<'a>(
        &mut self,
        memory: &'a mut Memory,
        topic: TopicNumber,
        name: &[u8],
    ) -> Result<&'a mut Touched, KvError> {
        let Memory { frozen, active } = memory;
        // One look-up for what is mostly there: this is the dearest part of posting an event.
        let slot = match active.topics.entry(topic).or_default().entry_ref(name) {
            EntryRef::Occupied(touched) => return Ok(touched.into_mut()),
            EntryRef::Vacant(slot) => slot,
        };
        let known = match frozen.iter().rev().find_map(|generation| generation.touched(topic, name)) {
            Some(touched) => Some(touched.stream.clone()),
            None => self.index.stored_stream(topic, name)?,
        };
        let stream = known.unwrap_or_else(|| {
            let id = StreamId(self.counters.next_stream);
            self.counters.next_stream += 1;
            Stream::new(id)
        });
        Ok(slot.insert(Touched { from: stream.next, stream, places: Vec::new() }))
    }

    fn chain(&mut self, words: &[u64]) {
        for word in words {
            // One step of the finaliser of SplitMix64.
            let mixed = self.counters.contents.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ word;
            let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            self.counters.contents = mixed ^ (mixed >> 31);
        }
    }

    /// Everything posted since the last call, to be written down by a checkpoint.
    pub fn freeze(&mut self) -> FrozenIndex {
        for number in std::mem::take(&mut *self.index.swept.lock()) {
            self.dropped.remove(&number);
        }
        let topics = self.index.topics.read();
        let mut ops: Vec<Op> = std::mem::take(&mut self.changed_topics)
            .into_iter()
            .map(|id| {
                let key = Bytes::copy_from_slice(id.as_bytes());
                match topics.get(id) {
                    Some(topic) => Op::Put { space: Space::EventTopics, key, value: topic.encode() },
                    None => Op::Remove { space: Space::EventTopics, key },
                }
            })
            .collect();
        drop(topics);
        let value = encode_counters(self.counters, &self.dropped);
        ops.push(Op::Put { space: Space::Meta, key: Bytes::from_static(COUNTERS_KEY), value });
        let mut memory = self.index.memory.write();
        let generation = (!memory.active.is_empty()).then(|| {
            let next = Generation::new(self.counters.next_position);
            let generation = Arc::new(std::mem::replace(&mut memory.active, next));
            memory.frozen.push(Arc::clone(&generation));
            generation
        });
        FrozenIndex { index: Arc::clone(&self.index), ops, generation, dropped: self.dropped.clone() }
    }
}

/// A part of the index on its way to the index store.
#[derive(Clone, Debug)]
pub struct FrozenIndex {
    index: Arc<StreamIndex>,
    ops: Vec<Op>,
    generation: Option<Arc<Generation>>,
    dropped: BTreeSet<TopicNumber>,
}

impl FrozenIndex {
    /// The changes of the index store.
    pub fn ops(&mut self, kv: &Store) -> Result<Vec<Op>, KvError> {
        let mut ops = std::mem::take(&mut self.ops);
        for number in &self.dropped {
            let before = ops.len();
            sweep(kv, *number, &mut ops)?;
            if ops.len() == before {
                self.index.swept.lock().push(*number);
            }
        }
        if let Some(generation) = &self.generation {
            ops.extend(generation.write());
        }
        Ok(ops)
    }

    /// The index store has it: readers find it there.
    pub fn let_go(self) {
        let Some(generation) = self.generation else { return };
        self.index.memory.write().frozen.retain(|frozen| !Arc::ptr_eq(frozen, &generation));
    }
}

/// Removes a part of the keys of a dropped topic; none is left if it adds nothing.
fn sweep(kv: &Store, topic: TopicNumber, ops: &mut Vec<Op>) -> Result<(), KvError> {
    let most = ops.len() + SWEPT_KEYS_MAX;
    for item in kv.scan(Space::Streams, &topic.0.to_be_bytes()) {
        if ops.len() >= most {
            return Ok(());
        }
        let (key, value) = item?;
        let stream = Stream::decode(&value).map_err(|fault| crate::index::malformed(Space::Streams, &fault))?;
        for item in kv.scan(Space::Versions, &stream.id.0.to_be_bytes()) {
            ops.push(Op::Remove { space: Space::Versions, key: item?.0 });
        }
        ops.push(Op::Remove { space: Space::Streams, key });
    }
    Ok(())
}

fn encode_counters(counters: Counters, dropped: &BTreeSet<TopicNumber>) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(COUNTERS_FORMAT_VERSION);
    out.put_u64(counters.next_position.0);
    out.put_u64(counters.next_stream);
    out.put_u32(counters.next_topic);
    out.put_u64(counters.contents);
    for number in dropped {
        out.put_u32(number.0);
    }
    out.freeze()
}

fn decode_counters(mut bytes: Bytes) -> Option<(Counters, BTreeSet<TopicNumber>)> {
    if bytes.len() < 29 || !(bytes.len() - 29).is_multiple_of(4) || bytes.get_u8() != COUNTERS_FORMAT_VERSION {
        return None;
    }
    let counters = Counters {
        next_position: Position(bytes.get_u64()),
        next_stream: bytes.get_u64(),
        next_topic: bytes.get_u32(),
        contents: bytes.get_u64(),
    };
    let mut dropped = BTreeSet::new();
    while bytes.has_remaining() {
        dropped.insert(TopicNumber(bytes.get_u32()));
    }
    Some((counters, dropped))
}
