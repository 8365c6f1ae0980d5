//! Retention: keeps the database small, because a start after a crash reads all of it, and sled's files never shrink.
//!
//! Events beyond the retention go to an archive, oldest first. An event that its stream's state still needs stays
//! until there is a snapshot after it; if that is the only reason, the snapshot is made here, because an idle agent
//! commits none itself. A stream whose state cannot be built holds nothing back: its entries are archived with the
//! others, where a herder that can read them finds them.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::core::agent::Agent;
use crate::core::time::Timestamp;

use super::archive::Origin;
use super::fit::Held;
use super::handle::Journal;
use super::query::Reader;
use super::writer::{ForgetError, Job};
use super::{
    Aggregate, Batch, ExportError, Exported, FleetState, Loaded, MaintainError, NoRoom, ReadError, Snapshot,
    Span, Stream, archive, daily, encoding, fit, notes, refusal, room, store,
};

/// Maximum number of events in one archive file: some tens of megabytes of JSON, so that history reads no more than it must.
const FILE_EVENTS: u64 = 50_000;

/// Maximum number of events that are removed from the database in one group of jobs, so that commits wait for no more
/// than that.
const FORGET_EVENTS: u64 = 1_000;

/// Divisor of the retention: events are archived once the retention is exceeded by this part of it, a fiftieth, so that
/// hourly maintenance does not write a file each hour.
const SLACK: u64 = 50;

/// The result of maintenance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Maintained {
    /// Number of events that were archived.
    pub archived: u64,
    /// Today's export, if it was written now.
    pub exported: Option<Exported>,
    /// The lack of disk space because of which archives or the export were skipped; `None` if none were.
    pub no_room: Option<NoRoom>,
    /// Events that no archive has, or no readable one.
    pub lacks: Vec<Span>,
}

impl Journal {
    /// Runs maintenance: archives events beyond the retention, writes the daily export, checks the disk, restores the
    /// ballast. Steps that would leave less than `warn_free` of the disk are skipped. Call it at a start and about
    /// every hour; overlapping calls do nothing.
    ///
    /// # Errors
    /// Something could not be read or written. Independent steps were done; nothing is lost, and the next call tries
    /// again.
    pub async fn maintain(&self, now: Timestamp) -> Result<Maintained, MaintainError> {
        let Ok(_alone) = self.maintaining().try_lock() else { return Ok(Maintained::default()) };
        self.ask(Job::LookAtDisk).await?;
        let mut done = Maintained::default();
        let archived = self.archive(now, &mut done).await;
        let looked = self.look_for_gaps(&mut done).await;
        let exported = self.export_daily(now, &mut done).await;
        let (settings, paths) = (self.settings().clone(), self.paths().clone());
        let laid = blocking(move || {
            store::lay_ballast(&settings, &paths);
            Ok::<(), ReadError>(())
        });
        if let Err(error) = laid.await {
            tracing::warn!(%error, "cannot see to the ballast beside the database");
        }
        if let (Err(_), Err(second)) = (&archived, &exported) {
            tracing::error!(%second, "the daily export failed as well");
        }
        archived.and(looked).and(exported).map(|()| done)
    }

    /// Looks for events that no archive has, by the names of the files alone; the daily export reads their content.
    async fn look_for_gaps(&self, done: &mut Maintained) -> Result<(), MaintainError> {
        let reader = self.reader().clone();
        done.lacks = blocking(move || {
            let hot = reader.first_seq()?.unwrap_or(reader.durable() + 1);
            let skipped: Vec<Span> = notes::read(reader.trees(), notes::SKIPPED)?;
            Ok::<_, ReadError>(notes::without(archive::gaps(reader.archives(), hot)?, &skipped))
        })
        .await?;
        Ok(())
    }

