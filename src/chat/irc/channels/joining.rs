//! Joining channels, being removed from them, and the steps between a JOIN and live speech.

use std::time::Duration;

use tokio::time::Instant;

use super::channel::{Channel, Live, RETRY_MAX, State};
use super::{Channels, Trouble};
use crate::chat::irc::isupport::ISupport;
use crate::chat::irc::wire::{LINE_MAX, Outgoing};
use crate::core::detail::LinkReason;

/// Wait before herder rejoins a channel after a kick. Servers and channel bots take an immediate return for an attack.
const REJOIN_AFTER_KICK: Duration = Duration::from_secs(5);
/// Number of kicks from a channel after which herder still rejoins by itself; one more is taken as intended.
const KICKS_MAX: u32 = 3;
/// Maximum time for the server to answer a JOIN.
const JOIN_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time for the answer to a JOIN of a channel that herder may still be in, because a post was refused there and
/// nothing removed it.
const STILL_IN_TIMEOUT: Duration = Duration::from_secs(10);
/// Number of posts in a row that a channel refuses although herder is in it, after which the channel counts as
/// unavailable.
const DENIALS_MAX: u32 = 3;

impl Channels {
    /// Returns the JOIN command that is due, for as many channels as fit into one line if `in_lists`.
    pub(super) fn joins_due(&mut self, in_lists: bool, now: Instant) -> Option<Outgoing> {
        let mut under_way = false;
        for channel in &mut self.list {
            match channel.state {
                // Servers do not answer the JOIN of a client that is already in the channel.
                State::Joining { since } if channel.still_in && since + STILL_IN_TIMEOUT <= now => {
                    channel.still_in = false;
                    // Speech since the refused post was not read, so that the channel has to become live again.
                    channel.state = State::In { live: Live::Named, since: now };
                }
                State::Joining { since } if since + JOIN_TIMEOUT <= now => {
                    channel.refused(now, u32::MAX);
                }
                State::Joining { .. } => under_way = true,
                // A server that does not end its list of names does not replay anything more either.
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

    /// Returns the time at which a JOIN is due or the answer to one is overdue.
    pub(super) fn joins_deadline(&self) -> Option<Instant> {
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
        // While a JOIN is in flight the others wait for its answer, not for a time.
        let joins =
            self.list.iter().filter_map(answers).min().or_else(|| self.list.iter().filter_map(waits).min());
        joins.into_iter().chain(names.min()).min()
    }

    /// Records that herder itself has joined a channel.
    pub(crate) fn joined(&mut self, name: &str, server: &ISupport, now: Instant) {
        if let Some(channel) = self.find_mut(name, server) {
            channel.state = State::In { live: Live::Names, since: now };
            channel.tried = true;
            channel.still_in = false;
            channel.refusals = 0;
            channel.lost = channel.denials >= DENIALS_MAX;
            channel.topic.came_in(now);
        }
    }

    /// Handles reply 366, the end of a joined channel's list of names. The answer to a fence (PING) then tells when all
    /// replayed lines have arrived.
    pub(crate) fn named(&mut self, name: &str, server: &ISupport) {
        if let Some(channel) = self.find_mut(name, server)
            && let State::In { live, .. } = &mut channel.state
            && *live == Live::Names
        {
            *live = Live::Named;
        }
    }

    /// Returns true if channels wait for a fence and none is in flight; `Channels::fence` records the one that is sent.
    pub(crate) fn needs_fence(&self) -> bool {
        let lives = || {
            self.list.iter().filter_map(|channel| match channel.state {
                State::In { live, .. } => Some(live),
                State::Out { .. } | State::Joining { .. } => None,
            })
        };
        lives().any(|live| live == Live::Named) && !lives().any(|live| matches!(live, Live::Fence(_)))
    }

    /// Records that the fence with this number was sent for all channels that wait for one.
    pub(crate) fn fence(&mut self, fence: u64) {
        for channel in &mut self.list {
            if let State::In { live, .. } = &mut channel.state
                && *live == Live::Named
            {
                *live = Live::Fence(fence);
            }
        }
    }

    /// Handles the answer to a fence. Returns the channels whose lines are live from now on, each by its configured
    /// name and by the server's name.
    pub(crate) fn fenced(&mut self, fence: u64) -> Vec<(String, String)> {
        let mut now_live = Vec::new();
        for channel in &mut self.list {
            if let State::In { live, .. } = &mut channel.state
                && *live == Live::Fence(fence)
            {
                *live = Live::Yes;
                now_live.push((channel.name.clone(), channel.actual().to_owned()));
            }
        }
        now_live
    }

    /// Records that herder was kicked, or removed otherwise, from a channel.
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
        let reason = LinkReason::Kicked.with(reason);
        first.then(|| Trouble { channel: channel.name.clone(), reason })
    }

    /// Handles the server's refusal of a JOIN, or of another command in a channel that herder is in.
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
        // 437 is temporary. 477 may mean that the services do not know our login yet.
        let patience = if matches!(code, 437 | 477) { 2 } else { 0 };
        let mut first = channel.refused(now, patience);
        if code == 405 {
            channel.state = State::Out { join_at: now + RETRY_MAX };
            first |= !std::mem::replace(&mut channel.lost, true);
        }
        first.then(|| Trouble { channel: channel.name.clone(), reason: reason.into() })
    }

    /// Handles reply 470: the server has forwarded herder to another channel.
    pub(crate) fn forwarded(&mut self, from: &str, to: &str, server: &ISupport) {
        if let Some(channel) = self.list.iter_mut().find(|channel| server.case.same(&channel.name, from)) {
            channel.forwarded = Some(to.to_owned());
        }
    }

    /// Handles an invitation: the JOIN of the channel is due at once.
    pub(crate) fn invited(&mut self, name: &str, server: &ISupport, now: Instant) {
        if let Some(channel) = self.find_mut(name, server)
            && let State::Out { join_at } = &mut channel.state
        {
            *join_at = now;
        }
    }

    /// Handles the refusal of a post in a channel: herder is not in it, or may not speak there.
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
        // Rejoining helps in both cases: if we are not in it (403, 442) and if we may not speak (404). The wait grows
        // each time.
        let wait = if lost { RETRY_MAX } else { REJOIN_AFTER_KICK * (channel.denials - 1) };
        channel.state = State::Out { join_at: now + wait };
        tracing::info!(code, channel = channel.name, reason, "a post was refused");
        let first = lost && !std::mem::replace(&mut channel.lost, true);
        first.then(|| Trouble { channel: channel.name.clone(), reason: reason.into() })
    }

    /// Records that a post in this channel was accepted, so that earlier refusals do not count.
    pub(crate) fn accepted(&mut self, name: &str, server: &ISupport) {
        if let Some(channel) = self.find_mut(name, server) {
            channel.denials = 0;
        }
    }
}
