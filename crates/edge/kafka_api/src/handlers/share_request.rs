//! What ShareFetch and ShareAcknowledge have in common: who asks, and what is said of records.

use daybook_share_coordinator::core::{AckError, Acknowledgement, Verdict};
use daybook_share_coordinator::{AcknowledgeAsk, MemberId, ShareError};
use daybook_types::{GroupId, PartitionId, PartitionIndex, TopicId};
use uuid::Uuid;

use crate::broker::Broker;
use crate::error_code::{self, ErrorCode};
use crate::wire::StrBytes;
use crate::wire::messages;

const RENEW: i8 = 4;

/// Who asks, from a request in which both may be null.
pub(super) fn who(
    group: Option<&messages::GroupId>,
    member: Option<&StrBytes>,
) -> Result<(GroupId, MemberId), ErrorCode> {
    match (group, member) {
        (Some(group), Some(member)) if !group.is_empty() && !member.is_empty() => {
            Ok((GroupId::new(&group.0), MemberId::new(member)))
        }
        (Some(group), _) if group.is_empty() => Err(ErrorCode::InvalidGroupId),
        _ => Err(ErrorCode::InvalidRequest),
    }
}

/// A partition as the request names it; it need not exist.
pub(super) fn partition(topic: Uuid, index: i32) -> PartitionId {
    PartitionId { topic: TopicId(topic), index: PartitionIndex(index) }
}

/// First and last offset, and the types of one batch.
pub(super) type RawBatch<'a> = (i64, i64, &'a [i8]);

/// What a member says of records of one partition. `renews`: the request is one that may renew locks.
pub(super) fn ask<'a>(
    partition: PartitionId,
    batches: impl Iterator<Item = RawBatch<'a>>,
    renews: bool,
) -> Result<AcknowledgeAsk, ShareError> {
    let acknowledgements = batches.map(|batch| acknowledgement(batch, renews)).collect::<Result<_, _>>()?;
    Ok(AcknowledgeAsk { partition, acknowledgements })
}

fn acknowledgement((first, last, types): RawBatch<'_>, renews: bool) -> Result<Acknowledgement, AckError> {
    let verdict = |code: &i8| match *code {
        0 => Ok(Verdict::Gap),
        1 => Ok(Verdict::Accept),
        2 => Ok(Verdict::Release),
        3 => Ok(Verdict::Reject),
        RENEW if renews => Ok(Verdict::Renew),
        _ => Err(AckError::Malformed),
    };
    let (Ok(first), Ok(last)) = (u64::try_from(first), u64::try_from(last)) else { return Err(AckError::Malformed) };
    Ok(Acknowledgement { first, last, verdicts: types.iter().map(verdict).collect::<Result<_, _>>()? })
}

/// The code for one partition: one whose topic isn't there is told apart from one that its topic doesn't have.
pub(super) fn code_of(broker: &Broker, partition: PartitionId, error: &ShareError) -> ErrorCode {
    match error_code::of_share(error) {
        ErrorCode::UnknownTopicOrPartition if broker.reader.catalog().topic_by_id(partition.topic).is_none() => {
            ErrorCode::UnknownTopicId
        }
        code => code,
    }
}
