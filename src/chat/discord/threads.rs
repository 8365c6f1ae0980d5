//! Threads and their channels: a message in a thread of an agent's channel is for that agent, and answered in the thread.
//!
//! Discord lists no threads among a server's channels, and does not report archived ones. Known are the threads that
//! the gateway reported; an unknown channel is requested once. If herder may not speak in a thread, e.g. a locked
//! one, the answer goes to its channel.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

use serenity::all::{ChannelId, Guild, GuildChannel};
use tracing::{debug, warn};

use super::Bot;
use super::directory::Purpose;
use super::rest::{Rest, RestError};
use crate::core::speech::Place;

/// Maximum number of channels and threads that are remembered. Beyond it inactive threads and other channels are
/// removed; they are requested again.
const KNOWN_MAX: usize = 4096;
/// Wait before an unknown channel is requested again after a failure.
const AGAIN: Duration = Duration::from_secs(5);

/// The known properties of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Thread {
    parent: ChannelId,
    /// True if the thread is not archived.
    in_use: bool,
    /// True if herder may not speak in the thread.
    is_closed: bool,
}

/// The known threads by id; `None` for a channel that is not a thread. See the module.
#[derive(Debug, Default)]
pub(super) struct Threads(RwLock<HashMap<ChannelId, Option<Thread>>>);

impl Threads {
    /// Updates the known threads from the description of the server: those that it does not list are archived or gone.
    pub(super) fn saw_all(&self, guild: &Guild) {
        self.known().values_mut().flatten().for_each(|thread| thread.in_use = false);
        guild.threads.iter().for_each(|thread| self.saw(thread));
    }

    /// Records a thread that was created, changed, or found.
    pub(super) fn saw(&self, thread: &GuildChannel) {
        let Some(metadata) = &thread.thread_metadata else { return };
        let Some(parent) = thread.parent_id else { return };
        self.learn(thread.id, Some(Thread { parent, in_use: !metadata.archived, is_closed: false }));
    }

    /// Records that a thread was deleted.
    pub(super) fn saw_gone(&self, thread: ChannelId) {
        if let Some(Some(thread)) = self.known().get_mut(&thread) {
            thread.in_use = false;
        }
    }

    /// Records that herder may not speak in a thread. Returns true if `thread` is a thread: pending posts then go to
    /// the channel around it.
    pub(super) fn close(&self, thread: ChannelId) -> bool {
        match self.known().get_mut(&thread) {
            Some(Some(thread)) => !std::mem::replace(&mut thread.is_closed, true),
            Some(None) | None => false,
        }
    }

    /// Records that a thread is gone and that posts for it go to `channel`. Returns true if that was not known.
    pub(super) fn replace(&self, thread: ChannelId, channel: ChannelId) -> bool {
        let gone = Some(Thread { parent: channel, in_use: false, is_closed: true });
        let is_news = self.known().get(&thread) != Some(&gone);
        self.learn(thread, gone);
        is_news
    }

    /// Marks all threads as open to herder again, after a change of permissions.
    pub(super) fn open_all(&self) {
        self.known().values_mut().flatten().for_each(|thread| thread.is_closed = false);
    }

    /// Returns the channel to which posts for `channel` go: the channel around a thread if herder may not speak in the
    /// thread, else `channel` itself.
    pub(super) fn spoken_in(&self, channel: ChannelId) -> ChannelId {
        match self.known().get(&channel) {
            Some(Some(thread)) if thread.is_closed => thread.parent,
            Some(_) | None => channel,
        }
    }

    /// Returns the channel around a thread; `None` if it is unknown or no thread.
    pub(super) fn parent(&self, thread: ChannelId) -> Option<ChannelId> {
        self.known().get(&thread).copied().flatten().map(|thread| thread.parent)
    }

    /// Returns true if the channel is a thread that is not archived, as far as is known.
    pub(super) fn is_in_use(&self, thread: ChannelId) -> bool {
        self.known().get(&thread).copied().flatten().is_some_and(|thread| thread.in_use)
    }

    fn learn(&self, channel: ChannelId, thread: Option<Thread>) {
        let mut known = self.known();
        if known.len() >= KNOWN_MAX {
            known.retain(|_, thread| thread.is_some_and(|thread| thread.in_use));
        }
        known.insert(channel, thread);
    }

    fn known(&self) -> RwLockWriteGuard<'_, HashMap<ChannelId, Option<Thread>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bot {
    /// Returns the channel around a thread; `Ok(None)` if `channel` is no thread. An unknown channel is requested until
    /// Discord answers, because a task must not be taken for talk. `Err` if intake closes.
    pub(super) async fn parent_of(&self, channel: ChannelId) -> Result<Option<ChannelId>, Unheard> {
        loop {
            if let Some(known) = self.threads.known().get(&channel) {
                return Ok(known.map(|thread| thread.parent));
            }
            if self.readable.borrow().contains_key(&channel) {
                return Ok(None);
            }
            match self.ask_what_is(&self.rest, channel).await {
                Ok(()) => {}
                Err(error) if error.is_worth_another_try() => {
                    warn!(%channel, %error, "it is not told what a channel is; what was said there waits");
                    tokio::select! {
                        () = self.ports.hearing.cancelled() => return Err(Unheard),
                        () = tokio::time::sleep(AGAIN) => {}
                    }
                }
                Err(error) => {
                    debug!(%channel, %error, "a channel cannot be asked for");
                    return Ok(None);
                }
            }
        }
    }

