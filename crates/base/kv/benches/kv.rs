//! What the index store costs at start-up and at a checkpoint.

use std::hint::black_box;

use bytes::Bytes;
use daybook_kv::{Op, Options, Space, Store};
use tempfile::TempDir;

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 20)]
fn open_in_an_empty_directory(bencher: divan::Bencher<'_, '_>) {
    bencher
        .with_inputs(|| TempDir::new().expect("a directory for the bench"))
        .bench_values(|dir| (Store::open(dir.path(), Options::default()).expect("opens"), dir));
}

#[divan::bench(sample_count = 20)]
fn open_again(bencher: divan::Bencher<'_, '_>) {
    let dir = TempDir::new().expect("a directory for the bench");
    drop(Store::open(dir.path(), Options::default()).expect("opens"));
    bencher.bench_local(|| drop(black_box(Store::open(dir.path(), Options::default()).expect("opens"))));
}

#[divan::bench(args = [10, 1_000, 10_000])]
fn commit(bencher: divan::Bencher<'_, '_>, ops: u32) {
    let dir = TempDir::new().expect("a directory for the bench");
    let store = Store::open(dir.path(), Options::default()).expect("opens");
    let op = |number: u32| {
        let key = Bytes::copy_from_slice(&number.to_be_bytes());
        Op::Put { space: Space::Partitions, key, value: Bytes::from_static(&[7; 100]) }
    };
    bencher
        .with_inputs(|| (0..ops).map(op).collect::<Vec<_>>())
        .bench_values(|batch| store.commit(batch).expect("commits"));
}
