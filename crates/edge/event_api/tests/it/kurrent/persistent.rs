//! Persistent subscriptions as KurrentDB's clients use them.

use daybook_competing::Subscriptions;
use daybook_event_api::kurrent::Options;
use daybook_event_api::kurrent::persistent::{Service, server};
use daybook_event_api::proto::event_store::client::persistent_subscriptions as messages;
use daybook_event_api::proto::event_store::client::persistent_subscriptions::persistent_subscriptions_client::PersistentSubscriptionsClient;
use daybook_event_api::proto::event_store::client::persistent_subscriptions::persistent_subscriptions_server::PersistentSubscriptionsServer;
use daybook_event_api::proto::event_store::client::{Empty, Uuid, uuid};
use daybook_event_store::{Append, Expected, NewEvent, StreamAppend, StreamName};
use futures::channel::mpsc::{UnboundedSender, unbounded};
use messages::read_req::nack::Action;
use messages::{
    CreateReq, DeleteReq, GetInfoReq, ListReq, ReadReq, ReadResp, ReplayParkedReq, SubscriptionInfo, TruncateParkedReq,
    UpdateReq, create_req, delete_req, get_info_req, list_req, read_req, read_resp, replay_parked_req,
    truncate_parked_req, update_req,
};
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};

use super::identifier;
use crate::harness::{Node, PATIENCE};

type Client = PersistentSubscriptionsClient<PersistentSubscriptionsServer<Service>>;

fn client(node: &Node) -> Client {
    let subscriptions = Subscriptions::start(node.store.clone());
    PersistentSubscriptionsClient::new(server(subscriptions, Options::default()))
}

#[allow(deprecated)]
fn settings() -> create_req::Settings {
    create_req::Settings {
        resolve_links: false,
        revision: 0,
        extra_statistics: false,
        max_retry_count: 10,
        min_checkpoint_count: 1,
        max_checkpoint_count: 1,
        max_subscriber_count: 1,
        live_buffer_size: 500,
        read_batch_size: 20,
        history_buffer_size: 500,
        named_consumer_strategy: create_req::ConsumerStrategy::RoundRobin.into(),
        message_timeout: Some(create_req::settings::MessageTimeout::MessageTimeoutMs(30_000)),
        checkpoint_after: Some(create_req::settings::CheckpointAfter::CheckpointAfterMs(2_000)),
        consumer_strategy: String::new(),
    }
}

/// From the start.
#[allow(deprecated)]
fn create(stream: &str, settings: create_req::Settings) -> CreateReq {
    use create_req::{Options, StreamOptions, options::StreamOption, stream_options::RevisionOption};
    let stream_identifier = identifier(stream);
    let of_stream = StreamOptions { stream_identifier, revision_option: Some(RevisionOption::Start(Empty {})) };
    let options = Options {
        stream_option: Some(StreamOption::Stream(of_stream)),
        stream_identifier: None,
        group_name: "g".into(),
        settings: Some(settings),
    };
    CreateReq { options: Some(options) }
}

#[allow(deprecated)]
fn create_on_all(all_option: create_req::all_options::AllOption) -> CreateReq {
    use create_req::{AllOptions, Options, options::StreamOption};
    let all = AllOptions { all_option: Some(all_option), filter_option: None };
    let options = Options {
        stream_option: Some(StreamOption::All(all)),
        stream_identifier: None,
        group_name: "g".into(),
        settings: Some(settings()),
    };
    CreateReq { options: Some(options) }
}

fn delete(stream: &str) -> DeleteReq {
    let stream_option = identifier(stream).map(delete_req::options::StreamOption::StreamIdentifier);
    DeleteReq { options: Some(delete_req::Options { stream_option, group_name: "g".into() }) }
}

fn get_info(stream: &str) -> GetInfoReq {
    let stream_option = identifier(stream).map(get_info_req::options::StreamOption::StreamIdentifier);
    GetInfoReq { options: Some(get_info_req::Options { stream_option, group_name: "g".into() }) }
}

fn list(of: list_req::options::ListOption) -> ListReq {
    ListReq { options: Some(list_req::Options { list_option: Some(of) }) }
}

fn of_stream(stream: &str) -> list_req::options::ListOption {
    let stream_option = identifier(stream).map(list_req::stream_option::StreamOption::Stream);
    list_req::options::ListOption::ListForStream(list_req::StreamOption { stream_option })
}

