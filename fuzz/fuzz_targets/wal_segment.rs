//! Fuzzes `daybook_fuzz_corpus::wal_segment`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    daybook_fuzz_corpus::wal_segment(bytes);
});
