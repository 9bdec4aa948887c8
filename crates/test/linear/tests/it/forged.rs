//! Histories of a store that lies, each in its own way: the judge must find every one out. And one that doesn't.

use daybook_linear::{
    Actual, Attempt, Condition, Event, Expected, History, Look, LookedAt, Outcome, Request, Span, StreamPart,
    TopicRecord, Violation, event_data, event_id, judge, topic_of,
};

/// A store that tells the truth, and what it was asked.
#[derive(Default)]
struct Truth {
    history: History,
    tick: u64,
}

impl Truth {
    fn tick(&mut self) -> u64 {
        self.tick += 1;
        self.tick
    }

    fn of_stream(&self, stream: &str) -> u64 {
        self.history.found.streams.get(stream).map_or(0, |events| events.len() as u64)
    }

    /// Writes a request's events down, and answers.
    fn write(&mut self, request: &Request) -> Outcome {
        let number = self.history.requests.len() as u32;
        self.history.requests.push(request.clone());
        let (mut spans, mut last_position) = (Vec::new(), 0);
        for part in &request.streams {
            let first_version = self.of_stream(&part.stream);
            self.history.found.streams.entry(part.stream.clone()).or_default();
            if part.events > 0 {
                let last_position = self.history.found.all.len() as u64 + u64::from(part.events) - 1;
                spans.push(Span {
                    first_version,
                    last_version: first_version + u64::from(part.events) - 1,
                    last_position,
                });
                self.put(number, request, Some(&part.stream), part.events);
            }
            last_position = self.history.found.all.len() as u64 - 1;
        }
        if request.loose > 0 {
            self.put(number, request, None, request.loose);
            last_position = self.history.found.all.len() as u64 - 1;
        }
        Outcome::Appended { spans, last_position, repeated: false }
    }

    fn put(&mut self, number: u32, request: &Request, stream: Option<&str>, events: u32) {
        let found = &mut self.history.found;
        for _ in 0..events {
            let topic = topic_of(stream).to_owned();
            let event_number =
                found.all.iter().filter(|event| event.id.starts_with(&format!("r{number}-"))).count() as u32;
            let event = Event {
                stream: stream.map(str::to_owned),
                version: stream.map(|stream| found.streams[stream].len() as u64),
                position: found.all.len() as u64,
                id: event_id(number, event_number),
                data: event_data(number, event_number),
                tags: request.tag.iter().cloned().collect(),
                partition: 0,
                offset: found.records.iter().filter(|record| record.topic == topic).count() as i64,
            };
            found.records.push(TopicRecord {
                topic,
                partition: 0,
                offset: event.offset,
                key: event.stream.clone(),
                id: event.id.clone(),
                data: event.data.clone(),
            });
            found.all.push(event.clone());
            if let Some(stream) = stream {
                found.streams.get_mut(stream).unwrap().push(event);
            }
        }
    }

    /// One request from its sending to its answer.
    fn append(&mut self, request: Request) -> u32 {
        let begin = self.tick();
        let outcome = self.write(&request);
        self.answer(begin, outcome)
    }

    /// Writes down what the last request was answered.
    fn answer(&mut self, begin: u64, outcome: Outcome) -> u32 {
        let request = self.history.requests.len() as u32 - 1;
        let end = self.tick();
        self.history.attempts.push(Attempt { request, begin, end, outcome });
        request
    }

    fn refuse(&mut self, request: Request, outcome: Outcome) {
        let begin = self.tick();
        for part in &request.streams {
            self.history.found.streams.entry(part.stream.clone()).or_default();
        }
        self.history.requests.push(request);
        self.answer(begin, outcome);
    }

    fn look(&mut self, at: LookedAt) {
        let (begin, end) = (self.tick(), self.tick());
        self.history.looks.push(Look { begin, end, at });
    }
}

fn one(stream: &str, expected: Expected) -> Request {
    let part = StreamPart { stream: stream.to_owned(), expected, events: 1 };
    Request { streams: vec![part], ..Request::default() }
}

fn tagged(after: Option<u64>) -> Request {
    let tag = "tag:1".to_owned();
    Request { loose: 1, tag: Some(tag.clone()), condition: Some(Condition { tag, after }), ..Request::default() }
}

fn several() -> Request {
    let part = |stream: &str, events| StreamPart { stream: stream.to_owned(), expected: Expected::Any, events };
    Request { streams: vec![part("order-1", 2), part("cart-1", 1), part("cart-2", 0)], ..Request::default() }
}

