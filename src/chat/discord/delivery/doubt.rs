//! Lines that may be there already although Discord would show them again.
//!
//! Discord knows a nonce again for the past few minutes, as it says, and not for longer. What was sent before that and never
//! confirmed, because answers were lost for minutes or herder was killed, is looked for in its channel before it is sent
//! again. At most one line of a channel is in doubt: it is the first that is sent there in this run, or one that was put back.

use std::collections::HashMap;
use std::time::Duration;

use serenity::all::{MessageId, UserId};

use super::super::inbound::id_at;
use super::super::rest::Seen;
use super::traffic::Place;
use crate::core::id::PostId;
use crate::core::time::Timestamp;
use crate::outbox::Line;

/// For how long a nonce is sure to be known: Discord says "the past few minutes".
const NONCE_IS_KNOWN: Duration = Duration::from_secs(120);
/// How far the clock of this machine may be ahead of Discord's.
const SKEW: Duration = Duration::from_secs(60);
/// Places that are remembered; of those that are not, the last messages are looked at once more.
const PLACES_MAX: usize = 4096;

/// What this run has sent.
#[derive(Debug, Default)]
pub(super) struct Sent(HashMap<Place, ToPlace>);

#[derive(Debug, Default)]
struct ToPlace {
    /// Whether a line of this lane went there: the urgent one, the other one.
    lanes: [bool; 2],
    /// The last that is known to have arrived.
    newest: Option<MessageId>,
}

impl Sent {
    /// A line goes there. Answers after which message it has to be looked for first; `None`: it is not there, or its nonce
    /// is known.
    pub(super) fn departs(&mut self, place: Place, line: &Line, now: Timestamp) -> Option<u64> {
        if self.0.len() >= PLACES_MAX && !self.0.contains_key(&place) {
            self.0.clear();
        }
        let to = self.0.entry(place).or_default();
        let lane = &mut to.lanes[usize::from(line.urgent)];
        let first = !std::mem::replace(lane, true);
        let may_be_there = line.resent || (first && line.post != PostId(0));
        let at = line.source.at;
        (may_be_there && at.after(NONCE_IS_KNOWN) < now)
            .then(|| id_at(at.before(SKEW).as_millis()).max(to.newest.map_or(0, MessageId::get)))
    }

    /// A line is there.
    pub(super) fn arrived(&mut self, place: Place, message: MessageId) {
        let newest = &mut self.0.entry(place).or_default().newest;
        *newest = (*newest).max(Some(message));
    }
}

/// The message of `me` after `after` that says one of `contents`. Discord cuts what is blank at both ends.
pub(in super::super) fn find(seen: &[Seen], me: UserId, after: u64, contents: &[&str]) -> Option<MessageId> {
    let says = |message: &Seen| contents.iter().any(|content| content.trim() == message.content.trim());
    let is_it = |message: &&Seen| message.author == me && message.id.get() > after && says(message);
    seen.iter().find(is_it).map(|message| message.id)
}
