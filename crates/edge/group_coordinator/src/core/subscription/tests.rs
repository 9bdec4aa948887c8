use super::same_topics;

fn subscription(version: i16, topics: &[&str], rest: &[u8]) -> Vec<u8> {
    let mut bytes = version.to_be_bytes().to_vec();
    bytes.extend((topics.len() as i32).to_be_bytes());
    for topic in topics {
        bytes.extend((topic.len() as i16).to_be_bytes());
        bytes.extend(topic.as_bytes());
    }
    bytes.extend(rest);
    bytes
}

#[test]
fn order_version_and_the_rest_do_not_count() {
    assert!(same_topics(&subscription(1, &["a", "b"], b"owned"), &subscription(3, &["b", "a"], b"")));
}

#[test]
fn another_topic_counts() {
    assert!(!same_topics(&subscription(3, &["a"], b""), &subscription(3, &["b"], b"")));
    assert!(!same_topics(&subscription(3, &["a"], b""), &subscription(3, &["a", "b"], b"")));
    assert!(!same_topics(&subscription(3, &[], b""), &subscription(3, &["a"], b"")));
}

#[test]
fn what_is_no_subscription_compares_as_bytes() {
    let cut = &subscription(3, &["topic"], b"")[..9];
    assert!(same_topics(cut, cut));
    assert!(!same_topics(cut, &subscription(3, &["topic"], b"")));
    assert!(!same_topics(b"", b"x"));
    let negative = [0, 0, 255, 255, 255, 255];
    assert!(same_topics(&negative, &negative));
}
