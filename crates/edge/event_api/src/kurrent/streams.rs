//! The service `event_store.client.streams.Streams`.

use daybook_event_store::EventStore;
use futures::stream::BoxStream;
use tonic::{Request, Response, Status, Streaming, async_trait};

use super::options::Options;
use super::{append, batch_append, delete, read};
use crate::proto::event_store::client::streams::streams_server::Streams;
use crate::proto::event_store::client::streams::{
    AppendReq, AppendResp, BatchAppendReq, BatchAppendResp, DeleteReq, DeleteResp, ReadReq, ReadResp, TombstoneReq,
    TombstoneResp,
};

pub(super) struct Service {
    store: EventStore,
    options: Options,
}

impl Service {
    pub(super) fn new(store: EventStore, options: Options) -> Self {
        Self { store, options }
    }
}

#[async_trait]
impl Streams for Service {
    type ReadStream = BoxStream<'static, Result<ReadResp, Status>>;
    type BatchAppendStream = BoxStream<'static, Result<BatchAppendResp, Status>>;

    async fn read(&self, request: Request<ReadReq>) -> Result<Response<Self::ReadStream>, Status> {
        read::read(&self.store, &self.options, request.into_inner()).map(Response::new)
    }

    async fn append(&self, request: Request<Streaming<AppendReq>>) -> Result<Response<AppendResp>, Status> {
        append::append(&self.store, &self.options, request.into_inner()).await.map(Response::new)
    }

    async fn delete(&self, request: Request<DeleteReq>) -> Result<Response<DeleteResp>, Status> {
        delete::delete(&self.store, request.into_inner()).await.map(Response::new)
    }

    async fn tombstone(&self, request: Request<TombstoneReq>) -> Result<Response<TombstoneResp>, Status> {
        delete::tombstone(&self.store, request.into_inner()).await.map(Response::new)
    }

    async fn batch_append(
        &self,
        request: Request<Streaming<BatchAppendReq>>,
    ) -> Result<Response<Self::BatchAppendStream>, Status> {
        Ok(Response::new(batch_append::answers(self.store.clone(), self.options.clone(), request.into_inner())))
    }
}
