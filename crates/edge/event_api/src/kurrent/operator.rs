//! What an operator asks of a KurrentDB node. It is asked elsewhere here, and each answer says where.

use futures::stream::BoxStream;
use tonic::{Request, Response, Status, async_trait};

use crate::proto::event_store::client::Empty;
use crate::proto::event_store::client::monitoring::monitoring_server::Monitoring as MonitoringService;
use crate::proto::event_store::client::monitoring::{StatsReq, StatsResp};
use crate::proto::event_store::client::operations::operations_server::Operations as OperationsService;
use crate::proto::event_store::client::operations::{
    ScavengeResp, SetNodePriorityReq, StartScavengeReq, StopScavengeReq,
};

pub(super) struct Monitoring;

pub(super) struct Operations;

#[async_trait]
impl MonitoringService for Monitoring {
    type StatsStream = BoxStream<'static, Result<StatsResp, Status>>;

    async fn stats(&self, _: Request<StatsReq>) -> Result<Response<Self::StatsStream>, Status> {
        Err(Status::unimplemented("figures are not served here; read them from /metrics"))
    }
}

#[async_trait]
impl OperationsService for Operations {
    async fn start_scavenge(&self, _: Request<StartScavengeReq>) -> Result<Response<ScavengeResp>, Status> {
        Err(Status::unimplemented("space of deleted events comes back by itself; there is nothing to start"))
    }

    async fn stop_scavenge(&self, _: Request<StopScavengeReq>) -> Result<Response<ScavengeResp>, Status> {
        Err(Status::unimplemented("space of deleted events comes back by itself; there is nothing to stop"))
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
