//! The layouts of the requests of share groups, as `requests` has the others.

use super::Kind::{Fixed, List, Struct, Text};
use super::{Field, Kind, always, since};

/// First and last offset and types of a batch.
const ACKNOWLEDGEMENT_BATCHES: Kind = List(&Struct(&[
    always("first_offset", Fixed(8)),
    always("last_offset", Fixed(8)),
    always("acknowledge_types", List(&Fixed(1))),
]));

pub(super) const SHARE_GROUP_HEARTBEAT: &[Field] = &[
    always("group_id", Text),
    always("member_id", Text),
    always("member_epoch", Fixed(4)),
    always("rack_id", Text),
    always("subscribed_topic_names", List(&Text)),
];

pub(super) const SHARE_GROUP_DESCRIBE: &[Field] =
    &[always("group_ids", List(&Text)), always("include_authorized_operations", Fixed(1))];

pub(super) const SHARE_FETCH: &[Field] = &[
    always("group_id", Text),
    always("member_id", Text),
    always("share_session_epoch", Fixed(4)),
    always("max_wait_ms", Fixed(4)),
    always("min_bytes", Fixed(4)),
    always("max_bytes", Fixed(4)),
    always("max_records", Fixed(4)),
    always("batch_size", Fixed(4)),
    since(2, "share_acquire_mode", Fixed(1)),
    since(2, "is_renew_ack", Fixed(1)),
    always(
        "topics",
        List(&Struct(&[
            always("topic_id", Fixed(16)),
            always(
                "partitions",
                List(&Struct(&[
                    always("partition_index", Fixed(4)),
                    always("acknowledgement_batches", ACKNOWLEDGEMENT_BATCHES),
                ])),
            ),
        ])),
    ),
    always(
        "forgotten_topics_data",
        List(&Struct(&[always("topic_id", Fixed(16)), always("partitions", List(&Fixed(4)))])),
    ),
];

pub(super) const SHARE_ACKNOWLEDGE: &[Field] = &[
    always("group_id", Text),
    always("member_id", Text),
    always("share_session_epoch", Fixed(4)),
    since(2, "is_renew_ack", Fixed(1)),
    always(
        "topics",
        List(&Struct(&[
            always("topic_id", Fixed(16)),
            always(
                "partitions",
                List(&Struct(&[
                    always("partition_index", Fixed(4)),
                    always("acknowledgement_batches", ACKNOWLEDGEMENT_BATCHES),
                ])),
            ),
        ])),
    ),
];

pub(super) const DESCRIBE_SHARE_GROUP_OFFSETS: &[Field] = &[always(
    "groups",
    List(&Struct(&[
        always("group_id", Text),
        always("topics", List(&Struct(&[always("topic_name", Text), always("partitions", List(&Fixed(4)))]))),
    ])),
)];

pub(super) const ALTER_SHARE_GROUP_OFFSETS: &[Field] = &[
    always("group_id", Text),
    always(
        "topics",
        List(&Struct(&[
            always("topic_name", Text),
            always(
                "partitions",
                List(&Struct(&[always("partition_index", Fixed(4)), always("start_offset", Fixed(8))])),
            ),
        ])),
    ),
];

pub(super) const DELETE_SHARE_GROUP_OFFSETS: &[Field] =
    &[always("group_id", Text), always("topics", List(&Struct(&[always("topic_name", Text)])))];
