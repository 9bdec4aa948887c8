//! Runs the scripts in `tests/scripts`: a line is an event at a simulated time, the indented lines after it are everything
//! that came of it. With `UPDATE_SCRIPTS=1` the indented lines are written anew; read them before you keep them.
//!
//! A name stands for one client. It remembers its member id, its generation and the options it was last given, and
//! `restart` makes it forget the first two. Its member ids are `<name>-<n>` (`<instance>-<n>` for a static member).
//!
//! ```text
//! settings key=value …           before anything else
//! join NAME [option=value …]     with the id it was given first, if the version asks for one
//! ask NAME [option=value …]      the first of these two joins only
//! sync NAME [NAME:assignment …]
//! heartbeat NAME | commit [NAME] | leave NAME … | leave NAME@ID … | leave instance:ID …
//! restart NAME
//! wait MS                        does what falls due, in order; effects carry the time
//! group | delete | close
//! options: v instance session rebalance type protocols=name:metadata,… topics=a,b[+rest] ; for one event only: id generation
//! ```

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use daybook_group_coordinator::core::{Effect, IdSource, WaiterId};
use daybook_group_coordinator::{
    Generation, Group, GroupError, InstanceId, JoinRequest, Leaver, MemberClaim, MemberId, MonotonicMs, Protocol,
    Settings, SyncRequest,
};
use daybook_types::GroupId;