/// Some of everything; its last request is `order-1` at version 5.
fn honest() -> Truth {
    let mut truth = Truth::default();
    truth.append(one("order-1", Expected::NoStream));
    truth.append(one("order-1", Expected::Exact(0)));
    truth.refuse(one("order-1", Expected::Exact(0)), Outcome::Conflict(vec![(0, Actual::At(1))]));
    truth.append(several());
    truth.append(tagged(None));
    truth.refuse(tagged(None), Outcome::ConditionFailed { position: 5 });
    truth.append(tagged(Some(5)));
    truth.look(LookedAt::Stream { stream: "order-1".into(), last_version: Some(3) });
    truth.look(LookedAt::Tag { tag: "tag:1".into(), last_position: Some(6) });
    // Done, though the answer got lost; the retry is told so.
    let begin = truth.tick();
    let done = truth.write(&one("order-1", Expected::Any));
    truth.answer(begin, Outcome::Unknown);
    let Outcome::Appended { spans, last_position, .. } = done else { unreachable!() };
    let begin = truth.tick();
    truth.answer(begin, Outcome::Appended { spans, last_position, repeated: true });
    // Neither done nor answered.
    truth.refuse(one("order-1", Expected::Exact(4)), Outcome::Unknown);
    truth.append(Request { by_kafka: true, ..one("order-1", Expected::Exact(4)) });
    truth
}

#[track_caller]
fn found_out(truth: &Truth) -> Violation {
    judge(&truth.history).expect_err("the judge has to find it out")
}

#[test]
fn an_honest_history_passes() {
    let summary = judge(&honest().history).unwrap();
    assert_eq!((summary.events, summary.unknown, summary.unknown_found, summary.repeated), (9, 2, 1, 1));
}

#[test]
fn a_lost_event() {
    let mut truth = honest();
    let found = &mut truth.history.found;
    let lost = found.all.pop().unwrap();
    found.records.retain(|record| record.id != lost.id);
    found.streams.get_mut("order-1").unwrap().pop();
    assert!(matches!(found_out(&truth), Violation::Lost { .. }));
}

#[test]
fn a_doubled_event() {
    let mut truth = honest();
    let found = &mut truth.history.found;
    let event = found.all.last().unwrap().clone();
    let again = Event { position: event.position + 1, version: Some(6), offset: event.offset + 1, ..event };
    let record = found.records.last().unwrap().clone();
    found.records.push(TopicRecord { offset: record.offset + 1, ..record });
    found.streams.get_mut("order-1").unwrap().push(again.clone());
    found.all.push(again);
    assert!(matches!(found_out(&truth), Violation::Doubled { .. }));
}

#[test]
fn two_winners_of_one_version() {
    let mut truth = honest();
    let begin = truth.tick();
    let loser = one("order-1", Expected::Exact(4));
    let outcome = truth.write(&loser);
    truth.answer(begin, outcome);
    assert!(matches!(found_out(&truth), Violation::Stream { .. }));
}

#[test]
fn two_winners_of_one_condition() {
    let mut truth = honest();
    truth.append(tagged(Some(5)));
    assert!(matches!(found_out(&truth), Violation::Tag { .. }));
}

#[test]
fn a_conflict_that_was_none() {
    let mut truth = honest();
    truth.refuse(one("order-1", Expected::Exact(5)), Outcome::Conflict(vec![(0, Actual::At(4))]));
    assert!(matches!(found_out(&truth), Violation::Stream { .. }));
}

#[test]
fn a_condition_that_failed_without_reason() {
    let mut truth = honest();
    truth.refuse(tagged(Some(6)), Outcome::ConditionFailed { position: 7 });
    assert!(matches!(found_out(&truth), Violation::Tag { .. }));
}

#[test]
fn a_stream_that_was_not_as_expected_and_passed() {
    let mut truth = honest();
    let mut request = several();
    request.streams[2].expected = Expected::Exact(7);
    truth.append(request);
    assert!(matches!(found_out(&truth), Violation::Stream { stream, .. } if stream == "cart-2"));
}

#[test]
fn a_look_into_the_past() {
    let mut truth = honest();
    truth.look(LookedAt::Stream { stream: "order-1".into(), last_version: Some(4) });
    assert!(matches!(found_out(&truth), Violation::Stream { .. }));
    let mut truth = honest();
    truth.look(LookedAt::Tag { tag: "tag:1".into(), last_position: Some(5) });
    assert!(matches!(found_out(&truth), Violation::Tag { .. }));
}

/// Somebody saw what was gone after a kill.
#[test]
fn a_look_at_what_is_not_there_in_the_end() {
    let mut truth = honest();
    truth.refuse(one("order-1", Expected::Exact(5)), Outcome::Unknown);
    truth.look(LookedAt::Stream { stream: "order-1".into(), last_version: Some(6) });
    assert!(matches!(found_out(&truth), Violation::Stream { .. }));
}

#[test]
fn a_retry_that_is_told_it_was_the_first() {
    let mut truth = honest();
    for attempt in &mut truth.history.attempts {
        if let Outcome::Appended { repeated, .. } = &mut attempt.outcome
            && *repeated
        {
            *repeated = false;
        }
    }
    // The first try may have come to nothing, so this is no lie.
    judge(&truth.history).unwrap();
    let attempt = truth.history.attempts.iter_mut().find(|attempt| attempt.request == 0).unwrap();
    let Outcome::Appended { repeated, .. } = &mut attempt.outcome else { unreachable!() };
    *repeated = true;
    // There was no try before this one.
    assert!(matches!(found_out(&truth), Violation::Stream { .. }));
}

