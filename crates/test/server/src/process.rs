//! A child from its start to its end.

use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use thiserror::Error;

use crate::guard::Guard;
use crate::output::Output;
use crate::ready::Ready;
use crate::wait::wait_until;

/// How long a start may take on a machine that does much else. No figure of the server's: a start that hangs is to fail.
const START_PATIENCE: Duration = Duration::from_secs(60);
/// The same for an orderly stop.
const STOP_PATIENCE: Duration = Duration::from_secs(60);
/// Lines of a child's log that a failing test shows.
const SHOWN_LINES: usize = 60;

/// A child that was started; ended by SIGKILL when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    stdout: Output,
    stderr: Output,
    guard: Option<Guard>,
    is_over: bool,
}

/// How a child ended and all that it said.
#[derive(Debug)]
pub struct Exit {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

#[derive(Debug, Error)]
pub enum StartError {
    #[error("can't start the server: {source}")]
    Spawn { source: io::Error },
    #[error("the server ended with {} instead of becoming ready; it said:\n{}{}", .0.status, .0.stdout, .0.stderr)]
    Ended(Exit),
    #[error("the server was not ready within {START_PATIENCE:?}; it said:\n{stderr}")]
    NotReady { stderr: String },
    #[error("the server's first line is no ready line: {line:?}")]
    Line { line: String },
}

/// A child that is ready.
#[derive(Debug)]
pub struct Server {
    process: Process,
    ready: Ready,
}

impl Process {
    pub(crate) fn spawn(command: &mut Command, remove: Option<&Path>) -> io::Result<Self> {
        let mut child = command.spawn()?;
        let stdout = Output::gather(child.stdout.take().expect("its output is piped"));
        let stderr = Output::gather(child.stderr.take().expect("its output is piped"));
        // The child is ended by Drop if there can't be a guard.
        let mut process = Self { child, stdout, stderr, guard: None, is_over: false };
        process.guard = Some(Guard::over(process.pid(), remove)?);
        Ok(process)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the child has said on standard error so far.
    pub fn log(&self) -> String {
        self.stderr.text()
    }

    pub fn wait_ready(self) -> Result<Server, StartError> {
        let Some(line) = self.stdout.first_line(START_PATIENCE) else {
            let stderr = self.log();
            return match self.wait() {
                Some(exit) => Err(StartError::Ended(exit)),
                None => Err(StartError::NotReady { stderr }),
            };
        };
        match Ready::read(&line) {
            Some(ready) => Ok(Server { process: self, ready }),
            None => Err(StartError::Line { line }),
        }
    }

    /// SIGKILL, and the child is gone when this returns.
    pub fn kill(mut self) -> Exit {
        self.guard = None;
        // Fails only if the child has ended by itself.
        let _ = self.child.kill();
        let status = self.child.wait().expect("the child is ours to wait for");
        self.into_exit(status)
    }

    /// Waits for the child's own end; `None` if it doesn't come in [`STOP_PATIENCE`], and the child is killed.
    pub fn wait(mut self) -> Option<Exit> {
        let wait = |process: &mut Self| process.child.try_wait().expect("the child is ours to wait for");
        // Dropped before the child is reaped; from here on only Drop ends it.
        self.guard = None;
        let status = wait_until(STOP_PATIENCE, || wait(&mut self))?;
        Some(self.into_exit(status))
    }

    fn into_exit(mut self, status: ExitStatus) -> Exit {
        self.is_over = true;
        Exit { status, stdout: self.stdout.whole_text(), stderr: self.stderr.whole_text() }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw).expect("the child's number is one");
        kill_process(pid, signal).expect("the child isn't reaped, so its number is its own");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.guard = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.stderr.whole_text();
            let lines: Vec<_> = log.lines().collect();
            let shown = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
            eprintln!("the server's last words:\n{}", shown.join("\n"));
        }
    }
}

impl Server {
    /// Address of the Kafka door.
    pub fn kafka(&self) -> &str {
        &self.ready.kafka
    }

    /// Address of the HTTP door.
    pub fn http(&self) -> &str {
        &self.ready.http
    }

    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// What the server has said on standard error so far.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// SIGKILL, and the server is gone when this returns.
    pub fn kill(self) -> Exit {
        self.process.kill()
    }

    /// SIGTERM, and nothing is waited for.
    pub fn begin_to_stop(&self) {
        self.process.signal(Signal::TERM);
    }

    /// SIGTERM and its orderly end.
    pub fn terminate(self) -> Exit {
        self.stop_by(Signal::TERM)
    }

    /// An orderly end by `signal`.
    pub fn stop_by(self, signal: Signal) -> Exit {
        self.process.signal(signal);
        let log = self.log();
        match self.process.wait() {
            Some(exit) => exit,
            None => panic!("the server didn't end within {STOP_PATIENCE:?} of {signal:?}; it had said:\n{log}"),
        }
    }
}
