//! The bot's end: it answers the beats of runners with grants, and opens connections to those that have beaten.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_nats::{HeaderMap, Message, Subscriber};
use futures_util::StreamExt as _;
use nkeys::KeyPair;
use tokio::io::DuplexStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::bytes::Bytes;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, error, info, warn};

use super::super::keys;
use super::super::permits::{self, Subjects};
use super::bridge::{Outlet, Ports, Routed};
use super::frame::{ConnectionId, Numbered, SIGNATURE, grant_text, is_incarnation};
use super::{Allowance, BEAT_VERSION, Beat, Grant, Pace, Rejected, Uplink};

/// Number of beats and of refused messages of a runner that are answered at once; then it is one per half the time between
/// two beats. The rest is dropped before anything is signed.
const ANSWERS: u32 = 4;

/// State of a runner, as its last beat told it.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The random id of the runner's run.
    pub incarnation: String,
    /// The id of its machine.
    pub machine: String,
    /// Number of its sessions.
    pub sessions: usize,
    /// Load of the machine.
    pub load: Option<f64>,
    /// Free space of its data folder's disk, in bytes.
    pub free_disk: Option<u64>,
    /// Time of the last beat.
    pub at: Instant,
    /// True while connections can be opened: it has beaten lately, and the link was not lost since.
    pub here: bool,
    /// The last other machine that has beaten under the same name and was refused, since the runner was admitted.
    pub twin: Option<Twin>,
}

/// A machine that beats under the name of another one, as after a disk was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twin {
    /// The id of the machine.
    pub machine: String,
    /// The random id of its run.
    pub incarnation: String,
    /// Time of its last beat.
    pub at: Instant,
}

/// The bot's end of the connections to all runners. Cheap to clone.
#[derive(Clone)]
pub struct Hub(Arc<Inner>);

struct Inner {
    uplink: Uplink,
    bot: String,
    subjects: Subjects,
    epoch: u64,
    key: Arc<KeyPair>,
    pace: Pace,
    /// Admitted runners.
    roster: Mutex<BTreeMap<String, Member>>,
    /// The last run of each runner that was dismissed: servers may let it in for a while yet.
    gone: Mutex<BTreeMap<String, String>>,
    changed: watch::Sender<()>,
    /// Number of the next connection.
    number: AtomicU64,
    ports: Ports,
    rejected: Rejected,
    tasks: TaskTracker,
    closed: CancellationToken,
    /// True while the bot is in office; unset for a bot alone.
    office: OnceLock<watch::Receiver<bool>>,
}

/// An admitted runner.
struct Member {
    /// State at its last beat.
    seen: Option<Seen>,
    /// Ends the tasks that hear it.
    over: CancellationToken,
}

/// The way to one runner. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Line {
    hub: Hub,
    runner: String,
}

