//! Looking at a data directory that nobody serves: is everything in it whole, and what does its log say.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use daybook::{DataDir, SHARD_DIR};
use daybook_apply::{Posted, ShardState};
use daybook_command::{Command, Entry};
use daybook_kv::Store;
use daybook_read::Order;
use daybook_segment::PartitionStore;
use daybook_shard::{Storage, record_kind};
use daybook_types::{Lsn, Position, StreamVersion, Term};
use daybook_wal::{Content, Record, scan};
use daybook_world::{Disk, RealDisk};

/// What was read without finding damage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    pub wal_records: u64,
    pub wal_bytes: u64,
    /// Bytes behind the last whole record that the next start will cut.
    pub wal_torn_bytes: u64,
    pub first_lsn: Option<Lsn>,
    pub last_lsn: Option<Lsn>,
    /// What the last checkpoint holds.
    pub checkpoint: Lsn,
    pub topics: u64,
    pub partitions: u64,
    pub segments: u64,
    pub batches: u64,
    pub records: u64,
    pub segment_bytes: u64,
    pub index_entries: u64,
    pub streams: u64,
    pub events: u64,
}

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dumped {
    pub lsn: Lsn,
    pub term: Term,
    pub bytes: usize,
    pub what: Said,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Commands(Entry),
    /// A new leader's first entry.
    Blank,
    Members,
}

/// Reads everything in the data directory at `path`; fails with the first damage. `progress` is told of bytes.
pub fn verify(path: &Path, mut progress: impl FnMut(u64)) -> anyhow::Result<Verified> {
    let data = DataDir::open_existing(path)?;
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(&data.path)?);
    let mut verified = Verified::default();
    verify_wal(&*disk, &mut verified, &mut progress)?;

    let shard = data.path.join(SHARD_DIR);
    let (kv, files) = Storage::open_posted(&disk, &data.path, Path::new(SHARD_DIR), daybook_kv::Options::default())
        .with_context(|| format!("can't open {}", shard.display()))?;
    verify_posted(&kv, &files, &mut verified, &mut progress)?;
    if let Some(first) = verified.first_lsn {
        ensure!(
            first <= verified.checkpoint.next(),
            "the log begins at LSN {first}, but the last checkpoint holds only what is up to {}: entries between are missing",
            verified.checkpoint
        );
    }
    Ok(verified)
}

/// Hands every entry that the log still has, from `from` up to `to`, to `each`.
pub fn dump(
    path: &Path,
    from: Lsn,
    to: Option<Lsn>,
    mut each: impl FnMut(Dumped) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let data = DataDir::open_existing(path)?;
    let disk = RealDisk::open(&data.path)?;
    for scanned in scan(&disk, &Storage::wal_dir(Path::new(SHARD_DIR))) {
        let scanned = scanned?;
        let Content::Entry(record) = scanned.content else { continue };
        if record.lsn < from || to.is_some_and(|to| record.lsn >= to) {
            continue;
        }
        let bytes = record.payload.len();
        let (lsn, term) = (record.lsn, record.term);
        let what = decode(record).with_context(|| format!("{} byte {}", scanned.file.display(), scanned.byte))?;
        each(Dumped { lsn, term, bytes, what })?;
    }
    Ok(())
}

fn verify_wal(disk: &dyn Disk, verified: &mut Verified, progress: &mut impl FnMut(u64)) -> anyhow::Result<()> {
    let mut scan = scan(disk, &Storage::wal_dir(Path::new(SHARD_DIR)));
    for scanned in scan.by_ref() {
        let scanned = scanned?;
        verified.wal_records += 1;
        if let Content::Entry(record) = scanned.content {
            let lsn = record.lsn;
            verified.wal_bytes += record.payload.len() as u64;
            progress(record.payload.len() as u64);
            decode(record).with_context(|| format!("{} byte {}, LSN {lsn}", scanned.file.display(), scanned.byte))?;
            verified.first_lsn = verified.first_lsn.or(Some(lsn));
            verified.last_lsn = Some(lsn);
        }
    }
    verified.wal_torn_bytes = scan.torn().map_or(0, |cut| cut.bytes);
    Ok(())
}

