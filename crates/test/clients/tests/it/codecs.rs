//! Compression by every codec, there and back.

use bytes::Bytes;
use daybook_kafka_client::{Cluster, ClusterOptions, FetchLimits, TopicPartition};
use daybook_record::Compression;
use daybook_types::{Offset, PartitionIndex};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::broker::{block_on, new_topic, shared};
use crate::reading::{contents, read_all};
use crate::writing::{Content, producer, write};

/// Text that compresses, noise that doesn't, and sizes on both sides of what fits one block of a codec.
fn material() -> Vec<Content> {
    let mut noise = StdRng::seed_from_u64(7);
    let mut contents = Vec::new();
    for number in 0..200_usize {
        let line = format!("192.0.2.{number} - - \"GET /article/{number}?page=1 HTTP/1.1\" 200 {}\n", number * 17);
        contents
            .push(Content { key: Some(format!("line-{number}").into()), ..Content::value(line.repeat(number % 9)) });
    }
    for size in [1, 100, 4_095, 65_535, 65_536, 65_537, 300_000] {
        let bytes: Vec<u8> = (0..size).map(|_| noise.random()).collect();
        contents.push(Content::value(bytes));
        contents.push(Content::value(vec![b'a'; size]));
    }
    contents
}

/// Codecs of the batches as they come over the wire, which the records can't tell.
fn stored_codecs(topic: &str) -> Vec<Compression> {
    block_on(async {
        let mut cluster = Cluster::connect(shared(), ClusterOptions::default()).await.unwrap();
        let at = TopicPartition::new(topic, PartitionIndex(0));
        let fetched = cluster.fetch(FetchLimits::default(), &[(at, Offset(0))].into()).await.unwrap();
        let records: Bytes = fetched.into_iter().next().unwrap().1;
        // A fetch may end in half a batch.
        daybook_record::batches(records).map_while(Result::ok).map(|(header, _)| header.compression()).collect()
    })
}

fn there_and_back(codec: &str, stored: Compression) {
    let topic = new_topic(shared(), codec, 1, &[]);
    let producer = producer(shared(), &[("compression.type", codec), ("linger.ms", "20")]);
    let material = material();
    write(&producer, &topic, 0, &material);
    assert!(contents(read_all(shared(), &topic, 0)) == material, "what was read differs from what was written");
    // librdkafka leaves a batch plain when compressing it gains nothing, but this material gains.
    assert!(stored_codecs(&topic).contains(&stored), "the batches are not {codec}: {:?}", stored_codecs(&topic));
}

#[test]
fn none() {
    there_and_back("none", Compression::None);
}

#[test]
fn gzip() {
    there_and_back("gzip", Compression::Gzip);
}

#[test]
fn snappy() {
    there_and_back("snappy", Compression::Snappy);
}

#[test]
fn lz4() {
    there_and_back("lz4", Compression::Lz4);
}

#[test]
fn zstd() {
    there_and_back("zstd", Compression::Zstd);
}

#[test]
fn codecs_of_several_producers_in_one_partition() {
    let topic = new_topic(shared(), "mixed-codecs", 1, &[]);
    let mut expected = Vec::new();
    for round in 0..3 {
        for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
            let producer = producer(shared(), &[("compression.type", codec)]);
            let text = format!("{codec} in round {round} ");
            let batch: Vec<_> = (1..20).map(|times| Content::value(text.repeat(times))).collect();
            write(&producer, &topic, 0, &batch);
            expected.extend(batch);
        }
    }
    assert!(contents(read_all(shared(), &topic, 0)) == expected);
}
