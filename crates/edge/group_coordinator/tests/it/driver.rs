//! The driver: requests that wait, the timer, limits over all groups, shutting down. The clock is paused and advances to the
//! next timer whenever every task waits, so nothing here takes real time.

use std::time::Duration;

use bytes::Bytes;
use daybook_group_coordinator::{
    Coordinator, Generation, GroupError, GroupState, InstanceId, JoinRequest, Joined, Leaver, MemberClaim, MemberId,
    Protocol, Settings, SyncRequest,
};
use daybook_types::GroupId;
use tokio::time::Instant;

fn group(name: &str) -> GroupId {
    GroupId::new(name)
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
    let coordinator = Coordinator::start(Settings::default());
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
    assert_eq!(coordinator.listed(&group("g")).unwrap().unwrap().state, GroupState::Stable);
    let listed = coordinator.list().unwrap();
    assert_eq!((&listed[0].group, &*listed[0].protocol_type), (&group("g"), "consumer"));
}

#[tokio::test(start_paused = true)]
async fn members_get_different_ids_and_come_back_with_them() {
    let coordinator = Coordinator::start(Settings::default());
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
    let coordinator = Coordinator::start(Settings::default());
    let request = JoinRequest { client_id: "é".repeat(16_000).into(), ..join_request("g") };
    let joined = coordinator.join(request).await.unwrap();
    assert!(joined.member.as_str().starts_with('é'));
    assert!(joined.member.as_str().len() < 2_000);
}

#[tokio::test(start_paused = true)]
async fn silence_empties_a_group_and_time_forgets_it() {
    let coordinator = Coordinator::start(Settings::default());
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
    let coordinator = Coordinator::start(Settings::default());
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
    let coordinator = Coordinator::start(Settings::default());
    let stranger = MemberClaim { member: MemberId::new("x"), instance: None, generation: Generation(3) };
    let refused = coordinator.join(JoinRequest { member: MemberId::new("x"), ..join_request("g") }).await.unwrap_err();
    assert_eq!((refused.error, refused.member), (GroupError::UnknownMemberId, MemberId::new("x")));
    assert_eq!(coordinator.heartbeat(&group("g"), &stranger), Err(GroupError::UnknownMemberId));
    assert_eq!(coordinator.check_commit(&group("g"), &stranger), Err(GroupError::UnknownMemberId));
    assert_eq!(coordinator.check_commit(&group("g"), &nobody()), Ok(()));
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
    let coordinator = Coordinator::start(Settings::default());
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
    let coordinator = Coordinator::start(Settings::default());
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
    let coordinator = Coordinator::start(Settings::default());
    let waits = tokio::spawn({
        let coordinator = coordinator.clone();
        async move { coordinator.join(join_request("g")).await }
    });
    tokio::time::sleep(Duration::from_millis(1)).await;
    coordinator.close();
    assert_eq!(waits.await.unwrap().unwrap_err().error, GroupError::CoordinatorNotAvailable);
    let refused = coordinator.join(join_request("h")).await.unwrap_err();
    assert_eq!(refused.error, GroupError::CoordinatorNotAvailable);
    assert_eq!(coordinator.check_commit(&group("g"), &nobody()), Err(GroupError::CoordinatorNotAvailable));
    assert_eq!(coordinator.list(), Err(GroupError::CoordinatorNotAvailable));
}

#[tokio::test(start_paused = true)]
async fn groups_are_limited_and_empty_ones_give_way() {
    let coordinator = Coordinator::start(Settings { groups_max: 40, ..Settings::default() });
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
    sole_member(&coordinator, "one more").await;
    assert_eq!(coordinator.list().unwrap().len(), 40);
}

#[tokio::test(start_paused = true)]
async fn bytes_over_all_groups_are_limited() {
    let coordinator = Coordinator::start(Settings { total_bytes_max: 20_000, ..Settings::default() });
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
    let coordinator = Coordinator::start(Settings { initial_rebalance_delay_ms: 5, ..Settings::default() });
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
    assert!(coordinator.list().unwrap().iter().all(|group| group.state == GroupState::Empty));
}
