//! What checking and building batches costs.

use std::hint::black_box;

use bytes::Bytes;
use daybook_record::{BatchBuilder, Compression, RECORDS_BYTES_MAX, check, check_records, records};
use daybook_types::TimestampMs;
use divan::Bencher;
use divan::counter::BytesCount;

fn main() {
    divan::main();
}

const COMPRESSIONS: [Compression; 5] = Compression::ALL;

/// About `bytes` of records with values of `value_bytes`, as half random text.
fn batch(compression: Compression, bytes: usize, value_bytes: usize) -> Bytes {
    let mut builder = BatchBuilder::new(compression).capacity(bytes + 4096);
    let mut state = 7_u64;
    let mut value = vec![b'-'; value_bytes];
    while builder.bytes() < bytes {
        for byte in value.iter_mut().step_by(2) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (state >> 58) as u8 + b'A';
        }
        builder.push(TimestampMs(1_000), None, Some(&value), &[]);
    }
    builder.build().expect("not empty")
}

/// Checksum and header: what every produce costs.
#[divan::bench(args = [200, 1_024, 16_384, 1_048_576])]
fn check_batch(bencher: Bencher<'_, '_>, bytes: usize) {
    let batch = batch(Compression::None, bytes, 100);
    bencher.counter(BytesCount::new(batch.len())).bench(|| check(black_box(&batch)));
}

#[divan::bench(args = COMPRESSIONS)]
fn check_records_of_64_kib(bencher: Bencher<'_, '_>, compression: &Compression) {
    let batch = batch(*compression, 65_536, 100);
    bencher.counter(BytesCount::new(65_536_usize)).bench(|| check_records(black_box(&batch), RECORDS_BYTES_MAX));
}

#[divan::bench(args = COMPRESSIONS)]
fn read_records_of_64_kib(bencher: Bencher<'_, '_>, compression: &Compression) {
    let batch = batch(*compression, 65_536, 100);
    bencher.counter(BytesCount::new(65_536_usize)).bench(|| {
        records(black_box(&batch)).expect("sound").map(|record| record.expect("sound").offset.0).sum::<i64>()
    });
}

#[divan::bench(args = COMPRESSIONS)]
fn build_64_kib(bencher: Bencher<'_, '_>, compression: &Compression) {
    bencher.counter(BytesCount::new(65_536_usize)).bench(|| batch(*compression, black_box(65_536), 100));
}
