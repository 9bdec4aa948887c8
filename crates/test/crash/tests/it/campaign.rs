//! One campaign: a server, its clients, and the kills.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use daybook_kafka_client::NewTopic;
use daybook_test_server::{Launch, Server};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::commits::Committer;
use crate::ledger::PartitionLedger;
use crate::network::cluster;
use crate::topics::TopicMaker;
use crate::writing::Writer;
use crate::{reading, tearing};

const TOPICS: i32 = 3;
const PARTITIONS: i32 = 3;
const IDEMPOTENT_WRITERS: u32 = 3;
const PLAIN_WRITERS: u32 = 2;
const GROUPS: [&str; 2] = ["first-group", "second-group"];

/// Records acknowledged between a restart and the next kill.
const RECORDS_BETWEEN_KILLS: std::ops::Range<u64> = 1..20_000;
/// From then to the kill, so that kills fall anywhere between two answers.
const DELAY_MICROS_MAX: u64 = 5_000;
/// From the beginning of an orderly stop to the kill; a stop takes about half of it.
const STOP_MICROS_MAX: u64 = 100_000;
/// For so many records on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Kills between two readings of everything from the beginning; in between only what is new is read.
const KILLS_BETWEEN_FULL_READINGS: u32 = 20;

/// What becomes of the log's end between a kill and the next start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    AsLeft,
    Torn,
}

#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    pub name: &'static str,
    /// `wal.sync`.
    pub sync: &'static str,
    pub tail: Tail,
    /// Unless `DAYBOOK_CRASH_KILLS` says otherwise.
    pub kills: u32,
}

/// A partition under test.
#[derive(Clone, Debug)]
pub struct Place {
    pub topic: String,
    pub partition: i32,
}

/// What all clients share.
pub struct Shared {
    pub address: String,
    /// Sorted by topic.
    pub places: Vec<Place>,
    /// One a place.
    pub ledgers: Vec<Mutex<PartitionLedger>>,
    /// Records, over the whole campaign.
    pub acknowledged: AtomicU64,
}

impl Shared {
    pub fn is_idempotent(&self, writer: u32) -> bool {
        writer < IDEMPOTENT_WRITERS
    }
}

struct Clients {
    writers: Vec<Writer>,
    committers: Vec<Committer>,
    topic_maker: TopicMaker,
}

struct Running {
    writers: Vec<JoinHandle<Result<Writer, String>>>,
    committers: Vec<JoinHandle<Result<Committer, String>>>,
    topic_maker: JoinHandle<Result<TopicMaker, String>>,
    follower: JoinHandle<Result<(), String>>,
}

