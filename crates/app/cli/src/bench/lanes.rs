//! The topic of a run, and the connections over which it is driven.

use std::collections::BTreeMap;

use daybook_kafka_client::{Cluster, NewTopic, TopicView, Wire};
use daybook_types::{NodeId, PartitionIndex};

use crate::bench::arguments::Load;
use crate::commands::topic::wait_until_led;
use crate::session::Session;

/// A topic, made for a run unless one was named.
#[derive(Debug)]
pub struct Ground {
    pub cluster: Cluster,
    pub topic: TopicView,
    is_ours: bool,
    is_kept: bool,
}

impl Ground {
    pub async fn open(session: &Session, load: &Load) -> anyhow::Result<Self> {
        let mut cluster = session.connect().await?;
        if let Some(name) = &load.topic {
            let topic = cluster.topic(name, false).await?;
            return Ok(Self { cluster, topic, is_ours: false, is_kept: true });
        }
        let name = format!("daybook-bench-{}-{}", std::process::id(), crate::bench::payload::now());
        let topic = NewTopic {
            name: name.clone(),
            partitions: Some(load.partitions.into()),
            replication: None,
            configs: load.configs.iter().map(|pair| (pair.key.clone(), pair.value.clone())).collect(),
        };
        cluster.create_topic(&topic).await?;
        let topic = wait_until_led(&mut cluster, &name).await?;
        Ok(Self { cluster, topic, is_ours: true, is_kept: load.keep_topic })
    }

    /// Whether the topic was made for this run, and so is empty at its start.
    pub fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// Cleans up, whether the run went well or not.
    pub async fn close<T>(mut self, result: anyhow::Result<T>) -> anyhow::Result<T> {
        if !self.is_ours || self.is_kept {
            return result;
        }
        let deleted = self.cluster.delete_topic(&self.topic.name).await;
        let value = result?;
        deleted?;
        Ok(value)
    }

    /// Connection `n` takes every `count`-th partition from the `n`-th on; with more connections than partitions,
    /// several take the same. Where those of a connection have several leaders, it is one to each.
    pub async fn lanes(&mut self, count: u16) -> anyhow::Result<Vec<Lane>> {
        let all: Vec<_> = self.topic.partitions.iter().map(|p| p.partition).collect();
        let mut lanes = Vec::new();
        for (share, partitions) in shares(&all, count.into()).into_iter().enumerate() {
            let mut by_leader: BTreeMap<NodeId, Vec<PartitionIndex>> = BTreeMap::new();
            for partition in partitions {
                let leader = self.cluster.leader(&self.topic.name, partition).await?;
                by_leader.entry(leader).or_default().push(partition);
            }
            for partitions in by_leader.into_values() {
                let wire = self.cluster.open_leader(&self.topic.name, partitions[0]).await?;
                lanes.push(Lane { share, wire, partitions });
            }
        }
        Ok(lanes)
    }
}

/// A connection and the partitions it is for; never none.
#[derive(Debug)]
pub struct Lane {
    /// Number of the connection as the person counts them.
    pub share: usize,
    pub wire: Wire,
    pub partitions: Vec<PartitionIndex>,
}

pub(crate) fn shares<T: Copy>(all: &[T], count: usize) -> Vec<Vec<T>> {
    (0..count)
        .map(|share| match share < all.len() {
            true => all.iter().skip(share).step_by(count).copied().collect(),
            false => vec![all[share % all.len()]],
        })
        .collect()
}
