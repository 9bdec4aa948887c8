//! The end of the log as a write that was cut short would leave it.
//!
//! A kill leaves the page cache: all that was acknowledged is in the file, in whole records. So bytes behind the last whole
//! record were never acknowledged, and there anything may stand: noise, or the beginning of a record.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use daybook_wal::{Content, scan};
use daybook_world::RealDisk;
use rand::Rng;
use rand::rngs::StdRng;

/// Length of a record's head, and what records begin at multiples of: see docs/formats/wal.md.
const RECORD_HEADER_BYTES: u64 = 48;
const ALIGN: u64 = 8;
const GARBAGE_BYTES_MAX: u64 = 20_000;

/// Writes behind the last whole record of the log in the data directory. `None` where there was no place for it.
pub fn tear(data: &Path, dice: &mut StdRng) -> Result<Option<PathBuf>, String> {
    let wal = Path::new("shard-0/wal");
    let disk = RealDisk::open(data).map_err(|error| error.to_string())?;
    let mut scan = scan(&disk, wal);
    let mut last = None;
    for scanned in &mut scan {
        let scanned = scanned.map_err(|error| format!("the log is damaged after a kill: {error}"))?;
        let payload_bytes = match &scanned.content {
            Content::Entry(record) => record.payload.len() as u64,
            _ => 0,
        };
        let end = scanned.byte + (RECORD_HEADER_BYTES + payload_bytes).next_multiple_of(ALIGN);
        last = Some((scanned.file, scanned.byte, end));
    }
    let Some((file, begin, end)) = last else { return Ok(None) };
    // If the kill has torn it already, its own remnants lie there: more of the same.
    let path = data.join(&file);
    if newest(&data.join(wal))? != path {
        // The newest file has no record yet; what lies behind an older one's last record is never looked at.
        return Ok(None);
    }
    let opened: File = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let length = opened.metadata().map_err(|error| error.to_string())?.len();
    let room = (length - end).min(GARBAGE_BYTES_MAX);
    if room == 0 {
        return Ok(None);
    }
    let mut garbage = vec![0; dice.random_range(1..=room) as usize];
    if dice.random_bool(0.5) {
        dice.fill(&mut garbage[..]);
    } else {
        // The last record once more, not whole; its number is not the next one either.
        let part = garbage.len().min((end - begin) as usize - 1);
        garbage.truncate(part);
        opened.read_exact_at(&mut garbage, begin).map_err(|error| error.to_string())?;
    }
    opened.write_all_at(&garbage, end).map_err(|error| error.to_string())?;
    Ok(Some(path))
}

/// Files are named by the number of their first entry.
fn newest(wal: &Path) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(wal).map_err(|error| format!("{}: {error}", wal.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let newest = paths.filter(|path| path.extension().is_some_and(|extension| extension == "wal")).max();
    newest.ok_or_else(|| format!("{} has no segment", wal.display()))
}
