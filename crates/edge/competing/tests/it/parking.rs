//! What is parked, and what becomes of it.

use daybook_competing::{FilterText, Nack, Settings};
use daybook_event_store::{Append, NewEvent};
use serde_json::Value;

use crate::harness::{Node, ack, all, eager, event, retries, stream, take, types};

#[tokio::test]
async fn parked_events_are_links_with_a_reason() {
    let node = Node::start().await;
    node.append("order-1", &["a", "b"]).await;
    let settings = Settings { max_retry_count: 0, ..eager() };
    let name = node.create(stream("order-1"), settings).await;
    let consumer = node.join(&name, 2).await;
    let held = take(&consumer, 2).await;
    consumer.nack(vec![held[0].id], Nack::Park, "broken").await.unwrap();
    consumer.nack(vec![held[1].id], Nack::Retry, "").await.unwrap();
    node.until(&name, |info| info.last_checkpointed == Some(1)).await;
    assert_eq!(node.info(&name).await.parked, 2);
    let parked_stream = name.parked_stream().unwrap();
    assert_eq!(parked_stream.as_str(), "$persistentsubscription-order-1::g-parked");
    let mut parked = node.read(&parked_stream).await;
    parked.sort_by_key(|event| event.data.clone());
    assert!(parked.iter().all(|event| event.event_type == "$>"));
    assert_eq!((&parked[0].data[..], &parked[1].data[..]), (&b"0@order-1"[..], &b"1@order-1"[..]));
    let why = |at: usize| serde_json::from_slice::<Value>(parked[at].metadata.as_deref().unwrap()).unwrap();
    assert!(why(0)["reason"].as_str().unwrap().contains("broken"));
    assert!(why(1)["reason"].as_str().unwrap().contains("1 deliveries"));
    assert_eq!(why(1)["subscriptionEventNumber"], 1);
}

