//! One connection to a broker.
//!
//! Kafka answers the requests of a connection in their order, so the answers need no table: the oldest request in
//! flight is the next answered. The owner bounds how many that are. [`Wire::receive`] may be dropped half way and
//! called again; the sending calls may not.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
/// Kafka's messages as structs. No other module names the library they come from, and callers don't see them.
pub(crate) use kafka_protocol::{ResponseError, messages, protocol};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use self::messages::{ApiVersionsRequest, ApiVersionsResponse, ResponseHeader};
use self::protocol::{Decodable, HeaderVersion, Request, StrBytes};
use crate::error::{KafkaCode, WireError};
use crate::versions::VersionTable;

/// How a connection behaves.
#[derive(Clone, Debug)]
pub struct WireOptions {
    /// Named to the broker with every request.
    pub client_id: String,
    pub connect_timeout_ms: u64,
    /// How long [`Wire::call`] waits for its answer.
    pub answer_timeout_ms: u64,
    /// Longest answer taken.
    pub answer_bytes_max: usize,
}

impl Default for WireOptions {
    fn default() -> Self {
        Self {
            client_id: "daybook".to_owned(),
            connect_timeout_ms: 5_000,
            answer_timeout_ms: 30_000,
            answer_bytes_max: 256 * 1024 * 1024,
        }
    }
}

/// An answer as it came. `body` starts after the response header.
#[derive(Debug)]
pub struct Answer {
    pub correlation: i32,
    pub version: i16,
    pub body: Bytes,
    api: &'static str,
}

/// A request whose answer is awaited.
#[derive(Clone, Copy, Debug)]
struct Pending {
    correlation: i32,
    version: i16,
    answer_header_version: i16,
    api: &'static str,
}

/// A connection, with its versions negotiated.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    address: Arc<str>,
    options: WireOptions,
    versions: VersionTable,
    next_correlation: i32,
    pending: VecDeque<Pending>,
    incoming: BytesMut,
    /// Length of the last frame. The next is likely as long, and room for it made before it comes needs no moving.
    frame_bytes: usize,
    /// Scratch for the parts of requests that are encoded here, so that a request needs no allocation.
    outgoing: BytesMut,
}

/// The version in which software names itself, and the newest layout that every broker of Kafka 2.4 or later has.
const API_VERSIONS_VERSION: i16 = 3;

/// Room kept for reading when the length of what comes isn't known.
const READ_BYTES_MIN: usize = 64 * 1024;

