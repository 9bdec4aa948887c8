//! Writes answers to a socket: memory with vectored writes, file ranges with sendfile.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::answer::{AnswerPiece, FileRange};

/// Parts of one vectored write; Linux takes 1024.
const PARTS_PER_WRITE_MAX: usize = 256;
/// Bytes of one sendfile: what a socket's buffer takes at once is less, so more would only keep the thread from other connections.
const SENDFILE_BYTES_MAX: usize = 1024 * 1024;
/// Bytes read at a time from a file that the kernel has no handle of.
const READ_BYTES_MAX: usize = 128 * 1024;

/// Writes all pieces in order. Fails if the peer takes nothing for `stall_max`.
pub(crate) async fn transmit(stream: &TcpStream, pieces: &[AnswerPiece], stall_max: Duration) -> io::Result<()> {
    let mut left = pieces;
    while let Some(first) = left.first() {
        match first {
            AnswerPiece::Memory(_) => {
                let count = left.iter().take_while(|piece| matches!(piece, AnswerPiece::Memory(_))).count();
                let (memory, rest) = left.split_at(count.min(PARTS_PER_WRITE_MAX));
                write_memory(stream, memory, stall_max).await?;
                left = rest;
            }
            AnswerPiece::File(range) => {
                write_file(stream, range, stall_max).await?;
                left = &left[1..];
            }
        }
    }
    Ok(())
}

async fn write_memory(stream: &TcpStream, pieces: &[AnswerPiece], stall_max: Duration) -> io::Result<()> {
    let mut parts: Vec<IoSlice<'_>> = pieces
        .iter()
        .filter_map(|piece| match piece {
            AnswerPiece::Memory(bytes) if !bytes.is_empty() => Some(IoSlice::new(bytes)),
            _ => None,
        })
        .collect();
    let mut left = parts.as_mut_slice();
    while !left.is_empty() {
        match stream.try_write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => writable(stream, stall_max).await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn write_file(stream: &TcpStream, range: &FileRange, stall_max: Duration) -> io::Result<()> {
    let end = range.at + range.bytes as u64;
    let mut at = range.at;
    while at < end {
        let Some(file) = range.file.descriptor() else { return write_copy(stream, range, stall_max).await };
        let bytes = usize::try_from(end - at).unwrap_or(usize::MAX).min(SENDFILE_BYTES_MAX);
        match stream.try_io(Interest::WRITABLE, || sendfile(stream, file, at, bytes)) {
            Ok(0) => return Err(file_ended()),
            Ok(sent) => {
                at += sent as u64;
                // A fast peer would else keep this thread from all other connections until the whole answer is sent.
                yield_now().await;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => writable(stream, stall_max).await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn sendfile(stream: &TcpStream, file: BorrowedFd<'_>, at: u64, bytes: usize) -> io::Result<usize> {
    let mut at = at;
    loop {
        match rustix::fs::sendfile(stream, file, Some(&mut at), bytes) {
            Err(rustix::io::Errno::INTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}

/// For disks that aren't the kernel's: those of tests.
async fn write_copy(stream: &TcpStream, range: &FileRange, stall_max: Duration) -> io::Result<()> {
    let mut done = 0;
    while done < range.bytes {
        let mut buffer = vec![0; (range.bytes - done).min(READ_BYTES_MAX)];
        let read = range.file.read_at(&mut buffer, range.at + done as u64).map_err(io::Error::other)?;
        if read == 0 {
            return Err(file_ended());
        }
        buffer.truncate(read);
        done += read;
        write_memory(stream, &[AnswerPiece::Memory(buffer.into())], stall_max).await?;
    }
    Ok(())
}

/// The answer's head has promised these bytes, so there is no way but to close the connection.
fn file_ended() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "a segment file is shorter than its index says")
}

async fn writable(stream: &TcpStream, stall_max: Duration) -> io::Result<()> {
    timeout(stall_max, stream.writable()).await.map_err(|_| {
        io::Error::new(io::ErrorKind::TimedOut, format!("the peer took nothing for {} seconds", stall_max.as_secs()))
    })?
}

#[cfg(test)]
mod tests;
