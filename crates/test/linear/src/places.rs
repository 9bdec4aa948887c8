//! Everything found has its place: positions, versions and offsets are gapless, and the three ways of reading show the same events.

use std::collections::{BTreeMap, HashMap};

use crate::history::{Event, Found, TopicRecord, topic_of};
use crate::verdict::Violation;

pub fn check(found: &Found) -> Result<(), Violation> {
    let mut ids: HashMap<&str, u64> = HashMap::with_capacity(found.all.len());
    let mut streams: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for (position, event) in (0..).zip(&found.all) {
        if event.position != position {
            return Err(Violation::Position { found: event.position, expected: position });
        }
        if let Some(first) = ids.insert(&event.id, position) {
            return Err(Violation::Doubled { id: event.id.clone(), first, second: position });
        }
        match (&event.stream, event.version) {
            (Some(stream), Some(_)) => streams.entry(stream).or_default().push(event),
            (None, None) => {}
            _ => return Err(Violation::Version { event: event.clone(), expected: None }),
        }
    }
    for (stream, events) in &streams {
        for (version, event) in (0..).zip(events) {
            if event.version != Some(version) {
                return Err(Violation::Version { event: (*event).clone(), expected: Some(version) });
            }
        }
        if !found.streams.contains_key(*stream) {
            return Err(Violation::UnknownStream { stream: (*stream).to_owned() });
        }
    }
    for (stream, events) in &found.streams {
        let of_all = streams.get(stream.as_str()).map_or(&[][..], Vec::as_slice);
        if !events.iter().eq(of_all.iter().copied()) {
            let differs = events.iter().zip(of_all).position(|(one, other)| one != *other);
            let version = differs.unwrap_or(events.len().min(of_all.len())) as u64;
            return Err(Violation::StreamDiffers { stream: stream.clone(), version });
        }
    }
    check_topics(found)
}

/// A Kafka consumer sees the same events, each once, at the places that they are said to have.
fn check_topics(found: &Found) -> Result<(), Violation> {
    let mut records: BTreeMap<(&str, i32), Vec<&TopicRecord>> = BTreeMap::new();
    for record in &found.records {
        records.entry((&record.topic, record.partition)).or_default().push(record);
    }
    for ((topic, partition), records) in &records {
        for (offset, record) in (0..).zip(records) {
            if record.offset != offset {
                let (topic, partition) = ((*topic).to_owned(), *partition);
                return Err(Violation::Offset { topic, partition, found: record.offset, expected: offset });
            }
        }
    }
    for event in &found.all {
        let topic = topic_of(event.stream.as_deref());
        let record = usize::try_from(event.offset)
            .ok()
            .and_then(|offset| records.get(&(topic, event.partition))?.get(offset).copied());
        let is_same =
            |record: &TopicRecord| record.key == event.stream && record.id == event.id && record.data == event.data;
        if !record.is_some_and(is_same) {
            return Err(Violation::Record { event: event.clone(), record: record.cloned() });
        }
    }
    // Each event has a record of its own, as ids are unique; so any more are of no event.
    match found.records.len().cmp(&found.all.len()) {
        std::cmp::Ordering::Equal => Ok(()),
        _ => Err(Violation::Records { events: found.all.len(), records: found.records.len() }),
    }
}
