//! Makes a server's data cold: written out and dropped from the page cache.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, bail};
use rustix::fs::{Advice, fadvise};

/// Deepest directory below the one given that is looked into.
const DEPTH_MAX: usize = 8;

/// Every file under `dir`. Pages that some process has mapped stay.
pub fn drop_cached(dir: &Path) -> anyhow::Result<()> {
    drop_below(dir, DEPTH_MAX)
}

fn drop_below(dir: &Path, depth: usize) -> anyhow::Result<()> {
    if depth == 0 {
        bail!("{} is deeper than a server's data goes; is --cold right?", dir.display());
    }
    for entry in std::fs::read_dir(dir).with_context(|| format!("listing {}", dir.display()))? {
        let path = entry.with_context(|| format!("listing {}", dir.display()))?.path();
        let kind = match std::fs::symlink_metadata(&path) {
            Ok(metadata) => metadata.file_type(),
            // The server runs, and may delete.
            Err(_) => continue,
        };
        if kind.is_dir() {
            drop_below(&path, depth - 1)?;
        } else if kind.is_file()
            && let Ok(file) = File::open(&path)
        {
            // Only pages that are written out can be dropped.
            file.sync_data().with_context(|| format!("writing out {}", path.display()))?;
            fadvise(&file, 0, None, Advice::DontNeed).with_context(|| format!("dropping {}", path.display()))?;
        }
    }
    Ok(())
}
