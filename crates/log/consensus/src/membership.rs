//! How members and votes are written down.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_types::{Lsn, Term};
use openraft::impls::BasicNode;

use crate::config::{LogId, Membership, StoredMembership, Vote, log_id, lsn_of, term_of};

const FORMAT_VERSION: u8 = 1;

pub(crate) fn encode_membership(membership: &Membership) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(FORMAT_VERSION);
    put_membership(&mut out, membership);
    out.freeze()
}

pub(crate) fn decode_membership(mut bytes: Bytes) -> io::Result<Membership> {
    check_version(&mut bytes)?;
    get_membership(&mut bytes)
}

/// The last applied log id and the membership as of it: what a checkpoint keeps for Raft.
pub(crate) fn encode_meta(applied: Option<&LogId>, membership: &StoredMembership) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(FORMAT_VERSION);
    put_log_id(&mut out, applied);
    put_log_id(&mut out, membership.log_id().as_ref());
    put_membership(&mut out, membership.membership());
    out.freeze()
}

pub(crate) fn decode_meta(mut bytes: Bytes) -> io::Result<(Option<LogId>, StoredMembership)> {
    check_version(&mut bytes)?;
    let applied = get_log_id(&mut bytes)?;
    let membership_at = get_log_id(&mut bytes)?;
    let membership = get_membership(&mut bytes)?;
    Ok((applied, StoredMembership::new(membership_at, membership)))
}

pub(crate) fn encode_vote(vote: &Vote) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(FORMAT_VERSION);
    out.put_u64(vote.leader_id().term);
    out.put_u64(vote.leader_id().voted_for);
    out.put_u8(vote.is_committed().into());
    out.freeze()
}

pub(crate) fn decode_vote(mut bytes: Bytes) -> io::Result<Vote> {
    check_version(&mut bytes)?;
    let term = bytes.try_get_u64().map_err(|_| malformed())?;
    let voted_for = bytes.try_get_u64().map_err(|_| malformed())?;
    let committed = bytes.try_get_u8().map_err(|_| malformed())? != 0;
    let leader_id = openraft::impls::leader_id_std::LeaderId { term, voted_for };
    Ok(Vote { leader_id, committed })
}

fn put_log_id(out: &mut BytesMut, log_id: Option<&LogId>) {
    match log_id {
        Some(log_id) => {
            out.put_u8(1);
            out.put_u64(term_of(log_id).0);
            out.put_u64(lsn_of(log_id).0);
        }
        None => out.put_u8(0),
    }
}

fn get_log_id(from: &mut Bytes) -> io::Result<Option<LogId>> {
    if from.try_get_u8().map_err(|_| malformed())? == 0 {
        return Ok(None);
    }
    let term = Term(from.try_get_u64().map_err(|_| malformed())?);
    let lsn = Lsn(from.try_get_u64().map_err(|_| malformed())?);
    Ok(Some(log_id(term, lsn)))
}

fn put_membership(out: &mut BytesMut, membership: &Membership) {
    out.put_u32(membership.get_joint_config().len() as u32);
    for voters in membership.get_joint_config() {
        out.put_u32(voters.len() as u32);
        voters.iter().for_each(|voter| out.put_u64(*voter));
    }
    let nodes: Vec<_> = membership.nodes().collect();
    out.put_u32(nodes.len() as u32);
    for (id, node) in nodes {
        out.put_u64(*id);
        out.put_u32(node.addr.len() as u32);
        out.put_slice(node.addr.as_bytes());
    }
}

fn get_membership(from: &mut Bytes) -> io::Result<Membership> {
    let mut configs = Vec::new();
    for _ in 0..from.try_get_u32().map_err(|_| malformed())? {
        let mut voters = BTreeSet::new();
        for _ in 0..from.try_get_u32().map_err(|_| malformed())? {
            voters.insert(from.try_get_u64().map_err(|_| malformed())?);
        }
        configs.push(voters);
    }
    let mut nodes = BTreeMap::new();
    for _ in 0..from.try_get_u32().map_err(|_| malformed())? {
        let id = from.try_get_u64().map_err(|_| malformed())?;
        let length = from.try_get_u32().map_err(|_| malformed())? as usize;
        if length > from.len() {
            return Err(malformed());
        }
        let addr = String::from_utf8(from.split_to(length).into()).map_err(|_| malformed())?;
        nodes.insert(id, BasicNode { addr });
    }
    if configs.is_empty() && nodes.is_empty() {
        return Ok(Membership::default());
    }
    Membership::new(configs, nodes).map_err(|_| malformed())
}

fn check_version(from: &mut Bytes) -> io::Result<()> {
    let version = from.try_get_u8().map_err(|_| malformed())?;
    if version > FORMAT_VERSION {
        let text = format!("consensus state has format version {version}, this program knows up to {FORMAT_VERSION}");
        return Err(io::Error::new(io::ErrorKind::Unsupported, text));
    }
    Ok(())
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "stored consensus state is malformed")
}
