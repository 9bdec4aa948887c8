//! All persistent subscriptions of a store: a task each, and who may change them.
//!
//! Changes are made one after another. A subscription's task is ended before its definition changes, so that only one place at a
//! time writes what the log keeps of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_event_store::{
    AppendError, Delete, DeleteKind, EventStore, Expected, ReadError, StreamName, SubscriptionMustBe,
    SubscriptionRefusal,
};
use parking_lot::RwLock;
use tokio::sync::{Mutex, mpsc, oneshot};
use tracing::{error, warn};

use crate::body::{self, Progress};
use crate::definition::{Definition, Invalid, Source, StartFrom, SubscriptionName};
use crate::error::{Ended, JoinError, ManageError};
use crate::info::{Info, Profile};

mod consumer;
mod feed;
mod measure;
mod parking;
mod resolve;
mod task;

pub use consumer::{Consumer, Delivery, Item, Nack};

use parking::Parked;
use task::{REQUESTS_MAX, Request, Task};

/// The most subscriptions of a store.
const SUBSCRIPTIONS_MAX: usize = 10_000;

/// Clones are cheap; all are one. The tasks end with the last clone and the last consumer.
#[derive(Clone)]
pub struct Subscriptions {
    inner: Arc<Inner>,
}

struct Inner {
    store: EventStore,
    running: RwLock<BTreeMap<SubscriptionName, Running>>,
    /// Held while a subscription is made, changed, deleted or restarted.
    changes: Mutex<()>,
}

#[derive(Clone)]
struct Running {
    definition: Arc<Definition>,
    requests: mpsc::Sender<Request>,
}

impl Subscriptions {
    /// Takes up all that the log has. Needs a tokio runtime.
    pub fn start(store: EventStore) -> Self {
        let inner = Inner { store, running: RwLock::default(), changes: Mutex::new(()) };
        let subscriptions = Self { inner: Arc::new(inner) };
        subscriptions.load();
        subscriptions
    }

    /// Makes a subscription; it takes up its work at once.
    pub async fn create(&self, definition: Definition) -> Result<(), ManageError> {
        let _changes = self.inner.changes.lock().await;
        definition.check()?;
        let name = definition.name();
        if self.inner.running.read().len() >= SUBSCRIPTIONS_MAX {
            return Err(ManageError::TooMany { max: SUBSCRIPTIONS_MAX });
        }
        let progress = Progress { checkpoint: self.start_of(&definition).await?, has_come_on: false };
        let body = body::encode(progress, &definition);
        match self.inner.store.put_subscription(&name.to_string(), SubscriptionMustBe::New, body).await? {
            Ok(()) => self.run(definition, progress),
            Err(SubscriptionRefusal::Exists | SubscriptionRefusal::Unknown) => Err(ManageError::Exists(name)),
        }
    }

    /// Changes settings. Its consumers are dropped; it goes on from where it had come. A filter stays as it is.
    pub async fn update(&self, mut definition: Definition) -> Result<(), ManageError> {
        let _changes = self.inner.changes.lock().await;
        let name = definition.name();
        definition.source = self.running(&name)?.definition.source.clone();
        definition.check()?;
        let start = self.start_of(&definition).await?;
        let mut progress = self.stop(&name, Ended::Dropped).await?;
        if !progress.has_come_on {
            progress.checkpoint = start;
        }
        let body = body::encode(progress, &definition);
        let put = self.inner.store.put_subscription(&name.to_string(), SubscriptionMustBe::Known, body).await;
        match put {
            Ok(Ok(())) => self.run(definition, progress),
            Ok(Err(_)) => Err(ManageError::Unknown(name)),
            Err(error) => {
                // Whether it came into force can't be known; the log will say.
                self.load();
                Err(error.into())
            }
        }
    }

    /// Its consumers are dropped; where it had come to and what it had parked is forgotten.
    pub async fn delete(&self, name: &SubscriptionName) -> Result<(), ManageError> {
        let _changes = self.inner.changes.lock().await;
        self.stop(name, Ended::Dropped).await?;
        match self.inner.store.delete_subscription(&name.to_string()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(ManageError::Unknown(name.clone())),
            Err(error) => {
                self.load();
                return Err(error.into());
            }
        }
        let delete = Delete { stream: name.parked_stream()?, expected: Expected::Exists, kind: DeleteKind::Soft };
        match self.inner.store.delete(delete).await {
            // Nothing was ever parked.
            Ok(_) | Err(AppendError::Conflict(_) | AppendError::Tombstoned { .. }) => {}
            Err(error) => warn!(subscription = %name, %error, "what a deleted subscription had parked is still there"),
        }
        Ok(())
    }

    /// `slots`: how many events the consumer may hold at a time.
    pub async fn join(&self, name: &SubscriptionName, slots: usize, profile: Profile) -> Result<Consumer, JoinError> {
        let running = self.running(name).map_err(|_| JoinError::Unknown(name.clone()))?;
        let (answer, answered) = oneshot::channel();
        let request = Request::Join { slots, profile, answer };
        running.requests.send(request).await.map_err(|_| JoinError::Closed)?;
        answered.await.map_err(|_| JoinError::Closed)?
    }

    pub async fn info(&self, name: &SubscriptionName) -> Result<Info, ManageError> {
        let mut info: Info = self.ask(name, |answer| Request::Info { answer }).await?;
        let parked = Parked::new(self.inner.store.clone(), name.parked_stream()?);
        let (first, end) = parked.range().await?;
        // What was replayed and isn't settled yet still stands there; people count it as replayed.
        info.parked = end - first.max(info.parked).min(end);
        Ok(info)
    }

