//! One pass over the partitions of a fetch: what the reader has for each, within the limits.

use std::sync::Arc;

use daybook_catalog::Catalog;
use daybook_read::{AbortedTransaction, Isolation, Piece, ReadError, Reader};
use daybook_types::{LeaderEpoch, Offset, PartitionId};
use tracing::error;

use crate::answer::{AnswerPiece, FileRange};
use crate::error_code::{self, ErrorCode};
use crate::fetch_session::{Found, Wanted};
use crate::topic_ref::PartitionRef;

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Of records in the whole answer.
    pub bytes_max: usize,
    pub leader_epoch: LeaderEpoch,
    pub isolation: Isolation,
}

/// A partition to read.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub partition: Result<PartitionId, ErrorCode>,
    from: Offset,
    bytes_max: usize,
}

/// What there is to tell of a partition.
#[derive(Debug)]
pub(super) struct Gathered {
    pub error: Option<ErrorCode>,
    /// -1, as in Kafka, beside an error; so are the next two.
    pub high_watermark: i64,
    pub last_stable_offset: i64,
    pub log_start_offset: i64,
    pub bytes: usize,
    pub pieces: Vec<AnswerPiece>,
    /// The offset after the last of these records.
    next_offset: Offset,
    /// Transactions whose records among these don't count, for whoever reads committed records only.
    pub aborted: Option<Vec<AbortedTransaction>>,
}

impl Gathered {
    fn nothing(error: ErrorCode) -> Self {
        Self { error: Some(error), ..Self::empty() }
    }

    fn empty() -> Self {
        Self {
            error: None,
            high_watermark: -1,
            last_stable_offset: -1,
            log_start_offset: -1,
            bytes: 0,
            pieces: Vec::new(),
            next_offset: Offset(0),
            aborted: None,
        }
    }

    pub fn found(&self) -> Found {
        Found {
            is_error: self.error.is_some(),
            bytes: self.bytes,
            high_watermark: self.high_watermark,
            log_start_offset: self.log_start_offset,
        }
    }
}

/// Finds the partitions that a request names.
pub(super) fn targets(catalog: &Catalog, limits: &Limits, partitions: &[(PartitionRef, Wanted)]) -> Vec<Target> {
    let target = |(at, wanted): &(PartitionRef, Wanted)| Target {
        partition: find(catalog, limits.leader_epoch, at, wanted),
        from: Offset(wanted.fetch_offset),
        bytes_max: usize::try_from(wanted.bytes_max).unwrap_or(0),
    };
    partitions.iter().map(target).collect()
}

fn find(
    catalog: &Catalog,
    leader_epoch: LeaderEpoch,
    at: &PartitionRef,
    wanted: &Wanted,
) -> Result<PartitionId, ErrorCode> {
    let topic = at.topic.find(catalog)?;
    let partition = topic.partition(at.partition).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    error_code::check_leader_epoch(wanted.current_leader_epoch, leader_epoch)?;
    Ok(partition)
}

/// Reads all targets; gives them back for the next pass. Goes to another thread if a disk may have to be asked.
pub(super) async fn gather(reader: &Reader, targets: Vec<Target>, limits: Limits) -> (Vec<Target>, Vec<Gathered>) {
    let hot = |target: &Target| target.partition.map_or(true, |partition| reader.is_hot(partition, target.from));
    if targets.iter().all(hot) {
        let gathered = read_all(reader, &targets, limits);
        return (targets, gathered);
    }
    let (reader, targets) = (reader.clone(), Arc::new(targets));
    let blocking = {
        let targets = Arc::clone(&targets);
        tokio::task::spawn_blocking(move || read_all(&reader, &targets, limits)).await
    };
    let gathered = blocking.unwrap_or_else(|fault| {
        error!(%fault, "a read ended without a result");
        targets.iter().map(|_| Gathered::nothing(ErrorCode::UnknownServerError)).collect()
    });
    (Arc::unwrap_or_clone(targets), gathered)
}

fn read_all(reader: &Reader, targets: &[Target], limits: Limits) -> Vec<Gathered> {
    let mut bytes_left = limits.bytes_max;
    // The first records of an answer are sent whatever their size: else a batch above the limit would stop its consumer for good.
    let mut is_empty = true;
    let mut read = |target: &Target| {
        let gathered = match target.partition {
            Ok(partition) => {
                let bytes_max = target.bytes_max.min(bytes_left);
                let mut gathered = read(reader, partition, target, limits.isolation, bytes_max, is_empty);
                // After the reads: what they gave was decided before.
                if limits.isolation == Isolation::Committed && gathered.error.is_none() {
                    let offsets = target.from..gathered.next_offset;
                    let has_records = gathered.bytes > 0;
                    gathered.aborted = Some(if has_records { reader.aborted(partition, offsets) } else { Vec::new() });
                }
                gathered
            }
            Err(error) => Gathered::nothing(error),
        };
        bytes_left = bytes_left.saturating_sub(gathered.bytes);
        is_empty &= gathered.bytes == 0;
        gathered
    };
    targets.iter().map(&mut read).collect()
}

/// A read may end where file and memory meet; what follows is asked for while there is room.
fn read(
    reader: &Reader,
    partition: PartitionId,
    target: &Target,
    isolation: Isolation,
    bytes_max: usize,
    at_least_one: bool,
) -> Gathered {
    let mut gathered = Gathered::empty();
    let mut from = target.from;
    loop {
        let bytes_left = bytes_max.saturating_sub(gathered.bytes);
        match reader.read_isolated(partition, from, bytes_left, at_least_one && gathered.bytes == 0, isolation) {
            Ok(fetched) => {
                gathered.high_watermark = fetched.end_offset.0;
                gathered.last_stable_offset = fetched.stable_offset.0;
                gathered.log_start_offset = fetched.start_offset.0;
                gathered.next_offset = fetched.next_offset;
                gathered.bytes += fetched.bytes;
                gathered.pieces.extend(fetched.pieces.into_iter().map(AnswerPiece::from));
                if fetched.bytes == 0 || fetched.next_offset >= fetched.end_offset || gathered.bytes >= bytes_max {
                    return gathered;
                }
                from = fetched.next_offset;
            }
            // What was read before is good; the consumer meets the fault when it comes for the rest.
            Err(_) if gathered.bytes > 0 => return gathered,
            Err(fault) => {
                if !matches!(fault, ReadError::UnknownPartition { .. } | ReadError::OffsetOutOfRange { .. }) {
                    error!(%partition, offset = from.0, %fault, "a fetch can't be read");
                }
                return Gathered::nothing(error_code::of_read(&fault));
            }
        }
    }
}

impl From<Piece> for AnswerPiece {
    fn from(piece: Piece) -> Self {
        match piece {
            Piece::Memory(bytes) => Self::Memory(bytes),
            Piece::File(slice) => Self::File(FileRange { file: slice.file, at: slice.at, bytes: slice.bytes }),
        }
    }
}
