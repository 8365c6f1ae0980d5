//! Difference between the wanted channels and the server's, and the next step to reduce it. Pure.
//!
//! One change of the server's structure is in progress at a time: Discord allows few of them, and the result of each
//! decides the next. Topics do not wait for that ([`super::topics`]). The state of a purpose:
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
use crate::config;
use crate::core::id::AgentName;
use crate::core::link::ChannelWanted;
use crate::core::post::Target;
pub(super) use trouble::Trouble;

/// Maximum number of channels and categories on a Discord server.
pub(super) const GUILD_MAX: u32 = 500;

/// The wait before a refused or failed step is tried again, unless something changes first.
const AGAIN: Duration = Duration::from_secs(120);

/// First wait before a step is tried again after a failure that may be temporary.
const AGAIN_SOON: Duration = Duration::from_secs(5);

/// Maximum time in which Discord may still carry out a request that it did not answer.
const CARRIED_OUT_WITHIN: Duration = Duration::from_secs(15);

/// Minimum time between two reads of the whole server after unexpected events.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Waits before a channel that people deleted is created again: after the first, second, third and any further
/// deletion.
const REMADE_AFTER: [Duration; 4] =
    [Duration::ZERO, Duration::from_secs(10), Duration::from_secs(60), Duration::from_secs(600)];

/// Time for which the deletion of a channel counts.
const LOSSES_WINDOW: Duration = Duration::from_secs(3600);

/// A request that brings the server's channels closer to the wanted ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Request the whole state of the server.
    Look,
    /// Create this channel.
    Create { purpose: Purpose, name: String, kind: Kind, parent: Option<ChannelId>, topic: Option<String> },
    /// Move a channel to another category.
    Move {
        purpose: Purpose,
        channel: ChannelId,
        parent: ChannelId,
        overwrites: Option<Vec<PermissionOverwrite>>,
    },
}

/// The reason why a step of the plan failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// The bot lacks a permission.
    Denied,
    /// The server has its maximum number of channels.
    GuildFull,
    /// The category has its maximum number of channels.
    CategoryFull,
    /// The channel does not exist any more.
    Gone,
    /// Discord did not answer, so that the step may have been carried out.
    Unsure,
    /// Another failure; the step was certainly not carried out.
    Failed,
}

/// The wanted and the existing channels of herder on the server, and the steps between them. See the module.
#[derive(Debug)]
pub(super) struct Plan {
    category: String,
    names: BTreeMap<Purpose, String>,
    agents: BTreeSet<AgentName>,
    /// The server's channels; `None` until the server was read.
    there: Option<BTreeMap<ChannelId, There>>,
    standing: Option<Standing>,
    known: BTreeMap<Purpose, ChannelId>,
    /// Purposes whose channel was found, created or lost since the last storing.
    changed: BTreeSet<Purpose>,
    /// herder's channels whose category was deleted.
    orphans: BTreeSet<ChannelId>,
    /// Channels that were taken out of a category, with that category: Discord reports that before the deletion of the
    /// category.
    taken_out: BTreeMap<ChannelId, ChannelId>,
    /// Categories that are full according to Discord, however many channels are counted in them.
    full: BTreeSet<ChannelId>,
    losses: BTreeMap<Purpose, Vec<Instant>>,
    /// True if an event about the server could not be parsed, so that the server has to be read.
    unread: bool,
    /// True if it may have changed in which channels messages can be read, since that was last queried.
    allowed: bool,
    /// The step that was sent to Discord and is not answered yet.
    under_way: Option<Step>,
    /// Unknown channels that were deleted while a channel is being created: one of them may be that channel, because
    /// events can arrive before the answer.
    gone_early: BTreeSet<ChannelId>,
    /// Time before which no step is started; `None` for no wait.
    hold: Option<Instant>,
    failures: u32,
    /// True if the server is to be read again; below, the time of the last read.
    look: bool,
    looked: Option<Instant>,
    /// Time before which no channel is created, because the server is full; `None` if it is not.
    guild_full: Option<Instant>,
    /// A permission that Discord denied although, as far as is known, the bot has it.
    denied: Option<Trouble>,
    /// Purpose of a channel that was requested without an answer, and the time until which it may still appear.
    unsure: Option<(Purpose, Instant)>,
    said: BTreeSet<Trouble>,
    topics: Topics,
}

impl Plan {
    /// Creates the plan from the settings and the stored channel ids.
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

    /// Sets the agents that have to have a channel, and their topics.
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

    // ── events from the server ──

    /// Handles the description of the server that the gateway sends. It may be old, because a resumed session repeats
    /// events; if a channel of herder's is missing in it, the server is read.
    pub(super) fn told(&mut self, snapshot: Snapshot, now: Instant) {
        if self.known.values().all(|id| snapshot.channels.contains_key(id)) {
            self.saw(snapshot, now);
        } else {
            self.saw_nothing();
        }
    }

