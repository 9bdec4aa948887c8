//! openraft's log over the WAL.
//!
//! Entries not yet applied are also kept decoded, so that apply and replication don't read back what was just written.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use bytes::Bytes;
use daybook_command::Entry;
use daybook_types::{Lsn, Term};
use daybook_wal::{Failure, Record, RecordRef, Wal};
use futures::{Stream, stream};
use openraft::storage::{IOFlushed, LogState, RaftLogStorage};
use openraft::{EntryPayload, RaftLogReader};
use parking_lot::Mutex;

use crate::config::{Commands, LogId, Payload, RaftEntry, Types, Vote, log_id, lsn_of, term_of};
use crate::membership::{decode_membership, decode_vote, encode_membership, encode_vote};
use crate::record_kind;

/// Bytes of WAL that are read and decoded at once, so that recovery needs no more memory than this.
const READ_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Larger entries are worth a sync thread, so that the next one is written meanwhile.
const ALONE_BYTES_MAX: usize = 8 * 1024;

/// Shared by openraft's log store, its readers and the state machine.
#[derive(Clone)]
pub(crate) struct LogStore {
    wal: Arc<Wal>,
    fresh: Arc<Mutex<VecDeque<RaftEntry>>>,
    vote: Arc<Mutex<Option<Vote>>>,
}

impl LogStore {
    pub fn open(wal: Arc<Wal>) -> io::Result<Self> {
        let vote = wal.hard_state().map(decode_vote).transpose()?;
        Ok(Self { wal, fresh: Arc::default(), vote: Arc::new(Mutex::new(vote)) })
    }

    /// The state machine has applied everything up to `lsn`.
    pub fn forget_applied(&self, lsn: Lsn) {
        let mut fresh = self.fresh.lock();
        while fresh.front().is_some_and(|entry| entry.log_id.index() <= lsn.0) {
            fresh.pop_front();
        }
    }

    fn end(&self) -> u64 {
        self.wal.last().map_or(0, |(_, lsn)| lsn.next().0)
    }

    fn read(&self, from: u64, to: u64, bytes_max: usize) -> io::Result<Vec<RaftEntry>> {
        let Some(first_kept) = self.wal.first() else { return Ok(Vec::new()) };
        let (from, to) = (from.max(first_kept.0), to.min(self.end()));
        if from >= to {
            return Ok(Vec::new());
        }
        {
            let fresh = self.fresh.lock();
            if let Some(first) = fresh.front().map(|entry| entry.log_id.index())
                && first <= from
            {
                let skip = (from - first) as usize;
                return Ok(fresh.iter().skip(skip).take((to - from) as usize).cloned().collect());
            }
        }
        let records = self.wal.read(Lsn(from), Lsn(to), bytes_max).map_err(io::Error::other)?;
        records.into_iter().map(decode_record).collect()
    }

    fn read_all(&self, from: u64, to: u64) -> io::Result<Vec<RaftEntry>> {
        let mut entries: Vec<RaftEntry> = Vec::new();
        let mut next = from;
        loop {
            let more = self.read(next, to, READ_BYTES_MAX)?;
            let Some(last) = more.last() else { return Ok(entries) };
            next = last.log_id.index() + 1;
            entries.extend(more);
        }
    }
}

fn bounds(range: &impl RangeBounds<u64>) -> (u64, u64) {
    let from = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start + 1,
        Bound::Unbounded => 0,
    };
    let to = match range.end_bound() {
        Bound::Included(end) => end + 1,
        Bound::Excluded(end) => *end,
        Bound::Unbounded => u64::MAX,
    };
    (from, to)
}

