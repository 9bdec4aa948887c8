//! Giving back the space of events that streams keep no more: begin it, look at it, end it.

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use daybook_event_store::{ScavengeReport, ScavengeState};
use serde::Serialize;

use super::SharedApi;
use super::call;
use super::parameters::Parameters;
use super::problem::Problem;

/// A run; `state` alone if there was none.
#[derive(Debug, Serialize)]
struct ScavengeOut<'a> {
    /// `none`, `running`, `finished`, `stopped` or `failed`.
    state: &'static str,
    #[serde(flatten)]
    run: Option<RunOut<'a>>,
}

#[derive(Debug, Serialize)]
struct RunOut<'a> {
    id: &'a str,
    /// Why it failed.
    cause: Option<&'a str>,
    /// Milliseconds since 1970.
    began_ms: i64,
    ended_ms: Option<i64>,
    partitions: u64,
    partitions_done: u64,
    segments: u64,
    segments_rewritten: u64,
    segments_skipped: u64,
    events_removed: u64,
    bytes_read: u64,
    bytes_freed: u64,
}

impl<'a> ScavengeOut<'a> {
    fn of(report: Option<&'a ScavengeReport>) -> Self {
        let run = report.map(|report| RunOut {
            id: &report.id,
            cause: match &report.state {
                ScavengeState::Failed { cause } => Some(cause),
                _ => None,
            },
            began_ms: report.began.0,
            ended_ms: report.ended.map(|at| at.0),
            partitions: report.partitions,
            partitions_done: report.partitions_done,
            segments: report.segments,
            segments_rewritten: report.segments_rewritten,
            segments_skipped: report.segments_skipped,
            events_removed: report.events_removed,
            bytes_read: report.bytes_read,
            bytes_freed: report.bytes_freed,
        });
        Self { state: report.map_or("none", |report| report.state.name()), run }
    }
}

pub async fn start(State(api): State<SharedApi>, uri: Uri) -> Result<Response, Problem> {
    Parameters::read(&uri, &[])?;
    let report = api.store.start_scavenge()?;
    Ok(call::json(StatusCode::ACCEPTED, &ScavengeOut::of(Some(&report))))
}

pub async fn show(State(api): State<SharedApi>, uri: Uri) -> Result<Response, Problem> {
    Parameters::read(&uri, &[])?;
    Ok(call::json(StatusCode::OK, &ScavengeOut::of(api.store.scavenge_report().as_ref())))
}

/// Ends the run that is at work; answers the last one's report either way.
pub async fn stop(State(api): State<SharedApi>, uri: Uri) -> Result<Response, Problem> {
    Parameters::read(&uri, &[])?;
    api.store.stop_scavenge().await;
    Ok(call::json(StatusCode::OK, &ScavengeOut::of(api.store.scavenge_report().as_ref())))
}
