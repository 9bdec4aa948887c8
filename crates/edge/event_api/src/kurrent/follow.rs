//! Subscriptions: reads that go on.

use std::time::SystemTime;

use daybook_event_store::{AllFrom, EventStore, FollowFrom, Followed, Recorded, StreamFrom, Target};
use daybook_types::{Position, StreamVersion};
use prost_types::Timestamp;
use uuid::Uuid;

use super::answers::{Answers, End};
use super::error_code;
use super::filter::Wanted;
use super::links::{self, Virtual};
use super::read::{How, Source};
use crate::proto::event_store::client::streams::ReadResp;
use crate::proto::event_store::client::streams::read_resp::{
    self, CaughtUp, Checkpoint, Content, FellBehind, SubscriptionConfirmation,
};

/// Type of the event that ends a stream for ever.
const TOMBSTONE_TYPE: &str = "$streamDeleted";

pub(super) async fn follow(
    store: &EventStore,
    source: Source,
    how: How,
    answers: &Answers<ReadResp>,
) -> Result<(), End> {
    let begun = begin(store, source).await?;
    let confirmation = SubscriptionConfirmation { subscription_id: Uuid::new_v4().to_string() };
    answers.send(ReadResp { content: Some(Content::Confirmation(confirmation)) }).await?;
    let mut follower = Follower {
        store,
        how,
        answers,
        what: begun.what,
        last: begun.last,
        looked_at: 0,
        last_checkpoint: None,
        is_live: false,
    };
    let interval = follower.what.checkpoint_interval().unwrap_or(usize::MAX);
    let mut subscription = store.subscribe(begun.target, begun.from, interval);
    while let Some(followed) = subscription.next().await {
        follower.take(followed.map_err(|error| error_code::of_read(&error))?).await?;
    }
    Err(error_code::shutting_down().into())
}

/// What a subscription is on.
enum What {
    Stream { name: daybook_event_store::StreamName },
    Virtual(Virtual),
    All { wanted: Wanted, checkpoint_interval: Option<usize> },
}

struct Begun {
    what: What,
    target: Target,
    from: FollowFrom,
    /// Revision or position after which it begins, where that is known.
    last: Option<u64>,
}

struct Follower<'a> {
    store: &'a EventStore,
    how: How,
    answers: &'a Answers<ReadResp>,
    what: What,
    /// Revision, or position in `$all`, up to which everything wanted has been sent.
    last: Option<u64>,
    /// Events since the last checkpoint, where checkpoints are made here.
    looked_at: usize,
    last_checkpoint: Option<u64>,
    is_live: bool,
}

impl What {
    fn checkpoint_interval(&self) -> Option<usize> {
        match self {
            Self::All { checkpoint_interval, .. } => *checkpoint_interval,
            Self::Stream { .. } | Self::Virtual(_) => None,
        }
    }
}

async fn begin(store: &EventStore, source: Source) -> Result<Begun, End> {
    Ok(match source {
        Source::Stream { name, from } => {
            let (from, last) = match from {
                StreamFrom::Start => (FollowFrom::Start, None),
                StreamFrom::Version(version) => (FollowFrom::AfterVersion(version), Some(version.0)),
                // The end is that of now, whatever is appended while the client waits for the confirmation.
                StreamFrom::End => {
                    let info = store.stream_info(&name).await.map_err(|error| error_code::of_read(&error))?;
                    match info.next_version.0.checked_sub(1) {
                        Some(last) => (FollowFrom::AfterVersion(StreamVersion(last)), Some(last)),
                        None => (FollowFrom::Start, None),
                    }
                }
            };
            Begun { target: Target::Stream(name.clone()), what: What::Stream { name }, from, last }
        }
        Source::Virtual { stream, from, .. } => {
            let target = Target::All(stream.filter.clone());
            let (from, last) = match from {
                StreamFrom::Start => (FollowFrom::Start, None),
                StreamFrom::Version(version) => (FollowFrom::AfterPosition(Position(version.0)), Some(version.0)),
                StreamFrom::End => after_end(store),
            };
            Begun { what: What::Virtual(stream), target, from, last }
        }
        Source::All { from, wanted, checkpoint_interval } => {
            let target = Target::All(wanted.filter.clone());
            let (from, last) = match from {
                AllFrom::Start => (FollowFrom::Start, None),
                AllFrom::Position(position) => (FollowFrom::AfterPosition(position), Some(position.0)),
                AllFrom::End => after_end(store),
            };
            Begun { what: What::All { wanted, checkpoint_interval }, target, from, last }
        }
    })
}

