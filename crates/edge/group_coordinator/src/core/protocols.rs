//! The protocols that members know, and the vote between them.
//!
//! Invariant of [`Tally`]: for every name, the number of members that know it; names that nobody knows are absent.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::request::Protocol;

/// One member's protocols in its order of preference; names are unique.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Protocols(Vec<Protocol>);

impl Protocols {
    /// Of protocols with one name the first counts, lest one member have two votes. Metadata is copied: kept as it came, it
    /// would pin the whole request it was cut from.
    pub fn new(given: &[Protocol]) -> Self {
        let mut unique: Vec<Protocol> = Vec::new();
        for protocol in given {
            if unique.iter().all(|known| known.name != protocol.name) {
                unique.push(Protocol {
                    name: protocol.name.clone(),
                    metadata: Bytes::copy_from_slice(&protocol.metadata),
                });
            }
        }
        Self(unique)
    }

    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.iter().map(|protocol| &protocol.name)
    }

    pub fn list(&self) -> &[Protocol] {
        &self.0
    }

    pub fn metadata(&self, name: &str) -> Option<&Bytes> {
        self.0.iter().find(|protocol| &*protocol.name == name).map(|protocol| &protocol.metadata)
    }

    /// Memory held.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(entry_bytes).sum()
    }
}

/// With an allowance for the entry itself, lest a million empty names count as nothing.
pub(crate) fn entry_bytes(protocol: &Protocol) -> usize {
    const ENTRY_BYTES: usize = 64;
    ENTRY_BYTES + protocol.name.len() + protocol.metadata.len()
}

#[derive(Debug, Default)]
pub(crate) struct Tally(HashMap<Arc<str>, usize>);

impl Tally {
    pub fn add(&mut self, protocols: &Protocols) {
        for name in protocols.names() {
            *self.0.entry(name.clone()).or_default() += 1;
        }
    }

    pub fn remove(&mut self, protocols: &Protocols) {
        for name in protocols.names() {
            if let Some(count) = self.0.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.0.remove(name);
                }
            }
        }
    }

    /// Whether all of `members_count` members know the protocol.
    pub fn is_known_to_all(&self, name: &str, members_count: usize) -> bool {
        self.0.get(name).copied().unwrap_or(0) == members_count
    }
}

/// Every member votes for the first of its protocols that all know; most votes win. Kafka leaves ties to chance; here the
/// member that joined first decides, so that replayed events give the same group.
pub(crate) fn elect<'a>(
    members: impl Iterator<Item = &'a Protocols>,
    tally: &Tally,
    members_count: usize,
) -> Option<Arc<str>> {
    let mut votes: Vec<(&Arc<str>, usize)> = Vec::new();
    for protocols in members {
        let Some(choice) = protocols.names().find(|name| tally.is_known_to_all(name, members_count)) else { continue };
        match votes.iter_mut().find(|(name, _)| *name == choice) {
            Some((_, count)) => *count += 1,
            None => votes.push((choice, 1)),
        }
    }
    let most = votes.iter().map(|(_, count)| *count).max()?;
    votes.into_iter().find(|(_, count)| *count == most).map(|(name, _)| name.clone())
}
