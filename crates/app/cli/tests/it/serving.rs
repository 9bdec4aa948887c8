//! `daybook serve`, and configuration as it reaches a process.

use rustix::process::Signal;

use crate::harness::{Running, Server, alone, daybook, dir};

#[test]
fn the_ready_line_names_every_door_and_is_the_only_one() {
    let data = dir();
    let mut server = Server::start(data.path());
    assert!(!server.kafka.ends_with(":0") && !server.http.ends_with(":0"));
    let Server { kafka, http, .. } = &server;
    assert_eq!(server.ready, format!("daybook ready kafka={kafka} http={http} data={}", data.path().display()));
    server.run(&["topic", "list"]);
    server.running.signal(Signal::TERM);
    assert_eq!(server.running.line(), "", "nothing else is printed");
    assert_eq!(server.running.wait(), Some(0));
}

#[test]
fn what_was_written_is_there_after_a_restart() {
    let data = dir();
    for (round, signal) in [(1, Signal::TERM), (2, Signal::INT), (3, Signal::TERM)] {
        let server = Server::start(data.path());
        server.run_with(&["produce", "kept"], format!("round {round}\n").as_bytes());
        let lines = server.run(&["consume", "kept", "--format", r"%o %s\n"]);
        let expected: String = (1..=round).map(|round| format!("{} round {round}\n", round - 1)).collect();
        assert_eq!(lines, expected);
        server.running.signal(signal);
        assert_eq!(server.running.wait(), Some(0), "an orderly stop");
    }
}

#[test]
fn a_second_process_on_the_same_directory_is_refused() {
    let data = dir();
    let server = Server::start(data.path());
    let second = daybook()
        .args(["serve", "--kafka", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data"])
        .arg(data.path())
        .output()
        .expect("the binary starts");
    assert_eq!(second.status.code(), Some(1));
    assert!(second.stdout.is_empty(), "it was never ready");
    let message = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(message.contains(&data.path().display().to_string()), "{message}");
    server.run(&["topic", "list"]);
}

#[test]
fn settings_reach_the_process_in_layers() {
    let dir = dir();
    let file = dir.path().join("daybook.toml");
    std::fs::write(&file, "[kafka]\ndefault_partitions = 3\n[wal]\nsync = \"os\"\n").expect("written");
    let mut command = daybook();
    command.args(["config", "--json", "--set", "node.id=7", "--config"]).arg(&file);
    let output = command.env("DAYBOOK_KAFKA_DEFAULT_PARTITIONS", "5").output().expect("the binary starts");
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let row = |key: &str| {
        let row = rows.as_array().expect("a list").iter().find(|row| row["key"] == key).expect(key);
        (row["value"].as_str().expect("text").to_owned(), row["source"].as_str().expect("text").to_owned())
    };
    let pair = |value: &str, source: &str| (value.to_owned(), source.to_owned());
    assert_eq!(row("kafka.default_partitions"), pair("5", "DAYBOOK_KAFKA_DEFAULT_PARTITIONS"));
    assert_eq!(row("wal.sync"), pair("os", &format!("{}:4", file.display())));
    assert_eq!(row("node.id"), pair("7", "--set"));
    assert_eq!(row("kafka.listen"), pair("127.0.0.1:9092", "default"));
}

#[test]
fn wrong_settings_are_told_before_anything_starts() {
    let output = daybook().args(["serve"]).env("DAYBOOK_KAFKA_LISTN", "x").output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("DAYBOOK_KAFKA_LISTEN"), "{message}");
    let message = String::from_utf8(alone(&["serve", "--set", "wal.sync=never"]).stderr).expect("text");
    assert!(message.contains("wal.sync") && message.contains("\"always\" or \"os\""), "{message}");
}

#[test]
fn wrong_usage_is_exit_code_2_and_no_server_is_1() {
    assert_eq!(alone(&["topic"]).status.code(), Some(2));
    assert_eq!(alone(&["frobnicate"]).status.code(), Some(2));
    // A port that was free a moment ago, and that nobody listens on.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    drop(listener);
    let output = alone(&["topic", "list", "--bootstrap", &address]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains(&address) && message.contains("daybook serve"), "{message}");
}

#[test]
fn a_reader_that_closes_its_end_is_no_error() {
    let data = dir();
    let server = Server::start(data.path());
    let input: String = (0..200_000).map(|n| format!("line {n}\n")).collect();
    server.run_with(&["produce", "many"], input.as_bytes());
    let mut command = daybook();
    let mut consumer = Running::start(command.args(["consume", "many", "--bootstrap", &server.kafka]));
    assert_eq!(consumer.line(), "line 0");
    assert_eq!(consumer.close_and_wait(), Some(0));
}
