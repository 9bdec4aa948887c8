//! Starts the binary and looks at what it prints.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The binary, without the settings of whoever runs the tests.
pub fn daybook() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_daybook"));
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"DAYBOOK_") {
            command.env_remove(name);
        }
    }
    command
}

/// A process that is told to stop when the test is over, however it ends.
pub struct Running {
    child: Child,
    out: Option<BufReader<ChildStdout>>,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the binary starts");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, out: Some(out) }
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        let out = self.out.as_mut().expect("only closed by whoever takes us");
        out.read_line(&mut line).expect("standard output can be read");
        line.trim_end().to_owned()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("our own child can be signalled");
    }

    /// Closes our end of its output, and waits.
    pub fn close_and_wait(mut self) -> Option<i32> {
        self.out = None;
        self.wait()
    }

    /// The exit code, once it has ended by itself.
    pub fn wait(mut self) -> Option<i32> {
        self.child.wait().expect("our own child can be waited for").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Server {
    pub running: Running,
    /// `HOST:PORT` of each door, from the line that says it is ready.
    pub kafka: String,
    pub http: String,
    pub ready: String,
}

impl Server {
    pub fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    pub fn start_with(data: &Path, more: &[&str]) -> Self {
        let mut command = daybook();
        command.args(["serve", "--kafka", "127.0.0.1:0", "--http", "127.0.0.1:0", "--set", "log.level=warn"]);
        command.arg("--data").arg(data).args(more);
        let mut running = Running::start(&mut command);
        let ready = running.line();
        let field = |name: &str| {
            let found = ready.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
            found.unwrap_or_else(|| panic!("no {name} in {ready:?}")).to_owned()
        };
        Self { kafka: field("kafka"), http: field("http"), running, ready }
    }

    /// Runs a command against the server and expects it to succeed.
    pub fn run(&self, args: &[&str]) -> String {
        self.run_with(args, b"")
    }

    /// The same with something on standard input.
    pub fn run_with(&self, args: &[&str], input: &[u8]) -> String {
        let output = self.output(args, input);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "daybook {args:?} failed: {errors}");
        String::from_utf8(output.stdout).expect("the output is text")
    }

    /// Runs a command that prints one JSON document.
    pub fn json(&self, args: &[&str]) -> Value {
        let text = self.run(&[args, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("daybook {args:?}: {error}: {text}"))
    }

    /// Runs a command that has to fail with exit code 1; answers what it says.
    pub fn fail(&self, args: &[&str]) -> String {
        let output = self.output(args, b"");
        assert_eq!(output.status.code(), Some(1), "daybook {args:?}");
        String::from_utf8(output.stderr).expect("messages are text")
    }

    fn output(&self, args: &[&str], input: &[u8]) -> Output {
        let mut command = daybook();
        command.args(args).args(["--bootstrap", &self.kafka]);
        output(&mut command, input)
    }
}

pub fn output(command: &mut Command, input: &[u8]) -> Output {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    // A thread of its own: the child may print more than a pipe holds before it has read all.
    let feed = std::thread::spawn(move || {
        // A command that doesn't read its input closes it.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("our own child can be waited for");
    feed.join().expect("the feeder doesn't panic");
    output
}

/// Runs the binary without a server.
pub fn alone(args: &[impl AsRef<OsStr>]) -> Output {
    output(daybook().args(args), b"")
}

pub fn dir() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}
