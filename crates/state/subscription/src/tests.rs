use bytes::Bytes;
use daybook_command::{DeleteSubscription, PutSubscription, SubscriptionMustBe, SubscriptionRefusal};

use crate::Subscriptions;

fn put(only_if: SubscriptionMustBe, body: &'static str) -> PutSubscription {
    PutSubscription { name: "a".into(), only_if, body: Bytes::from_static(body.as_bytes()) }
}

#[test]
fn a_subscription_is_made_once_and_changed_only_while_it_exists() {
    let mut subscriptions = Subscriptions::default();
    assert_eq!(subscriptions.put(&put(SubscriptionMustBe::Known, "x")), Err(SubscriptionRefusal::Unknown));
    assert_eq!(subscriptions.put(&put(SubscriptionMustBe::New, "x")), Ok(()));
    assert_eq!(subscriptions.put(&put(SubscriptionMustBe::New, "y")), Err(SubscriptionRefusal::Exists));
    assert_eq!(subscriptions.put(&put(SubscriptionMustBe::Known, "z")), Ok(()));
    assert_eq!(subscriptions.take_changes(), [("a".to_owned(), Some(Bytes::from_static(b"z")))]);
    assert_eq!(subscriptions.delete(&DeleteSubscription { name: "a".into() }), Ok(()));
    assert_eq!(subscriptions.delete(&DeleteSubscription { name: "a".into() }), Err(SubscriptionRefusal::Unknown));
    assert_eq!(subscriptions.take_changes(), [("a".to_owned(), None)]);
    assert_eq!(subscriptions.all().count(), 0);
}
