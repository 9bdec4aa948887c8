//! Follow a stream, a category or `$all`: history first, then what comes, without gap or repetition.
//!
//! There is no separate way for live events: a subscription always reads from the log, and waits where the log ends. So a slow reader
//! is only behind, and is never dropped.

use std::collections::VecDeque;

use daybook_event::StreamName;
use daybook_read::Watch;
use daybook_record::partition_of_key;
use daybook_types::{PartitionId, Position, StreamVersion};
use tokio::sync::watch;

use crate::read::{AllFrom, Direction, Filter, ReadError, Recorded, StreamFrom, StreamInfo};
use crate::store::EventStore;

#[derive(Clone, Debug)]
pub enum Target {
    Stream(StreamName),
    /// Categories too: by the filter.
    All(Filter),
}

/// Where a subscription begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowFrom {
    Start,
    /// Only what comes after this moment.
    End,
    /// After this version of the stream.
    AfterVersion(StreamVersion),
    /// After this position of `$all`.
    AfterPosition(Position),
}

#[derive(Clone, Debug)]
pub enum Followed {
    Event(Box<Recorded>),
    /// All events up to and with this position were looked at, and those wanted delivered. Only on `$all` with a filter.
    Checkpoint(Position),
    /// Everything there was has been delivered; what follows is new. `end`: position after the last event of the store.
    CaughtUp {
        end: Position,
    },
    /// The reader was so slow that it reads history again.
    FellBehind {
        end: Position,
    },
}

/// Events read at a time.
const PAGE: usize = 256;

/// A running subscription. Dropping it ends it.
#[derive(Debug)]
pub struct Subscription {
    store: EventStore,
    follow: Follow,
    ready: VecDeque<Followed>,
    /// It has said that it caught up, and has not fallen behind since.
    is_live: bool,
    is_over: bool,
}

/// Where the next page begins.
#[derive(Debug)]
enum Follow {
    Stream { name: StreamName, next: StreamFrom },
    All { filter: Filter, next: AllFrom, checkpoint_interval: usize, looked: u64 },
}

/// What a look at the log brought.
struct Looked {
    events: Vec<Recorded>,
    at_end: bool,
    checkpoint: Option<Position>,
}

impl Subscription {
    /// The next message; waits for it. `None` after an error. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<Followed, ReadError>> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(Ok(message));
            }
            if self.is_over {
                return None;
            }
            // Before looking, so that no event falls between the look and the wait.
            let mut appearance = self.appearance();
            let looked = match self.look().await {
                Ok(looked) => looked,
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
            };
            let has_news = !looked.events.is_empty();
            if self.is_live && !looked.at_end {
                self.is_live = false;
                self.ready.push_back(Followed::FellBehind { end: self.store.end() });
            }
            self.ready.extend(looked.events.into_iter().map(|event| Followed::Event(Box::new(event))));
            self.ready.extend(looked.checkpoint.map(Followed::Checkpoint));
            if looked.at_end && !self.is_live {
                self.is_live = true;
                self.ready.push_back(Followed::CaughtUp { end: self.store.end() });
            } else if looked.at_end && !has_news && self.ready.is_empty() {
                appearance.changed().await;
            }
        }
    }

    async fn look(&mut self) -> Result<Looked, ReadError> {
        match &mut self.follow {
            Follow::Stream { name, next } => {
                let page = match self.store.read_stream(name, *next, Direction::Forwards, PAGE).await {
                    Ok(page) => page,
                    Err(ReadError::NoStream { .. } | ReadError::SoftDeleted { .. }) => {
                        let info = self.store.stream_info(name).await?;
                        // What is written from now on is new, whatever was there.
                        *next = StreamFrom::Version(next_version(*next, &info));
                        return Ok(Looked { events: Vec::new(), at_end: true, checkpoint: None });
                    }
                    Err(error) => return Err(error),
                };
                let end = next_version(*next, &page.info);
                *next = StreamFrom::Version(page.next.unwrap_or(end));
                Ok(Looked { events: page.events, at_end: page.next.is_none(), checkpoint: None })
            }
            Follow::All { filter, next, checkpoint_interval, looked } => {
                let before = *next;
                let page = self.store.read_all(*next, Direction::Forwards, filter, PAGE, *checkpoint_interval).await?;
                *next = page.next;
                let (AllFrom::Position(to), from) = (page.next, before) else {
                    return Ok(Looked { events: page.events, at_end: page.at_end, checkpoint: None });
                };
                let from = match from {
                    AllFrom::Position(position) => position,
                    AllFrom::Start | AllFrom::End => Position(0),
                };
                *looked += to.0.saturating_sub(from.0);
                let is_due = !filter.is_open() && to > from && (*looked >= *checkpoint_interval as u64 || page.at_end);
                if is_due {
                    *looked = 0;
                }
                let checkpoint = is_due.then(|| Position(to.0 - 1));
                Ok(Looked { events: page.events, at_end: page.at_end, checkpoint })
            }
        }
    }

    fn appearance(&self) -> Change {
        let Follow::Stream { name, .. } = &self.follow else { return Change::Of(self.end()) };
        let catalog = self.store.reader.catalog();
        let Some(topic) = catalog.topic(name.topic().as_str()) else { return Change::Of(self.end()) };
        let index = partition_of_key(name.partition_key(), topic.partitions);
        Change::In(self.store.reader.watch(&[PartitionId { topic: topic.id, index }]))
    }

    fn end(&self) -> watch::Receiver<Position> {
        // As of now: what came before this moment will be seen by the look.
        self.store.reader.streams().end()
    }
}

/// What a subscription waits for.
enum Change {
    Of(watch::Receiver<Position>),
    In(Watch),
}

impl Change {
    async fn changed(&mut self) {
        match self {
            Self::Of(end) => {
                // An error means that the log is closed: nothing comes any more.
                if end.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            Self::In(watch) => watch.changed().await,
        }
    }
}

/// The version from which to go on once all there was has been read.
fn next_version(from: StreamFrom, info: &StreamInfo) -> StreamVersion {
    match from {
        StreamFrom::Version(version) => version.max(info.next_version),
        StreamFrom::Start | StreamFrom::End => info.next_version,
    }
}

impl EventStore {
    /// Begins a subscription. A stream that does not exist yet is waited for. `checkpoint_interval`: events looked at
    /// between two checkpoints.
    pub fn subscribe(&self, target: Target, from: FollowFrom, checkpoint_interval: usize) -> Subscription {
        let follow = match target {
            Target::Stream(name) => {
                let next = match from {
                    FollowFrom::Start | FollowFrom::AfterPosition(_) => StreamFrom::Start,
                    // An error here comes again when the stream is read.
                    FollowFrom::End => {
                        self.look_up(&name).map_or(StreamFrom::End, |(_, info)| StreamFrom::Version(info.next_version))
                    }
                    FollowFrom::AfterVersion(version) => {
                        StreamFrom::Version(StreamVersion(version.0.saturating_add(1)))
                    }
                };
                Follow::Stream { name, next }
            }
            Target::All(filter) => {
                let next = match from {
                    FollowFrom::Start | FollowFrom::AfterVersion(_) => AllFrom::Start,
                    FollowFrom::End => AllFrom::Position(self.end()),
                    FollowFrom::AfterPosition(position) => AllFrom::Position(Position(position.0.saturating_add(1))),
                };
                Follow::All { filter, next, checkpoint_interval: checkpoint_interval.max(1), looked: 0 }
            }
        };
        Subscription { store: self.clone(), follow, ready: VecDeque::new(), is_live: false, is_over: false }
    }
}
