//! May these events be appended to this stream? A pure function of the stream, what is expected of it, and the events' ids.
//!
//! The rules are written down in `docs/event-store.md`.

use daybook_command::{ActualVersion, ExpectedVersion};
use daybook_types::StreamVersion;

use crate::stored::Stream;

/// Events at a stream's end among which a repeated append is looked for where the expectation names no version.
pub const IDEMPOTENCE_WINDOW: u64 = 512;

/// What to do with an append to one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Append; the first event gets this version.
    Take(StreamVersion),
    /// All of it is there, from this version on.
    Repeated(StreamVersion),
    PartlyRepeated,
    Conflict(ActualVersion),
    Tombstoned,
}

/// Where a repeat of the append would stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeat {
    /// From this version on.
    At(StreamVersion),
    /// Anywhere among the last events.
    Anywhere,
}

/// `ids` are those of the events for this stream; none: it is only checked. `stored_ids` gives those of the stream's events with
/// versions in a range, in their order.
pub(crate) fn judge<E>(
    stream: Option<&Stream>,
    expected: ExpectedVersion,
    ids: &[u64],
    mut stored_ids: impl FnMut(StreamVersion, StreamVersion) -> Result<Vec<u64>, E>,
) -> Result<Verdict, E> {
    let actual = stream.map_or(ActualVersion::None, Stream::actual);
    let next = stream.map_or(StreamVersion(0), |stream| stream.next);
    let born = stream.map_or(StreamVersion(0), |stream| stream.born);
    if actual == ActualVersion::Tombstoned {
        return Ok(Verdict::Tombstoned);
    }
    let fits = fits(expected, actual);
    if ids.is_empty() {
        return Ok(if fits { Verdict::Take(next) } else { Verdict::Conflict(actual) });
    }
    // What was deleted since can't be repeated: the same ids are new events.
    let is_written = matches!(actual, ActualVersion::At(_));
    let repeat = match expected {
        ExpectedVersion::Any | ExpectedVersion::Exists => Some(Repeat::Anywhere),
        ExpectedVersion::NoStream | ExpectedVersion::SoftDeleted => Some(Repeat::At(born)),
        ExpectedVersion::Exact(version) if version.0 < next.0 && version.next() >= born => {
            Some(Repeat::At(version.next()))
        }
        ExpectedVersion::Exact(_) => None,
    };
    let found = match repeat {
        Some(repeat) if is_written && !(fits && matches!(repeat, Repeat::At(_))) => {
            look_for(repeat, ids, born, next, &mut stored_ids)?
        }
        _ => None,
    };
    Ok(match found {
        Some(verdict) => verdict,
        None if fits => Verdict::Take(next),
        None => Verdict::Conflict(actual),
    })
}

/// Whether an append that expects this of a stream may be new. Nothing is appended to a stream that ended for ever.
pub(crate) fn fits(expected: ExpectedVersion, actual: ActualVersion) -> bool {
    match (expected, actual) {
        (_, ActualVersion::Tombstoned) => false,
        (ExpectedVersion::Any, _)
        | (ExpectedVersion::NoStream, ActualVersion::None | ActualVersion::SoftDeleted(_))
        | (ExpectedVersion::Exists, ActualVersion::At(_))
        | (ExpectedVersion::SoftDeleted, ActualVersion::SoftDeleted(_)) => true,
        (ExpectedVersion::Exact(version), ActualVersion::At(last) | ActualVersion::SoftDeleted(last)) => {
            version == last
        }
        _ => false,
    }
}

fn look_for<E>(
    repeat: Repeat,
    ids: &[u64],
    born: StreamVersion,
    next: StreamVersion,
    stored_ids: &mut impl FnMut(StreamVersion, StreamVersion) -> Result<Vec<u64>, E>,
) -> Result<Option<Verdict>, E> {
    let count = ids.len() as u64;
    let (from, stored) = match repeat {
        Repeat::At(from) => (from, stored_ids(from, StreamVersion(from.0.saturating_add(count)).min(next))?),
        Repeat::Anywhere => {
            let window = IDEMPOTENCE_WINDOW.max(count);
            let from = StreamVersion(next.0.saturating_sub(window)).max(born);
            (from, stored_ids(from, next)?)
        }
    };
    let is_same = |stored: &u64, id: &u64| *id != 0 && stored == id;
    let first = match repeat {
        Repeat::At(_) => 0,
        Repeat::Anywhere => match stored.iter().position(|stored| is_same(stored, &ids[0])) {
            Some(first) => first,
            None => {
                let is_known = |id: &u64| stored.iter().any(|stored| is_same(stored, id));
                return Ok(ids[1..].iter().any(is_known).then_some(Verdict::PartlyRepeated));
            }
        },
    };
    let same = stored[first..].iter().zip(ids).take_while(|(stored, id)| is_same(stored, id)).count();
    Ok(match same {
        0 => None,
        same if same == ids.len() => Some(Verdict::Repeated(from.plus(first as u64))),
        _ => Some(Verdict::PartlyRepeated),
    })
}
