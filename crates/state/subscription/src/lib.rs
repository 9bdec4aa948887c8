//! Persistent subscriptions: their names, and what their engine wants kept of each. What it means, only the engine knows.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use daybook_command::{DeleteSubscription, PutSubscription, SubscriptionMustBe, SubscriptionRefusal};

/// Subscriptions by name.
#[derive(Clone, Debug, Default)]
pub struct Subscriptions {
    bodies: BTreeMap<String, Bytes>,
    changed: BTreeSet<String>,
}

impl Subscriptions {
    pub fn put(&mut self, put: &PutSubscription) -> Result<(), SubscriptionRefusal> {
        let is_known = self.bodies.contains_key(&put.name);
        match (put.only_if, is_known) {
            (SubscriptionMustBe::New, true) => return Err(SubscriptionRefusal::Exists),
            (SubscriptionMustBe::Known, false) => return Err(SubscriptionRefusal::Unknown),
            _ => {}
        }
        // Copied: the body is a slice of an entry, which must not be held for so little.
        self.bodies.insert(put.name.clone(), Bytes::copy_from_slice(&put.body));
        self.changed.insert(put.name.clone());
        Ok(())
    }

    pub fn delete(&mut self, delete: &DeleteSubscription) -> Result<(), SubscriptionRefusal> {
        self.bodies.remove(&delete.name).ok_or(SubscriptionRefusal::Unknown)?;
        self.changed.insert(delete.name.clone());
        Ok(())
    }

    /// As a checkpoint kept it.
    pub fn restore(&mut self, name: String, body: Bytes) {
        self.bodies.insert(name, body);
    }

    /// By name, ascending.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Bytes)> {
        self.bodies.iter().map(|(name, body)| (name.as_str(), body))
    }

    /// What changed since the last call; `None`: deleted.
    pub fn take_changes(&mut self) -> Vec<(String, Option<Bytes>)> {
        std::mem::take(&mut self.changed)
            .into_iter()
            .map(|name| {
                let body = self.bodies.get(&name).cloned();
                (name, body)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
