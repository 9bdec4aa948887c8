//! Groups whose members come and go while records flow.
//!
//! Members note what they are assigned and what they read in one ledger. A partition claimed while another holds it is a
//! fault. A member commits what it has read before it gives a partition up, so over all members each record is read
//! exactly once: a lost one shows a commit that was not given to the successor, a doubled one a commit that was lost.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use daybook_test_server::eventually;
use parking_lot::Mutex;
use rdkafka::client::ClientContext;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::message::Message;
use rdkafka::{Offset, TopicPartitionList};

use crate::broker::{PATIENCE, client, new_topic, shared, unique};
use crate::writing::{Content, producer, write};

const PARTITIONS: i32 = 6;
/// Records that flow at least, however slow the machine.
const RECORDS_MIN: usize = 600;

/// What all members of a group have done.
#[derive(Default)]
pub struct Ledger {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    owners: BTreeMap<i32, String>,
    /// Of each member, where it goes on in the partitions it has read from.
    next: HashMap<(String, i32), i64>,
    read: BTreeMap<(i32, i64), usize>,
    /// Of each member, how many partitions each revocation took.
    revocations: HashMap<String, Vec<usize>>,
    rebalances: HashMap<String, usize>,
    faults: Vec<String>,
    /// What happened, for whoever must find out why a test failed.
    history: Vec<String>,
}

impl Ledger {
    fn claim(&self, member: &str, partitions: &[i32]) {
        let mut inner = self.inner.lock();
        inner.history.push(format!("{member} is given {partitions:?}"));
        *inner.rebalances.entry(member.to_owned()).or_default() += 1;
        for partition in partitions {
            if let Some(owner) = inner.owners.insert(*partition, member.to_owned()) {
                let fault = format!("partition {partition} is given to {member} while {owner} has it");
                inner.faults.push(fault);
            }
        }
    }

    fn release(&self, member: &str, partitions: &[i32]) {
        let mut inner = self.inner.lock();
        inner.history.push(format!("{member} gives up {partitions:?}"));
        *inner.rebalances.entry(member.to_owned()).or_default() += 1;
        inner.revocations.entry(member.to_owned()).or_default().push(partitions.len());
        for partition in partitions {
            inner.next.remove(&(member.to_owned(), *partition));
            if inner.owners.remove(partition).as_deref() != Some(member) {
                inner.faults.push(format!("partition {partition} is taken from {member}, which doesn't have it"));
            }
        }
    }

    fn note_read(&self, member: &str, partition: i32, offset: i64) {
        let mut inner = self.inner.lock();
        *inner.read.entry((partition, offset)).or_default() += 1;
        if inner.next.insert((member.to_owned(), partition), offset + 1) != Some(offset) {
            inner.history.push(format!("{member} reads partition {partition} from {offset} on"));
        }
        if inner.owners.get(&partition).map(String::as_str) != Some(member) {
            inner.faults.push(format!("{member} reads partition {partition}, which it doesn't have"));
        }
    }

    fn unsaved(&self, member: &str, topic: &str, partitions: &[i32]) -> TopicPartitionList {
        let inner = self.inner.lock();
        let mut list = TopicPartitionList::new();
        for partition in partitions {
            if let Some(next) = inner.next.get(&(member.to_owned(), *partition)) {
                list.add_partition_offset(topic, *partition, Offset::Offset(*next)).unwrap();
            }
        }
        list
    }

    fn fault(&self, fault: String) {
        self.inner.lock().faults.push(fault);
    }

    /// How many partitions each member has; waits until that is so.
    pub fn await_shares(&self, expected: &[(&Member, usize)]) {
        let expected: BTreeMap<_, _> = expected.iter().map(|(member, share)| (member.name.clone(), *share)).collect();
        eventually("the partitions are shared", PATIENCE, || {
            let mut shares = BTreeMap::<_, usize>::new();
            for owner in self.inner.lock().owners.values() {
                *shares.entry(owner.clone()).or_default() += 1;
            }
            if shares == expected { Ok(()) } else { Err(format!("{shares:?} instead of {expected:?}")) }
        });
    }

