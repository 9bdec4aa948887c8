//! Fuzzes `daybook_fuzz_corpus::record_batch`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    daybook_fuzz_corpus::record_batch(bytes);
});
