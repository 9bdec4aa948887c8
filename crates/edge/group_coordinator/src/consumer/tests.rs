//! Random events against the invariants, and clients that behave against what they may expect.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use daybook_group_assignment::{FixedTopics, KnownTopic, Partitions, Topics};
use daybook_types::{GroupId, PartitionId, TopicId};
use proptest::prelude::*;

use super::member::MemberState;
use super::{ConsumerGroup, ConsumerGroupState, ConsumerHeartbeat, HeartbeatAnswer, Timer};
use crate::core::IdSource;
use crate::error::GroupError;
use crate::ident::{Generation, InstanceId, MemberId, MonotonicMs};
use crate::request::{JoinRequest, Leaver, MemberClaim, Protocol, SyncRequest};
use crate::settings::Settings;

const CLIENTS: usize = 6;
/// The first clients are static.
const STATIC_CLIENTS: usize = 2;
/// The last clients speak the classic protocol.
const CLASSIC_FROM: usize = 4;
const TOPICS: [&str; 4] = ["a", "b", "c", "log-1"];

struct Counter(u32);

impl IdSource for Counter {
    fn draw(&mut self) -> String {
        self.0 += 1;
        format!("drawn-{}", self.0)
    }
}

/// A client as it sees itself.
#[derive(Clone, Debug, Default)]
struct Client {
    member: String,
    epoch: i32,
    owned: Partitions,
    topics: BTreeSet<&'static str>,
    regex: Option<&'static str>,
    is_in: bool,
    /// It has been told to give these up and has not said that it did.
    gives_up: Partitions,
}

#[derive(Clone, Debug)]
enum Op {
    Heartbeat { client: usize, acks: bool, answer_lost: bool },
    Subscribe { client: usize, topics: Vec<usize>, regex: bool },
    Restart { client: usize },
    Leave { client: usize, away: bool },
    Pass { duration_ms: u64 },
    Topic { index: usize, partitions: i32 },
}

fn op() -> impl Strategy<Value = Op> {
    let client = 0..CLIENTS;
    prop_oneof![
        12 => (client.clone(), prop::bool::weighted(0.8), prop::bool::weighted(0.1))
            .prop_map(|(client, acks, answer_lost)| Op::Heartbeat { client, acks, answer_lost }),
        2 => (client.clone(), prop::collection::vec(0..TOPICS.len(), 0..3), prop::bool::weighted(0.2))
            .prop_map(|(client, topics, regex)| Op::Subscribe { client, topics, regex }),
        1 => client.clone().prop_map(|client| Op::Restart { client }),
        1 => (client, any::<bool>()).prop_map(|(client, away)| Op::Leave { client, away }),
        4 => prop::sample::select(vec![0, 1, 500, 1_000, 9_000, 46_000]).prop_map(|duration_ms| Op::Pass { duration_ms }),
        1 => (0..TOPICS.len(), 0..7).prop_map(|(index, partitions)| Op::Topic { index, partitions }),
    ]
}

struct World {
    group: ConsumerGroup,
    topics: FixedTopics,
    ids: Counter,
    now: MonotonicMs,
    clients: Vec<Client>,
    incarnations: u32,
}

impl World {
    fn new(assignment_interval_ms: u64) -> Self {
        let mut settings = Settings::default();
        settings.consumer.assignment_interval_ms = assignment_interval_ms;
        let mut topics = FixedTopics::default();
        for (number, name) in (0..).zip(&TOPICS[..2]) {
            topics.put(name, KnownTopic { id: TopicId::from_bytes([number; 16]), partitions: 4 });
        }
        let client = || Client { topics: BTreeSet::from(["a"]), ..Client::default() };
        Self {
            group: ConsumerGroup::new(GroupId::new("g"), Arc::new(settings), MonotonicMs(0)),
            topics,
            ids: Counter(0),
            now: MonotonicMs(0),
            clients: (0..CLIENTS).map(|_| client()).collect(),
            incarnations: 0,
        }
    }

    fn instance(client: usize) -> Option<InstanceId> {
        (client < STATIC_CLIENTS).then(|| InstanceId::new(&format!("i{client}")))
    }

