use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use daybook_types::FaultKind;
use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::{KEY_BYTES_MAX, KvError, Op, Options, Space, Store};

fn open(dir: &Path) -> Store {
    Store::open(dir, Options::default()).unwrap()
}

fn put(space: Space, key: &'static str, value: &'static str) -> Op {
    Op::Put { space, key: Bytes::from(key), value: Bytes::from(value) }
}

fn all(store: &Store, space: Space, prefix: &str) -> Vec<(String, String)> {
    let text = |bytes: Bytes| String::from_utf8(bytes.to_vec()).unwrap();
    store
        .scan(space, prefix.as_bytes())
        .map(|entry| {
            let (key, value) = entry.unwrap();
            (text(key), text(value))
        })
        .collect()
}

#[test]
fn what_was_committed_is_there_when_opened_again() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    store.commit(vec![put(Space::Meta, "lsn", "7"), put(Space::Topics, "lsn", "other")]).unwrap();
    store.commit(vec![put(Space::Meta, "lsn", "8"), put(Space::Groups, "g", "")]).unwrap();
    drop(store);
    let store = open(dir.path());
    assert_eq!(store.get(Space::Meta, b"lsn").unwrap().as_deref(), Some(&b"8"[..]));
    assert_eq!(store.get(Space::Topics, b"lsn").unwrap().as_deref(), Some(&b"other"[..]));
    assert_eq!(store.get(Space::Groups, b"g").unwrap().as_deref(), Some(&b""[..]));
    assert_eq!(store.get(Space::Producers, b"lsn").unwrap(), None);
}

/// A tag is in every key on disk.
#[test]
fn tags_stay_as_they_are() {
    assert_eq!(Space::ALL.map(Space::tag), [1, 2, 3, 4, 5, 6, 20, 21, 7, 8, 9, 10, 11, 22, 14, 15, 16]);
}

/// Keys at the edges of neighbouring spaces.
#[test]
fn spaces_are_strangers() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    store.commit(vec![put(Space::Meta, "\u{7f}", "meta"), put(Space::Topics, "\0", "topics")]).unwrap();
    assert_eq!(all(&store, Space::Meta, ""), [("\u{7f}".into(), "meta".into())]);
    assert_eq!(all(&store, Space::Topics, ""), [("\0".into(), "topics".into())]);
    assert_eq!(all(&store, Space::Partitions, ""), []);
}

#[test]
fn a_scan_has_the_keys_with_its_prefix_in_order() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    store.commit(["b", "ab", "a", "abc", "ac"].map(|key| put(Space::Groups, key, "v")).to_vec()).unwrap();
    let keys = |prefix| all(&store, Space::Groups, prefix).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert_eq!(keys("ab"), ["ab", "abc"]);
    assert_eq!(keys(""), ["a", "ab", "abc", "ac", "b"]);
    assert_eq!(keys("c"), [""; 0]);
}

#[test]
fn a_scan_is_of_its_moment() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    store.commit(vec![put(Space::Groups, "a", "old"), put(Space::Groups, "b", "old")]).unwrap();
    let scan = store.scan(Space::Groups, b"");
    store
        .commit(vec![put(Space::Groups, "a", "new"), Op::Remove { space: Space::Groups, key: Bytes::from("b") }])
        .unwrap();
    let values: Vec<_> = scan.map(|entry| entry.unwrap().1).collect();
    assert_eq!(values, ["old", "old"]);
}

#[test]
fn a_batch_with_an_impossible_key_leaves_no_trace() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    for key in [Bytes::new(), Bytes::from(vec![b'k'; KEY_BYTES_MAX + 1])] {
        let bytes = key.len();
        let error =
            store.commit(vec![put(Space::Meta, "a", "v"), Op::Remove { space: Space::Groups, key }]).unwrap_err();
        assert!(matches!(error, KvError::Key { space: Space::Groups, bytes: found } if found == bytes), "{error}");
    }
    assert_eq!(store.get(Space::Meta, b"a").unwrap(), None);
    store.commit(vec![put(Space::Meta, "a", "v")]).unwrap();
}

#[test]
fn a_second_opening_is_refused() {
    let dir = TempDir::new().unwrap();
    let _first = open(dir.path());
    let error = Store::open(dir.path(), Options::default()).unwrap_err();
    assert!(matches!(error, KvError::Locked { .. }), "{error}");
}

#[test]
fn a_directory_that_is_a_file_is_an_error() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("store");
    fs::write(&path, "no store").unwrap();
    let error = Store::open(&path, Options::default()).unwrap_err();
    assert_eq!(error.kind(), FaultKind::RetryLater, "{error}");
}

/// A batch that didn't reach the disk whole is in none of its spaces, whether the journal ends inside it or has zeros from there
/// on, as a preallocated file has; what came before it is there.
#[test]
fn a_torn_batch_is_absent_from_all_spaces() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    store.commit(vec![put(Space::Meta, "lsn", "1"), put(Space::Topics, "t", "1")]).unwrap();
    let before = used(&journal_of(dir.path())).len();
    let second = [put(Space::Meta, "lsn", "2"), put(Space::Topics, "t", "2"), put(Space::Groups, "g", "2")];
    store.commit(second.to_vec()).unwrap();
    drop(store);
    let copy = TempDir::new().unwrap();
    copy_tree(dir.path(), copy.path());
    let journal = journal_of(copy.path());
    let whole = fs::read(&journal).unwrap();
    assert!(whole.len() > before);
    for cut in before..whole.len() {
        for zeros in [0, whole.len() - cut, 4096] {
            let mut torn = whole[..cut].to_vec();
            torn.resize(cut + zeros, 0);
            fs::write(&journal, torn).unwrap();
            let store = open(copy.path());
            let what = format!("cut at {cut} of {before}..{}, then {zeros} zeros", whole.len());
            assert_eq!(all(&store, Space::Meta, ""), [("lsn".into(), "1".into())], "{what}");
            assert_eq!(all(&store, Space::Topics, ""), [("t".into(), "1".into())], "{what}");
            assert_eq!(all(&store, Space::Groups, ""), [], "{what}");
        }
    }
    fs::write(&journal, whole).unwrap();
    assert_eq!(all(&open(copy.path()), Space::Groups, ""), [("g".into(), "2".into())]);
}

