//! The request layouts of Kafka's protocol, as far as their sizes go: field names and versions are those of Apache Kafka's
//! message definitions (`clients/src/main/resources/common/message`), from the oldest version answered here to the newest.

use super::Kind::{Blob, Fixed, List, MaybeStruct, Struct, Text};
use super::{Field, always, between, since, tagged};

pub(super) const PRODUCE: &[Field] = &[
    always("transactional_id", Text),
    always("acks", Fixed(2)),
    always("timeout_ms", Fixed(4)),
    always(
        "topic_data",
        List(&Struct(&[
            between(3, 12, "name", Text),
            since(13, "topic_id", Fixed(16)),
            always("partition_data", List(&Struct(&[always("index", Fixed(4)), always("records", Blob)]))),
        ])),
    ),
];

pub(super) const FETCH: &[Field] = &[
    tagged(12, "cluster_id", 0, Text),
    between(4, 14, "replica_id", Fixed(4)),
    tagged(15, "replica_state", 1, Struct(&[since(15, "replica_id", Fixed(4)), since(15, "replica_epoch", Fixed(8))])),
    always("max_wait_ms", Fixed(4)),
    always("min_bytes", Fixed(4)),
    always("max_bytes", Fixed(4)),
    always("isolation_level", Fixed(1)),
    since(7, "session_id", Fixed(4)),
    since(7, "session_epoch", Fixed(4)),
    always(
        "topics",
        List(&Struct(&[
            between(4, 12, "topic", Text),
            since(13, "topic_id", Fixed(16)),
            always(
                "partitions",
                List(&Struct(&[
                    always("partition", Fixed(4)),
                    since(9, "current_leader_epoch", Fixed(4)),
                    always("fetch_offset", Fixed(8)),
                    since(12, "last_fetched_epoch", Fixed(4)),
                    since(5, "log_start_offset", Fixed(8)),
                    always("partition_max_bytes", Fixed(4)),
                    tagged(17, "replica_directory_id", 0, Fixed(16)),
                    tagged(18, "high_watermark", 1, Fixed(8)),
                ])),
            ),
        ])),
    ),
    since(
        7,
        "forgotten_topics_data",
        List(&Struct(&[
            between(7, 12, "topic", Text),
            since(13, "topic_id", Fixed(16)),
            since(7, "partitions", List(&Fixed(4))),
        ])),
    ),
    since(11, "rack_id", Text),
];

pub(super) const LIST_OFFSETS: &[Field] = &[
    always("replica_id", Fixed(4)),
    since(2, "isolation_level", Fixed(1)),
    always(
        "topics",
        List(&Struct(&[
            always("name", Text),
            always(
                "partitions",
                List(&Struct(&[
                    always("partition_index", Fixed(4)),
                    since(4, "current_leader_epoch", Fixed(4)),
                    always("timestamp", Fixed(8)),
                ])),
            ),
        ])),
    ),
    since(10, "timeout_ms", Fixed(4)),
];

pub(super) const METADATA: &[Field] = &[
    always("topics", List(&Struct(&[since(10, "topic_id", Fixed(16)), always("name", Text)]))),
    since(4, "allow_auto_topic_creation", Fixed(1)),
    between(8, 10, "include_cluster_authorized_operations", Fixed(1)),
    since(8, "include_topic_authorized_operations", Fixed(1)),
];

pub(super) const OFFSET_COMMIT: &[Field] = &[
    always("group_id", Text),
    always("generation_id_or_member_epoch", Fixed(4)),
    always("member_id", Text),
    since(7, "group_instance_id", Text),
    between(2, 4, "retention_time_ms", Fixed(8)),
    always(
        "topics",
        List(&Struct(&[
            always("name", Text),
            always(
                "partitions",
                List(&Struct(&[
                    always("partition_index", Fixed(4)),
                    always("committed_offset", Fixed(8)),
                    since(6, "committed_leader_epoch", Fixed(4)),
                    always("committed_metadata", Text),
                ])),
            ),
        ])),
    ),
];

pub(super) const OFFSET_FETCH: &[Field] = &[
    between(1, 7, "group_id", Text),
    between(
        1,
        7,
        "topics",
        List(&Struct(&[between(1, 7, "name", Text), between(1, 7, "partition_indexes", List(&Fixed(4)))])),
    ),
    since(
        8,
        "groups",
        List(&Struct(&[
            since(8, "group_id", Text),
            since(9, "member_id", Text),
            since(9, "member_epoch", Fixed(4)),
            since(
                8,
                "topics",
                List(&Struct(&[since(8, "name", Text), since(8, "partition_indexes", List(&Fixed(4)))])),
            ),
        ])),
    ),
    since(7, "require_stable", Fixed(1)),
];

pub(super) const FIND_COORDINATOR: &[Field] =
    &[between(0, 3, "key", Text), since(1, "key_type", Fixed(1)), since(4, "coordinator_keys", List(&Text))];

