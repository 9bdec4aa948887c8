//! BatchAppend: many appends over one call, each answered when it is done.
//!
//! An append may come in parts, which are kept until the last one has come or its time is over. Appends are proposed in the order in
//! which they became whole, but do not wait for one another.

mod status;

use std::collections::HashMap;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use daybook_event_store::{EventStore, Expected, StreamName};
use futures::stream::{BoxStream, FuturesUnordered, StreamExt};
use tokio::time::{Instant, sleep_until, timeout_at};
use tonic::{Status, Streaming};
use uuid::Uuid;

use super::answers::{self, Answers, End};
use super::append::{self, Done};
use super::options::{BATCH_APPENDS_IN_FLIGHT_MAX, BATCH_APPENDS_OPEN_MAX, Options};
use super::proposed::{Proposed, Refused};
use super::{expected, ids};
use crate::proto::event_store::client;
use crate::proto::event_store::client::streams::batch_append_req::options::DeadlineOption;
use crate::proto::event_store::client::streams::batch_append_resp::success::{CurrentRevisionOption, PositionOption};
use crate::proto::event_store::client::streams::batch_append_resp::{self, Success};
use crate::proto::event_store::client::streams::{BatchAppendReq, BatchAppendResp, batch_append_req};
use crate::proto::google::rpc;

pub(super) fn answers(
    store: EventStore,
    options: Options,
    requests: Streaming<BatchAppendReq>,
) -> BoxStream<'static, Result<BatchAppendResp, Status>> {
    let shutdown = options.shutdown.clone();
    answers::answer(shutdown, move |answers| {
        let batch = Batch {
            store,
            options,
            answers,
            open: HashMap::new(),
            open_bytes: 0,
            running: FuturesUnordered::new(),
            running_bytes: 0,
        };
        batch.run(requests)
    })
}

/// An append of which the last part has not come.
struct Open {
    correlation: client::Uuid,
    stream: StreamName,
    expected: Expected,
    deadline: Instant,
    proposed: Proposed,
}

/// An append's answer, and the bytes that it held.
type Running = Pin<Box<dyn Future<Output = (BatchAppendResp, usize)> + Send>>;

struct Batch {
    store: EventStore,
    options: Options,
    answers: Answers<BatchAppendResp>,
    open: HashMap<Uuid, Open>,
    open_bytes: usize,
    running: FuturesUnordered<Running>,
    running_bytes: usize,
}

impl Batch {
    async fn run(mut self, mut requests: Streaming<BatchAppendReq>) -> Result<(), End> {
        let mut reading = true;
        while reading || !self.running.is_empty() {
            let room =
                self.running.len() < BATCH_APPENDS_IN_FLIGHT_MAX && self.running_bytes < self.options.append_bytes_max;
            let deadline = self.open.values().map(|open| open.deadline).min();
            tokio::select! {
                request = requests.message(), if reading && room => match request? {
                    Some(request) => self.take(request).await?,
                    // What has not become whole by now never will.
                    None => reading = false,
                },
                Some((answer, bytes)) = self.running.next() => {
                    self.running_bytes = self.running_bytes.saturating_sub(bytes);
                    self.answers.send(answer).await?;
                }
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if reading && deadline.is_some() => {
                    self.give_up_late_ones().await?;
                }
            }
        }
        Ok(())
    }

    async fn take(&mut self, request: BatchAppendReq) -> Result<(), End> {
        let BatchAppendReq { correlation_id, options, proposed_messages, is_final } = request;
        let correlation = correlation_id.clone().unwrap_or_default();
        let stream_identifier = options.as_ref().and_then(|options| options.stream_identifier.clone());
        let refuse = |error: rpc::Status| error_answer(correlation.clone(), stream_identifier.clone(), error);
        let id = match ids::id_of(correlation_id.as_ref()) {
            Ok(id) => id,
            Err(fault) => return Ok(self.answers.send(refuse(status::bad_request(fault.message()))).await?),
        };
        if let Some(options) = options
            && !self.open.contains_key(&id)
        {
            match self.begin(correlation.clone(), options) {
                Ok(open) => drop(self.open.insert(id, open)),
                Err(error) => return Ok(self.answers.send(refuse(error)).await?),
            }
        }
        // Parts of an append that was refused or came too late have nowhere to go.
        let Some(mut open) = self.open.remove(&id) else { return Ok(()) };
        self.open_bytes = self.open_bytes.saturating_sub(open.proposed.bytes());
        for event in proposed_messages {
            let pushed =
                open.proposed.push(&self.options, event.id.as_ref(), event.metadata, event.custom_metadata, event.data);
            if let Err(refused) = pushed {
                let error = match refused {
                    Refused::Event { id, bytes } => status::event_too_large(id, bytes, self.options.event_bytes_max),
                    Refused::Append => status::append_too_large(self.options.append_bytes_max),
                    Refused::Malformed(fault) => status::bad_request(fault.message()),
                };
                return Ok(self.answers.send(open.error_answer(error)).await?);
            }
        }
        if is_final {
            return self.start(open).await;
        }
        self.open_bytes = self.open_bytes.saturating_add(open.proposed.bytes());
        if self.open_bytes > self.options.append_bytes_max {
            self.open_bytes = self.open_bytes.saturating_sub(open.proposed.bytes());
            let error = status::append_too_large(self.options.append_bytes_max);
            return Ok(self.answers.send(open.error_answer(error)).await?);
        }
        self.open.insert(id, open);
        Ok(())
    }

