//! Looking things up: the events of a stream, of the store, of a term; from memory and from the index store as one.
//!
//! Memory is looked at first, under its lock, and tells where it begins; what is older is read from the store afterwards. A generation
//! that is let go in between is in the store by then.

use daybook_kv::{KvError, Space, Store};
use daybook_types::{Offset, PartitionIndex, Position, StreamVersion, TopicId};

use crate::generation::{CHUNK_FORMAT_VERSION, Run, number_key, pair_key, stream_key};
use crate::index::{Located, StreamIndex, malformed};
use crate::stored::{Place, StoredStreamError, Stream, StreamId, place, read_format, signed, varint};
use crate::topics::TopicNumber;

/// How many items a look-up returns at most.
pub type ReadLimit = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Ascending,
    Descending,
}

impl StreamIndex {
    /// Where the events of a stream with versions from `from` up to `to` stand, ascending.
    pub fn places(
        &self,
        topic: TopicId,
        name: &[u8],
        from: StreamVersion,
        to: StreamVersion,
    ) -> Result<Vec<(StreamVersion, Place)>, KvError> {
        let Some(number) = self.topics.read().get(topic).map(|topic| topic.number) else { return Ok(Vec::new()) };
        self.places_of(number, name, from, to)
    }

    pub(crate) fn places_of(
        &self,
        topic: TopicNumber,
        name: &[u8],
        from: StreamVersion,
        to: StreamVersion,
    ) -> Result<Vec<(StreamVersion, Place)>, KvError> {
        let mut memory_from = None;
        let mut id = None;
        let mut found = Vec::new();
        {
            let memory = self.memory.read();
            for touched in memory.generations().filter_map(|generation| generation.touched(topic, name)) {
                memory_from.get_or_insert(touched.from);
                id = Some(touched.stream.id);
                let skipped = from.0.saturating_sub(touched.from.0) as usize;
                let places = touched.places.iter().enumerate().skip(skipped);
                let versions = places.map(|(index, place)| (touched.from.plus(index as u64), *place));
                found.extend(versions.take_while(|(version, _)| *version < to));
            }
        }
        let memory_from = memory_from.unwrap_or(to);
        if from >= memory_from {
            return Ok(found);
        }
        let id = match id {
            Some(id) => id,
            None => match self.stored_stream(topic, name)? {
                Some(stream) => stream.id,
                None => return Ok(found),
            },
        };
        let mut all = self.stored_places(id, from, to.min(memory_from))?;
        all.append(&mut found);
        Ok(all)
    }

    fn stored_places(
        &self,
        id: StreamId,
        from: StreamVersion,
        to: StreamVersion,
    ) -> Result<Vec<(StreamVersion, Place)>, KvError> {
        let mut found = Vec::new();
        let Some(kv) = &self.kv else { return Ok(found) };
        let begin = chunk_at(kv, Space::Versions, &pair_key(id.0, 0), &pair_key(id.0, from.0.saturating_add(1)))?;
        let begin = begin.unwrap_or(pair_key(id.0, from.0));
        for item in kv.range(Space::Versions, &begin, &pair_key(id.0, to.0)) {
            let (key, value) = item?;
            let first = second_of_pair(&key).ok_or_else(|| bad_key(Space::Versions))?;
            let mut bytes = &value[..];
            let mut version = StreamVersion(first);
            let mut before = Place::ORIGIN;
            let mut read = || -> Result<(), StoredStreamError> {
                read_format(&mut bytes, CHUNK_FORMAT_VERSION)?;
                while !bytes.is_empty() {
                    before = place(&mut bytes, &before)?;
                    if version >= from && version < to {
                        found.push((version, before));
                    }
                    version = version.next();
                }
                Ok(())
            };
            read().map_err(|fault| malformed(Space::Versions, &fault))?;
        }
        Ok(found)
    }

