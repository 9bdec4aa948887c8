use daybook_types::Offset;

use super::{ENTRY_BYTES_MAX, Full, KeyMap};

#[test]
fn the_latest_offset_counts() {
    let mut map = KeyMap::new(1024 * 1024);
    for offset in 0..1000_i64 {
        map.put(format!("key-{}", offset % 7).as_bytes(), Offset(offset)).unwrap();
    }
    assert_eq!(map.len(), 7);
    assert_eq!(map.latest(b"key-0"), Some(Offset(994)));
    assert_eq!(map.latest(b"key-5"), Some(Offset(999)));
    assert_eq!(map.latest(b"key-7"), None);
    assert_eq!(map.latest(b""), None);
}

#[test]
fn what_is_full_takes_known_keys_only() {
    let mut map = KeyMap::new(3 * ENTRY_BYTES_MAX);
    for key in 0..3_u8 {
        map.put(&[key], Offset(key.into())).unwrap();
    }
    assert_eq!(map.put(&[3], Offset(3)), Err(Full));
    map.put(&[1], Offset(4)).unwrap();
    assert_eq!(map.latest(&[1]), Some(Offset(4)));
    assert_eq!(map.latest(&[3]), None);
}
