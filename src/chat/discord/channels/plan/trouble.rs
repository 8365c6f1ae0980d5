//! Problems that people have to solve: missing permissions, and a full server.

use std::collections::{BTreeMap, BTreeSet};

use serenity::all::{ChannelId, Permissions};
use tokio::time::Instant;

use super::super::super::directory::{Outlook, Purpose};
use super::super::super::permission::{self, Needed};
use super::super::seen::{Kind, There};
use super::Plan;

/// A problem with channels that people have to solve.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Trouble {
    /// The bot lacks a permission: on the whole server (`None`), or in one channel.
    Permission { needed: Needed, channel: Option<ChannelId> },
    /// The server has no room for more channels.
    Full,
}

impl Plan {
    pub(super) fn may(&self, permission: Permissions, channel: Option<ChannelId>) -> bool {
        let Some(standing) = &self.standing else { return true };
        let there = channel.and_then(|id| self.there.as_ref()?.get(&id));
        there.map_or_else(|| standing.base(), |there| standing.within(&there.overwrites)).contains(permission)
    }

    /// Returns the present problems that were not announced yet. A solved problem is announced again when it comes
    /// back.
    pub(in super::super) fn troubles(&mut self) -> Vec<Trouble> {
        let now = self.all_troubles();
        let new = now.difference(&self.said).cloned().collect();
        self.said = now;
        new
    }

    fn all_troubles(&self) -> BTreeSet<Trouble> {
        let mut troubles: BTreeSet<Trouble> = self.denied.clone().into_iter().collect();
        if self.guild_full.is_some() {
            troubles.insert(Trouble::Full);
        }
        let (Some(standing), Some(there)) = (&self.standing, &self.there) else { return troubles };
        let base = standing.base();
        troubles
            .extend(permission::missing(base).map(|needed| Trouble::Permission { needed, channel: None }));
        for (purpose, id) in &self.known {
            let archived = matches!(purpose, Purpose::Agent(agent) if !self.agents.contains(agent));
            let Some(channel) = there.get(id).filter(|_| !archived) else { continue };
            let above = channel.parent.and_then(|parent| there.get(&parent));
            let above = above.map_or(base, |above| standing.within(&above.overwrites));
            // A permission missing at a higher level is announced there.
            let lacking = permission::missing_in_channel(standing.within(&channel.overwrites))
                .filter(|needed| base.contains(needed.permission()) && above.contains(needed.permission()));
            troubles.extend(lacking.map(|needed| Trouble::Permission { needed, channel: Some(*id) }));
        }
        troubles
    }

    /// Returns all channels of the server, each with true if the bot can read messages there; `None` if that is unknown
    /// or has not changed since the last call.
    pub(in super::super) fn readable(&mut self) -> Option<BTreeMap<ChannelId, bool>> {
        let (standing, there) = (self.standing.as_ref()?, self.there.as_ref()?);
        if !std::mem::take(&mut self.allowed) {
            return None;
        }
        let needed = Permissions::VIEW_CHANNEL | Permissions::READ_MESSAGE_HISTORY;
        let reads = |channel: &There| standing.within(&channel.overwrites).contains(needed);
        Some(there.iter().map(|(id, channel)| (*id, reads(channel))).collect())
    }

    /// Returns the channels of the server in which the bot may not add reactions.
    pub(in super::super) fn unmarkable(&self) -> BTreeSet<ChannelId> {
        let channels = self.there.iter().flatten().map(|(id, _)| *id);
        channels.filter(|id| !self.may(Permissions::ADD_REACTIONS, Some(*id))).collect()
    }

    /// Returns true if the bot can post in herder's channel with this purpose.
    pub(in super::super) fn can_post(&self, purpose: &Purpose) -> bool {
        self.known.get(purpose).is_some_and(|id| self.may(Permissions::SEND_MESSAGES, Some(*id)))
    }

    /// Returns the number of wanted channels that do not exist.
    pub(in super::super) fn lacking(&self) -> usize {
        self.wishes().filter(|purpose| !self.known.contains_key(purpose)).count()
    }

    /// Returns how certain it is that an unknown channel is not one of herder's: one may not be found yet, or was just
    /// created.
    pub(in super::super) fn outlook(&self, now: Instant) -> Outlook {
        // A refused channel is not being created; the read that follows is for permissions.
        let is_refused = self.denied.is_some() && self.hold.is_some_and(|hold| hold > now);
        match self.lacking() {
            0 => Outlook::Settled,
            _ if self.there.is_none() => Outlook::Unseen,
            _ if self.under_way.is_some() || self.may_be_made_yet(now) || (self.look && !is_refused) => {
                Outlook::Making
            }
            _ => Outlook::Settled,
        }
    }

    /// Returns the name of a channel for people: `#spark`, or the bare name of a category.
    pub(in super::super) fn shown(&self, channel: ChannelId) -> String {
        let there = self.there.as_ref().and_then(|there| there.get(&channel));
        match there {
            Some(There { kind: Kind::Category, name, .. }) => name.clone(),
            Some(there) => format!("#{}", there.name),
            None => channel.to_string(),
        }
    }
}
