//! Topics made and deleted while the server is killed.

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_kafka_client::NewTopic;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::campaign::Shared;
use crate::network::{Stop, cluster, impatient_cluster};

/// Topics that are there at once; beyond them deletions get ahead.
const TOPICS_MAX: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    There,
    Gone,
    /// Being made or deleted when the server went.
    Unknown,
}

/// A client that makes topics and deletes them.
pub struct TopicMaker {
    topics: BTreeMap<String, State>,
    next: u32,
    dice: StdRng,
}

const PREFIX: &str = "made-";

impl TopicMaker {
    pub fn new(seed: u64) -> Self {
        Self { topics: BTreeMap::new(), next: 0, dice: StdRng::seed_from_u64(seed ^ 0x7091c5) }
    }

    /// Makes and deletes until the server is gone.
    pub async fn run(mut self, shared: Arc<Shared>) -> Result<Self, String> {
        match self.work(&shared).await {
            Err(Stop::Fault(fault)) => Err(format!("making topics: {fault}")),
            Err(Stop::Gone) | Ok(()) => Ok(self),
        }
    }

    async fn work(&mut self, shared: &Shared) -> Result<(), Stop> {
        let mut cluster = impatient_cluster(&shared.address).await?;
        loop {
            let there: Vec<_> = self.topics.iter().filter(|(_, state)| **state == State::There).collect();
            let deletes = self.dice.random_bool(there.len() as f64 / (2 * TOPICS_MAX) as f64);
            if deletes {
                let name = there[self.dice.random_range(0..there.len())].0.clone();
                self.topics.insert(name.clone(), State::Unknown);
                cluster.delete_topic(&name).await?;
                self.topics.insert(name, State::Gone);
            } else {
                let name = format!("{PREFIX}{}", self.next);
                self.next += 1;
                self.topics.insert(name.clone(), State::Unknown);
                let configs = vec![("retention.ms".to_owned(), "-1".to_owned())];
                let topic = NewTopic { name: name.clone(), partitions: Some(2), replication: Some(1), configs };
                cluster.create_topic(&topic).await?;
                self.topics.insert(name, State::There);
            }
        }
    }

    /// After a restart.
    pub async fn verify(&mut self, shared: &Shared) -> Result<(), String> {
        let mut cluster = cluster(&shared.address).await?;
        let topics = cluster.all_topics().await.map_err(|error| error.to_string())?;
        let mut found: Vec<_> = topics.iter().map(|topic| topic.name.as_str()).collect();
        found.retain(|name| name.starts_with(PREFIX));
        for (name, state) in &mut self.topics {
            let now = if found.contains(&name.as_str()) { State::There } else { State::Gone };
            if *state != State::Unknown && *state != now {
                return Err(format!("topic {name} was {state:?} and is {now:?}"));
            }
            *state = now;
        }
        match found.iter().find(|name| !self.topics.contains_key(**name)) {
            None => Ok(()),
            Some(name) => Err(format!("nobody has made {name}")),
        }
    }
}
