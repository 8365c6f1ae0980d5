//! Recent events of an agent: read back once, and from then on only new ones.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::pauses::Pauses;
use crate::clock;
use crate::commands::{hide_whisper, is_told};
use crate::core::agent::Agent;
use crate::core::event::{Event, WaitReason};
use crate::core::id::{AgentName, SessionId};
use crate::core::outcome::{Category, Usage};
use crate::core::time::Timestamp;
use crate::http::App;
use crate::journal::{Entry, Reach, Recorded, Stream};
use crate::supervisor::View as Seen;

/// Length of a timeline.
pub(super) const SPAN: Duration = Duration::from_secs(24 * 3600);

/// Events that are kept for the list of what happened, turns for what it said, sessions and marks for the timeline.
const TOLD_MAX: usize = 25;
const SAID_MAX: usize = 12;
const SESSIONS_MAX: usize = 500;
const MARKS_MAX: usize = 500;

/// Events that are looked at when a page is opened first: a busy agent's day.
const SCAN_MAX: usize = 5_000;

/// Limits of that: an agent that rests for longer than the database remembers is read back out of one archive.
const REACH: Reach = Reach { entries: SCAN_MAX, files: 1 };

/// Last turns that stand beside what needs a person, and limits of reading back for them.
const WORDS_MAX: usize = 3;
const WORDS_REACH: Reach = Reach { entries: 200, files: 0 };

/// Last turns of agents that need a person, read back once for each state of an agent.
#[derive(Debug, Default)]
pub(in super::super) struct LastWords(BTreeMap<AgentName, (Arc<Agent>, Vec<Recorded>)>);

impl LastWords {
    /// Reads back the last turns of these agents, where the agent has changed; forgets all others.
    pub(super) async fn go_on(&mut self, app: &App, agents: &[&Seen]) {
        let mut before = std::mem::take(&mut self.0);
        for seen in agents {
            let known = before.remove(&seen.name).filter(|(agent, _)| Arc::ptr_eq(agent, &seen.agent));
            let known = match known {
                Some(known) => known,
                None => (Arc::clone(&seen.agent), last_words(app, &seen.name).await),
            };
            self.0.insert(seen.name.clone(), known);
        }
    }

    /// Turns of an agent, the oldest first.
    pub(super) fn of(&self, agent: &AgentName) -> &[Recorded] {
        self.0.get(agent).map_or(&[], |(_, words)| words)
    }
}

async fn last_words(app: &App, agent: &AgentName) -> Vec<Recorded> {
    let take = |found: &mut Vec<Recorded>, recorded: Recorded| {
        if matches!(recorded.entry, Entry::Agent(Event::TurnEnded { .. } | Event::SessionEnded { .. })) {
            found.push(recorded);
        }
        if found.len() < WORDS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let from = (Some(Stream::Agent(agent.clone())), u64::MAX);
    match app.setup.journal.look_back_from(from, WORDS_REACH, Vec::new(), take).await {
        Ok(looked) => looked.gathered.into_iter().rev().collect(),
        Err(reason) => {
            tracing::error!(%reason, %agent, "history could not be read");
            Vec::new()
        }
    }
}

/// A session that is over.
#[derive(Debug, Clone)]
pub(super) struct PastSession {
    pub(super) session: SessionId,
    pub(super) begun: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) category: Category,
    pub(super) turns: u32,
    pub(super) usage: Usage,
}

/// A moment that the timeline marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// A countdown to a restart began.
    Restart,
    /// The evaluator or a person whispered.
    Whisper,
}

/// See the module's text.
#[derive(Debug, Default)]
pub(in super::super) struct Story {
    /// The last revision that is in it.
    upto: u64,
    pub(super) told: VecDeque<Recorded>,
    pub(super) said: VecDeque<Recorded>,
    pub(super) sessions: VecDeque<PastSession>,
    pub(super) marks: VecDeque<(Timestamp, Mark)>,
    pub(super) pauses: Pauses,
}

impl Story {
    /// Takes in what has happened since. What cannot be read is logged and left out.
    pub(super) async fn go_on(&mut self, app: &App, agent: &AgentName) {
        let (upto, oldest) = (self.upto, clock::now().before(SPAN));
        let take = move |found: &mut Vec<Recorded>, recorded: Recorded| {
            // An agent that rests has few events in a day; its last ones are shown all the same.
            let enough = recorded.at < oldest && found.len() >= TOLD_MAX * 4;
            if recorded.rev <= upto || enough {
                return ControlFlow::Break(());
            }
            found.push(recorded);
            ControlFlow::Continue(())
        };
        let from = (Some(Stream::Agent(agent.clone())), u64::MAX);
        match app.setup.journal.look_back_from(from, REACH, Vec::new(), take).await {
            Ok(looked) => looked.gathered.into_iter().rev().for_each(|recorded| self.take(recorded)),
            Err(reason) => tracing::error!(%reason, %agent, "history could not be read"),
        }
    }

    fn take(&mut self, mut recorded: Recorded) {
        self.upto = recorded.rev;
        let Entry::Agent(event) = &recorded.entry else { return };
        let at = recorded.at;
        self.pauses.take(event, at);
        match event {
            Event::SessionEnded { session, outcome, .. } => {
                let (begun, ended) = (at.before(outcome.duration), at);
                let (category, turns, usage) = (outcome.category, outcome.turns, outcome.usage);
                let over = PastSession { session: *session, begun, ended, category, turns, usage };
                push(&mut self.sessions, over, SESSIONS_MAX);
                push(&mut self.said, recorded.clone(), SAID_MAX);
            }
            Event::TurnEnded { .. } => push(&mut self.said, recorded.clone(), SAID_MAX),
            Event::Waiting { reason: WaitReason::Backoff(_), .. } => {
                push(&mut self.marks, (at, Mark::Restart), MARKS_MAX);
            }
            Event::Whispered { .. } => push(&mut self.marks, (at, Mark::Whisper), MARKS_MAX),
            _ => {}
        }
        if is_told(&recorded) {
            if let Entry::Agent(Event::SessionEnded { outcome, .. }) = &mut recorded.entry {
                // The text is among what it said.
                outcome.text = None;
            }
            push(&mut self.told, recorded, TOLD_MAX);
        }
    }

    /// Events, the latest first; whispers' words only for those who may give them.
    pub(super) fn happened(&self, may_read_whispers: bool) -> impl Iterator<Item = Recorded> {
        self.told.iter().rev().cloned().map(move |mut recorded| {
            if !may_read_whispers {
                hide_whisper(&mut recorded);
            }
            recorded
        })
    }
}

fn push<T>(kept: &mut VecDeque<T>, one: T, max: usize) {
    kept.push_back(one);
    while kept.len() > max {
        kept.pop_front();
    }
}
