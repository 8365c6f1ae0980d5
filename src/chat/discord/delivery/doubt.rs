//! Detection of messages that exist already although Discord would show them again.
//!
//! Discord recognises a nonce for "the past few minutes" only. An older message that was never confirmed, because
//! answers were lost or herder was killed, is searched in its channel before it is sent again. At most one line of
//! each queue (one lane of one target) is in doubt: the first one sent in this run, or one that was returned.
//! Messages of other queues prove nothing about it: an urgent line overtakes, and a channel can be the target of an
//! agent's posts and, by its id, of others.

use std::collections::HashMap;
use std::time::Duration;

use serenity::all::{MessageId, UserId};

use super::super::inbound::id_at;
use super::super::rest::Seen;
use crate::core::id::PostId;
use crate::core::post::Target;
use crate::core::time::Timestamp;
use crate::outbox::Line;

/// Time for which Discord certainly recognises a repeated nonce.
const NONCE_IS_KNOWN: Duration = Duration::from_secs(120);
/// Maximum error of herder's estimate of Discord's clock.
const SKEW: Duration = Duration::from_secs(60);
/// Maximum number of queues whose last message is remembered; for others the last messages are searched once more.
const QUEUES_MAX: usize = 4096;

/// The queue of a line, within which order is kept: its target, and true for the urgent lane.
pub(super) type Queue = (Target, bool);

/// Returns the queue to which a line belongs.
pub(super) fn queue_of(line: &Line) -> Queue {
    (line.target.clone(), line.urgent)
}

/// The queues from which this process has sent lines, each with the last message that is known to have arrived.
#[derive(Debug, Default)]
pub(super) struct Sent(HashMap<Queue, Option<MessageId>>);

impl Sent {
    /// Records that a line is being sent. Returns the message id after which the message has to be searched first,
    /// because it may exist already; `None` if it cannot exist or its nonce is recognised. `there` converts a time to
    /// Discord's clock.
    pub(super) fn departs(
        &mut self,
        line: &Line,
        now: Timestamp,
        there: impl Fn(Timestamp) -> Timestamp,
    ) -> Option<u64> {
        let queue = queue_of(line);
        if self.0.len() >= QUEUES_MAX && !self.0.contains_key(&queue) {
            self.0.clear();
        }
        let is_first = !self.0.contains_key(&queue);
        // All messages of its queue that arrived in this run were before it.
        let newest = self.0.entry(queue).or_default().map_or(0, MessageId::get);
        let may_be_there = line.resent || (is_first && line.post != PostId(0));
        let at = line.source.at;
        (may_be_there && at.after(NONCE_IS_KNOWN) < now)
            .then(|| id_at(there(at).before(SKEW).as_millis()).max(newest))
    }

    /// Records that a line of the queue has arrived as this message.
    pub(super) fn arrived(&mut self, queue: Queue, message: MessageId) {
        let newest = self.0.entry(queue).or_default();
        *newest = (*newest).max(Some(message));
    }
}

/// Finds the message by the user `me` after id `after` whose text is one of `contents`. Discord trims messages at both
/// ends.
pub(in super::super) fn find(seen: &[Seen], me: UserId, after: u64, contents: &[&str]) -> Option<MessageId> {
    let says = |message: &Seen| contents.iter().any(|content| content.trim() == message.content.trim());
    let is_it = |message: &&Seen| message.author == me && message.id.get() > after && says(message);
    seen.iter().find(is_it).map(|message| message.id)
}
