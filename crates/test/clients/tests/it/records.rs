//! What a record carries: keys, values, headers; null, empty and odd.

use crate::broker::{new_topic, shared, watermarks};
use crate::reading::{contents, read_all};
use crate::writing::{Content, producer, write};

fn header(name: &str, value: Option<&[u8]>) -> (String, Option<Vec<u8>>) {
    (name.to_owned(), value.map(<[u8]>::to_vec))
}

#[test]
fn null_and_empty_keys_and_values() {
    let topic = new_topic(shared(), "null-and-empty", 1, &[]);
    let pieces = [None, Some(Vec::new()), Some(vec![0]), Some(b"text".to_vec())];
    let mut written = Vec::new();
    for key in &pieces {
        for value in &pieces {
            written.push(Content { key: key.clone(), value: value.clone(), headers: Vec::new() });
        }
    }
    write(&producer(shared(), &[("linger.ms", "20")]), &topic, 0, &written);
    assert_eq!(contents(read_all(shared(), &topic, 0)), written);
}

#[test]
fn headers_keep_order_duplicates_and_nulls() {
    let topic = new_topic(shared(), "headers", 1, &[]);
    let all_bytes: Vec<u8> = (0..=255).collect();
    let headers = vec![
        header("b", Some(b"1")),
        header("a", Some(b"2")),
        header("b", Some(b"3")),
        header("b", Some(b"1")),
        header("null", None),
        header("empty", Some(b"")),
        header("", Some(b"no name")),
        header("bytes", Some(&all_bytes)),
        header("größe 大", Some("Grüße".as_bytes())),
    ];
    let many = (0..1_000).map(|number| header(&format!("h{}", number % 10), Some(number.to_string().as_bytes())));
    let written = [
        Content { headers, ..Content::value("several") },
        Content { headers: many.collect(), ..Content::value("many") },
        Content { headers: vec![header("only", None)], ..Content::default() },
        Content::value("none"),
    ];
    for codec in ["none", "zstd"] {
        write(&producer(shared(), &[("compression.type", codec)]), &topic, 0, &written);
    }
    assert_eq!(contents(read_all(shared(), &topic, 0)), [written.clone(), written].concat());
}

#[test]
fn one_key_goes_to_one_partition() {
    let topic = new_topic(shared(), "by-key", 8, &[]);
    let producer = producer(shared(), &[("partitioner", "murmur2_random")]);
    for round in 0..5 {
        for key in 0..50_usize {
            let content = Content { key: Some(format!("key-{key}").into()), ..Content::number(round) };
            let record = rdkafka::producer::FutureRecord::to(&topic)
                .key(content.key.as_ref().unwrap())
                .payload(content.value.as_ref().unwrap());
            crate::writing::outcome(producer.send_result(record).map_err(|(error, _)| error).unwrap()).unwrap();
        }
    }
    let mut partition_of_key = std::collections::HashMap::new();
    let mut total = 0;
    for partition in 0..8 {
        let seen = read_all(shared(), &topic, partition);
        total += seen.len();
        for seen in seen {
            let key = seen.content.key.unwrap();
            assert_eq!(*partition_of_key.entry(key).or_insert(partition), partition);
        }
    }
    assert_eq!((total, partition_of_key.len()), (250, 50));
}

#[test]
fn acknowledgement_levels() {
    for acks in ["0", "1", "all"] {
        let topic = new_topic(shared(), &format!("acks-{acks}"), 1, &[]);
        let producer = producer(shared(), &[("acks", acks)]);
        let written: Vec<_> = (0..500).map(Content::number).collect();
        write(&producer, &topic, 0, &written);
        // With 0 nobody says when they are there.
        daybook_test_server::eventually("500 records are there", crate::broker::PATIENCE, || {
            match watermarks(shared(), &topic, 0) {
                (0, 500) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        });
        assert_eq!(contents(read_all(shared(), &topic, 0)), written, "acks={acks}");
    }
}
