//! DescribeConfigs: every config of a topic and of a group, and what this node is set to in the words of Kafka's broker configs.

use std::collections::HashSet;

use daybook_catalog::{ConfigKind, Definition, Topic, topic_config};

use crate::broker::{Broker, Caller};
use crate::error_code::ErrorCode;
use crate::handlers::config_resource::{
    self, BROKER, GROUP, SOURCE_DEFAULT, SOURCE_GROUP, SOURCE_NODE_FILE, SOURCE_TOPIC, TOPIC,
};
use crate::handlers::group_configs;
use crate::handlers::refusal::{Refusal, code_and_text};
use crate::wire::messages::describe_configs_request::DescribeConfigsResource;
use crate::wire::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use crate::wire::messages::{DescribeConfigsRequest, DescribeConfigsResponse};
use crate::wire::text;

/// Version 1 and 2 know no type and no documentation.
const TYPE_FROM: i16 = 3;

#[derive(Clone, Copy)]
struct With {
    synonyms: bool,
    documentation: bool,
    types: bool,
}

/// A config, before it is told how much of it is wanted.
struct Entry {
    name: String,
    value: String,
    source: i8,
    read_only: bool,
    kind: ConfigKind,
    documentation: String,
    /// Where the value would come from, most specific first.
    synonyms: Vec<(String, String, i8)>,
}

pub(super) async fn handle(
    broker: &Broker,
    caller: &Caller,
    request: DescribeConfigsRequest,
) -> DescribeConfigsResponse {
    let types = caller.version >= TYPE_FROM;
    let with =
        With { synonyms: request.include_synonyms, documentation: request.include_documentation && types, types };
    // Told once each: the answer can't be made larger than there are configs by asking for the same ones again.
    let mut seen = HashSet::new();
    let mut resources = request.resources;
    resources.retain(|resource| seen.insert((resource.resource_type, resource.resource_name.clone())));
    let results = resources.into_iter().map(|resource| describe(broker, with, resource)).collect();
    DescribeConfigsResponse::default().with_results(results)
}

fn describe(broker: &Broker, with: With, resource: DescribeConfigsResource) -> DescribeConfigsResult {
    let outcome = match resource.resource_type {
        TOPIC => {
            let catalog = broker.reader.catalog();
            config_resource::topic(&catalog, &resource.resource_name).map(|topic| of_topic(topic))
        }
        BROKER => of_broker(broker, &resource.resource_name),
        GROUP => of_group(broker, &resource.resource_name),
        other => Err(config_resource::unknown_type(other)),
    };
    let (code, message) = code_and_text(&outcome);
    // As in Kafka an empty list of keys asks for all.
    let keys = resource.configuration_keys.filter(|keys| !keys.is_empty());
    let is_asked = |entry: &Entry| keys.as_ref().is_none_or(|keys| keys.iter().any(|key| **key == *entry.name));
    let configs = outcome.unwrap_or_default().into_iter().filter(is_asked).map(|entry| entry.told(with)).collect();
    DescribeConfigsResult::default()
        .with_error_code(code)
        .with_error_message(message)
        .with_resource_type(resource.resource_type)
        .with_resource_name(resource.resource_name)
        .with_configs(configs)
}

fn of_topic(topic: &Topic) -> Vec<Entry> {
    let entry = |definition: &Definition| {
        let own = topic.configs.get(definition.name);
        let value = own.map_or(definition.default, String::as_str);
        let mut synonyms = vec![(definition.synonym.to_owned(), definition.default.to_owned(), SOURCE_DEFAULT)];
        if let Some(own) = own {
            synonyms.insert(0, (definition.name.to_owned(), own.clone(), SOURCE_TOPIC));
        }
        Entry {
            name: definition.name.to_owned(),
            value: value.to_owned(),
            source: if own.is_some() { SOURCE_TOPIC } else { SOURCE_DEFAULT },
            read_only: false,
            kind: definition.kind,
            documentation: documentation(definition),
            synonyms,
        }
    };
    topic_config::definitions().iter().map(entry).collect()
}

fn of_group(broker: &Broker, name: &str) -> Result<Vec<Entry>, Refusal> {
    let entry = |told: group_configs::Told| {
        let definition = told.definition;
        let synonym = definition.synonym.unwrap_or(definition.name).to_owned();
        let mut synonyms = vec![(synonym, told.default.clone(), SOURCE_DEFAULT)];
        if let Some(own) = &told.own {
            synonyms.insert(0, (definition.name.to_owned(), own.clone(), SOURCE_GROUP));
        }
        Entry {
            name: definition.name.to_owned(),
            source: if told.own.is_some() { SOURCE_GROUP } else { SOURCE_DEFAULT },
            value: told.own.unwrap_or(told.default),
            read_only: false,
            kind: told.kind,
            documentation: definition.documentation.to_owned(),
            synonyms,
        }
    };
    Ok(group_configs::describe(broker, name)?.into_iter().map(entry).collect())
}

