//! Persistent subscriptions on a real store: delivery, settling, restarts.

use daybook_competing::{
    ConsumerStrategy, Definition, Ended, FilterText, ItemId, JoinError, ManageError, Nack, Profile, Settings, Source,
    StartFrom, SubscriptionName,
};
use daybook_event_store::{NewEvent, StreamName};

use futures::FutureExt as _;

use crate::harness::{Node, ack, all, eager, event, patiently, retries, stream, take, types};

#[tokio::test]
async fn history_and_what_comes_are_shared() {
    let node = Node::start().await;
    node.append("order-1", &["a", "b"]).await;
    let name = node.create(stream("order-1"), eager()).await;
    let first = node.join(&name, 2).await;
    let history = take(&first, 2).await;
    assert_eq!((types(&history), retries(&history)), (vec!["a", "b"], vec![0, 0]));
    let second = node.join(&name, 2).await;
    node.append("order-1", &["c", "d"]).await;
    let live = take(&second, 2).await;
    assert_eq!(types(&live), ["c", "d"], "the first one has its hands full");
    ack(&first, &history).await;
    ack(&second, &live).await;
    let info = node.until(&name, |info| info.last_checkpointed == Some(3)).await;
    assert!(info.is_live);
    assert_eq!((info.last_known, info.in_flight, info.rate.total), (Some(3), 0, 4));
    assert_eq!(info.connections.len(), 2);
}

#[tokio::test]
async fn what_a_consumer_held_goes_to_others_when_it_is_gone() {
    let node = Node::start().await;
    node.append("order-1", &["a", "b", "c"]).await;
    let name = node.create(stream("order-1"), eager()).await;
    let first = node.join(&name, 3).await;
    let held = take(&first, 3).await;
    ack(&first, &held[1..2]).await;
    // Seen by the group before the consumer goes.
    node.until(&name, |info| info.in_flight == 2).await;
    drop(first);
    let second = node.join(&name, 10).await;
    let again = take(&second, 2).await;
    assert_eq!((types(&again), retries(&again)), (vec!["a", "c"], vec![1, 1]));
    assert_eq!(node.info(&name).await.last_checkpointed, None, "nothing is finished before the first event");
    ack(&second, &again).await;
    node.until(&name, |info| info.last_checkpointed == Some(2)).await;
}

#[tokio::test]
async fn no_checkpoint_is_ahead_of_an_event_that_is_not_settled() {
    for in_order in [true, false] {
        let node = Node::start().await;
        node.append("order-1", &["a", "b", "c", "d"]).await;
        let name = node.create(stream("order-1"), eager()).await;
        let consumer = node.join(&name, 10).await;
        let held = take(&consumer, 4).await;
        ack(&consumer, &[held[0].clone(), held[2].clone(), held[3].clone()]).await;
        node.until(&name, |info| info.last_checkpointed == Some(0)).await;
        drop(consumer);
        let node = node.restart(in_order).await;
        assert_eq!(node.info(&name).await.last_checkpointed, Some(0));
        let consumer = node.join(&name, 10).await;
        assert_eq!(types(&take(&consumer, 3).await), ["b", "c", "d"]);
    }
}

#[tokio::test]
async fn an_orderly_stop_keeps_the_least_progress() {
    let node = Node::start().await;
    node.append("order-1", &["a", "b"]).await;
    // No checkpoint would come of one event.
    let settings = Settings { start_from: StartFrom::Start, ..Settings::default() };
    let name = node.create(stream("order-1"), settings).await;
    let consumer = node.join(&name, 1).await;
    ack(&consumer, &take(&consumer, 1).await).await;
    let held = take(&consumer, 1).await;
    assert_eq!(types(&held), ["b"]);
    let node = node.restart(true).await;
    let consumer = node.join(&name, 10).await;
    assert_eq!(types(&take(&consumer, 1).await), ["b"]);
}

#[tokio::test]
async fn the_end_is_that_of_the_creation() {
    let node = Node::start().await;
    node.append("order-1", &["a", "b"]).await;
    let name = node.create(stream("order-1"), Settings::default()).await;
    let on_all = node.create(all(FilterText::default()), Settings::default()).await;
    node.append("order-1", &["c"]).await;
    let node = node.restart(false).await;
    for name in [name, on_all] {
        let consumer = node.join(&name, 10).await;
        assert_eq!(types(&take(&consumer, 1).await), ["c"]);
    }
}

