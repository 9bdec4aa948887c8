//! Brokers, leaders and coordinators: who is asked what, and asked again when it moved.
//!
//! One owner, one request at a time to each broker: this is for commands and set-up. A loop that wants speed takes
//! a [`Wire`] of its own from [`Cluster::open_leader`].

use std::collections::{BTreeMap, HashMap};

use crate::wire::messages::metadata_request::MetadataRequestTopic;
use crate::wire::messages::{FindCoordinatorRequest, InitProducerIdRequest, MetadataRequest, TopicName};
use crate::wire::protocol::{Request, StrBytes};
use bytes::Bytes;
use daybook_types::{NodeId, Offset, PartitionIndex, TopicId};

use crate::error::{ClientError, KafkaCode, WireError};
use crate::fetch::{FetchLimits, FetchPosition, FetchedPartition};
use crate::metadata::{ClusterView, TopicView, node};
use crate::offsets::TopicPartition;
use crate::produce::{Acks, PartitionBatch, ProducedPartition, ProducerIdentity};
use crate::retry::Retry;
use crate::wire::{Wire, WireOptions};

/// How a cluster is reached and how patient we are with it.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    pub wire: WireOptions,
    /// How long what may succeed later is repeated, in all.
    pub retry_timeout_ms: u64,
    /// How long a broker may work on a request; told with those that have such a field.
    pub request_timeout_ms: i32,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self { wire: WireOptions::default(), retry_timeout_ms: 15_000, request_timeout_ms: 30_000 }
    }
}

/// How long a topic that was asked for with leave to make it may take to be there.
const CREATION_TIMEOUT_MS: u64 = 3_000;

#[derive(Debug)]
pub struct Cluster {
    pub(crate) options: ClusterOptions,
    bootstrap: Vec<String>,
    /// The last answer about brokers, and about the topics asked for so far.
    view: ClusterView,
    wires: HashMap<NodeId, Wire>,
    /// To an address of `bootstrap`, of which the node isn't known.
    first_wire: Option<Wire>,
    coordinators: HashMap<String, NodeId>,
}

impl Cluster {
    /// `bootstrap` is `HOST:PORT`, several with commas between.
    pub async fn connect(bootstrap: &str, options: ClusterOptions) -> Result<Self, ClientError> {
        let bootstrap: Vec<_> = bootstrap.split(',').map(|address| address.trim().to_owned()).collect();
        for address in &bootstrap {
            let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
            if port.and_then(|port| port.parse::<u16>().ok()).is_none() {
                return Err(ClientError::Address { address: address.clone() });
            }
        }
        let mut cluster = Self {
            options,
            bootstrap,
            view: ClusterView::default(),
            wires: HashMap::new(),
            first_wire: None,
            coordinators: HashMap::new(),
        };
        cluster.refresh(Some(&[]), false).await?;
        Ok(cluster)
    }

    /// What was last heard of the cluster.
    pub fn view(&self) -> &ClusterView {
        &self.view
    }

    pub fn options(&self) -> &ClusterOptions {
        &self.options
    }

    /// All topics, as they are now.
    pub async fn all_topics(&mut self) -> Result<&[TopicView], ClientError> {
        self.refresh(None, false).await?;
        Ok(&self.view.topics)
    }

    /// The topic as it is now, once every partition of it has a leader. `may_create` lets the server make it.
    pub async fn topic(&mut self, name: &str, may_create: bool) -> Result<TopicView, ClientError> {
        let mut retry = Retry::new(self.options.retry_timeout_ms);
        let mut creation = Retry::new(CREATION_TIMEOUT_MS);
        loop {
            self.refresh(Some(&[name]), may_create).await?;
            let Some(topic) = self.view.topic(name).cloned() else {
                return Err(ClientError::Incomplete { api: "Metadata", what: format!("topic {name}") });
            };
            let is_unknown = topic.code == KafkaCode::UNKNOWN_TOPIC_OR_PARTITION;
            let is_led = topic.code == KafkaCode::NONE && topic.partitions.iter().all(|p| p.leader.is_some());
            if is_led {
                return Ok(topic);
            }
            // Nobody is making it, or the server doesn't when asked, so waiting won't help.
            if is_unknown && may_create && creation.again().await {
                continue;
            }
            let is_hopeless = is_unknown || (topic.code != KafkaCode::NONE && !topic.code.is_retriable());
            if is_hopeless || !retry.again().await {
                return match topic.partitions.iter().find(|p| p.leader.is_none()) {
                    Some(p) => Err(ClientError::NoLeader { topic: name.to_owned(), partition: p.partition }),
                    None => Err(ClientError::Topic { topic: name.to_owned(), code: topic.code, message: None }),
                };
            }
        }
    }

