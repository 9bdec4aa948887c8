//! Each rule on small trees: what it lets pass and what it finds, with its line.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::rust_text::Code;
use crate::tree::{Tree, TreeError};
use crate::{formats, layers, links, map, purity, sources};

fn tree(files: &[(&str, &str)]) -> Tree {
    let files: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    Tree::of(files).unwrap()
}

fn manifest(package: &str, rest: &str) -> String {
    format!("[package]\nname = \"{package}\"\n\n[dependencies]\n{rest}")
}

#[track_caller]
fn expect(findings: &[Finding], expected: &[(&str, usize, &str)]) {
    let places: Vec<(&str, usize)> = findings.iter().map(|found| (found.path.as_str(), found.line)).collect();
    let wanted: Vec<(&str, usize)> = expected.iter().map(|(path, line, _)| (*path, *line)).collect();
    assert_eq!(places, wanted, "{findings:#?}");
    for (found, (_, _, part)) in findings.iter().zip(expected) {
        assert!(found.message.contains(part), "{:?} lacks {part:?}", found.message);
    }
}

#[test]
fn an_arrow_to_an_earlier_or_the_same_layer_passes() {
    let found = layers::check(&tree(&[
        ("crates/base/types/Cargo.toml", &manifest("daybook-types", "")),
        ("crates/base/world/Cargo.toml", &manifest("daybook-world", "daybook-types.workspace = true\n")),
        ("crates/edge/kafka_api/Cargo.toml", &manifest("daybook-kafka-api", "daybook-types.workspace = true\n")),
    ]));
    expect(&found, &[]);
}

#[test]
fn an_arrow_to_a_later_layer_is_found_in_every_kind_of_section() {
    let text = "[package]\nname = \"daybook-types\"\n[dependencies]\nmine = { package = \"daybook-wal\", path = \"x\" }\n\
                [build-dependencies]\ndaybook-wal = \"1\"\n[dev-dependencies]\ndaybook-wal = \"1\"\ndaybook-sim = \"1\"\n\
                [target.'cfg(unix)'.dependencies]\ndaybook-wal = \"1\"\n";
    let found = layers::check(&tree(&[
        ("crates/base/types/Cargo.toml", text),
        ("crates/log/wal/Cargo.toml", &manifest("daybook-wal", "")),
        ("crates/test/sim/Cargo.toml", &manifest("daybook-sim", "")),
    ]));
    let at = |line| ("crates/base/types/Cargo.toml", line, "a base crate can't use daybook-wal");
    expect(&found, &[at(4), at(6), at(8), at(11)]);
}

#[test]
fn only_dev_dependencies_may_point_to_test_crates() {
    let found = layers::check(&tree(&[
        ("crates/base/types/Cargo.toml", &manifest("daybook-types", "daybook-sim = \"1\"\n")),
        ("crates/test/sim/Cargo.toml", &manifest("daybook-sim", "")),
    ]));
    expect(&found, &[("crates/base/types/Cargo.toml", 5, "later layer test")]);
}

#[test]
fn layers_packages_and_dependencies_must_exist_by_their_names() {
    let found = layers::check(&tree(&[
        ("crates/base/group_types/Cargo.toml", &manifest("daybook-group_types", "daybook-gone = \"1\"\n")),
        ("crates/middle/x/Cargo.toml", &manifest("daybook-x", "")),
        ("crates/test/server/Cargo.toml", &manifest("daybook-test-server", "")),
    ]));
    expect(
        &found,
        &[
            ("crates/base/group_types/Cargo.toml", 1, "wants daybook-group-types"),
            ("crates/base/group_types/Cargo.toml", 5, "daybook-gone is no crate"),
            ("crates/middle/x/Cargo.toml", 0, "middle is no layer"),
        ],
    );
}

#[test]
fn state_crates_are_strangers_but_for_apply() {
    let both = "daybook-catalog = \"1\"\ndaybook-partition = \"1\"\n";
    let found = layers::check(&tree(&[
        ("crates/state/apply/Cargo.toml", &manifest("daybook-apply", both)),
        ("crates/state/catalog/Cargo.toml", &manifest("daybook-catalog", "")),
        ("crates/state/partition/Cargo.toml", &manifest("daybook-partition", "daybook-catalog = \"1\"\n")),
    ]));
    expect(&found, &[("crates/state/partition/Cargo.toml", 5, "strangers")]);
}

#[test]
fn a_state_crate_knows_no_clock_disk_or_network() {
    let source = "//! x\nuse std::time::Duration;\nuse tokio::sync::{mpsc, Notify};\nuse std::{collections::HashMap, fs};\n\
                  use tokio::{\n    net::TcpStream,\n    sync,\n};\nfn f() { let _ = std::time::Instant::now(); }\n\
                  // std::fs in a comment\nconst S: &str = \"tokio::time\";\n";
    let found = purity::check(&tree(&[
        ("crates/state/catalog/Cargo.toml", &manifest("daybook-catalog", "daybook-world = \"1\"\n")),
        ("crates/state/catalog/src/lib.rs", source),
        ("crates/state/catalog/src/tests.rs", "use std::fs;\n"),
    ]));
    expect(
        &found,
        &[
            ("crates/state/catalog/Cargo.toml", 5, "can't use daybook-world"),
            ("crates/state/catalog/src/lib.rs", 4, "std::fs"),
            ("crates/state/catalog/src/lib.rs", 6, "tokio::net::TcpStream"),
            ("crates/state/catalog/src/lib.rs", 9, "std::time::Instant::now"),
        ],
    );
}

