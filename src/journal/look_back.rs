//! Reading a stream backwards from its newest entry, until the caller has enough.
//!
//! The database answers at once. An archive has to be unpacked from its beginning, so that each is read once for all
//! wanted entries; the number of archives per query and of concurrent queries is bounded, because the blocking
//! threads also start and end agents.

use std::ops::ControlFlow;

use super::handle::{Journal, guarded};
use super::retention::blocking;
use super::{ReadError, Recorded, Stream, archive};

/// Maximum number of archives that one query reads: some hundred thousand events, and some seconds.
const FILES: usize = 10;

/// Maximum number of unreadable entries that one query skips: each costs an attempt.
const UNREADABLE_MAX: u64 = 1_000;

/// Maximum number of concurrent queries that read archives.
pub(super) const READERS: usize = 2;

/// The result of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looked<G> {
    /// The value that the query's `take` accumulated from the entries.
    pub gathered: G,
    /// True if the beginning of the stream was reached, so that there are no older entries.
    pub whole: bool,
    /// Number of existing entries that could not be read and were left out.
    pub unreadable: u64,
}

/// The position that reading a stream backwards has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    /// The position at which the caller had enough.
    Enough,
    /// The beginning of the stream.
    Beginning,
    /// This revision; older entries may be in archives.
    Revision(u64),
}

impl Journal {
    /// Passes the entries of a stream to `take`, newest first, until it has enough or there are no more, and returns
    /// the accumulated `gathered`. Only the newest archives are read; unreadable entries are counted and skipped.
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
            // Look-ups are recorded with a delay. A journal that cannot be written can still be read.
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
            // Acquired inside: a caller that stops waiting does not end the read.
            let _permit = permit;
            let mut looking = looking;
            let reached = archive::back(&dir, &stream, end, FILES, &mut |recorded| looking.at(recorded))?;
            Ok(looking.looked(reached))
        })
        .await
    }

    /// Returns the last `limit` entries of a stream, oldest first, like [`Journal::look_back`].
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

/// A query in progress, backwards through a stream.
struct Looking<G, T> {
    gathered: G,
    take: T,
    unreadable: u64,
}

impl<G, T: FnMut(&mut G, Recorded) -> ControlFlow<()>> Looking<G, T> {
    /// Passes the next older entry to the query, or counts it as unreadable if it is `None`. Returns whether more are
    /// wanted.
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
