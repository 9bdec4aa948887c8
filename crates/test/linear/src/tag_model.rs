//! A tag as one thing after the other would make it: the positions of the events that have it.

use stateright::semantics::SequentialSpec;

#[derive(Clone, Debug, Default)]
pub struct TagModel {
    /// Of each event, its request and its position.
    log: Vec<(u32, u64)>,
    /// See the stream's model.
    is_dead_end: bool,
}

#[derive(Clone, Debug)]
pub enum TagOp {
    /// `positions`: where its events stand in the log as it is in the end; none where it was refused.
    Append {
        request: u32,
        after: After,
        positions: Vec<u64>,
    },
    Look,
    ReadAll,
}

/// What an append demands of its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    Unconditional,
    /// No event at all.
    Nothing,
    /// No event after this position.
    Position(u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagRet {
    Appended {
        repeated: bool,
    },
    /// An event at this position matches.
    Refused {
        position: u64,
    },
    Looked {
        last: Option<u64>,
    },
    All(Vec<u64>),
}

impl TagModel {
    fn last(&self) -> Option<u64> {
        self.log.last().map(|(_, position)| *position)
    }

    fn fits(&self, after: After) -> bool {
        match (after, self.last()) {
            (After::Unconditional, _) | (_, None) => true,
            (After::Nothing, Some(_)) => false,
            (After::Position(after), Some(last)) => last <= after,
        }
    }

    fn append(&mut self, request: u32, positions: &[u64]) -> bool {
        let is_after = positions.first().is_some_and(|first| self.last().is_none_or(|last| last < *first));
        self.log.extend(positions.iter().map(|position| (request, *position)));
        is_after
    }

    fn has(&self, request: u32) -> bool {
        self.log.iter().any(|(stored, _)| *stored == request)
    }
}

impl SequentialSpec for TagModel {
    type Op = TagOp;
    type Ret = TagRet;

    /// Without `is_valid_step` asking, it is an operation that got no answer.
    fn invoke(&mut self, op: &TagOp) -> TagRet {
        if let TagOp::Append { request, after, positions } = op
            && !self.has(*request)
        {
            self.is_dead_end |= !self.fits(*after) || !self.append(*request, positions);
        }
        // Nobody saw it.
        TagRet::Appended { repeated: false }
    }

    fn is_valid_step(&mut self, op: &TagOp, ret: &TagRet) -> bool {
        if self.is_dead_end {
            return false;
        }
        match (op, ret) {
            (TagOp::Append { request, .. }, TagRet::Appended { repeated: true }) => self.has(*request),
            (TagOp::Append { request, after, positions }, TagRet::Appended { repeated: false }) => {
                !self.has(*request) && self.fits(*after) && self.append(*request, positions)
            }
            (TagOp::Append { request, after, .. }, TagRet::Refused { position }) => {
                let is_match = self.log.iter().any(|(_, stored)| stored == position);
                let is_after = match after {
                    After::Unconditional => false,
                    After::Nothing => true,
                    After::Position(after) => position > after,
                };
                !self.has(*request) && is_match && is_after
            }
            (TagOp::Look, TagRet::Looked { last }) => self.last() == *last,
            (TagOp::ReadAll, TagRet::All(positions)) => self.log.iter().map(|(_, position)| position).eq(positions),
            _ => false,
        }
    }
}
