//! Raft's hard state (term and vote): a small file beside the segments, replaced whole.
//!
//! Bytes: magic (8), format version (u32), length (u32), CRC32C over all but itself (u32), the caller's bytes. Drawn in
//! `docs/formats/wal.md`.

use std::io::IoSlice;
use std::path::Path;

use bytes::Bytes;
use daybook_world::{Disk, DiskError};

use crate::directory::{HARD_STATE, HARD_STATE_NEW};
use crate::error::{Damage, DamageReason, OpenError};
use crate::format::{FORMAT_VERSION, u32_at};

const MAGIC: [u8; 8] = *b"daybkHST";
const HEADER_BYTES: usize = 20;
/// Hard states are a few dozen bytes; more is a mistake.
pub const HARD_STATE_BYTES_MAX: usize = 64 * 1024;

/// Durable on return. A crash at any moment leaves the old or the new one, whole.
pub(crate) fn save(disk: &dyn Disk, dir: &Path, content: &[u8]) -> Result<(), DiskError> {
    assert!(content.len() <= HARD_STATE_BYTES_MAX, "a hard state of {} bytes", content.len());
    let (new, path) = (dir.join(HARD_STATE_NEW), dir.join(HARD_STATE));
    let file = disk.create(&new)?;
    file.write_all_at(&[IoSlice::new(&encode(content))], 0)?;
    file.sync_data()?;
    disk.rename(&new, &path)?;
    disk.sync_dir(dir)
}

pub(crate) fn load(disk: &dyn Disk, dir: &Path) -> Result<Option<Bytes>, OpenError> {
    let path = dir.join(HARD_STATE);
    let file = match disk.open(&path) {
        Ok(file) => file,
        Err(error) if error.is_missing() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut bytes = vec![0; HEADER_BYTES + HARD_STATE_BYTES_MAX + 1];
    let count = file.read_at(&mut bytes, 0)?;
    bytes.truncate(count);
    match decode(&bytes) {
        Some((FORMAT_VERSION, content)) => Ok(Some(Bytes::copy_from_slice(content))),
        Some((version, _)) => Err(OpenError::Version { file: path, version, known: FORMAT_VERSION }),
        None => Err(Damage::new(&path, 0, None, DamageReason::Checksum).into()),
    }
}

fn encode(content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + content.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&checksum(&bytes, content).to_le_bytes());
    bytes.extend_from_slice(content);
    bytes
}

/// Version and content, if the bytes are whole.
fn decode(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (header, content) = bytes.split_at_checked(HEADER_BYTES)?;
    let whole = header[..8] == MAGIC
        && u32_at(header, 12) as usize == content.len()
        && u32_at(header, 16) == checksum(&header[..16], content);
    whole.then(|| (u32_at(header, 8), content))
}

fn checksum(header: &[u8], content: &[u8]) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(header);
    digest.update(content);
    crate::format::finish(&digest)
}
