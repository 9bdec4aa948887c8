//! What was posted between two checkpoints: the part of the index that memory has, and how it is written down.

use bytes::{BufMut, Bytes, BytesMut};
use daybook_kv::{Op, Space};
use daybook_types::{Offset, PartitionIndex, Position, StreamVersion};
use hashbrown::HashMap;

use crate::stored::{Place, Stream, StreamId, put_place, put_signed, put_varint};
use crate::topics::TopicNumber;

pub(crate) const CHUNK_FORMAT_VERSION: u8 = 1;
/// Values stay shorter than a page, which the store's engine survives torn.
const CHUNK_BYTES_MAX: usize = 3500;
/// Bytes that one more item may take in a chunk.
const ITEM_BYTES_MAX: usize = 40;

/// A run of events with consecutive positions and offsets in one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub position: Position,
    pub topic: TopicNumber,
    pub partition: PartitionIndex,
    pub offset: Offset,
    pub count: u64,
}

/// A stream that was touched, and its events since then.
#[derive(Clone, Debug)]
pub(crate) struct Touched {
    pub stream: Stream,
    /// Version of the first of `places`.
    pub from: StreamVersion,
    pub places: Vec<Place>,
}

#[derive(Debug)]
pub(crate) struct Generation {
    /// Position of the first event it may hold.
    pub from: Position,
    pub topics: HashMap<TopicNumber, HashMap<Box<[u8]>, Touched>>,
    pub runs: Vec<Run>,
    /// Version in its stream of each event, in the order of positions.
    pub versions: Vec<Option<StreamVersion>>,
    /// Positions by term, ascending.
    pub terms: HashMap<u64, Vec<Position>>,
}

impl Generation {
    pub fn new(from: Position) -> Self {
        Self { from, topics: HashMap::new(), runs: Vec::new(), versions: Vec::new(), terms: HashMap::new() }
    }

    /// Position after its last event.
    pub fn end(&self) -> Position {
        self.from.plus(self.versions.len() as u64)
    }

    pub fn is_empty(&self) -> bool {
        self.topics.is_empty() && self.versions.is_empty()
    }

    pub fn touched(&self, topic: TopicNumber, name: &[u8]) -> Option<&Touched> {
        self.topics.get(&topic)?.get(name)
    }

    /// Notes where the next event stands.
    pub fn push(
        &mut self,
        topic: TopicNumber,
        partition: PartitionIndex,
        offset: Offset,
        version: Option<StreamVersion>,
    ) {
        let position = self.end();
        self.versions.push(version);
        if let Some(run) = self.runs.last_mut()
            && (run.topic, run.partition) == (topic, partition)
            && run.offset.0 + run.count as i64 == offset.0
        {
            run.count += 1;
            return;
        }
        self.runs.push(Run { position, topic, partition, offset, count: 1 });
    }

    pub fn write(&self) -> Vec<Op> {
        let mut ops = Vec::new();
        for (topic, streams) in &self.topics {
            for (name, touched) in streams {
                ops.push(put(Space::Streams, stream_key(*topic, name), touched.stream.encode()));
                write_places(touched.stream.id, touched.from, &touched.places, &mut ops);
            }
        }
        self.write_positions(&mut ops);
        for (term, positions) in &self.terms {
            write_term(*term, positions, &mut ops);
        }
        ops
    }

    /// Chunks of runs, cut where they grow long; each event with its version.
    fn write_positions(&self, ops: &mut Vec<Op>) {
        let mut chunk = Chunk::default();
        let mut before = None;
        for run in &self.runs {
            let mut done = 0;
            while done < run.count {
                if chunk.is_full() {
                    chunk.close(Space::Positions, ops);
                    before = None;
                }
                let position = run.position.plus(done);
                if chunk.is_empty() {
                    chunk.open(number_key(position.0));
                }
                let offset = Offset(run.offset.0 + done as i64);
                let first = (position.0 - self.from.0) as usize;
                // As many as surely fit; the count stands before them.
                let fits = chunk.room() / VERSION_BYTES_MAX;
                let count = (run.count - done).min(fits.max(1) as u64);
                let out = &mut chunk.bytes;
                put_varint(out, run.topic.0.into());
                put_varint(out, u64::from(run.partition.0.unsigned_abs()));
                put_signed(out, offset.0 - before.unwrap_or(0));
                put_varint(out, count);
                for version in &self.versions[first..first + count as usize] {
                    put_varint(out, version.map_or(0, |version| version.0 + 1));
                }
                before = Some(offset.0 + count as i64);
                done += count;
            }
        }
        chunk.close(Space::Positions, ops);
    }
}

/// Varint of a version.
const VERSION_BYTES_MAX: usize = 10;

fn write_places(id: StreamId, from: StreamVersion, places: &[Place], ops: &mut Vec<Op>) {
    let mut chunk = Chunk::default();
    let mut before = Place::ORIGIN;
    for (index, place) in places.iter().enumerate() {
        if chunk.is_full() {
            chunk.close(Space::Versions, ops);
            before = Place::ORIGIN;
        }
        if chunk.is_empty() {
            chunk.open(pair_key(id.0, from.0 + index as u64));
        }
        put_place(&mut chunk.bytes, place, &before);
        before = *place;
    }
    chunk.close(Space::Versions, ops);
}

fn write_term(term: u64, positions: &[Position], ops: &mut Vec<Op>) {
    let mut chunk = Chunk::default();
    let mut before = 0;
    for position in positions {
        if chunk.is_full() {
            chunk.close(Space::Terms, ops);
        }
        if chunk.is_empty() {
            chunk.open(pair_key(term, position.0));
            before = position.0;
        }
        put_varint(&mut chunk.bytes, position.0 - before);
        before = position.0;
    }
    chunk.close(Space::Terms, ops);
}

/// A value under way.
#[derive(Default)]
struct Chunk {
    key: Bytes,
    bytes: BytesMut,
}

impl Chunk {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn is_full(&self) -> bool {
        self.bytes.len() + ITEM_BYTES_MAX > CHUNK_BYTES_MAX
    }

    fn room(&self) -> usize {
        CHUNK_BYTES_MAX.saturating_sub(self.bytes.len() + ITEM_BYTES_MAX)
    }

    fn open(&mut self, key: Bytes) {
        self.key = key;
        self.bytes.put_u8(CHUNK_FORMAT_VERSION);
    }

    fn close(&mut self, space: Space, ops: &mut Vec<Op>) {
        if !self.is_empty() {
            ops.push(put(space, std::mem::take(&mut self.key), self.bytes.split().freeze()));
        }
    }
}

fn put(space: Space, key: Bytes, value: Bytes) -> Op {
    Op::Put { space, key, value }
}

pub(crate) fn stream_key(topic: TopicNumber, name: &[u8]) -> Bytes {
    let mut key = BytesMut::with_capacity(4 + name.len());
    key.put_u32(topic.0);
    key.put_slice(name);
    key.freeze()
}

pub(crate) fn number_key(number: u64) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

pub(crate) fn pair_key(first: u64, second: u64) -> Bytes {
    let mut key = BytesMut::with_capacity(16);
    key.put_u64(first);
    key.put_u64(second);
    key.freeze()
}
