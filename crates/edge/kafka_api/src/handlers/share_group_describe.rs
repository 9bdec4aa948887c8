//! ShareGroupDescribe: state and members of share groups. One that has kept offsets and has no members is Empty.

use std::collections::{BTreeMap, HashSet};

use daybook_catalog::Catalog;
use daybook_share_coordinator::{Described, MemberInfo};
use daybook_types::TopicId;

use super::authorized_operations;
use super::member_ref::group_id;
use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::share_group_describe_response::{Assignment, DescribedGroup, Member, TopicPartitions};
use crate::wire::messages::{ShareGroupDescribeRequest, ShareGroupDescribeResponse, TopicName};
use crate::wire::{text, uuid};

const ASSIGNOR: &str = "simple";

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: ShareGroupDescribeRequest,
) -> ShareGroupDescribeResponse {
    let catalog = broker.reader.catalog();
    // Told once each: the answer can't be made larger than the groups are by asking for the same ones again.
    let mut seen = HashSet::new();
    let groups = request.group_ids.iter().filter(|asked| seen.insert(*asked)).map(|asked| {
        let group = match broker.share.describe(&group_id(asked)) {
            Some(group) => described(&catalog, &group),
            None => DescribedGroup::default()
                .with_error_code(error_code::code(Some(ErrorCode::GroupIdNotFound)))
                .with_error_message(Some(text(format!("Group {} not found.", asked.0)))),
        };
        let operations = if request.include_authorized_operations {
            authorized_operations::GROUP
        } else {
            authorized_operations::NOT_ASKED
        };
        group.with_group_id(asked.clone()).with_authorized_operations(operations)
    });
    ShareGroupDescribeResponse::default().with_groups(groups.collect())
}

fn described(catalog: &Catalog, group: &Described) -> DescribedGroup {
    DescribedGroup::default()
        .with_group_state(text(if group.members.is_empty() { "Empty" } else { "Stable" }))
        .with_group_epoch(group.epoch)
        .with_assignment_epoch(group.epoch)
        .with_assignor_name(text(ASSIGNOR))
        .with_members(group.members.iter().map(|info| member(catalog, info)).collect())
}

fn member(catalog: &Catalog, info: &MemberInfo) -> Member {
    let mut topics: BTreeMap<TopicId, Vec<i32>> = BTreeMap::new();
    for partition in &info.assignment {
        topics.entry(partition.topic).or_default().push(partition.index.0);
    }
    let topic = |(id, partitions)| {
        let name = catalog.topic_by_id(id).map(|topic| topic.name.as_str()).unwrap_or_default();
        TopicPartitions::default()
            .with_topic_id(uuid(id))
            .with_topic_name(TopicName(text(name)))
            .with_partitions(partitions)
    };
    let assignment = Assignment::default().with_topic_partitions(topics.into_iter().map(topic).collect());
    Member::default()
        .with_member_id(text(info.member.as_str()))
        .with_rack_id(info.rack.as_deref().map(text))
        .with_member_epoch(info.epoch)
        .with_client_id(text(&*info.client_id))
        .with_client_host(text(&*info.client_host))
        .with_subscribed_topic_names(info.subscribed.iter().map(|name| TopicName(text(&**name))).collect())
        .with_assignment(assignment)
}
