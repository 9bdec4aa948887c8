//! gRPC's health checking. A server that answers serves; what a shard can't do, its calls say themselves.

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::sync::watch;
use tonic::server::NamedService;
use tonic::{Request, Response, Status, async_trait};

use super::{Service, until_stopping};
use crate::proto::grpc::health::v1::health_check_response::ServingStatus;
use crate::proto::grpc::health::v1::health_server::Health;
use crate::proto::grpc::health::v1::{HealthCheckRequest, HealthCheckResponse};
use crate::proto::umadb::v1::dcb_server::DcbServer;

pub(super) struct Serving {
    pub(super) stopping: Option<watch::Receiver<bool>>,
}

#[async_trait]
impl Health for Serving {
    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        let service = request.into_inner().service;
        match is_known(&service) {
            true => Ok(Response::new(answer(ServingStatus::Serving))),
            false => Err(Status::not_found(format!("there is no service {service}"))),
        }
    }

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let status = match is_known(&request.into_inner().service) {
            true => ServingStatus::Serving,
            false => ServingStatus::ServiceUnknown,
        };
        // It never changes while there is someone to say it.
        let once = stream::once(async move { Ok(answer(status)) }).chain(stream::pending()).boxed();
        Ok(Response::new(until_stopping(once, self.stopping.clone())))
    }
}

fn is_known(service: &str) -> bool {
    service.is_empty() || service == DcbServer::<Service>::NAME
}

fn answer(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}
