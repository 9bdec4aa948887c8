//! `daybook stream` and `daybook category`.

use std::process::Output;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Running, Server, alone, daybook, dir, output};

impl Server {
    /// Runs `daybook stream …` against the server's HTTP port.
    fn stream(&self, args: &[&str], input: &[u8]) -> Output {
        output(daybook().arg("stream").args(args).args(["--http", &self.http]), input)
    }

    fn stream_ok(&self, args: &[&str], input: &[u8]) -> String {
        let output = self.stream(args, input);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("the output is text")
    }

    fn stream_fails(&self, args: &[&str], input: &[u8]) -> String {
        let output = self.stream(args, input);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        String::from_utf8(output.stderr).expect("messages are text")
    }

    fn subscribe(&self, args: &[&str]) -> Running {
        Running::start(daybook().args(["stream", "subscribe", "--http", &self.http]).args(args))
    }
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a document a line")).collect()
}

#[test]
fn lines_become_events_and_are_read_back() {
    let data = dir();
    let server = Server::start(data.path());
    let args = ["append", "order-1", "--type", "placed", "--expected", "none", "--tag", "a", "--tag", "b"];
    let told = server.stream_ok(&args, b"{\"sum\": 1.50}\n\n[2]\r\n\"three\"");
    assert!(told.starts_with("order-1: 3 events, versions 0 to 2, position 2, token 0:"), "{told}");

    let table = server.stream_ok(&["read", "order-1"], b"");
    let lines: Vec<_> = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(lines[0], ["VERSION", "TYPE", "TIME", "TAGS", "DATA"]);
    assert_eq!(
        (lines[1][0], lines[1][1], lines[1][3], &lines[1][4..]),
        ("0", "placed", "a,b", &["{\"sum\":", "1.50}"][..])
    );
    assert_eq!(lines.len(), 4);

    let events = json_lines(&server.stream_ok(&["read", "order-1", "--json", "--backwards", "--max", "2"], b""));
    assert_eq!((events.len(), &events[0]["data"], &events[1]["data"]), (2, &"three".into(), &serde_json::json!([2])));

    let conflict = server.stream_fails(&args, b"1\n");
    assert!(conflict.contains("stream order-1: expected no stream, but it is at version 2"), "{conflict}");
    assert!(conflict.contains("daybook stream read"), "{conflict}");
    server.stream_ok(&["append", "order-1", "--type", "paid", "--expected", "2", "--data", "1", "--data", "2"], b"");
    let summary: Value = serde_json::from_str(
        &server
            .stream_ok(&["append", "order-1", "--type", "paid", "--json", "--time", "2026-01-02T03:04:05Z"], b"{}\n"),
    )
    .expect("JSON");
    assert_eq!((&summary["events"], &summary["last_version"]), (&1.into(), &5.into()));
    let token = summary["token"].as_str().expect("text");
    let last = json_lines(&server.stream_ok(&["read", "order-1", "--json", "--from", "5", "--token", token], b""));
    assert_eq!(last[0]["time"], "2026-01-02T03:04:05Z");
}

#[test]
fn lines_that_are_no_json_need_another_media_type() {
    let data = dir();
    let server = Server::start(data.path());
    let refused = server.stream_fails(&["append", "log-1", "--type", "line"], b"{}\nhello\n");
    assert!(refused.contains("line 2: it is no JSON; --content-type text/plain takes any line"), "{refused}");
    server.stream_ok(&["append", "log-1", "--type", "line", "--content-type", "text/plain"], b"hello\n\nworld\n");
    let events = json_lines(&server.stream_ok(&["read", "log-1", "--json"], b""));
    assert_eq!(events.len(), 3, "an empty line of text is one");
    assert_eq!((&events[0]["data_base64"], &events[0]["content_type"]), (&"aGVsbG8=".into(), &"text/plain".into()));
    assert!(server.stream_ok(&["read", "log-1"], b"").contains("hello"));
}

