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
use crate::core::id::{AgentName, RunnerName, SessionId};
use crate::journal::{Journal, Memo, ReadError};
use crate::runner::wire::{SessionKey, Standing};
use crate::runner::{LOCAL, Place};
use crate::runtime::{Driver, Order};

/// Maximum time for the runner to answer at a start: it may be starting itself, and ends what a killed one has left
/// first.
const RUNNER_WITHIN: Duration = Duration::from_secs(60);

/// Number of the latest answers to a session that are kept on record: far more than are on their way to the runner.
const ANSWERS_MAX: usize = 16;

/// Prefix of the keys of memos about open sessions on a runner; the agent's name follows.
const PREFIX: &str = "session/";

/// The reports of a session that were decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decided {
    /// The runner that has it; `None`: the one beside the bot.
    pub(super) runner: Option<RunnerName>,
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
        let runner = self.runner.as_ref().map_or(LOCAL, RunnerName::as_str).to_owned();
        let session = self.of.session;
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
    let here = shared.places.here();
    let is_elsewhere = |agent: &Agent| agent.spec.as_ref().is_some_and(|spec| spec.runner.is_some());
    if !here.is_remote() && !agents.values().any(|(agent, _)| is_elsewhere(agent)) {
        return Ok(BTreeMap::new());
    }
    let records = shared.journal.reading(records).await??;
    // It comes first: a start that fails here has adopted nothing.
    let standings = match &**here {
        Place::Remote(link, ..) => link.connected(RUNNER_WITHIN).await?,
        Place::Embedded(_) => Vec::new(),
    };
    let mut adopted = adopt_elsewhere(shared, agents, &records).await;
    let Place::Remote(link, ..) = &**here else { return Ok(adopted) };
    let elsewhere = adopted.len();
    for Standing { of, unheard, next } in standings {
        let open = agents.get(&of.agent).is_some_and(|(agent, _)| agent.session() == Some(of.session));
        if !open || adopted.contains_key(&of.agent) {
            // Dropped orders mean a stop, and all of its reports are heard.
            drop(link.adopt(of, next.saturating_sub(1)));
            continue;
        }
        let record = records.get(&of.agent).filter(|record| record.session == of.session);
        // The runner has forgotten what was acknowledged, which is on disk.
        let heard = record.map_or(0, |record| record.heard).max(unheard.saturating_sub(1));
        let driver = link.adopt(of.clone(), heard);
        let session = taken_over(shared, Arc::clone(here), (&of, driver, heard), record).await;
        adopted.insert(of.agent, session);
    }
    if adopted.len() > elsewhere {
        info!(sessions = adopted.len() - elsewhere, "sessions go on in the process that runs the agents");
    }
    Ok(adopted)
}

/// Returns the open sessions on other machines. Nobody is waited for: one that its runner does not have ends once that
/// is heard.
async fn adopt_elsewhere(
    shared: &Arc<Shared>,
    agents: &BTreeMap<AgentName, (Arc<Agent>, u64)>,
    records: &BTreeMap<AgentName, Record>,
) -> BTreeMap<AgentName, Box<Session>> {
    let mut adopted = BTreeMap::new();
    for (name, (agent, _)) in agents {
        let Some(session) = agent.session() else { continue };
        let record = records.get(name).filter(|record| record.session == session);
        let runner = match record {
            Some(record) if record.runner == LOCAL => None,
            Some(record) => RunnerName::new(&record.runner).ok(),
            // Nothing of it was decided.
            None => agent.spec.as_ref().and_then(|spec| spec.runner.clone()),
        };
        // One that was removed has given its sessions up.
        let is_member = |runner: &RunnerName| shared.runners.as_ref().is_some_and(|all| all.has(runner));
        let Some(runner) = runner.filter(is_member) else { continue };
        let place = shared.places.of(Some(&runner));
        let Place::Remote(link, ..) = &*place else { continue };
        let of = SessionKey { agent: name.clone(), session };
        let heard = record.map_or(0, |record| record.heard);
        let driver = link.adopt(of.clone(), heard);
        adopted.insert(name.clone(), taken_over(shared, place, (&of, driver, heard), record).await);
    }
    adopted
}

/// Returns a session that goes on, which is given again the answers of its record.
async fn taken_over(
    shared: &Arc<Shared>,
    place: Arc<Place>,
    (of, driver, heard): (&SessionKey, Driver, u64),
    record: Option<&Record>,
) -> Box<Session> {
    let mut session = Box::new(Session::adopt(shared, place, of, driver, heard));
    for (key, told) in record.map(|record| record.answers.clone()).unwrap_or_default() {
        session.answers.push((key, told.clone()));
        session.order(Order::Answer { key, told }).await;
    }
    session
}

fn records(journal: &Journal) -> Result<BTreeMap<AgentName, Record>, ReadError> {
    let memos = journal.memos(PREFIX)?.into_iter();
    let read = memos.filter_map(|(key, value)| {
        let agent = AgentName::new(key.strip_prefix(PREFIX)?).ok()?;
        Some((agent, serde_json::from_str(&value).ok()?))
    });
    Ok(read.collect())
}

/// Cuts the connections to runners when it is dropped: whatever happens to the sessions here, they go on there.
pub(super) struct Leaving(Option<Arc<Shared>>);

impl Leaving {
    pub(super) fn of(shared: &Arc<Shared>) -> Self {
        Self(Some(Arc::clone(shared)))
    }

    /// Keeps the connections.
    pub(super) fn stay(mut self) {
        self.0 = None;
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let Some(shared) = &self.0 else { return };
        for place in shared.places.elsewhere().iter().chain([shared.places.here()]) {
            if let Place::Remote(link, ..) = &**place {
                link.cut();
            }
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
        let open =
            Decided { runner: None, of: of.clone(), up_to: 12, over: false, answers: Vec::new() }.memo();
        assert_eq!(open.key, "session/spark");
        assert_eq!(open.value.as_deref(), Some(r#"{"runner":"local","session":7,"heard":12}"#));
        let runner = RunnerName::new("box4").ok();
        let other =
            Decided { runner: runner.clone(), of: of.clone(), up_to: 12, over: false, answers: Vec::new() };
        assert_eq!(other.memo().value.as_deref(), Some(r#"{"runner":"box4","session":7,"heard":12}"#));
        assert_eq!(Decided { runner, of, up_to: 13, over: true, answers: Vec::new() }.memo().value, None);
    }
}
