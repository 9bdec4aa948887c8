//! What clients ask before they do anything.

use daybook_event_api::kurrent::{Endpoint, Options, routes};
use daybook_event_api::proto::event_store::client::Empty;
use daybook_event_api::proto::event_store::client::gossip::gossip_client::GossipClient;
use daybook_event_api::proto::event_store::client::gossip::member_info::VNodeState;
use daybook_event_api::proto::event_store::client::operations::operations_client::OperationsClient;
use daybook_event_api::proto::event_store::client::operations::scavenge_resp::ScavengeResult;
use daybook_event_api::proto::event_store::client::operations::{StartScavengeReq, StopScavengeReq, stop_scavenge_req};
use daybook_event_api::proto::event_store::client::server_features::server_features_client::ServerFeaturesClient;
use daybook_event_store::ScavengeState;
use tonic::Code;
use tonic::codegen::http::Uri;

use crate::harness::Node;

#[tokio::test(flavor = "multi_thread")]
async fn gossip_names_one_leader_at_the_address_that_was_asked() {
    let node = Node::start().await;
    let origin = Uri::from_static("http://db.example:7001");
    let mut gossip = GossipClient::with_origin(routes(node.store.clone(), Options::default()), origin.clone());
    let cluster = gossip.read(Empty {}).await.unwrap().into_inner();
    assert_eq!(cluster.members.len(), 1);
    let member = &cluster.members[0];
    assert!(member.is_alive && member.state() == VNodeState::Leader);
    let endpoint = member.http_end_point.as_ref().unwrap();
    assert_eq!((endpoint.address.as_str(), endpoint.port), ("db.example", 7001));

    let advertised = Some(Endpoint { host: "10.0.0.7".to_owned(), port: 2113 });
    let options = Options { advertised, ..Options::default() };
    let mut gossip = GossipClient::with_origin(routes(node.store.clone(), options), origin);
    let cluster = gossip.read(Empty {}).await.unwrap().into_inner();
    assert_eq!(cluster.members[0].http_end_point.as_ref().unwrap().address, "10.0.0.7");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_calls_that_are_served_are_named() {
    let node = Node::start().await;
    let mut features = ServerFeaturesClient::new(routes(node.store.clone(), Options::default()));
    let methods = features.get_supported_methods(Empty {}).await.unwrap().into_inner();
    let has = |service: &str, method: &str, feature: Option<&str>| {
        methods.methods.iter().any(|one| {
            one.service_name == service
                && one.method_name == method
                && feature.is_none_or(|feature| one.features.iter().any(|one| one == feature))
        })
    };
    assert!(has("event_store.client.streams.streams", "batchappend", Some("deadline_duration")));
    assert!(has("kurrentdb.protocol.v2.streams.streamsservice", "appendsession", None));
    assert!(has("kurrentdb.protocol.v2.streams.streamsservice", "appendrecords", None));
    assert_eq!(methods.event_store_server_version.split('.').count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_served_says_so() {
    let node = Node::start().await;
    let mut operations = OperationsClient::new(routes(node.store.clone(), Options::default()));
    let refused = operations.merge_indexes(Empty {}).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unimplemented);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scavenge_is_begun_and_ended() {
    let node = Node::start().await;
    let mut operations = OperationsClient::new(routes(node.store.clone(), Options::default()));
    let stop = |id: &str| StopScavengeReq { options: Some(stop_scavenge_req::Options { scavenge_id: id.to_owned() }) };
    let refused = operations.stop_scavenge(stop("1")).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    assert_eq!(refused.metadata().get("exception").unwrap(), "scavenge-not-found");
    let begun = operations.start_scavenge(StartScavengeReq { options: None }).await.unwrap().into_inner();
    assert_eq!(begun.scavenge_result(), ScavengeResult::Started);
    let report = node.store.scavenged().await.unwrap();
    assert_eq!((report.id, report.state), (begun.scavenge_id, ScavengeState::Finished));
}
