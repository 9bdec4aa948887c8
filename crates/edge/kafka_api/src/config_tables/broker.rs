//! What brokers can be told while they run (KIP-226), and what they can't. Names and defaults are those of an Apache Kafka 4.4 broker.

use std::borrow::Cow;
use std::collections::BTreeMap;

use daybook_catalog::topic_config::{self, Accepts, check_value};
use daybook_catalog::{ConfigKind, Definition};

use crate::config_tables::{find, table};
use crate::error_code::ErrorCode;
use crate::handlers::Refusal;

const COUNT: Accepts = Accepts::Whole(1, i32::MAX as i64);
const BYTES: Accepts = Accepts::Whole(0, i64::MAX);

/// Those that aren't the default of a topic's config; none of them has an effect here.
const OWN: &[Definition] = table! {
    "background.threads" = "10", Int, COUNT, "";
    "follower.replication.throttled.rate" = "9223372036854775807", Long, BYTES, "";
    "leader.replication.throttled.rate" = "9223372036854775807", Long, BYTES, "";
    "log.cleaner.backoff.ms" = "15000", Long, BYTES, "";
    "log.cleaner.dedupe.buffer.size" = "134217728", Long, BYTES, "";
    "log.cleaner.io.buffer.load.factor" = "0.9", Double, Accepts::Fraction(0.0, f64::MAX), "";
    "log.cleaner.io.buffer.size" = "524288", Int, BYTES, "";
    "log.cleaner.io.max.bytes.per.second" = "1.7976931348623157E308", Double, Accepts::Fraction(0.0, f64::MAX), "";
    "log.cleaner.threads" = "1", Int, BYTES, "";
    "max.connection.creation.rate" = "2147483647", Int, BYTES, "";
    "max.connections" = "2147483647", Int, BYTES, "";
    "max.connections.per.ip" = "2147483647", Int, BYTES, "";
    "max.connections.per.ip.overrides" = "", String, Accepts::AnyText, "";
    "num.io.threads" = "8", Int, COUNT, "";
    "num.network.threads" = "3", Int, COUNT, "";
    "num.recovery.threads.per.data.dir" = "2", Int, COUNT, "";
    "num.replica.fetchers" = "1", Int, COUNT, "";
    "producer.id.expiration.ms" = "86400000", Int, COUNT, "";
    "replica.alter.log.dirs.io.max.bytes.per.second" = "9223372036854775807", Long, BYTES, "";
    "transaction.partition.verification.enable" = "true", Boolean, Accepts::Boolean, "";
};

