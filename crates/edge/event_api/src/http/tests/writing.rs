//! Append and delete.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::harness::Node;

#[tokio::test]
async fn an_append_answers_where_its_events_are() {
    let node = Node::start().await;
    let answer = node.post("/streams/order-1", json!([{"type": "placed", "data": {"sum": 1}}, {"type": "paid"}])).await;
    let body = answer.json(StatusCode::CREATED);
    assert_eq!(body["stream"], "order-1");
    assert_eq!(
        (&body["first_version"], &body["last_version"], &body["last_position"]),
        (&0.into(), &1.into(), &1.into())
    );
    assert_eq!((&body["repeated"], &body["stage"]), (&false.into(), &"applied".into()));
    assert_eq!(answer.headers["daybook-token"].to_str().expect("text"), body["daybook-token"]);
    // The ids were made here, and are those that the events have.
    let page = node.page("/streams/order-1").await;
    let ids: Vec<_> = page["events"].as_array().expect("a list").iter().map(|event| event["id"].clone()).collect();
    assert_eq!(body["ids"], Value::from(ids));
    assert_ne!(body["ids"][0], body["ids"][1]);
}

#[tokio::test]
async fn a_version_can_be_expected_in_each_place() {
    let node = Node::start().await;
    let event = json!([{"type": "t"}]);
    node.post("/streams/s-1?expected=none", &event).await.json(StatusCode::CREATED);
    node.post_with("/streams/s-1", &[("daybook-expected-version", "0")], &event).await.json(StatusCode::CREATED);
    node.post("/streams/s-1", json!({"expected": 1, "events": event})).await.json(StatusCode::CREATED);
    node.post("/streams/s-1", json!({"expected": "2", "events": event})).await.json(StatusCode::CREATED);
    node.post("/streams/s-1", json!({"expected": "exists", "events": event})).await.json(StatusCode::CREATED);
    node.post("/streams/s-1?expected=any", &event).await.json(StatusCode::CREATED);

    let (kind, problem) = node.post("/streams/s-1?expected=3", &event).await.problem(StatusCode::CONFLICT);
    assert_eq!(kind, "conflict");
    assert_eq!((&problem["stream"], &problem["expected"], &problem["actual"]), (&"s-1".into(), &3.into(), &5.into()));
    let (_, problem) = node
        .post_with("/streams/s-1", &[("daybook-expected-version", "-1")], &event)
        .await
        .problem(StatusCode::CONFLICT);
    assert_eq!((&problem["expected"], &problem["actual"]), (&"none".into(), &5.into()));
    let (_, problem) = node.post("/streams/s-2?expected=exists", &event).await.problem(StatusCode::CONFLICT);
    assert_eq!((&problem["expected"], &problem["actual"]), (&"exists".into(), &"none".into()));
    let both = node.post("/streams/s-1?expected=5", json!({"expected": 6, "events": event})).await;
    assert_eq!(both.problem(StatusCode::BAD_REQUEST).0, "malformed-request");
    let both = node.post_with("/streams/s-1?expected=5", &[("daybook-expected-version", "6")], &event).await;
    assert_eq!(both.problem(StatusCode::BAD_REQUEST).0, "malformed-request");
    assert_eq!(node.page("/streams/s-1/info").await["version"], 5);
}

