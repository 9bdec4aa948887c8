//! The seed corpus under `fuzz/corpus`, run through the fuzz targets' own functions.
//!
//! A file whose name begins with `ok-` is accepted for ever: formats on disk and requests of clients stay readable. One that begins
//! with `bad-` is refused. Any other name belongs to an input that once failed; it must only not fail again.
//!
//! `DAYBOOK_WRITE_CORPUS=1 cargo test -p daybook-fuzz-corpus` writes the seeds that are missing, made by the real encoders.

#![allow(clippy::unwrap_used, reason = "a seed that can't be made is a broken test")]

mod mutation;
mod seeds;

use std::fs;
use std::path::PathBuf;

use daybook_fuzz_corpus::{TARGETS, Verdict};

use crate::mutation::Mutation;

/// Enough to be a test and not a campaign: that is what the fuzzer is for. `DAYBOOK_MUTATIONS` asks for more.
const MUTATIONS_A_FILE: u64 = 300;

fn corpus(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus").join(target)
}

fn expected(name: &str) -> Option<Verdict> {
    match name.split_once('-') {
        Some(("ok", _)) => Some(Verdict::Accepted),
        Some(("bad", _)) => Some(Verdict::Refused),
        _ => None,
    }
}

#[test]
fn every_seed_is_taken_as_its_name_says() {
    for (target, run) in TARGETS {
        let seeds: Vec<_> = seeds::all().into_iter().filter(|seed| seed.target == target).collect();
        assert!(seeds.iter().any(|seed| expected(&seed.name) == Some(Verdict::Accepted)), "{target} has a good seed");
        assert!(seeds.iter().any(|seed| expected(&seed.name) == Some(Verdict::Refused)), "{target} has a bad seed");
        for seed in seeds {
            assert_eq!(Some(run(&seed.bytes)), expected(&seed.name), "{target}/{}", seed.name);
        }
    }
}

#[test]
fn every_seed_is_in_the_corpus() {
    for seed in seeds::all() {
        let path = corpus(seed.target).join(&seed.name);
        if !path.exists() && std::env::var_os("DAYBOOK_WRITE_CORPUS").is_some() {
            fs::create_dir_all(corpus(seed.target)).unwrap();
            fs::write(&path, &seed.bytes).unwrap();
        }
        assert!(path.exists(), "{} is missing; DAYBOOK_WRITE_CORPUS=1 writes it", path.display());
    }
}

#[test]
fn every_file_of_the_corpus_is_taken_as_its_name_says() {
    for (target, run) in TARGETS {
        let mut files: Vec<PathBuf> =
            fs::read_dir(corpus(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{target} has a corpus");
        for path in files {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let verdict = run(&fs::read(&path).unwrap());
            if let Some(expected) = expected(&name) {
                assert_eq!(verdict, expected, "{}", path.display());
            }
        }
    }
}

#[test]
fn no_file_of_the_corpus_breaks_anything_when_it_is_broken() {
    let asked = std::env::var("DAYBOOK_MUTATIONS").ok().map(|text| text.parse().unwrap());
    for (target, run) in TARGETS {
        for entry in fs::read_dir(corpus(target)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            for round in 0..asked.unwrap_or(MUTATIONS_A_FILE) {
                let broken = Mutation::new(round.wrapping_mul(0x9E37_79B9_7F4A_7C15)).of(&bytes);
                if std::panic::catch_unwind(|| run(&broken)).is_err() {
                    panic!("{target} fails on mutation {round} of {}: {broken:02x?}", path.display());
                }
            }
        }
    }
}
