//! Snappy as Kafka's clients write it: one raw block, or the framing of the Java library xerial/snappy-java.
//!
//! The framing: the magic `\x82SNAPPY\0`, two big-endian versions (i32), then blocks of a big-endian length (i32) and a raw
//! snappy block. The header may stand again before any later block, where streams were joined.

use std::io::{self, Read};

use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};

use crate::{BatchError, Compression};

const MAGIC: &[u8; 8] = b"\x82SNAPPY\0";
const FRAME_HEADER_BYTES: usize = 16;
const VERSION: i32 = 1;
/// Uncompressed bytes in a block, the Java library's default.
const BLOCK_BYTES: usize = 32 * 1024;
/// Three bytes of snappy copy at most 64, so nothing honest decompresses to more than this many times its size.
const RATIO_MAX: usize = 22;

/// The decompressed blocks of a framed stream.
pub(crate) struct Blocks<'a> {
    left: &'a [u8],
    block: Vec<u8>,
    read: usize,
    bytes_max: usize,
}

impl<'a> Blocks<'a> {
    /// `None` if `body` isn't framed.
    pub(crate) fn new(body: &'a [u8], bytes_max: usize) -> Option<Self> {
        let framed = body.len() >= FRAME_HEADER_BYTES && body.starts_with(MAGIC);
        framed.then_some(Self { left: body, block: Vec::new(), read: 0, bytes_max })
    }

    /// Decompresses the next block; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        while self.left.starts_with(MAGIC) {
            self.left = self.left.get(FRAME_HEADER_BYTES..).ok_or(io::ErrorKind::UnexpectedEof)?;
        }
        let Some((length, rest)) = self.left.split_first_chunk() else {
            return if self.left.is_empty() { Ok(false) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        };
        let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| io::ErrorKind::InvalidData)?;
        let (block, rest) = rest.split_at_checked(length).ok_or(io::ErrorKind::UnexpectedEof)?;
        self.block = decode_raw(block, self.bytes_max).map_err(io::Error::other)?;
        self.left = rest;
        self.read = 0;
        Ok(true)
    }
}

impl Read for Blocks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.block.len() {
            if !self.advance()? {
                return Ok(0);
            }
        }
        let count = buffer.len().min(self.block.len() - self.read);
        buffer[..count].copy_from_slice(&self.block[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

/// Decompresses one raw block.
pub(crate) fn decode_raw(block: &[u8], bytes_max: usize) -> Result<Vec<u8>, BatchError> {
    let undecodable = BatchError::Undecodable { compression: Compression::Snappy };
    // The block states its size; the claim is checked before it is believed.
    let bytes = decompress_len(block).map_err(|_| undecodable)?;
    if bytes > block.len().saturating_mul(RATIO_MAX) {
        return Err(undecodable);
    }
    if bytes > bytes_max {
        return Err(BatchError::TooLarge { bytes_max });
    }
    Decoder::new().decompress_vec(block).map_err(|_| undecodable)
}

/// Appends `body`, framed and compressed, to `out`.
pub(crate) fn encode(body: &[u8], out: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut out = out;
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_be_bytes());
    out.extend_from_slice(&VERSION.to_be_bytes());
    let mut encoder = Encoder::new();
    for block in body.chunks(BLOCK_BYTES) {
        let length_at = out.len();
        let from = length_at + 4;
        out.resize(from + max_compress_len(block.len()), 0);
        let bytes = encoder.compress(block, &mut out[from..])?;
        out[length_at..from].copy_from_slice(&(bytes as i32).to_be_bytes());
        out.truncate(from + bytes);
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
