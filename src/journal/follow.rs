//! Follows the whole journal in the order of its event numbers: through archives, through the database, and then as it
//! grows.
//!
//! A [`Follower`] reads only when asked and holds nothing but its position, so that a slow reader delays no one, and
//! one that waits for more sleeps until a commit. A number without an event, or without a readable one, is reported as
//! missing ([`Followed::Gap`]), so that a reader who counts notices it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use tokio::sync::watch;

use super::archive::{self, Archive, Lines};
use super::handle::{Journal, guarded};
use super::query::{self, Reader};
use super::retention::blocking;
use super::{ReadError, Recorded, Span, Stream, encoding};

/// Maximum number of entries that are examined for one page: some ten milliseconds.
const LOOKED_AT_MAX: usize = 4_000;

/// Maximum length of the text of one page's entries, in bytes; the last entry may exceed it.
const HELD_MAX: usize = 1024 * 1024;

/// One step of a reader through the journal: an entry, or a gap.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed {
    /// A recorded entry.
    Event(Box<Recorded>),
    /// A range of numbers under which there is no entry, or none that can be read.
    Gap(Span),
}

/// Some steps of a reader through the journal, in the order of their numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// The selected entries, and the gaps.
    pub steps: Vec<Followed>,
    /// Number up to which everything has been examined.
    pub upto: u64,
    /// True if there is nothing more on disk for now.
    pub is_end: bool,
}

/// Selection of entries; the others are skipped without being decoded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// The streams whose entries are selected; `None` for all.
    pub streams: Option<BTreeSet<Stream>>,
    /// The kinds of entries that are selected, as in [`encoding::kinds`]; `None` for all.
    pub kinds: Option<BTreeSet<String>>,
}

impl Filter {
    fn takes(&self, text: &str) -> bool {
        if self.streams.is_none() && self.kinds.is_none() {
            return true;
        }
        encoding::labels(text.as_bytes()).is_ok_and(|encoding::Labels { stream, kind }| {
            self.streams.as_ref().is_none_or(|streams| streams.contains(&stream))
                && self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
        })
    }
}

/// A reader that follows the journal from a given number, through archives and database, and then as it grows.
#[derive(Debug)]
pub struct Follower {
    journal: Journal,
    way: Way,
    grown: watch::Receiver<()>,
}

/// Position of a follower, and its filter.
struct Way {
    next: u64,
    filter: Arc<Filter>,
    /// The archive that is being read, and its remaining lines.
    open: Option<(Archive, Lines)>,
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Way").field("next", &self.next).finish_non_exhaustive()
    }
}

impl Journal {
    /// Returns the number of the last entry that is on disk.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.reader().durable()
    }

    /// Returns a receiver that is notified when entries have reached the disk.
    #[must_use]
    pub fn grown(&self) -> watch::Receiver<()> {
        self.shown().grown.subscribe()
    }

    /// Returns a reader of all entries after the number `after` that `filter` selects.
    #[must_use]
    pub fn follow(&self, after: u64, filter: Filter) -> Follower {
        let way = Way { next: after.saturating_add(1), filter: Arc::new(filter), open: None };
        Follower { journal: self.clone(), way, grown: self.grown() }
    }
}

impl Follower {
    /// Waits until the journal has more than was read. Returns `false` if the journal is closed.
    pub async fn grows(&mut self) -> bool {
        while self.journal.end() < self.way.next {
            if self.grown.changed().await.is_err() {
                return false;
            }
        }
        true
    }

    /// Returns the next steps, at most `limit`. There may be none although more follow, because only so many entries
    /// are examined at a time.
    ///
    /// # Errors
    /// The database or the folder of the archives cannot be read.
    pub async fn page(&mut self, limit: usize) -> Result<Page, ReadError> {
        // Events before this look need not wake anybody.
        self.grown.borrow_and_update();
        let reader = self.journal.reader().clone();
        let mut way =
            Way { next: self.way.next, filter: Arc::clone(&self.way.filter), open: self.way.open.take() };
        let is_archived = way.open.is_some() || self.journal.guarded(|| way.is_archived(&reader))?;
        let permit =
            if is_archived { self.journal.archive_readers().acquire_owned().await.ok() } else { None };
        let (way, page) = blocking(move || {
            // Here and not outside: who stops waiting does not end the reading.
            let _permit = permit;
            let page = guarded(|| way.page(&reader, limit));
            page.map(|page| (way, page))
        })
        .await
        .map_err(|error| self.journal.advised(error))?;
        self.way = way;
        Ok(page)
    }
}

/// A page while it is collected, with its limits.
struct Gathering {
    page: Page,
    limit: usize,
    looked_at: usize,
    held: usize,
}

impl Gathering {
    fn is_full(&self) -> bool {
        self.page.steps.len() >= self.limit || self.looked_at >= LOOKED_AT_MAX || self.held >= HELD_MAX
    }

