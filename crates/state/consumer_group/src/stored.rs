//! How a checkpoint keeps a committed offset, and a group's configs.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_command::CommittedOffset;
use daybook_types::{Offset, TimestampMs};
use thiserror::Error;

use crate::configs::ConfigsOfGroup;

const FORMAT_VERSION: u8 = 1;

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum StoredGroupError {
    #[error("the stored offset has format version {found}, this program knows up to {known}")]
    NewerFormat { found: u8, known: u8 },
    #[error("the stored offset is malformed")]
    Malformed,
}

/// The offset, with its group's protocol type.
pub fn encode_offset(offset: &CommittedOffset, protocol_type: &str) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(FORMAT_VERSION);
    out.put_i64(offset.offset.0);
    out.put_i32(offset.leader_epoch);
    out.put_i64(offset.committed_at.0);
    for text in [protocol_type, &offset.metadata] {
        out.put_u32(text.len() as u32);
        out.put_slice(text.as_bytes());
    }
    out.freeze()
}

pub fn decode_offset(mut bytes: Bytes) -> Result<(CommittedOffset, String), StoredGroupError> {
    const HEAD_BYTES: usize = 20;
    let version = bytes.try_get_u8().map_err(|_| StoredGroupError::Malformed)?;
    if version > FORMAT_VERSION {
        return Err(StoredGroupError::NewerFormat { found: version, known: FORMAT_VERSION });
    }
    if bytes.len() < HEAD_BYTES {
        return Err(StoredGroupError::Malformed);
    }
    let offset = Offset(bytes.get_i64());
    let leader_epoch = bytes.get_i32();
    let committed_at = TimestampMs(bytes.get_i64());
    let protocol_type = text(&mut bytes)?;
    let metadata = text(&mut bytes)?;
    if !bytes.is_empty() {
        return Err(StoredGroupError::Malformed);
    }
    Ok((CommittedOffset { offset, leader_epoch, metadata, committed_at }, protocol_type))
}

pub fn encode_configs(configs: &ConfigsOfGroup) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(FORMAT_VERSION);
    for text in configs.iter().flat_map(|(name, value)| [name, value]) {
        out.put_u32(text.len() as u32);
        out.put_slice(text.as_bytes());
    }
    out.freeze()
}

pub fn decode_configs(mut bytes: Bytes) -> Result<ConfigsOfGroup, StoredGroupError> {
    let version = bytes.try_get_u8().map_err(|_| StoredGroupError::Malformed)?;
    if version > FORMAT_VERSION {
        return Err(StoredGroupError::NewerFormat { found: version, known: FORMAT_VERSION });
    }
    let mut configs = ConfigsOfGroup::new();
    while !bytes.is_empty() {
        let name = text(&mut bytes)?;
        configs.insert(name, text(&mut bytes)?);
    }
    Ok(configs)
}

fn text(from: &mut Bytes) -> Result<String, StoredGroupError> {
    let length = from.try_get_u32().map_err(|_| StoredGroupError::Malformed)? as usize;
    if length > from.len() {
        return Err(StoredGroupError::Malformed);
    }
    String::from_utf8(from.split_to(length).into()).map_err(|_| StoredGroupError::Malformed)
}
