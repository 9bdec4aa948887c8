//! What is being rewritten in a partition, what was, and what of it a checkpoint has taken in.

use daybook_types::Offset;

use crate::SegmentEnds;
use crate::files::Segment;
use crate::name::SegmentName;

/// What is being rewritten in a partition, and what was.
#[derive(Debug, Default)]
pub(crate) struct Rewrites {
    pub running: Vec<SegmentName>,
    /// To be rewritten as soon as the checkpoint that appends to it is through; the next one doesn't append to it.
    pub closing: Option<SegmentName>,
    /// Durable, and not yet seen by readers.
    pub done: Vec<Replacement>,
    /// How far the files that readers see are compacted.
    pub compacted_to: Offset,
    /// How far they are with what is done, and whether a checkpoint has taken that in.
    pub next_compacted_to: Option<(Offset, bool)>,
}

#[derive(Debug)]
pub(crate) struct Replacement {
    /// Neighbours, ascending.
    pub old: Vec<SegmentEnds>,
    /// `None`: nothing is left.
    pub new: Option<SegmentEnds>,
    /// A checkpoint has taken it in.
    pub is_adopted: bool,
}

impl Rewrites {
    pub(crate) fn new(compacted_to: Offset) -> Self {
        Self { compacted_to, ..Self::default() }
    }

    pub(crate) fn is_done(&self, segment: SegmentName) -> bool {
        self.done.iter().any(|replacement| replacement.replaces(segment))
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.done.is_empty() || self.next_compacted_to.is_some()
    }

    pub(crate) fn mark(&mut self, is_adopted: bool) {
        self.done.iter_mut().for_each(|replacement| replacement.is_adopted = is_adopted);
        self.next_compacted_to.iter_mut().for_each(|next| next.1 = is_adopted);
    }

    /// What the checkpoint notes of a segment that readers see: itself, or what takes the place of it and its neighbours.
    pub(crate) fn adopted(&self, ends: SegmentEnds) -> Option<SegmentEnds> {
        let of = |replacement: &&Replacement| replacement.is_adopted && replacement.replaces(ends.name());
        let Some(replacement) = self.done.iter().find(of) else { return Some(ends) };
        replacement.new.filter(|_| replacement.begins_with(ends.name()))
    }

    /// How far the files are compacted, as the checkpoint notes it.
    pub(crate) fn compacted_to_be_noted(&self) -> Offset {
        self.next_compacted_to.filter(|(_, is_adopted)| *is_adopted).map_or(self.compacted_to, |(to, _)| to)
    }

    /// Puts what was taken in in the place of what it replaces, which is returned.
    pub(crate) fn publish(&mut self, visible: &mut Vec<Segment>) -> Vec<SegmentEnds> {
        self.compacted_to = self.compacted_to_be_noted();
        self.next_compacted_to = self.next_compacted_to.filter(|(_, is_adopted)| !is_adopted);
        let mut replaced = Vec::new();
        for replacement in self.done.extract_if(.., |replacement| replacement.is_adopted) {
            let Some(at) = visible.iter().position(|segment| replacement.begins_with(segment.ends.name())) else {
                continue;
            };
            // All or none of them are there: `forget` gives up what replaces segments of which some went.
            let end = at + replacement.old.len();
            // This process wrote it, after checking what it read.
            visible.splice(at..end, replacement.new.map(Segment::appended));
            replaced.extend(replacement.old);
        }
        replaced
    }

    /// Forgets what replaces segments that are `gone`, and returns it.
    pub(crate) fn forget(&mut self, gone: &[SegmentEnds]) -> Vec<SegmentEnds> {
        let is_gone = |replacement: &mut Replacement| gone.iter().any(|ends| replacement.replaces(ends.name()));
        self.done.extract_if(.., is_gone).filter_map(|replacement| replacement.new).collect()
    }
}

impl Replacement {
    fn replaces(&self, segment: SegmentName) -> bool {
        self.old.iter().any(|ends| ends.name() == segment)
    }

    fn begins_with(&self, segment: SegmentName) -> bool {
        self.old.first().is_some_and(|ends| ends.name() == segment)
    }
}
