//! Looking through a log that nobody serves, record by record, without changing a byte: for `daybook log verify` and
//! `daybook log dump`.

use std::path::{Path, PathBuf};

use daybook_types::{Lsn, Term};
use daybook_world::Disk;

use crate::directory::{Listing, find_segments};
use crate::error::OpenError;
use crate::format::What;
use crate::hard_state;
use crate::read::Record;
use crate::recovery::Cut;
use crate::walk::{Step, Walk};

/// One record and where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scanned {
    pub file: PathBuf,
    pub byte: u64,
    pub content: Content,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An entry; a later truncation may take it away.
    Entry(Record),
    /// From here on the log ended with this entry.
    Truncated { last: Option<(Term, Lsn)> },
    /// From here on nothing at or below this was kept.
    Purged { through: (Term, Lsn) },
    /// All before was durable: the log was closed in good order, or went on in another segment.
    Mark,
}

/// Iterates over all records; ends after the last, or with the first damage.
#[derive(Debug)]
pub struct Scan {
    walk: Option<Walk<'static>>,
    failed: Option<OpenError>,
    torn: Option<Cut>,
}

/// Scans the log in `dir`. Damage to segment headers and the hard state is the iterator's first item.
pub fn scan(disk: &dyn Disk, dir: &Path) -> Scan {
    let start = || {
        let listing = Listing::read(disk, dir)?;
        hard_state::load(disk, dir)?;
        Ok(Walk::new(find_segments(disk, &listing.segments)?))
    };
    match start() {
        Ok(walk) => Scan { walk, failed: None, torn: None },
        Err(error) => Scan { walk: None, failed: Some(error), torn: None },
    }
}

impl Scan {
    /// After the last item: the torn tail that the next opening would cut.
    pub fn torn(&self) -> Option<&Cut> {
        self.torn.as_ref()
    }

    fn advance(&mut self) -> Result<Option<Scanned>, OpenError> {
        let Some(walk) = &mut self.walk else { return Ok(None) };
        let (segment, at, header) = match walk.step()? {
            Step::Record { segment, at, header } => (segment, at, header),
            Step::End => return Ok(None),
            Step::Torn(torn) => {
                let dropped: u64 =
                    walk.segments()[torn.segment + 1..].iter().map(|later| u64::from(later.header.capacity)).sum();
                let file = walk.segments()[torn.segment].path.clone();
                self.torn = Some(Cut { file, byte: torn.at, bytes: torn.end - torn.at + dropped });
                return Ok(None);
            }
        };
        let content = match (header.what, header.log_id) {
            (What::Entry, Some((term, lsn))) => {
                Content::Entry(Record { term, lsn, kind: header.kind, payload: walk.reader().payload(at, &header)? })
            }
            (What::Truncate, last) => Content::Truncated { last },
            (What::Purge, Some(through)) => Content::Purged { through },
            (What::Mark | What::Entry | What::Purge, _) => Content::Mark,
        };
        Ok(Some(Scanned { file: walk.segments()[segment].path.clone(), byte: at, content }))
    }
}

impl Iterator for Scan {
    type Item = Result<Scanned, OpenError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        let item = self.advance().transpose();
        if !matches!(item, Some(Ok(_))) {
            self.walk = None;
        }
        item
    }
}
