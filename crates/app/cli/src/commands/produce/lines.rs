//! Lines of a file or of standard input, read by a thread of their own, because neither can be awaited.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, bail};
use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;

/// Longest line; more without an end is no text.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Read at once.
const READ_BYTES: usize = 256 * 1024;
/// Chunks that wait to be sent; with them the thread stops reading.
const CHUNKS_MAX: usize = 4;

/// Lines that were there together.
#[derive(Debug, Default)]
pub struct Chunk {
    /// Without their ends.
    pub lines: Vec<Bytes>,
    /// With their ends.
    pub bytes: u64,
}

#[derive(Debug)]
pub struct Lines {
    chunks: mpsc::Receiver<anyhow::Result<Chunk>>,
}

impl Lines {
    /// Standard input unless a path is given.
    pub fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        let source: Box<dyn Read + Send> = match path {
            Some(path) => Box::new(File::open(path).with_context(|| format!("opening {}", path.display()))?),
            None => Box::new(std::io::stdin()),
        };
        let (sender, chunks) = mpsc::channel(CHUNKS_MAX);
        std::thread::Builder::new()
            .name("lines".to_owned())
            .spawn(move || {
                let mut source = BufReader::with_capacity(READ_BYTES, source);
                let mut rest = BytesMut::new();
                loop {
                    let chunk = read_chunk(&mut source, &mut rest);
                    let is_last = !matches!(chunk, Ok(Some(_)));
                    let sent = match chunk.transpose() {
                        Some(chunk) => sender.blocking_send(chunk).is_ok(),
                        None => true,
                    };
                    if is_last || !sent {
                        return;
                    }
                }
            })
            .context("starting the thread that reads lines")?;
        Ok(Self { chunks })
    }

    /// `None` at the end.
    pub async fn next(&mut self) -> anyhow::Result<Option<Chunk>> {
        self.chunks.recv().await.transpose()
    }

    /// Whether nothing has been read that isn't taken yet.
    pub fn is_idle(&self) -> bool {
        self.chunks.is_empty()
    }
}

/// What one read gives, as whole lines; `rest` keeps the beginning of a line that isn't whole yet. `None` at the end.
pub(crate) fn read_chunk(source: &mut impl BufRead, rest: &mut BytesMut) -> anyhow::Result<Option<Chunk>> {
    let mut chunk = Chunk::default();
    let read = source.fill_buf().context("reading the input")?;
    let count = read.len();
    rest.extend_from_slice(read);
    source.consume(count);
    chunk.bytes = count as u64;
    if count == 0 {
        if rest.is_empty() {
            return Ok(None);
        }
        // The last line needs no end.
        chunk.lines.push(rest.split().freeze());
        return Ok(Some(chunk));
    }
    // Only what is new can hold an end of a line.
    let mut from = rest.len() - count;
    while let Some(at) = rest[from..].iter().position(|byte| *byte == b'\n') {
        let mut line = rest.split_to(from + at + 1);
        line.truncate(from + at);
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        chunk.lines.push(line.freeze());
        from = 0;
    }
    if rest.len() > LINE_BYTES_MAX {
        bail!("a line is longer than {LINE_BYTES_MAX} bytes");
    }
    Ok(Some(chunk))
}
