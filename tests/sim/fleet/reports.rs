//! The words between supervisors and their sessions on a runner. Connections lose them and bring them again, and each
//! of them counts once. Each invariant is one function, and its name states it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use herder::core::agent::{Agent, Phase};
use herder::core::ask::AskKey;
use herder::core::detail::Detail;
use herder::core::event::Event;
use herder::core::id::{AgentName, SessionId, WorkId};
use herder::core::outcome::{Category, Outcome};
use herder::core::time::Timestamp;

/// The longest time without an order that a session is owed, while one herder lives: a connection is made again, and
/// the next one may stand still as well.
const OWED: Duration = Duration::from_secs(45);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    sessions: BTreeMap<(AgentName, SessionId), Words>,
    /// The number of herders so far, and whether one is there and has adopted what goes on.
    herders: u64,
    attended: bool,
}

/// The words of a session on a runner.
#[derive(Debug, Default)]
struct Words {
    /// Its turns, each with other words, and how many of them are on disk.
    turns: Vec<String>,
    decided: usize,
    /// Its own words at its end.
    over: Option<(Category, Detail)>,
    /// True if its supervisor has panicked, which may drop reports.
    excused: bool,
    /// The herder that has started it, and how often it was told to begin.
    herder: u64,
    begun: u64,
    /// Messages that it was given and has not refused.
    messages: BTreeSet<WorkId>,
    /// Questions that are on disk.
    asked: BTreeSet<AskKey>,
    /// The order that it waits for, and since when it is owed.
    owed: Option<Timestamp>,
}

impl Reports {
    /// Records that a herder has adopted what goes on.
    pub(crate) fn herder_is_there(&mut self) {
        self.attended = true;
    }

    /// Records the end of a herder: the next one may repeat what this one has said.
    pub(crate) fn herder_is_gone(&mut self) {
        self.herders += 1;
        self.attended = false;
        self.sessions.values_mut().for_each(|words| words.owed = None);
    }

    /// Records the begin of a session on a runner.
    pub(crate) fn begun(&mut self, of: (AgentName, SessionId)) -> Result<(), String> {
        let (agent, session) = of.clone();
        let words = Words { herder: self.herders, ..Words::default() };
        match self.sessions.insert(of, words) {
            Some(_) => Err(format!("at_most_one_process_per_agent: {agent} #{session} is started twice")),
            None => Ok(()),
        }
    }

    /// Records a turn that the session reports.
    pub(crate) fn said(&mut self, of: &(AgentName, SessionId), turn: String) {
        self.sessions.entry(of.clone()).or_default().turns.push(turn);
    }

    /// Records the last report of a session.
    pub(crate) fn ended(&mut self, of: &(AgentName, SessionId), outcome: &Outcome) {
        let words = self.sessions.entry(of.clone()).or_default();
        words.over = Some((outcome.category, outcome.detail.clone()));
    }

    /// Records the panic of a supervisor.
    pub(crate) fn breaks(&mut self, agent: &AgentName) {
        let all = self.sessions.iter_mut().rev();
        if let Some((_, words)) = all.into_iter().find(|((of, _), _)| of == agent) {
            words.excused = true;
        }
    }

