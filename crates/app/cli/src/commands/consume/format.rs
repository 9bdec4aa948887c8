//! How a record is printed.

use std::io::{self, Write};

use anyhow::bail;
use bytes::Bytes;
use daybook_kafka_client::TopicPartition;
use daybook_record::Record;
use serde::Serialize;

use crate::values::unescaped;

/// A parsed format string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Bytes),
    Topic,
    Partition,
    Offset,
    Key,
    KeyLength,
    Value,
    ValueLength,
    Headers,
    Timestamp,
}

pub fn parse(text: &str) -> anyhow::Result<Format> {
    let mut pieces = Vec::new();
    let mut parts = text.split('%');
    push_text(&mut pieces, parts.next().unwrap_or_default())?;
    while let Some(part) = parts.next() {
        let mut rest = part.chars();
        let piece = match rest.next() {
            Some('t') => Piece::Topic,
            Some('p') => Piece::Partition,
            Some('o') => Piece::Offset,
            Some('k') => Piece::Key,
            Some('K') => Piece::KeyLength,
            Some('s') => Piece::Value,
            Some('S') => Piece::ValueLength,
            Some('h') => Piece::Headers,
            Some('T') => Piece::Timestamp,
            Some(other) => bail!("%{other} means nothing; %t %p %o %k %s %h %T %K %S and %% do"),
            // Two percent signs side by side; what follows the second is text.
            None => match parts.next() {
                Some(after) => {
                    pieces.push(Piece::Text(Bytes::from_static(b"%")));
                    push_text(&mut pieces, after)?;
                    continue;
                }
                None => bail!("a percent sign stands at the end; %% prints one"),
            },
        };
        pieces.push(piece);
        push_text(&mut pieces, rest.as_str())?;
    }
    Ok(Format { pieces })
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) -> anyhow::Result<()> {
    if !text.is_empty() {
        pieces.push(Piece::Text(unescaped(text)?));
    }
    Ok(())
}

impl Format {
    /// A key, value or header that is null prints as nothing, its length as -1.
    pub fn write(&self, out: &mut impl Write, partition: &TopicPartition, record: &Record) -> io::Result<()> {
        let length = |bytes: &Option<Bytes>| bytes.as_ref().map_or("-1".to_owned(), |bytes| bytes.len().to_string());
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.write_all(text)?,
                Piece::Topic => out.write_all(partition.topic.as_bytes())?,
                Piece::Partition => write!(out, "{}", partition.partition)?,
                Piece::Offset => write!(out, "{}", record.offset)?,
                Piece::Key => out.write_all(record.key.as_deref().unwrap_or_default())?,
                Piece::KeyLength => out.write_all(length(&record.key).as_bytes())?,
                Piece::Value => out.write_all(record.value.as_deref().unwrap_or_default())?,
                Piece::ValueLength => out.write_all(length(&record.value).as_bytes())?,
                Piece::Timestamp => write!(out, "{}", record.timestamp)?,
                Piece::Headers => {
                    for (at, (name, value)) in record.headers.iter().enumerate() {
                        out.write_all(if at == 0 { b"" } else { b"," })?;
                        out.write_all(name)?;
                        out.write_all(b"=")?;
                        out.write_all(value.as_deref().unwrap_or_default())?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct RecordLine<'a> {
    topic: &'a str,
    partition: i32,
    offset: i64,
    timestamp: i64,
    key: Option<Data>,
    value: Option<Data>,
    headers: Vec<HeaderLine>,
}

#[derive(Serialize)]
struct HeaderLine {
    name: String,
    value: Option<Data>,
}

/// Text where the bytes are text; bytes can't stand in JSON, so others are told apart.
#[derive(Serialize)]
#[serde(untagged)]
enum Data {
    Text(String),
    Other { hex: String },
}

fn data(bytes: &Bytes) -> Data {
    match std::str::from_utf8(bytes) {
        Ok(text) => Data::Text(text.to_owned()),
        Err(_) => Data::Other { hex: bytes.iter().map(|byte| format!("{byte:02x}")).collect() },
    }
}

/// One line of JSON.
pub fn write_json(out: &mut impl Write, partition: &TopicPartition, record: &Record) -> io::Result<()> {
    let header = |(name, value): &(Bytes, Option<Bytes>)| HeaderLine {
        name: String::from_utf8_lossy(name).into_owned(),
        value: value.as_ref().map(data),
    };
    let line = RecordLine {
        topic: &partition.topic,
        partition: partition.partition.0,
        offset: record.offset.0,
        timestamp: record.timestamp.0,
        key: record.key.as_ref().map(data),
        value: record.value.as_ref().map(data),
        headers: record.headers.iter().map(header).collect(),
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}
