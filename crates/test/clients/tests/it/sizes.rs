//! Records from nothing to the largest, and what lies above.

use rdkafka::types::RDKafkaErrorCode;

use crate::broker::{new_topic, shared};
use crate::reading::{contents, read_all, read_all_with};
use crate::writing::{Content, producer, try_write, write};

/// Kafka's default of `max.message.bytes`: a whole batch, so the largest value is less.
const MESSAGE_BYTES_MAX: usize = 1_048_588;
/// Batch header, and of a record without key and headers with a value near a mebibyte: its length, attributes, timestamp
/// delta, offset delta, key's length, value's length, count of headers.
const AROUND_VALUE_BYTES: usize = 61 + 3 + 1 + 1 + 1 + 1 + 3 + 1;

/// Its own limits out of the way, so that the broker's decide.
const NO_LIMIT: &[(&str, &str)] = &[("message.max.bytes", "100000000"), ("linger.ms", "0")];

fn filled(bytes: usize) -> Content {
    Content::value((0..bytes).map(|at| (at % 251) as u8).collect::<Vec<_>>())
}

#[test]
fn small_sizes() {
    let topic = new_topic(shared(), "small-sizes", 1, &[]);
    let mut written: Vec<_> = (0..300).map(filled).collect();
    // Where lengths take one more byte.
    written.extend([8_191, 8_192, 8_193, 16_383, 16_384, 100_000, 1_000_000].map(filled));
    write(&producer(shared(), NO_LIMIT), &topic, 0, &written);
    assert!(contents(read_all(shared(), &topic, 0)) == written);
}

#[test]
fn the_largest_and_one_byte_more() {
    let topic = new_topic(shared(), "largest", 1, &[]);
    let producer = producer(shared(), NO_LIMIT);
    let largest = filled(MESSAGE_BYTES_MAX - AROUND_VALUE_BYTES);
    let larger = filled(MESSAGE_BYTES_MAX - AROUND_VALUE_BYTES + 1);
    assert_eq!(try_write(&producer, &topic, 0, &largest), Ok(0));
    assert_eq!(try_write(&producer, &topic, 0, &larger), Err(RDKafkaErrorCode::MessageSizeTooLarge));
    // A refusal leaves nothing behind, and the producer goes on.
    assert_eq!(try_write(&producer, &topic, 0, &filled(1)), Ok(1));
    assert!(contents(read_all(shared(), &topic, 0)) == [largest, filled(1)]);
}

#[test]
fn a_topics_own_limit() {
    let topic = new_topic(shared(), "own-limit", 1, &[("max.message.bytes", "5000")]);
    let producer = producer(shared(), NO_LIMIT);
    assert_eq!(try_write(&producer, &topic, 0, &filled(4_900)), Ok(0));
    assert_eq!(try_write(&producer, &topic, 0, &filled(5_000)), Err(RDKafkaErrorCode::MessageSizeTooLarge));

    let topic = new_topic(shared(), "own-higher-limit", 1, &[("max.message.bytes", "20000000")]);
    let huge = filled(15_000_000);
    assert_eq!(try_write(&producer, &topic, 0, &huge), Ok(0));
    assert_eq!(try_write(&producer, &topic, 0, &filled(1)), Ok(1));
    // The consumer asks for less than the first record is long, and gets it all the same.
    let modest = [("fetch.max.bytes", "50000"), ("message.max.bytes", "50000"), ("max.partition.fetch.bytes", "1000")];
    assert!(contents(read_all_with(shared(), &topic, 0, &modest)) == [huge, filled(1)]);
}
