//! What every command that talks to a server shares.

use std::future::Future;

use anyhow::Context;
use daybook_kafka_client::{Cluster, ClusterOptions};

/// The global flags.
#[derive(Debug)]
pub struct Session {
    pub bootstrap: String,
    pub is_json: bool,
}

impl Session {
    pub async fn connect(&self) -> anyhow::Result<Cluster> {
        Ok(Cluster::connect(&self.bootstrap, ClusterOptions::default()).await?)
    }

    /// For long work, which outlasts a server's restart as Kafka's own producer does (`delivery.timeout.ms`).
    pub async fn connect_patiently(&self) -> anyhow::Result<Cluster> {
        let options = ClusterOptions { retry_timeout_ms: 120_000, ..ClusterOptions::default() };
        Ok(Cluster::connect(&self.bootstrap, options).await?)
    }
}

/// Runs a command on this thread: they wait for servers, so a second thread would do nothing for them.
pub fn block_on<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the runtime")?;
    let result = runtime.block_on(command);
    // A thread that waits for standard input can't be told to stop, and is not worth waiting for.
    runtime.shutdown_background();
    result
}
