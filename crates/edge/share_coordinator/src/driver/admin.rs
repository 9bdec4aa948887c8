//! What administrators ask: groups, members, start offsets; and setting and forgetting the latter.

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_command::{Command, DeleteShareState, Outcome, SharePartitionState};
use daybook_types::{GroupId, Offset, PartitionId};

use super::ShareCoordinator;
use crate::core::Assignment;
use crate::error::ShareError;
use crate::ident::MemberId;

/// A group as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupInfo {
    pub group: GroupId,
    pub has_members: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Described {
    pub epoch: i32,
    pub members: Vec<MemberInfo>,
}

#[derive(Clone, Debug)]
pub struct MemberInfo {
    pub member: MemberId,
    pub epoch: i32,
    pub rack: Option<Arc<str>>,
    pub client_id: Arc<str>,
    pub client_host: Arc<str>,
    pub subscribed: Vec<Arc<str>>,
    pub assignment: Assignment,
}

/// How far a group has come in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptOffset {
    pub partition: PartitionId,
    pub start: Offset,
    /// Records from the start offset to the end that aren't done with. None: the partition is gone.
    pub lag: Option<i64>,
}

/// What became of setting one partition's start offset.
pub type AlterOutcome = (PartitionId, Result<(), ShareError>);

impl ShareCoordinator {
    /// Every group that has members or has kept something.
    pub fn list(&self) -> Vec<GroupInfo> {
        let kept = self.inner.reader.share_groups().into_iter().map(|group| (group, false));
        let mut all: BTreeMap<GroupId, bool> = kept.collect();
        all.extend(self.inner.groups.lock().keys().map(|group| (group.clone(), true)));
        all.into_iter().map(|(group, has_members)| GroupInfo { group, has_members }).collect()
    }

    pub fn is_known(&self, group: &GroupId) -> bool {
        self.has_members(group) || self.inner.reader.share_group(group).is_some()
    }

    pub fn has_members(&self, group: &GroupId) -> bool {
        self.inner.groups.lock().contains_key(group)
    }

    /// `None`: no such share group.
    pub fn describe(&self, group: &GroupId) -> Option<Described> {
        if let Some(group) = self.inner.groups.lock().get(group) {
            let member = |(id, member): (&MemberId, &crate::core::Member)| MemberInfo {
                member: id.clone(),
                epoch: member.epoch,
                rack: member.rack.clone(),
                client_id: member.client_id.clone(),
                client_host: member.client_host.clone(),
                subscribed: member.subscribed.iter().cloned().collect(),
                assignment: member.assignment.clone(),
            };
            return Some(Described { epoch: group.epoch(), members: group.members().map(member).collect() });
        }
        self.inner.reader.share_group(group).map(|_| Described::default())
    }

    /// How far a group has come, by partition.
    pub fn offsets(&self, group: &GroupId) -> Result<Vec<KeptOffset>, ShareError> {
        if !self.is_known(group) {
            return Err(ShareError::UnknownGroup { group: group.clone() });
        }
        let kept = self.inner.reader.share_group(group).unwrap_or_default();
        let offset = |(partition, state): (PartitionId, SharePartitionState)| {
            let end = self.inner.reader.partition(partition).map(|ends| ends.end_offset);
            KeptOffset { partition, start: state.start, lag: end.map(|end| lag(&state, end)) }
        };
        Ok(kept.into_iter().map(offset).collect())
    }

    /// Sets start offsets of a group without members. Everything from there on is delivered anew.
    pub async fn alter_offsets(
        &self,
        group: &GroupId,
        starts: Vec<(PartitionId, Offset)>,
    ) -> Result<Vec<AlterOutcome>, ShareError> {
        if group.as_str().is_empty() {
            return Err(ShareError::InvalidGroupId);
        }
        if self.has_members(group) {
            return Err(ShareError::NotEmpty);
        }
        let mut outcomes = Vec::with_capacity(starts.len());
        for (partition, start) in starts {
            outcomes.push((partition, self.alter_offset(group, partition, start).await));
        }
        Ok(outcomes)
    }

    async fn alter_offset(&self, group: &GroupId, partition: PartitionId, start: Offset) -> Result<(), ShareError> {
        let inner = &*self.inner;
        let target = inner.share_partition(group, partition)?;
        let mut writing = target.writing().await;
        let kept = inner.reader.share_partition(group, partition).map(|state| state.epoch);
        let epoch = kept.map_or(0, |epoch| epoch.wrapping_add(1).max(0));
        let put = target.put(inner, kept, SharePartitionState { epoch, start, runs: Vec::new() }).await;
        // What is kept may be either, if it can't be known: it is looked at again.
        target.forget(&mut writing);
        put
    }

    /// Forgets where a group without members has come to, in some partitions or in all: it begins anew there.
    pub async fn delete(&self, group: &GroupId, partitions: Option<Vec<PartitionId>>) -> Result<(), ShareError> {
        if self.has_members(group) {
            return Err(ShareError::NotEmpty);
        }
        let inner = &*self.inner;
        let is_named = |partition: &PartitionId| partitions.as_ref().is_none_or(|some| some.contains(partition));
        let targets = inner.partitions_of(group);
        // In the order of partitions, so that two of these can't wait for each other.
        let mut writing = Vec::new();
        for target in targets.iter().filter(|target| is_named(&target.partition)) {
            writing.push((target, target.writing().await));
        }
        let command = DeleteShareState { group: group.clone(), partitions: partitions.clone() };
        let outcome = inner.propose(Command::DeleteShareState(command)).await;
        for (target, writing) in &mut writing {
            target.forget(writing);
            inner.partitions.lock().remove(&(group.clone(), target.partition));
        }
        match outcome? {
            Outcome::DeleteShareState(outcome) => Ok(outcome?),
            _ => Err(ShareError::Lost),
        }
    }
}

/// Records from the start offset on that nobody is done with.
fn lag(state: &SharePartitionState, end: Offset) -> i64 {
    let done = state.runs.iter().filter(|run| run.is_done).map(|run| run.last.0 - run.first.0 + 1).sum::<i64>();
    (end.0 - state.start.0 - done).max(0)
}
