//! Reads one record after the other, from memory or from a decompressing stream.
//!
//! One parser serves both: a [`Source`] says what a piece of a record is. In memory it is a slice of the batch, without a copy;
//! from a stream it is nothing, since checks and look-ups need no contents.

use std::io::BufRead;

use bytes::{Buf, Bytes};

use crate::varint::{VARINT_BYTES_MAX, VARLONG_BYTES_MAX, unzigzag};
use crate::{BatchError, Compression, RecordFault};

/// Where records are read from.
pub(crate) trait Source {
    type Piece;
    /// The next byte; `None` at the end.
    fn byte(&mut self) -> Result<Option<u8>, BatchError>;
    /// The next `bytes`; `None` if the source ends before.
    fn piece(&mut self, bytes: usize) -> Result<Option<Self::Piece>, BatchError>;
    /// Bytes read so far.
    fn consumed(&self) -> usize;
}

/// A record without its place: deltas count from the batch's base.
pub(crate) struct RecordParts<P> {
    pub timestamp_delta: i64,
    pub offset_delta: i32,
    pub key: Option<P>,
    pub value: Option<P>,
    pub headers: Vec<(P, Option<P>)>,
}

/// Records in memory.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    left: Bytes,
    bytes: usize,
}

impl Memory {
    pub(crate) fn new(body: Bytes) -> Self {
        Self { bytes: body.len(), left: body }
    }

    /// Passes over records from number `index` on, up to `count`, as long as `passes` says so of their offset deltas.
    pub(crate) fn skip(&mut self, index: &mut i32, count: i32, passes: impl Fn(i32) -> bool) -> Result<(), BatchError> {
        let mut glance = Glance { left: &self.left, bytes: self.left.len() };
        let mut kept = 0;
        while *index < count {
            let length = usize::try_from(varint(&mut glance, *index)?);
            let fail = |fault| BatchError::Record { index: *index, fault };
            let length = length.map_err(|_| fail(RecordFault::Length))?;
            let end = glance.consumed() + length;
            byte(&mut glance, *index)?;
            varlong(&mut glance, *index)?;
            if !passes(varint(&mut glance, *index)?) {
                break;
            }
            let rest = end.checked_sub(glance.consumed()).ok_or(fail(RecordFault::Length))?;
            glance.piece(rest)?.ok_or(fail(RecordFault::Truncated))?;
            kept = glance.consumed();
            *index += 1;
        }
        self.left.advance(kept);
        Ok(())
    }
}

/// A look ahead into records in memory.
struct Glance<'a> {
    left: &'a [u8],
    bytes: usize,
}

impl Source for Glance<'_> {
    type Piece = ();

    fn byte(&mut self) -> Result<Option<u8>, BatchError> {
        let Some((byte, left)) = self.left.split_first() else { return Ok(None) };
        self.left = left;
        Ok(Some(*byte))
    }

    fn piece(&mut self, bytes: usize) -> Result<Option<()>, BatchError> {
        let Some(left) = self.left.get(bytes..) else { return Ok(None) };
        self.left = left;
        Ok(Some(()))
    }

    fn consumed(&self) -> usize {
        self.bytes - self.left.len()
    }
}

impl Source for Memory {
    type Piece = Bytes;

    fn byte(&mut self) -> Result<Option<u8>, BatchError> {
        let byte = self.left.first().copied();
        if byte.is_some() {
            self.left.advance(1);
        }
        Ok(byte)
    }

    fn piece(&mut self, bytes: usize) -> Result<Option<Bytes>, BatchError> {
        Ok((bytes <= self.left.len()).then(|| self.left.split_to(bytes)))
    }

    fn consumed(&self) -> usize {
        self.bytes - self.left.len()
    }
}

/// Records from a stream, of which only the structure is wanted.
pub(crate) struct Skim<R> {
    stream: R,
    compression: Compression,
    consumed: usize,
    bytes_max: usize,
}

impl<R: BufRead> Skim<R> {
    pub(crate) fn new(stream: R, compression: Compression, bytes_max: usize) -> Self {
        Self { stream, compression, consumed: 0, bytes_max }
    }

    fn buffer(&mut self) -> Result<&[u8], BatchError> {
        self.stream.fill_buf().map_err(|_| BatchError::Undecodable { compression: self.compression })
    }

