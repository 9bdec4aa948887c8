//! One run: a server, its writers, the kills, and the judgement.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use daybook_linear::{History, Request, StreamPart, judge};
use daybook_test_server::{Launch, Server};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::http::Connection;
use crate::recorder::Recorder;
use crate::writer::{CATEGORIES, Seen, ServerState, Shared, Writer};
use crate::{kafka, reading, store};

/// For so many answers on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(300);
/// Between an answer and the kill, so that kills fall anywhere.
const DELAY_MICROS_MAX: u64 = 5_000;
/// From the beginning of an orderly stop to the kill.
const STOP_MICROS_MAX: u64 = 50_000;
const PRODUCERS: usize = 4;
/// A tag, and a stream that many writers meet at, for so many requests of a run: with fewer of them the search for an order gets long,
/// with more it gets dull.
const REQUESTS_PER_TAG: u64 = 200;
const REQUESTS_PER_HOT_STREAM: u64 = 750;
/// The search for an order goes one call deeper with each operation on an object.
const JUDGE_STACK_BYTES: usize = 1024 * 1024 * 1024;

#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    pub writers: u64,
    pub streams: u64,
    /// Answered between a start and the next kill.
    pub requests: u64,
    pub kills: u64,
    pub seed: u64,
}

impl Campaign {
    /// As the environment says; for a development build on two cores where it says nothing.
    pub fn from_environment() -> Self {
        let number = |name: &str, default: u64| {
            let variable = format!("DAYBOOK_LINEAR_{name}");
            let text = std::env::var(&variable).ok();
            text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
        };
        Self {
            writers: number("WRITERS", 200),
            streams: number("STREAMS", 2000),
            requests: number("REQUESTS", 3000),
            kills: number("KILLS", 3),
            seed: number("SEED", rand::random::<u32>().into()),
        }
    }

    pub fn run(self) {
        println!("{self:?}");
        let data = TempDir::new().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let judged = runtime.block_on(self.carry_out(&data)).and_then(|history| {
            let begin = Instant::now();
            let judge = move || judge(&history).map_err(|violation| violation.to_string());
            let judge = std::thread::Builder::new().stack_size(JUDGE_STACK_BYTES).spawn(judge).unwrap();
            let summary = judge.join().unwrap()?;
            println!("{summary:?}; judged in {:.1?}", begin.elapsed());
            Ok(summary)
        });
        match judged {
            // A run in which nothing went wrong has shown nothing.
            Ok(summary) => {
                assert!(summary.refused > 0 && summary.produced > 0, "{summary:?}");
                // That what was asked again had happened the first time is chance; the rules' own tests make it certain.
                let met = summary.unknown > summary.unknown_produced;
                assert!(met || self.kills == 0, "no kill met a request: {summary:?}");
            }
            Err(fault) => panic!("{self:?}: {fault}\nthe data directory is left in {}", data.keep().display()),
        }
    }

    async fn carry_out(self, data: &TempDir) -> Result<History, String> {
        let launch = Launch::on(data.path())
            .set("kafka.default_partitions", "3")
            .set("wal.segment_bytes", "1048576")
            .set("checkpoint.wal_bytes", "1048576")
            .set("checkpoint.interval_ms", "200");
        let mut server = launch.start().map_err(|error| error.to_string())?;
        let launch = launch.at(&server);
        let (state, states) = watch::channel(ServerState::Up);
        let shared = Arc::new(self.share(&server, states));
        make_topics(&shared).await?;
        let writer = |number| tokio::spawn(Writer::new(Arc::clone(&shared), number, self.seed).run());
        let writers: Vec<_> = (0..self.writers as usize).map(writer).collect();
        let mut dice = StdRng::seed_from_u64(self.seed);
        let begin = Instant::now();
        for kill in 0..self.kills {
            self.load(&shared).await?;
            tokio::time::sleep(Duration::from_micros(dice.random_range(0..DELAY_MICROS_MAX))).await;
            // Some kills meet an orderly stop.
            if dice.random_bool(0.3) {
                server.begin_to_stop();
                tokio::time::sleep(Duration::from_micros(dice.random_range(0..STOP_MICROS_MAX))).await;
            }
            state.send_replace(ServerState::Down);
            server.kill();
            server = launch.start().map_err(|error| format!("after kill {}: {error}", kill + 1))?;
            state.send_replace(ServerState::Up);
        }
        self.load(&shared).await?;
        shared.is_over.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.map_err(|error| error.to_string())?;
        }
        if let Some(fault) = shared.fault.lock().take() {
            return Err(format!("{fault}; the server said:\n{}", server.log()));
        }
        let (loading, begin) = (begin.elapsed(), Instant::now());
        let mut history = shared.recorder.take();
        history.found = reading::find(server.http(), server.kafka(), &history.requests).await?;
        println!("{loading:.1?} under load, {:.1?} reading", begin.elapsed());
        let exit = server.terminate();
        if !exit.status.success() {
            return Err(format!("it ended with {} in the end; it said:\n{}", exit.status, exit.stderr));
        }
        Ok(history)
    }

    fn share(self, server: &Server, states: watch::Receiver<ServerState>) -> Shared {
        let requests = self.requests * (self.kills + 1);
        let tags = requests / REQUESTS_PER_TAG + 1;
        let stream = |number: u64| format!("{}-{number}", CATEGORIES[number as usize % CATEGORIES.len()]);
        Shared {
            http: server.http().to_owned(),
            recorder: Recorder::default(),
            streams: (0..self.streams).map(stream).map(Seen::new).collect(),
            hot_streams: (requests / REQUESTS_PER_HOT_STREAM) as usize + 1,
            tags: (0..tags).map(|number| format!("tag:{number}")).map(Seen::new).collect(),
            producers: (0..PRODUCERS).map(|_| kafka::producer(server.kafka())).collect(),
            server: states,
            fault: parking_lot::Mutex::default(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Waits for answers.
    async fn load(self, shared: &Shared) -> Result<(), String> {
        let target = shared.recorder.answered() + self.requests;
        let deadline = Instant::now() + PATIENCE;
        while shared.recorder.answered() < target && !shared.is_over.load(Ordering::Relaxed) {
            if Instant::now() > deadline {
                return Err(format!("{} requests were not answered within {PATIENCE:?}", self.requests));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

/// Kafka's producers would make topics without an index of streams.
async fn make_topics(shared: &Shared) -> Result<(), String> {
    let mut connection = Connection::open(&shared.http).await.map_err(|error| error.to_string())?;
    for category in CATEGORIES {
        let part =
            StreamPart { stream: format!("{category}-first"), expected: daybook_linear::Expected::NoStream, events: 1 };
        let request = Request { streams: vec![part], ..Request::default() };
        let number = shared.recorder.request(request.clone());
        let begin = shared.recorder.tick();
        let answer = connection.post("/append", &store::body(number, &request)).await;
        let outcome = store::outcome(&request, &answer.map_err(|error| error.to_string())?)?;
        shared.recorder.attempt(number, begin, outcome);
    }
    Ok(())
}
