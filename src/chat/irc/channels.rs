//! The channels herder wants to be in, where each stands, and where a post goes when its channel is not to be had.
//!
//! ```text
//!  Out ──JOIN──► Joining ──our JOIN──► In(names) ──366──► In(named) ──PING──► In(fence) ──PONG──► In(live)
//!   ▲               │                        │
//!   └── wait ◄──────┴── refused, silent ◄────┴── kicked, parted, gone
//! ```
//!
//! One line of JOINs and one fence are on their way at a time, and each covers all channels that wait for it: servers that
//! brake count lines, and a fleet's channels one by one would take minutes.
//!
//! Until a channel is *live* everything said in it may be a replay and is not obeyed; posting needs only our own JOIN.
//! A channel that cannot be had does not stop the posts for it: they go to the control channel, and say whose they are.

use std::time::Duration;

use tokio::time::Instant;

use super::isupport::ISupport;
use super::wire::{LINE_MAX, Outgoing};
use crate::chat::ChannelWanted;
use crate::config::IrcNetwork;
use crate::outbox::Target;

/// After a kick. Servers and channel bots take an immediate return for an attack.
const REJOIN_AFTER_KICK: Duration = Duration::from_secs(5);
/// How often we come back by ourselves after kicks; a fourth one is meant.
const KICKS_MAX: u32 = 3;
/// The first wait after a JOIN that was refused; it doubles.
const RETRY: Duration = Duration::from_secs(15);
/// The longest wait between two tries, also for a server that has no more channels for us.
const RETRY_MAX: Duration = Duration::from_secs(600);
/// A JOIN without any answer is lost.
const JOIN_TIMEOUT: Duration = Duration::from_secs(30);
/// The same where we may be in the channel, since a post was refused there and nothing threw us out.
const STILL_IN_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two topics of one channel.
const TOPIC_EVERY: Duration = Duration::from_secs(10);
/// Between two topics of a link: each is seen by everybody in its channel, and counts against flood limits.
const TOPIC_GAP: Duration = Duration::from_secs(2);
/// Before a topic that somebody else set is replaced.
const TOPIC_RESPECT: Duration = Duration::from_secs(60);
/// Sends to a channel we are in that are refused in a row before it counts as not to be had.
const DENIALS_MAX: u32 = 3;

/// A channel that is not to be had, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) channel: String,
    pub(crate) reason: String,
}

/// Where a post goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route<'a> {
    /// The channel or nick.
    pub(crate) to: &'a str,
    /// What is put before each line, to say whose it is.
    pub(crate) prefix: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Live {
    Names,
    Named,
    Fence(u64),
    Yes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Out { join_at: Instant },
    Joining { since: Instant },
    In { live: Live, since: Instant },
}

#[derive(Debug)]
struct Channel {
    /// By which it is wanted.
    name: String,
    /// By which the server forwarded us, if it did.
    forwarded: Option<String>,
    state: State,
    /// The first JOIN was answered, one way or the other.
    tried: bool,
    refusals: u32,
    kicks: u32,
    denials: u32,
    /// A post was refused and nothing else was said of our being in it: a JOIN without an answer then means that we are.
    still_in: bool,
    /// Posts for it go elsewhere.
    lost: bool,
    topic: Topic,
}

#[derive(Debug)]
struct Topic {
    wanted: Option<String>,
    shown: Option<String>,
    next: Instant,
    denied: bool,
}

impl Channel {
    fn new(name: &str, now: Instant) -> Self {
        Self {
            name: name.to_owned(),
            forwarded: None,
            state: State::Out { join_at: now },
            tried: false,
            refusals: 0,
            kicks: 0,
            denials: 0,
            still_in: false,
            lost: false,
            topic: Topic { wanted: None, shown: None, next: now, denied: false },
        }
    }

    fn actual(&self) -> &str {
        self.forwarded.as_deref().unwrap_or(&self.name)
    }

    fn is_in(&self) -> bool {
        matches!(self.state, State::In { .. })
    }

