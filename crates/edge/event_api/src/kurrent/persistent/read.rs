//! One consumer: events go out, what is said of them comes in.
//!
//! Clients settle events by id. Ids may repeat in `$all`; then the oldest that the consumer holds is meant.

use std::collections::{HashMap, VecDeque};

use daybook_competing::{ALL, Consumer, Delivery, Ended, Item, ItemId, Nack, Profile, SubscriptionName, Subscriptions};
use daybook_event_store::StreamName;
use futures::stream::{BoxStream, StreamExt};
use parking_lot::Mutex;
use tonic::metadata::MetadataMap;
use tonic::{Request, Status, Streaming};
use uuid::Uuid;

use super::super::answers::{Answers, End, Gone, answer};
use super::super::error_code;
use super::super::event::{Resolved, Shown};
use super::super::ids::{self, IdForm};
use super::super::links::Virtual;
use super::super::options::Options;
use super::messages::read_req::{self, Content as Asked, nack::Action, options::StreamOption, options::uuid_option};
use super::messages::read_resp::read_event::{Count, Position, RecordedEvent};
use super::messages::read_resp::{Content, ReadEvent, SubscriptionConfirmation};
use super::messages::{ReadReq, ReadResp};
use super::{name, refusal};
use crate::proto::event_store::client;

/// Where a client says what it calls itself.
const CONNECTION_NAME: &str = "connection-name";

/// Joins the group before anything is answered, so that a refusal is the answer.
pub(super) async fn read(
    subscriptions: &Subscriptions,
    options: &Options,
    request: Request<Streaming<ReadReq>>,
) -> Result<BoxStream<'static, Result<ReadResp, Status>>, Status> {
    let profile = profile(request.metadata());
    let mut requests = request.into_inner();
    let Some(first) = requests.message().await? else { return Ok(futures::stream::empty().boxed()) };
    let Some(Asked::Options(asked)) = first.content else {
        return Err(error_code::invalid("the first message of a consumer has its options"));
    };
    let stream = match asked.stream_option.ok_or_else(name::no_stream)? {
        StreamOption::StreamIdentifier(identifier) => name::text(&identifier)?,
        StreamOption::All(_) => ALL.to_owned(),
    };
    let name = SubscriptionName::new(&stream, &asked.group_name);
    let slots = usize::try_from(asked.buffer_size).unwrap_or_default();
    let consumer = subscriptions.join(&name, slots, profile).await.map_err(|error| refusal::of_join(&error))?;
    let session = Session {
        show: Show {
            stream: StreamName::new(&stream).ok().and_then(|name| Virtual::of(&name)),
            follow_links: consumer.definition().settings.resolve_links,
            id_form: match asked.uuid_option.and_then(|option| option.content) {
                Some(uuid_option::Content::String(_)) => IdForm::Text,
                Some(uuid_option::Content::Structured(_)) | None => IdForm::Structured,
            },
        },
        held: Held::new(slots),
        consumer,
        name,
    };
    Ok(answer(options.shutdown.clone(), move |answers| session.run(requests, answers)))
}

fn profile(metadata: &MetadataMap) -> Profile {
    let text = |key| metadata.get(key).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Profile {
        connection_name: text(CONNECTION_NAME).unwrap_or_else(|| "<unknown>".to_owned()),
        user: "anonymous".to_owned(),
        from: String::new(),
    }
}

struct Session {
    name: SubscriptionName,
    consumer: Consumer,
    held: Held,
    show: Show,
}

impl Session {
    async fn run(self, requests: Streaming<ReadReq>, answers: Answers<ReadResp>) -> Result<(), End> {
        let confirmation = SubscriptionConfirmation { subscription_id: self.name.to_string() };
        answers.send(ReadResp { content: Some(Content::SubscriptionConfirmation(confirmation)) }).await?;
        // Apart from each other: a client that doesn't take events is still heard, and the other way round.
        tokio::select! {
            end = self.deliver(&answers) => end,
            end = self.listen(requests) => end,
        }
    }

    async fn deliver(&self, answers: &Answers<ReadResp>) -> Result<(), End> {
        loop {
            let delivery = self.consumer.recv().await.map_err(|ended| self.end(ended))?;
            let (id, message) = self.show.message(&delivery);
            self.held.add(id, delivery.id, |item| self.consumer.holds(item));
            answers.send(message).await?;
        }
    }

