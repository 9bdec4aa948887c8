//! Exactly once from the producer's side, whatever becomes of connections.

use std::net::TcpListener;

use daybook_test_server::Server;
use tempfile::TempDir;

use crate::broker::{create_topic, launch, stand_in, unique};
use crate::proxy::Proxy;
use crate::reading::{numbers, read_all};
use crate::writing::{Content, outcome, producer, send};

const RECORDS: usize = 20_000;
const PARTITIONS: usize = 3;

/// A broker that clients reach through a proxy only.
struct Proxied {
    proxy: Proxy,
    _server: Option<(Server, TempDir)>,
}

impl Proxied {
    /// Against another broker `DAYBOOK_TEST_PROXIED=HOST:PORT=HOST:PORT` names its own address and the one, free on this
    /// machine, that it advertises.
    fn start(seed: u64) -> Option<Self> {
        if stand_in().is_some() {
            let named = std::env::var("DAYBOOK_TEST_PROXIED").ok()?;
            let (own, advertised) = named.split_once('=').expect("two addresses");
            let proxy = Proxy::listen_on(TcpListener::bind(advertised).unwrap(), seed);
            proxy.serve(own);
            return Some(Self { proxy, _server: None });
        }
        let proxy = Proxy::listen(seed);
        let data = TempDir::new().unwrap();
        let server = launch(&data).set("kafka.advertised", proxy.address()).start().unwrap();
        proxy.serve(server.kafka());
        Some(Self { proxy, _server: Some((server, data)) })
    }
}

fn seed() -> u64 {
    let seed = std::env::var("DAYBOOK_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(rand::random);
    println!("DAYBOOK_TEST_SEED={seed}");
    seed
}

fn through_cuts(settings: &[(&str, &str)]) {
    let Some(broker) = Proxied::start(seed()) else { return };
    let address = broker.proxy.address();
    let topic = unique("cut");
    create_topic(address, &topic, PARTITIONS as i32, &[]).unwrap();

    broker.proxy.cut(true);
    let base = [
        ("enable.idempotence", "true"),
        ("linger.ms", "1"),
        ("batch.num.messages", "40"),
        ("retry.backoff.ms", "10"),
        ("retry.backoff.max.ms", "50"),
        ("socket.timeout.ms", "10000"),
    ];
    let writer = producer(address, &[&base, settings].concat());
    let content = |number: usize| Content { key: Some(vec![b'k'; number % 300]), ..Content::number(number) };
    let sent: Vec<_> = (0..RECORDS)
        .map(|number| send(&writer, &topic, (number % PARTITIONS) as i32, &content(number), None).unwrap())
        .collect();
    let offsets: Vec<_> = sent.into_iter().map(|delivery| outcome(delivery).unwrap().offset).collect();
    broker.proxy.cut(false);
    assert!(
        broker.proxy.cuts() >= 15,
        "only {} connections were cut: the test has tested nothing",
        broker.proxy.cuts()
    );
    drop(writer);

    // Connections that are still to be cut belong to the writer.
    for partition in 0..PARTITIONS {
        let seen = read_all(address, &topic, partition as i32);
        let expected: Vec<_> = (partition..RECORDS).step_by(PARTITIONS).collect();
        assert!(
            numbers(&seen) == expected,
            "partition {partition} differs: {:?}",
            first_difference(&numbers(&seen), &expected)
        );
        assert!(seen.iter().zip(&expected).all(|(seen, number)| seen.content == content(*number)));
        for (seen, number) in seen.iter().zip(expected) {
            // Of a batch that turned out to be written already a client may not learn the offset.
            assert!(
                [seen.offset, -1].contains(&offsets[number]),
                "record {number} was said to be at {}",
                offsets[number]
            );
        }
    }
}

fn first_difference(found: &[usize], expected: &[usize]) -> Option<(usize, Option<usize>, Option<usize>)> {
    let longest = found.len().max(expected.len());
    let pairs = (0..longest).map(|at| (at, found.get(at).copied(), expected.get(at).copied()));
    pairs.into_iter().find(|(_, found, expected)| found != expected)
}

#[test]
fn every_record_once_and_in_order_while_connections_are_cut() {
    through_cuts(&[]);
}

#[test]
fn every_record_once_and_in_order_with_one_request_in_flight() {
    through_cuts(&[("max.in.flight.requests.per.connection", "1")]);
}
