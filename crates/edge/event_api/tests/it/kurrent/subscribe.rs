//! Subscriptions: history, then what comes.

use daybook_event_api::kurrent::{Options, routes};
use daybook_event_api::proto::event_store::client::Empty;
use daybook_event_api::proto::event_store::client::streams::read_req::options as asked;
use daybook_event_api::proto::event_store::client::streams::read_req::options::{
    all_options, filter_options, stream_options,
};
use daybook_event_api::proto::event_store::client::streams::read_resp::{Content, Position};
use daybook_event_api::proto::event_store::client::streams::{ReadResp, TombstoneReq, read_req, tombstone_req};
use tokio::sync::watch;
use tonic::{Code, Streaming};

use super::{
    Streams, all_from_start, append, append_events, event, from_start, identifier, metadata_of, next, number, of_all,
    of_stream, open, read_options, streams,
};
use crate::harness::Node;

fn subscription(stream_option: asked::StreamOption) -> read_req::Options {
    let mut options = read_options(stream_option);
    options.count_option = Some(asked::CountOption::Subscription(asked::SubscriptionOptions {}));
    options
}

/// Subscribes and takes the confirmation.
async fn subscribe(streams: &mut Streams, options: read_req::Options) -> Streaming<ReadResp> {
    let mut answers = open(streams, options).await.unwrap();
    let first = next(&mut answers).await.unwrap();
    assert!(matches!(&first, Some(Content::Confirmation(confirmation)) if !confirmation.subscription_id.is_empty()));
    answers
}