pub(super) const JOIN_GROUP: &[Field] = &[
    always("group_id", Text),
    always("session_timeout_ms", Fixed(4)),
    since(1, "rebalance_timeout_ms", Fixed(4)),
    always("member_id", Text),
    since(5, "group_instance_id", Text),
    always("protocol_type", Text),
    always("protocols", List(&Struct(&[always("name", Text), always("metadata", Blob)]))),
    since(8, "reason", Text),
];

pub(super) const HEARTBEAT: &[Field] = &[
    always("group_id", Text),
    always("generation_id", Fixed(4)),
    always("member_id", Text),
    since(3, "group_instance_id", Text),
];

pub(super) const LEAVE_GROUP: &[Field] = &[
    always("group_id", Text),
    between(0, 2, "member_id", Text),
    since(
        3,
        "members",
        List(&Struct(&[since(3, "member_id", Text), since(3, "group_instance_id", Text), since(5, "reason", Text)])),
    ),
];

pub(super) const SYNC_GROUP: &[Field] = &[
    always("group_id", Text),
    always("generation_id", Fixed(4)),
    always("member_id", Text),
    since(3, "group_instance_id", Text),
    since(5, "protocol_type", Text),
    since(5, "protocol_name", Text),
    always("assignments", List(&Struct(&[always("member_id", Text), always("assignment", Blob)]))),
];

pub(super) const DESCRIBE_GROUPS: &[Field] =
    &[always("groups", List(&Text)), since(3, "include_authorized_operations", Fixed(1))];

pub(super) const LIST_GROUPS: &[Field] =
    &[since(4, "states_filter", List(&Text)), since(5, "types_filter", List(&Text))];

pub(super) const API_VERSIONS: &[Field] =
    &[since(3, "client_software_name", Text), since(3, "client_software_version", Text)];

pub(super) const CREATE_TOPICS: &[Field] = &[
    always(
        "topics",
        List(&Struct(&[
            always("name", Text),
            always("num_partitions", Fixed(4)),
            always("replication_factor", Fixed(2)),
            always(
                "assignments",
                List(&Struct(&[always("partition_index", Fixed(4)), always("broker_ids", List(&Fixed(4)))])),
            ),
            always("configs", List(&Struct(&[always("name", Text), always("value", Text)]))),
        ])),
    ),
    always("timeout_ms", Fixed(4)),
    always("validate_only", Fixed(1)),
];

pub(super) const DELETE_TOPICS: &[Field] = &[
    since(6, "topics", List(&Struct(&[since(6, "name", Text), since(6, "topic_id", Fixed(16))]))),
    between(1, 5, "topic_names", List(&Text)),
    always("timeout_ms", Fixed(4)),
];

pub(super) const INIT_PRODUCER_ID: &[Field] = &[
    always("transactional_id", Text),
    always("transaction_timeout_ms", Fixed(4)),
    since(3, "producer_id", Fixed(8)),
    since(3, "producer_epoch", Fixed(2)),
];

pub(super) const DESCRIBE_CONFIGS: &[Field] = &[
    always(
        "resources",
        List(&Struct(&[
            always("resource_type", Fixed(1)),
            always("resource_name", Text),
            always("configuration_keys", List(&Text)),
        ])),
    ),
    always("include_synonyms", Fixed(1)),
    since(3, "include_documentation", Fixed(1)),
];

pub(super) const ALTER_CONFIGS: &[Field] = &[
    always(
        "resources",
        List(&Struct(&[
            always("resource_type", Fixed(1)),
            always("resource_name", Text),
            always("configs", List(&Struct(&[always("name", Text), always("value", Text)]))),
        ])),
    ),
    always("validate_only", Fixed(1)),
];

pub(super) const INCREMENTAL_ALTER_CONFIGS: &[Field] = &[
    always(
        "resources",
        List(&Struct(&[
            always("resource_type", Fixed(1)),
            always("resource_name", Text),
            always(
                "configs",
                List(&Struct(&[always("name", Text), always("config_operation", Fixed(1)), always("value", Text)])),
            ),
        ])),
    ),
    always("validate_only", Fixed(1)),
];

pub(super) const CREATE_PARTITIONS: &[Field] = &[
    always(
        "topics",
        List(&Struct(&[
            always("name", Text),
            always("count", Fixed(4)),
            always("assignments", List(&Struct(&[always("broker_ids", List(&Fixed(4)))]))),
        ])),
    ),
    always("timeout_ms", Fixed(4)),
    always("validate_only", Fixed(1)),
];

pub(super) const DELETE_GROUPS: &[Field] = &[always("groups_names", List(&Text))];

pub(super) const DESCRIBE_CLUSTER: &[Field] = &[
    always("include_cluster_authorized_operations", Fixed(1)),
    since(1, "endpoint_type", Fixed(1)),
    since(2, "include_fenced_brokers", Fixed(1)),
];

pub(super) const DELETE_RECORDS: &[Field] = &[
    always(
        "topics",
        List(&Struct(&[
            always("name", Text),
            always("partitions", List(&Struct(&[always("partition_index", Fixed(4)), always("offset", Fixed(8))]))),
        ])),
    ),
    always("timeout_ms", Fixed(4)),
];

