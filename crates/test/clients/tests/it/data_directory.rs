//! One process a data directory, and only directories that it understands.

use std::fs;
use std::path::Path;

use daybook_test_server::{Exit, StartError, http_get};
use tempfile::TempDir;

use crate::broker::{create_topic, launch, stand_in};
use crate::reading::{contents, read_all};
use crate::writing::{Content, producer, write};

/// The end of a start that must be refused.
fn refused(data: &TempDir) -> Exit {
    match launch(data).start() {
        Err(StartError::Ended(exit)) => {
            assert_eq!(exit.status.code(), Some(1), "{}", exit.stderr);
            assert_eq!(exit.stdout, "", "it never was ready");
            exit
        }
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_second_server_on_a_directory_is_refused() {
    if stand_in().is_some() {
        return;
    }
    let data = TempDir::new().unwrap();
    let server = launch(&data).start().unwrap();
    let address = server.kafka().to_owned();
    create_topic(&address, "t", 1, &[]).unwrap();
    write(&producer(&address, &[]), "t", 0, &[Content::value("before")]);
    let exit = refused(&data);
    assert!(exit.stderr.contains(&data.path().display().to_string()), "it names the directory: {}", exit.stderr);
    assert!(exit.stderr.contains("in use"), "{}", exit.stderr);
    assert!(exit.stderr.contains(&server.pid().to_string()), "it names who has it: {}", exit.stderr);

    // The first has noticed nothing.
    assert_eq!(http_get(server.http(), "/readyz").unwrap().status, 200);
    write(&producer(&address, &[]), "t", 0, &[Content::value("after")]);
    let both = [Content::value("before"), Content::value("after")];
    assert_eq!(contents(read_all(&address, "t", 0)), both);

    // A lock that its holder took along when it was killed keeps nobody out.
    server.kill();
    let server = launch(&data).start().unwrap();
    assert_eq!(contents(read_all(server.kafka(), "t", 0)), both);
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    if stand_in().is_some() {
        return;
    }
    let data = TempDir::new().unwrap();
    launch(&data).start().unwrap().terminate();
    let node_file = data.path().join("node.toml");
    let text = fs::read_to_string(&node_file).unwrap();
    let version = text.lines().find_map(|line| line.strip_prefix("format_version = ")).unwrap();
    let newer = version.parse::<u64>().unwrap() + 1;
    fs::write(&node_file, text.replace(&format!("format_version = {version}"), &format!("format_version = {newer}")))
        .unwrap();
    let before = fingerprint(data.path());
    let exit = refused(&data);
    assert!(exit.stderr.contains(&format!("format version {newer}")), "{}", exit.stderr);
    assert!(exit.stderr.contains(version), "it says what it knows: {}", exit.stderr);
    assert_eq!(fingerprint(data.path()), before, "nothing was written");

    fs::write(&node_file, text).unwrap();
    launch(&data).start().unwrap();
}

#[test]
fn a_directory_of_something_else_is_refused() {
    if stand_in().is_some() {
        return;
    }
    let data = TempDir::new().unwrap();
    fs::write(data.path().join("holiday.jpg"), "a picture").unwrap();
    let exit = refused(&data);
    assert!(exit.stderr.contains(&data.path().display().to_string()), "{}", exit.stderr);
    assert_eq!(fs::read_dir(data.path()).unwrap().count(), 1, "nothing was written");
}

/// Names, lengths and contents of all files but the lock, whose content is a courtesy.
fn fingerprint(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(fingerprint(&path));
        } else if path.file_name().unwrap() != "lock" {
            files.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}
