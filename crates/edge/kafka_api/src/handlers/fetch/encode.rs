//! The bytes of a fetch answer around the records.

use bytes::{BufMut, Bytes, BytesMut};

use crate::answer::{Answer, AnswerPiece};
use crate::broker::{Broker, Endpoint};
use crate::error_code::{self, ErrorCode};
use crate::fetch_session::NO_SESSION;
use crate::handlers::fetch::gather::Gathered;
use crate::topic_ref::{PartitionRef, TopicRef};
use crate::wire::{LENGTH_BYTES, Writer};

const FLEXIBLE_FROM: i16 = 12;
const TAG_CURRENT_LEADER: u32 = 1;
const TAG_NODE_ENDPOINTS: u32 = 0;

/// A partition that the answer tells of.
pub(super) struct Told<'a> {
    pub at: &'a PartitionRef,
    pub gathered: Gathered,
}

struct Context<'a> {
    version: i16,
    leader: &'a Endpoint,
    leader_epoch: i32,
}

/// An answer that tells of no partition.
pub(super) fn encode_error(version: i16, correlation_id: i32, error: ErrorCode) -> Answer {
    let mut out = head(version, correlation_id, 0, Some(error), NO_SESSION, 0);
    out.no_tags();
    with_length(vec![AnswerPiece::Memory(out.split())])
}

/// An answer that has nothing but the time to wait.
pub(super) fn encode_throttled(version: i16, correlation_id: i32, throttle_ms: u32, session_id: i32) -> Answer {
    let mut out = head(version, correlation_id, throttle_ms, None, session_id, 0);
    out.no_tags();
    with_length(vec![AnswerPiece::Memory(out.split())]).throttled(throttle_ms)
}

pub(super) fn encode(
    broker: &Broker,
    version: i16,
    correlation_id: i32,
    session_id: i32,
    told: Vec<Told<'_>>,
) -> Answer {
    let leader = &broker.advertised;
    let context = Context { version, leader, leader_epoch: broker.reader.leader_epoch().0 };
    let names_leader =
        version >= 16 && told.iter().any(|told| told.gathered.error.is_some_and(error_code::asks_for_leader));
    let mut out = head(version, correlation_id, 0, None, session_id, topics(&told));
    let mut pieces = Vec::new();
    let mut told = told.into_iter().peekable();
    while let Some(first) = told.next() {
        let topic = &first.at.topic;
        match topic {
            TopicRef::Name(name) => out.text(name),
            TopicRef::Id(id) => out.uuid(*id),
        }
        let mut of_topic = vec![first.gathered_with_index()];
        while let Some(next) = told.next_if(|next| next.at.topic == *topic) {
            of_topic.push(next.gathered_with_index());
        }
        out.length(of_topic.len());
        for (index, gathered) in of_topic {
            partition(&context, &mut out, &mut pieces, index, gathered);
        }
        out.no_tags();
    }
    if names_leader {
        out.varint(1);
        out.tagged(TAG_NODE_ENDPOINTS, |out| node_endpoints(out, leader));
    } else {
        out.no_tags();
    }
    pieces.push(AnswerPiece::Memory(out.split()));
    with_length(pieces)
}

impl Told<'_> {
    fn gathered_with_index(self) -> (i32, Gathered) {
        (self.at.partition, self.gathered)
    }
}

/// How many runs of one topic there are. A topic may have several, after a session has put its partitions in another order.
fn topics(told: &[Told<'_>]) -> usize {
    told.chunk_by(|one, next| one.at.topic == next.at.topic).count()
}

fn head(
    version: i16,
    correlation_id: i32,
    throttle_ms: u32,
    error: Option<ErrorCode>,
    session_id: i32,
    topics: usize,
) -> Writer {
    let mut out = Writer::new(version >= FLEXIBLE_FROM);
    out.i32(correlation_id);
    out.no_tags();
    out.i32(throttle_ms as i32);
    if version >= 7 {
        out.i16(error_code::code(error));
        out.i32(session_id);
    }
    out.length(topics);
    out
}

fn partition(context: &Context<'_>, out: &mut Writer, pieces: &mut Vec<AnswerPiece>, index: i32, gathered: Gathered) {
    let version = context.version;
    out.i32(index);
    out.i16(error_code::code(gathered.error));
    out.i64(gathered.high_watermark);
    out.i64(gathered.last_stable_offset);
    if version >= 5 {
        out.i64(gathered.log_start_offset);
    }
    match &gathered.aborted {
        Some(aborted) => {
            out.length(aborted.len());
            for transaction in aborted {
                out.i64(transaction.producer.0);
                out.i64(transaction.first_offset.0);
                out.no_tags();
            }
        }
        None => out.null_list(),
    }
    if version >= 11 {
        out.i32(-1); // preferred read replica: none
    }
    out.length(gathered.bytes);
    if gathered.bytes > 0 {
        pieces.push(AnswerPiece::Memory(out.split()));
        pieces.extend(gathered.pieces);
    }
    if version >= 16 && gathered.error.is_some_and(error_code::asks_for_leader) {
        out.varint(1);
        out.tagged(TAG_CURRENT_LEADER, |out| {
            out.i32(context.leader.node.0);
            out.i32(context.leader_epoch);
            out.no_tags();
        });
    } else {
        out.no_tags();
    }
}

fn node_endpoints(out: &mut Writer, node: &Endpoint) {
    out.length(1);
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