    /// Requests an unknown channel and records whether it is a thread.
    pub(super) async fn ask_what_is(&self, rest: &Rest, channel: ChannelId) -> Result<(), RestError> {
        match rest.channel(channel).await {
            Ok(found) => {
                self.threads.learn(channel, None);
                self.threads.saw(&found);
            }
            // A channel of an unknown kind.
            Err(RestError::Unreadable { foreign: false, .. }) => self.threads.learn(channel, None),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Returns a channel of the server as a place for the dispatcher. `parent` is the channel around it if it is a
    /// thread.
    pub(super) fn place_of(&self, channel: ChannelId, parent: Option<ChannelId>) -> Place {
        let own = self.directory.purpose(channel);
        let parent = parent.and_then(|parent| self.directory.purpose(parent));
        place(channel, own.as_ref(), parent.as_ref(), &self.ports.settings.control_channel)
    }

    /// Returns the purpose of a channel; for a thread that of the channel around it.
    pub(super) fn purpose_around(&self, channel: ChannelId) -> Option<Purpose> {
        let of_parent = || self.directory.purpose(self.threads.parent(channel)?);
        self.directory.purpose(channel).or_else(of_parent)
    }
}

/// The error for a message that is not handled because intake has closed.
#[derive(Debug)]
pub(super) struct Unheard;

fn place(channel: ChannelId, own: Option<&Purpose>, parent: Option<&Purpose>, control: &str) -> Place {
    let named = |purpose: &Purpose| match purpose {
        Purpose::Agent(agent) => Some(format!("#{agent}")),
        Purpose::Control => Some(format!("#{control}")),
        Purpose::Alerts | Purpose::Work | Purpose::Category(_) | Purpose::Archive(_) => None,
    };
    let id = channel.to_string();
    match (own, parent.and_then(named)) {
        (Some(own), _) => Place::Channel(named(own).unwrap_or(id)),
        (None, Some(of)) => Place::Thread { of, id },
        (None, None) => Place::Channel(id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::id::AgentName;

    const THREAD: ChannelId = ChannelId::new(60);

    fn thread(parent: u64) -> Thread {
        Thread { parent: ChannelId::new(parent), in_use: true, is_closed: false }
    }

    #[test]
    fn places_have_the_names_that_commands_know() {
        let agent = Purpose::Agent(AgentName::new("spark").expect("a good name"));
        let of = |own, parent| place(THREAD, own, parent, "herder");
        let channel = |name: &str| Place::Channel(name.to_owned());
        let thread = |of: &str| Place::Thread { of: of.to_owned(), id: "60".to_owned() };
        assert_eq!(of(Some(&agent), None), channel("#spark"));
        // A category is not a place for commands.
        assert_eq!(of(Some(&agent), Some(&Purpose::Category(0))), channel("#spark"));
        assert_eq!(of(Some(&Purpose::Control), None), channel("#herder"));
        assert_eq!(of(Some(&Purpose::Alerts), None), channel("60"));
        assert_eq!(of(None, None), channel("60"));
        assert_eq!(of(None, Some(&agent)), thread("#spark"));
        assert_eq!(of(None, Some(&Purpose::Control)), thread("#herder"));
        assert_eq!(of(None, Some(&Purpose::Category(0))), channel("60"));
    }

    #[test]
    fn what_cannot_be_said_in_a_thread_is_said_in_its_channel_until_it_can() {
        let threads = Threads::default();
        let parent = ChannelId::new(50);
        assert!(!threads.close(THREAD), "nobody knows it");
        threads.learn(THREAD, Some(thread(50)));
        assert_eq!((threads.spoken_in(THREAD), threads.parent(THREAD)), (THREAD, Some(parent)));
        assert!(threads.close(THREAD) && !threads.close(THREAD), "it is said once");
        assert_eq!(threads.spoken_in(THREAD), parent);
        threads.open_all();
        assert_eq!(threads.spoken_in(THREAD), THREAD);
    }

    #[test]
    fn threads_in_use_are_remembered_however_many_others_there_are() {
        let threads = Threads::default();
        threads.learn(THREAD, Some(thread(50)));
        for id in 1000..1000 + 2 * KNOWN_MAX as u64 {
            threads.learn(ChannelId::new(id), None);
        }
        assert_eq!(threads.parent(THREAD), Some(ChannelId::new(50)));
        assert!(threads.known().len() <= KNOWN_MAX);
        threads.saw_gone(THREAD);
        assert!(!threads.is_in_use(THREAD));
    }
}
