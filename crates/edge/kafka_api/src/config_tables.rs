//! The configs of brokers and subscriptions of client metrics, as Apache Kafka 4.x has them: names, defaults, legal values. Those of
//! topics are the catalog's, those of groups the share coordinator's.

pub(crate) mod broker;
pub(crate) mod client_metrics;

use daybook_catalog::Definition;

pub(crate) fn find<'a>(table: &'a [Definition], name: &str) -> Option<&'a Definition> {
    table.iter().find(|definition| definition.name == name)
}

macro_rules! table {
    ($($name:literal = $default:literal, $kind:ident, $accepts:expr, $synonym:literal;)*) => {
        &[$(daybook_catalog::Definition {
            name: $name,
            default: $default,
            kind: daybook_catalog::ConfigKind::$kind,
            accepts: $accepts,
            synonym: $synonym,
            documentation: "",
            has_effect: true,
        }),*]
    };
}
pub(crate) use table;

#[cfg(test)]
mod tests;