    /// Handles the state of the server from a response to a request.
    pub(super) fn saw(&mut self, snapshot: Snapshot, now: Instant) {
        let gone: Vec<ChannelId> =
            self.known.values().copied().filter(|id| !snapshot.channels.contains_key(id)).collect();
        // A deletion during herder's absence does not count as repeated: the channel is created at once.
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

    /// Handles the removal of the bot from the server: nothing is known or can be done there until it is back.
    pub(super) fn left(&mut self) {
        (self.there, self.standing, self.look, self.unread) = (None, None, false, false);
        self.allowed_anew();
    }

    /// Handles the event that a channel was created or changed.
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

    /// Handles a channel that was deleted, or that turned out to be missing.
    pub(super) fn saw_gone(&mut self, id: ChannelId, now: Instant) {
        let Some(there) = &mut self.there else { return };
        there.remove(&id);
        // There is room for another channel.
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

    /// Handles a change of a role's permissions; `grants` is `None` if the role was deleted.
    pub(super) fn saw_role(&mut self, role: RoleId, grants: Option<Permissions>) {
        if let Some(standing) = &mut self.standing {
            match grants {
                Some(grants) => standing.roles.insert(role, grants),
                None => standing.roles.remove(&role),
            };
            self.allowed_anew();
        }
    }

    /// Handles a change of the bot's own roles.
    pub(super) fn saw_own_roles(&mut self, roles: Vec<RoleId>) {
        if let Some(standing) = &mut self.standing {
            standing.own = roles;
            self.allowed_anew();
        }
    }

    /// Requests that the server is read again, because an unexpected refusal shows that the known state is wrong.
    pub(super) fn doubt(&mut self) {
        self.look = true;
    }

    /// Handles an event that could not be parsed: the server is read again.
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

    /// Returns true if the category of a channel was deleted while the channel was being created.
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

    // ── steps ──

    /// Takes the purposes whose channel was found, created or lost (`None`) since the last call, to be stored.
    pub(super) fn changes(&mut self) -> Vec<(Purpose, Option<ChannelId>)> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().map(|purpose| (purpose.clone(), self.known.get(&purpose).copied())).collect()
    }

    /// Returns the next step that is due, if there is one. [`Plan::done`] has to be called with its result.
    pub(super) fn next(&mut self, now: Instant) -> Option<Step> {
        let unseen = self.there.is_none();
        // Existing channels are found whatever is in progress, refused or waiting, also by a bot that may create none.
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

    /// Returns true if Discord may still create a channel that was requested without an answer: if it were requested
    /// again, there would be two.
    pub(super) fn may_be_made_yet(&self, now: Instant) -> bool {
        self.unsure.as_ref().is_some_and(|(_, until)| *until > now)
    }

    /// Requests that the server is read before a channel is created again that was requested without an answer.
    fn look_for_what_was_made(&mut self, now: Instant) {
        let Some((purpose, until)) = &self.unsure else { return };
        if self.known.contains_key(purpose) {
            self.unsure = None;
        } else if *until <= now {
            self.unsure = None;
            (self.look, self.looked) = (true, None);
        }
    }

    /// Returns the time at which [`Plan::next`] has to be called again.
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

    /// Handles the result of a step. If it created a channel, the result has the channel's properties.
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
                    // The gateway's description is newer than the answer.
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
            // If the server does not show its channels, the bot is not in it; that is announced elsewhere.
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
                // The category was deleted meanwhile.
                Step::Create { .. } | Step::Look => self.look = true,
            },
            // If it was created, it is found by its name.
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

    /// Returns the next topic change that is due and allowed by Discord's limits. [`Plan::topic_done`] has to be called
    /// with its result.
    pub(super) fn next_topic(&mut self, now: Instant) -> Option<Edit> {
        self.there.as_ref()?;
        let mut topics = std::mem::take(&mut self.topics);
        let edit = topics.next(now, |channel| self.may(Permissions::MANAGE_CHANNELS, Some(channel)));
        self.topics = topics;
        edit
    }

    /// Handles the result of a topic change: whether Discord has accepted it.
    pub(super) fn topic_done(&mut self, edit: &Edit, result: Result<(), Failure>, now: Instant) {
        self.topics.done(edit, result.is_ok(), now);
        match result {
            Err(Failure::Gone) => self.saw_gone(edit.channel, now),
            Err(Failure::Denied) => self.look = true,
            Ok(()) | Err(Failure::GuildFull | Failure::CategoryFull | Failure::Unsure | Failure::Failed) => {}
        }
    }

    /// Returns the time at which [`Plan::next_topic`] has to be called.
    pub(super) fn topic_deadline(&self) -> Option<Instant> {
        self.there.as_ref()?;
        self.topics.deadline(|channel| self.may(Permissions::MANAGE_CHANNELS, Some(channel)))
    }
}
