use daybook_command::{AppendRefusal, ProposeError};
use daybook_record::{BatchError, RecordFault};
use daybook_types::{LeaderEpoch, PartitionId, TopicId};

use super::{
    ErrorCode, check_leader_epoch, code, of_append, of_batch, of_propose, of_propose_to_controller,
    of_propose_to_coordinator,
};

#[test]
fn whatever_keeps_a_shard_from_writing_makes_clients_try_again() {
    let errors = [
        ProposeError::Closed,
        ProposeError::Poisoned { cause: "the disk is full".into() },
        ProposeError::NotLeader,
        ProposeError::Unknown,
    ];
    for error in errors {
        assert!(of_propose(&error).is_retriable(), "{error}");
        assert!(of_propose_to_controller(&error).is_retriable(), "{error}");
        assert!(of_propose_to_coordinator(&error).is_retriable(), "{error}");
    }
    assert_eq!(of_propose(&ProposeError::NotLeader), ErrorCode::NotLeaderOrFollower);
    assert_eq!(of_propose(&ProposeError::Poisoned { cause: "x".into() }), ErrorCode::KafkaStorageError);
}

#[test]
fn a_producer_that_was_fenced_or_lost_its_place_is_told_so() {
    let partition = PartitionId { topic: TopicId::default(), index: Default::default() };
    assert_eq!(of_append(&AppendRefusal::UnknownPartition { partition }), ErrorCode::UnknownTopicOrPartition);
    assert_eq!(of_append(&AppendRefusal::ProducerFenced { epoch: 1, current: 2 }), ErrorCode::InvalidProducerEpoch);
    let gap = AppendRefusal::OutOfOrderSequence { sequence: 5, last: 3 };
    assert_eq!(of_append(&gap), ErrorCode::OutOfOrderSequenceNumber);
}

#[test]
fn only_damage_on_the_way_is_sent_again() {
    let crc = BatchError::Crc { stored: 1, computed: 2 };
    assert!(of_batch(&crc).is_retriable());
    let wrong = [
        BatchError::Magic { magic: 1 },
        BatchError::Control,
        BatchError::RecordCount { count: 0, last_offset_delta: 1 },
        BatchError::Record { index: 0, fault: RecordFault::Length },
        BatchError::UnknownCompression { code: 7 },
        BatchError::TooLarge { bytes_max: 1 },
    ];
    for error in wrong {
        assert!(!of_batch(&error).is_retriable(), "{error}");
    }
}

#[test]
fn the_leader_epoch_is_checked_on_both_sides() {
    let current = LeaderEpoch(5);
    assert_eq!(check_leader_epoch(-1, current), Ok(()));
    assert_eq!(check_leader_epoch(5, current), Ok(()));
    assert_eq!(check_leader_epoch(4, current), Err(ErrorCode::FencedLeaderEpoch));
    assert_eq!(check_leader_epoch(6, current), Err(ErrorCode::UnknownLeaderEpoch));
}

#[test]
fn no_error_is_0() {
    assert_eq!(code(None), 0);
    assert_eq!(code(Some(ErrorCode::UnknownServerError)), -1);
}
