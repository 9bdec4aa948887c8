//! UmaDB's DCB protocol: append unless events match a query, read by the same query.
//!
//! Events that come this way belong to no stream; reads see every event of the store, whoever wrote it. Positions are counted from 1 here.

mod append;
mod error_code;
mod event;
mod read;
mod subscribe;
mod tracking;

use daybook_event_store::EventStore;
use futures::stream::BoxStream;
use tonic::service::Routes;
use tonic::{Request, Response, Status, async_trait};

use crate::proto::umadb::v1;
use crate::proto::umadb::v1::dcb_server::{Dcb, DcbServer};

/// Limits of what one answer may hold.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Events of a message, if the client asks for no number or for more.
    pub message_events_max: usize,
    /// Bytes of a message. Clients refuse what is larger than 4 MiB; a single event may be as large as it is.
    pub message_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { message_events_max: 1024, message_bytes_max: 3_500_000 }
    }
}

/// The service, to be mounted beside others on one port.
pub fn routes(store: EventStore, options: Options) -> Routes {
    Routes::new(DcbServer::new(Service { store, options }))
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
        Ok(Response::new(answers))
    }

    async fn subscribe(
        &self,
        request: Request<v1::SubscribeRequest>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let request = request.into_inner();
        let events_max = self.message_events(request.batch_size);
        Ok(Response::new(subscribe::answers(&self.store, request, events_max, self.options.message_bytes_max)))
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