/// Set in a file before a broker starts, and not while it runs. To Kafka's own list come listeners and their security, which Kafka
/// can change while it runs and this server can't.
const FIXED: &[&str] = &[
    "add.partitions.to.txn.retry.backoff.max.ms",
    "add.partitions.to.txn.retry.backoff.ms",
    "advertised.listeners",
    "alter.config.policy.class.name",
    "alter.log.dirs.replication.quota.window.num",
    "alter.log.dirs.replication.quota.window.size.seconds",
    "authorizer.class.name",
    "auto.create.topics.enable",
    "auto.leader.rebalance.enable",
    "broker.heartbeat.interval.ms",
    "broker.id",
    "broker.rack",
    "broker.session.timeout.ms",
    "client.quota.callback.class",
    "config.providers",
    "connection.failed.authentication.delay.ms",
    "connections.max.idle.ms",
    "connections.max.reauth.ms",
    "controlled.shutdown.enable",
    "controller.listener.names",
    "controller.quorum.append.linger.ms",
    "controller.quorum.auto.join.enable",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.election.backoff.max.ms",
    "controller.quorum.election.timeout.ms",
    "controller.quorum.fetch.max.bytes",
    "controller.quorum.fetch.snapshot.max.bytes",
    "controller.quorum.fetch.timeout.ms",
    "controller.quorum.request.timeout.ms",
    "controller.quorum.retry.backoff.ms",
    "controller.quorum.voters",
    "controller.quota.window.num",
    "controller.quota.window.size.seconds",
    "controller.socket.timeout.ms",
    "cordoned.log.dirs",
    "create.topic.policy.class.name",
    "daybook.streams",
    "default.replication.factor",
    "delegation.token.expiry.check.interval.ms",
    "delegation.token.expiry.time.ms",
    "delegation.token.max.lifetime.ms",
    "delegation.token.secret.key",
    "delete.records.purgatory.purge.interval.requests",
    "delete.topic.enable",
    "early.start.listeners",
    "fetch.max.bytes",
    "fetch.purgatory.purge.interval.requests",
    "group.consumer.assignors",
    "group.consumer.heartbeat.interval.ms",
    "group.consumer.max.assignment.interval.ms",
    "group.consumer.max.heartbeat.interval.ms",
    "group.consumer.max.session.timeout.ms",
    "group.consumer.max.size",
    "group.consumer.migration.policy",
    "group.consumer.min.assignment.interval.ms",
    "group.consumer.min.heartbeat.interval.ms",
    "group.consumer.min.session.timeout.ms",
    "group.consumer.session.timeout.ms",
    "group.coordinator.append.linger.ms",
    "group.coordinator.background.threads",
    "group.coordinator.rebalance.protocols",
    "group.coordinator.threads",
    "group.initial.rebalance.delay.ms",
    "group.max.session.timeout.ms",
    "group.max.size",
    "group.min.session.timeout.ms",
    "group.share.assignors",
    "group.share.delivery.count.limit",
    "group.share.heartbeat.interval.ms",
    "group.share.max.assignment.interval.ms",
    "group.share.max.delivery.count.limit",
    "group.share.max.heartbeat.interval.ms",
    "group.share.max.partition.max.record.locks",
    "group.share.max.record.lock.duration.ms",
    "group.share.max.session.timeout.ms",
    "group.share.max.share.sessions",
    "group.share.max.size",
    "group.share.min.assignment.interval.ms",
    "group.share.min.delivery.count.limit",
    "group.share.min.heartbeat.interval.ms",
    "group.share.min.partition.max.record.locks",
    "group.share.min.record.lock.duration.ms",
    "group.share.min.session.timeout.ms",
    "group.share.partition.max.record.locks",
    "group.share.record.lock.duration.ms",
    "group.share.session.timeout.ms",
    "group.streams.assignors",
    "group.streams.heartbeat.interval.ms",
    "group.streams.initial.rebalance.delay.ms",
    "group.streams.max.assignment.interval.ms",
    "group.streams.max.heartbeat.interval.ms",
    "group.streams.max.session.timeout.ms",
    "group.streams.max.size",
    "group.streams.max.standby.replicas",
    "group.streams.min.assignment.interval.ms",
    "group.streams.min.heartbeat.interval.ms",
    "group.streams.min.session.timeout.ms",
    "group.streams.num.standby.replicas",
    "group.streams.rack.aware.assignment.tags",
    "group.streams.session.timeout.ms",
    "group.streams.topology.description.plugin.class",
    "initial.broker.registration.timeout.ms",
    "inter.broker.listener.name",
    "kafka.metrics.polling.interval.secs",
    "kafka.metrics.reporters",
    "leader.imbalance.check.interval.seconds",
    "listener.security.protocol.map",
    "listeners",
    "log.cleaner.enable",
    "log.dir",
    "log.dir.failure.timeout.ms",
    "log.dirs",
    "log.flush.offset.checkpoint.interval.ms",
    "log.flush.scheduler.interval.ms",
    "log.flush.start.offset.checkpoint.interval.ms",
    "log.retention.check.interval.ms",
    "log.retention.hours",
    "log.retention.minutes",
    "log.roll.hours",
    "log.roll.jitter.hours",
    "max.incremental.fetch.session.cache.slots",
    "max.request.partition.size.limit",
    "metadata.log.dir",
    "metadata.log.max.record.bytes.between.snapshots",
    "metadata.log.max.snapshot.interval.ms",
    "metadata.log.segment.bytes",
    "metadata.log.segment.ms",
    "metadata.max.idle.interval.ms",
    "metadata.max.retention.bytes",
    "metadata.max.retention.ms",
    "metric.reporters",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "node.id",
    "num.partitions",
    "num.replica.alter.log.dirs.threads",
    "offset.metadata.max.bytes",
    "offsets.commit.timeout.ms",
    "offsets.load.buffer.size",
    "offsets.retention.check.interval.ms",
    "offsets.retention.minutes",
    "offsets.topic.compression.codec",
    "offsets.topic.num.partitions",
    "offsets.topic.replication.factor",
    "offsets.topic.segment.bytes",
    "principal.builder.class",
    "process.roles",
    "producer.purgatory.purge.interval.requests",
    "queued.max.request.bytes",
    "queued.max.requests",
    "quota.window.num",
    "quota.window.size.seconds",
    "remote.log.manager.copy.quota.window.num",
    "remote.log.manager.copy.quota.window.size.seconds",
    "remote.log.manager.fetch.quota.window.num",
    "remote.log.manager.fetch.quota.window.size.seconds",
    "remote.log.manager.task.interval.ms",
    "remote.log.manager.thread.pool.size",
    "remote.log.metadata.custom.metadata.max.bytes",
    "remote.log.metadata.manager.class.name",
    "remote.log.metadata.manager.class.path",
    "remote.log.metadata.manager.impl.prefix",
    "remote.log.metadata.manager.listener.name",
    "remote.log.reader.max.pending.tasks",
    "remote.log.storage.manager.class.name",
    "remote.log.storage.manager.class.path",
    "remote.log.storage.manager.impl.prefix",
    "remote.log.storage.system.enable",
    "replica.fetch.backoff.ms",
    "replica.fetch.max.bytes",
    "replica.fetch.min.bytes",
    "replica.fetch.response.max.bytes",
    "replica.fetch.wait.max.ms",
    "replica.high.watermark.checkpoint.interval.ms",
    "replica.lag.time.max.ms",
    "replica.selector.class",
    "replica.socket.receive.buffer.bytes",
    "replica.socket.timeout.ms",
    "replication.quota.window.num",
    "replication.quota.window.size.seconds",
    "request.timeout.ms",
    "sasl.client.callback.handler.class",
    "sasl.enabled.mechanisms",
    "sasl.jaas.config",
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.principal.to.local.rules",
    "sasl.kerberos.service.name",
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
    "sasl.login.refresh.buffer.seconds",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
    "sasl.login.retry.backoff.max.ms",
    "sasl.login.retry.backoff.ms",
    "sasl.mechanism.controller.protocol",
    "sasl.mechanism.inter.broker.protocol",
    "sasl.oauthbearer.allow.unverified.audience",
    "sasl.oauthbearer.allow.unverified.issuer",
    "sasl.oauthbearer.assertion.algorithm",
    "sasl.oauthbearer.assertion.claim.aud",
    "sasl.oauthbearer.assertion.claim.exp.seconds",
    "sasl.oauthbearer.assertion.claim.iss",
    "sasl.oauthbearer.assertion.claim.jti.include",
    "sasl.oauthbearer.assertion.claim.nbf.seconds",
    "sasl.oauthbearer.assertion.claim.sub",
    "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.template.file",
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.clock.skew.seconds",
    "sasl.oauthbearer.expected.audience",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.jwt.retriever.class",
    "sasl.oauthbearer.jwt.validator.class",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.server.callback.handler.class",
    "sasl.server.max.receive.size",
    "security.inter.broker.protocol",
    "security.providers",
    "share.coordinator.append.linger.ms",
    "share.coordinator.load.buffer.size",
    "share.coordinator.snapshot.update.records.per.snapshot",
    "share.coordinator.state.topic.compression.codec",
    "share.coordinator.state.topic.min.isr",
    "share.coordinator.state.topic.num.partitions",
    "share.coordinator.state.topic.replication.factor",
    "share.coordinator.state.topic.segment.bytes",
    "share.coordinator.threads",
    "share.coordinator.write.timeout.ms",
    "share.fetch.purgatory.purge.interval.requests",
    "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
    "socket.listen.backlog.size",
    "socket.receive.buffer.bytes",
    "socket.request.max.bytes",
    "socket.send.buffer.bytes",
    "ssl.allow.dn.changes",
    "ssl.allow.san.changes",
    "ssl.cipher.suites",
    "ssl.client.auth",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.engine.factory.class",
    "ssl.key.password",
    "ssl.keymanager.algorithm",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.principal.mapping.rules",
    "ssl.protocol",
    "ssl.provider",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
    "telemetry.max.bytes",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    "transaction.max.timeout.ms",
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    "transaction.state.log.load.buffer.size",
    "transaction.state.log.min.isr",
    "transaction.state.log.num.partitions",
    "transaction.state.log.replication.factor",
    "transaction.state.log.segment.bytes",
    "transaction.two.phase.commit.enable",
    "transactional.id.expiration.ms",
];

