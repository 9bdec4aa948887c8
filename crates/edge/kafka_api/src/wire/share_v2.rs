//! Versions that the library doesn't know yet: ShareFetch and ShareAcknowledge 2, which are version 1 with a few bytes more
//! (KIP-1206, KIP-1222), and DescribeShareGroupOffsets 1, whose request is that of version 0.
//!
//! A request is made one of version 1 by taking those bytes out, an answer one of version 2 by putting them in.

use bytes::{BufMut, Bytes, BytesMut};

use super::messages::{DescribeShareGroupOffsetsRequest, ShareAcknowledgeRequest, ShareFetchRequest};
use super::{ApiKey, BodyError, LENGTH_BYTES, decode};
use crate::shape;

/// What version 2 adds to ShareFetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FetchExtras {
    /// `share.acquire.mode=record_limit`: not more records are acquired than asked for.
    pub exact: bool,
    /// The request renews locks and fetches nothing.
    pub renews: bool,
}

/// Integers between member id and the new fields: session epoch, wait, bytes at least and at most, records, batch size.
const FETCH_INTEGERS_BYTES: usize = 6 * 4;
const ACKNOWLEDGE_INTEGERS_BYTES: usize = 4;

pub(crate) fn decode_fetch(version: i16, body: Bytes) -> Result<(FetchExtras, ShareFetchRequest), BodyError> {
    shape::check(ApiKey::ShareFetch, version, &body)?;
    let (extras, body) = if version >= 2 { fetch_as_v1(body) } else { (FetchExtras::default(), body) };
    Ok((extras, decode(1, body)?))
}

/// The request, and whether it says that it renews locks.
pub(crate) fn decode_acknowledge(version: i16, body: Bytes) -> Result<(bool, ShareAcknowledgeRequest), BodyError> {
    shape::check(ApiKey::ShareAcknowledge, version, &body)?;
    let (renews, body) = if version >= 2 { acknowledge_as_v1(body) } else { (false, body) };
    Ok((renews, decode(1, body)?))
}

pub(crate) fn decode_describe_offsets(body: Bytes) -> Result<DescribeShareGroupOffsetsRequest, BodyError> {
    decode(0, body)
}

/// A ShareFetch 2 as a ShareFetch 1. A body that is cut short comes back as it is: the decoder will say so.
fn fetch_as_v1(body: Bytes) -> (FetchExtras, Bytes) {
    match without(&body, FETCH_INTEGERS_BYTES, 2) {
        Some(([mode, renews], rest)) => (FetchExtras { exact: mode == 1, renews: renews != 0 }, rest),
        None => (FetchExtras::default(), body),
    }
}

/// A ShareAcknowledge 2 as a ShareAcknowledge 1, and whether it renews locks.
fn acknowledge_as_v1(body: Bytes) -> (bool, Bytes) {
    match without(&body, ACKNOWLEDGE_INTEGERS_BYTES, 1) {
        Some(([renews, _], rest)) => (renews != 0, rest),
        None => (false, body),
    }
}

/// A whole answer to ShareAcknowledge 1, its length in front, as one to version 2.
pub(crate) fn acknowledged_as_v2(answer: &Bytes, lock_ms: i32) -> Bytes {
    const HEAD_BYTES: usize = LENGTH_BYTES + 4 + 1 + 4 + 2;
    let text_bytes = answer.get(HEAD_BYTES..).and_then(skip_text).unwrap_or(0);
    let (head, rest) = answer.split_at((HEAD_BYTES + text_bytes).min(answer.len()));
    let mut out = BytesMut::with_capacity(answer.len() + 4);
    out.put_i32(i32::try_from(answer.len() - LENGTH_BYTES + 4).unwrap_or(i32::MAX));
    out.extend_from_slice(&head[LENGTH_BYTES..]);
    out.put_i32(lock_ms);
    out.extend_from_slice(rest);
    out.freeze()
}

/// The first `count` bytes, at most two, that follow two texts and `integers_bytes`; and the body without them.
fn without(body: &Bytes, integers_bytes: usize, count: usize) -> Option<([u8; 2], Bytes)> {
    let group = skip_text(body)?;
    let member = skip_text(body.get(group..)?)?;
    let at = group + member + integers_bytes;
    let taken = body.get(at..at + count)?;
    let first_two = [taken[0], taken.get(1).copied().unwrap_or(0)];
    let mut rest = BytesMut::with_capacity(body.len() - count);
    rest.extend_from_slice(&body[..at]);
    rest.extend_from_slice(&body[at + count..]);
    Some((first_two, rest.freeze()))
}

/// Bytes of a compact text, its length included.
fn skip_text(from: &[u8]) -> Option<usize> {
    let mut length: usize = 0;
    for place in 0..5 {
        let byte = *from.get(place)?;
        length |= usize::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return place.checked_add(1)?.checked_add(length.saturating_sub(1));
        }
    }
    None
}

#[cfg(test)]
mod tests;
