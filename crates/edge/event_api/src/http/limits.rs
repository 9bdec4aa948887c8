//! How large things may be.

use std::time::Duration;

/// Largest body of a request.
pub const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Bodies of all requests together that are being read or appended. A request waits until there is room.
pub const UPLOADS_BYTES_MAX: usize = 256 * 1024 * 1024;
/// A body has to be here after so long.
pub const BODY_TIME_MAX: Duration = Duration::from_secs(60);

/// Events of one page, and how many it has unless asked otherwise.
pub const PAGE_EVENTS_MAX: usize = 1000;
pub const PAGE_EVENTS_DEFAULT: usize = 100;
/// A page ends after so many bytes of events, with the event that passes them.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Events asked of the store at once, so that a page of large events is noticed before it is in memory.
pub const PAGE_STEP: usize = 64;
/// Events looked at for one page of a filtered read. A page may so have no event and yet a next one.
pub const PAGE_LOOKS_MAX: usize = 20_000;

/// Events looked at between two checkpoints of a filtered event stream.
pub const CHECKPOINT_INTERVAL: usize = 1000;
/// What an event stream gathers before it is written, if so much is there already.
pub const FOLLOW_CHUNK_BYTES: usize = 64 * 1024;

/// Names of one page of a list.
pub const LIST_MAX: usize = 1000;

/// Items of a query; prefixes, types and tags of a filter.
pub const QUERY_ITEMS_MAX: usize = 100;
pub const FILTER_WORDS_MAX: usize = 100;
/// Length of a regular expression, and bytes of its compiled form.
pub const REGEX_BYTES_MAX: usize = 1024;
pub const REGEX_COMPILED_BYTES_MAX: usize = 1024 * 1024;

/// Ids, types, tags, names of headers.
pub const WORD_BYTES_MAX: usize = 1024;
/// Tags of one event, and further headers of it.
pub const EVENT_TAGS_MAX: usize = 100;
pub const EVENT_HEADERS_MAX: usize = 100;