    /// Where the events of the store stand: from `from` on, ascending; or below it, descending.
    pub fn located(&self, from: Position, order: Order, limit: ReadLimit) -> Result<Vec<Located>, KvError> {
        let mut found = Vec::new();
        let memory_from = {
            let memory = self.memory.read();
            let memory_from = memory.from();
            match order {
                Order::Ascending if from >= memory_from => {
                    for generation in memory.generations().filter(|generation| generation.end() > from) {
                        let first = generation.runs.partition_point(|run| run.position.0 + run.count <= from.0);
                        for run in &generation.runs[first..] {
                            let versions =
                                |position: Position| generation.versions[(position.0 - generation.from.0) as usize];
                            self.add_run(run, versions, from, None, &mut found);
                            if found.len() >= limit {
                                found.truncate(limit);
                                return Ok(found);
                            }
                        }
                    }
                    return Ok(found);
                }
                Order::Descending if from > memory_from => {
                    for generation in memory.generations().rev().filter(|generation| generation.from < from) {
                        let last = generation.runs.partition_point(|run| run.position < from);
                        for run in generation.runs[..last].iter().rev() {
                            let versions =
                                |position: Position| generation.versions[(position.0 - generation.from.0) as usize];
                            self.add_descending(run, versions, from, &mut found);
                            if found.len() >= limit {
                                found.truncate(limit);
                                return Ok(found);
                            }
                        }
                    }
                    memory_from
                }
                _ => memory_from,
            }
        };
        match order {
            Order::Ascending => {
                let found = self.stored_ascending(from, memory_from, limit)?;
                // Positions in the store have no gaps, so this is not reached; were it, the reader must still go on.
                if found.is_empty() { self.located(memory_from, order, limit) } else { Ok(found) }
            }
            Order::Descending => {
                self.stored_descending(from.min(memory_from), limit, &mut found)?;
                Ok(found)
            }
        }
    }

    /// May end where the store ends and memory begins: ask again from there.
    fn stored_ascending(&self, from: Position, to: Position, limit: ReadLimit) -> Result<Vec<Located>, KvError> {
        let mut found = Vec::new();
        let Some(kv) = &self.kv else { return Ok(found) };
        let begin = chunk_at(kv, Space::Positions, &number_key(0), &number_key(from.0.saturating_add(1)))?
            .unwrap_or(number_key(from.0));
        for item in kv.range(Space::Positions, &begin, &number_key(to.0)) {
            let (key, value) = item?;
            for_each_run(&key, &value, |run, versions| {
                let version = |position: Position| versions[(position.0 - run.position.0) as usize];
                self.add_run(run, version, from, Some(to), &mut found);
            })?;
            if found.len() >= limit {
                found.truncate(limit);
                break;
            }
        }
        Ok(found)
    }

    fn stored_descending(&self, below: Position, limit: ReadLimit, found: &mut Vec<Located>) -> Result<(), KvError> {
        let Some(kv) = &self.kv else { return Ok(()) };
        for item in kv.range(Space::Positions, &number_key(0), &number_key(below.0)).rev() {
            let (key, value) = item?;
            let mut chunk = Vec::new();
            for_each_run(&key, &value, |run, versions| {
                let version = |position: Position| versions[(position.0 - run.position.0) as usize];
                self.add_run(run, version, Position(0), Some(below), &mut chunk);
            })?;
            found.extend(chunk.into_iter().rev());
            if found.len() >= limit {
                found.truncate(limit);
                break;
            }
        }
        Ok(())
    }

    fn add_run(
        &self,
        run: &Run,
        version: impl Fn(Position) -> Option<StreamVersion>,
        from: Position,
        to: Option<Position>,
        found: &mut Vec<Located>,
    ) {
        let topic = self.topics.read().id(run.topic);
        let first = from.0.saturating_sub(run.position.0).min(run.count);
        let end = to.map_or(run.count, |to| to.0.saturating_sub(run.position.0).min(run.count));
        found.extend((first..end).map(|index| located(run, topic, index, &version)));
    }