#[tokio::test]
async fn an_event_may_be_retried_skipped_and_timed_out() {
    let node = Node::start().await;
    node.append("order-1", &["a", "b"]).await;
    let settings = Settings { message_timeout_ms: 40, max_retry_count: 2, ..eager() };
    let name = node.create(stream("order-1"), settings).await;
    let consumer = node.join(&name, 1).await;
    let first = take(&consumer, 1).await;
    consumer.nack(vec![first[0].id], Nack::Retry, "not now").await.unwrap();
    let second = take(&consumer, 1).await;
    assert_eq!((types(&second), retries(&second)), (vec!["a"], vec![1]));
    // Nobody says anything of this one.
    let third = take(&consumer, 1).await;
    assert_eq!((types(&third), retries(&third)), (vec!["a"], vec![2]));
    consumer.nack(vec![third[0].id], Nack::Skip, "never").await.unwrap();
    let fourth = take(&consumer, 1).await;
    assert_eq!(types(&fourth), ["b"]);
    ack(&consumer, &fourth).await;
    let info = node.until(&name, |info| info.last_checkpointed == Some(1)).await;
    assert_eq!(info.parked, 0);
}

#[tokio::test]
async fn what_is_withdrawn_is_not_seen() {
    let node = Node::start().await;
    node.append("order-1", &["a"]).await;
    let settings = Settings { message_timeout_ms: 30, max_retry_count: 0, ..eager() };
    let name = node.create(stream("order-1"), settings).await;
    let consumer = node.join(&name, 1).await;
    // The consumer doesn't look until the event's time is over and it is parked.
    node.until(&name, |info| info.parked == 1 && info.in_flight == 0).await;
    assert!(!consumer.holds(ItemId::main(0)));
    assert_eq!(consumer.recv().now_or_never(), None);
}

#[tokio::test]
async fn who_asks_to_be_stopped_is_put_out() {
    let node = Node::start().await;
    node.append("order-1", &["a"]).await;
    let name = node.create(stream("order-1"), eager()).await;
    let consumer = node.join(&name, 1).await;
    let held = take(&consumer, 1).await;
    consumer.nack(vec![held[0].id], Nack::Stop, "").await.unwrap();
    assert_eq!(patiently(consumer.recv()).await, Err(Ended::Dropped));
    assert_eq!(node.info(&name).await.connections.len(), 0);
    let other = node.join(&name, 1).await;
    assert_eq!(retries(&take(&other, 1).await), [1]);
}

