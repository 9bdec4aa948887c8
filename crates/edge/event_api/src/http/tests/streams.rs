//! Lists, what a stream is, what it keeps.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::harness::Node;

#[tokio::test]
async fn streams_and_categories_are_listed() {
    let node = Node::start().await;
    assert_eq!(node.page("/streams").await, json!({"streams": [], "next": null}));
    for stream in ["order-2", "order-1", "invoice-1", "a%2Fb%20c"] {
        node.fill(stream, 0, 1).await;
    }
    let names = |page: &Value| {
        let streams = page["streams"].as_array().expect("a list").iter();
        streams.map(|stream| stream["stream"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&node.page("/streams").await), ["a/b c", "invoice-1", "order-1", "order-2"]);
    let page = node.page("/streams?category=order&limit=1").await;
    assert_eq!((names(&page), &page["next"]), (vec!["order-1".to_owned()], &"order-1".into()));
    let page = node.page("/streams?category=order&limit=2&after=order-1").await;
    assert_eq!((names(&page), &page["next"]), (vec!["order-2".to_owned()], &Value::Null));
    let categories = node.page("/categories").await;
    let mut categories: Vec<_> = categories["categories"].as_array().expect("a list").clone();
    categories.sort_by_key(Value::to_string);
    assert_eq!(categories, ["_streams", "invoice", "order"]);
    assert_eq!(node.page("/streams/a%2Fb%20c").await["stream"], "a/b c");
}

#[tokio::test]
async fn a_stream_is_known_without_reading_it() {
    let node = Node::start().await;
    let none = node.page("/streams/s-1/info").await;
    assert_eq!((&none["state"], &none["version"], &none["next_version"]), (&"none".into(), &Value::Null, &0.into()));
    node.fill("s-1", 0, 5).await;
    let settings = json!({"truncate_before": null, "max_count": null, "max_age_seconds": null});
    let expected = json!({
        "stream": "s-1", "state": "exists", "version": 4, "first_version": 0, "next_version": 5, "last_position": 4,
        "settings": settings,
    });
    assert_eq!(node.page("/streams/s-1/info").await, expected);
}

#[tokio::test]
async fn settings_are_shown_replaced_and_kept_to() {
    let node = Node::start().await;
    let shown = node.page("/streams/s-1/settings").await;
    assert_eq!((&shown["version"], &shown["max_count"], &shown["custom"]), (&Value::Null, &Value::Null, &json!({})));
    node.fill("s-1", 0, 10).await;
    let set = json!({"max_count": 3, "acl": {"$r": "ann"}, "cache_control": 5, "custom": {"owner": "ann"}});
    let answer = node.put("/streams/s-1/settings?expected=none", &set).await;
    let replaced = answer.json(StatusCode::OK);
    assert_eq!((&replaced["stream"], &replaced["version"]), (&"s-1".into(), &0.into()));
    assert_eq!(answer.headers["daybook-token"].to_str().expect("text"), replaced["daybook-token"]);

    let shown = node.page("/streams/s-1/settings").await;
    assert_eq!((&shown["version"], &shown["max_count"]), (&0.into(), &3.into()));
    for member in ["acl", "cache_control", "custom"] {
        assert_eq!(shown[member], set[member], "{member}");
    }
    let page = node.page("/streams/s-1").await;
    assert_eq!((&page["first_version"], &page["settings"]["max_count"]), (&7.into(), &3.into()));
    assert_eq!(page["events"].as_array().expect("a list").len(), 3);

    let (kind, _) = node.put("/streams/s-1/settings?expected=none", &set).await.problem(StatusCode::CONFLICT);
    assert_eq!(kind, "conflict");
    node.put("/streams/s-1/settings?expected=0", json!({"truncate_before": 9})).await.json(StatusCode::OK);
    let shown = node.page("/streams/s-1/settings").await;
    assert_eq!(
        (&shown["truncate_before"], &shown["max_count"], &shown["custom"]),
        (&9.into(), &Value::Null, &json!({}))
    );
    assert_eq!(node.page("/streams/s-1/info").await["first_version"], 9);

    for wrong in [
        json!({"custom": {"$maxCount": 1}}),
        json!({"max_count": 0}),
        json!({"max_age_seconds": 0}),
        json!({"truncate_before": i64::MAX}),
    ] {
        let (kind, _) = node.put("/streams/s-1/settings", wrong).await.problem(StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(kind, "unprocessable");
    }
    let (kind, _) = node.put("/streams/s-1/settings", json!({"maxCount": 1})).await.problem(StatusCode::BAD_REQUEST);
    assert_eq!(kind, "malformed-request");
}

#[tokio::test]
async fn a_deleted_streams_settings_do_not_show_how_it_was_deleted() {
    let node = Node::start().await;
    node.fill("s-1", 0, 2).await;
    node.delete("/streams/s-1").await.json(StatusCode::OK);
    assert_eq!(node.page("/streams/s-1/settings").await["truncate_before"], Value::Null);
}
