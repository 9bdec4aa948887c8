//! A stream as one thing after the other would make it: whose events stand in it, in their order.

use stateright::semantics::SequentialSpec;

use crate::history::Expected;

/// Events at the end among which a repeat is looked for where the expectation names no version; see `docs/event-store.md`.
const IDEMPOTENCE_WINDOW: usize = 512;

#[derive(Clone, Debug, Default)]
pub struct StreamModel {
    /// The request of each event.
    log: Vec<u32>,
    /// An operation without an answer was placed where it can't have been: no step is valid any more.
    is_dead_end: bool,
}

#[derive(Clone, Debug)]
pub enum StreamOp {
    Append {
        request: u32,
        expected: Expected,
        events: u32,
        /// A repeat is known by its ids.
        knows_repeats: bool,
        /// Version of its first event in the log as it is in the end.
        found: Option<u64>,
    },
    /// The expectation alone.
    Check(Expected),
    Look,
    ReadAll,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamRet {
    /// What isn't told is `None`.
    Appended {
        first: Option<u64>,
        repeated: Option<bool>,
    },
    /// It is as expected.
    Fits,
    /// It is not; number of its events, if that was told.
    Conflict {
        next: Option<u64>,
    },
    Looked {
        next: u64,
    },
    All(Vec<u32>),
}

impl StreamModel {
    fn next(&self) -> u64 {
        self.log.len() as u64
    }

    fn fits(&self, expected: Expected) -> bool {
        match expected {
            Expected::Any => true,
            Expected::NoStream => self.log.is_empty(),
            Expected::Exact(version) => self.next() == version + 1,
        }
    }

    /// Where the request's events stand already, if the expectation allows them there.
    fn repeat(&self, request: u32, expected: Expected) -> Option<u64> {
        let is_at = |version: u64| self.log.get(version as usize) == Some(&request);
        match expected {
            Expected::Any => {
                let begin = self.log.len().saturating_sub(IDEMPOTENCE_WINDOW);
                self.log[begin..].iter().position(|stored| *stored == request).map(|at| (begin + at) as u64)
            }
            Expected::NoStream => is_at(0).then_some(0),
            Expected::Exact(version) => is_at(version + 1).then_some(version + 1),
        }
    }
}

impl SequentialSpec for StreamModel {
    type Op = StreamOp;
    type Ret = StreamRet;

    /// Without `is_valid_step` asking, it is an operation that got no answer.
    fn invoke(&mut self, op: &StreamOp) -> StreamRet {
        let next = self.next();
        let ret = self.step(op);
        if let (StreamOp::Append { found, .. }, ret) = (op, &ret) {
            // It did happen at that version, so elsewhere it can't have. Leaving it out is tried as well.
            let is_there = match ret {
                StreamRet::Appended { repeated: Some(false), .. } => *found == Some(next),
                StreamRet::Appended { .. } => true,
                _ => false,
            };
            self.is_dead_end |= !is_there;
        }
        ret
    }

    fn is_valid_step(&mut self, op: &StreamOp, ret: &StreamRet) -> bool {
        if self.is_dead_end {
            return false;
        }
        match (self.step(op), ret) {
            (
                StreamRet::Appended { first: is_first, repeated: is_repeated },
                StreamRet::Appended { first, repeated },
            ) => (first.is_none() || *first == is_first) && (repeated.is_none() || *repeated == is_repeated),
            (StreamRet::Conflict { next: is_next }, StreamRet::Conflict { next }) => next.is_none() || *next == is_next,
            (is, ret) => is == *ret,
        }
    }
}

impl StreamModel {
    fn step(&mut self, op: &StreamOp) -> StreamRet {
        match *op {
            StreamOp::Append { request, expected, events, knows_repeats, .. } => {
                let fits = self.fits(expected);
                let may_repeat = knows_repeats && (!fits || expected == Expected::Any);
                if let Some(first) = self.repeat(request, expected).filter(|_| may_repeat) {
                    return StreamRet::Appended { first: Some(first), repeated: Some(true) };
                }
                if !fits {
                    return StreamRet::Conflict { next: Some(self.next()) };
                }
                let first = self.next();
                self.log.extend((0..events).map(|_| request));
                StreamRet::Appended { first: Some(first), repeated: Some(false) }
            }
            StreamOp::Check(expected) if self.fits(expected) => StreamRet::Fits,
            StreamOp::Check(_) => StreamRet::Conflict { next: Some(self.next()) },
            StreamOp::Look => StreamRet::Looked { next: self.next() },
            StreamOp::ReadAll => StreamRet::All(self.log.clone()),
        }
    }
}