    fn add_descending(
        &self,
        run: &Run,
        version: impl Fn(Position) -> Option<StreamVersion>,
        below: Position,
        found: &mut Vec<Located>,
    ) {
        let topic = self.topics.read().id(run.topic);
        let end = below.0.saturating_sub(run.position.0).min(run.count);
        found.extend((0..end).rev().map(|index| located(run, topic, index, &version)));
    }

    /// Positions of the events that have `term`: at or after `from`, ascending; or at or before it, descending. Returns fewer than
    /// `limit` only where there are no more, or where the store ends and memory begins: then it returns at least one.
    pub(crate) fn term_positions(
        &self,
        term: u64,
        from: Position,
        order: Order,
        limit: ReadLimit,
    ) -> Result<Vec<Position>, KvError> {
        match order {
            Order::Ascending => {
                let memory_from = self.memory.read().from();
                if from < memory_from {
                    let found = self.stored_term_ascending(term, from, memory_from, limit)?;
                    if !found.is_empty() {
                        return Ok(found);
                    }
                }
                let mut found = Vec::new();
                let memory = self.memory.read();
                for positions in memory.generations().filter_map(|generation| generation.terms.get(&term)) {
                    let first = positions.partition_point(|position| *position < from.max(memory_from));
                    found.extend(positions[first..].iter().take(limit - found.len()));
                }
                Ok(found)
            }
            Order::Descending => {
                let mut found = Vec::new();
                let memory_from = {
                    let memory = self.memory.read();
                    for positions in memory.generations().rev().filter_map(|generation| generation.terms.get(&term)) {
                        let end = positions.partition_point(|position| *position <= from);
                        found.extend(positions[..end].iter().rev().take(limit - found.len()));
                    }
                    memory.from()
                };
                if found.is_empty() && memory_from.0 > 0 {
                    let last = Position(memory_from.0 - 1).min(from);
                    self.stored_term_descending(term, last, limit, &mut found)?;
                }
                Ok(found)
            }
        }
    }

    fn stored_term_ascending(
        &self,
        term: u64,
        from: Position,
        to: Position,
        limit: ReadLimit,
    ) -> Result<Vec<Position>, KvError> {
        let mut found = Vec::new();
        let Some(kv) = &self.kv else { return Ok(found) };
        let begin = chunk_at(kv, Space::Terms, &pair_key(term, 0), &pair_key(term, from.0.saturating_add(1)))?;
        for item in kv.range(Space::Terms, &begin.unwrap_or(pair_key(term, from.0)), &pair_key(term, to.0)) {
            let (key, value) = item?;
            let chunk = term_chunk(&key, &value)?;
            found.extend(chunk.into_iter().filter(|position| *position >= from && *position < to));
            if found.len() >= limit {
                found.truncate(limit);
                break;
            }
        }
        Ok(found)
    }

    fn stored_term_descending(
        &self,
        term: u64,
        last: Position,
        limit: ReadLimit,
        found: &mut Vec<Position>,
    ) -> Result<(), KvError> {
        let Some(kv) = &self.kv else { return Ok(()) };
        for item in kv.range(Space::Terms, &pair_key(term, 0), &pair_key(term, last.0.saturating_add(1))).rev() {
            let (key, value) = item?;
            let chunk = term_chunk(&key, &value)?;
            found.extend(chunk.into_iter().rev().filter(|position| *position <= last));
            if found.len() >= limit {
                found.truncate(limit);
                break;
            }
        }
        Ok(())
    }