/// After the last event of now.
fn after_end(store: &EventStore) -> (FollowFrom, Option<u64>) {
    match store.end().0.checked_sub(1) {
        Some(last) => (FollowFrom::AfterPosition(Position(last)), Some(last)),
        None => (FollowFrom::Start, None),
    }
}

impl Follower<'_> {
    async fn take(&mut self, followed: Followed) -> Result<(), End> {
        match followed {
            Followed::Event(recorded) => self.event(*recorded).await,
            Followed::Checkpoint(position) => self.looked_up_to(position.0).await,
            Followed::CaughtUp { .. } => {
                self.is_live = true;
                self.last_word_of_history().await?;
                let (stream_revision, position) = self.whereabouts();
                let caught_up = CaughtUp { timestamp: Some(now()), stream_revision, position };
                Ok(self.answers.send(ReadResp { content: Some(Content::CaughtUp(caught_up)) }).await?)
            }
            Followed::FellBehind { .. } => {
                self.is_live = false;
                let (stream_revision, position) = self.whereabouts();
                let fell_behind = FellBehind { timestamp: Some(now()), stream_revision, position };
                Ok(self.answers.send(ReadResp { content: Some(Content::FellBehind(fell_behind)) }).await?)
            }
        }
    }

    async fn event(&mut self, recorded: Recorded) -> Result<(), End> {
        let position = recorded.position.0;
        let follow_links = self.how.follow_links;
        match &self.what {
            What::Stream { name } => {
                let ended = (recorded.event_type == TOMBSTONE_TYPE).then(|| error_code::stream_deleted(name));
                self.last = Some(recorded.version.map_or(position, |version| version.0));
                self.send(recorded).await?;
                ended.map_or(Ok(()), |status| Err(status.into()))
            }
            What::Virtual(stream) => {
                let answer = stream.show(recorded, follow_links).answer(self.how.id_form);
                self.last = Some(position);
                Ok(self.answers.send(answer).await?)
            }
            What::All { wanted, checkpoint_interval } => {
                let (checked_here, interval) = (!wanted.is_the_stores(), *checkpoint_interval);
                let passes = wanted.passes(&recorded)?;
                self.last = Some(position);
                if passes {
                    self.send(recorded).await?;
                }
                if checked_here && let Some(interval) = interval {
                    self.looked_at += 1;
                    if self.looked_at >= interval {
                        self.checkpoint(position).await?;
                    }
                }
                Ok(())
            }
        }
    }

    async fn send(&self, recorded: Recorded) -> Result<(), End> {
        let resolved = links::resolve(self.store, recorded, self.how.follow_links).await;
        let resolved = resolved.map_err(|error| error_code::of_read(&error))?;
        Ok(self.answers.send(resolved.answer(self.how.id_form)).await?)
    }

    /// All events up to and with `position` have been looked at by the store, and those that pass its filter sent.
    async fn looked_up_to(&mut self, position: u64) -> Result<(), End> {
        self.last = self.last.max(Some(position));
        let Some(interval) = self.what.checkpoint_interval() else { return Ok(()) };
        // The store says so at every end of the log. When nothing is new that is too often.
        let since = self.last_checkpoint.map_or(position.saturating_add(1), |last| position.saturating_sub(last));
        if self.is_live && since < interval as u64 { Ok(()) } else { self.checkpoint(position).await }
    }

    /// So that a client may resume from here, however few events it wanted of those that there were.
    async fn last_word_of_history(&mut self) -> Result<(), End> {
        match self.last {
            Some(last) if self.what.checkpoint_interval().is_some() => self.checkpoint(last).await,
            _ => Ok(()),
        }
    }

    async fn checkpoint(&mut self, position: u64) -> Result<(), End> {
        self.looked_at = 0;
        if self.last_checkpoint >= Some(position) {
            return Ok(());
        }
        self.last_checkpoint = Some(position);
        let checkpoint = Checkpoint { commit_position: position, prepare_position: position, timestamp: Some(now()) };
        Ok(self.answers.send(ReadResp { content: Some(Content::Checkpoint(checkpoint)) }).await?)
    }

    /// Where a subscription that begins anew would go on: by its revision in a stream, by its position in `$all`.
    fn whereabouts(&self) -> (Option<i64>, Option<read_resp::Position>) {
        match self.what {
            What::Stream { .. } | What::Virtual(_) => (self.last.and_then(|last| i64::try_from(last).ok()), None),
            What::All { .. } => {
                let position =
                    self.last.map(|last| read_resp::Position { commit_position: last, prepare_position: last });
                (None, position)
            }
        }
    }
}

fn now() -> Timestamp {
    Timestamp::from(SystemTime::now())
}
