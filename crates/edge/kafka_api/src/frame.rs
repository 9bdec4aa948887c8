//! A frame is a length and a request: what the length may be, and what the request's header says.

use bytes::Bytes;
use thiserror::Error;

use crate::versions::{self, Row};
use crate::wire::{ApiKey, BodyError, LENGTH_BYTES, StrBytes};

/// Key, version, correlation id and an absent client id.
const HEAD_BYTES_MIN: usize = 10;

/// Why a connection can't go on.
#[derive(Debug, Error)]
pub enum FrameError {
    #[error("this is {protocol}, not Kafka's protocol")]
    Foreign { protocol: &'static str },
    #[error("a request of {bytes} bytes is not between {HEAD_BYTES_MIN} and {bytes_max}")]
    Size { bytes: i32, bytes_max: usize },
    #[error("the request's header is malformed")]
    Header,
    #[error("no api has the key {key}, or it is not answered here")]
    UnknownApi { key: i16 },
    #[error("{api} is not answered in version {version}, only from {first} to {last}", api = row.name, first = row.first_version, last = row.last_version)]
    UnsupportedVersion { row: &'static Row, version: i16 },
    #[error("{api} version {version}: {source}", api = row.name)]
    Body { row: &'static Row, version: i16, source: BodyError },
}

/// A request's header.
#[derive(Clone, Debug)]
pub struct Head {
    pub row: &'static Row,
    pub version: i16,
    pub correlation_id: i32,
    pub client_id: Option<StrBytes>,
}

/// A request whose body is still to be decoded.
#[derive(Clone, Debug)]
pub enum Opened {
    Request {
        head: Head,
        body: Bytes,
    },
    /// Answered in version 0 whatever else it holds, so that a client can go on with a version we know (KIP-511).
    UnsupportedApiVersions {
        correlation_id: i32,
    },
}

/// How long the request is whose length this is.
pub fn request_bytes(prefix: [u8; LENGTH_BYTES], bytes_max: usize) -> Result<usize, FrameError> {
    let claimed = i32::from_be_bytes(prefix);
    match usize::try_from(claimed) {
        Ok(bytes) if (HEAD_BYTES_MIN..=bytes_max).contains(&bytes) => Ok(bytes),
        _ => Err(match foreign_protocol(prefix) {
            Some(protocol) => FrameError::Foreign { protocol },
            None => FrameError::Size { bytes: claimed, bytes_max },
        }),
    }
}

/// The first bytes of protocols that people point at the wrong port.
fn foreign_protocol(prefix: [u8; LENGTH_BYTES]) -> Option<&'static str> {
    match &prefix {
        b"GET " | b"POST" | b"PUT " | b"HEAD" | b"OPTI" | b"DELE" | b"PATC" | b"CONN" => Some("HTTP"),
        b"PRI " => Some("HTTP/2"),
        b"SSH-" => Some("SSH"),
        [0x16, 0x03, 0x00..=0x04, _] => Some("TLS"),
        _ => None,
    }
}

/// Reads the header of a whole request.
pub fn open(request: Bytes) -> Result<Opened, FrameError> {
    let (key, rest) = request.split_first_chunk().ok_or(FrameError::Header)?;
    let (version, rest) = rest.split_first_chunk().ok_or(FrameError::Header)?;
    let (correlation_id, rest) = rest.split_first_chunk().ok_or(FrameError::Header)?;
    let (key, version) = (i16::from_be_bytes(*key), i16::from_be_bytes(*version));
    let correlation_id = i32::from_be_bytes(*correlation_id);
    let row = versions::find(key).ok_or(FrameError::UnknownApi { key })?;
    if !row.answers(version) {
        return match row.api {
            ApiKey::ApiVersions => Ok(Opened::UnsupportedApiVersions { correlation_id }),
            _ => Err(FrameError::UnsupportedVersion { row, version }),
        };
    }
    let mut body = request.slice(request.len() - rest.len()..);
    let client_id = client_id(&mut body)?;
    if row.is_flexible(version) {
        skip_tagged_fields(&mut body)?;
    }
    Ok(Opened::Request { head: Head { row, version, correlation_id, client_id }, body })
}

/// A string of the old kind in every version of the header.
fn client_id(from: &mut Bytes) -> Result<Option<StrBytes>, FrameError> {
    let length = from.first_chunk().map(|bytes| i16::from_be_bytes(*bytes)).ok_or(FrameError::Header)?;
    drop(from.split_to(2));
    if length == -1 {
        return Ok(None);
    }
    let length = usize::try_from(length).ok().filter(|length| *length <= from.len()).ok_or(FrameError::Header)?;
    StrBytes::from_utf8(from.split_to(length)).map(Some).map_err(|_| FrameError::Header)
}

fn skip_tagged_fields(from: &mut Bytes) -> Result<(), FrameError> {
    for _ in 0..varint(from)? {
        varint(from)?;
        let size = varint(from)? as usize;
        if size > from.len() {
            return Err(FrameError::Header);
        }
        drop(from.split_to(size));
    }
    Ok(())
}

fn varint(from: &mut Bytes) -> Result<u32, FrameError> {
    let mut value = 0;
    for place in 0..5 {
        let byte = *from.first().ok_or(FrameError::Header)?;
        drop(from.split_to(1));
        if place == 4 && byte > 0x0f {
            break;
        }
        value |= u32::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(FrameError::Header)
}

#[cfg(test)]
mod tests;
