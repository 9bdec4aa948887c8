//! The table of keys.
//!
//! A row is: the meaning as a comment, the key, its type, its default as text, and, for numbers, the range accepted
//! (both ends included). To add a key, add a row.

use std::path::PathBuf;

use crate::key::{Entry, KeyInfo};
use crate::value::{Address, ByteSize, GroupMigration, LogFilter, SettingValue, WalSync};

macro_rules! settings {
    (
        root { $( $(#[doc = $root_doc:literal])+ $root:ident: $root_type:ty = $root_default:literal; )+ }
        $(
            $(#[doc = $section_doc:literal])+
            $section:ident: $section_type:ident {
                $( $(#[doc = $doc:literal])+ $key:ident: $type:ty = $default:literal $(in $min:literal ..= $max:literal)?; )+
            }
        )+
    ) => {
        /// The effective configuration.
        #[derive(Clone, Debug)]
        pub struct Settings {
            $( $(#[doc = $root_doc])+ pub $root: $root_type, )+
            $( $(#[doc = $section_doc])+ pub $section: $section_type, )+
            /// One for each key, in the order of the table.
            pub(crate) entries: Vec<Entry>,
        }

        $(
            $(#[doc = $section_doc])+
            #[derive(Clone, Debug)]
            pub struct $section_type {
                $( $(#[doc = $doc])+ pub $key: $type, )+
            }
        )+

        /// All keys.
        pub(crate) const KEYS: &[KeyInfo] = &[
            $( KeyInfo {
                name: stringify!($root),
                default: $root_default,
                accepted: || accepted::<$root_type>(None),
                meaning: concat!($($root_doc, "\n"),+),
                is_bare: <$root_type as SettingValue>::IS_BARE,
                normalise: |text| read::<$root_type>(text, None).map(|value| value.print()),
            }, )+
            $( $( KeyInfo {
                name: concat!(stringify!($section), ".", stringify!($key)),
                default: $default,
                accepted: || accepted::<$type>(range!($($min, $max)?)),
                meaning: concat!($($doc, "\n"),+),
                is_bare: <$type as SettingValue>::IS_BARE,
                normalise: |text| read::<$type>(text, range!($($min, $max)?)).map(|value| value.print()),
            }, )+ )+
        ];

        impl Settings {
            /// `entries` has one entry for each of `KEYS`, in their order, each accepted by its key.
            pub(crate) fn from_entries(entries: Vec<Entry>) -> Option<Self> {
                let mut values = entries.iter().map(|entry| entry.value.as_str());
                $( let $root = <$root_type as SettingValue>::read(values.next()?)?; )+
                $( let $section = $section_type {
                    $( $key: <$type as SettingValue>::read(values.next()?)?, )+
                }; )+
                Some(Self { $( $root, )+ $( $section, )+ entries })
            }
        }
    };
}

macro_rules! range {
    () => {
        None
    };
    ($min:literal, $max:literal) => {
        Some(($min, $max))
    };
}

settings! {
    root {
        /// Directory that holds everything this node stores; made when it doesn't exist.
        data: PathBuf = "./data";
    }

    /// This node.
    node: NodeSettings {
        /// Number of this node; Kafka's broker id. Written into the data directory at the first start.
        id: u32 = "1" in 0 ..= 2147483647;
    }

    /// The Kafka door.
    kafka: KafkaSettings {
        /// Address on which Kafka clients are served; port 0 picks a free one.
        listen: Address = "127.0.0.1:9092";
        /// Address that clients are told to connect to. Empty: the address listened on.
        advertised: Option<Address> = "";
        /// Whether a topic is made when a client asks for it by name and allows that.
        auto_create_topics: bool = "true";
        /// Partitions of a topic whose creator left the number to the server.
        default_partitions: u32 = "1" in 1 ..= 10000;
        /// Connections served at once; a further one is closed at once.
        connections_max: u32 = "10000" in 1 ..= 1000000;
        /// Largest request; a larger one closes its connection.
        request_bytes_max: ByteSize = "100MiB" in 1024 ..= 536870912;
        /// Bytes of requests of one connection that wait for an answer; beyond them its socket isn't read.
        in_flight_bytes_max: ByteSize = "16MiB" in 1024 ..= 1073741824;
        /// Milliseconds without a request after which a connection is closed.
        idle_timeout_ms: u64 = "600000" in 1000 ..= 2147483647;
    }

    /// The HTTP door: the event store, health, readiness and metrics.
    http: HttpSettings {
        /// Address on which HTTP is served; port 0 picks a free one.
        listen: Address = "127.0.0.1:2113";
    }

    /// A shard: one totally ordered log and what is posted from it.
    shard: ShardSettings {
        /// Bytes of commands of one shard that wait to be applied; beyond them its doors stop reading.
        in_flight_bytes_max: ByteSize = "64MiB" in 1048576 ..= 8589934592;
    }

    /// The write-ahead log of a shard.
    wal: WalSettings {
        /// When a write is acknowledged: "always", once fsynced; "os", once the operating system has it, so that a power cut may lose the last moments.
        sync: WalSync = "always";
        /// Size to which a file of the log is preallocated.
        segment_bytes: ByteSize = "64MiB" in 1048576 ..= 1073741824;
    }

    /// Checkpoints: what is posted made durable, so that the log before it can go.
    checkpoint: CheckpointSettings {
        /// Bytes of log after which a checkpoint is taken; what a start replays at most, about.
        wal_bytes: ByteSize = "64MiB" in 1048576 ..= 68719476736;
        /// Milliseconds after which a checkpoint is taken if anything was written.
        interval_ms: u64 = "60000" in 100 ..= 86400000;
    }

    /// Retention and compaction of topics.
    cleaner: CleanerSettings {
        /// Milliseconds between two looks at which records are too old or too many, and before the first.
        retention_interval_ms: u64 = "300000" in 100 ..= 86400000;
        /// Milliseconds between two looks at which partitions are worth compacting, if none was.
        compaction_interval_ms: u64 = "15000" in 10 ..= 86400000;
        /// Bytes a second that compaction reads and writes at most.
        bytes_per_second_max: ByteSize = "64MiB" in 65536 ..= 1099511627776;
        /// Memory for the keys of one compaction; more keys take several.
        key_map_bytes_max: ByteSize = "128MiB" in 1048576 ..= 68719476736;
    }

    /// Consumer groups.
    group: GroupSettings {
        /// Milliseconds that the first rebalance of an empty group waits for more members.
        initial_rebalance_delay_ms: u32 = "3000" in 0 ..= 600000;
        /// Shortest session timeout a member may ask for.
        session_timeout_min_ms: u32 = "6000" in 1 ..= 2147483647;
        /// Longest session timeout a member may ask for.
        session_timeout_max_ms: u32 = "1800000" in 1 ..= 2147483647;
        /// Milliseconds of silence after which a member of a consumer group (KIP-848) is taken for gone; Kafka's group.consumer.session.timeout.ms.
        consumer_session_timeout_ms: u32 = "45000" in 1000 ..= 2147483647;
        /// Milliseconds between heartbeats of members of consumer groups in quiet times; Kafka's group.consumer.heartbeat.interval.ms.
        consumer_heartbeat_interval_ms: u32 = "5000" in 100 ..= 2147483647;
        /// The same while a group is on its way to a new assignment: partitions change hands by heartbeats.
        consumer_rebalance_heartbeat_interval_ms: u32 = "500" in 50 ..= 2147483647;
        /// Least milliseconds between two assignments of one consumer group, so that a burst of members makes one; Kafka's group.consumer.assignment.interval.ms.
        consumer_assignment_interval_ms: u32 = "1000" in 0 ..= 15000;
        /// Most members of a consumer group; Kafka's group.consumer.max.size.
        consumer_size_max: u32 = "2147483647" in 1 ..= 2147483647;
        /// Whether groups with members may change from the classic protocol to the new one ("upgrade"), back ("downgrade"), both ("bidirectional") or neither ("disabled"); Kafka's group.consumer.migration.policy.
        consumer_migration_policy: GroupMigration = "bidirectional";
    }

    /// Transactions.
    transaction: TransactionSettings {
        /// Longest time in milliseconds that a producer may ask to keep a transaction open.
        timeout_max_ms: u32 = "900000" in 1 ..= 2147483647;
        /// Milliseconds after which a transactional id that wasn't used is forgotten.
        id_expiration_ms: u64 = "604800000" in 1 ..= 9223372036854775807;
    }

    /// The log of what this process does, on standard error.
    log: LogSettings {
        /// What is logged: a level, or a list of target=level.
        level: LogFilter = "info";
    }
}

/// Both ends included.
type Range = Option<(u64, u64)>;

fn read<T: SettingValue>(text: &str, range: Range) -> Option<T> {
    let value = T::read(text)?;
    match (range, value.magnitude()) {
        (Some((min, max)), Some(number)) if number < min || number > max => None,
        _ => Some(value),
    }
}

fn accepted<T: SettingValue>(range: Range) -> String {
    match range {
        Some((min, max)) => {
            format!("{}, from {} to {}", T::accepted(), T::print_magnitude(min), T::print_magnitude(max))
        }
        None => T::accepted(),
    }
}
