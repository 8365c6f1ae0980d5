//! What the configuration says of agents, brought in: at the start, and whenever the file is read again.
//!
//! The file is compared with what it said when it was last read ([`FleetState::configured`]), never with the agents
//! themselves: what a person changed by command stays until the file says something else. A section that is new adds an
//! agent, one that has changed edits it, and one that is gone removes it with its history kept, as `agent remove` does.
//! Agents that the file never named are not looked at.
//!
//! Each of these is on disk before it is noted that it was read ([`FleetEvent::Configured`], [`FleetEvent::LeftOut`]), so
//! that a herder which is killed in between finds the same difference at its next start, and goes on.

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

/// How long a supervisor is waited for: one that is just ending a process that will not end takes longer, and what the
/// file says of its agent is brought in by the next reading.
const PATIENCE: Duration = Duration::from_secs(10);

/// What came of the agents of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configured {
    /// New ones.
    pub added: Vec<AgentName>,
    /// Edited ones: what runs was not touched.
    pub changed: Vec<AgentName>,
    /// Edited ones whose session runs by another command now: it was cut, and its work goes on with that.
    pub restarted: Vec<AgentName>,
    /// Those that are in the file no more.
    pub removed: Vec<AgentName>,
    /// Edited ones that a person had changed by command: that is gone.
    pub replaced: Vec<AgentName>,
    /// Those whose section has changed, but that a person removed by command.
    pub stayed: Vec<AgentName>,
    /// Those that could not be brought in: the log says why, and the next reading tries again.
    pub failed: Vec<AgentName>,
}

/// What is done to an agent that exists.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// It is edited; `replaces`: a person had changed it by command.
    Change { spec: Box<AgentSpec>, replaces: bool },
    /// It is removed.
    Remove,
}

/// What the file asks for.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) added: Vec<AgentSpec>,
    pub(super) steps: BTreeMap<AgentName, Step>,
    /// Read, and nothing to do for it.
    pub(super) read: Vec<FleetEvent>,
    pub(super) stayed: Vec<AgentName>,
}

/// Compares the agents of the file with what it said before. `known`: the spec of an agent that exists.
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

/// Who the file is in the record.
pub(super) fn bot_toml() -> Actor {
    Actor { network: NetworkName::from("herder"), name: "bot.toml".to_owned(), identity: None }
}

/// Whether an agent is gone, or is as soon as its session is over: a file that speaks of it asks for it anew.
pub(super) fn is_going(agent: &Agent) -> bool {
    matches!(agent.phase, Phase::Removed | Phase::Stopping { reason: StopReason::Remove, .. })
}

/// Whether an agent was removed because the file does not speak of it any more.
pub(super) fn was_left_out(agent: &Agent) -> bool {
    agent.phase == Phase::Removed && agent.stopped_by.as_ref() == Some(&bot_toml())
}

/// A step on its way through a supervisor.
pub(super) struct UnderWay {
    agent: AgentName,
    step: Step,
    answer: oneshot::Receiver<Answer>,
}

impl Step {
    /// What the agent's supervisor is asked.
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
    /// Waits until all are on disk; what was read by that is added to `read`.
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
            // Somebody was faster, or it is at it still.
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

    /// It could not be brought in.
    pub(super) fn fail(&mut self, agent: AgentName) {
        warn!(%agent, "what the configuration says of it could not be brought in; the next reading tries again");
        self.failed.push(agent);
    }

    /// An agent is there now.
    pub(super) fn add(&mut self, agent: AgentName) {
        info!(%agent, "the configuration has added it");
        self.added.push(agent);
    }

    /// Notes which agents a person removed although the file still speaks of them.
    pub(super) fn stay(&mut self, agents: Vec<AgentName>) {
        for agent in &agents {
            warn!(%agent, "is in the configuration but was removed by command; `agent add` brings it back");
        }
        self.stayed = agents;
    }
}

impl Fleet {
    /// Whether herder goes down: nothing is begun any more.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.shared.draining.is_cancelled()
    }

    /// From now on these are the limits. What is decided after this is decided by them; clocks of sessions that run stay what
    /// they are, and so do countdowns and deadlines.
    pub fn set_policy(&self, policy: Policy) {
        self.shared.set_policy(policy);
    }

    /// Variables of herder's environment that no agent gets from now on, beside those that were named before.
    pub fn withhold(&self, variables: &std::collections::BTreeSet<String>) {
        self.shared.withhold(variables);
    }

    /// Brings in what a file that was read again says of agents. Of several at once each is compared with what the one before
    /// has brought in, in the order in which they were called.
    ///
    /// # Errors
    /// If herder goes down, or the journal cannot be written: what is done by then stays, the rest is done by the next start.
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

    /// Waits until nothing is left of agents that are removed, so that whoever reads the file next finds them gone. One whose
    /// session takes longer to end goes when it has.
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

    /// What follows for the one agent `a`: the model that the file named before, the one it has, whether a person removed
    /// it, the one that the file names now.
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
            // In the file before, now, removed by a person, in the file now.
            (None, None, false, x, "add x"),
            (None, x, false, x, "note x"),
            (None, x, false, y, "change to y"),
            (None, x, false, None, ""),
            (x, x, false, x, ""),
            (x, x, false, y, "change to y"),
            (x, x, false, None, "remove"),
            // Changed by command: it stays until the file says something else.
            (x, y, false, x, ""),
            (x, y, false, z, "replace by z"),
            (x, y, false, y, "note y"),
            (x, y, false, None, "remove"),
            // Removed by command: it stays removed as long as it is in the file.
            (x, None, true, x, ""),
            (x, None, true, y, "stay removed"),
            (x, None, true, None, "forget"),
            // A start or a reload was cut short after the removal.
            (x, None, false, None, "forget"),
            // The same before an agent was there.
            (x, None, false, x, "add x"),
        ];
        for (before, now, removed, file, wanted) in table {
            assert_eq!(planned(before, now, removed, file), wanted, "{:?}", (before, now, removed, file));
        }
    }
}
