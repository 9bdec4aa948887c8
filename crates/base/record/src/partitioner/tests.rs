//! The hash behind partitions, with figures that Kafka's own tests have for it.

use super::partition_of_key;

#[test]
fn keys_go_where_the_java_client_puts_them() {
    let hashes: [(&str, i32); 6] = [
        ("21", -973_932_308),
        ("foobar", -790_332_482),
        ("a-little-bit-long-string", -985_981_536),
        ("a-little-bit-longer-string", -1_486_304_829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        ("abc", 479_470_107),
    ];
    for (key, hash) in hashes {
        for count in [1, 7, 16, i32::MAX] {
            assert_eq!(partition_of_key(key.as_bytes(), count).0, (hash & i32::MAX) % count, "{key} of {count}");
        }
    }
}
