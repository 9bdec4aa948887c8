//! Definitions as clients write them.

use daybook_competing::{ConsumerStrategy, Definition, FilterText, Settings, Source, StartFrom, SubscriptionName};
use tonic::Status;

use super::super::error_code;
use super::messages::create_req::all_options::filter_options::{Expression, Filter};
use super::messages::create_req::all_options::{AllOption, FilterOption, FilterOptions};
use super::messages::create_req::options::StreamOption;
use super::messages::create_req::stream_options::RevisionOption;
use super::messages::create_req::{self, settings::CheckpointAfter, settings::MessageTimeout};
use super::messages::{CreateReq, UpdateReq, update_req};
use super::{name, refusal};

/// 100 ns each.
const TICKS_PER_MS: i64 = 10_000;
/// How clients write *the end* as a number.
const END: u64 = u64::MAX;

pub(super) fn to_create(request: CreateReq) -> Result<Definition, Status> {
    let options = request.options.ok_or_else(name::no_options)?;
    let asked = options.settings.ok_or_else(|| error_code::invalid("the settings are missing"))?;
    let (source, start_from) = match options.stream_option {
        Some(StreamOption::Stream(stream)) => {
            let name = name::text(&stream.stream_identifier.ok_or_else(name::no_stream)?)?;
            let start_from = match stream.revision_option {
                Some(RevisionOption::Start(_)) => StartFrom::Start,
                Some(RevisionOption::End(_)) => StartFrom::End,
                Some(RevisionOption::Revision(revision)) => at(revision),
                None => return Err(no_start()),
            };
            (Source::named(&name, FilterText::default()), start_from)
        }
        Some(StreamOption::All(all)) => {
            let start_from = match all.all_option {
                Some(AllOption::Start(_)) => StartFrom::Start,
                Some(AllOption::End(_)) => StartFrom::End,
                Some(AllOption::Position(position)) => {
                    at_position(position.commit_position, position.prepare_position)?
                }
                None => return Err(no_start()),
            };
            let filter = match all.filter_option {
                Some(FilterOption::Filter(filter)) => filter_text(filter)?,
                Some(FilterOption::NoFilter(_)) | None => FilterText::default(),
            };
            (Source::All(filter), start_from)
        }
        // Old clients: on a stream, from a revision.
        None => {
            #[allow(deprecated)]
            let (identifier, revision) = (options.stream_identifier, asked.revision);
            let name = name::text(&identifier.ok_or_else(name::no_stream)?)?;
            (Source::named(&name, FilterText::default()), at(revision))
        }
    };
    definition(source, options.group_name, start_from, asked)
}

/// The filter is not part of it: it can't be changed.
pub(super) fn to_update(request: UpdateReq) -> Result<Definition, Status> {
    use update_req::{all_options::AllOption, options::StreamOption, stream_options::RevisionOption};
    let options = request.options.ok_or_else(name::no_options)?;
    let asked = options.settings.ok_or_else(|| error_code::invalid("the settings are missing"))?;
    let (source, start_from) = match options.stream_option {
        Some(StreamOption::Stream(stream)) => {
            let name = name::text(&stream.stream_identifier.ok_or_else(name::no_stream)?)?;
            let start_from = match stream.revision_option {
                Some(RevisionOption::Start(_)) => StartFrom::Start,
                Some(RevisionOption::End(_)) => StartFrom::End,
                Some(RevisionOption::Revision(revision)) => at(revision),
                None => return Err(no_start()),
            };
            (Source::named(&name, FilterText::default()), start_from)
        }
        Some(StreamOption::All(all)) => {
            let start_from = match all.all_option {
                Some(AllOption::Start(_)) => StartFrom::Start,
                Some(AllOption::End(_)) => StartFrom::End,
                Some(AllOption::Position(position)) => {
                    at_position(position.commit_position, position.prepare_position)?
                }
                None => return Err(no_start()),
            };
            (Source::All(FilterText::default()), start_from)
        }
        None => {
            #[allow(deprecated)]
            let (identifier, revision) = (options.stream_identifier, asked.revision);
            let name = name::text(&identifier.ok_or_else(name::no_stream)?)?;
            (Source::named(&name, FilterText::default()), at(revision))
        }
    };
    definition(source, options.group_name, start_from, as_of_create(asked))
}

