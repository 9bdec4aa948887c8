//! Random events never break the invariants that the parent module states, and whoever waits is answered by deadlines alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use daybook_types::GroupId;
use proptest::prelude::*;

use super::roster::Roster;
use super::timers::Timer;
use super::{Effect, Group, GroupState, IdSource, WaiterId};
use crate::error::GroupError;
use crate::ident::{Generation, InstanceId, MemberId, MonotonicMs};
use crate::request::{JoinRequest, Leaver, MemberClaim, Protocol, SyncRequest};
use crate::settings::Settings;

const CLIENTS: usize = 5;
/// The first clients are static.
const STATIC_CLIENTS: usize = 2;

#[derive(Clone, Debug)]
enum Op {
    Join {
        client: usize,
        forgot: bool,
        id_first: bool,
        protocols: usize,
        rebalance_timeout_ms: i32,
    },
    Sync {
        client: usize,
    },
    Heartbeat {
        client: usize,
    },
    Commit {
        client: usize,
    },
    Leave {
        clients: Vec<usize>,
    },
    /// Time passes; whether the timer got its turn.
    Pass {
        duration_ms: u64,
        ticks: bool,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let client = 0..CLIENTS;
    prop_oneof![
        6 => (client.clone(), prop::bool::weighted(0.2), any::<bool>(), 0..4_usize, prop::sample::select(vec![0, 4_000, 20_000]))
            .prop_map(|(client, forgot, id_first, protocols, rebalance_timeout_ms)| Op::Join {
                client, forgot, id_first, protocols, rebalance_timeout_ms
            }),
        4 => client.clone().prop_map(|client| Op::Sync { client }),
        2 => client.clone().prop_map(|client| Op::Heartbeat { client }),
        1 => client.clone().prop_map(|client| Op::Commit { client }),
        1 => prop::collection::vec(client, 1..3).prop_map(|clients| Op::Leave { clients }),
        4 => (prop::sample::select(vec![0, 1, 499, 500, 3_000, 6_000, 25_000]), prop::bool::weighted(0.8))
            .prop_map(|(duration_ms, ticks)| Op::Pass { duration_ms, ticks }),
    ]
}

struct Counter(u32);

impl IdSource for Counter {
    fn draw(&mut self) -> String {
        self.0 += 1;
        self.0.to_string()
    }
}

struct World {
    group: Group,
    settings: Arc<Settings>,
    ids: Counter,
    now: MonotonicMs,
    members: Vec<MemberId>,
    generations: Vec<Generation>,
    waiting: BTreeSet<(WaiterId, usize)>,
    last_waiter: u64,
}

impl World {
    fn new(settings: Settings) -> Self {
        let settings = Arc::new(settings);
        Self {
            group: Group::new(GroupId::new("g"), settings.clone(), MonotonicMs(0)),
            settings,
            ids: Counter(0),
            now: MonotonicMs(0),
            members: vec![MemberId::none(); CLIENTS],
            generations: vec![Generation::NONE; CLIENTS],
            waiting: BTreeSet::new(),
            last_waiter: 0,
        }
    }

    fn instance(client: usize) -> Option<InstanceId> {
        (client < STATIC_CLIENTS).then(|| InstanceId::new(&format!("i{client}")))
    }

    fn claim(&self, client: usize) -> MemberClaim {
        MemberClaim {
            member: self.members[client].clone(),
            instance: Self::instance(client),
            generation: self.generations[client],
        }
    }

    fn wait(&mut self, client: usize) -> WaiterId {
        self.last_waiter += 1;
        self.waiting.insert((WaiterId(self.last_waiter), client));
        WaiterId(self.last_waiter)
    }

