//! What this herder cannot read though nothing is wrong with it: entries of the fleet and posts of a later version are left out,
//! counted, and kept as they are.

use crate::core::id::{NetworkName, PostId};
use crate::outbox::Post;

use super::handle::Journal;
use super::notes::{self, Versions};
use super::{FleetState, Loaded, Memo, ReadError, Stream, Unreadable, replay};

impl Journal {
    /// The fleet's state, without the entries that this herder cannot read: see [`Journal::unreadable`]. Blocks.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn load_fleet(&self) -> Result<Loaded<FleetState>, ReadError> {
        let (loaded, unreadable) = self.guarded(|| replay::load_readable(self.reader(), &Stream::Fleet))?;
        if let Some(seq) = unreadable.last() {
            let version = self.guarded(|| Ok(Versions::read(self.reader().trees())?))?;
            self.note(version.of_event(*seq), |found| found.events.extend(&unreadable));
        }
        Ok(loaded)
    }

    /// What could not be read so far of the fleet's entries and of the posts that are owed.
    #[must_use]
    pub fn unreadable(&self) -> Unreadable {
        self.unread().clone()
    }

    fn note(&self, version: Option<&str>, what: impl FnOnce(&mut Unreadable)) {
        let mut unreadable = self.unread();
        what(&mut unreadable);
        if let Some(version) = version {
            unreadable.version = Some(version.to_owned());
        }
    }

    /// A batch's memo that people are told of the archives that were set aside.
    #[must_use]
    pub fn told_aside() -> Memo {
        Memo { key: notes::ASIDE.to_owned(), value: None }
    }

    /// What is still owed to a network, in the order of commits. Blocks. Ask before the first commit after the start;
    /// everything later comes through [`Journal::deliver_to`].
    ///
    /// # Errors
    /// The database cannot be read. A post that cannot be read stays, see [`Journal::unreadable`].
    pub fn undelivered(&self, network: &NetworkName) -> Result<Vec<Post>, ReadError> {
        let (posts, unreadable) = self.guarded(|| self.reader().undelivered(network))?;
        if let Some(post) = unreadable.last() {
            let version = self.guarded(|| Ok(Versions::read(self.reader().trees())?))?;
            self.note(version.of_post(post.0), |found| found.posts.extend(&unreadable));
        }
        Ok(posts)
    }

    /// The ids of all posts that are still owed to a network, also of those that cannot be read. Blocks.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn owed_ids(&self, network: &NetworkName) -> Result<Vec<PostId>, ReadError> {
        let (posts, unreadable) = self.guarded(|| self.reader().undelivered(network))?;
        Ok(posts.into_iter().map(|post| post.id).chain(unreadable).collect())
    }
}
