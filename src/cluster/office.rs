//! The bot's part in the office: it follows the log, claims the office once nobody writes any more, and renews it.
//!
//! [`crate::core::office`] decides; the clock is that of the machine since its start, time asleep included.

mod error;

use std::fmt;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::Client;
use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::copies::{Copies, StoredCopy};
use super::log::{Attempt, LogError, LogStream};
use crate::clock;
use crate::core::office::{Office, Seat, Terms};
use crate::journal::shared::{self, AppendError, Built, Chain, Log, Replica, ReplicaError};
use crate::journal::{self, Journal};

pub use error::OfficeError;

/// Interval at which a bot that waits asks where the log ends.
const LOOK: Duration = Duration::from_millis(100);

/// Maximum time to wait for an answer of the log before the same is sent again.
const PATIENCE: Duration = Duration::from_millis(500);

/// Pause before an attempt is repeated.
const PAUSE: Duration = Duration::from_millis(50);

/// Interval at which a bot that follows syncs its database.
const SYNC: Duration = Duration::from_secs(1);

/// Maximum number of records that are applied at once.
const APPLY_MAX: usize = 256;

/// Name of a fetched copy in the data folder, while it is imported.
const COPY: &str = "copy.jsonl.gz";

/// Time for which the log may end before a record that it had acknowledged: a new leader of the stream needs a moment.
const LOST: Duration = Duration::from_secs(10);

/// Interval at which the bot in office looks whether the log's leader is on another machine.
const APART: Duration = Duration::from_secs(10);

/// Interval of looks for a copy of the journal, and for servers that do not answer yet.
const AGAIN: Duration = Duration::from_secs(2);

/// The servers that have the log.
#[derive(Debug, Clone)]
pub struct Servers {
    /// A connection of the bot.
    pub client: Client,
    /// Name of the bot in subjects.
    pub bot: String,
    /// Number of servers that have each record.
    pub replicas: usize,
}

impl Servers {
    /// Opens the log. One that a journal has records of must be there.
    async fn log(&self, is_new: bool) -> Result<LogStream, LogError> {
        match is_new {
            true => LogStream::open(&self.client, &self.bot, self.replicas).await,
            false => LogStream::open_existing(&self.client, &self.bot, self.replicas).await,
        }
    }
}

/// A bot among those that share a log.
#[derive(Debug, Clone)]
pub struct Member {
    /// Name for people: that of its machine.
    pub name: String,
    /// Text that is drawn anew at each start.
    pub incarnation: String,
    /// Durations of the office.
    pub terms: Terms,
}

/// The office as several tasks see it. Cheap to clone.
#[derive(Clone)]
pub struct Shared(Arc<Inner>);

struct Inner {
    office: Mutex<Office>,
    seat: watch::Sender<Seat>,
    /// Time at which the last accepted attempt began, since the machine's start.
    wrote: Mutex<Duration>,
    terms: Terms,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(&*self.0.seat.borrow()).finish()
    }
}

impl Shared {
    fn new(terms: Terms) -> Self {
        let office = Office::new(terms);
        let seat = watch::Sender::new(office.seat());
        Self(Arc::new(Inner { office: Mutex::new(office), seat, wrote: Mutex::default(), terms }))
    }

    /// Returns a watch on the bot's part.
    #[must_use]
    pub fn seat(&self) -> watch::Receiver<Seat> {
        self.0.seat.subscribe()
    }

    /// Changes the office, and tells those who watch.
    fn change<T>(&self, change: impl FnOnce(&mut Office) -> T) -> T {
        let mut office = self.office();
        let changed = change(&mut office);
        let seat = office.seat();
        self.0.seat.send_if_modified(|shown| std::mem::replace(shown, seat) != seat);
        changed
    }

    fn office(&self) -> MutexGuard<'_, Office> {
        self.0.office.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accepted(&self, began: Duration) {
        *self.0.wrote.lock().unwrap_or_else(PoisonError::into_inner) = began;
        self.change(|office| office.accepted(began, clock::since_boot()));
    }

    fn since_written(&self) -> Duration {
        let wrote = *self.0.wrote.lock().unwrap_or_else(PoisonError::into_inner);
        clock::since_boot().saturating_sub(wrote)
    }
}

