//! Daybook inside your program: the event store as a library, without a server, a port or a second process.
//!
//! [`Daybook::open`] takes a directory for this process, recovers what is in it and starts the engine. What is appended is durable
//! before the answer comes, ordered by one position for everything, and guarded by the version its stream must have.
//! It is the engine that the server `daybook serve` runs: the same directory can be opened by either, one at a time.
//!
//! # Runtime
//!
//! Everything here needs a [tokio](https://tokio.rs) runtime with its timer enabled (`#[tokio::main]` and `#[tokio::test]` have one), of either
//! flavour; [`Daybook::open`] refuses to work without one. Reads that need the disk run on the runtime's blocking threads. The log has a
//! thread of its own and goes on if the runtime is busy.
//!
//! # Begin
//!
//! ```
//! use daybook::{Append, Daybook, Direction, Expected, NewEvent, StreamAppend, StreamFrom, StreamName};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let directory = directory.path();
//! let daybook = Daybook::open(directory).await?;
//! let order = StreamName::new("order-10491")?;
//! let placed = NewEvent { event_type: "placed".into(), data: r#"{"sum": 30}"#.into(), ..NewEvent::default() };
//! let append = StreamAppend { stream: order.clone(), expected: Expected::NoStream, events: vec![placed] };
//! daybook.append(Append { streams: vec![append], ..Append::default() }).await?;
//!
//! let page = daybook.read_stream(&order, StreamFrom::Start, Direction::Forwards, 100).await?;
//! assert_eq!(page.events[0].event_type, "placed");
//! daybook.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! A longer one, with an invariant and a subscription, is `examples/embedded.rs`.

mod data_dir;
mod daybook;
mod error;
mod options;

pub use bytes::Bytes;
pub use daybook_command::Stage;
pub use daybook_event_store::{
    APPEND_BYTES_MAX, AllFrom, Append, AppendError, Appended, Condition, Conflict, Delete, DeleteKind, Direction,
    EventStore, Expected, Filter, FollowFrom, Followed, NewEvent, Page, ProposeError, Query, QueryItem, ReadError,
    Recorded, StreamAppend, StreamAppended, StreamFrom, StreamInfo, StreamName, StreamPage, StreamSettings,
    StreamState, Subscription, Target,
};
pub use daybook_shard::{ShardStatus, StatusWatch};
pub use daybook_types::{Lsn, Position, StreamVersion};
pub use daybook_wal::SyncPolicy;

pub use crate::data_dir::{DataDir, DataDirError, SHARD_DIR};
pub use crate::daybook::Daybook;
pub use crate::error::OpenError;
pub use crate::options::Options;