    /// Checks an agent's event.
    pub(crate) fn each_report_is_decided_once(
        &mut self,
        name: &AgentName,
        event: &Event,
    ) -> Result<(), String> {
        let once = |session: &SessionId, what: String| {
            Err(format!("each_report_is_decided_once: of {name} #{session} {what}"))
        };
        match event {
            Event::TurnEnded { session, text, .. } => {
                let Some(words) = self.sessions.get_mut(&(name.clone(), *session)) else { return Ok(()) };
                let left = &words.turns[words.decided..];
                match left.iter().position(|turn| turn == text) {
                    Some(0) => words.decided += 1,
                    Some(at) if words.excused => words.decided += at + 1,
                    at => {
                        return once(session, format!("{text:?} is decided, which is {at:?} of {left:?}"));
                    }
                }
            }
            Event::SessionEnded { session, outcome, .. } => {
                let Some(words) = self.sessions.get_mut(&(name.clone(), *session)) else { return Ok(()) };
                let left = &words.turns[words.decided..];
                let own = words.over.as_ref() == Some(&(outcome.category, outcome.detail.clone()));
                if own && !words.excused && !left.is_empty() {
                    return once(session, format!("{left:?} is not decided, and it is over"));
                }
            }
            Event::Asked { ask } => {
                if let Some((session, key)) =
                    ask.asker.as_ref().and_then(|asker| Some((asker.session, asker.key?)))
                    && let Some(words) = self.sessions.get_mut(&(name.clone(), session))
                    && !words.asked.insert(key)
                {
                    return once(&session, format!("question {} is asked twice", key.0));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks an order to begin, or a message, that has come to a session.
    pub(crate) fn what_an_adopted_session_is_owed_it_gets_once(
        &mut self,
        of: &(AgentName, SessionId),
        message: Option<WorkId>,
    ) -> Result<(), String> {
        let herders = self.herders;
        let words = self.sessions.entry(of.clone()).or_default();
        let (agent, session) = of;
        let once = |what: String| {
            Err(format!("what_an_adopted_session_is_owed_it_gets_once: {agent} #{session} {what}"))
        };
        if let Some(work) = message {
            if !words.messages.insert(work) {
                return once(format!("got message {work} twice"));
            }
            return Ok(());
        }
        words.begun += 1;
        // Each herder that adopts it says so once more, as long as it does not know better.
        let most = 1 + herders - words.herder;
        if words.begun > most {
            return once(format!("is told to begin {} times by {most} herders", words.begun));
        }
        Ok(())
    }

    /// A session has refused a message: it may come again.
    pub(crate) fn refused(&mut self, of: &(AgentName, SessionId), work: WorkId) {
        self.sessions.entry(of.clone()).or_default().messages.remove(&work);
    }

    /// Checks that a session which waits gets what it is owed: the order to begin, or an answer that is on disk.
    /// `agent` is its agent as it is on disk.
    pub(crate) fn what_an_adopted_session_is_owed_it_gets(
        &mut self,
        of: &(AgentName, SessionId),
        answer: Option<AskKey>,
        agent: Option<&Agent>,
        now: Timestamp,
    ) -> Result<(), String> {
        let words = self.sessions.entry(of.clone()).or_default();
        let open = |key: AskKey| {
            agent.is_some_and(|agent| {
                let asks = agent.asks.iter().filter_map(|ask| ask.asker.as_ref());
                asks.into_iter().any(|asker| asker.session == of.1 && asker.key == Some(key))
            })
        };
        let is_owed = agent.is_some_and(|agent| match agent.phase {
            // Its process is on disk, or the answer to its question.
            Phase::Starting { session } => session == of.1 && answer.is_none() && agent.process.is_some(),
            Phase::Running { session } => {
                session == of.1 && answer.is_some_and(|key| words.asked.contains(&key) && !open(key))
            }
            _ => false,
        });
        let is_owed = is_owed && self.attended && !words.excused;
        if !is_owed {
            words.owed = None;
            return Ok(());
        }
        let since = *words.owed.get_or_insert(now);
        if since.after(OWED) < now {
            let (agent, session) = of;
            return Err(format!(
                "what_an_adopted_session_is_owed_it_gets_once: {agent} #{session} waits since {since:?} for {}",
                answer.map_or("the order to begin".to_owned(), |key| format!("the answer to {}", key.0))
            ));
        }
        Ok(())
    }

    /// A session has got what it waited for.
    pub(crate) fn got(&mut self, of: &(AgentName, SessionId)) {
        self.sessions.entry(of.clone()).or_default().owed = None;
    }
}
