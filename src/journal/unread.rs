//! Data of a newer version: entries of the fleet and posts that this herder cannot read are left out, counted, and
//! kept unchanged.

use crate::core::id::{NetworkName, PostId};
use crate::core::post::Post;

use super::handle::Journal;
use super::notes::{self, Versions};
use super::{FleetState, Loaded, Memo, ReadError, Stream, Unreadable, replay};

impl Journal {
    /// Loads the fleet's state without the entries that this herder cannot read: see [`Journal::unreadable`]. Blocks.
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

    /// Returns the entries of the fleet and the pending posts that were found so far and that this herder cannot read.
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

    /// Returns the memo that records that people were told of the archives that were set aside.
    #[must_use]
    pub fn told_aside() -> Memo {
        Memo { key: notes::ASIDE.to_owned(), value: None }
    }

    /// Returns the pending posts of a network, in the order of commits. Blocks. Call before the first commit after
    /// the start; later posts come through [`Journal::deliver_to`].
    ///
    /// # Errors
    /// The database cannot be read. An unreadable post stays, see [`Journal::unreadable`].
    pub fn undelivered(&self, network: &NetworkName) -> Result<Vec<Post>, ReadError> {
        let (posts, unreadable) = self.guarded(|| self.reader().undelivered(network))?;
        if let Some(post) = unreadable.last() {
            let version = self.guarded(|| Ok(Versions::read(self.reader().trees())?))?;
            self.note(version.of_post(post.0), |found| found.posts.extend(&unreadable));
        }
        Ok(posts)
    }

    /// Returns the ids of all pending posts of a network, including unreadable ones. Blocks.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn owed_ids(&self, network: &NetworkName) -> Result<Vec<PostId>, ReadError> {
        let (posts, unreadable) = self.guarded(|| self.reader().undelivered(network))?;
        Ok(posts.into_iter().map(|post| post.id).chain(unreadable).collect())
    }
}
