//! Which calls are served: clients choose theirs by it.

use tonic::{Request, Response, Status, async_trait};

use crate::proto::event_store::client::Empty;
use crate::proto::event_store::client::server_features::server_features_server::ServerFeatures;
use crate::proto::event_store::client::server_features::{SupportedMethod, SupportedMethods};

/// The release of KurrentDB whose protocol this is; some clients go by it, not by the methods.
const VERSION: &str = "26.1.0";

const STREAMS: &str = "event_store.client.streams.streams";
const PERSISTENT: &str = "event_store.client.persistent_subscriptions.persistentsubscriptions";
const STREAMS_V2: &str = "kurrentdb.protocol.v2.streams.streamsservice";
const ALL_KINDS: &[&str] = &["stream", "all"];

/// Service, method, features; all in lower case.
const METHODS: &[(&str, &str, &[&str])] = &[
    (STREAMS, "read", &["position", "events"]),
    (STREAMS, "append", &[]),
    (STREAMS, "delete", &[]),
    (STREAMS, "tombstone", &[]),
    (STREAMS, "batchappend", &["deadline_duration"]),
    (STREAMS_V2, "appendsession", &[]),
    (STREAMS_V2, "appendrecords", &[]),
    (PERSISTENT, "create", ALL_KINDS),
    (PERSISTENT, "update", ALL_KINDS),
    (PERSISTENT, "delete", ALL_KINDS),
    (PERSISTENT, "read", ALL_KINDS),
    (PERSISTENT, "getinfo", ALL_KINDS),
    (PERSISTENT, "replayparked", ALL_KINDS),
    (PERSISTENT, "list", ALL_KINDS),
    (PERSISTENT, "restartsubsystem", ALL_KINDS),
    ("event_store.client.gossip.gossip", "read", &[]),
    ("event_store.client.server_features.serverfeatures", "getsupportedmethods", &[]),
];

pub(super) struct Service;

#[async_trait]
impl ServerFeatures for Service {
    async fn get_supported_methods(&self, _: Request<Empty>) -> Result<Response<SupportedMethods>, Status> {
        let methods = METHODS
            .iter()
            .map(|&(service, method, features)| SupportedMethod {
                method_name: method.to_owned(),
                service_name: service.to_owned(),
                features: features.iter().map(|&feature| feature.to_owned()).collect(),
            })
            .collect();
        Ok(Response::new(SupportedMethods { methods, event_store_server_version: VERSION.to_owned() }))
    }
}
