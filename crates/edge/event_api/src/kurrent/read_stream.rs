//! Reads of one stream.

use daybook_event_store::{Direction, EventStore, ReadError, StreamFrom, StreamName};

use super::answers::{Answers, End};
use super::options::READ_PAGE_EVENTS;
use super::read::How;
use super::{error_code, ids, links};
use crate::proto::event_store::client::streams::ReadResp;
use crate::proto::event_store::client::streams::read_resp::{Content, StreamNotFound};

pub(super) async fn read(
    store: &EventStore,
    name: &StreamName,
    from: StreamFrom,
    direction: Direction,
    count: u64,
    how: How,
    answers: &Answers<ReadResp>,
) -> Result<(), End> {
    let mut left = count;
    let mut next = Some(from);
    let mut head = None;
    while let (Some(from), 1..) = (next, left) {
        let page = match store.read_stream(name, from, direction, page_events(left)).await {
            Ok(page) => page,
            Err(ReadError::NoStream { .. } | ReadError::SoftDeleted { .. }) if left == count => {
                return Ok(answers.send(not_found(name)).await?);
            }
            // Deleted while it was read: what there was has been read.
            Err(ReadError::NoStream { .. } | ReadError::SoftDeleted { .. }) => return Ok(()),
            Err(error) => return Err(error_code::of_read(&error).into()),
        };
        for recorded in page.events {
            let resolved = links::resolve(store, recorded, how.follow_links).await;
            let resolved = resolved.map_err(|error| error_code::of_read(&error))?;
            answers.send(resolved.answer(how.id_form)).await?;
            left = left.saturating_sub(1);
        }
        next = page.next.map(StreamFrom::Version);
        head = Some(page.info.next_version.0);
    }
    match head {
        Some(head) if how.tell_ends => tell_ends(from, direction, left == count, head, answers).await,
        _ => Ok(()),
    }
}

/// Events of the next page, of those that are left to read.
pub(super) fn page_events(left: u64) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX).min(READ_PAGE_EVENTS)
}

pub(super) fn not_found(name: &StreamName) -> ReadResp {
    let not_found = StreamNotFound { stream_identifier: Some(ids::stream_identifier(name.as_str())) };
    ReadResp { content: Some(Content::StreamNotFound(not_found)) }
}

/// Where the stream goes on, if nothing was found where the read began, and which revision is its last.
async fn tell_ends(
    from: StreamFrom,
    direction: Direction,
    found_none: bool,
    next_revision: u64,
    answers: &Answers<ReadResp>,
) -> Result<(), End> {
    let began_elsewhere = match from {
        StreamFrom::Start => next_revision != 0,
        StreamFrom::Version(version) => version.0 != next_revision,
        StreamFrom::End => false,
    };
    if found_none && direction == Direction::Forwards && began_elsewhere {
        answers.send(ReadResp { content: Some(Content::FirstStreamPosition(next_revision)) }).await?;
    }
    if let Some(last) = next_revision.checked_sub(1) {
        answers.send(ReadResp { content: Some(Content::LastStreamPosition(last)) }).await?;
    }
    Ok(())
}
