//! Which channels are wanted, what the server has, and what is to be done next about the difference. Pure.
//!
//! One change of the server's structure is under way at a time: Discord gives few of them, and each decides what the next
//! one is. Topics do not wait for that ([`super::topics`]). A purpose goes through
//!
//! ```text
//!  unknown ─ its name is in the category ─► known (remembered by id) ─ deleted ─► unknown
//!     └───── else made ────────────────────►   │ agent removed            ▲
//!                                              └─► archived, read-only ───┘ agent added again: brought back
//! ```

mod place;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serenity::all::{ChannelId, PermissionOverwrite, Permissions, RoleId};
use tokio::time::Instant;

use super::super::directory::Purpose;
use super::super::permission::{self, Standing};
use super::seen::{Kind, Snapshot, There};
use super::topics::{Edit, Topics};
use crate::chat::ChannelWanted;
use crate::config;
use crate::core::id::AgentName;
use crate::outbox::Target;
pub(super) use trouble::Trouble;

/// Channels and categories that a server can have.
pub(super) const GUILD_MAX: u32 = 500;

/// What was refused or failed is tried again after this long, unless something changes first.
const AGAIN: Duration = Duration::from_secs(120);

/// The first wait after a failure that may have been a moment's.
const AGAIN_SOON: Duration = Duration::from_secs(5);

/// How long Discord may take to carry out what it does not answer any more.
const CARRIED_OUT_WITHIN: Duration = Duration::from_secs(15);

/// Between two looks at the whole server because of something unexpected.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// A channel that is deleted again and again is made again after these waits.
const REMADE_AFTER: [Duration; 4] =
    [Duration::ZERO, Duration::from_secs(10), Duration::from_secs(60), Duration::from_secs(600)];

/// Deletions that are longer ago than this do not count.
const LOSSES_WINDOW: Duration = Duration::from_secs(3600);

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Read the whole server again.
    Look,
    /// Make a channel.
    Create { purpose: Purpose, name: String, kind: Kind, parent: Option<ChannelId>, topic: Option<String> },
    /// Put a channel into another category.
    Move {
        purpose: Purpose,
        channel: ChannelId,
        parent: ChannelId,
        overwrites: Option<Vec<PermissionOverwrite>>,
    },
}

/// Why something was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// A permission is missing.
    Denied,
    /// The server has as many channels as it can.
    GuildFull,
    /// The category has.
    CategoryFull,
    /// What was to be changed is not there.
    Gone,
    /// It may have been done.
    Unsure,
    /// Something else; it was not done.
    Failed,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Plan {
    category: String,
    names: BTreeMap<Purpose, String>,
    agents: BTreeSet<AgentName>,
    /// `None` until the server was seen.
    there: Option<BTreeMap<ChannelId, There>>,
    standing: Option<Standing>,
    known: BTreeMap<Purpose, ChannelId>,
    /// Purposes whose channel is another one now, or none: to be remembered.
    changed: BTreeSet<Purpose>,
    /// Channels whose category was deleted.
    orphans: BTreeSet<ChannelId>,
    /// Channels that were taken out of a category: out of which. Discord tells that also before it tells that the category
    /// was deleted.
    taken_out: BTreeMap<ChannelId, ChannelId>,
    /// Categories that Discord calls full, whatever was counted.
    full: BTreeSet<ChannelId>,
    losses: BTreeMap<Purpose, Vec<Instant>>,
    /// The server told of itself what nobody can read.
    unread: bool,
    /// What may be read may have changed since it was last asked for.
    allowed: bool,
    /// The step that is under way.
    under_way: Option<Step>,
    /// Channels of nobody's that were deleted meanwhile: the one that is being made may be among them, since the gateway can
    /// be ahead of the answer.
    gone_early: BTreeSet<ChannelId>,
    /// No step before.
    hold: Option<Instant>,
    failures: u32,
    /// A look is wanted, and when the last one was.
    look: bool,
    looked: Option<Instant>,
    /// No room for more channels; until when none is tried to be made.
    guild_full: Option<Instant>,
    /// Denied although nothing seems to be missing.
    denied: Option<Trouble>,
    /// A channel that may have been made, or may be yet, and until when.
    unsure: Option<(Purpose, Instant)>,
    said: BTreeSet<Trouble>,
    topics: Topics,
}

