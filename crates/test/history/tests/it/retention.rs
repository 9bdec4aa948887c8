//! A partition's start moves forward, survives, and takes its files with it.

use bytes::Bytes;
use daybook_command::{Command, Outcome, TrimPartition, TrimRefusal};
use daybook_read::ReadError;
use daybook_record::Compression;
use daybook_types::{Offset, TimestampMs};

use crate::compaction::{Log, partition, propose};

const DELETE: (&str, &str) = ("cleanup.policy", "delete");

async fn fill(log: &mut Log, batches: usize) {
    let record = || (None, Some(Bytes::from(vec![7; 900])));
    for _ in 0..batches {
        log.append(&[record(), record()], Compression::None, false).await;
    }
}

async fn trim(log: &Log, to: Option<i64>) -> Result<Offset, TrimRefusal> {
    let command = TrimPartition { partition: partition(), to: to.map(Offset) };
    match propose(&log.running, Command::TrimPartition(command)).await {
        Outcome::TrimPartition(result) => result,
        other => panic!("{other:?}"),
    }
}

async fn retain(log: &Log) -> usize {
    let mut worker = log.worker(1024 * 1024);
    tokio::task::spawn_blocking(move || worker.retain().unwrap()).await.unwrap()
}

fn start(log: &Log) -> Offset {
    log.running.reader.partition(partition()).unwrap().start_offset
}