fn number_from_environment(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

impl Campaign {
    pub fn run(self) {
        let kills = number_from_environment("DAYBOOK_CRASH_KILLS").map_or(self.kills, |kills| kills as u32);
        let seed = number_from_environment("DAYBOOK_CRASH_SEED").unwrap_or_else(|| u64::from(rand::random::<u32>()));
        println!("{}: {kills} kills, DAYBOOK_CRASH_SEED={seed}", self.name);
        let data = TempDir::new().expect("a temporary directory can be made");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime starts");
        if let Err(fault) = runtime.block_on(self.carry_out(&data, kills, seed)) {
            panic!("{}: {fault}\nthe data directory is left in {}", self.name, data.keep().display());
        }
    }

    async fn carry_out(self, data: &TempDir, kills: u32, seed: u64) -> Result<(), String> {
        // The shortest that are allowed, so that files change and checkpoints run all the time.
        let launch = Launch::on(data.path())
            .set("wal.sync", self.sync)
            .set("wal.segment_bytes", "1048576")
            .set("checkpoint.wal_bytes", "1048576")
            .set("checkpoint.interval_ms", "100")
            .set("log.level", "info,daybook_shard=debug");
        let mut server = launch.start().map_err(|error| error.to_string())?;
        let launch = launch.at(&server);
        let shared = Arc::new(make_places(server.kafka()).await?);
        let mut clients = Clients::new(seed, shared.places.len() as u32);
        let mut dice = StdRng::seed_from_u64(seed);
        let mut start_time = Duration::from_millis(300);
        let (mut torn, mut kills_in_start, mut kills_in_stop, mut checkpoints) = (0, 0, 0, 0);
        let (mut loading, mut starting, mut verifying) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        let mut kill = 0;
        while kill < kills {
            let load_begin = Instant::now();
            let running = clients.start(&shared);
            let target = shared.acknowledged.load(Ordering::Relaxed) + dice.random_range(RECORDS_BETWEEN_KILLS);
            let is_working = running.await_acknowledged(&shared, target).await?;
            std::thread::sleep(Duration::from_micros(dice.random_range(0..DELAY_MICROS_MAX)));
            // Some kills meet an orderly stop with its last checkpoint.
            if dice.random_bool(0.2) {
                server.begin_to_stop();
                std::thread::sleep(Duration::from_micros(dice.random_range(0..STOP_MICROS_MAX)));
            }
            loading += load_begin.elapsed();
            let log = server.kill().stderr;
            checkpoints += log.matches("checkpoint written").count();
            kills_in_stop += u32::from(log.contains(" stopping") && !log.contains(" stopped"));
            kill += 1;
            clients = running.join().await.map_err(|fault| format!("before kill {kill}: {fault}; it said:\n{log}"))?;
            if !is_working {
                return Err(format!("before kill {kill} a client took the server for gone; it said:\n{log}"));
            }

            // Killed again before it has recovered.
            while kill < kills && dice.random_bool(0.3) {
                let process = launch.spawn().map_err(|error| error.to_string())?;
                std::thread::sleep(start_time.mul_f64(dice.random_range(0.0..1.2)));
                process.kill();
                kill += 1;
                kills_in_start += 1;
            }
            if self.tail == Tail::Torn {
                torn += u32::from(tearing::tear(data.path(), &mut dice)?.is_some());
            }
            let started = Instant::now();
            server = launch.start().map_err(|error| format!("after kill {kill}: {error}"))?;
            start_time = started.elapsed();
            starting += start_time;
            let started = Instant::now();
            let is_full = kill.is_multiple_of(KILLS_BETWEEN_FULL_READINGS);
            clients
                .verify(&shared, is_full)
                .await
                .map_err(|fault| explain(&format!("after kill {kill}"), fault, &server))?;
            verifying += started.elapsed();
            let acknowledged = shared.acknowledged.load(Ordering::Relaxed);
            println!("{}: kill {kill} of {kills}, {acknowledged} records acknowledged", self.name);
        }
        let exit = server.terminate();
        if !exit.status.success() {
            return Err(format!("it ended with {} in the end; it said:\n{}", exit.status, exit.stderr));
        }
        let server = launch.start().map_err(|error| format!("after an orderly stop: {error}"))?;
        clients.verify(&shared, true).await.map_err(|fault| explain("after an orderly stop", fault, &server))?;
        let acknowledged = shared.acknowledged.load(Ordering::Relaxed);
        assert!(checkpoints > 0, "no kill can have met a checkpoint, as there was none");
        println!(
            "{}: {acknowledged} records acknowledged over {kill} kills, {kills_in_start} of them while starting, {kills_in_stop} while stopping, {torn} torn tails, {checkpoints} checkpoints; {loading:.1?} under load, {starting:.1?} starting, {verifying:.1?} verifying",
            self.name
        );
        Ok(())
    }
}

fn explain(when: &str, fault: String, server: &Server) -> String {
    format!("{when}: {fault}; the server said:\n{}", server.log())
}

async fn make_places(address: &str) -> Result<Shared, String> {
    let mut cluster = cluster(address).await?;
    let mut places = Vec::new();
    for topic in 0..TOPICS {
        let name = format!("t{topic}");
        let configs = vec![("max.message.bytes".to_owned(), "10000000".to_owned())];
        let topic = NewTopic { name: name.clone(), partitions: Some(PARTITIONS), replication: Some(1), configs };
        cluster.create_topic(&topic).await.map_err(|error| error.to_string())?;
        places.extend((0..PARTITIONS).map(|partition| Place { topic: name.clone(), partition }));
    }
    Ok(Shared {
        address: address.to_owned(),
        ledgers: places.iter().map(|_| Mutex::default()).collect(),
        places,
        acknowledged: AtomicU64::new(0),
    })
}

impl Clients {
    fn new(seed: u64, places: u32) -> Self {
        let writer = |number: u32| {
            // Each writes to some partitions, and each partition has several writers.
            let of_writer = (0..places).filter(|place| !(place + number).is_multiple_of(3)).collect();
            Writer::new(number, number < IDEMPOTENT_WRITERS, of_writer, seed)
        };
        Self {
            writers: (0..IDEMPOTENT_WRITERS + PLAIN_WRITERS).map(writer).collect(),
            committers: GROUPS.into_iter().map(Committer::new).collect(),
            topic_maker: TopicMaker::new(seed),
        }
    }

    fn start(self, shared: &Arc<Shared>) -> Running {
        let spawn_writer = |writer: Writer| tokio::spawn(writer.run(Arc::clone(shared)));
        let spawn_committer = |committer: Committer| tokio::spawn(committer.run(Arc::clone(shared)));
        Running {
            writers: self.writers.into_iter().map(spawn_writer).collect(),
            committers: self.committers.into_iter().map(spawn_committer).collect(),
            topic_maker: tokio::spawn(self.topic_maker.run(Arc::clone(shared))),
            follower: tokio::spawn(reading::follow(Arc::clone(shared))),
        }
    }

    async fn verify(&mut self, shared: &Shared, is_full: bool) -> Result<(), String> {
        let from = |place: usize| if is_full { 0 } else { shared.ledgers[place].lock().seen_end() };
        reading::verify(shared, from).await?;
        for committer in &mut self.committers {
            committer.verify(shared).await?;
        }
        self.topic_maker.verify(shared).await
    }
}

impl Running {
    /// False if a client has stopped before: joining tells why.
    async fn await_acknowledged(&self, shared: &Shared, target: u64) -> Result<bool, String> {
        let deadline = Instant::now() + PATIENCE;
        while shared.acknowledged.load(Ordering::Relaxed) < target {
            let has_stopped = self.writers.iter().any(JoinHandle::is_finished)
                || self.committers.iter().any(JoinHandle::is_finished)
                || self.topic_maker.is_finished()
                || self.follower.is_finished();
            if has_stopped {
                return Ok(false);
            }
            if Instant::now() > deadline {
                return Err(format!("{target} records were not acknowledged within {PATIENCE:?}"));
            }
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        Ok(true)
    }

    async fn join(self) -> Result<Clients, String> {
        let mut writers = Vec::new();
        for writer in self.writers {
            writers.push(writer.await.map_err(|error| error.to_string())??);
        }
        let mut committers = Vec::new();
        for committer in self.committers {
            committers.push(committer.await.map_err(|error| error.to_string())??);
        }
        let topic_maker = self.topic_maker.await.map_err(|error| error.to_string())??;
        self.follower.await.map_err(|error| error.to_string())??;
        Ok(Clients { writers, committers, topic_maker })
    }
}
