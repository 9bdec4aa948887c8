//! The event door: the protocols of the event store that the one HTTP port serves, a line each.

use axum::Router;
use daybook_competing::Subscriptions;
use daybook_event_api::http::{self, HttpOptions};
use daybook_event_api::{kurrent, umadb};
use daybook_event_store::EventStore;
use daybook_types::ShardId;
use tokio::sync::watch;

/// Without a fallback, so that others can be merged with it.
pub fn routes(store: &EventStore, subscriptions: Subscriptions, stopping: &watch::Receiver<bool>) -> Router {
    let kurrent_options = kurrent::Options { shutdown: Some(stopping.clone()), ..kurrent::Options::default() };
    let kurrent = kurrent::routes(store.clone(), kurrent_options.clone())
        .add_service(kurrent::persistent::server(subscriptions, kurrent_options));
    let umadb_options = umadb::Options { stopping: Some(stopping.clone()), ..umadb::Options::default() };
    let umadb = umadb::routes(store.clone(), umadb_options);
    Router::new()
        .merge(http::routes(store.clone(), HttpOptions::new(ShardId(0), stopping.clone())))
        .merge(kurrent.into_axum_router().reset_fallback())
        .merge(umadb.into_axum_router().reset_fallback())
}
