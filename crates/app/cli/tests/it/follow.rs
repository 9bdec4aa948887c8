//! `daybook consume --follow`.

use rustix::process::Signal;

use crate::harness::{Running, Server, daybook, dir};

fn follow(server: &Server, args: &[&str]) -> Running {
    let mut command = daybook();
    Running::start(command.args(["consume", "t", "--follow", "--bootstrap", &server.kafka]).args(args))
}

#[test]
fn a_follower_sees_what_is_written_and_can_be_interrupted() {
    let data = dir();
    let server = Server::start(data.path());
    server.run_with(&["produce", "t"], b"old\n");
    let mut follower = follow(&server, &["--from-beginning"]);
    assert_eq!(follower.line(), "old");
    for word in ["one", "two", "three"] {
        server.run_with(&["produce", "t"], format!("{word}\n").as_bytes());
        assert_eq!(follower.line(), word);
    }
    follower.signal(Signal::INT);
    assert_eq!(follower.wait(), Some(0));
}

#[test]
fn an_interrupted_follower_of_a_group_commits_what_it_printed() {
    let data = dir();
    let server = Server::start(data.path());
    server.run_with(&["produce", "t"], b"a\nb\n");
    let mut follower = follow(&server, &["--group", "g"]);
    assert_eq!((follower.line(), follower.line()), ("a".to_owned(), "b".to_owned()));
    follower.signal(Signal::INT);
    assert_eq!(follower.wait(), Some(0));
    assert_eq!(server.json(&["group", "describe", "g"])["lag"], 0);
}

#[test]
fn a_follower_stops_after_the_count() {
    let data = dir();
    let server = Server::start(data.path());
    server.run_with(&["produce", "t"], b"a\n");
    let mut follower = follow(&server, &["--from-beginning", "--count", "2"]);
    assert_eq!(follower.line(), "a");
    server.run_with(&["produce", "t"], b"b\nc\n");
    assert_eq!(follower.line(), "b");
    assert_eq!(follower.line(), "");
    assert_eq!(follower.wait(), Some(0));
}