    pub fn partitions_of(&self, member: &Member) -> Vec<i32> {
        let inner = self.inner.lock();
        inner.owners.iter().filter(|(_, owner)| **owner == member.name).map(|(partition, _)| *partition).collect()
    }

    pub fn rebalances_of(&self, member: &Member) -> usize {
        self.inner.lock().rebalances.get(&member.name).copied().unwrap_or_default()
    }

    pub fn await_read(&self, count: usize) {
        eventually("all is read", PATIENCE, || match self.inner.lock().read.len() {
            read if read == count => Ok(()),
            read => Err(format!("{read} of {count}")),
        });
    }

    pub fn assert_no_faults(&self) {
        let inner = self.inner.lock();
        assert!(inner.faults.is_empty(), "{:#?} after\n{}", inner.faults, inner.history.join("\n"));
    }
}

/// What librdkafka tells one member.
struct Context {
    name: String,
    topic: String,
    ledger: Arc<Ledger>,
}

impl ClientContext for Context {}

impl ConsumerContext for Context {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let partitions = |list: &TopicPartitionList| list.elements().iter().map(|e| e.partition()).collect::<Vec<_>>();
        match rebalance {
            Rebalance::Assign(list) => self.ledger.claim(&self.name, &partitions(list)),
            Rebalance::Revoke(list) => {
                let revoked = partitions(list);
                let unsaved = self.ledger.unsaved(&self.name, &self.topic, &revoked);
                let offsets = unsaved.elements().iter().map(|e| (e.partition(), e.offset())).collect::<Vec<_>>();
                self.ledger.inner.lock().history.push(format!("{} commits {offsets:?}", self.name));
                if unsaved.count() > 0
                    && let Err(error) = consumer.commit(&unsaved, CommitMode::Sync)
                {
                    self.ledger.fault(format!("{} can't commit {unsaved:?}: {error}", self.name));
                }
                self.ledger.release(&self.name, &revoked);
            }
            Rebalance::Error(error) => self.ledger.fault(format!("{}: {error}", self.name)),
        }
    }
}

/// A consumer on a thread of its own. Closed when dropped.
pub struct Member {
    pub name: String,
    is_leaving: Arc<AtomicBool>,
    /// Disconnected once the consumer is closed.
    has_left: Receiver<()>,
}

impl Member {
    pub fn join(name: &str, group: &str, topic: &str, ledger: &Arc<Ledger>, settings: &[(&str, &str)]) -> Self {
        let mut config = client(shared());
        config.set("group.id", group).set("client.id", name).set("auto.offset.reset", "earliest");
        config.set("enable.auto.commit", "false").set("fetch.wait.max.ms", "100");
        // A rebalance is learned of with the next heartbeat.
        config.set("session.timeout.ms", "30000").set("heartbeat.interval.ms", "100");
        for (key, value) in settings {
            config.set(*key, *value);
        }
        let context = Context { name: name.to_owned(), topic: topic.to_owned(), ledger: Arc::clone(ledger) };
        let consumer: BaseConsumer<Context> = config.create_with_context(context).unwrap();
        consumer.subscribe(&[topic]).unwrap();
        let is_leaving = Arc::new(AtomicBool::new(false));
        let (leaving, has_left) = channel();
        std::thread::spawn({
            let (name, ledger, is_leaving) = (name.to_owned(), Arc::clone(ledger), Arc::clone(&is_leaving));
            move || {
                while !is_leaving.load(Ordering::Relaxed) {
                    match consumer.poll(Duration::from_millis(50)) {
                        None => {}
                        Some(Ok(message)) => ledger.note_read(&name, message.partition(), message.offset()),
                        Some(Err(error)) => ledger.fault(format!("{name}: {error}")),
                    }
                }
                drop(consumer);
                drop(leaving);
            }
        });
        Self { name: name.to_owned(), is_leaving, has_left }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.is_leaving.store(true, Ordering::Relaxed);
        let has_left = self.has_left.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Disconnected);
        assert!(has_left || std::thread::panicking(), "{} doesn't get its consumer closed", self.name);
    }
}

