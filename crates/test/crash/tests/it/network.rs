//! Connections that end when the server does.

use daybook_kafka_client::{ClientError, Cluster, ClusterOptions, KafkaCode, Wire, WireError, WireOptions};
use daybook_types::FaultKind;

/// Why a client stopped.
#[derive(Debug)]
pub enum Stop {
    /// The server is gone, or about to go.
    Gone,
    /// What must not be.
    Fault(String),
}

impl From<WireError> for Stop {
    fn from(error: WireError) -> Self {
        match error.kind() {
            FaultKind::RetryLater if !matches!(error, WireError::AnswerTimeout { .. }) => Self::Gone,
            _ => Self::Fault(error.to_string()),
        }
    }
}

impl From<ClientError> for Stop {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Wire(error) | ClientError::NoBroker { last: error, .. } => error.into(),
            // What a server that is stopping may say.
            error if error.code().is_some_and(KafkaCode::is_retriable) => Self::Gone,
            error => Self::Fault(error.to_string()),
        }
    }
}

pub async fn connect(address: &str) -> Result<Wire, Stop> {
    Ok(Wire::connect(address, WireOptions::default()).await?)
}

/// For those who work until the server is gone: nothing is tried twice.
pub async fn impatient_cluster(address: &str) -> Result<Cluster, Stop> {
    let options = ClusterOptions { retry_timeout_ms: 0, ..ClusterOptions::default() };
    Ok(Cluster::connect(address, options).await?)
}

/// For what is asked between kills, when nothing may fail.
pub async fn cluster(address: &str) -> Result<Cluster, String> {
    Cluster::connect(address, ClusterOptions::default()).await.map_err(|error| error.to_string())
}
