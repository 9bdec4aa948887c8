//! The service `event_store.client.persistent_subscriptions.PersistentSubscriptions`, over `daybook_competing`.

use daybook_competing::{Source, SubscriptionName, Subscriptions};
use futures::stream::BoxStream;
use tonic::{Request, Response, Status, Streaming, async_trait};

use super::options::Options;
use crate::proto::event_store::client::Empty;
use crate::proto::event_store::client::persistent_subscriptions as messages;
use crate::proto::event_store::client::persistent_subscriptions::persistent_subscriptions_server::{
    PersistentSubscriptions, PersistentSubscriptionsServer,
};
use messages::{
    CreateReq, CreateResp, DeleteReq, DeleteResp, GetInfoReq, GetInfoResp, ListReq, ListResp, ReadReq, ReadResp,
    ReplayParkedReq, ReplayParkedResp, TruncateParkedReq, TruncateParkedResp, UpdateReq, UpdateResp,
};

mod info;
mod name;
mod read;
mod refusal;
mod settings;
#[cfg(test)]
mod tests;

/// The service, to be mounted beside the others.
pub fn server(subscriptions: Subscriptions, options: Options) -> PersistentSubscriptionsServer<Service> {
    PersistentSubscriptionsServer::new(Service { subscriptions, options })
}

pub struct Service {
    subscriptions: Subscriptions,
    options: Options,
}

#[async_trait]
impl PersistentSubscriptions for Service {
    type ReadStream = BoxStream<'static, Result<ReadResp, Status>>;

    async fn create(&self, request: Request<CreateReq>) -> Result<Response<CreateResp>, Status> {
        let definition = settings::to_create(request.into_inner())?;
        let name = definition.name();
        self.subscriptions.create(definition).await.map_err(|error| refusal::of_manage(&error, &name))?;
        Ok(Response::new(CreateResp {}))
    }

    async fn update(&self, request: Request<UpdateReq>) -> Result<Response<UpdateResp>, Status> {
        let definition = settings::to_update(request.into_inner())?;
        let name = definition.name();
        self.subscriptions.update(definition).await.map_err(|error| refusal::of_manage(&error, &name))?;
        Ok(Response::new(UpdateResp {}))
    }

    async fn delete(&self, request: Request<DeleteReq>) -> Result<Response<DeleteResp>, Status> {
        let name = name::to_delete(request.into_inner())?;
        self.subscriptions.delete(&name).await.map_err(|error| refusal::of_manage(&error, &name))?;
        Ok(Response::new(DeleteResp {}))
    }

    async fn read(&self, request: Request<Streaming<ReadReq>>) -> Result<Response<Self::ReadStream>, Status> {
        read::read(&self.subscriptions, &self.options, request).await.map(Response::new)
    }

    async fn get_info(&self, request: Request<GetInfoReq>) -> Result<Response<GetInfoResp>, Status> {
        let name = name::to_get_info(request.into_inner())?;
        let info = self.subscriptions.info(&name).await.map_err(|error| refusal::of_manage(&error, &name))?;
        Ok(Response::new(GetInfoResp { subscription_info: Some(info::message(info)) }))
    }

    async fn list(&self, request: Request<ListReq>) -> Result<Response<ListResp>, Status> {
        let source = name::to_list(request.into_inner())?;
        let name = SubscriptionName::new(source.as_deref().unwrap_or_default(), "");
        let infos = self.subscriptions.list(source.as_deref()).await;
        let infos = infos.map_err(|error| refusal::of_manage(&error, &name))?;
        if infos.is_empty() && source.is_some() {
            return Err(refusal::unknown(&name));
        }
        Ok(Response::new(ListResp { subscriptions: infos.into_iter().map(info::message).collect() }))
    }

    async fn replay_parked(&self, request: Request<ReplayParkedReq>) -> Result<Response<ReplayParkedResp>, Status> {
        let (name, limit) = name::to_replay(request.into_inner())?;
        let replayed = self.subscriptions.replay_parked(&name, limit).await;
        replayed.map_err(|error| refusal::of_manage(&error, &name))?;
        Ok(Response::new(ReplayParkedResp {}))
    }

    async fn truncate_parked(
        &self,
        request: Request<TruncateParkedReq>,
    ) -> Result<Response<TruncateParkedResp>, Status> {
        let (name, limit) = name::to_truncate(request.into_inner())?;
        let truncated = self.subscriptions.truncate_parked(&name, limit).await;
        truncated.map_err(|error| refusal::of_manage(&error, &name))?;
        Ok(Response::new(TruncateParkedResp {}))
    }

    async fn restart_subsystem(&self, _request: Request<Empty>) -> Result<Response<Empty>, Status> {
        let name = SubscriptionName::new("", "");
        self.subscriptions.restart().await.map_err(|error| refusal::of_manage(&error, &name))?;
        Ok(Response::new(Empty {}))
    }
}

/// Whether the group's numbers are positions of `$all`, which clients know in a form of their own.
fn counts_in_all(source: &Source) -> bool {
    matches!(source, Source::All(_))
}
