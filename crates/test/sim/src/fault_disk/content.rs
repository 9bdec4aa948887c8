//! The bytes of one file: what a power cut can't take, and the changes it may.
//!
//! `current` is what the running program reads (the page cache); `durable` is what the platter has; `pending` is the
//! way from one to the other.

use std::collections::HashMap;

use rand::Rng;
use rand::rngs::StdRng;

/// Disks write whole sectors: of each sector of an unsynced write either the old or the new bytes survive.
pub const SECTOR_BYTES: u64 = 512;

#[derive(Debug, Default)]
pub(super) struct Content {
    durable: Vec<u8>,
    current: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write { at: u64, bytes: Vec<u8> },
    Resize { bytes: u64 },
}

impl Content {
    /// A file that has `bytes`, all durable.
    pub(super) fn durable(bytes: Vec<u8>) -> Self {
        Self { durable: bytes.clone(), current: bytes, pending: Vec::new() }
    }

    pub(super) fn current(&self) -> &[u8] {
        &self.current
    }

    pub(super) fn durable_bytes(&self) -> &[u8] {
        &self.durable
    }

    pub(super) fn write(&mut self, at: u64, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        put(&mut self.current, at, &bytes);
        self.pending.push(Change::Write { at, bytes });
    }

    pub(super) fn resize(&mut self, bytes: u64) {
        self.current.resize(index(bytes), 0);
        self.pending.push(Change::Resize { bytes });
    }

    /// A sync that worked.
    pub(super) fn settle(&mut self) {
        for change in self.pending.drain(..) {
            apply(&mut self.durable, &change);
        }
    }

    /// A sync that failed. As on Linux, the pages count as clean afterwards: what didn't reach the disk now won't be
    /// brought there by a later sync that works, though readers still see it.
    pub(super) fn fail_to_settle(&mut self, random: &mut StdRng) {
        self.durable = self.survivors(random);
        self.pending.clear();
    }

    /// What a power cut leaves.
    pub(super) fn survivors(&self, random: &mut StdRng) -> Vec<u8> {
        match random.random_range(0..4) {
            0 => self.current_of(&self.pending),
            1 => self.durable.clone(),
            _ => self.torn(random),
        }
    }

    fn current_of(&self, changes: &[Change]) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        for change in changes {
            apply(&mut bytes, change);
        }
        bytes
    }

    /// Each write kept, dropped or torn. A sector that a kept write touched also has what earlier writes put in it,
    /// since the page cache hands over whole pages.
    fn torn(&self, random: &mut StdRng) -> Vec<u8> {
        // What follows a resize builds on it, so with one among them only the changes up to a random one count.
        let resized = self.pending.iter().any(|change| matches!(change, Change::Resize { .. }));
        let reach = if resized { random.random_range(0..=self.pending.len()) } else { self.pending.len() };
        let changes = &self.pending[..reach];

        let mut newest_in_sector: HashMap<u64, usize> = HashMap::new();
        for (number, change) in changes.iter().enumerate() {
            let Change::Write { at, bytes } = change else { continue };
            let fate = random.random_range(0..3);
            for (sector, _) in sectors(*at, bytes) {
                if fate == 0 || (fate == 1 && random.random_bool(0.5)) {
                    newest_in_sector.insert(sector, number);
                }
            }
        }

        let mut left = self.durable.clone();
        for (number, change) in changes.iter().enumerate() {
            match change {
                Change::Resize { .. } => apply(&mut left, change),
                Change::Write { at, bytes } => {
                    for (sector, range) in sectors(*at, bytes) {
                        if newest_in_sector.get(&sector).is_some_and(|newest| *newest >= number) {
                            put(&mut left, at + range.start as u64, &bytes[range]);
                        }
                    }
                }
            }
        }
        // The length may have been written without the bytes.
        let length = self.current_of(changes).len();
        if random.random_bool(0.5) && left.len() < length {
            left.resize(length, 0);
        }
        left
    }

    /// Damages what is stored, as a failing medium does. False if there is no such byte.
    pub(super) fn flip_bit(&mut self, byte: u64, bit: u8) -> bool {
        let mut flipped = false;
        for bytes in [&mut self.durable, &mut self.current] {
            if let Some(byte) = bytes.get_mut(index(byte)) {
                *byte ^= 1 << (bit % 8);
                flipped = true;
            }
        }
        flipped
    }
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { at, bytes: new } => put(bytes, *at, new),
        Change::Resize { bytes: length } => bytes.resize(index(*length), 0),
    }
}

fn put(bytes: &mut Vec<u8>, at: u64, new: &[u8]) {
    let start = index(at);
    let end = start + new.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[start..end].copy_from_slice(new);
}

/// The sectors a write touches, each with the range of the write's bytes that fall into it.
fn sectors(at: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    let end = at + bytes.len() as u64;
    (at / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES)).map(move |sector| {
        let from = (sector * SECTOR_BYTES).max(at);
        let to = ((sector + 1) * SECTOR_BYTES).min(end);
        (sector, index(from - at)..index(to - at))
    })
}

fn index(bytes: u64) -> usize {
    usize::try_from(bytes).expect("files of the fault disk are in memory")
}
