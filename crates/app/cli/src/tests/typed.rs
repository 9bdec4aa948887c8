//! The command line as a whole.

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::arguments::Arguments;

fn parse(line: &str) -> Result<Arguments, ErrorKind> {
    Arguments::try_parse_from(line.split_whitespace()).map_err(|error| error.kind())
}

#[test]
fn the_definition_holds_together() {
    Arguments::command().debug_assert();
}

#[test]
fn everyday_lines_are_taken() {
    for line in [
        "daybook serve",
        "daybook serve --config a.toml --data d --kafka 127.0.0.1:0 --http 127.0.0.1:0 --set wal.sync=os",
        "daybook config --json",
        "daybook --json config --keys",
        "daybook topic create a b --partitions 3 --config retention.ms=1 --config cleanup.policy=compact --if-not-exists",
        "daybook topic list --bootstrap h:1,h:2",
        "daybook topic describe a --all-configs",
        "daybook topic alter a --partitions 4",
        "daybook topic alter a --config k=v --delete-config w",
        "daybook topic delete a b --if-exists",
        r"daybook produce a --file f --key-separator \t --header a=b --header a=c --compression zstd --acks 1 --partition 0",
        "daybook consume a --from-beginning --count 3 --json",
        "daybook consume a --offset -5 --partition 0 --partition 1 -f",
        "daybook consume a --timestamp 2026-01-31T12:00:00+01:00 --format %t:%p:%o",
        "daybook group list",
        "daybook group describe g --json",
        "daybook group reset g --to-earliest --dry-run",
        "daybook group reset g --topic a --topic b:1 --to-timestamp 1700000000000",
        "daybook group delete g h",
        "daybook bench produce --record-bytes 100 --partitions 16 --connections 8 --seconds 1 --compression lz4 --rate 5",
        "daybook bench consume --records 10 --cold /tmp --check-crc",
        "daybook bench consume --passes 3",
        "daybook bench latency --rate 100 --linger-ms 1.5 --pid 1",
        "daybook bench sync --json",
        "daybook bench disk --dir /tmp",
        "daybook bench all --record-bytes 100 --partitions 1,2 --connections 1",
    ] {
        assert!(parse(line).is_ok(), "{line}: {:?}", parse(line).err());
    }
}

#[test]
fn lines_that_contradict_themselves_are_wrong_usage() {
    for line in
        ["daybook topic alter a", "daybook topic create", "daybook group reset g", "daybook consume", "daybook produce"]
    {
        let kind = parse(line).expect_err(line);
        assert_eq!(kind, ErrorKind::MissingRequiredArgument, "{line}");
    }
    for line in [
        "daybook group reset g --to-earliest --to-latest",
        "daybook consume a --from-beginning --offset 1",
        "daybook consume a --format %s --json",
        "daybook bench produce --records 1 --seconds 1",
    ] {
        assert_eq!(parse(line).expect_err(line), ErrorKind::ArgumentConflict, "{line}");
    }
    for line in [
        "daybook topic create a --partitions 0",
        "daybook topic create a --config x",
        "daybook produce a --compression brotli",
        "daybook produce a --acks 2",
        "daybook consume a --timestamp yesterday",
        "daybook consume a --format %q",
        "daybook group reset g --to-offset -1",
        "daybook group reset g --topic a:-1 --to-latest",
        "daybook bench produce --record-bytes 15",
        "daybook bench latency --rate 0",
        "daybook bench produce --batch-bytes x",
    ] {
        let kind = parse(line).expect_err(line);
        assert!(matches!(kind, ErrorKind::ValueValidation | ErrorKind::InvalidValue), "{line}: {kind:?}");
    }
}

#[test]
fn help_of_serve_lists_every_key() {
    let mut command = Arguments::command();
    let serve = command.find_subcommand_mut("serve").expect("there is such a command");
    let help = serve.render_long_help().to_string();
    for key in daybook_settings::Settings::keys() {
        assert!(help.contains(key.name), "{}", key.name);
    }
}
