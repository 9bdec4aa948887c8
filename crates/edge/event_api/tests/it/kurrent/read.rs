//! Reads of streams and of `$all`: from anywhere, in both directions, filtered, through links.

use daybook_event_api::proto::event_store::client::Empty;
use daybook_event_api::proto::event_store::client::streams::read_req::options as asked;
use daybook_event_api::proto::event_store::client::streams::read_req::options::{
    ReadDirection, all_options, filter_options, stream_options,
};
use daybook_event_api::proto::event_store::client::streams::read_resp::Content;
use tonic::Code;

use super::{
    ANY, all_from_start, append, append_events, event, events, from_start, numbers, of_all, of_stream, read,
    read_options, streams,
};
use crate::harness::Node;

fn filter(filter: filter_options::Filter) -> Option<asked::FilterOption> {
    Some(asked::FilterOption::Filter(asked::FilterOptions {
        filter: Some(filter),
        window: Some(filter_options::Window::Max(10)),
        checkpoint_interval_multiplier: 1,
    }))
}

fn expression(regex: &str, prefix: &[&str]) -> filter_options::Expression {
    filter_options::Expression {
        regex: regex.to_owned(),
        prefix: prefix.iter().map(|&prefix| prefix.to_owned()).collect(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_read_from_anywhere_in_both_directions() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    append(&mut streams, "s-1", 0..600).await;
    let cases: [(stream_options::RevisionOption, ReadDirection, u64, Vec<u64>); 6] = [
        (stream_options::RevisionOption::Start(Empty {}), ReadDirection::Forwards, 1000, (0..600).collect()),
        (stream_options::RevisionOption::Revision(597), ReadDirection::Forwards, 2, vec![597, 598]),
        (stream_options::RevisionOption::Revision(u64::MAX), ReadDirection::Backwards, 2, vec![599, 598]),
        (stream_options::RevisionOption::End(Empty {}), ReadDirection::Backwards, 1000, (0..600).rev().collect()),
        (stream_options::RevisionOption::Revision(1), ReadDirection::Backwards, 1000, vec![1, 0]),
        (stream_options::RevisionOption::Start(Empty {}), ReadDirection::Backwards, 1000, vec![0]),
    ];
    for (from, direction, count, expected) in cases {
        let mut options = read_options(of_stream("s-1", from));
        options.set_read_direction(direction);
        options.count_option = Some(asked::CountOption::Count(count));
        let contents = read(&mut streams, options).await.unwrap();
        assert_eq!(contents.last(), Some(&Content::LastStreamPosition(599)), "{from:?} {direction:?}");
        assert_eq!(numbers(&events(contents)), expected, "{from:?} {direction:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_past_the_end_says_where_the_stream_goes_on() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    append(&mut streams, "s-1", 0..3).await;
    let past = read_options(of_stream("s-1", stream_options::RevisionOption::Revision(7)));
    let contents = read(&mut streams, past.clone()).await.unwrap();
    assert_eq!(contents, [Content::FirstStreamPosition(3), Content::LastStreamPosition(2)]);
    let mut old_client = past;
    old_client.control_option = None;
    assert_eq!(read(&mut streams, old_client).await.unwrap(), []);
    let contents = read(&mut streams, read_options(from_start("s-2"))).await.unwrap();
    let [Content::StreamNotFound(not_found)] = &contents[..] else { panic!("{contents:?}") };
    assert_eq!(not_found.stream_identifier, super::identifier("s-2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_comes_back_as_it_was_sent() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    let sent = event(5, "placed");
    append_events(&mut streams, "order-1", ANY, vec![sent.clone()]).await.unwrap();
    let all = events(read(&mut streams, read_options(from_start("order-1"))).await.unwrap());
    let event = all[0].event.as_ref().unwrap();
    assert_eq!((&event.id, &event.data, &event.custom_metadata), (&sent.id, &sent.data, &sent.custom_metadata));
    assert_eq!((event.commit_position, event.prepare_position), (0, 0));
    assert_eq!(
        (event.metadata["type"].as_str(), event.metadata["content-type"].as_str()),
        ("placed", "application/json")
    );
    assert!(event.metadata["created"].parse::<u64>().unwrap() > 16_000_000_000_000_000, "ticks since 1970");
    let mut structured = read_options(from_start("order-1"));
    structured.uuid_option =
        Some(asked::UuidOption { content: Some(asked::uuid_option::Content::Structured(Empty {})) });
    let all = events(read(&mut streams, structured).await.unwrap());
    let id = all[0].event.as_ref().unwrap().id.as_ref().unwrap();
    assert!(matches!(
        id.value,
        Some(daybook_event_api::proto::event_store::client::uuid::Value::Structured(ref halves))
            if halves.least_significant_bits == 0x8000_0000_0000_0005_u64.cast_signed()
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_is_read_by_position_in_both_directions() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    append(&mut streams, "a-1", 0..3).await;
    append(&mut streams, "b-1", 3..6).await;
    let position = |at| all_options::AllOption::Position(asked::Position { commit_position: at, prepare_position: at });
    let cases: [(all_options::AllOption, ReadDirection, u64, &[u64]); 4] = [
        (all_options::AllOption::Start(Empty {}), ReadDirection::Forwards, 4, &[0, 1, 2, 3]),
        (position(4), ReadDirection::Forwards, 10, &[4, 5]),
        (position(2), ReadDirection::Backwards, 10, &[1, 0]),
        (all_options::AllOption::End(Empty {}), ReadDirection::Backwards, 2, &[5, 4]),
    ];
    for (from, direction, count, expected) in cases {
        let mut options = read_options(of_all(from));
        options.set_read_direction(direction);
        options.count_option = Some(asked::CountOption::Count(count));
        let found = events(read(&mut streams, options).await.unwrap());
        assert_eq!(numbers(&found), expected, "{from:?} {direction:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_passes_what_it_names() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    append_events(&mut streams, "order-1", ANY, vec![event(0, "placed"), event(1, "paid")]).await.unwrap();
    append_events(&mut streams, "cart-1", ANY, vec![event(2, "filled"), event(3, "$odd")]).await.unwrap();
    let cases: [(filter_options::Filter, &[u64]); 6] = [
        (filter_options::Filter::StreamIdentifier(expression("", &["$idx-ce-order"])), &[0, 1]),
        (filter_options::Filter::StreamIdentifier(expression("", &["order-", "basket-"])), &[0, 1]),
        (filter_options::Filter::StreamIdentifier(expression("^cart", &[])), &[2, 3]),
        (filter_options::Filter::EventType(expression("", &["p", "$"])), &[0, 1, 3]),
        (filter_options::Filter::EventType(expression(r"^[^\$].*", &[])), &[0, 1, 2]),
        (filter_options::Filter::EventType(expression(r"^(?!(\$.+$|paid$))", &[])), &[0, 2]),
    ];
    for (wanted, expected) in cases {
        for direction in [ReadDirection::Forwards, ReadDirection::Backwards] {
            let mut options = read_options(all_from_start());
            options.filter_option = filter(wanted.clone());
            options.set_read_direction(direction);
            if direction == ReadDirection::Backwards {
                options.stream_option = Some(of_all(all_options::AllOption::End(Empty {})));
            }
            let mut found = numbers(&events(read(&mut streams, options).await.unwrap()));
            found.sort_unstable();
            assert_eq!(found, expected, "{wanted:?} {direction:?}");
        }
    }
    let mut broken = read_options(all_from_start());
    broken.filter_option = filter(filter_options::Filter::EventType(expression("(", &[])));
    assert_eq!(read(&mut streams, broken).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_category_and_a_type_are_streams_of_links() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    append_events(&mut streams, "order-1", ANY, vec![event(0, "placed")]).await.unwrap();
    append_events(&mut streams, "cart-1", ANY, vec![event(1, "filled")]).await.unwrap();
    append_events(&mut streams, "order-2", ANY, vec![event(2, "placed"), event(3, "paid")]).await.unwrap();

    let category = events(read(&mut streams, read_options(from_start("$ce-order"))).await.unwrap());
    assert_eq!(numbers(&category), [0, 2, 3]);
    let link = category[1].link.as_ref().unwrap();
    assert_eq!((&link.data[..], link.metadata["type"].as_str()), (&b"0@order-2"[..], "$>"));
    let on = of_stream("$ce-order", stream_options::RevisionOption::Revision(link.stream_revision + 1));
    assert_eq!(numbers(&events(read(&mut streams, read_options(on)).await.unwrap())), [3], "resumed after a link");
    let mut back = read_options(of_stream("$ce-order", stream_options::RevisionOption::Revision(link.stream_revision)));
    back.set_read_direction(ReadDirection::Backwards);
    assert_eq!(numbers(&events(read(&mut streams, back).await.unwrap())), [2, 0]);

    let by_type = events(read(&mut streams, read_options(from_start("$et-placed"))).await.unwrap());
    assert_eq!(numbers(&by_type), [0, 2]);
    let mut plain = read_options(from_start("$et-placed"));
    plain.resolve_links = false;
    let plain = events(read(&mut streams, plain).await.unwrap());
    assert_eq!(plain[0].event.as_ref().unwrap().data, b"0@order-1".as_slice());
    let contents = read(&mut streams, read_options(from_start("$ce-nothing"))).await.unwrap();
    assert!(matches!(contents[..], [Content::StreamNotFound(_)]), "{contents:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_followed_if_that_is_asked() {
    let node = Node::start().await;
    let mut streams = streams(&node);
    append(&mut streams, "s-1", 0..2).await;
    let link = |number, to: &str| {
        let mut link = event(number, "$>");
        link.data = to.to_owned().into();
        link
    };
    let links = vec![link(10, "1@s-1"), link(11, "9@s-1"), link(12, "0@s-2")];
    append_events(&mut streams, "links-1", ANY, links).await.unwrap();
    let followed = events(read(&mut streams, read_options(from_start("links-1"))).await.unwrap());
    assert_eq!(numbers(&followed[..1]), [1]);
    assert_eq!(followed[0].link.as_ref().unwrap().stream_revision, 0);
    assert_eq!((&followed[1].event, &followed[2].event), (&None, &None), "they lead nowhere");
    assert!(followed[1].link.is_some() && followed[2].link.is_some());
    let mut plain = read_options(from_start("links-1"));
    plain.resolve_links = false;
    let plain = events(read(&mut streams, plain).await.unwrap());
    assert_eq!(plain[0].event.as_ref().unwrap().data, b"1@s-1".as_slice());
    assert_eq!(plain[0].link, None);
}
