//! How a server is started.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::binary::binary;
use crate::process::{Process, Server, StartError};

/// `daybook serve` with a data directory, addresses and settings.
#[derive(Clone, Debug)]
pub struct Launch {
    data: PathBuf,
    kafka: String,
    http: String,
    environment: Vec<(String, String)>,
    remove_data: bool,
}

impl Launch {
    /// Ports are picked by the system until [`Self::at`] fixes them.
    pub fn on(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
            kafka: "127.0.0.1:0".to_owned(),
            http: "127.0.0.1:0".to_owned(),
            environment: Vec::new(),
            remove_data: false,
        }
    }

    /// Sets a key as the environment does: `wal.segment_bytes` is `DAYBOOK_WAL_SEGMENT_BYTES`.
    #[must_use]
    pub fn set(mut self, key: &str, value: &str) -> Self {
        let variable = format!("DAYBOOK_{}", key.replace('.', "_").to_ascii_uppercase());
        self.environment.push((variable, value.to_owned()));
        self
    }

    /// Takes the addresses that an earlier server had, so that clients find this one.
    #[must_use]
    pub fn at(mut self, earlier: &Server) -> Self {
        self.kafka = earlier.kafka().to_owned();
        self.http = earlier.http().to_owned();
        self
    }

    /// Has the data directory removed when the test process ends with the server still running.
    #[must_use]
    pub fn remove_data(mut self) -> Self {
        self.remove_data = true;
        self
    }

    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Starts the child and waits for nothing.
    pub fn spawn(&self) -> io::Result<Process> {
        self.spawn_with(|_| ())
    }

    /// [`Self::spawn`], with a last word about the command, a shell's limits before it for example.
    pub fn spawn_with(&self, adjust: impl FnOnce(&mut Command)) -> io::Result<Process> {
        let mut command = Command::new(binary());
        command.arg("serve").arg("--data").arg(&self.data);
        command.args(["--kafka", &self.kafka, "--http", &self.http]);
        self.prepare(&mut command);
        adjust(&mut command);
        Process::spawn(&mut command, self.remove_data.then_some(self.data.as_path()))
    }

    /// The same through `sh`, which first does what `prelude` says: `ulimit -f 4096`, for example.
    pub fn spawn_after(&self, prelude: &str) -> io::Result<Process> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{prelude}; exec \"$@\"")).arg("sh");
        command.arg(binary()).arg("serve").arg("--data").arg(&self.data);
        command.args(["--kafka", &self.kafka, "--http", &self.http]);
        self.prepare(&mut command);
        Process::spawn(&mut command, self.remove_data.then_some(self.data.as_path()))
    }

    /// Starts the child and waits until it is ready.
    pub fn start(&self) -> Result<Server, StartError> {
        self.spawn().map_err(|source| StartError::Spawn { source })?.wait_ready()
    }

    /// What the person running the tests has set for their own server must not change ours.
    fn prepare(&self, command: &mut Command) {
        for (variable, _) in std::env::vars_os() {
            if variable.as_encoded_bytes().starts_with(b"DAYBOOK_") {
                command.env_remove(variable);
            }
        }
        command.envs(self.environment.iter().map(|(variable, value)| (variable, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }
}
