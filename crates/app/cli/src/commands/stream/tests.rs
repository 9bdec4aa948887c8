//! What needs no server: URLs, messages of event streams, data in one line.

use serde_json::value::RawValue;

use super::client::{Target, encoded};
use super::event::{Event, shortened};
use super::subscribe::{Message, next_message};

#[test]
fn names_are_encoded_where_a_url_would_read_them() {
    assert_eq!(encoded("order-1_a.b~c"), "order-1_a.b~c");
    assert_eq!(encoded("a/b c?d&e=f%$é"), "a%2Fb%20c%3Fd%26e%3Df%25%24%C3%A9");
    let target = Target::stream("a/b").with("limit", 5).with_all("tag", &["x y".into(), "z".into()]);
    assert_eq!(target.text(), "/streams/a%2Fb?limit=5&tag=x%20y&tag=z");
    assert_eq!(Target::new("/all").with_any("from", None::<u64>).text(), "/all");
}

#[test]
fn messages_are_told_apart_and_comments_skipped() {
    let text = ": hello\n\nid: 3\ndata: {\"a\":\ndata: 1}\n\n: nothing new\n\nevent: caught-up\r\ndata: {}\r\n\r\nid: 4\ndata: cut";
    let mut stream = text.as_bytes();
    let mut next = || next_message(&mut stream).expect("text can be read");
    assert_eq!(next(), Some(Message { name: String::new(), id: Some(3), data: "{\"a\":\n1}".into() }));
    assert_eq!(next(), Some(Message { name: "caught-up".into(), id: None, data: "{}".into() }));
    assert_eq!(next(), None, "what is not whole is no message");
}

fn event(data: &str) -> Event {
    let text = format!(
        r#"{{"stream":"s","version":0,"position":0,"type":"t","content_type":"image/png","tags":[],"recorded":"now"{data}}}"#
    );
    Event::of(&RawValue::from_string(text).expect("JSON")).expect("an event")
}

#[test]
fn data_is_shown_in_one_line() {
    assert_eq!(event(",\"data\":{\n  \"b\": 1.50,\r\n  \"a\": 2\n}").data_line(), r#"{ "b": 1.50, "a": 2 }"#);
    assert_eq!(event(",\"data_base64\":\"aGk=\"").data_line(), "hi");
    assert_eq!(event(",\"data_base64\":\"AP8=\"").data_line(), "<2 bytes of image/png>");
    assert_eq!(event(",\"data_base64\":\"G1szMW0=\"").data_line(), r"\u{1b}[31m");
    assert_eq!(event("").data_line(), "");
    assert_eq!((shortened("abc", 3), shortened("abcd", 3)), ("abc".into(), "ab…".into()));
}