/// Writes until told to stop; then says how many records there are.
struct Flow {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
}

impl Flow {
    fn into(topic: &str) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (topic, told) = (topic.to_owned(), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            let producer = producer(shared(), &[("enable.idempotence", "true")]);
            let mut written = 0;
            while !told.load(Ordering::Relaxed) || written < RECORDS_MIN {
                let partition = (written / 10) as i32 % PARTITIONS;
                write(&producer, &topic, partition, &(written..written + 10).map(Content::number).collect::<Vec<_>>());
                written += 10;
            }
            written
        });
        Self { is_over, thread }
    }

    fn end(self) -> usize {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn come_and_go(strategy: &str) -> Arc<Ledger> {
    let topic = new_topic(shared(), strategy, PARTITIONS, &[]);
    let group = unique(strategy);
    let ledger = Arc::new(Ledger::default());
    let join = |name: &str| Member::join(name, &group, &topic, &ledger, &[("partition.assignment.strategy", strategy)]);
    let flow = Flow::into(&topic);

    let first = join("first");
    ledger.await_shares(&[(&first, 6)]);
    let second = join("second");
    ledger.await_shares(&[(&first, 3), (&second, 3)]);
    let third = join("third");
    ledger.await_shares(&[(&first, 2), (&second, 2), (&third, 2)]);
    drop(first);
    ledger.await_shares(&[(&second, 3), (&third, 3)]);
    let fourth = join("fourth");
    let fifth = join("fifth");
    let sixth = join("sixth");
    eventually("five members have six partitions", PATIENCE, || {
        let shares = [&second, &third, &fourth, &fifth, &sixth].map(|member| ledger.partitions_of(member).len());
        let is_fair = shares.iter().sum::<usize>() == 6 && shares.iter().all(|share| (1..=2).contains(share));
        if is_fair { Ok(()) } else { Err(format!("{shares:?}")) }
    });
    // One after the other: a client that closes while its group rebalances may leave before it has committed.
    drop(second);
    eventually("four members have six partitions", PATIENCE, || {
        let shares = [&third, &fourth, &fifth, &sixth].map(|member| ledger.partitions_of(member).len());
        let is_fair = shares.iter().sum::<usize>() == 6 && shares.iter().all(|share| (1..=2).contains(share));
        if is_fair { Ok(()) } else { Err(format!("{shares:?}")) }
    });
    drop(third);
    ledger.await_shares(&[(&fourth, 2), (&fifth, 2), (&sixth, 2)]);
    drop(fourth);
    ledger.await_shares(&[(&fifth, 3), (&sixth, 3)]);
    drop(fifth);
    ledger.await_shares(&[(&sixth, 6)]);

    let written = flow.end();
    ledger.await_read(written);
    drop(sixth);
    ledger.assert_no_faults();
    let inner = ledger.inner.lock();
    let doubled: Vec<_> = inner.read.iter().filter(|(_, times)| **times != 1).map(|(place, _)| place).collect();
    let history = inner.history.join("\n");
    assert!(doubled.is_empty(), "{} records, from {:?} on, were read twice:\n{history}", doubled.len(), doubled[0]);
    assert!(inner.owners.is_empty(), "who closes gives everything up");
    drop(inner);
    ledger
}

#[test]
fn range() {
    come_and_go("range");
}

#[test]
fn roundrobin() {
    come_and_go("roundrobin");
}

#[test]
fn cooperative_sticky() {
    let ledger = come_and_go("cooperative-sticky");
    // What the protocol is for: the second member's arrival didn't stop the first.
    let revocations = ledger.inner.lock().revocations["first"].clone();
    assert!(revocations[0] < PARTITIONS as usize, "the first member gave up {revocations:?}");
}
