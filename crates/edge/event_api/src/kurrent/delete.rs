//! Delete and Tombstone.

use daybook_event_store::{Delete, DeleteKind, EventStore, Expected, StreamName};
use tonic::Status;

use super::{error_code, expected, ids};
use crate::proto::event_store::client::Empty;
use crate::proto::event_store::client::streams::{
    DeleteReq, DeleteResp, TombstoneReq, TombstoneResp, delete_resp, tombstone_resp,
};

pub(super) async fn delete(store: &EventStore, request: DeleteReq) -> Result<DeleteResp, Status> {
    let options = request.options.ok_or_else(|| error_code::invalid("the options are missing"))?;
    let stream = ids::stream_name(options.stream_identifier.as_ref())?;
    let expected = expected::of_delete(options.expected_stream_revision)?;
    let position = match delete_stream(store, stream, expected, DeleteKind::Soft).await? {
        Some(position) => delete_resp::PositionOption::Position(delete_resp::Position {
            commit_position: position,
            prepare_position: position,
        }),
        None => delete_resp::PositionOption::NoPosition(Empty {}),
    };
    Ok(DeleteResp { position_option: Some(position) })
}

pub(super) async fn tombstone(store: &EventStore, request: TombstoneReq) -> Result<TombstoneResp, Status> {
    let options = request.options.ok_or_else(|| error_code::invalid("the options are missing"))?;
    let stream = ids::stream_name(options.stream_identifier.as_ref())?;
    let expected = expected::of_tombstone(options.expected_stream_revision)?;
    let position = match delete_stream(store, stream, expected, DeleteKind::Tombstone).await? {
        Some(position) => tombstone_resp::PositionOption::Position(tombstone_resp::Position {
            commit_position: position,
            prepare_position: position,
        }),
        None => tombstone_resp::PositionOption::NoPosition(Empty {}),
    };
    Ok(TombstoneResp { position_option: Some(position) })
}

async fn delete_stream(
    store: &EventStore,
    stream: StreamName,
    expected: Expected,
    kind: DeleteKind,
) -> Result<Option<u64>, Status> {
    // Both are called so in this protocol's errors.
    let appended = store
        .delete(Delete { stream, expected, kind })
        .await
        .map_err(|error| error_code::of_append("Delete", &error))?;
    Ok(appended.last_position.map(|position| position.0))
}
