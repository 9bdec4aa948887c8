//! Start and stop.

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use daybook::{DataDir, Daybook, SyncPolicy};
use daybook_admin_api::{HttpPort, OperatorOptions, PortOptions, ShardView};
use daybook_cleaner::Cleaner;
use daybook_competing::Subscriptions;
use daybook_group_coordinator::{Coordinator, MigrationPolicy};
use daybook_settings::{Address, GroupMigration, Settings, WalSync};
use daybook_world::RealClock;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::event_door;

/// How often histograms are folded together; without it they grow until someone asks for `/metrics`.
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// A node at work.
pub struct Node {
    pub kafka: SocketAddr,
    pub http: SocketAddr,
    coordinator: Coordinator,
    subscriptions: Subscriptions,
    cleaner: Cleaner,
    engine: Daybook,
    doors: Vec<JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

impl Node {
    /// Opens the data directory and starts everything. When this returns, every listener accepts.
    pub async fn start(settings: &Settings) -> anyhow::Result<Self> {
        let metrics = install_metrics()?;
        let engine = Daybook::open_with(&settings.data, engine_options(settings)).await?;
        let store = engine.store();

        let (stop, stopped) = watch::channel(false);
        let topics = store.reader().clone();
        let coordinator = Coordinator::start(coordinator_settings(settings), Arc::new(move || topics.catalog()));
        let kafka = daybook_kafka_api::Server::bind(
            resolve(&settings.kafka.listen)?,
            kafka_options(settings, engine.directory()),
            store.door().clone(),
            store.reader().clone(),
            coordinator.clone(),
        )
        .await
        .with_context(|| format!("can't listen for Kafka clients on {}", settings.kafka.listen))?;
        let http = HttpPort::bind(resolve(&settings.http.listen)?, PortOptions::default())
            .await
            .with_context(|| format!("can't listen for HTTP on {}", settings.http.listen))?;
        let shard_view = ShardView { status: engine.status(), wal_sync: wal_sync_name(settings.wal.sync) };
        let operator = OperatorOptions { shards: vec![shard_view], metrics: metrics.clone() };
        let subscriptions = Subscriptions::start(store.clone());
        let routes =
            daybook_admin_api::routes(operator).merge(event_door::routes(store, subscriptions.clone(), &stopped));

        let cleaner = Cleaner::start(
            store.door().clone(),
            store.reader().clone(),
            Arc::new(RealClock),
            cleaner_options(settings),
        )?;
        let (kafka_addr, http_addr) = (kafka.local_addr(), http.local_addr());
        let until_stopped = |mut stopped: watch::Receiver<bool>| async move {
            // An error means that the node is gone, which stops its doors too.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        let doors = vec![
            tokio::spawn(kafka.run(until_stopped(stopped.clone()))),
            tokio::spawn(http.run(routes, until_stopped(stopped.clone()))),
            tokio::spawn(keep_up_metrics(metrics, stopped)),
        ];
        Ok(Self { kafka: kafka_addr, http: http_addr, coordinator, subscriptions, cleaner, engine, doors, stop })
    }

    /// Closes the doors, serves what was accepted, writes a last checkpoint.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        // Members that wait for their group would hold up the doors.
        self.coordinator.close();
        for door in self.doors {
            if let Err(error) = door.await {
                tracing::error!(%error, "a door's task failed");
            }
        }
        // How far each has come is kept while the log still takes it.
        self.subscriptions.close().await;
        self.cleaner.stop().await;
        self.engine.close().await;
    }
}

/// `daybook serve`: runs until SIGTERM or SIGINT.
pub fn serve(settings: &Settings) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("door").build()?;
    runtime.block_on(async {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let node = tokio::select! {
            node = Node::start(settings) => node?,
            // What recovery had not finished, the next start begins again.
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
        };
        announce(&node, settings)?;
        let signal = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        tracing::info!(signal, "stopping");
        node.stop().await;
        tracing::info!("stopped");
        Ok(())
    })
}

/// The one line on standard output: scripts wait for it.
fn announce(node: &Node, settings: &Settings) -> anyhow::Result<()> {
    let status = node.engine.status().borrow().clone();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        wal_sync = ?settings.wal.sync,
        term = status.term.0,
        checkpoint_lsn = status.checkpoint.0,
        "serving"
    );
    let mut out = std::io::stdout().lock();
    writeln!(out, "daybook ready kafka={} http={} data={}", node.kafka, node.http, settings.data.display())
        .and_then(|()| out.flush())
        .context("can't write the ready line to standard output")
}

