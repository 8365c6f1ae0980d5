//! The pending posts of a network that are stored, by id, and their counts for `/metrics`. The counts are published
//! whenever a queue's state is unlocked, so that a scrape takes no lock that a commit waits for.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use crate::core::id::PostId;
use crate::core::time::Timestamp;

/// The stored posts that a network's queue holds in memory: for each id, whether it is urgent, and the time of the
/// post.
#[derive(Debug, Default)]
pub(super) struct Stored {
    posts: BTreeMap<PostId, (bool, Timestamp)>,
    urgent: usize,
}

impl Stored {
    /// Adds a stored post. Returns false if it is known already.
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

/// Numbers of stored posts that a network has not confirmed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwedNumbers {
    /// Number of posts in the urgent lane.
    pub urgent: usize,
    /// Number of posts in the normal lane.
    pub normal: usize,
    /// Time of the oldest post; `None` if no post is pending.
    pub oldest: Option<Timestamp>,
}

/// The last published [`OwedNumbers`], which can be read without a lock.
#[derive(Debug, Default)]
pub(super) struct Published {
    urgent: AtomicUsize,
    normal: AtomicUsize,
    /// Time of the oldest post, in milliseconds since the epoch; 0 if no post is pending.
    oldest: AtomicI64,
}

impl Published {
    /// Publishes the counts of `stored` and of `elsewhere` more urgent posts, which are in the journal alone.
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
