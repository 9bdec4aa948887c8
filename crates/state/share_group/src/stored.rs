//! How a checkpoint keeps the state of a share-partition.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_command::{SharePartitionState, ShareRun};
use daybook_types::Offset;
use thiserror::Error;

const FORMAT_VERSION: u8 = 1;
const HEAD_BYTES: usize = 12;
const RUN_BYTES: usize = 19;

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum StoredShareError {
    #[error("the stored share-partition has format version {found}, this program knows up to {known}")]
    NewerFormat { found: u8, known: u8 },
    #[error("the stored share-partition is malformed")]
    Malformed,
}

pub fn encode_state(state: &SharePartitionState) -> Bytes {
    let mut out = BytesMut::with_capacity(1 + HEAD_BYTES + state.runs.len() * RUN_BYTES);
    out.put_u8(FORMAT_VERSION);
    out.put_i32(state.epoch);
    out.put_i64(state.start.0);
    for run in &state.runs {
        out.put_i64(run.first.0);
        out.put_i64(run.last.0);
        out.put_u8(run.is_done.into());
        out.put_u16(run.deliveries);
    }
    out.freeze()
}

pub fn decode_state(mut bytes: Bytes) -> Result<SharePartitionState, StoredShareError> {
    let version = bytes.try_get_u8().map_err(|_| StoredShareError::Malformed)?;
    if version > FORMAT_VERSION {
        return Err(StoredShareError::NewerFormat { found: version, known: FORMAT_VERSION });
    }
    if bytes.len() < HEAD_BYTES || !(bytes.len() - HEAD_BYTES).is_multiple_of(RUN_BYTES) {
        return Err(StoredShareError::Malformed);
    }
    let (epoch, start) = (bytes.get_i32(), Offset(bytes.get_i64()));
    let mut runs = Vec::with_capacity(bytes.len() / RUN_BYTES);
    while !bytes.is_empty() {
        let (first, last) = (Offset(bytes.get_i64()), Offset(bytes.get_i64()));
        let is_done = match bytes.get_u8() {
            0 => false,
            1 => true,
            _ => return Err(StoredShareError::Malformed),
        };
        runs.push(ShareRun { first, last, is_done, deliveries: bytes.get_u16() });
    }
    Ok(SharePartitionState { epoch, start, runs })
}
