//! Naming scenarios, comparing, waiting with an end, and reporting, as `../python/scenario.py` does it.

use std::fmt::Debug;
use std::future::Future;
use std::io::Read;
use std::net::TcpStream;
use std::panic;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use futures::future::BoxFuture;

/// How long anything may take that has no limit of its own.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Names where a restart of the server is to be had.
const RESTART: &str = "CLIENTS_RESTART";

/// Takes the server's address, and a name that is new in every run. Fails by panicking.
pub type Scenario = fn(String, String) -> BoxFuture<'static, ()>;

/// `--list`, or an address and then the scenarios that are wanted, none meaning all.
pub fn main(scenarios: &[(&str, Scenario)]) -> ExitCode {
    main_lacking(scenarios, &[])
}

/// The same with scenarios that the client cannot do, and why.
pub fn main_lacking(scenarios: &[(&str, Scenario)], lacks: &[(&str, &str)]) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((address, asked)) = words.split_first() else {
        eprintln!("usage: --list | ADDRESS [SCENARIO…]");
        return ExitCode::from(2);
    };
    if address == "--list" {
        scenarios
            .iter()
            .map(|(name, _)| name)
            .chain(lacks.iter().map(|(name, _)| name))
            .for_each(|name| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    // A failure's story is told with its verdict.
    panic::set_hook(Box::new(|failure| println!("| {}", failure.to_string().replace('\n', "\n| "))));
    let runtime = tokio::runtime::Runtime::new().expect("threads can be had");
    let mut failed = false;
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|each| each == name);
    lacks.iter().filter(|(name, _)| wanted(name)).for_each(|(name, why)| println!("RESULT {name} skip 0 {why}"));
    for (name, run) in scenarios.iter().filter(|(name, _)| wanted(name)) {
        if name.ends_with("_restart") && std::env::var_os(RESTART).is_none() {
            println!("RESULT {name} skip 0 there is nobody to restart the server");
            continue;
        }
        let start = Instant::now();
        let moment =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is later than 1970").as_nanos();
        let task = runtime.spawn(run(address.clone(), format!("rust{}{moment:x}", name.replace('_', ""))));
        let passed = runtime.block_on(async { tokio::time::timeout(2 * PATIENCE, task).await });
        let verdict = if matches!(passed, Ok(Ok(()))) { "pass" } else { "fail" };
        if passed.is_err() {
            println!("| not within {:?}", 2 * PATIENCE);
        }
        failed |= verdict == "fail";
        println!("RESULT {name} {verdict} {:.2}", start.elapsed().as_secs_f64());
    }
    // Connections may still be busy; nothing waits for them.
    runtime.shutdown_background();
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

#[track_caller]
pub fn equal<T: PartialEq + Debug>(want: T, got: T, what: &str) {
    assert!(want == got, "{what}: want {want:?}, got {got:?}");
}

/// Ends a wait that is too long.
pub async fn soon<T>(what: &str, wanted: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, wanted).await.unwrap_or_else(|_| panic!("not in time: {what}"))
}

pub async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let all = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon(what, all).await;
}

/// The server is killed and started again; returns when it is ready.
pub async fn restart_server() {
    let restarted = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        let address = std::env::var(RESTART).expect("scenarios that need it are skipped without it");
        TcpStream::connect(address).and_then(|mut connection| connection.read_to_string(&mut answer)).unwrap();
        answer
    });
    equal("ready\n", &soon("a restart", restarted).await.unwrap(), "after a restart");
}

/// Names async functions as scenarios.
#[macro_export]
macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        &[$((stringify!($name), |address, fresh| Box::pin($name(address, fresh)))),*]
    };
}