#[test]
fn something_refused_that_is_there() {
    let mut truth = honest();
    truth.history.attempts.last_mut().unwrap().outcome = Outcome::Refused;
    assert!(matches!(found_out(&truth), Violation::RefusedStands { .. }));
}

#[test]
fn half_an_append() {
    let mut truth = honest();
    let found = &mut truth.history.found;
    let lost = found.all.pop().unwrap();
    found.streams.get_mut("order-1").unwrap().pop();
    found.records.retain(|record| record.id != lost.id);
    // The last one again, as the first of two.
    truth.history.requests.pop();
    truth.history.attempts.pop();
    let mut request = several();
    request.streams[0].events = 1;
    let begin = truth.tick();
    truth.write(&request);
    truth.history.requests.last_mut().unwrap().streams[1].events = 2;
    truth.answer(begin, Outcome::Unknown);
    assert!(matches!(found_out(&truth), Violation::Torn { .. }));
}

#[test]
fn an_append_with_another_inside() {
    let mut truth = honest();
    let found = &mut truth.history.found;
    // The last event of the third append and the event after it change places.
    let (before, after) = (4, 5);
    found.all.swap(before, after);
    found.all[before].position = before as u64;
    found.all[after].position = after as u64;
    let moved = found.all[after].clone();
    let stream = moved.stream.clone().unwrap();
    *found.streams.get_mut(&stream).unwrap().last_mut().unwrap() = moved;
    assert!(matches!(found_out(&truth), Violation::Scattered { .. }));
}

#[test]
fn an_order_that_is_not_that_of_real_time() {
    let mut truth = Truth::default();
    truth.append(one("order-1", Expected::Any));
    truth.append(one("cart-1", Expected::Any));
    judge(&truth.history).unwrap();
    // Each stream by itself is in order, but the later answer stands first.
    let (first, second) = truth.history.attempts.split_at_mut(1);
    std::mem::swap(&mut first[0].begin, &mut second[0].begin);
    std::mem::swap(&mut first[0].end, &mut second[0].end);
    assert!(matches!(found_out(&truth), Violation::RealTime { .. }));
}

#[test]
fn an_answer_that_names_another_version() {
    let mut truth = honest();
    let attempt = &mut truth.history.attempts[0];
    let Outcome::Appended { last_position, .. } = &mut attempt.outcome else { unreachable!() };
    *last_position += 1;
    assert!(matches!(found_out(&truth), Violation::Elsewhere { .. }));
}

#[test]
fn data_that_changed() {
    let mut truth = honest();
    let found = &mut truth.history.found;
    found.all[0].data.push(b' ');
    found.streams.get_mut("order-1").unwrap()[0].data.push(b' ');
    found.records[0].data.push(b' ');
    assert!(matches!(found_out(&truth), Violation::Altered { .. }));
}

#[test]
fn a_consumer_that_sees_other_data_or_too_little_or_too_much() {
    let mut truth = honest();
    truth.history.found.records[0].data.push(b' ');
    assert!(matches!(found_out(&truth), Violation::Record { .. }));
    let mut truth = honest();
    truth.history.found.records.pop();
    assert!(matches!(found_out(&truth), Violation::Record { record: None, .. }));
    let mut truth = honest();
    let record = truth.history.found.records[0].clone();
    truth.history.found.records.push(TopicRecord { partition: 1, offset: 0, ..record });
    assert!(matches!(found_out(&truth), Violation::Records { .. }));
}

#[test]
fn gaps_in_positions_versions_and_offsets() {
    let mut truth = honest();
    truth.history.found.all.last_mut().unwrap().position += 1;
    assert!(matches!(found_out(&truth), Violation::Position { .. }));
    let mut truth = honest();
    truth.history.found.all.last_mut().unwrap().version = Some(7);
    assert!(matches!(found_out(&truth), Violation::Version { .. }));
    let mut truth = honest();
    truth.history.found.records.last_mut().unwrap().offset += 1;
    assert!(matches!(found_out(&truth), Violation::Offset { .. }));
}

#[test]
fn a_stream_that_reads_other_than_all() {
    let mut truth = honest();
    truth.history.found.streams.get_mut("order-1").unwrap().pop();
    assert!(matches!(found_out(&truth), Violation::StreamDiffers { .. }));
}

#[test]
fn an_event_that_nobody_sent() {
    let mut truth = honest();
    truth.append(one("order-1", Expected::Any));
    truth.history.requests.pop();
    truth.history.attempts.pop();
    assert!(matches!(found_out(&truth), Violation::Stranger { .. }));
}
