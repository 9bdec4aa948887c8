//! Zigzag varints, as records write their numbers.

use bytes::BufMut;

pub(crate) const VARINT_BYTES_MAX: u32 = 5;
pub(crate) const VARLONG_BYTES_MAX: u32 = 10;

pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

pub(crate) fn put(out: &mut impl BufMut, value: i64) {
    let mut left = zigzag(value);
    while left >= 0x80 {
        out.put_u8(left as u8 | 0x80);
        left >>= 7;
    }
    out.put_u8(left as u8);
}

/// Bytes that `put` writes for `value`.
pub(crate) fn bytes_of(value: i64) -> usize {
    let bits = 64 - (zigzag(value) | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

#[cfg(test)]
mod tests;