    /// A new connection to the leader of a partition, for the caller alone.
    pub async fn open_leader(&mut self, topic: &str, partition: PartitionIndex) -> Result<Wire, ClientError> {
        let leader = self.leader(topic, partition).await?;
        let address = self.address_of(leader)?;
        Ok(Wire::connect(&address, self.options.wire.clone()).await?)
    }

    /// An identity for an idempotent producer.
    pub async fn init_producer(&mut self) -> Result<ProducerIdentity, ClientError> {
        let request = InitProducerIdRequest::default()
            .with_transactional_id(None)
            .with_transaction_timeout_ms(i32::MAX)
            .with_producer_id((-1).into())
            .with_producer_epoch(-1);
        let mut retry = Retry::new(self.options.retry_timeout_ms);
        loop {
            let answer = self.call_any(&request).await?;
            match KafkaCode::check(answer.error_code) {
                Ok(()) => {
                    return Ok(ProducerIdentity {
                        id: daybook_types::ProducerId(answer.producer_id.0),
                        epoch: daybook_types::ProducerEpoch(answer.producer_epoch),
                    });
                }
                Err(code) if code.is_retriable() && retry.again().await => {}
                Err(code) => return Err(ClientError::Request { api: "InitProducerId", code }),
            }
        }
    }

    /// Produces one batch and waits for its base offset; repeated while that may help. Only with a producer
    /// identity in the batch is a repetition sure not to write it twice.
    pub async fn produce(
        &mut self,
        topic: &str,
        partition: PartitionIndex,
        acks: Acks,
        records: &[u8],
    ) -> Result<Option<Offset>, ClientError> {
        let mut retry = Retry::new(self.options.retry_timeout_ms);
        loop {
            let error = match self.produce_once(topic, partition, acks, records).await {
                Ok(offset) => return Ok(offset),
                Err(error) => error,
            };
            if !error.may_pass() || !retry.again().await {
                return Err(error);
            }
            self.forget_topic(topic);
        }
    }

    /// Fetches from the leaders of all partitions named, side by side, and answers when each leader has; repeated
    /// while that may help. Partitions that have no records yet are left out, and those whose leader just moved.
    pub async fn fetch(
        &mut self,
        limits: FetchLimits,
        positions: &BTreeMap<TopicPartition, Offset>,
    ) -> Result<Vec<(TopicPartition, Bytes)>, ClientError> {
        let mut retry = Retry::new(self.options.retry_timeout_ms);
        loop {
            match self.fetch_once(limits, positions).await {
                Err(error) if error.may_pass() && retry.again().await => {
                    positions.keys().for_each(|partition| self.forget_topic(&partition.topic));
                }
                result => return result,
            }
        }
    }

    async fn fetch_once(
        &mut self,
        limits: FetchLimits,
        positions: &BTreeMap<TopicPartition, Offset>,
    ) -> Result<Vec<(TopicPartition, Bytes)>, ClientError> {
        let mut by_leader: BTreeMap<NodeId, Vec<(&TopicPartition, TopicId, Offset)>> = BTreeMap::new();
        for (partition, offset) in positions {
            let leader = self.leader(&partition.topic, partition.partition).await?;
            let id = self.view.topic(&partition.topic).map(|topic| topic.id).unwrap_or_default();
            by_leader.entry(leader).or_default().push((partition, id, *offset));
        }
        for (leader, of_leader) in &by_leader {
            let asked = of_leader.iter().map(|(partition, topic_id, offset)| FetchPosition {
                topic: &partition.topic,
                topic_id: *topic_id,
                partition: partition.partition,
                offset: *offset,
            });
            let asked: Vec<_> = asked.collect();
            let sent = self.wire_to(*leader).await?.send_fetch(limits, &asked).await;
            self.keep_or_drop(*leader, sent)?;
        }
        let mut fetched = Vec::new();
        for (leader, of_leader) in &by_leader {
            let wire = self.wires.get_mut(leader).expect("a request has just been sent on it");
            let answer = receive_fetch(wire).await;
            let answer = self.keep_or_drop(*leader, answer)?;
            for row in answer.map_err(|code| ClientError::Request { api: "Fetch", code })? {
                let is_row = |(asked, id, _): &&(&TopicPartition, TopicId, Offset)| {
                    asked.partition == row.partition
                        && (asked.topic == row.topic || (row.topic.is_empty() && *id == row.topic_id))
                };
                let Some((partition, ..)) = of_leader.iter().find(is_row) else { continue };
                match KafkaCode::check(row.code.0) {
                    Ok(()) if row.records.is_empty() => {}
                    Ok(()) => fetched.push(((*partition).clone(), row.records)),
                    Err(code) if code.is_retriable() => self.forget_topic(&partition.topic),
                    Err(code) => {
                        let TopicPartition { topic, partition } = (*partition).clone();
                        return Err(ClientError::Partition { topic, partition, code, message: None });
                    }
                }
            }
        }
        Ok(fetched)
    }