async fn append(node: &Node, stream: &str, types: &[&str]) {
    let event = |event_type: &&str| NewEvent { event_type: (*event_type).to_owned(), ..NewEvent::default() };
    let stream = StreamName::new(stream).unwrap();
    let part = StreamAppend { stream, expected: Expected::Any, events: types.iter().map(event).collect() };
    node.store.append(Append { streams: vec![part], ..Append::default() }).await.unwrap();
}

async fn info_when(client: &mut Client, stream: &str, wanted: impl Fn(&SubscriptionInfo) -> bool) -> SubscriptionInfo {
    let look = async {
        loop {
            let answer = client.get_info(get_info(stream)).await.unwrap().into_inner();
            let info = answer.subscription_info.unwrap();
            if wanted(&info) {
                return info;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    timeout(PATIENCE, look).await.unwrap()
}

/// A consumer's call.
struct Call {
    requests: UnboundedSender<ReadReq>,
    answers: Streaming<ReadResp>,
}

impl Call {
    async fn begin(client: &mut Client, stream: &str, buffer_size: i32) -> Result<Self, Status> {
        let (requests, sent) = unbounded();
        let options = read_req::Options {
            stream_option: identifier(stream).map(read_req::options::StreamOption::StreamIdentifier),
            group_name: "g".into(),
            buffer_size,
            uuid_option: None,
        };
        requests.unbounded_send(ReadReq { content: Some(read_req::Content::Options(options)) }).unwrap();
        let mut call = Self { requests, answers: client.read(sent).await?.into_inner() };
        let confirmation = call.next().await?;
        let Some(read_resp::Content::SubscriptionConfirmation(confirmation)) = confirmation.content else {
            panic!("the first answer is a confirmation: {confirmation:?}");
        };
        assert_eq!(confirmation.subscription_id, format!("{stream}::g"));
        Ok(call)
    }

    async fn next(&mut self) -> Result<ReadResp, Status> {
        let next = timeout(PATIENCE, self.answers.message()).await.expect("an answer in time")?;
        next.ok_or_else(|| Status::ok("the call is over"))
    }

    async fn event(&mut self) -> read_resp::ReadEvent {
        let answer = self.next().await.unwrap();
        let Some(read_resp::Content::Event(event)) = answer.content else { panic!("an event: {answer:?}") };
        event
    }

    fn ack(&self, ids: Vec<Uuid>) {
        let ack = read_req::Ack { id: bytes::Bytes::new(), ids };
        self.requests.unbounded_send(ReadReq { content: Some(read_req::Content::Ack(ack)) }).unwrap();
    }

    fn nack(&self, ids: Vec<Uuid>, action: Action) {
        let nack = read_req::Nack { id: bytes::Bytes::new(), ids, action: action.into(), reason: "because".into() };
        self.requests.unbounded_send(ReadReq { content: Some(read_req::Content::Nack(nack)) }).unwrap();
    }
}

/// By which a client settles it.
fn id_of(event: &read_resp::ReadEvent) -> Uuid {
    event.link.as_ref().or(event.event.as_ref()).unwrap().id.clone().unwrap()
}

fn type_of(event: &read_resp::ReadEvent) -> &str {
    &event.event.as_ref().unwrap().metadata["type"]
}

fn retry_of(event: &read_resp::ReadEvent) -> i32 {
    let Some(read_resp::read_event::Count::RetryCount(retry)) = event.count else { panic!("a count") };
    retry
}

fn exception(status: &Status) -> &str {
    status.metadata().get("exception").map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn events_are_delivered_settled_and_replayed() {
    let node = Node::start().await;
    let mut client = client(&node);
    append(&node, "order-1", &["a", "b", "c"]).await;
    client.create(create("order-1", settings())).await.unwrap();
    let mut call = Call::begin(&mut client, "order-1", 2).await.unwrap();
    let (first, second) = (call.event().await, call.event().await);
    assert_eq!((type_of(&first), type_of(&second)), ("a", "b"));
    let shown = second.event.as_ref().unwrap();
    assert_eq!((shown.stream_revision, shown.commit_position, shown.prepare_position), (1, 1, 1));
    assert!(matches!(shown.id.as_ref().unwrap().value, Some(uuid::Value::Structured(_))));
    assert_eq!(retry_of(&first), 0);
    call.nack(vec![id_of(&first)], Action::Unknown);
    let again = call.event().await;
    assert_eq!((type_of(&again), retry_of(&again)), ("a", 1));
    call.ack(vec![id_of(&again)]);
    call.nack(vec![id_of(&second)], Action::Park);
    let third = call.event().await;
    call.nack(vec![id_of(&third)], Action::Skip);
    let info = info_when(&mut client, "order-1", |info| info.last_checkpointed_event_position == "2").await;
    assert_eq!((info.parked_message_count, info.total_items, info.status.as_str()), (1, 4, "Live"));
    assert_eq!((info.last_known_event_position.as_str(), info.start_from.as_str()), ("2", "0"));
    assert_eq!((info.connections[0].available_slots, info.connections[0].in_flight_messages), (2, 0));

    let replay = replay_parked_req::Options {
        group_name: "g".into(),
        stream_option: identifier("order-1").map(replay_parked_req::options::StreamOption::StreamIdentifier),
        stop_at_option: Some(replay_parked_req::options::StopAtOption::NoLimit(Empty {})),
    };
    client.replay_parked(ReplayParkedReq { options: Some(replay) }).await.unwrap();
    let replayed = call.event().await;
    assert_eq!(type_of(&replayed), "b");
    let link = replayed.link.as_ref().unwrap();
    assert_eq!(link.stream_identifier, identifier("$persistentsubscription-order-1::g-parked"));
    call.nack(vec![id_of(&replayed)], Action::Park);
    info_when(&mut client, "order-1", |info| info.parked_message_count == 1).await;
    let truncate = truncate_parked_req::Options {
        group_name: "g".into(),
        stream_option: identifier("order-1").map(truncate_parked_req::options::StreamOption::StreamIdentifier),
        stop_at_option: None,
    };
    client.truncate_parked(TruncateParkedReq { options: Some(truncate) }).await.unwrap();
    info_when(&mut client, "order-1", |info| info.parked_message_count == 0).await;
}

#[tokio::test]
async fn a_client_that_is_gone_leaves_its_events_to_others() {
    let node = Node::start().await;
    let mut client = client(&node);
    append(&node, "order-1", &["a"]).await;
    client.create(create("order-1", settings())).await.unwrap();
    let mut first = Call::begin(&mut client, "order-1", 5).await.unwrap();
    assert_eq!(retry_of(&first.event().await), 0);
    let full = Call::begin(&mut client, "order-1", 5).await.err().unwrap();
    assert_eq!((full.code(), exception(&full)), (Code::FailedPrecondition, "maximum-subscribers-reached"));
    drop(first);
    info_when(&mut client, "order-1", |info| info.connections.is_empty()).await;
    let mut second = Call::begin(&mut client, "order-1", 5).await.unwrap();
    assert_eq!(retry_of(&second.event().await), 1);
    // It says that it has nothing more to say.
    second.requests.close_channel();
    assert_eq!(second.next().await.err().map(|over| over.code()), Some(Code::Ok));
    let mut third = Call::begin(&mut client, "order-1", 5).await.unwrap();
    let event = third.event().await;
    assert_eq!(retry_of(&event), 2);
    third.nack(vec![id_of(&event)], Action::Stop);
    let dropped = third.next().await.unwrap_err();
    assert_eq!((dropped.code(), exception(&dropped)), (Code::Cancelled, "persistent-subscription-dropped"));
}

#[tokio::test]
async fn refusals_are_those_that_clients_know() {
    let node = Node::start().await;
    let mut client = client(&node);
    let unknown = Call::begin(&mut client, "order-1", 5).await.err().unwrap();
    assert_eq!((unknown.code(), exception(&unknown)), (Code::NotFound, "persistent-subscription-does-not-exist"));
    for code in [
        client.delete(delete("order-1")).await.unwrap_err(),
        client.get_info(get_info("order-1")).await.unwrap_err(),
        client.list(list(of_stream("order-1"))).await.unwrap_err(),
    ] {
        assert_eq!((code.code(), exception(&code)), (Code::NotFound, "persistent-subscription-does-not-exist"));
    }
    client.create(create("order-1", settings())).await.unwrap();
    let exists = client.create(create("order-1", settings())).await.unwrap_err();
    assert_eq!((exists.code(), exception(&exists)), (Code::AlreadyExists, "persistent-subscription-exists"));
    let bad = create("order-2", create_req::Settings { read_batch_size: 500, ..settings() });
    let failed = client.create(bad).await.unwrap_err();
    assert_eq!((failed.code(), exception(&failed)), (Code::Internal, "persistent-subscription-failed"));
    let no_slots = Call::begin(&mut client, "order-1", 0).await.err().unwrap();
    assert_eq!(no_slots.code(), Code::InvalidArgument);

    let mut call = Call::begin(&mut client, "order-1", 5).await.unwrap();
    client.delete(delete("order-1")).await.unwrap();
    let dropped = call.next().await.unwrap_err();
    assert_eq!((dropped.code(), exception(&dropped)), (Code::Cancelled, "persistent-subscription-dropped"));
}

#[tokio::test]
async fn a_change_keeps_what_it_does_not_name() {
    let node = Node::start().await;
    let mut client = client(&node);
    let end = create_req::all_options::AllOption::End(Empty {});
    append(&node, "order-1", &["a"]).await;
    client.create(create_on_all(end)).await.unwrap();
    let all = get_info_req::options::StreamOption::All(Empty {});
    let about_all =
        GetInfoReq { options: Some(get_info_req::Options { stream_option: Some(all), group_name: "g".into() }) };
    let info = client.get_info(about_all.clone()).await.unwrap().into_inner().subscription_info.unwrap();
    assert_eq!((info.event_source.as_str(), info.start_from.as_str()), ("$all", "C:-1/P:-1"));
    #[allow(deprecated)]
    let settings = update_req::Settings {
        max_retry_count: 77,
        read_batch_size: 1,
        history_buffer_size: 9,
        max_checkpoint_count: 1,
        named_consumer_strategy: update_req::ConsumerStrategy::Pinned.into(),
        ..update_req::Settings::default()
    };
    let position = update_req::Position { commit_position: 0, prepare_position: 0 };
    let all = update_req::AllOptions { all_option: Some(update_req::all_options::AllOption::Position(position)) };
    #[allow(deprecated)]
    let options = update_req::Options {
        stream_option: Some(update_req::options::StreamOption::All(all)),
        stream_identifier: None,
        group_name: "g".into(),
        settings: Some(settings),
    };
    client.update(UpdateReq { options: Some(options) }).await.unwrap();
    let info = client.get_info(about_all.clone()).await.unwrap().into_inner().subscription_info.unwrap();
    assert_eq!((info.max_retry_count, info.named_consumer_strategy.as_str()), (77, "Pinned"));
    assert_eq!(info.start_from, "C:0/P:0");
    // Nothing was reached before: the new start counts.
    let mut call = Call::begin(&mut client, "$all", 5).await.unwrap();
    let event = call.event().await;
    assert_eq!(type_of(&event), "a");
    call.ack(vec![id_of(&event)]);
    let reached = async {
        loop {
            let info = client.get_info(about_all.clone()).await.unwrap().into_inner().subscription_info.unwrap();
            if info.last_checkpointed_event_position == "C:0/P:0" {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    timeout(PATIENCE, reached).await.unwrap();
    client.restart_subsystem(Empty {}).await.unwrap();
    assert_eq!(exception(&call.next().await.unwrap_err()), "persistent-subscription-dropped");
    let everything = list(list_req::options::ListOption::ListAllSubscriptions(Empty {}));
    let listed = client.list(everything).await.unwrap().into_inner().subscriptions;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].last_checkpointed_event_position, "C:0/P:0");
}

#[tokio::test]
async fn a_category_is_a_stream_of_links() {
    let node = Node::start().await;
    let mut client = client(&node);
    append(&node, "customer-1", &["x"]).await;
    append(&node, "order-1", &["a"]).await;
    client.create(create("$ce-order", create_req::Settings { resolve_links: true, ..settings() })).await.unwrap();
    let mut call = Call::begin(&mut client, "$ce-order", 5).await.unwrap();
    let event = call.event().await;
    assert_eq!(type_of(&event), "a");
    let link = event.link.as_ref().unwrap();
    assert_eq!((link.stream_identifier.clone(), link.stream_revision), (identifier("$ce-order"), 1));
    call.ack(vec![id_of(&event)]);
    info_when(&mut client, "$ce-order", |info| info.last_checkpointed_event_position == "1").await;
}