fn decode_record(record: Record) -> io::Result<RaftEntry> {
    let payload = match record.kind {
        record_kind::COMMANDS => {
            let entry = Entry::decode(record.payload).map_err(|source| {
                io::Error::new(io::ErrorKind::InvalidData, format!("entry {}: {source}", record.lsn))
            })?;
            EntryPayload::Normal(Commands(Arc::new(entry)))
        }
        record_kind::BLANK => EntryPayload::Blank,
        record_kind::MEMBERSHIP => EntryPayload::Membership(decode_membership(record.payload)?),
        kind => {
            let text = format!("entry {} is of kind {kind}, which this program does not know", record.lsn);
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
    };
    Ok(RaftEntry { log_id: log_id(record.term, record.lsn), payload })
}

fn encode_payload(payload: &Payload) -> (u8, Vec<Bytes>) {
    match payload {
        EntryPayload::Normal(commands) => (record_kind::COMMANDS, commands.0.encode()),
        EntryPayload::Blank => (record_kind::BLANK, Vec::new()),
        EntryPayload::Membership(membership) => (record_kind::MEMBERSHIP, vec![encode_membership(membership)]),
    }
}

/// One small command is what a single writer sends that waits for each answer: nothing else could be done while it is
/// synced. As soon as there are more writers, their commands gather, and entries have several.
fn is_alone(entries: &[RaftEntry]) -> bool {
    let [entry] = entries else { return false };
    match &entry.payload {
        EntryPayload::Normal(commands) => {
            let [command] = commands.0.commands.as_slice() else { return false };
            command.bytes() <= ALONE_BYTES_MAX
        }
        EntryPayload::Blank | EntryPayload::Membership(_) => true,
    }
}

fn to_log_id(at: (Term, Lsn)) -> LogId {
    log_id(at.0, at.1)
}

impl RaftLogReader<Types> for LogStore {
    async fn entries_stream<RB>(&mut self, range: RB) -> impl Stream<Item = Result<RaftEntry, io::Error>> + Send
    where
        RB: RangeBounds<u64> + Clone + Debug + Send,
    {
        let (from, to) = bounds(&range);
        let store = self.clone();
        let chunk = std::iter::empty().collect::<VecDeque<RaftEntry>>();
        Box::pin(stream::unfold((store, chunk, from), move |(store, mut chunk, next)| async move {
            if chunk.is_empty() {
                match store.read(next, to, READ_BYTES_MAX) {
                    Ok(more) => chunk.extend(more),
                    Err(error) => return Some((Err(error), (store, chunk, to))),
                }
            }
            let entry = chunk.pop_front()?;
            let next = entry.log_id.index() + 1;
            Some((Ok(entry), (store, chunk, next)))
        }))
    }

    async fn try_get_log_entries<RB>(&mut self, range: RB) -> Result<Vec<RaftEntry>, io::Error>
    where
        RB: RangeBounds<u64> + Clone + Debug + Send,
    {
        let (from, to) = bounds(&range);
        self.read_all(from, to)
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> Result<Vec<RaftEntry>, io::Error> {
        self.read(start, end, READ_BYTES_MAX)
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, io::Error> {
        Ok(*self.vote.lock())
    }
}

impl RaftLogStorage<Types> for LogStore {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, io::Error> {
        let purged = self.wal.purged().map(to_log_id);
        let last = self.wal.last().map(to_log_id);
        Ok(LogState { last_purged_log_id: purged, last_log_id: last })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), io::Error> {
        self.wal.save_hard_state(&encode_vote(vote)).map_err(io::Error::other)?;
        *self.vote.lock() = Some(*vote);
        Ok(())
    }

    async fn append<I>(&mut self, entries: I, callback: IOFlushed<Types>) -> Result<(), io::Error>
    where
        I: IntoIterator<Item = RaftEntry> + Send,
        I::IntoIter: Send,
    {
        let entries: Vec<RaftEntry> = entries.into_iter().collect();
        let encoded: Vec<(u8, Vec<Bytes>)> = entries.iter().map(|entry| encode_payload(&entry.payload)).collect();
        let records: Vec<RecordRef<'_>> = entries
            .iter()
            .zip(&encoded)
            .map(|(entry, (kind, parts))| RecordRef {
                term: term_of(&entry.log_id),
                lsn: lsn_of(&entry.log_id),
                kind: *kind,
                parts,
            })
            .collect();
        let on_durable = move |result: Result<(), Failure>| callback.io_completed(result.map_err(io::Error::other));
        if is_alone(&entries) {
            self.wal.append_alone(&records, on_durable).map_err(io::Error::other)?;
        } else {
            self.wal.append(&records, on_durable).map_err(io::Error::other)?;
        }
        self.fresh.lock().extend(entries);
        Ok(())
    }

    async fn truncate_after(&mut self, last_log_id: Option<LogId>) -> Result<(), io::Error> {
        let keep = last_log_id.map_or(0, |log_id| log_id.index() + 1);
        self.wal.truncate_from(Lsn(keep)).map_err(io::Error::other)?;
        self.fresh.lock().retain(|entry| entry.log_id.index() < keep);
        Ok(())
    }

    async fn purge(&mut self, log_id: LogId) -> Result<(), io::Error> {
        self.wal.skip_to(term_of(&log_id), lsn_of(&log_id)).map_err(io::Error::other)?;
        self.forget_applied(lsn_of(&log_id));
        Ok(())
    }
}
