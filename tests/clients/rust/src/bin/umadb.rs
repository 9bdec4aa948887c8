//! UmaDB's Rust client on the event door; `../python/with_umadb.py` says more of each scenario.

use std::process::ExitCode;

use clients::{equal, scenarios, soon};
use futures::StreamExt;
use umadb_client::{AsyncUmaDbClient, UmaDbClient};
use umadb_dcb::{
    DcbAppendCondition, DcbError, DcbEvent, DcbEventStoreAsync, DcbQuery, DcbQueryItem, DcbSequencedEvent, TrackingInfo,
};
use uuid::Uuid;

fn main() -> ExitCode {
    clients::main(scenarios![
        dcb_append,
        dcb_condition,
        dcb_race,
        dcb_idempotent,
        dcb_read,
        dcb_head,
        dcb_subscribe,
        dcb_tracking
    ])
}

struct Store {
    db: AsyncUmaDbClient,
    tag: String,
}

impl Store {
    async fn open(address: &str, tag: String) -> Self {
        Self { db: UmaDbClient::new(format!("http://{address}")).connect_async().await.unwrap(), tag }
    }

    fn event(&self, event_type: &str) -> DcbEvent {
        DcbEvent::default().event_type(event_type).data("data").tags([self.tag.clone()]).uuid(Uuid::new_v4())
    }

    fn query(&self, types: &[&str]) -> DcbQuery {
        DcbQuery::new().item(DcbQueryItem::new().types(types.iter().copied()).tags([self.tag.clone()]))
    }

    fn unless(&self, types: &[&str], after: Option<u64>) -> Option<DcbAppendCondition> {
        Some(DcbAppendCondition { fail_if_events_match: self.query(types), after })
    }

    async fn read(&self, start: Option<u64>, backwards: bool, limit: Option<u32>) -> Vec<DcbSequencedEvent> {
        self.db.read_with_head(Some(self.query(&[])), start, backwards, limit).await.unwrap().0
    }

    async fn types(&self, start: Option<u64>, backwards: bool, limit: Option<u32>) -> Vec<String> {
        self.read(start, backwards, limit).await.into_iter().map(|event| event.event.event_type).collect()
    }
}

#[track_caller]
fn refused(what: &str, result: Result<u64, DcbError>) {
    assert!(matches!(result, Err(DcbError::IntegrityError(_))), "{what}: want an integrity error, got {result:?}");
}

async fn dcb_append(address: String, fresh: String) {
    let store = Store::open(&address, fresh).await;
    let sent = store.event("Opened").data([0, 255]).metadata([("who", "ann"), ("ce_type", "x")]);
    let position = store
        .db
        .append(vec![sent.clone(), DcbEvent::default().event_type("Bare").tags([store.tag.clone()])], None, None)
        .await
        .unwrap();
    let got = store.read(None, false, None).await;
    equal(vec![position - 1, position], got.iter().map(|event| event.position).collect(), "positions");
    let first = &got[0].event;
    equal(
        (&sent.event_type, &sent.data, &sent.tags, sent.uuid),
        (&first.event_type, &first.data, &first.tags, first.uuid),
        "the event",
    );
    equal(&sent.metadata, &first.metadata, "metadata");
    equal((None, 0), (got[1].event.uuid, got[1].event.metadata.len()), "what was not given");
    let twice = store.db.append(vec![store.event("A").metadata([("who", "ann"), ("who", "bob")])], None, None).await;
    assert!(matches!(twice, Err(DcbError::InvalidArgument(_))), "want one key twice refused, got {twice:?}");
}

async fn dcb_condition(address: String, fresh: String) {
    let store = Store::open(&address, fresh).await;
    let append = async |event_type, condition| store.db.append(vec![store.event(event_type)], condition, None).await;
    let position = append("Booked", store.unless(&["Booked"], None)).await.unwrap();
    refused("the seat is taken", append("Booked", store.unless(&["Booked"], None)).await);
    append("Freed", store.unless(&["Booked"], Some(position))).await.unwrap();
    refused("decided on what is no longer true", append("Booked", store.unless(&[], Some(position))).await);
    append("Booked", store.unless(&["Missing"], None)).await.unwrap();
    equal(["Booked", "Freed", "Booked"].map(str::to_owned).to_vec(), store.types(None, false, None).await, "events");
}

