//! `daybook topic`.

use crate::harness::{Server, dir};

#[test]
fn topics_are_made_described_changed_and_deleted() {
    let data = dir();
    let server = Server::start(data.path());
    assert_eq!(
        server.run(&["topic", "create", "orders", "--partitions", "3", "--config", "retention.ms=1000"]),
        "orders: created\n"
    );
    assert!(server.fail(&["topic", "create", "orders"]).contains("TOPIC_ALREADY_EXISTS"));
    assert_eq!(server.run(&["topic", "create", "orders", "--if-not-exists"]), "orders: exists\n");

    let list = server.json(&["topic", "list"]);
    assert_eq!((&list[0]["topic"], &list[0]["partitions"]), (&"orders".into(), &3.into()));
    assert!(server.run(&["topic", "list"]).contains("orders           3            1\n"));

    let described = server.json(&["topic", "describe", "orders"]);
    assert_eq!(described["partitions"].as_array().expect("a list").len(), 3);
    assert_eq!(described["partitions"][2]["end_offset"], 0);
    let config = |described: &serde_json::Value, name: &str| {
        let configs = described["configs"].as_array().expect("a list").clone();
        let found = configs.into_iter().find(|config| config["name"] == name).expect(name);
        (found["value"].as_str().expect("text").to_owned(), found["source"].as_str().expect("text").to_owned())
    };
    assert_eq!(config(&described, "retention.ms"), ("1000".to_owned(), "topic".to_owned()));
    assert_eq!(config(&described, "cleanup.policy").1, "default");

    assert_eq!(
        server.run(&["topic", "delete", "orders", "gone", "--if-exists"]),
        "orders: deleted\ngone: does not exist\n"
    );
    assert!(server.fail(&["topic", "describe", "orders"]).contains("UNKNOWN_TOPIC_OR_PARTITION"));
    assert_eq!(server.json(&["topic", "list"]), serde_json::json!([]));
}

#[test]
fn illegal_topics_are_refused_with_the_servers_reason() {
    let data = dir();
    let server = Server::start(data.path());
    assert!(server.fail(&["topic", "create", "a b"]).contains("INVALID_TOPIC_EXCEPTION"));
    assert!(server.fail(&["topic", "create", "a", "--config", "no.such=1"]).contains("INVALID_CONFIG"));
    assert!(server.fail(&["topic", "delete", "a"]).contains("daybook topic list"));
}
