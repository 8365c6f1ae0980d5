//! Placement of channels: missing ones, ones in the wrong category, and recognition of herder's own among those that exist.

use serenity::all::{ChannelId, PermissionOverwrite, Permissions};
use tokio::time::Instant;

use super::super::super::directory::Purpose;
use super::super::seen::{Kind, There, sealed};
use super::{Plan, REMADE_AFTER, Step};

/// Maximum number of channels in a category; Discord's limit.
const CATEGORY_MAX: usize = 50;

/// The category for a new channel.
enum Category {
    There(ChannelId),
    ToMake(Step),
    /// The category does not exist and cannot be created now.
    Later,
}

impl Plan {
    /// Returns the purposes for which a channel is wanted: alerts, work, control, and one per agent.
    pub(super) fn wishes(&self) -> impl Iterator<Item = Purpose> {
        let agents = self.agents.iter().cloned().map(Purpose::Agent);
        [Purpose::Alerts, Purpose::Work, Purpose::Control].into_iter().chain(agents)
    }

    pub(super) fn remade_at(&self, purpose: &Purpose) -> Option<Instant> {
        let losses = self.losses.get(purpose)?;
        let last = losses.last()?;
        let wait = REMADE_AFTER.get(losses.len() - 1).or(REMADE_AFTER.last())?;
        Some(*last + *wait)
    }

    /// Returns the step to create a channel that is wanted and missing, after [`Plan::find_all`].
    pub(super) fn missing(&mut self, now: Instant) -> Option<Step> {
        let lacking: Vec<Purpose> =
            self.wishes().filter(|purpose| !self.known.contains_key(purpose)).collect();
        for purpose in lacking {
            match self.category(Purpose::Category(0), now) {
                Category::There(_) => {}
                Category::ToMake(step) => return Some(step),
                Category::Later => return None,
            }
            let name = self.name_of(&purpose);
            if !self.may_make(&purpose, now) {
                continue;
            }
            let parent = match self.room(Purpose::Category, now) {
                Category::There(parent) => parent,
                Category::ToMake(step) => return Some(step),
                Category::Later => return None,
            };
            let topic = match &purpose {
                Purpose::Agent(agent) => self.topics.wanted(agent),
                Purpose::Category(_)
                | Purpose::Archive(_)
                | Purpose::Alerts
                | Purpose::Work
                | Purpose::Control => None,
            };
            return Some(Step::Create { purpose, name, kind: Kind::Text, parent: Some(parent), topic });
        }
        None
    }

    /// Adopts existing channels of the right name, without creating any. A channel that is just being created is left
    /// out.
    pub(super) fn find_all(&mut self, now: Instant) {
        let is_sought = |purpose: &Purpose| !self.known.contains_key(purpose) && !self.is_being_made(purpose);
        let lacking: Vec<Purpose> = self.wishes().filter(is_sought).collect();
        if lacking.is_empty() {
            return;
        }
        // Categories come first, because channels are searched in them.
        for category in (0..=u16::MAX).map(Purpose::Category) {
            if self.known.contains_key(&category) {
                continue;
            }
            let found = self.find_category(&self.name_of(&category));
            let Some(id) = found.filter(|_| !self.is_being_made(&category)) else { break };
            self.take(category, id, now);
        }
        for purpose in lacking {
            if let Some(id) = self.find(&purpose, &self.name_of(&purpose)) {
                self.take(purpose, id, now);
            }
        }
    }

    fn is_being_made(&self, purpose: &Purpose) -> bool {
        matches!(&self.under_way, Some(Step::Create { purpose: made, .. }) if made == purpose)
    }

    /// Returns the step for a channel in the wrong category: of an agent that was removed or added again, or of a
    /// category that was deleted.
    pub(super) fn misplaced(&mut self, now: Instant) -> Option<Step> {
        let placed: Vec<(Purpose, ChannelId)> =
            self.known.iter().map(|(purpose, id)| (purpose.clone(), *id)).collect();
        for (purpose, channel) in placed {
            let Some(there) = self.there.as_ref().and_then(|there| there.get(&channel)) else { continue };
            let overwrites = there.overwrites.clone();
            let archived = self.is_archive(there.parent);
            let wanted = match &purpose {
                Purpose::Category(_) | Purpose::Archive(_) => continue,
                Purpose::Alerts | Purpose::Work | Purpose::Control => true,
                Purpose::Agent(agent) => self.agents.contains(agent),
            };
            let to: fn(u16) -> Purpose = match (wanted, archived) {
                (true, true) => Purpose::Category,
                (true, false) if self.orphans.contains(&channel) => Purpose::Category,
                (false, false) => Purpose::Archive,
                (true, false) | (false, true) => continue,
            };
            if !self.may(Permissions::MANAGE_CHANNELS, Some(channel)) {
                continue;
            }
            let parent = match self.room(to, now) {
                Category::There(parent) => parent,
                Category::ToMake(step) => return Some(step),
                Category::Later => return None,
            };
            let overwrites = match (wanted, archived) {
                (true, false) => None,
                (true, true) => self.seal(overwrites, false),
                (false, _) => self.seal(overwrites, true),
            };
            return Some(Step::Move { purpose, channel, parent, overwrites });
        }
        None
    }

