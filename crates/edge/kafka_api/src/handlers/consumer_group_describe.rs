//! ConsumerGroupDescribe (KIP-848): the state, members and assignments of consumer groups.

use std::collections::{BTreeMap, HashSet};

use daybook_catalog::Catalog;
use daybook_group_coordinator::{ConsumerDescription, ConsumerMemberDescription};
use daybook_types::{PartitionId, TopicId};

use super::authorized_operations;
use super::member_ref::{group_id, instance_text, member_text};
use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::consumer_group_describe_response::{Assignment, DescribedGroup, Member, TopicPartitions};
use crate::wire::messages::{ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, TopicName};
use crate::wire::{text, uuid};

const CLASSIC_MEMBER: i8 = 0;
const CONSUMER_MEMBER: i8 = 1;

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: ConsumerGroupDescribeRequest,
) -> ConsumerGroupDescribeResponse {
    let catalog = broker.reader.catalog();
    // Told once each: the answer can't be made larger than the groups are by asking for the same ones again.
    let mut seen = HashSet::new();
    let groups = request.group_ids.iter().filter(|asked| seen.insert(*asked)).map(|asked| {
        let group = match broker.coordinator.describe_consumer(&group_id(asked)) {
            Ok(Some(group)) if request.include_authorized_operations => {
                described(&catalog, &group).with_authorized_operations(authorized_operations::GROUP)
            }
            Ok(Some(group)) => described(&catalog, &group),
            Ok(None) => failed(ErrorCode::GroupIdNotFound)
                .with_error_message(Some(text(format!("Group {} is not a consumer group.", asked.as_str())))),
            Err(error) => failed(error_code::of_group(error)),
        };
        group.with_group_id(asked.clone())
    });
    ConsumerGroupDescribeResponse::default().with_groups(groups.collect())
}

fn described(catalog: &Catalog, group: &ConsumerDescription) -> DescribedGroup {
    DescribedGroup::default()
        .with_group_state(text(group.state.as_str()))
        .with_group_epoch(group.epoch.0)
        .with_assignment_epoch(group.target_epoch.0)
        .with_assignor_name(text(group.assignor.name()))
        .with_members(group.members.iter().map(|described| member(catalog, described)).collect())
}

fn member(catalog: &Catalog, member: &ConsumerMemberDescription) -> Member {
    Member::default()
        .with_member_id(member_text(&member.member))
        .with_instance_id(instance_text(member.instance.as_ref()))
        .with_rack_id(member.rack.as_deref().map(text))
        .with_member_epoch(member.epoch.0)
        .with_client_id(text(&*member.client_id))
        .with_client_host(text(&*member.client_host))
        .with_subscribed_topic_names(member.names.iter().map(|name| TopicName(text(&**name))).collect())
        // Kafka tells of no expression as of an empty one.
        .with_subscribed_topic_regex(Some(text(member.regex.as_deref().unwrap_or_default())))
        .with_assignment(assignment(catalog, member.assigned.iter()))
        .with_target_assignment(assignment(catalog, member.target.iter()))
        .with_member_type(if member.speaks_classic { CLASSIC_MEMBER } else { CONSUMER_MEMBER })
}

/// Topics that were deleted meanwhile are left out: they have no name.
fn assignment<'a>(catalog: &Catalog, partitions: impl Iterator<Item = &'a PartitionId>) -> Assignment {
    let mut by_topic: BTreeMap<TopicId, Vec<i32>> = BTreeMap::new();
    for partition in partitions {
        by_topic.entry(partition.topic).or_default().push(partition.index.0);
    }
    let topic = |(id, partitions)| {
        let name = catalog.topic_by_id(id)?.name.as_str().to_owned();
        Some(
            TopicPartitions::default()
                .with_topic_id(uuid(id))
                .with_topic_name(TopicName(text(name)))
                .with_partitions(partitions),
        )
    };
    Assignment::default().with_topic_partitions(by_topic.into_iter().filter_map(topic).collect())
}

fn failed(error: ErrorCode) -> DescribedGroup {
    DescribedGroup::default().with_error_code(error_code::code(Some(error)))
}
