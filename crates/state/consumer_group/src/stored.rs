//! How a checkpoint keeps a committed offset, one that waits for the end of its transaction, and a group's configs.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_command::CommittedOffset;
use daybook_types::{Lsn, Offset, TimestampMs};
use thiserror::Error;

use crate::configs::ConfigsOfGroup;
use crate::pending::PendingOffset;

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

/// A pending offset: when it was written and whether it still counts, then as a committed one.
pub fn encode_pending(pending: &PendingOffset) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(FORMAT_VERSION);
    out.put_u64(pending.written_at.0);
    out.put_u8(pending.superseded.into());
    out.put_slice(&encode_offset(&pending.offset, &pending.protocol_type));
    out.freeze()
}

pub fn decode_pending(mut bytes: Bytes) -> Result<PendingOffset, StoredGroupError> {
    let version = bytes.try_get_u8().map_err(|_| StoredGroupError::Malformed)?;
    if version > FORMAT_VERSION {
        return Err(StoredGroupError::NewerFormat { found: version, known: FORMAT_VERSION });
    }
    let written_at = Lsn(bytes.try_get_u64().map_err(|_| StoredGroupError::Malformed)?);
    let superseded = match bytes.try_get_u8() {
        Ok(0) => false,
        Ok(1) => true,
        _ => return Err(StoredGroupError::Malformed),
    };
    let (offset, protocol_type) = decode_offset(bytes)?;
    Ok(PendingOffset { offset, protocol_type, written_at, superseded })
}

fn text(from: &mut Bytes) -> Result<String, StoredGroupError> {
    let length = from.try_get_u32().map_err(|_| StoredGroupError::Malformed)? as usize;
    if length > from.len() {
        return Err(StoredGroupError::Malformed);
    }
    String::from_utf8(from.split_to(length).into()).map_err(|_| StoredGroupError::Malformed)
}
