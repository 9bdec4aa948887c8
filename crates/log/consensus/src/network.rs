//! The way to other members. There are none yet: a group has one voter.

use std::future::Future;

use openraft::errors::{RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::v2::RaftNetworkV2;
use openraft::network::{RPCOption, RaftNetworkFactory};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse};

use crate::config::{Snapshot, SnapshotData, Types, Vote};

/// Reaches nobody.
pub(crate) struct NoPeers;

#[derive(Debug, thiserror::Error)]
#[error("replication to other members is not available")]
struct NoReplication;

impl RaftNetworkFactory<Types> for NoPeers {
    type Network = NoPeers;

    async fn new_client(&mut self, _target: u64, _node: &openraft::impls::BasicNode) -> NoPeers {
        NoPeers
    }
}

impl RaftNetworkV2<Types> for NoPeers {
    type SnapshotData = SnapshotData;

    async fn append_entries(
        &mut self,
        _request: AppendEntriesRequest<Types>,
        _option: RPCOption,
    ) -> Result<AppendEntriesResponse<Types>, RPCError<Types>> {
        Err(RPCError::Unreachable(Unreachable::new(&NoReplication)))
    }

    async fn vote(
        &mut self,
        _request: VoteRequest<Types>,
        _option: RPCOption,
    ) -> Result<VoteResponse<Types>, RPCError<Types>> {
        Err(RPCError::Unreachable(Unreachable::new(&NoReplication)))
    }

    async fn pre_vote(
        &mut self,
        _request: VoteRequest<Types>,
        _option: RPCOption,
    ) -> Result<VoteResponse<Types>, RPCError<Types>> {
        // The library's own default would grant, which is no pre-vote at all.
        Err(RPCError::Unreachable(Unreachable::new(&NoReplication)))
    }

    async fn full_snapshot(
        &mut self,
        _vote: Vote,
        _snapshot: Snapshot,
        _cancel: impl Future<Output = ReplicationClosed> + Send + 'static,
        _option: RPCOption,
    ) -> Result<SnapshotResponse<Types>, StreamingError<Types>> {
        Err(StreamingError::Unreachable(Unreachable::new(&NoReplication)))
    }
}
