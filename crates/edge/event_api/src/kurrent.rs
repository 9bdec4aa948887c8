//! KurrentDB's gRPC protocol: streams, batch append, the second protocol's multi-stream append, gossip and server features.
//!
//! Where the protocol counts a commit and a prepare position, both are the store's position. A category and a type can be read as
//! the streams `$ce-<category>` and `$et-<type>`, which exist in reads only: see [`links`].
//! Persistent subscriptions stand in a service of their own.

mod answers;
mod append;
mod batch_append;
mod delete;
mod error_code;
mod event;
mod expected;
mod filter;
mod follow;
mod gossip;
mod ids;
mod links;
mod operator;
mod options;
pub mod persistent;
mod proposed;
mod read;
mod read_all;
mod read_stream;
mod rich_error;
mod server_features;
mod streams;
mod streams_v2;
#[cfg(test)]
mod tests;
mod transaction;
mod v2_error;
mod v2_record;

use daybook_event_store::EventStore;
use tonic::service::Routes;

pub use options::{Endpoint, Options, STREAMS_PER_CONNECTION_MAX};

use crate::proto::event_store::client::gossip::gossip_server::GossipServer;
use crate::proto::event_store::client::monitoring::monitoring_server::MonitoringServer;
use crate::proto::event_store::client::operations::operations_server::OperationsServer;
use crate::proto::event_store::client::server_features::server_features_server::ServerFeaturesServer;
use crate::proto::event_store::client::streams::streams_server::StreamsServer;
use crate::proto::kurrentdb::protocol::v2::streams::streams_service_server::StreamsServiceServer;

/// The services, to be mounted beside others on one port.
pub fn routes(store: EventStore, options: Options) -> Routes {
    let message_bytes_max = options.message_bytes_max();
    let streams = StreamsServer::new(streams::Service::new(store.clone(), options.clone()))
        .max_decoding_message_size(message_bytes_max);
    let streams_v2 = StreamsServiceServer::new(streams_v2::Service::new(store.clone(), options.clone()))
        .max_decoding_message_size(message_bytes_max);
    let gossip = gossip::WithAuthority(GossipServer::new(gossip::Service::new(&options)));
    Routes::new(streams)
        .add_service(streams_v2)
        .add_service(gossip)
        .add_service(ServerFeaturesServer::new(server_features::Service))
        .add_service(MonitoringServer::new(operator::Monitoring))
        .add_service(OperationsServer::new(operator::Operations(store)))
}
