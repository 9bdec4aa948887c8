//! The bytes of a share fetch answer around the records; versions 1 and 2 are alike.

use bytes::{BufMut, Bytes, BytesMut};
use daybook_share_coordinator::core::Acquired;
use daybook_types::PartitionId;
use indexmap::IndexMap;

use crate::answer::{Answer, AnswerPiece};
use crate::broker::{Broker, Endpoint};
use crate::error_code::{self, ErrorCode};
use crate::wire::{LENGTH_BYTES, Writer, uuid};

/// What the answer tells of a partition.
#[derive(Default)]
pub(super) struct Told {
    pub error: Option<ErrorCode>,
    pub acknowledge_error: Option<ErrorCode>,
    pub bytes: usize,
    pub pieces: Vec<AnswerPiece>,
    pub acquired: Vec<Acquired>,
}

/// An answer that tells of no partition.
pub(super) fn encode_error(correlation_id: i32, error: ErrorCode, message: Option<&str>) -> Answer {
    let mut out = head(correlation_id, Some(error), message, 0, 0);
    out.length(0); // node endpoints
    out.no_tags();
    with_length(vec![AnswerPiece::Memory(out.split())])
}

pub(super) fn encode(
    broker: &Broker,
    correlation_id: i32,
    lock_ms: u64,
    mut told: IndexMap<PartitionId, Told>,
) -> Answer {
    let leader = &broker.advertised;
    let leader_epoch = broker.reader.leader_epoch().0;
    // Partitions of a topic stand together; a stable sort keeps their turn.
    told.sort_by(|one, _, other, _| one.topic.cmp(&other.topic));
    let topics = told.as_slice().keys().collect::<Vec<_>>().chunk_by(|one, next| one.topic == next.topic).count();
    let names_leader = told.values().any(|told| told.error.is_some_and(error_code::asks_for_leader));
    let mut out = head(correlation_id, None, None, lock_ms, topics);
    let mut pieces = Vec::new();
    let mut told = told.into_iter().peekable();
    while let Some(first) = told.next() {
        let topic = first.0.topic;
        out.uuid(uuid(topic));
        let mut of_topic = vec![first];
        while let Some(next) = told.next_if(|(next, _)| next.topic == topic) {
            of_topic.push(next);
        }
        out.length(of_topic.len());
        for (at, told) in of_topic {
            partition(&mut out, &mut pieces, at.index.0, told, leader, leader_epoch);
        }
        out.no_tags();
    }
    if names_leader {
        out.length(1);
        endpoint(&mut out, leader);
    } else {
        out.length(0);
    }
    out.no_tags();
    pieces.push(AnswerPiece::Memory(out.split()));
    with_length(pieces)
}

fn head(correlation_id: i32, error: Option<ErrorCode>, message: Option<&str>, lock_ms: u64, topics: usize) -> Writer {
    let mut out = Writer::new(true);
    out.i32(correlation_id);
    out.no_tags();
    out.i32(0); // throttle time
    out.i16(error_code::code(error));
    match message {
        Some(message) => out.text(message),
        None => out.null_list(),
    }
    out.i32(i32::try_from(lock_ms).unwrap_or(i32::MAX));
    out.length(topics);
    out
}

fn partition(
    out: &mut Writer,
    pieces: &mut Vec<AnswerPiece>,
    index: i32,
    told: Told,
    leader: &Endpoint,
    leader_epoch: i32,
) {
    out.i32(index);
    out.i16(error_code::code(told.error));
    out.null_list(); // error message
    out.i16(error_code::code(told.acknowledge_error));
    out.null_list(); // acknowledge error message
    let names_leader = told.error.is_some_and(error_code::asks_for_leader);
    out.i32(if names_leader { leader.node.0 } else { 0 });
    out.i32(if names_leader { leader_epoch } else { 0 });
    out.no_tags();
    out.length(told.bytes);
    if told.bytes > 0 {
        pieces.push(AnswerPiece::Memory(out.split()));
        pieces.extend(told.pieces);
    }
    out.length(told.acquired.len());
    for run in &told.acquired {
        out.i64(i64::try_from(run.first).unwrap_or(i64::MAX));
        out.i64(i64::try_from(run.last).unwrap_or(i64::MAX));
        out.i16(i16::try_from(run.deliveries).unwrap_or(i16::MAX));
        out.no_tags();
    }
    out.no_tags();
}

fn endpoint(out: &mut Writer, node: &Endpoint) {
    out.i32(node.node.0);
    out.text(&node.host);
    out.i32(node.port);
    out.null_list(); // rack: none
    out.no_tags();
}

fn with_length(pieces: Vec<AnswerPiece>) -> Answer {
    let bytes: usize = pieces.iter().map(AnswerPiece::bytes).sum();
    let length = i32::try_from(bytes).expect("records are limited to fetch_bytes_max or one batch, which fit 31 bits");
    let mut prefix = BytesMut::with_capacity(LENGTH_BYTES);
    prefix.put_i32(length);
    let mut all = Vec::with_capacity(1 + pieces.len());
    all.push(AnswerPiece::Memory(Bytes::from(prefix)));
    all.extend(pieces);
    Answer { pieces: all, throttle_ms: 0 }
}
