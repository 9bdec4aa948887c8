//! Runs the scripts in `tests/scripts`: a line is an event at a simulated time, the indented lines after it are everything
//! that came of it. With `UPDATE_SCRIPTS=1` the indented lines are written anew; read them before you keep them.
//!
//! ```text
//! group key=value …            before anything else; keys: start strategy hold retries live history batch flight min max after departure
//! attach NAME slots=N | detach NAME
//! offer 1 2 5..8 [key=N]       half-open ranges; an item with an r is a replayed one
//! pass NEXT                    nothing below is still to come
//! accept|retry|park|skip|renew NAME ITEM …
//! parked ITEM … | kept [replay]
//! live | history
//! wait MS                      what falls due, in order; effects carry the time
//! figures
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use daybook_competing::core::{
    ConsumerId, Effect, Group, ItemId, Lane, MonotonicMs, ParkCause, Phase, Policy, Strategy, Verdict,
};

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
            (left, right) if left == right && left.is_some() => {}
            (left, right) => return format!("line {number}\n  written:  {left:?}\n  happened: {right:?}"),
        }
    }
}

/// The script with its indented lines replaced by what happens.
fn run(script: &str) -> String {
    let mut stage = Stage::default();
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

#[derive(Default)]
struct Stage {
    group: Option<Group>,
    now: MonotonicMs,
    names: BTreeMap<ConsumerId, String>,
}

impl Stage {
    fn perform(&mut self, line: &str) -> Vec<String> {
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap();
        let (options, words): (Vec<&str>, Vec<&str>) = words.partition(|word| word.contains('='));
        let options: BTreeMap<&str, &str> = options.into_iter().map(|option| option.split_once('=').unwrap()).collect();
        let now = self.now;
        if verb == "group" {
            let (policy, start) = policy(&options);
            self.group = Some(Group::new(policy, start, now));
            return Vec::new();
        }
        let group = self.group.as_mut().expect("a script begins with `group`");
        let effects = match verb {
            "attach" => {
                let id = ConsumerId(self.names.len() as u64);
                self.names.insert(id, words[0].to_owned());
                match group.attach(id, options["slots"].parse().unwrap(), now) {
                    Ok(effects) => effects,
                    Err(refused) => return vec![format!("refused: {refused}")],
                }
            }
            "detach" => group.detach(id(&self.names, words[0]), now),
            "offer" => {
                let key = options.get("key").map(|key| key.parse().unwrap());
                items(&words).into_iter().flat_map(|item| group.offer(item, key, now)).collect()
            }
            "pass" => group.pass(Lane::Main, words[0].parse().unwrap(), now),
            "accept" | "retry" | "park" | "skip" | "renew" => {
                let verdict = match verb {
                    "accept" => Verdict::Accept,
                    "retry" => Verdict::Retry,
                    "park" => Verdict::Park,
                    "skip" => Verdict::Skip,
                    _ => Verdict::Renew,
                };
                let id = id(&self.names, words[0]);
                let mut effects = Vec::new();
                for item in items(&words[1..]) {
                    match group.settle(id, item, verdict, now) {
                        Ok(came) => effects.extend(came),
                        Err(refused) => return vec![format!("refused: {refused}")],
                    }
                }
                effects
            }
            "parked" => items(&words).into_iter().flat_map(|item| group.parked(item, now)).collect(),
            "kept" => group.kept(if words.is_empty() { Lane::Main } else { Lane::Replay }, now),
            "live" | "history" => {
                group.set_phase(if verb == "live" { Phase::Live } else { Phase::History });
                Vec::new()
            }
            "wait" => return self.wait(words[0].parse().unwrap()),
            "figures" => return vec![figures(group)],
            _ => panic!("unknown line: {line}"),
        };
        effects.iter().map(|effect| text(&self.names, effect)).collect()
    }

    fn wait(&mut self, ms: u64) -> Vec<String> {
        let group = self.group.as_mut().unwrap();
        let end = self.now.plus(ms);
        let mut happened = Vec::new();
        while let Some(deadline) = group.next_deadline().filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            let effects = group.tick(self.now);
            happened.extend(effects.iter().map(|effect| format!("@{} {}", self.now.0, text(&self.names, effect))));
        }
        self.now = end;
        happened
    }
}

fn policy(options: &BTreeMap<&str, &str>) -> (Policy, u64) {
    let mut policy = Policy { checkpoint_after_ms: None, hold_ms: None, ..Policy::default() };
    let mut start = 0;
    for (key, value) in options {
        let number = || value.parse::<u64>().unwrap();
        match *key {
            "start" => start = number(),
            "strategy" => {
                policy.strategy = match *value {
                    "round-robin" => Strategy::RoundRobin,
                    "single" => Strategy::DispatchToSingle,
                    "pinned" => Strategy::Pinned,
                    _ => panic!("{value}"),
                }
            }
            "hold" => policy.hold_ms = Some(number()),
            "retries" => policy.retries_max = number() as u32,
            "live" => policy.live_buffer_max = number() as usize,
            "history" => policy.history_buffer_max = number() as usize,
            "batch" => policy.read_batch = number() as usize,
            "flight" => policy.in_flight_max = number() as usize,
            "consumers" => policy.consumers_max = number() as usize,
            "min" => policy.checkpoint_count_min = number(),
            "max" => policy.checkpoint_count_max = number(),
            "after" => policy.checkpoint_after_ms = Some(number()),
            "departure" => policy.departure_may_park = *value == "parks",
            _ => panic!("{key}"),
        }
    }
    (policy, start)
}

fn id(names: &BTreeMap<ConsumerId, String>, name: &str) -> ConsumerId {
    *names.iter().rev().find(|(_, known)| *known == name).expect("a consumer attached before").0
}

fn items(words: &[&str]) -> Vec<ItemId> {
    let mut items = Vec::new();
    for word in words {
        if let Some(number) = word.strip_prefix('r') {
            items.push(ItemId::replay(number.parse().unwrap()));
        } else if let Some((start, end)) = word.split_once("..") {
            items.extend((start.parse().unwrap()..end.parse().unwrap()).map(ItemId::main));
        } else {
            items.push(ItemId::main(word.parse().unwrap()));
        }
    }
    items
}

fn text(names: &BTreeMap<ConsumerId, String>, effect: &Effect) -> String {
    match effect {
        Effect::Deliver { consumer, item, retry: 0 } => format!("{} gets {item}", names[consumer]),
        Effect::Deliver { consumer, item, retry } => format!("{} gets {item}, retry {retry}", names[consumer]),
        Effect::Withdraw { consumer, item } => format!("{} no longer holds {item}", names[consumer]),
        Effect::Park { item, cause: ParkCause::Asked } => format!("park {item}: asked"),
        Effect::Park { item, cause: ParkCause::DeliveredTooOften } => format!("park {item}: delivered too often"),
        Effect::Finish { item } => format!("{item} finished"),
        Effect::Keep { lane: Lane::Main, checkpoint } => format!("keep: below {checkpoint} is finished"),
        Effect::Keep { lane: Lane::Replay, checkpoint } => format!("keep: replayed below {checkpoint} is finished"),
    }
}

fn figures(group: &Group) -> String {
    let figures = group.figures();
    format!(
        "fresh {}, retrying {}, held {}, parking {}, finished below {}, kept {}, room {}",
        figures.fresh,
        figures.retrying,
        figures.held,
        figures.parking,
        figures.floor,
        figures.checkpoint,
        group.room()
    )
}
