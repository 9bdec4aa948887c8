//! Walks a request's bytes before they are decoded: every length and every list must really be there.
//!
//! The decoders of `kafka-protocol` make room for as many items as a list claims to have, so that a request of twenty bytes
//! could ask for gigabytes. What has passed here can't: each item was seen, and all lists together have at most
//! [`ITEMS_MAX`] items. The walk also holds the tagged fields we know to their stated size, because the decoders don't.

mod requests;
mod share_requests;
mod transactions;

use thiserror::Error;

use crate::wire::ApiKey;

/// Items of all lists of a request together. A fetch of every partition of a large cluster stays far below.
pub(crate) const ITEMS_MAX: usize = 256 * 1024;

/// Why a request's bytes aren't one.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ShapeError {
    #[error("the request ends within {field}")]
    Short { field: &'static str },
    #[error("{field} has a negative length")]
    Negative { field: &'static str },
    #[error("a varint of {field} is too long")]
    Varint { field: &'static str },
    #[error("the lists have more than {items_max} items")]
    Items { items_max: usize },
    #[error("tagged field {field} is not as long as it says")]
    TaggedSize { field: &'static str },
}

/// What a field is, as far as its size goes.
enum Kind {
    /// So many bytes.
    Fixed(usize),
    /// A string, perhaps null: its length has two bytes, or is a varint in flexible versions.
    Text,
    /// Bytes, perhaps null: the length has four bytes, or is a varint.
    Blob,
    List(&'static Kind),
    Struct(&'static [Field]),
    /// A struct behind a byte that is negative where there is none.
    MaybeStruct(&'static [Field]),
}

/// A field of a request or of a struct in it.
struct Field {
    name: &'static str,
    kind: Kind,
    first_version: i16,
    last_version: i16,
    /// Where it stands among the tagged fields at its struct's end.
    tag: Option<u32>,
}

const fn always(name: &'static str, kind: Kind) -> Field {
    between(0, i16::MAX, name, kind)
}

const fn since(first_version: i16, name: &'static str, kind: Kind) -> Field {
    between(first_version, i16::MAX, name, kind)
}

const fn between(first_version: i16, last_version: i16, name: &'static str, kind: Kind) -> Field {
    Field { name, kind, first_version, last_version, tag: None }
}

const fn tagged(first_version: i16, name: &'static str, tag: u32, kind: Kind) -> Field {
    Field { name, kind, first_version, last_version: i16::MAX, tag: Some(tag) }
}

/// Checks the body of a request: what follows its header. Returns how many bytes follow the body, which Kafka lets pass.
pub(crate) fn check(api: ApiKey, version: i16, body: &[u8]) -> Result<usize, ShapeError> {
    let Some(fields) = layout(api) else { return Ok(body.len()) };
    let flexible = api.request_header_version(version) >= 2;
    let mut walk = Walk { left: body, version, flexible, items: 0 };
    walk.fields(fields)?;
    Ok(walk.left.len())
}

/// None for an API that isn't answered here and so is never decoded.
fn layout(api: ApiKey) -> Option<&'static [Field]> {
    Some(match api {
        ApiKey::Produce => requests::PRODUCE,
        ApiKey::Fetch => requests::FETCH,
        ApiKey::ListOffsets => requests::LIST_OFFSETS,
        ApiKey::Metadata => requests::METADATA,
        ApiKey::OffsetCommit => requests::OFFSET_COMMIT,
        ApiKey::OffsetFetch => requests::OFFSET_FETCH,
        ApiKey::FindCoordinator => requests::FIND_COORDINATOR,
        ApiKey::JoinGroup => requests::JOIN_GROUP,
        ApiKey::Heartbeat => requests::HEARTBEAT,
        ApiKey::LeaveGroup => requests::LEAVE_GROUP,
        ApiKey::SyncGroup => requests::SYNC_GROUP,
        ApiKey::DescribeGroups => requests::DESCRIBE_GROUPS,
        ApiKey::ListGroups => requests::LIST_GROUPS,
        ApiKey::ApiVersions => requests::API_VERSIONS,
        ApiKey::CreateTopics => requests::CREATE_TOPICS,
        ApiKey::DeleteTopics => requests::DELETE_TOPICS,
        ApiKey::InitProducerId => requests::INIT_PRODUCER_ID,
        ApiKey::DescribeConfigs => requests::DESCRIBE_CONFIGS,
        ApiKey::AlterConfigs => requests::ALTER_CONFIGS,
        ApiKey::IncrementalAlterConfigs => requests::INCREMENTAL_ALTER_CONFIGS,
        ApiKey::CreatePartitions => requests::CREATE_PARTITIONS,
        ApiKey::DeleteGroups => requests::DELETE_GROUPS,
        ApiKey::DeleteRecords => requests::DELETE_RECORDS,
        ApiKey::DescribeCluster => requests::DESCRIBE_CLUSTER,
        ApiKey::ShareGroupHeartbeat => share_requests::SHARE_GROUP_HEARTBEAT,
        ApiKey::ShareGroupDescribe => share_requests::SHARE_GROUP_DESCRIBE,
        ApiKey::ShareFetch => share_requests::SHARE_FETCH,
        ApiKey::ShareAcknowledge => share_requests::SHARE_ACKNOWLEDGE,
        ApiKey::DescribeShareGroupOffsets => share_requests::DESCRIBE_SHARE_GROUP_OFFSETS,
        ApiKey::AlterShareGroupOffsets => share_requests::ALTER_SHARE_GROUP_OFFSETS,
        ApiKey::DeleteShareGroupOffsets => share_requests::DELETE_SHARE_GROUP_OFFSETS,
        ApiKey::OffsetForLeaderEpoch => requests::OFFSET_FOR_LEADER_EPOCH,
        ApiKey::AlterReplicaLogDirs => requests::ALTER_REPLICA_LOG_DIRS,
        ApiKey::DescribeLogDirs => requests::DESCRIBE_LOG_DIRS,
        ApiKey::ElectLeaders => requests::ELECT_LEADERS,
        ApiKey::AlterPartitionReassignments => requests::ALTER_PARTITION_REASSIGNMENTS,
        ApiKey::ListPartitionReassignments => requests::LIST_PARTITION_REASSIGNMENTS,
        ApiKey::DescribeClientQuotas => requests::DESCRIBE_CLIENT_QUOTAS,
        ApiKey::AlterClientQuotas => requests::ALTER_CLIENT_QUOTAS,
        ApiKey::DescribeQuorum => requests::DESCRIBE_QUORUM,
        ApiKey::GetTelemetrySubscriptions => requests::GET_TELEMETRY_SUBSCRIPTIONS,
        ApiKey::PushTelemetry => requests::PUSH_TELEMETRY,
        ApiKey::ListConfigResources => requests::LIST_CONFIG_RESOURCES,
        ApiKey::DescribeTopicPartitions => requests::DESCRIBE_TOPIC_PARTITIONS,
        ApiKey::OffsetDelete => requests::OFFSET_DELETE,
        ApiKey::ConsumerGroupHeartbeat => requests::CONSUMER_GROUP_HEARTBEAT,
        ApiKey::ConsumerGroupDescribe => requests::CONSUMER_GROUP_DESCRIBE,
        ApiKey::AddPartitionsToTxn => transactions::ADD_PARTITIONS_TO_TXN,
        ApiKey::AddOffsetsToTxn => transactions::ADD_OFFSETS_TO_TXN,
        ApiKey::EndTxn => transactions::END_TXN,
        ApiKey::WriteTxnMarkers => transactions::WRITE_TXN_MARKERS,
        ApiKey::TxnOffsetCommit => transactions::TXN_OFFSET_COMMIT,
        ApiKey::DescribeProducers => transactions::DESCRIBE_PRODUCERS,
        ApiKey::DescribeTransactions => transactions::DESCRIBE_TRANSACTIONS,
        ApiKey::ListTransactions => transactions::LIST_TRANSACTIONS,
        _ => return None,
    })
}

struct Walk<'a> {
    left: &'a [u8],
    version: i16,
    flexible: bool,
    items: usize,
}

impl Walk<'_> {
    fn fields(&mut self, fields: &'static [Field]) -> Result<(), ShapeError> {
        let version = self.version;
        let here = |field: &&Field| (field.first_version..=field.last_version).contains(&version);
        for field in fields.iter().filter(here).filter(|field| field.tag.is_none()) {
            self.kind(&field.kind, field.name)?;
        }
        if self.flexible { self.tagged_fields(fields) } else { Ok(()) }
    }

    fn tagged_fields(&mut self, fields: &'static [Field]) -> Result<(), ShapeError> {
        const SECTION: &str = "the tagged fields";
        for _ in 0..self.varint(SECTION)? {
            let tag = self.varint(SECTION)?;
            let size = self.varint(SECTION)? as usize;
            let known = fields.iter().find(|field| {
                field.tag == Some(tag) && (field.first_version..=field.last_version).contains(&self.version)
            });
            if size > self.left.len() {
                return Err(ShapeError::Short { field: known.map_or(SECTION, |field| field.name) });
            }
            let after = self.left.len() - size;
            match known {
                Some(field) => {
                    self.kind(&field.kind, field.name)?;
                    if self.left.len() != after {
                        return Err(ShapeError::TaggedSize { field: field.name });
                    }
                }
                None => {
                    // Unknown ones are kept in a map by the decoder, so they count.
                    self.count(1)?;
                    self.skip(size, SECTION)?;
                }
            }
        }
        Ok(())
    }

    fn kind(&mut self, kind: &'static Kind, field: &'static str) -> Result<(), ShapeError> {
        match kind {
            Kind::Fixed(bytes) => self.skip(*bytes, field),
            Kind::Text => {
                let bytes = if self.flexible { self.compact_length(field)? } else { self.short_length(field)? };
                self.skip(bytes, field)
            }
            Kind::Blob => {
                let bytes = if self.flexible { self.compact_length(field)? } else { self.long_length(field)? };
                self.skip(bytes, field)
            }
            Kind::List(item) => {
                let items = if self.flexible { self.compact_length(field)? } else { self.long_length(field)? };
                self.count(items)?;
                (0..items).try_for_each(|_| self.kind(item, field))
            }
            Kind::Struct(fields) => self.fields(fields),
            Kind::MaybeStruct(fields) => {
                let (&byte, rest) = self.left.split_first().ok_or(ShapeError::Short { field })?;
                self.left = rest;
                if byte.cast_signed() < 0 { Ok(()) } else { self.fields(fields) }
            }
        }
    }

    fn count(&mut self, items: usize) -> Result<(), ShapeError> {
        self.items = self.items.saturating_add(items);
        if self.items > ITEMS_MAX { Err(ShapeError::Items { items_max: ITEMS_MAX }) } else { Ok(()) }
    }

    fn skip(&mut self, bytes: usize, field: &'static str) -> Result<(), ShapeError> {
        self.left = self.left.get(bytes..).ok_or(ShapeError::Short { field })?;
        Ok(())
    }

    /// A length that stands as length + 1, so that 0 is null.
    fn compact_length(&mut self, field: &'static str) -> Result<usize, ShapeError> {
        Ok(self.varint(field)?.saturating_sub(1) as usize)
    }

    fn short_length(&mut self, field: &'static str) -> Result<usize, ShapeError> {
        let (bytes, rest) = self.left.split_first_chunk().ok_or(ShapeError::Short { field })?;
        self.left = rest;
        length(i16::from_be_bytes(*bytes).into(), field)
    }

    fn long_length(&mut self, field: &'static str) -> Result<usize, ShapeError> {
        let (bytes, rest) = self.left.split_first_chunk().ok_or(ShapeError::Short { field })?;
        self.left = rest;
        length(i32::from_be_bytes(*bytes), field)
    }

    fn varint(&mut self, field: &'static str) -> Result<u32, ShapeError> {
        let mut value = 0;
        for place in 0..5 {
            let (&byte, rest) = self.left.split_first().ok_or(ShapeError::Short { field })?;
            self.left = rest;
            if place == 4 && byte > 0x0f {
                break;
            }
            value |= u32::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ShapeError::Varint { field })
    }
}

/// -1 is null.
fn length(claimed: i32, field: &'static str) -> Result<usize, ShapeError> {
    match claimed {
        -1 => Ok(0),
        _ => usize::try_from(claimed).map_err(|_| ShapeError::Negative { field }),
    }
}

#[cfg(test)]
mod tests;
