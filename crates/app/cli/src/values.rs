//! Values as people type them.

use std::str::FromStr;

use anyhow::{anyhow, bail};
use bytes::Bytes;
use chrono::DateTime;
use daybook_kafka_client::Acks;
use daybook_record::Compression;
use daybook_types::{PartitionIndex, TimestampMs};

/// `KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    pub key: String,
    pub value: String,
}

impl FromStr for Pair {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok(Self { key: key.to_owned(), value: value.to_owned() }),
            _ => bail!("KEY=VALUE is expected"),
        }
    }
}

/// RFC 3339, or milliseconds since 1970.
pub fn timestamp(text: &str) -> anyhow::Result<TimestampMs> {
    if let Ok(ms) = text.parse::<i64>() {
        if ms < 0 {
            bail!("a time before 1970 can't be asked for");
        }
        return Ok(TimestampMs(ms));
    }
    let time = DateTime::parse_from_rfc3339(text)
        .map_err(|_| anyhow!("a time is expected as 2026-01-31T12:00:00Z, or as milliseconds since 1970"))?;
    if time.timestamp_millis() < 0 {
        bail!("a time before 1970 can't be asked for");
    }
    Ok(TimestampMs(time.timestamp_millis()))
}

pub fn compression(text: &str) -> anyhow::Result<Compression> {
    let found = Compression::ALL.into_iter().find(|compression| compression.name() == text);
    found.ok_or_else(|| anyhow!("one of none, gzip, snappy, lz4, zstd is expected"))
}

pub fn acks(text: &str) -> anyhow::Result<Acks> {
    match text {
        "0" => Ok(Acks::None),
        "1" => Ok(Acks::Leader),
        "all" | "-1" => Ok(Acks::All),
        _ => bail!("0, 1 or all is expected"),
    }
}

/// `TOPIC`, or `TOPIC:PARTITION`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSelection {
    pub topic: String,
    pub partition: Option<PartitionIndex>,
}

impl FromStr for TopicSelection {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (topic, partition) = match text.split_once(':') {
            Some((topic, index)) => (topic, Some(index.parse().map(PartitionIndex)?)),
            None => (text, None),
        };
        if topic.is_empty() || partition.is_some_and(|index| index.0 < 0) {
            bail!("TOPIC or TOPIC:PARTITION is expected");
        }
        Ok(Self { topic: topic.to_owned(), partition })
    }
}

/// A number of bytes, as the settings take it.
pub fn byte_size(text: &str) -> anyhow::Result<u64> {
    use daybook_settings::{ByteSize, SettingValue};
    ByteSize::read(text).map(|size| size.0).ok_or_else(|| anyhow!("{} is expected", ByteSize::accepted()))
}

/// Text in which `\n`, `\t`, `\r`, `\0`, `\\` and `\xHH` stand for what they usually do.
pub fn unescaped(text: &str) -> anyhow::Result<Bytes> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let Some((name, after)) = rest.split_first() else { bail!("a backslash stands at the end") };
        rest = after;
        bytes.push(match name {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'0' => 0,
            b'\\' => b'\\',
            b'x' => {
                let digits = rest.split_off(..2).and_then(|digits| std::str::from_utf8(digits).ok());
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                byte.ok_or_else(|| anyhow!("two hexadecimal digits are expected after \\x"))?
            }
            _ => bail!("\\{} means nothing; \\n, \\t, \\r, \\0, \\\\ and \\xHH do", *name as char),
        });
    }
    Ok(bytes.into())
}
