//! One connection: reads requests, answers them in the order in which they came.
//!
//! Produce requests are pipelined: a request is handed to the log and the next one is read while its answer is pending. Any other
//! request waits until those before it are answered, and is handled alone, as Kafka does. What was read and not answered is bounded
//! in bytes and in number; beyond that the socket isn't read, and TCP holds the peer. Nor is it read for as long as an answer told the
//! peer to wait.

mod end;

use std::collections::VecDeque;
use std::future::{Future, pending};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use daybook_share_coordinator::core::ConnectionId;
use futures::FutureExt;
use rustix::net::RecvFlags;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Sleep, sleep_until};
use tracing::trace;

use crate::answer::{Answer, AnswerPiece};
use crate::broker::{Caller, SharedBroker};
use crate::frame::{Head, Opened, open};
use crate::frame_reader::FrameReader;
use crate::handlers::produce::{self, Produced, Waiting};
use crate::handlers::{self, RequestError};
use crate::quota::Measure;
use crate::transmit::transmit;
use crate::wire::ApiKey;

pub(crate) use end::End;

/// How many connections there were.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// Answers that are ready together are written together, up to so many.
const ANSWERS_PER_WRITE_MAX: usize = 64;

pub(crate) struct Session {
    stream: TcpStream,
    peer: SocketAddr,
    number: u64,
    broker: SharedBroker,
    frames: FrameReader,
    /// Produce requests whose answers are pending, oldest first.
    in_flight: VecDeque<InFlight>,
    in_flight_bytes: usize,
    /// When the peer last sent or took something.
    active: Instant,
    /// Until then nothing more is read: the peer is beyond its quota.
    muted_until: Option<tokio::time::Instant>,
    software: Arc<OnceLock<(String, String)>>,
}

struct InFlight {
    head: Head,
    busy: Duration,
    bytes: usize,
    read_at: Instant,
    waiting: Waiting,
}

impl Session {
    pub fn new(stream: TcpStream, peer: SocketAddr, broker: SharedBroker) -> Self {
        let frames = FrameReader::new(broker.options.request_bytes_max);
        let in_flight = VecDeque::new();
        let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        Self {
            stream,
            peer,
            number,
            broker,
            frames,
            in_flight,
            in_flight_bytes: 0,
            active: Instant::now(),
            muted_until: None,
            software: Arc::default(),
        }
    }

    /// Serves until either side ends it.
    pub async fn run(mut self) -> End {
        let end = self.serve().await.unwrap_or_else(|end| end);
        self.broker.meter.in_flight_bytes.decrement(self.in_flight_bytes as f64);
        // When the server stops, what members have in hand is not given back by them.
        if !matches!(end, End::Stopping) {
            self.broker.share.disconnected(ConnectionId(self.number));
        }
        end
    }

    async fn serve(&mut self) -> Result<End, End> {
        let mut stopping = self.broker.stopping.clone();
        let mut idle = std::pin::pin!(sleep_until(self.idle_deadline()));
        loop {
            tokio::select! {
                biased;
                produced = first_answer(&mut self.in_flight), if !self.in_flight.is_empty() => self.answer_produced(produced).await?,
                () = stopped(&mut stopping) => {
                    self.drain().await?;
                    return Ok(End::Stopping);
                }
                () = unmuted(self.muted_until), if self.muted_until.is_some() => {
                    self.muted_until = None;
                    self.active = Instant::now();
                }
                request = self.frames.next(&mut self.stream), if self.muted_until.is_none() && has_room(&self.broker, &self.in_flight, self.in_flight_bytes) => {
                    self.active = Instant::now();
                    match request? {
                        Some(request) => self.take(request).await?,
                        None => {
                            self.drain().await?;
                            return Ok(End::PeerClosed);
                        }
                    }
                }
                () = idle.as_mut(), if self.in_flight.is_empty() && self.muted_until.is_none() => self.check_idle(idle.as_mut())?,
            }
        }
    }