async fn dcb_race(address: String, fresh: String) {
    let store = Store::open(&address, fresh).await;
    let appends = (0..16).map(|_| store.db.append(vec![store.event("Booked")], store.unless(&["Booked"], None), None));
    let won = futures::future::join_all(appends).await.into_iter().filter(|result| result.is_ok()).count();
    equal((1, 1), (won, store.read(None, false, None).await.len()), "bookings and events");
}

async fn dcb_idempotent(address: String, fresh: String) {
    let store = Store::open(&address, fresh).await;
    let events = vec![store.event("A"), store.event("B")];
    let first = store.db.append(events.clone(), store.unless(&[], None), None).await.unwrap();
    equal(
        first,
        store.db.append(events.clone(), store.unless(&[], None), None).await.unwrap(),
        "the first answer again",
    );
    refused(
        "in another order",
        store.db.append(events.into_iter().rev().collect(), store.unless(&[], None), None).await,
    );
    equal(2, store.read(None, false, None).await.len(), "events");
}

async fn dcb_read(address: String, fresh: String) {
    let store = Store::open(&address, fresh).await;
    for event_type in ["A", "B", "C", "D"] {
        store.db.append(vec![store.event(event_type)], None, None).await.unwrap();
    }
    let second = store.read(None, false, None).await[1].position;
    let types = async |start, backwards, limit| store.types(start, backwards, limit).await.concat();
    equal("ABCD".to_owned(), types(None, false, None).await, "forwards");
    equal("DCBA".to_owned(), types(None, true, None).await, "backwards");
    equal("BCD".to_owned(), types(Some(second), false, None).await, "from a position, with it");
    equal("BA".to_owned(), types(Some(second), true, None).await, "backwards from a position, with it");
    equal("DC".to_owned(), types(None, true, Some(2)).await, "limited");
    equal(String::new(), types(None, false, Some(0)).await, "none");
}

async fn dcb_head(address: String, fresh: String) {
    let store = Store::open(&address, fresh).await;
    let position = store.db.append(vec![store.event("A")], None, None).await.unwrap();
    assert!(store.db.head().await.unwrap().unwrap() >= position, "the head is not before the last event");
    let (none, head) = store.db.read_with_head(Some(store.query(&["Missing"])), None, false, None).await.unwrap();
    assert!(none.is_empty() && head.unwrap() >= position, "the head is told without an event too");
}

async fn dcb_subscribe(address: String, fresh: String) {
    let store = Store::open(&address, fresh).await;
    let mut sent: Vec<_> = (0..20).map(|_| store.event("History")).collect();
    store.db.append(sent.clone(), None, None).await.unwrap();
    let mut subscription = store.db.subscribe(Some(store.query(&[])), None).await.unwrap();
    let mut got = Vec::new();
    for _ in 0..20 {
        got.push(soon("history", subscription.next()).await.unwrap().unwrap());
    }
    for _ in 0..10 {
        sent.push(store.event("Live"));
        store.db.append(sent[sent.len() - 1..].to_vec(), None, None).await.unwrap();
        got.push(soon("a live event", subscription.next()).await.unwrap().unwrap());
    }
    let uuids: Vec<_> = got.iter().map(|event| event.event.uuid).collect();
    equal(sent.iter().map(|event| event.uuid).collect(), uuids, "history and live");
    let mut after = store.db.subscribe(Some(store.query(&["Live"])), Some(got[24].position)).await.unwrap();
    equal(
        got[25].position,
        soon("after a position", after.next()).await.unwrap().unwrap().position,
        "after a position",
    );
}

async fn dcb_tracking(address: String, fresh: String) {
    let store = Store::open(&address, fresh).await;
    let at = |position| Some(TrackingInfo { source: store.tag.clone(), position });
    equal(None, store.db.get_tracking_info(&store.tag).await.unwrap(), "of a source that is new");
    store.db.append(vec![store.event("A")], None, at(5)).await.unwrap();
    refused("the same position", store.db.append(vec![store.event("A")], None, at(5)).await);
    store.db.append(vec![store.event("B")], None, at(6)).await.unwrap();
    equal(Some(6), store.db.get_tracking_info(&store.tag).await.unwrap(), "the position");
    let got: Vec<_> = store.read(None, false, None).await.into_iter().map(|event| event.tracking_info).collect();
    equal(vec![at(5), at(6)], got, "with the events");
}
