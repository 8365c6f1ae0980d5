//! Going back through a stream from its newest entry, for as long as whoever asks wants more of it.
//!
//! The database answers at once. An archive has to be unpacked from its beginning, so that each is read once for all that
//! is wanted of it; few are read for one question, and few questions read them at a time, since the threads that wait for
//! files are also those that start and end agents.

use std::ops::ControlFlow;

use super::handle::{Journal, guarded};
use super::retention::blocking;
use super::{ReadError, Recorded, Stream, archive};

/// Archives that are read for one question: some hundred thousand events, and some seconds.
const FILES: usize = 10;

/// Entries that cannot be read and are gone past for one question: each of them was tried.
const UNREADABLE_MAX: u64 = 1_000;

/// Questions that read archives at the same time.
pub(super) const READERS: usize = 2;

/// What a look back came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looked<G> {
    /// What was made of the entries.
    pub gathered: G,
    /// It went back to the beginning of the stream: there are no older entries.
    pub whole: bool,
    /// Entries on the way that are there and cannot be read, and are left out.
    pub unreadable: u64,
}

/// How far back something was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    /// Whoever asked has enough.
    Enough,
    /// The beginning.
    Beginning,
    /// Revision so and so; there may be older entries elsewhere.
    Revision(u64),
}

impl Journal {
    /// Gives the entries of a stream to `take`, the newest first, until that has enough or there are no more; gives back
    /// what `take` has made of `gathered`. Of the archives only the newest are read. An entry that cannot be read is counted
    /// and gone past.
    ///
    /// # Errors
    /// The database or an archive cannot be read.
    pub async fn look_back<G: Send + 'static>(
        &self,
        stream: Stream,
        gathered: G,
        take: impl FnMut(&mut G, Recorded) -> ControlFlow<()> + Send + 'static,
    ) -> Result<Looked<G>, ReadError> {
        if stream == Stream::Audit {
            // What only looks is recorded a little later. A journal that cannot be written can still be read.
            let _ = self.waiting_is_stored().await;
        }
        let reader = self.reader().clone();
        let looking = Looking { gathered, take, unreadable: 0 };
        let (looking, stream, reached) = blocking(move || {
            let mut looking = looking;
            let reached = guarded(|| reader.back(&stream, &mut |recorded| looking.at(recorded)))?;
            Ok::<_, ReadError>((looking, stream, reached))
        })
        .await?;
        let Reached::Revision(end) = reached else { return Ok(looking.looked(reached)) };
        let permit = self.archive_readers().acquire_owned().await;
        let dir = self.reader().archives().clone();
        blocking(move || {
            // Here and not outside: who stops waiting for the answer does not end the reading.
            let _permit = permit;
            let mut looking = looking;
            let reached = archive::back(&dir, &stream, end, FILES, &mut |recorded| looking.at(recorded))?;
            Ok(looking.looked(reached))
        })
        .await
    }

    /// The last `limit` entries of a stream, oldest first; as [`Journal::look_back`].
    ///
    /// # Errors
    /// The database or an archive cannot be read.
    pub async fn latest(&self, stream: Stream, limit: usize) -> Result<Vec<Recorded>, ReadError> {
        let take = move |found: &mut Vec<Recorded>, recorded| {
            found.push(recorded);
            if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let mut found = self.look_back(stream, Vec::new(), take).await?.gathered;
        found.reverse();
        Ok(found)
    }
}

/// A look back on its way.
struct Looking<G, T> {
    gathered: G,
    take: T,
    unreadable: u64,
}

impl<G, T: FnMut(&mut G, Recorded) -> ControlFlow<()>> Looking<G, T> {
    /// The next older entry, if it can be read; whether more are wanted.
    fn at(&mut self, recorded: Option<Recorded>) -> ControlFlow<()> {
        if let Some(recorded) = recorded {
            return (self.take)(&mut self.gathered, recorded);
        }
        self.unreadable += 1;
        if self.unreadable < UNREADABLE_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn looked(self, reached: Reached) -> Looked<G> {
        let Self { gathered, unreadable, .. } = self;
        Looked { gathered, whole: reached == Reached::Beginning, unreadable }
    }
}
