//! IRC: several networks, each a task of its own.
//!
//! [`run`] maintains one network: it connects, registers, joins, listens and delivers, and reconnects when the link
//! breaks. Only the parser of the `irc` crate is used; its client loses lines and links (it neither paces nor splits,
//! one byte that is not UTF-8 ends its stream, and a dead peer goes unnoticed).
//!
//! ```text
//!  connect ─► registration ─► session ─► (link lost) ─► reconnect ─► connect …
//!  (tls)      (nick)           │ channels   which channels we are in, and where posts go if one is missing
//!                              │ replay     tells live speech from replayed speech
//!                              │ history    fetches speech that was missed (marks: position already handled)
//!                              │ identity   looks up the speaker's account
//!                              │ persons    finds the recipients of private messages
//!                              │ delivery   posts in flight and their confirmation
//!                              │ netsplit   repeats alerts that an operator missed
//!                              │ nickserv   login at the services
//!                              └ ping       detects a dead peer
//! ```
//!
//! `registration` and `session` are state machines without I/O: lines and time go in, effects come out. `link` alone
//! touches the socket. `wire` alone turns text into protocol lines, and `codec` alone turns bytes into lines.
//!
//! Other rooms decide permissions (`crate::access`), the meaning of a line and the limit on answers to allow-listed
//! bots (`crate::commands`), and the wording of posts (`crate::outbox`, `crate::l10n`).

mod ban;
mod channels;
mod codec;
mod connect;
mod delivery;
mod history;
mod identity;
mod isupport;
mod link;
mod marks;
mod netsplit;
mod nick;
mod nickserv;
mod patience;
mod persons;
mod ping;
mod probe;
mod prompt;
mod registration;
mod replay;
mod session;
mod text;
mod tls;
mod wire;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use connect::{Connecting, Connector, Stream};
pub use marks::Marks;
pub use patience::Patience;
pub use probe::{Login, log_in};

use crate::chat::Silence;
use crate::chat::reconnect::Why;
use crate::config::IrcNetwork;
use crate::core::detail::{Detail, LinkReason};
use crate::core::link::{ChannelWanted, LinkReport, LinkState};
use crate::core::speech::{Author, Inbound};
use crate::outbox::NetworkQueue;
use crate::tools::Rooms;
use link::Ports;
use session::Lasting;

/// Settings and shared state of the adapter of one IRC network.
#[derive(Clone)]
pub struct Settings {
    /// The section of the configuration for this network.
    pub network: IrcNetwork,
    /// The bot's display name: its real name on IRC, and the word after `HEARTBEAT` in lines for programs.
    pub name: String,
    /// Returns true if access on this network depends on services accounts now; otherwise no server is asked for accounts.
    pub needs_account: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Returns true if a person has the role of an operator: alerts that they missed in a netsplit are repeated.
    pub is_operator: Arc<dyn Fn(&Author) -> bool + Send + Sync>,
    /// Timeouts and waits of the adapter.
    pub patience: Patience,
    /// State of the network that outlives one call of [`run`].
    pub memory: Memory,
    /// Recent lines, members and topics of the channels, which agents may read with their tools.
    pub rooms: Rooms,
    /// Read marks of the channels: times up to which lines are handled.
    pub marks: Marks,
}

/// State of a network that survives a restart of its adapter: the time since which herder is away, seen message ids,
/// the backoff. Clones share the same state.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<Lasting>>);

impl Memory {
    /// Creates the state of a new process; `away` is the time since the previous process was last alive.
    #[must_use]
    pub fn after(away: Option<Duration>) -> Self {
        let silence = Silence::of(away);
        Self(Arc::new(Mutex::new(Lasting { silence, ..Lasting::default() })))
    }

    fn borrow(&self) -> Borrowed {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Borrowed { memory: self.clone(), lasting: std::mem::take(&mut *kept) }
    }
}

