//! What readers see of a shard's state.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use daybook_catalog::Catalog;
use daybook_command::SharePartitionState;
use daybook_consumer_group::{ConfigsOfGroup, GroupConfigs, GroupOffsets, Groups};
use daybook_event_stream::StreamIndex;
use daybook_partition::PartitionLog;
use daybook_share_group::{ShareGroups, SharePartitions};
use daybook_subscription::Subscriptions;
use daybook_transaction::Transactions;
use daybook_types::{GroupId, LeaderEpoch, Lsn, PartitionId, Term};
use parking_lot::RwLock;
use tokio::sync::watch;

/// Shared between apply, which writes, and any number of readers.
#[derive(Debug)]
pub struct Posted {
    pub(crate) catalog: RwLock<Arc<Catalog>>,
    pub(crate) logs: RwLock<HashMap<PartitionId, Arc<PartitionLog>>>,
    pub(crate) groups: RwLock<Groups>,
    pub(crate) subscriptions: RwLock<Subscriptions>,
    pub(crate) share_groups: RwLock<ShareGroups>,
    pub(crate) group_configs: RwLock<GroupConfigs>,
    pub(crate) transactions: RwLock<Transactions>,
    streams: Arc<StreamIndex>,
    applied: watch::Sender<Lsn>,
    term: AtomicU64,
}

impl Posted {
    pub(crate) fn new(
        catalog: Catalog,
        groups: Groups,
        subscriptions: Subscriptions,
        transactions: Transactions,
        streams: Arc<StreamIndex>,
        applied: Lsn,
    ) -> Self {
        Self {
            catalog: RwLock::new(Arc::new(catalog)),
            logs: RwLock::default(),
            groups: RwLock::new(groups),
            subscriptions: RwLock::new(subscriptions),
            share_groups: RwLock::default(),
            group_configs: RwLock::default(),
            transactions: RwLock::new(transactions),
            streams,
            applied: watch::Sender::new(applied),
            term: AtomicU64::new(0),
        }
    }

    /// The topics as they are now.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.read())
    }

    pub fn log(&self, partition: PartitionId) -> Option<Arc<PartitionLog>> {
        self.logs.read().get(&partition).cloned()
    }

    pub fn group_offsets(&self, group: &GroupId) -> Option<GroupOffsets> {
        self.groups.read().group(group).cloned()
    }

    /// Every group that has committed something, with its protocol type.
    pub fn groups(&self) -> Vec<(GroupId, String)> {
        self.groups.read().groups().map(|(id, offsets)| (id.clone(), offsets.protocol_type.clone())).collect()
    }

    /// Partitions for which open transactions wait to commit an offset of the group.
    pub fn unstable_offsets(&self, group: &GroupId) -> BTreeSet<PartitionId> {
        self.groups.read().unstable(group)
    }

    /// Looks at the transactional ids. Apply waits while `look` runs: keep it short.
    pub fn look_at_transactions<T>(&self, look: impl FnOnce(&Transactions) -> T) -> T {
        look(&self.transactions.read())
    }

    /// The index of streams.
    pub fn streams(&self) -> &Arc<StreamIndex> {
        &self.streams
    }

    /// Every persistent subscription, by name, as its engine put it.
    pub fn subscriptions(&self) -> Vec<(String, Bytes)> {
        self.subscriptions.read().all().map(|(name, body)| (name.to_owned(), body.clone())).collect()
    }

    /// What a share group has kept of a partition.
    pub fn share_partition(&self, group: &GroupId, partition: PartitionId) -> Option<SharePartitionState> {
        self.share_groups.read().partition(group, partition).cloned()
    }

    /// What a share group has kept, by partition.
    pub fn share_group(&self, group: &GroupId) -> Option<SharePartitions> {
        self.share_groups.read().group(group).cloned()
    }

    /// Every share group that has kept something.
    pub fn share_groups(&self) -> Vec<GroupId> {
        self.share_groups.read().groups().map(|(group, _)| group.clone()).collect()
    }

    /// The configs that were set for a group, of any kind.
    pub fn group_configs(&self, group: &GroupId) -> ConfigsOfGroup {
        self.group_configs.read().group(group).cloned().unwrap_or_default()
    }

    /// The groups that have configs.
    pub fn groups_with_configs(&self) -> Vec<GroupId> {
        self.group_configs.read().groups().map(|(group, _)| group.clone()).collect()
    }

    /// The last entry applied, and its changes.
    pub fn applied(&self) -> watch::Receiver<Lsn> {
        self.applied.subscribe()
    }

    /// The term of the last entry, as Kafka's leader epoch.
    pub fn leader_epoch(&self) -> LeaderEpoch {
        leader_epoch(Term(self.term.load(Ordering::Acquire)))
    }

    pub(crate) fn set_term(&self, term: Term) {
        self.term.store(term.0, Ordering::Release);
    }

    pub(crate) fn set_applied(&self, lsn: Lsn) {
        self.applied.send_replace(lsn);
    }
}

/// A term as Kafka's leader epoch, which has 31 bits: two thousand million elections.
pub(crate) fn leader_epoch(term: Term) -> LeaderEpoch {
    LeaderEpoch(i32::try_from(term.0).unwrap_or(i32::MAX))
}
