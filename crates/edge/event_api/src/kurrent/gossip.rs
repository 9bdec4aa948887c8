//! Gossip: who belongs to the cluster. Clients that discover it ask here, and then connect to the address they are told.

use std::task::{Context, Poll};

use std::time::{SystemTime, UNIX_EPOCH};

use tonic::codegen::{Service as Tower, http};
use tonic::server::NamedService;
use tonic::{Request, Response, Status, async_trait};
use uuid::Uuid;

use super::ids::{self, IdForm};
use super::options::{Endpoint, Options};
use crate::proto::event_store::client::Empty;
use crate::proto::event_store::client::gossip::gossip_server::Gossip;
use crate::proto::event_store::client::gossip::member_info::VNodeState;
use crate::proto::event_store::client::gossip::{ClusterInfo, EndPoint, MemberInfo};

/// Where clients look if an address has no port.
const PORT_DEFAULT: u16 = 2113;

pub(super) struct Service {
    /// New with every start, as clients expect of a node.
    instance: Uuid,
    advertised: Option<Endpoint>,
}

impl Service {
    pub(super) fn new(options: &Options) -> Self {
        Self { instance: Uuid::new_v4(), advertised: options.advertised.clone() }
    }
}

#[async_trait]
impl Gossip for Service {
    async fn read(&self, request: Request<Empty>) -> Result<Response<ClusterInfo>, Status> {
        let asked = || request.extensions().get::<Endpoint>().cloned();
        let endpoint = self
            .advertised
            .clone()
            .or_else(asked)
            .unwrap_or_else(|| Endpoint { host: "127.0.0.1".to_owned(), port: PORT_DEFAULT });
        let member = MemberInfo {
            instance_id: Some(ids::id_message(self.instance, IdForm::Structured)),
            time_stamp: ticks(SystemTime::now()),
            state: VNodeState::Leader.into(),
            is_alive: true,
            http_end_point: Some(EndPoint { address: endpoint.host, port: endpoint.port.into() }),
        };
        Ok(Response::new(ClusterInfo { members: vec![member] }))
    }
}

/// Notes the address that a client asked, which is one that reaches this node from where the client is.
#[derive(Clone)]
pub(super) struct WithAuthority<S>(pub(super) S);

impl<S: NamedService> NamedService for WithAuthority<S> {
    const NAME: &'static str = S::NAME;
}

impl<S, B> Tower<http::Request<B>> for WithAuthority<S>
where
    S: Tower<http::Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<B>) -> Self::Future {
        if let Some(endpoint) = endpoint(request.uri(), request.headers()) {
            request.extensions_mut().insert(endpoint);
        }
        self.0.call(request)
    }
}

/// The host and port of a request: in HTTP/2 they stand in the address, in HTTP/1.1 in a header.
pub(super) fn endpoint(uri: &http::Uri, headers: &http::HeaderMap) -> Option<Endpoint> {
    let authority = match uri.authority() {
        Some(authority) => authority.clone(),
        None => headers.get(http::header::HOST)?.to_str().ok()?.parse().ok()?,
    };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
    (!host.is_empty()).then(|| Endpoint { host, port: authority.port_u16().unwrap_or(PORT_DEFAULT) })
}

/// 100 ns since 1970.
fn ticks(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos() / 100).unwrap_or(i64::MAX)
}
