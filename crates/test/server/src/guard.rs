//! Ends a child when the test process ends.
//!
//! A killed or panicking test process runs no destructors, and one that returns from `main` drops no statics. But its
//! files are closed: a shell that reads from a pipe of ours learns of our end, and then ends the child.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
}

impl Guard {
    /// `remove` is a directory to be removed then.
    pub(crate) fn over(pid: u32, remove: Option<&Path>) -> io::Result<Self> {
        let shell = Command::new("sh")
            .args(["-c", r#"read -r line; kill -9 "$1"; if [ -n "$2" ]; then while kill -0 "$1"; do sleep 0.05; done; rm -rf "$2"; fi"#, "guard"])
            .arg(pid.to_string())
            .arg(remove.unwrap_or(Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { shell })
    }
}

/// Before the child is waited for, so that its number can't have become another process's.
impl Drop for Guard {
    fn drop(&mut self) {
        // Both fail only if the shell is gone, which is what is wanted.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
