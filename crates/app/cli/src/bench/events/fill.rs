//! Many streams, in great batches, as a migration or a load test writes them.

use std::time::Instant;

use daybook_kafka_client::{Acks, PartitionBatch};

use super::{Events, batch, load, topic};
use crate::bench::arguments::EventsBench;
use crate::bench::process::Watch;
use crate::bench::produce::{ANSWER_TIMEOUT_MS, check};
use crate::bench::report::{Counted, Report};
use crate::progress::{Progress, Unit};
use crate::session::Session;

/// Records of a batch.
const BATCH_RECORDS: u64 = 1000;
/// Batches that wait for their answer.
const IN_FLIGHT: usize = 8;

pub async fn run(
    session: &Session,
    bench: &EventsBench,
    streams: u64,
    events: u32,
    plain: bool,
) -> anyhow::Result<Report> {
    let mut cluster = session.connect().await?;
    let topic = topic(&mut cluster, &bench.topic, !plain).await?;
    let partition = topic.partitions[0].partition;
    if topic.partitions.len() > 1 {
        anyhow::bail!(
            "topic {} has more than one partition, and filling writes to one; name another with --topic",
            topic.name
        );
    }
    let mut wire = cluster.open_leader(&topic.name, partition).await?;
    let mut made = Events::new(bench.event_bytes, u64::from(rand::random::<u16>()));
    let total = streams * u64::from(events);
    let mut progress = Progress::new(Unit::Records, Some(total));
    let watch = Watch::start(bench.pid)?;
    let begin = Instant::now();
    let (mut sent, mut waiting, mut batch_bytes) = (0, 0, 0);
    while sent < total || waiting > 0 {
        if sent < total && waiting < IN_FLIGHT {
            let count = BATCH_RECORDS.min(total - sent);
            let mut batch = batch();
            for number in sent..sent + count {
                made.push(&mut batch, &name(&bench.topic, number % streams), None);
            }
            let records = batch.build()?;
            batch_bytes = records.len();
            let batch = PartitionBatch { topic: &topic.name, topic_id: topic.id, partition, records: &records };
            wire.send_produce(Acks::All, ANSWER_TIMEOUT_MS, &[batch]).await?;
            sent += count;
            waiting += 1;
            progress.advance(count);
            continue;
        }
        let answer = wire.receive_in_time().await?;
        check(&wire.decode_produce(answer)?)?;
        waiting -= 1;
    }
    progress.finish();
    let seconds = begin.elapsed().as_secs_f64();
    let usage = watch.stop()?;
    let counted = Counted { seconds, records: total, answered: None, received: None };
    Ok(Report::new("events fill", session, &load(bench, 1, events, batch_bytes), &counted, usage))
}

/// Numbers scattered, so that neighbours in the index are strangers in time.
pub(super) fn name(topic: &str, number: u64) -> String {
    format!("{topic}-{:016x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
