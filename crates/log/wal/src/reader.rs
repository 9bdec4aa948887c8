//! Reading a segment from front to back through a window of bounded size, and checking one record in it.

use std::sync::Arc;

use bytes::Bytes;
use daybook_world::{DiskError, DiskFile};

use crate::format::{RECORD_HEADER_BYTES, RecordHeader, Seed, finish};

/// Bytes read ahead, so that walking small records costs few reads.
const WINDOW_BYTES: usize = 512 * 1024;

/// Where a segment's bytes come from.
#[derive(Clone, Debug)]
pub(crate) enum Source<'a> {
    File(Arc<dyn DiskFile>),
    Bytes(&'a [u8]),
}

impl Source<'_> {
    pub(crate) fn len(&self) -> Result<u64, DiskError> {
        match self {
            Self::File(file) => file.len(),
            Self::Bytes(bytes) => Ok(bytes.len() as u64),
        }
    }

    pub(crate) fn read_at(&self, buffer: &mut [u8], at: u64) -> Result<usize, DiskError> {
        match self {
            Self::File(file) => file.read_at(buffer, at),
            Self::Bytes(bytes) => {
                let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or(&[]);
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                Ok(count)
            }
        }
    }
}

/// A window on the first `length` bytes of a source.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    source: Source<'a>,
    length: u64,
    window: Vec<u8>,
    start: u64,
    filled: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(source: Source<'a>, length: u64) -> Self {
        Self { source, length, window: Vec::new(), start: 0, filled: 0 }
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// All that is in the window from `at` on: at least `least` bytes (not more than fit a window), fewer only at the
    /// end.
    pub(crate) fn from(&mut self, at: u64, least: usize) -> Result<&[u8], DiskError> {
        let end = self.start + self.filled as u64;
        let wanted = (at + least as u64).min(self.length);
        if at < self.start || wanted > end {
            let rest = usize::try_from(self.length.saturating_sub(at)).unwrap_or(usize::MAX);
            let count = rest.min(WINDOW_BYTES);
            if self.window.len() < count {
                self.window.resize(count, 0);
            }
            // Nothing counts as read until it is.
            self.filled = 0;
            self.filled = self.source.read_at(&mut self.window[..count], at)?;
            self.start = at;
        }
        let skip = usize::try_from(at - self.start).unwrap_or(usize::MAX).min(self.filled);
        Ok(&self.window[skip..self.filled])
    }

    /// The header at `at`, whatever its checksum says.
    pub(crate) fn header(&mut self, at: u64) -> Result<Option<RecordHeader>, DiskError> {
        const BYTES: usize = RECORD_HEADER_BYTES as usize;
        let bytes = self.from(at, BYTES)?;
        Ok(bytes.first_chunk::<BYTES>().and_then(RecordHeader::decode))
    }

    /// Whether the record that begins at `at` with this header is whole.
    pub(crate) fn is_whole(&mut self, at: u64, header: &RecordHeader, seed: &Seed) -> Result<bool, DiskError> {
        let Some(end) = at.checked_add(header.record_bytes()).filter(|end| *end <= self.length) else {
            return Ok(false);
        };
        let mut digest = seed.digest();
        // All but the checksum itself.
        let mut at = at + 4;
        while at < end {
            let bytes = self.from(at, 1)?;
            let count = bytes.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
            if count == 0 {
                return Ok(false);
            }
            digest.update(&bytes[..count]);
            at += count as u64;
        }
        Ok(finish(&digest) == header.crc)
    }

    /// The payload of a record that was found whole.
    pub(crate) fn payload(&self, at: u64, header: &RecordHeader) -> Result<Bytes, DiskError> {
        let mut payload = vec![0; header.payload_bytes as usize];
        let count = self.source.read_at(&mut payload, at + RECORD_HEADER_BYTES)?;
        payload.truncate(count);
        Ok(payload.into())
    }
}

/// Whether `bytes`, from a record's first byte on, hold it whole; the header if so.
pub(crate) fn whole_record(bytes: &[u8], seed: &Seed) -> Option<RecordHeader> {
    let header = RecordHeader::decode(bytes.first_chunk()?)?;
    let end = usize::try_from(header.record_bytes()).ok()?;
    let rest = bytes.get(4..end)?;
    let mut digest = seed.digest();
    digest.update(rest);
    (finish(&digest) == header.crc).then_some(header)
}
