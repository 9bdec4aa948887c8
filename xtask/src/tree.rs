//! The repository as the rules see it: its text files, and the crates under `crates/` with what they depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Directories that hold nothing of ours to read.
const SKIPPED: [&str; 6] = ["target", ".git", "data", "node_modules", "corpus", "artifacts"];
/// Endings of the files that the rules look into.
const READ: [&str; 3] = [".rs", ".md", "Cargo.toml"];

#[derive(Debug, Default)]
pub struct Tree {
    /// Text by path; paths are relative to the root, with slashes.
    pub files: BTreeMap<String, String>,
    /// Every file, those that no rule looks into too.
    pub paths: BTreeSet<String>,
    /// By directory.
    pub crates: BTreeMap<String, Crate>,
}

/// A crate under `crates/<layer>/<folder>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crate {
    pub layer: String,
    pub folder: String,
    /// As its manifest has it.
    pub package: String,
    pub dependencies: Vec<Dependency>,
}

/// A line of a manifest's dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The package, whatever name it is given.
    pub package: String,
    /// Only for tests, benches and examples.
    pub is_dev: bool,
    /// From 1.
    pub line: usize,
}

/// Why the tree can't be read.
#[derive(Debug)]
pub enum TreeError {
    Read { path: PathBuf, source: io::Error },
    Manifest { path: String, line: usize, reason: String },
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, source } => write!(f, "can't read {}: {source}", path.display()),
            Self::Manifest { path, line, reason } => write!(f, "{path}:{line}: {reason}"),
        }
    }
}

impl Tree {
    pub fn read(root: &Path) -> Result<Self, TreeError> {
        let (mut files, mut paths) = (BTreeMap::new(), BTreeSet::new());
        collect(root, "", &mut files, &mut paths)?;
        Ok(Self { paths, ..Self::of(files)? })
    }

    /// The tree that these files make.
    pub fn of(files: BTreeMap<String, String>) -> Result<Self, TreeError> {
        let mut crates = BTreeMap::new();
        for (path, text) in &files {
            let ["crates", layer, folder, "Cargo.toml"] = path.split('/').collect::<Vec<_>>()[..] else { continue };
            let (package, dependencies) = read_manifest(path, text)?;
            let found = Crate { layer: layer.to_owned(), folder: folder.to_owned(), package, dependencies };
            crates.insert(format!("crates/{layer}/{folder}"), found);
        }
        let paths = files.keys().cloned().collect();
        Ok(Self { files, paths, crates })
    }

    /// Whether there is a file or a folder of that name.
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.paths.contains(path)
            || self.paths.range(folder.clone()..).next().is_some_and(|file| file.starts_with(&folder))
    }

    /// Rust sources with their text.
    pub fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter(|(path, _)| path.ends_with(".rs")).map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Directory of the crate that a file belongs to, if it lies under `crates/`.
    pub fn crate_of(path: &str) -> Option<&str> {
        let mut slashes = path.match_indices('/').map(|(at, _)| at);
        (path.starts_with("crates/")).then(|| slashes.nth(2).map(|at| &path[..at])).flatten()
    }
}

fn collect(
    root: &Path,
    below: &str,
    files: &mut BTreeMap<String, String>,
    paths: &mut BTreeSet<String>,
) -> Result<(), TreeError> {
    let dir = root.join(below);
    let fail = |path: PathBuf| move |source| TreeError::Read { path, source };
    for entry in fs::read_dir(&dir).map_err(fail(dir.clone()))? {
        let entry = entry.map_err(fail(dir.clone()))?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let kind = entry.file_type().map_err(fail(entry.path()))?;
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            collect(root, &path, files, paths)?;
            continue;
        }
        if kind.is_file() && READ.iter().any(|ending| name.ends_with(ending)) {
            let text = fs::read_to_string(entry.path()).map_err(fail(entry.path()))?;
            files.insert(path.clone(), text);
        }
        paths.insert(path);
    }
    Ok(())
}

fn read_manifest(path: &str, text: &str) -> Result<(String, Vec<Dependency>), TreeError> {
    let fail = |at: usize, reason: &str| TreeError::Manifest {
        path: path.to_owned(),
        line: line_of(text, at),
        reason: reason.to_owned(),
    };
    let manifest = DeTable::parse(text)
        .map_err(|error| fail(error.span().map_or(0, |span| span.start), error.message()))?
        .into_inner();
    let package = manifest
        .get("package")
        .and_then(|package| package.get_ref().get("name"))
        .and_then(|name| name.get_ref().as_str().map(str::to_owned))
        .ok_or_else(|| fail(0, "the manifest names no package"))?;
    let mut dependencies = Vec::new();
    read_sections(text, &manifest, &mut dependencies);
    let targets = manifest.get("target").and_then(|targets| targets.get_ref().as_table());
    for target in targets.into_iter().flat_map(|targets| targets.values()) {
        if let Some(target) = target.get_ref().as_table() {
            read_sections(text, target, &mut dependencies);
        }
    }
    dependencies.sort_by_key(|dependency| dependency.line);
    Ok((package, dependencies))
}

fn read_sections(text: &str, table: &DeTable<'_>, dependencies: &mut Vec<Dependency>) {
    for (section, is_dev) in [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)] {
        let Some(named) = table.get(section).and_then(|value| value.get_ref().as_table()) else { continue };
        for (name, value) in named {
            dependencies.push(Dependency {
                package: renamed(value).unwrap_or(name.get_ref()).to_owned(),
                is_dev,
                line: line_of(text, name.span().start),
            });
        }
    }
}

/// `package = "…"`, where a dependency is given another name.
fn renamed<'a>(value: &'a Spanned<DeValue<'_>>) -> Option<&'a str> {
    value.get_ref().get("package")?.get_ref().as_str()
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}
