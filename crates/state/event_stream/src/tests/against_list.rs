//! Whatever is looked up must be what a plain list of all events says, wherever checkpoints and restarts fall.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use daybook_command::{AppendCondition, TermQuery};
use daybook_event::Facts;
use daybook_kv::{Options, Store};
use daybook_types::{Offset, PartitionIndex, Position, StreamVersion, TopicId};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::streams::{EventStreams, FrozenIndex, PostedBatch};
use crate::{Order, Place};

const PARTITIONS: i32 = 3;

#[derive(Clone, Debug)]
enum Step {
    /// Events of one batch: stream (`None`: of no stream), type, tags.
    Post(i32, Vec<(Option<u8>, u8, Vec<u8>)>),
    /// A checkpoint begins.
    Freeze,
    /// The oldest checkpoint that began is in the store.
    Publish,
    /// Everything is written down and read anew.
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let event = (proptest::option::weighted(0.9, 0..12_u8), 0..4_u8, proptest::collection::vec(0..5_u8, 0..3));
    let post = (0..PARTITIONS, proptest::collection::vec(event, 1..20)).prop_map(|(p, events)| Step::Post(p, events));
    let step = prop_oneof![6 => post, 2 => Just(Step::Freeze), 2 => Just(Step::Publish), 1 => Just(Step::Restart)];
    proptest::collection::vec(step, 1..40)
}

#[derive(Clone, Debug)]
struct Listed {
    stream: Option<(Bytes, StreamVersion)>,
    event_type: u8,
    tags: Vec<u8>,
    partition: i32,
    offset: Offset,
}

struct Bed {
    dir: TempDir,
    topic: TopicId,
    kv: Arc<Store>,
    streams: EventStreams,
    frozen: Vec<FrozenIndex>,
    list: Vec<Listed>,
    ends: BTreeMap<i32, Offset>,
    versions: BTreeMap<Bytes, u64>,
}

fn open(dir: &Path) -> Arc<Store> {
    Arc::new(Store::open(dir, Options::default()).expect("the store opens"))
}