    fn is_archive(&self, parent: Option<ChannelId>) -> bool {
        let archive = |purpose: &Purpose| matches!(purpose, Purpose::Archive(_));
        parent.is_some_and(|parent| {
            self.known.iter().any(|(purpose, known)| *known == parent && archive(purpose))
        })
    }

    /// Returns a category with room for one more channel, out of the numbered categories that `series` makes.
    fn room(&mut self, series: fn(u16) -> Purpose, now: Instant) -> Category {
        for number in 0..=u16::MAX {
            let category = self.category(series(number), now);
            let Category::There(id) = category else { return category };
            let there = self.there.iter().flatten();
            let inside = there.filter(|(_, channel)| channel.parent == Some(id)).count();
            if inside < CATEGORY_MAX && !self.full.contains(&id) {
                return category;
            }
        }
        Category::Later
    }

    /// Returns the category with this purpose: known, found by its name, or to be created.
    fn category(&mut self, purpose: Purpose, now: Instant) -> Category {
        if let Some(id) = self.known.get(&purpose) {
            return Category::There(*id);
        }
        let name = self.name_of(&purpose);
        if let Some(id) = self.find_category(&name) {
            self.take(purpose, id, now);
            return Category::There(id);
        }
        if !self.may_make(&purpose, now) {
            return Category::Later;
        }
        Category::ToMake(Step::Create { purpose, name, kind: Kind::Category, parent: None, topic: None })
    }

    fn may_make(&self, purpose: &Purpose, now: Instant) -> bool {
        self.guild_full.is_none_or(|until| until <= now) && self.remade_at(purpose).is_none_or(|at| at <= now)
    }

    fn find_category(&self, name: &str) -> Option<ChannelId> {
        let is = |channel: &There| {
            channel.kind == Kind::Category && channel.name.to_lowercase() == name.to_lowercase()
        };
        let found = self.there.iter().flatten().find(|(id, channel)| is(channel) && self.is_free(**id));
        found.map(|(id, _)| *id)
    }

    /// Finds a channel of this name in one of herder's categories. A channel elsewhere is not herder's, whatever its
    /// name is.
    fn find(&self, purpose: &Purpose, name: &str) -> Option<ChannelId> {
        let ours = |parent: ChannelId| {
            self.known.iter().any(|(of, id)| {
                let series = match of {
                    Purpose::Category(_) => true,
                    // Only agents' channels are archived.
                    Purpose::Archive(_) => matches!(purpose, Purpose::Agent(_)),
                    Purpose::Alerts | Purpose::Work | Purpose::Control | Purpose::Agent(_) => false,
                };
                series && *id == parent
            })
        };
        let is = |channel: &There| channel.kind == Kind::Text && channel.name == name;
        let found = self
            .there
            .iter()
            .flatten()
            .find(|(id, channel)| is(channel) && channel.parent.is_some_and(ours) && self.is_free(**id));
        found.map(|(id, _)| *id)
    }

    fn is_free(&self, id: ChannelId) -> bool {
        !self.known.values().any(|known| *known == id)
    }

    fn name_of(&self, purpose: &Purpose) -> String {
        let numbered = |name: String, number: u16| {
            if number == 0 { name } else { format!("{name}-{}", u32::from(number) + 1) }
        };
        match purpose {
            Purpose::Category(number) => numbered(self.category.clone(), *number),
            Purpose::Archive(number) => numbered(format!("{}-archive", self.category), *number),
            Purpose::Agent(agent) => agent.to_string(),
            Purpose::Alerts | Purpose::Work | Purpose::Control => {
                self.names.get(purpose).cloned().unwrap_or_default()
            }
        }
    }

    fn seal(&self, overwrites: Vec<PermissionOverwrite>, seal: bool) -> Option<Vec<PermissionOverwrite>> {
        sealed(self.standing.as_ref()?, overwrites, seal)
    }
}