    fn perform(&mut self, op: Op) {
        match op {
            Op::Heartbeat { client, acks, answer_lost } if client < CLASSIC_FROM => {
                self.heartbeat(client, acks, answer_lost);
            }
            Op::Heartbeat { client, .. } => self.classic_turn(client),
            Op::Subscribe { client, topics, regex } => {
                // The classic protocol has no expressions.
                let regex = (regex && client < CLASSIC_FROM).then_some("log-.*");
                let client = &mut self.clients[client];
                client.topics = topics.into_iter().map(|index| TOPICS[index]).collect();
                client.regex = regex;
            }
            Op::Restart { client } => {
                let client = &mut self.clients[client];
                *client = Client { topics: client.topics.clone(), regex: client.regex, ..Client::default() };
            }
            Op::Leave { client, away } => self.leave(client, away),
            Op::Pass { duration_ms } => {
                self.now = self.now.plus(duration_ms);
                self.group.tick(self.now);
            }
            Op::Topic { index, partitions } => {
                let id = TopicId::from_bytes([index as u8; 16]);
                match self.topics.find(TOPICS[index]) {
                    Some(_) if partitions == 0 => self.topics.remove(TOPICS[index]),
                    // A topic that comes again is another one.
                    Some(known) if partitions > known.partitions => {
                        self.topics.put(TOPICS[index], KnownTopic { partitions, ..known });
                    }
                    Some(_) => {}
                    None => self.topics.put(TOPICS[index], KnownTopic { id, partitions }),
                }
            }
        }
    }

    fn request(&mut self, client: usize) -> ConsumerHeartbeat {
        if self.clients[client].member.is_empty() {
            self.incarnations += 1;
            self.clients[client].member = format!("m{client}-{}", self.incarnations);
        }
        let state = &self.clients[client];
        ConsumerHeartbeat {
            group: GroupId::new("g"),
            member: MemberId::new(&state.member),
            epoch: Generation(state.epoch),
            instance: Self::instance(client),
            rack: None,
            client_id: "c".into(),
            client_host: "h".into(),
            rebalance_timeout_ms: Some(10_000),
            names: Some(state.topics.iter().map(|name| (*name).into()).collect()),
            regex: Some(state.regex.unwrap_or_default().into()),
            assignor: None,
            owned: Some(state.owned.clone()),
            makes_its_id: true,
            session_timeout_ms: None,
            heartbeat_interval_ms: None,
        }
    }

    fn heartbeat(&mut self, client: usize, acks: bool, answer_lost: bool) {
        if acks {
            let state = &mut self.clients[client];
            for partition in std::mem::take(&mut state.gives_up) {
                state.owned.remove(&partition);
            }
        }
        let request = self.request(client);
        let answer = self.group.heartbeat(&request, &self.topics, &mut self.ids, self.now);
        if answer_lost {
            return;
        }
        self.receive(client, answer);
    }

    fn receive(&mut self, client: usize, answer: Result<HeartbeatAnswer, GroupError>) {
        let state = &mut self.clients[client];
        match answer {
            Ok(answer) => {
                assert!(answer.epoch >= Generation(state.epoch), "the epoch fell");
                state.is_in = true;
                state.epoch = answer.epoch.0;
                if let Some(assignment) = answer.assignment {
                    state.gives_up = state.owned.difference(&assignment).copied().collect();
                    state.owned.extend(assignment);
                }
            }
            Err(GroupError::UnreleasedInstanceId) => {}
            Err(GroupError::FencedMemberEpoch | GroupError::UnknownMemberId | GroupError::FencedInstanceId) => {
                *state = Client {
                    member: std::mem::take(&mut state.member),
                    topics: state.topics.clone(),
                    regex: state.regex,
                    ..Client::default()
                };
            }
            Err(error) => panic!("refused: {error}"),
        }
    }

    fn leave(&mut self, client: usize, away: bool) {
        if client >= CLASSIC_FROM {
            let member = MemberId::new(&self.clients[client].member);
            self.group.leave_classic(&[Leaver { member, instance: None }], self.now);
        } else {
            let epoch = if away && client < STATIC_CLIENTS { Generation::AWAY } else { Generation::LEAVING };
            let request = ConsumerHeartbeat { epoch, ..self.request(client) };
            // It may not be in.
            let _ = self.group.heartbeat(&request, &self.topics, &mut self.ids, self.now);
        }
        let state = &mut self.clients[client];
        *state = Client { topics: state.topics.clone(), regex: state.regex, ..Client::default() };
    }

    /// A classic client heartbeats, and joins and syncs if it is told to.
    fn classic_turn(&mut self, client: usize) {
        let state = self.clients[client].clone();
        let claim =
            MemberClaim { member: MemberId::new(&state.member), instance: None, generation: Generation(state.epoch) };
        if state.is_in && self.group.heartbeat_classic(&claim, &self.topics, self.now).is_ok() {
            return;
        }
        let request = JoinRequest {
            group: GroupId::new("g"),
            member: claim.member,
            instance: None,
            client_id: "c".into(),
            client_host: "h".into(),
            session_timeout_ms: 45_000,
            rebalance_timeout_ms: 10_000,
            protocol_type: "consumer".into(),
            protocols: vec![Protocol { name: "cooperative".into(), metadata: self.metadata(&state) }],
            member_id_first: false,
            knows_skip_assignment: true,
        };
        let Ok(joined) = self.group.join_classic(&request, &self.topics, &mut self.ids, self.now) else { return };
        let claim = MemberClaim { member: joined.member.clone(), instance: None, generation: joined.generation };
        let sync = SyncRequest {
            group: GroupId::new("g"),
            claim,
            protocol_type: None,
            protocol_name: None,
            assignments: Vec::new(),
        };
        let synced = self.group.sync_classic(&sync, &self.topics, self.now);
        let state = &mut self.clients[client];
        state.member = joined.member.as_str().to_owned();
        state.epoch = joined.generation.0;
        state.is_in = true;
        if let Ok(synced) = synced {
            state.owned = super::embedded::read_assignment(&synced.assignment, &self.topics).unwrap();
        }
    }

