//! Rule: ARCHITECTURE.md is the tree. Its map lists every crate once, and the paths it names are there.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::tree::Tree;

pub const PAGE: &str = "ARCHITECTURE.md";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.files.get(PAGE) else {
        return vec![Finding::new(PAGE, 0, "it is missing")];
    };
    let mut findings = Vec::new();
    let mut mapped: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(dir) = mapped_crate(line) {
            if !tree.crates.contains_key(dir) {
                findings.push(Finding::new(PAGE, number, format!("the map lists {dir}, which is no crate")));
            } else if let Some(before) = mapped.insert(dir, number) {
                findings.push(Finding::new(PAGE, number, format!("the map lists {dir} on line {before} already")));
            }
            continue;
        }
        for path in named_paths(line) {
            if !tree.has(path) {
                findings.push(Finding::new(PAGE, number, format!("{path} is not there")));
            }
        }
    }
    for dir in tree.crates.keys().filter(|dir| !mapped.contains_key(dir.as_str())) {
        let message = format!("the map lacks {dir}; add a row beginning \"| `{dir}` |\"");
        findings.push(Finding::new(PAGE, 0, message));
    }
    findings
}

/// A row of the map begins with the crate's directory in backticks.
fn mapped_crate(line: &str) -> Option<&str> {
    let dir = line.strip_prefix("| `")?.split_once('`')?.0;
    (dir.starts_with("crates/") && dir.matches('/').count() == 2).then_some(dir)
}

/// Paths in backticks, written from the root.
fn named_paths(line: &str) -> impl Iterator<Item = &str> {
    let is_path = |text: &&str| {
        let begins = ["crates/", "docs/", "xtask/", "fuzz/", "tests/", "bench/", "examples/"]
            .iter()
            .any(|folder| text.starts_with(folder));
        begins && !text.contains(['*', '<', '{', '…', ' '])
    };
    line.split('`').skip(1).step_by(2).filter(is_path).map(|text| text.trim_end_matches('/'))
}
