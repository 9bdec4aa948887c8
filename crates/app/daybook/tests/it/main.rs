//! The engine inside another program: opened, closed, dropped, opened again.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use daybook::{
    AllFrom, Append, AppendError, Appended, DataDirError, Daybook, Direction, Expected, Filter, FollowFrom, Followed,
    NewEvent, OpenError, Options, ProposeError, StreamAppend, StreamFrom, StreamName, StreamVersion, Target,
};

const PATIENCE: Duration = Duration::from_secs(60);

fn one(stream: &str, expected: Expected, data: &str) -> Append {
    let event = NewEvent { event_type: "noted".into(), data: data.to_owned().into(), ..NewEvent::default() };
    let stream = StreamName::new(stream).unwrap();
    Append { streams: vec![StreamAppend { stream, expected, events: vec![event] }], ..Append::default() }
}

async fn append(daybook: &Daybook, stream: &str, data: &str) -> Appended {
    daybook.append(one(stream, Expected::Any, data)).await.unwrap()
}

async fn data_of(daybook: &Daybook, stream: &str) -> Vec<String> {
    let stream = StreamName::new(stream).unwrap();
    let page = daybook.read_stream(&stream, StreamFrom::Start, Direction::Forwards, 100).await.unwrap();
    page.events.iter().map(|event| String::from_utf8(event.data.to_vec()).unwrap()).collect()
}

/// What another opening of the directory needs until the first one's end in the background has come.
async fn open_when_free(directory: &std::path::Path) -> Daybook {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match Daybook::open(directory).await {
            Ok(daybook) => return daybook,
            Err(OpenError::Directory(DataDirError::InUse { .. })) if Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn what_was_appended_is_there_after_closing_and_opening() {
    let directory = tempfile::tempdir().unwrap();
    let daybook = Daybook::open(directory.path()).await.unwrap();
    append(&daybook, "note-1", "first").await;
    append(&daybook, "note-1", "second").await;
    let end = daybook.end();
    daybook.close().await;

    let daybook = Daybook::open(directory.path()).await.unwrap();
    assert_eq!(data_of(&daybook, "note-1").await, ["first", "second"]);
    assert_eq!(daybook.end(), end);
    let appended = append(&daybook, "note-1", "third").await;
    assert_eq!(appended.streams[0].first_version, StreamVersion(2));
    daybook.close().await;
}

#[tokio::test]
async fn what_was_appended_is_there_after_dropping_and_opening() {
    let directory = tempfile::tempdir().unwrap();
    let daybook = Daybook::open(directory.path()).await.unwrap();
    append(&daybook, "note-1", "first").await;
    drop(daybook);
    let daybook = open_when_free(directory.path()).await;
    assert_eq!(data_of(&daybook, "note-1").await, ["first"]);
    daybook.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handle_outlives_the_engine_and_takes_nothing_more() {
    let directory = tempfile::tempdir().unwrap();
    let daybook = Daybook::open(directory.path()).await.unwrap();
    append(&daybook, "note-1", "first").await;
    let store = daybook.store().clone();
    daybook.close().await;
    let refused = store.append(one("note-1", Expected::Any, "late")).await;
    assert!(matches!(refused, Err(AppendError::Propose(ProposeError::Closed))), "{refused:?}");
    // Its index is still open, so the directory is not free.
    assert!(matches!(Daybook::open(directory.path()).await, Err(OpenError::Storage { .. })));
    drop(store);
    let daybook = Daybook::open(directory.path()).await.unwrap();
    assert_eq!(data_of(&daybook, "note-1").await, ["first"]);
    daybook.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_passes_from_history_to_what_comes() {
    let directory = tempfile::tempdir().unwrap();
    let daybook = Daybook::open(directory.path()).await.unwrap();
    append(&daybook, "note-1", "before").await;
    let mut subscription = daybook.subscribe(Target::All(Filter::default()), FollowFrom::Start);
    let mut seen = Vec::new();
    while seen.len() < 2 {
        match tokio::time::timeout(PATIENCE, subscription.next()).await.unwrap().unwrap().unwrap() {
            Followed::Event(event) => seen.push(event.data),
            Followed::CaughtUp { .. } => drop(append(&daybook, "note-2", "after").await),
            _ => {}
        }
    }
    assert_eq!(seen, ["before", "after"]);
    let all = daybook.read_all(AllFrom::Start, Direction::Forwards, &Filter::default(), 10).await.unwrap();
    assert_eq!(all.events.iter().map(|event| &event.data).collect::<Vec<_>>(), ["before", "after"]);
    drop(subscription);
    daybook.close().await;
}

#[tokio::test]
async fn a_directory_is_one_nodes_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    Daybook::open(directory.path()).await.unwrap().close().await;
    let other = Daybook::open_with(directory.path(), Options { node_id: 2, ..Options::default() }).await;
    assert!(matches!(other, Err(OpenError::Directory(DataDirError::OtherNode { .. }))), "{other:?}");
}

/// Other executors can poll a future too.
#[test]
fn without_a_runtime_opening_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut opening = Box::pin(Daybook::open(directory.path()));
    let waker = std::task::Waker::noop();
    match opening.as_mut().poll(&mut std::task::Context::from_waker(waker)) {
        std::task::Poll::Ready(Err(OpenError::NoRuntime)) => {}
        other => panic!("{other:?}"),
    }
}
