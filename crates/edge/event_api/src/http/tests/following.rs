//! Server-sent events.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::json;

use super::harness::{Messages, Node};

/// The ids of the next events, and their data.
async fn events(messages: &mut Messages, count: usize) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    while found.len() < count {
        let (name, id, data) = messages.message().await;
        assert_eq!(name, "", "{data}");
        found.push((id.expect("an event has an id"), data["data"].as_u64().expect("a number")));
    }
    found
}

async fn caught_up(messages: &mut Messages) -> serde_json::Value {
    let (name, id, data) = messages.message().await;
    assert_eq!((name.as_str(), id), ("caught-up", None));
    data["last_position"].clone()
}

#[tokio::test]
async fn a_stream_is_followed_from_history_to_what_comes() {
    let node = Node::start().await;
    node.fill("other-1", 100, 2).await;
    node.fill("s-1", 0, 2).await;
    let mut messages = node.follow("/streams/s-1", &[]).await;
    assert_eq!(events(&mut messages, 2).await, [(0, 0), (1, 1)]);
    assert_eq!(caught_up(&mut messages).await, 3);
    node.fill("other-1", 102, 1).await;
    node.fill("s-1", 2, 2).await;
    assert_eq!(events(&mut messages, 2).await, [(2, 2), (3, 3)]);

    // Where a client that was cut off goes on; also if its URL says otherwise.
    let mut messages = node.follow("/streams/s-1?from=0", &[("last-event-id", "2")]).await;
    assert_eq!(events(&mut messages, 1).await, [(3, 3)]);
    let mut messages = node.follow("/streams/s-1?from=2", &[]).await;
    assert_eq!(events(&mut messages, 2).await, [(2, 2), (3, 3)]);
    let mut messages = node.follow("/streams/s-1?from=end", &[]).await;
    caught_up(&mut messages).await;
    node.fill("s-1", 4, 1).await;
    assert_eq!(events(&mut messages, 1).await, [(4, 4)]);
}

#[tokio::test]
async fn a_stream_that_is_not_there_yet_is_waited_for() {
    let node = Node::start().await;
    let mut messages = node.follow("/streams/s-1", &[]).await;
    caught_up(&mut messages).await;
    node.fill("s-1", 0, 1).await;
    assert_eq!(events(&mut messages, 1).await, [(0, 0)]);
}

#[tokio::test]
async fn all_events_are_followed_by_position_with_checkpoints() {
    let node = Node::start().await;
    for n in 0..3 {
        node.fill(&format!("a-{n}"), n, 1).await;
        node.fill(&format!("b-{n}"), 10 + n, 1).await;
    }
    let mut messages = node.follow("/all?category=a", &[]).await;
    assert_eq!(events(&mut messages, 3).await, [(0, 0), (2, 1), (4, 2)]);
    let (name, id, data) = messages.message().await;
    assert_eq!((name.as_str(), id, data), ("checkpoint", Some(5), json!({"position": 5})));
    assert_eq!(caught_up(&mut messages).await, 5);

    // What has been looked at isn't again: there is nothing to tell after the checkpoint but that.
    let mut messages = node.follow("/all?category=a", &[("last-event-id", "5")]).await;
    assert_eq!(caught_up(&mut messages).await, 5);
    node.fill("a-9", 9, 1).await;
    assert_eq!(events(&mut messages, 1).await, [(6, 9)]);
    let mut messages = node.follow("/all?from=5", &[]).await;
    assert_eq!(events(&mut messages, 2).await, [(5, 12), (6, 9)]);
}

#[tokio::test]
async fn a_query_is_followed_too() {
    let node = Node::start().await;
    let event = |kind: &str, tag: &str, n: u64| json!([{"type": kind, "tags": [tag], "data": n}]);
    node.post("/streams/a-1", event("x", "one", 1)).await.json(StatusCode::CREATED);
    node.post("/streams/a-1", event("x", "two", 2)).await.json(StatusCode::CREATED);
    let query = json!({"items": [{"types": ["y"]}, {"tags": ["two"]}]}).to_string();
    let request = Request::post("/query?follow=true").header("content-type", "application/json");
    let mut messages = node.follow_by(request.body(Body::from(query)).expect("a request")).await;
    assert_eq!(events(&mut messages, 1).await, [(1, 2)]);
    assert_eq!(messages.message().await.0, "checkpoint");
    caught_up(&mut messages).await;
    node.post("/streams/a-1", event("x", "one", 3)).await.json(StatusCode::CREATED);
    node.post("/streams/b-1", event("y", "one", 4)).await.json(StatusCode::CREATED);
    // A checkpoint may stand before it, for what was looked at and not wanted.
    let found = loop {
        let (name, id, data) = messages.message().await;
        if name.is_empty() {
            break (id, data["data"].clone());
        }
        assert_eq!(name, "checkpoint");
    };
    assert_eq!(found, (Some(3), json!(4)));
}

#[tokio::test]
async fn data_of_several_lines_stay_one_message() {
    let node = Node::start().await;
    node.post("/streams/s-1", "[{\"type\":\"t\",\"data\":{\r\n\"a\":\r1,\n\n\"b\":\"\\n\"}}]")
        .await
        .json(StatusCode::CREATED);
    let mut messages = node.follow("/streams/s-1", &[]).await;
    let (_, _, event) = messages.message().await;
    assert_eq!(event["data"], json!({"a": 1, "b": "\n"}));
    caught_up(&mut messages).await;
}

#[tokio::test]
async fn a_quiet_stream_says_that_it_lives_and_ends_with_the_server() {
    let node = Node::start_with(|options| options.keep_alive = Duration::from_millis(5)).await;
    let mut messages = node.follow("/all", &[]).await;
    caught_up(&mut messages).await;
    assert_eq!(messages.next().await, Some(vec![": nothing new".to_owned()]));
    node.stop.send_replace(true);
    while let Some(lines) = messages.next().await {
        assert_eq!(lines, [": nothing new"]);
    }
}

#[tokio::test]
async fn only_so_many_follow_at_once() {
    let node = Node::start_with(|options| options.followers_max = 1).await;
    let first = node.follow("/all", &[]).await;
    let (kind, _) = node.get("/all?follow=true").await.problem(StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(kind, "too-many-followers");
    drop(first);
    node.follow("/all", &[]).await;
}

#[tokio::test]
async fn a_stream_that_is_tombstoned_ends_its_followers_with_the_reason() {
    let node = Node::start().await;
    node.fill("s-1", 0, 1).await;
    let mut messages = node.follow("/streams/s-1", &[]).await;
    events(&mut messages, 1).await;
    caught_up(&mut messages).await;
    node.delete("/streams/s-1?tombstone=true").await.json(StatusCode::OK);
    let (name, _, problem) = messages.message().await;
    assert_eq!((name.as_str(), &problem["type"]), ("problem", &"urn:daybook:problem:stream-tombstoned".into()));
    assert_eq!(messages.next().await, None);
}
