//! UmaDB's DCB protocol: append unless events match a query, read by the same query.
//!
//! Events that come this way belong to no stream; reads see every event of the store, whoever wrote it. Positions are counted from 1 here.

mod append;
mod error_code;
mod event;
mod health;
mod read;
mod subscribe;
mod tracking;

use daybook_event_store::EventStore;
use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::watch;
use tonic::service::Routes;
use tonic::{Request, Response, Status, async_trait};

use crate::proto::grpc::health::v1::health_server::HealthServer;
use crate::proto::umadb::v1;
use crate::proto::umadb::v1::dcb_server::{Dcb, DcbServer};

#[derive(Clone, Debug)]
pub struct Options {
    /// Events of a message, if the client asks for no number or for more.
    pub message_events_max: usize,
    /// Bytes of a message. Clients refuse what is larger than 4 MiB; a single event may be as large as it is.
    pub message_bytes_max: usize,
    /// Turns true when calls that go on have to end; without it they end with their connections.
    pub stopping: Option<watch::Receiver<bool>>,
}

impl Default for Options {
    fn default() -> Self {
        Self { message_events_max: 1024, message_bytes_max: 3_500_000, stopping: None }
    }
}

/// The service, to be mounted beside others on one port.
pub fn routes(store: EventStore, options: Options) -> Routes {
    let health = HealthServer::new(health::Serving { stopping: options.stopping.clone() });
    Routes::new(DcbServer::new(Service { store, options })).add_service(health)
}

/// The stream, until the server stops.
fn until_stopping<T: Send + 'static>(
    stream: BoxStream<'static, T>,
    stopping: Option<watch::Receiver<bool>>,
) -> BoxStream<'static, T> {
    let stopped = async move {
        match stopping {
            // An error means that the server is gone.
            Some(mut stopping) => drop(stopping.wait_for(|stopping| *stopping).await),
            None => std::future::pending().await,
        }
    };
    stream.take_until(Box::pin(stopped)).boxed()
}

struct Service {
    store: EventStore,
    options: Options,
}

impl Service {
    /// The number of events that a message may hold, of a client's wish.
    fn message_events(&self, wanted: Option<u32>) -> usize {
        let wanted = wanted.map_or(usize::MAX, |wanted| usize::try_from(wanted).unwrap_or(usize::MAX));
        wanted.clamp(1, self.options.message_events_max.max(1))
    }
}

#[async_trait]
impl Dcb for Service {
    type ReadStream = BoxStream<'static, Result<v1::ReadResponse, Status>>;
    type SubscribeStream = BoxStream<'static, Result<v1::SubscribeResponse, Status>>;

    async fn read(&self, request: Request<v1::ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let request = request.into_inner();
        let events_max = self.message_events(request.batch_size);
        let answers = read::answers(self.store.clone(), request, events_max, self.options.message_bytes_max)?;
        Ok(Response::new(until_stopping(answers, self.options.stopping.clone())))
    }

    async fn subscribe(
        &self,
        request: Request<v1::SubscribeRequest>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let request = request.into_inner();
        let events_max = self.message_events(request.batch_size);
        let answers = subscribe::answers(&self.store, request, events_max, self.options.message_bytes_max);
        Ok(Response::new(until_stopping(answers, self.options.stopping.clone())))
    }

    async fn append(&self, request: Request<v1::AppendRequest>) -> Result<Response<v1::AppendResponse>, Status> {
        let position = append::append(&self.store, request.into_inner()).await?;
        Ok(Response::new(v1::AppendResponse { position }))
    }

    async fn head(&self, _: Request<v1::HeadRequest>) -> Result<Response<v1::HeadResponse>, Status> {
        Ok(Response::new(v1::HeadResponse { position: event::head(self.store.end()) }))
    }

    async fn get_tracking_info(
        &self,
        request: Request<v1::TrackingRequest>,
    ) -> Result<Response<v1::TrackingResponse>, Status> {
        let last = tracking::last(&self.store, &tracking::stream(&request.into_inner().source)?).await?;
        Ok(Response::new(v1::TrackingResponse { position: last.and_then(|last| last.position) }))
    }
}

#[cfg(test)]
mod tests;
