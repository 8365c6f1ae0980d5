//! Decides which status messages of agents are to be edited now.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serenity::all::{ChannelId, MessageId};

use crate::core::id::{AgentName, SessionId};
use crate::core::time::Timestamp;

/// Minimum time between two edits of a status message.
const EVERY: Duration = Duration::from_secs(5);
/// Minimum duration of a session before its status message is edited; the posts of a shorter one are enough.
const AFTER: Duration = Duration::from_secs(2);
/// Time after a restart of herder in which an agent may continue its session, so that the status message stays.
const RESTART: Duration = Duration::from_secs(20);
/// Maximum number of edits in flight: they must not delay posts.
const UNDER_WAY: usize = 8;

/// The status message of an agent's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) channel: ChannelId,
    pub(super) id: MessageId,
    pub(super) session: SessionId,
    /// The time at which the session was first seen.
    pub(super) since: Timestamp,
}

/// The present state of an agent and of its status message.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) agent: AgentName,
    /// The running session; `None` without one.
    pub(super) session: Option<SessionId>,
    /// The last session that ended, if it ended well: then a post announces its end or the next session continues it.
    pub(super) well: Option<SessionId>,
    /// The status message of the session, once it exists.
    pub(super) message: Option<Message>,
}

/// An edit of one status message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Edit the message, because its text may have changed.
    Change(Message),
    /// Edit the message for the last time, because the session is over.
    Close(Message),
}

/// The result of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stepped {
    /// The message was edited, or needed no change.
    Changed,
    /// The message was edited for the last time.
    Closed,
    /// The edit failed and is tried again.
    Failed,
    /// The message is gone or cannot be edited: this session has no status message any more.
    Gone,
}

#[derive(Debug)]
struct Entry {
    session: SessionId,
    message: Option<Message>,
    /// Time until which the session may be continued under another number, for a message of the previous process; else
    /// `None`.
    loaded: Option<Timestamp>,
    /// True if this session must not have a status message any more.
    given_up: bool,
    /// True if the last edit failed.
    failed: bool,
    due: Timestamp,
}

/// The status messages of all agents, and the edits in flight.
#[derive(Debug, Default)]
pub(super) struct Board {
    entries: BTreeMap<AgentName, Entry>,
    under_way: BTreeSet<AgentName>,
}

impl Board {
    /// Creates the board with the status messages of the previous process.
    pub(super) fn new(known: Vec<(AgentName, Message)>, now: Timestamp) -> Self {
        let entry = |(agent, message): (AgentName, Message)| {
            let session = message.session;
            (
                agent,
                Entry {
                    session,
                    message: Some(message),
                    loaded: Some(now.after(RESTART)),
                    given_up: false,
                    failed: false,
                    due: now,
                },
            )
        };
        Self { entries: known.into_iter().map(entry).collect(), under_way: BTreeSet::new() }
    }

    /// Returns the edits that are due; `Board::stepped` has to be called with the result of each. If there are too
    /// many, last edits come first, then the sessions that have waited longest.
    pub(super) fn look(&mut self, agents: &[Seen], now: Timestamp) -> Vec<(AgentName, Step)> {
        let mut steps = Vec::new();
        for seen in agents {
            if self.under_way.contains(&seen.agent) {
                continue;
            }
            if let Some(step) = self.step(seen, now) {
                steps.push((seen.agent.clone(), step));
            }
        }
        steps.extend(self.of_removed(agents, now));
        steps.sort_by_key(|(agent, step)| {
            (!matches!(step, Step::Close(_)), self.entries.get(agent).map(|entry| entry.due))
        });
        steps.truncate(UNDER_WAY.saturating_sub(self.under_way.len()));
        self.under_way.extend(steps.iter().map(|(agent, _)| agent.clone()));
        steps
    }

    /// Returns true if any status message of a running session exists, or an edit is in flight.
    pub(super) fn is_shown(&self) -> bool {
        !self.under_way.is_empty() || self.entries.values().any(|entry| entry.message.is_some())
    }

    /// Returns the last edits of the status messages of removed agents.
    fn of_removed(&self, agents: &[Seen], now: Timestamp) -> Vec<(AgentName, Step)> {
        let known: BTreeSet<&AgentName> = agents.iter().map(|seen| &seen.agent).collect();
        let removed = self.entries.iter().filter(|(agent, _)| !known.contains(agent));
        removed
            .filter(|(agent, entry)| !self.under_way.contains(*agent) && entry.due <= now)
            .filter_map(|(agent, entry)| Some((agent.clone(), Step::Close(entry.message?))))
            .collect()
    }

