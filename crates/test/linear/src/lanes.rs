//! Hands the operations on one object to stateright's tester.
//!
//! The tester wants threads that do one thing after the other, and its cost grows with their number. Whose operation it was doesn't
//! matter to linearisability, only what overlapped with what; so operations are laid into as few lanes as possible.

use std::collections::BTreeSet;

use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

/// One operation on an object.
#[derive(Clone, Debug)]
pub struct Operation<Op, Ret> {
    pub begin: u64,
    pub op: Op,
    /// The answer and when it came. `None`: it may happen at any time, or never.
    pub ret: Option<(u64, Ret)>,
}

/// Whether one thing after the other could have given these answers. No two ticks are the same.
pub fn is_linearizable<S>(object: S, operations: &[Operation<S::Op, S::Ret>]) -> bool
where
    S: SequentialSpec + Clone,
    S::Op: Clone + std::fmt::Debug,
    S::Ret: Clone + std::fmt::Debug,
{
    let mut moments: Vec<(u64, usize, bool)> = Vec::with_capacity(operations.len() * 2);
    for (number, operation) in operations.iter().enumerate() {
        moments.push((operation.begin, number, true));
        if let Some((end, _)) = &operation.ret {
            moments.push((*end, number, false));
        }
    }
    moments.sort_unstable();
    let mut tester = LinearizabilityTester::new(object);
    let mut lanes = vec![0_usize; operations.len()];
    let (mut free, mut lanes_made) = (BTreeSet::new(), 0);
    for (_, number, is_begin) in moments {
        let operation = &operations[number];
        if is_begin {
            let lane = free.pop_first().unwrap_or_else(|| {
                lanes_made += 1;
                lanes_made - 1
            });
            lanes[number] = lane;
            tester.on_invoke(lane, operation.op.clone()).expect("a free lane has nothing in flight");
        } else if let Some((_, ret)) = &operation.ret {
            tester.on_return(lanes[number], ret.clone()).expect("it was invoked before");
            free.insert(lanes[number]);
        }
    }
    tester.is_consistent()
}
