//! Delivery of pending posts from the outbox queue to Discord.
//!
//! ```text
//!  queue ─ next line whose channel is free ─► one message under way per channel ─► sent ─► confirmed on disk
//!    ▲                                            │ not answered, channel gone, not allowed
//!    └──────────────── requeue ◄──────────────────┘ the channel waits, the others continue
//! ```
//!
//! A line is one whole message. Each has a nonce, made of the post's id and the line's index, that Discord enforces:
//! a message sent again after a lost answer or a crash is shown once. After minutes, when Discord has forgotten the
//! nonce, the message is searched in the channel first ([`doubt`]).
//!
//! A channel's next line is sent when the last one is confirmed on disk, so that posts keep their order and at most
//! one message per channel is in doubt. A message that Discord refuses for good is sent in a simpler form
//! ([`message::Form`]), in the end as a sentence that says so, and never blocks later ones. A refusal that does not
//! mention the message is treated like a missing answer, because a proxy or a fault of Discord may have caused it:
//! the post stays pending.

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

use super::directory::{Doubt, Purpose};
use super::rest::{File, RestError};
use super::{Bot, buttons, status};
use crate::clock;
use crate::config;
use crate::core::id::{AgentName, PostId};
use crate::core::post::{Body, Lane, Post, Target};
use crate::outbox::{Line, Window};
use doubt::{Queue, Sent};
use message::{Form, Verdict};
pub(super) use nonces::run_of_process;
use traffic::{Place, Reason, Traffic};

/// Maximum time to deliver one message before its channel is determined anew.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum time to wait for the messages in flight when herder shuts down.
const FAREWELL: Duration = Duration::from_millis(700);
/// Maximum number of private channels whose id is remembered; others are requested from Discord again.
const PRIVATE_MAX: usize = 1024;
/// Time for which the posts of a removed agent wait for a channel before they are dropped.
const ORPHANED: Duration = Duration::from_secs(60);
/// Time for which posts for somebody else's channel wait while herder may not speak there, before they are dropped.
const DENIED_FOR: Duration = Duration::from_secs(3600);

/// The result of delivering one line.
enum Outcome {
    /// The message was delivered or dropped, and that is on disk.
    Done,
    /// The message was not delivered: its line waits in the queue again, for this reason.
    Held(Reason),
}

/// The result of one attempt to deliver a line.
struct Landed {
    place: Place,
    outcome: Outcome,
    /// The person and the private channel, if one was opened for them.
    private: Option<(UserId, ChannelId)>,
    /// Id of the message on Discord; `None` if none was sent.
    message: Option<MessageId>,
}

type Flight = Pin<Box<dyn Future<Output = (Queue, Landed)> + Send>>;

/// Delivers the posts of the queue to Discord until `shutdown` is cancelled; then waits briefly for messages in flight.
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
    // Lines that a previous adapter had in flight are sent again.
    delivery.ways.bot.ports.queue.grounded();
    delivery.go(&shutdown).await;
}

/// Finds the Discord channel or person for the target of a post.
struct Ways {
    bot: Arc<Bot>,
    /// Removed agents whose channel does not exist, and the time since which that is known.
    orphans: Mutex<HashMap<AgentName, Instant>>,
}

impl Ways {
    /// Returns the present destination of posts for `target`; `None` if its channel does not exist yet.
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

    /// Drops the pending posts of removed agents whose channel has not existed for long.
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
    /// Targets to which a message is in flight. They count by target, because the channel of a target may be replaced
    /// meanwhile.
    flying: HashSet<Target>,
    flights: FuturesUnordered<Flight>,
    private: HashMap<UserId, ChannelId>,
}

enum Happened {
    Window(Window),
    Landed(Queue, Landed),
    /// The channels of the server have changed; true if permissions may have changed too.
    Changed(bool),
    /// The wait for a channel or person is over.
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
                // After missed events, anything may have changed.
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
        // Its channel may be gone since the line was taken: then it waits for the replacement.
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

/// The attempt to deliver one line as a Discord message.
struct Sender {
    bot: Arc<Bot>,
    line: Line,
    nonce: String,
    place: Place,
    private: Option<ChannelId>,
    /// Number of earlier attempts in a row that were refused for an unknown reason.
    odd: u32,
    /// Message id after which the message is searched before it is sent, because it may exist already; `None` if it
    /// cannot.
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

    /// Returns the channel to send the message to; for a person it is opened first.
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

