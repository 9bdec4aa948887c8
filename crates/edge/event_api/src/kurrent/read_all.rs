//! Reads of `$all`, and of the virtual streams that are made of it.

use daybook_event_store::{AllFrom, Direction, EventStore, StreamFrom, StreamName};
use daybook_types::Position;

use super::answers::{Answers, End};
use super::error_code;
use super::filter::Wanted;
use super::links::{self, Virtual};
use super::options::{READ_LOOK_EVENTS, READ_PAGE_EVENTS};
use super::read::How;
use super::read_stream::{not_found, page_events};
use crate::proto::event_store::client::streams::ReadResp;

pub(super) async fn read(
    store: &EventStore,
    mut from: AllFrom,
    wanted: &Wanted,
    direction: Direction,
    count: u64,
    how: How,
    answers: &Answers<ReadResp>,
) -> Result<(), End> {
    let mut left = count;
    while left > 0 {
        // Of what is sorted out here, any number may have to be read for one that is wanted.
        let page_events = if wanted.is_the_stores() { page_events(left) } else { READ_PAGE_EVENTS };
        let page = store.read_all(from, direction, &wanted.filter, page_events, READ_LOOK_EVENTS).await;
        let page = page.map_err(|error| error_code::of_read(&error))?;
        for recorded in page.events {
            if left == 0 {
                break;
            }
            if !wanted.passes(&recorded)? {
                continue;
            }
            let resolved = links::resolve(store, recorded, how.follow_links).await;
            let resolved = resolved.map_err(|error| error_code::of_read(&error))?;
            answers.send(resolved.answer(how.id_form)).await?;
            left -= 1;
        }
        if page.at_end {
            break;
        }
        from = page.next;
    }
    Ok(())
}

#[allow(clippy::too_many_arguments)]
pub(super) async fn read_virtual(
    store: &EventStore,
    stream: &Virtual,
    name: &StreamName,
    from: StreamFrom,
    direction: Direction,
    count: u64,
    how: How,
    answers: &Answers<ReadResp>,
) -> Result<(), End> {
    let mut left = count;
    let mut next = all_from(from, direction);
    while left > 0 {
        let page = store.read_all(next, direction, &stream.filter, page_events(left), READ_LOOK_EVENTS).await;
        let page = page.map_err(|error| error_code::of_read(&error))?;
        for recorded in page.events {
            answers.send(stream.show(recorded, how.follow_links).answer(how.id_form)).await?;
            left = left.saturating_sub(1);
        }
        if page.at_end {
            break;
        }
        next = page.next;
    }
    // From a revision on nothing is found in a stream that has been read to its end, too.
    let whole =
        matches!((from, direction), (StreamFrom::Start, Direction::Forwards) | (StreamFrom::End, Direction::Backwards));
    if left == count && count > 0 && whole {
        answers.send(not_found(name)).await?;
    }
    Ok(())
}

/// A virtual stream's revisions are positions; but backwards a stream's read begins with the revision named, that of `$all` below it.
pub(super) fn all_from(from: StreamFrom, direction: Direction) -> AllFrom {
    match (from, direction) {
        (StreamFrom::Start, Direction::Forwards) => AllFrom::Start,
        // The first of a virtual stream, which nobody can know, would be the only one.
        (StreamFrom::Start, Direction::Backwards) => AllFrom::Position(Position(0)),
        (StreamFrom::End, _) => AllFrom::End,
        (StreamFrom::Version(version), Direction::Forwards) => AllFrom::Position(Position(version.0)),
        (StreamFrom::Version(version), Direction::Backwards) => {
            AllFrom::Position(Position(version.0.saturating_add(1)))
        }
    }
}