#[test]
fn a_large_library_stands_behind_its_one_place() {
    let found = purity::check(&tree(&[
        ("crates/log/consensus/Cargo.toml", &manifest("daybook-consensus", "openraft = \"1\"\n")),
        ("crates/log/consensus/src/lib.rs", "//! x\nuse openraft::Raft;\n"),
        ("crates/log/shard/Cargo.toml", &manifest("daybook-shard", "openraft = \"1\"\n")),
        ("crates/log/shard/src/lib.rs", "//! openraft\n\nfn f(_: openraft::Raft) {}\nstruct NoOpenraft;\n"),
        ("crates/edge/kafka_api/Cargo.toml", &manifest("daybook-kafka-api", "kafka-protocol = \"1\"\n")),
        ("crates/edge/kafka_api/src/wire.rs", "//! x\nuse kafka_protocol::messages;\n"),
        ("crates/edge/kafka_api/src/answer.rs", "//! x\nuse kafka_protocol::messages;\n"),
        ("crates/base/kv/Cargo.toml", &manifest("daybook-kv", "fjall = \"3\"\n")),
        ("crates/base/kv/src/store.rs", "//! x\nuse fjall::Database;\n"),
    ]));
    expect(
        &found,
        &[
            ("crates/edge/kafka_api/src/answer.rs", 2, "kept behind the wire modules"),
            ("crates/log/shard/Cargo.toml", 5, "openraft is kept behind crates/log/consensus"),
            ("crates/log/shard/src/lib.rs", 3, "kept behind crates/log/consensus"),
        ],
    );
}

#[test]
fn a_file_opens_with_what_it_is_for() {
    let found = sources::check(&tree(&[
        ("crates/a/b/build.rs", "fn main() {}\n"),
        ("crates/a/b/src/tests.rs", "use super::*;\n"),
        ("crates/a/b/src/good.rs", "//! Good.\n"),
        ("crates/a/b/src/bad.rs", "use std::fmt;\n"),
        ("crates/a/b/tests/it/main.rs", "mod x;\n"),
    ]));
    expect(&found, &[("crates/a/b/src/bad.rs", 1, "open with"), ("crates/a/b/tests/it/main.rs", 1, "open with")]);
}

#[test]
fn a_long_file_is_found_unless_it_is_a_test() {
    let just = format!("//! x\n{}", "\n".repeat(599));
    let long = format!("//! x\n{}", "\n".repeat(600));
    let found = sources::check(&tree(&[
        ("crates/a/b/src/just.rs", &just),
        ("crates/a/b/src/long.rs", &long),
        ("crates/a/b/src/long/tests.rs", &long),
        ("crates/test/sim/src/long.rs", &long),
    ]));
    expect(&found, &[("crates/a/b/src/long.rs", 601, "601 lines")]);
}

#[test]
fn a_name_that_says_nothing_is_found_as_a_word() {
    let found = sources::check(&tree(&[
        ("crates/a/b/src/group_manager.rs", "//! x\n"),
        ("crates/a/b/src/futile.rs", "//! x\n"),
        ("crates/a/common/src/lib.rs", "//! x\n"),
    ]));
    expect(&found, &[("crates/a/b/src/group_manager.rs", 0, "manager"), ("crates/a/common/src/lib.rs", 0, "common")]);
}

#[test]
fn what_is_unfinished_is_found_outside_comments_and_texts() {
    let source = "//! x\nfn f() {\n    a.unwrap();\n    // b.unwrap()\n    let _ = \"c.unwrap() todo!\";\n    todo!()\n}\n\
                  #[ignore = \"slow\"]\nfn g() {}\n#[cfg(test)]\nmod tests {\n}\n#[cfg(test)]\nmod tests;\n";
    let found = sources::check(&tree(&[("crates/a/b/src/x.rs", source)]));
    let at = |line, part| ("crates/a/b/src/x.rs", line, part);
    expect(&found, &[at(3, "unwrap"), at(6, "todo!"), at(8, "ignored"), at(11, "tests.rs")]);
}

#[test]
fn tests_may_unwrap_but_not_be_ignored() {
    let found =
        sources::check(&tree(&[("crates/a/b/tests/it/x.rs", "//! x\nfn f() { a.unwrap(); }\n#[ignore]\nfn g() {}\n")]));
    expect(&found, &[("crates/a/b/tests/it/x.rs", 3, "ignored")]);
}

