//! Where the server's binary is.
//!
//! Cargo tells a package's tests the paths of its own binaries only. But all that one run builds lies in one directory:
//! the test in `<target>/<profile>/deps`, the server in `<target>/<profile>`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The layers whose crates the server is made of; a test's own sources don't make it stale.
const LAYERS: [&str; 6] = ["base", "log", "state", "serve", "edge", "app"];

/// Names a binary to test instead of the one beside the test.
const OVERRIDE: &str = "DAYBOOK_TEST_BINARY";

/// The server's binary, built if it is missing or older than what it is made of.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os(OVERRIDE) {
        Some(path) => path.into(),
        None => beside_this_test(),
    })
}

fn beside_this_test() -> PathBuf {
    let test = std::env::current_exe().expect("the system knows the running program's path");
    let deps = test.parent().expect("a program lies in a directory");
    let profile_dir = if deps.ends_with("deps") { deps.parent().expect("deps lies in a directory") } else { deps };
    let binary = profile_dir.join("daybook");
    if !is_fresh(&binary) {
        build(profile_dir);
    }
    assert!(binary.exists(), "{} is missing although it was built", binary.display());
    binary
}

/// Whether the binary is as new as every source of the crates it may be made of. What Cargo notes beside a binary isn't there
/// yet while `cargo test` runs.
fn is_fresh(binary: &Path) -> bool {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    modified(binary).is_some_and(|built| LAYERS.iter().all(|layer| is_older(&crates.join(layer), built)))
}

/// Whether nothing below `dir` was changed after `time`. What can't be read is no reason to build.
fn is_older(dir: &Path, time: SystemTime) -> bool {
    let Ok(entries) = dir.read_dir() else { return true };
    entries.flatten().all(|entry| {
        let path = entry.path();
        if path.is_dir() { is_older(&path, time) } else { modified(&path).is_none_or(|modified| modified <= time) }
    })
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}

fn build(profile_dir: &Path) {
    let profile = match profile_dir.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let target = profile_dir.parent().expect("a profile's directory lies in the target directory");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--package", "daybook-cli", "--profile", profile, "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "can't build the server: see above");
}

#[cfg(test)]
mod tests;