/// Configs of topics that brokers give no default for.
fn is_default_of_topics(definition: &Definition) -> bool {
    !definition.synonym.starts_with("remote.")
        && !definition.name.ends_with(".throttled.replicas")
        && definition.name != "daybook.streams"
}

/// Everything that can be set while the server runs.
pub(crate) fn definitions() -> impl Iterator<Item = Cow<'static, Definition>> {
    let of_topics = topic_config::definitions().iter().filter(|definition| is_default_of_topics(definition));
    let renamed = |definition: &'static Definition| Cow::Owned(Definition { name: definition.synonym, ..*definition });
    let own = OWN.iter().map(|definition| Cow::Owned(Definition { has_effect: false, ..*definition }));
    of_topics.map(renamed).chain(own)
}

pub(crate) fn definition(name: &str) -> Option<Cow<'static, Definition>> {
    if let Some(own) = find(OWN, name) {
        return Some(Cow::Borrowed(own));
    }
    definitions().find(|definition| definition.name == name)
}

/// Whether a broker may be told all of this. A name that Kafka doesn't know is kept, as Kafka does.
pub(crate) fn check(configs: &BTreeMap<String, String>) -> Result<(), Refusal> {
    let invalid = |message: String| Refusal::new(ErrorCode::InvalidRequest, message);
    let is_fixed = |name: &&str| FIXED.contains(name) || name.starts_with("listener.name.");
    let fixed: Vec<&str> = configs.keys().map(String::as_str).filter(is_fixed).collect();
    if !fixed.is_empty() {
        return Err(invalid(format!("Cannot update these configs dynamically: [{}]", fixed.join(", "))));
    }
    for (name, value) in configs {
        if let Some(definition) = definition(name) {
            check_value(&definition, value).map_err(|refusal| invalid(refusal.to_string()))?;
        }
    }
    Ok(())
}

/// The type that a config of this name has; none of one that only its setter knows.
pub(crate) fn kind(name: &str) -> Option<ConfigKind> {
    definition(name).map(|definition| definition.kind)
}
