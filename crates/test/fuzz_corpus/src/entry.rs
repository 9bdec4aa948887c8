//! An entry of the log.

use bytes::{Bytes, BytesMut};
use daybook_command::Entry;

use crate::Verdict;

/// What was decoded is decoded again from what it is encoded to.
pub fn entry(bytes: &[u8]) -> Verdict {
    let decoded = Entry::decode(Bytes::copy_from_slice(bytes));
    if let Ok(entry) = &decoded {
        let mut again = BytesMut::new();
        entry.encode().iter().for_each(|part| again.extend_from_slice(part));
        assert_eq!(Entry::decode(again.freeze()).as_ref(), Ok(entry), "an entry survives encoding");
    }
    Verdict::of(&decoded)
}
