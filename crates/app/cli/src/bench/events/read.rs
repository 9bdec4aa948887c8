//! Whole streams at random, over HTTP.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rand::Rng;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::{fill, load};
use crate::bench::arguments::{EventsBench, Span};
use crate::bench::process::Watch;
use crate::bench::report::{Counted, Latencies, Report};
use crate::session::Session;

pub async fn run(
    session: &Session,
    bench: &EventsBench,
    streams: u64,
    readers: u16,
    events: u32,
    http: &str,
    span: &Span,
) -> anyhow::Result<Report> {
    let watch = Watch::start(bench.pid)?;
    let begin = Instant::now() + Duration::from_secs_f64(span.warmup_seconds);
    let end = begin + Duration::from_secs_f64(span.seconds);
    let mut tasks = Vec::new();
    for _ in 0..readers {
        let (http, topic) = (http.to_owned(), bench.topic.clone());
        tasks.push(tokio::spawn(read(http, topic, streams, events, begin, end)));
    }
    let (mut records, mut answered) = (0, Latencies::new());
    for task in tasks {
        let (reads, latencies) = task.await??;
        records += reads;
        answered.add(&latencies);
    }
    let usage = watch.stop()?;
    let counted = Counted { seconds: span.seconds, records, answered: Some(answered), received: None };
    Ok(Report::new("events read", session, &load(bench, readers, events, 0), &counted, usage))
}

async fn read(
    http: String,
    topic: String,
    streams: u64,
    events: u32,
    begin: Instant,
    end: Instant,
) -> anyhow::Result<(u64, Latencies)> {
    let mut stream = BufReader::new(TcpStream::connect(&http).await.with_context(|| format!("connecting to {http}"))?);
    stream.get_ref().set_nodelay(true)?;
    let mut answered = Latencies::new();
    let mut reads = 0;
    let mut body = Vec::new();
    loop {
        let name = fill::name(&topic, rand::rng().random_range(0..streams));
        let request = format!("GET /streams/{name}?limit={events} HTTP/1.1\r\nhost: {http}\r\n\r\n");
        let sent_at = Instant::now();
        stream.write_all(request.as_bytes()).await?;
        receive(&mut stream, &mut body).await?;
        let now = Instant::now();
        // Counted in the text: parsing it would be the client's cost.
        let found = body.windows(10).filter(|window| window == b"\"version\":").count();
        ensure!(found >= events as usize, "stream {name} has {found} events, {events} were filled");
        if sent_at >= begin && now < end {
            reads += 1;
            answered.record(now - sent_at, 1);
        }
        if now >= end {
            return Ok((reads, answered));
        }
    }
}

/// One answer with a content length.
async fn receive(stream: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> anyhow::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.context("the server closed the connection")?);
    }
    let head = String::from_utf8(head)?.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.context("the answer has no content-length")?.trim().parse()?;
    body.resize(length, 0);
    stream.read_exact(body).await?;
    if !head.starts_with("http/1.1 200") {
        bail!("{}: {}", head.lines().next().unwrap_or_default(), String::from_utf8_lossy(body));
    }
    Ok(())
}