fn definition(
    source: Source,
    group: String,
    start_from: StartFrom,
    asked: create_req::Settings,
) -> Result<Definition, Status> {
    let name = SubscriptionName::new(&source.name(), &group);
    let count = |what: &str, value: i32| {
        u32::try_from(value).map_err(|_| refusal::failed(&name, &format!("{what} is {value}; it can't be negative")))
    };
    let milliseconds = |what: &str, value: i64| {
        u64::try_from(value).map_err(|_| refusal::failed(&name, &format!("{what} is {value}; it can't be negative")))
    };
    let message_timeout_ms = match asked.message_timeout {
        Some(MessageTimeout::MessageTimeoutMs(ms)) => ms.into(),
        Some(MessageTimeout::MessageTimeoutTicks(ticks)) => ticks / TICKS_PER_MS,
        None => 0,
    };
    let checkpoint_after_ms = match asked.checkpoint_after {
        Some(CheckpointAfter::CheckpointAfterMs(ms)) => ms.into(),
        Some(CheckpointAfter::CheckpointAfterTicks(ticks)) => ticks / TICKS_PER_MS,
        None => 0,
    };
    let settings = Settings {
        resolve_links: asked.resolve_links,
        start_from,
        extra_statistics: asked.extra_statistics,
        message_timeout_ms: milliseconds("the message timeout", message_timeout_ms)?,
        max_retry_count: count("the number of retries", asked.max_retry_count)?,
        live_buffer_size: count("the live buffer", asked.live_buffer_size)?,
        read_batch_size: count("the read batch", asked.read_batch_size)?,
        history_buffer_size: count("the history buffer", asked.history_buffer_size)?,
        checkpoint_after_ms: milliseconds("the time between checkpoints", checkpoint_after_ms)?,
        min_checkpoint_count: count("the least count for a checkpoint", asked.min_checkpoint_count)?,
        max_checkpoint_count: count("the count for a checkpoint", asked.max_checkpoint_count)?,
        max_subscriber_count: count("the number of consumers", asked.max_subscriber_count)?,
        strategy: strategy(&name, &asked)?,
    };
    Ok(Definition { source, group, settings })
}

#[allow(deprecated)]
fn strategy(name: &SubscriptionName, asked: &create_req::Settings) -> Result<ConsumerStrategy, Status> {
    let old = asked.named_consumer_strategy;
    let text = match create_req::ConsumerStrategy::try_from(old) {
        _ if !asked.consumer_strategy.is_empty() => asked.consumer_strategy.clone(),
        Ok(strategy) => strategy.as_str_name().to_owned(),
        Err(_) => old.to_string(),
    };
    ConsumerStrategy::named(&text)
        .ok_or_else(|| refusal::failed(name, &format!("there is no consumer strategy {text}")))
}

#[allow(deprecated)]
fn as_of_create(asked: update_req::Settings) -> create_req::Settings {
    use update_req::settings::{CheckpointAfter as After, MessageTimeout as Timeout};
    create_req::Settings {
        resolve_links: asked.resolve_links,
        revision: asked.revision,
        extra_statistics: asked.extra_statistics,
        max_retry_count: asked.max_retry_count,
        min_checkpoint_count: asked.min_checkpoint_count,
        max_checkpoint_count: asked.max_checkpoint_count,
        max_subscriber_count: asked.max_subscriber_count,
        live_buffer_size: asked.live_buffer_size,
        read_batch_size: asked.read_batch_size,
        history_buffer_size: asked.history_buffer_size,
        named_consumer_strategy: asked.named_consumer_strategy,
        consumer_strategy: String::new(),
        message_timeout: asked.message_timeout.map(|timeout| match timeout {
            Timeout::MessageTimeoutMs(ms) => MessageTimeout::MessageTimeoutMs(ms),
            Timeout::MessageTimeoutTicks(ticks) => MessageTimeout::MessageTimeoutTicks(ticks),
        }),
        checkpoint_after: asked.checkpoint_after.map(|after| match after {
            After::CheckpointAfterMs(ms) => CheckpointAfter::CheckpointAfterMs(ms),
            After::CheckpointAfterTicks(ticks) => CheckpointAfter::CheckpointAfterTicks(ticks),
        }),
    }
}

/// The window says how often a reader is told how far it has come; this one keeps count itself.
fn filter_text(options: FilterOptions) -> Result<FilterText, Status> {
    let parts = |expression: Expression| {
        let regex = Some(expression.regex).filter(|regex| !regex.is_empty());
        if regex.is_none() && expression.prefix.is_empty() {
            return Err(error_code::invalid("the filter is empty; give it a regular expression or a prefix"));
        }
        let prefixes = if regex.is_some() { Vec::new() } else { expression.prefix };
        Ok((regex, prefixes))
    };
    match options.filter {
        Some(Filter::StreamIdentifier(expression)) => {
            let (stream_regex, stream_prefixes) = parts(expression)?;
            Ok(FilterText { stream_regex, stream_prefixes, ..FilterText::default() })
        }
        Some(Filter::EventType(expression)) => {
            let (type_regex, type_prefixes) = parts(expression)?;
            Ok(FilterText { type_regex, type_prefixes, ..FilterText::default() })
        }
        None => Err(error_code::invalid("the filter says neither stream nor event type")),
    }
}

fn at(revision: u64) -> StartFrom {
    match revision {
        0 => StartFrom::Start,
        END => StartFrom::End,
        revision => StartFrom::At(revision),
    }
}

/// Both are one number here.
fn at_position(commit: u64, prepare: u64) -> Result<StartFrom, Status> {
    if prepare > commit {
        return Err(error_code::invalid("the prepare position is after the commit position"));
    }
    Ok(at(commit))
}

fn no_start() -> Status {
    error_code::invalid("say where the subscription starts: at the start, at the end, or where")
}