    fn step(&mut self, seen: &Seen, now: Timestamp) -> Option<Step> {
        let Some(session) = seen.session else { return self.close(seen, now) };
        let goes_well = |entry: &Entry| seen.well == Some(entry.session);
        let entry = match self.entries.get_mut(&seen.agent) {
            Some(entry) if entry.session == session => entry,
            // A session interrupted by herder's end continues in its message.
            Some(entry) if entry.loaded.is_some() => {
                entry.session = session;
                entry.message.iter_mut().for_each(|message| message.session = session);
                entry
            }
            Some(entry) if entry.message.is_some() && !goes_well(entry) => return self.close(seen, now),
            _ => {
                let due = now.after(AFTER);
                let entry =
                    Entry { session, message: None, loaded: None, given_up: false, failed: false, due };
                self.entries.insert(seen.agent.clone(), entry);
                return None;
            }
        };
        entry.loaded = None;
        if entry.given_up || entry.due > now {
            return None;
        }
        if entry.message.is_none() {
            entry.message = seen.message.map(|message| Message { session, ..message });
        }
        entry.message.map(Step::Change)
    }

    /// Handles that an agent's session has ended; returns the last edit if it is due.
    fn close(&mut self, seen: &Seen, now: Timestamp) -> Option<Step> {
        let agent = &seen.agent;
        let entry = self.entries.get(agent)?;
        if seen.well == Some(entry.session) {
            self.entries.remove(agent);
            return None;
        }
        if entry.loaded.is_some_and(|until| until > now) {
            return None;
        }
        match entry.message {
            Some(message) => (entry.due <= now || !entry.failed).then_some(Step::Close(message)),
            None => {
                self.entries.remove(agent);
                None
            }
        }
    }

