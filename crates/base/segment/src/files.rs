//! The files of one partition: what of them readers see, and who may change that.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use daybook_types::{Offset, PartitionId};
use daybook_world::{Disk, DiskError, DiskFile};
use parking_lot::{Mutex, RwLock};

use crate::append::Pending;
use crate::handles::{Handles, Key};
use crate::name::{self, Kind, SegmentName};
use crate::ranges::Ranges;
use crate::rewrite::Rewrites;
use crate::{FileEnds, SegmentEnds};

/// What the partitions of a shard share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub disk: Arc<dyn Disk>,
    /// `<shard>/partitions`.
    pub root: PathBuf,
    pub handles: Handles,
    /// Partitions with rewritten segments that no checkpoint has taken in.
    pub rewritten: Mutex<HashSet<PartitionId>>,
}

/// The files of one partition. An idle one keeps a few hundred bytes and no descriptor.
#[derive(Debug)]
pub struct PartitionFiles {
    pub(crate) id: PartitionId,
    pub(crate) shared: Arc<Shared>,
    /// Ascending.
    pub(crate) visible: RwLock<Vec<Segment>>,
    /// Appended and not yet visible. Held by the thread that appends for as long as it does.
    pub(crate) pending: Mutex<Option<Box<Pending>>>,
    /// Locked after `pending` and before `visible`, if together with them.
    pub(crate) rewrites: Mutex<Rewrites>,
    pub(crate) removed: AtomicBool,
}

/// A segment that readers see.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub ends: SegmentEnds,
    pub seen: Arc<Seen>,
}

/// What reading a segment has taught.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Its data was checked there.
    pub checked: Mutex<Ranges>,
    /// Its index is damaged; reads do without.
    pub index_is_bad: AtomicBool,
}

impl Segment {
    pub(crate) fn new(ends: SegmentEnds) -> Self {
        Self { ends, seen: Arc::default() }
    }

    /// A segment that this process wrote.
    pub(crate) fn appended(ends: SegmentEnds) -> Self {
        let mut segment = Self::new(SegmentEnds { data_bytes: 0, ..ends });
        segment.grow(ends);
        segment
    }

    /// This process has written more. Its bytes were checked when they came, and the kernel still has them: reading them back
    /// now would show nothing new.
    fn grow(&mut self, ends: SegmentEnds) {
        self.seen.checked.lock().insert(self.ends.data_bytes..ends.data_bytes);
        self.ends = ends;
    }
}

impl PartitionFiles {
    pub(crate) fn new(id: PartitionId, shared: Arc<Shared>, ends: &FileEnds) -> Self {
        Self {
            id,
            shared,
            visible: RwLock::new(ends.segments.iter().copied().map(Segment::new).collect()),
            pending: Mutex::default(),
            rewrites: Mutex::new(Rewrites::new(ends.compacted_to)),
            removed: AtomicBool::new(false),
        }
    }

    pub fn id(&self) -> PartitionId {
        self.id
    }

    /// The offset after the last record that readers see here; `None` if there is no segment, as at first and after everything was
    /// trimmed.
    pub fn next_offset(&self) -> Option<Offset> {
        self.visible.read().last().map(|segment| segment.ends.next_offset)
    }

    /// The first offset of the first segment.
    pub fn start_offset(&self) -> Option<Offset> {
        self.visible.read().first().map(|segment| segment.ends.base_offset)
    }

    /// Bytes of records that readers see here.
    pub fn bytes(&self) -> u64 {
        self.visible.read().iter().map(|segment| segment.ends.data_bytes).sum()
    }

    /// The segments that readers see, ascending: what retention decides by.
    pub fn segments(&self) -> Vec<SegmentEnds> {
        self.visible.read().iter().map(|segment| segment.ends).collect()
    }

    /// All that was appended, visible or not, and what was taken in of rewrites: what the checkpoint notes.
    pub fn ends(&self) -> FileEnds {
        let pending = self.pending.lock();
        let rewrites = self.rewrites.lock();
        let mut segments: Vec<_> = self.segments().into_iter().filter_map(|ends| rewrites.adopted(ends)).collect();
        let compacted_to = rewrites.compacted_to_be_noted();
        drop(rewrites);
        for ends in pending.iter().flat_map(|pending| &pending.segments) {
            match segments.last_mut() {
                Some(last) if last.name() == ends.name() => *last = *ends,
                _ => segments.push(*ends),
            }
        }
        FileEnds { segments, compacted_to }
    }

    /// Shows readers all that was appended, and what was taken in of rewrites in the place of what was rewritten. Called after the
    /// checkpoint that notes it is committed. Readers that hold a slice of what goes keep it.
    pub fn publish(&self) {
        let mut pending = self.pending.lock();
        let mut rewrites = self.rewrites.lock();
        let mut visible = self.visible.write();
        let replaced = rewrites.publish(&mut visible);
        for ends in pending.take().into_iter().flat_map(|pending| pending.segments) {
            match visible.last_mut() {
                Some(last) if last.ends.name() == ends.name() => last.grow(ends),
                _ => visible.push(Segment::appended(ends)),
            }
        }
        drop((visible, rewrites, pending));
        for ends in &replaced {
            if let Err(error) = self.remove_segment(ends) {
                // No checkpoint names it: the next start removes it.
                tracing::warn!(partition = %self.id, %error, "can't remove a segment that was rewritten yet");
            }
        }
    }

    /// Removes the segments that lie wholly below `start`. Called after the checkpoint that no longer names them
    /// ([`FileEnds::trimmed`]) is committed. Readers that hold a slice of one keep it.
    pub fn trim(&self, start: Offset) -> Result<(), DiskError> {
        let pending = self.pending.lock();
        let mut rewrites = self.rewrites.lock();
        let mut visible = self.visible.write();
        let mut count = visible.partition_point(|segment| segment.ends.next_offset <= start);
        if pending.is_some() && count == visible.len() {
            // The last one is being appended to.
            count = count.saturating_sub(1);
        }
        let mut gone: Vec<_> = visible.drain(..count).map(|segment| segment.ends).collect();
        drop(visible);
        gone.extend(rewrites.forget(&gone));
        drop(rewrites);
        for ends in &gone {
            self.remove_segment(ends)?;
        }
        if gone.is_empty() { Ok(()) } else { self.shared.disk.sync_dir(&self.dir()) }
    }

    pub(crate) fn remove_segment(&self, ends: &SegmentEnds) -> Result<(), DiskError> {
        let name = ends.name();
        self.shared.handles.forget(|key| key.partition == self.id && key.segment == name);
        for kind in [Kind::Data, Kind::Index] {
            match self.shared.disk.remove(&self.path(name, kind)) {
                // A small segment has no index, and a removal may be repeated after one that failed half way.
                Err(error) if !error.is_missing() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire)
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.shared.root.join(self.id.to_string())
    }

    pub(crate) fn path(&self, segment: SegmentName, kind: Kind) -> PathBuf {
        self.dir().join(name::file(segment, kind))
    }

    /// An existing file.
    pub(crate) fn file(&self, segment: SegmentName, kind: Kind) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.shared.handles.get(self.key(segment, kind), || self.shared.disk.open(&self.path(segment, kind)))
    }

    pub(crate) fn create_file(&self, segment: SegmentName, kind: Kind) -> Result<Arc<dyn DiskFile>, DiskError> {
        let file = self.shared.disk.create(&self.path(segment, kind))?;
        self.shared.handles.put(self.key(segment, kind), file.clone());
        Ok(file)
    }

    fn key(&self, segment: SegmentName, kind: Kind) -> Key {
        Key { partition: self.id, segment, kind }
    }
}
