//! The little language in which commands are written: big-endian integers, texts with a length before them.
//!
//! The writer keeps large byte strings as parts of their own, so that a record batch goes from the socket's buffer to the
//! WAL without being copied; the reader hands out slices of what it reads.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_types::{PartitionId, PartitionIndex, TopicId};
use thiserror::Error;

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    #[error("the entry ends too early")]
    Short,
    #[error("the entry has format version {found}, this program knows up to {known}")]
    NewerFormat { found: u8, known: u8 },
    #[error("no command has the tag {tag}")]
    UnknownTag { tag: u8 },
    #[error("a field holds no legal value")]
    Malformed,
}

#[derive(Default)]
pub(crate) struct Writer {
    parts: Vec<Bytes>,
    open: BytesMut,
    closed_bytes: usize,
}

impl Writer {
    pub fn u8(&mut self, value: u8) {
        self.open.put_u8(value);
    }

    pub fn u32(&mut self, value: u32) {
        self.open.put_u32(value);
    }

    pub fn i32(&mut self, value: i32) {
        self.open.put_i32(value);
    }

    pub fn i64(&mut self, value: i64) {
        self.open.put_i64(value);
    }

    pub fn u64(&mut self, value: u64) {
        self.open.put_u64(value);
    }

    pub fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).expect("a request's length fits 32 bits, so its lists do"));
    }

    pub fn text(&mut self, text: &str) {
        self.count(text.len());
        self.open.put_slice(text.as_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.open.put_slice(bytes);
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.open.put_slice(bytes);
    }

    pub fn optional_text(&mut self, text: Option<&str>) {
        self.u8(text.is_some().into());
        if let Some(text) = text {
            self.text(text);
        }
    }

    pub fn topic(&mut self, topic: TopicId) {
        self.open.put_slice(topic.as_bytes());
    }

    pub fn partition(&mut self, partition: PartitionId) {
        self.topic(partition.topic);
        self.i32(partition.index.0);
    }

    /// Bytes whose length the reader knows, kept as a part of their own.
    pub fn rest(&mut self, bytes: Bytes) {
        let open = self.open.split().freeze();
        self.closed_bytes += open.len() + bytes.len();
        self.parts.push(open);
        self.parts.push(bytes);
    }

    /// Writes `body` behind its own length, which `body_bytes` foretells.
    pub fn sized(&mut self, body_bytes: usize, body: impl FnOnce(&mut Self)) {
        self.count(body_bytes);
        let before = self.len();
        body(self);
        assert_eq!(self.len() - before, body_bytes, "a command's foretold length is its length");
    }

    pub fn len(&self) -> usize {
        self.closed_bytes + self.open.len()
    }

    pub fn finish(mut self) -> Vec<Bytes> {
        if !self.open.is_empty() {
            self.parts.push(self.open.freeze());
        }
        self.parts
    }
}

pub(crate) struct Reader {
    bytes: Bytes,
}

impl Reader {
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes }
    }

    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        self.bytes.try_get_u8().map_err(|_| DecodeError::Short)
    }

    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.bytes.try_get_u32().map_err(|_| DecodeError::Short)
    }

    pub fn i32(&mut self) -> Result<i32, DecodeError> {
        self.bytes.try_get_i32().map_err(|_| DecodeError::Short)
    }

    pub fn i64(&mut self) -> Result<i64, DecodeError> {
        self.bytes.try_get_i64().map_err(|_| DecodeError::Short)
    }

    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.bytes.try_get_u64().map_err(|_| DecodeError::Short)
    }

    pub fn slice(&mut self) -> Result<Bytes, DecodeError> {
        let length = self.u32()? as usize;
        self.take(length)
    }

    pub fn take(&mut self, length: usize) -> Result<Bytes, DecodeError> {
        if length > self.bytes.len() {
            return Err(DecodeError::Short);
        }
        Ok(self.bytes.split_to(length))
    }

    pub fn text(&mut self) -> Result<String, DecodeError> {
        let bytes = self.slice()?;
        String::from_utf8(bytes.into()).map_err(|_| DecodeError::Malformed)
    }

    pub fn optional_text(&mut self) -> Result<Option<String>, DecodeError> {
        match self.u8()? {
            0 => Ok(None),
            1 => Ok(Some(self.text()?)),
            _ => Err(DecodeError::Malformed),
        }
    }

    pub fn topic(&mut self) -> Result<TopicId, DecodeError> {
        let mut id = [0; 16];
        self.bytes.try_copy_to_slice(&mut id).map_err(|_| DecodeError::Short)?;
        Ok(TopicId::from_bytes(id))
    }

    pub fn partition(&mut self) -> Result<PartitionId, DecodeError> {
        Ok(PartitionId { topic: self.topic()?, index: PartitionIndex(self.i32()?) })
    }

    /// The list's length is what a writer claims; memory grows only with what is really there.
    pub fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, DecodeError>) -> Result<Vec<T>, DecodeError> {
        let count = self.u32()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.bytes)
    }

    pub fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }
}