impl Plan {
    /// What `settings` name, and what was remembered.
    pub(super) fn new(settings: &config::Discord, known: Vec<(Purpose, ChannelId)>) -> Self {
        let names = [
            (Purpose::Alerts, settings.alerts_channel.clone()),
            (Purpose::Work, settings.work_channel.clone()),
            (Purpose::Control, settings.control_channel.clone()),
        ];
        Self {
            category: settings.category.clone(),
            names: names.into(),
            agents: BTreeSet::new(),
            there: None,
            standing: None,
            known: known.into_iter().collect(),
            changed: BTreeSet::new(),
            orphans: BTreeSet::new(),
            taken_out: BTreeMap::new(),
            full: BTreeSet::new(),
            losses: BTreeMap::new(),
            unread: false,
            allowed: false,
            under_way: None,
            gone_early: BTreeSet::new(),
            hold: None,
            failures: 0,
            look: false,
            looked: None,
            guild_full: None,
            denied: None,
            unsure: None,
            said: BTreeSet::new(),
            topics: Topics::default(),
        }
    }

    /// The agents are these now, with these topics.
    pub(super) fn want(&mut self, wanted: &[ChannelWanted], now: Instant) {
        self.agents.clear();
        for wish in wanted {
            if let Target::Agent(agent) = &wish.target {
                self.agents.insert(agent.clone());
                self.topics.want(agent, wish.topic.as_deref().unwrap_or_default(), now);
            }
        }
        self.topics.keep(&self.agents);
    }

    // ── what the server tells ──

    /// The gateway tells what the server is like. That may be long ago: what a session was told is told again when it is
    /// resumed from its start. Where a channel of herder's is missing in it, the server is asked.
    pub(super) fn told(&mut self, snapshot: Snapshot, now: Instant) {
        if self.known.values().all(|id| snapshot.channels.contains_key(id)) {
            self.saw(snapshot, now);
        } else {
            self.saw_nothing();
        }
    }

    /// The server is this now, as it said itself when it was asked.
    pub(super) fn saw(&mut self, snapshot: Snapshot, now: Instant) {
        let gone: Vec<ChannelId> =
            self.known.values().copied().filter(|id| !snapshot.channels.contains_key(id)).collect();
        // A deletion while nobody looked is no quarrel: it is made up for at once.
        let categories_gone = gone.iter().any(|id| self.is_category_of_ours(*id));
        let first = self.there.is_none();
        self.there = Some(snapshot.channels);
        (self.unread, self.allowed) = (false, true);
        for id in gone {
            self.lose(id);
        }
        if categories_gone {
            self.orphan(|parent| parent.is_none());
        }
        if snapshot.standing.is_some() {
            if self.standing != snapshot.standing {
                self.allowed_anew();
            }
            self.standing = snapshot.standing;
        } else if self.standing.is_none() {
            self.look = true;
        }
        self.full.clear();
        if first {
            self.hold = None;
        }
        self.show_topics(now);
    }

    /// The bot is not in the server any more: nothing is known of it, nothing can be done, and nobody can mend that there.
    pub(super) fn left(&mut self) {
        (self.there, self.standing, self.look, self.unread) = (None, None, false, false);
        self.allowed_anew();
    }

    /// A channel was made or changed.
    pub(super) fn saw_channel(&mut self, id: ChannelId, channel: There, now: Instant) {
        let Some(there) = &mut self.there else { return };
        self.allowed = true;
        let parent = channel.parent;
        let before = there.insert(id, channel).and_then(|before| before.parent);
        match (before, parent) {
            (Some(before), None) => self.taken_out.insert(id, before),
            (None, None) => None,
            (_, Some(_)) => self.taken_out.remove(&id),
        };
        self.show_topics_of(id, now);
    }

