//! Rule: a link in a page leads somewhere. Only links inside the repository are looked at.

use crate::finding::Finding;
use crate::tree::Tree;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (page, text) in tree.files.iter().filter(|(path, _)| path.ends_with(".md")) {
        for (index, line) in text.lines().enumerate() {
            for target in targets(line) {
                let place = resolve(page, target);
                if !place.as_deref().is_some_and(|place| place.is_empty() || tree.has(place)) {
                    findings.push(Finding::new(page, index + 1, format!("the link to {target} leads nowhere")));
                }
            }
        }
    }
    findings
}

/// What stands in `](…)` and is a path, without the part after `#`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let links = line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    let paths = links.filter(|target| !target.contains("://") && !target.starts_with("mailto:"));
    paths.map(|target| target.split('#').next().unwrap_or_default()).filter(|path| !path.is_empty())
}

/// The path from the root; `None` if it leaves the repository.
fn resolve(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
