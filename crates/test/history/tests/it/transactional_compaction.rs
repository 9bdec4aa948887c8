//! Transactions in a compacted partition: what was aborted goes and displaces nothing, what is open waits, markers go last.

use bytes::Bytes;
use daybook_command::{
    AppendToTransaction, Command, EndTransaction, InitProducer, Outcome, ProducerIdAllocated, TransactionalProducer,
};
use daybook_record::{BatchBuilder, Compression};
use daybook_types::{Offset, TimestampMs, TransactionalId};

use crate::compaction::{COMPACT, EAGER, Log, NO_GRACE, PLENTY, partition, propose};

fn id() -> TransactionalId {
    TransactionalId::new("teller")
}

async fn begin(log: &Log) -> ProducerIdAllocated {
    let init = InitProducer { transactional_id: id(), timeout_ms: 60_000, expected: None };
    match propose(&log.running, Command::InitProducer(init)).await {
        Outcome::InitProducer(Ok(producer)) => producer,
        other => panic!("{other:?}"),
    }
}

/// Writes one record; its offset.
async fn write(log: &Log, producer: ProducerIdAllocated, sequence: i32, key: &str, value: &str) -> Offset {
    let mut batch =
        BatchBuilder::new(Compression::None).transactional(true).producer(producer.id, producer.epoch, sequence);
    batch.push(TimestampMs(1_000), Some(key.as_bytes()), Some(value.as_bytes()), &[]);
    let batch = batch.build().unwrap();
    let append = AppendToTransaction { transactional_id: id(), partition: partition(), joins: true, batch };
    match propose(&log.running, Command::AppendToTransaction(append)).await {
        Outcome::AppendToTransaction(Ok(appended)) => appended.base_offset,
        other => panic!("{other:?}"),
    }
}

async fn end(log: &Log, producer: ProducerIdAllocated, commits: bool) {
    let ProducerIdAllocated { id: producer_id, epoch } = producer;
    let producer = TransactionalProducer { transactional_id: id(), id: producer_id, epoch };
    let command = Command::EndTransaction(EndTransaction { producer, commits, bumps_epoch: false });
    let ended = propose(&log.running, command).await;
    assert!(matches!(ended, Outcome::EndTransaction(Ok(_))), "{ended:?}");
}

/// Fills segments, so that what was written before is compacted.
async fn fill(log: &mut Log) {
    for _ in 0..6 {
        let filler = (Some(Bytes::from_static(b"filler")), Some(Bytes::from(vec![5; 3_000])));
        log.append(&[filler], Compression::None, false).await;
    }
}

/// Offsets of batches that are markers, and of keyed records other than fillers.
fn markers_and_records(log: &Log) -> (Vec<i64>, Vec<i64>) {
    let (mut markers, mut records) = (Vec::new(), Vec::new());
    for (offset, record) in log.read(Offset(0)) {
        match record.key.as_deref() {
            Some(b"filler") => {}
            // The key of a marker is its version and kind.
            Some([0, 0, 0, _]) => markers.push(offset.0),
            _ => records.push(offset.0),
        }
    }
    (markers, records)
}

fn aborted(log: &Log) -> usize {
    log.running.reader.log(partition()).unwrap().look(|tail| tail.aborted.iter().count())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborted_records_go_and_their_markers_after_them() {
    let mut log = Log::open(1, &[COMPACT, EAGER, NO_GRACE]).await;
    let producer = begin(&log).await;
    // 0 and 1 are committed by 2; 3 and 4 aborted by 5: they must not displace 0 and 1.
    assert_eq!(write(&log, producer, 0, "a", "committed").await, Offset(0));
    write(&log, producer, 1, "b", "committed").await;
    end(&log, producer, true).await;
    assert_eq!(write(&log, producer, 2, "a", "aborted").await, Offset(3));
    write(&log, producer, 3, "c", "aborted").await;
    end(&log, producer, false).await;
    fill(&mut log).await;
    log = log.restart().await;
    assert_eq!(markers_and_records(&log), (vec![2, 5], vec![0, 1, 3, 4]));
    assert_eq!(aborted(&log), 1);

    assert!(!log.compact(PLENTY).await.is_empty());
    assert_eq!(markers_and_records(&log), (vec![2, 5], vec![0, 1]));
    assert_eq!(aborted(&log), 1, "readers are told as long as the marker stands");

    // Their grace is over with the second one.
    fill(&mut log).await;
    log = log.restart().await;
    assert!(!log.compact(PLENTY).await.is_empty());
    assert_eq!(markers_and_records(&log), (vec![], vec![0, 1]));
    assert_eq!(aborted(&log), 0);
    // And so it is after a restart; the producer goes on.
    log = log.restart().await;
    assert_eq!(aborted(&log), 0);
    write(&log, producer, 4, "a", "again").await;
    end(&log, producer, true).await;
    log.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_from_the_last_stable_offset_on_is_touched() {
    let mut log = Log::open(1, &[COMPACT, EAGER, NO_GRACE]).await;
    let producer = begin(&log).await;
    fill(&mut log).await;
    let open = write(&log, producer, 0, "a", "open").await;
    fill(&mut log).await;
    fill(&mut log).await;
    log = log.restart().await;
    let before = log.read(open);
    log.compact(PLENTY).await;
    let files = log.running.reader.files().get(partition()).unwrap();
    assert!(files.compacted_to() <= open);
    assert_eq!(log.read(open), before);
    // Once it is decided it goes its way.
    end(&log, producer, false).await;
    fill(&mut log).await;
    log = log.restart().await;
    log.compact(PLENTY).await;
    let files = log.running.reader.files().get(partition()).unwrap();
    assert!(files.compacted_to() > open);
    assert_eq!(markers_and_records(&log).1, [0; 0]);
    log.running.stop().await;
}
