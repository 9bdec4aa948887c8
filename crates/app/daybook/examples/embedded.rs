//! Orders inside one program: each is a stream, its invariant holds whoever writes at the same time, and a read model follows.
//!
//! `cargo run -p daybook --example embedded [DIRECTORY]`

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use daybook::{
    Append, AppendError, Daybook, Direction, Expected, Filter, FollowFrom, Followed, NewEvent, Position, Recorded,
    StreamAppend, StreamFrom, StreamName, StreamVersion, Target,
};
use serde_json::{Value, json};

/// The most that one order may hold.
const PIECES_MAX: u64 = 10;
/// A decision is made anew so often when others were quicker.
const ATTEMPTS_MAX: usize = 20;
const PAGE: usize = 100;

/// An order as its events tell it.
#[derive(Debug, Default)]
struct Order {
    pieces: u64,
    is_shipped: bool,
    /// Of the last event that was read.
    version: Option<StreamVersion>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // Without a directory of one's own, one that goes with the program.
    let temporary = tempfile::tempdir()?;
    let directory = std::env::args_os().nth(1).map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let daybook = Daybook::open(&directory).await?;

    let follower = tokio::spawn(pieces_shipped(daybook.store().clone(), daybook.end()));

    // Ten at once want three pieces each; only three of them fit.
    let order = StreamName::new(&format!("order-{}", daybook.end()))?;
    let attempts = (0..10).map(|_| {
        let (store, order) = (daybook.store().clone(), order.clone());
        tokio::spawn(async move { add(&store, &order, 3).await })
    });
    let mut added = 0;
    for attempt in attempts.collect::<Vec<_>>() {
        added += u64::from(attempt.await??);
    }
    ship(&daybook, &order).await?;
    println!("{order} has shipped with {} pieces: {added} of 10 additions fitted", added * 3);
    ensure!(added == PIECES_MAX / 3, "the invariant was broken");

    let shipped = follower.await??;
    println!("the read model says: {shipped:?}");
    ensure!(shipped.get(order.as_str()) == Some(&(added * 3)), "the read model disagrees");
    daybook.close().await;
    Ok(())
}

/// Adds pieces unless the order would hold too many; whether it did.
async fn add(store: &daybook::EventStore, order: &StreamName, pieces: u64) -> anyhow::Result<bool> {
    for _ in 0..ATTEMPTS_MAX {
        let seen = read(store, order).await?;
        if seen.is_shipped || seen.pieces + pieces > PIECES_MAX {
            return Ok(false);
        }
        let expected = seen.version.map_or(Expected::NoStream, Expected::Exact);
        match store.append(one(order, expected, "added", &json!({ "pieces": pieces }))).await {
            Ok(_) => return Ok(true),
            // Another was quicker, so the decision was made on what is past.
            Err(AppendError::Conflict(_)) => continue,
            Err(error) => return Err(error.into()),
        }
    }
    bail!("{order} is written too often at the same time")
}

async fn ship(daybook: &Daybook, order: &StreamName) -> anyhow::Result<()> {
    let seen = read(daybook.store(), order).await?;
    let version = seen.version.context("an empty order is not shipped")?;
    daybook.append(one(order, Expected::Exact(version), "shipped", &json!({}))).await?;
    Ok(())
}

async fn read(store: &daybook::EventStore, order: &StreamName) -> anyhow::Result<Order> {
    let mut seen = Order::default();
    let mut from = StreamFrom::Start;
    loop {
        let page = match store.read_stream(order, from, Direction::Forwards, PAGE).await {
            Ok(page) => page,
            Err(daybook::ReadError::NoStream { .. }) => return Ok(seen),
            Err(error) => return Err(error.into()),
        };
        page.events.iter().try_for_each(|event| seen.apply(event))?;
        match page.next {
            Some(next) => from = StreamFrom::Version(next),
            None => return Ok(seen),
        }
    }
}

impl Order {
    fn apply(&mut self, event: &Recorded) -> anyhow::Result<()> {
        self.version = event.version;
        match event.event_type.as_str() {
            "added" => self.pieces += pieces(event)?,
            "shipped" => self.is_shipped = true,
            _ => {}
        }
        Ok(())
    }
}

fn pieces(event: &Recorded) -> anyhow::Result<u64> {
    let data: Value = serde_json::from_slice(&event.data)?;
    data["pieces"].as_u64().with_context(|| format!("the event at {} has no pieces", event.position))
}

fn one(order: &StreamName, expected: Expected, event_type: &str, data: &Value) -> Append {
    let event = NewEvent {
        event_type: event_type.to_owned(),
        content_type: "application/json".to_owned(),
        data: data.to_string().into(),
        ..NewEvent::default()
    };
    let streams = vec![StreamAppend { stream: order.clone(), expected, events: vec![event] }];
    Append { streams, ..Append::default() }
}

/// A read model: follows all orders from `from` on until one has shipped.
async fn pieces_shipped(store: daybook::EventStore, from: Position) -> anyhow::Result<BTreeMap<String, u64>> {
    let orders = Filter { category: Some("order".to_owned()), ..Filter::default() };
    let start = match from.0.checked_sub(1) {
        Some(last) => FollowFrom::AfterPosition(Position(last)),
        None => FollowFrom::Start,
    };
    let mut subscription = store.subscribe(Target::All(orders), start, PAGE);
    let mut ordered = BTreeMap::new();
    while let Some(message) = subscription.next().await {
        let Followed::Event(event) = message? else { continue };
        let Some(order) = &event.stream else { continue };
        match event.event_type.as_str() {
            "added" => *ordered.entry(order.to_string()).or_default() += pieces(&event)?,
            "shipped" => return Ok(ordered),
            _ => {}
        }
    }
    bail!("the subscription ended")
}
