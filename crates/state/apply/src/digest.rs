//! A digest of all posted state, for tests: two states that went through the same entries have the same digest, however
//! checkpoints and restarts cut their way.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hasher};

use daybook_consumer_group::{encode_configs, encode_offset, encode_pending};
use daybook_share_group::encode_state;

use crate::state::ShardState;

/// One part a kind of state, so that a difference says where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    pub topics: u64,
    /// Of what isn't a topic.
    pub configs: u64,
    /// Starts, ends and contents.
    pub partitions: u64,
    pub producers: u64,
    pub groups: u64,
    pub subscriptions: u64,
    /// What share groups have kept.
    pub share_groups: u64,
    pub group_configs: u64,
    /// Transactional ids, and what aborted transactions left in partitions.
    pub transactions: u64,
    /// The index of streams: what was posted to it, in order.
    pub streams: u64,
    pub counters: u64,
    pub applied: u64,
}

impl ShardState {
    pub fn digest(&self) -> Digest {
        let sorted: BTreeMap<_, _> = self.partitions.iter().collect();
        Digest {
            topics: digest(|out| {
                for topic in self.posted.catalog().topics() {
                    out.write(topic.id.as_bytes());
                    out.write(&topic.encode());
                }
            }),
            configs: digest(|out| {
                for (resource, configs) in self.posted.catalog().dynamic_configs().all() {
                    out.write(format!("{resource} {configs:?}").as_bytes());
                }
            }),
            partitions: digest(|out| {
                for (id, partition) in &sorted {
                    out.write(id.to_string().as_bytes());
                    out.write(&partition.stored().encode());
                    out.write(&partition.compaction().encode());
                }
            }),
            producers: digest(|out| {
                for (id, partition) in &sorted {
                    for (producer, window) in partition.producers() {
                        out.write(id.to_string().as_bytes());
                        out.write_i64(producer.0);
                        out.write(&window.encode());
                    }
                }
            }),
            groups: digest(|out| {
                for (group, offsets) in self.posted.groups.read().groups() {
                    out.write(group.as_str().as_bytes());
                    for (partition, offset) in &offsets.offsets {
                        out.write(partition.to_string().as_bytes());
                        out.write(&encode_offset(offset, &offsets.protocol_type));
                    }
                }
                for (group, partition, producer, pending) in self.posted.groups.read().pending() {
                    out.write(group.as_str().as_bytes());
                    out.write(partition.to_string().as_bytes());
                    out.write_i64(producer.0);
                    out.write(&encode_pending(pending));
                }
            }),
            subscriptions: digest(|out| {
                for (name, body) in self.posted.subscriptions.read().all() {
                    out.write(name.as_bytes());
                    out.write(body);
                }
            }),
            share_groups: digest(|out| {
                for (group, partitions) in self.posted.share_groups.read().groups() {
                    out.write(group.as_str().as_bytes());
                    for (partition, state) in partitions {
                        out.write(partition.to_string().as_bytes());
                        out.write(&encode_state(state));
                    }
                }
            }),
            group_configs: digest(|out| {
                for (group, configs) in self.posted.group_configs.read().groups() {
                    out.write(group.as_str().as_bytes());
                    out.write(&encode_configs(configs));
                }
            }),
            transactions: digest(|out| {
                for (id, transactional) in self.posted.transactions.read().all() {
                    out.write(id.as_str().as_bytes());
                    out.write(&transactional.encode());
                }
                for (id, partition) in &sorted {
                    out.write(id.to_string().as_bytes());
                    partition.log().look(|tail| {
                        out.write_i64(tail.stable.0);
                        tail.aborted.iter().for_each(|aborted| out.write(&aborted.encode()));
                    });
                }
            }),
            streams: digest(|out| self.streams.digest().into_iter().for_each(|word| out.write_u64(word))),
            counters: digest(|out| {
                out.write_i64(self.counters.next_producer_id);
            }),
            applied: self.applied.0,
        }
    }
}

fn digest(write: impl FnOnce(&mut DefaultHasher)) -> u64 {
    let mut hasher = DefaultHasher::new();
    write(&mut hasher);
    hasher.finish()
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "topics {:016x} configs {:016x} partitions {:016x} producers {:016x} groups {:016x} subscriptions {:016x} share groups {:016x} group configs {:016x} streams {:016x} counters {:016x} lsn {}",
            self.topics,
            self.configs,
            self.partitions,
            self.producers,
            self.groups,
            self.subscriptions,
            self.share_groups,
            self.group_configs,
            self.streams,
            self.counters,
            self.applied
        )
    }
}