/// A bot that has come into office.
pub struct Term {
    /// The journal up to the record with which the office began.
    pub replica: Replica,
    /// The chain that it writes.
    pub chain: Chain,
    /// The log, for the journal.
    pub log: Box<dyn Log>,
    /// The office.
    pub office: Shared,
    /// The stream with the log.
    pub stream: LogStream,
    /// Cancelled when this bot does not wait for the log any more, because it ends.
    pub given_up: CancellationToken,
}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Term").field("office", &self.office).finish_non_exhaustive()
    }
}

/// Follows the log until this bot is in office; `None` if `shutdown` is cancelled before.
///
/// # Errors
/// The journal or the log cannot be used, or they contradict one another.
pub async fn follow(
    servers: &Servers,
    settings: &journal::Settings,
    member: &Member,
    shutdown: &CancellationToken,
) -> Result<Option<Term>, OfficeError> {
    let mut is_told = false;
    loop {
        let following = Following::begin(servers, settings, member);
        let Some(begun) = shutdown.run_until_cancelled(following).await else { return Ok(None) };
        match begun {
            Ok(following) => return following.run(shutdown).await,
            // The servers may be started after the bots.
            Err(reason) if reason.is_passing() => {
                if !std::mem::replace(&mut is_told, true) {
                    warn!(%reason, "the log cannot be read yet; trying again");
                }
                shutdown.run_until_cancelled(tokio::time::sleep(AGAIN)).await;
            }
            Err(reason) => return Err(reason),
        }
    }
}

struct Following {
    stream: LogStream,
    member: Member,
    shared: Shared,
    /// The journal; `None` only while a record is applied.
    replica: Option<Replica>,
    is_resigned: bool,
}

impl Following {
    async fn begin(
        servers: &Servers,
        settings: &journal::Settings,
        member: &Member,
    ) -> Result<Self, OfficeError> {
        if Replica::is_empty(&settings.dir) {
            take_copy(servers, settings).await?;
        }
        let opened = settings.clone();
        let replica = blocking(move || Replica::open(&opened)).await?;
        let stream = servers.log(replica.position().seq == 0).await?;
        check(&stream, &replica, settings).await?;
        info!(record = replica.position().seq, "following the log");
        Ok(Self {
            stream,
            member: member.clone(),
            shared: Shared::new(member.terms),
            replica: Some(replica),
            is_resigned: false,
        })
    }

    async fn run(mut self, shutdown: &CancellationToken) -> Result<Option<Term>, OfficeError> {
        let mut records = self.stream.follow(self.position() + 1);
        let mut look = tokio::time::interval(LOOK);
        let mut sync = tokio::time::interval(SYNC);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        sync.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let stream = self.stream.clone();
        loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(None),
                _ = sync.tick() => self.with(Replica::sync).await?,
                record = records.next() => {
                    let mut batch = vec![record?];
                    while batch.len() < APPLY_MAX && let Some(record) = records.next().now_or_never() {
                        batch.push(record?);
                    }
                    self.apply(batch).await?;
                }
                _ = look.tick() => {
                    let asked = clock::since_boot();
                    // Records that come meanwhile are applied before the next look.
                    let Ok(Ok(end)) = tokio::time::timeout(PATIENCE, stream.end()).await else { continue };
                    let (position, is_resigned) = (self.position(), self.is_resigned);
                    let claims = self.shared.change(|office| {
                        office.copied(position, is_resigned);
                        office.looked(asked, clock::since_boot(), end.last)
                    });
                    if claims && let Some(chain) = self.claim(shutdown).await? {
                        return Ok(self.term(chain));
                    }
                }
            }
        }
    }

    fn position(&self) -> u64 {
        self.replica.as_ref().map_or(0, |replica| replica.position().seq)
    }

    /// Works on the journal on a thread for such work.
    async fn with<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Replica) -> Result<T, ReplicaError> + Send + 'static,
    ) -> Result<T, OfficeError> {
        let mut replica = self.replica.take().expect("the journal is here between two works");
        let (replica, done) = tokio::task::spawn_blocking(move || {
            let done = work(&mut replica);
            (replica, done)
        })
        .await?;
        self.replica = Some(replica);
        Ok(done?)
    }

    async fn apply(&mut self, batch: Vec<(u64, Vec<u8>)>) -> Result<(), OfficeError> {
        let applied = self.with(move |replica| {
            batch.iter().map(|(seq, bytes)| replica.apply(*seq, bytes)).collect::<Result<Vec<_>, _>>()
        });
        for record in applied.await? {
            if record.is_epoch {
                info!(bot = record.by, "another bot is in office");
            }
            self.is_resigned = record.is_resignation;
        }
        Ok(())
    }

    /// Claims the office. Returns the chain if it was accepted.
    async fn claim(&mut self, shutdown: &CancellationToken) -> Result<Option<Chain>, OfficeError> {
        let Member { name, incarnation, .. } = self.member.clone();
        let claim = self.with(move |replica| replica.claim(&name, &incarnation, clock::now()));
        let (mut chain, built) = claim.await?;
        info!(record = built.behind, "nobody is in office; claiming it");
        match append(&self.stream, &self.shared, &built, shutdown).await {
            Ok(seq) => {
                chain.appended(&built, seq);
                Ok(Some(chain))
            }
            Err(AppendError::Deposed) => {
                info!("another bot was faster; following it");
                Ok(None)
            }
            Err(AppendError::GivenUp) => Ok(None),
            Err(AppendError::Lost { last }) => Err(OfficeError::Ahead { last, own: built.behind }),
        }
    }

    fn term(self, chain: Chain) -> Option<Term> {
        info!(epoch = chain.position().epoch, "in office");
        let given_up = CancellationToken::new();
        let log = Writing {
            stream: self.stream.clone(),
            shared: self.shared.clone(),
            given_up: given_up.clone(),
            runtime: Handle::current(),
        };
        Some(Term {
            replica: self.replica?,
            chain,
            log: Box::new(log),
            office: self.shared,
            stream: self.stream,
            given_up,
        })
    }
}

