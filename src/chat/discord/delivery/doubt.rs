//! Lines that may be there already although Discord would show them again.
//!
//! Discord knows a nonce again for the past few minutes, as it says, and not for longer. What was sent before that and never
//! confirmed, because answers were lost for minutes or herder was killed, is looked for in its channel before it is sent
//! again. In each queue, which is one lane of one target, at most one line is in doubt: it is the first of it that is sent in
//! this run, or one that was put back. What is sent of other queues says nothing of it: an urgent line overtakes it, and a
//! channel can be the target of an agent's posts and, by its id, of others.

use std::collections::HashMap;
use std::time::Duration;

use serenity::all::{MessageId, UserId};

use super::super::inbound::id_at;
use super::super::rest::Seen;
use crate::core::id::PostId;
use crate::core::time::Timestamp;
use crate::outbox::{Line, Target};

/// For how long a nonce is sure to be known: Discord says "the past few minutes".
const NONCE_IS_KNOWN: Duration = Duration::from_secs(120);
/// How far what is known of Discord's clock may be wrong.
const SKEW: Duration = Duration::from_secs(60);
/// Queues that are remembered; of those that are not, the last messages are looked at once more.
const QUEUES_MAX: usize = 4096;

/// What keeps its order by itself: one lane of one target, with the urgent lane as `true`.
pub(super) type Queue = (Target, bool);

/// The queue that a line is of.
pub(super) fn queue_of(line: &Line) -> Queue {
    (line.target.clone(), line.urgent)
}

/// What this run has sent: of each queue from which a line went, the last that is known to have arrived.
#[derive(Debug, Default)]
pub(super) struct Sent(HashMap<Queue, Option<MessageId>>);

impl Sent {
    /// A line goes. Answers after which message it has to be looked for first; `None`: it is not there, or its nonce is
    /// known.
    /// `there` tells a moment by Discord's clock.
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
        // Whatever of its queue arrived in this run was before it.
        let newest = self.0.entry(queue).or_default().map_or(0, MessageId::get);
        let may_be_there = line.resent || (is_first && line.post != PostId(0));
        let at = line.source.at;
        (may_be_there && at.after(NONCE_IS_KNOWN) < now)
            .then(|| id_at(there(at).before(SKEW).as_millis()).max(newest))
    }

    /// A line of that queue is there.
    pub(super) fn arrived(&mut self, queue: Queue, message: MessageId) {
        let newest = self.0.entry(queue).or_default();
        *newest = (*newest).max(Some(message));
    }
}

/// The message of `me` after `after` that says one of `contents`. Discord cuts what is blank at both ends.
pub(in super::super) fn find(seen: &[Seen], me: UserId, after: u64, contents: &[&str]) -> Option<MessageId> {
    let says = |message: &Seen| contents.iter().any(|content| content.trim() == message.content.trim());
    let is_it = |message: &&Seen| message.author == me && message.id.get() > after && says(message);
    seen.iter().find(is_it).map(|message| message.id)
}
