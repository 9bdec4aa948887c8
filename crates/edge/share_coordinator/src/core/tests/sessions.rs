//! Sessions of share fetches: their epochs, and what they end with.

use daybook_types::{GroupId, PartitionId, PartitionIndex, TopicId};

use crate::core::{ConnectionId, SessionAsk, SessionError, SessionKey, Sessions};
use crate::ident::MemberId;

fn at(index: i32) -> PartitionId {
    PartitionId { topic: TopicId::from_bytes([1; 16]), index: PartitionIndex(index) }
}

fn key(member: &str) -> SessionKey {
    SessionKey { group: GroupId::new("g"), member: MemberId::new(member) }
}

fn ask(epoch: i32, wanted: &[i32], forgotten: &[i32]) -> SessionAsk {
    SessionAsk {
        epoch,
        connection: ConnectionId(7),
        wanted: wanted.iter().copied().map(at).collect(),
        forgotten: forgotten.iter().copied().map(at).collect(),
        has_acknowledgements: false,
    }
}

fn indexes(partitions: Vec<PartitionId>) -> Vec<i32> {
    partitions.iter().map(|partition| partition.index.0).collect()
}

#[test]
fn a_session_remembers_its_partitions_and_each_has_its_turn() {
    let mut sessions = Sessions::new(10);
    assert_eq!(indexes(sessions.fetch(&key("a"), ask(0, &[1, 2, 3], &[])).unwrap()), [1, 2, 3]);
    assert_eq!(indexes(sessions.fetch(&key("a"), ask(1, &[], &[])).unwrap()), [2, 3, 1]);
    assert_eq!(indexes(sessions.fetch(&key("a"), ask(2, &[4], &[2])).unwrap()).len(), 3);
    sessions.acknowledge(&key("a"), 3).unwrap();
    assert_eq!(sessions.fetch(&key("a"), ask(3, &[], &[])), Err(SessionError::WrongEpoch));
    assert_eq!(indexes(sessions.fetch(&key("a"), ask(4, &[], &[1, 3, 4])).unwrap()), [0; 0]);
}

#[test]
fn a_session_that_is_not_there_is_refused() {
    let mut sessions = Sessions::new(1);
    assert_eq!(sessions.fetch(&key("a"), ask(1, &[], &[])), Err(SessionError::NotFound));
    assert_eq!(sessions.fetch(&key("a"), ask(-1, &[], &[])), Err(SessionError::NotFound));
    assert_eq!(sessions.acknowledge(&key("a"), 0), Err(SessionError::WrongEpoch));
    assert_eq!(sessions.acknowledge(&key("a"), -1), Err(SessionError::NotFound));
    let with_acknowledgements = SessionAsk { has_acknowledgements: true, ..ask(0, &[1], &[]) };
    assert_eq!(sessions.fetch(&key("a"), with_acknowledgements), Err(SessionError::Invalid));
    sessions.fetch(&key("a"), ask(0, &[1], &[])).unwrap();
    assert_eq!(sessions.fetch(&key("b"), ask(0, &[1], &[])), Err(SessionError::LimitReached));
    // Its own member may begin anew.
    sessions.fetch(&key("a"), ask(0, &[1], &[])).unwrap();
    assert!(sessions.close(&key("a")));
    assert!(sessions.is_empty());
}

#[test]
fn a_connection_takes_its_sessions_with_it() {
    let mut sessions = Sessions::new(10);
    sessions.fetch(&key("a"), ask(0, &[1], &[])).unwrap();
    sessions.fetch(&key("b"), SessionAsk { connection: ConnectionId(8), ..ask(0, &[1], &[]) }).unwrap();
    // The session went over to another connection meanwhile.
    sessions.fetch(&key("b"), ask(1, &[], &[])).unwrap();
    assert!(sessions.disconnect(ConnectionId(8)).is_empty());
    assert_eq!(sessions.disconnect(ConnectionId(7)).len(), 2);
    assert!(sessions.is_empty());
}
