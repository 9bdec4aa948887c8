//! Which commits and fetches of offsets are a member's to make.

use std::collections::BTreeSet;

use daybook_types::PartitionId;

use super::ConsumerGroup;
use crate::error::GroupError;
use crate::ident::{Generation, MemberId};
use crate::request::MemberClaim;

/// Of which partitions offsets may be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitPermit {
    Any,
    /// Of these; the others are refused so.
    Only(BTreeSet<PartitionId>, GroupError),
}

impl CommitPermit {
    pub fn check(&self, partition: PartitionId) -> Result<(), GroupError> {
        match self {
            Self::Only(partitions, error) if !partitions.contains(&partition) => Err(*error),
            Self::Any | Self::Only(..) => Ok(()),
        }
    }
}

impl ConsumerGroup {
    /// `knows_epochs`: whether the request is of a version made for consumer groups.
    pub fn check_commit(&self, claim: &MemberClaim, knows_epochs: bool) -> Result<CommitPermit, GroupError> {
        // An administrator, or a client that manages its partitions itself: only while nobody is here.
        if claim.generation.is_none() && self.members.is_empty() {
            return Ok(CommitPermit::Any);
        }
        let member = self.members.get(&claim.member).ok_or(GroupError::UnknownMemberId)?;
        let stale = if member.classic.is_some() { GroupError::IllegalGeneration } else { GroupError::StaleMemberEpoch };
        if member.classic.is_none() && !knows_epochs {
            return Err(GroupError::UnsupportedVersion);
        }
        if claim.generation == member.epoch {
            return Ok(CommitPermit::Any);
        }
        if claim.generation > member.epoch || claim.generation.is_none() {
            return Err(stale);
        }
        // The member has moved on while the commit was on its way. What it has had since before is still its own to commit
        // (KIP-1251).
        let held = member.assigned.iter().chain(&member.to_revoke);
        let since = held.filter(|(_, epoch)| **epoch <= claim.generation).map(|(partition, _)| *partition);
        Ok(CommitPermit::Only(since.collect(), stale))
    }

    pub fn check_fetch(&self, member: &MemberId, epoch: Generation) -> Result<(), GroupError> {
        let member = self.members.get(member).ok_or(GroupError::UnknownMemberId)?;
        match epoch == member.epoch {
            true => Ok(()),
            false if member.classic.is_some() => Err(GroupError::IllegalGeneration),
            false => Err(GroupError::StaleMemberEpoch),
        }
    }
}