    fn gap(&mut self, first: u64, last: u64) {
        if first > last {
            return;
        }
        if let Some(Followed::Gap(span)) = self.page.steps.last_mut()
            && span.last + 1 == first
        {
            span.last = last;
        } else {
            self.page.steps.push(Followed::Gap(Span { first, last }));
        }
    }
}

impl Way {
    fn is_archived(&self, reader: &Reader) -> Result<bool, ReadError> {
        Ok(self.next <= reader.durable() && reader.first_seq()?.is_none_or(|first| self.next < first))
    }

    fn page(&mut self, reader: &Reader, limit: usize) -> Result<Page, ReadError> {
        let durable = reader.durable();
        let mut gathering = Gathering { page: Page::default(), limit, looked_at: 0, held: 0 };
        while self.next <= durable && !gathering.is_full() {
            if self.is_archived(reader)? {
                let hot = reader.first_seq()?.unwrap_or(durable + 1);
                self.out_of_archives(reader, hot.min(durable + 1), &mut gathering)?;
            } else {
                self.open = None;
                self.out_of_the_database(reader, durable, &mut gathering)?;
            }
        }
        let mut page = gathering.page;
        (page.upto, page.is_end) = (self.next - 1, self.next > durable);
        Ok(page)
    }

    /// Adds the entry with the number `seq` to the page, or skips it if the filter does.
    fn take(&mut self, seq: u64, text: &str, gathering: &mut Gathering) {
        gathering.gap(self.next, seq.saturating_sub(1));
        self.next = seq + 1;
        gathering.looked_at += 1;
        if !self.filter.takes(text) {
            return;
        }
        match query::decode_event(seq, text.as_bytes()) {
            Ok(recorded) => {
                gathering.held += text.len();
                gathering.page.steps.push(Followed::Event(Box::new(recorded)));
            }
            Err(reason) => {
                tracing::warn!(%reason, "an entry of the journal is left out");
                gathering.gap(seq, seq);
            }
        }
    }

    fn out_of_the_database(
        &mut self,
        reader: &Reader,
        durable: u64,
        gathering: &mut Gathering,
    ) -> Result<(), ReadError> {
        let mut moved = false;
        reader.each_text(self.next, durable, &mut |seq, text| {
            // Retention moves the oldest ones; the archives have them then.
            if seq > self.next && self.is_archived(reader).unwrap_or(true) {
                moved = true;
                return ControlFlow::Break(());
            }
            self.take(seq, text, gathering);
            if gathering.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if !moved && !gathering.is_full() && self.next <= durable && !self.is_archived(reader)? {
            gathering.gap(self.next, durable);
            self.next = durable + 1;
        }
        Ok(())
    }

    /// Reads from the archive that has the next number, up to the number `hot`, from which on the database has the
    /// entries.
    fn out_of_archives(
        &mut self,
        reader: &Reader,
        hot: u64,
        gathering: &mut Gathering,
    ) -> Result<(), ReadError> {
        let has = |archive: &Archive, next: u64| archive.first <= next && next <= archive.last;
        if self.open.as_ref().is_none_or(|(archive, _)| !has(archive, self.next)) {
            self.open = None;
            let archives = archive::list(reader.archives())?;
            let Some(archive) = archives.into_iter().find(|archive| archive.last >= self.next) else {
                gathering.gap(self.next, hot - 1);
                self.next = hot;
                return Ok(());
            };
            if archive.first > self.next {
                let last = (archive.first - 1).min(hot - 1);
                gathering.gap(self.next, last);
                self.next = last + 1;
                return Ok(());
            }
            match Lines::open(&archive.path) {
                Ok(lines) => self.open = Some((archive, lines)),
                Err(reason) => {
                    tracing::warn!(%reason, "an archive cannot be read");
                    let last = archive.last.min(hot - 1);
                    gathering.gap(self.next, last);
                    self.next = last + 1;
                    return Ok(());
                }
            }
        }
        let Some((archive, mut lines)) = self.open.take() else { return Ok(()) };
        while self.next < hot && !gathering.is_full() {
            match lines.next() {
                Some(Ok((seq, _))) if seq < self.next => {}
                Some(Ok((seq, _))) if seq >= hot || seq > archive.last => {
                    let last = archive.last.min(hot - 1);
                    gathering.gap(self.next, last);
                    self.next = last + 1;
                    return Ok(());
                }
                Some(Ok((seq, text))) => self.take(seq, text, gathering),
                Some(Err(reason)) => tracing::warn!(%reason, "a line of an archive is left out"),
                None => {
                    let last = archive.last.min(hot - 1);
                    gathering.gap(self.next, last);
                    self.next = self.next.max(last + 1);
                    return Ok(());
                }
            }
        }
        if self.next < hot && self.next <= archive.last {
            self.open = Some((archive, lines));
        }
        Ok(())
    }
}
