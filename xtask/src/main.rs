//! Chores of this repository that are code: `cargo xtask tidy` holds the tree to the house rules of CONTRIBUTING.md.
//!
//! One file a rule: [`layers`], [`purity`], [`sources`], [`map`], [`links`], [`formats`]. Each is a pure function from the [`tree::Tree`]
//! that was read once to [`finding::Finding`]s, so that each is tested on trees made in memory.

mod finding;
mod formats;
mod layers;
mod links;
mod map;
mod purity;
mod rust_text;
mod sources;
#[cfg(test)]
mod tests;
mod tree;

use std::path::Path;
use std::process::ExitCode;

use crate::finding::Finding;
use crate::tree::Tree;

const USAGE: &str = "usage: cargo xtask tidy
  tidy   check layers, purity, sources, the map in ARCHITECTURE.md, links in pages, and docs/formats";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn tidy() -> ExitCode {
    // This package stands directly below the root.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let tree = match Tree::read(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut findings = check(&tree);
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    let (crates, files) = (tree.crates.len(), tree.files.len());
    if findings.is_empty() {
        println!("tidy: {crates} crates, {files} files, nothing to say");
        ExitCode::SUCCESS
    } else {
        println!("tidy: {crates} crates, {files} files, {} findings", findings.len());
        ExitCode::FAILURE
    }
}

fn check(tree: &Tree) -> Vec<Finding> {
    let rules = [layers::check, purity::check, sources::check, map::check, links::check, formats::check];
    rules.iter().flat_map(|rule| rule(tree)).collect()
}
