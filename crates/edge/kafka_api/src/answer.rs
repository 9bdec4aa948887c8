//! An answer is a list of pieces, written to the socket one after the other: bytes in memory, and ranges of files.

use std::sync::Arc;

use bytes::Bytes;
use daybook_world::DiskFile;

/// A whole answer, its length in front.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub pieces: Vec<AnswerPiece>,
    /// How long nothing more is read of the peer, once this is sent.
    pub throttle_ms: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum AnswerPiece {
    Memory(Bytes),
    File(FileRange),
}

/// `bytes` bytes of a file from byte `at`.
#[derive(Clone, Debug)]
pub(crate) struct FileRange {
    pub file: Arc<dyn DiskFile>,
    pub at: u64,
    pub bytes: usize,
}

impl Answer {
    pub fn throttled(self, throttle_ms: u32) -> Self {
        Self { throttle_ms, ..self }
    }

    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(AnswerPiece::bytes).sum()
    }
}

impl AnswerPiece {
    pub fn bytes(&self) -> usize {
        match self {
            Self::Memory(bytes) => bytes.len(),
            Self::File(range) => range.bytes,
        }
    }
}

impl From<Bytes> for Answer {
    fn from(bytes: Bytes) -> Self {
        Self { pieces: vec![AnswerPiece::Memory(bytes)], throttle_ms: 0 }
    }
}
