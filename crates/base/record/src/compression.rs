//! The five codecs, as Kafka's clients use them.
//!
//! gzip: members may follow each other. snappy: raw, or in the framing of the Java library, see [`crate::xerial`]. lz4: the frame
//! format. zstd: frames. Decoding is by streams, so that looking at a batch costs a window and not its decompressed size.

use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Read, Write};
use std::str::FromStr;

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use crate::{BatchError, xerial};

/// How the records of a batch are compressed; the numbers are Kafka's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    #[default]
    None = 0,
    Gzip = 1,
    Snappy = 2,
    Lz4 = 3,
    Zstd = 4,
}

impl Compression {
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Compression {
    type Err = ();

    /// Kafka's names, as in `compression.type`.
    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|compression| compression.name() == name).ok_or(())
    }
}

/// A stream of the decompressed `body`. It doesn't end by itself at a limit: whoever reads counts.
pub(crate) fn reader<'a>(
    compression: Compression,
    body: &'a [u8],
    bytes_max: usize,
) -> Result<Box<dyn BufRead + 'a>, BatchError> {
    let undecodable = BatchError::Undecodable { compression };
    Ok(match compression {
        Compression::None => Box::new(body),
        Compression::Gzip => Box::new(BufReader::new(MultiGzDecoder::new(body))),
        Compression::Snappy => match xerial::Blocks::new(body, bytes_max) {
            Some(blocks) => Box::new(BufReader::new(blocks)),
            None => Box::new(Cursor::new(xerial::decode_raw(body, bytes_max)?)),
        },
        Compression::Lz4 => Box::new(BufReader::new(FrameDecoder::new(body))),
        Compression::Zstd => {
            Box::new(BufReader::new(zstd::stream::read::Decoder::with_buffer(body).map_err(|_| undecodable)?))
        }
    })
}

/// All of the decompressed `body`; itself if it isn't compressed.
pub(crate) fn decompress(compression: Compression, body: &Bytes, bytes_max: usize) -> Result<Bytes, BatchError> {
    if compression == Compression::None {
        return Ok(body.clone());
    }
    let mut whole = Vec::with_capacity(body.len().saturating_mul(3).min(bytes_max));
    reader(compression, body, bytes_max)?
        .take(bytes_max as u64 + 1)
        .read_to_end(&mut whole)
        .map_err(|_| BatchError::Undecodable { compression })?;
    if whole.len() > bytes_max {
        return Err(BatchError::TooLarge { bytes_max });
    }
    Ok(whole.into())
}

/// Appends the compressed `body` to `out`.
pub(crate) fn compress(compression: Compression, body: &[u8], out: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut out = out;
    match compression {
        Compression::None => {
            out.extend_from_slice(body);
            Ok(out)
        }
        Compression::Gzip => {
            let mut encoder = GzEncoder::new(out, flate2::Compression::default());
            encoder.write_all(body)?;
            encoder.finish()
        }
        Compression::Snappy => xerial::encode(body, out),
        Compression::Lz4 => {
            // What the Java client writes: every block stands alone, no checksums but the header's.
            let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Independent);
            let mut encoder = FrameEncoder::with_frame_info(info, out);
            encoder.write_all(body)?;
            encoder.finish().map_err(io::Error::other)
        }
        Compression::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
            encoder.write_all(body)?;
            encoder.finish()
        }
    }
}

#[cfg(test)]
mod tests;
