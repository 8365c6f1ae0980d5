//! Reading backwards from a place in the journal, over one stream or over all, a bounded piece at a time.

use std::ops::ControlFlow;

use super::handle::{Journal, guarded};
use super::retention::blocking;
use super::{ReadError, Recorded, Stream, archive};

/// Limits of one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Maximum number of entries that are looked at.
    pub entries: usize,
    /// Maximum number of archives that are unpacked, each of 50,000 events at most.
    pub files: usize,
}

/// The result of reading a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<G> {
    /// The value that the query's `take` accumulated from the entries.
    pub gathered: G,
    /// The place before which the next piece goes on; `None` if there is nothing older.
    pub next: Option<u64>,
    /// Number of existing entries that could not be read and were left out.
    pub unreadable: u64,
}

/// The end of reading a part of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// The caller has enough, or a limit is reached; older entries are before this number.
    Enough(u64),
    /// All of this part was read; older entries are before this number.
    Read(u64),
}

/// A query in progress.
pub(super) struct Back<'a> {
    pub(super) stream: Option<&'a Stream>,
    pub(super) before: u64,
    /// Number of entries that may still be looked at.
    pub(super) entries: usize,
    pub(super) unreadable: u64,
    pub(super) is_at_the_beginning: bool,
    pub(super) take: &'a mut dyn FnMut(Recorded) -> ControlFlow<()>,
}

impl<'a> Back<'a> {
    fn new(
        stream: Option<&'a Stream>,
        before: u64,
        entries: usize,
        take: &'a mut dyn FnMut(Recorded) -> ControlFlow<()>,
    ) -> Self {
        Self { stream, before, entries, unreadable: 0, is_at_the_beginning: false, take }
    }

    /// Passes the entry with this number to the query; `None`: it cannot be read. Returns whether more are wanted.
    pub(super) fn at(&mut self, seq: u64, recorded: Option<Recorded>) -> ControlFlow<()> {
        self.before = seq;
        self.entries = self.entries.saturating_sub(1);
        // Revisions of a stream begin with 1, numbers of the journal too.
        let is_first = seq <= 1 || self.stream.is_some() && recorded.as_ref().is_some_and(|it| it.rev <= 1);
        self.is_at_the_beginning |= is_first;
        let flow = match recorded {
            Some(recorded) => (self.take)(recorded),
            None => {
                self.unreadable += 1;
                ControlFlow::Continue(())
            }
        };
        if is_first || self.entries == 0 { ControlFlow::Break(()) } else { flow }
    }
}

impl Journal {
    /// Passes entries with numbers below `before` to `take`, newest first, until it has enough, a limit of `reach` is
    /// met or there are no more; `stream`: of that one alone. Archives are read after the database.
    ///
    /// # Errors
    /// The database or the folder of archives cannot be read.
    pub async fn look_back_from<G: Send + 'static>(
        &self,
        (stream, before): (Option<Stream>, u64),
        reach: Reach,
        gathered: G,
        take: impl FnMut(&mut G, Recorded) -> ControlFlow<()> + Send + 'static,
    ) -> Result<Piece<G>, ReadError> {
        if stream == Some(Stream::Audit) && before == u64::MAX {
            // Look-ups are recorded with a delay. A journal that cannot be written can still be read.
            let _ = self.waiting_is_stored().await;
        }
        let (mut take, mut gathered) = (take, gathered);
        let reader = self.reader().clone();
        let database = blocking(move || {
            let mut give = |recorded| take(&mut gathered, recorded);
            let mut back = Back::new(stream.as_ref(), before, reach.entries, &mut give);
            let left = guarded(|| reader.back_from(&mut back))?;
            let (entries, unreadable) = (back.entries, back.unreadable);
            let left = Some(left).filter(|_| !back.is_at_the_beginning);
            Ok::<_, ReadError>((left, entries, Piece { gathered, next: None, unreadable }, take, stream))
        });
        let (left, entries, piece, mut take, stream) = database.await?;
        let before = match left {
            Some(Left::Enough(next)) => return Ok(Piece { next: Some(next), ..piece }),
            Some(Left::Read(before)) if before > 1 => before,
            Some(Left::Read(_)) | None => return Ok(piece),
        };
        if reach.files == 0 {
            return Ok(Piece { next: Some(before), ..piece });
        }
        let permit = self.archive_readers().acquire_owned().await;
        let dir = self.reader().archives().clone();
        blocking(move || {
            // Acquired inside: a caller that stops waiting does not end the read.
            let _permit = permit;
            let Piece { mut gathered, unreadable, .. } = piece;
            let mut give = |recorded| take(&mut gathered, recorded);
            let mut back = Back::new(stream.as_ref(), before, entries, &mut give);
            let next = archive::back_from(&dir, reach.files, &mut back)?;
            let next = next.filter(|_| !back.is_at_the_beginning);
            let unreadable = unreadable + back.unreadable;
            Ok(Piece { gathered, next, unreadable })
        })
        .await
    }
}
