//! What is owed to Discord, from the queue to messages.
//!
//! ```text
//!  queue ─ next line whose channel is free ─► one message under way per channel ─► sent ─► confirmed on disk
//!    ▲                                            │ not answered, channel gone, not allowed
//!    └──────────────── requeue ◄──────────────────┘ the channel waits, the others go on
//! ```
//!
//! A line is one whole message. Each has a nonce that Discord enforces, made of the post's id and the line's index: whatever
//! is sent again, because an answer was lost or herder was killed, is shown once; after minutes, when Discord has forgotten
//! the nonce, it is looked for first ([`doubt`]). The next line of a channel goes when the
//! last one is confirmed on disk, so the order of a channel is the order of its posts, and at most one message per channel is
//! ever in doubt. What Discord refuses for good is sent in a simpler form ([`message::Form`]), at last as a sentence that says
//! so, and never holds up what follows. What is refused without a word about the message waits as if there was no answer:
//! that is a proxy, a guard or a bad day, and what is owed then is owed still when it is over.

pub(super) mod doubt;
mod message;
mod nonces;
mod traffic;

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serenity::all::{ChannelId, Event, MessageId, UserId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Bot;
use super::buttons;
use super::directory::{Doubt, Purpose};
use super::rest::{File, RestError};
use super::status;
use crate::clock;
use crate::config;
use crate::core::id::{AgentName, PostId};
use crate::outbox::{Body, Lane, Line, Post, Target, Window};
use doubt::{Queue, Sent};
use message::{Form, Verdict};
use traffic::{Place, Reason, Traffic};

/// How long one message is tried for before its channel is looked at anew.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long what is under way may take when herder ends.
const FAREWELL: Duration = Duration::from_millis(700);
/// Channels for talk in private that are remembered; more are asked for again.
const PRIVATE_MAX: usize = 1024;
/// Posts of an agent that is gone, and whose channel is too, wait so long for a channel.
const ORPHANED: Duration = Duration::from_secs(60);
/// What is owed to a channel of somebody else's where herder may not speak is owed so long.
const DENIED_FOR: Duration = Duration::from_secs(3600);

/// What became of a line.
enum Outcome {
    /// It is there, or given up; that is on disk.
    Done,
    /// It waits again.
    Held(Reason),
}

/// A line that is back from its way.
struct Landed {
    place: Place,
    outcome: Outcome,
    /// The channel for talk with this person.
    private: Option<(UserId, ChannelId)>,
    /// It arrived as this.
    message: Option<MessageId>,
}

type Flight = Pin<Box<dyn Future<Output = (Queue, Landed)> + Send>>;

/// Delivers until `shutdown`; what is under way then is waited for, but not for long.
pub(super) async fn run(bot: Arc<Bot>, shutdown: CancellationToken) {
    let salt = nonces::salt(&bot).await;
    let mut delivery = Delivery {
        salt: salt.into(),
        run: nonces::run_of_process().into(),
        traffic: Traffic::after(bot.ports.silence.clone(), Instant::now()),
        sent: Sent::default(),
        flying: HashSet::new(),
        flights: FuturesUnordered::new(),
        private: HashMap::new(),
        ways: Ways { bot, orphans: Mutex::default() },
    };
    // What an adapter before this one had under way is sent again.
    delivery.ways.bot.ports.queue.grounded();
    delivery.go(&shutdown).await;
}

/// Which way posts go.
struct Ways {
    bot: Arc<Bot>,
    /// Agents without a channel and without a place in the fleet, and since when.
    orphans: Mutex<HashMap<AgentName, Instant>>,
}

impl Ways {
    /// Where posts for `target` go now; `None`: nowhere yet.
    fn resolve(&self, target: &Target, now: Instant) -> Option<Place> {
        let directory = &self.bot.directory;
        match target {
            Target::Person(id) => Some(
                id.parse()
                    .ok()
                    .filter(|id| *id != 0)
                    .map_or(Place::Nowhere, |id| Place::Person(UserId::new(id))),
            ),
            Target::Channel(name) if name.starts_with('#') => named(name, &self.bot.ports.settings)
                .map_or(Some(Place::Nowhere), |purpose| directory.of(&purpose).map(Place::Channel)),
            Target::Channel(_) => {
                let channel = directory.of_target(target);
                let spoken_in = |channel| Place::Channel(self.bot.threads.spoken_in(channel));
                Some(channel.map_or(Place::Nowhere, spoken_in))
            }
            Target::Agent(agent) => {
                let found = directory.of_target(target).map(Place::Channel);
                if found.is_none() && self.bot.ports.fleet.view(agent).is_none() {
                    let mut orphans = self.orphans.lock().unwrap_or_else(PoisonError::into_inner);
                    orphans.entry(agent.clone()).or_insert(now);
                }
                found
            }
            Target::Alerts | Target::Work | Target::Control => {
                directory.of_target(target).map(Place::Channel)
            }
        }
    }

    /// What is owed to the channel of an agent that was removed, when that channel is gone as well, is owed to nobody.
    async fn forget_orphans(&mut self) {
        let now = Instant::now();
        let orphans = self.orphans.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (fleet, directory) = (&self.bot.ports.fleet, &self.bot.directory);
        orphans.retain(|agent, _| {
            fleet.view(agent).is_none() && directory.of(&Purpose::Agent(agent.clone())).is_none()
        });
        let due = orphans.extract_if(|_, since| now.duration_since(*since) >= ORPHANED);
        let due: Vec<AgentName> = due.map(|(agent, _)| agent).collect();
        for agent in due {
            info!(%agent, "its posts are given up: it was removed, and its channel is gone");
            self.bot.ports.queue.forget(&Target::Agent(agent)).await;
        }
    }
}

struct Delivery {
    ways: Ways,
    salt: Arc<str>,
    run: Arc<str>,
    traffic: Traffic,
    sent: Sent,
    /// For whom something is under way, wherever it goes: a channel that is made in another's place is another place.
    flying: HashSet<Target>,
    flights: FuturesUnordered<Flight>,
    private: HashMap<UserId, ChannelId>,
}

enum Happened {
    Window(Window),
    Landed(Queue, Landed),
    /// Channels changed; whether permissions may have.
    Changed(bool),
    /// A place is free again.
    Time,
    Shutdown,
}

impl Delivery {
    async fn go(&mut self, shutdown: &CancellationToken) {
        let bot = Arc::clone(&self.ways.bot);
        let queue = &bot.ports.queue;
        let (mut known, mut changes) = (bot.directory.changes(), bot.changes.subscribe());
        loop {
            self.ways.forget_orphans().await;
            if self.traffic.take_return() {
                queue.link_restored();
            }
            let now = Instant::now();
            let wake = self.traffic.next_release(now);
            let joined = |target: &Target| {
                let is_free = |place| self.traffic.is_free(place, now);
                !self.flying.contains(target) && self.ways.resolve(target, now).is_some_and(is_free)
            };
            let happened = tokio::select! {
                () = shutdown.cancelled() => Happened::Shutdown,
                Some((queue, landed)) = self.flights.next(), if !self.flights.is_empty() => Happened::Landed(queue, landed),
                window = queue.next_window(1, &|_| usize::MAX, &joined), if self.traffic.room() > 0 => Happened::Window(window),
                _ = known.changed() => Happened::Changed(false),
                // Who has missed events has to think that anything may have changed.
                event = changes.recv() => Happened::Changed(event.map_or(true, |event| changes_permissions(&event))),
                () = sleep_until(wake) => Happened::Time,
            };
            match happened {
                Happened::Window(window) => window.lines.into_iter().for_each(|line| self.depart(line)),
                Happened::Landed(queue, landed) => {
                    self.flying.remove(&queue.0);
                    self.land(queue, landed);
                }
                Happened::Changed(true) => {
                    self.traffic.allowed();
                    self.ways.bot.threads.open_all();
                }
                Happened::Changed(false) | Happened::Time => {}
                Happened::Shutdown => break,
            }
        }
        let rest = async { while self.flights.next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, rest).await.is_err() {
            info!(
                messages = self.flights.len(),
                "some messages were still under way; they are sent when herder is back"
            );
        }
    }

    fn depart(&mut self, mut line: Line) {
        line.text = message::calling(&line, &self.ways.bot.ports.settings.call).unwrap_or(line.text);
        // Its channel may have gone since it was handed out: then it waits for the one that is made in its place.
        let Some(place) = self.ways.resolve(&line.target, Instant::now()) else {
            self.ways.bot.ports.queue.requeue(Window { lines: vec![line] });
            return;
        };
        self.traffic.departed(place);
        let private = match place {
            Place::Person(person) => self.private.get(&person).copied(),
            Place::Channel(_) | Place::Nowhere => None,
        };
        let flight = Sender {
            bot: Arc::clone(&self.ways.bot),
            nonce: message::nonce(&self.salt, &self.run, &line),
            odd: self.traffic.odd(place),
            sought: self.sent.departs(&line, clock::now(), |at| self.ways.bot.rest.there(at)),
            line,
            place,
            private,
        };
        let queue = doubt::queue_of(&flight.line);
        self.flying.insert(queue.0.clone());
        self.flights.push(Box::pin(async move { (queue, flight.fly().await) }));
    }

    fn land(&mut self, queue: Queue, landed: Landed) {
        if let Some((person, channel)) = landed.private {
            if self.private.len() >= PRIVATE_MAX {
                self.private.clear();
            }
            self.private.insert(person, channel);
        }
        if let Some(message) = landed.message {
            self.sent.arrived(queue, message);
        }
        let now = Instant::now();
        match landed.outcome {
            Outcome::Done => self.traffic.arrived(landed.place, now),
            Outcome::Held(reason) => self.traffic.failed(landed.place, reason, now),
        }
    }
}

/// One line on its way.
struct Sender {
    bot: Arc<Bot>,
    line: Line,
    nonce: String,
    place: Place,
    private: Option<ChannelId>,
    /// How often it was refused before for nothing that is known.
    odd: u32,
    /// It may be there, after this message.
    sought: Option<u64>,
}

impl Sender {
    async fn fly(self) -> Landed {
        let place = self.place;
        let mut private = None;
        let channel = match self.channel().await {
            Ok(channel) => channel,
            Err(verdict) => return self.end(verdict, None).await,
        };
        if let Place::Person(person) = place {
            private = Some((person, channel));
        }
        if self.is_said_by_a_mark(channel) {
            return self.arrived(channel, None).await;
        }
        let there = match (self.shown(channel).await, self.sought) {
            (Ok(None), Some(after)) => self.find(channel, after).await,
            (shown, _) => shown,
        };
        let sent = match there {
            Ok(None) => self.send(channel).await,
            there => there,
        };
        let landed = match sent {
            Ok(message) => self.arrived(channel, message).await,
            Err(verdict) => self.end(verdict, Some(channel)).await,
        };
        Landed { private, ..landed }
    }

    fn rest(&self) -> super::rest::Rest {
        let rest = if self.line.urgent { self.bot.rest.urgent() } else { self.bot.rest.clone() };
        rest.within(PATIENCE)
    }

    /// The channel that it goes to.
    async fn channel(&self) -> Result<ChannelId, Verdict> {
        match (self.place, self.private) {
            (Place::Channel(channel), _) | (Place::Person(_), Some(channel)) => Ok(channel),
            (Place::Nowhere, _) => Err(Verdict::Closed),
            (Place::Person(person), None) => self.rest().create_dm(person).await.map_err(|error| {
                match message::verdict(&error, Form::Shortened, true, self.odd) {
                    waits @ (Verdict::Later | Verdict::Odd) => waits,
                    Verdict::Sent | Verdict::Gone | Verdict::Denied | Verdict::Closed | Verdict::Simpler => {
                        Verdict::Closed
                    }
                }
            }),
        }
    }

    /// Whether it says no more than the mark on the message that it answers: that it was heard, and that the agent is at it.
    fn is_said_by_a_mark(&self, channel: ChannelId) -> bool {
        let source = &self.line.source;
        let Body::Notice(notice) = &source.body else { return false };
        notice.is_taken_up() && source.quotes.is_some() && self.bot.marks(channel)
    }

    /// Shows it in the message that says how its session stands, if there is one.
    async fn shown(&self, channel: ChannelId) -> Result<Option<MessageId>, Verdict> {
        let (statuses, journal) = (&self.bot.statuses, &self.bot.ports.journal);
        let told = status::tell(statuses, journal, &self.rest(), &self.line, channel).await;
        told.map_err(|error| {
            info!(%channel, %error, "the message that shows a session cannot be changed now");
            if matches!(error, RestError::Unanswered { .. }) { Verdict::Later } else { Verdict::Odd }
        })
    }

    /// Looks whether it is there. Who may not look sends it: rather seen twice than not at all.
    async fn find(&self, channel: ChannelId, after: u64) -> Result<Option<MessageId>, Verdict> {
        match self.rest().last_messages(channel).await {
            Ok(seen) => {
                let contents = message::contents(&self.line);
                let found = doubt::find(&seen, self.bot.me, after, &contents.each_ref().map(String::as_str));
                if let Some(message) = found {
                    info!(%channel, post = %self.line.post, %message, "a message had arrived, only its answer was lost");
                }
                Ok(found)
            }
            // What is no list of messages is from whatever stands between herder and Discord, and does not say that it is not
            // there.
            Err(RestError::Unanswered { .. } | RestError::Unreadable { .. } | RestError::Foreign { .. }) => {
                Err(Verdict::Later)
            }
            Err(error) => {
                info!(%channel, %error, "whether a message is there already cannot be seen");
                Ok(None)
            }
        }
    }

    /// Sends it, in the best form that Discord takes.
    async fn send(&self, channel: ChannelId) -> Result<Option<MessageId>, Verdict> {
        let private = matches!(self.place, Place::Person(_));
        let rows = if self.line.index == 0 {
            buttons::rows(&self.line.source, &self.bot.ports.locale, &self.bot.ports.redactor)
        } else {
            Vec::new()
        };
        let rows = serde_json::to_value(&rows).ok().filter(|_| !rows.is_empty());
        let told = self.bot.ports.locale.text("discord-post-refused", &[]);
        let mut form = Form::Whole;
        loop {
            let files: Vec<File> = match form {
                Form::Whole => self.file().into_iter().collect(),
                Form::Bare | Form::Shortened | Form::Told => Vec::new(),
            };
            let body = message::body(
                &self.line,
                &self.nonce,
                form,
                rows.clone(),
                &told,
                &self.bot.ports.settings.call,
            );
            let error = match self.rest().send_message(channel, &body, &files).await {
                Ok(message) => return Ok(Some(message)),
                Err(error) => error,
            };
            let verdict = message::verdict(&error, form, private, self.odd);
            self.log(&error, verdict, channel);
            match (verdict, form.simpler()) {
                (Verdict::Sent, _) => return Ok(None),
                (Verdict::Simpler, Some(simpler)) => form = simpler,
                (Verdict::Simpler, None) => return Ok(None),
                (
                    verdict @ (Verdict::Later
                    | Verdict::Odd
                    | Verdict::Gone
                    | Verdict::Denied
                    | Verdict::Closed),
                    _,
                ) => return Err(verdict),
            }
        }
    }

    fn file(&self) -> Option<File> {
        let attachment = self.bot.ports.queue.attachment(&self.line)?;
        Some(File { name: attachment.name, bytes: attachment.text.into_bytes() })
    }

    fn log(&self, error: &RestError, verdict: Verdict, channel: ChannelId) {
        let (post, index) = (self.line.post, self.line.index);
        match verdict {
            Verdict::Later => info!(%channel, %post, index, %error, "a message waits"),
            Verdict::Odd
            | Verdict::Sent
            | Verdict::Gone
            | Verdict::Denied
            | Verdict::Closed
            | Verdict::Simpler => {
                warn!(%channel, %post, index, %error, ?verdict, "Discord did not take a message as it is");
            }
        }
    }

    async fn arrived(self, channel: ChannelId, message: Option<MessageId>) -> Landed {
        let place = self.place;
        if let Some(message) = message {
            status::posted(&self.bot.statuses, &self.bot.ports.journal, &self.line, channel, message).await;
        }
        if let Some(message) = message.filter(|_| self.line.index == 0) {
            buttons::posted(&self.bot, &self.line.source, channel, message).await;
        }
        self.bot.ports.queue.confirm(Window { lines: vec![self.line] }).await;
        Landed { place, outcome: Outcome::Done, private: None, message }
    }

    /// It did not arrive.
    async fn end(self, verdict: Verdict, channel: Option<ChannelId>) -> Landed {
        let (place, queue) = (self.place, Arc::clone(&self.bot.ports.queue));
        let known = channel.filter(|channel| self.bot.directory.purpose(*channel).is_some());
        let outcome = match (verdict, known) {
            (Verdict::Sent | Verdict::Simpler, _) => {
                queue.confirm(Window { lines: vec![self.line] }).await;
                Outcome::Done
            }
            // The channel was deleted, and that was known before this answer came: another one is made.
            (Verdict::Gone, None) if is_made_again(&self.line.target) => self.again(Reason::Gone),
            (Verdict::Closed, _) | (Verdict::Gone, None) => {
                // Whoever takes nothing, or is gone, will not take the next try either.
                queue.forget(&self.line.target).await;
                Outcome::Done
            }
            (Verdict::Later, _) => self.again(Reason::Later),
            (Verdict::Odd, _) => self.again(Reason::Odd),
            (Verdict::Gone, Some(channel)) => {
                self.bot.directory.doubt(channel, Doubt::Gone);
                self.again(Reason::Gone)
            }
            (Verdict::Denied, Some(channel)) => {
                self.bot.directory.doubt(channel, Doubt::Denied);
                self.again(Reason::Denied)
            }
            (Verdict::Denied, None) => match channel {
                Some(channel) => self.denied(channel).await,
                None => self.again(Reason::Denied),
            },
        };
        Landed { place, outcome, private: None, message: None }
    }

    /// herder may not speak in a channel that is none of its own. What is owed to a thread goes to the channel that it is in;
    /// of a thread that was archived before herder was started nobody has told. Elsewhere it waits until it may, but not for
    /// ever: who asked there reads on.
    async fn denied(self, channel: ChannelId) -> Outcome {
        if self.bot.threads.parent(channel).is_none()
            && let Err(error) = self.bot.ask_what_is(&self.rest(), channel).await
        {
            info!(%channel, %error, "what a channel is where herder may not speak cannot be asked");
            // It may be a thread, and its channel takes what is owed.
            if error.is_worth_another_try() {
                return self.again(Reason::Later);
            }
        }
        if self.bot.threads.close(channel) {
            info!(thread = %channel, "herder may not speak in a thread; it speaks in its channel");
        }
        let is_moved = self.bot.threads.spoken_in(channel) != channel;
        let given_up = clock::now().before(DENIED_FOR);
        if is_moved || self.line.source.at > given_up {
            return self.again(Reason::Denied);
        }
        warn!(%channel, "herder may not speak in a channel; what it has owed there for long is given up");
        let queue = &self.bot.ports.queue;
        queue.forget_upto(&self.line.target, given_up).await;
        let told = self.bot.ports.locale.text("discord-given-up", &[("channel", channel.to_string().into())]);
        queue.push(Post {
            id: PostId::default(),
            network: self.bot.network(),
            to: Target::Control,
            lane: Lane::Urgent,
            at: clock::now(),
            body: Body::Lines(vec![told]),
            answers: None,
            quotes: None,
            confirmed_lines: 0,
        });
        Outcome::Done
    }

    fn again(self, reason: Reason) -> Outcome {
        self.bot.ports.queue.requeue(Window { lines: vec![self.line] });
        Outcome::Held(reason)
    }
}

/// Whether it goes to one of herder's own channels, which are made again when they are gone.
fn is_made_again(target: &Target) -> bool {
    match target {
        Target::Agent(_) | Target::Alerts | Target::Work | Target::Control => true,
        // By name, and not by id.
        Target::Channel(name) => name.starts_with('#'),
        Target::Person(_) => false,
    }
}

/// What a channel is for by its name, as the places of inbound lines are named.
fn named(name: &str, settings: &config::Discord) -> Option<Purpose> {
    let name = name.trim_start_matches('#');
    if name == settings.control_channel {
        Some(Purpose::Control)
    } else if name == settings.alerts_channel {
        Some(Purpose::Alerts)
    } else if name == settings.work_channel {
        Some(Purpose::Work)
    } else {
        AgentName::new(name).ok().map(Purpose::Agent)
    }
}

fn changes_permissions(event: &Event) -> bool {
    matches!(
        event,
        Event::ChannelUpdate(_)
            | Event::GuildRoleUpdate(_)
            | Event::GuildRoleCreate(_)
            | Event::GuildMemberUpdate(_)
            | Event::GuildUpdate(_)
            | Event::GuildCreate(_)
            | Event::Ready(_)
    )
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