    fn perform(&mut self, op: Op) {
        let effects = match op {
            Op::Join { client, forgot, id_first, protocols, rebalance_timeout_ms } => {
                if forgot {
                    self.members[client] = MemberId::none();
                }
                let request = self.join_request(client, id_first, protocols, rebalance_timeout_ms);
                let waiter = self.wait(client);
                self.group.join(&request, waiter, &mut self.ids, self.now)
            }
            Op::Sync { client } => {
                let request = SyncRequest {
                    group: GroupId::new("g"),
                    claim: self.claim(client),
                    protocol_type: None,
                    protocol_name: None,
                    assignments: self.members.iter().map(|id| (id.clone(), Bytes::from_static(b"part"))).collect(),
                };
                let waiter = self.wait(client);
                self.group.sync(&request, waiter, self.now)
            }
            Op::Heartbeat { client } => {
                // Either outcome is fine; the invariants are what counts.
                let _ = self.group.heartbeat(&self.claim(client), self.now);
                Vec::new()
            }
            Op::Commit { client } => {
                let outcome = self.group.check_commit(&self.claim(client), self.now);
                if outcome == Ok(()) && !self.generations[client].is_none() {
                    assert_eq!(self.generations[client], self.group.generation);
                    assert_ne!(self.group.state, GroupState::CompletingRebalance);
                }
                Vec::new()
            }
            Op::Leave { clients } => {
                let leavers: Vec<Leaver> = clients
                    .iter()
                    .map(|client| Leaver { member: self.members[*client].clone(), instance: Self::instance(*client) })
                    .collect();
                let (left, effects) = self.group.leave(&leavers, self.now);
                assert_eq!(left.len(), leavers.len());
                effects
            }
            Op::Pass { duration_ms, ticks } => {
                self.now = self.now.plus(duration_ms);
                if ticks { self.group.tick(self.now) } else { Vec::new() }
            }
        };
        self.receive(effects);
    }

    fn join_request(&self, client: usize, id_first: bool, protocols: usize, rebalance_timeout_ms: i32) -> JoinRequest {
        let protocols = [&["range"][..], &["rr", "range"], &["range", "rr"], &["sticky"]][protocols];
        JoinRequest {
            group: GroupId::new("g"),
            member: self.members[client].clone(),
            instance: Self::instance(client),
            client_id: "c".into(),
            client_host: "h".into(),
            session_timeout_ms: 6_000,
            rebalance_timeout_ms,
            protocol_type: "consumer".into(),
            protocols: protocols.iter().map(|name| Protocol { name: (*name).into(), metadata: Bytes::new() }).collect(),
            member_id_first: id_first,
            knows_skip_assignment: id_first,
        }
    }

    fn receive(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let (Effect::AnswerJoin { waiter, .. } | Effect::AnswerSync { waiter, .. }) = &effect;
            let place = *self.waiting.iter().find(|(id, _)| id == waiter).expect("one answer a request");
            self.waiting.remove(&place);
            if let Effect::AnswerJoin { answer, .. } = effect {
                match answer {
                    Ok(joined) => {
                        assert!(joined.skip_assignment || joined.members.is_empty() || joined.leader == joined.member);
                        self.members[place.1] = joined.member;
                        self.generations[place.1] = joined.generation;
                    }
                    Err(refused) if refused.error == GroupError::MemberIdRequired => {
                        self.members[place.1] = refused.member;
                    }
                    Err(_) => {}
                }
            }
        }
    }

    /// Nobody says anything any more: deadlines alone must answer everyone and empty the group.
    fn fall_silent(&mut self) {
        let mut ticks = 0;
        while let Some(deadline) = self.group.next_deadline() {
            ticks += 1;
            assert!(ticks < 1_000, "the group never comes to rest: {:?}", self.group);
            self.now = deadline.max(self.now);
            let effects = self.group.tick(self.now);
            assert!(self.group.next_deadline().is_none_or(|next| next > self.now));
            self.receive(effects);
            check(&self.group);
        }
        assert_eq!(self.group.state, GroupState::Dead);
        assert!(self.waiting.is_empty(), "never answered: {:?}", self.waiting);
    }
}