/// The numbers of events up to the word that all history has been sent, and that word.
async fn history(answers: &mut Streaming<ReadResp>) -> (Vec<u64>, Option<i64>, Option<Position>) {
    let mut found = Vec::new();
    loop {
        match next(answers).await.unwrap().unwrap() {
            Content::Event(event) => found.push(number(event.event.as_ref().unwrap())),
            Content::CaughtUp(caught_up) => {
                assert!(caught_up.timestamp.is_some());
                return (found, caught_up.stream_revision, caught_up.position);
            }
            Content::Checkpoint(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn next_number(answers: &mut Streaming<ReadResp>) -> u64 {
    loop {
        match next(answers).await.unwrap().unwrap() {
            Content::Event(event) => return number(event.event.as_ref().unwrap()),
            Content::Checkpoint(_) | Content::CaughtUp(_) | Content::FellBehind(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_followed_from_its_history_into_what_comes() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    append(&mut streams, "s-1", 0..700).await;
    append(&mut streams, "s-2", 1000..1001).await;
    let mut answers = subscribe(&mut streams, subscription(from_start("s-1"))).await;
    let (found, revision, position) = history(&mut answers).await;
    assert_eq!(found, (0..700).collect::<Vec<_>>());
    assert_eq!((revision, position), (Some(699), None));
    append(&mut streams, "s-2", 1001..1002).await;
    append(&mut streams, "s-1", 700..702).await;
    assert_eq!([next_number(&mut answers).await, next_number(&mut answers).await], [700, 701]);

    let after = of_stream("s-1", stream_options::RevisionOption::Revision(699));
    let mut answers = subscribe(&mut streams, subscription(after)).await;
    assert_eq!(history(&mut answers).await.0, [700, 701], "after the revision, not from it");
    let end = of_stream("s-1", stream_options::RevisionOption::End(Empty {}));
    let mut answers = subscribe(&mut streams, subscription(end)).await;
    assert_eq!(history(&mut answers).await, (vec![], Some(701), None));
    append(&mut streams, "s-1", 702..703).await;
    assert_eq!(next_number(&mut answers).await, 702);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_not_there_yet_is_waited_for() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    let mut answers = subscribe(&mut streams, subscription(from_start("s-1"))).await;
    assert_eq!(history(&mut answers).await, (vec![], None, None));
    append(&mut streams, "s-1", 0..2).await;
    assert_eq!([next_number(&mut answers).await, next_number(&mut answers).await], [0, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_is_followed_after_a_position() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    append(&mut streams, "s-1", 0..3).await;
    append(&mut streams, "s-2", 3..5).await;
    let mut answers = subscribe(&mut streams, subscription(all_from_start())).await;
    let (found, revision, position) = history(&mut answers).await;
    assert_eq!((found, revision), (vec![0, 1, 2, 3, 4], None));
    assert_eq!(position, Some(Position { commit_position: 4, prepare_position: 4 }));
    let after = of_all(all_options::AllOption::Position(asked::Position { commit_position: 2, prepare_position: 2 }));
    let mut after = subscribe(&mut streams, subscription(after)).await;
    assert_eq!(history(&mut after).await.0, [3, 4]);
    let mut end = subscribe(&mut streams, subscription(of_all(all_options::AllOption::End(Empty {})))).await;
    assert!(history(&mut end).await.0.is_empty());
    append(&mut streams, "s-3", 5..6).await;
    for answers in [&mut answers, &mut after, &mut end] {
        assert_eq!(next_number(answers).await, 5);
    }
}

/// Checkpoints come although nothing passes, and never lie before an event that is still to come.
#[tokio::test(flavor = "multi_thread")]
async fn a_filtered_subscription_says_how_far_it_has_looked() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    // The second looks ahead, so it is applied in the door, not in the store.
    for regex in ["^wanted$", "^(?!t$)"] {
        let start = node.store.end().0;
        let from = match start.checked_sub(1) {
            Some(last) => {
                all_options::AllOption::Position(asked::Position { commit_position: last, prepare_position: last })
            }
            None => all_options::AllOption::Start(Empty {}),
        };
        append(&mut streams, "noise-1", start..start + 100).await;
        append_events(&mut streams, "s-1", super::ANY, vec![event(start + 100, "wanted")]).await.unwrap();
        append(&mut streams, "noise-1", start + 101..start + 140).await;
        let mut options = subscription(of_all(from));
        options.filter_option = Some(asked::FilterOption::Filter(asked::FilterOptions {
            filter: Some(filter_options::Filter::EventType(filter_options::Expression {
                regex: regex.to_owned(),
                prefix: Vec::new(),
            })),
            window: Some(filter_options::Window::Max(10)),
            checkpoint_interval_multiplier: 2,
        }));
        let mut answers = subscribe(&mut streams, options).await;
        let (mut checkpoints, mut found) = (Vec::new(), Vec::new());
        loop {
            match next(&mut answers).await.unwrap().unwrap() {
                Content::Checkpoint(checkpoint) => checkpoints.push(checkpoint.commit_position),
                Content::Event(event) => {
                    let position = event.event.unwrap().commit_position;
                    assert!(checkpoints.iter().all(|&checkpoint| checkpoint < position), "{regex}: {checkpoints:?}");
                    found.push(position);
                }
                Content::CaughtUp(caught_up) => {
                    assert_eq!(caught_up.position.map(|at| at.commit_position), Some(start + 139), "{regex}");
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(found, [start + 100], "{regex}");
        assert_eq!(checkpoints.last(), Some(&(start + 139)), "{regex}");
        assert!(checkpoints.len() >= 7, "{regex}: one every 20 events: {checkpoints:?}");
        assert!(checkpoints.is_sorted(), "{regex}: {checkpoints:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_category_is_followed_and_resumed() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    append(&mut streams, "order-1", 0..1).await;
    append(&mut streams, "cart-1", 1..2).await;
    append(&mut streams, "order-2", 2..3).await;
    let mut answers = subscribe(&mut streams, subscription(from_start("$ce-order"))).await;
    let (found, revision, _) = history(&mut answers).await;
    assert_eq!(found, [0, 2]);
    append(&mut streams, "order-1", 3..4).await;
    assert_eq!(next_number(&mut answers).await, 3);
    let after = stream_options::RevisionOption::Revision(u64::try_from(revision.unwrap()).unwrap());
    let mut answers = subscribe(&mut streams, subscription(of_stream("$ce-order", after))).await;
    assert_eq!(history(&mut answers).await.0, [3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tombstone_ends_the_subscriptions_on_its_stream() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    append(&mut streams, "s-1", 0..1).await;
    let mut answers = subscribe(&mut streams, subscription(from_start("s-1"))).await;
    assert_eq!(history(&mut answers).await.0, [0]);
    let options = tombstone_req::Options {
        stream_identifier: identifier("s-1"),
        expected_stream_revision: Some(tombstone_req::options::ExpectedStreamRevision::Any(Empty {})),
    };
    streams.tombstone(TombstoneReq { options: Some(options) }).await.unwrap();
    let end = loop {
        match next(&mut answers).await {
            Ok(Some(Content::Event(event))) => assert_eq!(event.event.unwrap().metadata["type"], "$streamDeleted"),
            Ok(other) => panic!("{other:?}"),
            Err(status) => break status,
        }
    };
    assert_eq!((end.code(), metadata_of(&end, "exception")), (Code::FailedPrecondition, Some("stream-deleted")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_ends_subscriptions() {
    let node = Node::start().await;
    let (shutdown, begun) = watch::channel(false);
    let options = Options { shutdown: Some(begun), ..Options::default() };
    let mut streams = Streams::new(routes(node.store.clone(), options));
    let mut answers = subscribe(&mut streams, subscription(all_from_start())).await;
    assert!(history(&mut answers).await.0.is_empty());
    shutdown.send(true).unwrap();
    assert_eq!(next(&mut answers).await.unwrap_err().code(), Code::Unavailable);
}
