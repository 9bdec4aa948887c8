use bytes::Bytes;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::io::Write;

use super::{compress, decompress};
use crate::{BatchError, Compression, RECORDS_BYTES_MAX};

#[test]
fn names_and_codes_are_kafkas() {
    let expected = [("none", 0), ("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)];
    for (compression, (name, code)) in Compression::ALL.into_iter().zip(expected) {
        assert_eq!((compression.name(), compression.code()), (name, code));
        assert_eq!(name.parse(), Ok(compression));
        assert_eq!(Compression::from_code(code), Some(compression));
    }
    assert_eq!(Compression::from_code(5), None);
    assert_eq!("brotli".parse::<Compression>(), Err(()));
}

#[test]
fn gzip_members_may_follow_each_other() {
    let member = |text: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let both = Bytes::from([member(b"one "), member(b"two")].concat());
    assert_eq!(decompress(Compression::Gzip, &both, 100).unwrap(), &b"one two"[..]);
}

/// What the lz4 tool writes with linked blocks, a content checksum and a size, which our encoder doesn't use.
#[test]
fn lz4_frames_of_other_encoders_are_read() {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    let text = b"linked blocks refer to what was before ".repeat(5_000);
    for mode in [BlockMode::Linked, BlockMode::Independent] {
        let info = FrameInfo::new()
            .block_mode(mode)
            .block_size(BlockSize::Max256KB)
            .block_checksums(true)
            .content_checksum(true)
            .content_size(Some(text.len() as u64));
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(&text).unwrap();
        let frame = Bytes::from(encoder.finish().unwrap());
        assert_eq!(decompress(Compression::Lz4, &frame, RECORDS_BYTES_MAX).unwrap(), text);
    }
}

#[test]
fn a_cut_stream_is_an_error_or_its_beginning() {
    let text = b"some text that is long enough to be compressed".repeat(100);
    for compression in Compression::ALL.into_iter().skip(1) {
        let whole = Bytes::from(compress(compression, &text, Vec::new()).unwrap());
        for cut in [1, whole.len() / 2, whole.len() - 1] {
            let found = decompress(compression, &whole.slice(..cut), RECORDS_BYTES_MAX);
            // Where a codec can't tell, the records end before their time, which is noticed when they are walked.
            assert!(found.is_err() || text.starts_with(&found.unwrap()), "{compression} cut at {cut}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_compressed_comes_back(
        random in prop::collection::vec(any::<u8>(), 0..2_000),
        repeats in 1..60_usize,
        compression in prop::sample::select(Compression::ALL.to_vec()),
    ) {
        let body = random.repeat(repeats);
        let compressed = compress(compression, &body, vec![1, 2, 3]).unwrap();
        prop_assert_eq!(&compressed[..3], &[1, 2, 3]);
        let compressed = Bytes::from(compressed).slice(3..);
        prop_assert_eq!(&decompress(compression, &compressed, body.len()).unwrap()[..], &body[..]);
        if compression != Compression::None && !body.is_empty() {
            let bytes_max = body.len() - 1;
            let refused = decompress(compression, &compressed, bytes_max);
            let refused = matches!(refused, Err(BatchError::TooLarge { .. } | BatchError::Undecodable { .. }));
            prop_assert!(refused);
        }
    }
}
