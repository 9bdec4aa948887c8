//! Subscriptions of client metrics (KIP-714): which metrics, how often, of which clients. Checks as Kafka's `ClientMetricsConfigs`.

use std::collections::BTreeMap;

use daybook_catalog::topic_config::{Accepts, check_value};
use daybook_catalog::{ConfigRefusal, Definition};
use regex::{Regex, RegexBuilder};

use crate::config_tables::{find, table};
use crate::error_code::ErrorCode;
use crate::handlers::Refusal;

pub(crate) const METRICS: &str = "metrics";
pub(crate) const INTERVAL_MS: &str = "interval.ms";
pub(crate) const MATCH: &str = "match";
pub(crate) const INTERVAL_MS_DEFAULT: i32 = 300_000;
/// A compiled pattern may take so much memory.
const PATTERN_BYTES_MAX: usize = 256 * 1024;

pub(crate) const DEFINITIONS: &[Definition] = table! {
    "interval.ms" = "300000", Int, Accepts::Whole(100, 3_600_000), "";
    "match" = "", List, Accepts::AnyList, "";
    "metrics" = "", List, Accepts::AnyList, "";
};

/// What a pattern can look at.
const MATCHED: &[&str] = &[
    "client_id",
    "client_instance_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
];

pub(crate) fn check(configs: &BTreeMap<String, String>) -> Result<(), Refusal> {
    for (name, value) in configs {
        let definition = find(DEFINITIONS, name).ok_or_else(|| {
            Refusal::new(ErrorCode::InvalidConfig, format!("Unknown client metrics configuration: {name}"))
        })?;
        check_value(definition, value)
            .map_err(|refusal: ConfigRefusal| Refusal::new(ErrorCode::InvalidConfig, refusal.to_string()))?;
        if name == MATCH {
            patterns(value).map_err(|message| Refusal::new(ErrorCode::InvalidConfig, message))?;
        }
    }
    Ok(())
}

/// `name=pattern,…`: what of a client must match which expression, as a whole.
pub(crate) fn patterns(text: &str) -> Result<Vec<(String, Regex)>, String> {
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    let pattern = |item: &str| {
        let (name, pattern) = item.split_once('=').ok_or_else(|| format!("Illegal client matching pattern: {item}"))?;
        let (name, pattern) = (name.trim(), pattern.trim());
        if !MATCHED.contains(&name) {
            return Err(format!("Illegal client matching pattern: {item}"));
        }
        let whole = RegexBuilder::new(&format!("^(?:{pattern})$")).size_limit(PATTERN_BYTES_MAX).build();
        Ok((name.to_owned(), whole.map_err(|_| format!("Illegal client matching pattern: {item}"))?))
    };
    items.map(pattern).collect()
}
