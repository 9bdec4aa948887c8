//! Names of streams, and where they lead.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use daybook_types::TopicName;
use thiserror::Error;

/// A stream's metadata is itself a stream, of this prefix and the stream's name.
pub const METADATA_PREFIX: &str = "$$";
/// A name is a key of the index.
pub const STREAM_NAME_BYTES_MAX: usize = 1024;

/// Topic of streams whose category is no legal topic name.
const OTHER_STREAMS_TOPIC: &str = "_streams";

/// A legal name of a stream: 1 to 1,024 bytes of UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamName(Arc<str>);

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IllegalStreamName {
    #[error("a stream's name can't be empty")]
    Empty,
    #[error("a stream's name has at most {STREAM_NAME_BYTES_MAX} bytes, this one has {bytes}")]
    TooLong { bytes: usize },
}

impl StreamName {
    pub fn new(name: &str) -> Result<Self, IllegalStreamName> {
        match name.len() {
            0 => Err(IllegalStreamName::Empty),
            bytes if bytes > STREAM_NAME_BYTES_MAX => Err(IllegalStreamName::TooLong { bytes }),
            _ => Ok(Self(name.into())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the first `-`; the whole name if there is none. A metadata stream has its stream's category.
    pub fn category(&self) -> &str {
        let base = self.base();
        base.split_once('-').map_or(base, |(category, _)| category)
    }

    /// The topic its events live in.
    pub fn topic(&self) -> TopicName {
        let other = || TopicName::new(OTHER_STREAMS_TOPIC).expect("the name of a constant is legal");
        // Topics of a leading underscore are the system's.
        TopicName::new(self.category()).ok().filter(|topic| !topic.as_str().starts_with('_')).unwrap_or_else(other)
    }

    /// The key that says in which partition it lives: a metadata stream lives beside its stream, so that their order is one.
    pub fn partition_key(&self) -> &[u8] {
        self.base().as_bytes()
    }

    /// The stream whose metadata this stream holds.
    pub fn described(&self) -> Option<Self> {
        let base = self.0.strip_prefix(METADATA_PREFIX).filter(|base| !base.is_empty())?;
        Some(Self(base.into()))
    }

    /// The stream that holds this stream's metadata. Its name may be a few bytes longer than others.
    #[must_use]
    pub fn metadata(&self) -> Self {
        Self(format!("{METADATA_PREFIX}{}", self.0).into())
    }

    fn base(&self) -> &str {
        self.0.strip_prefix(METADATA_PREFIX).filter(|base| !base.is_empty()).unwrap_or(&self.0)
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for StreamName {
    fn borrow(&self) -> &str {
        &self.0
    }
}
