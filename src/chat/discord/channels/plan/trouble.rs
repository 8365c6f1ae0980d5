//! What people have to mend: permissions that are missing, and room.

use std::collections::{BTreeMap, BTreeSet};

use serenity::all::{ChannelId, Permissions};
use tokio::time::Instant;

use super::super::super::directory::{Outlook, Purpose};
use super::super::super::permission::{self, Needed};
use super::super::seen::{Kind, There};
use super::Plan;

/// What people have to mend.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Trouble {
    /// A permission is missing; everywhere, or in one channel.
    Permission { needed: Needed, channel: Option<ChannelId> },
    /// There is no room for more channels.
    Full,
}

impl Plan {
    pub(super) fn may(&self, permission: Permissions, channel: Option<ChannelId>) -> bool {
        let Some(standing) = &self.standing else { return true };
        let there = channel.and_then(|id| self.there.as_ref()?.get(&id));
        there.map_or_else(|| standing.base(), |there| standing.within(&there.overwrites)).contains(permission)
    }

    /// Troubles that were not said yet. One that is over can be said again when it comes back.
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
            // What is missing further up is said there.
            let lacking = permission::missing_in_channel(standing.within(&channel.overwrites))
                .filter(|needed| base.contains(needed.permission()) && above.contains(needed.permission()));
            troubles.extend(lacking.map(|needed| Trouble::Permission { needed, channel: Some(*id) }));
        }
        troubles
    }

    /// All channels of the server, and whether what was said there can be read; `None`: that is not known, or has not changed
    /// since it was last asked for.
    pub(in super::super) fn readable(&mut self) -> Option<BTreeMap<ChannelId, bool>> {
        let (standing, there) = (self.standing.as_ref()?, self.there.as_ref()?);
        if !std::mem::take(&mut self.allowed) {
            return None;
        }
        let needed = Permissions::VIEW_CHANNEL | Permissions::READ_MESSAGE_HISTORY;
        let reads = |channel: &There| standing.within(&channel.overwrites).contains(needed);
        Some(there.iter().map(|(id, channel)| (*id, reads(channel))).collect())
    }

    /// The channels of the server where herder may not mark what people say.
    pub(in super::super) fn unmarkable(&self) -> BTreeSet<ChannelId> {
        let channels = self.there.iter().flatten().map(|(id, _)| *id);
        channels.filter(|id| !self.may(Permissions::ADD_REACTIONS, Some(*id))).collect()
    }

    /// Whether herder can post in a channel of its own.
    pub(in super::super) fn can_post(&self, purpose: &Purpose) -> bool {
        self.known.get(purpose).is_some_and(|id| self.may(Permissions::SEND_MESSAGES, Some(*id)))
    }

    /// How many channels are wanted and not there.
    pub(in super::super) fn lacking(&self) -> usize {
        self.wishes().filter(|purpose| !self.known.contains_key(purpose)).count()
    }

    /// Whether a channel that nobody knows may be one that is wanted: not found yet, or made and not answered yet.
    pub(in super::super) fn outlook(&self, now: Instant) -> Outlook {
        // What was refused is not being made, and the look that follows is for what herder may do.
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

    /// What people call a channel.
    pub(in super::super) fn shown(&self, channel: ChannelId) -> String {
        let there = self.there.as_ref().and_then(|there| there.get(&channel));
        match there {
            Some(There { kind: Kind::Category, name, .. }) => name.clone(),
            Some(there) => format!("#{}", there.name),
            None => channel.to_string(),
        }
    }
}
