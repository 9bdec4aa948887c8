//! Values and lines as people write them.

use bytes::BytesMut;
use daybook_types::TimestampMs;

use crate::commands::produce::lines::read_chunk;
use crate::commands::produce::split;
use crate::values::{TopicSelection, timestamp, unescaped};

/// All lines of a source that gives `step` bytes at a time.
fn lines(text: &[u8], step: usize) -> Vec<Vec<u8>> {
    let mut source = std::io::BufReader::with_capacity(step, text);
    let (mut rest, mut all, mut bytes) = (BytesMut::new(), Vec::new(), 0);
    while let Some(chunk) = read_chunk(&mut source, &mut rest).expect("text can be read") {
        bytes += chunk.bytes;
        all.extend(chunk.lines.iter().map(|line| line.to_vec()));
    }
    assert_eq!(bytes, text.len() as u64);
    all
}

#[test]
fn lines_are_the_same_however_they_arrive() {
    let text = b"one\ntwo\r\n\nthree\rfour\n\r\nlast";
    let expected: [&[u8]; 6] = [b"one", b"two", b"", b"three\rfour", b"", b"last"];
    for step in 1..=text.len() + 1 {
        assert_eq!(lines(text, step), expected, "{step} bytes at a time");
    }
    assert_eq!(lines(b"", 8), Vec::<Vec<u8>>::new());
    assert_eq!(lines(b"\n", 8), [b""]);
}

#[test]
fn keys_are_split_off_at_the_first_separator() {
    assert_eq!(split(b"k:v:w", Some(b":")), (Some(&b"k"[..]), &b"v:w"[..]));
    assert_eq!(split(b"k::v", Some(b"::")), (Some(&b"k"[..]), &b"v"[..]));
    assert_eq!(split(b":v", Some(b":")), (Some(&b""[..]), &b"v"[..]));
    assert_eq!(split(b"v", Some(b":")), (None, &b"v"[..]));
    assert_eq!(split(b"k:v", None), (None, &b"k:v"[..]));
    assert_eq!(split(b"k:v", Some(b"")), (None, &b"k:v"[..]));
}

#[test]
fn times_are_taken_in_both_forms() {
    assert_eq!(timestamp("1700000000123").expect("milliseconds"), TimestampMs(1_700_000_000_123));
    assert_eq!(timestamp("2023-11-14T22:13:20.123Z").expect("a date"), TimestampMs(1_700_000_000_123));
    assert_eq!(timestamp("2023-11-14T23:13:20+01:00").expect("a zone"), TimestampMs(1_700_000_000_000));
    for wrong in ["", "-1", "2023-11-14", "1969-12-31T00:00:00Z", "now"] {
        assert!(timestamp(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn escapes_stand_for_what_they_usually_do() {
    assert_eq!(&unescaped(r"a\t\n\r\0\\\x41é").expect("all known")[..], "a\t\n\r\0\\Aé".as_bytes());
    for wrong in [r"\", r"\q", r"\x", r"\x1", r"\xzz"] {
        assert!(unescaped(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_selection_is_a_topic_or_a_partition_of_it() {
    let whole: TopicSelection = "a".parse().expect("a topic");
    assert_eq!((whole.topic.as_str(), whole.partition), ("a", None));
    let one: TopicSelection = "a:3".parse().expect("a partition");
    assert_eq!((one.topic.as_str(), one.partition.map(|index| index.0)), ("a", Some(3)));
    for wrong in ["", ":1", "a:", "a:x", "a:-1", "a:1:2"] {
        assert!(wrong.parse::<TopicSelection>().is_err(), "{wrong}");
    }
}
