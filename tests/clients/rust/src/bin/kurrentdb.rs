//! KurrentDB's Rust client on the event door.

use std::process::ExitCode;
use std::time::Duration;

use clients::{equal, eventually, scenarios, soon};
use kurrentdb::{
    AppendToStreamOptions, BatchAppendOptions, Client, CurrentRevision, DeletePersistentSubscriptionOptions,
    DeleteStreamOptions, Error, EventData, GetPersistentSubscriptionInfoOptions, NakAction, PersistentSubscription,
    PersistentSubscriptionEvent, PersistentSubscriptionOptions, PersistentSubscriptionToAllOptions, ReadAllOptions,
    ReadStreamOptions, RecordedEvent, ReplayParkedMessagesOptions, ResolvedEvent, StreamMetadata, StreamMetadataResult,
    StreamPosition, StreamState, SubscribeToAllOptions, SubscribeToPersistentSubscriptionOptions,
    SubscribeToStreamOptions, Subscription, SubscriptionEvent, SubscriptionFilter, TombstoneStreamOptions,
};
use uuid::Uuid;

fn main() -> ExitCode {
    clients::main(scenarios![
        append_expected,
        event_contents,
        append_idempotent,
        batch_append,
        read_stream,
        read_all,
        filters,
        stream_metadata,
        subscribe_stream,
        subscribe_all,
        subscribe_filtered,
        persistent_stream,
        persistent_nack,
        persistent_all,
        soft_delete,
        tombstone,
    ])
}

struct Store {
    db: Client,
    category: String,
}

impl Store {
    fn open(address: &str, category: String) -> Self {
        let settings = format!("kurrentdb://{address}?tls=false").parse().unwrap();
        Self { db: Client::new(settings).unwrap(), category }
    }

    fn stream(&self, number: usize) -> String {
        format!("{}-{number}", self.category)
    }

    /// The stream of this number with so many events.
    async fn filled(&self, number: usize, count: usize) -> (String, Vec<Uuid>) {
        let stream = self.stream(number);
        let (ids, events) = events(0, count);
        self.append(&stream, StreamState::NoStream, events).await.unwrap();
        (stream, ids)
    }

    async fn append(&self, stream: &str, state: StreamState, events: Vec<EventData>) -> Result<u64, Error> {
        let options = AppendToStreamOptions::default().stream_state(state);
        Ok(self.db.append_to_stream(stream, &options, events).await?.next_expected_version)
    }

    async fn try_read(&self, stream: &str, options: ReadStreamOptions) -> Result<Vec<RecordedEvent>, Error> {
        let mut reading = self.db.read_stream(stream, &options).await?;
        let mut got = Vec::new();
        while let Some(event) = reading.next().await? {
            got.extend(event.event);
        }
        Ok(got)
    }

    async fn read(&self, stream: &str) -> Vec<RecordedEvent> {
        self.try_read(stream, ReadStreamOptions::default()).await.unwrap()
    }

    async fn read_all(&self, options: ReadAllOptions) -> Vec<RecordedEvent> {
        let mut reading = self.db.read_all(&options).await.unwrap();
        let mut got = Vec::new();
        while let Some(event) = reading.next().await.unwrap() {
            got.extend(event.event);
        }
        got.retain(|event| event.stream_id().starts_with(&self.category));
        got
    }
}

