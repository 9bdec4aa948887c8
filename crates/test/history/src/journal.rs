//! Remembers every entry that was applied, over all restarts.

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_apply::{Digest, ShardState};
use daybook_command::{Entry, Outcome};
use daybook_kv::KvError;
use daybook_shard::{At, Content, Posting};
use daybook_types::{Lsn, Term};
use parking_lot::Mutex;

/// Every entry ever applied, by LSN; `None` for one without commands.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    entries: Arc<Mutex<Entries>>,
}

type Entries = BTreeMap<Lsn, (Term, Option<Entry>)>;

/// A shard's state that writes what it applies into a journal, and can be looked at from outside.
#[derive(Clone, Debug)]
pub struct Journaled {
    journal: Journal,
    pub state: Arc<Mutex<ShardState>>,
}

impl Journal {
    pub fn over(&self, state: ShardState) -> Journaled {
        Journaled { journal: self.clone(), state: Arc::new(Mutex::new(state)) }
    }

    pub fn len(&self) -> usize {
        self.entries.lock().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The state that replaying all entries into an empty one gives.
    pub fn replay(&self) -> Digest {
        let mut state = ShardState::empty();
        for (lsn, (term, entry)) in self.entries.lock().iter() {
            let at = At { term: *term, lsn: *lsn };
            match entry {
                Some(entry) => drop(state.apply(at, entry).expect("a state without files reads none")),
                None => state.pass(at),
            }
        }
        state.digest()
    }

    fn note(&self, at: At, entry: Option<&Entry>) {
        let mut entries = self.entries.lock();
        let entry = entry.cloned();
        match entries.get(&at.lsn) {
            Some(before) => assert_eq!(*before, (at.term, entry), "entry {} has changed", at.lsn),
            None => {
                if let Some((last, _)) = entries.last_key_value() {
                    assert_eq!(at.lsn, last.next(), "entries are applied without gaps");
                }
                entries.insert(at.lsn, (at.term, entry));
            }
        }
    }
}

impl Posting for Journaled {
    fn apply(&mut self, at: At, entry: &Entry) -> Result<Vec<Outcome>, KvError> {
        self.journal.note(at, Some(entry));
        self.state.lock().apply(at, entry)
    }

    fn pass(&mut self, at: At) {
        self.journal.note(at, None);
        self.state.lock().pass(at);
    }

    fn take_content(&mut self) -> Content {
        self.state.lock().take_content()
    }
}
