//! What is read or followed: a stream, a category or all events, and which of them.

use anyhow::bail;
use clap::Args;

use super::client::Target;

#[derive(Debug, Args)]
pub struct SourceArguments {
    /// Name of the stream.
    #[arg(required_unless_present_any = ["category", "all"])]
    pub stream: Option<String>,
    /// Instead of one stream, all streams of this category.
    #[arg(long, conflicts_with = "stream")]
    category: Option<String>,
    /// Instead of one stream, all events.
    #[arg(long, conflicts_with_all = ["stream", "category"])]
    all: bool,
    /// Only events of this type; may be repeated. Not for one stream, as all that follow.
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Only events whose type begins so; may be repeated.
    #[arg(long = "type-prefix", value_name = "TEXT")]
    type_prefixes: Vec<String>,
    /// Only events of streams whose name begins so; may be repeated.
    #[arg(long = "stream-prefix", value_name = "TEXT")]
    stream_prefixes: Vec<String>,
    /// Only events of streams whose name has a match of this regular expression.
    #[arg(long, value_name = "REGEX")]
    stream_regex: Option<String>,
    /// Only events with this tag; may be repeated, then with all of them.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Leave out what the system writes.
    #[arg(long)]
    no_system: bool,
}

impl SourceArguments {
    pub fn target(&self) -> anyhow::Result<Target> {
        if let Some(stream) = &self.stream {
            let lists = [&self.types, &self.type_prefixes, &self.stream_prefixes, &self.tags];
            if lists.iter().any(|list| !list.is_empty()) || self.stream_regex.is_some() || self.no_system {
                bail!("one stream is read whole; to filter its events use --all --stream-prefix {stream}");
            }
            return Ok(Target::stream(stream));
        }
        let target = Target::new("/all")
            .with_any("category", self.category.as_ref())
            .with_all("type", &self.types)
            .with_all("type_prefix", &self.type_prefixes)
            .with_all("stream_prefix", &self.stream_prefixes)
            .with_any("stream_regex", self.stream_regex.as_ref())
            .with_all("tag", &self.tags);
        Ok(if self.no_system { target.with("system", false) } else { target })
    }
}