/// State taken out of a [`Memory`]; its drop puts the state back, also after a panic.
struct Borrowed {
    memory: Memory,
    lasting: Lasting,
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        let mut kept = self.memory.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = std::mem::take(&mut self.lasting);
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("network", &self.network.name).finish_non_exhaustive()
    }
}

/// The reason why a link to a server ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Closing {
    /// The link broke or did not work; another attempt may help.
    Lost(Detail),
    /// The server says that herder connects too often.
    Throttled(Detail),
    /// The server has banned herder; `after` is the duration of the ban, `None` if the server does not state it.
    Barred {
        /// The server's reason for the ban, as text.
        said: String,
        after: Option<Duration>,
    },
    /// Another attempt cannot help, e.g. after a wrong password.
    Refused(Detail),
    /// herder shuts down, so that the link is closed.
    Shutdown,
}

impl Closing {
    /// Builds [`Closing::Barred`] from the words with which the server refuses herder.
    pub(crate) fn barred(said: &str) -> Self {
        Self::Barred { said: said.to_owned(), after: ban::stated(said) }
    }

    /// Returns the reason of a link's end that follows from the text of the server's ERROR.
    pub(crate) fn from_error(reason: &str) -> Self {
        let lower = reason.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let text = LinkReason::EndedByServer.with(reason);
        // The words of an operator's KILL are free text and do not tell whether herder may come back.
        if lower.contains("killed (") {
            Self::Lost(text)
        } else if says(&[
            "throttl",
            "too fast",
            "too many connections",
            "reconnect too",
            "trying to reconnect",
        ]) {
            Self::Throttled(text)
        } else if says(&["k-line", "g-line", "z-line", "k:line", "banned"]) {
            Self::barred(reason)
        } else if says(&["bad password", "invalid password"]) {
            Self::Refused(text)
        } else {
            Self::Lost(text)
        }
    }
}

/// Runs the adapter of one IRC network until `shutdown`, or until the server refuses herder for good.
///
/// Each failed attempt is reported with its number and reason. The root supervisor decides when there were too many,
/// says so elsewhere and starts this task again.
pub async fn run(
    settings: Settings,
    inbound: mpsc::Sender<Inbound>,
    queue: Arc<NetworkQueue>,
    mut channels: watch::Receiver<Vec<ChannelWanted>>,
    reports: mpsc::Sender<LinkReport>,
    shutdown: CancellationToken,
    connector: Connector,
) {
    let mut memory = settings.memory.borrow();
    memory.lasting.backoff.begin_with(settings.patience.retry, settings.patience.most);
    memory.lasting.backoff.begin_bans_with(settings.patience.barred);
    memory.lasting.silence.begins(Instant::now());
    // Index of the address to try: a restarted adapter continues with the next address of the name.
    let mut attempt = memory.lasting.backoff.attempts();
    // A restarted adapter counts its own failures anew; only the backoff continues.
    let mut before = attempt;
    report(&reports, &settings, LinkState::Connecting { attempts: 0, reason: None }).await;
    loop {
        if !until(memory.lasting.backoff.next(), &shutdown).await {
            return;
        }
        let connected = tokio::select! {
            connected = connect::connect(&connector, &settings.network, attempt) => connected,
            () = shutdown.cancelled() => return,
        };
        let mut up_since = None;
        let closing = match connected {
            Ok(stream) => {
                let mut ports = Ports {
                    settings: &settings,
                    lasting: &mut memory.lasting,
                    inbound: &inbound,
                    queue: &queue,
                    channels: &mut channels,
                    reports: &reports,
                    shutdown: &shutdown,
                };
                let ended = link::run(stream, &mut ports).await;
                up_since = ended.up_since;
                ended.closing
            }
            Err(reason) => Closing::Lost(reason),
        };
        if up_since.is_none() {
            attempt = attempt.wrapping_add(1);
        }
        let up_for = up_since.map(|since| Instant::now() - since);
        let backoff = &mut memory.lasting.backoff;
        let mut failed = |why: Why| backoff.failed(up_for, why, jitter(), Instant::now());
        let (reason, wait, barred) = match closing {
            Closing::Lost(reason) => (reason, failed(Why::Lost), false),
            Closing::Throttled(reason) => (reason, failed(Why::Throttled), false),
            Closing::Barred { said, after } => {
                let wait = failed(Why::Barred(after));
                (LinkReason::Barred { again: wait }.with(said), wait, true)
            }
            Closing::Refused(reason) => {
                tracing::error!(network = %settings.network.name, %reason, "given up for good");
                report(&reports, &settings, LinkState::Refused { reason }).await;
                return;
            }
            Closing::Shutdown => return,
        };
        let attempts = in_vain(backoff.attempts(), up_since.is_some(), &mut before);
        tracing::warn!(network = %settings.network.name, %reason, ?wait, "not connected");
        let state = if barred {
            LinkState::Barred { attempts: attempts.max(1), reason }
        } else {
            LinkState::Connecting { attempts, reason: Some(reason) }
        };
        report(&reports, &settings, state).await;
    }
}

