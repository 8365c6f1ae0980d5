//! Discord, by serenity and poise.
//!
//! ```text
//!  gateway ── events ─┬─► inbound       messages ─► commands ─► supervisors      (missed ones fetched, each worked on once)
//!   (serenity)        ├─► interactions  slash commands, completion, forms, buttons
//!                     └─► channels      what is gone is made again
//!  outbox queue ──────► delivery ─► rest ─► Discord                              (nonce, own retries, order per channel)
//!  fleet's views ─────► live, reactions, channels (topics)
//! ```
//!
//! | file | what happens there |
//! |---|---|
//! | `gateway` | the link: serenity's session life, and what it lacks |
//! | `inbound` | what people write |
//! | `directory` | which channel is which, remembered by id |
//! | `channels` | the channels as they should be: made, found again, given topics, archived |
//! | `permission` | what herder must be allowed to do, and whether it is |
//! | `threads` | threads, and the channels that they are in |
//! | `membership` | whether the bot is in its server |
//! | `examine` | what `herder check` asks Discord |
//! | `rest` | the one way out: limits, retries, one function per request |
//! | `delivery` | what is owed to Discord |
//! | `absence` | for how long nothing was sent |
//! | `reactions` | marks on people's messages: queued, running, done |
//! | `status` | the message of a session that changes with it |
//! | `live` | what the running sessions do, in that message |
//! | `registration` | the table of commands as application commands, registered when it changed |
//! | `interactions`, `reply` | what people ask by them, and how it is answered |
//! | `owing` | answers that an earlier herder owed when it ended |
//! | `completion` | what somebody who is typing probably means |
//! | `custom_id` | what buttons and forms say about themselves |
//! | `linking` | roles of people who are somebody elsewhere too |
//! | `buttons` | what stands under posts |
//! | `asks` | ✅ ❌ 🔁 under what an agent asks |
//!
//! # What serenity and poise leave open, and who closes it
//!
//! | left open | closed by |
//! |---|---|
//! | the proxy is ignored by the rate limiter; 5xx and lost answers are not tried again, nothing has a limit in time; after a global 429 the others go on | `rest`: the only way out, with a client, limits, retries and patience of its own; serenity asks nothing for herder |
//! | a message whose answer was lost would be sent twice | `delivery`: nonces that Discord enforces, one message under way per channel |
//! | without more said, `@everyone` and previews in posts count | `rest`: every message that goes out pings nobody and fetches nothing |
//! | if `GET /gateway` fails, the address is a wrong one for good; `max_concurrency` and the session start limit are not looked at | `gateway`: asked until it is answered, before every session; no try when no login is left |
//! | new sessions (4009, op 9, a link that is dead, a resume that fails) lose events | `inbound`: what was missed is fetched on every READY, each message once |
//! | 4007 and resumes repeat events; events come in another order | `inbound::intake`, `interactions::Seen`: by id; `channels`: the server is asked before a channel is made again |
//! | events that Discord leaves out are noted in a log line | `gateway::overheard`: channels with news are looked at |
//! | resumes without any wait; refusals every five seconds without end | `gateway::pace`, `gateway::turnstile`: a turnstile before every try |
//! | after 4003, 4010 and 4011 it spins; a thread of its own would take all of herder with it | `gateway::session`: a thread that can be given up; `gateway::overheard` hears the code |
//! | refused requests have no measure, and 10,000 in ten minutes are a ban | `rest`: one stop for all of them |
//! | 4004, 4013 and 4014 end the client | `gateway::refusal`: explained and given up, or gone on with without the intent |
//! | nobody notices a link that is dead or never comes up | `gateway::watch` |
//! | events that do not fit the model are dropped in silence | `gateway::events`: what they are about is fetched, whoever asks is told |
//! | a failed `setup` leaves a bot that hears nothing; nothing is heard before it is over | poise runs nothing here; `registration` is a task of its own |
//! | raw errors are shown, a callback is tried twice, second answers are public, buttons and forms die with the process | `interactions`, `reply`, `custom_id` |
//! | sharding asks once and knows no limits | `gateway`: as many as Discord recommends, asked before every session |
//!
//! What somebody may do, what a line means and what is said in which words is not known here: `crate::access`,
//! `crate::commands`, `crate::outbox`, `crate::l10n`.

mod absence;
mod asks;
mod buttons;
mod channels;
mod completion;
mod custom_id;
mod delivery;
mod directory;
mod examine;
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

use crate::chat::{ChannelWanted, LinkReport, LinkState};
use crate::commands::Dispatcher;
use crate::config::{self, DISCORD_NETWORK};
use crate::core::detail::DiscordReason;
use crate::core::id::NetworkName;
use crate::core::time::Timestamp;
use crate::journal::{Journal, ReadError};
use crate::l10n::Locale;
use crate::outbox::{NetworkQueue, Redactor};
use crate::supervisor::Fleet;
use crate::tools::Rooms;
pub use absence::Silence;
use directory::Directory;
pub use examine::{Finding, examine};
pub use gateway::Memory;
use membership::Membership;
use rest::Rest;
use status::Statuses;
use threads::Threads;

