//! DescribeConfigs: every config of a topic, a group or a subscription of client metrics, and what this node is set to in the words of
//! Kafka's broker configs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use daybook_catalog::{Catalog, ConfigKind, Definition, Topic, topic_config};
use daybook_command::ResourceKind;

use crate::broker::{Broker, Caller};
use crate::config_tables::{broker as broker_configs, client_metrics};
use crate::error_code::ErrorCode;
use crate::handlers::config_resource::{
    self, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, SOURCE_ALL_BROKERS, SOURCE_BROKER, SOURCE_CLIENT_METRICS,
    SOURCE_DEFAULT, SOURCE_GROUP, SOURCE_NODE_FILE, SOURCE_TOPIC, TOPIC,
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
    /// None of a config that only its setter knows: it might be a secret.
    value: Option<String>,
    source: i8,
    read_only: bool,
    kind: Option<ConfigKind>,
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
    let catalog = broker.reader.catalog();
    let name = &*resource.resource_name;
    let invalid = |message: &str| Err(Refusal::new(ErrorCode::InvalidRequest, message));
    let outcome = match resource.resource_type {
        TOPIC => {
            config_resource::topic(&catalog, &resource.resource_name).map(|topic| of_topic(broker, &catalog, topic))
        }
        BROKER => of_broker(broker, &catalog, name),
        BROKER_LOGGER => invalid("log levels are set by log.level in the configuration, not while the server runs"),
        CLIENT_METRICS if name.is_empty() => invalid("Client metrics subscription name must not be empty"),
        CLIENT_METRICS => {
            let set = catalog.dynamic_configs().of(ResourceKind::ClientMetrics, name).cloned().unwrap_or_default();
            let definitions = if set.is_empty() { &[] } else { client_metrics::DEFINITIONS };
            Ok(of_table(definitions, &set, SOURCE_CLIENT_METRICS))
        }
        GROUP => of_group(broker, name),
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

fn of_topic(broker: &Broker, catalog: &Catalog, topic: &Topic) -> Vec<Entry> {
    let told = Told::of(broker, catalog);
    let entry = |definition: &Definition| {
        let mut synonyms = told.synonyms(definition.synonym, definition.default);
        if let Some(own) = topic.configs.get(definition.name) {
            synonyms.insert(0, (definition.name.to_owned(), own.clone(), SOURCE_TOPIC));
        }
        Entry::of(definition, synonyms)
    };
    topic_config::definitions().iter().map(entry).collect()
}

/// What was set of a resource that nothing else has a word in, over the defaults.
fn of_table(definitions: &[Definition], set: &BTreeMap<String, String>, source: i8) -> Vec<Entry> {
    let entry = |definition: &Definition| {
        let synonym = if definition.synonym.is_empty() { definition.name } else { definition.synonym };
        let mut synonyms = vec![(synonym.to_owned(), definition.default.to_owned(), SOURCE_DEFAULT)];
        if let Some(own) = set.get(definition.name) {
            synonyms.insert(0, (definition.name.to_owned(), own.clone(), source));
        }
        Entry::of(definition, synonyms)
    };
    definitions.iter().map(entry).collect()
}

/// What this broker, and what all brokers were told while they ran.
struct Told<'a> {
    this: Option<&'a BTreeMap<String, String>>,
    all: Option<&'a BTreeMap<String, String>>,
}

impl<'a> Told<'a> {
    fn of(broker: &Broker, catalog: &'a Catalog) -> Self {
        let configs = catalog.dynamic_configs();
        let this = configs.of(ResourceKind::Broker, &broker.options.node_id.to_string());
        Self { this, all: configs.of(ResourceKind::Broker, "") }
    }

    fn set(&self, name: &str) -> Vec<(String, String, i8)> {
        let levels = [(self.this, SOURCE_BROKER), (self.all, SOURCE_ALL_BROKERS)];
        let value = |(configs, source): (Option<&BTreeMap<String, String>>, i8)| {
            Some((name.to_owned(), configs?.get(name)?.clone(), source))
        };
        levels.into_iter().filter_map(value).collect()
    }

    fn synonyms(&self, name: &str, default: &str) -> Vec<(String, String, i8)> {
        let mut synonyms = self.set(name);
        synonyms.push((name.to_owned(), default.to_owned(), SOURCE_DEFAULT));
        synonyms
    }

    /// Names that Kafka doesn't know: kept, and told without their values, which might be secrets.
    fn only_setters_know(&self) -> Vec<Entry> {
        let names: BTreeSet<&String> = [self.this, self.all].into_iter().flatten().flat_map(BTreeMap::keys).collect();
        let unknown = names.into_iter().filter(|name| broker_configs::kind(name).is_none());
        unknown.map(|name| Entry::unknown(name, &self.set(name))).collect()
    }
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
            value: Some(told.own.unwrap_or(told.default)),
            read_only: false,
            kind: Some(told.kind),
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

fn of_broker(broker: &Broker, catalog: &Catalog, name: &str) -> Result<Vec<Entry>, Refusal> {
    if name.is_empty() {
        return Ok(of_all_brokers(catalog));
    }
    config_resource::this_broker(broker, name)?;
    let options = &broker.options;
    let listener = format!("PLAINTEXT://{}:{}", options.advertised_host, broker.advertised.port);
    let own = |name: &str, kind, value: String, documentation: &str| Entry {
        synonyms: vec![(name.to_owned(), value.clone(), SOURCE_NODE_FILE)],
        name: name.to_owned(),
        value: Some(value),
        source: SOURCE_NODE_FILE,
        read_only: true,
        kind: Some(kind),
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
        own(
            "transaction.max.timeout.ms",
            ConfigKind::Int,
            options.transaction_timeout_max_ms.to_string(),
            "Longest time that a producer may ask to keep a transaction open.",
        ),
        own(
            "transactional.id.expiration.ms",
            ConfigKind::Int,
            options.transactional_id_expiration_ms.to_string(),
            "After how long without use a transactional id is forgotten.",
        ),
    ];
    let told = Told::of(broker, catalog);
    let entry = |definition: Cow<'static, Definition>| {
        let mut synonyms = told.set(definition.name);
        if definition.name == "max.connections" {
            synonyms.push((definition.name.to_owned(), options.connections_max.to_string(), SOURCE_NODE_FILE));
        }
        synonyms.push((definition.name.to_owned(), definition.default.to_owned(), SOURCE_DEFAULT));
        Entry::of(&definition, synonyms)
    };
    let changeable = broker_configs::definitions().map(entry);
    Ok(own_entries.into_iter().chain(changeable).chain(told.only_setters_know()).collect())
}

/// Only what all brokers were told while they ran.
fn of_all_brokers(catalog: &Catalog) -> Vec<Entry> {
    let Some(all) = catalog.dynamic_configs().of(ResourceKind::Broker, "") else { return Vec::new() };
    let entry = |(name, value): (&String, &String)| {
        let synonyms = vec![(name.clone(), value.clone(), SOURCE_ALL_BROKERS)];
        match broker_configs::definition(name) {
            Some(definition) => Entry::of(&definition, synonyms),
            None => Entry::unknown(name, &synonyms),
        }
    };
    all.iter().map(entry).collect()
}

impl Entry {
    /// The value is the first of the synonyms'.
    fn of(definition: &Definition, synonyms: Vec<(String, String, i8)>) -> Self {
        let first = synonyms.first();
        Self {
            name: definition.name.to_owned(),
            value: Some(first.map_or_else(|| definition.default.to_owned(), |(_, value, _)| value.clone())),
            source: first.map_or(SOURCE_DEFAULT, |(_, _, source)| *source),
            read_only: false,
            kind: Some(definition.kind),
            documentation: documentation(definition),
            synonyms,
        }
    }

    fn unknown(name: &str, set: &[(String, String, i8)]) -> Self {
        let source = set.first().map_or(SOURCE_DEFAULT, |(_, _, source)| *source);
        let documentation = "Kept and shown; what it means, only its setter knows.".to_owned();
        Self {
            name: name.to_owned(),
            value: None,
            source,
            read_only: true,
            kind: None,
            documentation,
            synonyms: Vec::new(),
        }
    }

    fn told(self, with: With) -> DescribeConfigsResourceResult {
        let synonym = |(name, value, source): (String, String, i8)| {
            DescribeConfigsSynonym::default().with_name(text(name)).with_value(Some(text(value))).with_source(source)
        };
        let synonyms = if with.synonyms { self.synonyms.into_iter().map(synonym).collect() } else { Vec::new() };
        DescribeConfigsResourceResult::default()
            .with_name(text(self.name))
            .with_is_sensitive(self.value.is_none())
            .with_value(self.value.map(text))
            .with_read_only(self.read_only)
            .with_config_source(self.source)
            .with_synonyms(synonyms)
            .with_config_type(if with.types { self.kind.map_or(0, wire_type) } else { 0 })
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
