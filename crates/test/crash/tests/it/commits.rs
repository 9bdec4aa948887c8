//! A group's committed offsets: the last acknowledged commit, or one that was under way.

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_kafka_client::TopicPartition;
use daybook_types::{Offset, PartitionIndex};

use crate::campaign::{Place, Shared};
use crate::network::{Stop, cluster, impatient_cluster};

/// A client that commits for one group, every partition at once, again and again, higher and higher.
pub struct Committer {
    group: String,
    attempted: i64,
    acknowledged: Option<i64>,
}

impl Committer {
    pub fn new(group: &str) -> Self {
        Self { group: group.to_owned(), attempted: -1, acknowledged: None }
    }

    /// Commits until the server is gone.
    pub async fn run(mut self, shared: Arc<Shared>) -> Result<Self, String> {
        match self.commit(&shared).await {
            Err(Stop::Fault(fault)) => Err(format!("group {}: {fault}", self.group)),
            Err(Stop::Gone) | Ok(()) => Ok(self),
        }
    }

    async fn commit(&mut self, shared: &Shared) -> Result<(), Stop> {
        let mut cluster = impatient_cluster(&shared.address).await?;
        loop {
            self.attempted += 1;
            cluster.commit_offsets(&self.group, &offsets(shared, self.attempted)).await?;
            self.acknowledged = Some(self.attempted);
        }
    }

    /// After a restart.
    pub async fn verify(&mut self, shared: &Shared) -> Result<(), String> {
        let mut cluster = cluster(&shared.address).await?;
        let found = cluster.committed_offsets(&self.group).await.map_err(|error| error.to_string())?;
        let found: BTreeMap<_, _> = found.into_iter().map(|(at, committed)| (at, committed.offset)).collect();
        let is_kept = match (self.acknowledged, found.values().next()) {
            (None, None) => true,
            (Some(_), None) => false,
            // A commit of several partitions is one entry, there whole or not at all.
            (acknowledged, Some(offset)) => {
                let least = acknowledged.unwrap_or(0);
                (least..=self.attempted).contains(&offset.0) && found == offsets(shared, offset.0)
            }
        };
        if !is_kept {
            let Self { group, attempted, acknowledged } = self;
            return Err(format!(
                "group {group} has acknowledged {acknowledged:?} and attempted {attempted}, but found {found:?}"
            ));
        }
        // What was under way has turned out to be there, and stays.
        self.acknowledged = found.values().next().map(|offset| offset.0);
        Ok(())
    }
}

/// The same offset in every partition.
fn offsets(shared: &Shared, offset: i64) -> BTreeMap<TopicPartition, Offset> {
    let at = |place: &Place| (TopicPartition::new(&place.topic, PartitionIndex(place.partition)), Offset(offset));
    shared.places.iter().map(at).collect()
}