    async fn export_daily(&self, now: Timestamp, done: &mut Maintained) -> Result<(), MaintainError> {
        if self.settings().history.daily_export {
            match daily::write(self, now).await {
                Ok(Some(exported)) => {
                    if !exported.lacks.is_empty() {
                        done.lacks.clone_from(&exported.lacks);
                    }
                    done.exported = Some(exported);
                }
                Ok(None) => {}
                Err(ExportError::NoRoom(short)) => done.no_room = Some(short),
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(place) = self.settings().history.export_copy.clone() {
            let paths = self.paths().clone();
            blocking(move || daily::copy(&paths, &place)).await?;
        }
        Ok(())
    }

    async fn archive(&self, now: Timestamp, done: &mut Maintained) -> Result<(), MaintainError> {
        self.finish_forgetting().await?;
        let (reader, history) = (self.reader().clone(), self.settings().history.clone());
        let Some(mut cut) = blocking(move || due(&reader, &history, now)).await? else { return Ok(()) };
        let held = blocking({
            let reader = self.reader().clone();
            move || held_back(&reader, cut)
        })
        .await?;
        let mut beyond = HashSet::new();
        for stream in held {
            let (journal, of) = (self.clone(), stream.clone());
            let snapshot = blocking(move || snapshot(&journal, &of)).await;
            match snapshot {
                Ok(snapshot) => {
                    self.commit(Batch { at: now, snapshots: vec![snapshot], ..Batch::default() }).await?;
                }
                Err(error) => {
                    tracing::warn!(%stream, %error, "old events are archived without a snapshot after them");
                    beyond.insert(stream);
                }
            }
        }
        let reader = self.reader().clone();
        let needed = blocking(move || oldest_needed(&reader, &beyond)).await?;
        cut = needed.map_or(cut, |seq| cut.min(seq - 1));
        while let Some(first) = self.first_seq().await?.filter(|first| *first <= cut) {
            let reader = self.reader().clone();
            let skipped =
                blocking(move || Ok::<Vec<Span>, ReadError>(notes::read(reader.trees(), notes::SKIPPED)?));
            // No archive spans skipped numbers: such an archive would belong to another history.
            let end =
                skipped.await?.iter().filter(|span| span.first > first).map(|span| span.first - 1).min();
            let last = cut.min(first + FILE_EVENTS - 1).min(end.unwrap_or(u64::MAX));
            let (paths, keep_free) = (self.paths().clone(), self.settings().history.warn_free);
            let room = move || {
                let free = room::free(&paths.dir);
                Ok::<_, ReadError>(room::to_go(&[], room::of_archive(&paths), free, keep_free))
            };
            if let Err(short) = blocking(room).await? {
                done.no_room = Some(short);
                break;
            }
            let reader = self.reader().clone();
            let origin = Origin { journal: self.id().to_owned(), version: self.settings().version.clone() };
            let written = blocking(move || write_archive(&reader, first, last, &origin)).await?;
            done.archived += written.last - written.first + 1;
            self.forget(written.last).await?;
        }
        Ok(())
    }

    /// Completes an archiving whose file was finished just before herder was killed: removes the events from the
    /// database after comparing them word for word.
    async fn finish_forgetting(&self) -> Result<(), MaintainError> {
        while let Some(first) = self.first_seq().await? {
            let reader = self.reader().clone();
            let held = blocking(move || {
                let archives = archive::list(reader.archives())?;
                let Some(it) = archives.into_iter().find(|it| it.first <= first && first <= it.last) else {
                    return Ok(None);
                };
                match fit::held(&reader, &it, first)? {
                    Held::All => Ok(Some(it.last)),
                    Held::Unknown(reason) => Err(reason),
                    Held::Others => {
                        let why = "it is of another history than the database; the next start sets it aside";
                        Err(ReadError::Archive { file: it.path, why: why.to_owned() })
                    }
                }
            });
            let Some(last) = held.await? else { return Ok(()) };
            self.forget(last).await?;
        }
        Ok(())
    }

    async fn first_seq(&self) -> Result<Option<u64>, ReadError> {
        let reader = self.reader().clone();
        blocking(move || reader.first_seq()).await
    }

    /// Removes the events up to and including number `last` from the database, in portions.
    async fn forget(&self, last: u64) -> Result<(), MaintainError> {
        while let Some(first) = self.first_seq().await?.filter(|first| *first <= last) {
            let upto = last.min(first + FORGET_EVENTS - 1);
            self.ask(|done| Job::Forget(upto, done)).await?.map_err(|error| match error {
                ForgetError::Read(error) => MaintainError::Read(error),
                ForgetError::Commit(error) => MaintainError::Commit(error),
            })?;
        }
        Ok(())
    }
}

/// Runs blocking work on files and trees on a thread for such work. A panic of sled, which some damage causes, becomes
/// an error.
pub(super) async fn blocking<T: Send + 'static, E: From<ReadError> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(failed) => Err(match failed.try_into_panic() {
            Ok(panic) => ReadError::Damaged(refusal::panic_text(&*panic)).into(),
            // The runtime shuts down.
            Err(_) => ReadError::Closed.into(),
        }),
    }
}

