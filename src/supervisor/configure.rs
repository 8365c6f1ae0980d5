//! Applies the configuration's agents: at the start, and whenever the file is read again.
//!
//! The file is compared with its last reading ([`FleetState::configured`]), never with the agents themselves, so that
//! a person's change by command stays until the file changes. A new section adds an agent, a changed one edits it,
//! and a missing one removes it with its history kept, as `agent remove` does. Agents that the file never named are
//! left alone.
//!
//! Each change is on disk before the reading is noted ([`FleetEvent::Configured`], [`FleetEvent::LeftOut`]). If
//! herder is killed in between, the next start finds the same difference and continues.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tracing::{info, warn};

use super::root::ToRoot;
use super::task::{Answer, Request};
use super::{Asked, Fleet};
use crate::core::agent::{Agent, Phase};
use crate::core::event::StopReason;
use crate::core::id::{AgentName, NetworkName};
use crate::core::input::Control;
use crate::core::notice::{Notice, Refusal};
use crate::core::policy::Policy;
use crate::core::spec::AgentSpec;
use crate::core::work::Actor;
use crate::journal::{AuditEntry, FleetEvent, FleetState};

/// Maximum wait for a supervisor to apply a changed configuration. One whose process will not end takes longer; the
/// next reading of the file then applies the agent's change.
const PATIENCE: Duration = Duration::from_secs(10);

/// The result of applying the agents in a configuration file that was read again, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configured {
    /// Agents that were added.
    pub added: Vec<AgentName>,
    /// Agents that were edited without touching a running session.
    pub changed: Vec<AgentName>,
    /// Agents that were edited and whose session was cut because its command changed; its work continues with the new
    /// one.
    pub restarted: Vec<AgentName>,
    /// Agents that are not in the file any more.
    pub removed: Vec<AgentName>,
    /// Agents that were edited and had been changed by command; that change is gone.
    pub replaced: Vec<AgentName>,
    /// Agents whose section has changed, but which a person removed by command.
    pub stayed: Vec<AgentName>,
    /// Agents whose change failed: the log says why, and the next reading tries again.
    pub failed: Vec<AgentName>,
}

/// A change of an existing agent that the file requires.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Edit it to this configuration; `replaces`: a person had changed it by command.
    Change { spec: Box<AgentSpec>, replaces: bool },
    /// Remove it.
    Remove,
}

/// The changes that a newly read file requires, compared with its last reading.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) added: Vec<AgentSpec>,
    pub(super) steps: BTreeMap<AgentName, Step>,
    /// Events for sections that need no change of an agent, but have to be recorded.
    pub(super) read: Vec<FleetEvent>,
    pub(super) stayed: Vec<AgentName>,
}

/// Compares the agents of the file with its last reading, and returns the changes that are required. `known`: returns
/// the configuration of an existing agent.
pub(super) fn plan<'a>(
    fleet: &FleetState,
    known: impl Fn(&AgentName) -> Option<&'a AgentSpec>,
    file: Vec<AgentSpec>,
) -> Plan {
    let mut plan = Plan::default();
    for agent in fleet.configured.keys() {
        if file.iter().any(|spec| spec.name == *agent) {
            continue;
        }
        match known(agent) {
            Some(_) => drop(plan.steps.insert(agent.clone(), Step::Remove)),
            None => plan.read.push(FleetEvent::LeftOut { agent: agent.clone() }),
        }
    }
    for spec in file {
        let before = fleet.configured.get(&spec.name);
        if before == Some(&spec) && (known(&spec.name).is_some() || fleet.removed.contains(&spec.name)) {
            continue;
        }
        match known(&spec.name) {
            _ if fleet.removed.contains(&spec.name) => plan.stayed.push(spec.name),
            None => plan.added.push(spec),
            Some(now) if *now == spec => plan.read.push(FleetEvent::Configured { spec: Box::new(spec) }),
            Some(now) => {
                let replaces = before.is_some_and(|before| before != now);
                let step = Step::Change { spec: Box::new(spec.clone()), replaces };
                plan.steps.insert(spec.name, step);
            }
        }
    }
    plan
}

/// Returns the author of changes that come from the file, for the record.
pub(super) fn bot_toml() -> Actor {
    Actor { network: NetworkName::from("herder"), name: "bot.toml".to_owned(), identity: None }
}

/// Returns true if an agent is removed, or will be when its session ends; a file that contains it then adds it again.
pub(super) fn is_going(agent: &Agent) -> bool {
    matches!(agent.phase, Phase::Removed | Phase::Stopping { reason: StopReason::Remove, .. })
}

/// Returns true if an agent was removed because the file did not contain it any more.
pub(super) fn was_left_out(agent: &Agent) -> bool {
    agent.phase == Phase::Removed && agent.stopped_by.as_ref() == Some(&bot_toml())
}

