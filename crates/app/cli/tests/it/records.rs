//! `daybook produce` and `daybook consume`.

use crate::harness::{Server, dir};

#[test]
fn lines_come_back_with_keys_headers_and_places() {
    let data = dir();
    let server = Server::start(data.path());
    let produce = ["produce", "t", "--key-separator", "=", "--header", "a=1", "--header", "a=2", "--json"];
    let summary: serde_json::Value =
        serde_json::from_str(&server.run_with(&produce, b"k=v=w\nplain\r\n=empty key\nk=\n")).expect("JSON");
    assert_eq!((&summary["records"], &summary["bytes"]), (&4.into(), &27.into()));
    assert_eq!(summary["partitions"][0]["last_offset"], 3);

    let lines = server.run(&["consume", "t", "--format", r"%t/%p/%o %k(%K)=%s(%S) %h\n"]);
    assert_eq!(
        lines,
        "t/0/0 k(1)=v=w(3) a=1,a=2\nt/0/1 (-1)=plain(5) a=1,a=2\nt/0/2 (0)=empty key(9) a=1,a=2\nt/0/3 k(1)=(0) a=1,a=2\n"
    );
    let json = server.run(&["consume", "t", "--json", "--count", "2"]);
    let lines: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).expect("a document a line")).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["key"], &lines[1]["key"]), (&"k".into(), &serde_json::Value::Null));
    assert_eq!(lines[1]["headers"], serde_json::json!([{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]));
}

#[test]
fn reading_starts_where_it_is_told_to() {
    let data = dir();
    let server = Server::start(data.path());
    let input: String = (0..10).map(|n| format!("{n}\n")).collect();
    server.run_with(&["produce", "t"], input.as_bytes());
    let read = |args: &[&str]| server.run(&[&["consume", "t", "--format", "%s"], args].concat());
    assert_eq!(read(&[]), "0123456789");
    assert_eq!(read(&["--from-beginning", "--count", "3"]), "012");
    assert_eq!(read(&["--offset", "7"]), "789");
    assert_eq!(read(&["--offset", "-2"]), "89");
    assert_eq!(read(&["--offset", "-200"]), "0123456789");
    assert_eq!(read(&["--offset", "1000"]), "");
    assert_eq!(read(&["--from-end"]), "");
    assert_eq!(read(&["--timestamp", "0"]), "0123456789");
    assert_eq!(read(&["--timestamp", "2200-01-01T00:00:00Z"]), "");
    assert_eq!(read(&["--partition", "0", "--count", "0"]), "");
    assert!(server.fail(&["consume", "t", "--partition", "1"]).contains("has no partition 1, it has 1"));
    assert!(server.fail(&["consume", "nope"]).contains("UNKNOWN_TOPIC_OR_PARTITION"));
}

#[test]
fn every_codec_and_a_small_batch_give_the_same_lines() {
    let data = dir();
    let server = Server::start(data.path());
    let input: String = (0..5000).map(|n| format!("line number {n} of a few\n")).collect();
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        for acks in ["0", "1", "all"] {
            let topic = format!("{codec}-{acks}");
            let produce = ["produce", &topic, "--compression", codec, "--acks", acks, "--batch-bytes", "4KiB"];
            server.run_with(&produce, input.as_bytes());
            // What nobody waited for may still be on its way; one that is waited for comes after it.
            let last = server.run_with(&["produce", &topic], b"end\n");
            assert!(last.contains("1 records"), "{last}");
            let lines = server.run(&["consume", &topic]);
            // Acks 0 has a connection of its own, of which nothing is known: only its order is sure.
            let expected = input.clone();
            let without_end: String = lines.split_inclusive('\n').filter(|line| *line != "end\n").collect();
            if acks == "0" {
                assert!(expected.starts_with(&without_end), "{topic}");
            } else {
                assert_eq!(without_end, expected, "{topic}");
            }
        }
    }
}

#[test]
fn keys_keep_their_partition_and_others_are_spread() {
    let data = dir();
    let server = Server::start(data.path());
    server.run(&["topic", "create", "t", "--partitions", "4"]);
    let input: String = (0..400).map(|n| format!("key{}:{n}\n", n % 20)).collect();
    server.run_with(&["produce", "t", "--key-separator", ":"], input.as_bytes());
    let lines = server.run(&["consume", "t", "--format", r"%k %p %s\n"]);
    let mut places = std::collections::BTreeMap::new();
    let mut last = std::collections::BTreeMap::new();
    for line in lines.lines() {
        let [key, partition, number] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert_eq!(*places.entry(key.to_owned()).or_insert(partition.to_owned()), partition, "{key}");
        let number: i32 = number.parse().expect("a number");
        assert!(last.insert(key.to_owned(), number).is_none_or(|before| before < number), "in order of writing");
    }
    assert_eq!(lines.lines().count(), 400);
    assert!(places.values().collect::<std::collections::BTreeSet<_>>().len() > 1);
    server.run_with(&["produce", "t", "--partition", "2"], b"here\n");
    assert!(server.run(&["consume", "t", "--partition", "2", "--offset", "-1"]).contains("here"));
}

#[test]
fn an_empty_value_is_a_deletion_only_when_asked() {
    let data = dir();
    let server = Server::start(data.path());
    server.run_with(&["produce", "t", "--key-separator", ":"], b"a:\n");
    server.run_with(&["produce", "t", "--key-separator", ":", "--empty-is-null"], b"a:\n");
    assert_eq!(server.run(&["consume", "t", "--format", r"%S\n"]), "0\n-1\n");
    server.run_with(&["produce", "none"], b"");
    assert_eq!(server.run(&["consume", "none"]), "");
}