#[tokio::test]
async fn a_gap_left_by_truncation_is_passed() {
    let node = Node::start().await;
    node.append("order-1", &["a", "b", "c", "d", "e"]).await;
    let settings = Settings { history_buffer_size: 2, live_buffer_size: 1, read_batch_size: 1, ..eager() };
    let name = node.create(stream("order-1"), settings).await;
    let consumer = node.join(&name, 1).await;
    let first = take(&consumer, 1).await;
    ack(&consumer, &first).await;
    node.until(&name, |info| info.last_checkpointed == Some(0)).await;
    drop(consumer);
    node.append_events("$$order-1", vec![event("$metadata", br#"{"$tb": 4}"#)]).await;
    // The checkpoint stands before what is gone.
    let node = node.restart(false).await;
    let consumer = node.join(&name, 1).await;
    let last = take(&consumer, 1).await;
    assert_eq!(types(&last), ["e"]);
    ack(&consumer, &last).await;
    node.until(&name, |info| info.last_checkpointed == Some(4)).await;
}

#[tokio::test]
async fn a_gap_left_by_a_scavenge_is_passed() {
    let node = Node::start().await;
    node.append("order-1", &["a", "b", "c", "d", "e"]).await;
    let settings = Settings { history_buffer_size: 2, live_buffer_size: 1, read_batch_size: 1, ..eager() };
    let name = node.create(stream("order-1"), settings).await;
    let consumer = node.join(&name, 1).await;
    ack(&consumer, &take(&consumer, 1).await).await;
    node.until(&name, |info| info.last_checkpointed == Some(0)).await;
    drop(consumer);
    node.append_events("$$order-1", vec![event("$metadata", br#"{"$tb": 4}"#)]).await;
    // A scavenge works on what is in files; a stop brings all there.
    let node = node.restart(false).await;
    node.store.start_scavenge().unwrap();
    let report = patiently(node.store.scavenged()).await.unwrap();
    assert_eq!((report.state.name(), report.events_removed), ("finished", 4));
    let consumer = node.join(&name, 1).await;
    let next = take(&consumer, 1).await;
    assert_eq!(types(&next), ["e"]);
    ack(&consumer, &next).await;
    node.until(&name, |info| info.last_checkpointed == Some(4)).await;
}

#[tokio::test]
async fn a_filter_may_look_ahead_and_what_it_passes_over_is_finished() {
    let node = Node::start().await;
    let filter = FilterText { type_regex: Some("^(?!(b$|\\$.+$))".into()), ..FilterText::default() };
    let name = node.create(all(filter), eager()).await;
    node.append("order-1", &["a", "b", "b", "c", "b"]).await;
    let consumer = node.join(&name, 10).await;
    let taken = take(&consumer, 2).await;
    assert_eq!(types(&taken), ["a", "c"]);
    ack(&consumer, &taken).await;
    node.until(&name, |info| info.last_checkpointed == Some(4)).await;
    // The same by the store's own filter.
    let filter = FilterText { type_prefixes: vec!["c".into()], ..FilterText::default() };
    let definition = Definition { source: all(filter), group: "by-prefix".into(), settings: eager() };
    let name = definition.name();
    node.subscriptions.create(definition).await.unwrap();
    let consumer = node.join(&name, 10).await;
    let taken = take(&consumer, 1).await;
    assert_eq!(types(&taken), ["c"]);
    ack(&consumer, &taken).await;
    node.until(&name, |info| info.last_checkpointed == Some(4)).await;
}

#[tokio::test]
async fn categories_and_types_are_consumed_by_position() {
    let node = Node::start().await;
    node.append("order-1", &["placed"]).await;
    node.append("customer-1", &["placed"]).await;
    node.append("order-2", &["shipped"]).await;
    let orders = node.create(Source::Category("order".into()), eager()).await;
    let placed = node.create(Source::EventType("placed".into()), eager()).await;
    let consumer = node.join(&orders, 10).await;
    let taken = take(&consumer, 2).await;
    assert_eq!(types(&taken), ["placed", "shipped"]);
    assert_eq!(taken[1].id.number, 2);
    let consumer = node.join(&placed, 10).await;
    let taken = take(&consumer, 2).await;
    assert_eq!(taken.iter().map(|delivery| delivery.id.number).collect::<Vec<_>>(), [0, 1]);
}

#[tokio::test]
async fn streams_are_pinned_to_consumers() {
    let node = Node::start().await;
    let settings = Settings { strategy: ConsumerStrategy::Pinned, ..eager() };
    let name = node.create(Source::Category("order".into()), settings).await;
    let consumers = [node.join(&name, 50).await, node.join(&name, 50).await];
    for round in 0..5 {
        for number in 0..8 {
            node.append(&format!("order-{number}"), &[&format!("round {round}")]).await;
        }
    }
    node.until(&name, |info| info.in_flight == 40).await;
    let mut owners = [None; 8];
    for position in 0..40 {
        let holds = consumers.each_ref().map(|consumer| consumer.holds(ItemId::main(position)));
        assert_ne!(holds[0], holds[1], "one has it");
        let owner = owners[position as usize % 8].get_or_insert(holds);
        assert_eq!(*owner, holds, "a stream is with one");
    }
    assert!(owners.contains(&Some([true, false])) && owners.contains(&Some([false, true])), "both have their share");
}

#[tokio::test]
async fn links_are_followed_where_that_is_wanted() {
    let node = Node::start().await;
    node.append("order-1", &["a"]).await;
    let link = |data: &'static [u8]| event("$>", data);
    node.append_events("links-1", vec![link(b"0@order-1"), link(b"7@order-1"), link(b"nonsense")]).await;
    let name = node.create(stream("links-1"), Settings { resolve_links: true, ..eager() }).await;
    let consumer = node.join(&name, 10).await;
    let taken = take(&consumer, 3).await;
    let event = taken[0].item.event.as_ref().unwrap();
    assert_eq!((event.event_type.as_str(), event.stream.as_ref().unwrap().as_str()), ("a", "order-1"));
    assert_eq!(taken[0].item.original().unwrap().stream.as_ref().unwrap().as_str(), "links-1");
    assert!(taken[1].item.event.is_none(), "there is no such event");
    assert!(taken[2].item.event.is_none());
    let plain = Definition { source: stream("links-1"), group: "plain".into(), settings: eager() };
    node.subscriptions.create(plain.clone()).await.unwrap();
    let consumer = node.join(&plain.name(), 10).await;
    assert_eq!(types(&take(&consumer, 3).await), ["$>", "$>", "$>"]);
}

#[tokio::test]
async fn a_change_drops_consumers_and_keeps_what_was_reached() {
    let node = Node::start().await;
    node.append("order-1", &["a", "b"]).await;
    let settings = Settings { start_from: StartFrom::Start, max_subscriber_count: 1, ..Settings::default() };
    let name = node.create(stream("order-1"), settings.clone()).await;
    let definition = |settings| Definition { source: stream("order-1"), group: "g".into(), settings };
    let exists = node.subscriptions.create(definition(settings.clone())).await;
    assert!(matches!(exists, Err(ManageError::Exists(_))));
    let consumer = node.join(&name, 10).await;
    let full = node.subscriptions.join(&name, 1, Profile::default()).await.err();
    assert_eq!(full, Some(JoinError::Full(name.clone())));
    let taken = take(&consumer, 2).await;
    ack(&consumer, &taken[..1]).await;
    node.until(&name, |info| info.in_flight == 1).await;
    node.subscriptions.update(definition(Settings { max_subscriber_count: 2, ..settings })).await.unwrap();
    assert_eq!(patiently(consumer.recv()).await, Err(Ended::Dropped));
    let (one, _other) = (node.join(&name, 10).await, node.join(&name, 10).await);
    assert_eq!(types(&take(&one, 1).await), ["b"]);
    assert_eq!(node.info(&name).await.definition.settings.max_subscriber_count, 2);

    node.subscriptions.restart().await.unwrap();
    assert_eq!(patiently(one.recv()).await, Err(Ended::Dropped));
    assert_eq!(types(&take(&node.join(&name, 10).await, 1).await), ["b"]);

    node.subscriptions.delete(&name).await.unwrap();
    assert!(matches!(node.subscriptions.delete(&name).await, Err(ManageError::Unknown(_))));
    assert!(matches!(node.subscriptions.info(&name).await, Err(ManageError::Unknown(_))));
    let gone = node.subscriptions.update(definition(Settings::default())).await;
    assert!(matches!(gone, Err(ManageError::Unknown(_))));
    let unknown = node.subscriptions.join(&name, 1, Profile::default()).await.err();
    assert_eq!(unknown, Some(JoinError::Unknown(name.clone())));
    // Made anew it knows nothing of the old one.
    let name = node.create(stream("order-1"), eager()).await;
    assert_eq!(types(&take(&node.join(&name, 10).await, 2).await), ["a", "b"]);
    let node = node.restart(true).await;
    assert_eq!(node.subscriptions.list(Some("order-1")).await.unwrap().len(), 1);
    assert_eq!(node.subscriptions.list(Some("order-2")).await.unwrap().len(), 0);
    assert_eq!(node.subscriptions.list(None).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_stream_may_come_later() {
    let node = Node::start().await;
    let name = node.create(stream("order-1"), Settings::default()).await;
    let consumer = node.join(&name, 10).await;
    node.until(&name, |info| info.is_live).await;
    node.append("order-1", &["a"]).await;
    assert_eq!(types(&take(&consumer, 1).await), ["a"]);
}

#[tokio::test]
async fn a_start_after_the_end_is_refused() {
    let node = Node::start().await;
    let settings = Settings { start_from: StartFrom::At(1_000_000), ..Settings::default() };
    let definition = Definition { source: all(FilterText::default()), group: "g".into(), settings };
    assert!(matches!(node.subscriptions.create(definition).await, Err(ManageError::Invalid(_))));
    let name = SubscriptionName::new("$all", "g");
    assert!(matches!(node.subscriptions.info(&name).await, Err(ManageError::Unknown(_))));
}

#[tokio::test]
async fn extra_statistics_tell_how_long_consumers_take() {
    let node = Node::start().await;
    node.append("order-1", &["a"]).await;
    let name = node.create(stream("order-1"), Settings { extra_statistics: true, ..eager() }).await;
    let consumer = node.join(&name, 3).await;
    ack(&consumer, &take(&consumer, 1).await).await;
    let info = node.until(&name, |info| info.in_flight == 0).await;
    let measured = &info.connections[0].measurements;
    assert_eq!(measured.first().map(|(name, _)| *name), Some("Mean"));
    assert_eq!(measured.len(), 14);
    assert_eq!(info.connections[0].available_slots, 3);
}

#[tokio::test]
async fn events_of_one_id_are_not_one_event() {
    let node = Node::start().await;
    let same = || NewEvent { id: "same".into(), ..event("a", b"") };
    node.append_events("order-1", vec![same()]).await;
    node.append_events("order-2", vec![same()]).await;
    let name = node.create(Source::Category("order".into()), eager()).await;
    let consumer = node.join(&name, 10).await;
    let taken = take(&consumer, 2).await;
    ack(&consumer, &taken[1..]).await;
    node.until(&name, |info| info.in_flight == 1).await;
    assert!(consumer.holds(taken[0].id));
    assert_eq!(StreamName::new("order-1").ok(), taken[0].item.event.as_ref().unwrap().stream);
}
