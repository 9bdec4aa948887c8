//! Appends on the exact version, by writers that wait for each answer.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use daybook_kafka_client::{Acks, PartitionBatch, TopicView, Wire};
use daybook_record::partition_of_key;

use super::{Events, batch, load, topic};
use crate::bench::arguments::{EventsBench, Span};
use crate::bench::process::Watch;
use crate::bench::produce::{ANSWER_TIMEOUT_MS, check};
use crate::bench::report::{Counted, Latencies, Report};
use crate::session::Session;

/// A connection and the writers that share it. Answers come in the order of the requests.
struct Connection {
    wire: Wire,
    topic: TopicView,
    events: Events,
    writers: Vec<Writer>,
    waiting: VecDeque<Waiting>,
    batch_bytes: usize,
}

struct Writer {
    streams: Vec<Stream>,
    turn: usize,
}

struct Waiting {
    writer: usize,
    sent_at: Instant,
}

struct Stream {
    name: String,
    next_version: u64,
}

pub async fn run(
    session: &Session,
    bench: &EventsBench,
    writers: u16,
    connections: u16,
    streams: u32,
    events: u32,
    span: &Span,
) -> anyhow::Result<Report> {
    let mut cluster = session.connect().await?;
    let topic = topic(&mut cluster, &bench.topic, true).await?;
    let run = rand::random::<u32>();
    let mut all = Vec::new();
    for connection in 0..connections {
        let stream = |writer: u16, number: u32| Stream {
            name: format!("{}-{run:08x}-{writer}-{number}", bench.topic),
            next_version: 0,
        };
        let writer = |writer| Writer { streams: (0..streams).map(|number| stream(writer, number)).collect(), turn: 0 };
        all.push(Connection {
            wire: cluster.open_leader(&topic.name, topic.partitions[0].partition).await?,
            topic: topic.clone(),
            events: Events::new(bench.event_bytes, u64::from(rand::random::<u16>())),
            writers: (connection..writers).step_by(connections.into()).map(writer).collect(),
            waiting: VecDeque::new(),
            batch_bytes: 0,
        });
    }
    let watch = Watch::start(bench.pid)?;
    let begin = Instant::now() + Duration::from_secs_f64(span.warmup_seconds);
    let end = begin + Duration::from_secs_f64(span.seconds);
    let tasks: Vec<_> = all.into_iter().map(|connection| tokio::spawn(connection.run(events, begin, end))).collect();
    let (mut records, mut answered, mut batch_bytes) = (0, Latencies::new(), 0);
    for task in tasks {
        let (appends, latencies, bytes) = task.await??;
        records += appends * u64::from(events);
        answered.add(&latencies);
        batch_bytes = bytes;
    }
    let usage = watch.stop()?;
    let counted = Counted { seconds: span.seconds, records, answered: Some(answered), received: None };
    Ok(Report::new("events append", session, &load(bench, connections, events, batch_bytes), &counted, usage))
}

impl Connection {
    async fn run(mut self, events: u32, begin: Instant, end: Instant) -> anyhow::Result<(u64, Latencies, usize)> {
        let mut answered = Latencies::new();
        let mut appends = 0;
        for writer in 0..self.writers.len() {
            self.append(writer, events).await?;
        }
        while let Some(waiting) = self.waiting.pop_front() {
            let answer = self.wire.receive_in_time().await?;
            let now = Instant::now();
            check(&self.wire.decode_produce(answer)?)?;
            self.writers[waiting.writer].stream().next_version += u64::from(events);
            self.writers[waiting.writer].turn += 1;
            if waiting.sent_at >= begin && now < end {
                appends += 1;
                answered.record(now - waiting.sent_at, 1);
            }
            if now < end {
                self.append(waiting.writer, events).await?;
            }
        }
        Ok((appends, answered, self.batch_bytes))
    }

    /// Sends the next append of a writer.
    async fn append(&mut self, writer: usize, events: u32) -> anyhow::Result<()> {
        let stream = self.writers[writer].stream();
        let mut batch = batch();
        for event in 0..events {
            let expected = (event == 0).then(|| match stream.next_version {
                0 => "-1".to_owned(),
                next => (next - 1).to_string(),
            });
            self.events.push(&mut batch, &stream.name, expected);
        }
        let records = batch.build()?;
        self.batch_bytes = self.batch_bytes.max(records.len());
        let partitions = i32::try_from(self.topic.partitions.len())?;
        let batch = PartitionBatch {
            topic: &self.topic.name,
            topic_id: self.topic.id,
            partition: partition_of_key(stream.name.as_bytes(), partitions),
            records: &records,
        };
        let sent_at = Instant::now();
        self.wire.send_produce(Acks::All, ANSWER_TIMEOUT_MS, &[batch]).await?;
        self.waiting.push_back(Waiting { writer, sent_at });
        Ok(())
    }
}

impl Writer {
    /// The stream whose turn it is.
    fn stream(&mut self) -> &mut Stream {
        let count = self.streams.len();
        &mut self.streams[self.turn % count]
    }
}
