//! Giving back space by HTTP.

use std::time::Duration;

use axum::http::StatusCode;

use super::harness::Node;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scavenge_is_begun_and_watched() {
    let node = Node::start().await;
    assert_eq!(node.page("/scavenge").await, serde_json::json!({ "state": "none" }));
    assert_eq!(node.delete("/scavenge").await.json(StatusCode::OK)["state"], "none");
    let begun = node.post("/scavenge", "").await.json(StatusCode::ACCEPTED);
    assert_eq!(begun["state"], "running");
    let id = begun["id"].as_str().expect("an id").to_owned();
    let ended = loop {
        let seen = node.page("/scavenge").await;
        assert_eq!(seen["id"], id.as_str());
        if seen["state"] != "running" {
            break seen;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!((&ended["state"], &ended["cause"]), (&"finished".into(), &serde_json::Value::Null));
    assert!(ended["ended_ms"].as_i64() >= ended["began_ms"].as_i64());
    assert_eq!(node.get("/scavenge?id=1").await.problem(StatusCode::BAD_REQUEST).0, "malformed-request");
}
