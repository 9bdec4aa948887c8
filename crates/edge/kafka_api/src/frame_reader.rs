//! Cuts a connection's bytes into requests.
//!
//! Each request gets a buffer of exactly its size: batches sliced from it live in the log's tail, and would keep what is larger
//! alive. Small requests come several to a read, through a buffer that all connections of a thread share; of a large one the rest is
//! read straight into its own buffer.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

use crate::frame::{FrameError, request_bytes};
use crate::wire::LENGTH_BYTES;

/// Bytes read at once while no large request is under way.
const SCRATCH_BYTES: usize = 128 * 1024;
/// From so many missing bytes on, a request's rest is read straight into its buffer.
const DIRECT_BYTES_MIN: usize = 32 * 1024;

thread_local! {
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice());
}

#[derive(Debug, Error)]
pub(crate) enum ReadFrameError {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("can't read from the peer: {0}")]
    Io(#[from] io::Error),
}

#[derive(Debug)]
pub(crate) struct FrameReader {
    bytes_max: usize,
    ready: VecDeque<Bytes>,
    /// Set once when the bytes stop being Kafka's protocol; requests before are still handed out.
    broken: Option<FrameError>,
    partial: Partial,
}

/// The start of a request whose end has not come yet.
#[derive(Debug, Default)]
struct Partial {
    prefix: [u8; LENGTH_BYTES],
    prefix_bytes: usize,
    request: BytesMut,
    /// The request's whole size; none while the prefix isn't complete.
    bytes: Option<usize>,
}

impl Partial {
    fn missing(&self) -> usize {
        self.bytes.map_or(0, |bytes| bytes - self.request.len())
    }
}

impl FrameReader {
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, ready: VecDeque::new(), broken: None, partial: Partial::default() }
    }

    /// The next request; `None` when the peer has closed its side. Nothing is lost if the future is dropped.
    pub async fn next(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> Result<Option<Bytes>, ReadFrameError> {
        loop {
            if let Some(request) = self.ready.pop_front() {
                return Ok(Some(request));
            }
            if let Some(error) = self.broken.take() {
                return Err(error.into());
            }
            if poll_fn(|context| self.poll_read(context, stream)).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Whether a request has begun and is not complete.
    pub fn is_within_request(&self) -> bool {
        self.partial.prefix_bytes > 0
    }

    /// One read from the socket. Returns how many bytes came; 0 at the end.
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        stream: &mut (impl AsyncRead + Unpin),
    ) -> Poll<io::Result<usize>> {
        let missing = self.partial.missing();
        if missing >= DIRECT_BYTES_MIN {
            return self.poll_read_direct(context, stream, missing);
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let mut buffer = ReadBuf::new(scratch);
            ready!(Pin::new(stream).poll_read(context, &mut buffer))?;
            self.feed(buffer.filled());
            Poll::Ready(Ok(buffer.filled().len()))
        })
    }

    fn poll_read_direct(
        &mut self,
        context: &mut Context<'_>,
        stream: &mut (impl AsyncRead + Unpin),
        missing: usize,
    ) -> Poll<io::Result<usize>> {
        let mut target = (&mut self.partial.request).limit(missing);
        // The future keeps nothing between polls, so a new one each time is the same one.
        let read = ready!(pin!(stream.read_buf(&mut target)).poll(context))?;
        self.complete_if_whole();
        Poll::Ready(Ok(read))
    }

    /// Takes what was read.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        while !bytes.is_empty() && self.broken.is_none() {
            match self.partial.bytes {
                None => self.feed_prefix(&mut bytes),
                Some(_) => {
                    let count = self.partial.missing().min(bytes.len());
                    self.partial.request.put_slice(&bytes[..count]);
                    bytes.advance(count);
                    self.complete_if_whole();
                }
            }
        }
    }

    fn feed_prefix(&mut self, bytes: &mut &[u8]) {
        let partial = &mut self.partial;
        let count = (LENGTH_BYTES - partial.prefix_bytes).min(bytes.len());
        partial.prefix[partial.prefix_bytes..][..count].copy_from_slice(&bytes[..count]);
        partial.prefix_bytes += count;
        bytes.advance(count);
        if partial.prefix_bytes == LENGTH_BYTES {
            match request_bytes(partial.prefix, self.bytes_max) {
                Ok(size) => {
                    partial.bytes = Some(size);
                    partial.request = BytesMut::with_capacity(size);
                }
                Err(error) => self.broken = Some(error),
            }
        }
    }

    fn complete_if_whole(&mut self) {
        if self.partial.bytes == Some(self.partial.request.len()) {
            self.ready.push_back(std::mem::take(&mut self.partial).request.freeze());
        }
    }
}

#[cfg(test)]
mod tests;