impl Wire {
    /// Connects and negotiates versions.
    pub async fn connect(address: &str, options: WireOptions) -> Result<Self, WireError> {
        let address: Arc<str> = address.into();
        let timeout_ms = options.connect_timeout_ms;
        let stream = match timeout(Duration::from_millis(timeout_ms), TcpStream::connect(&*address)).await {
            Err(_) => return Err(WireError::ConnectTimeout { address, timeout_ms }),
            Ok(Err(source)) => return Err(WireError::Connect { address, source }),
            Ok(Ok(stream)) => stream,
        };
        // Requests are written whole, so waiting to gather more only delays them.
        stream.set_nodelay(true).map_err(|source| WireError::Connect { address: address.clone(), source })?;
        let mut wire = Self {
            stream,
            address,
            options,
            versions: VersionTable::default(),
            next_correlation: 0,
            pending: VecDeque::new(),
            incoming: BytesMut::new(),
            frame_bytes: 0,
            outgoing: BytesMut::new(),
        };
        wire.negotiate().await?;
        Ok(wire)
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn versions(&self) -> &VersionTable {
        &self.versions
    }

    /// Requests sent whose answers haven't been received.
    pub fn in_flight(&self) -> usize {
        self.pending.len()
    }

    /// The version in which `R` is sent on this connection.
    pub(crate) fn version_of<R: Request>(&self) -> Result<i16, WireError> {
        self.version_up_to::<R>(i16::MAX)
    }

    pub(crate) fn version_up_to<R: Request>(&self, newest: i16) -> Result<i16, WireError> {
        self.versions.newest_common::<R>(newest).ok_or_else(|| WireError::Unsupported {
            address: self.address.clone(),
            api: api_name::<R>(),
            theirs: self.versions.range(R::KEY),
            ours: (R::VERSIONS.min, R::VERSIONS.max.min(newest)),
        })
    }

    /// Sends a request and waits for its answer. Nothing else may be in flight.
    pub(crate) async fn call<R: Request>(&mut self, request: &R) -> Result<R::Response, WireError> {
        let version = self.version_of::<R>()?;
        self.call_version(request, version).await
    }

    pub(crate) async fn call_version<R: Request>(
        &mut self,
        request: &R,
        version: i16,
    ) -> Result<R::Response, WireError> {
        assert!(self.pending.is_empty(), "a call on a connection with requests in flight would take their answer");
        self.send_version(request, version).await?;
        let answer = self.receive_in_time().await?;
        self.decode::<R::Response>(answer)
    }

    /// Sends a request; its answer is what [`Self::receive`] gives after those of the requests before it.
    pub(crate) async fn send_version<R: Request>(&mut self, request: &R, version: i16) -> Result<(), WireError> {
        let mut frame = self.begin_frame::<R>(version);
        request.encode(&mut frame, version).map_err(|error| WireError::Encode {
            api: api_name::<R>(),
            version,
            reason: format!("{error:#}"),
        })?;
        self.send_frame(frame, &[], true).await
    }

    /// Starts a frame: its length, to be set by [`Self::send_frame`], and the request header.
    pub(crate) fn begin_frame<R: Request>(&mut self, version: i16) -> BytesMut {
        let mut frame = std::mem::take(&mut self.outgoing);
        frame.clear();
        frame.put_i32(0);
        frame.put_i16(R::KEY);
        frame.put_i16(version);
        frame.put_i32(self.next_correlation);
        let client_id = self.options.client_id.as_bytes();
        frame.put_i16(i16::try_from(client_id.len()).unwrap_or(0));
        if client_id.len() <= i16::MAX as usize {
            frame.put_slice(client_id);
        }
        if R::header_version(version) >= 2 {
            frame.put_u8(0);
        }
        self.pending.push_back(Pending {
            correlation: self.next_correlation,
            version,
            answer_header_version: R::Response::header_version(version),
            api: api_name::<R>(),
        });
        self.next_correlation = self.next_correlation.wrapping_add(1) & i32::MAX;
        frame
    }

    /// Sends what [`Self::begin_frame`] started. `inserts` are pieces that belong into the frame without being
    /// copied there, each before the byte of `frame` with the number given; the numbers ascend.
    pub(crate) async fn send_frame(
        &mut self,
        mut frame: BytesMut,
        inserts: &[(usize, &[u8])],
        is_answered: bool,
    ) -> Result<(), WireError> {
        if !is_answered {
            self.pending.pop_back();
        }
        let length = frame.len() - 4 + inserts.iter().map(|(_, piece)| piece.len()).sum::<usize>();
        let length = i32::try_from(length).map_err(|_| WireError::FrameLength {
            address: self.address.clone(),
            length: i64::try_from(length).unwrap_or(i64::MAX),
            max: i32::MAX as usize,
        })?;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        let mut slices = Vec::with_capacity(2 * inserts.len() + 1);
        let mut from = 0;
        for (at, piece) in inserts {
            slices.push(IoSlice::new(&frame[from..*at]));
            slices.push(IoSlice::new(piece));
            from = *at;
        }
        slices.push(IoSlice::new(&frame[from..]));
        let result = write_all_vectored(&mut self.stream, &mut slices).await;
        drop(slices);
        self.outgoing = frame;
        result.map_err(|source| WireError::Write { address: self.address.clone(), source })
    }

    /// The next answer, whenever it comes. May be dropped half way: nothing read is lost.
    pub async fn receive(&mut self) -> Result<Answer, WireError> {
        loop {
            if let Some(frame) = self.take_frame()? {
                return self.open_frame(frame);
            }
            let read = self.stream.read_buf(&mut self.incoming).await;
            match read {
                Ok(0) => return Err(WireError::Closed { address: self.address.clone() }),
                Ok(_) => {}
                Err(source) => return Err(WireError::Read { address: self.address.clone(), source }),
            }
        }
    }

    /// [`Self::receive`], bounded by the time an answer may take.
    pub async fn receive_in_time(&mut self) -> Result<Answer, WireError> {
        let timeout_ms = self.options.answer_timeout_ms;
        match timeout(Duration::from_millis(timeout_ms), self.receive()).await {
            Ok(answer) => answer,
            Err(_) => Err(WireError::AnswerTimeout { address: self.address.clone(), timeout_ms }),
        }
    }

    /// A frame without its length, when one is there whole; else makes room for the rest of it.
    fn take_frame(&mut self) -> Result<Option<Bytes>, WireError> {
        let Some(prefix) = self.incoming.first_chunk::<4>() else {
            self.incoming.reserve(self.frame_bytes.max(READ_BYTES_MIN));
            return Ok(None);
        };
        let length = i32::from_be_bytes(*prefix);
        let max = self.options.answer_bytes_max;
        let whole = match usize::try_from(length) {
            Ok(length) if (4..=max).contains(&length) => length + 4,
            _ => return Err(WireError::FrameLength { address: self.address.clone(), length: length.into(), max }),
        };
        if self.incoming.len() < whole {
            self.incoming.reserve((whole - self.incoming.len()).max(READ_BYTES_MIN));
            return Ok(None);
        }
        self.frame_bytes = whole;
        let mut frame = self.incoming.split_to(whole);
        frame.advance(4);
        Ok(Some(frame.freeze()))
    }

    fn open_frame(&mut self, mut frame: Bytes) -> Result<Answer, WireError> {
        let got = frame.first_chunk::<4>().map_or(-1, |bytes| i32::from_be_bytes(*bytes));
        let Some(pending) = self.pending.pop_front() else {
            return Err(WireError::Correlation { address: self.address.clone(), got, expected: self.next_correlation });
        };
        let Pending { correlation, version, answer_header_version, api } = pending;
        if got != correlation {
            return Err(WireError::Correlation { address: self.address.clone(), got, expected: correlation });
        }
        ResponseHeader::decode(&mut frame, answer_header_version)
            .map_err(|error| self.malformed(api, version, &format!("{error:#}")))?;
        Ok(Answer { correlation, version, body: frame, api })
    }

    /// Decodes an answer to a request of the type `T` answers.
    pub(crate) fn decode<T: Decodable>(&self, mut answer: Answer) -> Result<T, WireError> {
        T::decode(&mut answer.body, answer.version)
            .map_err(|error| self.malformed(answer.api, answer.version, &format!("{error:#}")))
    }

    fn malformed(&self, api: &'static str, version: i16, reason: &str) -> WireError {
        WireError::Malformed { address: self.address.clone(), api, version, reason: reason.to_owned() }
    }

    /// Asks for the versions. A broker that doesn't know ours answers in version 0 and is asked again in that.
    async fn negotiate(&mut self) -> Result<(), WireError> {
        let request = ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str("daybook"))
            .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
        self.send_version(&request, API_VERSIONS_VERSION).await?;
        let answer = self.receive_in_time().await?;
        let code = answer.body.first_chunk::<2>().map_or(-1, |bytes| i16::from_be_bytes(*bytes));
        let response: ApiVersionsResponse = if code == KafkaCode::UNSUPPORTED_VERSION.0 {
            self.call_version(&ApiVersionsRequest::default(), 0).await?
        } else {
            self.decode(answer)?
        };
        KafkaCode::check(response.error_code)
            .map_err(|code| WireError::Negotiation { address: self.address.clone(), code })?;
        self.versions = VersionTable::new(&response);
        Ok(())
    }
}

/// `ProduceRequest` is `Produce`.
pub(crate) fn api_name<R>() -> &'static str {
    let path = std::any::type_name::<R>();
    let name = path.rsplit("::").next().unwrap_or(path);
    name.strip_suffix("Request").unwrap_or(name)
}

async fn write_all_vectored(stream: &mut TcpStream, mut slices: &mut [IoSlice<'_>]) -> std::io::Result<()> {
    // Empty pieces at the front would make a write of nothing look like a closed connection.
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match stream.write_vectored(slices).await? {
            0 => return Err(std::io::ErrorKind::WriteZero.into()),
            written => IoSlice::advance_slices(&mut slices, written),
        }
    }
    Ok(())
}
