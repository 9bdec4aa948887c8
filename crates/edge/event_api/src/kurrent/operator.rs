//! What an operator asks of a KurrentDB node. Scavenges are done; all else is asked elsewhere here, and each answer says where.

use daybook_event_store::{EventStore, ScavengeState, StartScavengeError};
use futures::stream::BoxStream;
use tonic::{Request, Response, Status, async_trait};

use super::error_code::scavenge_not_found;
use crate::proto::event_store::client::Empty;
use crate::proto::event_store::client::monitoring::monitoring_server::Monitoring as MonitoringService;
use crate::proto::event_store::client::monitoring::{StatsReq, StatsResp};
use crate::proto::event_store::client::operations::operations_server::Operations as OperationsService;
use crate::proto::event_store::client::operations::{
    ScavengeResp, SetNodePriorityReq, StartScavengeReq, StopScavengeReq, scavenge_resp::ScavengeResult,
};

pub(super) struct Monitoring;

pub(super) struct Operations(pub(super) EventStore);

#[async_trait]
impl MonitoringService for Monitoring {
    type StatsStream = BoxStream<'static, Result<StatsResp, Status>>;

    async fn stats(&self, _: Request<StatsReq>) -> Result<Response<Self::StatsStream>, Status> {
        Err(Status::unimplemented("figures are not served here; read them from /metrics"))
    }
}

#[async_trait]
impl OperationsService for Operations {
    /// Threads and the chunk to start from are for another way of storing events, and are not looked at.
    async fn start_scavenge(&self, _: Request<StartScavengeReq>) -> Result<Response<ScavengeResp>, Status> {
        match self.0.start_scavenge() {
            Ok(report) => Ok(scavenge(report.id, ScavengeResult::Started)),
            Err(StartScavengeError::Running { id }) => Ok(scavenge(id, ScavengeResult::InProgress)),
            Err(error @ StartScavengeError::Thread { .. }) => Err(Status::unavailable(error.to_string())),
        }
    }

    async fn stop_scavenge(&self, request: Request<StopScavengeReq>) -> Result<Response<ScavengeResp>, Status> {
        let wanted = request.into_inner().options.map(|options| options.scavenge_id).unwrap_or_default();
        let running = self.0.scavenge_report().filter(|report| report.state == ScavengeState::Running);
        if running.is_none_or(|report| report.id != wanted) {
            return Err(scavenge_not_found(&wanted));
        }
        self.0.stop_scavenge().await;
        Ok(scavenge(wanted, ScavengeResult::Stopped))
    }

    async fn shutdown(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        Err(Status::unimplemented("a node is stopped by a signal to its process"))
    }

    async fn merge_indexes(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        Err(Status::unimplemented("the index merges its files by itself"))
    }

    async fn resign_node(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        Err(Status::unimplemented("this node is alone and can't resign"))
    }

    async fn set_node_priority(&self, _: Request<SetNodePriorityReq>) -> Result<Response<Empty>, Status> {
        Err(Status::unimplemented("this node is alone; nodes have no priorities"))
    }

    async fn restart_persistent_subscriptions(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        Err(Status::unimplemented("ask the service of persistent subscriptions: RestartSubsystem"))
    }
}

fn scavenge(scavenge_id: String, result: ScavengeResult) -> Response<ScavengeResp> {
    Response::new(ScavengeResp { scavenge_id, scavenge_result: result.into() })
}
