//! What is found in the end: `$all`, every stream by itself, every topic.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use daybook_linear::{Event, Found, Request};
use serde_json::Value;

use crate::http::Connection;
use crate::kafka;
use crate::store::unexpected;

const PAGE: usize = 1000;
/// Connections that read streams side by side.
const READERS: usize = 8;

pub async fn find(http: &str, bootstrap: &str, requests: &[Request]) -> Result<Found, String> {
    let bootstrap = bootstrap.to_owned();
    let records = tokio::task::spawn_blocking(move || kafka::read_all(&bootstrap));
    let all = read_all(http).await.map_err(|error| error.to_string())?;
    let names: BTreeSet<&str> =
        requests.iter().flat_map(|request| &request.streams).map(|part| part.stream.as_str()).collect();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let mut streams = BTreeMap::new();
    let readers: Vec<_> = names
        .chunks(names.len().div_ceil(READERS).max(1))
        .map(|names| tokio::spawn(read_streams(http.to_owned(), names.to_vec())))
        .collect();
    for reader in readers {
        let read = reader.await.map_err(|error| error.to_string())?;
        streams.extend(read.map_err(|error| error.to_string())?);
    }
    let records = records.await.map_err(|error| error.to_string())?;
    Ok(Found { all, streams, records })
}

async fn read_all(http: &str) -> io::Result<Vec<Event>> {
    let mut connection = Connection::open(http).await?;
    let (mut events, mut from) = (Vec::new(), "start".to_owned());
    loop {
        let (read, next) = page(&mut connection, &format!("/all?from={from}&limit={PAGE}")).await?;
        events.extend(read);
        match next {
            Some(next) => from = next,
            None => return Ok(events),
        }
    }
}

async fn read_streams(http: String, names: Vec<String>) -> io::Result<Vec<(String, Vec<Event>)>> {
    let mut connection = Connection::open(&http).await?;
    let mut streams = Vec::with_capacity(names.len());
    for name in names {
        let (mut events, mut from) = (Vec::new(), "start".to_owned());
        loop {
            let (read, next) = page(&mut connection, &format!("/streams/{name}?from={from}&limit={PAGE}")).await?;
            events.extend(read);
            match next {
                Some(next) => from = next,
                None => break,
            }
        }
        streams.push((name, events));
    }
    Ok(streams)
}

/// The events of a page, and where the next begins.
async fn page(connection: &mut Connection, path: &str) -> io::Result<(Vec<Event>, Option<String>)> {
    let answer = connection.get(path).await?;
    if answer.status == 404 {
        return Ok((Vec::new(), None));
    }
    let page = || {
        let events = answer.body["events"].as_array()?.iter().map(event).collect::<Option<Vec<_>>>()?;
        let next = match answer.body["at_end"].as_bool()? {
            true => None,
            false => Some(answer.body["next"].as_u64()?.to_string()),
        };
        Some((events, next))
    };
    page().filter(|_| answer.status == 200).ok_or_else(|| unexpected(&answer))
}

fn event(event: &Value) -> Option<Event> {
    let text = |name: &str| event[name].as_str().map(str::to_owned);
    let data = match (&event["data"], text("data_base64")) {
        (Value::Null, Some(base64)) => BASE64_STANDARD.decode(base64).ok()?,
        (Value::Null, None) => Vec::new(),
        (data, _) => data.to_string().into_bytes(),
    };
    Some(Event {
        stream: text("stream"),
        version: event["version"].as_u64(),
        position: event["position"].as_u64()?,
        id: text("id")?,
        data,
        tags: event["tags"].as_array()?.iter().map(|tag| tag.as_str().map(str::to_owned)).collect::<Option<_>>()?,
        partition: i32::try_from(event["partition"].as_i64()?).ok()?,
        offset: event["offset"].as_i64()?,
    })
}
