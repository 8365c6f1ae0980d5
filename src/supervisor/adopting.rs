//! Sessions on a runner in another process: the record of the reports that were decided, in the transaction of the
//! decisions, so that a herder that follows knows from which report on it has to decide.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing::info;

use super::session::Session;
use super::{Shared, StartError};
use crate::core::agent::Agent;
use crate::core::ask::{AskKey, Told};
use crate::core::effect::Effect;
use crate::core::id::{AgentName, SessionId};
use crate::journal::{Journal, Memo, ReadError};
use crate::runner::Place;
use crate::runner::link::Link;
use crate::runner::wire::{SessionKey, Standing};
use crate::runtime::Order;

/// Maximum time for the runner to answer at a start: it may be starting itself, and ends what a killed one has left
/// first.
const RUNNER_WITHIN: Duration = Duration::from_secs(60);

/// Number of the latest answers to a session that are kept on record: far more than are on their way to the runner.
const ANSWERS_MAX: usize = 16;

/// Prefix of the keys of memos about open sessions on a runner; the agent's name follows.
const PREFIX: &str = "session/";

/// Name of the runner on this machine.
const LOCAL: &str = "local";

/// The reports of a session that were decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decided {
    /// The session.
    pub(super) of: SessionKey,
    /// Number of the last of them.
    pub(super) up_to: u64,
    /// True if it was the session's end.
    pub(super) over: bool,
    /// The latest answers that the session was given by rules, in order.
    pub(super) answers: Vec<(AskKey, Told)>,
}

/// The record of an open session on a runner.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    runner: String,
    session: SessionId,
    /// Number of the last report whose consequences are on disk.
    heard: u64,
    /// The latest answers that followed from reports at once: no state of the agent tells them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answers: Vec<(AskKey, Told)>,
}

impl Decided {
    /// Returns the change of the record that goes with the decisions: the record of a session that is over is removed.
    pub(super) fn memo(&self) -> Memo {
        let (runner, session) = (LOCAL.to_owned(), self.of.session);
        let record = Record { runner, session, heard: self.up_to, answers: self.answers.clone() };
        // A name and two numbers can always be written as JSON.
        let value = if self.over { None } else { serde_json::to_string(&record).ok() };
        Memo { key: key(&self.of.agent), value }
    }
}

/// Adds the answers among the effects of a decision to those of the session, and forgets the oldest.
pub(super) fn note_answers(known: &mut Vec<(AskKey, Told)>, effects: &[Effect]) {
    known.extend(effects.iter().filter_map(|effect| match effect {
        Effect::Answer { key, told, .. } => Some((*key, told.clone())),
        _ => None,
    }));
    known.drain(..known.len().saturating_sub(ANSWERS_MAX));
}

/// Connects to the runner, if agents run on one. Returns the open sessions that go on there; all others there are
/// stopped and forgotten.
///
/// # Errors
/// The runner cannot be used, or the journal cannot be read.
pub(super) async fn adopt(
    shared: &Arc<Shared>,
    agents: &BTreeMap<AgentName, (Arc<Agent>, u64)>,
) -> Result<BTreeMap<AgentName, Box<Session>>, StartError> {
    let Place::Remote(link, _) = &shared.place else { return Ok(BTreeMap::new()) };
    let standings = link.connected(RUNNER_WITHIN).await?;
    let records = shared.journal.reading(records).await??;
    let mut adopted = BTreeMap::new();
    for Standing { of, unheard, next } in standings {
        let open = agents.get(&of.agent).is_some_and(|(agent, _)| agent.session() == Some(of.session));
        if !open {
            // Dropped orders mean a stop, and all of its reports are heard.
            drop(link.adopt(of, next.saturating_sub(1)));
            continue;
        }
        let record = records.get(&of.agent).filter(|record| record.session == of.session);
        // The runner has forgotten what was acknowledged, which is on disk.
        let heard = record.map_or(0, |record| record.heard).max(unheard.saturating_sub(1));
        let driver = link.adopt(of.clone(), heard);
        let mut session = Box::new(Session::adopt(shared, &of, driver, heard));
        for (key, told) in record.map(|record| record.answers.clone()).unwrap_or_default() {
            session.answers.push((key, told.clone()));
            session.order(Order::Answer { key, told }).await;
        }
        adopted.insert(of.agent, session);
    }
    if !adopted.is_empty() {
        info!(sessions = adopted.len(), "sessions go on in the process that runs the agents");
    }
    Ok(adopted)
}

fn records(journal: &Journal) -> Result<BTreeMap<AgentName, Record>, ReadError> {
    let memos = journal.memos(PREFIX)?.into_iter();
    let read = memos.filter_map(|(key, value)| {
        let agent = AgentName::new(key.strip_prefix(PREFIX)?).ok()?;
        Some((agent, serde_json::from_str(&value).ok()?))
    });
    Ok(read.collect())
}

/// Cuts the connection to the runner when it is dropped: whatever happens to the sessions here, they go on there.
pub(super) struct Leaving(Option<Link>);

impl Leaving {
    pub(super) fn of(shared: &Shared) -> Self {
        match &shared.place {
            Place::Embedded(_) => Self(None),
            Place::Remote(link, _) => Self(Some(link.clone())),
        }
    }

    /// Keeps the connection.
    pub(super) fn stay(mut self) {
        self.0 = None;
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(link) = &self.0 {
            link.cut();
        }
    }
}

fn key(agent: &AgentName) -> String {
    format!("{PREFIX}{agent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_session_is_on_record_and_one_that_is_over_is_not() {
        let of = SessionKey { agent: AgentName::new("spark").expect("a good name"), session: SessionId(7) };
        let open = Decided { of: of.clone(), up_to: 12, over: false, answers: Vec::new() }.memo();
        assert_eq!(open.key, "session/spark");
        assert_eq!(open.value.as_deref(), Some(r#"{"runner":"local","session":7,"heard":12}"#));
        assert_eq!(Decided { of, up_to: 13, over: true, answers: Vec::new() }.memo().value, None);
    }
}
