//! Mapping between purposes and Discord channels.
//!
//! Channels that herder created or found are stored by id ([`Memo`]), so that a renamed or moved channel stays the
//! same one. The directory holds the channels that posts can be sent to now; [`super::channels`] creates them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError, RwLock};

use serde::{Deserialize, Serialize};
use serenity::all::ChannelId;
use tokio::sync::{Notify, watch};
use tracing::warn;

use crate::core::id::AgentName;
use crate::core::link::DISCORD_NETWORK;
use crate::core::post::Target;
use crate::journal::{CommitError, Journal, Memo, ReadError};

/// The purpose for which herder uses a channel or category.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Purpose {
    /// A category for the agents' channels: the first one (0), and further ones when it is full.
    Category(u16),
    /// A category for the channels of removed agents; there can be several.
    Archive(u16),
    /// The channel for alerts.
    Alerts,
    /// The channel for the lines about tasks that programs read.
    Work,
    /// The channel in which people give commands to herder itself.
    Control,
    /// The channel of an agent.
    Agent(AgentName),
}

impl Purpose {
    fn key(&self) -> String {
        let what = match self {
            Self::Category(number) => return format!("{PREFIX}category/{number}"),
            Self::Archive(number) => return format!("{PREFIX}archive/{number}"),
            Self::Alerts => "alerts",
            Self::Work => "work",
            Self::Control => "control",
            Self::Agent(agent) => return format!("{PREFIX}agent/{agent}"),
        };
        format!("{PREFIX}{what}")
    }
}

/// Prefix of the journal's keys under which channel ids are stored.
const PREFIX: &str = "discord/channel/";

/// A channel as it is stored in the journal.
#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    purpose: Purpose,
    id: u64,
}

/// herder's channels on the Discord server that are known now, by purpose; they are stored in the journal.
#[derive(Debug, Default)]
pub(super) struct Directory {
    known: RwLock<Known>,
    /// Counter of changes, on which tasks wait that need a channel.
    changes: watch::Sender<u64>,
    /// Channels whose known state turned out wrong and that are still to be examined by [`super::channels`]. Each
    /// occurs once, so that the map is no larger than the directory.
    doubts: Mutex<BTreeMap<ChannelId, Doubt>>,
    doubted: Notify,
    outlook: Mutex<Outlook>,
}

/// Certainty that an unknown channel is not one of herder's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Outlook {
    /// Wanted channels are missing and the server was not read yet: any unknown channel may be one of them.
    #[default]
    Unseen,
    /// Wanted channels are being created: a new unknown channel may be one of them.
    Making,
    /// All existing channels of herder's are known, so that an unknown channel is none of them.
    Settled,
}

/// A problem with a channel that was found by a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Discord does not know the channel (error 10003).
    Gone,
    /// herder lacks a permission in the channel (errors 50001, 50013).
    Denied,
}

#[derive(Debug, Default)]
struct Known {
    by_purpose: HashMap<Purpose, ChannelId>,
    by_id: HashMap<ChannelId, Purpose>,
}

impl Directory {
    /// Loads the stored channels from the journal. Blocks.
    pub(super) fn load(journal: &Journal) -> Result<Self, ReadError> {
        let directory = Self::default();
        for (key, value) in journal.memos(PREFIX)? {
            match serde_json::from_str::<Remembered>(&value) {
                Ok(Remembered { purpose, id }) if id != 0 => directory.set(purpose, ChannelId::new(id)),
                Ok(_) | Err(_) => {
                    warn!(key, "what is remembered of a channel cannot be read; it is looked for")
                }
            }
        }
        Ok(directory)
    }

    /// Returns the channel to which posts for `target` go; `None` if it does not exist or the target is a person.
    pub(super) fn of_target(&self, target: &Target) -> Option<ChannelId> {
        let purpose = match target {
            Target::Agent(agent) => Purpose::Agent(agent.clone()),
            Target::Alerts => Purpose::Alerts,
            Target::Work => Purpose::Work,
            Target::Control => Purpose::Control,
            Target::Channel(id) => return id.parse().ok().filter(|id| *id != 0).map(ChannelId::new),
            Target::Person(_) => return None,
        };
        self.of(&purpose)
    }

    /// Returns the id of the channel with this purpose; `None` if it does not exist.
    pub(super) fn of(&self, purpose: &Purpose) -> Option<ChannelId> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).by_purpose.get(purpose).copied()
    }

    /// Returns the purpose of a channel; `None` if it is not herder's.
    pub(super) fn purpose(&self, channel: ChannelId) -> Option<Purpose> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).by_id.get(&channel).cloned()
    }

    /// Returns the purposes and ids of all of herder's channels that are known.
    pub(super) fn all(&self) -> Vec<(Purpose, ChannelId)> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.by_purpose.iter().map(|(purpose, id)| (purpose.clone(), *id)).collect()
    }

    /// Returns a counter that changes whenever a channel becomes known or is forgotten, or the certainty changes: posts
    /// that waited for a channel can be sent.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Records that a request about a channel was refused, so that the channel is examined. One that is gone is
    /// forgotten and created again.
    pub(super) fn doubt(&self, channel: ChannelId, doubt: Doubt) {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner).insert(channel, doubt);
        self.doubted.notify_one();
    }

    /// Sets how certain it is that all of herder's channels are known.
    pub(super) fn is_as_sure(&self, now: Outlook) {
        let before =
            std::mem::replace(&mut *self.outlook.lock().unwrap_or_else(PoisonError::into_inner), now);
        if before != now {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    pub(super) fn outlook(&self) -> Outlook {
        *self.outlook.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if an unknown channel may be one of herder's that was just created or is not found yet: people can
    /// write there before Discord has answered.
    pub(super) fn may_be_ours(&self, channel: ChannelId) -> bool {
        self.outlook() != Outlook::Settled && self.purpose(channel).is_none()
    }

    /// Waits for channels that have to be examined and takes them. Only one task may wait at a time.
    pub(super) async fn doubted(&self) -> BTreeMap<ChannelId, Doubt> {
        loop {
            self.doubted.notified().await;
            let doubts = std::mem::take(&mut *self.doubts.lock().unwrap_or_else(PoisonError::into_inner));
            if !doubts.is_empty() {
                return doubts;
            }
        }
    }

    /// Stores the id of a channel that was created or found; it is on disk when this returns.
    pub(super) async fn learn(
        &self,
        journal: &Journal,
        purpose: Purpose,
        channel: ChannelId,
    ) -> Result<(), CommitError> {
        let remembered = Remembered { purpose: purpose.clone(), id: channel.get() };
        let value = serde_json::to_string(&remembered)
            .map_err(|error| CommitError::Invalid(format!("a channel of {DISCORD_NETWORK}: {error}")))?;
        journal.remember(vec![Memo { key: purpose.key(), value: Some(value) }]).await?;
        self.set(purpose, channel);
        Ok(())
    }

    /// Removes a channel that is gone or is not herder's any more, also from the journal.
    pub(super) async fn forget(&self, journal: &Journal, purpose: &Purpose) -> Result<(), CommitError> {
        journal.remember(vec![Memo { key: purpose.key(), value: None }]).await?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = known.by_purpose.remove(purpose) {
            known.by_id.remove(&id);
        }
        drop(known);
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }

    fn set(&self, purpose: Purpose, channel: ChannelId) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = known.by_purpose.insert(purpose.clone(), channel) {
            known.by_id.remove(&before);
        }
        known.by_id.insert(channel, purpose);
        drop(known);
        self.changes.send_modify(|count| *count += 1);
    }
}
