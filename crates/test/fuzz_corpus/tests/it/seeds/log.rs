//! What the log and the index store hold.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;

use bytes::Bytes;
use daybook_catalog::Topic;
use daybook_command::{
    AllocateProducerId, AlterGroupConfigs, AlterTopicConfigs, AppendBatch, Command, CommitOffsets, CommittedOffset,
    CreatePartitions, CreateTopic, DeleteGroup, DeleteOffsets, DeleteShareState, DeleteTopic, Entry, OffsetToCommit,
    PutSharePartition, SharePartitionState, ShareRun,
};
use daybook_consumer_group::encode_offset;
use daybook_fuzz_corpus::StoredKind;
use daybook_partition::StoredPartition;
use daybook_record::{BatchBuilder, Compression};
use daybook_segment::{FileEnds, SegmentEnds};
use daybook_types::{
    GroupId, Lsn, Offset, PartitionId, PartitionIndex, ProducerEpoch, ProducerId, Term, TimestampMs, TopicId, TopicName,
};
use daybook_wal::{Options, RecordRef, Wal};
use daybook_world::{Disk, RealDisk};

use super::Seed;

fn batch(compression: Compression) -> Bytes {
    let mut batch = BatchBuilder::new(compression).producer(ProducerId(7), ProducerEpoch(0), 0);
    let headers =
        [(Bytes::from_static(b"trace"), Some(Bytes::from_static(b"1"))), (Bytes::from_static(b"trace"), None)];
    batch.push(TimestampMs(1_000), Some(b"key"), Some(b"value"), &headers);
    batch.push(TimestampMs(1_005), None, Some(b""), &[]);
    batch.push(TimestampMs(999), Some(b""), None, &[]);
    batch.build().unwrap()
}

pub fn record_batches() -> Vec<Seed> {
    let codecs = [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];
    let mut seeds: Vec<Seed> =
        codecs.into_iter().map(|codec| Seed::new("record_batch", format!("ok-{codec}"), batch(codec))).collect();
    let plain = batch(Compression::None);
    seeds.push(Seed::new("record_batch", "ok-two", [plain.clone(), plain.clone()].concat()));
    seeds.push(Seed::new("record_batch", "bad-cut-short", &plain[..plain.len() - 1]));
    let mut flipped = plain.to_vec();
    *flipped.last_mut().unwrap() ^= 1;
    seeds.push(Seed::new("record_batch", "bad-flipped-bit", flipped));
    let mut old = plain.to_vec();
    old[16] = 1;
    seeds.push(Seed::new("record_batch", "bad-magic-1", old));
    seeds
}

fn topic() -> TopicId {
    TopicId::from_bytes([7; 16])
}

fn partition() -> PartitionId {
    PartitionId { topic: topic(), index: PartitionIndex(2) }
}

fn commands() -> Vec<(&'static str, Command)> {
    let group = GroupId::new("sowers");
    let offset =
        OffsetToCommit { partition: partition(), offset: Offset(5), leader_epoch: -1, metadata: "five".into() };
    let commit = CommitOffsets { group: group.clone(), protocol_type: "consumer".into(), offsets: vec![offset] };
    let name = TopicName::new("seeds").unwrap();
    let configs = vec![("retention.ms".to_owned(), "1000".to_owned())];
    let changes = vec![("retention.ms".to_owned(), None), ("segment.bytes".to_owned(), Some("1048576".to_owned()))];
    let runs = vec![ShareRun { first: Offset(7), last: Offset(9), is_done: true, deliveries: 2 }];
    let share = PutSharePartition {
        group: group.clone(),
        partition: partition(),
        only_if: Some(3),
        state: SharePartitionState { epoch: 3, start: Offset(5), runs },
    };
    let share_gone = DeleteShareState { group: group.clone(), partitions: Some(vec![partition()]) };
    let group_configs = vec![("share.auto.offset.reset".to_owned(), Some("earliest".to_owned()))];
    vec![
        ("append-batch", Command::AppendBatch(AppendBatch { partition: partition(), batch: batch(Compression::None) })),
        ("create-topic", Command::CreateTopic(CreateTopic { id: topic(), name, partitions: 3, configs })),
        ("delete-topic", Command::DeleteTopic(DeleteTopic { id: topic() })),
        ("alter-topic-configs", Command::AlterTopicConfigs(AlterTopicConfigs { id: topic(), changes })),
        ("create-partitions", Command::CreatePartitions(CreatePartitions { id: topic(), total: 5 })),
        ("allocate-producer-id", Command::AllocateProducerId(AllocateProducerId)),
        ("commit-offsets", Command::CommitOffsets(commit)),
        ("delete-group", Command::DeleteGroup(DeleteGroup { group: group.clone() })),
        ("put-share-partition", Command::PutSharePartition(share)),
        ("delete-share-state", Command::DeleteShareState(share_gone)),
        (
            "alter-group-configs",
            Command::AlterGroupConfigs(AlterGroupConfigs { group: group.clone(), changes: group_configs }),
        ),
        ("delete-offsets", Command::DeleteOffsets(DeleteOffsets { group, partitions: vec![partition()] })),
    ]
}

fn encoded(commands: Vec<Command>) -> Vec<u8> {
    Entry { time: TimestampMs(1_000), commands }.encode().concat()
}

