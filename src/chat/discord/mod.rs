//! Discord, by serenity and poise.
//!
//! ```text
//!  gateway ── events ─┬─► inbound       messages ─► commands ─► supervisors      (missed ones fetched, each handled once)
//!   (serenity)        ├─► interactions  slash commands, completion, forms, buttons
//!                     └─► channels      deleted channels are created again
//!  outbox queue ──────► delivery ─► rest ─► Discord                              (nonce, own retries, order per channel)
//!  fleet's views ─────► live, reactions, channels (topics)
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `gateway` | the link: serenity's session, and what serenity lacks |
//! | `inbound` | people's messages |
//! | `directory` | mapping of channels to their purposes, stored by id |
//! | `channels` | the wanted channels: created, found again, given topics, archived |
//! | `permission` | permissions that herder needs, and their check |
//! | `threads` | threads, and the channels that they belong to |
//! | `membership` | whether the bot is in its server |
//! | `examine` | the checks of `herder check` |
//! | `rest` | the only way out: limits, retries, one function per request |
//! | `delivery` | pending posts |
//! | `absence` | the time without any delivered message |
//! | `reactions` | reactions on people's messages: queued, running, done |
//! | `status` | the message that shows a session's state |
//! | `live` | the running session, shown in that message |
//! | `registration` | the table of commands as application commands, registered when it changed |
//! | `interactions`, `reply` | people's interactions, and their answers |
//! | `forms` | forms, which open again with their texts after a mistake |
//! | `owing` | answers that an earlier process did not give |
//! | `completion` | choices for somebody who types |
//! | `custom_id` | ids of buttons and forms |
//! | `linking` | roles of people who are linked to an account elsewhere |
//! | `buttons` | buttons under posts |
//! | `asks` | ✅ ❌ 🔁 under an agent's request |
//!
//! # Gaps of serenity and poise, and the parts that close them
//!
//! | gap | closed by |
//! |---|---|
//! | the proxy is ignored by the rate limiter; 5xx and lost answers are not tried again, nothing has a timeout; after a global 429 other requests continue | `rest`: the only way out, with a client, limits, retries and timeouts of its own; serenity sends no request for herder |
//! | a message whose answer was lost would be sent twice | `delivery`: nonces that Discord enforces, one message in flight per channel |
//! | by default `@everyone` and previews in posts take effect | `rest`: every message notifies no one by default and fetches no preview |
//! | if `GET /gateway` fails, the address stays wrong for good; `max_concurrency` and the session start limit are ignored | `gateway`: requested until answered, before every session; no attempt when no login is left |
//! | new sessions (4009, op 9, a dead link, a failed resume) lose events | `inbound`: missed messages are fetched on every READY, each message once |
//! | 4007 and resumes repeat events; events come out of order | `inbound::intake`, `interactions::Seen`: by id; `channels`: the server is read before a channel is created again |
//! | events that Discord leaves out appear in a log line only | `gateway::overheard`: channels with new messages are fetched |
//! | resumes without any wait; refusals every five seconds without end | `gateway::pace`, `gateway::turnstile`: a turnstile before every attempt |
//! | after 4003, 4010 and 4011 it spins; on a shared thread this would block all of herder | `gateway::session`: a thread that can be given up; `gateway::overheard` reads the code |
//! | refused requests are not limited, and 10,000 in ten minutes cause a ban | `rest`: one stop for all of them |
//! | 4004, 4013 and 4014 end the client | `gateway::refusal`: explained and given up, or continued without the intent |
//! | a link that is dead or never comes up is not noticed | `gateway::watch` |
//! | events that do not fit the model are dropped silently | `gateway::events`: their messages are fetched, and people are told of failed interactions |
//! | a failed `setup` leaves a bot that receives nothing; nothing is received before it is over | poise runs nothing here; `registration` is a task of its own |
//! | raw errors are shown, a callback is tried twice, second answers are public, buttons and forms end with the process | `interactions`, `reply`, `custom_id` |
//! | the number of shards is requested once, without limits | `gateway`: as many as Discord recommends, requested before every session |
//!
//! Permissions, the meaning of a line, and the wording of posts are decided elsewhere: `crate::access`,
//! `crate::commands`, `crate::outbox`, `crate::l10n`.

mod asks;
mod buttons;
mod channels;
mod completion;
mod custom_id;
mod delivery;
mod directory;
mod examine;
mod forms;
mod gateway;
mod inbound;
mod interactions;
mod linking;
mod live;
mod membership;
mod owing;
mod permission;
mod reactions;
mod registration;
mod reply;
mod rest;
mod status;
mod threads;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as Lock, PoisonError};