/// Makes the journal of an empty folder from a copy, unless the log has everything from its first record on.
async fn take_copy(servers: &Servers, settings: &journal::Settings) -> Result<(), OfficeError> {
    let stream = servers.log(true).await?;
    let copies = Copies::open(&servers.client, &servers.bot, servers.replicas).await?;
    let mut is_told = false;
    loop {
        let end = stream.end().await?;
        if end.last == 0 {
            return Ok(());
        }
        let first = stream.read(end.first).await?;
        if end.first == 1 && first.is_some_and(|first| Replica::is_whole_from(&first)) {
            return Ok(());
        }
        if let Some(copy) = copies.newest().await?.filter(|copy| copy.seq + 1 >= end.first) {
            return import(&copies, &copy, settings).await;
        }
        if !std::mem::replace(&mut is_told, true) {
            info!("waiting for a copy of the journal, which the bot in office makes");
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn import(copies: &Copies, copy: &StoredCopy, settings: &journal::Settings) -> Result<(), OfficeError> {
    info!(record = copy.seq, "taking a copy of the journal");
    let disk = |reason| OfficeError::Disk { folder: settings.dir.display().to_string(), reason };
    let path = settings.dir.join(COPY);
    let (dir, file) = (settings.dir.clone(), path.clone());
    let made = tokio::task::spawn_blocking(move || {
        shared::make_folder(&dir)?;
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)
    });
    let mut file = tokio::fs::File::from_std(made.await?.map_err(disk)?);
    copies.fetch(copy, &mut file).await?;
    drop(file);
    let (settings, fetched) = (settings.clone(), path.clone());
    blocking(move || Replica::import(&settings, &fetched)).await?;
    // The next copy takes its place if it stays.
    let _ = tokio::fs::remove_file(path).await;
    Ok(())
}

/// Compares the journal with the log, as far as both have the same record.
async fn check(
    stream: &LogStream,
    replica: &Replica,
    settings: &journal::Settings,
) -> Result<(), OfficeError> {
    let own = replica.position();
    let end = stream.end().await?;
    if own.seq == 0 {
        if replica.journal().is_none() || end.last == 0 {
            return Ok(());
        }
        let first = stream.read(1).await?;
        let has_begun = first.map(|first| replica.has_begun(&first)).transpose()?;
        return if has_begun == Some(true) { Ok(()) } else { Err(OfficeError::Stranger) };
    }
    if own.seq > end.last {
        return Err(OfficeError::Ahead { last: end.last, own: own.seq });
    }
    match stream.read(own.seq).await? {
        Some(bytes) if shared::hash_of(&bytes) == own.hash => Ok(()),
        Some(_) => Err(OfficeError::OtherPast { seq: own.seq }),
        None if own.seq + 1 >= end.first => Ok(()),
        None => Err(OfficeError::Behind {
            first: end.first,
            own: own.seq,
            folder: settings.dir.display().to_string(),
        }),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ReplicaError> + Send + 'static,
) -> Result<T, OfficeError> {
    Ok(tokio::task::spawn_blocking(work).await??)
}

/// The log for the journal's writer, a thread of its own.
struct Writing {
    stream: LogStream,
    shared: Shared,
    given_up: CancellationToken,
    runtime: Handle,
}

impl Log for Writing {
    fn append(&mut self, id: &str, record: &[u8], behind: u64) -> Result<u64, AppendError> {
        let built = Built::again(id, record, behind);
        self.runtime.block_on(append(&self.stream, &self.shared, &built, &self.given_up))
    }
}

/// Appends a record, and repeats the same until it is known whether the log has it.
async fn append(
    stream: &LogStream,
    shared: &Shared,
    built: &Built,
    given_up: &CancellationToken,
) -> Result<u64, AppendError> {
    let (first, wanted) = (clock::since_boot(), built.behind + 1);
    let mut lost: Option<Instant> = None;
    let mut is_told = false;
    loop {
        let began = clock::since_boot();
        let attempt = stream.attempt(&built.id, &built.bytes, built.behind, PATIENCE);
        let Some(attempt) = given_up.run_until_cancelled(attempt).await else {
            return Err(AppendError::GivenUp);
        };
        let since = match attempt {
            Attempt::Stored(seq) if seq == wanted => Some(began),
            // An earlier attempt stored it, long ago perhaps.
            Attempt::Duplicate(seq) if seq == wanted => Some(first),
            Attempt::Stored(_) | Attempt::Duplicate(_) => None,
            // One server says so of a repeated record as well, and an empty place may be filled yet.
            Attempt::Behind => match stream.read(wanted).await {
                Ok(Some(bytes)) if bytes == built.bytes => Some(first),
                Ok(Some(_)) => None,
                Ok(None) | Err(_) => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            },
            Attempt::Short(last) => {
                if lost.get_or_insert_with(Instant::now).elapsed() >= LOST {
                    return Err(AppendError::Lost { last });
                }
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            Attempt::Unknown(reason) | Attempt::Refused(reason) => {
                if !std::mem::replace(&mut is_told, true) {
                    warn!(reason, "the log has not taken a record yet; trying again");
                }
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Some(since) = since else {
            shared.change(Office::refused);
            return Err(AppendError::Deposed);
        };
        if is_told {
            info!("the log answers again");
        }
        shared.accepted(since);
        return Ok(wanted);
    }
}

/// Keeps the office until the journal is closed: writes that this bot is in office whenever nothing else was written, and
/// keeps the log's leader on another machine.
pub async fn keep(office: Shared, journal: Journal, stream: LogStream, beside: String) {
    let terms = office.0.terms;
    let marks = async {
        loop {
            let rest = terms.renew.saturating_sub(office.since_written());
            if !rest.is_zero() {
                tokio::time::sleep(rest).await;
            } else if journal.mark().await.is_err() || journal.failed().borrow().is_some() {
                return;
            }
        }
    };
    let watch = async {
        let mut seat = office.seat();
        loop {
            let until = office.office().until();
            let rest = until.map(|until| until.saturating_sub(clock::since_boot()));
            tokio::select! {
                () = tokio::time::sleep(rest.unwrap_or(Duration::MAX)) => {
                    if office.change(|office| office.passed(clock::since_boot())) {
                        error!("the log has accepted nothing for too long: nothing is decided or said until it does");
                    }
                }
                changed = seat.changed() => if changed.is_err() { return },
            }
        }
    };
    let apart = async {
        let mut look = tokio::time::interval(APART);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            look.tick().await;
            let Ok(end) = stream.end().await else { continue };
            if end.leader.as_ref() == Some(&beside)
                && end.replicas > 1
                && let Err(reason) = stream.move_leader_from(&beside).await
            {
                warn!(%reason, "the log's leader stays on the machine of the bot in office");
            }
        }
    };
    tokio::select! {
        () = marks => {}
        () = watch => {}
        () = apart => {}
    }
}
