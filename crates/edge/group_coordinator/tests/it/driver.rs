//! The driver: requests that wait, the timer, limits over all groups, shutting down. The clock is paused and advances to the
//! next timer whenever every task waits, so nothing here takes real time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use daybook_group_assignment::{FixedTopics, KnownTopic};
use daybook_group_coordinator::{
    CommitPermit, ConsumerHeartbeat, Coordinator, Generation, GroupError, GroupState, InstanceId, JoinRequest, Joined,
    Leaver, MemberClaim, MemberId, Protocol, Settings, SyncRequest,
};
use daybook_types::{GroupId, TopicId};
use tokio::time::Instant;

fn group(name: &str) -> GroupId {
    GroupId::new(name)
}

/// A coordinator of a node with topic `t` of four partitions.
fn start(settings: Settings) -> Coordinator {
    let mut topics = FixedTopics::default();
    topics.put("t", KnownTopic { id: TopicId::from_bytes([1; 16]), partitions: 4 });
    let topics = Arc::new(topics);
    Coordinator::start(settings, Arc::new(move || topics.clone()))
}

fn join_request(name: &str) -> JoinRequest {
    JoinRequest {
        group: group(name),
        member: MemberId::none(),
        instance: None,
        client_id: "client".into(),
        client_host: "/127.0.0.1".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 60_000,
        protocol_type: "consumer".into(),
        protocols: vec![Protocol { name: "range".into(), metadata: Bytes::from_static(b"topics") }],
        member_id_first: false,
        knows_skip_assignment: true,
    }
}

fn claim(joined: &Joined) -> MemberClaim {
    MemberClaim { member: joined.member.clone(), instance: None, generation: joined.generation }
}

fn nobody() -> MemberClaim {
    MemberClaim { member: MemberId::none(), instance: None, generation: Generation::NONE }
}

