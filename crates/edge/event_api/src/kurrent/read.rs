//! What a Read asks for, and who answers it.

use daybook_event_store::{AllFrom, Direction, EventStore, StreamFrom, StreamName};
use daybook_types::{Position, StreamVersion};
use futures::stream::BoxStream;
use tonic::Status;

use super::filter::Wanted;
use super::ids::{self, IdForm};
use super::links::Virtual;
use super::options::Options;
use super::{answers, error_code, follow, read_all, read_stream};
use crate::proto::event_store::client::streams::read_req::options::{
    self as asked, AllOptions, CountOption, FilterOption, ReadDirection, StreamOption, StreamOptions, all_options,
    stream_options, uuid_option,
};
use crate::proto::event_store::client::streams::{ReadReq, ReadResp, read_req};

/// A read, understood.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) source: Source,
    pub(super) direction: Direction,
    pub(super) amount: Amount,
    pub(super) how: How,
}

#[derive(Debug)]
pub(super) enum Source {
    Stream {
        name: StreamName,
        from: StreamFrom,
    },
    Virtual {
        stream: Virtual,
        name: StreamName,
        from: StreamFrom,
    },
    /// `checkpoint_interval`: events looked at between two checkpoints; none without a filter.
    All {
        from: AllFrom,
        wanted: Wanted,
        checkpoint_interval: Option<usize>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    Events(u64),
    /// These and all that come.
    Subscription,
}

/// How events are shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    pub(super) follow_links: bool,
    pub(super) id_form: IdForm,
    /// The client understands messages about the ends of a stream.
    pub(super) tell_ends: bool,
}

pub(super) fn read(
    store: &EventStore,
    options: &Options,
    request: ReadReq,
) -> Result<BoxStream<'static, Result<ReadResp, Status>>, Status> {
    let Asked { source, direction, amount, how } = Asked::of(request)?;
    let store = store.clone();
    Ok(answers::answer(options.shutdown.clone(), move |answers| async move {
        match (amount, source) {
            (Amount::Subscription, source) => follow::follow(&store, source, how, &answers).await,
            (Amount::Events(count), Source::Stream { name, from }) => {
                read_stream::read(&store, &name, from, direction, count, how, &answers).await
            }
            (Amount::Events(count), Source::Virtual { stream, name, from }) => {
                read_all::read_virtual(&store, &stream, &name, from, direction, count, how, &answers).await
            }
            (Amount::Events(count), Source::All { from, wanted, .. }) => {
                read_all::read(&store, from, &wanted, direction, count, how, &answers).await
            }
        }
    }))
}

impl Asked {
    pub(super) fn of(request: ReadReq) -> Result<Self, Status> {
        let options = request.options.ok_or_else(|| error_code::invalid("the options are missing"))?;
        let direction = match options.read_direction() {
            ReadDirection::Forwards => Direction::Forwards,
            ReadDirection::Backwards => Direction::Backwards,
        };
        let how = how(&options)?;
        let amount = match options.count_option {
            Some(CountOption::Count(count)) => Amount::Events(count),
            Some(CountOption::Subscription(_)) => Amount::Subscription,
            None => return Err(error_code::invalid("the read says neither count nor subscription")),
        };
        if amount == Amount::Subscription && direction == Direction::Backwards {
            return Err(error_code::invalid("a subscription can't run backwards"));
        }
        let source = match (options.stream_option, options.filter_option) {
            (Some(StreamOption::Stream(stream)), Some(FilterOption::NoFilter(_))) => of_stream(&stream)?,
            (Some(StreamOption::Stream(_)), Some(FilterOption::Filter(_))) => {
                return Err(error_code::invalid("only reads of $all have filters"));
            }
            (Some(StreamOption::All(all)), Some(FilterOption::NoFilter(_))) => {
                Source::All { from: all_from(&all)?, wanted: Wanted::default(), checkpoint_interval: None }
            }
            (Some(StreamOption::All(all)), Some(FilterOption::Filter(filter))) => {
                let (wanted, interval) = Wanted::of(filter)?;
                Source::All { from: all_from(&all)?, wanted, checkpoint_interval: Some(interval) }
            }
            (Some(_), None) => return Err(error_code::invalid("the read says neither filter nor no_filter")),
            (None, _) => return Err(error_code::invalid("the read says neither stream nor all")),
        };
        Ok(Self { source, direction, amount, how })
    }
}

fn how(options: &read_req::Options) -> Result<How, Status> {
    let form: &asked::UuidOption =
        options.uuid_option.as_ref().ok_or_else(|| error_code::invalid("the read doesn't say how it wants UUIDs"))?;
    Ok(How {
        follow_links: options.resolve_links,
        id_form: match form.content {
            Some(uuid_option::Content::String(_)) => IdForm::Text,
            Some(uuid_option::Content::Structured(_)) | None => IdForm::Structured,
        },
        tell_ends: options.control_option.as_ref().is_some_and(|control| control.compatibility >= 1),
    })
}

fn of_stream(stream: &StreamOptions) -> Result<Source, Status> {
    let name = ids::stream_name(stream.stream_identifier.as_ref())?;
    let from = match stream.revision_option {
        // The greatest number of all is how some clients write the end.
        Some(stream_options::RevisionOption::Revision(u64::MAX) | stream_options::RevisionOption::End(_)) => {
            StreamFrom::End
        }
        Some(stream_options::RevisionOption::Revision(revision)) => StreamFrom::Version(StreamVersion(revision)),
        Some(stream_options::RevisionOption::Start(_)) => StreamFrom::Start,
        None => return Err(error_code::invalid("the read doesn't say at which revision it begins")),
    };
    Ok(match Virtual::of(&name) {
        Some(stream) => Source::Virtual { stream, name, from },
        None => Source::Stream { name, from },
    })
}

fn all_from(all: &AllOptions) -> Result<AllFrom, Status> {
    match &all.all_option {
        Some(all_options::AllOption::Position(position)) if position.commit_position == u64::MAX => Ok(AllFrom::End),
        Some(all_options::AllOption::Position(position)) => Ok(AllFrom::Position(Position(position.commit_position))),
        Some(all_options::AllOption::Start(_)) => Ok(AllFrom::Start),
        Some(all_options::AllOption::End(_)) => Ok(AllFrom::End),
        None => Err(error_code::invalid("the read doesn't say at which position it begins")),
    }
}
