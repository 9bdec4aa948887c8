//! The configs of groups, of whatever kind: by name, what was set. What a config means, its user knows.

use std::collections::{BTreeMap, BTreeSet};

use daybook_command::{AlterGroupConfigs, GroupConfigsRefusal};
use daybook_types::GroupId;

/// The most groups that have configs.
const GROUPS_MAX: usize = 10_000;

/// What was set for one group.
pub type ConfigsOfGroup = BTreeMap<String, String>;

/// Invariant: no group with nothing set.
#[derive(Debug, Default)]
pub struct GroupConfigs {
    groups: BTreeMap<GroupId, ConfigsOfGroup>,
    changed: BTreeSet<GroupId>,
}

impl GroupConfigs {
    pub fn group(&self, group: &GroupId) -> Option<&ConfigsOfGroup> {
        self.groups.get(group)
    }

    /// By name of the group.
    pub fn groups(&self) -> impl Iterator<Item = (&GroupId, &ConfigsOfGroup)> {
        self.groups.iter()
    }

    /// As a checkpoint kept it.
    pub fn restore(&mut self, group: GroupId, configs: ConfigsOfGroup) {
        self.groups.insert(group, configs);
    }

    pub fn alter(&mut self, alter: &AlterGroupConfigs) -> Result<(), GroupConfigsRefusal> {
        if self.groups.len() >= GROUPS_MAX && !self.groups.contains_key(&alter.group) {
            return Err(GroupConfigsRefusal::TooManyGroups { max: GROUPS_MAX });
        }
        let configs = self.groups.entry(alter.group.clone()).or_default();
        for (name, value) in &alter.changes {
            match value {
                Some(value) => configs.insert(name.clone(), value.clone()),
                None => configs.remove(name),
            };
        }
        if configs.is_empty() {
            self.groups.remove(&alter.group);
        }
        self.changed.insert(alter.group.clone());
        Ok(())
    }

    /// What changed since the last call; `None`: nothing is set any more.
    pub fn take_changes(&mut self) -> Vec<(GroupId, Option<ConfigsOfGroup>)> {
        std::mem::take(&mut self.changed)
            .into_iter()
            .map(|group| {
                let configs = self.groups.get(&group).cloned();
                (group, configs)
            })
            .collect()
    }
}
