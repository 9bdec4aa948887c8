//! Runs the scripts in `tests/consumer_scripts`, of groups of the new protocol: a line is an event at a simulated time, the
//! indented lines after it are everything that came of it. With `UPDATE_SCRIPTS=1` the indented lines are written anew; read them
//! before you keep them.
//!
//! A name stands for one client, and is its member id until `restart NAME ID`. It remembers its epoch and what it was told it has.
//!
//! ```text
//! settings key=value …
//! topic NAME PARTITIONS | drop NAME
//! join NAME [option=value …]     with epoch 0; options: topics=a,b regex= assignor= instance= timeout=
//! beat NAME [option=value …]     says nothing but the options, and epoch= to lie
//! ack NAME                       says that it has what it was told, and nothing else
//! leave NAME | away NAME | restart NAME ID
//! commit NAME|- [epoch=N] PARTITION … | fetch NAME [epoch=N]
//! old-join NAME topics=a [owned=a0,…] | old-sync NAME | old-beat NAME | old-leave NAME      by the classic protocol
//! wait MS
//! group
//! ```

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use daybook_group_assignment::{FixedTopics, KnownTopic, Partitions, Topics};
use daybook_group_coordinator::core::IdSource;
use daybook_group_coordinator::{
    CommitPermit, ConsumerGroup, ConsumerHeartbeat, Generation, InstanceId, JoinRequest, Leaver, MemberClaim, MemberId,
    MonotonicMs, Protocol, Settings, SyncRequest,
};
use daybook_types::{GroupId, PartitionId, PartitionIndex, TopicId};

