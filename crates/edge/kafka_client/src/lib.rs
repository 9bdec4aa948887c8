//! A small Kafka client: what the command line and the bench need of a broker, ours or anyone's.
//!
//! [`Wire`] is one connection: it negotiates versions, numbers requests, lets several be in flight, and answers in
//! order. It has one owner and spawns nothing, so a caller that wants speed pays for no queue and no task. Producing
//! hands pre-built batches to one vectored write; fetching hands out the answer's own bytes. [`Cluster`] is the
//! layer for everyone else: it knows the brokers and leaders and repeats what may be repeated.
//!
//! The message structs are a library's and stay in here: callers see topics, offsets and codes.
//!
//! Not here: group membership, transactions, TLS, SASL.

mod cluster;
mod configs;
mod error;
mod fetch;
mod groups;
mod metadata;
mod offsets;
mod produce;
mod retry;
#[cfg(test)]
mod tests;
mod topics;
mod versions;
mod wire;

pub use cluster::{Cluster, ClusterOptions};
pub use configs::{ConfigChange, ConfigEntry, ConfigOrigin};
pub use daybook_record::partition_of_key;
pub use error::{ClientError, KafkaCode, WireError};
pub use fetch::{FetchLimits, FetchPosition, FetchedPartition};
pub use groups::{GroupDescription, GroupListing, GroupMember};
pub use metadata::{Broker, ClusterView, PartitionView, TopicView};
pub use offsets::{CommittedOffset, FoundOffset, OffsetQuery, TopicPartition};
pub use produce::{Acks, PartitionBatch, ProducedPartition, ProducerIdentity};
pub use topics::NewTopic;
pub use versions::VersionTable;
pub use wire::{Answer, Wire, WireOptions};
