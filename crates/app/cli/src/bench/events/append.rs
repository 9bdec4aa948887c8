//! Appends on the exact version, by writers that wait for each answer.

use std::time::{Duration, Instant};

use daybook_kafka_client::{Acks, PartitionBatch, TopicView, Wire};
use daybook_record::partition_of_key;

use super::{Events, batch, load, topic};
use crate::bench::arguments::{EventsBench, Span};
use crate::bench::process::Watch;
use crate::bench::produce::{ANSWER_TIMEOUT_MS, check};
use crate::bench::report::{Counted, Latencies, Report};
use crate::session::Session;

struct Writer {
    wire: Wire,
    topic: TopicView,
    events: Events,
    streams: Vec<Stream>,
}

struct Stream {
    name: String,
    next_version: u64,
}

pub async fn run(
    session: &Session,
    bench: &EventsBench,
    writers: u16,
    streams: u32,
    events: u32,
    span: &Span,
) -> anyhow::Result<Report> {
    let mut cluster = session.connect().await?;
    let topic = topic(&mut cluster, &bench.topic, true).await?;
    let run = rand::random::<u32>();
    let mut tasks = Vec::new();
    let mut all = Vec::new();
    for writer in 0..writers {
        let stream = |number| Stream { name: format!("{}-{run:08x}-{writer}-{number}", bench.topic), next_version: 0 };
        all.push(Writer {
            wire: cluster.open_leader(&topic.name, topic.partitions[0].partition).await?,
            topic: topic.clone(),
            events: Events::new(bench.event_bytes, u64::from(rand::random::<u16>())),
            streams: (0..streams).map(stream).collect(),
        });
    }
    let watch = Watch::start(bench.pid)?;
    let begin = Instant::now() + Duration::from_secs_f64(span.warmup_seconds);
    let end = begin + Duration::from_secs_f64(span.seconds);
    for writer in all {
        tasks.push(tokio::spawn(writer.run(events, begin, end)));
    }
    let (mut records, mut answered, mut batch_bytes) = (0, Latencies::new(), 0);
    for task in tasks {
        let (appends, latencies, bytes) = task.await??;
        records += appends * u64::from(events);
        answered.add(&latencies);
        batch_bytes = bytes;
    }
    let usage = watch.stop()?;
    let counted = Counted { seconds: span.seconds, records, answered: Some(answered), received: None };
    Ok(Report::new("events append", session, &load(bench, writers, events, batch_bytes), &counted, usage))
}

impl Writer {
    async fn run(mut self, events: u32, begin: Instant, end: Instant) -> anyhow::Result<(u64, Latencies, usize)> {
        let mut answered = Latencies::new();
        let (mut appends, mut bytes, mut turn) = (0, 0, 0);
        loop {
            let count = self.streams.len();
            let stream = &mut self.streams[turn % count];
            turn += 1;
            let mut batch = batch();
            for event in 0..events {
                let expected = (event == 0).then(|| match stream.next_version {
                    0 => "-1".to_owned(),
                    next => (next - 1).to_string(),
                });
                self.events.push(&mut batch, &stream.name, expected);
            }
            let records = batch.build()?;
            bytes = bytes.max(records.len());
            let partitions = i32::try_from(self.topic.partitions.len())?;
            let batch = PartitionBatch {
                topic: &self.topic.name,
                topic_id: self.topic.id,
                partition: partition_of_key(stream.name.as_bytes(), partitions),
                records: &records,
            };
            let sent_at = Instant::now();
            self.wire.send_produce(Acks::All, ANSWER_TIMEOUT_MS, &[batch]).await?;
            let answer = self.wire.receive_in_time().await?;
            let now = Instant::now();
            check(&self.wire.decode_produce(answer)?)?;
            stream.next_version += u64::from(events);
            if sent_at >= begin && now < end {
                appends += 1;
                answered.record(now - sent_at, 1);
            }
            if now >= end {
                return Ok((appends, answered, bytes));
            }
        }
    }
}
