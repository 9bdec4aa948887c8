//! What the group wants of the topics, and the target assignment made from it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use daybook_group_assignment::{AssignedMember, KnownTopic, Subscription, Topics};
use daybook_types::TopicId;
use tracing::{debug, info};

use super::ConsumerGroup;
use crate::ident::{InstanceId, MonotonicMs};

impl ConsumerGroup {
    /// Sees what has become of the topics. Whatever changes for anybody begins an epoch.
    pub(super) fn look_at_topics(&mut self, topics: &dyn Topics, now: MonotonicMs) {
        let mut is_stale = self.topics_version != Some(topics.version());
        if self.regexes.are_due(topics, now) {
            let used: BTreeSet<Arc<str>> =
                self.members.values().filter_map(|member| member.subscription.regex.clone()).collect();
            self.regexes.refresh(|text| used.contains(text), topics, now);
            is_stale = true;
        }
        if !is_stale {
            return;
        }
        self.topics_version = Some(topics.version());
        let found = self.find_topics(topics);
        if found != self.topics {
            debug!(group = %self.id, topics = found.len(), "the topics of the group have changed");
            self.topics = found;
            self.bump_epoch();
        }
    }

    /// Makes the target assignment of the group's epoch, unless the last one is too young.
    pub(super) fn maybe_make_target(&mut self, now: MonotonicMs) {
        let is_due = |at: MonotonicMs| at.plus(self.settings.consumer.assignment_interval_ms) <= now;
        // Who is alone waits for nobody.
        if self.epoch <= self.target_epoch || !(self.members.len() == 1 || self.target_made_at.is_none_or(is_due)) {
            return;
        }
        self.target_epoch = self.epoch;
        self.target_made_at = Some(now);
        // Members with the same subscription share it.
        let mut by_subscription: HashMap<*const Subscription, Arc<[(TopicId, i32)]>> = HashMap::new();
        for member in self.members.values() {
            let wanted = || self.wanted_topics(&member.subscription);
            by_subscription.entry(Arc::as_ptr(&member.subscription)).or_insert_with(wanted);
        }
        let assigned: Vec<AssignedMember<'_>> = self
            .members
            .values()
            .map(|member| AssignedMember {
                id: member.id.as_str(),
                instance: member.instance.as_ref().map(InstanceId::as_str),
                topics: by_subscription.get(&Arc::as_ptr(&member.subscription)).cloned().unwrap_or_else(|| [].into()),
                target: member.target.clone(),
            })
            .collect();
        let assignor = self.assignor();
        let targets = assignor.assign(&assigned);
        info!(group = %self.id, epoch = %self.epoch, members = self.members.len(), %assignor, "new target assignment");
        for (member, target) in self.members.values_mut().zip(targets) {
            member.target = target;
        }
    }

    /// The topics of a subscription that exist, by id.
    pub(super) fn wanted_topics(&self, subscription: &Subscription) -> Arc<[(TopicId, i32)]> {
        let by_regex = subscription.regex.as_ref().and_then(|regex| self.regexes.names(regex));
        let names = subscription.names.iter().chain(by_regex.into_iter().flatten());
        let mut wanted: Vec<(TopicId, i32)> =
            names.filter_map(|name| self.topics.get(name)).map(|topic| (topic.id, topic.partitions)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted.into()
    }

    fn find_topics(&self, topics: &dyn Topics) -> BTreeMap<Arc<str>, KnownTopic> {
        let mut found = BTreeMap::new();
        let mut seen: BTreeSet<*const Subscription> = BTreeSet::new();
        for subscription in self.members.values().map(|member| &member.subscription) {
            if !seen.insert(Arc::as_ptr(subscription)) {
                continue;
            }
            let by_regex = subscription.regex.as_ref().and_then(|regex| self.regexes.names(regex));
            for name in subscription.names.iter().chain(by_regex.into_iter().flatten()) {
                if !found.contains_key(name)
                    && let Some(topic) = topics.find(name)
                {
                    found.insert(name.clone(), topic);
                }
            }
        }
        found
    }
}