/// Events of the guild that wait for those who follow them. Who falls behind is told and looks at everything anew.
const CHANGES_CAPACITY: usize = 256;

/// What the adapter works with. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Ports {
    /// What the configuration says.
    pub settings: config::Discord,
    /// The display name, which follows `HEARTBEAT`.
    pub name: String,
    /// The agents.
    pub fleet: Fleet,
    /// What people ask goes here.
    pub dispatcher: Dispatcher,
    /// Where ids are remembered.
    pub journal: Journal,
    /// What is owed to Discord.
    pub queue: Arc<NetworkQueue>,
    /// The agents' channels and their topics, as they should be.
    pub channels: watch::Receiver<Vec<ChannelWanted>>,
    /// The language of posts.
    pub locale: Locale,
    /// Takes secrets out of what does not pass the outbox.
    pub redactor: Redactor,
    /// Cancelled when no more speech is taken in; what is said then is fetched after the next start.
    pub hearing: CancellationToken,
    /// What agents may read of what is said.
    pub rooms: Rooms,
    /// The longest wait between two tries to connect, in seconds: the first is one.
    pub longest_wait: u32,
    /// What has to outlive one [`run`].
    pub memory: Memory,
    /// For how long nothing was sent, and since when that was known: an earlier herder's last sign of life, then this one's.
    pub silence: Silence,
}

/// What every part works with.
struct Bot {
    ports: Ports,
    rest: Rest,
    directory: Directory,
    threads: Threads,
    /// The messages that say how the agents' sessions stand.
    statuses: Statuses,
    /// Who we are there.
    me: UserId,
    application: ApplicationId,
    /// Whether we see what messages say; without it only those that mention us, and those in private.
    content: AtomicBool,
    /// Whether we are in our server.
    membership: watch::Sender<Membership>,
    /// The channels of the server that are known, and whether what was said there can be read.
    readable: watch::Sender<BTreeMap<ChannelId, bool>>,
    /// Those of them where herder may not mark what people say.
    unmarkable: Lock<BTreeSet<ChannelId>>,
    /// How the link stands is told to whoever keeps the adapter.
    reports: mpsc::Sender<LinkReport>,
    /// Events of the guild: channels, roles, members, READY. No messages, no interactions.
    changes: broadcast::Sender<Arc<Event>>,
    /// Tasks that belong to one interaction each.
    tasks: TaskTracker,
    /// Interactions that were taken up.
    seen: interactions::Seen,
    /// Held while an answer by a button is decided.
    pressing: Mutex<()>,
    /// Messages with buttons, to be followed.
    prompts: mpsc::Sender<buttons::Prompt>,
}

impl Bot {
    fn network(&self) -> NetworkName {
        network()
    }

    /// The server.
    fn guild(&self) -> GuildId {
        GuildId::new(self.ports.settings.guild)
    }

    /// When something was made or said, by its id, as this machine's clock has it.
    fn said_at(&self, id: u64) -> Timestamp {
        self.rest.here(Timestamp::from_millis(inbound::millis_of(id)))
    }

    /// Whether messages come with what they say.
    fn sees_content(&self) -> bool {
        self.content.load(Ordering::Relaxed)
    }

    /// Whether herder may mark what is said in a channel, as far as is known.
    fn marks(&self, channel: ChannelId) -> bool {
        let around = self.threads.parent(channel).unwrap_or(channel);
        !self.unmarkable.lock().unwrap_or_else(PoisonError::into_inner).contains(&around)
    }

    async fn report(&self, state: LinkState) {
        report(&self.reports, state).await;
    }
}

/// Discord's name as a network.
fn network() -> NetworkName {
    NetworkName::from(DISCORD_NETWORK)
}

async fn report(reports: &mpsc::Sender<LinkReport>, state: LinkState) {
    if reports.send(LinkReport { network: network(), state }).await.is_err() {
        debug!("nobody takes reports of this link");
    }
}

/// Keeps Discord until `shutdown`, or until Discord refuses us for good.
///
/// Every failed attempt is reported with its number and reason; deciding that there were too many, saying so elsewhere and
/// starting this anew is the root supervisor's. What has to outlast one run is in the journal.
pub async fn run(ports: Ports, reports: mpsc::Sender<LinkReport>, shutdown: CancellationToken) {
    report(&reports, LinkState::Connecting { attempts: 0, reason: None }).await;
    let rest = match Rest::new(&ports.settings).await {
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
        pressing: Mutex::new(()),
        prompts,
    });
    work(&bot, introduced, sent, &shutdown).await;
    bot.tasks.close();
}

/// Runs all parts until the link is given up or `shutdown` is cancelled; a part that dies ends all, and a new adapter is
/// made.
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
    // What was taken in is finished, what is owed is sent as far as there is time.
    parts.shutdown().await;
}
