use super::{Ask, EVICTION_MS_MIN, FetchSessions, Fetching, Found, NO_SESSION, Reply, SESSION_PARTITIONS_MAX, Wanted};
use crate::error_code::ErrorCode;
use crate::topic_ref::{PartitionRef, TopicRef};
use crate::wire::StrBytes;

/// Sessions, their clock, and a source of ids that counts from 100.
struct Script {
    sessions: FetchSessions,
    now_ms: u64,
    next_id: i32,
}

fn at(partition: i32) -> PartitionRef {
    PartitionRef { topic: TopicRef::Name(StrBytes::from_static_str("t")), partition }
}

fn wanted(fetch_offset: i64) -> Wanted {
    Wanted { fetch_offset, bytes_max: 1000, current_leader_epoch: -1 }
}

fn ask(session_id: i32, epoch: i32, partitions: &[i32]) -> Ask {
    let wanted = partitions.iter().map(|partition| (at(*partition), wanted(0))).collect();
    Ask { session_id, epoch, by_id: false, wanted, forgotten: Vec::new() }
}

const EMPTY: Found = Found { is_error: false, bytes: 0, high_watermark: 0, log_start_offset: 0 };
const RECORDS: Found = Found { is_error: false, bytes: 10, high_watermark: 1, log_start_offset: 0 };
const ERROR: Found = Found { is_error: true, bytes: 0, high_watermark: -1, log_start_offset: -1 };

impl Script {
    fn new(sessions_max: usize) -> Self {
        Self { sessions: FetchSessions::new(sessions_max), now_ms: 0, next_id: 100 }
    }

    fn finish(&mut self, fetching: &Fetching, found: &[Found]) -> Result<Reply, ErrorCode> {
        let new_id = || {
            self.next_id += 1;
            self.next_id - 1
        };
        self.sessions.finish(fetching, found, self.now_ms, new_id)
    }

    /// A full request and its answer: the new session's id.
    fn open(&mut self, partitions: &[i32]) -> i32 {
        let fetching = self.sessions.begin(ask(0, 0, partitions), self.now_ms).expect("full requests are let in");
        let found = vec![EMPTY; partitions.len()];
        self.finish(&fetching, &found).expect("full requests are answered").session_id
    }

    fn order(&self, session_id: i32, epoch: i32, partitions: &[i32]) -> Vec<i32> {
        let fetching = self.sessions.begin(ask(session_id, epoch, partitions), self.now_ms).expect("it goes on");
        fetching.partitions.iter().map(|(at, _)| at.partition).collect()
    }

    /// An incremental request without changes, and which partitions its answer tells of.
    fn told(&mut self, session_id: i32, epoch: i32, found: &[Found]) -> Vec<i32> {
        let fetching = self.sessions.begin(ask(session_id, epoch, &[]), self.now_ms).expect("it goes on");
        let reply = self.finish(&fetching, found).expect("it is answered");
        assert_eq!(reply.session_id, session_id);
        let told = fetching.partitions.iter().zip(reply.told).filter(|(_, told)| *told);
        told.map(|((at, _), _)| at.partition).collect()
    }
}

#[test]
fn a_final_epoch_wants_no_session() {
    let mut script = Script::new(10);
    let fetching = script.sessions.begin(ask(0, -1, &[0, 1]), 0).expect("let in");
    let reply = script.finish(&fetching, &[EMPTY, RECORDS]).expect("answered");
    assert_eq!(reply, Reply { session_id: NO_SESSION, told: vec![true, true] });
}

#[test]
fn after_the_first_answer_only_news_is_told() {
    let mut script = Script::new(10);
    let id = script.open(&[0, 1, 2]);
    assert_eq!(id, 100);
    assert!(script.told(id, 1, &[EMPTY, EMPTY, EMPTY]).is_empty());
    assert_eq!(script.told(id, 2, &[EMPTY, RECORDS, EMPTY]), [1]);
    // The answer with records begins after the partition that had some.
    let moved_start = Found { log_start_offset: 5, ..EMPTY };
    let same_end = Found { bytes: 0, ..RECORDS };
    assert_eq!(script.told(id, 3, &[EMPTY, moved_start, same_end]), [0]);
}

#[test]
fn an_error_is_told_every_time_and_its_end_too() {
    let mut script = Script::new(10);
    let id = script.open(&[0]);
    assert_eq!(script.told(id, 1, &[ERROR]), [0]);
    assert_eq!(script.told(id, 2, &[ERROR]), [0]);
    assert_eq!(script.told(id, 3, &[EMPTY]), [0]);
    assert!(script.told(id, 4, &[EMPTY]).is_empty());
}

#[test]
fn partitions_are_added_changed_and_forgotten() {
    let mut script = Script::new(10);
    let id = script.open(&[0, 1]);
    let mut change = ask(id, 1, &[2]);
    change.wanted.push((at(1), wanted(50)));
    change.forgotten.push(at(0));
    let fetching = script.sessions.begin(change, 0).expect("it goes on");
    let mut left: Vec<(i32, i64)> =
        fetching.partitions.iter().map(|(at, wanted)| (at.partition, wanted.fetch_offset)).collect();
    left.sort_unstable();
    assert_eq!(left, [(1, 50), (2, 0)]);
    // One that was added is told of even if it has nothing.
    let reply = script.finish(&fetching, &[EMPTY, EMPTY]).expect("answered");
    let told: Vec<i32> =
        fetching.partitions.iter().zip(reply.told).filter(|(_, told)| *told).map(|((at, _), _)| at.partition).collect();
    assert_eq!(told, [2]);
}

