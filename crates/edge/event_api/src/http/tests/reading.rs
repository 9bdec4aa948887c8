//! Pages, single events, filters, tokens.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use daybook_command::{AppendBatch, Command};
use daybook_record::{BatchBuilder, Compression};
use daybook_types::{PartitionId, PartitionIndex, TimestampMs};
use serde_json::{Value, json};

use super::harness::Node;

fn numbers(page: &Value, member: &str) -> Vec<u64> {
    let events = page["events"].as_array().expect("a list");
    events.iter().map(|event| event[member].as_u64().expect("a number")).collect()
}

#[tokio::test]
async fn an_event_comes_back_as_it_was_sent() {
    let node = Node::start().await;
    let json_text = "{ \"b\": 1.50,\n \"a\": 12345678901234567890123 }";
    let sent = format!(
        r#"[{{"id":"e-1","type":"placed","data":{json_text},"metadata":{{"by":"ann"}},"tags":["x","y"],
            "time":"2026-01-02T03:04:05+01:00","headers":[{{"name":"trace","value":"1"}},{{"name":"trace","value_base64":"AP8="}},{{"name":"none"}}]}},
           {{"type":"scanned","content_type":"image/png","data_base64":"iVBORw==","metadata_base64":"AP8="}},
           {{"type":"empty"}},{{"type":"null","data":null}},{{"type":"special","content_type":"application/cloudevents+json","data":[]}}]"#
    );
    node.post("/streams/order-1", sent).await.json(StatusCode::CREATED);
    let answer = node.get("/streams/order-1").await;
    let text = String::from_utf8(answer.body.to_vec()).expect("text");
    assert!(text.contains(json_text), "numbers and blanks stay as they were: {text}");
    let page = answer.json(StatusCode::OK);
    let event = &page["events"][0];
    for (member, expected) in [
        ("stream", json!("order-1")),
        ("version", json!(0)),
        ("position", json!(0)),
        ("id", json!("e-1")),
        ("type", json!("placed")),
        ("content_type", json!("application/json")),
        ("metadata", json!({"by": "ann"})),
        ("tags", json!(["x", "y"])),
        ("time", json!("2026-01-02T03:04:05+01:00")),
        (
            "headers",
            json!([{"name": "trace", "value": "1"}, {"name": "trace", "value_base64": "AP8="}, {"name": "none"}]),
        ),
        ("partition", json!(0)),
        ("offset", json!(0)),
    ] {
        assert_eq!(event[member], expected, "{member}");
    }
    assert!(event["recorded"].as_str().expect("text").ends_with('Z'));
    let event = &page["events"][1];
    assert_eq!((&event["data_base64"], &event["metadata_base64"]), (&"iVBORw==".into(), &"AP8=".into()));
    let has = |place: usize, member: &str| page["events"][place].get(member).is_some();
    assert!(!has(1, "data") && !has(1, "metadata") && !has(1, "time") && !has(1, "headers"));
    assert!(!has(2, "data") && !has(2, "data_base64") && !has(2, "metadata"));
    assert!(has(3, "data") && page["events"][3]["data"].is_null());
    assert_eq!(page["events"][4]["data"], json!([]));
}

