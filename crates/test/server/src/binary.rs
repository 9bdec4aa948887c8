//! Where the server's binary is.
//!
//! Cargo tells a package's tests the paths of its own binaries only. But all that one run builds lies in one directory:
//! the test in `<target>/<profile>/deps`, the server in `<target>/<profile>`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

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

/// Whether the binary is as new as each file that Cargo notes it was made of.
fn is_fresh(binary: &Path) -> bool {
    let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let Some(built) = modified(binary) else { return false };
    let Ok(noted) = std::fs::read_to_string(binary.with_extension("d")) else { return false };
    let Some((_, sources)) = noted.split_once(": ") else { return false };
    // A source that is gone makes the binary stale; a new one is named by an old one that had to change.
    let is_old = |time: SystemTime| time <= built;
    paths(sources).iter().all(|source| modified(source).is_some_and(is_old))
}

/// The paths of a make rule: spaces between, spaces within escaped.
fn paths(rule: &str) -> Vec<PathBuf> {
    let mut paths = vec![String::new()];
    let mut chars = rule.trim_end().chars();
    while let Some(c) = chars.next() {
        let path = paths.last_mut().expect("there is one from the beginning");
        match c {
            '\\' => path.extend(chars.next()),
            ' ' => paths.push(String::new()),
            c => path.push(c),
        }
    }
    paths.into_iter().filter(|path| !path.is_empty()).map(PathBuf::from).collect()
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