    /// A client that has said all it had to say can't settle anything any more: it leaves, and others get what it holds.
    async fn listen(&self, mut requests: Streaming<ReadReq>) -> Result<(), End> {
        // The connection is gone, or the client gave up: nobody is left to be told.
        while let Some(request) = requests.message().await.map_err(|_| Gone)? {
            match request.content {
                Some(Asked::Ack(ack)) => {
                    let items = self.held.take(&ack.ids)?;
                    self.consumer.ack(items).await.map_err(|ended| self.end(ended))?;
                }
                Some(Asked::Nack(nack)) => {
                    let action = action(&nack)?;
                    let items = self.held.take(&nack.ids)?;
                    self.consumer.nack(items, action, &nack.reason).await.map_err(|ended| self.end(ended))?;
                }
                Some(Asked::Options(_)) => return Err(error_code::invalid("a consumer has options once").into()),
                None => {}
            }
        }
        Ok(())
    }

    fn end(&self, ended: Ended) -> Status {
        refusal::of_end(ended, &self.name)
    }
}

fn action(nack: &read_req::Nack) -> Result<Nack, Status> {
    match Action::try_from(nack.action) {
        Ok(Action::Unknown | Action::Retry) => Ok(Nack::Retry),
        Ok(Action::Park) => Ok(Nack::Park),
        Ok(Action::Skip) => Ok(Nack::Skip),
        Ok(Action::Stop) => Ok(Nack::Stop),
        Err(_) => Err(error_code::invalid(format!("{} is no action", nack.action))),
    }
}

/// By which ids the consumer knows what it holds.
pub(super) struct Held {
    slots: usize,
    items: Mutex<HashMap<Uuid, VecDeque<ItemId>>>,
}

impl Held {
    pub(super) fn new(slots: usize) -> Self {
        Self { slots, items: Mutex::default() }
    }

    /// What the consumer no longer holds, because its time was over, is forgotten now and then.
    pub(super) fn add(&self, id: Uuid, item: ItemId, holds: impl Fn(ItemId) -> bool) {
        let mut items = self.items.lock();
        if items.len() > self.slots.saturating_mul(2) {
            items.retain(|_, items| {
                items.retain(|item| holds(*item));
                !items.is_empty()
            });
        }
        let same = items.entry(id).or_default();
        // Delivered once more to the one who had it.
        same.retain(|other| *other != item && holds(*other));
        same.push_back(item);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.items.lock().len()
    }

    /// Ids that mean nothing, or not any more, are left out.
    pub(super) fn take(&self, ids: &[client::Uuid]) -> Result<Vec<ItemId>, Status> {
        let mut items = self.items.lock();
        let mut taken = Vec::with_capacity(ids.len());
        for id in ids {
            let id = ids::id_of(Some(id))?;
            if let Some(same) = items.get_mut(&id) {
                taken.extend(same.pop_front());
                if same.is_empty() {
                    items.remove(&id);
                }
            }
        }
        Ok(taken)
    }
}

/// How this client is shown events.
struct Show {
    /// The stream that exists in reads only, if the group consumes one.
    stream: Option<Virtual>,
    follow_links: bool,
    id_form: IdForm,
}

impl Show {
    /// The message, and the id by which the client will settle it.
    fn message(&self, delivery: &Delivery) -> (Uuid, ReadResp) {
        let Item { event, link } = Item::clone(&delivery.item);
        let resolved = match (&self.stream, event, link) {
            (Some(stream), Some(event), None) => stream.show(event, self.follow_links),
            (_, event, link) => {
                let position = link.as_ref().or(event.as_ref()).map_or(0, |original| original.position.0);
                Resolved { event: event.map(Shown::of), link: link.map(Shown::of), position }
            }
        };
        let id = resolved.link.as_ref().or(resolved.event.as_ref()).map_or(Uuid::nil(), |original| original.id);
        let event = ReadEvent {
            event: resolved.event.map(|event| self.recorded(event)),
            link: resolved.link.map(|link| self.recorded(link)),
            position: Some(Position::CommitPosition(resolved.position)),
            count: Some(Count::RetryCount(i32::try_from(delivery.retry).unwrap_or(i32::MAX))),
        };
        (id, ReadResp { content: Some(Content::Event(event)) })
    }

    fn recorded(&self, shown: Shown) -> RecordedEvent {
        RecordedEvent {
            id: Some(ids::id_message(shown.id, self.id_form)),
            stream_identifier: Some(ids::stream_identifier(&shown.stream)),
            stream_revision: shown.revision,
            prepare_position: shown.position,
            commit_position: shown.position,
            metadata: shown.metadata,
            custom_metadata: shown.custom_metadata,
            data: shown.data,
        }
    }
}
