//! Kafka's message structs, and the only place that names the library they come from.

pub(crate) mod share_v2;

pub(crate) use kafka_protocol::ResponseError;
pub(crate) use kafka_protocol::messages::{self, ApiKey};
pub(crate) use kafka_protocol::protocol::{Request, StrBytes};

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::ResponseHeader;
use kafka_protocol::protocol::{Encodable, HeaderVersion};
use thiserror::Error;
use uuid::Uuid;

use crate::shape::{self, ShapeError};

/// Bytes of the length in front of every request and answer.
pub(crate) const LENGTH_BYTES: usize = 4;

/// Why a request's body can't be read.
#[derive(Debug, Error)]
pub enum BodyError {
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error("{0}")]
    Content(String),
}

/// An answer that can't be written at the version it was asked in. It is a fault of ours.
#[derive(Debug, Error)]
#[error("an answer can't be encoded: {0}")]
pub struct EncodeError(String);

/// Reads a request's body. Byte strings in it are slices of `body`.
pub(crate) fn decode<R: Request>(version: i16, body: Bytes) -> Result<R, BodyError> {
    if let Ok(api) = ApiKey::try_from(R::KEY) {
        shape::check(api, version, &body)?;
    }
    let mut body = body;
    R::decode(&mut body, version).map_err(|error| BodyError::Content(error.to_string()))
}

/// A whole answer: length, header, body.
pub(crate) fn encode<M>(correlation_id: i32, version: i16, body: &M) -> Result<Bytes, EncodeError>
where
    M: Encodable + HeaderVersion,
{
    let fail = |error: &dyn std::fmt::Display| EncodeError(error.to_string());
    let mut out = BytesMut::with_capacity(512);
    out.put_i32(0);
    ResponseHeader::default()
        .with_correlation_id(correlation_id)
        .encode(&mut out, M::header_version(version))
        .map_err(|error| fail(&error))?;
    body.encode(&mut out, version).map_err(|error| fail(&error))?;
    let length = i32::try_from(out.len() - LENGTH_BYTES).map_err(|error| fail(&error))?;
    out[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    Ok(out.freeze())
}

/// A text of ours as the library's string.
pub(crate) fn text(text: impl Into<String>) -> StrBytes {
    StrBytes::from_string(text.into())
}

/// The id by which a topic is named in messages.
pub(crate) fn uuid(id: daybook_types::TopicId) -> Uuid {
    id.0
}

/// Writes what the library has no messages for, piece by piece: the answer to a fetch.
pub(crate) struct Writer {
    out: BytesMut,
    flexible: bool,
}

impl Writer {
    pub fn new(flexible: bool) -> Self {
        Self { out: BytesMut::with_capacity(256), flexible }
    }

    pub fn i16(&mut self, value: i16) {
        self.out.put_i16(value);
    }

    pub fn i32(&mut self, value: i32) {
        self.out.put_i32(value);
    }

    pub fn i64(&mut self, value: i64) {
        self.out.put_i64(value);
    }

    pub fn uuid(&mut self, value: Uuid) {
        self.out.put_slice(value.as_bytes());
    }

    pub fn text(&mut self, value: &str) {
        if self.flexible {
            self.varint(count(value.len()) + 1);
        } else {
            self.out.put_i16(i16::try_from(value.len()).expect("names of topics and hosts are shorter than 32 KiB"));
        }
        self.out.put_slice(value.as_bytes());
    }

    /// The start of a list, or of bytes: how many follow.
    pub fn length(&mut self, length: usize) {
        if self.flexible {
            self.varint(count(length) + 1);
        } else {
            self.out.put_i32(count(length) as i32);
        }
    }

    pub fn null_list(&mut self) {
        if self.flexible { self.varint(0) } else { self.out.put_i32(-1) }
    }

    pub fn varint(&mut self, value: u32) {
        let mut value = value;
        while value >= 0x80 {
            self.out.put_u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.put_u8(value as u8);
    }

    /// The end of a struct that has no tagged fields.
    pub fn no_tags(&mut self) {
        if self.flexible {
            self.varint(0);
        }
    }

    /// A tagged field, written by `body`.
    pub fn tagged(&mut self, tag: u32, body: impl FnOnce(&mut Self)) {
        let mut field = Self { out: BytesMut::new(), flexible: self.flexible };
        body(&mut field);
        self.varint(tag);
        self.varint(count(field.out.len()));
        self.out.put_slice(&field.out);
    }

    /// What was written since the last time.
    pub fn split(&mut self) -> Bytes {
        self.out.split().freeze()
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).ok().filter(|count| i32::try_from(*count).is_ok()).expect("an answer is smaller than 2 GiB")
}

#[cfg(test)]
mod tests;