#[tokio::test]
async fn what_is_replayed_is_parked_until_it_is_settled() {
    let node = Node::start().await;
    node.append("order-1", &["a", "b", "c"]).await;
    let name = node.create(stream("order-1"), eager()).await;
    let consumer = node.join(&name, 1).await;
    for _ in 0..3 {
        let held = take(&consumer, 1).await;
        consumer.nack(vec![held[0].id], Nack::Park, "").await.unwrap();
    }
    node.until(&name, |info| info.parked == 3 && info.last_checkpointed == Some(2)).await;
    let parked = name.parked_stream().unwrap();

    // The first two only.
    node.subscriptions.replay_parked(&name, Some(2)).await.unwrap();
    let replayed = take(&consumer, 1).await;
    let link = replayed[0].item.link.as_ref().unwrap();
    assert_eq!(link.stream.as_ref(), Some(&parked));
    assert_eq!(retries(&replayed), [0]);
    assert_eq!(node.info(&name).await.parked, 1, "what is replayed is not counted as parked");
    assert_eq!(node.read(&parked).await.len(), 3, "but it is still there");
    ack(&consumer, &replayed).await;
    let again = take(&consumer, 1).await;
    node.until(&name, |info| info.last_checkpointed == Some(2)).await;

    // A crash while it is in somebody's hands loses nothing.
    drop(consumer);
    let node = node.restart(false).await;
    let left = node.read(&parked).await;
    assert_eq!(left.len(), 2);
    assert_eq!(node.info(&name).await.parked, 2);
    let consumer = node.join(&name, 10).await;
    node.subscriptions.replay_parked(&name, None).await.unwrap();
    let both = take(&consumer, 2).await;
    assert_eq!(types(&both)[0], types(&again)[0]);
    consumer.nack(vec![both[0].id], Nack::Park, "still").await.unwrap();
    ack(&consumer, &both[1..]).await;
    // Parked once more, behind the others; those that were replayed are gone.
    node.until(&name, |info| info.parked == 1).await;
    loop {
        let left = node.read(&parked).await;
        if left.len() == 1 {
            assert_eq!(left[0].version.unwrap().0, 3);
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    assert_eq!(node.info(&name).await.last_checkpointed, Some(2), "a replay moves no checkpoint");
}

#[tokio::test]
async fn parked_events_may_be_forgotten() {
    let node = Node::start().await;
    node.append("order-1", &["a", "b", "c"]).await;
    let name = node.create(stream("order-1"), eager()).await;
    let consumer = node.join(&name, 10).await;
    let held = take(&consumer, 3).await;
    consumer.nack(held.iter().map(|held| held.id).collect(), Nack::Park, "").await.unwrap();
    node.until(&name, |info| info.parked == 3).await;
    node.subscriptions.truncate_parked(&name, Some(2)).await.unwrap();
    assert_eq!(node.info(&name).await.parked, 1);
    node.subscriptions.truncate_parked(&name, None).await.unwrap();
    assert_eq!(node.info(&name).await.parked, 0);
    node.subscriptions.replay_parked(&name, None).await.unwrap();
    node.append("order-1", &["d"]).await;
    assert_eq!(types(&take(&consumer, 1).await), ["d"], "there was nothing to be replayed");
}

#[tokio::test]
async fn a_deleted_group_leaves_nothing_parked() {
    let node = Node::start().await;
    node.append("order-1", &["a"]).await;
    for round in 0..2 {
        let name = node.create(stream("order-1"), eager()).await;
        assert_eq!(node.info(&name).await.parked, 0, "round {round}");
        let consumer = node.join(&name, 10).await;
        let held = take(&consumer, 1).await;
        consumer.nack(vec![held[0].id], Nack::Park, "").await.unwrap();
        node.until(&name, |info| info.parked == 1).await;
        node.subscriptions.replay_parked(&name, None).await.unwrap();
        let replayed = take(&consumer, 1).await;
        assert_eq!(types(&replayed), ["a"]);
        consumer.nack(vec![replayed[0].id], Nack::Park, "").await.unwrap();
        node.until(&name, |info| info.parked == 1).await;
        node.subscriptions.delete(&name).await.unwrap();
        assert!(node.read(&name.parked_stream().unwrap()).await.is_empty());
    }
}

#[tokio::test]
async fn a_parked_event_that_is_gone_is_passed_over() {
    let node = Node::start().await;
    node.append("order-1", &["a", "b"]).await;
    let name = node.create(stream("order-1"), eager()).await;
    let consumer = node.join(&name, 1).await;
    for _ in 0..2 {
        let held = take(&consumer, 1).await;
        consumer.nack(vec![held[0].id], Nack::Park, "").await.unwrap();
    }
    node.until(&name, |info| info.parked == 2).await;
    node.append_events("$$order-1", vec![event("$metadata", br#"{"$tb": 1}"#)]).await;
    node.subscriptions.replay_parked(&name, None).await.unwrap();
    let replayed = take(&consumer, 1).await;
    assert_eq!(types(&replayed), ["b"]);
    ack(&consumer, &replayed).await;
    let parked = name.parked_stream().unwrap();
    while !node.read(&parked).await.is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn what_a_group_on_all_parks_does_not_feed_it() {
    let node = Node::start().await;
    node.append("order-1", &["a"]).await;
    // Of no stream: it is parked by its position.
    let streamless = Append { events: vec![NewEvent { ..event("b", b"") }], ..Append::default() };
    node.store.append(streamless).await.unwrap();
    let name = node.create(all(FilterText::default()), eager()).await;
    let consumer = node.join(&name, 10).await;
    let held = take(&consumer, 2).await;
    assert_eq!(types(&held), ["a", "b"]);
    consumer.nack(held.iter().map(|held| held.id).collect(), Nack::Park, "").await.unwrap();
    node.until(&name, |info| info.parked == 2).await;
    node.subscriptions.replay_parked(&name, None).await.unwrap();
    let replayed = take(&consumer, 2).await;
    let mut both = types(&replayed);
    both.sort_unstable();
    assert_eq!(both, ["a", "b"]);
    ack(&consumer, &replayed).await;
    // Two events, two links, and one that says that the links are gone.
    while node.store.end().0 < 5 {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    node.append("order-1", &["c"]).await;
    assert_eq!(types(&take(&consumer, 1).await), ["c"]);
}
