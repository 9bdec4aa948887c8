//! Fuzzes `daybook_fuzz_corpus::stored`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    daybook_fuzz_corpus::stored(bytes);
});