#[test]
fn the_map_lists_exactly_the_crates_of_the_tree() {
    let page = "# Map\n| `crates/base/types` | words |\n| `crates/base/types` | again |\n| `crates/base/gone` | gone |\n\
                See `crates/base/types/src/lib.rs` and `crates/base/types/src/lost.rs` and `crates/<layer>/x`.\n";
    let found = map::check(&tree(&[
        ("ARCHITECTURE.md", page),
        ("crates/base/types/Cargo.toml", &manifest("daybook-types", "")),
        ("crates/base/types/src/lib.rs", "//! x\n"),
        ("crates/base/world/Cargo.toml", &manifest("daybook-world", "")),
    ]));
    expect(
        &found,
        &[
            ("ARCHITECTURE.md", 3, "on line 2 already"),
            ("ARCHITECTURE.md", 4, "crates/base/gone, which is no crate"),
            ("ARCHITECTURE.md", 5, "lost.rs is not there"),
            ("ARCHITECTURE.md", 0, "the map lacks crates/base/world"),
        ],
    );
}

#[test]
fn a_tree_without_a_map_is_told_so() {
    expect(&map::check(&tree(&[])), &[("ARCHITECTURE.md", 0, "missing")]);
}

#[test]
fn a_link_leads_to_a_file_or_a_folder() {
    let page = "[a](docs/a.md#top) [b](docs) [c](https://x.example/gone.md) [d](#here)\n[e](docs/gone.md)\n";
    let below = "[root](../README.md) [self](./a.md)\n\n[outside](../../x.md) [gone](b.md)\n";
    let found = links::check(&tree(&[("README.md", page), ("docs/a.md", below)]));
    expect(&found, &[("README.md", 2, "docs/gone.md"), ("docs/a.md", 3, "../../x.md"), ("docs/a.md", 3, "b.md")]);
}

#[test]
fn every_format_has_a_page_that_names_its_file() {
    let format = "//! x\n\nconst STATE_FORMAT_VERSION: u8 = 1;\n";
    let of_the_wire = "//! x\n\nconst API_VERSIONS_VERSION: i16 = 3;\n";
    let found = formats::check(&tree(&[
        ("docs/formats/data-dir.md", ""),
        (
            "docs/formats/entry.md",
            "Made in `crates/log/command/src/entry.rs`, once in `crates/log/command/src/old.rs`.\n",
        ),
        ("docs/formats/index.md", ""),
        ("docs/formats/segment.md", ""),
        ("crates/log/command/src/entry.rs", format),
        ("crates/edge/kafka_client/src/wire.rs", of_the_wire),
        ("crates/state/apply/src/checkpoint.rs", format),
    ]));
    expect(
        &found,
        &[
            ("docs/formats/wal.md", 0, "missing"),
            ("crates/state/apply/src/checkpoint.rs", 3, "no page"),
            ("docs/formats/entry.md", 1, "old.rs is not there"),
        ],
    );
}

#[test]
fn comments_and_literals_are_blanked_and_lines_kept() {
    let source = "a /* b /* c */ d */ e // f\n\"g\\\" h\" i r#\"j \" k\"# l b'm' '\\'' n 'o: loop {} b\"p\" 'q' r";
    let code = Code::of(source);
    let words: Vec<(usize, String)> = code
        .lines()
        .flat_map(|(line, text)| text.split_whitespace().map(move |word| (line, word.to_owned())))
        .collect();
    let on_second: Vec<&str> = words.iter().filter(|(line, _)| *line == 2).map(|(_, word)| word.as_str()).collect();
    let on_first: Vec<&str> = words.iter().filter(|(line, _)| *line == 1).map(|(_, word)| word.as_str()).collect();
    assert_eq!(on_first, ["a", "e"]);
    assert_eq!(on_second, ["i", "l", "n", "'o:", "loop", "{}", "r"]);
}

#[test]
fn a_use_tree_is_written_out() {
    let code = Code::of("use a::{b::{C, d::*}, e};\nfn f(x: Vec<g::H>) -> ::i::J { K { l: m::n() } }\n");
    let paths: Vec<(String, usize)> = code.paths().into_iter().map(|path| (path.text, path.line)).collect();
    let has = |text: &str, line: usize| assert!(paths.contains(&(text.to_owned(), line)), "{text} is not in {paths:?}");
    has("a::b::C", 1);
    has("a::b::d", 1);
    has("a::e", 1);
    has("g::H", 2);
    has("i::J", 2);
    has("m::n", 2);
    assert!(paths.iter().all(|(text, _)| !text.starts_with("a::b::g") && !text.contains("K::")), "{paths:?}");
}

#[test]
fn a_manifest_that_is_none_is_told_with_its_line() {
    let files = BTreeMap::from([("crates/base/x/Cargo.toml".to_owned(), "[package]\nname = \n".to_owned())]);
    let error = Tree::of(files).unwrap_err();
    assert!(matches!(error, TreeError::Manifest { line: 2, .. }), "{error}");
}

#[test]
fn this_repository_can_be_read() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let tree = Tree::read(root).unwrap();
    assert!(tree.crates.contains_key("crates/base/types"));
    assert!(tree.files.contains_key("xtask/src/main.rs"));
}