    fn metadata(&self, client: &Client) -> Bytes {
        let mut out = Vec::from(1_i16.to_be_bytes());
        out.extend((client.topics.len() as u32).to_be_bytes());
        for topic in &client.topics {
            out.extend((topic.len() as u16).to_be_bytes());
            out.extend(topic.as_bytes());
        }
        out.extend((-1_i32).to_be_bytes());
        let owned: Vec<PartitionId> = client.owned.iter().copied().collect();
        let assignment = super::embedded::write_assignment(1, &owned, &self.topics);
        out.extend(&assignment[2..assignment.len() - 4]);
        out.into()
    }

    fn check(&self) {
        let group = &self.group;
        let mut holders: BTreeMap<PartitionId, &MemberId> = BTreeMap::new();
        for member in group.members.values() {
            for partition in member.holds() {
                assert_eq!(holders.insert(*partition, &member.id), None, "{partition} is held twice");
            }
            assert!(member.epoch <= group.target_epoch);
            assert_eq!(member.to_revoke.is_empty(), member.state != MemberState::Unrevoked || member.is_away());
            assert!(group.timers.is_set(&Timer::Session(member.id.clone())));
            let must_hurry = member.state == MemberState::Unrevoked && member.classic.is_none() && !member.is_away();
            assert!(!must_hurry || group.timers.is_set(&Timer::Rebalance(member.id.clone())));
        }
        let known: BTreeMap<PartitionId, &MemberId> =
            group.holders.iter().map(|(partition, member)| (*partition, member)).collect();
        assert_eq!(known, holders);
        assert!(group.target_epoch <= group.epoch);
        assert_eq!(group.members_bytes, group.members.values().map(|member| member.bytes()).sum::<usize>());
        assert_eq!(group.timers.is_set(&Timer::Retire), group.members.is_empty() && !group.is_dead);
        for (instance, id) in &group.by_instance {
            assert_eq!(group.members[id].instance.as_ref(), Some(instance));
        }
    }

    /// Every client turns up again and again, and does as it is told.
    fn settle(&mut self) {
        for _ in 0..24 {
            self.now = self.now.plus(3_000);
            self.group.tick(self.now);
            for client in 0..CLIENTS {
                self.perform(Op::Heartbeat { client, acks: true, answer_lost: false });
                self.check();
            }
        }
        assert_eq!(self.group.state(), ConsumerGroupState::Stable, "{:#?}", self.group);
        let wanted: BTreeSet<PartitionId> = self.clients.iter().flat_map(|client| self.wanted(client)).collect();
        let owned: Vec<PartitionId> = self.clients.iter().flat_map(|client| client.owned.iter().copied()).collect();
        assert_eq!(owned.len(), owned.iter().collect::<BTreeSet<_>>().len(), "two clients think it is theirs");
        assert_eq!(owned.into_iter().collect::<BTreeSet<_>>(), wanted);
    }

    fn wanted(&self, client: &Client) -> Vec<PartitionId> {
        let mut names = client.topics.clone();
        if client.regex.is_some() {
            names.insert("log-1");
        }
        let topics = names.into_iter().filter_map(|name| self.topics.find(name));
        topics
            .flat_map(|topic| {
                (0..topic.partitions)
                    .map(move |index| PartitionId { topic: topic.id, index: daybook_types::PartitionIndex(index) })
            })
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_partition_has_two_holders_and_all_are_given_in_the_end(
        ops in prop::collection::vec(op(), 1..120),
        assignment_interval_ms in prop::sample::select(vec![0, 1_000]),
    ) {
        let mut world = World::new(assignment_interval_ms);
        let mut epoch = Generation(0);
        for op in ops {
            if world.group.is_dead {
                let interval_ms = world.group.settings.consumer.assignment_interval_ms;
                let (topics, now) = (world.topics.clone(), world.now);
                world = World { topics, now, ..World::new(interval_ms) };
                world.group.timers.set(Timer::Retire, now.plus(600_000));
                epoch = Generation(0);
            }
            world.perform(op);
            world.check();
            prop_assert!(world.group.epoch >= epoch, "the group's epoch fell");
            epoch = world.group.epoch;
        }
        if !world.group.is_dead {
            world.settle();
        }
    }
}