fn verify_posted(
    kv: &Arc<Store>,
    files: &PartitionStore,
    verified: &mut Verified,
    progress: &mut impl FnMut(u64),
) -> anyhow::Result<()> {
    let state = ShardState::restore(kv).context("can't read the checkpoint's state")?;
    let posted = state.posted();
    verified.checkpoint = *posted.applied().borrow();
    for topic in posted.catalog().topics() {
        verified.topics += 1;
        for id in topic.partition_ids() {
            verified.partitions += 1;
            let log = posted.log(id).context("a partition of a topic has no state")?;
            let (start, end, compaction) = log.look(|tail| (tail.start, tail.end, tail.compaction));
            let Some(partition) = files.get(id) else {
                ensure!(start == end, "{} partition {}: its files are missing, it ends at {end}", topic.name, id.index);
                continue;
            };
            let found = partition.verify(&mut *progress)?;
            // Where everything was deleted there is no file.
            let file_end = partition.next_offset().unwrap_or(start);
            ensure!(
                file_end == end,
                "{} partition {}: its files end at offset {file_end}, the checkpoint says {end}",
                topic.name,
                id.index
            );
            let compacted_to = partition.compacted_to();
            ensure!(
                compacted_to <= compaction.to,
                "{} partition {}: its files are compacted up to offset {compacted_to}, the log says {}",
                topic.name,
                id.index,
                compaction.to
            );
            verified.segments += found.segments;
            verified.batches += found.batches;
            verified.records += found.records;
            verified.segment_bytes += found.bytes;
            verified.index_entries += found.index_entries;
        }
    }
    verify_streams(&posted, verified)
}

/// The index of streams against itself and against the ends of partitions: positions without gaps, every place within its partition,
/// every stream with as many places as versions.
fn verify_streams(posted: &Posted, verified: &mut Verified) -> anyhow::Result<()> {
    const BLOCK: usize = 1000;
    let index = posted.streams();
    let mut next = Position(0);
    loop {
        let found = index.located(next, Order::Ascending, BLOCK)?;
        if found.is_empty() {
            break;
        }
        for located in found {
            ensure!(located.position == next, "the index of streams has no event at position {next}");
            next = next.next();
            let Some(id) = located.partition_id() else { continue };
            let end = posted.log(id).context("the index of streams names an unknown partition")?.look(|tail| tail.end);
            ensure!(
                located.offset < end,
                "position {}: partition {id} ends before offset {}",
                located.position,
                located.offset
            );
        }
    }
    let end = *index.end().borrow();
    ensure!(next == end, "the index of streams ends at position {next}, the checkpoint says {end}");
    verified.events = end.0;
    for topic in index.topics().into_keys() {
        let mut after = Vec::new();
        loop {
            let block = index.streams(topic, &after, BLOCK)?;
            let Some((last, _)) = block.last() else { break };
            after.clone_from(last);
            for (name, stream) in block {
                verified.streams += 1;
                let places = index.places(topic, &name, StreamVersion(0), stream.next)?;
                let name = String::from_utf8_lossy(&name);
                let (found, versions) = (places.len() as u64, stream.next.0);
                ensure!(found == versions, "stream {name} has {versions} versions, and places of {found} in the index");
            }
        }
    }
    Ok(())
}

fn decode(record: Record) -> anyhow::Result<Said> {
    Ok(match record.kind {
        record_kind::COMMANDS => {
            let entry = Entry::decode(record.payload)?;
            for command in &entry.commands {
                match command {
                    Command::AppendBatch(append) => drop(daybook_record::verify(&append.batch)?),
                    Command::AppendEvents(append) => {
                        for batch in &append.batches {
                            daybook_record::verify(&batch.batch)?;
                        }
                    }
                    _ => {}
                }
            }
            Said::Commands(entry)
        }
        record_kind::BLANK => Said::Blank,
        record_kind::MEMBERSHIP => Said::Members,
        kind => anyhow::bail!("the entry is of kind {kind}, which this version of daybook does not know"),
    })
}