/// Whichever byte of the journal or of a table is damaged: the store fails to open, or fails to read, or has for a key a value that was
/// committed for it. It never panics.
#[test]
fn damage_is_never_a_panic_or_a_wrong_value() {
    let dir = TempDir::new().unwrap();
    let options = Options { memtable_bytes_max: 1_000, ..Options::default() };
    let store = Store::open(dir.path(), options).unwrap();
    let value = |key: u32| Bytes::from(format!("value of {key}").repeat(20));
    for key in 0..60_u32 {
        store
            .commit(vec![Op::Put {
                space: Space::Groups,
                key: Bytes::copy_from_slice(&key.to_be_bytes()),
                value: value(key),
            }])
            .unwrap();
    }
    drop(store);
    let (trimmed, copy) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    copy_tree(dir.path(), trimmed.path());
    let dir = trimmed;
    let mut damaged_files = 0;
    for file in files_under(dir.path()) {
        let whole = fs::read(&file).unwrap();
        // Of other files, and of the last section of tables, the engine believes lengths before it has checked them and asks for
        // that much memory; see the crate's documentation.
        let places = match file.parent().and_then(Path::file_name).and_then(|name| name.to_str()) {
            Some("tables") => whole.len() / 2,
            _ if file.extension().is_some_and(|end| end == "jnl") => whole.len(),
            _ => 0,
        };
        damaged_files += usize::from(places > 0);
        for place in (0..places).step_by((places / 12).max(1)) {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x41;
            fs::remove_dir_all(copy.path()).unwrap();
            copy_tree(dir.path(), copy.path());
            fs::write(copy.path().join(file.strip_prefix(dir.path()).unwrap()), damaged).unwrap();
            let Ok(store) = Store::open(copy.path(), options) else { continue };
            for entry in store.scan(Space::Groups, b"") {
                let Ok((key, found)) = entry else { break };
                let number = u32::from_be_bytes(key[..].try_into().unwrap());
                assert_eq!(found, value(number), "{} damaged at {place}", file.display());
            }
        }
    }
    assert!(damaged_files > 1, "{damaged_files}");
}

fn journal_of(dir: &Path) -> PathBuf {
    let found = files_under(dir).into_iter().find(|path| path.extension().is_some_and(|end| end == "jnl"));
    found.expect("the engine keeps a journal")
}

/// The file without the zeros it was preallocated with.
fn used(file: &Path) -> Vec<u8> {
    let mut bytes = fs::read(file).unwrap();
    bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
    bytes
}

fn files_under(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_under(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// Copies all, but of preallocated files only what was written.
fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for dir in dirs_under(from) {
        fs::create_dir_all(to.join(dir.strip_prefix(from).unwrap())).unwrap();
    }
    for file in files_under(from) {
        let is_journal = file.extension().is_some_and(|end| end == "jnl");
        let bytes = if is_journal { used(&file) } else { fs::read(&file).unwrap() };
        fs::write(to.join(file.strip_prefix(from).unwrap()), bytes).unwrap();
    }
}

fn dirs_under(dir: &Path) -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            dirs.extend(dirs_under(&path));
            dirs.push(path);
        }
    }
    dirs
}

fn any_op() -> impl Strategy<Value = Op> {
    let space = prop::sample::select(Space::ALL.to_vec());
    let key = vec(0..4_u8, 1..4).prop_map(Bytes::from);
    let value = prop::option::of(vec(any::<u8>(), 0..300).prop_map(Bytes::from));
    (space, key, value).prop_map(|(space, key, value)| match value {
        Some(value) => Op::Put { space, key, value },
        None => Op::Remove { space, key },
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Against a sorted map for each space, opened again now and then, with memory tables so small that tables are written.
    #[test]
    fn behaves_as_sorted_maps(batches in vec((vec(any_op(), 0..20), any::<bool>()), 1..12), prefix in vec(0..4_u8, 0..3)) {
        let dir = TempDir::new().unwrap();
        let options = Options { memtable_bytes_max: 1_000, ..Options::default() };
        let mut store = Store::open(dir.path(), options).unwrap();
        let mut model: BTreeMap<(usize, Bytes), Bytes> = BTreeMap::new();
        for (batch, reopen) in batches {
            for op in &batch {
                match op.clone() {
                    Op::Put { space, key, value } => model.insert((space as usize, key), value),
                    Op::Remove { space, key } => model.remove(&(space as usize, key)),
                };
            }
            store.commit(batch).unwrap();
            if reopen {
                drop(store);
                store = Store::open(dir.path(), options).unwrap();
            }
            for space in Space::ALL {
                let found: Vec<_> = store.scan(space, &prefix).collect::<Result<_, _>>().unwrap();
                let expected: Vec<_> = model
                    .iter()
                    .filter(|((of, key), _)| *of == space as usize && key.starts_with(&prefix))
                    .map(|((_, key), value)| (key.clone(), value.clone()))
                    .collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