/// Where the files begin; the end if there are none.
fn files_start(log: &Log) -> Option<Offset> {
    log.running.reader.files().get(partition()).and_then(|files| files.start_offset())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_start_survives_and_its_files_go() {
    let mut log = Log::open(1, &[DELETE]).await;
    fill(&mut log, 20).await;
    // Within a batch, in memory still.
    assert_eq!(trim(&log, Some(13)).await, Ok(Offset(13)));
    assert_eq!(trim(&log, Some(5)).await, Ok(Offset(13)));
    let refusal = TrimRefusal::OutOfRange { partition: partition(), asked: Offset(41), end: Offset(40) };
    assert_eq!(trim(&log, Some(41)).await, Err(refusal));
    assert!(matches!(
        log.running.reader.read(partition(), Offset(12), 1, true),
        Err(ReadError::OffsetOutOfRange { .. })
    ));
    assert_eq!(log.read(Offset(13)).keys().next(), Some(&Offset(13)));
    log = log.restart().await;
    assert_eq!(start(&log), Offset(13));
    let begin = files_start(&log).unwrap();
    assert!(begin > Offset(0) && begin <= Offset(13), "{begin}");
    assert_eq!(log.read(Offset(13)).len(), 27);
    // From files, and all of it.
    assert_eq!(trim(&log, Some(30)).await, Ok(Offset(30)));
    assert_eq!(trim(&log, None).await, Ok(Offset(40)));
    assert_eq!(log.running.reader.max_timestamp(partition()).unwrap(), None);
    assert_eq!(log.running.reader.offset_for_timestamp(partition(), TimestampMs(0)).unwrap(), None);
    log = log.restart().await;
    assert_eq!((start(&log), files_start(&log)), (Offset(40), None));
    // What comes next stands where it would have stood.
    fill(&mut log, 3).await;
    log = log.restart().await;
    assert_eq!((start(&log), files_start(&log)), (Offset(40), Some(Offset(40))));
    assert_eq!(log.read(Offset(40)).keys().next_back(), Some(&Offset(45)));
    log.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_latest_timestamp_is_of_what_is_left() {
    let mut log = Log::open(1, &[DELETE]).await;
    fill(&mut log, 20).await;
    log = log.restart().await;
    for to in [0, 7, 8, 21, 33, 39] {
        trim(&log, Some(to)).await.unwrap();
        let left = log.written.range(Offset(to)..);
        let latest = left.clone().map(|(_, record)| record.timestamp).max().unwrap();
        let first = left.clone().find(|(_, record)| record.timestamp == latest).unwrap().0;
        assert_eq!(log.running.reader.max_timestamp(partition()).unwrap(), Some((*first, latest)));
        let first_at = |at: i64| {
            let found = left.clone().find(|(_, record)| record.timestamp >= TimestampMs(at));
            found.map(|(offset, record)| (*offset, record.timestamp))
        };
        for at in [0, 1_200, 1_500, 1_900, 2_000] {
            assert_eq!(log.running.reader.offset_for_timestamp(partition(), TimestampMs(at)).unwrap(), first_at(at));
        }
    }
    log.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn age_and_size_move_the_start() {
    // Records are of 1970.
    let mut log = Log::open(1, &[DELETE, ("retention.ms", "1000")]).await;
    fill(&mut log, 20).await;
    log = log.restart().await;
    assert_eq!(retain(&log).await, 1);
    assert_eq!(start(&log), Offset(40));
    assert_eq!(retain(&log).await, 0);
    log.running.stop().await;

    let mut log = Log::open(1, &[DELETE, ("retention.ms", "-1"), ("retention.bytes", "15000")]).await;
    fill(&mut log, 20).await;
    log = log.restart().await;
    assert_eq!(retain(&log).await, 1);
    let kept = start(&log);
    assert!(kept > Offset(0) && kept < Offset(34), "{kept}");
    log = log.restart().await;
    let bytes = log.running.reader.files().get(partition()).unwrap().bytes();
    assert!((15_000..15_000 + 6 * 1024).contains(&bytes), "{bytes}");
    assert_eq!(log.read(kept).len(), 40 - kept.0 as usize);
    assert_eq!(retain(&log).await, 0);
    log.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_policy_nothing_goes() {
    let mut log = Log::open(1, &[("cleanup.policy", "compact"), ("retention.ms", "1000")]).await;
    fill(&mut log, 10).await;
    log = log.restart().await;
    assert_eq!(retain(&log).await, 0);
    assert_eq!(trim(&log, Some(3)).await, Err(TrimRefusal::Policy { partition: partition() }));
    assert_eq!(start(&log), Offset(0));
    log.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_topic_keeps_its_records_unless_it_has_a_limit_of_its_own() {
    let streams = ("daybook.streams", "true");
    let mut log = Log::open(1, &[DELETE, streams]).await;
    fill(&mut log, 10).await;
    log = log.restart().await;
    assert_eq!(retain(&log).await, 0);
    log.running.stop().await;

    let mut log = Log::open(1, &[DELETE, streams, ("retention.ms", "1000")]).await;
    fill(&mut log, 10).await;
    log = log.restart().await;
    assert_eq!(retain(&log).await, 1);
    assert_eq!(start(&log), Offset(20));
    log.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_much_later_than_a_segments_first_begins_another() {
    let mut most = 0;
    for seed in 1..4 {
        let configs = [DELETE, ("segment.ms", "100"), ("segment.bytes", "1000000")];
        let mut log = Log::open(seed, &configs).await;
        fill(&mut log, 12).await;
        log = log.restart().await;
        // Batches of two.
        let time =
            |base: &i64| log.written.range(Offset(*base)..Offset(base + 2)).map(|(_, record)| record.timestamp.0).max();
        let mut bases: Vec<i64> = vec![0];
        for base in (0..24).step_by(2) {
            if time(&base).unwrap() - time(bases.last().unwrap()).unwrap() > 100 {
                bases.push(base);
            }
        }
        let segments = log.running.reader.files().get(partition()).unwrap().segments();
        assert_eq!(segments.iter().map(|segment| segment.base_offset.0).collect::<Vec<_>>(), bases);
        assert_eq!(log.read(Offset(0)), log.written);
        most = most.max(bases.len());
        log.running.stop().await;
    }
    assert!(most > 1, "none of the seeds has a batch that is later");
}