fn check(group: &Group) {
    check_roster(&group.roster);
    let set = |timer| group.timers.is_set(&timer);
    let state = group.state;
    assert_eq!(group.roster.is_empty(), matches!(state, GroupState::Empty | GroupState::Dead));
    assert_eq!(set(Timer::Join), state == GroupState::PreparingRebalance);
    assert_eq!(set(Timer::Retire), state == GroupState::Empty);
    assert!(set(Timer::Sync) || state != GroupState::CompletingRebalance);
    assert!(!set(Timer::Sync) || matches!(state, GroupState::CompletingRebalance | GroupState::Stable));
    assert!(group.gathering.is_none() || state == GroupState::PreparingRebalance);
    for member in group.roster.iter() {
        assert!(!member.is_joining() || state == GroupState::PreparingRebalance);
        assert!(member.sync_waiter.is_none() || state == GroupState::CompletingRebalance);
        assert!(!member.may_expire() || set(Timer::Session(member.id.clone())));
        assert!(!member.is_new || member.is_joining());
        let name = group.protocol_name.as_deref();
        let is_decided = matches!(state, GroupState::CompletingRebalance | GroupState::Stable);
        assert!(!is_decided || name.is_some_and(|name| member.protocols.metadata(name).is_some()));
    }
    assert!(group.roster.pending().all(|id| set(Timer::Session(id.clone()))));
    assert!(group.effects.is_empty());
    let all_joined = group.roster.have_all_joined() && group.gathering.is_none();
    assert!(state != GroupState::PreparingRebalance || !all_joined, "a rebalance that waits for nobody");
}

fn check_roster(roster: &Roster) {
    let ids = roster.ids();
    match roster.leader() {
        Some(leader) => assert!(roster.contains(leader)),
        None => assert!(ids.is_empty()),
    }
    assert!(roster.pending().all(|id| !roster.contains(id)), "both pending and a member");
    let joining_count = roster.iter().filter(|member| member.is_joining()).count();
    assert_eq!(roster.joining_count(), joining_count);
    let by_instance: Vec<_> =
        roster.iter().filter_map(|member| member.instance.as_ref().map(|instance| (instance, &member.id))).collect();
    assert_eq!(by_instance.len(), roster.instances().len());
    assert!(by_instance.iter().all(|(instance, id)| roster.of_instance(instance) == Some(*id)));
    let member_bytes: usize = roster.iter().map(|member| member.bytes()).sum();
    let pending_bytes: usize = roster.pending().map(super::roster::pending_bytes).sum();
    assert_eq!(roster.bytes(), member_bytes + pending_bytes);
    assert!(ids.is_empty() || roster.elect_protocol().is_some(), "members that share no protocol");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn random_events_keep_the_invariants(
        ops in prop::collection::vec(op(), 1..120),
        initial_rebalance_delay_ms in prop::sample::select(vec![0, 500, 3_000]),
        group_size_max in prop::sample::select(vec![1, 3, 100]),
        group_bytes_max in prop::sample::select(vec![2_000, 1_000_000]),
    ) {
        let settings =
            Settings { initial_rebalance_delay_ms, group_size_max, group_bytes_max, ..Settings::default() };
        let mut world = World::new(settings);
        let mut generation = world.group.generation;
        for op in ops {
            if world.group.state == GroupState::Dead {
                prop_assert!(world.waiting.is_empty());
                world.group = Group::new(GroupId::new("g"), world.settings.clone(), world.now);
                generation = Generation(0);
            }
            world.perform(op);
            check(&world.group);
            prop_assert!(world.group.generation >= generation);
            generation = world.group.generation;
            prop_assert!(world.group.roster.bytes() <= group_bytes_max + group_bytes_max / 2);
        }
        world.fall_silent();
    }

    /// Clients that behave, in whatever order they are heard, end up in one stable generation.
    #[test]
    fn well_behaved_clients_settle(order in prop::collection::vec(0..CLIENTS, 0..60), id_first in any::<bool>()) {
        let mut world = World::new(Settings { initial_rebalance_delay_ms: 0, ..Settings::default() });
        for client in order.into_iter().chain((0..CLIENTS).cycle().take(CLIENTS * 12)) {
            if world.waiting.iter().any(|(_, waits)| *waits == client) {
                world.perform(Op::Pass { duration_ms: 1, ticks: true });
                continue;
            }
            match world.group.heartbeat(&world.claim(client), world.now) {
                Ok(()) => world.perform(Op::Sync { client }),
                Err(_) => world.perform(Op::Join {
                    client, forgot: false, id_first, protocols: 0, rebalance_timeout_ms: 20_000
                }),
            }
            check(&world.group);
        }
        prop_assert_eq!(world.group.state, GroupState::Stable);
        prop_assert_eq!(world.group.roster.len(), CLIENTS);
        prop_assert!(world.waiting.is_empty());
    }
}