    fn begin(&self, correlation: client::Uuid, options: batch_append_req::Options) -> Result<Open, rpc::Status> {
        if self.open.len() >= BATCH_APPENDS_OPEN_MAX {
            return Err(status::bad_request("too many appends are open; finish some before beginning others"));
        }
        let bad_request = |fault: Status| status::bad_request(fault.message());
        let stream = ids::stream_name(options.stream_identifier.as_ref()).map_err(bad_request)?;
        let expected = expected::of_batch(options.expected_stream_position).map_err(bad_request)?;
        let time_left = time_left(options.deadline_option).min(self.options.append_timeout);
        if time_left.is_zero() {
            return Err(status::timeout());
        }
        let deadline = Instant::now() + time_left;
        Ok(Open { correlation, stream, expected, deadline, proposed: Proposed::default() })
    }

    async fn start(&mut self, open: Open) -> Result<(), End> {
        // The first append to a category makes its topic: it waits for that before it is proposed, and others would overtake it.
        if self.store.reader().catalog().topic(open.stream.topic().as_str()).is_none() {
            let answer = open.append(&self.store).await;
            return Ok(self.answers.send(answer).await?);
        }
        let bytes = open.proposed.bytes();
        let store = self.store.clone();
        let mut running: Running = Box::pin(async move { (open.append(&store).await, bytes) });
        // Once, now: that proposes it, so that the order of proposals is that of the requests.
        match futures::poll!(running.as_mut()) {
            Poll::Ready((answer, _)) => Ok(self.answers.send(answer).await?),
            Poll::Pending => {
                self.running_bytes = self.running_bytes.saturating_add(bytes);
                self.running.push(running);
                Ok(())
            }
        }
    }

    async fn give_up_late_ones(&mut self) -> Result<(), End> {
        let now = Instant::now();
        let late: Vec<Open> = self.open.extract_if(|_, open| open.deadline <= now).map(|(_, open)| open).collect();
        for open in late {
            self.open_bytes = self.open_bytes.saturating_sub(open.proposed.bytes());
            self.answers.send(open.error_answer(status::timeout())).await?;
        }
        Ok(())
    }
}

impl Open {
    async fn append(self, store: &EventStore) -> BatchAppendResp {
        let Self { correlation, stream, expected, deadline, proposed } = self;
        let stream_identifier = Some(ids::stream_identifier(stream.as_str()));
        // An append that comes too late may still happen; that is what the answer means.
        match timeout_at(deadline, append::append_to(store, stream, expected, proposed.events)).await {
            Ok(Ok(done)) => BatchAppendResp {
                correlation_id: Some(correlation),
                stream_identifier,
                result: Some(batch_append_resp::Result::Success(success(done))),
                expected_stream_position: None,
            },
            Ok(Err(error)) => error_answer(correlation, stream_identifier, status::of_append(&error)),
            Err(_) => error_answer(correlation, stream_identifier, status::timeout()),
        }
    }

    fn error_answer(self, error: rpc::Status) -> BatchAppendResp {
        error_answer(self.correlation, Some(ids::stream_identifier(self.stream.as_str())), error)
    }
}

fn error_answer(
    correlation: client::Uuid,
    stream_identifier: Option<client::StreamIdentifier>,
    error: rpc::Status,
) -> BatchAppendResp {
    BatchAppendResp {
        correlation_id: Some(correlation),
        stream_identifier,
        result: Some(batch_append_resp::Result::Error(error)),
        expected_stream_position: None,
    }
}

/// Older clients say when, newer ones how long.
pub(super) fn time_left(deadline: Option<DeadlineOption>) -> Duration {
    match deadline {
        Some(DeadlineOption::Deadline(wanted)) => duration(wanted.seconds, wanted.nanos),
        Some(DeadlineOption::Deadline21100(when)) => {
            let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            duration(when.seconds, when.nanos).saturating_sub(since_epoch)
        }
        None => Duration::MAX,
    }
}

/// What a client sent need not be in the range that the messages define.
fn duration(seconds: i64, nanos: i32) -> Duration {
    let nanos = Duration::from_nanos(u64::try_from(nanos).unwrap_or(0));
    u64::try_from(seconds).map_or(Duration::ZERO, |seconds| Duration::from_secs(seconds).saturating_add(nanos))
}

fn success(done: Done) -> Success {
    Success {
        current_revision_option: Some(match done.version {
            Some(version) => CurrentRevisionOption::CurrentRevision(version.0),
            None => CurrentRevisionOption::NoStream(()),
        }),
        position_option: Some(match done.position {
            Some(position) => PositionOption::Position(client::AllStreamPosition {
                commit_position: position.0,
                prepare_position: position.0,
            }),
            None => PositionOption::NoPosition(()),
        }),
    }
}
