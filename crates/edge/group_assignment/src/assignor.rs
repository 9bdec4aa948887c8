//! The assignors that the server has, by Kafka's names, and what they are given.

use std::fmt;
use std::sync::Arc;

use daybook_types::TopicId;

use crate::Partitions;

mod mixed;
mod range;
mod uniform;

/// Kafka's server-side assignors of consumer groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assignor {
    /// Every member as many partitions as any other, give or take one; who has a partition keeps it if that fits.
    Uniform,
    /// Of each topic a run of neighbours, so that members get the same numbers of topics that are read together.
    Range,
}

/// A member as an assignor sees it.
#[derive(Clone, Debug)]
pub struct AssignedMember<'a> {
    pub id: &'a str,
    pub instance: Option<&'a str>,
    /// Existing topics that it wants, with their numbers of partitions, by id.
    pub topics: Arc<[(TopicId, i32)]>,
    /// What it should have had so far.
    pub target: Arc<Partitions>,
}

impl Assignor {
    /// The default first, as Kafka lists them.
    pub const ALL: [Self; 2] = [Self::Uniform, Self::Range];

    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Range => "range",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|assignor| assignor.name() == name)
    }

    /// What each of `members` should have, in their order. A target that doesn't change is the same `Arc`.
    pub fn assign(self, members: &[AssignedMember<'_>]) -> Vec<Arc<Partitions>> {
        let Some(first) = members.first() else { return Vec::new() };
        let targets = match self {
            Self::Range => range::assign(members),
            Self::Uniform if members.iter().all(|member| member.topics == first.topics) => uniform::assign(members),
            Self::Uniform => mixed::assign(members),
        };
        let keep = |(member, target): (&AssignedMember<'_>, Partitions)| {
            if *member.target == target { member.target.clone() } else { Arc::new(target) }
        };
        members.iter().zip(targets).map(keep).collect()
    }
}

impl fmt::Display for Assignor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
