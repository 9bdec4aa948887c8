//! The description that is served, and the form of every refusal.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use serde_json::Value;

use super::harness::Node;
use crate::http::table;

/// Every `$ref` below `value`.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn every_route_is_described_and_every_description_routed() {
    let node = Node::start().await;
    let document = node.page("/openapi.json").await;
    assert_eq!(document["openapi"], "3.1.0");
    let described: BTreeSet<_> = document["paths"].as_object().expect("paths").keys().map(String::as_str).collect();
    let routed: BTreeSet<_> = table().into_iter().map(|(path, _)| path).collect();
    assert_eq!(described, routed);
    for path in routed {
        let item = &document["paths"][path];
        let concrete = path.replace("{stream}", "s-1").replace("{version}", "0");
        for method in [Method::GET, Method::PUT, Method::POST, Method::DELETE, Method::PATCH] {
            let request = Request::builder().method(&method).uri(&concrete).body(Body::empty()).expect("a request");
            let is_routed = node.send(request).await.status != StatusCode::METHOD_NOT_ALLOWED;
            let is_described = item.get(method.as_str().to_lowercase()).is_some();
            assert_eq!(is_routed, is_described, "{method} {path}");
        }
        for name in ["stream", "version"] {
            let is_named = item["parameters"].to_string().to_lowercase().contains(name);
            assert_eq!(is_named, path.contains(&format!("{{{name}}}")), "{name} of {path}");
        }
    }
}

#[tokio::test]
async fn every_reference_of_the_description_leads_somewhere() {
    let document: Value = serde_json::from_str(crate::http::OPENAPI).expect("JSON");
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 50);
    for reference in found {
        let pointer = reference.strip_prefix('#').expect("a reference into the document");
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn the_parameters_of_a_read_are_those_that_are_described() {
    let node = Node::start().await;
    let document = node.page("/openapi.json").await;
    for (path, concrete) in [("/all", "/all"), ("/streams", "/streams"), ("/streams/{stream}", "/streams/s-1")] {
        for reference in document["paths"][path]["get"]["parameters"].as_array().expect("a list") {
            let parameter = match reference["$ref"].as_str() {
                Some(place) => document.pointer(&place[1..]).expect("it is there"),
                None => reference,
            };
            if parameter["in"] != "query" {
                continue;
            }
            let name = parameter["name"].as_str().expect("a name");
            let answer = node.get(&format!("{concrete}?{name}=%00")).await;
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(!text.contains("there is no parameter"), "{name} of {path}: {text}");
        }
    }
    let (kind, document) = node.get("/all?limits=3").await.problem(StatusCode::BAD_REQUEST);
    assert_eq!(kind, "malformed-request");
    assert!(document["detail"].as_str().expect("text").contains("there is no parameter limits"));
}

#[tokio::test]
async fn what_a_type_of_problem_may_be_is_described() {
    let document: Value = serde_json::from_str(crate::http::OPENAPI).expect("JSON");
    let described = document["components"]["schemas"]["Problem"]["properties"]["type"]["enum"].to_string();
    let sources = [
        include_str!("../call.rs"),
        include_str!("../error.rs"),
        include_str!("../follow.rs"),
        include_str!("../problem.rs"),
        include_str!("../read_stream.rs"),
        include_str!("../token.rs"),
    ];
    let mut named = 0;
    for source in sources {
        // The name is the second of the arguments.
        let calls = source.split("StatusCode::").skip(1).filter_map(|rest| rest.split_once("\"")).filter_map(
            |(before, rest)| {
                let is_next =
                    before.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c == ',' || c.is_whitespace());
                is_next.then(|| rest.split('"').next().expect("a literal ends"))
            },
        );
        for name in calls {
            named += 1;
            assert!(described.contains(&format!("\"urn:daybook:problem:{name}\"")), "{name}");
        }
    }
    assert!(named > 12, "only {named} names were found");
}

#[tokio::test]
async fn refusals_name_their_cause() {
    let node = Node::start().await;
    let (kind, _) = node.delete("/categories").await.problem(StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(kind, "method-not-allowed");
    assert_eq!(node.delete("/categories").await.headers["allow"], "GET,HEAD");

    for (path, body, detail) in [
        ("/streams/s-1", "[{\"type\":\"t\"", "the body: EOF while parsing"),
        ("/streams/s-1", "{\"event\":[]}", "unknown field `event`"),
        ("/streams/s-1?expected=never", "[]", "the expected version never is not any, none"),
        ("/append", "{\"streams\":[{}]}", "missing field `stream`"),
        ("/append", "{\"condition\":{\"unless\":{}}}", "missing field `items`"),
    ] {
        let (kind, document) = node.post(path, body).await.problem(StatusCode::BAD_REQUEST);
        assert_eq!(kind, "malformed-request");
        let told = document["detail"].as_str().expect("text");
        assert!(told.contains(detail), "{told}");
    }
    for path in [
        "/all?limit=0",
        "/all?limit=1001",
        "/all?from=-1",
        "/all?direction=up",
        "/all?type_regex=(",
        "/all?follow=1",
        "/all?limit=1&limit=2",
        "/all?query={}",
        "/all?type=a&query={\"items\":[]}",
        "/all?token=7",
        "/streams/s-1?from=x",
        "/streams/s-1/first",
        "/streams?after=",
        "/all?follow=true&limit=3",
        "/streams/s-1?follow=true&direction=backwards",
    ] {
        let path = path.replace('{', "%7B").replace('}', "%7D").replace('"', "%22");
        assert_eq!(node.get(&path).await.problem(StatusCode::BAD_REQUEST).0, "malformed-request", "{path}");
    }
    let plain = Request::post("/streams/s-1").body(Body::from("[]")).expect("a request");
    assert_eq!(node.send(plain).await.problem(StatusCode::UNSUPPORTED_MEDIA_TYPE).0, "unsupported-media-type");
    let name = "x".repeat(1025);
    assert_eq!(
        node.get(&format!("/streams/{name}")).await.problem(StatusCode::UNPROCESSABLE_ENTITY).0,
        "unprocessable"
    );
    let large = format!("[\"{}\"]", "x".repeat(33 * 1024 * 1024));
    let (kind, document) = node.post("/streams/s-1", &large).await.problem(StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!((kind.as_str(), &document["bytes_max"]), ("too-large", &(32 * 1024 * 1024).into()));
    // A length that isn't announced is found while reading.
    let chunks = futures::stream::iter(vec![Ok::<_, std::io::Error>(large.into_bytes())]);
    let request = Request::post("/streams/s-1").header("content-type", "application/json");
    let request = request.body(Body::from_stream(chunks)).expect("a request");
    assert_eq!(node.send(request).await.problem(StatusCode::PAYLOAD_TOO_LARGE).0, "too-large");
}
