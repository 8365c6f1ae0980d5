//! The channels that herder wants to be in, the state of each, and where its posts go while it is unavailable.
//!
//! ```text
//!  Out ──JOIN──► Joining ──our JOIN──► In(names) ──366──► In(named) ──PING──► In(fence) ──PONG──► In(live)
//!   ▲               │                        │
//!   └── wait ◄──────┴── refused, silent ◄────┴── kicked, parted, gone
//! ```
//!
//! One line of JOINs and one fence are in flight at a time, and each covers all channels that wait for it: servers
//! that throttle count lines, and joining a fleet's channels one by one would take minutes.
//!
//! Until a channel is *live* each line in it may be a replay and is not obeyed; posting needs only our own JOIN.
//! While a channel is unavailable its posts go to the control channel, with a prefix that names the agent.

mod channel;
mod joining;
mod topics;

use tokio::time::Instant;

use super::isupport::ISupport;
use super::persons::nick_of;
use super::wire::Outgoing;
use crate::config::IrcNetwork;
use crate::core::detail::Detail;
use crate::core::id::NetworkName;
use crate::core::link::ChannelWanted;
use crate::core::post::Target;
use channel::{Channel, Live, State};

/// A channel that herder cannot use any more, with the reason, to be announced to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) channel: String,
    pub(crate) reason: Detail,
}

/// The destination of a post on the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route<'a> {
    /// Name of the channel, or nick of the person.
    pub(crate) to: &'a str,
    /// Text before each line that names the agent, if the post goes to the control channel instead of the agent's; else
    /// empty.
    pub(crate) prefix: String,
}

/// The channels that herder wants to be in on one link, with their state.
#[derive(Debug)]
pub(crate) struct Channels {
    list: Vec<Channel>,
    network: NetworkName,
    alerts: String,
    work: String,
    control: String,
    topic_gap: Instant,
}

impl Channels {
    /// Creates the list with the fleet's channels first: a server's limit on channels then affects the agents' channels only.
    pub(crate) fn new(
        network: &IrcNetwork,
        wanted: &[ChannelWanted],
        server: &ISupport,
        now: Instant,
    ) -> Self {
        let mut channels = Self {
            list: Vec::new(),
            network: network.name.clone(),
            alerts: network.alerts_channel.clone(),
            work: network.work_channel.clone(),
            control: network.control_channel.clone(),
            topic_gap: now,
        };
        channels.want(wanted, server, now);
        channels
    }

    /// Replaces the list of wanted channels. Returns the PART commands for those that are not wanted any more.
    pub(crate) fn want(
        &mut self,
        wanted: &[ChannelWanted],
        server: &ISupport,
        now: Instant,
    ) -> Vec<Outgoing> {
        let fleet = [&self.control, &self.alerts, &self.work].map(|name| (name.clone(), None));
        let here = |wish: &&ChannelWanted| wish.network.as_ref().is_none_or(|of| *of == self.network);
        let wished = wanted
            .iter()
            .filter(here)
            .filter_map(|wish| Some((self.name_of(&wish.target)?, wish.topic.clone())));
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
                self.list[index].topic.want(&topic, server.topic_max);
            }
        }
        leave
    }

    /// Returns the name of the channel in which posts for `target` belong; `None` for a person.
    pub(crate) fn name_of(&self, target: &Target) -> Option<String> {
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

    /// Returns the present destination of posts to `target`; `None` while they have to wait for the channel.
    pub(crate) fn route<'a>(&'a self, target: &'a Target, server: &ISupport) -> Option<Route<'a>> {
        if let Target::Person(person) = target {
            return Some(Route { to: nick_of(person), prefix: String::new() });
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

    /// Returns the configured name of a channel if its lines are live, not replayed.
    pub(crate) fn live(&self, name: &str, server: &ISupport) -> Option<&str> {
        let channel = self.find(name, server)?;
        matches!(channel.state, State::In { live: Live::Yes, .. }).then_some(channel.name.as_str())
    }

    /// Returns the configured name of a channel that herder has joined but whose lines may still be replayed ones.
    pub(crate) fn coming_live(&self, name: &str, server: &ISupport) -> Option<&str> {
        let channel = self.find(name, server)?;
        (channel.is_in() && self.live(name, server).is_none()).then_some(channel.name.as_str())
    }

    /// Returns the configured names of all wanted channels.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|channel| channel.name.as_str())
    }

    /// Returns the configured name of the wanted channel that the server calls `name`; `None` if there is none.
    pub(crate) fn wanted_as(&self, name: &str, server: &ISupport) -> Option<&str> {
        self.find(name, server).map(|channel| channel.name.as_str())
    }

    /// Returns true if `name` is the alerts channel.
    pub(crate) fn is_alerts(&self, name: &str, server: &ISupport) -> bool {
        self.find(name, server).is_some_and(|channel| channel.name == self.alerts)
    }

    /// Returns true if `name` is the control channel, where a command needs no `!`.
    pub(crate) fn is_control(&self, name: &str, server: &ISupport) -> bool {
        server.case.same(&self.control, name)
    }

    /// Returns true if `name` is one of the fleet's own channels, where a line is not addressed to one agent.
    pub(crate) fn is_fleet(&self, name: &str, server: &ISupport) -> bool {
        [&self.alerts, &self.work, &self.control].into_iter().any(|own| server.case.same(own, name))
    }

    /// Returns true if every wanted channel is joined and live, or has refused herder.
    pub(crate) fn settled(&self) -> bool {
        self.list.iter().all(|channel| match channel.state {
            State::In { live, .. } => live == Live::Yes,
            State::Out { .. } | State::Joining { .. } => channel.tried,
        })
    }

    /// Returns the JOIN and TOPIC commands that are due.
    pub(crate) fn due(&mut self, server: &ISupport, now: Instant) -> Vec<Outgoing> {
        self.joins_due(server.known, now).into_iter().chain(self.topic_due(now)).collect()
    }

    /// Returns the time at which a JOIN or a topic is due, so that [`Channels::due`] has to be called.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.joins_deadline().into_iter().chain(self.topics_deadline()).min()
    }
}