pub(super) const OFFSET_FOR_LEADER_EPOCH: &[Field] = &[
    since(3, "replica_id", Fixed(4)),
    always(
        "topics",
        List(&Struct(&[
            always("topic", Text),
            always(
                "partitions",
                List(&Struct(&[
                    always("partition", Fixed(4)),
                    always("current_leader_epoch", Fixed(4)),
                    always("leader_epoch", Fixed(4)),
                ])),
            ),
        ])),
    ),
];

pub(super) const ALTER_REPLICA_LOG_DIRS: &[Field] = &[always(
    "dirs",
    List(&Struct(&[
        always("path", Text),
        always("topics", List(&Struct(&[always("name", Text), always("partitions", List(&Fixed(4)))]))),
    ])),
)];

pub(super) const DESCRIBE_LOG_DIRS: &[Field] =
    &[always("topics", List(&Struct(&[always("topic", Text), always("partitions", List(&Fixed(4)))])))];

pub(super) const ELECT_LEADERS: &[Field] = &[
    since(1, "election_type", Fixed(1)),
    always("topic_partitions", List(&Struct(&[always("topic", Text), always("partitions", List(&Fixed(4)))]))),
    always("timeout_ms", Fixed(4)),
];

pub(super) const ALTER_PARTITION_REASSIGNMENTS: &[Field] = &[
    always("timeout_ms", Fixed(4)),
    since(1, "allow_replication_factor_change", Fixed(1)),
    always(
        "topics",
        List(&Struct(&[
            always("name", Text),
            always(
                "partitions",
                List(&Struct(&[always("partition_index", Fixed(4)), always("replicas", List(&Fixed(4)))])),
            ),
        ])),
    ),
];

pub(super) const LIST_PARTITION_REASSIGNMENTS: &[Field] = &[
    always("timeout_ms", Fixed(4)),
    always("topics", List(&Struct(&[always("name", Text), always("partition_indexes", List(&Fixed(4)))]))),
];

pub(super) const DESCRIBE_CLIENT_QUOTAS: &[Field] = &[
    always(
        "components",
        List(&Struct(&[always("entity_type", Text), always("match_type", Fixed(1)), always("match", Text)])),
    ),
    always("strict", Fixed(1)),
];

pub(super) const ALTER_CLIENT_QUOTAS: &[Field] = &[
    always(
        "entries",
        List(&Struct(&[
            always("entity", List(&Struct(&[always("entity_type", Text), always("entity_name", Text)]))),
            always("ops", List(&Struct(&[always("key", Text), always("value", Fixed(8)), always("remove", Fixed(1))]))),
        ])),
    ),
    always("validate_only", Fixed(1)),
];

pub(super) const DESCRIBE_QUORUM: &[Field] = &[always(
    "topics",
    List(&Struct(&[
        always("topic_name", Text),
        always("partitions", List(&Struct(&[always("partition_index", Fixed(4))]))),
    ])),
)];

pub(super) const GET_TELEMETRY_SUBSCRIPTIONS: &[Field] = &[always("client_instance_id", Fixed(16))];

pub(super) const PUSH_TELEMETRY: &[Field] = &[
    always("client_instance_id", Fixed(16)),
    always("subscription_id", Fixed(4)),
    always("terminating", Fixed(1)),
    always("compression_type", Fixed(1)),
    always("metrics", Blob),
];

pub(super) const LIST_CONFIG_RESOURCES: &[Field] = &[since(1, "resource_types", List(&Fixed(1)))];

pub(super) const DESCRIBE_TOPIC_PARTITIONS: &[Field] = &[
    always("topics", List(&Struct(&[always("name", Text)]))),
    always("response_partition_limit", Fixed(4)),
    always("cursor", MaybeStruct(&[always("topic_name", Text), always("partition_index", Fixed(4))])),
];

pub(super) const OFFSET_DELETE: &[Field] = &[
    always("group_id", Text),
    always(
        "topics",
        List(&Struct(&[
            always("name", Text),
            always("partitions", List(&Struct(&[always("partition_index", Fixed(4))]))),
        ])),
    ),
];

pub(super) const CONSUMER_GROUP_HEARTBEAT: &[Field] = &[
    always("group_id", Text),
    always("member_id", Text),
    always("member_epoch", Fixed(4)),
    always("instance_id", Text),
    always("rack_id", Text),
    always("rebalance_timeout_ms", Fixed(4)),
    always("subscribed_topic_names", List(&Text)),
    since(1, "subscribed_topic_regex", Text),
    always("server_assignor", Text),
    always("topic_partitions", List(&Struct(&[always("topic_id", Fixed(16)), always("partitions", List(&Fixed(4)))]))),
];

pub(super) const CONSUMER_GROUP_DESCRIBE: &[Field] =
    &[always("group_ids", List(&Text)), always("include_authorized_operations", Fixed(1))];