#[test]
fn consumer_scripts_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/consumer_scripts");
    let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let mut wrong = Vec::new();
    for path in paths {
        let written = std::fs::read_to_string(&path).unwrap();
        let happened = run(&written);
        if happened == written {
            continue;
        }
        if std::env::var_os("UPDATE_SCRIPTS").is_some() {
            std::fs::write(&path, happened).unwrap();
        } else {
            let differs = written.lines().zip(happened.lines()).find(|(left, right)| left != right);
            wrong.push(format!("{}: {differs:?}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The script with its indented lines replaced by what happens.
fn run(script: &str) -> String {
    let mut stage = Stage::new();
    let mut out = String::new();
    for line in script.lines() {
        if line.starts_with("  ") {
            continue;
        }
        writeln!(out, "{line}").unwrap();
        if !line.is_empty() && !line.starts_with('#') {
            for happened in stage.perform(line) {
                writeln!(out, "  {happened}").unwrap();
            }
        }
    }
    out
}

struct NoIds;

impl IdSource for NoIds {
    fn draw(&mut self) -> String {
        "drawn".into()
    }
}

#[derive(Clone, Default)]
struct Client {
    id: String,
    instance: Option<String>,
    epoch: i32,
    has: Partitions,
    old_topics: String,
}

struct Stage {
    settings: Settings,
    group: Option<ConsumerGroup>,
    topics: FixedTopics,
    clients: HashMap<String, Client>,
    now: MonotonicMs,
}

impl Stage {
    fn new() -> Self {
        let topics = FixedTopics::default();
        Self { settings: Settings::default(), group: None, topics, clients: HashMap::new(), now: MonotonicMs(0) }
    }

    fn group(&mut self) -> &mut ConsumerGroup {
        let (settings, now) = (self.settings.clone(), self.now);
        self.group.get_or_insert_with(|| ConsumerGroup::new(GroupId::new("g"), Arc::new(settings), now))
    }

    fn perform(&mut self, line: &str) -> Vec<String> {
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap();
        let rest: Vec<&str> = words.collect();
        let options: HashMap<&str, &str> = rest.iter().filter_map(|word| word.split_once('=')).collect();
        let plain: Vec<&str> = rest.iter().filter(|word| !word.contains('=')).copied().collect();
        match verb {
            "settings" => options.iter().for_each(|(key, value)| self.set(key, value.parse().unwrap())),
            "topic" => {
                let id = TopicId::from_bytes([plain[0].as_bytes()[0]; 16]);
                self.topics.put(plain[0], KnownTopic { id, partitions: plain[1].parse().unwrap() });
            }
            "drop" => self.topics.remove(plain[0]),
            "join" => return self.join(plain[0], &options),
            "beat" => return self.beat(plain[0], &options),
            "ack" => {
                let has = self.clients[plain[0]].has.clone();
                return self.say(plain[0], |request| request.owned = Some(has));
            }
            "leave" => return self.say(plain[0], |request| request.epoch = Generation::LEAVING),
            "away" => return self.say(plain[0], |request| request.epoch = Generation::AWAY),
            "restart" => {
                let client = self.clients.get_mut(plain[0]).unwrap();
                *client = Client { id: plain[1].into(), instance: client.instance.clone(), ..Client::default() };
            }
            "commit" => return self.commit(plain[0], &options, &plain[1..]),
            "fetch" => {
                let client = self.clients[plain[0]].clone();
                let epoch = options.get("epoch").map_or(client.epoch, |epoch| epoch.parse().unwrap());
                let outcome = self.group().check_fetch(&MemberId::new(&client.id), Generation(epoch));
                return vec![outcome.map_or_else(|error| format!("refused: {error:?}"), |()| "ok".into())];
            }
            "old-join" => return self.old_join(plain[0], &options),
            "old-sync" => return self.old_sync(plain[0]),
            "old-beat" => {
                let (claim, now, topics) = (self.claim(plain[0]), self.now, self.topics.clone());
                let outcome = self.group().heartbeat_classic(&claim, &topics, now);
                return vec![outcome.map_or_else(|error| format!("refused: {error:?}"), |()| "ok".into())];
            }
            "old-leave" => {
                let (member, now) = (MemberId::new(&self.clients[plain[0]].id), self.now);
                let left = self.group().leave_classic(&[Leaver { member, instance: None }], now);
                return vec![format!("{:?}", left[0].outcome)];
            }
            "wait" => {
                self.now = self.now.plus(plain[0].parse().unwrap());
                let now = self.now;
                self.group().tick(now);
            }
            "group" => return self.describe(),
            _ => panic!("no verb {verb}"),
        }
        Vec::new()
    }

    fn set(&mut self, key: &str, value: u64) {
        let consumer = &mut self.settings.consumer;
        match key {
            "interval" => consumer.assignment_interval_ms = value,
            "size" => consumer.group_size_max = value as usize,
            "bytes" => self.settings.group_bytes_max = value as usize,
            _ => panic!("no setting {key}"),
        }
    }

    fn join(&mut self, name: &str, options: &HashMap<&str, &str>) -> Vec<String> {
        let client = self.clients.entry(name.into()).or_insert_with(|| Client { id: name.into(), ..Client::default() });
        client.epoch = 0;
        client.has.clear();
        if let Some(instance) = options.get("instance") {
            client.instance = Some((*instance).into());
        }
        self.say(name, |request| {
            request.names = Some([].into());
            request.rebalance_timeout_ms = Some(10_000);
            request.owned = Some(Partitions::new());
            apply(request, options);
        })
    }

    fn beat(&mut self, name: &str, options: &HashMap<&str, &str>) -> Vec<String> {
        self.say(name, |request| apply(request, options))
    }

    fn say(&mut self, name: &str, what: impl FnOnce(&mut ConsumerHeartbeat)) -> Vec<String> {
        let client = self.clients[name].clone();
        let mut request = ConsumerHeartbeat {
            group: GroupId::new("g"),
            member: MemberId::new(&client.id),
            epoch: Generation(client.epoch),
            instance: client.instance.as_deref().map(InstanceId::new),
            rack: None,
            client_id: "c".into(),
            client_host: "h".into(),
            rebalance_timeout_ms: None,
            names: None,
            regex: None,
            assignor: None,
            owned: None,
            makes_its_id: true,
            session_timeout_ms: None,
            heartbeat_interval_ms: None,
        };
        what(&mut request);
        let (topics, now) = (self.topics.clone(), self.now);
        match self.group().heartbeat(&request, &topics, &mut NoIds, now) {
            Err(error) => vec![format!("refused: {error:?}")],
            Ok(answer) => {
                let told = answer.assignment.as_ref().map(|has| format!(", has {}", self.shown(has)));
                let client = self.clients.get_mut(name).unwrap();
                client.epoch = answer.epoch.0;
                if let Some(assignment) = answer.assignment {
                    client.has = assignment;
                }
                let hastily = if answer.interval_ms > 0 && answer.interval_ms < 5_000 { ", soon again" } else { "" };
                vec![format!("epoch {}{}{hastily}", answer.epoch, told.unwrap_or_default())]
            }
        }
    }

    fn commit(&mut self, name: &str, options: &HashMap<&str, &str>, partitions: &[&str]) -> Vec<String> {
        let mut claim = if name == "-" {
            MemberClaim { member: MemberId::none(), instance: None, generation: Generation::NONE }
        } else {
            self.claim(name)
        };
        if let Some(epoch) = options.get("epoch") {
            claim.generation = Generation(epoch.parse().unwrap());
        }
        let knows_epochs = options.get("v").is_none_or(|version| version.parse::<i16>().unwrap() >= 9);
        match self.group().check_commit(&claim, knows_epochs) {
            Err(error) => vec![format!("refused: {error:?}")],
            Ok(CommitPermit::Any) => vec!["ok".into()],
            Ok(permit) => partitions
                .iter()
                .map(|partition| format!("{partition}: {:?}", permit.check(parse(partition))))
                .collect(),
        }
    }

    fn claim(&self, name: &str) -> MemberClaim {
        let client = &self.clients[name];
        MemberClaim { member: MemberId::new(&client.id), instance: None, generation: Generation(client.epoch) }
    }

    fn old_join(&mut self, name: &str, options: &HashMap<&str, &str>) -> Vec<String> {
        let client = self.clients.entry(name.into()).or_insert_with(|| Client { id: name.into(), ..Client::default() });
        if let Some(topics) = options.get("topics") {
            client.old_topics = (*topics).into();
        }
        if let Some(owned) = options.get("owned") {
            client.has = owned.split(',').filter(|owned| !owned.is_empty()).map(parse).collect();
        }
        let client = client.clone();
        let protocol = options.get("protocol").copied().unwrap_or("cooperative");
        let request = JoinRequest {
            group: GroupId::new("g"),
            member: MemberId::new(&client.id),
            instance: None,
            client_id: "c".into(),
            client_host: "h".into(),
            session_timeout_ms: 30_000,
            rebalance_timeout_ms: 10_000,
            protocol_type: "consumer".into(),
            protocols: vec![Protocol { name: protocol.into(), metadata: self.metadata(&client) }],
            member_id_first: true,
            knows_skip_assignment: true,
        };
        let (topics, now) = (self.topics.clone(), self.now);
        match self.group().join_classic(&request, &topics, &mut NoIds, now) {
            Err(refused) => vec![format!("refused: {:?}", refused.error)],
            Ok(joined) => {
                self.clients.get_mut(name).unwrap().epoch = joined.generation.0;
                vec![format!(
                    "generation {} by {}, leader {:?}",
                    joined.generation,
                    joined.protocol_name,
                    joined.leader.as_str()
                )]
            }
        }
    }

    fn old_sync(&mut self, name: &str) -> Vec<String> {
        let claim = self.claim(name);
        let request = SyncRequest {
            group: GroupId::new("g"),
            claim,
            protocol_type: Some("consumer".into()),
            protocol_name: None,
            assignments: Vec::new(),
        };
        let (topics, now) = (self.topics.clone(), self.now);
        match self.group().sync_classic(&request, &topics, now) {
            Err(error) => vec![format!("refused: {error:?}")],
            Ok(synced) => vec![format!("has {}", shown_assignment(&synced.assignment))],
        }
    }

    /// Version 1: topics, no user data, what is owned.
    fn metadata(&self, client: &Client) -> Bytes {
        let mut out = vec![0, 1];
        let topics: Vec<&str> = client.old_topics.split(',').collect();
        out.extend((topics.len() as u32).to_be_bytes());
        for topic in topics {
            out.extend((topic.len() as u16).to_be_bytes());
            out.extend(topic.as_bytes());
        }
        out.extend((-1_i32).to_be_bytes());
        out.extend((client.has.len() as u32).to_be_bytes());
        for partition in &client.has {
            let name = self.topics.name(partition.topic).unwrap();
            out.extend((name.len() as u16).to_be_bytes());
            out.extend(name.as_bytes());
            out.extend(1_u32.to_be_bytes());
            out.extend(partition.index.0.to_be_bytes());
        }
        out.into()
    }

    fn describe(&mut self) -> Vec<String> {
        let described = self.group().describe();
        let mut lines = vec![format!(
            "{} epoch {}, target {}, {}",
            described.state.as_str(),
            described.epoch,
            described.target_epoch,
            described.assignor
        )];
        for member in described.members {
            let kind = if member.speaks_classic { " (classic)" } else { "" };
            lines.push(format!(
                "{}{kind} at {}: {} of {}",
                member.member,
                member.epoch,
                self.shown(&member.assigned),
                self.shown(&member.target)
            ));
        }
        lines
    }

    fn shown(&self, partitions: &Partitions) -> String {
        let shown = |partition: &PartitionId| format!("{}{}", partition.topic.as_bytes()[0] as char, partition.index);
        let list: Vec<String> = partitions.iter().map(shown).collect();
        if list.is_empty() { "nothing".into() } else { list.join(" ") }
    }
}

fn apply(request: &mut ConsumerHeartbeat, options: &HashMap<&str, &str>) {
    for (key, value) in options {
        match *key {
            "topics" => {
                request.names = Some(value.split(',').filter(|name| !name.is_empty()).map(Into::into).collect());
            }
            "regex" => request.regex = Some((*value).into()),
            "assignor" => request.assignor = Some((*value).into()),
            "epoch" => request.epoch = Generation(value.parse().unwrap()),
            "timeout" => request.rebalance_timeout_ms = Some(value.parse().unwrap()),
            "instance" => {}
            "owned" => request.owned = Some(value.split(',').filter(|owned| !owned.is_empty()).map(parse).collect()),
            _ => panic!("no option {key}"),
        }
    }
}

/// `a3`: partition 3 of the topic whose name begins with a.
fn parse(partition: &str) -> PartitionId {
    let topic = TopicId::from_bytes([partition.as_bytes()[0]; 16]);
    PartitionId { topic, index: PartitionIndex(partition[1..].parse().unwrap()) }
}

/// Version, topics with their partitions, no user data; names of one letter.
fn shown_assignment(bytes: &[u8]) -> String {
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, mut list) = (6, Vec::new());
    for _ in 0..number(2) {
        let topic = bytes[at + 2] as char;
        let count = number(at + 3);
        at += 7;
        for _ in 0..count {
            list.push(format!("{topic}{}", number(at)));
            at += 4;
        }
    }
    if list.is_empty() { "nothing".into() } else { list.join(" ") }
}