    fn idle_deadline(&self) -> tokio::time::Instant {
        tokio::time::Instant::from_std(self.active) + self.broker.options.idle_timeout
    }

    /// The timer is set once an idle time and not once a request; when it fires, the peer may have been active since.
    fn check_idle(&self, idle: std::pin::Pin<&mut Sleep>) -> Result<(), End> {
        let deadline = self.idle_deadline();
        if deadline > tokio::time::Instant::now() {
            idle.reset(deadline);
            return Ok(());
        }
        Err(if self.frames.is_within_request() { End::SlowRequest } else { End::Idle })
    }

    /// Handles one whole request.
    async fn take(&mut self, request: Bytes) -> Result<(), End> {
        let bytes = request.len();
        let read_at = Instant::now();
        self.broker.meter.bytes_in.increment((bytes + crate::wire::LENGTH_BYTES) as u64);
        match open(request)? {
            Opened::Request { head, body } => {
                self.broker.meter.request(head.row);
                trace!(peer = %self.peer, api = head.row.name, version = head.version, correlation_id = head.correlation_id, bytes, "decode");
                if head.row.api == ApiKey::Produce {
                    self.hold(bytes);
                    self.produce(head, body, bytes, read_at).await
                } else {
                    self.drain().await?;
                    self.hold(bytes);
                    self.handle(&head, body).await?;
                    self.release(bytes);
                    self.broker.meter.answered(head.row, read_at.elapsed());
                    Ok(())
                }
            }
            Opened::UnsupportedApiVersions { correlation_id } => {
                self.drain().await?;
                let answer = handlers::unsupported_api_versions(correlation_id)?;
                self.send(&answer.pieces).await
            }
        }
    }

    async fn produce(&mut self, head: Head, body: Bytes, bytes: usize, read_at: Instant) -> Result<(), End> {
        let begun = Instant::now();
        let request = handlers::decode(&head, body).map_err(RequestError::from)?;
        let (commands, mut waiting) = produce::begin(&self.broker, &self.caller(&head), request);
        let busy = begun.elapsed();
        if !commands.is_empty() {
            trace!(peer = %self.peer, correlation_id = head.correlation_id, commands = commands.len(), "propose");
            let broker = Arc::clone(&self.broker);
            waiting.proposed(self.while_answering(broker.door.propose(commands)).await?);
        }
        self.in_flight.push_back(InFlight { head, busy, bytes, read_at, waiting });
        Ok(())
    }

    /// Handles a request that is alone. Gives up when the peer has gone: nobody would read the answer.
    async fn handle(&mut self, head: &Head, body: Bytes) -> Result<(), End> {
        let caller = self.caller(head);
        let answer = tokio::select! {
            biased;
            answer = handlers::answer(&self.broker, &caller, head, body) => answer?,
            () = hung_up(&self.stream) => return Err(End::PeerClosed),
        };
        trace!(peer = %self.peer, correlation_id = head.correlation_id, bytes = answer.bytes(), "answer");
        self.send(&answer.pieces).await?;
        self.mute(answer.throttle_ms);
        Ok(())
    }

    /// Answers everything in flight.
    async fn drain(&mut self) -> Result<(), End> {
        while !self.in_flight.is_empty() {
            let produced = first_answer(&mut self.in_flight).await;
            self.answer_produced(produced).await?;
        }
        Ok(())
    }

