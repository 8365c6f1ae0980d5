//! The stored posts that a network is owed, by id, and the numbers of them that `/metrics` shows: published whenever a
//! queue's state is let go, so that a scrape takes no lock that a commit waits for.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use crate::core::id::PostId;
use crate::core::time::Timestamp;

/// Posts that are held, by id, with their lane and their moment.
#[derive(Debug, Default)]
pub(super) struct Stored {
    posts: BTreeMap<PostId, (bool, Timestamp)>,
    urgent: usize,
}

impl Stored {
    /// Notes a post; false if it is there already.
    pub(super) fn insert(&mut self, id: PostId, urgent: bool, at: Timestamp) -> bool {
        match self.posts.entry(id) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert((urgent, at));
                self.urgent += usize::from(urgent);
                true
            }
        }
    }

    pub(super) fn contains(&self, id: PostId) -> bool {
        self.posts.contains_key(&id)
    }

    pub(super) fn remove(&mut self, id: PostId) {
        if let Some((true, _)) = self.posts.remove(&id) {
            self.urgent -= 1;
        }
    }
}

/// Posts that a network is owed, as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwedNumbers {
    /// In the urgent lane.
    pub urgent: usize,
    /// In the normal lane.
    pub normal: usize,
    /// The moment of the oldest of them, if there is one.
    pub oldest: Option<Timestamp>,
}

/// The last [`OwedNumbers`], readable at any time.
#[derive(Debug, Default)]
pub(super) struct Published {
    urgent: AtomicUsize,
    normal: AtomicUsize,
    /// In milliseconds; 0: there is none.
    oldest: AtomicI64,
}

impl Published {
    /// `elsewhere`: urgent posts that are not held.
    pub(super) fn publish(&self, stored: &Stored, elsewhere: usize) {
        self.urgent.store(stored.urgent + elsewhere, Ordering::Relaxed);
        self.normal.store(stored.posts.len() - stored.urgent, Ordering::Relaxed);
        // Ids are given in the order of commits, so that the first is the oldest.
        let oldest = stored.posts.first_key_value().map_or(0, |(_, (_, at))| at.as_millis());
        self.oldest.store(oldest, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> OwedNumbers {
        let oldest = self.oldest.load(Ordering::Relaxed);
        OwedNumbers {
            urgent: self.urgent.load(Ordering::Relaxed),
            normal: self.normal.load(Ordering::Relaxed),
            oldest: (oldest > 0).then(|| Timestamp::from_millis(oldest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_posts_that_are_there() {
        let at = |millis| Timestamp::from_millis(millis);
        let (mut stored, published) = (Stored::default(), Published::default());
        let read = |stored: &Stored| {
            published.publish(stored, 2);
            published.read()
        };
        assert_eq!(read(&stored), OwedNumbers { urgent: 2, normal: 0, oldest: None });
        assert!(stored.insert(PostId(7), true, at(70)));
        assert!(!stored.insert(PostId(7), true, at(70)), "it comes twice at a start");
        assert!(stored.insert(PostId(3), false, at(30)));
        assert_eq!(read(&stored), OwedNumbers { urgent: 3, normal: 1, oldest: Some(at(30)) });
        stored.remove(PostId(3));
        stored.remove(PostId(3));
        assert_eq!(read(&stored), OwedNumbers { urgent: 3, normal: 0, oldest: Some(at(70)) });
        stored.remove(PostId(7));
        assert_eq!(read(&stored), OwedNumbers { urgent: 2, normal: 0, oldest: None });
    }
}