/// A change that was sent to an agent's supervisor, and whose answer is awaited.
pub(super) struct UnderWay {
    agent: AgentName,
    step: Step,
    answer: oneshot::Receiver<Answer>,
}

impl Step {
    /// Returns the request for the agent's supervisor, and what is awaited.
    pub(super) fn request(self, agent: &AgentName) -> (Box<Request>, UnderWay) {
        let (control, verb) = match &self {
            Self::Change { spec, .. } => (Control::Configure(spec.clone()), "agent edit"),
            Self::Remove => (Control::Remove, "agent remove"),
        };
        let audit = AuditEntry {
            by: bot_toml(),
            place: "bot.toml".to_owned(),
            agent: Some(agent.clone()),
            verb: verb.to_owned(),
            text: String::new(),
        };
        let (ticket, answer) = oneshot::channel();
        let asked = Asked { audit, answer: None, message: None };
        let request = Box::new(Request { control, asked, audited: true, noted: None, ticket });
        (request, UnderWay { agent: agent.clone(), step: self, answer })
    }
}

impl Configured {
    /// Waits until all changes are on disk, sorts the agents by the results, and adds an event for each to `read`.
    pub(super) async fn settle(&mut self, under_way: Vec<UnderWay>, read: &mut Vec<FleetEvent>) {
        let deadline = Instant::now() + PATIENCE;
        for UnderWay { agent, step, answer } in under_way {
            match timeout_at(deadline, answer).await {
                Ok(Ok(answer)) => self.settled(agent, step, answer, read),
                Ok(Err(_)) | Err(_) => self.fail(agent),
            }
        }
    }

    fn settled(&mut self, agent: AgentName, step: Step, answer: Answer, read: &mut Vec<FleetEvent>) {
        match (step, answer) {
            (Step::Change { spec, replaces }, Ok(reply)) => {
                let cut = matches!(reply, Notice::Stopping { .. });
                info!(%agent, cut, replaces, "the configuration has changed it");
                if replaces {
                    self.replaced.push(agent.clone());
                }
                if cut { &mut self.restarted } else { &mut self.changed }.push(agent);
                read.push(FleetEvent::Configured { spec });
            }
            // Someone else removed it before, or the removal is still under way.
            (Step::Remove, Ok(_) | Err(Refusal::Removed { .. })) => {
                info!(%agent, "is not in the configuration any more and is removed; its history is kept");
                read.push(FleetEvent::LeftOut { agent: agent.clone() });
                self.removed.push(agent);
            }
            (Step::Change { .. } | Step::Remove, Err(refusal)) => {
                let refusal = crate::l10n::Locale::default().refusal(&refusal);
                warn!(%agent, refusal, "the agent refuses what the configuration says of it");
                self.fail(agent);
            }
        }
    }

    /// Adds an agent to those whose change failed.
    pub(super) fn fail(&mut self, agent: AgentName) {
        warn!(%agent, "what the configuration says of it could not be brought in; the next reading tries again");
        self.failed.push(agent);
    }

    /// Adds an agent to those that were added.
    pub(super) fn add(&mut self, agent: AgentName) {
        info!(%agent, "the configuration has added it");
        self.added.push(agent);
    }

    /// Adds agents to those that a person removed although the file still contains them.
    pub(super) fn stay(&mut self, agents: Vec<AgentName>) {
        for agent in &agents {
            warn!(%agent, "is in the configuration but was removed by command; `agent add` brings it back");
        }
        self.stayed = agents;
    }
}