pub fn entries() -> Vec<Seed> {
    let seed = |(name, command): (&str, Command)| Seed::new("entry", format!("ok-{name}"), encoded(vec![command]));
    let mut seeds: Vec<Seed> = commands().into_iter().map(seed).collect();
    let all = encoded(commands().into_iter().map(|(_, command)| command).collect());
    seeds.push(Seed::new("entry", "bad-cut-short", &all[..all.len() - 1]));
    let mut unknown = encoded(vec![Command::AllocateProducerId(AllocateProducerId)]);
    unknown[13] = 255;
    seeds.push(Seed::new("entry", "bad-unknown-tag", unknown));
    let mut newer = all.clone();
    newer[0] = 255;
    seeds.push(Seed::new("entry", "bad-newer-format", newer));
    seeds.push(Seed::new("entry", "ok-all", all));
    seeds.push(Seed::new("entry", "ok-none", encoded(Vec::new())));
    seeds
}

pub fn stored() -> Vec<Seed> {
    let seed = |name: &str, kind: StoredKind, value: &[u8]| Seed::new("stored", name, [&[kind as u8], value].concat());
    let configs = [("retention.ms".to_owned(), "1000".to_owned())].into();
    let of_topic = Topic::new(topic(), TopicName::new("seeds").unwrap(), 3, configs);
    let empty = StoredPartition { start: Offset(0), end: Offset(0), contents: 0, max_timestamp: None };
    let filled = StoredPartition {
        start: Offset(1),
        end: Offset(9),
        contents: 5,
        max_timestamp: Some((TimestampMs(1_000), Offset(3))),
    };
    let offset = CommittedOffset {
        offset: Offset(5),
        leader_epoch: 2,
        metadata: "five".into(),
        committed_at: TimestampMs(1_000),
    };
    let segment = |base: i64| SegmentEnds {
        base_offset: Offset(base),
        generation: 0,
        next_offset: Offset(base + 10),
        data_bytes: 4096,
        index_bytes: 24,
        max_timestamp: TimestampMs(1_000),
    };
    let ends = FileEnds { segments: vec![segment(0), segment(10)], ..FileEnds::default() }.encode();
    let disordered = FileEnds { segments: vec![segment(10), segment(0)], ..FileEnds::default() }.encode();
    // A producer's window is only ever made by apply: version 1, epoch 0, a time, and no batch.
    let window = [&[1, 0, 0][..], &1_000_i64.to_be_bytes()].concat();
    vec![
        seed("ok-topic", StoredKind::Topic, &of_topic.encode()),
        seed("ok-partition-empty", StoredKind::Partition, &empty.encode()),
        seed("ok-partition", StoredKind::Partition, &filled.encode()),
        seed("ok-producer-window", StoredKind::ProducerWindow, &window),
        seed("ok-producer-window-batch", StoredKind::ProducerWindow, &[&window[..], &[0; 40]].concat()),
        seed("ok-committed-offset", StoredKind::CommittedOffset, &encode_offset(&offset, "consumer")),
        seed("ok-file-ends", StoredKind::FileEnds, &ends),
        seed("bad-file-ends-disordered", StoredKind::FileEnds, &disordered),
        seed("bad-topic-cut-short", StoredKind::Topic, &of_topic.encode()[..10]),
        Seed::new("stored", "bad-kind", [255, 1]),
    ]
}

pub fn wal_segments() -> Vec<Seed> {
    let dir = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(dir.path()).unwrap());
    let options =
        Options { segment_bytes: 4096, first_segment_bytes: 4096, spare_segments_max: 0, ..Options::default() };
    let (wal, _) = Wal::open(Arc::clone(&disk), Path::new("wal"), options).unwrap();
    let append = |first: u64, count: u64| {
        let parts = [Bytes::from(encoded(Vec::new())), batch(Compression::None)];
        let records: Vec<RecordRef<'_>> = (first..first + count)
            .map(|lsn| RecordRef { term: Term(1), lsn: Lsn(lsn), kind: 0, parts: &parts })
            .collect();
        let (sender, durable) = mpsc::channel();
        wal.append(&records, move |result| sender.send(result).unwrap()).unwrap();
        durable.recv().unwrap().unwrap();
    };
    append(1, 3);
    append(4, 1);
    let names = disk.list(Path::new("wal")).unwrap();
    let file = dir.path().join("wal").join(names.iter().find(|name| name.ends_with(".wal")).unwrap());
    let open = std::fs::read(&file).unwrap();
    wal.truncate_from(Lsn(4)).unwrap();
    wal.purge_to(Lsn(1)).unwrap();
    append(4, 2);
    wal.close().unwrap();
    let closed = std::fs::read(&file).unwrap();

    let middle = open.iter().rposition(|byte| *byte != 0).unwrap() / 2;
    let mut torn = open.clone();
    let last = open.iter().rposition(|byte| *byte != 0).unwrap();
    torn[last - 3] ^= 1;
    let mut lost = closed.clone();
    lost[middle] ^= 1;
    let mut headless = closed.clone();
    headless[0] ^= 1;
    vec![
        Seed::new("wal_segment", "ok-open", open),
        Seed::new("wal_segment", "ok-closed", closed),
        Seed::new("wal_segment", "ok-torn-tail", torn),
        Seed::new("wal_segment", "bad-lost-record", lost),
        Seed::new("wal_segment", "bad-header", headless),
    ]
}