fn documentation(definition: &Definition) -> String {
    let effect = if definition.has_effect { "" } else { " Kept and shown; it has no effect here." };
    format!("{}{effect}", definition.documentation)
}

fn of_broker(broker: &Broker, name: &str) -> Result<Vec<Entry>, Refusal> {
    if name.is_empty() {
        // The defaults of all brokers that were set while running: none can be.
        return Ok(Vec::new());
    }
    let options = &broker.options;
    if name.parse() != Ok(options.node_id) {
        let message = format!("this is broker {}, not {name}", options.node_id);
        return Err(Refusal::new(ErrorCode::InvalidRequest, message));
    }
    let listener = format!("PLAINTEXT://{}:{}", options.advertised_host, broker.advertised.port);
    let own = |name: &str, kind, value: String, documentation: &str| Entry {
        synonyms: vec![(name.to_owned(), value.clone(), SOURCE_NODE_FILE)],
        name: name.to_owned(),
        value,
        source: SOURCE_NODE_FILE,
        read_only: true,
        kind,
        documentation: documentation.to_owned(),
    };
    let own_entries = [
        own("node.id", ConfigKind::Int, options.node_id.to_string(), "Number of this node."),
        own("broker.id", ConfigKind::Int, options.node_id.to_string(), "Number of this node."),
        own("advertised.listeners", ConfigKind::String, listener, "Where clients are told to come."),
        own(
            "auto.create.topics.enable",
            ConfigKind::Boolean,
            options.auto_create_topics.to_string(),
            "Whether a topic is made when somebody asks about it.",
        ),
        own(
            "num.partitions",
            ConfigKind::Int,
            options.default_partitions.to_string(),
            "Partitions of a topic that is made without saying how many.",
        ),
        own("default.replication.factor", ConfigKind::Int, "1".into(), "Copies of a partition: this node is alone."),
        own("max.connections", ConfigKind::Int, options.connections_max.to_string(), "Connections at once."),
        own(
            "connections.max.idle.ms",
            ConfigKind::Long,
            options.idle_timeout.as_millis().to_string(),
            "How long a connection may be silent.",
        ),
        own("socket.request.max.bytes", ConfigKind::Int, options.request_bytes_max.to_string(), "Largest request."),
        own(
            "fetch.max.bytes",
            ConfigKind::Int,
            options.fetch_bytes_max.to_string(),
            "Most bytes of records in an answer.",
        ),
        own(
            "max.incremental.fetch.session.cache.slots",
            ConfigKind::Int,
            options.fetch_sessions_max.to_string(),
            "Fetch sessions at once.",
        ),
        own(
            "offset.metadata.max.bytes",
            ConfigKind::Int,
            options.offset_metadata_bytes_max.to_string(),
            "Longest text kept beside a committed offset.",
        ),
    ];
    // What topics have by default, under the names that Kafka's brokers have for it.
    let of_topics = topic_config::definitions().iter().map(|definition| Entry {
        name: definition.synonym.to_owned(),
        value: definition.default.to_owned(),
        source: SOURCE_DEFAULT,
        read_only: true,
        kind: definition.kind,
        documentation: documentation(definition),
        synonyms: vec![(definition.synonym.to_owned(), definition.default.to_owned(), SOURCE_DEFAULT)],
    });
    Ok(own_entries.into_iter().chain(of_topics).collect())
}

impl Entry {
    fn told(self, with: With) -> DescribeConfigsResourceResult {
        let synonym = |(name, value, source): (String, String, i8)| {
            DescribeConfigsSynonym::default().with_name(text(name)).with_value(Some(text(value))).with_source(source)
        };
        let synonyms = if with.synonyms { self.synonyms.into_iter().map(synonym).collect() } else { Vec::new() };
        DescribeConfigsResourceResult::default()
            .with_name(text(self.name))
            .with_value(Some(text(self.value)))
            .with_read_only(self.read_only)
            .with_config_source(self.source)
            .with_synonyms(synonyms)
            .with_config_type(if with.types { wire_type(self.kind) } else { 0 })
            .with_documentation(with.documentation.then(|| text(self.documentation)))
    }
}

/// Kafka's `ConfigEntry.ConfigType`.
fn wire_type(kind: ConfigKind) -> i8 {
    match kind {
        ConfigKind::Boolean => 1,
        ConfigKind::String => 2,
        ConfigKind::Int => 3,
        ConfigKind::Long => 5,
        ConfigKind::Double => 6,
        ConfigKind::List => 7,
    }
}
