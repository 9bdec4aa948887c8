use std::io::Read;

use super::{Blocks, decode_raw, encode};
use crate::{BatchError, Compression};

fn read(framed: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    Blocks::new(framed, 1 << 20).expect("framed").read_to_end(&mut out)?;
    Ok(out)
}

#[test]
fn the_frame_is_the_java_librarys() {
    let framed = encode(b"hello", Vec::new()).unwrap();
    assert_eq!(framed[..16], *b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01");
    let length = u32::from_be_bytes(framed[16..20].try_into().unwrap()) as usize;
    assert_eq!(framed.len(), 20 + length);
    assert_eq!(decode_raw(&framed[20..], 100).unwrap(), b"hello");
    assert_eq!(read(&framed).unwrap(), b"hello");
}

#[test]
fn long_bodies_are_several_blocks_and_joined_streams_are_one() {
    let body = b"0123456789".repeat(10_000);
    let framed = encode(&body, Vec::new()).unwrap();
    assert_eq!(read(&framed).unwrap(), body);
    assert_eq!(read(&[framed.clone(), framed].concat()).unwrap(), body.repeat(2));
}

#[test]
fn raw_snappy_isnt_framed() {
    let raw = snap::raw::Encoder::new().compress_vec(b"hello hello hello").unwrap();
    assert!(Blocks::new(&raw, 100).is_none());
    assert_eq!(decode_raw(&raw, 100).unwrap(), b"hello hello hello");
}

/// The first bytes of a block state its size; four gigabytes out of ten bytes are not believed.
#[test]
fn a_size_that_cant_be_is_refused_before_memory_is_taken() {
    let claims = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0, 0];
    let undecodable = BatchError::Undecodable { compression: Compression::Snappy };
    assert_eq!(decode_raw(&claims, usize::MAX), Err(undecodable));
    let raw = snap::raw::Encoder::new().compress_vec(&[0; 1000]).unwrap();
    assert_eq!(decode_raw(&raw, 999), Err(BatchError::TooLarge { bytes_max: 999 }));
}

#[test]
fn broken_frames_are_errors() {
    let framed = encode(b"hello", Vec::new()).unwrap();
    for cut in 17..framed.len() {
        assert!(read(&framed[..cut]).is_err(), "cut at {cut}");
    }
    let mut negative = framed.clone();
    negative[16..20].copy_from_slice(&(-5_i32).to_be_bytes());
    assert!(read(&negative).is_err());
    assert_eq!(read(&framed[..16]).unwrap(), b"");
}
