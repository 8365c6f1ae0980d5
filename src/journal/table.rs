//! One tree of the database: in sled, or in memory for a journal without a disk.
//!
//! The one in memory implements the operations of sled that the journal needs, so that all code above is shared.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sled::IVec;

/// Keys and values of a table in memory.
type Rows = BTreeMap<IVec, IVec>;

/// A tree of the database: sled's, or one in memory.
#[derive(Debug, Clone)]
pub(super) enum Table {
    Sled(sled::Tree),
    Memory(Arc<Mutex<Rows>>),
}

impl Default for Table {
    fn default() -> Self {
        Self::Memory(Arc::default())
    }
}

/// An iterator over a table's rows, in the order of their keys.
pub(super) enum Items {
    Sled(sled::Iter),
    Memory(Lazy),
}

/// An iterator over a table in memory, which looks rows up one at a time: usually only the first is needed.
pub(super) struct Lazy {
    rows: Arc<Mutex<Rows>>,
    from: Bound<IVec>,
    to: Bound<IVec>,
}

fn locked(rows: &Mutex<Rows>) -> MutexGuard<'_, Rows> {
    rows.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_empty(from: &Bound<IVec>, to: &Bound<IVec>) -> bool {
    match (from, to) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => {
            from >= to
        }
    }
}

/// Value that makes a read panic in tests, as sled does on a damaged page.
#[cfg(test)]
pub(crate) const DAMAGED: &str = "the page of this is damaged";

#[cfg(test)]
fn looked_at(value: &[u8]) {
    assert!(!String::from_utf8_lossy(value).contains(DAMAGED), "a page is damaged");
}

#[cfg(not(test))]
fn looked_at(_: &[u8]) {}

impl Table {
    pub(super) fn get(&self, key: impl AsRef<[u8]>) -> sled::Result<Option<IVec>> {
        match self {
            Self::Sled(tree) => Ok(tree.get(key)?.inspect(|value| looked_at(value))),
            Self::Memory(rows) => Ok(locked(rows).get(key.as_ref()).cloned()),
        }
    }

    pub(super) fn contains_key(&self, key: impl AsRef<[u8]>) -> sled::Result<bool> {
        match self {
            Self::Sled(tree) => tree.contains_key(key),
            Self::Memory(rows) => Ok(locked(rows).contains_key(key.as_ref())),
        }
    }

    pub(super) fn insert(&self, key: impl AsRef<[u8]>, value: impl Into<IVec>) -> sled::Result<()> {
        match self {
            Self::Sled(tree) => tree.insert(key, value).map(drop),
            Self::Memory(rows) => {
                locked(rows).insert(key.as_ref().into(), value.into());
                Ok(())
            }
        }
    }

    pub(super) fn first(&self) -> sled::Result<Option<(IVec, IVec)>> {
        self.iter().next().transpose()
    }

    pub(super) fn last(&self) -> sled::Result<Option<(IVec, IVec)>> {
        self.iter().next_back().transpose()
    }

    pub(super) fn iter(&self) -> Items {
        self.range::<&[u8], _>(..)
    }

    pub(super) fn range<K: AsRef<[u8]>, R: RangeBounds<K>>(&self, range: R) -> Items {
        match self {
            Self::Sled(tree) => Items::Sled(tree.range(range)),
            Self::Memory(rows) => {
                let owned = |bound: Bound<&K>| bound.map(|key| IVec::from(key.as_ref()));
                let (from, to) = (owned(range.start_bound()), owned(range.end_bound()));
                Items::Memory(Lazy { rows: Arc::clone(rows), from, to })
            }
        }
    }

    pub(super) fn scan_prefix(&self, prefix: impl AsRef<[u8]>) -> Items {
        match self {
            Self::Sled(tree) => Items::Sled(tree.scan_prefix(prefix)),
            Self::Memory(rows) => {
                let prefix = prefix.as_ref();
                let mut after = prefix.to_vec();
                while after.pop_if(|last| *last == u8::MAX).is_some() {}
                let to = match after.last_mut() {
                    Some(last) => {
                        *last += 1;
                        Bound::Excluded(IVec::from(after))
                    }
                    None => Bound::Unbounded,
                };
                Items::Memory(Lazy { rows: Arc::clone(rows), from: Bound::Included(prefix.into()), to })
            }
        }
    }

    /// Sets or removes these keys of a table in memory.
    pub(super) fn change(&self, changes: &[(IVec, Option<IVec>)]) {
        let Self::Memory(rows) = self else { return };
        let mut rows = locked(rows);
        for (key, value) in changes {
            match value {
                Some(value) => rows.insert(key.clone(), value.clone()),
                None => rows.remove(key),
            };
        }
    }
}

impl Items {
    /// Returns the keys of the rows, without values.
    pub(super) fn keys(self) -> impl Iterator<Item = sled::Result<IVec>> {
        self.map(|item| item.map(|(key, _)| key))
    }
}

impl Iterator for Items {
    type Item = sled::Result<(IVec, IVec)>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Sled(items) => {
                items.next().inspect(|item| item.iter().for_each(|(_, value)| looked_at(value)))
            }
            Self::Memory(lazy) => {
                let row = lazy.step(|mut rows| rows.next())?;
                lazy.from = Bound::Excluded(row.0.clone());
                Some(Ok(row))
            }
        }
    }
}

impl DoubleEndedIterator for Items {
    fn next_back(&mut self) -> Option<Self::Item> {
        match self {
            Self::Sled(items) => items.next_back(),
            Self::Memory(lazy) => {
                let row = lazy.step(|mut rows| rows.next_back())?;
                lazy.to = Bound::Excluded(row.0.clone());
                Some(Ok(row))
            }
        }
    }
}

impl Lazy {
    fn step(
        &self,
        pick: impl FnOnce(std::collections::btree_map::Range<'_, IVec, IVec>) -> Option<(&IVec, &IVec)>,
    ) -> Option<(IVec, IVec)> {
        if is_empty(&self.from, &self.to) {
            return None;
        }
        let rows = locked(&self.rows);
        let range = rows.range((self.from.clone(), self.to.clone()));
        pick(range).map(|(key, value)| (key.clone(), value.clone()))
    }
}
