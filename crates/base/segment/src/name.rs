//! Names of directories and files.

use std::path::PathBuf;

use daybook_types::{Offset, PartitionId, PartitionIndex, TopicId};

/// Which of a segment's two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Data,
    Index,
}

/// Which segment of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SegmentName {
    pub base: Offset,
    /// How often what it holds was rewritten.
    pub generation: u32,
}

/// `<base offset, 20 digits>.seg` or `.idx`; of a rewritten segment `<base offset>.<generation>.seg` or `.idx`.
pub(crate) fn file(segment: SegmentName, kind: Kind) -> PathBuf {
    let end = match kind {
        Kind::Data => "seg",
        Kind::Index => "idx",
    };
    let SegmentName { base, generation } = segment;
    match generation {
        0 => format!("{:020}.{end}", base.0).into(),
        _ => format!("{:020}.{generation}.{end}", base.0).into(),
    }
}

/// The partition whose directory is called `name`, if one's can be.
pub(crate) fn partition(name: &str) -> Option<PartitionId> {
    let (topic, index) = name.split_once('-')?;
    let index = PartitionIndex(index.parse().ok()?);
    let topic = (topic.len() == 32).then(|| u128::from_str_radix(topic, 16).ok())??;
    let id = PartitionId { topic: TopicId::from_bytes(topic.to_be_bytes()), index };
    // Another spelling of the same id isn't a name of ours.
    (id.to_string() == name).then_some(id)
}
