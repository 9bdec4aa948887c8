//! Many at once on one partition.

use std::collections::HashSet;

use crate::broker::{new_topic, shared};
use crate::reading::{numbers, read_all};
use crate::writing::{Content, outcome, producer, send};

const PRODUCERS: usize = 10;
const RECORDS_EACH: usize = 1_500;

#[test]
fn many_producers_on_one_partition() {
    let topic = new_topic(shared(), "contended", 1, &[]);
    let write = |number: usize| {
        let codec = ["none", "lz4", "zstd", "snappy", "gzip"][number % 5];
        let idempotent = ["true", "false"][number % 2];
        let settings = [
            ("compression.type", codec),
            ("enable.idempotence", idempotent),
            // Without idempotence one request at a time keeps the order if a request is repeated.
            ("max.in.flight.requests.per.connection", if number.is_multiple_of(2) { "5" } else { "1" }),
            ("batch.num.messages", "20"),
            ("linger.ms", "1"),
        ];
        let producer = producer(shared(), &settings);
        let numbers = (0..RECORDS_EACH).map(|record| record * PRODUCERS + number);
        let sent: Vec<_> = numbers
            .map(|number| (number, send(&producer, &topic, 0, &Content::number(number), None).unwrap()))
            .collect();
        sent.into_iter().map(|(number, delivery)| (number, outcome(delivery).unwrap().offset)).collect::<Vec<_>>()
    };
    let acknowledged: Vec<(usize, i64)> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..PRODUCERS).map(|number| scope.spawn(move || write(number))).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });

    let read = numbers(&read_all(shared(), &topic, 0));
    assert_eq!(read.len(), PRODUCERS * RECORDS_EACH);
    assert_eq!(read.iter().collect::<HashSet<_>>().len(), read.len(), "nothing is there twice");
    for (number, offset) in acknowledged {
        assert_eq!(read[offset as usize], number, "at offset {offset}");
    }
    for producer in 0..PRODUCERS {
        let of_producer: Vec<_> = read.iter().filter(|number| *number % PRODUCERS == producer).collect();
        assert!(of_producer.is_sorted(), "the records of producer {producer} are in its order");
    }
}