impl Hub {
    /// Returns a hub that hears nobody until runners are admitted. `epoch` is higher than that of every bot before, and `key`
    /// holds the seed of the key that runners have pinned, with which the bot never connects.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn start(uplink: Uplink, bot: String, epoch: u64, key: KeyPair, pace: Pace) -> Self {
        let tasks = TaskTracker::new();
        let hub = Self(Arc::new(Inner {
            uplink,
            subjects: Subjects::new(&bot),
            bot,
            epoch,
            key: Arc::new(key),
            pace,
            roster: Mutex::default(),
            gone: Mutex::default(),
            changed: watch::Sender::new(()),
            number: AtomicU64::new(1),
            ports: Ports::new(tasks.clone(), pace),
            rejected: Rejected::default(),
            tasks,
            closed: CancellationToken::new(),
            office: OnceLock::new(),
        }));
        let inner = Arc::clone(&hub.0);
        hub.0.tasks.spawn(async move { inner.closed.run_until_cancelled(inner.note_absences()).await });
        hub
    }

    /// Answers beats only while `office` is true: a bot that may have been succeeded grants nothing. Only the first call
    /// counts.
    pub fn grants_while(&self, office: watch::Receiver<bool>) {
        // Another call would come from the same herder.
        let _ = self.0.office.set(office);
    }

    /// Admits a runner: from now on its beats are granted, and those of the first machine that beats alone. One that was
    /// admitted before is dismissed, since it is another machine now.
    pub fn admit(&self, runner: &str) {
        self.dismiss(runner);
        let over = self.0.closed.child_token();
        self.0.roster().insert(runner.to_owned(), Member { seen: None, over: over.clone() });
        let (inner, name, ends) = (Arc::clone(&self.0), runner.to_owned(), over.clone());
        self.0.tasks.spawn(async move { ends.run_until_cancelled(inner.hear_beats(&name, &ends)).await });
        let (inner, name) = (Arc::clone(&self.0), runner.to_owned());
        self.0.tasks.spawn(async move { over.run_until_cancelled(inner.hear(&name)).await });
    }

    /// Returns the way to a runner, which leads nowhere until the runner is admitted and has beaten.
    #[must_use]
    pub fn line(&self, runner: &str) -> Line {
        Line { hub: self.clone(), runner: runner.to_owned() }
    }

    /// Ends the connections to a runner and hears it no more. Its last run stays refused if the name is admitted again.
    pub fn dismiss(&self, runner: &str) {
        let Some(member) = self.0.roster().remove(runner) else { return };
        member.over.cancel();
        if let Some(seen) = member.seen {
            self.0.gone().insert(runner.to_owned(), seen.incarnation);
        }
        self.0.ports.cut(&self.0.subjects.from(runner, ""));
        self.0.changed.send_replace(());
    }

    /// Returns the state of a runner; `None` if it is not admitted or was never heard.
    #[must_use]
    pub fn seen(&self, runner: &str) -> Option<Seen> {
        self.0.roster().get(runner)?.seen.clone()
    }

    /// Returns a watch that changes when a runner appears, has another incarnation, is away, is back, has its
    /// first twin or is dismissed.
    #[must_use]
    pub fn changed(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Ends all connections and answers no more beats.
    pub async fn close(&self) {
        self.0.closed.cancel();
        self.0.ports.cut("");
        self.0.changed.send_replace(());
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("bot", &self.0.bot).field("epoch", &self.0.epoch).finish_non_exhaustive()
    }
}

impl Line {
    /// Opens a connection to the runner, once it has beaten. One that loses anything ends.
    ///
    /// # Errors
    /// The hub is closed.
    pub async fn open(&self) -> io::Result<DuplexStream> {
        let inner = &self.hub.0;
        let mut changed = inner.changed.subscribe();
        loop {
            changed.mark_unchanged();
            if inner.closed.is_cancelled() {
                return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the hub is closed"));
            }
            if let Some(stream) = inner.open(&self.runner) {
                return Ok(stream);
            }
            // The hub keeps the sender.
            let _ = changed.changed().await;
        }
    }

    /// Returns the name of the runner.
    #[must_use]
    pub fn runner(&self) -> &str {
        &self.runner
    }
}

impl Inner {
    fn roster(&self) -> MutexGuard<'_, BTreeMap<String, Member>> {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gone(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a connection to a runner that is here.
    fn open(&self, runner: &str) -> Option<DuplexStream> {
        let roster = self.roster();
        let incarnation = &roster.get(runner)?.seen.as_ref().filter(|seen| seen.here)?.incarnation;
        let outlet = self.outlet(runner, incarnation);
        let from = self.subjects.from(runner, incarnation);
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let stream = self.ports.open(ConnectionId { epoch: self.epoch, number }, from, outlet);
        drop(roster);
        debug!(runner, number, "a connection to a runner is opened");
        Some(stream)
    }

    fn outlet(&self, runner: &str, incarnation: &str) -> Outlet {
        let subject = self.subjects.to(runner, incarnation);
        Outlet::new(self.uplink.clone(), subject, Some(Arc::clone(&self.key)))
    }

    /// Listens to a subject with a runner's name in it.
    async fn subscribe(&self, runner: &str, subject: String) -> Option<Subscriber> {
        let subscribed = self.uplink.client.subscribe(subject).await;
        subscribed.inspect_err(|reason| error!(runner, %reason, "the bot cannot hear a runner")).ok()
    }

