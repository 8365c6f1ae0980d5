//! A bot that others can succeed: it follows the log until it is in office, and then runs like any other.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::RunError;
use crate::clock;
use crate::cluster::client::connect_bot;
use crate::cluster::copies::Copies;
use crate::cluster::folder::{self, FOLDER};
use crate::cluster::log::{LogStream, check_server, monitor_port};
use crate::cluster::net::draw_incarnation;
use crate::cluster::office::{self, Member, Servers, Shared, Term};
use crate::config::Config;
use crate::core::office::{Seat, Terms};
use crate::core::time::Timestamp;
use crate::journal::shared::place_of;
use crate::journal::{self, Journal, Opening};

/// Number of servers from which on each record is on three of them.
const REPLICAS: usize = 3;

/// Interval of copies of the journal.
const COPY_EVERY: Duration = Duration::from_secs(6 * 3600);

/// Time after which a copy that failed is tried again.
const COPY_AGAIN: Duration = Duration::from_secs(60);

/// Name of the file of a copy while it is stored. In the store, a copy is named by its time.
const COPY: &str = "copy-for-standby.jsonl.gz";

/// A bot that has come into office.
#[derive(Debug)]
pub struct Leading {
    term: Term,
    servers: Servers,
    /// Name of the server beside the bot.
    beside: String,
    data_dir: PathBuf,
}

/// The office of a bot that runs.
#[derive(Debug, Clone)]
pub(super) struct InOffice {
    seat: watch::Receiver<Seat>,
    /// True while the bot may speak.
    pub(super) open: watch::Receiver<bool>,
    given_up: CancellationToken,
}

impl InOffice {
    /// Returns true if another bot has come into office.
    pub(super) fn is_deposed(&self) -> bool {
        *self.seat.borrow() == Seat::Deposed
    }

    /// Waits for the log no more: what it has not accepted is not acknowledged.
    pub(super) fn give_up(&self) {
        self.given_up.cancel();
    }
}

/// Follows the log until this bot is in office; `None` if `shutdown` is cancelled before.
pub(super) async fn wait(config: &Config, shutdown: &CancellationToken) -> Result<Option<Leading>, RunError> {
    let (path, servers) = (config.data_dir.join(FOLDER), config.runners.servers.clone());
    let opened =
        tokio::task::spawn_blocking(move || folder::open(&path)).await.map_err(std::io::Error::other);
    let folder = opened.map_err(RunError::Runner)??.with_servers(servers);
    let port = folder.servers().first().and_then(|server| server.rsplit_once(':')?.1.parse().ok());
    let beside = check_server(monitor_port(port.unwrap_or(DEFAULT_PORT))).await?;
    let uplink = connect_bot(&folder).await.map_err(crate::supervisor::RunnersError::from)?;
    let replicas = if folder.servers().len() >= REPLICAS { REPLICAS } else { 1 };
    let servers = Servers { client: uplink.client().clone(), bot: folder.name().to_owned(), replicas };
    let settings = journal::Settings::new(config.data_dir.clone(), config.history.clone());
    let member = Member {
        name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        incarnation: draw_incarnation()
            .map_err(|reason| RunError::Runner(std::io::Error::other(reason.to_string())))?,
        terms: Terms::of(config.cluster.office),
    };
    let term = Box::pin(office::follow(&servers, &settings, &member, shutdown)).await?;
    let data_dir = config.data_dir.clone();
    Ok(term.map(|term| Leading { term, servers, beside: beside.name, data_dir }))
}

/// Port of a server whose address names none.
const DEFAULT_PORT: u16 = 4222;

impl Leading {
    /// Opens the journal, and keeps the office until it is closed.
    pub(super) async fn journal(self) -> Result<(Journal, Opening, InOffice), RunError> {
        let Self { term, servers, beside, data_dir } = self;
        let Term { replica, chain, log, office, stream, given_up } = term;
        let opened = tokio::task::spawn_blocking(move || Journal::lead(replica, log, chain)).await?;
        let (journal, opening) = opened.map_err(office::OfficeError::from)?;
        let (open, is_open) = watch::channel(true);
        let tasks = TaskTracker::new();
        // They end with the journal, after everything else.
        tasks.spawn(office::keep(office.clone(), journal.clone(), stream.clone(), beside));
        tasks.spawn(speak(office.clone(), open));
        tasks.spawn(copy(journal.clone(), servers, stream, data_dir));
        Ok((journal, opening, InOffice { seat: office.seat(), open: is_open, given_up }))
    }
}

