//! Names of directories and files.

use std::path::PathBuf;

use daybook_types::{Offset, PartitionId, PartitionIndex, TopicId};

/// Which of a segment's two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Data,
    Index,
}

/// `<base offset, 20 digits>.seg` or `.idx`.
pub(crate) fn file(base: Offset, kind: Kind) -> PathBuf {
    let end = match kind {
        Kind::Data => "seg",
        Kind::Index => "idx",
    };
    format!("{:020}.{end}", base.0).into()
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
