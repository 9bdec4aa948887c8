//! Which subscription a request is about, in each of the messages that say it.

use daybook_competing::{ALL, SubscriptionName};
use tonic::Status;

use super::super::error_code;
use super::messages::{
    DeleteReq, GetInfoReq, ListReq, ReplayParkedReq, TruncateParkedReq, delete_req, get_info_req, list_req,
    replay_parked_req, truncate_parked_req,
};
use super::refusal;
use crate::proto::event_store::client::StreamIdentifier;

pub(super) fn to_delete(request: DeleteReq) -> Result<SubscriptionName, Status> {
    use delete_req::options::StreamOption;
    let options = request.options.ok_or_else(no_options)?;
    let stream = match options.stream_option.ok_or_else(no_stream)? {
        StreamOption::StreamIdentifier(identifier) => text(&identifier)?,
        StreamOption::All(_) => ALL.to_owned(),
    };
    Ok(SubscriptionName::new(&stream, &options.group_name))
}

pub(super) fn to_get_info(request: GetInfoReq) -> Result<SubscriptionName, Status> {
    use get_info_req::options::StreamOption;
    let options = request.options.ok_or_else(no_options)?;
    let stream = match options.stream_option.ok_or_else(no_stream)? {
        StreamOption::StreamIdentifier(identifier) => text(&identifier)?,
        StreamOption::All(_) => ALL.to_owned(),
    };
    Ok(SubscriptionName::new(&stream, &options.group_name))
}

/// The stream; `None` for subscriptions of all.
pub(super) fn to_list(request: ListReq) -> Result<Option<String>, Status> {
    use list_req::{options::ListOption, stream_option::StreamOption};
    let options = request.options.ok_or_else(no_options)?;
    match options.list_option.ok_or_else(|| error_code::invalid("say which subscriptions are to be listed"))? {
        ListOption::ListAllSubscriptions(_) => Ok(None),
        ListOption::ListForStream(stream) => match stream.stream_option.ok_or_else(no_stream)? {
            StreamOption::Stream(identifier) => text(&identifier).map(Some),
            StreamOption::All(_) => Ok(Some(ALL.to_owned())),
        },
    }
}

pub(super) fn to_replay(request: ReplayParkedReq) -> Result<(SubscriptionName, Option<u64>), Status> {
    use replay_parked_req::options::{StopAtOption, StreamOption};
    let options = request.options.ok_or_else(no_options)?;
    let stream = match options.stream_option.ok_or_else(no_stream)? {
        StreamOption::StreamIdentifier(identifier) => text(&identifier)?,
        StreamOption::All(_) => ALL.to_owned(),
    };
    let name = SubscriptionName::new(&stream, &options.group_name);
    let limit = match options.stop_at_option {
        Some(StopAtOption::StopAt(limit)) => Some(count(&name, limit)?),
        Some(StopAtOption::NoLimit(_)) | None => None,
    };
    Ok((name, limit))
}

pub(super) fn to_truncate(request: TruncateParkedReq) -> Result<(SubscriptionName, Option<u64>), Status> {
    use truncate_parked_req::options::{StopAtOption, StreamOption};
    let options = request.options.ok_or_else(no_options)?;
    let stream = match options.stream_option.ok_or_else(no_stream)? {
        StreamOption::StreamIdentifier(identifier) => text(&identifier)?,
        StreamOption::All(_) => ALL.to_owned(),
    };
    let name = SubscriptionName::new(&stream, &options.group_name);
    let limit = match options.stop_at_option {
        Some(StopAtOption::StopAt(limit)) => Some(count(&name, limit)?),
        Some(StopAtOption::NoLimit(_)) | None => None,
    };
    Ok((name, limit))
}

pub(super) fn text(identifier: &StreamIdentifier) -> Result<String, Status> {
    match std::str::from_utf8(&identifier.stream_name) {
        Ok(name) => Ok(name.to_owned()),
        Err(_) => Err(error_code::invalid("the stream's name is not UTF-8")),
    }
}

pub(super) fn no_options() -> Status {
    error_code::invalid("the request has no options")
}

pub(super) fn no_stream() -> Status {
    error_code::invalid("the stream's name is missing; send one, or all")
}

fn count(name: &SubscriptionName, limit: i64) -> Result<u64, Status> {
    u64::try_from(limit).map_err(|_| refusal::failed(name, &format!("can't stop at {limit} parked events")))
}