#[test]
fn scripts_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
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
            wrong.push(format!("{}\n{}", path.display(), first_difference(&written, &happened)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn first_difference(written: &str, happened: &str) -> String {
    let (mut written, mut happened) = (written.lines(), happened.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (written.next(), happened.next()) {
            (left, right) if left == right => {}
            (left, right) => return format!("line {number}\n  written:  {left:?}\n  happened: {right:?}"),
        }
    }
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

struct Counter(u32);

impl IdSource for Counter {
    fn draw(&mut self) -> String {
        self.0 += 1;
        self.0.to_string()
    }
}

#[derive(Clone)]
struct Client {
    id: MemberId,
    generation: Generation,
    options: BTreeMap<String, String>,
}

struct Stage {
    settings: Settings,
    group: Option<Group>,
    ids: Counter,
    now: MonotonicMs,
    clients: HashMap<String, Client>,
    waiters: HashMap<WaiterId, String>,
    next_waiter: u64,
}

impl Stage {
    fn new() -> Self {
        Self {
            settings: Settings { initial_rebalance_delay_ms: 0, ..Settings::default() },
            group: None,
            ids: Counter(0),
            now: MonotonicMs(0),
            clients: HashMap::new(),
            waiters: HashMap::new(),
            next_waiter: 0,
        }
    }

    fn group(&mut self) -> &mut Group {
        let (settings, now) = (self.settings.clone(), self.now);
        self.group.get_or_insert_with(|| Group::new(GroupId::new("g"), Arc::new(settings), now))
    }

    fn perform(&mut self, line: &str) -> Vec<String> {
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap();
        let words: Vec<&str> = words.collect();
        match verb {
            "settings" => self.set(&words),
            "join" => self.join(&words, true),
            "ask" => self.join(&words, false),
            "sync" => self.sync(&words),
            "heartbeat" => {
                let claim = self.claim(words[0], &words[1..]);
                let (now, outcome) = (self.now, words[0]);
                vec![format!("{outcome} {}", shown(self.group().heartbeat(&claim, now)))]
            }
            "commit" => self.commit(&words),
            "leave" => self.leave(&words),
            "restart" => {
                let client = self.clients.get_mut(words[0]).unwrap();
                client.id = MemberId::none();
                client.generation = Generation::NONE;
                Vec::new()
            }
            "wait" => self.wait(words[0].parse().unwrap()),
            "group" => self.describe(),
            "delete" => vec![shown(self.group().may_delete())],
            "close" => {
                let effects = self.group().close(GroupError::CoordinatorNotAvailable);
                self.shown_effects(effects)
            }
            other => panic!("no such verb: {other}"),
        }
    }

    fn set(&mut self, words: &[&str]) -> Vec<String> {
        for word in words {
            let (key, value) = word.split_once('=').unwrap();
            let number: u64 = value.parse().unwrap();
            match key {
                "initial_delay" => self.settings.initial_rebalance_delay_ms = number,
                "group_size_max" => self.settings.group_size_max = number as usize,
                "group_bytes_max" => self.settings.group_bytes_max = number as usize,
                "new_member_join_timeout" => self.settings.new_member_join_timeout_ms = number,
                "retention" => self.settings.empty_group_retention_ms = number,
                other => panic!("no such setting: {other}"),
            }
        }
        Vec::new()
    }

    /// The client as it is for this event: what is said of `id` and `generation` is forgotten afterwards.
    fn client(&mut self, name: &str, words: &[&str]) -> Client {
        let client = self.clients.entry(name.to_owned()).or_insert_with(|| Client {
            id: MemberId::none(),
            generation: Generation::NONE,
            options: BTreeMap::new(),
        });
        let mut once = None;
        for word in words {
            match word.split_once('=') {
                Some(("id", id)) => once.get_or_insert_with(|| client.clone()).id = MemberId::new(id),
                Some(("generation", number)) => {
                    once.get_or_insert_with(|| client.clone()).generation = Generation(number.parse().unwrap());
                }
                Some((key, value)) => {
                    client.options.insert(key.to_owned(), value.to_owned());
                }
                None => {}
            }
        }
        let mut client = client.clone();
        if let Some(once) = once {
            (client.id, client.generation) = (once.id, once.generation);
        }
        client
    }

    fn claim(&mut self, name: &str, words: &[&str]) -> MemberClaim {
        let client = self.client(name, words);
        let instance = client.options.get("instance").map(|id| InstanceId::new(id));
        MemberClaim { member: client.id, instance, generation: client.generation }
    }

    fn waiter(&mut self, name: &str) -> WaiterId {
        self.next_waiter += 1;
        self.waiters.insert(WaiterId(self.next_waiter), name.to_owned());
        WaiterId(self.next_waiter)
    }

    fn join(&mut self, words: &[&str], goes_on: bool) -> Vec<String> {
        let name = words[0];
        let client = self.client(name, &words[1..]);
        let request = join_request(name, &client);
        let mut shown = self.send_join(name, &request);
        let got_id = shown.iter().any(|line| line.contains("MemberIdRequired"));
        if goes_on && got_id {
            let member = self.clients[name].id.clone();
            shown = self.send_join(name, &JoinRequest { member, ..request });
        }
        shown
    }

    fn send_join(&mut self, name: &str, request: &JoinRequest) -> Vec<String> {
        let waiter = self.waiter(name);
        let now = self.now;
        let mut ids = Counter(self.ids.0);
        let effects = self.group().join(request, waiter, &mut ids, now);
        self.ids = ids;
        self.shown_effects(effects)
    }

    fn sync(&mut self, words: &[&str]) -> Vec<String> {
        let name = words[0];
        let claim = self.claim(name, &words[1..]);
        let assignments = words[1..]
            .iter()
            .filter_map(|word| word.split_once(':'))
            .map(|(member, bytes)| (self.id_of(member), Bytes::copy_from_slice(bytes.as_bytes())))
            .collect();
        let option = |key| words.iter().find_map(|word| word.strip_prefix(key)).map(Arc::from);
        let request = SyncRequest {
            group: GroupId::new("g"),
            claim,
            protocol_type: option("type="),
            protocol_name: option("protocol="),
            assignments,
        };
        let waiter = self.waiter(name);
        let now = self.now;
        let effects = self.group().sync(&request, waiter, now);
        self.shown_effects(effects)
    }

    /// A client's id, or the word itself where no client has that name.
    fn id_of(&self, word: &str) -> MemberId {
        self.clients.get(word).map_or_else(|| MemberId::new(word), |client| client.id.clone())
    }

    fn commit(&mut self, words: &[&str]) -> Vec<String> {
        let now = self.now;
        let (name, claim) = match words.first() {
            Some(name) => (*name, self.claim(name, &words[1..])),
            None => {
                let nobody = MemberClaim { member: MemberId::none(), instance: None, generation: Generation::NONE };
                ("simple", nobody)
            }
        };
        vec![format!("{name} {}", shown(self.group().check_commit(&claim, now)))]
    }

    fn leave(&mut self, words: &[&str]) -> Vec<String> {
        let leavers: Vec<Leaver> = words
            .iter()
            .map(|word| match word.strip_prefix("instance:") {
                Some(instance) => Leaver { member: MemberId::none(), instance: Some(InstanceId::new(instance)) },
                None => {
                    let (name, id) = word.split_once('@').unwrap_or((word, word));
                    let instance = self.clients.get(name).and_then(|client| client.options.get("instance"));
                    Leaver { member: self.id_of(id), instance: instance.map(|id| InstanceId::new(id)) }
                }
            })
            .collect();
        let now = self.now;
        let (left, effects) = self.group().leave(&leavers, now);
        let mut lines: Vec<String> =
            words.iter().zip(left).map(|(word, left)| format!("{word} {}", shown(left.outcome))).collect();
        lines.extend(self.shown_effects(effects));
        lines
    }

    fn wait(&mut self, duration_ms: u64) -> Vec<String> {
        let end = self.now.plus(duration_ms);
        let mut lines = Vec::new();
        while let Some(deadline) = self.group().next_deadline().filter(|deadline| *deadline <= end) {
            self.now = deadline.max(self.now);
            let now = self.now;
            let effects = self.group().tick(now);
            lines.extend(self.shown_effects(effects).into_iter().map(|line| format!("@{} {line}", now.0)));
        }
        self.now = end;
        lines
    }

    fn describe(&mut self) -> Vec<String> {
        let description = self.group().describe();
        let mut line = format!("{} generation {}", description.state, description.generation);
        if let Some(leader) = description.leader {
            write!(line, ", leader {leader}").unwrap();
        }
        if let Some(name) = description.protocol_name {
            write!(line, ", protocol {}/{name}", description.protocol_type).unwrap();
        }
        for member in description.members {
            write!(line, ", {}", member.member).unwrap();
            if !member.assignment.is_empty() {
                write!(line, "={}", text(&member.assignment)).unwrap();
            }
        }
        vec![line]
    }

    fn shown_effects(&mut self, effects: Vec<Effect>) -> Vec<String> {
        effects.into_iter().map(|effect| self.shown_effect(effect)).collect()
    }

    /// An answer, and what the client learns from it.
    fn shown_effect(&mut self, effect: Effect) -> String {
        match effect {
            Effect::AnswerJoin { waiter, answer } => {
                let name = self.waiters.remove(&waiter).expect("one answer a request");
                let client = self.clients.get_mut(&name).unwrap();
                match answer {
                    Ok(joined) => {
                        client.id = joined.member.clone();
                        client.generation = joined.generation;
                        let mut line = format!(
                            "{name} joined generation {} as {}, {}/{}",
                            joined.generation, joined.member, joined.protocol_type, joined.protocol_name
                        );
                        if joined.leader == joined.member {
                            line += ", leads";
                        } else {
                            write!(line, ", led by {}", joined.leader).unwrap();
                        }
                        for member in &joined.members {
                            write!(line, " {}", member.member).unwrap();
                        }
                        if joined.skip_assignment {
                            line += ", skips assignment";
                        }
                        line
                    }
                    Err(refused) => {
                        let mut line = format!("{name} join refused: {:?}", refused.error);
                        if refused.error == GroupError::MemberIdRequired {
                            client.id = refused.member.clone();
                        }
                        if !refused.member.is_none() {
                            write!(line, " for {}", refused.member).unwrap();
                        }
                        line
                    }
                }
            }
            Effect::AnswerSync { waiter, answer } => {
                let name = self.waiters.remove(&waiter).expect("one answer a request");
                match answer {
                    Ok(synced) => format!("{name} synced {:?}", text(&synced.assignment)),
                    Err(error) => format!("{name} sync refused: {error:?}"),
                }
            }
        }
    }
}

fn join_request(name: &str, client: &Client) -> JoinRequest {
    let option = |key: &str, default: &str| client.options.get(key).cloned().unwrap_or_else(|| default.to_owned());
    let number = |key, default: &str| option(key, default).parse::<i32>().unwrap();
    let version = number("v", "9");
    let topics = client.options.get("topics").map(|topics| subscription(topics));
    let protocols = option("protocols", "range")
        .split(',')
        .filter(|protocol| !protocol.is_empty())
        .map(|protocol| {
            let (protocol, metadata) = protocol.split_once(':').unwrap_or((protocol, ""));
            let metadata = topics.clone().unwrap_or_else(|| metadata.as_bytes().to_vec());
            Protocol { name: protocol.into(), metadata: metadata.into() }
        })
        .collect();
    JoinRequest {
        group: GroupId::new("g"),
        member: client.id.clone(),
        instance: client.options.get("instance").map(|id| InstanceId::new(id)),
        client_id: name.into(),
        client_host: "/127.0.0.1".into(),
        session_timeout_ms: number("session", "10000"),
        rebalance_timeout_ms: number("rebalance", "60000"),
        protocol_type: option("type", "consumer").into(),
        protocols,
        member_id_first: version >= 4,
        knows_skip_assignment: version >= 9,
    }
}

/// `a,b+rest` as a consumer's subscription, version 3.
fn subscription(topics: &str) -> Vec<u8> {
    let (topics, rest) = topics.split_once('+').unwrap_or((topics, ""));
    let topics: Vec<&str> = topics.split(',').collect();
    let mut bytes = vec![0, 3];
    bytes.extend((topics.len() as i32).to_be_bytes());
    for topic in topics {
        bytes.extend((topic.len() as i16).to_be_bytes());
        bytes.extend(topic.as_bytes());
    }
    bytes.extend(rest.as_bytes());
    bytes
}

fn shown(outcome: Result<(), GroupError>) -> String {
    match outcome {
        Ok(()) => "ok".to_owned(),
        Err(error) => format!("refused: {error:?}"),
    }
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
