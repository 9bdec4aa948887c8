//! Writers: some idempotent, which send again what wasn't answered, some plain, which give it up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use daybook_kafka_client::{Acks, KafkaCode, PartitionBatch, ProducedPartition, ProducerIdentity, Wire};
use daybook_record::{BatchBuilder, Compression};
use daybook_types::{PartitionIndex, TopicId};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::campaign::Shared;
use crate::content::RecordId;
use crate::network::{Stop, connect, impatient_cluster};

/// Requests of one writer that wait for their answers: Kafka's limit for idempotent producers.
const REQUESTS_IN_FLIGHT_MAX: usize = 5;
const PRODUCE_TIMEOUT_MS: i32 = 30_000;

/// A client that writes to some partitions over one connection at a time.
pub struct Writer {
    number: u32,
    is_idempotent: bool,
    identity: Option<ProducerIdentity>,
    /// Indices of its partitions.
    places: Vec<u32>,
    /// Of each partition, the number of its next record; the sequence too, as none is given up.
    next_number: Vec<u64>,
    /// What was sent and isn't answered, in order; each with one batch for some of the partitions.
    unanswered: VecDeque<Vec<Batch>>,
    dice: StdRng,
}

#[derive(Clone)]
struct Batch {
    writer: u32,
    place: u32,
    first_number: u64,
    count: u64,
    records: Bytes,
}

impl Writer {
    pub fn new(number: u32, is_idempotent: bool, places: Vec<u32>, seed: u64) -> Self {
        let next_number = vec![0; places.len()];
        let dice = StdRng::seed_from_u64(seed ^ u64::from(number));
        Self { number, is_idempotent, identity: None, places, next_number, unanswered: VecDeque::new(), dice }
    }

    /// Writes until the server is gone.
    pub async fn run(mut self, shared: Arc<Shared>) -> Result<Self, String> {
        match self.write(&shared).await {
            Err(Stop::Fault(fault)) => Err(format!("writer {}: {fault}", self.number)),
            Err(Stop::Gone) | Ok(()) => {
                if !self.is_idempotent {
                    // Perhaps written, perhaps not; sent again they might be there twice.
                    self.unanswered.clear();
                }
                Ok(self)
            }
        }
    }

    async fn write(&mut self, shared: &Shared) -> Result<(), Stop> {
        let mut wire = connect(&shared.address).await?;
        if self.is_idempotent && self.identity.is_none() {
            self.identity = Some(impatient_cluster(&shared.address).await?.init_producer().await?);
        }
        let mut sent = 0;
        loop {
            while sent < REQUESTS_IN_FLIGHT_MAX {
                if sent == self.unanswered.len() {
                    let request = self.next_request();
                    self.unanswered.push_back(request);
                }
                send(&mut wire, shared, &self.unanswered[sent]).await?;
                sent += 1;
            }
            let answer = wire.receive_in_time().await?;
            let answer = wire.decode_produce(answer)?;
            note(shared, &self.unanswered[0], &answer)?;
            self.unanswered.pop_front();
            sent -= 1;
        }
    }

    fn next_request(&mut self) -> Vec<Batch> {
        let of_one = self.dice.random_range(0..self.places.len());
        let chosen: Vec<usize> = match self.dice.random_bool(0.7) {
            true => vec![of_one],
            false => (0..self.places.len()).collect(),
        };
        chosen.into_iter().map(|at| self.next_batch(at)).collect()
    }

    fn next_batch(&mut self, at: usize) -> Batch {
        let (place, first_number) = (self.places[at], self.next_number[at]);
        let count = self.dice.random_range(1..=30_u64);
        let codec = Compression::ALL[self.dice.random_range(0..Compression::ALL.len())];
        let mut builder = BatchBuilder::new(codec);
        if let Some(identity) = self.identity {
            let sequence = i32::try_from(first_number).expect("a campaign is shorter");
            builder = builder.producer(identity.id, identity.epoch, sequence);
        }
        for number in first_number..first_number + count {
            let content = RecordId { writer: self.number, place, number }.content();
            builder.push(content.timestamp, content.key.as_deref(), Some(&content.value), &content.headers);
        }
        self.next_number[at] += count;
        let records = builder.build().expect("these records make a batch");
        Batch { writer: self.number, place, first_number, count, records }
    }
}

async fn send(wire: &mut Wire, shared: &Shared, request: &[Batch]) -> Result<(), Stop> {
    // Those of one topic side by side: places are sorted by topic.
    let batches: Vec<_> = request
        .iter()
        .map(|batch| {
            let place = &shared.places[batch.place as usize];
            PartitionBatch {
                topic: &place.topic,
                topic_id: TopicId::default(),
                partition: PartitionIndex(place.partition),
                records: &batch.records,
            }
        })
        .collect();
    Ok(wire.send_produce(Acks::All, PRODUCE_TIMEOUT_MS, &batches).await?)
}

/// Notes what an answer promises. Where a batch is to be tried again, the whole request is, from a new connection.
fn note(shared: &Shared, request: &[Batch], answer: &[ProducedPartition]) -> Result<(), Stop> {
    let mut is_tried_again = false;
    for row in answer {
        let is_row = |batch: &&Batch| {
            let place = &shared.places[batch.place as usize];
            place.topic == row.topic && place.partition == row.partition.0
        };
        let batch =
            request.iter().find(is_row).ok_or_else(|| Stop::Fault(format!("an answer to no batch: {row:?}")))?;
        let id = |number| RecordId { writer: batch.writer, place: batch.place, number };
        let numbers = batch.first_number..batch.first_number + batch.count;
        let mut ledger = shared.ledgers[batch.place as usize].lock();
        match row.code {
            KafkaCode::NONE => {
                for (offset, number) in (row.base_offset.0..).zip(numbers) {
                    ledger.acknowledge(offset, id(number)).map_err(Stop::Fault)?;
                }
            }
            KafkaCode::DUPLICATE_SEQUENCE_NUMBER => numbers.for_each(|number| ledger.acknowledge_somewhere(id(number))),
            code if code.is_retriable() => {
                is_tried_again = true;
                continue;
            }
            _ => return Err(Stop::Fault(format!("records {numbers:?} are answered with {row:?}"))),
        }
        drop(ledger);
        shared.acknowledged.fetch_add(batch.count, Ordering::Relaxed);
    }
    if answer.len() != request.len() {
        return Err(Stop::Fault(format!("{} answers to {} batches", answer.len(), request.len())));
    }
    if is_tried_again { Err(Stop::Gone) } else { Ok(()) }
}