    /// By name. `source`: only those of this one.
    pub async fn list(&self, source: Option<&str>) -> Result<Vec<Info>, ManageError> {
        let names: Vec<SubscriptionName> = self.inner.running.read().keys().cloned().collect();
        let mut infos = Vec::new();
        for name in names.iter().filter(|name| source.is_none_or(|source| name.source() == source)) {
            match self.info(name).await {
                Ok(info) => infos.push(info),
                // It was deleted while the others were asked.
                Err(ManageError::Unknown(_) | ManageError::Closed) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(infos)
    }

    /// Delivers again what was parked, the oldest first, at most `limit` of them. Each is gone from the parked when it is settled.
    pub async fn replay_parked(&self, name: &SubscriptionName, limit: Option<u64>) -> Result<(), ManageError> {
        self.ask(name, |answer| Request::Replay { limit, answer }).await?
    }

    /// Forgets what was parked, the oldest first, at most `limit` of them.
    pub async fn truncate_parked(&self, name: &SubscriptionName, limit: Option<u64>) -> Result<(), ManageError> {
        self.ask(name, |answer| Request::Truncate { limit, answer }).await?
    }

    /// Drops all consumers and takes up anew what the log has.
    pub async fn restart(&self) -> Result<(), ManageError> {
        let _changes = self.inner.changes.lock().await;
        self.stop_all(Ended::Dropped).await;
        self.load();
        Ok(())
    }

    /// Drops all consumers and keeps how far everybody has come.
    pub async fn close(&self) {
        let _changes = self.inner.changes.lock().await;
        self.stop_all(Ended::Closed).await;
    }

    async fn stop_all(&self, why: Ended) {
        let names: Vec<SubscriptionName> = self.inner.running.read().keys().cloned().collect();
        for name in names {
            let Ok(running) = self.running(&name) else { continue };
            let Ok(progress) = self.stop(&name, why).await else { continue };
            if !progress.has_come_on {
                continue;
            }
            let body = body::encode(progress, &running.definition);
            match self.inner.store.put_subscription(&name.to_string(), SubscriptionMustBe::Known, body).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => warn!(subscription = %name, %error, "its last checkpoint was not kept"),
                Err(error) => warn!(subscription = %name, %error, "its last checkpoint was not kept"),
            }
        }
    }

    /// Runs what the log has and isn't running.
    fn load(&self) {
        for (name, body) in self.inner.store.subscriptions() {
            let (progress, definition) = match body::decode(&body) {
                Ok(decoded) => decoded,
                Err(error) => {
                    error!(subscription = name, %error, "a subscription can't be read; it stands still");
                    continue;
                }
            };
            if self.inner.running.read().contains_key(&definition.name()) {
                continue;
            }
            if let Err(error) = self.run(definition, progress) {
                error!(subscription = name, %error, "a subscription can't be taken up; it stands still");
            }
        }
    }

    fn run(&self, definition: Definition, progress: Progress) -> Result<(), ManageError> {
        let name = definition.name();
        let definition = Arc::new(definition);
        let (requests, inbox) = mpsc::channel(REQUESTS_MAX);
        let task = Task::new(self.inner.store.clone(), definition.clone(), progress, requests.downgrade())?;
        tokio::spawn(task.run(inbox));
        self.inner.running.write().insert(name, Running { definition, requests });
        Ok(())
    }

    /// Ends its task. Where a task that ended by itself had come to, only the log knows.
    async fn stop(&self, name: &SubscriptionName, why: Ended) -> Result<Progress, ManageError> {
        let stopped = self.ask(name, |answer| Request::Close { why, answer }).await;
        self.inner.running.write().remove(name);
        match stopped {
            Err(ManageError::Closed) => self.kept(name),
            stopped => stopped,
        }
    }

    fn kept(&self, name: &SubscriptionName) -> Result<Progress, ManageError> {
        let text = name.to_string();
        let kept = self.inner.store.subscriptions().into_iter().find(|(other, _)| *other == text);
        let decoded = kept.and_then(|(_, body)| body::decode(&body).ok());
        decoded.map(|(progress, _)| progress).ok_or_else(|| ManageError::Unknown(name.clone()))
    }

    async fn ask<T>(
        &self,
        name: &SubscriptionName,
        request: impl FnOnce(oneshot::Sender<T>) -> Request,
    ) -> Result<T, ManageError> {
        let running = self.running(name)?;
        let (answer, answered) = oneshot::channel();
        running.requests.send(request(answer)).await.map_err(|_| ManageError::Closed)?;
        answered.await.map_err(|_| ManageError::Closed)
    }

    fn running(&self, name: &SubscriptionName) -> Result<Running, ManageError> {
        self.inner.running.read().get(name).cloned().ok_or_else(|| ManageError::Unknown(name.clone()))
    }

    /// The first number that a new subscription delivers.
    async fn start_of(&self, definition: &Definition) -> Result<u64, ManageError> {
        match (&definition.source, definition.settings.start_from) {
            (_, StartFrom::Start) => Ok(0),
            (Source::Stream(_), StartFrom::At(version)) => Ok(version),
            (Source::Stream(name), StartFrom::End) => self.end_of_stream(name).await,
            (_, StartFrom::End) => Ok(self.inner.store.end().0),
            (_, StartFrom::At(position)) => {
                let end = self.inner.store.end().0;
                if position > end { Err(Invalid::StartAfterEnd { position, end }.into()) } else { Ok(position) }
            }
        }
    }

    async fn end_of_stream(&self, name: &str) -> Result<u64, ManageError> {
        let stream = StreamName::new(name)
            .map_err(|error| Invalid::StreamName { name: name.to_owned(), cause: error.to_string() })?;
        match self.inner.store.stream_info(&stream).await {
            Ok(info) => Ok(info.next_version.0),
            Err(ReadError::NoStream { .. }) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}