#[tokio::test]
async fn a_repeated_append_gets_the_first_answer() {
    let node = Node::start().await;
    let events = json!([{"id": "a", "type": "t"}, {"id": "b", "type": "t"}]);
    let first = node.post("/streams/s-1?expected=none", &events).await.json(StatusCode::CREATED);
    let second = node.post("/streams/s-1?expected=none", &events).await.json(StatusCode::OK);
    assert_eq!(second["repeated"], true);
    for member in ["first_version", "last_version", "last_position", "ids"] {
        assert_eq!(first[member], second[member], "{member}");
    }
    let partly = node.post("/streams/s-1", json!([{"id": "b", "type": "t"}, {"id": "c", "type": "t"}])).await;
    let (kind, problem) = partly.problem(StatusCode::CONFLICT);
    assert_eq!((kind.as_str(), &problem["stream"]), ("partly-repeated", &"s-1".into()));
    let twice = node.post("/streams/s-1", json!([{"id": "d", "type": "t"}, {"id": "d", "type": "t"}])).await;
    let (kind, problem) = twice.problem(StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!((kind.as_str(), &problem["id"]), ("unprocessable", &"d".into()));
    assert_eq!(node.page("/streams/s-1/info").await["next_version"], 2);
}

#[tokio::test]
async fn events_that_cant_be_are_named_by_their_place() {
    let node = Node::start().await;
    let good = json!({"type": "t"});
    for (event, cause) in [
        (json!({"type": ""}), "its type is empty"),
        (json!({"type": "t", "id": ""}), "its id is empty"),
        (json!({"type": "t", "time": "yesterday"}), "RFC 3339 is expected"),
        (json!({"type": "t", "data": 1, "data_base64": ""}), "both data and data_base64"),
        (json!({"type": "t", "data": 1, "content_type": "image/png"}), "its data is JSON, which image/png is not"),
        (json!({"type": "t", "data_base64": "%"}), "its data_base64 is no base64"),
        (json!({"type": "t", "tags": [""]}), "its tag is empty"),
        (json!({"type": "t", "headers": [{"name": "ce_id", "value": "x"}]}), "can't be called ce_id"),
        (json!({"type": "t", "headers": [{"name": ""}]}), "the name of a header"),
        (json!({"type": "x".repeat(1025)}), "1024 are the most"),
    ] {
        let answer = node.post("/streams/s-1", json!([good, event])).await;
        let (kind, problem) = answer.problem(StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!((kind.as_str(), &problem["event"]), ("unprocessable", &1.into()));
        let detail = problem["detail"].as_str().expect("text");
        assert!(detail.starts_with("event 1 of the list: ") && detail.contains(cause), "{detail}");
    }
    assert_eq!(node.post("/streams/s-1", "[]").await.problem(StatusCode::UNPROCESSABLE_ENTITY).0, "unprocessable");
    assert_eq!(node.page("/streams/s-1/info").await["state"], "none");
}

#[tokio::test]
async fn several_streams_are_written_together_or_not_at_all() {
    let node = Node::start().await;
    let transfer = |expected: Value| {
        json!({"streams": [
            {"stream": "account-1", "expected": expected, "events": [{"type": "withdrawn", "data": 5}]},
            {"stream": "account-2", "events": [{"type": "deposited", "data": 5}, {"type": "noted"}]},
            {"stream": "limit-1", "expected": "none"},
        ]})
    };
    let body = node.post("/append", transfer("none".into())).await.json(StatusCode::CREATED);
    let streams = body["streams"].as_array().expect("a list");
    assert_eq!(streams.len(), 2, "what was only checked is not answered");
    assert_eq!((&streams[0]["stream"], &streams[0]["last_version"]), (&"account-1".into(), &0.into()));
    assert_eq!((&streams[1]["stream"], &streams[1]["last_version"]), (&"account-2".into(), &1.into()));
    assert_eq!((&streams[1]["last_position"], &body["last_position"]), (&2.into(), &2.into()));
    assert_eq!(streams[1]["ids"].as_array().expect("a list").len(), 2);

    let (kind, problem) = node.post("/append", transfer("none".into())).await.problem(StatusCode::CONFLICT);
    assert_eq!((kind.as_str(), &problem["conflicts"].as_array().expect("a list").len()), ("conflict", &1));
    assert_eq!(node.page("/streams/account-2/info").await["version"], 1);
    let twice = json!({"streams": [{"stream": "a-1", "events": [{"type": "t"}]}, {"stream": "a-1"}]});
    let (_, problem) = node.post("/append", twice).await.problem(StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(problem["stream"], "a-1");
}

#[tokio::test]
async fn a_condition_is_decided_by_what_came_after_the_read() {
    let node = Node::start().await;
    let query = json!({"items": [{"types": ["reserved"], "tags": ["seat:7"]}]});
    let read = node.post("/query", &query).await.json(StatusCode::OK);
    assert_eq!((&read["events"], &read["last_position"], &read["at_end"]), (&json!([]), &Value::Null, &true.into()));

    let reserve = |after: &Value, by: &str| {
        let event = json!({"type": "reserved", "tags": ["seat:7", by], "data": by});
        json!({"events": [event], "condition": {"unless": query, "after": after}})
    };
    let first = node.post("/append", reserve(&read["last_position"], "by:ann")).await.json(StatusCode::CREATED);
    assert_eq!((&first["streams"], &first["last_position"]), (&json!([]), &0.into()));
    assert_eq!(first["ids"].as_array().expect("a list").len(), 1);
    let (kind, problem) =
        node.post("/append", reserve(&read["last_position"], "by:bob")).await.problem(StatusCode::PRECONDITION_FAILED);
    assert_eq!((kind.as_str(), &problem["position"]), ("condition-failed", &0.into()));

    let read = node.post("/query", &query).await.json(StatusCode::OK);
    assert_eq!((&read["events"][0]["data"], &read["events"][0]["stream"]), (&"by:ann".into(), &Value::Null));
    node.post("/append", reserve(&read["last_position"], "by:bob")).await.json(StatusCode::CREATED);
}

#[tokio::test]
async fn deleted_streams_go_on_and_tombstoned_ones_do_not() {
    let node = Node::start().await;
    node.fill("s-1", 0, 3).await;
    let (_, problem) = node.delete("/streams/s-1?expected=7").await.problem(StatusCode::CONFLICT);
    assert_eq!(problem["actual"], 2);
    let answer = node.delete("/streams/s-1?expected=2").await;
    assert_eq!(answer.headers["daybook-token"].to_str().expect("text"), answer.json(StatusCode::OK)["daybook-token"]);
    assert_eq!(node.get("/streams/s-1").await.problem(StatusCode::NOT_FOUND).0, "stream-deleted");
    let info = node.page("/streams/s-1/info").await;
    assert_eq!((&info["state"], &info["version"]), (&"deleted".into(), &2.into()));

    node.post("/streams/s-1?expected=deleted", json!([{"type": "t"}])).await.json(StatusCode::CREATED);
    let page = node.page("/streams/s-1").await;
    assert_eq!((&page["events"][0]["version"], &page["first_version"]), (&3.into(), &3.into()));

    node.delete("/streams/s-1?tombstone=true").await.json(StatusCode::OK);
    assert_eq!(node.get("/streams/s-1").await.problem(StatusCode::GONE).0, "stream-tombstoned");
    let (kind, problem) = node.post("/streams/s-1", json!([{"type": "t"}])).await.problem(StatusCode::GONE);
    assert_eq!((kind.as_str(), &problem["stream"]), ("stream-tombstoned", &"s-1".into()));
    assert_eq!(node.get("/streams/s-1?follow=true").await.problem(StatusCode::GONE).0, "stream-tombstoned");
}