    /// Streams of a topic in the order of their names, after `after`, at most `limit`.
    pub fn streams(&self, topic: TopicId, after: &[u8], limit: ReadLimit) -> Result<Vec<(Vec<u8>, Stream)>, KvError> {
        let Some(number) = self.topics.read().get(topic).map(|topic| topic.number) else { return Ok(Vec::new()) };
        let mut found = std::collections::BTreeMap::new();
        {
            let memory = self.memory.read();
            for streams in memory.generations().filter_map(|generation| generation.topics.get(&number)) {
                let later = streams.iter().filter(|(name, _)| &name[..] > after);
                found.extend(later.map(|(name, touched)| (name.to_vec(), touched.stream.clone())));
            }
        }
        let in_memory: Vec<Vec<u8>> = found.keys().cloned().collect();
        if let Some(kv) = &self.kv {
            let mut begin = stream_key(number, after).to_vec();
            begin.push(0);
            for item in kv.range(Space::Streams, &begin, &stream_key(TopicNumber(number.0 + 1), &[])).take(limit) {
                let (key, value) = item?;
                let name = key[4..].to_vec();
                if in_memory.binary_search(&name).is_err() {
                    let stream = Stream::decode(&value).map_err(|fault| malformed(Space::Streams, &fault))?;
                    found.insert(name, stream);
                }
            }
        }
        Ok(found.into_iter().take(limit).collect())
    }
}

fn located(
    run: &Run,
    topic: Option<TopicId>,
    index: u64,
    version: &impl Fn(Position) -> Option<StreamVersion>,
) -> Located {
    let position = run.position.plus(index);
    let offset = Offset(run.offset.0 + index as i64);
    Located { position, topic, partition: run.partition, offset, version: version(position) }
}

/// The last key from `from` up to and not including `to`: that of the chunk in which something stands.
fn chunk_at(kv: &Store, space: Space, from: &[u8], to: &[u8]) -> Result<Option<bytes::Bytes>, KvError> {
    Ok(kv.range(space, from, to).next_back().transpose()?.map(|(key, _)| key))
}

fn for_each_run(key: &[u8], value: &[u8], mut each: impl FnMut(&Run, &[Option<StreamVersion>])) -> Result<(), KvError> {
    let first = <[u8; 8]>::try_from(key).map_err(|_| bad_key(Space::Positions))?;
    let mut position = Position(u64::from_be_bytes(first));
    let mut bytes = value;
    let mut before = 0;
    let mut versions = Vec::new();
    let mut read = || -> Result<(), StoredStreamError> {
        read_format(&mut bytes, CHUNK_FORMAT_VERSION)?;
        while !bytes.is_empty() {
            let topic = u32::try_from(varint(&mut bytes)?).map_err(|_| StoredStreamError::Malformed)?;
            let partition = i32::try_from(varint(&mut bytes)?).map_err(|_| StoredStreamError::Malformed)?;
            let offset = signed(&mut bytes)?.checked_add(before).ok_or(StoredStreamError::Malformed)?;
            let count = varint(&mut bytes)?;
            if count > bytes.len() as u64 {
                return Err(StoredStreamError::Malformed);
            }
            versions.clear();
            for _ in 0..count {
                versions.push(varint(&mut bytes)?.checked_sub(1).map(StreamVersion));
            }
            let (topic, partition) = (TopicNumber(topic), PartitionIndex(partition));
            each(&Run { position, topic, partition, offset: Offset(offset), count }, &versions);
            before = offset + count as i64;
            position = position.plus(count);
        }
        Ok(())
    };
    read().map_err(|fault| malformed(Space::Positions, &fault))
}

fn term_chunk(key: &[u8], value: &[u8]) -> Result<Vec<Position>, KvError> {
    let mut position = second_of_pair(key).ok_or_else(|| bad_key(Space::Terms))?;
    let mut bytes = value;
    let mut found = Vec::new();
    let mut read = || -> Result<(), StoredStreamError> {
        read_format(&mut bytes, CHUNK_FORMAT_VERSION)?;
        while !bytes.is_empty() {
            position = position.checked_add(varint(&mut bytes)?).ok_or(StoredStreamError::Malformed)?;
            found.push(Position(position));
        }
        Ok(())
    };
    read().map_err(|fault| malformed(Space::Terms, &fault))?;
    Ok(found)
}

fn second_of_pair(key: &[u8]) -> Option<u64> {
    let (_, second) = key.split_first_chunk::<8>()?;
    <[u8; 8]>::try_from(second).ok().map(u64::from_be_bytes)
}

fn bad_key(space: Space) -> KvError {
    malformed(space, &"a key has another length than keys of its space")
}
