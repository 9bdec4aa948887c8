//! ElectLeaders: each partition is led by the only broker there is, so there is never an election to hold.

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::handlers::refusal::{Refusal, code_and_text};
use crate::wire::messages::elect_leaders_response::{PartitionResult, ReplicaElectionResult};
use crate::wire::messages::{ElectLeadersRequest, ElectLeadersResponse};

/// Kafka's `ElectionType`: preferred or unclean.
const ELECTION_TYPES: [i8; 2] = [0, 1];

pub(super) async fn handle(broker: &Broker, _caller: &Caller, request: ElectLeadersRequest) -> ElectLeadersResponse {
    if !ELECTION_TYPES.contains(&request.election_type) {
        return ElectLeadersResponse::default().with_error_code(error_code::code(Some(ErrorCode::InvalidRequest)));
    }
    let catalog = broker.reader.catalog();
    // Where all partitions are asked for, those that need no election aren't told of.
    let asked = request.topic_partitions.unwrap_or_default();
    let results = asked.into_iter().map(|asked| {
        let topic = catalog.topic(&asked.topic.0);
        let partition = |index: i32| {
            let outcome: Result<(), Refusal> = Err(match topic.map(|topic| topic.partition(index)) {
                None => unknown(format!("No such topic as {}", asked.topic.0)),
                Some(None) => unknown(format!("No such partition as {}-{index}", asked.topic.0)),
                Some(Some(_)) => {
                    let message = "Leader election not needed for topic partition.";
                    Refusal::new(ErrorCode::ElectionNotNeeded, message)
                }
            });
            let (code, message) = code_and_text(&outcome);
            PartitionResult::default().with_partition_id(index).with_error_code(code).with_error_message(message)
        };
        let partitions = asked.partitions.iter().map(|index| partition(*index)).collect();
        ReplicaElectionResult::default().with_partition_result(partitions).with_topic(asked.topic)
    });
    ElectLeadersResponse::default().with_replica_election_results(results.collect())
}

fn unknown(message: String) -> Refusal {
    Refusal::new(ErrorCode::UnknownTopicOrPartition, message)
}