    /// Out of it for a while that doubles. True if posts go elsewhere from now on, and did not before.
    fn refused(&mut self, now: Instant, patience: u32) -> bool {
        let wait = RETRY.saturating_mul(1_u32.checked_shl(self.refusals).unwrap_or(u32::MAX)).min(RETRY_MAX);
        self.refusals = self.refusals.saturating_add(1);
        self.tried = true;
        self.still_in = false;
        self.forwarded = None;
        self.state = State::Out { join_at: now + wait };
        self.refusals > patience && !std::mem::replace(&mut self.lost, true)
    }
}

/// All channels of one link.
#[derive(Debug)]
pub(crate) struct Channels {
    list: Vec<Channel>,
    alerts: String,
    work: String,
    control: String,
    topic_gap: Instant,
}

impl Channels {
    /// The fleet's channels come first: where there is a limit it hits the agents' channels, not these.
    pub(crate) fn new(
        network: &IrcNetwork,
        wanted: &[ChannelWanted],
        server: &ISupport,
        now: Instant,
    ) -> Self {
        let mut channels = Self {
            list: Vec::new(),
            alerts: network.alerts_channel.clone(),
            work: network.work_channel.clone(),
            control: network.control_channel.clone(),
            topic_gap: now,
        };
        channels.want(wanted, server, now);
        channels
    }

    /// The wish list changed. Says what to leave.
    pub(crate) fn want(
        &mut self,
        wanted: &[ChannelWanted],
        server: &ISupport,
        now: Instant,
    ) -> Vec<Outgoing> {
        let fleet = [&self.control, &self.alerts, &self.work].map(|name| (name.clone(), None));
        let wished = wanted.iter().filter_map(|wish| Some((self.name_of(&wish.target)?, wish.topic.clone())));
        let wishes: Vec<(String, Option<String>)> = fleet.into_iter().chain(wished).collect();
        let same = |a: &str, b: &str| server.case.same(a, b);
        let mut leave = Vec::new();
        self.list.retain(|channel| {
            let stays = wishes.iter().any(|(name, _)| same(name, &channel.name));
            if !stays && !matches!(channel.state, State::Out { .. }) {
                leave.push(Outgoing::new("PART").word(channel.actual()));
            }
            stays
        });
        for (name, topic) in wishes {
            let index = self.list.iter().position(|channel| same(&channel.name, &name));
            let index = index.unwrap_or_else(|| {
                self.list.push(Channel::new(&name, now));
                self.list.len() - 1
            });
            if let Some(topic) = topic {
                self.list[index].topic.wanted = Some(clip(&topic, server.topic_max));
            }
        }
        leave
    }

    fn name_of(&self, target: &Target) -> Option<String> {
        match target {
            Target::Agent(agent) => Some(format!("#{agent}")),
            Target::Alerts => Some(self.alerts.clone()),
            Target::Work => Some(self.work.clone()),
            Target::Control => Some(self.control.clone()),
            Target::Channel(name) => Some(name.clone()),
            Target::Person(_) => None,
        }
    }

    fn find(&self, name: &str, server: &ISupport) -> Option<&Channel> {
        self.list.iter().find(|channel| server.case.same(channel.actual(), name))
    }

    fn find_mut(&mut self, name: &str, server: &ISupport) -> Option<&mut Channel> {
        self.list.iter_mut().find(|channel| server.case.same(channel.actual(), name))
    }

    /// Where a post for `target` goes now, if anywhere.
    pub(crate) fn route<'a>(&'a self, target: &'a Target, server: &ISupport) -> Option<Route<'a>> {
        if let Target::Person(nick) = target {
            return Some(Route { to: nick, prefix: String::new() });
        }
        let name = self.name_of(target)?;
        let channel = self.list.iter().find(|channel| server.case.same(&channel.name, &name));
        match channel {
            Some(channel) if channel.is_in() => Some(Route { to: channel.actual(), prefix: String::new() }),
            Some(channel) if !channel.lost => None,
            Some(_) | None => {
                let control =
                    self.list.iter().find(|channel| channel.name == self.control && channel.is_in());
                let instead = control.or_else(|| self.list.iter().take(3).find(|channel| channel.is_in()))?;
                let owner = match target {
                    Target::Agent(agent) => agent.as_str(),
                    Target::Alerts
                    | Target::Work
                    | Target::Control
                    | Target::Channel(_)
                    | Target::Person(_) => name.as_str(),
                };
                Some(Route { to: instead.actual(), prefix: format!("[{owner}] ") })
            }
        }
    }