impl Bed {
    fn new() -> Self {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let kv = open(&dir.path().join("0"));
        let mut streams = EventStreams::restore(&kv).expect("an empty store is an empty index");
        let topic = TopicId::from_bytes([7; 16]);
        streams.add_topic(topic, std::iter::empty());
        let (frozen, list, ends, versions) = Default::default();
        Self { dir, topic, kv, streams, frozen, list, ends, versions }
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Post(partition, events) => self.post(*partition, events),
            Step::Freeze => self.frozen.push(self.streams.freeze()),
            Step::Publish => self.publish(),
            Step::Restart => {
                self.frozen.push(self.streams.freeze());
                while !self.frozen.is_empty() {
                    self.publish();
                }
                let before = self.streams.digest();
                self.streams = EventStreams::restore(&self.kv).expect("what was written can be read");
                assert_eq!(self.streams.digest(), before);
            }
        }
    }

    fn post(&mut self, partition: i32, events: &[(Option<u8>, u8, Vec<u8>)]) {
        let base = *self.ends.entry(partition).or_default();
        let mut facts = Vec::new();
        for (delta, (stream, event_type, tags)) in events.iter().enumerate() {
            let name = stream.map(|stream| Bytes::from(format!("s-{stream}")));
            facts.push((
                delta as i64,
                Facts {
                    stream: name.clone(),
                    id: self.list.len() as u64 + 1,
                    event_type: Some(Bytes::copy_from_slice(&[*event_type])),
                    tags: tags.iter().map(|tag| Bytes::copy_from_slice(&[*tag])).collect(),
                    expected: None,
                    settings: None,
                    is_null: false,
                },
            ));
            let stream = name.map(|name| {
                let version = self.versions.entry(name.clone()).or_default();
                *version += 1;
                (name, StreamVersion(*version - 1))
            });
            let offset = Offset(base.0 + delta as i64);
            self.list.push(Listed { stream, event_type: *event_type, tags: tags.clone(), partition, offset });
        }
        self.ends.insert(partition, Offset(base.0 + events.len() as i64));
        let batch = PostedBatch { topic: self.topic, partition: PartitionIndex(partition), base, facts: &facts };
        self.streams.post(&[batch]).expect("the store can be read");
    }

    fn publish(&mut self) {
        if self.frozen.is_empty() {
            return;
        }
        let mut frozen = self.frozen.remove(0);
        let ops = frozen.ops(&self.kv).expect("the store can be read");
        self.kv.commit(ops).expect("the store can be written");
        frozen.let_go();
    }

    /// Looks at everything from some places and compares it with the list.
    fn check(&self) {
        let index = self.streams.index();
        let end = self.list.len() as u64;
        assert_eq!(*index.end().borrow(), Position(end));
        for from in [0, 1, end / 3, end / 2, end.saturating_sub(1), end, end + 5] {
            self.check_order(Position(from));
            for item in [query(&[1], &[]), query(&[], &[2]), query(&[0, 3], &[1]), query(&[], &[0, 4])] {
                self.check_matches(&item, Position(from));
            }
        }
        for (name, count) in &self.versions {
            let stream = index.stream(self.topic, name).expect("readable").expect("the stream is known");
            assert_eq!(stream.next, StreamVersion(*count));
            let places: Vec<(StreamVersion, Place)> = self
                .list
                .iter()
                .enumerate()
                .filter_map(|(position, listed)| {
                    let (_, version) = listed.stream.as_ref().filter(|(stream, _)| stream == name)?;
                    let partition = PartitionIndex(listed.partition);
                    let position = Position(position as u64);
                    Some((*version, Place { partition, offset: listed.offset, position, id: position.0 + 1 }))
                })
                .collect();
            assert_eq!(stream.last, places.last().map(|(_, place)| *place));
            for (from, to) in [(0, *count), (*count / 2, *count), (*count / 3, *count / 2), (*count, *count + 3)] {
                let found = index.places(self.topic, name, StreamVersion(from), StreamVersion(to)).expect("readable");
                let to = to.min(*count);
                assert_eq!(found, places[from as usize..to as usize], "{name:?} from {from} to {to}");
            }
        }
        let streams = index.streams(self.topic, b"", 100).expect("readable");
        let names: Vec<&[u8]> = streams.iter().map(|(name, _)| &name[..]).collect();
        assert_eq!(names, self.versions.keys().map(|name| &name[..]).collect::<Vec<_>>());
    }

    fn check_order(&self, from: Position) {
        let index = self.streams.index();
        let (mut at, mut seen) = (from, Vec::new());
        loop {
            let found = index.located(at, Order::Ascending, 7).expect("readable");
            let Some(last) = found.last() else { break };
            at = last.position.next();
            seen.extend(found);
        }
        let expected = self.list.iter().enumerate().skip(from.0 as usize);
        assert_eq!(seen.len(), expected.clone().count());
        for (located, (position, listed)) in seen.iter().zip(expected) {
            assert_eq!(located.position, Position(position as u64));
            assert_eq!(
                (located.topic, located.partition.0, located.offset),
                (Some(self.topic), listed.partition, listed.offset)
            );
            assert_eq!(located.version, listed.stream.as_ref().map(|(_, version)| *version));
        }
        let (mut at, mut back) = (from, Vec::new());
        loop {
            let found = index.located(at, Order::Descending, 7).expect("readable");
            let Some(last) = found.last() else { break };
            at = last.position;
            back.extend(found.iter().map(|located| located.position.0));
        }
        let end = from.0.min(self.list.len() as u64);
        assert_eq!(back, (0..end).rev().collect::<Vec<_>>());
    }

    fn check_matches(&self, item: &TermQuery, from: Position) {
        let index = self.streams.index();
        let matching: Vec<u64> = (0..self.list.len())
            .filter(|at| {
                let listed = &self.list[*at];
                (item.types.is_empty() || item.types.iter().any(|name| name[0] == listed.event_type))
                    && item.tags.iter().all(|tag| listed.tags.contains(&tag[0]))
            })
            .map(|at| at as u64)
            .collect();
        let items = std::slice::from_ref(item);
        let found = index.matches(items, from, Order::Ascending, 100_000).expect("readable");
        let later: Vec<u64> = matching.iter().copied().filter(|at| *at >= from.0).collect();
        assert_eq!(found.iter().map(|position| position.0).collect::<Vec<_>>(), later, "{item:?} from {from}");
        let found = index.matches(items, from, Order::Descending, 100_000).expect("readable");
        let earlier: Vec<u64> = matching.iter().rev().copied().filter(|at| *at <= from.0).collect();
        assert_eq!(found.iter().map(|position| position.0).collect::<Vec<_>>(), earlier, "{item:?} back from {from}");
        let condition = AppendCondition { items: vec![item.clone()], after: from.0.checked_sub(1).map(Position) };
        let last = index.last_match(&condition).expect("readable").map(|position| position.0);
        assert_eq!(last, later.last().copied(), "{item:?} after {from}");
    }
}

fn query(types: &[u8], tags: &[u8]) -> TermQuery {
    let bytes = |terms: &[u8]| terms.iter().map(|term| Bytes::copy_from_slice(&[*term])).collect();
    TermQuery { types: bytes(types), tags: bytes(tags) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn look_ups_agree_with_a_list_of_all_events(steps in steps()) {
        let mut bed = Bed::new();
        for step in &steps {
            bed.run(step);
        }
        bed.check();
    }
}

#[test]
fn chunks_longer_than_a_page_are_cut_and_found_again() {
    let mut bed = Bed::new();
    for round in 0..6 {
        for _ in 0..30 {
            bed.post(round % PARTITIONS, &vec![(Some(1), 1, vec![2]); 100]);
        }
        bed.run(&Step::Freeze);
        bed.run(&Step::Publish);
    }
    bed.check();
    bed.run(&Step::Restart);
    bed.check();
    drop(bed.dir);
}

#[test]
fn a_dropped_topic_leaves_no_stream_behind() {
    let mut bed = Bed::new();
    bed.post(0, &vec![(Some(1), 1, vec![]); 10]);
    bed.run(&Step::Restart);
    bed.streams.drop_topic(bed.topic);
    bed.streams.add_topic(bed.topic, std::iter::empty());
    assert_eq!(bed.streams.index().stream(bed.topic, b"s-1").expect("readable"), None);
    bed.run(&Step::Restart);
    bed.run(&Step::Restart);
    assert_eq!(bed.kv.scan(daybook_kv::Space::Streams, &[]).count(), 0);
    assert_eq!(bed.kv.scan(daybook_kv::Space::Versions, &[]).count(), 0);
    // Positions go on: those of the dropped topic stay gaps.
    assert_eq!(*bed.streams.index().end().borrow(), Position(10));
    let found = bed.streams.index().located(Position(0), Order::Ascending, 20).expect("readable");
    assert!(found.iter().all(|located| located.topic.is_none()) && found.len() == 10);
}
