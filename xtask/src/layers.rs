//! Rule: a crate uses its own layer or earlier ones. Cargo refuses cycles; this refuses arrows that point the wrong way.

use crate::finding::Finding;
use crate::tree::{Crate, Tree};

/// Earlier to later.
pub const LAYERS: [&str; 7] = ["base", "log", "state", "serve", "edge", "app", "test"];

/// The one state crate that knows the others.
const APPLY: &str = "crates/state/apply";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (dir, one) in &tree.crates {
        let manifest = format!("{dir}/Cargo.toml");
        let Some(own) = rank(&one.layer) else {
            let layers = LAYERS.join(", ");
            findings.push(Finding::new(&manifest, 0, format!("{} is no layer; there are {layers}", one.layer)));
            continue;
        };
        let expected = format!("daybook-{}", one.folder.replace('_', "-"));
        // Where the bare name would sound like a part of the product: daybook-test-server.
        let for_tests = format!("daybook-test-{}", one.folder.replace('_', "-"));
        // The library that others embed has the product's own name.
        let is_product = one.package == "daybook" && one.folder == "daybook";
        if one.package != expected && !(one.layer == "test" && one.package == for_tests) && !is_product {
            let message = format!("the package is named {}, its folder wants {expected}", one.package);
            findings.push(Finding::new(&manifest, 1, message));
        }
        for dependency in &one.dependencies {
            if !dependency.package.starts_with("daybook-") {
                continue;
            }
            let mut say = |message: String| findings.push(Finding::new(&manifest, dependency.line, message));
            let Some((target_dir, target)) = find(tree, &dependency.package) else {
                say(format!("{} is no crate of this tree", dependency.package));
                continue;
            };
            let may_be_later = dependency.is_dev && target.layer == "test";
            if rank(&target.layer).is_some_and(|rank| rank > own) && !may_be_later {
                say(format!(
                    "a {} crate can't use {}, which is of the later layer {}",
                    one.layer, dependency.package, target.layer
                ));
            }
            let strangers = one.layer == "state" && target.layer == "state" && dir != APPLY && target_dir != dir;
            if strangers && !dependency.is_dev {
                say(format!("state crates are strangers to each other; only apply may use {}", dependency.package));
            }
        }
    }
    findings
}

fn rank(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|known| *known == layer)
}

fn find<'a>(tree: &'a Tree, package: &str) -> Option<(&'a str, &'a Crate)> {
    tree.crates.iter().find(|(_, one)| one.package == package).map(|(dir, one)| (dir.as_str(), one))
}