#[tokio::test]
async fn a_record_of_a_kafka_producer_is_an_event() {
    let node = Node::start().await;
    node.fill("order-1", 0, 1).await;
    let topic = node.store.reader().catalog().topic("order").expect("the append made it").id;
    let headers = [("content-type", Some(&b"application/json"[..])), ("ce_type", Some(b"placed")), ("null", None)];
    let headers: Vec<_> =
        headers.into_iter().map(|(name, value)| (name.into(), value.map(Bytes::from_static))).collect();
    let mut batch = BatchBuilder::new(Compression::None);
    batch.push(TimestampMs(1_700_000_000_123), Some(b"order-1"), Some(b"{\"a\":1}"), &headers);
    // What says that it is JSON need not be, and most records say nothing.
    batch.push(TimestampMs(1_700_000_000_123), Some(b"order-1"), Some(b"{\"a\":"), &headers[..1]);
    batch.push(TimestampMs(1_700_000_000_123), Some(b"order-1"), Some(b"plain"), &[]);
    batch.push(TimestampMs(1_700_000_000_123), None, Some(b"without a key"), &[]);
    let partition = PartitionId { topic, index: PartitionIndex(0) };
    let append = AppendBatch { partition, batch: batch.build().expect("it has records") };
    node.store.door().propose(vec![Command::AppendBatch(append)]).await.expect("taken").await.expect("applied");

    let page = node.page("/streams/order-1?from=1").await;
    assert_eq!(numbers(&page, "version"), [1, 2, 3]);
    let event = &page["events"][0];
    assert_eq!((&event["type"], &event["data"]), (&"placed".into(), &json!({"a": 1})));
    assert_eq!(
        (&event["recorded"], &event["headers"]),
        (&"2023-11-14T22:13:20.123Z".into(), &json!([{"name": "null"}]))
    );
    assert!(!event["id"].as_str().expect("text").is_empty());
    assert_eq!((&page["events"][1]["data_base64"], &page["events"][1]["type"]), (&"eyJhIjo=".into(), &"record".into()));
    assert_eq!(
        (&page["events"][2]["data_base64"], &page["events"][2]["content_type"]),
        (&"cGxhaW4=".into(), &"".into())
    );
    let page = node.page("/all?direction=backwards&limit=1").await;
    assert_eq!((&page["events"][0]["stream"], &page["events"][0]["version"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn one_event_is_answered_raw() {
    let node = Node::start().await;
    let events = json!([
        {"id": "a", "type": "scän\nned%", "content_type": "text/html", "data_base64": "PGI+", "tags": ["x", "y"], "time": "2026-01-02T03:04:05Z"},
        {"id": "b", "type": "empty"},
    ]);
    node.post("/streams/doc-1", events).await.json(StatusCode::CREATED);
    let answer = node.get("/streams/doc-1/0").await;
    assert_eq!((answer.status, &answer.body[..]), (StatusCode::OK, &b"<b>"[..]));
    let header = |name: &str| answer.headers[name].to_str().expect("text").to_owned();
    assert_eq!((header("content-type"), header("x-content-type-options")), ("text/html".into(), "nosniff".into()));
    assert!(header("content-security-policy").starts_with("sandbox"));
    assert_eq!((header("daybook-stream"), header("daybook-version")), ("doc-1".into(), "0".into()));
    assert_eq!((header("daybook-id"), header("daybook-type")), ("a".into(), "sc%C3%A4n%0Aned%25".into()));
    assert_eq!((header("daybook-position"), header("daybook-time")), ("0".into(), "2026-01-02T03:04:05Z".into()));
    let tags: Vec<_> = answer.headers.get_all("daybook-tag").iter().collect();
    assert_eq!(tags, ["x", "y"]);

    let last = node.get("/streams/doc-1/last").await;
    assert_eq!(
        (&last.headers["daybook-id"], &last.headers["content-type"]),
        (&"b".parse().expect("a value"), &"application/octet-stream".parse().expect("a value"))
    );
    let (kind, problem) = node.get("/streams/doc-1/2").await.problem(StatusCode::NOT_FOUND);
    assert_eq!((kind.as_str(), &problem["next_version"]), ("no-event", &2.into()));
    let (kind, problem) = node.get("/streams/doc-2/0").await.problem(StatusCode::NOT_FOUND);
    assert_eq!((kind.as_str(), &problem["stream"]), ("no-stream", &"doc-2".into()));
}

#[tokio::test]
async fn a_stream_is_read_in_pages_both_ways() {
    let node = Node::start().await;
    node.fill("s-1", 0, 150).await;
    let page = node.page("/streams/s-1").await;
    assert_eq!(
        (numbers(&page, "data"), &page["next"], &page["at_end"]),
        ((0..100).collect(), &100.into(), &false.into())
    );
    let page = node.page("/streams/s-1?from=100").await;
    assert_eq!((numbers(&page, "version"), &page["at_end"]), ((100..150).collect(), &true.into()));
    assert_eq!(page["next"], 150, "where to look for more");
    let page = node.page("/streams/s-1?from=150").await;
    assert_eq!((&page["events"], &page["next"], &page["at_end"]), (&json!([]), &150.into(), &true.into()));

    let page = node.page("/streams/s-1?direction=backwards&limit=3").await;
    assert_eq!((numbers(&page, "data"), &page["next"]), (vec![149, 148, 147], &146.into()));
    let page = node.page("/streams/s-1?direction=backwards&from=1").await;
    assert_eq!((numbers(&page, "data"), &page["next"], &page["at_end"]), (vec![1, 0], &Value::Null, &true.into()));
    assert_eq!((&page["state"], &page["version"], &page["next_version"]), (&"exists".into(), &149.into(), &150.into()));
    assert_eq!(node.get("/streams/s-2").await.problem(StatusCode::NOT_FOUND).0, "no-stream");
}

#[tokio::test]
async fn a_page_of_large_events_is_shorter_and_goes_on() {
    let node = Node::start().await;
    let data = "x".repeat(300_000);
    for _ in 0..3 {
        let events: Vec<_> = (0..10).map(|_| json!({"type": "large", "data": data})).collect();
        node.post("/streams/s-1", Value::from(events)).await.json(StatusCode::CREATED);
    }
    for (path, size) in [("/streams/s-1", 30), ("/all", 30)] {
        let mut seen = Vec::new();
        let mut from = Value::from(0);
        let mut pages = 0;
        loop {
            let page = node.page(&format!("{path}?from={from}&limit=1000")).await;
            seen.extend(numbers(&page, "position"));
            pages += 1;
            from = page["next"].clone();
            if page["at_end"] == true {
                break;
            }
        }
        assert_eq!(seen, (0..size).collect::<Vec<_>>(), "{path}");
        assert!(pages > 1, "{path}");
    }
}

#[tokio::test]
async fn all_events_are_read_in_order_and_filtered() {
    let node = Node::start().await;
    for n in 0..4 {
        let event =
            json!([{"type": if n % 2 == 0 { "placed" } else { "paid" }, "tags": [format!("n:{n}"), "all"], "data": n}]);
        node.post(&format!("/streams/order-{n}"), event).await.json(StatusCode::CREATED);
    }
    node.post("/streams/invoice-1", json!([{"type": "placed", "data": 4}])).await.json(StatusCode::CREATED);
    node.put("/streams/order-1/settings", json!({"max_count": 10})).await.json(StatusCode::OK);
    node.post("/append", json!({"events": [{"type": "free", "data": 6}]})).await.json(StatusCode::CREATED);

    let positions = async |query: &str| numbers(&node.page(&format!("/all?{query}")).await, "position");
    assert_eq!(positions("").await, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(positions("system=false").await, [0, 1, 2, 3, 4, 6]);
    assert_eq!(positions("category=order").await, [0, 1, 2, 3]);
    assert_eq!(positions("type=paid").await, [1, 3]);
    assert_eq!(positions("type=paid&type=free").await, [1, 3, 6]);
    assert_eq!(positions("type_prefix=p").await, [0, 1, 2, 3, 4]);
    assert_eq!(positions("type_regex=%5Ep.i").await, [1, 3]);
    assert_eq!(positions("stream_prefix=order-&stream_prefix=inv").await, [0, 1, 2, 3, 4]);
    assert_eq!(positions("stream_regex=-1%24").await, [1, 4, 5]);
    assert_eq!(positions("tag=all&tag=n:2").await, [2]);
    assert_eq!(positions("type=placed&tag=n:1").await, [] as [u64; 0]);
    assert_eq!(
        positions("query=%7B%22items%22:%5B%7B%22types%22:%5B%22free%22%5D%7D,%7B%22tags%22:%5B%22n:0%22%5D%7D%5D%7D")
            .await,
        [0, 6]
    );
    assert_eq!(positions("from=5").await, [5, 6]);
    assert_eq!(positions("direction=backwards&limit=2").await, [6, 5]);
    assert_eq!(positions("direction=backwards&from=2").await, [1, 0]);

    let page = node.page("/all?type=placed&limit=1").await;
    assert_eq!((&page["at_end"], &page["last_position"]), (&false.into(), &6.into()));
    let next = page["next"].as_u64().expect("a position");
    assert_eq!(positions(&format!("type=placed&from={next}")).await, [2, 4]);
    let items = json!({"items": [{"types": ["paid"]}, {"tags": ["n:0"]}]});
    let page = node.post("/query?direction=backwards&category=order", items).await.json(StatusCode::OK);
    assert_eq!(numbers(&page, "position"), [3, 1, 0]);
}

#[tokio::test]
async fn a_read_waits_for_its_token() {
    let node = Node::start_with(|options| options.token_wait_max = Duration::from_millis(50)).await;
    let written = node.post("/streams/s-1", json!([{"type": "t"}])).await.json(StatusCode::CREATED);
    let token = written["daybook-token"].as_str().expect("text");
    let (shard, lsn) = token.split_once(':').expect("two parts");
    assert_eq!(shard, "0");
    assert_eq!(numbers(&node.page(&format!("/streams/s-1?token={token}")).await, "version"), [0]);
    for path in [
        "/streams/s-1",
        "/streams/s-1/0",
        "/streams/s-1/info",
        "/streams/s-1/settings",
        "/streams",
        "/categories",
        "/all",
    ] {
        let ahead = lsn.parse::<u64>().expect("a number") + 1_000_000;
        let (kind, _) = node.get(&format!("{path}?token=0:{ahead}")).await.problem(StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(kind, "not-yet-applied", "{path}");
        let request = Request::get(path).header("daybook-token", format!("0:{ahead}")).body(Body::empty());
        let answer = node.send(request.expect("a request")).await;
        assert_eq!(answer.problem(StatusCode::SERVICE_UNAVAILABLE).0, "not-yet-applied", "{path}");
        assert_eq!(answer.headers["retry-after"], "1");
    }
    let (kind, _) = node.get("/all?token=1:1").await.problem(StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(kind, "unprocessable");
}

#[tokio::test]
async fn a_read_with_a_token_of_a_write_to_come_sees_it() {
    let node = Node::start().await;
    let written = node.post("/streams/s-1", json!([{"type": "t"}])).await.json(StatusCode::CREATED);
    let lsn: u64 =
        written["daybook-token"].as_str().and_then(|token| token.split(':').nth(1)?.parse().ok()).expect("a token");
    let waiting = node.router.clone();
    let request = Request::get(format!("/streams/s-1?token=0:{}", lsn + 1)).body(Body::empty()).expect("a request");
    let read = tokio::spawn(async move { tower::ServiceExt::oneshot(waiting, request).await.expect("an answer") });
    while !read.is_finished() {
        // Other entries stand in the log too, so that the next one is the token's is not sure; some later one is.
        node.post("/streams/s-1", json!([{"type": "t"}])).await.json(StatusCode::CREATED);
    }
    let answer = read.await.expect("no panic");
    let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.expect("a body");
    let page: Value = serde_json::from_slice(&body).expect("JSON");
    assert!(numbers(&page, "version").len() > 1);
}
