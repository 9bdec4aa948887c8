//! AlterPartitionReassignments: partitions can be nowhere but on the only broker there is, which is where they are.

use daybook_catalog::Catalog;

use crate::broker::{Broker, Caller};
use crate::error_code::ErrorCode;
use crate::handlers::refusal::{Refusal, code_and_text};
use crate::wire::StrBytes;
use crate::wire::messages::alter_partition_reassignments_request::ReassignablePartition;
use crate::wire::messages::alter_partition_reassignments_response::{
    ReassignablePartitionResponse, ReassignableTopicResponse,
};
use crate::wire::messages::{AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse};

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: AlterPartitionReassignmentsRequest,
) -> AlterPartitionReassignmentsResponse {
    let catalog = broker.reader.catalog();
    let topics = request.topics.into_iter().map(|topic| {
        let partition = |asked: &ReassignablePartition| {
            let (code, message) = code_and_text(&judge(broker, &catalog, &topic.name.0, asked));
            ReassignablePartitionResponse::default()
                .with_partition_index(asked.partition_index)
                .with_error_code(code)
                .with_error_message(message)
        };
        let partitions = topic.partitions.iter().map(partition).collect();
        ReassignableTopicResponse::default().with_partitions(partitions).with_name(topic.name)
    });
    AlterPartitionReassignmentsResponse::default()
        .with_allow_replication_factor_change(request.allow_replication_factor_change)
        .with_responses(topics.collect())
}

fn judge(broker: &Broker, catalog: &Catalog, topic: &StrBytes, asked: &ReassignablePartition) -> Result<(), Refusal> {
    let index = asked.partition_index;
    let unknown = |message: String| Err(Refusal::new(ErrorCode::UnknownTopicOrPartition, message));
    match catalog.topic(topic).map(|topic| topic.partition(index)) {
        None => return unknown(format!("Unable to find a topic named {topic}.")),
        Some(None) => return unknown(format!("Unable to find partition {topic}:{index}.")),
        Some(Some(_)) => {}
    }
    let invalid = |message: String| Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
    let this = broker.options.node_id;
    match asked.replicas.as_deref() {
        None => Err(Refusal::new(ErrorCode::NoReassignmentInProgress, "No reassignment is in progress.")),
        Some([]) => invalid("The manual partition assignment includes an empty replica list.".into()),
        Some([replica]) if replica.0 == this => Ok(()),
        Some([replica]) => invalid(format!(
            "The manual partition assignment includes broker {}, but no such broker is registered.",
            replica.0
        )),
        Some(_) => invalid(format!("a partition has one replica here, on broker {this}")),
    }
}