    /// The name by which a channel is wanted, if what is said in it is live.
    pub(crate) fn live(&self, name: &str, server: &ISupport) -> Option<&str> {
        let channel = self.find(name, server)?;
        matches!(channel.state, State::In { live: Live::Yes, .. }).then_some(channel.name.as_str())
    }

    /// Whether this is the alerts channel.
    pub(crate) fn is_alerts(&self, name: &str, server: &ISupport) -> bool {
        self.find(name, server).is_some_and(|channel| channel.name == self.alerts)
    }

    /// Whether this is the control channel, where a command needs no mark.
    pub(crate) fn is_control(&self, name: &str, server: &ISupport) -> bool {
        server.case.same(&self.control, name)
    }

    /// Whether this is one of the fleet's own channels, where talk is not meant for one agent.
    pub(crate) fn is_fleet(&self, name: &str, server: &ISupport) -> bool {
        [&self.alerts, &self.work, &self.control].into_iter().any(|own| server.case.same(own, name))
    }

    /// Whether every channel is live, or was tried in vain.
    pub(crate) fn settled(&self) -> bool {
        self.list.iter().all(|channel| match channel.state {
            State::In { live, .. } => live == Live::Yes,
            State::Out { .. } | State::Joining { .. } => channel.tried,
        })
    }

    /// JOINs and topics that are due.
    pub(crate) fn due(&mut self, server: &ISupport, now: Instant) -> Vec<Outgoing> {
        self.joins_due(server.known, now).into_iter().chain(self.topic_due(now)).collect()
    }

    fn joins_due(&mut self, in_lists: bool, now: Instant) -> Option<Outgoing> {
        let mut under_way = false;
        for channel in &mut self.list {
            match channel.state {
                // Servers do not answer the JOIN of somebody who is in already.
                State::Joining { since } if channel.still_in && since + STILL_IN_TIMEOUT <= now => {
                    channel.still_in = false;
                    channel.state = State::In { live: Live::Yes, since: now };
                }
                State::Joining { since } if since + JOIN_TIMEOUT <= now => {
                    channel.refused(now, u32::MAX);
                }
                State::Joining { .. } => under_way = true,
                // A server that does not end its list of names has nothing more to replay either.
                State::In { live: Live::Names, since } if since + JOIN_TIMEOUT <= now => {
                    channel.state = State::In { live: Live::Named, since };
                }
                State::In { since, .. } if since + RETRY_MAX <= now => channel.kicks = 0,
                State::Out { .. } | State::In { .. } => {}
            }
        }
        if under_way {
            return None;
        }
        let mut list = String::new();
        for channel in &mut self.list {
            let due = matches!(channel.state, State::Out { join_at } if join_at <= now);
            let fits = in_lists && "JOIN ".len() + list.len() + 1 + channel.name.len() <= LINE_MAX - 2;
            if due && (list.is_empty() || fits) {
                channel.state = State::Joining { since: now };
                if !list.is_empty() {
                    list.push(',');
                }
                list.push_str(&channel.name);
            }
        }
        (!list.is_empty()).then(|| Outgoing::new("JOIN").word(list))
    }

    fn topic_due(&mut self, now: Instant) -> Option<Outgoing> {
        if self.topic_gap > now {
            return None;
        }
        let channel = self.list.iter_mut().find(|channel| topic_at(channel).is_some_and(|at| at <= now))?;
        let wanted = channel.topic.wanted.clone()?;
        channel.topic.shown = Some(wanted.clone());
        channel.topic.next = now + TOPIC_EVERY;
        self.topic_gap = now + TOPIC_GAP;
        Some(Outgoing::new("TOPIC").word(channel.actual()).text(wanted))
    }

