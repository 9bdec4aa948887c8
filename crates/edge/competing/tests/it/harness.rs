//! A store over a shard in a directory of its own, and subscriptions over it.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use daybook_apply::ShardState;
use daybook_competing::{
    Consumer, Definition, Delivery, FilterText, Info, Profile, Settings, Source, StartFrom, SubscriptionName,
    Subscriptions,
};
use daybook_event_store::{
    Append, Direction, EventStore, Expected, NewEvent, Options, Recorded, StreamAppend, StreamFrom, StreamName,
};
use daybook_read::Reader;
use daybook_shard::{Shard, ShardOptions, Storage, StorageOptions};
use daybook_types::{NodeId, ShardId};
use daybook_world::{Disk, RealClock, RealDisk};
use tempfile::TempDir;
use tokio::time::timeout;

/// No test waits longer for anything; it is no measure of anything.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Node {
    pub store: EventStore,
    pub subscriptions: Subscriptions,
    shard: Shard,
    dir: TempDir,
}

impl Node {
    pub async fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap()).await
    }

    async fn start_in(dir: TempDir) -> Self {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(dir.path()).unwrap());
        let wal = daybook_wal::Options { segment_bytes: 4 * 1024 * 1024, ..daybook_wal::Options::default() };
        let storage_options = StorageOptions { wal, kv: daybook_kv::Options::default() };
        let storage = Storage::open(&disk, dir.path(), Path::new("shard-0"), storage_options).unwrap();
        let state = ShardState::restore(&storage.kv).unwrap();
        let reader = Reader::new(state.posted(), Arc::clone(&storage.files));
        let shard_options = ShardOptions {
            node: NodeId(0),
            shard: ShardId(0),
            in_flight_bytes_max: 64 * 1024 * 1024,
            checkpoint_wal_bytes: 64 * 1024 * 1024,
            checkpoint_interval: Duration::from_secs(3600),
        };
        let shard = Shard::start(storage, state, Arc::new(RealClock), shard_options).await.unwrap();
        let store = EventStore::new(shard.door(), reader, Options::default());
        let subscriptions = Subscriptions::start(store.clone());
        Self { store, subscriptions, shard, dir }
    }

    /// In order, or as after a crash: then nobody keeps a last checkpoint.
    pub async fn restart(self, in_order: bool) -> Self {
        if in_order {
            self.subscriptions.close().await;
        }
        drop((self.subscriptions, self.store));
        self.shard.stop().await;
        Self::start_in(self.dir).await
    }

    /// Appends events of these types; returns their positions' end.
    pub async fn append(&self, stream: &str, types: &[&str]) {
        let events = types.iter().map(|event_type| event(event_type, b"{}")).collect();
        self.append_events(stream, events).await;
    }

    pub async fn append_events(&self, stream: &str, events: Vec<NewEvent>) {
        let stream = StreamName::new(stream).unwrap();
        let part = StreamAppend { stream, expected: Expected::Any, events };
        self.store.append(Append { streams: vec![part], ..Append::default() }).await.unwrap();
    }

    pub async fn create(&self, source: Source, settings: Settings) -> SubscriptionName {
        let definition = Definition { source, group: "g".into(), settings };
        let name = definition.name();
        self.subscriptions.create(definition).await.unwrap();
        name
    }

    pub async fn join(&self, name: &SubscriptionName, slots: usize) -> Consumer {
        self.subscriptions.join(name, slots, Profile::default()).await.unwrap()
    }

    pub async fn info(&self, name: &SubscriptionName) -> Info {
        self.subscriptions.info(name).await.unwrap()
    }

    /// Waits until the figures are as wanted.
    pub async fn until(&self, name: &SubscriptionName, wanted: impl Fn(&Info) -> bool) -> Info {
        patiently(async {
            loop {
                let info = self.info(name).await;
                if wanted(&info) {
                    return info;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await
    }

    /// All that the stream has now.
    pub async fn read(&self, stream: &StreamName) -> Vec<Recorded> {
        match self.store.read_stream(stream, StreamFrom::Start, Direction::Forwards, 1000).await {
            Ok(page) => page.events,
            Err(_) => Vec::new(),
        }
    }
}

pub fn event(event_type: &str, data: &'static [u8]) -> NewEvent {
    NewEvent { event_type: event_type.to_owned(), data: data.into(), ..NewEvent::default() }
}

pub fn stream(name: &str) -> Source {
    Source::Stream(name.to_owned())
}

pub fn all(filter: FilterText) -> Source {
    Source::All(filter)
}

/// From the start, checkpoints as soon as can be.
pub fn eager() -> Settings {
    Settings { start_from: StartFrom::Start, min_checkpoint_count: 1, max_checkpoint_count: 1, ..Settings::default() }
}

pub async fn patiently<T>(what: impl Future<Output = T>) -> T {
    timeout(PATIENCE, what).await.expect("it comes in time")
}

pub async fn take(consumer: &Consumer, count: usize) -> Vec<Delivery> {
    let mut taken = Vec::with_capacity(count);
    for _ in 0..count {
        taken.push(patiently(consumer.recv()).await.unwrap());
    }
    taken
}

pub fn types(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries.iter().map(|delivery| delivery.item.event.as_ref().unwrap().event_type.as_str()).collect()
}

pub fn retries(deliveries: &[Delivery]) -> Vec<u32> {
    deliveries.iter().map(|delivery| delivery.retry).collect()
}

pub async fn ack(consumer: &Consumer, deliveries: &[Delivery]) {
    consumer.ack(deliveries.iter().map(|delivery| delivery.id).collect()).await.unwrap();
}
