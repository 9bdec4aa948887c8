//! What the log keeps of a subscription: `docs/formats/subscription.md`.

use bytes::{BufMut, Bytes, BytesMut};
use thiserror::Error;

use crate::definition::Definition;

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 10;
const HAS_COME_ON: u8 = 1;

/// How far a group has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Everything below is finished: versions of a stream, else positions.
    pub checkpoint: u64,
    /// The checkpoint is one that consumers reached, not the start.
    pub has_come_on: bool,
}

#[derive(Debug, Error)]
pub(crate) enum BodyFault {
    #[error("it has {bytes} bytes, too few")]
    Short { bytes: usize },
    #[error("its format version is {version}, this server knows {VERSION}")]
    Version { version: u8 },
    #[error("its flags are {flags:#x}, which means nothing to this server")]
    Flags { flags: u8 },
    #[error("its definition can't be read: {0}")]
    Definition(#[from] serde_json::Error),
}

pub(crate) fn encode(progress: Progress, definition: &Definition) -> Bytes {
    let json = serde_json::to_vec(definition).expect("a definition has text keys only");
    let mut body = BytesMut::with_capacity(HEAD_BYTES + json.len());
    body.put_u8(VERSION);
    body.put_u8(if progress.has_come_on { HAS_COME_ON } else { 0 });
    body.put_u64(progress.checkpoint);
    body.put_slice(&json);
    body.freeze()
}

pub(crate) fn decode(body: &[u8]) -> Result<(Progress, Definition), BodyFault> {
    let (head, json) = body.split_first_chunk::<HEAD_BYTES>().ok_or(BodyFault::Short { bytes: body.len() })?;
    let [version, flags, checkpoint @ ..] = head;
    if *version != VERSION {
        return Err(BodyFault::Version { version: *version });
    }
    if *flags > HAS_COME_ON {
        return Err(BodyFault::Flags { flags: *flags });
    }
    let progress = Progress { checkpoint: u64::from_be_bytes(*checkpoint), has_come_on: *flags == HAS_COME_ON };
    Ok((progress, serde_json::from_slice(json)?))
}