fn install_metrics() -> anyhow::Result<PrometheusHandle> {
    const BUCKETS_SECONDS: &[f64] =
        &[0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
    let recorder = PrometheusBuilder::new().set_buckets(BUCKETS_SECONDS)?.build_recorder();
    let handle = recorder.handle();
    // A second node in one process (tests do that) shares the first one's recorder, and reports nothing of its own.
    let _ = metrics::set_global_recorder(recorder);
    Ok(handle)
}

async fn keep_up_metrics(metrics: PrometheusHandle, mut stopped: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => return,
            () = tokio::time::sleep(METRICS_UPKEEP) => metrics.run_upkeep(),
        }
    }
}

fn resolve(address: &Address) -> anyhow::Result<SocketAddr> {
    address
        .to_string()
        .to_socket_addrs()
        .ok()
        .and_then(|mut found| found.next())
        .with_context(|| format!("{address} is no address of this machine; give HOST:PORT"))
}

fn wal_sync_name(sync: WalSync) -> &'static str {
    match sync {
        WalSync::Always => "always",
        WalSync::Os => "os",
    }
}

fn engine_options(settings: &Settings) -> daybook::Options {
    daybook::Options {
        node_id: settings.node.id,
        sync: match settings.wal.sync {
            WalSync::Always => SyncPolicy::Always,
            WalSync::Os => SyncPolicy::Os,
        },
        wal_segment_bytes: settings.wal.segment_bytes.0,
        in_flight_bytes_max: settings.shard.in_flight_bytes_max.0 as usize,
        checkpoint_wal_bytes: settings.checkpoint.wal_bytes.0,
        checkpoint_interval: Duration::from_millis(settings.checkpoint.interval_ms),
        default_partitions: settings.kafka.default_partitions,
    }
}

fn cleaner_options(settings: &Settings) -> daybook_cleaner::Options {
    let cleaner = &settings.cleaner;
    daybook_cleaner::Options {
        retention_interval: Duration::from_millis(cleaner.retention_interval_ms),
        compaction_interval: Duration::from_millis(cleaner.compaction_interval_ms),
        bytes_per_second_max: cleaner.bytes_per_second_max.0,
        key_map_bytes_max: cleaner.key_map_bytes_max.0,
    }
}

fn coordinator_settings(settings: &Settings) -> daybook_group_coordinator::Settings {
    daybook_group_coordinator::Settings {
        initial_rebalance_delay_ms: settings.group.initial_rebalance_delay_ms.into(),
        session_timeout_min_ms: settings.group.session_timeout_min_ms as i32,
        session_timeout_max_ms: settings.group.session_timeout_max_ms as i32,
        consumer: consumer_settings(settings),
        ..daybook_group_coordinator::Settings::default()
    }
}

fn consumer_settings(settings: &Settings) -> daybook_group_coordinator::ConsumerSettings {
    let group = &settings.group;
    daybook_group_coordinator::ConsumerSettings {
        session_timeout_ms: group.consumer_session_timeout_ms.into(),
        heartbeat_interval_ms: group.consumer_heartbeat_interval_ms.into(),
        rebalance_heartbeat_interval_ms: group.consumer_rebalance_heartbeat_interval_ms.into(),
        assignment_interval_ms: group.consumer_assignment_interval_ms.into(),
        group_size_max: group.consumer_size_max as usize,
        migration_policy: match group.consumer_migration_policy {
            GroupMigration::Disabled => MigrationPolicy::Disabled,
            GroupMigration::Upgrade => MigrationPolicy::Upgrade,
            GroupMigration::Downgrade => MigrationPolicy::Downgrade,
            GroupMigration::Bidirectional => MigrationPolicy::Bidirectional,
        },
    }
}

fn kafka_options(settings: &Settings, data: &DataDir) -> daybook_kafka_api::Options {
    let kafka = &settings.kafka;
    let advertised = kafka.advertised.as_ref().unwrap_or(&kafka.listen);
    daybook_kafka_api::Options {
        advertised_host: advertised.host.clone(),
        advertised_port: (advertised.port != 0).then_some(advertised.port),
        node_id: data.node_id as i32,
        cluster_id: data.cluster_id.clone(),
        log_dir: std::path::absolute(&settings.data).unwrap_or_else(|_| settings.data.clone()).display().to_string(),
        auto_create_topics: kafka.auto_create_topics,
        default_partitions: kafka.default_partitions as i32,
        connections_max: kafka.connections_max as usize,
        request_bytes_max: kafka.request_bytes_max.0 as usize,
        connection_in_flight_bytes_max: kafka.in_flight_bytes_max.0 as usize,
        idle_timeout: Duration::from_millis(kafka.idle_timeout_ms),
        transaction_timeout_max_ms: settings.transaction.timeout_max_ms as i32,
        transactional_id_expiration_ms: settings.transaction.id_expiration_ms as i64,
        ..daybook_kafka_api::Options::default()
    }
}
