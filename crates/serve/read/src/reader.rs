//! The handle through which everything is read.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use daybook_apply::Posted;
use daybook_catalog::Catalog;
use daybook_command::SharePartitionState;
use daybook_consumer_group::{ConfigsOfGroup, GroupOffsets};
use daybook_event_stream::StreamIndex;
use daybook_partition::{PartitionLog, ProducerWindow};
use daybook_segment::PartitionStore;
use daybook_share_group::SharePartitions;
use daybook_transaction::Transactions;
use daybook_types::{GroupId, LeaderEpoch, Lsn, Offset, PartitionId, ProducerId};

use crate::watch::Watch;

/// Reads one shard. Clones are cheap.
#[derive(Clone, Debug)]
pub struct Reader {
    pub(crate) posted: Arc<Posted>,
    pub(crate) files: Arc<PartitionStore>,
}

/// Where a partition begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionEnds {
    /// First offset that may be read.
    pub start_offset: Offset,
    /// Offset of the next record: high watermark.
    pub end_offset: Offset,
    /// Below it every transaction has ended: last stable offset.
    pub stable_offset: Offset,
}

impl Reader {
    pub fn new(posted: Arc<Posted>, files: Arc<PartitionStore>) -> Self {
        Self { posted, files }
    }

    /// The topics as they are now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.posted.catalog()
    }

    pub fn leader_epoch(&self) -> LeaderEpoch {
        self.posted.leader_epoch()
    }

    /// The last entry that reads see.
    pub fn applied(&self) -> Lsn {
        *self.posted.applied().borrow()
    }

    /// Waits until reads see `lsn`.
    pub async fn wait_applied(&self, lsn: Lsn) {
        // An error means that nothing will be applied any more: whoever waits has a time limit of its own.
        if self.posted.applied().wait_for(|applied| *applied >= lsn).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    pub fn partition(&self, id: PartitionId) -> Option<PartitionEnds> {
        let log = self.posted.log(id)?;
        Some(log.look(|tail| PartitionEnds {
            start_offset: tail.start,
            end_offset: tail.end,
            stable_offset: tail.stable,
        }))
    }

    /// The partition as apply shows it, for whoever maintains its files.
    pub fn log(&self, id: PartitionId) -> Option<Arc<PartitionLog>> {
        self.posted.log(id)
    }

    /// About how many bytes the partition takes: its files, and what isn't in them yet.
    pub fn partition_bytes(&self, id: PartitionId) -> Option<u64> {
        let log = self.posted.log(id)?;
        let files = self.files.get(id);
        let (in_files, next) = files.map_or((0, None), |files| (files.bytes(), files.next_offset()));
        let in_memory = log.look(|tail| {
            let waiting =
                tail.batches.iter().rev().take_while(|batch| next.is_none_or(|next| batch.base_offset >= next));
            waiting.map(|batch| batch.bytes.len() as u64).sum::<u64>()
        });
        Some(in_files + in_memory)
    }

    /// Made before looking, awaited after it: no change in between is missed.
    pub fn watch(&self, partitions: &[PartitionId]) -> Watch {
        Watch::new(partitions.iter().filter_map(|id| self.posted.log(*id)))
    }

    pub fn group_offsets(&self, group: &GroupId) -> Option<GroupOffsets> {
        self.posted.group_offsets(group)
    }

    /// Partitions for which open transactions wait to commit an offset of the group.
    pub fn unstable_offsets(&self, group: &GroupId) -> BTreeSet<PartitionId> {
        self.posted.unstable_offsets(group)
    }

    /// Looks at the transactional ids. Writes wait while `look` runs: keep it short.
    pub fn look_at_transactions<T>(&self, look: impl FnOnce(&Transactions) -> T) -> T {
        self.posted.look_at_transactions(look)
    }

    /// The partition's producers that are remembered, with what each did last.
    pub fn producers(&self, id: PartitionId) -> Option<Vec<(ProducerId, ProducerWindow)>> {
        Some(self.posted.log(id)?.producers())
    }

    /// Every group that has committed something, with its protocol type.
    pub fn groups(&self) -> Vec<(GroupId, String)> {
        self.posted.groups()
    }

    /// What a share group has kept of a partition.
    pub fn share_partition(&self, group: &GroupId, partition: PartitionId) -> Option<SharePartitionState> {
        self.posted.share_partition(group, partition)
    }

    /// What a share group has kept, by partition.
    pub fn share_group(&self, group: &GroupId) -> Option<SharePartitions> {
        self.posted.share_group(group)
    }

    /// Every share group that has kept something.
    pub fn share_groups(&self) -> Vec<GroupId> {
        self.posted.share_groups()
    }

    /// The configs that were set for a group, of any kind.
    pub fn group_configs(&self, group: &GroupId) -> ConfigsOfGroup {
        self.posted.group_configs(group)
    }

    /// The groups that have configs.
    pub fn groups_with_configs(&self) -> Vec<GroupId> {
        self.posted.groups_with_configs()
    }

    /// The files of the partitions themselves, for whoever maintains them.
    pub fn files(&self) -> &Arc<PartitionStore> {
        &self.files
    }

    /// The index of streams.
    pub fn streams(&self) -> &Arc<StreamIndex> {
        self.posted.streams()
    }

    /// Every persistent subscription, by name, as its engine put it.
    pub fn subscriptions(&self) -> Vec<(String, Bytes)> {
        self.posted.subscriptions()
    }
}