/// Returns the number of failed attempts since the adapter started or the link was last good. `failures` counts all
/// failures in a row, `before` those that are not attempts of this adapter; the loss of a good link is not an attempt.
fn in_vain(failures: u32, was_up: bool, before: &mut u32) -> u32 {
    if failures == 1 {
        *before = u32::from(was_up);
    }
    failures.saturating_sub(*before)
}

/// Waits until the time `due`, if it is set; returns false if herder shuts down meanwhile.
async fn until(due: Option<Instant>, shutdown: &CancellationToken) -> bool {
    let Some(due) = due else { return true };
    tokio::select! {
        () = tokio::time::sleep_until(due) => true,
        () = shutdown.cancelled() => false,
    }
}

async fn report(reports: &mpsc::Sender<LinkReport>, settings: &Settings, state: LinkState) {
    let report = LinkReport { network: settings.network.name.clone(), state };
    if reports.send(report).await.is_err() {
        tracing::debug!("nobody takes reports of this link");
    }
}

/// Returns a random number between 0 and 1, or 0.5 if the system has no randomness: then only the spread is lost.
fn jitter() -> f64 {
    getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_of_a_link_is_no_attempt() {
        let mut before = 0;
        let told: Vec<u32> = (1..=6).map(|failures| in_vain(failures, failures == 1, &mut before)).collect();
        assert_eq!(told, [0, 1, 2, 3, 4, 5], "after the waits of 1, 2, 4, 8 and 16 s");
        let told: Vec<u32> = (1..=5).map(|failures| in_vain(failures, false, &mut before)).collect();
        assert_eq!(told, [1, 2, 3, 4, 5], "a server that was never reached");
        // A restarted adapter counts its own failures.
        let mut before = 5;
        assert_eq!(in_vain(6, false, &mut before), 1);
    }

    #[test]
    fn last_words_say_whether_another_try_can_help() {
        for (words, closing) in [
            ("Closing Link: h (Ping timeout: 240 seconds)", Closing::Lost as fn(Detail) -> Closing),
            ("Closing Link: h (Killed (oper (you will be banned for this)))", Closing::Lost),
            ("Closing Link: h (irc.test (Killed (oper (reconnecting too fast))))", Closing::Lost),
            ("Trying to reconnect too fast.", Closing::Throttled),
            ("Closing Link: h (Throttled: Reconnecting too fast)", Closing::Throttled),
            ("Closing Link: h (Bad Password)", Closing::Refused),
        ] {
            assert!(!matches!(Closing::from_error(words), Closing::Barred { .. }), "{words}");
            assert_eq!(Closing::from_error(words), closing(LinkReason::EndedByServer.with(words)), "{words}");
        }
        let said = "Closing Link: h (K-Lined)".to_owned();
        assert_eq!(Closing::from_error(&said), Closing::Barred { said, after: None });
    }
}
