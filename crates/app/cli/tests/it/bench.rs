//! `daybook bench`: that every run counts what it is told to. Figures are nobody's concern here.

use crate::harness::{Server, alone, dir};

fn own_topics(server: &Server) -> usize {
    server.json(&["topic", "list"]).as_array().expect("a list").len()
}

#[test]
fn producing_and_consuming_count_every_record() {
    let data = dir();
    let server = Server::start(data.path());
    for (partitions, connections) in [("1", "1"), ("3", "2"), ("2", "5")] {
        let load = ["--record-bytes", "100", "--partitions", partitions, "--connections", connections];
        let produced = server.json(&[&["bench", "produce", "--records", "5000"], &load[..]].concat());
        assert!(produced["records"].as_u64().expect("a number") >= 5000);
        assert!(produced["answered_ms"]["p99.9"].as_f64().expect("a number") > 0.0);
        let consumed = server.json(&[&["bench", "consume", "--records", "5000", "--check-crc"], &load[..]].concat());
        assert!(consumed["records"].as_u64().expect("a number") >= 5000);
    }
    assert_eq!(own_topics(&server), 0, "topics made for a run are deleted");
}

#[test]
fn every_record_of_a_topic_is_read_once_a_pass() {
    let data = dir();
    let server = Server::start(data.path());
    server.run(&["topic", "create", "t", "--partitions", "3"]);
    let input: String = (0..3000).map(|n| format!("key{n}:{n}\n")).collect();
    server.run_with(&["produce", "t", "--key-separator", ":", "--batch-bytes", "2KiB"], input.as_bytes());
    for connections in ["1", "2", "3", "7"] {
        let consume = ["bench", "consume", "--topic", "t", "--connections", connections];
        assert_eq!(server.json(&consume)["records"], 3000, "{connections} connections");
        assert_eq!(server.json(&[&consume[..], &["--passes", "2"]].concat())["records"], 6000);
        let cold = ["--cold", data.path().to_str().expect("a text")];
        assert_eq!(server.json(&[&consume[..], &cold[..]].concat())["records"], 3000);
    }
    assert_eq!(own_topics(&server), 1);
}

#[test]
fn latency_sees_every_record_it_sends() {
    let data = dir();
    let server = Server::start(data.path());
    let run = ["bench", "latency", "--rate", "500", "--seconds", "1", "--warmup-seconds", "0.2", "--connections", "2"];
    let report = server.json(&[&run[..], &["--partitions", "3"]].concat());
    let count = report["received_ms"]["count"].as_u64().expect("a number");
    assert_eq!(report["answered_ms"]["count"], count);
    // At the edges a record may be counted to the warm-up or not.
    assert!((498..=502).contains(&count), "{count}");
    assert!(server.fail(&["bench", "latency", "--topic", "t"]).contains("leave out --topic"));
}

#[test]
fn single_writes_and_the_bare_disk_are_measured() {
    let data = dir();
    let server = Server::start(data.path());
    let report = server.json(&["bench", "sync", "--seconds", "0.3", "--warmup-seconds", "0"]);
    assert!(report["records"].as_u64().expect("a number") > 0);
    assert!(server.fail(&["bench", "sync", "--acks", "0"]).contains("use 1 or all"));
    let disk = dir();
    let dir_text = disk.path().to_str().expect("a text");
    let output = alone(&["bench", "disk", "--seconds", "0.1", "--json", "--dir", dir_text]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(report["recycled"]["sync_ms"]["count"].as_u64().expect("a number") > 0);
    assert_eq!(std::fs::read_dir(disk.path()).expect("a directory").count(), 0, "the file is deleted");
}

#[test]
fn a_process_that_is_named_is_watched() {
    let data = dir();
    let server = Server::start(data.path());
    let pid = std::process::id().to_string();
    let report = server.json(&["bench", "produce", "--records", "100", "--pid", &pid]);
    assert!(report["server_resident_bytes_peak"].as_u64().expect("a number") > 0);
    assert!(report["server_cpu_seconds"].is_number());
}
