//! `daybook group`.

use crate::harness::{Server, dir};

#[test]
fn a_group_is_read_for_described_moved_and_deleted() {
    let data = dir();
    let server = Server::start(data.path());
    let input: String = (0..10).map(|n| format!("{n}\n")).collect();
    server.run_with(&["produce", "t"], input.as_bytes());
    let read = |args: &[&str]| server.run(&[&["consume", "t", "--format", "%s", "--group", "g"], args].concat());
    assert_eq!(read(&["--count", "4"]), "0123");
    let described = server.json(&["group", "describe", "g"]);
    assert_eq!((&described["state"], &described["lag"]), (&"Empty".into(), &6.into()));
    assert_eq!(described["offsets"][0]["committed"], 4);
    assert_eq!(read(&[]), "456789");
    assert_eq!(read(&[]), "");
    assert_eq!(server.json(&["group", "list"])[0]["group"], "g");

    let dry = server.json(&["group", "reset", "g", "--to-earliest", "--dry-run"]);
    assert_eq!((&dry["committed"], &dry["partitions"][0]["to"]), (&false.into(), &0.into()));
    assert_eq!(read(&[]), "");
    server.run(&["group", "reset", "g", "--to-offset", "8"]);
    assert_eq!(read(&[]), "89");
    server.run(&["group", "reset", "g", "--topic", "t:0", "--to-timestamp", "0"]);
    assert_eq!(server.json(&["group", "describe", "g"])["lag"], 10);
    server.run(&["group", "reset", "g", "--to-latest"]);
    assert_eq!(server.json(&["group", "describe", "g"])["lag"], 0);

    assert_eq!(server.run(&["group", "delete", "g"]), "g: deleted\n");
    assert!(server.fail(&["group", "delete", "g"]).contains("GROUP_ID_NOT_FOUND"));
    assert!(server.fail(&["group", "reset", "g", "--to-latest"]).contains("--topic"));
    assert_eq!(server.json(&["group", "list"]), serde_json::json!([]));
}

#[test]
fn offsets_of_a_topic_that_is_gone_have_no_end() {
    let data = dir();
    let server = Server::start(data.path());
    for topic in ["kept", "gone"] {
        server.run_with(&["produce", topic], b"x\n");
        server.run(&["consume", topic, "--group", "g"]);
    }
    server.run(&["topic", "delete", "gone"]);
    let described = server.json(&["group", "describe", "g"]);
    let offsets = described["offsets"].as_array().expect("a list");
    let kept = offsets.iter().find(|row| row["topic"] == "kept").expect("kept");
    assert_eq!((&kept["committed"], &kept["lag"]), (&1.into(), &0.into()));
    // The server may forget them with the topic; if it doesn't, it can't know how far they lag.
    assert!(offsets.iter().filter(|row| row["topic"] == "gone").all(|row| row["end"].is_null()));
}
