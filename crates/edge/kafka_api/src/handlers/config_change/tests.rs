use super::{APPEND, Asked, Mode, Wish, change, check_form, list_changed};
use crate::wire::text;

fn asked(wishes: Vec<Wish>) -> Asked {
    Asked { resource_type: 2, name: text("t"), wishes }
}

fn wish(name: &str, operation: i8, value: Option<&str>) -> Wish {
    Wish { name: text(name), operation, value: value.map(text) }
}

#[test]
fn items_are_added_once_and_taken_away() {
    assert_eq!(list_changed("a, b", "b,c,c", true), "a,b,c");
    assert_eq!(list_changed("a,b", "b,x", false), "a");
    assert_eq!(list_changed("", "x", true), "x");
    assert_eq!(list_changed("x", "x", false), "");
}

#[test]
fn replacing_returns_what_is_not_named_to_its_default() {
    let current = [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())].into();
    let asked = asked(vec![Wish::set(text("b"), Some(text("3")))]);
    let (changes, after) = change(&asked, Mode::Replace, &current, |_| None).unwrap();
    assert_eq!(changes, [("a".to_owned(), None), ("b".to_owned(), Some("3".to_owned()))]);
    assert_eq!(after, [("b".to_owned(), "3".to_owned())].into());
}

#[test]
fn only_lists_are_added_to() {
    let asked = asked(vec![wish("l", APPEND, Some("z"))]);
    let (changes, _) = change(&asked, Mode::Change, &Default::default(), |_| Some(Some("y"))).unwrap();
    assert_eq!(changes, [("l".to_owned(), Some("y,z".to_owned()))]);
    assert!(change(&asked, Mode::Change, &Default::default(), |_| Some(None)).is_err());
    assert!(change(&asked, Mode::Change, &Default::default(), |_| None).is_err());
}

#[test]
fn a_request_is_refused_for_its_form() {
    let message = |wishes, mode| check_form(&asked(wishes), mode).unwrap_err().message.unwrap();
    assert!(message(vec![wish("a", 0, Some("1")), wish("a", 0, Some("2"))], Mode::Change).contains("duplicate"));
    assert!(message(vec![wish("a", 0, None), wish("b", 2, None)], Mode::Change).ends_with("a, b"));
    assert!(message(vec![wish("a", 7, Some("1"))], Mode::Change).contains("Unknown operations type 7"));
    assert!(check_form(&asked(vec![wish("a", 1, None)]), Mode::Change).is_ok());
    assert!(message(vec![wish("a", 0, Some(&"x".repeat(200_000)))], Mode::Change).contains("bytes"));
}
