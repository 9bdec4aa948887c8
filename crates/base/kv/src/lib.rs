//! The index store: small keys and values in a few spaces, changed by atomic, durable batches.
//!
//! Posted state lives here between checkpoints' commits: what one [`Store::commit`] names is there after a power cut whole or
//! not at all, over all spaces. The engine is fjall, an LSM tree with a journal of its own; nobody outside this crate names it.
//!
//! What is known of its engine: a batch cut short by a power cut is dropped whole on opening. A batch whose *middle* didn't reach
//! the disk while its end did is dropped too as long as its values are shorter than a page (4 KiB); with longer ones the engine
//! may refuse to open, naming a checksum. Damage in the last section of one of its archives can make it ask for more memory than
//! there is. Neither is silent.
//!
//! The store uses the real file system, not `daybook_world::Disk`, since its engine brings its own files.

mod error;
mod space;
mod store;

pub use error::KvError;
pub use space::Space;
pub use store::{KEY_BYTES_MAX, Op, Options, Store, VALUE_BYTES_MAX};