/// Returns the number of the last event beyond the retention; `None` if there are too few to archive.
fn due(reader: &Reader, history: &super::History, now: Timestamp) -> Result<Option<u64>, ReadError> {
    let (Some(first), last) = (reader.first_seq()?, reader.durable()) else { return Ok(None) };
    let count = (last + 1).saturating_sub(first);
    let surplus = count.saturating_sub(history.keep_events);
    if surplus > history.keep_events / SLACK {
        return Ok(Some(first + surplus - 1));
    }
    let limit = now.before(history.keep);
    let slack = history.keep / u32::try_from(SLACK).unwrap_or(u32::MAX);
    let mut cut = None;
    reader.each_text(first, last, &mut |seq, text| {
        // An event with an unreadable time is archived with its neighbours.
        let Ok(head) = encoding::event_head(text.as_bytes()) else { return ControlFlow::Continue(()) };
        if head.at >= if cut.is_none() { limit.before(slack) } else { limit } {
            return ControlFlow::Break(());
        }
        cut = Some(seq);
        ControlFlow::Continue(())
    })?;
    Ok(cut)
}

/// Returns the streams whose state cannot be built without events up to number `cut`.
fn held_back(reader: &Reader, cut: u64) -> Result<HashSet<Stream>, ReadError> {
    let mut held = HashSet::new();
    for (stream, seq) in tails(reader)? {
        if seq <= cut {
            held.insert(stream);
        }
    }
    Ok(held)
}

/// Returns the number of the oldest event that a stream's state needs beside its snapshot, leaving out the streams in
/// `beyond`.
fn oldest_needed(reader: &Reader, beyond: &HashSet<Stream>) -> Result<Option<u64>, ReadError> {
    let needed = tails(reader)?.into_iter().filter(|(stream, _)| !beyond.contains(stream));
    Ok(needed.map(|(_, seq)| seq).min())
}

/// Returns for each stream with a state the number of the first event after its snapshot.
fn tails(reader: &Reader) -> Result<Vec<(Stream, u64)>, ReadError> {
    let mut tails = Vec::new();
    for (stream, head) in reader.heads()? {
        match stream {
            Stream::Audit => {}
            Stream::Fleet | Stream::Agent(_) => {
                let first = reader.seq_from(&stream, head.snapshot + 1)?;
                tails.extend(first.map(|seq| (stream, seq)));
            }
        }
    }
    Ok(tails)
}

fn snapshot(journal: &Journal, stream: &Stream) -> Result<Snapshot, ReadError> {
    match stream {
        Stream::Fleet => state(stream, &journal.load::<FleetState>(stream)?),
        // A snapshot must not hide lost entries of an agent.
        Stream::Agent(_) | Stream::Audit => state(stream, &journal.load_whole::<Agent>(stream)?),
    }
}

fn state<S: Aggregate>(stream: &Stream, loaded: &Loaded<S>) -> Result<Snapshot, ReadError> {
    let state = serde_json::to_vec(&loaded.state).map_err(|error| ReadError::Decode {
        what: format!("the state of {stream}"),
        source: super::encoding::DecodeError::Malformed(error.to_string()),
    })?;
    Ok(Snapshot { stream: stream.clone(), rev: loaded.rev, state })
}

/// Writes an archive of the events from `first` to `last`.
pub(super) fn write_archive(
    reader: &Reader,
    first: u64,
    last: u64,
    origin: &Origin,
) -> Result<archive::Archive, ReadError> {
    let failed =
        |why: std::io::Error| ReadError::Archive { file: reader.archives().clone(), why: why.to_string() };
    let mut file = archive::Writing::new(reader.archives(), first, origin).map_err(failed)?;
    let mut error = None;
    reader.each_text(first, last, &mut |seq, text| match file.add(seq, text) {
        Ok(()) => ControlFlow::Continue(()),
        Err(why) => {
            error = Some(why);
            ControlFlow::Break(())
        }
    })?;
    match error {
        Some(why) => Err(failed(why)),
        None => file.finish(),
    }
}