use serenity::all::{ApplicationId, ChannelId, Event, GuildId, UserId};
use tokio::sync::{Mutex, broadcast, mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, error};

use crate::chat::Silence;
use crate::commands::Dispatcher;
use crate::config;
use crate::core::detail::DiscordReason;
use crate::core::id::NetworkName;
use crate::core::link::{ChannelWanted, DISCORD_NETWORK, LinkReport, LinkState};
use crate::core::time::Timestamp;
use crate::journal::{Journal, ReadError};
use crate::l10n::Locale;
use crate::outbox::NetworkQueue;
use crate::redact::Redactor;
use crate::supervisor::Fleet;
use crate::tools::Rooms;
use directory::Directory;
pub use examine::{Finding, examine};
pub use gateway::Memory;
use membership::Membership;
use rest::Rest;
use status::Statuses;
use threads::Threads;

/// Capacity of the channel of events about the server. A receiver that falls behind is told so, and reads the whole
/// state again.
const CHANGES_CAPACITY: usize = 256;

/// Settings and handles of herder's other parts that the Discord adapter uses. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Ports {
    /// The section `[discord]` of the configuration.
    pub settings: config::Discord,
    /// The bot's display name, which follows `HEARTBEAT` in lines for programs.
    pub name: String,
    /// The handle to the agents' supervisors.
    pub fleet: Fleet,
    /// The dispatcher, which handles people's lines and commands.
    pub dispatcher: Dispatcher,
    /// The journal, which stores the ids of channels and messages.
    pub journal: Journal,
    /// The queue of pending posts for Discord.
    pub queue: Arc<NetworkQueue>,
    /// The channels that agents have to have, with their topics.
    pub channels: watch::Receiver<Vec<ChannelWanted>>,
    /// The language of posts.
    pub locale: Locale,
    /// Redacts secrets in text that is not sent through the queue.
    pub redactor: Redactor,
    /// Cancelled when no more messages are accepted; later ones are fetched after the next start.
    pub hearing: CancellationToken,
    /// Recent lines of the channels, which agents may read with their tools.
    pub rooms: Rooms,
    /// Maximum wait between two connection attempts, in seconds; the first wait is one second.
    pub longest_wait: u32,
    /// State of the link that outlives one call of [`run`].
    pub memory: Memory,
    /// Measures the time since the last delivered message, also across restarts.
    pub silence: Silence,
}

/// State that all parts of the Discord adapter share.
struct Bot {
    ports: Ports,
    rest: Rest,
    directory: Directory,
    threads: Threads,
    /// The status messages of the agents' sessions.
    statuses: Statuses,
    /// Discord user id of the bot.
    me: UserId,
    application: ApplicationId,
    /// True if the Message Content intent is enabled; otherwise only private messages and those that mention the bot
    /// come with their text.
    content: AtomicBool,
    /// The bot's membership of its server, as far as is known.
    membership: watch::Sender<Membership>,
    /// The known channels of the server; true if the bot can read their messages.
    readable: watch::Sender<BTreeMap<ChannelId, bool>>,
    /// Channels in which the bot may not add reactions.
    unmarkable: Lock<BTreeSet<ChannelId>>,
    /// Receives reports of the link's state for the root supervisor.
    reports: mpsc::Sender<LinkReport>,
    /// Receives events about the server (channels, roles, members, READY), but no messages or interactions.
    changes: broadcast::Sender<Arc<Event>>,
    /// The tasks that handle interactions, one each.
    tasks: TaskTracker,
    /// Ids of the interactions that were handled.
    seen: interactions::Seen,
    /// Forms that were refused, to be opened again.
    drafts: forms::Drafts,
    /// Lock that is held while a pressed button is handled, so that one answer is decided after the other.
    pressing: Mutex<()>,
    /// Receives sent messages with buttons, to be tracked.
    prompts: mpsc::Sender<buttons::Prompt>,
}

impl Bot {
    fn network(&self) -> NetworkName {
        network()
    }

    /// Returns the id of the configured server.
    fn guild(&self) -> GuildId {
        GuildId::new(self.ports.settings.guild)
    }

    /// Returns the time at which Discord gave an id, by this machine's clock.
    fn said_at(&self, id: u64) -> Timestamp {
        self.rest.here(Timestamp::from_millis(inbound::millis_of(id)))
    }

    /// Returns true if messages come with their text (Message Content intent).
    fn sees_content(&self) -> bool {
        self.content.load(Ordering::Relaxed)
    }