#[test]
fn a_wrong_epoch_is_refused_and_spoils_nothing() {
    let mut script = Script::new(10);
    let id = script.open(&[0]);
    assert_eq!(script.sessions.begin(ask(id, 7, &[]), 0), Err(ErrorCode::InvalidFetchSessionEpoch));
    assert!(script.told(id, 1, &[EMPTY]).is_empty());
    assert_eq!(script.sessions.begin(ask(id, 1, &[]), 0), Err(ErrorCode::InvalidFetchSessionEpoch));
    assert!(script.told(id, 2, &[EMPTY]).is_empty());
}

#[test]
fn an_unknown_session_is_refused() {
    let script = Script::new(10);
    assert_eq!(script.sessions.begin(ask(5, 1, &[]), 0), Err(ErrorCode::FetchSessionIdNotFound));
}

#[test]
fn names_and_ids_are_not_mixed() {
    let mut script = Script::new(10);
    let id = script.open(&[0]);
    let by_id = Ask { by_id: true, ..ask(id, 1, &[]) };
    assert_eq!(script.sessions.begin(by_id, 0), Err(ErrorCode::FetchSessionTopicIdError));
}

#[test]
fn of_two_requests_at_once_the_older_is_refused_its_answer() {
    let mut script = Script::new(10);
    let id = script.open(&[0]);
    let first = script.sessions.begin(ask(id, 1, &[]), 0).expect("it goes on");
    let second = script.sessions.begin(ask(id, 2, &[]), 0).expect("it goes on");
    assert_eq!(script.finish(&first, &[RECORDS]), Err(ErrorCode::InvalidFetchSessionEpoch));
    assert_eq!(script.finish(&second, &[RECORDS]).expect("answered").told, [true]);
}

#[test]
fn a_full_request_ends_the_session_it_names() {
    let mut script = Script::new(10);
    let id = script.open(&[0]);
    let fetching = script.sessions.begin(ask(id, 0, &[0]), 0).expect("let in");
    let reply = script.finish(&fetching, &[EMPTY]).expect("answered");
    assert_ne!(reply.session_id, id);
    assert_eq!(script.sessions.begin(ask(id, 1, &[]), 0), Err(ErrorCode::FetchSessionIdNotFound));
}

#[test]
fn a_session_that_follows_nothing_ends() {
    let mut script = Script::new(10);
    let id = script.open(&[0]);
    let forget = Ask { forgotten: vec![at(0)], ..ask(id, 1, &[]) };
    let fetching = script.sessions.begin(forget, 0).expect("let in");
    assert_eq!(script.finish(&fetching, &[]).expect("answered"), Reply { session_id: NO_SESSION, told: Vec::new() });
    assert_eq!(script.sessions.begin(ask(id, 2, &[]), 0), Err(ErrorCode::FetchSessionIdNotFound));
}

#[test]
fn with_little_room_every_partition_has_its_turn() {
    let mut script = Script::new(10);
    let id = script.open(&[0, 1, 2]);
    assert_eq!(script.told(id, 1, &[RECORDS, EMPTY, EMPTY]), [0]);
    assert_eq!(script.order(id, 2, &[]), [1, 2, 0]);
    // Another answer with records of the last one in this order.
    let fetching = script.sessions.begin(ask(id, 3, &[]), 0).expect("it goes on");
    let _ = script.finish(&fetching, &[EMPTY, EMPTY, RECORDS]).expect("answered");
    assert_eq!(script.order(id, 4, &[]), [1, 2, 0]);
}

#[test]
fn a_young_session_is_not_put_out_for_another() {
    let mut script = Script::new(1);
    let first = script.open(&[0]);
    assert_eq!(script.open(&[1, 2]), NO_SESSION);
    assert!(script.told(first, 1, &[EMPTY]).is_empty());
}

#[test]
fn an_idle_session_makes_room() {
    let mut script = Script::new(1);
    let first = script.open(&[0, 1, 2]);
    script.now_ms += EVICTION_MS_MIN + 1;
    let second = script.open(&[0]);
    assert_ne!(second, NO_SESSION);
    assert_eq!(script.sessions.begin(ask(first, 1, &[]), script.now_ms), Err(ErrorCode::FetchSessionIdNotFound));
}

#[test]
fn a_small_session_makes_room_for_a_larger_one() {
    let mut script = Script::new(1);
    let first = script.open(&[0, 1]);
    script.now_ms += EVICTION_MS_MIN + 1;
    assert!(script.told(first, 1, &[EMPTY, EMPTY]).is_empty());
    assert_eq!(script.open(&[7, 8]), NO_SESSION, "not larger");
    assert_ne!(script.open(&[7, 8, 9]), NO_SESSION);
}

#[test]
fn whoever_follows_too_much_has_no_session() {
    let mut script = Script::new(10);
    let many: Vec<i32> = (0..=SESSION_PARTITIONS_MAX as i32).collect();
    assert_eq!(script.open(&many), NO_SESSION);
    let id = script.open(&many[1..]);
    assert_ne!(id, NO_SESSION);
    assert_eq!(script.sessions.begin(ask(id, 1, &[-5]), 0), Err(ErrorCode::FetchSessionIdNotFound));
    assert_eq!(script.sessions.sessions.lock().partitions, 0);
}

#[test]
fn epochs_start_again_after_the_last() {
    assert_eq!(super::next_epoch(i32::MAX), 1);
    assert_eq!(super::next_epoch(0), 1);
}
