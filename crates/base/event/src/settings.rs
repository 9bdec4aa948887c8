//! What a stream keeps: the events of type `$metadata` in its metadata stream, in KurrentDB's words.

use daybook_types::StreamVersion;
use serde::Deserialize;
use thiserror::Error;

/// What a stream keeps. `$acl` and `$cacheControl` are accepted and have no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamSettings {
    /// Events below this version are gone; [`DELETED`] means that the stream is deleted.
    pub truncate_before: Option<StreamVersion>,
    /// Only so many of its last events are kept. At least 1.
    pub max_count: Option<u64>,
    /// Only events recorded within this time are kept. At least 1.
    pub max_age_seconds: Option<u64>,
}

/// The `$tb` of a soft-deleted stream.
pub const DELETED: StreamVersion = StreamVersion(i64::MAX as u64);

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "stream metadata is a JSON object in which $maxCount and $maxAge (seconds) are at least 1 and $tb at least 0: {cause}"
)]
pub struct SettingsFault {
    cause: String,
}

#[derive(Deserialize)]
struct Parsed {
    #[serde(rename = "$tb")]
    truncate_before: Option<u64>,
    #[serde(rename = "$maxCount")]
    max_count: Option<std::num::NonZero<u64>>,
    #[serde(rename = "$maxAge")]
    max_age: Option<std::num::NonZero<u64>>,
}

impl StreamSettings {
    /// Reads the data of a `$metadata` event. Empty data keeps everything.
    pub fn parse(data: &[u8]) -> Result<Self, SettingsFault> {
        if data.is_empty() {
            return Ok(Self::default());
        }
        let parsed: Parsed =
            serde_json::from_slice(data).map_err(|error| SettingsFault { cause: error.to_string() })?;
        Ok(Self {
            truncate_before: parsed.truncate_before.map(StreamVersion),
            max_count: parsed.max_count.map(Into::into),
            max_age_seconds: parsed.max_age.map(Into::into),
        })
    }

    /// Data of the event that deletes a stream.
    pub fn deleted_json() -> String {
        format!(r#"{{"$tb":{DELETED}}}"#)
    }

    pub fn is_deleted(&self) -> bool {
        self.truncate_before == Some(DELETED)
    }
}
