//! Which events match a query of types and tags: by the positions that the index keeps for each term.
//!
//! A term is a 64-bit hash of a type or a tag. Two that share one are taken for one: an append's condition may then be refused without
//! need, which is legal and as unlikely as it is; reads look at the event itself.

use daybook_command::{AppendCondition, TermQuery};
use daybook_kv::KvError;
use daybook_types::Position;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::index::StreamIndex;
use crate::lookup::Order;

const TYPE_SEED: u64 = 1;
const TAG_SEED: u64 = 2;
const ID_SEED: u64 = 3;
/// Positions looked up at a time.
const BLOCK: usize = 256;

pub(crate) fn type_term(name: &[u8]) -> u64 {
    xxh3_64_with_seed(name, TYPE_SEED)
}

pub(crate) fn tag_term(tag: &[u8]) -> u64 {
    xxh3_64_with_seed(tag, TAG_SEED)
}

/// Term of the id of an event of no stream.
pub(crate) fn id_term(id: u64) -> u64 {
    xxh3_64_with_seed(&id.to_le_bytes(), ID_SEED)
}

impl StreamIndex {
    /// The last event that matches the condition, if there is one.
    pub(crate) fn last_match(&self, condition: &AppendCondition) -> Result<Option<Position>, KvError> {
        let end = *self.end.borrow();
        let least = condition.after.map_or(Position(0), Position::next);
        if end <= least {
            return Ok(None);
        }
        let last = Position(end.0 - 1);
        if condition.items.is_empty() {
            return Ok(Some(last));
        }
        let mut found: Option<Position> = None;
        for item in &condition.items {
            let mut matches = Matches::new(self, item, last, Order::Descending);
            let first = matches.next()?.filter(|position| *position >= least);
            found = found.max(first);
        }
        Ok(found)
    }

    /// Positions of events that match one of `items`: from `from` on, ascending; or from it down, descending; at most `limit`.
    pub fn matches(
        &self,
        items: &[TermQuery],
        from: Position,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Position>, KvError> {
        let mut sources: Vec<Matches<'_>> = items.iter().map(|item| Matches::new(self, item, from, order)).collect();
        let mut heads = Vec::with_capacity(sources.len());
        for source in &mut sources {
            heads.push(source.next()?);
        }
        let mut found = Vec::new();
        while found.len() < limit {
            let best = match order {
                Order::Ascending => heads.iter().flatten().min(),
                Order::Descending => heads.iter().flatten().max(),
            };
            let Some(best) = best.copied() else { break };
            found.push(best);
            for (head, source) in heads.iter_mut().zip(&mut sources) {
                if *head == Some(best) {
                    *head = source.next()?;
                }
            }
        }
        Ok(found)
    }

    /// Position of an event of no stream by its id's hash.
    pub fn position_of_id(&self, id: u64) -> Result<Option<Position>, KvError> {
        let end = *self.end.borrow();
        Ok(self.term_positions(id_term(id), end, Order::Descending, 1)?.first().copied())
    }
}

/// Positions of one term, one after the other.
struct Cursor<'a> {
    index: &'a StreamIndex,
    term: u64,
    order: Order,
    block: std::vec::IntoIter<Position>,
    /// Where the next block begins; `None`: there is none.
    next: Option<Position>,
    head: Option<Position>,
}

impl<'a> Cursor<'a> {
    fn new(index: &'a StreamIndex, term: u64, from: Position, order: Order) -> Self {
        Self { index, term, order, block: Vec::new().into_iter(), next: Some(from), head: None }
    }

    fn step(&mut self) -> Result<(), KvError> {
        loop {
            if let Some(position) = self.block.next() {
                self.head = Some(position);
                return Ok(());
            }
            let Some(next) = self.next else {
                self.head = None;
                return Ok(());
            };
            let block = self.index.term_positions(self.term, next, self.order, BLOCK)?;
            self.next = block.last().and_then(|last| self.after(*last));
            self.block = block.into_iter();
        }
    }

    fn after(&self, position: Position) -> Option<Position> {
        match self.order {
            Order::Ascending => Some(position.next()),
            Order::Descending => position.0.checked_sub(1).map(Position),
        }
    }

    /// Goes to the first position at `to` or after it in this order.
    fn seek(&mut self, to: Position) -> Result<Option<Position>, KvError> {
        let order = self.order;
        let is_before = |position: Position| match order {
            Order::Ascending => position < to,
            Order::Descending => position > to,
        };
        if self.head.is_some_and(|head| !is_before(head)) {
            return Ok(self.head);
        }
        // What the block has left may all lie before; then the index is asked anew.
        if self.block.as_slice().last().is_none_or(|last| is_before(*last)) {
            self.block = Vec::new().into_iter();
            self.next = self.next.map(|next| if is_before(next) { to } else { next });
        }
        self.step()?;
        while self.head.is_some_and(is_before) {
            self.step()?;
        }
        Ok(self.head)
    }
}

/// Positions of the events that match one item.
struct Matches<'a> {
    tags: Vec<Cursor<'a>>,
    types: Vec<Cursor<'a>>,
    order: Order,
    /// Where the search goes on; `None`: it is over.
    at: Option<Position>,
    /// For an item that matches everything.
    end: Position,
}

impl<'a> Matches<'a> {
    fn new(index: &'a StreamIndex, item: &TermQuery, from: Position, order: Order) -> Self {
        let end = *index.end.borrow();
        let at = match order {
            Order::Ascending => Some(from),
            Order::Descending => end.0.checked_sub(1).map(|last| from.min(Position(last))),
        };
        let cursor = |term| Cursor::new(index, term, at.unwrap_or_default(), order);
        Self {
            tags: item.tags.iter().map(|tag| cursor(tag_term(tag))).collect(),
            types: item.types.iter().map(|name| cursor(type_term(name))).collect(),
            order,
            at,
            end,
        }
    }

    fn next(&mut self) -> Result<Option<Position>, KvError> {
        loop {
            let Some(mut at) = self.at else { return Ok(None) };
            let begin = at;
            for cursor in &mut self.tags {
                let Some(found) = cursor.seek(at)? else { return Ok(self.over()) };
                at = found;
            }
            if !self.types.is_empty() {
                let mut nearest: Option<Position> = None;
                for cursor in &mut self.types {
                    let found = cursor.seek(at)?;
                    nearest = match (nearest, found, self.order) {
                        (Some(a), Some(b), Order::Ascending) => Some(a.min(b)),
                        (Some(a), Some(b), Order::Descending) => Some(a.max(b)),
                        (a, b, _) => a.or(b),
                    };
                }
                let Some(nearest) = nearest else { return Ok(self.over()) };
                at = nearest;
            }
            if at >= self.end {
                return Ok(self.over());
            }
            if at == begin || self.agrees(at)? {
                self.at = match self.order {
                    Order::Ascending => Some(at.next()),
                    Order::Descending => at.0.checked_sub(1).map(Position),
                };
                return Ok(Some(at));
            }
            self.at = Some(at);
        }
    }

    /// Whether every tag stands at `at`.
    fn agrees(&mut self, at: Position) -> Result<bool, KvError> {
        for cursor in &mut self.tags {
            if cursor.seek(at)? != Some(at) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn over(&mut self) -> Option<Position> {
        self.at = None;
        None
    }
}