impl Fleet {
    /// Returns true if herder shuts down, so that nothing new may start.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.shared.draining.is_cancelled()
    }

    /// Replaces the configured limits. They apply to every decision from now on; time limits of running sessions,
    /// countdowns and deadlines stay.
    pub fn set_policy(&self, policy: Policy) {
        self.shared.set_policy(policy);
    }

    /// Adds environment variables of herder that no agent gets from now on.
    pub fn withhold(&self, variables: &std::collections::BTreeSet<String>) {
        self.shared.places.withhold(variables);
    }

    /// Applies the agents of a file that was read again. Concurrent calls are applied one after the other, each
    /// compared with the result of the one before.
    ///
    /// # Errors
    /// If herder goes down, or the journal cannot be written: changes made until then stay, and the next start applies
    /// the rest.
    pub async fn configure(&self, file: Vec<AgentSpec>) -> Result<Configured, Refusal> {
        let _alone = self.shared.configuring.lock().await;
        let Plan { added, steps, mut read, stayed } =
            self.ask_root(|ticket| ToRoot::Compare { file, ticket }).await?;
        let mut done = Configured::default();
        done.stay(stayed);
        let mut under_way = Vec::new();
        for (agent, step) in steps {
            let (request, awaited) = step.request(&agent);
            let sent = self.shared.handle(&agent).map(|handle| handle.requests.try_send(request));
            match sent {
                Some(Ok(())) => under_way.push(awaited),
                Some(Err(_)) | None => done.fail(agent),
            }
        }
        done.settle(under_way, &mut read).await;
        self.are_gone(&done.removed).await;
        for spec in added {
            let agent = spec.name.clone();
            let create = |ticket| ToRoot::Create { spec: Box::new(spec), ticket };
            if self.ask_root(create).await? {
                done.add(agent);
            } else {
                done.fail(agent);
            }
        }
        self.ask_root(|ticket| ToRoot::Read { events: read, ticket }).await?;
        Ok(done)
    }

    /// Waits until removed agents are gone, so that the next reading of the file does not find them. The wait has a
    /// limit, as a session may take longer to end.
    async fn are_gone(&self, agents: &[AgentName]) {
        let mut changes = self.shared.changed.subscribe();
        let gone = async {
            while agents.iter().any(|agent| self.shared.handle(agent).is_some()) {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        let deadline = Instant::now() + PATIENCE;
        let going_down = self.shared.draining.cancelled();
        tokio::select! {
            biased;
            () = going_down => {}
            ended = timeout_at(deadline, gone) => {
                if ended.is_err() {
                    info!(?agents, "some of those that are removed are still ending their sessions");
                }
            }
        }
    }

    async fn ask_root<T>(&self, told: impl FnOnce(oneshot::Sender<T>) -> ToRoot) -> Result<T, Refusal> {
        if self.is_draining() {
            return Err(Refusal::GoingDown);
        }
        let (ticket, answer) = oneshot::channel();
        self.shared.tell_root(told(ticket));
        answer.await.map_err(|_| Refusal::NotRecorded { said: "the root supervisor has stopped".to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::*;
    use crate::core::spec::Runtime;

    fn spec(name: &str, model: &str) -> AgentSpec {
        let name = AgentName::new(name).expect("a name");
        AgentSpec { model: model.to_owned(), ..AgentSpec::new(name, Runtime::Claude, PathBuf::from("/srv")) }
    }

    /// Plans the changes for one agent `a`, given its model in the last reading, its present model, whether a person
    /// removed it, and its model in the file.
    fn planned(before: Option<&str>, now: Option<&str>, removed: bool, file: Option<&str>) -> String {
        let of = |model: Option<&str>| model.map(|model| spec("a", model));
        let a = AgentName::new("a").expect("a name");
        let fleet = FleetState {
            configured: of(before).into_iter().map(|spec| (a.clone(), spec)).collect(),
            removed: removed.then(|| a.clone()).into_iter().collect::<BTreeSet<_>>(),
            ..FleetState::default()
        };
        let now = of(now);
        let plan = plan(&fleet, |_| now.as_ref(), of(file).into_iter().collect());
        let mut words: Vec<String> = plan.added.iter().map(|spec| format!("add {}", spec.model)).collect();
        words.extend(plan.steps.values().map(|step| match step {
            Step::Change { spec, replaces: false } => format!("change to {}", spec.model),
            Step::Change { spec, replaces: true } => format!("replace by {}", spec.model),
            Step::Remove => "remove".to_owned(),
        }));
        words.extend(plan.read.iter().map(|event| match event {
            FleetEvent::Configured { spec } => format!("note {}", spec.model),
            FleetEvent::LeftOut { .. } => "forget".to_owned(),
            other => format!("{other:?}"),
        }));
        words.extend(plan.stayed.iter().map(|_| "stay removed".to_owned()));
        words.join(", ")
    }

    #[test]
    fn the_file_has_the_last_word_where_it_has_changed() {
        let (x, y, z) = (Some("x"), Some("y"), Some("z"));
        let table = [
            // Columns: model in the last reading, present model, removed by a person, model in the file.
            (None, None, false, x, "add x"),
            (None, x, false, x, "note x"),
            (None, x, false, y, "change to y"),
            (None, x, false, None, ""),
            (x, x, false, x, ""),
            (x, x, false, y, "change to y"),
            (x, x, false, None, "remove"),
            // A change by command stays until the file changes.
            (x, y, false, x, ""),
            (x, y, false, z, "replace by z"),
            (x, y, false, y, "note y"),
            (x, y, false, None, "remove"),
            // A removal by command stays as long as the agent is in the file.
            (x, None, true, x, ""),
            (x, None, true, y, "stay removed"),
            (x, None, true, None, "forget"),
            // A start or a reload was cut short after the removal.
            (x, None, false, None, "forget"),
            // The same before the agent was added.
            (x, None, false, x, "add x"),
        ];
        for (before, now, removed, file, wanted) in table {
            assert_eq!(planned(before, now, removed, file), wanted, "{:?}", (before, now, removed, file));
        }
    }
}
