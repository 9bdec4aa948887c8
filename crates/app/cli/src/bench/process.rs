//! What processes use, from `/proc`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, bail};

/// User and system time so far, to the system's clock tick (a hundredth of a second as a rule).
pub fn cpu_seconds(pid: u32) -> anyhow::Result<f64> {
    let path = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let ticks = cpu_ticks(&text).with_context(|| format!("{path} looks unlike what Linux writes"))?;
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Fields 14 and 15; the second field is a name in parentheses that may hold anything.
pub(crate) fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// Memory that is in RAM now.
pub fn resident_bytes(pid: u32) -> anyhow::Result<u64> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    match line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|number| number.parse::<u64>().ok()) {
        Some(kib) => Ok(kib * 1024),
        None => bail!("{path} tells no VmRSS: has the process ended?"),
    }
}

/// Watches the CPU time of this process, and CPU time and memory of the server, while a run lasts.
#[derive(Debug)]
pub struct Watch {
    own_cpu_at_start: f64,
    server: Option<ServerWatch>,
}

#[derive(Debug)]
struct ServerWatch {
    pid: u32,
    cpu_at_start: f64,
    is_over: Arc<AtomicBool>,
    sampler: JoinHandle<u64>,
}

/// What was used meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub client_cpu_seconds: f64,
    pub server: Option<ServerUsage>,
}

#[derive(Clone, Copy, Debug)]
pub struct ServerUsage {
    pub cpu_seconds: f64,
    pub resident_bytes_peak: u64,
}

const SAMPLE_EVERY: Duration = Duration::from_millis(50);

impl Watch {
    pub fn start(server: Option<u32>) -> anyhow::Result<Self> {
        let server = match server {
            None => None,
            Some(pid) => {
                let first = resident_bytes(pid)?;
                let is_over = Arc::new(AtomicBool::new(false));
                let seen = is_over.clone();
                let sample = move || {
                    let mut peak = first;
                    while !seen.load(Ordering::Relaxed) {
                        std::thread::sleep(SAMPLE_EVERY);
                        peak = peak.max(resident_bytes(pid).unwrap_or(0));
                    }
                    peak
                };
                let sampler = std::thread::Builder::new().name("watch".to_owned()).spawn(sample)?;
                Some(ServerWatch { pid, cpu_at_start: cpu_seconds(pid)?, is_over, sampler })
            }
        };
        Ok(Self { own_cpu_at_start: cpu_seconds(std::process::id())?, server })
    }

    pub fn stop(self) -> anyhow::Result<Usage> {
        let client_cpu_seconds = cpu_seconds(std::process::id())? - self.own_cpu_at_start;
        let server = match self.server {
            None => None,
            Some(ServerWatch { pid, cpu_at_start, is_over, sampler }) => {
                is_over.store(true, Ordering::Relaxed);
                let cpu_seconds = cpu_seconds(pid)? - cpu_at_start;
                let resident_bytes_peak = sampler.join().expect("the sampler doesn't panic");
                Some(ServerUsage { cpu_seconds, resident_bytes_peak })
            }
        };
        Ok(Usage { client_cpu_seconds, server })
    }
}
