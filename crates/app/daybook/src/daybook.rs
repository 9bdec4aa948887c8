//! The engine from its start to its end. It wires and delegates, and decides nothing.

use std::path::Path;
use std::sync::Arc;

use daybook_apply::ShardState;
use daybook_event_store::{
    AllFrom, Append, AppendError, Appended, Delete, Direction, EventStore, Filter, FollowFrom, Page, ReadError,
    StreamFrom, StreamInfo, StreamName, StreamPage, Subscription, Target, keep_indexing,
};
use daybook_read::Reader;
use daybook_shard::{Shard, StatusWatch, Storage};
use daybook_types::Position;
use daybook_world::{Disk, RealClock, RealDisk};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::data_dir::{DataDir, SHARD_DIR};
use crate::error::OpenError;
use crate::options::Options;

/// Events that one [`Daybook::read_all`] looks at, whether they pass the filter or not.
const LOOK_MAX: usize = 20_000;
/// Events looked at between two checkpoints of a filtered subscription.
const CHECKPOINT_INTERVAL: usize = 1000;

/// An open directory and the engine at work on it.
///
/// Everything may be called from many tasks at once; [`Daybook::store`] gives handles to share. End it with [`Daybook::close`]. Dropped
/// instead, it ends in the background; nothing acknowledged is lost either way.
#[derive(Debug)]
pub struct Daybook {
    store: EventStore,
    /// `None` once it is ending.
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    indexer: JoinHandle<()>,
    shard: Shard,
    // Last: the directory is given up when all that uses it is gone.
    data: DataDir,
}

