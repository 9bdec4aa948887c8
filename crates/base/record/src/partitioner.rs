//! Which partition a key belongs to.

use daybook_types::PartitionIndex;

/// The partition that the Java client's default partitioner gives a key, so that records of one key meet whoever
/// writes them. `count` is at least 1.
pub fn partition_of_key(key: &[u8], count: i32) -> PartitionIndex {
    PartitionIndex((murmur2(key) & 0x7fff_ffff) % count.max(1))
}

/// MurmurHash2, 32 bits, with the seed that Kafka uses (`org.apache.kafka.common.utils.Utils.murmur2`).
fn murmur2(data: &[u8]) -> i32 {
    const SEED: u32 = 0x9747_b28c;
    const MULTIPLIER: u32 = 0x5bd1_e995;
    const ROTATION: u32 = 24;

    let mut hash = SEED ^ data.len() as u32;
    let (words, rest) = data.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        k ^= k >> ROTATION;
        hash = hash.wrapping_mul(MULTIPLIER) ^ k.wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        for (at, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * at);
        }
        hash = hash.wrapping_mul(MULTIPLIER);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MULTIPLIER);
    (hash ^ (hash >> 15)) as i32
}

#[cfg(test)]
mod tests;
