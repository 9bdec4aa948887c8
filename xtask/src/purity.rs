//! Rule: what must not be named where. State knows no world, clock or dice; each large library stands behind one crate or module.

use crate::finding::Finding;
use crate::rust_text::{Code, Path};
use crate::tree::Tree;

/// A library, and the places that may name it: files, or directories with everything below.
struct Kept {
    package: &'static str,
    crate_name: &'static str,
    /// The places in words.
    home: &'static str,
    places: &'static [&'static str],
}

const KEPT: [Kept; 4] = [
    Kept {
        package: "openraft",
        crate_name: "openraft",
        home: "crates/log/consensus",
        places: &["crates/log/consensus/"],
    },
    Kept {
        package: "openraft-rt-tokio",
        crate_name: "openraft_rt_tokio",
        home: "crates/log/consensus",
        places: &["crates/log/consensus/"],
    },
    Kept { package: "fjall", crate_name: "fjall", home: "crates/base/kv", places: &["crates/base/kv/"] },
    Kept {
        package: "kafka-protocol",
        crate_name: "kafka_protocol",
        home: "the wire modules of kafka_api and kafka_client",
        places: &[
            "crates/edge/kafka_api/src/wire.rs",
            "crates/edge/kafka_api/src/wire/",
            "crates/edge/kafka_client/src/wire.rs",
            "crates/edge/kafka_client/src/wire/",
        ],
    },
];

/// Packages that would bring a clock, dice, disk or network into a state crate.
const WORLDLY_PACKAGES: [&str; 7] = ["daybook-world", "chrono", "rand", "rustix", "tempfile", "fjall", "axum"];
/// The same by path. `tokio` is judged apart.
const WORLDLY_PATHS: [&str; 9] = [
    "daybook_world",
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::time::UNIX_EPOCH",
];
/// Names that tell a clock or dice however they were imported.
const WORLDLY_NAMES: [&str; 3] = ["SystemTime", "Instant", "RandomState"];
/// The part of tokio that only hands things over.
const TOKIO_ALLOWED: &str = "tokio::sync";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (dir, one) in &tree.crates {
        let manifest = format!("{dir}/Cargo.toml");
        for dependency in &one.dependencies {
            let package = dependency.package.as_str();
            let may_name = |kept: &Kept| kept.places.iter().any(|place| place.starts_with(&format!("{dir}/")));
            let kept = KEPT.iter().find(|kept| kept.package == package && !may_name(kept) && !dependency.is_dev);
            if let Some(Kept { home, .. }) = kept {
                let message = format!("{package} is kept behind {home}");
                findings.push(Finding::new(&manifest, dependency.line, message));
            }
            if one.layer == "state" && !dependency.is_dev && WORLDLY_PACKAGES.contains(&package) {
                let message = format!("a state crate is pure: it can't use {package}");
                findings.push(Finding::new(&manifest, dependency.line, message));
            }
        }
    }
    for (path, text) in tree.sources() {
        let Some(dir) = Tree::crate_of(path) else { continue };
        let is_state = tree.crates.get(dir).is_some_and(|one| one.layer == "state") && !crate::sources::is_test(path);
        let code = Code::of(text);
        for found in code.paths() {
            findings.extend(misplaced(path, &found));
            if is_state {
                findings.extend(worldly(path, &found));
            }
        }
    }
    findings.sort();
    findings.dedup();
    findings
}

fn misplaced(path: &str, found: &Path) -> Option<Finding> {
    let kept = KEPT.iter().find(|kept| found.begins_with(kept.crate_name))?;
    let is_home =
        kept.places.iter().any(|place| if place.ends_with('/') { path.starts_with(place) } else { path == *place });
    // Tests speak to the world in its own words.
    (!is_home && !crate::sources::is_test(path))
        .then(|| Finding::new(path, found.line, format!("{} is kept behind {}", kept.crate_name, kept.home)))
}

fn worldly(path: &str, found: &Path) -> Option<Finding> {
    let is_tokio = found.begins_with("tokio") && found.text != "tokio" && !found.begins_with(TOKIO_ALLOWED);
    let is_worldly = is_tokio
        || WORLDLY_PATHS.iter().any(|worldly| found.begins_with(worldly))
        || found.text.split("::").any(|name| WORLDLY_NAMES.contains(&name));
    is_worldly.then(|| {
        let message = format!("a state crate is pure: no clock, dice, disk or network, so not {}", found.text);
        Finding::new(path, found.line, message)
    })
}