    /// A channel was deleted, or is found not to be there.
    pub(super) fn saw_gone(&mut self, id: ChannelId, now: Instant) {
        let Some(there) = &mut self.there else { return };
        there.remove(&id);
        // There is room again.
        (self.guild_full, self.hold) = (None, None);
        self.full.clear();
        if self.is_category_of_ours(id) {
            self.orphan(|parent| parent == Some(id));
            let taken_out = self.taken_out.iter().filter(|(_, of)| **of == id).map(|(channel, _)| *channel);
            let known: BTreeSet<ChannelId> = self.known.values().copied().collect();
            self.orphans.extend(taken_out.filter(|channel| known.contains(channel)));
        }
        self.taken_out.remove(&id);
        if let Some(purpose) = self.lose(id) {
            let losses = self.losses.entry(purpose).or_default();
            losses.retain(|at| *at + LOSSES_WINDOW > now);
            losses.push(now);
        } else if self.under_way.is_some() {
            self.gone_early.insert(id);
        }
    }

    /// What a role grants changed; `None`: there is no such role any more.
    pub(super) fn saw_role(&mut self, role: RoleId, grants: Option<Permissions>) {
        if let Some(standing) = &mut self.standing {
            match grants {
                Some(grants) => standing.roles.insert(role, grants),
                None => standing.roles.remove(&role),
            };
            self.allowed_anew();
        }
    }

    /// The bot's roles are these now.
    pub(super) fn saw_own_roles(&mut self, roles: Vec<RoleId>) {
        if let Some(standing) = &mut self.standing {
            standing.own = roles;
            self.allowed_anew();
        }
    }

    /// Something was refused elsewhere that should have been possible: the server is not as it is believed to be.
    pub(super) fn doubt(&mut self) {
        self.look = true;
    }

    /// The server told something of itself that cannot be read: it is asked.
    pub(super) fn saw_nothing(&mut self) {
        (self.look, self.unread) = (true, true);
    }

    fn allowed_anew(&mut self) {
        (self.hold, self.denied, self.failures) = (None, None, 0);
        self.allowed = true;
    }

    fn is_category_of_ours(&self, id: ChannelId) -> bool {
        let of_ours = |purpose: &Purpose| matches!(purpose, Purpose::Category(_) | Purpose::Archive(_));
        self.known.iter().any(|(purpose, known)| *known == id && of_ours(purpose))
    }

    fn orphan(&mut self, left: impl Fn(Option<ChannelId>) -> bool) {
        let Some(there) = &self.there else { return };
        let ours = self.known.values().filter(|id| there.get(id).is_some_and(|channel| left(channel.parent)));
        self.orphans.extend(ours);
    }

    /// Whether the category that a channel was made in was deleted while it was being made.
    fn lost_its_category(&self, id: ChannelId, parent: Option<ChannelId>) -> bool {
        let (Some(there), Some(parent)) = (&self.there, parent) else { return false };
        !there.contains_key(&parent) || there.get(&id).is_some_and(|channel| channel.parent != Some(parent))
    }

    fn lose(&mut self, id: ChannelId) -> Option<Purpose> {
        self.orphans.remove(&id);
        let purpose = self.known.iter().find(|(_, known)| **known == id)?.0.clone();
        self.known.remove(&purpose);
        self.changed.insert(purpose.clone());
        if let Purpose::Agent(agent) = &purpose {
            self.topics.left(agent);
        }
        Some(purpose)
    }

    fn take(&mut self, purpose: Purpose, id: ChannelId, now: Instant) {
        self.known.insert(purpose.clone(), id);
        self.changed.insert(purpose);
        self.show_topics_of(id, now);
    }

