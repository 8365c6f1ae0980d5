//! Dispatch of serenity's events to the parts of the adapter.
//!
//! serenity runs each event in a task of its own. On its single thread these tasks are first polled in order, and
//! nothing here waits before an event is passed on, so that the order is kept.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use serenity::all::{Context, Event, RawEventHandler, UnknownEvent};
use serenity::async_trait;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tracing::{debug, error, warn};

use super::super::inbound::{Heard, Lost};
use super::super::{Bot, interactions, membership};

/// Capacity of the channel that reports connected shards: their maximum number.
const UP_CAPACITY: usize = 64;

/// The report that a shard is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Up {
    /// Number of the shard, from 0.
    pub(super) shard: u32,
}

/// The event handler that serenity calls; it passes events on to the parts of the adapter.
pub(super) struct Fanout {
    bot: Arc<Bot>,
    heard: mpsc::Sender<Heard>,
    up: mpsc::Sender<Up>,
    /// The async runtime of the adapter; serenity runs on a thread of its own.
    runtime: Handle,
    seen: AtomicU64,
    /// The events that were lost because the queue is full; `None` while there is room.
    lost: Arc<Mutex<Option<Box<Lost>>>>,
}

impl Fanout {
    /// Creates the handler, which puts messages into `heard`. Has to be called on the adapter's runtime.
    pub(super) fn new(bot: Arc<Bot>, heard: mpsc::Sender<Heard>) -> (Arc<Self>, mpsc::Receiver<Up>) {
        let (up, ups) = mpsc::channel(UP_CAPACITY);
        let (runtime, seen, lost) = (Handle::current(), AtomicU64::new(0), Arc::default());
        (Arc::new(Self { bot, heard, up, runtime, seen, lost }), ups)
    }

    /// Returns the number of events that have arrived.
    pub(super) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// Handles the report that Discord left out events: the messages in them are fetched.
    pub(super) fn skipped(&self) {
        warn!("Discord left out events; channels with news are looked at");
        self.hear(Heard::Skipped);
    }

    fn hear(&self, heard: Heard) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lost) = &mut *lost {
            return lost.note(heard);
        }
        let Err(mpsc::error::TrySendError::Full(heard)) = self.heard.try_send(heard) else { return };
        warn!("messages come faster than they are taken in; what is lost is fetched");
        let mut first = Box::new(Lost::new(self.bot.guild()));
        first.note(heard);
        *lost = Some(first);
        let (heard, lost) = (self.heard.clone(), Arc::clone(&self.lost));
        let tell = async move {
            let room = heard.reserve_owned().await;
            // No event comes between the lost ones and those received from here on.
            let mut lost = lost.lock().unwrap_or_else(PoisonError::into_inner);
            if let (Ok(room), Some(lost)) = (room, lost.take()) {
                room.send(Heard::Missed(lost));
            }
        };
        self.bot.tasks.spawn_on(tell, &self.runtime);
    }

    /// Passes on an event about the server, its members or the link, to all parts that follow them.
    fn tell(&self, event: Event) {
        if self.bot.changes.send(Arc::new(event)).is_err() {
            debug!("nobody follows the guild");
        }
    }

    /// Handles an event that serenity could not parse: its content is lost, but its kind and channel are known, so that
    /// the messages can be fetched.
    fn unreadable(&self, event: UnknownEvent) {
        let (kind, about) = (event.kind.as_str(), |field: &str| event.value[field].as_str()?.parse().ok());
        match kind {
            "MESSAGE_CREATE" | "MESSAGE_UPDATE" | "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK" => {
                warn!(kind, "an event cannot be read; what it tells of is fetched");
                let guild: Option<u64> = about("guild_id");
                let is_ours = guild.is_none_or(|guild| guild == self.bot.guild().get());
                if let Some(channel) = about("channel_id").filter(|_| is_ours) {
                    let created = about("id").filter(|_| kind == "MESSAGE_CREATE");
                    self.hear(Heard::Unreadable { channel, created, direct: guild.is_none() });
                }
            }
            "INTERACTION_CREATE" => {
                warn!(kind, "an event cannot be read; whoever asked is told so");
                let bot = Arc::clone(&self.bot);
                let answer = async move { interactions::unreadable(&bot, &event.value).await };
                self.bot.tasks.spawn_on(answer, &self.runtime);
            }
            _ if is_of_the_guild(kind) => {
                warn!(kind, "an event cannot be read; what it tells of is looked at");
                self.tell(Event::Unknown(event));
            }
            // Discord often adds events that do not concern herder.
            _ => debug!(kind, "an event that is not known"),
        }
    }

    fn is_up(&self, shard: u32) {
        if self.up.try_send(Up { shard }).is_err() {
            debug!(shard, "nobody waits for this shard");
        }
    }
}

/// Returns true if events of this kind concern the server's channels or permissions.
fn is_of_the_guild(kind: &str) -> bool {
    matches!(
        kind,
        "GUILD_CREATE"
            | "GUILD_UPDATE"
            | "CHANNEL_CREATE"
            | "CHANNEL_UPDATE"
            | "CHANNEL_DELETE"
            | "GUILD_ROLE_CREATE"
            | "GUILD_ROLE_UPDATE"
            | "GUILD_ROLE_DELETE"
            | "GUILD_MEMBER_UPDATE"
    )
}

#[async_trait]
impl RawEventHandler for Fanout {
    async fn raw_event(&self, context: Context, event: Event) {
        self.seen.fetch_add(1, Ordering::Relaxed);
        // Has to be known before the shard counts as up.
        if let Some(told) = membership::told(&event, self.bot.guild()) {
            self.bot.membership.send_if_modified(|known| std::mem::replace(known, told) != told);
        }
        match event {
            Event::MessageCreate(event) => self.hear(Heard::Said(Box::new(event.message))),
            Event::MessageUpdate(event) => self.hear(Heard::Edited(Box::new(event))),
            Event::MessageDelete(event) => {
                self.hear(Heard::Deleted(event.channel_id, vec![event.message_id]));
            }
            Event::MessageDeleteBulk(event) => self.hear(Heard::Deleted(event.channel_id, event.ids)),
            Event::InteractionCreate(event) => {
                let bot = Arc::clone(&self.bot);
                let answer = async move {
                    let answer = AssertUnwindSafe(interactions::handle(&bot, event.interaction));
                    // A panic in one interaction must not end the others.
                    if answer.catch_unwind().await.is_err() {
                        error!("an interaction made herder panic");
                    }
                };
                self.bot.tasks.spawn_on(answer, &self.runtime);
            }
            Event::Ready(_) => {
                self.hear(Heard::Ready);
                self.is_up(context.shard_id.0);
                self.tell(event);
            }
            Event::Resumed(_) => self.is_up(context.shard_id.0),
            Event::GuildCreate(created) => {
                if created.guild.id == self.bot.guild() {
                    self.bot.threads.saw_all(&created.guild);
                }
                self.hear(Heard::Guild(Box::new(created.guild.clone())));
                self.tell(Event::GuildCreate(created));
            }
            // Has to be known before any message in the thread is passed on.
            Event::ThreadCreate(event) => self.bot.threads.saw(&event.thread),
            Event::ThreadUpdate(event) => self.bot.threads.saw(&event.thread),
            Event::ThreadDelete(event) => self.bot.threads.saw_gone(event.thread.id),
            Event::ThreadListSync(event) => {
                event.threads.iter().for_each(|thread| self.bot.threads.saw(thread));
                self.hear(Heard::Threads(event.threads));
            }
            Event::Unknown(event) => self.unreadable(event),
            other => self.tell(other),
        }
    }
}