    async fn produce_once(
        &mut self,
        topic: &str,
        partition: PartitionIndex,
        acks: Acks,
        records: &[u8],
    ) -> Result<Option<Offset>, ClientError> {
        let leader = self.leader(topic, partition).await?;
        let topic_id = self.view.topic(topic).map(|topic| topic.id).unwrap_or_default();
        let timeout_ms = self.options.request_timeout_ms;
        let batch = PartitionBatch { topic, topic_id, partition, records };
        let wire = self.wire_to(leader).await?;
        let sent = produce_on(wire, acks, timeout_ms, batch).await;
        let answer = self.keep_or_drop(leader, sent)?;
        let Some(produced) = answer else { return Ok(None) };
        let Some(row) = produced.into_iter().next() else {
            return Err(ClientError::Incomplete { api: "Produce", what: format!("partition {partition} of {topic}") });
        };
        match row.code {
            KafkaCode::NONE => Ok(Some(row.base_offset)),
            // A repetition of what had been written after all.
            KafkaCode::DUPLICATE_SEQUENCE_NUMBER => Ok(None),
            code => Err(ClientError::Partition { topic: topic.to_owned(), partition, code, message: row.message }),
        }
    }

    /// Calls whichever broker answers; another one where a connection fails.
    pub(crate) async fn call_any<R: Request>(&mut self, request: &R) -> Result<R::Response, ClientError> {
        // A connection kept from before may have been closed since: that alone is no failure.
        loop {
            let was_kept = self.first_wire.is_some();
            let mut wire = match self.first_wire.take() {
                Some(wire) => wire,
                None => self.connect_any().await?,
            };
            match wire.call(request).await {
                Ok(answer) => {
                    self.first_wire = Some(wire);
                    return Ok(answer);
                }
                Err(error @ WireError::Unsupported { .. }) => {
                    self.first_wire = Some(wire);
                    return Err(error.into());
                }
                Err(WireError::Closed { .. } | WireError::Write { .. } | WireError::Read { .. }) if was_kept => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Calls one broker. A connection that fails is not used again.
    pub(crate) async fn call_node<R: Request>(
        &mut self,
        node: NodeId,
        request: &R,
    ) -> Result<R::Response, ClientError> {
        loop {
            let was_kept = self.wires.contains_key(&node);
            let answer = self.wire_to(node).await?.call(request).await;
            match self.keep_or_drop(node, answer) {
                Err(ClientError::Wire(WireError::Closed { .. } | WireError::Write { .. } | WireError::Read { .. }))
                    if was_kept => {}
                result => return result,
            }
        }
    }

    fn keep_or_drop<T>(&mut self, node: NodeId, result: Result<T, WireError>) -> Result<T, ClientError> {
        if let Err(error) = &result
            && !matches!(error, WireError::Unsupported { .. })
        {
            self.wires.remove(&node);
        }
        Ok(result?)
    }

    async fn connect_any(&mut self) -> Result<Wire, ClientError> {
        let known = self.view.brokers.iter().map(|broker| broker.address());
        let mut addresses: Vec<String> = Vec::new();
        for address in self.bootstrap.iter().cloned().chain(known) {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        let mut last = None;
        for address in &addresses {
            match Wire::connect(address, self.options.wire.clone()).await {
                Ok(wire) => return Ok(wire),
                Err(error) => last = Some(error),
            }
        }
        match last {
            Some(error) if addresses.len() == 1 => Err(error.into()),
            Some(last) => Err(ClientError::NoBroker { addresses: addresses.join(", "), last }),
            None => Err(ClientError::Address { address: String::new() }),
        }
    }

    pub(crate) async fn wire_to(&mut self, node: NodeId) -> Result<&mut Wire, ClientError> {
        // A call that was dropped half way leaves an answer to come that nobody wants.
        if self.wires.get(&node).is_some_and(|wire| wire.in_flight() > 0) {
            self.wires.remove(&node);
        }
        if !self.wires.contains_key(&node) {
            let address = self.address_of(node)?;
            let wire = Wire::connect(&address, self.options.wire.clone()).await?;
            self.wires.insert(node, wire);
        }
        Ok(self.wires.get_mut(&node).expect("it was there or has been inserted"))
    }

    pub(crate) fn address_of(&self, node: NodeId) -> Result<String, ClientError> {
        let broker = self.view.broker(node);
        broker
            .map(|broker| broker.address())
            .ok_or_else(|| ClientError::Incomplete { api: "Metadata", what: format!("broker {node}") })
    }

    /// The leader of a partition, from memory where it is known.
    pub async fn leader(&mut self, topic: &str, partition: PartitionIndex) -> Result<NodeId, ClientError> {
        let known = self.view.topic(topic).filter(|view| view.code == KafkaCode::NONE).cloned();
        let view = match known {
            Some(view) => view,
            None => self.topic(topic, false).await?,
        };
        match view.partitions.iter().find(|p| p.partition == partition) {
            Some(p) => p.leader.ok_or_else(|| ClientError::NoLeader { topic: topic.to_owned(), partition }),
            None => Err(ClientError::NoPartition { topic: topic.to_owned(), partition, count: view.partitions.len() }),
        }
    }

    /// Makes the next question about the topic ask the cluster.
    pub(crate) fn forget_topic(&mut self, name: &str) {
        self.view.topics.retain(|topic| topic.name != name);
    }

    pub(crate) fn forget_coordinator(&mut self, group: &str) {
        self.coordinators.remove(group);
    }

    /// The broker that keeps a group.
    pub async fn coordinator(&mut self, group: &str) -> Result<NodeId, ClientError> {
        if let Some(node) = self.coordinators.get(group) {
            return Ok(*node);
        }
        let key = StrBytes::from_string(group.to_owned());
        let mut retry = Retry::new(self.options.retry_timeout_ms);
        loop {
            // Which of the two forms is sent depends on the version, and a field the version lacks is refused.
            let wire_version = self.version_of_any::<FindCoordinatorRequest>().await?;
            let request = FindCoordinatorRequest::default().with_key_type(0);
            let request = if wire_version >= 4 {
                request.with_coordinator_keys(vec![key.clone()])
            } else {
                request.with_key(key.clone())
            };
            let answer = self.call_any(&request).await?;
            let (code, found) = match answer.coordinators.first() {
                Some(found) => (found.error_code, node(found.node_id.0)),
                None => (answer.error_code, node(answer.node_id.0)),
            };
            match (KafkaCode::check(code), found) {
                (Ok(()), Some(found)) => {
                    if self.view.broker(found).is_none() {
                        self.refresh(Some(&[]), false).await?;
                    }
                    self.coordinators.insert(group.to_owned(), found);
                    return Ok(found);
                }
                (Err(code), _) if code.is_retriable() && retry.again().await => {}
                (Err(code), _) => return Err(ClientError::Group { group: group.to_owned(), code, message: None }),
                (Ok(()), None) => {
                    return Err(ClientError::Incomplete { api: "FindCoordinator", what: format!("node of {group}") });
                }
            }
        }
    }

    pub(crate) async fn version_of_any<R: Request>(&mut self) -> Result<i16, ClientError> {
        if self.first_wire.is_none() {
            self.first_wire = Some(self.connect_any().await?);
        }
        let wire = self.first_wire.as_ref().expect("connected above");
        Ok(wire.version_of::<R>()?)
    }

    /// Asks for brokers and the topics named, or all. What is known of other topics stays.
    pub(crate) async fn refresh(&mut self, topics: Option<&[&str]>, may_create: bool) -> Result<(), ClientError> {
        let wanted = topics.map(|names| {
            let name = |name: &&str| Some(TopicName(StrBytes::from_string((*name).to_owned())));
            names.iter().map(|n| MetadataRequestTopic::default().with_name(name(n))).collect()
        });
        let request = MetadataRequest::default().with_topics(wanted).with_allow_auto_topic_creation(may_create);
        let answer = self.call_any(&request).await?;
        let mut view = ClusterView::new(answer);
        if topics.is_some() {
            let old = std::mem::take(&mut self.view.topics);
            let kept = old.into_iter().filter(|topic| view.topic(&topic.name).is_none()).collect::<Vec<_>>();
            view.topics.extend(kept);
            view.topics.sort_by(|a, b| a.name.cmp(&b.name));
        }
        // A broker that moved is connected to anew.
        let moved = |node: &NodeId, wire: &Wire| view.broker(*node).is_none_or(|b| b.address() != wire.address());
        self.wires.retain(|node, wire| !moved(node, wire));
        self.view = view;
        Ok(())
    }
}

async fn receive_fetch(wire: &mut Wire) -> Result<Result<Vec<FetchedPartition>, KafkaCode>, WireError> {
    let answer = wire.receive_in_time().await?;
    wire.decode_fetch(answer)
}

async fn produce_on(
    wire: &mut Wire,
    acks: Acks,
    timeout_ms: i32,
    batch: PartitionBatch<'_>,
) -> Result<Option<Vec<ProducedPartition>>, WireError> {
    wire.send_produce(acks, timeout_ms, &[batch]).await?;
    if acks == Acks::None {
        return Ok(None);
    }
    let answer = wire.receive_in_time().await?;
    wire.decode_produce(answer).map(Some)
}
