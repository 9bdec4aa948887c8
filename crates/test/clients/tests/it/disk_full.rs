//! A disk that takes no more, played by a limit on the length of files: what is acknowledged stays, reads go on, writers
//! are told to try again, and after a restart with space everything goes on.

use daybook_test_server::{Server, eventually, http_get};
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tempfile::TempDir;

use crate::broker::{PATIENCE, create_topic, launch, stand_in, watermarks};
use crate::reading::{contents, read_all};
use crate::writing::{Content, outcome, producer, send, write};

/// Sets how long a file of the server may become.
fn limit_files(server: &Server, bytes: Option<u64>) {
    let pid = i32::try_from(server.pid()).ok().and_then(Pid::from_raw);
    prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

fn numbered(from: usize, count: usize) -> Vec<Content> {
    let content = |number: usize| Content { key: Some(vec![b'k'; 1_000]), ..Content::number(number) };
    (from..from + count).map(content).collect()
}

/// Writes until the server refuses; how many records it has acknowledged.
fn write_until_refused(address: &str, from: usize) -> usize {
    // A refusal is to be seen, not waited out.
    let settings = [("message.timeout.ms", "3000"), ("enable.idempotence", "false"), ("acks", "all")];
    let writer = producer(address, &settings);
    let mut acknowledged = from;
    for round in 0.. {
        assert!(round < 1_000, "the limit is never met");
        let sent: Vec<_> =
            numbered(acknowledged, 100).iter().map(|content| send(&writer, "t", 0, content, None).unwrap()).collect();
        for delivery in sent {
            match outcome(delivery) {
                Ok(_) => acknowledged += 1,
                Err(error) => {
                    // Retriable: librdkafka has tried until the record's time was up.
                    let expected = KafkaError::MessageProduction(RDKafkaErrorCode::MessageTimedOut);
                    assert_eq!(error, expected);
                    return acknowledged;
                }
            }
        }
    }
    unreachable!("the loop ends otherwise")
}

#[test]
fn acknowledged_records_survive_a_full_disk() {
    if stand_in().is_some() {
        return;
    }
    let data = TempDir::new().unwrap();
    let launch = launch(&data).set("wal.segment_bytes", "1048576").set("checkpoint.wal_bytes", "2097152");
    // Without the trap the system would end a process that meets the limit.
    let server = launch.spawn_after("trap '' XFSZ").unwrap().wait_ready().unwrap();
    let address = server.kafka().to_owned();
    create_topic(&address, "t", 1, &[]).unwrap();
    write(&producer(&address, &[]), "t", 0, &numbered(0, 200));

    limit_files(&server, Some(64 * 1024));
    let acknowledged = write_until_refused(&address, 200);
    let not_ready = eventually("it says that it isn't ready", PATIENCE, || {
        match http_get(server.http(), "/readyz").map_err(|error| error.to_string())? {
            answer if answer.status == 503 => Ok(answer),
            answer => Err(format!("{answer:?}")),
        }
    });
    assert!(not_ready.body.contains("takes no writes"), "{not_ready:?}");
    assert_eq!(http_get(server.http(), "/healthz").unwrap().status, 200);
    let there = read_all(&address, "t", 0);
    assert!(there.len() >= acknowledged, "reads go on");
    assert!(contents(there).starts_with(&numbered(0, acknowledged)));

    // Space alone doesn't make it write again: what the disk has of the failed write is unknown.
    limit_files(&server, None);
    let launch = launch.at(&server);
    let exit = server.terminate();
    assert!(exit.status.success(), "{:?}: {}", exit.status, exit.stderr);
    let server = launch.start().unwrap();
    let (_, end) = watermarks(&address, "t", 0);
    let there = contents(read_all(&address, "t", 0));
    assert!(there.starts_with(&numbered(0, acknowledged)), "{end} records are there, {acknowledged} acknowledged");
    write(&producer(&address, &[]), "t", 0, &[Content::value("after")]);
    assert_eq!(contents(read_all(&address, "t", 0)).last(), Some(&Content::value("after")));
    drop(server);
}
