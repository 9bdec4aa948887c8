//! Random commands, and what was answered to them.

use std::collections::BTreeMap;

use bytes::Bytes;
use daybook_command::{
    AllocateProducerId, AlterConfigs, AlterGroupConfigs, AlterTopicConfigs, AppendBatch, AppendCondition, AppendEvents,
    AppendRefusal, Applied, Command, CommitOffsets, CompactedTo, ConfigResource, CreatePartitions, CreateTopic,
    DeleteGroup, DeleteOffsets, DeleteShareState, DeleteTopic, Door, EventBatch, ExpectedVersion, OffsetToCommit,
    Outcome, PutSharePartition, ResourceKind, SharePartitionState, ShareRun, StreamCheck, TermQuery, TrimPartition,
};
use daybook_event::{NewEvent, StreamSettings, header, push, push_tombstone};
use daybook_record::{BatchBuilder, BatchHeader, Compression, STAMP_BYTES};
use daybook_types::{
    GroupId, Offset, PartitionId, PartitionIndex, Position, ProducerEpoch, ProducerId, StreamVersion, TimestampMs,
    TopicId, TopicName,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const TOPICS: u8 = 4;
const PARTITIONS: i32 = 3;
const GROUPS: u8 = 3;
const PRODUCERS: i64 = 5;
const STREAMS: u8 = 8;

/// What the shard said it holds. Contents are the batch without the bytes that the log sets.
#[derive(Clone, Debug, Default)]
pub struct Acknowledged {
    pub appends: BTreeMap<(PartitionId, Offset), Bytes>,
    /// Topics whose deletion was acknowledged or at least asked for: nothing is known of their records.
    pub maybe_deleted: Vec<TopicId>,
    /// Event appends that were taken.
    pub event_appends: usize,
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
            29..32 => {
                let value = self.random.random_bool(0.7).then(|| "true".to_owned());
                let changes = vec![("daybook.streams".to_owned(), value)];
                Command::AlterTopicConfigs(AlterTopicConfigs { id: self.topic(), changes })
            }
            32..60 => self.append_events(),
            66..69 => self.trim(),
            69..72 => self.compact(),
            60..63 => {
                let kind = ResourceKind::ALL[self.random.random_range(0..ResourceKind::ALL.len())];
                let resource = ConfigResource { kind, name: ["", "0"][self.random.random_range(0..2)].to_owned() };
                let value = self.random.random_bool(0.6).then(|| "LogAppendTime".to_owned());
                let changes = vec![("log.message.timestamp.type".to_owned(), value)];
                Command::AlterConfigs(AlterConfigs { resource, changes })
            }
            8..10 => Command::CreatePartitions(CreatePartitions {
                id: self.topic(),
                total: self.random.random_range(1..PARTITIONS + 2),
            }),
            10..13 => Command::AllocateProducerId(AllocateProducerId),
            13..15 => self.share(),
            15..25 => Command::CommitOffsets(CommitOffsets {
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

    /// What a share group's engine writes. Most are refused: states are checked in apply, so both ways are exercised.
    fn share(&mut self) -> Command {
        let (group, partition) = (self.group(), self.partition());
        match self.random.random_range(0..8) {
            0 => Command::DeleteShareState(DeleteShareState { group, partitions: None }),
            1 => Command::AlterGroupConfigs(AlterGroupConfigs {
                group,
                changes: vec![("share.record.lock.duration.ms".to_owned(), Some(format!("{}", 15_000 + self.sent)))],
            }),
            way => {
                let start = self.random.random_range(0..1000);
                let run = ShareRun { first: Offset(start), last: Offset(start + 2), is_done: way > 4, deliveries: 1 };
                let state = SharePartitionState { epoch: 0, start: Offset(start), runs: vec![run] };
                let only_if = self.random.random_bool(0.5).then_some(0);
                Command::PutSharePartition(PutSharePartition { group, partition, only_if, state })
            }
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
            let key = format!("s-{}", self.random.random_range(0..STREAMS)).into_bytes();
            builder.push(TimestampMs(self.random.random_range(0..1_000_000)), Some(&key), Some(&value), &[]);
        }
        let batch = builder.build().expect("a few records make a batch");
        Command::AppendBatch(AppendBatch { partition, batch })
    }

    /// Events for one or two streams of a topic, under a random expectation and now and then a condition. Event ids come from few, so
    /// that some appends repeat others.
    fn append_events(&mut self) -> Command {
        let partition = self.partition();
        let mut streams: Vec<StreamCheck> = Vec::new();
        let mut builder = BatchBuilder::new(Compression::None);
        for _ in 0..self.random.random_range(1..3) {
            let stream = format!("s-{}", self.random.random_range(0..STREAMS));
            let name = Bytes::from(stream.clone());
            if streams.iter().any(|check| check.name == name) {
                continue;
            }
            let topic = partition.topic;
            streams.push(StreamCheck { topic, name, expected: self.expectation() });
            match self.random.random_range(0..40) {
                0 => push_tombstone(&mut builder, TimestampMs(1), &stream, "end".to_owned()),
                1 | 2 => {
                    let metadata = format!("$${stream}");
                    let name = Bytes::from(metadata.clone());
                    streams.push(StreamCheck { topic, name, expected: ExpectedVersion::Any });
                    let data = match self.random.random_range(0..3) {
                        0 => StreamSettings::deleted_json(),
                        1 => r#"{"$maxCount":3}"#.to_owned(),
                        _ => r#"{"$tb":2}"#.to_owned(),
                    };
                    self.push_event(&mut builder, &metadata, header::METADATA_TYPE, data.into());
                }
                3 => {}
                _ => {
                    for _ in 0..self.random.random_range(1..4) {
                        let mut data = vec![0; self.random.random_range(0..500)];
                        self.random.fill(data.as_mut_slice());
                        let event_type = ["made", "moved", "gone"][self.random.random_range(0..3)];
                        self.push_event(&mut builder, &stream, event_type, data.into());
                    }
                }
            }
        }
        let condition = self.random.random_bool(0.2).then(|| AppendCondition {
            items: vec![TermQuery { types: vec![Bytes::from_static(b"gone")], tags: vec![Bytes::from_static(b"t1")] }],
            after: self.random.random_bool(0.8).then(|| Position(self.random.random_range(0..1000))),
        });
        let batches = match builder.is_empty() {
            true => Vec::new(),
            false => vec![EventBatch { partition, batch: builder.build().expect("a few events make a batch") }],
        };
        Command::AppendEvents(AppendEvents { streams, condition, batches })
    }

    fn push_event(&mut self, builder: &mut BatchBuilder, stream: &str, event_type: &str, data: Bytes) {
        self.sent += 1;
        let id = if self.random.random_bool(0.1) { self.random.random_range(0..20) } else { self.sent };
        let event = NewEvent {
            id: id.to_string(),
            event_type: event_type.to_owned(),
            tags: (0..self.random.random_range(0..3)).map(|tag| format!("t{tag}")).collect(),
            data,
            ..NewEvent::default()
        };
        push(builder, TimestampMs(1), Some(stream), &event);
    }

    fn expectation(&mut self) -> ExpectedVersion {
        match self.random.random_range(0..8) {
            0 => ExpectedVersion::NoStream,
            1 => ExpectedVersion::Exists,
            2 => ExpectedVersion::SoftDeleted,
            3 | 4 => ExpectedVersion::Exact(StreamVersion(self.random.random_range(0..30))),
            _ => ExpectedVersion::Any,
        }
    }

    fn create_topic(&mut self) -> Command {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.next_topic.to_be_bytes());
        self.next_topic += 1;
        let id = TopicId::from_bytes(id);
        self.topics.push(id);
        let name = TopicName::new(&format!("topic-{}", self.random.random_range(0..TOPICS))).expect("a legal name");
        let mut configs = Vec::new();
        if self.random.random_bool(0.3) {
            configs.push(("segment.bytes".to_owned(), "1048576".to_owned()));
        }
        if self.random.random_bool(0.3) {
            configs.push(("cleanup.policy".to_owned(), "compact,delete".to_owned()));
            configs.push(("delete.retention.ms".to_owned(), "20".to_owned()));
        }
        if self.random.random_bool(0.6) {
            configs.push(("daybook.streams".to_owned(), "true".to_owned()));
        }
        Command::CreateTopic(CreateTopic { id, name, partitions: self.random.random_range(1..=PARTITIONS), configs })
    }

    /// Sometimes past the end, or back.
    fn trim(&mut self) -> Command {
        let to = self.random.random_bool(0.9).then(|| Offset(self.random.random_range(0..200)));
        Command::TrimPartition(TrimPartition { partition: self.partition(), to })
    }

    /// What is decided only: nobody rewrites the files here.
    fn compact(&mut self) -> Command {
        let to = Offset(self.random.random_range(0..200));
        Command::CompactedTo(CompactedTo { partition: self.partition(), to, done_to: Offset(0) })
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
    if matches!(outcome, Outcome::AppendEvents(Ok(_))) {
        acknowledged.event_appends += 1;
    }
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
