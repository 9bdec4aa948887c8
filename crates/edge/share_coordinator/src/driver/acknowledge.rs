//! What members say of records that they acquired.

use daybook_types::{GroupId, PartitionId};
use futures::future::join_all;

use super::ShareCoordinator;
use crate::core::{Acknowledgement, SessionKey};
use crate::error::ShareError;
use crate::ident::MemberId;

/// Acknowledgements of one partition.
#[derive(Clone, Debug)]
pub struct AcknowledgeAsk {
    pub partition: PartitionId,
    pub acknowledgements: Vec<Acknowledgement>,
}

/// What became of one partition's.
pub type Taken = (PartitionId, Result<(), ShareError>);

impl ShareCoordinator {
    /// Whether a request that only acknowledges is of its session.
    pub fn begin_acknowledge(&self, group: &GroupId, member: &MemberId, epoch: i32) -> Result<(), ShareError> {
        let key = SessionKey { group: group.clone(), member: member.clone() };
        Ok(self.inner.sessions.lock().acknowledge(&key, epoch)?)
    }

    /// Answered when all that was taken is kept.
    pub async fn acknowledge(&self, group: &GroupId, member: &MemberId, asks: Vec<AcknowledgeAsk>) -> Vec<Taken> {
        let all = asks.into_iter().map(|ask| async move {
            let partition = ask.partition;
            (partition, self.acknowledge_one(group, member, ask).await)
        });
        let taken = join_all(all).await;
        if !taken.is_empty() {
            self.inner.wake_fetches(group);
        }
        taken
    }

    /// The member has closed its session: what it still has is released.
    pub fn end_session(&self, group: &GroupId, member: &MemberId) {
        self.inner.end_session(&SessionKey { group: group.clone(), member: member.clone() });
    }

    async fn acknowledge_one(&self, group: &GroupId, member: &MemberId, ask: AcknowledgeAsk) -> Result<(), ShareError> {
        let inner = &*self.inner;
        let rules = inner.group_settings(group).rules;
        let partition = inner.share_partition(group, ask.partition)?;
        partition.load(inner).await?;
        let now = inner.now();
        partition.with(|window| {
            // What is over is over, whether or not the timer has come to it.
            window.expire(&rules, now);
            window.settle(member, &ask.acknowledgements, &rules, now)
        })??;
        partition.keep(inner).await
    }
}