    /// Handles the result of an edit.
    pub(super) fn stepped(&mut self, agent: &AgentName, stepped: Stepped, now: Timestamp) {
        self.under_way.remove(agent);
        let Some(entry) = self.entries.get_mut(agent) else { return };
        entry.due = now.after(EVERY);
        entry.failed = stepped == Stepped::Failed;
        match stepped {
            Stepped::Changed | Stepped::Failed => {}
            Stepped::Gone => (entry.message, entry.given_up) = (None, true),
            Stepped::Closed => {
                self.entries.remove(agent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spark() -> AgentName {
        AgentName::new("spark").expect("a good name")
    }

    fn seen(session: Option<u64>) -> Vec<Seen> {
        seen_well(session, None)
    }

    fn seen_well(session: Option<u64>, well: Option<u64>) -> Vec<Seen> {
        let (session, well) = (session.map(SessionId), well.map(SessionId));
        vec![Seen { agent: spark(), session, well, message: Some(message(0, 0)) }]
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn message(session: u64, since: i64) -> Message {
        Message {
            channel: ChannelId::new(7),
            id: MessageId::new(9),
            session: SessionId(session),
            since: at(since),
        }
    }

    #[test]
    fn a_session_is_shown_in_its_message_that_is_changed_now_and_then_and_closed() {
        let mut board = Board::default();
        assert_eq!(board.look(&seen(Some(1)), at(0)), [], "not at once");
        let mut unsaid = seen(Some(1));
        unsaid[0].message = None;
        assert_eq!(board.look(&unsaid, at(2)), [], "that it started waits");
        assert_eq!(board.look(&seen(Some(1)), at(3)), [(spark(), Step::Change(message(1, 0)))]);
        assert_eq!(board.look(&seen(Some(1)), at(3)), [], "one request at a time");
        board.stepped(&spark(), Stepped::Changed, at(3));
        assert_eq!(board.look(&seen(Some(1)), at(7)), []);
        assert_eq!(board.look(&seen(Some(1)), at(8)), [(spark(), Step::Change(message(1, 0)))]);
        board.stepped(&spark(), Stepped::Changed, at(8));
        assert_eq!(
            board.look(&seen(None), at(9)),
            [(spark(), Step::Close(message(1, 0)))],
            "the end is not put off"
        );
        board.stepped(&spark(), Stepped::Closed, at(9));
        assert_eq!(board.look(&seen(None), at(100)), []);
    }

    #[test]
    fn the_message_of_a_session_that_has_failed_is_closed_before_the_next_one_is_shown() {
        let mut board = Board::default();
        board.look(&seen(Some(1)), at(0));
        board.look(&seen(Some(1)), at(2));
        board.stepped(&spark(), Stepped::Changed, at(2));
        assert_eq!(board.look(&seen(Some(2)), at(3)), [(spark(), Step::Close(message(1, 0)))]);
        board.stepped(&spark(), Stepped::Closed, at(3));
        assert_eq!(board.look(&seen(Some(2)), at(4)), []);
        assert_eq!(board.look(&seen(Some(2)), at(6)), [(spark(), Step::Change(message(2, 0)))]);
    }

    #[test]
    fn what_completed_is_said_by_its_post() {
        let mut board = Board::default();
        board.look(&seen(Some(1)), at(0));
        board.look(&seen(Some(1)), at(2));
        board.stepped(&spark(), Stepped::Changed, at(2));
        assert_eq!(board.look(&seen_well(None, Some(1)), at(3)), []);
        assert!(!board.is_shown());
        // The same if the next session starts at once.
        board.look(&seen(Some(2)), at(4));
        board.look(&seen(Some(2)), at(6));
        board.stepped(&spark(), Stepped::Changed, at(6));
        assert_eq!(board.look(&seen_well(Some(3), Some(2)), at(7)), []);
        assert_eq!(board.look(&seen_well(Some(3), Some(2)), at(9)), [(spark(), Step::Change(message(3, 0)))]);
    }

    #[test]
    fn a_short_session_is_not_shown() {
        let mut board = Board::default();
        board.look(&seen(Some(1)), at(0));
        assert_eq!(board.look(&seen(None), at(1)), []);
        assert_eq!(board.look(&seen(None), at(100)), []);
    }

    #[test]
    fn a_restart_goes_on_with_the_message() {
        let mut board = Board::new(vec![(spark(), message(1, 0))], at(50));
        let step = board.look(&seen(Some(2)), at(50));
        assert_eq!(step, [(spark(), Step::Change(message(2, 0)))]);
        board.stepped(&spark(), Stepped::Changed, at(50));
        assert_eq!(board.look(&seen(Some(3)), at(51)), [(spark(), Step::Close(message(2, 0)))]);
        // Or the session ended with herder, or the agent was removed.
        let mut board = Board::new(vec![(spark(), message(1, 0))], at(50));
        assert_eq!(board.look(&seen(None), at(69)), [], "it may still go on");
        assert_eq!(board.look(&seen(None), at(70)), [(spark(), Step::Close(message(1, 0)))]);
        let mut board = Board::new(vec![(spark(), message(1, 0))], at(50));
        assert_eq!(board.look(&[], at(50)), [(spark(), Step::Close(message(1, 0)))]);
    }

    #[test]
    fn a_message_that_somebody_deleted_is_not_forced_on_them() {
        let mut board = Board::default();
        board.look(&seen(Some(1)), at(0));
        board.look(&seen(Some(1)), at(2));
        board.stepped(&spark(), Stepped::Changed, at(2));
        board.look(&seen(Some(1)), at(7));
        board.stepped(&spark(), Stepped::Gone, at(7));
        assert_eq!(board.look(&seen(Some(1)), at(100)), []);
        assert_eq!(board.look(&seen(None), at(101)), []);
        assert_eq!(board.look(&seen(Some(2)), at(102)), []);
        assert_eq!(board.look(&seen(Some(2)), at(104)).len(), 1);
    }

    #[test]
    fn few_requests_are_under_way_at_once() {
        let mut board = Board::default();
        let many: Vec<Seen> = (0..100)
            .map(|number| Seen {
                agent: AgentName::new(&format!("spark{number}")).expect("a good name"),
                session: Some(SessionId(1)),
                well: None,
                message: Some(message(0, 0)),
            })
            .collect();
        assert_eq!(board.look(&many, at(0)), []);
        let steps = board.look(&many, at(2));
        assert_eq!(steps.len(), UNDER_WAY);
        board.stepped(&steps[0].0, Stepped::Failed, at(3));
        assert_eq!(board.look(&many, at(3)).len(), 1);
    }

    #[test]
    fn of_more_sessions_than_can_be_shown_at_once_each_has_its_turn_and_the_ends_come_first() {
        let mut board = Board::default();
        let mut many: Vec<Seen> = (0..100)
            .map(|number| Seen {
                agent: AgentName::new(&format!("spark{number:02}")).expect("a good name"),
                session: Some(SessionId(1)),
                well: None,
                message: Some(message(0, 0)),
            })
            .collect();
        board.look(&many, at(0));
        // The maximum number at once, each done within a second: fewer than are due every five.
        let mut shown: BTreeMap<AgentName, usize> = BTreeMap::new();
        for second in 2..40 {
            for (agent, step) in board.look(&many, at(second)) {
                *shown.entry(agent.clone()).or_default() += 1;
                let stepped = match step {
                    Step::Change(_) => Stepped::Changed,
                    Step::Close(_) => Stepped::Closed,
                };
                board.stepped(&agent, stepped, at(second));
            }
        }
        assert_eq!(shown.len(), many.len());
        let (least, most) = (shown.values().min(), shown.values().max());
        assert!(most <= least.map(|least| least + 2).as_ref(), "{shown:?}");
        many[99].session = None;
        let steps = board.look(&many, at(40));
        assert_eq!((steps.len(), &steps[0].0), (UNDER_WAY, &many[99].agent));
        assert!(matches!(steps[0].1, Step::Close(_)));
    }
}