    fn consume(&mut self, bytes: usize) -> Result<(), BatchError> {
        self.stream.consume(bytes);
        self.consumed += bytes;
        if self.consumed > self.bytes_max { Err(BatchError::TooLarge { bytes_max: self.bytes_max }) } else { Ok(()) }
    }
}

impl<R: BufRead> Source for Skim<R> {
    type Piece = ();

    fn byte(&mut self) -> Result<Option<u8>, BatchError> {
        let Some(byte) = self.buffer()?.first().copied() else { return Ok(None) };
        self.consume(1)?;
        Ok(Some(byte))
    }

    fn piece(&mut self, bytes: usize) -> Result<Option<()>, BatchError> {
        let mut left = bytes;
        while left > 0 {
            let count = self.buffer()?.len().min(left);
            if count == 0 {
                return Ok(None);
            }
            self.consume(count)?;
            left -= count;
        }
        Ok(Some(()))
    }

    fn consumed(&self) -> usize {
        self.consumed
    }
}

/// Reads the record with number `index` in its batch.
pub(crate) fn record<S: Source>(source: &mut S, index: i32) -> Result<RecordParts<S::Piece>, BatchError> {
    let fail = |fault| BatchError::Record { index, fault };
    let length = varint(source, index)?;
    let length = usize::try_from(length).map_err(|_| fail(RecordFault::Length))?;
    let end = source.consumed() + length;
    byte(source, index)?; // attributes, of which none is used
    let timestamp_delta = varlong(source, index)?;
    let offset_delta = varint(source, index)?;
    let key = nullable(source, index, end)?;
    let value = nullable(source, index, end)?;
    let count = varint(source, index)?;
    // A header takes at least two bytes, so a count beyond that is refused before anything is made for it.
    let possible = end.saturating_sub(source.consumed()) / 2;
    if !usize::try_from(count).is_ok_and(|count| count <= possible) {
        return Err(fail(RecordFault::HeaderCount { count }));
    }
    let mut headers = Vec::new();
    for _ in 0..count {
        let name = nullable(source, index, end)?.ok_or(fail(RecordFault::Length))?;
        headers.push((name, nullable(source, index, end)?));
    }
    if source.consumed() != end {
        return Err(fail(RecordFault::Length));
    }
    Ok(RecordParts { timestamp_delta, offset_delta, key, value, headers })
}

/// Fails if anything follows the last record, of which there were `count`.
pub(crate) fn end<S: Source>(source: &mut S, count: i32) -> Result<(), BatchError> {
    match source.byte()? {
        None => Ok(()),
        Some(_) => Err(BatchError::Record { index: count, fault: RecordFault::Trailing }),
    }
}

/// A length and that many bytes; any negative length is null, as in Kafka.
fn nullable<S: Source>(source: &mut S, index: i32, end: usize) -> Result<Option<S::Piece>, BatchError> {
    let fail = |fault| BatchError::Record { index, fault };
    let Ok(bytes) = usize::try_from(varint(source, index)?) else { return Ok(None) };
    if bytes > end.saturating_sub(source.consumed()) {
        return Err(fail(RecordFault::Length));
    }
    source.piece(bytes)?.map(Some).ok_or(fail(RecordFault::Truncated))
}

fn byte<S: Source>(source: &mut S, index: i32) -> Result<u8, BatchError> {
    source.byte()?.ok_or(BatchError::Record { index, fault: RecordFault::Truncated })
}

fn varint<S: Source>(source: &mut S, index: i32) -> Result<i32, BatchError> {
    // Bits beyond the 32nd are dropped, as Kafka does.
    Ok(unzigzag(u64::from(raw(source, index, VARINT_BYTES_MAX)? as u32)) as i32)
}

fn varlong<S: Source>(source: &mut S, index: i32) -> Result<i64, BatchError> {
    Ok(unzigzag(raw(source, index, VARLONG_BYTES_MAX)?))
}

fn raw<S: Source>(source: &mut S, index: i32, bytes_max: u32) -> Result<u64, BatchError> {
    let mut value = 0;
    for place in 0..bytes_max {
        let byte = byte(source, index)?;
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(BatchError::Record { index, fault: RecordFault::Varint })
}
