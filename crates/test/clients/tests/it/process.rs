//! The server as a process: what it prints, how it ends.

use daybook_test_server::{Server, http_get};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::broker::{create_topic, launch, stand_in};
use crate::writing::{Content, producer, write};

fn start() -> Option<(Server, TempDir)> {
    if stand_in().is_some() {
        return None;
    }
    let data = TempDir::new().unwrap();
    Some((launch(&data).start().unwrap(), data))
}

#[test]
fn signals_end_it_in_order_and_it_has_printed_one_line() {
    for signal in [Signal::TERM, Signal::INT] {
        let Some((server, data)) = start() else { return };
        let address = server.kafka().to_owned();
        create_topic(&address, "t", 1, &[]).unwrap();
        // A client that stays connected doesn't keep the server up.
        let producer = producer(&address, &[]);
        write(&producer, "t", 0, &[Content::value("x")]);
        let expected =
            format!("daybook ready kafka={} http={} data={}\n", server.kafka(), server.http(), data.path().display());
        let exit = server.stop_by(signal);
        assert_eq!(exit.status.code(), Some(0), "after {signal:?}: {}", exit.stderr);
        assert_eq!(exit.stdout, expected);
        assert!(!exit.stderr.contains("panicked"), "{}", exit.stderr);
    }
}

#[test]
fn the_http_door_tells_health() {
    let Some((server, _data)) = start() else { return };
    let get = |path: &str| http_get(server.http(), path).unwrap();
    assert_eq!(get("/healthz").status, 200);
    assert_eq!(get("/readyz").status, 200);
    assert_eq!(get("/nothing").status, 404);
    create_topic(server.kafka(), "measured", 1, &[]).unwrap();
    write(&producer(server.kafka(), &[]), "measured", 0, &[Content::value("x")]);
    let metrics = get("/metrics");
    assert_eq!(metrics.status, 200);
    let samples: Vec<_> = metrics.body.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    assert!(!samples.is_empty(), "it measures something");
    for sample in samples {
        let value = sample.rsplit(' ').next().unwrap();
        assert!(value.parse::<f64>().is_ok(), "no sample of Prometheus's text format: {sample:?}");
    }
}

#[test]
fn an_address_in_use_is_an_error_that_names_it() {
    let Some((server, _data)) = start() else { return };
    let other = TempDir::new().unwrap();
    let refused = launch(&other).at(&server).start();
    let Err(daybook_test_server::StartError::Ended(exit)) = refused else { panic!("{refused:?}") };
    assert_eq!(exit.status.code(), Some(1));
    assert_eq!(exit.stdout, "");
    assert!(exit.stderr.contains(server.kafka()), "{}", exit.stderr);
}