fn sync_request(name: &str, joined: &Joined, assignments: &[(&MemberId, &'static str)]) -> SyncRequest {
    SyncRequest {
        group: group(name),
        claim: claim(joined),
        protocol_type: Some("consumer".into()),
        protocol_name: Some("range".into()),
        assignments: assignments.iter().map(|(id, bytes)| ((*id).clone(), Bytes::from(*bytes))).collect(),
    }
}

async fn sole_member(coordinator: &Coordinator, name: &str) -> Joined {
    let joined = coordinator.join(join_request(name)).await.unwrap();
    coordinator.sync(sync_request(name, &joined, &[(&joined.member, "all")])).await.unwrap();
    joined
}

fn state(coordinator: &Coordinator, name: &str) -> Option<GroupState> {
    coordinator.describe(&group(name)).unwrap().map(|group| group.state)
}

#[tokio::test(start_paused = true)]
async fn two_members_share_a_generation() {
    let coordinator = start(Settings::default());
    let begun = Instant::now();
    let (first, second) = tokio::join!(coordinator.join(join_request("g")), coordinator.join(join_request("g")));
    let (first, second) = (first.unwrap(), second.unwrap());
    // The second came during the first delay, so there was another.
    assert_eq!(begun.elapsed(), Duration::from_millis(1_000));
    assert_eq!(first.generation, second.generation);
    assert_eq!((first.members.len(), second.members.len()), (2, 0));
    assert_eq!(second.leader, first.member);

    let assignments = [(&first.member, "one"), (&second.member, "two")];
    let (one, two) = tokio::join!(
        coordinator.sync(sync_request("g", &first, &assignments)),
        coordinator.sync(sync_request("g", &second, &[])),
    );
    assert_eq!((&one.unwrap().assignment[..], &two.unwrap().assignment[..]), (&b"one"[..], &b"two"[..]));

    let description = coordinator.describe(&group("g")).unwrap().unwrap();
    assert_eq!(description.state, GroupState::Stable);
    assert_eq!(description.protocol_name.as_deref(), Some("range"));
    assert_eq!(description.members.len(), 2);
    assert_eq!(&description.members[0].metadata[..], b"topics");
    assert_eq!(&description.members[1].assignment[..], b"two");
    assert_eq!(coordinator.listed(&group("g")).unwrap().unwrap().state, "Stable");
    let listed = coordinator.list().unwrap();
    assert_eq!((&listed[0].group, &*listed[0].protocol_type), (&group("g"), "consumer"));
}

#[tokio::test(start_paused = true)]
async fn members_get_different_ids_and_come_back_with_them() {
    let coordinator = start(Settings::default());
    let first = coordinator.join(JoinRequest { member_id_first: true, ..join_request("g") }).await.unwrap_err();
    let second = coordinator.join(JoinRequest { member_id_first: true, ..join_request("g") }).await.unwrap_err();
    assert_eq!(first.error, GroupError::MemberIdRequired);
    assert_ne!(first.member, second.member);
    assert!(first.member.as_str().starts_with("client-"));
    let left = coordinator.leave(&group("g"), &[Leaver { member: second.member, instance: None }]).unwrap();
    assert_eq!(left[0].outcome, Ok(()));
    let joined = coordinator.join(JoinRequest { member: first.member.clone(), ..join_request("g") }).await.unwrap();
    assert_eq!(joined.member, first.member);
}

#[tokio::test(start_paused = true)]
async fn ids_fit_the_wire_however_long_the_name() {
    let coordinator = start(Settings::default());
    let request = JoinRequest { client_id: "é".repeat(16_000).into(), ..join_request("g") };
    let joined = coordinator.join(request).await.unwrap();
    assert!(joined.member.as_str().starts_with('é'));
    assert!(joined.member.as_str().len() < 2_000);
}

#[tokio::test(start_paused = true)]
async fn silence_empties_a_group_and_time_forgets_it() {
    let coordinator = start(Settings::default());
    let joined = sole_member(&coordinator, "g").await;
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(9_999)).await;
        assert_eq!(coordinator.heartbeat(&group("g"), &claim(&joined)), Ok(()));
    }
    tokio::time::sleep(Duration::from_millis(9_999)).await;
    assert_eq!(coordinator.may_delete(&group("g")), Err(GroupError::NonEmptyGroup));
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert_eq!(state(&coordinator, "g"), Some(GroupState::Empty));
    assert_eq!(coordinator.heartbeat(&group("g"), &claim(&joined)), Err(GroupError::UnknownMemberId));
    assert_eq!(coordinator.may_delete(&group("g")), Ok(()));
    tokio::time::sleep(Duration::from_millis(600_000)).await;
    assert_eq!(state(&coordinator, "g"), None);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_goes_while_a_join_waits_leaves_nothing_behind() {
    let coordinator = start(Settings::default());
    let joined = sole_member(&coordinator, "g").await;
    let gone = tokio::time::timeout(Duration::from_millis(10), coordinator.join(join_request("g"))).await;
    assert!(gone.is_err());
    assert_eq!(state(&coordinator, "g"), Some(GroupState::PreparingRebalance));
    let again = JoinRequest { member: joined.member.clone(), ..join_request("g") };
    let joined = coordinator.join(again.clone()).await.unwrap();
    assert_eq!(joined.members.len(), 2);
    coordinator.sync(sync_request("g", &joined, &[])).await.unwrap();
    // The one that went never syncs nor heartbeats.
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(4_000)).await;
        // The rebalance that its silence causes is told here; this test looks at the end only.
        let _ = coordinator.heartbeat(&group("g"), &claim(&joined));
    }
    let joined = coordinator.join(again).await.unwrap();
    assert_eq!(joined.members.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn unknown_groups() {
    let coordinator = start(Settings::default());
    let stranger = MemberClaim { member: MemberId::new("x"), instance: None, generation: Generation(3) };
    let refused = coordinator.join(JoinRequest { member: MemberId::new("x"), ..join_request("g") }).await.unwrap_err();
    assert_eq!((refused.error, refused.member), (GroupError::UnknownMemberId, MemberId::new("x")));
    assert_eq!(coordinator.heartbeat(&group("g"), &stranger), Err(GroupError::UnknownMemberId));
    assert_eq!(coordinator.check_commit(&group("g"), &stranger, true), Err(GroupError::UnknownMemberId));
    assert_eq!(coordinator.check_commit(&group("g"), &nobody(), true), Ok(CommitPermit::Any));
    let leaver = Leaver { member: MemberId::none(), instance: Some(InstanceId::new("i")) };
    let left = coordinator.leave(&group("g"), &[leaver]).unwrap();
    assert_eq!(left[0].outcome, Err(GroupError::UnknownMemberId));
    assert_eq!(coordinator.may_delete(&group("g")), Ok(()));
    assert_eq!(coordinator.remove(&group("g")), Ok(()));
    let sync = SyncRequest {
        group: group("g"),
        claim: stranger,
        protocol_type: None,
        protocol_name: None,
        assignments: Vec::new(),
    };
    assert_eq!(coordinator.sync(sync).await, Err(GroupError::UnknownMemberId));
    assert!(coordinator.list().unwrap().is_empty());
    assert_eq!(coordinator.heartbeat(&group(""), &nobody()), Err(GroupError::InvalidGroupId));
    let refused = coordinator.join(join_request("")).await.unwrap_err();
    assert_eq!(refused.error, GroupError::InvalidGroupId);
}

#[tokio::test(start_paused = true)]
async fn session_timeouts_have_limits() {
    let coordinator = start(Settings::default());
    for (session_timeout_ms, is_legal) in
        [(5_999, false), (6_000, true), (1_800_000, true), (1_800_001, false), (-1, false)]
    {
        let answer = coordinator.join(JoinRequest { session_timeout_ms, ..join_request("g") });
        match tokio::time::timeout(Duration::from_millis(1), answer).await {
            Ok(answer) => {
                assert_eq!(answer.unwrap_err().error, GroupError::InvalidSessionTimeout);
                assert!(!is_legal);
            }
            Err(_waits) => assert!(is_legal),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn removing_takes_empty_groups_only() {
    let coordinator = start(Settings::default());
    let joined = sole_member(&coordinator, "g").await;
    assert_eq!(coordinator.remove(&group("g")), Err(GroupError::NonEmptyGroup));
    coordinator.leave(&group("g"), &[Leaver { member: joined.member.clone(), instance: None }]).unwrap();
    assert_eq!(state(&coordinator, "g"), Some(GroupState::Empty));
    assert_eq!(coordinator.remove(&group("g")), Ok(()));
    assert_eq!(state(&coordinator, "g"), None);
    assert_eq!(sole_member(&coordinator, "g").await.generation, Generation(1));
}

#[tokio::test(start_paused = true)]
async fn closing_answers_everyone() {
    let coordinator = start(Settings::default());
    let waits = tokio::spawn({
        let coordinator = coordinator.clone();
        async move { coordinator.join(join_request("g")).await }
    });
    tokio::time::sleep(Duration::from_millis(1)).await;
    coordinator.close();
    assert_eq!(waits.await.unwrap().unwrap_err().error, GroupError::CoordinatorNotAvailable);
    let refused = coordinator.join(join_request("h")).await.unwrap_err();
    assert_eq!(refused.error, GroupError::CoordinatorNotAvailable);
    assert_eq!(coordinator.check_commit(&group("g"), &nobody(), true), Err(GroupError::CoordinatorNotAvailable));
    assert_eq!(coordinator.list(), Err(GroupError::CoordinatorNotAvailable));
}

#[tokio::test(start_paused = true)]
async fn groups_are_limited_and_empty_ones_give_way() {
    let coordinator = start(Settings { groups_max: 40, ..Settings::default() });
    let mut members = Vec::new();
    for number in 0..40 {
        let name = format!("g{number}");
        members.push((sole_member(&coordinator, &name).await, name));
        for (joined, name) in &members {
            assert_eq!(coordinator.heartbeat(&group(name), &claim(joined)), Ok(()));
        }
    }
    let refused = coordinator.join(join_request("one more")).await.unwrap_err();
    assert_eq!(refused.error, GroupError::CoordinatorNotAvailable);
    for (joined, name) in &members {
        coordinator.leave(&group(name), &[Leaver { member: joined.member.clone(), instance: None }]).unwrap();
    }
    assert_eq!(coordinator.list().unwrap().len(), 40);
    // Only an empty group that lies with the new one gives way, and where a group lies is chance.
    let mut taken = 0;
    for number in 0..100 {
        match coordinator.join(join_request(&format!("more-{number}"))).await {
            Ok(_) => taken += 1,
            Err(refused) => assert_eq!(refused.error, GroupError::CoordinatorNotAvailable),
        }
        assert_eq!(coordinator.list().unwrap().len(), 40);
    }
    assert!(taken > 0, "no empty group gave way");
}

#[tokio::test(start_paused = true)]
async fn bytes_over_all_groups_are_limited() {
    let coordinator = start(Settings { total_bytes_max: 20_000, ..Settings::default() });
    let large = |name: &str| JoinRequest {
        protocols: vec![Protocol { name: "range".into(), metadata: vec![7; 8_000].into() }],
        ..join_request(name)
    };
    let first = coordinator.join(large("a")).await.unwrap();
    coordinator.join(large("b")).await.unwrap();
    assert_eq!(coordinator.join(large("c")).await.unwrap_err().error, GroupError::CoordinatorNotAvailable);
    // Who is in may come back.
    let again = JoinRequest { member: first.member.clone(), ..large("a") };
    assert_eq!(coordinator.join(again).await.unwrap().member, first.member);
    coordinator.leave(&group("a"), &[Leaver { member: first.member, instance: None }]).unwrap();
    coordinator.join(large("c")).await.unwrap();
}

/// Many tasks on several threads, real clock: a deadlock or a lost wake-up would hang it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_groups_at_once() {
    let coordinator = start(Settings { initial_rebalance_delay_ms: 5, ..Settings::default() });
    let tasks: Vec<_> = (0..200)
        .map(|number| {
            let coordinator = coordinator.clone();
            tokio::spawn(async move {
                let name = format!("g{}", number % 50);
                let mut joined = coordinator.join(join_request(&name)).await.unwrap();
                for _ in 0..20 {
                    let mine = [(&joined.member, "mine")];
                    // Whether the sync is overtaken by another's join is up to the scheduler.
                    let _ = coordinator.sync(sync_request(&name, &joined, &mine)).await;
                    if coordinator.heartbeat(&group(&name), &claim(&joined)).is_err() {
                        let again = JoinRequest { member: joined.member.clone(), ..join_request(&name) };
                        joined = coordinator.join(again).await.unwrap();
                    }
                }
                coordinator.leave(&group(&name), &[Leaver { member: joined.member, instance: None }]).unwrap()
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap()[0].outcome, Ok(()));
    }
    assert!(coordinator.list().unwrap().iter().all(|group| group.state == "Empty"));
}

/// Topic `t`, subscribed to by name; nothing owned.
fn heartbeat(name: &str, member: &str, epoch: i32) -> ConsumerHeartbeat {
    ConsumerHeartbeat {
        group: group(name),
        member: MemberId::new(member),
        epoch: Generation(epoch),
        instance: None,
        rack: None,
        client_id: "client".into(),
        client_host: "/127.0.0.1".into(),
        rebalance_timeout_ms: Some(60_000),
        names: Some(["t".into()].into()),
        regex: None,
        assignor: None,
        owned: Some([].into()),
        makes_its_id: true,
        session_timeout_ms: None,
        heartbeat_interval_ms: None,
    }
}

/// A classic consumer's, as `embedded.rs` draws it: topic `t`, nothing owned.
const SUBSCRIPTION: &[u8] = b"\0\x01\0\0\0\x01\0\x01t\xff\xff\xff\xff\0\0\0\0";

fn consumer_join_request(name: &str) -> JoinRequest {
    let protocols = vec![Protocol { name: "range".into(), metadata: Bytes::from_static(SUBSCRIPTION) }];
    JoinRequest { protocols, ..join_request(name) }
}

#[tokio::test(start_paused = true)]
async fn a_silent_member_of_a_consumer_group_is_gone_after_its_session_timeout() {
    let coordinator = start(Settings::default());
    let answer = coordinator.consumer_heartbeat(&heartbeat("g", "m", 0)).unwrap();
    assert_eq!((answer.epoch, answer.assignment.unwrap().len()), (Generation(1), 4));
    assert_eq!(coordinator.may_delete(&group("g")), Err(GroupError::NonEmptyGroup));
    tokio::time::sleep(Duration::from_secs(46)).await;
    assert_eq!(coordinator.may_delete(&group("g")), Ok(()));
    let late = coordinator.consumer_heartbeat(&heartbeat("g", "m", 1));
    assert_eq!(late, Err(GroupError::UnknownMemberId));
}

#[tokio::test(start_paused = true)]
async fn a_group_changes_to_the_new_protocol_and_back_with_members_in_it() {
    let coordinator = start(Settings::default());
    let classic = coordinator.join(consumer_join_request("g")).await.unwrap();
    // A second join waits for the first member to join again; the change of protocol answers it.
    let waiting = tokio::spawn({
        let coordinator = coordinator.clone();
        async move { coordinator.join(consumer_join_request("g")).await }
    });
    tokio::time::sleep(Duration::from_millis(1)).await;
    let answer = coordinator.consumer_heartbeat(&heartbeat("g", "new", 0)).unwrap();
    assert!(answer.epoch > classic.generation);
    assert_eq!(waiting.await.unwrap().unwrap_err().error, GroupError::RebalanceInProgress);
    let described = coordinator.describe_consumer(&group("g")).unwrap().unwrap();
    assert_eq!(described.members.iter().filter(|member| member.speaks_classic).count(), 2);
    assert_eq!(coordinator.describe(&group("g")), Ok(None));

    // The member of the old protocol is told to join, and gets its part by a sync that nobody leads.
    let beat = coordinator.heartbeat(&group("g"), &claim(&classic));
    assert_eq!(beat, Err(GroupError::RebalanceInProgress));
    let rejoin = JoinRequest { member: classic.member.clone(), ..consumer_join_request("g") };
    let rejoined = coordinator.join(rejoin).await.unwrap();
    assert_eq!((rejoined.generation, rejoined.leader.as_str()), (answer.epoch, ""));
    let synced = coordinator.sync(sync_request("g", &rejoined, &[])).await.unwrap();
    assert!(!synced.assignment.is_empty());

    // The last of the new protocol leaves: the group is classic again, and rebalances.
    coordinator.consumer_heartbeat(&heartbeat("g", "new", -1)).unwrap();
    assert_eq!(state(&coordinator, "g"), Some(GroupState::PreparingRebalance));
    assert_eq!(coordinator.describe_consumer(&group("g")), Ok(None));
    // The member is still in its generation, so that it can commit before it joins again.
    assert_eq!(coordinator.heartbeat(&group("g"), &claim(&rejoined)), Err(GroupError::RebalanceInProgress));
    assert_eq!(coordinator.check_commit(&group("g"), &claim(&rejoined), false), Ok(CommitPermit::Any));
}

#[tokio::test(start_paused = true)]
async fn a_group_of_other_clients_does_not_change_its_protocol() {
    let coordinator = start(Settings::default());
    let connect = JoinRequest { protocol_type: "connect".into(), ..join_request("g") };
    coordinator.join(connect).await.unwrap();
    let refused = coordinator.consumer_heartbeat(&heartbeat("g", "new", 0));
    assert_eq!(refused, Err(GroupError::NotConsumerGroup));
    assert_eq!(state(&coordinator, "g"), Some(GroupState::CompletingRebalance));
}

#[tokio::test(start_paused = true)]
async fn an_empty_group_is_of_whoever_comes() {
    let coordinator = start(Settings::default());
    coordinator.consumer_heartbeat(&heartbeat("g", "m", 0)).unwrap();
    coordinator.consumer_heartbeat(&heartbeat("g", "m", -1)).unwrap();
    sole_member(&coordinator, "g").await;
    assert_eq!(state(&coordinator, "g"), Some(GroupState::Stable));
    let joined = coordinator.describe(&group("g")).unwrap().unwrap().members.remove(0);
    coordinator.leave(&group("g"), &[Leaver { member: joined.member, instance: None }]).unwrap();
    coordinator.consumer_heartbeat(&heartbeat("g", "m", 0)).unwrap();
    assert_eq!(coordinator.describe_consumer(&group("g")).unwrap().unwrap().members.len(), 1);
}
