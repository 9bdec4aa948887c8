//! Transactional ids: whose each is, and the transaction it has open.
//!
//! Decides every step of a transaction: who may begin, add, write and end, and who is fenced. What ending means (markers in
//! partitions, offsets of groups) is handed to the caller as an [`Ending`], to be done in the same apply: there is no state
//! between open and ended, so nothing has to be finished after a restart. The rules are Apache Kafka 4.x's
//! (`TransactionCoordinator`, `TransactionMetadata`; KIP-98, KIP-360, KIP-890) without the steps that several logs would need.
//!
//! Invariants: a producer id belongs to one transactional id at most; `open` holds exactly the open transactions.

mod decide;
mod ending;
mod stored;
mod transactional;
mod transactions;

pub use ending::Ending;
pub use stored::StoredTransactionError;
pub use transactional::{Open, Phase, Transactional};
pub use transactions::{GROUPS_MAX, TRANSACTIONAL_IDS_MAX, Transactions};

#[cfg(test)]
mod tests;