    /// Returns true if the post says only that an agent works on a message, which the reaction on that message shows
    /// already.
    fn is_said_by_a_mark(&self, channel: ChannelId) -> bool {
        let source = &self.line.source;
        let Body::Notice(notice) = &source.body else { return false };
        notice.is_taken_up() && source.quotes.is_some() && self.bot.marks(channel)
    }

    /// Shows the line in the status message of the agent's session, if it belongs there. Returns that message.
    async fn shown(&self, channel: ChannelId) -> Result<Option<MessageId>, Verdict> {
        let (statuses, journal) = (&self.bot.statuses, &self.bot.ports.journal);
        let told = status::tell(statuses, journal, &self.rest(), &self.line, channel).await;
        told.map_err(|error| {
            info!(%channel, %error, "the message that shows a session cannot be changed now");
            if matches!(error, RestError::Unanswered { .. }) { Verdict::Later } else { Verdict::Odd }
        })
    }

    /// Searches the channel for the message. Without permission to read it counts as missing, because a duplicate is
    /// better than a loss.
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
            // A response that is not a list of messages comes from a proxy, and does not prove that the message is missing.
            Err(RestError::Unanswered { .. } | RestError::Unreadable { .. } | RestError::Foreign { .. }) => {
                Err(Verdict::Later)
            }
            Err(error) => {
                info!(%channel, %error, "whether a message is there already cannot be seen");
                Ok(None)
            }
        }
    }

    /// Sends the line as a message, in the best form that Discord accepts.
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
                Form::Whole => self.file().await.into_iter().collect(),
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

    async fn file(&self) -> Option<File> {
        if let Body::File(sent) = &self.line.source.body {
            let (store, file) = (self.bot.ports.fleet.files(), sent.file.clone());
            let read = move || {
                store.read(&file).inspect_err(|reason| warn!(%reason, "a file to be sent is gone")).ok()
            };
            let bytes =
                tokio::task::spawn_blocking(read).await.ok().flatten().filter(|_| self.line.index == 0)?;
            return Some(File { name: sent.file.name.clone(), bytes });
        }
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

    /// Handles the failure of an attempt: the line waits, is dropped, or its channel is created again.
    async fn end(self, verdict: Verdict, channel: Option<ChannelId>) -> Landed {
        let (place, queue) = (self.place, Arc::clone(&self.bot.ports.queue));
        let known = channel.filter(|channel| self.bot.directory.purpose(*channel).is_some());
        let outcome = match (verdict, known) {
            (Verdict::Sent | Verdict::Simpler, _) => {
                queue.confirm(Window { lines: vec![self.line] }).await;
                Outcome::Done
            }
            // The channel was known to be deleted before this answer came: it is created again.
            (Verdict::Gone, None) if is_made_again(&self.line.target) => self.again(Reason::Gone),
            (Verdict::Gone, None) if channel.is_some_and(|thread| self.is_said_around(thread)) => {
                self.again(Reason::Gone)
            }
            (Verdict::Closed, _) | (Verdict::Gone, None) => {
                // A recipient that is gone or refuses messages will refuse the next attempt too.
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

    /// Returns true if the line was for a thread that is gone and is now sent to the channel around it. After a restart
    /// that channel is unknown, but an agent's words belong in the agent's channel.
    fn is_said_around(&self, thread: ChannelId) -> bool {
        let of_words = || match &self.line.source.body {
            Body::Agent { agent, .. } => self.bot.directory.of(&Purpose::Agent(agent.clone())),
            _ => None,
        };
        let channel = self.bot.threads.parent(thread).or_else(of_words);
        channel.filter(|channel| *channel != thread).is_some_and(|it| self.bot.threads.replace(thread, it))
    }

    /// Handles a denial in a channel that is not herder's own. Posts for a thread go to the channel around it; other
    /// posts wait until herder may speak, for a limited time.
    async fn denied(self, channel: ChannelId) -> Outcome {
        if self.bot.threads.parent(channel).is_none()
            && let Err(error) = self.bot.ask_what_is(&self.rest(), channel).await
        {
            info!(%channel, %error, "what a channel is where herder may not speak cannot be asked");
            // It may be a thread whose channel accepts the post.
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

/// Returns true if the target is one of herder's own channels, which are created again when deleted.
fn is_made_again(target: &Target) -> bool {
    match target {
        Target::Agent(_) | Target::Alerts | Target::Work | Target::Control => true,
        // A name, not an id.
        Target::Channel(name) => name.starts_with('#'),
        Target::Person(_) => false,
    }
}

/// Returns the purpose of the channel that a person's line names; `None` if it is no channel of the fleet.
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
