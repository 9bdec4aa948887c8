//! Consumers that come, go, forget and refuse, and a server that is stopped in between: in the end every event was accepted by
//! somebody or stands among the parked, and the checkpoint is at the end.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use daybook_competing::{Consumer, ConsumerStrategy, Delivery, Nack, Settings, Source, SubscriptionName};
use tokio::time::timeout;

use crate::harness::{Node, eager, patiently};

const STREAMS: u64 = 10;
const EVENTS: u64 = 300;

/// A small generator, so that a failure names its seed.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        // Knuth's MMIX.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

type Places = Arc<Mutex<BTreeSet<(String, u64)>>>;

#[tokio::test(flavor = "multi_thread")]
async fn every_event_is_accepted_or_parked() {
    let strategies = [ConsumerStrategy::RoundRobin, ConsumerStrategy::DispatchToSingle, ConsumerStrategy::Pinned];
    for (strategy, seed) in strategies.into_iter().zip(1..) {
        storm(strategy, seed).await;
    }
}

async fn storm(strategy: ConsumerStrategy, seed: u64) {
    let mut node = Node::start().await;
    let settings = Settings {
        strategy,
        message_timeout_ms: 20,
        max_retry_count: 3,
        live_buffer_size: 20,
        history_buffer_size: 20,
        read_batch_size: 5,
        max_checkpoint_count: 7,
        ..eager()
    };
    let name = node.create(Source::Category("order".into()), settings).await;
    for number in 0..EVENTS / STREAMS {
        for stream in 0..STREAMS {
            node.append(&format!("order-{stream}"), &[&format!("{number}")]).await;
        }
    }
    let accepted = Places::default();
    let mut reached = None;
    for round in 0..4 {
        let consumers = (0..4).map(|number| {
            let (node, name, accepted) = (node.subscriptions.clone(), name.clone(), accepted.clone());
            let dice = Dice(seed * 1000 + round * 10 + number);
            tokio::spawn(async move { misbehave(&node, &name, &accepted, dice).await })
        });
        for consumer in consumers.collect::<Vec<_>>() {
            consumer.await.unwrap();
        }
        let now = node.info(&name).await.last_checkpointed;
        assert!(now >= reached, "seed {seed}: the checkpoint went back from {reached:?} to {now:?}");
        reached = now;
        node = node.restart(round % 2 == 0).await;
        assert!(node.info(&name).await.last_checkpointed >= reached, "seed {seed}: a checkpoint was lost");
    }
    // Who is left is willing.
    let consumer = node.join(&name, 10).await;
    let end = EVENTS - 1;
    loop {
        match timeout(Duration::from_millis(200), consumer.recv()).await {
            Ok(delivery) => accept(&consumer, &delivery.unwrap(), &accepted).await,
            Err(_) if node.info(&name).await.last_checkpointed >= Some(end) => break,
            Err(_) => {}
        }
    }
    let info = node.until(&name, |info| info.in_flight == 0 && info.retrying == 0 && info.buffered == 0).await;
    assert!(info.last_checkpointed >= Some(end), "seed {seed}");
    let mut settled = accepted.lock().unwrap().clone();
    for parked in node.read(&name.parked_stream().unwrap()).await {
        let link = String::from_utf8(parked.data.to_vec()).unwrap();
        let (version, stream) = link.split_once('@').unwrap();
        settled.insert((stream.to_owned(), version.parse().unwrap()));
    }
    for stream in 0..STREAMS {
        for version in 0..EVENTS / STREAMS {
            assert!(settled.contains(&(format!("order-{stream}"), version)), "seed {seed}: {version}@order-{stream}");
        }
    }
}

/// Takes some events and does what a bad client does.
async fn misbehave(
    subscriptions: &daybook_competing::Subscriptions,
    name: &SubscriptionName,
    accepted: &Places,
    mut dice: Dice,
) {
    let join = async |slots| patiently(subscriptions.join(name, slots, Default::default())).await.unwrap();
    let mut consumer = join(1 + dice.throw(8) as usize).await;
    for _ in 0..40 {
        let Ok(delivery) = timeout(Duration::from_millis(50), consumer.recv()).await else { continue };
        let delivery = delivery.unwrap();
        match dice.throw(20) {
            0..12 => accept(&consumer, &delivery, accepted).await,
            12..15 => consumer.nack(vec![delivery.id], Nack::Retry, "").await.unwrap(),
            15 => consumer.nack(vec![delivery.id], Nack::Park, "").await.unwrap(),
            16..18 => {}
            _ => {
                drop(consumer);
                consumer = join(1 + dice.throw(8) as usize).await;
            }
        }
    }
}

async fn accept(consumer: &Consumer, delivery: &Delivery, accepted: &Places) {
    let event = delivery.item.event.as_ref().unwrap();
    // Noted first: what was sent may count, whether or not anybody saw it.
    accepted.lock().unwrap().insert((event.stream.as_ref().unwrap().to_string(), event.version.unwrap().0));
    consumer.ack(vec![delivery.id]).await.unwrap();
}