    /// Passes messages of a runner on until the client is closed.
    async fn hear(&self, runner: &str) {
        let from = self.subjects.from(runner, "*");
        let Some(mut messages) = self.subscribe(runner, from).await else { return };
        let mut refusals = Allowance::new(ANSWERS, self.pace.beat / 2);
        while let Some(message) = messages.next().await {
            let subject = message.subject.clone();
            let numbered = match Numbered::read(message, None) {
                Ok(numbered) => numbered,
                Err(reason) => {
                    self.rejected.count(&subject, &reason);
                    continue;
                }
            };
            let (id, n) = (numbered.id, numbered.n);
            // A connection of a later bot is that one's own matter.
            let is_unknown = self.ports.route(&subject, numbered) == Routed::Unknown;
            if is_unknown && n != 0 && id.epoch <= self.epoch && refusals.take() {
                self.refuse(runner, &subject, id).await;
            }
        }
    }

    /// Tells a runner that a connection is closed.
    async fn refuse(&self, runner: &str, subject: &str, id: ConnectionId) {
        let incarnation = subject.rsplit('.').next().unwrap_or_default();
        if let Err(reason) = self.outlet(runner, incarnation).send(Numbered::closed(id)).await {
            debug!(runner, %reason, "the end of a connection could not be told");
        }
    }

    /// Answers beats of a runner until the client is closed.
    async fn hear_beats(&self, runner: &str, over: &CancellationToken) {
        let Some(mut beats) = self.subscribe(runner, self.subjects.beat(runner)).await else { return };
        let mut answers = Allowance::new(ANSWERS, self.pace.beat / 2);
        while let Some(beat) = beats.next().await {
            if answers.take() {
                self.answer(runner, beat, over).await;
            } else {
                self.rejected.count(&beat.subject, &"the runner beats too often");
            }
        }
    }

    /// Notes for ever which runners are away.
    async fn note_absences(&self) {
        let (mut losses, mut changed) = (self.uplink.losses(), self.changed.subscribe());
        loop {
            let silent_at = self.silent_at();
            let silence = async {
                match silent_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Ok(()) = losses.changed() => self.note_away(None),
                () = silence => self.note_away(Some(Instant::now())),
                // Somebody may be here whose silence counts now.
                Ok(()) = changed.changed() => {}
            }
        }
    }

    /// Returns the next time at which a runner is away unless it beats.
    fn silent_at(&self) -> Option<Instant> {
        let roster = self.roster();
        let here = roster.values().filter_map(|member| member.seen.as_ref()).filter(|seen| seen.here);
        here.map(|seen| seen.at + self.pace.away).min()
    }

    /// Notes that runners are away: those that were silent for too long at `now`, or all.
    fn note_away(&self, now: Option<Instant>) {
        let mut changes = false;
        for (runner, member) in self.roster().iter_mut() {
            let Some(seen) = member.seen.as_mut().filter(|seen| seen.here) else { continue };
            if now.is_none_or(|now| now >= seen.at + self.pace.away) {
                seen.here = false;
                changes = true;
                info!(runner, "a runner is away");
            }
        }
        if changes {
            self.changed.send_replace(());
        }
    }

    /// Answers a beat.
    async fn answer(&self, runner: &str, message: Message, over: &CancellationToken) {
        let Some(reply) = message.reply else { return };
        if self.office.get().is_some_and(|office| !*office.borrow()) {
            return;
        }
        // The server does not check it, and the bot may publish where a runner may not.
        if !permits::is_in(&reply, &permits::runner_inbox(runner)) {
            return self
                .rejected
                .count(&message.subject, &"its answer would not go to the runner's own inbox");
        }
        let beat = match serde_json::from_slice::<Beat>(&message.payload) {
            Ok(beat) if is_incarnation(&beat.incarnation) => beat,
            Ok(_) => return self.rejected.count(&message.subject, &"its incarnation is not 16 hex digits"),
            Err(reason) => return self.rejected.count(&message.subject, &reason),
        };
        let incarnation = beat.incarnation.clone();
        let grant = match self.take(runner, beat, over) {
            Ok(()) => Grant { v: BEAT_VERSION, epoch: Some(self.epoch), refused: None },
            Err(refused) => Grant { v: BEAT_VERSION, epoch: None, refused: Some(refused) },
        };
        let sent = async {
            let body = serde_json::to_vec(&grant)?;
            let text = grant_text(&reply, &incarnation, &body);
            let mut headers = HeaderMap::new();
            headers.insert(SIGNATURE, keys::sign(&self.key, &text).map_err(io::Error::other)?);
            let sent = self.uplink.client.publish_with_headers(reply.clone(), headers, Bytes::from(body));
            sent.await.map_err(io::Error::other)
        };
        if let Err(reason) = sent.await {
            debug!(runner, %reason, "a beat could not be answered");
        }
    }

