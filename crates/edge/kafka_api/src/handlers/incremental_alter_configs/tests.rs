use std::collections::BTreeMap;

use super::{APPEND, SUBTRACT, list_changed};
use crate::error_code::ErrorCode;

#[test]
fn lists_are_added_to_and_taken_from() {
    let default = BTreeMap::new();
    let both = BTreeMap::from([("cleanup.policy".to_owned(), "delete, compact".to_owned())]);
    assert_eq!(list_changed("cleanup.policy", APPEND, "compact", &default).as_deref(), Ok("delete,compact"));
    assert_eq!(list_changed("cleanup.policy", APPEND, "delete", &default).as_deref(), Ok("delete"));
    assert_eq!(list_changed("cleanup.policy", APPEND, "compact", &both).as_deref(), Ok("delete,compact"));
    assert_eq!(list_changed("cleanup.policy", SUBTRACT, "delete", &both).as_deref(), Ok("compact"));
    assert_eq!(list_changed("cleanup.policy", SUBTRACT, "delete", &default).as_deref(), Ok(""));
}

#[test]
fn only_lists_are() {
    for name in ["retention.ms", "no.such"] {
        let refused = list_changed(name, APPEND, "1", &BTreeMap::new()).expect_err("it is no list");
        assert_eq!(refused.error, ErrorCode::InvalidConfig);
    }
}
