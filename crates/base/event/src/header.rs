//! Names of record headers.

/// CloudEvents' version, always `1.0`.
pub const SPEC_VERSION: &str = "ce_specversion";
/// The event's id, unique in its stream: what makes a retry a retry.
pub const ID: &str = "ce_id";
/// Who reports the event.
pub const SOURCE: &str = "ce_source";
/// The event's type.
pub const TYPE: &str = "ce_type";
/// When it was true, RFC 3339; the record's timestamp says when it was recorded.
pub const TIME: &str = "ce_time";
/// Media type of the data.
pub const CONTENT_TYPE: &str = "content-type";
/// Metadata as one text or binary, the form in which KurrentDB's clients have it.
pub const METADATA: &str = "daybook-metadata";
/// A tag, for conditions and queries; an event may have several.
pub const TAG: &str = "daybook-tag";
/// Condition of a record sent by a Kafka client: `-1` no stream yet, `n` exactly this version, `any`.
pub const EXPECTED_VERSION: &str = "daybook-expected-version";

/// Type of the last event of a stream that may never be written again.
pub const TOMBSTONE_TYPE: &str = "$streamDeleted";
/// Type of the events of a metadata stream.
pub const METADATA_TYPE: &str = "$metadata";

/// Whether a header's name has a meaning here, so that it can't be used for another.
pub fn is_reserved(name: &str) -> bool {
    [SPEC_VERSION, ID, SOURCE, TYPE, TIME, CONTENT_TYPE, METADATA, TAG, EXPECTED_VERSION].contains(&name)
}