/// Lets the bot speak while it is in office.
async fn speak(office: Shared, open: watch::Sender<bool>) {
    let mut seat = office.seat();
    loop {
        open.send_replace(matches!(*seat.borrow_and_update(), Seat::Leading));
        if seat.changed().await.is_err() {
            return;
        }
    }
}

/// Stores a copy of the journal every six hours, whichever bot has made the last one, until the journal is closed.
async fn copy(journal: Journal, servers: Servers, stream: LogStream, data_dir: PathBuf) {
    let copying = async {
        loop {
            let rest = match store_copy(&journal, &servers, &stream, &data_dir).await {
                Ok(rest) => rest,
                Err(reason) => {
                    warn!(reason, "no copy of the journal was stored; a new standby would wait for one");
                    COPY_AGAIN
                }
            };
            tokio::time::sleep(rest).await;
        }
    };
    let mut failed = journal.failed();
    tokio::select! {
        // It is closed, or cannot be written.
        _ = failed.wait_for(Option::is_some) => {}
        () = journal.closed() => {}
        () = copying => {}
    }
}

/// Returns the time until the next copy is due. A clock that was set back lets it wait no longer than usual.
fn rest(newest: Option<&str>, now: Timestamp) -> Duration {
    let made = newest.and_then(|name| name.parse().ok()).map(Timestamp::from_millis);
    made.map_or(Duration::ZERO, |made| COPY_EVERY.saturating_sub(now.since(made)))
}

async fn store_copy(
    journal: &Journal,
    servers: &Servers,
    stream: &LogStream,
    data_dir: &Path,
) -> Result<Duration, String> {
    let copies =
        Copies::open(&servers.client, &servers.bot, servers.replicas).await.map_err(|why| why.to_string())?;
    let (newest, now) = (copies.newest().await.map_err(|why| why.to_string())?, clock::now());
    let rest = rest(newest.as_ref().map(|copy| &*copy.name), now);
    if !rest.is_zero() {
        return Ok(rest);
    }
    let file = data_dir.join(COPY);
    journal::export(journal, &file, now).await.map_err(|why| why.to_string())?;
    let named = file.clone();
    let place = tokio::task::spawn_blocking(move || place_of(&named)).await.map_err(|why| why.to_string())?;
    let place = place.map_err(|why| why.to_string())?.ok_or("the export names no place in the log")?;
    let mut read = tokio::fs::File::open(&file).await.map_err(|why| why.to_string())?;
    let stored = copies.put(&now.as_millis().to_string(), &mut read, place.seq).await;
    // It is of no use any more; the next one takes its place if it stays.
    let _ = tokio::fs::remove_file(&file).await;
    let stored = stored.map_err(|why| why.to_string())?;
    info!(record = stored.seq, bytes = stored.size, "a copy of the journal is stored");
    let kept = copies.kept().await.map_err(|why| why.to_string())?;
    // The record before the next one is compared by whoever takes the older copy.
    if let [older, _, ..] = &*kept {
        stream.purge_below(older.seq).await.map_err(|why| why.to_string())?;
    }
    Ok(COPY_EVERY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_office_needs_no_new_copy() {
        let at = |hours: i64| Timestamp::from_millis(hours * 3_600_000);
        assert_eq!(rest(None, at(9)), Duration::ZERO);
        let copy = at(10).as_millis().to_string();
        assert_eq!(rest(Some(&copy), at(12)), COPY_EVERY - Duration::from_secs(2 * 3600));
        assert_eq!(rest(Some(&copy), at(17)), Duration::ZERO);
        assert_eq!(rest(Some(&copy), at(3)), COPY_EVERY, "the clock was set back");
        assert_eq!(rest(Some("by hand"), at(12)), Duration::ZERO);
    }
}
