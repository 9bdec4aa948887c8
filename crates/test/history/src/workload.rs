//! Random commands, and what was answered to them.

use std::collections::BTreeMap;

use bytes::Bytes;
use daybook_command::{
    AllocateProducerId, AlterTopicConfigs, AppendBatch, AppendRefusal, Applied, Command, CommitOffsets,
    CreatePartitions, CreateTopic, DeleteGroup, DeleteOffsets, DeleteTopic, Door, OffsetToCommit, Outcome,
};
use daybook_record::{BatchBuilder, BatchHeader, Compression, STAMP_BYTES};
use daybook_types::{
    GroupId, Offset, PartitionId, PartitionIndex, ProducerEpoch, ProducerId, TimestampMs, TopicId, TopicName,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const TOPICS: u8 = 4;
const PARTITIONS: i32 = 3;
const GROUPS: u8 = 3;
const PRODUCERS: i64 = 5;

/// What the shard said it holds. Contents are the batch without the bytes that the log sets.
#[derive(Clone, Debug, Default)]
pub struct Acknowledged {
    pub appends: BTreeMap<(PartitionId, Offset), Bytes>,
    /// Topics whose deletion was acknowledged or at least asked for: nothing is known of their records.
    pub maybe_deleted: Vec<TopicId>,
}

/// A source of random commands. Topic ids grow, since an id is never reused.
#[derive(Debug)]
pub struct Workload {
    random: StdRng,
    sequences: BTreeMap<(PartitionId, i64), i32>,
    topics: Vec<TopicId>,
    next_topic: u64,
    sent: u64,
}

impl Workload {
    pub fn new(seed: u64) -> Self {
        Self {
            random: StdRng::seed_from_u64(seed),
            sequences: BTreeMap::new(),
            topics: Vec::new(),
            next_topic: 1,
            sent: 0,
        }
    }

    /// Sends `count` proposals, some at once, and notes the answers. Stops at the first that is not answered.
    pub async fn run(&mut self, door: &Door, count: usize, acknowledged: &mut Acknowledged) {
        let mut left = count;
        while left > 0 {
            let mut pending = Vec::new();
            for _ in 0..self.random.random_range(1..12).min(left) {
                left -= 1;
                let commands: Vec<Command> =
                    (0..self.random.random_range(1..4)).map(|_| self.command(acknowledged)).collect();
                let Ok(answer) = door.propose(commands.clone()).await else { return };
                pending.push((commands, answer));
            }
            for (commands, answer) in pending {
                let Ok(Applied { outcomes, .. }) = answer.await else { return };
                assert_eq!(outcomes.len(), commands.len());
                for (command, outcome) in commands.into_iter().zip(outcomes) {
                    self.catch_up(&command, &outcome);
                    note(command, outcome, acknowledged);
                }
            }
        }
    }

    fn command(&mut self, acknowledged: &mut Acknowledged) -> Command {
        let roll = self.random.random_range(0..100);
        if self.topics.len() < 2 || roll < 3 {
            return self.create_topic();
        }
        match roll {
            3..5 => {
                let id = self.topics.swap_remove(self.random.random_range(0..self.topics.len()));
                acknowledged.maybe_deleted.push(id);
                Command::DeleteTopic(DeleteTopic { id })
            }
            5..8 => {
                let value = ["LogAppendTime", "CreateTime"][self.random.random_range(0..2)];
                let value = self.random.random_bool(0.8).then(|| value.to_owned());
                Command::AlterTopicConfigs(AlterTopicConfigs {
                    id: self.topic(),
                    changes: vec![("message.timestamp.type".to_owned(), value)],
                })
            }
            8..10 => Command::CreatePartitions(CreatePartitions {
                id: self.topic(),
                total: self.random.random_range(1..PARTITIONS + 2),
            }),
            10..13 => Command::AllocateProducerId(AllocateProducerId),
            13..25 => Command::CommitOffsets(CommitOffsets {
                group: self.group(),
                protocol_type: "consumer".to_owned(),
                offsets: (0..self.random.random_range(1..3))
                    .map(|_| OffsetToCommit {
                        partition: self.partition(),
                        offset: Offset(self.random.random_range(0..1000)),
                        leader_epoch: -1,
                        metadata: format!("m{}", self.sent),
                    })
                    .collect(),
            }),
            25..27 => Command::DeleteGroup(DeleteGroup { group: self.group() }),
            27..29 => Command::DeleteOffsets(DeleteOffsets { group: self.group(), partitions: vec![self.partition()] }),
            _ => self.append(),
        }
    }

    /// A producer that was refused for a gap goes on where the log stands.
    fn catch_up(&mut self, command: &Command, outcome: &Outcome) {
        if let (
            Command::AppendBatch(append),
            Outcome::AppendBatch(Err(AppendRefusal::OutOfOrderSequence { last, .. })),
        ) = (command, outcome)
        {
            let header = BatchHeader::read(&append.batch).expect("we built it");
            self.sequences.insert((append.partition, header.producer_id.0), last + 1);
        }
    }

    fn append(&mut self) -> Command {
        let partition = self.partition();
        let mut builder = BatchBuilder::new(Compression::None);
        let producer = self.random.random_range(0..PRODUCERS * 2);
        let count = self.random.random_range(1..5);
        if producer < PRODUCERS {
            let sequence = self.sequences.entry((partition, producer)).or_default();
            // Now and then a batch is sent again, or one is left out.
            let first = match self.random.random_range(0..20) {
                0 => (*sequence - count).max(0),
                1 => *sequence + 1,
                _ => *sequence,
            };
            *sequence = first + count;
            builder = builder.producer(ProducerId(producer), ProducerEpoch(0), first);
        }
        for _ in 0..count {
            self.sent += 1;
            let mut value = vec![0; self.random.random_range(0..3000)];
            self.random.fill(value.as_mut_slice());
            let key = self.sent.to_be_bytes();
            builder.push(TimestampMs(self.random.random_range(0..1_000_000)), Some(&key), Some(&value), &[]);
        }
        let batch = builder.build().expect("a few records make a batch");
        Command::AppendBatch(AppendBatch { partition, batch })
    }

    fn create_topic(&mut self) -> Command {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.next_topic.to_be_bytes());
        self.next_topic += 1;
        let id = TopicId::from_bytes(id);
        self.topics.push(id);
        let name = TopicName::new(&format!("topic-{}", self.random.random_range(0..TOPICS))).expect("a legal name");
        let configs = if self.random.random_bool(0.3) {
            vec![("segment.bytes".to_owned(), "1048576".to_owned())]
        } else {
            Vec::new()
        };
        Command::CreateTopic(CreateTopic { id, name, partitions: self.random.random_range(1..=PARTITIONS), configs })
    }

    fn topic(&mut self) -> TopicId {
        self.topics[self.random.random_range(0..self.topics.len())]
    }

    fn partition(&mut self) -> PartitionId {
        PartitionId { topic: self.topic(), index: PartitionIndex(self.random.random_range(0..PARTITIONS)) }
    }

    fn group(&mut self) -> GroupId {
        GroupId::new(&format!("group-{}", self.random.random_range(0..GROUPS)))
    }
}

fn note(command: Command, outcome: Outcome, acknowledged: &mut Acknowledged) {
    if let (Command::AppendBatch(append), Outcome::AppendBatch(Ok(appended))) = (command, outcome) {
        let header = BatchHeader::read(&append.batch).expect("we built it");
        let records = i64::from(header.record_count);
        assert_eq!(appended.next_offset.0 - appended.base_offset.0, records);
        if appended.log_append_time == TimestampMs::NONE {
            let content = append.batch.slice(STAMP_BYTES..);
            let before = acknowledged.appends.insert((append.partition, appended.base_offset), content.clone());
            // A repeat gets the first answer, so it names the same bytes or a batch with the same sequence numbers.
            if header.producer_id == ProducerId::NONE {
                assert!(before.is_none_or(|before| before == content), "one offset was given to two batches");
            } else if let Some(before) = before {
                acknowledged.appends.insert((append.partition, appended.base_offset), before);
            }
        }
    }
}