    fn show_topics(&mut self, now: Instant) {
        let ids: Vec<ChannelId> = self.known.values().copied().collect();
        ids.into_iter().for_each(|id| self.show_topics_of(id, now));
    }

    fn show_topics_of(&mut self, id: ChannelId, now: Instant) {
        let Some(channel) = self.there.as_ref().and_then(|there| there.get(&id)) else { return };
        let topic = channel.topic.clone().unwrap_or_default();
        let agent = self.known.iter().find_map(|(purpose, known)| match purpose {
            Purpose::Agent(agent) if *known == id => Some(agent.clone()),
            Purpose::Agent(_)
            | Purpose::Category(_)
            | Purpose::Archive(_)
            | Purpose::Alerts
            | Purpose::Work
            | Purpose::Control => None,
        });
        if let Some(agent) = agent {
            self.topics.shows(&agent, id, topic, now);
        }
    }

    // ── what is to be done ──

    /// Purposes that have another channel than before, or none: to be remembered.
    pub(super) fn changes(&mut self) -> Vec<(Purpose, Option<ChannelId>)> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().map(|purpose| (purpose.clone(), self.known.get(&purpose).copied())).collect()
    }

    /// The next change to the server, if there is one and it is its time. [`Plan::done`] says what became of it.
    pub(super) fn next(&mut self, now: Instant) -> Option<Step> {
        let unseen = self.there.is_none();
        // What is there is found whatever is under way, refused or waited for, also by a bot that can make nothing.
        self.find_all(now);
        self.look_for_what_was_made(now);
        if self.under_way.is_some() || unseen && !self.unread || self.hold.is_some_and(|hold| hold > now) {
            return None;
        }
        let step = if self.look && self.looked.is_none_or(|at| at + LOOK_EVERY <= now) {
            (self.look, self.looked) = (false, Some(now));
            Some(Step::Look)
        } else if unseen {
            None
        } else if self.may(Permissions::MANAGE_CHANNELS, None) {
            if self.may_be_made_yet(now) { None } else { self.missing(now) }.or_else(|| self.misplaced(now))
        } else {
            None
        };
        self.under_way.clone_from(&step);
        step
    }

    /// Whether Discord may still be making a channel without having said so: a second one of its name would stay.
    pub(super) fn may_be_made_yet(&self, now: Instant) -> bool {
        self.unsure.as_ref().is_some_and(|(_, until)| *until > now)
    }

    /// A channel that may have been made is looked for once more before it is made again.
    fn look_for_what_was_made(&mut self, now: Instant) {
        let Some((purpose, until)) = &self.unsure else { return };
        if self.known.contains_key(purpose) {
            self.unsure = None;
        } else if *until <= now {
            self.unsure = None;
            (self.look, self.looked) = (true, None);
        }
    }

    /// When [`Plan::next`] may have something that it does not have now.
    pub(super) fn deadline(&self, now: Instant) -> Option<Instant> {
        if self.under_way.is_some() {
            return None;
        }
        let look = self.look.then(|| self.looked.map_or(now, |at| at + LOOK_EVERY));
        let remade = self.wishes().filter(|purpose| !self.known.contains_key(purpose));
        let remade = remade.filter_map(|purpose| self.remade_at(&purpose));
        let unsure = self.unsure.as_ref().map(|(_, until)| *until);
        let later = remade.chain(look).chain(self.guild_full).chain(unsure).filter(|at| *at > now).min();
        match self.hold.filter(|hold| *hold > now) {
            Some(hold) => Some(hold),
            None => later,
        }
    }

    /// What became of a step; a channel that was made comes with what it is.
    pub(super) fn done(
        &mut self,
        step: &Step,
        result: Result<Option<(ChannelId, There)>, Failure>,
        now: Instant,
    ) {
        self.under_way = None;
        let gone_early = std::mem::take(&mut self.gone_early);
        match (step, result) {
            (Step::Look, Ok(_)) => self.failures = 0,
            (Step::Create { purpose, parent, .. }, Ok(Some((id, channel)))) => {
                if let Some(there) = &mut self.there {
                    // What the gateway said of it meanwhile is later than the answer.
                    there.entry(id).or_insert(channel);
                }
                (self.failures, self.denied, self.guild_full) = (0, None, None);
                self.take(purpose.clone(), id, now);
                if gone_early.contains(&id) {
                    self.saw_gone(id, now);
                } else if self.lost_its_category(id, *parent) {
                    self.orphans.insert(id);
                }
            }
            (Step::Create { .. }, Ok(None)) => self.look = true,
            (Step::Move { channel, parent, overwrites, .. }, Ok(_)) => {
                if let Some(there) = self.there.as_mut().and_then(|there| there.get_mut(channel)) {
                    there.parent = Some(*parent);
                    if let Some(overwrites) = overwrites {
                        there.overwrites.clone_from(overwrites);
                    }
                }
                (self.failures, self.denied) = (0, None);
                self.orphans.remove(channel);
            }
            (step, Err(failure)) => self.failed(step, failure, now),
        }
    }

    fn failed(&mut self, step: &Step, failure: Failure, now: Instant) {
        let parent = match step {
            Step::Create { parent, .. } => *parent,
            Step::Move { parent, .. } => Some(*parent),
            Step::Look => None,
        };
        match failure {
            // A server that does not show its channels is one that the bot is not in, which is said elsewhere.
            Failure::Denied if *step != Step::Look && self.there.is_some() => {
                let needed = permission::NEEDED
                    .into_iter()
                    .find(|needed| needed.permission() == Permissions::MANAGE_CHANNELS);
                self.denied = needed.map(|needed| Trouble::Permission { needed, channel: parent });
                self.hold = Some(now + AGAIN);
                self.look = true;
            }
            Failure::GuildFull => self.guild_full = Some(now + AGAIN),
            Failure::CategoryFull => self.full.extend(parent),
            Failure::Gone => match step {
                Step::Move { channel, .. } => self.saw_gone(*channel, now),
                // The category went away meanwhile.
                Step::Create { .. } | Step::Look => self.look = true,
            },
            // It is found by its name, if it was made.
            Failure::Unsure if *step != Step::Look => {
                (self.look, self.looked) = (true, None);
                if let Step::Create { purpose, .. } = step {
                    self.unsure = Some((purpose.clone(), now + CARRIED_OUT_WITHIN));
                }
            }
            Failure::Unsure | Failure::Failed | Failure::Denied => {
                if *step == Step::Look {
                    (self.look, self.looked) = (true, None);
                }
                self.failures = (self.failures + 1).min(8);
                let wait = AGAIN_SOON * (1 << (self.failures - 1));
                self.hold = Some(now + wait.min(AGAIN));
            }
        }
    }

    /// The next topic that is due, if it may be set. [`Plan::topic_done`] says what became of it.
    pub(super) fn next_topic(&mut self, now: Instant) -> Option<Edit> {
        self.there.as_ref()?;
        let mut topics = std::mem::take(&mut self.topics);
        let edit = topics.next(now, |channel| self.may(Permissions::MANAGE_CHANNELS, Some(channel)));
        self.topics = topics;
        edit
    }

    /// What became of a topic.
    pub(super) fn topic_done(&mut self, edit: &Edit, result: Result<(), Failure>, now: Instant) {
        self.topics.done(edit, result.is_ok(), now);
        match result {
            Err(Failure::Gone) => self.saw_gone(edit.channel, now),
            Err(Failure::Denied) => self.look = true,
            Ok(()) | Err(Failure::GuildFull | Failure::CategoryFull | Failure::Unsure | Failure::Failed) => {}
        }
    }

    /// When [`Plan::next_topic`] has something.
    pub(super) fn topic_deadline(&self) -> Option<Instant> {
        self.there.as_ref()?;
        self.topics.deadline(|channel| self.may(Permissions::MANAGE_CHANNELS, Some(channel)))
    }
}