fn event(number: usize, event_type: &str) -> EventData {
    let data = format!(r#"{{"number":{number}}}"#);
    EventData::binary(event_type, data.into()).id(Uuid::new_v4()).metadata(r#"{"by":"test"}"#.into())
}

fn events(from: usize, to: usize) -> (Vec<Uuid>, Vec<EventData>) {
    (from..to)
        .map(|number| {
            let id = Uuid::new_v4();
            (id, event(number, "Happened").id(id))
        })
        .unzip()
}

fn ids(events: &[RecordedEvent]) -> Vec<Uuid> {
    events.iter().map(|event| event.id).collect()
}

fn numbers(events: &[RecordedEvent]) -> Vec<String> {
    let number = |event: &RecordedEvent| {
        let text = String::from_utf8_lossy(&event.data).into_owned();
        text.trim_start_matches(r#"{"number":"#).trim_end_matches('}').to_owned()
    };
    events.iter().map(number).collect()
}

fn revisions(events: &[RecordedEvent]) -> Vec<u64> {
    events.iter().map(|event| event.revision).collect()
}

async fn take(subscription: &mut Subscription, count: usize) -> Vec<RecordedEvent> {
    let mut got = Vec::new();
    while got.len() < count {
        got.extend(soon("an event", subscription.next()).await.unwrap().event);
    }
    got
}

async fn take_persistent(subscription: &mut PersistentSubscription, count: usize) -> Vec<(ResolvedEvent, usize)> {
    let mut got = Vec::new();
    while got.len() < count {
        let next = soon("an event", subscription.next_subscription_event()).await.unwrap();
        if let PersistentSubscriptionEvent::EventAppeared { retry_count, event } = next {
            got.push((event, retry_count));
        }
    }
    got
}

/// A parked event comes back by a link to it.
fn id_of(event: &ResolvedEvent) -> Uuid {
    event.event.as_ref().expect("an event").id
}

async fn append_expected(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let stream = store.stream(1);
    let one = |number| vec![event(number, "Happened")];
    let conflict = async |expected: StreamState, current: CurrentRevision| match store
        .append(&stream, expected, one(0))
        .await
        .unwrap_err()
    {
        Error::WrongExpectedVersion { expected: e, current: c } => {
            equal((expected, current), (e, c), "the conflict");
        }
        other => panic!("{expected} at {current}: want a conflict, got {other:?}"),
    };
    conflict(StreamState::StreamExists, CurrentRevision::NoStream).await;
    conflict(StreamState::StreamRevision(0), CurrentRevision::NoStream).await;
    let states = [StreamState::NoStream, StreamState::StreamExists, StreamState::StreamRevision(1), StreamState::Any];
    for (number, state) in states.into_iter().enumerate() {
        equal(number as u64, store.append(&stream, state, one(number)).await.unwrap(), "version");
    }
    conflict(StreamState::NoStream, CurrentRevision::Current(3)).await;
    conflict(StreamState::StreamRevision(2), CurrentRevision::Current(3)).await;
    conflict(StreamState::StreamRevision(4), CurrentRevision::Current(3)).await;
    equal(["0", "1", "2", "3"].map(str::to_owned).to_vec(), numbers(&store.read(&stream).await), "numbers");
}

async fn event_contents(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let stream = store.stream(1);
    let id = Uuid::new_v4();
    let json = EventData::json("Json", &["é"]).unwrap().id(id).metadata(r#"{"m":1}"#.into());
    let binary = EventData::binary("Binary", vec![0, 255, 10].into());
    store.append(&stream, StreamState::NoStream, vec![json, binary]).await.unwrap();
    let got = store.read(&stream).await;
    equal((id, "Json", true), (got[0].id, got[0].event_type.as_str(), got[0].is_json), "JSON");
    equal(vec!["é".to_owned()], got[0].as_json::<Vec<String>>().unwrap(), "data");
    equal(&br#"{"m":1}"#[..], &got[0].custom_metadata[..], "metadata");
    equal((&[0, 255, 10][..], false), (&got[1].data[..], got[1].is_json), "binary");
    equal(stream.as_str(), got[1].stream_id(), "stream");
}

async fn append_idempotent(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let (ids_sent, sent) = events(0, 3);
    let stream = store.stream(1);
    for state in [StreamState::NoStream, StreamState::NoStream, StreamState::Any] {
        equal(2, store.append(&stream, state, sent.clone()).await.unwrap(), "version");
    }
    equal(ids_sent, ids(&store.read(&stream).await), "a retry adds nothing");
}

async fn batch_append(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let batch = store.db.batch_append(&BatchAppendOptions::default()).await.unwrap();
    // Many appends at once on one call, each answered for itself.
    let appends =
        (0..50).map(|number| batch.append_to_stream(store.stream(number), StreamState::NoStream, events(0, 3).1));
    for (number, done) in futures::future::join_all(appends).await.into_iter().enumerate() {
        let done = done.unwrap();
        equal((store.stream(number).as_str(), Some(2)), (done.stream_name(), done.current_revision()), "answer");
    }
    let refused = batch.append_to_stream(store.stream(0), StreamState::NoStream, events(0, 1).1).await.unwrap_err();
    // This call of the client knows no error by name.
    let is_conflict = matches!(&refused, Error::Grpc { message, .. } if message == "WrongExpectedVersion");
    assert!(is_conflict, "want a conflict, got {refused:?}");
    equal(3, store.read(&store.stream(49)).await.len(), "events");
}

async fn read_stream(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let (stream, want) = store.filled(1, 25).await;
    let read = async |options| ids(&store.try_read(&stream, options).await.unwrap());
    let backwards: Vec<_> = want.iter().copied().rev().collect();
    let options = ReadStreamOptions::default;
    equal(want.clone(), read(options()).await, "forwards");
    equal(backwards.clone(), read(options().backwards().position(StreamPosition::End)).await, "backwards");
    equal(
        want[7..10].to_vec(),
        read(options().position(StreamPosition::Position(7)).max_count(3)).await,
        "from a version",
    );
    let two = options().backwards().position(StreamPosition::Position(7)).max_count(2);
    equal(backwards[17..19].to_vec(), read(two).await, "backwards from a version");
    equal(
        want[24..].to_vec(),
        read(options().backwards().position(StreamPosition::End).max_count(1)).await,
        "the last",
    );
    let missing = store.try_read(&store.stream(2), options()).await.unwrap_err();
    assert!(matches!(missing, Error::ResourceNotFound), "want not found, got {missing:?}");
}

async fn read_all(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let (stream, mut want) = store.filled(1, 5).await;
    want.extend(store.filled(2, 5).await.1);
    let begin = store.read(&stream).await[0].position;
    let options = ReadAllOptions::default;
    equal(want.clone(), ids(&store.read_all(options().position(StreamPosition::Position(begin))).await), "forwards");
    want.reverse();
    let backwards = options().backwards().position(StreamPosition::End).max_count(5_000);
    equal(want, ids(&store.read_all(backwards).await), "backwards");
}

async fn filters(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let (stream, other) = (store.stream(1), store.stream(2));
    for (number, event_type) in ["OrderPlaced", "OrderPaid", "InvoiceSent", "Order"].into_iter().enumerate() {
        store.append(&stream, StreamState::Any, vec![event(number, event_type)]).await.unwrap();
    }
    store.append(&other, StreamState::Any, vec![event(4, "OrderPlaced")]).await.unwrap();
    let begin = StreamPosition::Position(store.read(&stream).await[0].position);
    let read = async |filter| {
        let got = store.read_all(ReadAllOptions::default().position(begin).filter(filter)).await;
        numbers(&got).join(" ")
    };
    let types = SubscriptionFilter::on_event_type;
    let streams = SubscriptionFilter::on_stream_name;
    equal("0 1 2 3 4".to_owned(), read(types().exclude_system_events()).await, "without the system's events");
    equal("0 1 2 4".to_owned(), read(types().add_prefix("OrderP").add_prefix("Inv")).await, "types by prefix");
    equal("0 3 4".to_owned(), read(types().regex("^Order$|^OrderPl")).await, "types by regular expression");
    equal("4".to_owned(), read(streams().add_prefix(&other)).await, "streams by prefix");
    equal("0 1 2 3".to_owned(), read(streams().regex(format!("^{stream}$"))).await, "streams by regular expression");
}

async fn stream_metadata(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let (stream, _) = store.filled(1, 10).await;
    let set = async |metadata: StreamMetadata| {
        store.db.set_stream_metadata(stream.as_str(), &AppendToStreamOptions::default(), &metadata).await.unwrap()
    };
    set(StreamMetadata::builder().max_count(3).build()).await;
    let got = store.db.get_stream_metadata(stream.as_str(), &ReadStreamOptions::default()).await.unwrap();
    let StreamMetadataResult::Success(got) = got else { panic!("want metadata") };
    equal(Some(3), got.metadata().max_count, "at most");
    equal(vec![7, 8, 9], revisions(&store.read(&stream).await), "at most three events");
    set(StreamMetadata::builder().truncate_before(9).build()).await;
    equal(vec![9], revisions(&store.read(&stream).await), "truncated");
}

async fn subscribe_stream(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let (stream, history) = store.filled(1, 50).await;
    let options = SubscribeToStreamOptions::default().start_from(StreamPosition::Start);
    let mut subscription = store.db.subscribe_to_stream(stream.as_str(), &options).await;
    let (mut got, mut caught_up) = (Vec::new(), false);
    while !caught_up {
        match soon("history", subscription.next_subscription_event()).await.unwrap() {
            SubscriptionEvent::EventAppeared(event) => got.push(id_of(&event)),
            SubscriptionEvent::CaughtUp(_) => caught_up = true,
            _ => {}
        }
    }
    equal(history, got, "history");
    let (live, sent) = events(50, 60);
    for each in sent {
        store.append(&stream, StreamState::Any, vec![each]).await.unwrap();
    }
    equal(live.clone(), ids(&take(&mut subscription, 10).await), "live");
    let options = SubscribeToStreamOptions::default().start_from(StreamPosition::Position(56));
    let mut after = store.db.subscribe_to_stream(stream.as_str(), &options).await;
    equal(live[7..].to_vec(), ids(&take(&mut after, 3).await), "after a version");
}

async fn subscribe_all(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let (stream, history) = store.filled(1, 20).await;
    let begin = store.read(&stream).await[0].position;
    let options = SubscribeToAllOptions::default()
        .position(StreamPosition::Position(begin))
        .filter(SubscriptionFilter::on_stream_name().add_prefix(format!("{}-", store.category)));
    let mut subscription = store.db.subscribe_to_all(&options).await;
    equal(history[1..].to_vec(), ids(&take(&mut subscription, 19).await), "history, after a position");
    let (_, others) = store.filled(2, 5).await;
    equal(others, ids(&take(&mut subscription, 5).await), "live, of another stream");
}

async fn subscribe_filtered(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let (stream, _) = store.filled(1, 1).await;
    let rare = format!("Rare{}", store.category);
    let follow = async |position| {
        let filter = SubscriptionFilter::on_event_type().add_prefix(&rare).max(10);
        let options = SubscribeToAllOptions::default().position(StreamPosition::Position(position)).filter(filter);
        store.db.subscribe_to_all(&options).await
    };
    let mut subscription = follow(store.read(&stream).await[0].position).await;
    for _ in 0..3 {
        store.append(&stream, StreamState::Any, events(0, 20).1).await.unwrap();
    }
    let checkpoint = loop {
        match soon("a checkpoint", subscription.next_subscription_event()).await.unwrap() {
            SubscriptionEvent::Checkpoint(position) => break position,
            SubscriptionEvent::EventAppeared(event) => panic!("nothing passes yet, got {event:?}"),
            _ => {}
        }
    };
    store.append(&stream, StreamState::Any, vec![event(60, &rare)]).await.unwrap();
    let got = take(&mut subscription, 1).await.remove(0);
    equal(rare.as_str(), got.event_type.as_str(), "the event that passes");
    assert!(checkpoint < got.position, "the checkpoint {checkpoint} lies before {}", got.position);
    let resumed = take(&mut follow(checkpoint).await, 1).await.remove(0);
    equal(got.id, resumed.id, "from the checkpoint");
}

async fn persistent_stream(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let (stream, history) = store.filled(1, 10).await;
    let options = PersistentSubscriptionOptions::default()
        .start_from(StreamPosition::Start)
        .checkpoint_after(Duration::from_millis(100));
    let create = async || store.db.create_persistent_subscription(stream.as_str(), "readers", &options).await;
    create().await.unwrap();
    let again = create().await.unwrap_err();
    assert!(matches!(again, Error::ResourceAlreadyExists), "want exists already, got {again:?}");
    let subscribe = async || {
        let options = SubscribeToPersistentSubscriptionOptions::default();
        store.db.subscribe_to_persistent_subscription(stream.as_str(), "readers", &options).await.unwrap()
    };
    let flying = async || {
        let options = GetPersistentSubscriptionInfoOptions::default();
        let info = store.db.get_persistent_subscription_info(stream.as_str(), "readers", &options).await.unwrap();
        info.stats.total_in_flight_messages
    };
    let mut consumer = subscribe().await;
    let got = take_persistent(&mut consumer, 10).await;
    equal(history.clone(), got.iter().map(|(event, _)| id_of(event)).collect(), "history");
    for (event, _) in &got[..6] {
        consumer.ack(event).await.unwrap();
    }
    eventually("acknowledged", async || flying().await == 4).await;
    drop(consumer);
    let mut consumer = subscribe().await;
    let mut rest = Vec::new();
    for (event, _) in take_persistent(&mut consumer, 4).await {
        rest.push(id_of(&event));
        consumer.ack(&event).await.unwrap();
    }
    rest.sort();
    let mut want = history[6..].to_vec();
    want.sort();
    equal(want, rest, "after a restart of the consumer");
    eventually("all acknowledged", async || flying().await == 0).await;
    let options = DeletePersistentSubscriptionOptions::default();
    store.db.delete_persistent_subscription(stream.as_str(), "readers", &options).await.unwrap();
    let gone = store.db.delete_persistent_subscription(stream.as_str(), "readers", &options).await.unwrap_err();
    assert!(matches!(gone, Error::ResourceNotFound), "want not found, got {gone:?}");
}

async fn persistent_nack(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let (stream, history) = store.filled(1, 4).await;
    let options = PersistentSubscriptionOptions::default().start_from(StreamPosition::Start);
    store.db.create_persistent_subscription(stream.as_str(), "readers", &options).await.unwrap();
    let options = SubscribeToPersistentSubscriptionOptions::default();
    let mut consumer =
        store.db.subscribe_to_persistent_subscription(stream.as_str(), "readers", &options).await.unwrap();
    let got = take_persistent(&mut consumer, 4).await;
    consumer.ack(&got[0].0).await.unwrap();
    consumer.nack(&got[1].0, NakAction::Skip, "not wanted").await.unwrap();
    consumer.nack(&got[2].0, NakAction::Park, "broken").await.unwrap();
    consumer.nack(&got[3].0, NakAction::Retry, "later").await.unwrap();
    let (event, retries) = take_persistent(&mut consumer, 1).await.remove(0);
    equal((history[3], 1), (id_of(&event), retries), "retried");
    consumer.ack(&event).await.unwrap();
    let parked = async || {
        let options = GetPersistentSubscriptionInfoOptions::default();
        let info = store.db.get_persistent_subscription_info(stream.as_str(), "readers", &options).await.unwrap();
        info.stats.parked_message_count
    };
    eventually("one parked", async || parked().await == 1).await;
    let options = ReplayParkedMessagesOptions::default();
    store.db.replay_parked_messages(stream.as_str(), "readers", &options).await.unwrap();
    let (event, _) = take_persistent(&mut consumer, 1).await.remove(0);
    equal(history[2], id_of(&event), "replayed");
    consumer.ack(&event).await.unwrap();
    eventually("none parked", async || parked().await == 0).await;
}

async fn persistent_all(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let (stream, history) = store.filled(1, 5).await;
    let begin = store.read(&stream).await[0].position;
    let options = PersistentSubscriptionToAllOptions::default()
        .start_from(StreamPosition::Position(begin))
        .filter(SubscriptionFilter::on_stream_name().add_prefix(format!("{}-", store.category)));
    store.db.create_persistent_subscription_to_all(&store.category, &options).await.unwrap();
    let options = SubscribeToPersistentSubscriptionOptions::default();
    let mut consumer = store.db.subscribe_to_persistent_subscription_to_all(&store.category, &options).await.unwrap();
    for (event, _) in take_persistent(&mut consumer, 4).await {
        assert!(history.contains(&id_of(&event)), "only what passes");
        consumer.ack(&event).await.unwrap();
    }
    let options = DeletePersistentSubscriptionOptions::default();
    store.db.delete_persistent_subscription_to_all(&store.category, &options).await.unwrap();
}

async fn soft_delete(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let stream = store.stream(1);
    let (sent_ids, sent) = events(0, 3);
    store.append(&stream, StreamState::NoStream, sent.clone()).await.unwrap();
    let delete = async |revision| {
        let options = DeleteStreamOptions::default().stream_state(StreamState::StreamRevision(revision));
        store.db.delete_stream(stream.as_str(), &options).await
    };
    delete(1).await.expect_err("deleted at another version");
    delete(2).await.unwrap();
    let deleted = store.try_read(&stream, ReadStreamOptions::default()).await.unwrap_err();
    assert!(matches!(deleted, Error::ResourceNotFound), "want not found, got {deleted:?}");
    store.append(&stream, StreamState::NoStream, sent).await.unwrap();
    let got = store.read(&stream).await;
    equal((sent_ids, vec![3, 4, 5]), (ids(&got), revisions(&got)), "recreated with the same ids");
}

async fn tombstone(address: String, fresh: String) {
    let store = Store::open(&address, fresh);
    let (stream, _) = store.filled(1, 3).await;
    let options = TombstoneStreamOptions::default().stream_state(StreamState::StreamRevision(2));
    store.db.tombstone_stream(stream.as_str(), &options).await.unwrap();
    let read = store.try_read(&stream, ReadStreamOptions::default()).await.unwrap_err();
    assert!(matches!(read, Error::ResourceDeleted), "want deleted, got {read:?}");
    let append = store.append(&stream, StreamState::Any, vec![event(4, "Happened")]).await.unwrap_err();
    assert!(matches!(append, Error::ResourceDeleted), "want deleted, got {append:?}");
}