    /// Returns true if the bot may add reactions in a channel, as far as is known.
    fn marks(&self, channel: ChannelId) -> bool {
        let around = self.threads.parent(channel).unwrap_or(channel);
        !self.unmarkable.lock().unwrap_or_else(PoisonError::into_inner).contains(&around)
    }

    async fn report(&self, state: LinkState) {
        report(&self.reports, state).await;
    }
}

/// Returns the name of Discord as a network.
fn network() -> NetworkName {
    NetworkName::from(DISCORD_NETWORK)
}

async fn report(reports: &mpsc::Sender<LinkReport>, state: LinkState) {
    if reports.send(LinkReport { network: network(), state }).await.is_err() {
        debug!("nobody takes reports of this link");
    }
}

/// Runs the Discord adapter until `shutdown`, or until Discord refuses the bot for good.
///
/// Each failed attempt is reported with its number and reason. The root supervisor decides when there were too many,
/// says so elsewhere and starts this task again; state that outlives a run is in the journal.
pub async fn run(ports: Ports, reports: mpsc::Sender<LinkReport>, shutdown: CancellationToken) {
    report(&reports, LinkState::Connecting { attempts: 0, reason: None }).await;
    let rest = match Rest::new(&ports.settings, Arc::clone(ports.journal.numbers())).await {
        Ok(rest) => rest,
        Err(error) => {
            let reason = DiscordReason::Client.with(error.to_string());
            return report(&reports, LinkState::Refused { reason }).await;
        }
    };
    let reading = ports.journal.clone();
    let read = move || Ok((Directory::load(&reading)?, Statuses::load(&reading)?));
    let read = tokio::task::spawn_blocking(read).await;
    let (directory, statuses) = match read {
        Ok(Ok(read)) => read,
        Ok::<Result<_, ReadError>, _>(Err(reason)) => {
            return error!(%reason, "the channels that are remembered cannot be read");
        }
        Err(reason) => return error!(%reason, "the channels that are remembered could not be read"),
    };
    let longest = ports.longest_wait;
    let Some(introduced) = gateway::introduce(&rest, &ports.memory, longest, &reports, &shutdown).await
    else {
        return;
    };
    let (prompts, sent) = mpsc::channel(buttons::PROMPTS_CAPACITY);
    let bot = Arc::new(Bot {
        ports,
        rest,
        directory,
        threads: Threads::default(),
        statuses,
        me: introduced.me,
        application: introduced.application,
        content: AtomicBool::new(introduced.content),
        membership: watch::Sender::default(),
        readable: watch::Sender::default(),
        unmarkable: Lock::default(),
        reports,
        changes: broadcast::channel(CHANGES_CAPACITY).0,
        tasks: TaskTracker::new(),
        seen: interactions::Seen::default(),
        drafts: forms::Drafts::default(),
        pressing: Mutex::new(()),
        prompts,
    });
    work(&bot, introduced, sent, &shutdown).await;
    bot.tasks.close();
}

/// Runs all parts until the link is given up or `shutdown` is cancelled. A part that panics ends all, and a new
/// adapter is started.
async fn work(
    bot: &Arc<Bot>,
    introduced: gateway::Introduced,
    prompts: mpsc::Receiver<buttons::Prompt>,
    shutdown: &CancellationToken,
) {
    let (events, heard) = mpsc::channel(inbound::EVENTS_CAPACITY);
    let mut parts = JoinSet::new();
    parts.spawn(inbound::run(Arc::clone(bot), heard));
    parts.spawn(delivery::run(Arc::clone(bot), shutdown.clone()));
    parts.spawn(live::run(Arc::clone(bot)));
    parts.spawn(channels::keep(Arc::clone(bot), bot.ports.channels.clone(), bot.changes.subscribe()));
    parts.spawn(registration::keep(Arc::clone(bot), bot.changes.subscribe()));
    parts.spawn(buttons::keep(Arc::clone(bot), prompts));
    parts.spawn(linking::keep(Arc::clone(bot)));
    parts.spawn(linking::answer(Arc::clone(bot)));
    parts.spawn(owing::make_up_for(Arc::clone(bot)));
    let mut link = std::pin::pin!(gateway::keep(Arc::clone(bot), introduced, events, shutdown.clone()));
    loop {
        tokio::select! {
            () = &mut link => break,
            Some(ended) = parts.join_next() => {
                if let Err(reason) = ended {
                    error!(%reason, "a part of the Discord adapter died; the adapter is started anew");
                    return;
                }
            }
        }
    }
    // Messages in progress are finished, and pending posts are sent while time permits.
    parts.shutdown().await;
}
