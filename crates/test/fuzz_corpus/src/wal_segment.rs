//! A segment file of the write-ahead log.

use crc_fast::{CrcAlgorithm, Digest};
use daybook_wal::recover_bytes;

use crate::Verdict;

// As `docs/formats/wal.md` has them.
const SEGMENT_HEADER_BYTES: usize = 64;
const RECORD_HEADER_BYTES: usize = 48;
const ALIGN: usize = 8;

/// Recovery says of any bytes what is in them; what it counts is there.
pub fn wal_segment(bytes: &[u8]) -> Verdict {
    let verdict = look(bytes);
    if let Some(sealed) = sealed(bytes) {
        look(&sealed);
    }
    verdict
}

fn look(bytes: &[u8]) -> Verdict {
    let recovered = recover_bytes(bytes);
    if let Ok(recovered) = &recovered {
        let length = bytes.len() as u64;
        assert!(recovered.bytes <= length, "{} bytes of records in {length}", recovered.bytes);
        assert!(recovered.entries <= recovered.bytes / RECORD_HEADER_BYTES as u64, "each entry has a header");
        if let Some(cut) = &recovered.cut {
            assert!(cut.byte + cut.bytes <= length, "what is cut is there");
        }
    }
    Verdict::of(&recovered)
}

/// The bytes as a file of their own length with every checksum made right, as far as there are records.
fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut sealed = bytes.to_vec();
    let capacity = u32::try_from(sealed.len()).ok()?;
    let header = sealed.get_mut(..SEGMENT_HEADER_BYTES)?;
    header[12..16].copy_from_slice(&capacity.to_le_bytes());
    let crc = crc_fast::crc32_iscsi(&header[..60]);
    header[60..].copy_from_slice(&crc.to_le_bytes());
    let mut prev = u32::from_le_bytes(header[56..60].try_into().ok()?);
    let mut seed = Digest::new(CrcAlgorithm::Crc32Iscsi);
    seed.update(&crc.to_le_bytes());

    let mut at = SEGMENT_HEADER_BYTES;
    while let Some(header) = sealed.get(at..at + RECORD_HEADER_BYTES) {
        let payload_bytes = u32::from_le_bytes(header[4..8].try_into().ok()?) as usize;
        let end = at + (RECORD_HEADER_BYTES + payload_bytes).next_multiple_of(ALIGN);
        let is_record = (1..=4).contains(&header[12]);
        let Some(record) = sealed.get_mut(at..end).filter(|_| is_record) else { break };
        record[8..12].copy_from_slice(&prev.to_le_bytes());
        let mut digest = seed;
        digest.update(&record[4..]);
        prev = digest.finalize() as u32;
        record[..4].copy_from_slice(&prev.to_le_bytes());
        at = end;
    }
    Some(sealed)
}