    /// When [`Channels::due`] has something to say.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let waits = |channel: &Channel| match channel.state {
            State::Out { join_at } => Some(join_at),
            State::Joining { .. } | State::In { .. } => None,
        };
        let answers = |channel: &Channel| match channel.state {
            State::Joining { since } if channel.still_in => Some(since + STILL_IN_TIMEOUT),
            State::Joining { since } => Some(since + JOIN_TIMEOUT),
            State::Out { .. } | State::In { .. } => None,
        };
        let names = self.list.iter().filter_map(|channel| match channel.state {
            State::In { live: Live::Names, since } => Some(since + JOIN_TIMEOUT),
            State::Out { .. } | State::Joining { .. } | State::In { .. } => None,
        });
        // While a JOIN is on its way the others wait for its answer, not for a time.
        let joins =
            self.list.iter().filter_map(answers).min().or_else(|| self.list.iter().filter_map(waits).min());
        let topics = self.list.iter().filter_map(topic_at).min().map(|at| at.max(self.topic_gap));
        joins.into_iter().chain(topics).chain(names.min()).min()
    }

    /// We came in.
    pub(crate) fn joined(&mut self, name: &str, server: &ISupport, now: Instant) {
        if let Some(channel) = self.find_mut(name, server) {
            channel.state = State::In { live: Live::Names, since: now };
            channel.tried = true;
            channel.still_in = false;
            channel.refusals = 0;
            channel.lost = channel.denials >= DENIALS_MAX;
            channel.topic.shown = None;
            channel.topic.denied = false;
            // The topic that is already there comes with the names.
            channel.topic.next = now + TOPIC_GAP;
        }
    }

    /// 366: the names are complete; a fence will tell when everything that was sent with them is here.
    pub(crate) fn named(&mut self, name: &str, server: &ISupport) {
        if let Some(channel) = self.find_mut(name, server)
            && let State::In { live, .. } = &mut channel.state
            && *live == Live::Names
        {
            *live = Live::Named;
        }
    }

    /// Whether a fence is to be sent for channels that wait for one. [`Channels::fence`] says which.
    pub(crate) fn needs_fence(&self) -> bool {
        let lives = || {
            self.list.iter().filter_map(|channel| match channel.state {
                State::In { live, .. } => Some(live),
                State::Out { .. } | State::Joining { .. } => None,
            })
        };
        lives().any(|live| live == Live::Named) && !lives().any(|live| matches!(live, Live::Fence(_)))
    }

    /// The fence for them is this one.
    pub(crate) fn fence(&mut self, fence: u64) {
        for channel in &mut self.list {
            if let State::In { live, .. } = &mut channel.state
                && *live == Live::Named
            {
                *live = Live::Fence(fence);
            }
        }
    }

    /// A fence was answered.
    pub(crate) fn fenced(&mut self, fence: u64) {
        for channel in &mut self.list {
            if let State::In { live, .. } = &mut channel.state
                && *live == Live::Fence(fence)
            {
                *live = Live::Yes;
            }
        }
    }

    /// We were kicked, or taken out in another way.
    pub(crate) fn thrown_out(
        &mut self,
        name: &str,
        reason: &str,
        server: &ISupport,
        now: Instant,
    ) -> Option<Trouble> {
        let channel = self.find_mut(name, server)?;
        channel.kicks += 1;
        channel.still_in = false;
        channel.forwarded = None;
        if channel.kicks <= KICKS_MAX {
            channel.state = State::Out { join_at: now + REJOIN_AFTER_KICK };
            return None;
        }
        channel.kicks = 0;
        channel.state = State::Out { join_at: now + RETRY_MAX };
        let first = !std::mem::replace(&mut channel.lost, true);
        let reason = if reason.is_empty() { "kicked".to_owned() } else { format!("kicked: {reason}") };
        first.then(|| Trouble { channel: channel.name.clone(), reason })
    }

    /// A JOIN was refused, or, for a channel that we are in, something else was.
    pub(crate) fn refused(
        &mut self,
        code: u16,
        name: &str,
        reason: &str,
        server: &ISupport,
        now: Instant,
    ) -> Option<Trouble> {
        let channel = self.find_mut(name, server)?;
        if !matches!(channel.state, State::Joining { .. }) {
            return None;
        }
        // 437: for a moment only. 477: services may not have heard yet who we are.
        let patience = if matches!(code, 437 | 477) { 2 } else { 0 };
        let mut first = channel.refused(now, patience);
        if code == 405 {
            channel.state = State::Out { join_at: now + RETRY_MAX };
            first |= !std::mem::replace(&mut channel.lost, true);
        }
        first.then(|| Trouble { channel: channel.name.clone(), reason: reason.to_owned() })
    }

    /// 470: we asked for one channel and are being sent to another.
    pub(crate) fn forwarded(&mut self, from: &str, to: &str, server: &ISupport) {
        if let Some(channel) = self.list.iter_mut().find(|channel| server.case.same(&channel.name, from)) {
            channel.forwarded = Some(to.to_owned());
        }
    }

    /// Somebody wants us in.
    pub(crate) fn invited(&mut self, name: &str, server: &ISupport, now: Instant) {
        if let Some(channel) = self.find_mut(name, server)
            && let State::Out { join_at } = &mut channel.state
        {
            *join_at = now;
        }
    }

    /// A post for this channel was refused: we are not in it, or may not speak.
    pub(crate) fn denied(
        &mut self,
        code: u16,
        name: &str,
        reason: &str,
        server: &ISupport,
        now: Instant,
    ) -> Option<Trouble> {
        let channel = self.find_mut(name, server)?;
        if !channel.is_in() {
            return None;
        }
        channel.denials += 1;
        channel.still_in = true;
        let lost = channel.denials >= DENIALS_MAX;
        // Whether we are not in it (403, 442) or may not speak (404), what helps is to come in anew, a little later each time.
        let wait = if lost { RETRY_MAX } else { REJOIN_AFTER_KICK * (channel.denials - 1) };
        channel.state = State::Out { join_at: now + wait };
        tracing::info!(code, channel = channel.name, reason, "a post was refused");
        let first = lost && !std::mem::replace(&mut channel.lost, true);
        first.then(|| Trouble { channel: channel.name.clone(), reason: reason.to_owned() })
    }

    /// A post for this channel was accepted.
    pub(crate) fn accepted(&mut self, name: &str, server: &ISupport) {
        if let Some(channel) = self.find_mut(name, server) {
            channel.denials = 0;
        }
    }

    /// The server says what a channel's topic is; `by_us` if we have just set it.
    pub(crate) fn topic(&mut self, name: &str, topic: &str, by_us: bool, server: &ISupport, now: Instant) {
        let Some(channel) = self.find_mut(name, server) else { return };
        if by_us {
            return;
        }
        // Whoever set it meant it: it stands for a while before the agent's state is shown again.
        if channel.topic.shown.is_some() {
            channel.topic.next = now + TOPIC_RESPECT;
        }
        channel.topic.shown = Some(topic.to_owned());
    }

    /// 482: we may not set this channel's topic. It is not tried again until we come in anew.
    pub(crate) fn topic_denied(&mut self, name: &str, server: &ISupport) {
        if let Some(channel) = self.find_mut(name, server) {
            channel.topic.denied = true;
        }
    }
}

/// When a channel's topic has to be set, if it has.
fn topic_at(channel: &Channel) -> Option<Instant> {
    let topic = &channel.topic;
    let due = channel.is_in() && !topic.denied && topic.wanted.is_some() && topic.wanted != topic.shown;
    due.then_some(topic.next)
}

fn clip(text: &str, max: usize) -> String {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
