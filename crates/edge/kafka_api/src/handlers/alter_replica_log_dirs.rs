//! AlterReplicaLogDirs: there is one directory; a partition can be asked to be where it is, and nowhere else.

use crate::broker::{Broker, Caller};
use crate::error_code::{self, ErrorCode};
use crate::wire::messages::alter_replica_log_dirs_response::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult,
};
use crate::wire::messages::{AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse};

pub(super) async fn handle(
    broker: &Broker,
    _caller: &Caller,
    request: AlterReplicaLogDirsRequest,
) -> AlterReplicaLogDirsResponse {
    let catalog = broker.reader.catalog();
    let mut results = Vec::new();
    for directory in request.dirs {
        let is_here = *directory.path == *broker.options.log_dir;
        for asked in directory.topics {
            let topic = catalog.topic(&asked.name.0);
            let partition = |index: &i32| {
                let exists = topic.is_some_and(|topic| topic.partition(*index).is_some());
                let error = match (exists, is_here) {
                    (false, _) => Some(ErrorCode::UnknownTopicOrPartition),
                    (true, false) => Some(ErrorCode::LogDirNotFound),
                    (true, true) => None,
                };
                AlterReplicaLogDirPartitionResult::default()
                    .with_partition_index(*index)
                    .with_error_code(error_code::code(error))
            };
            let partitions = asked.partitions.iter().map(partition).collect();
            results
                .push(AlterReplicaLogDirTopicResult::default().with_partitions(partitions).with_topic_name(asked.name));
        }
    }
    AlterReplicaLogDirsResponse::default().with_results(results)
}