impl Daybook {
    /// Opens the directory, which is made if it is missing, with the default options. When this returns, everything that was
    /// acknowledged before is there.
    ///
    /// ```
    /// # use daybook::{DataDirError, OpenError};
    /// use daybook::Daybook;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let directory = directory.path();
    /// let daybook = Daybook::open(directory).await?;
    /// // One at a time, in this process or any other.
    /// let second = Daybook::open(directory).await;
    /// assert!(matches!(second, Err(OpenError::Directory(DataDirError::InUse { .. }))));
    /// daybook.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(directory: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(directory, Options::default()).await
    }

    /// [`Self::open`] with options of one's own.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use daybook::{Daybook, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let directory = directory.path();
    /// let options = Options { checkpoint_interval: Duration::from_secs(5), ..Options::default() };
    /// let daybook = Daybook::open_with(directory, options).await?;
    /// daybook.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open_with(directory: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        if Handle::try_current().is_err() {
            return Err(OpenError::NoRuntime);
        }
        let directory = directory.as_ref().to_owned();
        let (node_id, storage_options) = (options.node_id, options.storage());
        let opening = tokio::task::spawn_blocking(move || {
            let data = DataDir::open(&directory, node_id)?;
            let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(&data.path)?);
            let path = data.path.join(SHARD_DIR);
            let storage = Storage::open(&disk, &data.path, Path::new(SHARD_DIR), storage_options)
                .map_err(|source| OpenError::Storage { path: path.clone(), source })?;
            let state = ShardState::restore(&storage.kv).map_err(|source| OpenError::Checkpoint { path, source })?;
            Ok::<_, OpenError>((data, storage, state))
        });
        let (data, storage, state) =
            opening.await.map_err(|error| OpenError::BrokenOff { cause: error.to_string() })??;
        let reader = Reader::new(state.posted(), Arc::clone(&storage.files));
        let shard = Shard::start(storage, state, Arc::new(RealClock), options.shard()).await?;
        let store = EventStore::new(shard.door(), reader, options.store());
        // Topics that become event topics when they hold records already get their index meanwhile.
        let indexer = tokio::spawn(keep_indexing(store.clone()));
        Ok(Self { store, running: Some(Running { indexer, shard, data }) })
    }

    /// Appends all or nothing: to one stream or several, events of no stream, on a condition. The answer comes when it is durable and
    /// visible to every reader.
    ///
    /// ```
    /// use daybook::{Append, AppendError, Expected, NewEvent, StreamAppend, StreamState, StreamVersion};
    /// # use daybook::{Daybook, StreamName};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let daybook = Daybook::open(directory.path()).await?;
    /// let account = StreamName::new("account-7")?;
    /// let event = |event_type: &str| NewEvent { event_type: event_type.into(), ..NewEvent::default() };
    /// let append = |expected, event| {
    ///     let streams = vec![StreamAppend { stream: account.clone(), expected, events: vec![event] }];
    ///     Append { streams, ..Append::default() }
    /// };
    /// let opened = daybook.append(append(Expected::NoStream, event("opened"))).await?;
    /// assert_eq!(opened.streams[0].last_version, StreamVersion(0));
    ///
    /// let seen = Expected::Exact(opened.streams[0].last_version);
    /// daybook.append(append(seen, event("withdrawn"))).await?;
    /// // Whoever decided by the same version comes too late.
    /// match daybook.append(append(seen, event("withdrawn"))).await {
    ///     Err(AppendError::Conflict(conflicts)) => assert_eq!(conflicts[0].actual, StreamState::At(StreamVersion(1))),
    ///     other => panic!("{other:?}"),
    /// }
    /// # daybook.close().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A condition instead of a stream's version (a *dynamic consistency boundary*): nothing is appended if an event matches it.
    ///
    /// ```
    /// use daybook::{Append, AppendError, Condition, NewEvent, Query, QueryItem};
    /// # use daybook::Daybook;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let daybook = Daybook::open(directory.path()).await?;
    /// let claim = || {
    ///     let name = QueryItem { types: vec!["name-claimed".into()], tags: vec!["name:ada".into()] };
    ///     let event =
    ///         NewEvent { event_type: "name-claimed".into(), tags: vec!["name:ada".into()], ..NewEvent::default() };
    ///     let condition = Condition { unless: Query { items: vec![name] }, after: None };
    ///     Append { events: vec![event], condition: Some(condition), ..Append::default() }
    /// };
    /// daybook.append(claim()).await?;
    /// assert!(matches!(daybook.append(claim()).await, Err(AppendError::ConditionFailed { .. })));
    /// # daybook.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn append(&self, append: Append) -> Result<Appended, AppendError> {
        self.store.append(append).await
    }

    /// Deletes a stream, so that it may be written again or for ever.
    ///
    /// ```
    /// use daybook::{Delete, DeleteKind, Expected, StreamState, StreamVersion};
    /// # use daybook::{Append, Daybook, NewEvent, StreamAppend, StreamName};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let daybook = Daybook::open(directory.path()).await?;
    /// # let cart = StreamName::new("cart-1")?;
    /// # let events = vec![NewEvent { event_type: "filled".into(), ..NewEvent::default() }];
    /// # let streams = vec![StreamAppend { stream: cart.clone(), expected: Expected::Any, events }];
    /// # daybook.append(Append { streams, ..Append::default() }).await?;
    /// daybook.delete(Delete { stream: cart.clone(), expected: Expected::Exists, kind: DeleteKind::Soft }).await?;
    /// assert_eq!(daybook.stream_info(&cart).await?.state, StreamState::SoftDeleted(StreamVersion(0)));
    /// # daybook.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete(&self, delete: Delete) -> Result<Appended, AppendError> {
        self.store.delete(delete).await
    }

    /// Reads up to `max` events of a stream; the page says where the next begins.
    ///
    /// ```
    /// use daybook::{Direction, StreamFrom};
    /// # use daybook::{Append, Daybook, Expected, NewEvent, StreamAppend, StreamName};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let daybook = Daybook::open(directory.path()).await?;
    /// # let order = StreamName::new("order-1")?;
    /// # let events = ["placed", "paid"].map(|name| NewEvent { event_type: name.into(), ..NewEvent::default() });
    /// # let streams = vec![StreamAppend { stream: order.clone(), expected: Expected::Any, events: events.into() }];
    /// # daybook.append(Append { streams, ..Append::default() }).await?;
    /// let last = daybook.read_stream(&order, StreamFrom::End, Direction::Backwards, 1).await?;
    /// assert_eq!(last.events[0].event_type, "paid");
    /// # daybook.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read_stream(
        &self,
        stream: &StreamName,
        from: StreamFrom,
        direction: Direction,
        max: usize,
    ) -> Result<StreamPage, ReadError> {
        self.store.read_stream(stream, from, direction, max).await
    }

    /// What is known of a stream without reading it.
    pub async fn stream_info(&self, stream: &StreamName) -> Result<StreamInfo, ReadError> {
        self.store.stream_info(stream).await
    }

    /// Reads up to `max` events of all streams, in the order of their positions. A page may be empty and not the last: so many events
    /// did not pass the filter.
    ///
    /// ```
    /// use daybook::{AllFrom, Direction, Filter};
    /// # use daybook::{Append, Daybook, Expected, NewEvent, StreamAppend, StreamName};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let daybook = Daybook::open(directory.path()).await?;
    /// # for name in ["order-1", "cart-1"] {
    /// #     let event = NewEvent { event_type: "opened".into(), ..NewEvent::default() };
    /// #     let stream = StreamName::new(name)?;
    /// #     let streams = vec![StreamAppend { stream, expected: Expected::Any, events: vec![event] }];
    /// #     daybook.append(Append { streams, ..Append::default() }).await?;
    /// # }
    /// let orders = Filter { category: Some("order".into()), ..Filter::default() };
    /// let mut next = AllFrom::Start;
    /// loop {
    ///     let page = daybook.read_all(next, Direction::Forwards, &orders, 100).await?;
    ///     for event in &page.events {
    ///         println!("{}: {}", event.position, event.event_type);
    ///     }
    ///     if page.at_end {
    ///         break;
    ///     }
    ///     next = page.next;
    /// }
    /// # daybook.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read_all(
        &self,
        from: AllFrom,
        direction: Direction,
        filter: &Filter,
        max: usize,
    ) -> Result<Page, ReadError> {
        self.store.read_all(from, direction, filter, max, LOOK_MAX).await
    }

    /// Follows a stream, a category or everything: history first, then what comes, without gap or repetition. A slow reader is only
    /// behind.
    ///
    /// ```
    /// use daybook::{FollowFrom, Followed, Target};
    /// # use daybook::{Append, Daybook, Expected, NewEvent, StreamAppend, StreamName};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let daybook = Daybook::open(directory.path()).await?;
    /// # let order = StreamName::new("order-1")?;
    /// # let events = vec![NewEvent { event_type: "placed".into(), ..NewEvent::default() }];
    /// # let streams = vec![StreamAppend { stream: order.clone(), expected: Expected::Any, events }];
    /// # daybook.append(Append { streams, ..Append::default() }).await?;
    /// let mut subscription = daybook.subscribe(Target::Stream(order), FollowFrom::Start);
    /// while let Some(message) = subscription.next().await {
    ///     match message? {
    ///         Followed::Event(event) => assert_eq!(event.event_type, "placed"),
    ///         // From here on it waits for what is new.
    ///         Followed::CaughtUp { .. } => break,
    ///         _ => {}
    ///     }
    /// }
    /// # daybook.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn subscribe(&self, target: Target, from: FollowFrom) -> Subscription {
        self.store.subscribe(target, from, CHECKPOINT_INTERVAL)
    }

    /// Position after the last event.
    pub fn end(&self) -> Position {
        self.store.end()
    }

    /// A handle that can be cloned and moved into tasks; it has what stands here and more. After [`Self::close`] it takes no more appends.
    /// The directory can be opened again once all handles and subscriptions are dropped.
    pub fn store(&self) -> &EventStore {
        &self.store
    }

    /// Whether appends are taken, and what the last checkpoint holds.
    pub fn status(&self) -> StatusWatch {
        self.running().shard.status()
    }

    /// The directory, and what it was given at its first start.
    pub fn directory(&self) -> &DataDir {
        &self.running().data
    }

    /// Serves what was accepted, writes a last checkpoint, so that the next start has nothing to replay, and gives the directory up.
    pub async fn close(mut self) {
        // It has to end before another process may be given the directory.
        self.store.stop_scavenge().await;
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("only close and drop take it, and they take the whole")
    }
}

impl Running {
    async fn stop(self) {
        let Self { indexer, shard, data } = self;
        indexer.abort();
        // Cancelled is what it is to be; it holds a handle of the store until then.
        let _ = indexer.await;
        shard.stop().await;
        drop(data);
    }
}

/// Ends the engine in the background: the directory is given up only when its thread is gone.
impl Drop for Daybook {
    fn drop(&mut self) {
        let Some(running) = self.running.take() else { return };
        running.indexer.abort();
        let store = self.store.clone();
        let end = move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else { return };
            let Running { indexer: _, shard, data } = running;
            runtime.block_on(store.stop_scavenge());
            drop(store);
            runtime.block_on(shard.stop());
            drop(data);
        };
        if let Err(error) = std::thread::Builder::new().name("daybook-end".to_owned()).spawn(end) {
            tracing::error!(%error, "can't start the thread that ends the engine; recovery will replay its log");
        }
    }
}