    /// Waits for `work`, which may be held up by other connections, without letting answers wait for it.
    async fn while_answering<T>(&mut self, work: impl Future<Output = T>) -> Result<T, End> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = work.as_mut() => return Ok(done),
                produced = first_answer(&mut self.in_flight), if !self.in_flight.is_empty() => self.answer_produced(produced).await?,
            }
        }
    }

    /// Sends the oldest request's answer, and those of the next ones that are ready too.
    async fn answer_produced(&mut self, produced: Produced) -> Result<(), End> {
        let mut pieces = Vec::new();
        let mut next = Some(produced);
        while let Some(produced) = next.take() {
            if let Some(InFlight { head, busy, bytes, read_at, .. }) = self.in_flight.pop_front() {
                let throttle_ms = self.throttle_produce(&head, bytes, busy);
                self.mute(throttle_ms);
                if let Some(Answer { pieces: more, .. }) = produce::answer(&head, produced, throttle_ms)? {
                    pieces.extend(more);
                }
                self.release(bytes);
                self.broker.meter.answered(head.row, read_at.elapsed());
            }
            if pieces.len() < ANSWERS_PER_WRITE_MAX {
                next = self.in_flight.front_mut().and_then(|oldest| oldest.waiting.outcome().now_or_never());
            }
        }
        self.send(&pieces).await
    }

    async fn send(&mut self, pieces: &[AnswerPiece]) -> Result<(), End> {
        let bytes: usize = pieces.iter().map(AnswerPiece::bytes).sum();
        transmit(&self.stream, pieces, self.broker.options.idle_timeout).await.map_err(End::Write)?;
        self.broker.meter.bytes_out.increment(bytes as u64);
        self.active = Instant::now();
        Ok(())
    }

    /// Notes the request, whose quotas are two: of bytes, and of time.
    fn throttle_produce(&self, head: &Head, bytes: usize, busy: Duration) -> u32 {
        let (catalog, now_ms) = (self.broker.reader.catalog(), self.broker.monotonic_ms());
        let (quotas, client_id) = (&self.broker.quotas, head.client_id.as_deref().unwrap_or_default());
        let of_bytes = quotas.record(&catalog, Measure::Produce, client_id, bytes as f64, now_ms);
        of_bytes.max(quotas.record_request(&catalog, client_id, busy, now_ms))
    }

    /// Reads nothing more for so long. A longer wait that was told before stays.
    fn mute(&mut self, throttle_ms: u32) {
        if throttle_ms > 0 {
            self.broker.meter.throttled();
            let until = tokio::time::Instant::now() + Duration::from_millis(throttle_ms.into());
            self.muted_until = self.muted_until.max(Some(until));
        }
    }

    fn hold(&mut self, bytes: usize) {
        self.in_flight_bytes += bytes;
        self.broker.meter.in_flight_bytes.increment(bytes as f64);
    }

    fn release(&mut self, bytes: usize) {
        self.in_flight_bytes -= bytes;
        self.broker.meter.in_flight_bytes.decrement(bytes as f64);
    }

    fn caller(&self, head: &Head) -> Caller {
        let client_id = head.client_id.clone().unwrap_or_default();
        let software = Arc::clone(&self.software);
        Caller { peer: self.peer, client_id, version: head.version, connection: self.number, software }
    }
}

/// Whether another request may be read. The first may be larger than all the room.
fn has_room(broker: &SharedBroker, in_flight: &VecDeque<InFlight>, in_flight_bytes: usize) -> bool {
    in_flight.is_empty()
        || (in_flight.len() < broker.options.connection_in_flight_requests_max
            && in_flight_bytes < broker.options.connection_in_flight_bytes_max)
}

/// What became of the oldest request. Nothing is lost if the future is dropped.
async fn first_answer(in_flight: &mut VecDeque<InFlight>) -> Produced {
    match in_flight.front_mut() {
        Some(oldest) => oldest.waiting.outcome().await,
        None => pending().await,
    }
}

/// Resolves when the peer has waited long enough.
async fn unmuted(until: Option<tokio::time::Instant>) {
    if let Some(until) = until {
        sleep_until(until).await;
    }
}

/// Resolves when the server was told to stop.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error means that the server is gone, which comes to the same.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// Resolves when the peer has closed the connection. If it sent more requests first, that can't be seen, and isn't looked for.
async fn hung_up(stream: &TcpStream) {
    loop {
        let peeked = stream.try_io(Interest::READABLE, || {
            let (read, _) = rustix::net::recv(stream, &mut [0u8; 1], RecvFlags::PEEK)?;
            Ok(read)
        });
        match peeked {
            Ok(0) => return,
            Ok(_) => return pending().await,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
        if stream.readable().await.is_err() {
            return;
        }
    }
}
