//! The request layouts of transactions, as far as their sizes go; see `requests`.

use super::Kind::{Fixed, List, Struct, Text};
use super::{Field, always, between, since};

const TOPICS: super::Kind = List(&Struct(&[always("name", Text), always("partitions", List(&Fixed(4)))]));

pub(super) const ADD_PARTITIONS_TO_TXN: &[Field] = &[
    since(
        4,
        "transactions",
        List(&Struct(&[
            always("transactional_id", Text),
            always("producer_id", Fixed(8)),
            always("producer_epoch", Fixed(2)),
            always("verify_only", Fixed(1)),
            always("topics", TOPICS),
        ])),
    ),
    between(0, 3, "transactional_id", Text),
    between(0, 3, "producer_id", Fixed(8)),
    between(0, 3, "producer_epoch", Fixed(2)),
    between(0, 3, "topics", TOPICS),
];

pub(super) const ADD_OFFSETS_TO_TXN: &[Field] = &[
    always("transactional_id", Text),
    always("producer_id", Fixed(8)),
    always("producer_epoch", Fixed(2)),
    always("group_id", Text),
];

pub(super) const END_TXN: &[Field] = &[
    always("transactional_id", Text),
    always("producer_id", Fixed(8)),
    always("producer_epoch", Fixed(2)),
    always("committed", Fixed(1)),
];

pub(super) const WRITE_TXN_MARKERS: &[Field] = &[always(
    "markers",
    List(&Struct(&[
        always("producer_id", Fixed(8)),
        always("producer_epoch", Fixed(2)),
        always("transaction_result", Fixed(1)),
        always("topics", TOPICS),
        always("coordinator_epoch", Fixed(4)),
    ])),
)];

pub(super) const TXN_OFFSET_COMMIT: &[Field] = &[
    always("transactional_id", Text),
    always("group_id", Text),
    always("producer_id", Fixed(8)),
    always("producer_epoch", Fixed(2)),
    since(3, "generation_id", Fixed(4)),
    since(3, "member_id", Text),
    since(3, "group_instance_id", Text),
    always(
        "topics",
        List(&Struct(&[
            always("name", Text),
            always(
                "partitions",
                List(&Struct(&[
                    always("partition_index", Fixed(4)),
                    always("committed_offset", Fixed(8)),
                    since(2, "committed_leader_epoch", Fixed(4)),
                    always("committed_metadata", Text),
                ])),
            ),
        ])),
    ),
];

pub(super) const DESCRIBE_PRODUCERS: &[Field] = &[always("topics", TOPICS)];

pub(super) const DESCRIBE_TRANSACTIONS: &[Field] = &[always("transactional_ids", List(&Text))];

pub(super) const LIST_TRANSACTIONS: &[Field] = &[
    always("state_filters", List(&Text)),
    always("producer_id_filters", List(&Fixed(8))),
    since(1, "duration_filter", Fixed(8)),
    since(2, "transactional_id_pattern", Text),
];