    /// Notes a beat, or refuses it with a sentence. `over` tells whether the runner was dismissed since it was subscribed to.
    fn take(&self, runner: &str, beat: Beat, over: &CancellationToken) -> Result<(), String> {
        if beat.v != BEAT_VERSION {
            return Err(format!("the bot speaks version {BEAT_VERSION} of beats, and the runner {}", beat.v));
        }
        if !is_machine(&beat.machine) {
            return Err(String::from(
                "the machine has no id of 1 to 128 characters: write one into /etc/machine-id",
            ));
        }
        let now = Instant::now();
        let mut roster = self.roster();
        let Some(member) = roster.get_mut(runner).filter(|_| !over.is_cancelled()) else {
            return Err(format!("runner {runner} is not on the roster of this bot"));
        };
        if self.gone().get(runner) == Some(&beat.incarnation) {
            return Err(format!("runner {runner} was removed, or another machine has joined under its name"));
        }
        // A machine that has fallen silent may still work, so that its name stays its own.
        if let Some(known) = member.seen.as_mut()
            && known.machine != beat.machine
        {
            let Beat { machine, incarnation, .. } = beat;
            let is_new = known.twin.is_none();
            if is_new {
                warn!(runner, first = known.machine, second = machine, "two machines have one runner's name");
            }
            known.twin = Some(Twin { machine, incarnation, at: now });
            drop(roster);
            if is_new {
                self.changed.send_replace(());
            }
            return Err(format!(
                "runner {runner} runs on another machine already, and each needs a name of its own: invite this machine under \
                 another one, or remove {runner} and invite it anew if the other machine is gone"
            ));
        }
        let before = member.seen.take();
        let is_same = |before: &Seen| before.incarnation == beat.incarnation;
        let changes = !before.as_ref().is_some_and(|before| is_same(before) && before.here);
        if let Some(before) = before.as_ref().filter(|before| !is_same(before)) {
            info!(runner, "a runner was started again");
            self.ports.cut(&self.subjects.from(runner, &before.incarnation));
        }
        member.seen = Some(Seen {
            incarnation: beat.incarnation,
            machine: beat.machine,
            sessions: beat.sessions,
            load: beat.load,
            free_disk: beat.free_disk,
            at: now,
            here: true,
            twin: before.and_then(|before| before.twin),
        });
        drop(roster);
        if changes {
            self.changed.send_replace(());
        }
        Ok(())
    }
}

/// Returns true for a text that can be the id of a machine, which people are shown.
fn is_machine(text: &str) -> bool {
    (1..=128).contains(&text.len()) && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_id_of_a_machine_is_a_short_line() {
        assert!(is_machine("0123456789abcdef0123456789abcdef") && is_machine("box4.example.org"));
        for wrong in ["", "a\nb", &"x".repeat(129)] {
            assert!(!is_machine(wrong), "{wrong:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_allowance_is_a_few_at_once_and_then_one_per_interval() {
        let second = Duration::from_secs(1);
        let mut allowance = Allowance::new(4, second);
        let mut took = |times: usize| (0..times).filter(|_| allowance.take()).count();
        assert_eq!(took(100), 4);
        tokio::time::advance(second - Duration::from_millis(1)).await;
        assert_eq!(took(2), 0);
        tokio::time::advance(second).await;
        assert_eq!(took(2), 1);
        tokio::time::advance(second).await;
        assert_eq!(took(2), 1);
        tokio::time::advance(100 * second).await;
        assert_eq!(took(100), 4);
    }
}