#[test]
fn many_lines_are_appended_in_parts_or_at_once() {
    let data = dir();
    let server = Server::start(data.path());
    let input: String = (0..2500).map(|n| format!("{n}\n")).collect();
    server.stream_ok(&["append", "n-1", "--type", "n", "--expected", "none"], input.as_bytes());
    server.stream_ok(&["append", "n-2", "--type", "n", "--expected", "none", "--atomic"], input.as_bytes());
    for stream in ["n-1", "n-2"] {
        let events = json_lines(&server.stream_ok(&["read", stream, "--json", "--max", "100000"], b""));
        let numbers: Vec<_> = events.iter().map(|event| event["data"].as_u64().expect("a number")).collect();
        assert_eq!(numbers, (0..2500).collect::<Vec<_>>(), "{stream}");
    }
    let output = server.stream(&["read", "n-1", "--max", "2"], b"");
    assert!(String::from_utf8_lossy(&output.stderr).contains("there are more: --from 2 goes on"));
}

#[test]
fn all_events_are_read_and_filtered() {
    let data = dir();
    let server = Server::start(data.path());
    for (stream, event_type) in [("a-1", "x"), ("b-1", "x"), ("a-2", "y")] {
        server.stream_ok(&["append", stream, "--type", event_type, "--data", "{}"], b"");
    }
    let streams = |args: &[&str]| {
        let events = json_lines(&server.stream_ok(&[&["read", "--json"], args].concat(), b""));
        events.iter().map(|event| event["stream"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(streams(&["--all"]), ["a-1", "b-1", "a-2"]);
    assert_eq!(streams(&["--category", "a"]), ["a-1", "a-2"]);
    assert_eq!(streams(&["--all", "--type", "x"]), ["a-1", "b-1"]);
    assert_eq!(streams(&["--all", "--stream-prefix", "b", "--stream-prefix", "a-2"]), ["b-1", "a-2"]);
    assert!(server.stream_ok(&["read", "--all"], b"").starts_with("POSITION  STREAM  VERSION  TYPE"));
    assert!(server.stream_fails(&["read", "a-1", "--type", "x"], b"").contains("--all --stream-prefix a-1"));
    assert!(server.stream_fails(&["read", "c-1"], b"").contains("stream c-1 does not exist\n  `daybook stream list`"));
}

#[test]
fn streams_are_listed_and_deleted() {
    let data = dir();
    let server = Server::start(data.path());
    for stream in ["a-1", "a-2", "a/b"] {
        server.stream_ok(&["append", stream, "--type", "t", "--data", "1", "--data", "2"], b"");
    }
    let list = server.stream_ok(&["list"], b"");
    let rows: Vec<Vec<_>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["STREAM", "STATE", "EVENTS", "FIRST", "LAST", "POSITION"]);
    assert_eq!((&rows[1][..], rows.len()), (&["a-1", "exists", "2", "0", "1", "1"][..], 4));
    assert!(server.stream_fails(&["delete", "a-1", "--expected", "7"], b"").contains("it is at version 1"));
    assert!(server.stream_ok(&["delete", "a-1", "--expected", "1"], b"").starts_with("a-1: deleted, token 0:"));
    assert!(server.stream_ok(&["delete", "a/b", "--tombstone"], b"").starts_with("a/b: deleted for ever"));
    assert!(server.stream_fails(&["read", "a-1"], b"").contains("was deleted"));
    assert!(server.stream_fails(&["append", "a/b", "--type", "t"], b"1\n").contains("deleted for ever"));
    let categories: Value =
        serde_json::from_str(&server.run(&["category", "list", "--http", &server.http, "--json"])).expect("JSON");
    let mut names: Vec<_> =
        categories.as_array().expect("a list").iter().map(|row| row["category"].as_str().expect("text")).collect();
    names.sort_unstable();
    assert_eq!(names, ["_streams", "a"]);
}

#[test]
fn a_subscriber_sees_history_and_what_comes_and_can_be_interrupted() {
    let data = dir();
    let server = Server::start(data.path());
    server.stream_ok(&["append", "s-1", "--type", "old", "--data", "1"], b"");
    let mut follower = server.subscribe(&["s-1"]);
    assert_eq!(follower.line(), "0  old  1");
    for n in 2..5 {
        server.stream_ok(&["append", "s-1", "--type", "new", "--data", &n.to_string()], b"");
        assert_eq!(follower.line(), format!("{}  new  {n}", n - 1));
    }
    follower.signal(Signal::INT);
    assert_eq!(follower.wait(), Some(0));

    let mut follower = server.subscribe(&["--all", "--json", "--max", "2", "--from", "2"]);
    let event: Value = serde_json::from_str(&follower.line()).expect("JSON");
    assert_eq!((&event["position"], &event["stream"]), (&2.into(), &"s-1".into()));
    assert!(!follower.line().is_empty());
    assert_eq!(follower.wait(), Some(0));
}

#[test]
fn a_subscriber_outlasts_the_server() {
    let data = dir();
    let server = Server::start(data.path());
    server.stream_ok(&["append", "s-1", "--type", "t", "--data", "1"], b"");
    let mut follower = server.subscribe(&["s-1"]);
    assert_eq!(follower.line(), "0  t  1");
    let http = server.http.clone();
    server.running.signal(Signal::TERM);
    assert_eq!(server.running.wait(), Some(0), "an open event stream doesn't hold up the stop");
    let mut command = daybook();
    command.args(["serve", "--kafka", "127.0.0.1:0", "--http", &http, "--set", "log.level=warn", "--data"]);
    let mut running = Running::start(command.arg(data.path()));
    let ready = running.line();
    let server = Server { running, kafka: String::new(), http, ready };
    server.stream_ok(&["append", "s-1", "--type", "t", "--data", "2"], b"");
    assert_eq!(follower.line(), "1  t  2", "nothing twice, nothing missed");
}

#[test]
fn a_server_that_is_not_there_is_told_with_the_next_step() {
    // Port 1 is reserved, and nobody listens on it.
    let output = alone(&["stream", "list", "--http", "127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).expect("messages are text");
    assert!(errors.contains("127.0.0.1:1") && errors.contains("--http HOST:PORT"), "{errors}");
    assert_eq!(alone(&["stream", "read"]).status.code(), Some(2), "what is to be read is missing");
}

#[test]
fn the_space_of_a_deleted_stream_comes_back() {
    let data = dir();
    let server = Server::start(data.path());
    assert_eq!(server.stream_ok(&["scavenge", "--show"], b""), "no scavenge since the server started\n");
    let lines = format!("\"{}\"\n", "x".repeat(2_000)).repeat(50);
    server.stream_ok(&["append", "order-1", "--type", "placed"], lines.as_bytes());
    server.stream_ok(&["append", "order-2", "--type", "placed", "--data", "1"], b"");
    server.stream_ok(&["delete", "order-1"], b"");
    // A start after an orderly stop has it all in files.
    server.running.signal(Signal::TERM);
    assert_eq!(server.running.wait(), Some(0));
    let server = Server::start(data.path());
    let report: Value = serde_json::from_str(&server.stream_ok(&["scavenge", "--json"], b"")).expect("JSON");
    assert_eq!(report["state"], "finished", "{report}");
    assert!(report["bytes_freed"].as_u64() > Some(50_000), "{report}");
    let shown = server.stream_ok(&["scavenge", "--show"], b"");
    assert!(shown.contains("finished, 49 events removed"), "{shown}");
    assert_eq!(json_lines(&server.stream_ok(&["read", "order-2", "--json"], b"")).len(), 1);
    // A Kafka consumer passes the gap, and finds what is left at the offsets it had.
    let consumed = server.run(&["consume", "order", "--format", r"%o %k\n"]);
    assert_eq!(consumed, "49 order-1\n50 order-2\n51 $$order-1\n");
}
