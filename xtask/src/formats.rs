//! Rule: every byte on disk is drawn once. Each format has a page in `docs/formats`, and each file that has a format version is named
//! by one.

use crate::finding::Finding;
use crate::rust_text::Code;
use crate::tree::Tree;

const FOLDER: &str = "docs/formats/";
/// The pages there must be.
const PAGES: [&str; 5] = ["data-dir.md", "entry.md", "index.md", "segment.md", "wal.md"];
/// What tells that a file writes a format of its own: a version that is an unsigned number. Those of protocols have signs.
const MARK: &str = "VERSION: u";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in PAGES {
        let path = format!("{FOLDER}{page}");
        if !tree.files.contains_key(&path) {
            findings.push(Finding::new(&path, 0, "this page of an on-disk format is missing"));
        }
    }
    let pages: Vec<(&str, &str)> = tree
        .files
        .iter()
        .filter(|(path, _)| path.starts_with(FOLDER))
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    for (path, text) in tree.sources().filter(|(path, _)| path.starts_with("crates/")) {
        if crate::sources::is_test(path) {
            continue;
        }
        let code = Code::of(text);
        let Some((line, _)) = code.lines().find(|(_, line)| line.contains("const ") && line.contains(MARK)) else {
            continue;
        };
        if !pages.iter().any(|(_, page)| page.contains(path)) {
            let message = format!("this on-disk format has no page: a page of {FOLDER} must name {path}");
            findings.push(Finding::new(path, line, message));
        }
    }
    for (page, text) in &pages {
        for (index, line) in text.lines().enumerate() {
            let named =
                line.split('`').skip(1).step_by(2).filter(|name| name.starts_with("crates/") && name.ends_with(".rs"));
            for name in named.filter(|name| !tree.files.contains_key(*name)) {
                findings.push(Finding::new(page, index + 1, format!("{name} is not there")));
            }
        }
    }
    findings
}
