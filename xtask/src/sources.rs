//! Rule: how a source file looks. It says what it is for, does one job, and has its tests beside it.

use crate::finding::Finding;
use crate::rust_text::Code;
use crate::tree::Tree;

/// A file of more lines does more than one job.
const LINES_MAX: usize = 600;
/// Words that say nothing of what a file is for.
const EMPTY_WORDS: [&str; 9] = ["util", "utils", "helper", "helpers", "common", "misc", "manager", "managers", "impls"];
/// What has no place in code that serves.
const UNFINISHED: [(&str, &str); 5] = [
    (".unwrap()", "say why it can't fail with `expect`, or pass the error on"),
    (".unwrap_err()", "say why it can't fail with `expect_err`, or match"),
    ("todo!", "finish it, or leave it out"),
    ("unimplemented!", "finish it, or leave it out"),
    ("dbg!", "take it out"),
];

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.sources().flat_map(|(path, text)| check_source(path, text)).collect()
}

/// Tests, benches and the crates that are made for tests.
pub fn is_test(path: &str) -> bool {
    let mut folders: Vec<&str> = path.split('/').collect();
    let file = folders.pop();
    file == Some("tests.rs")
        || folders.iter().any(|folder| matches!(*folder, "tests" | "benches"))
        || path.starts_with("crates/test/")
}

fn check_source(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say = |line: usize, message: String| findings.push(Finding::new(path, line, message));
    let file = path.rsplit('/').next().unwrap_or(path);

    if !matches!(file, "tests.rs" | "build.rs") && !text.starts_with("//!") {
        say(1, "the file must open with `//!`: what it owns and what holds in it".to_owned());
    }
    let lines = text.lines().count();
    if lines > LINES_MAX && !is_test(path) {
        say(LINES_MAX + 1, format!("{lines} lines, {LINES_MAX} are the most; which second job does the file do?"));
    }
    for part in path.split('/') {
        let words = part.strip_suffix(".rs").unwrap_or(part).split(['_', '-']);
        for word in words.filter(|word| EMPTY_WORDS.contains(word)) {
            say(0, format!("the name {part} says nothing by {word:?}; name what it does"));
        }
    }

    let code = Code::of(text);
    let mut is_test_next = false;
    for (number, line) in code.lines() {
        for (word, advice) in UNFINISHED {
            if line.contains(word) && !is_test(path) {
                say(number, format!("`{word}` outside tests: {advice}"));
            }
        }
        if line.trim_start().starts_with("#[ignore") {
            say(number, "an ignored test is none; mend it or remove it".to_owned());
        }
        let inline_module = line.trim_start().starts_with("mod ") && line.trim_end().ends_with('{');
        if is_test_next && inline_module && !is_test(path) {
            say(number, "tests stand in a file of their own, <this file>/tests.rs".to_owned());
        }
        if !line.trim().is_empty() {
            is_test_next = line.trim() == "#[cfg(test)]";
        }
    }
    findings
}
