//! `stop-all`: on disk before it is reported as done, and completed by whichever herder runs.
//!
//! ```text
//!  asked ─► record and order, one transaction ─► every agent decides its own stop and notes that it has, one transaction
//!           each ─► noted of all ─► sessions gone, processes counted ─► answer owed and order taken back, one transaction
//! ```
//!
//! A herder that is killed on the way finds the order at its next start. Every agent without a noted decision then
//! decides its stop ahead of anything else, so that none continues its work; an agent that was resumed after its own
//! stop is left alone. Then processes are counted and the reply is given as usual; the reply to a shell, which is
//! long gone, is posted in the control channels. The same applies to an order that is given while herder goes down.
//!
//! An agent whose supervisor is given up, or whose entries cannot be read, has no process any more, but decides
//! nothing either: its part of the order stays, and is its first decision when a later herder can load it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tracing::{error, info, warn};

use super::fleet::storage_refusal;
use super::task::{Answer, Request};
use super::{Asked, Fleet, View};
use crate::clock;
use crate::core::agent::Phase;
use crate::core::id::{AgentName, RunnerName};
use crate::core::input::Control;
use crate::core::notice::{Halt, Notice, Refusal};
use crate::core::post::Target;
use crate::journal::{Batch, Entry, Journal, Memo, ReadError, Stream, Write};

/// Prefix of the keys of memos about `stop-all` orders that are not completed; a random number follows. A further slash
/// and an agent's name make the key of that agent's memo: [`STOPPED`] or [`LEFT`].
const PREFIX: &str = "stop-all/";

/// Value of the memo of an agent whose stop is recorded.
const STOPPED: &str = "true";

/// Value of the memo of an agent that could not be asked and takes no input before the next start. Each agent has its
/// own memo, as there may be many.
const LEFT: &str = "false";

/// Maximum wait for processes that are being ended before they are counted.
const LEAVING: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(100);

/// Time added to twice the grace before the reply to `stop-all` reports what is left.
const SLACK: Duration = Duration::from_secs(15);

/// A `stop-all` order that is on disk and being carried out.
#[derive(Debug)]
pub struct StoppingAll {
    /// Number of agents that are stopped.
    pub agents: usize,
    done: oneshot::Receiver<Result<Notice, Refusal>>,
}

impl StoppingAll {
    /// Waits until every process tree is verified, and returns the number of processes left.
    ///
    /// # Errors
    /// A refusal if the reply cannot be recorded, or herder goes down first: then the next start gives it.
    pub async fn done(self) -> Result<Notice, Refusal> {
        self.done.await.unwrap_or(Err(Refusal::GoingDown))
    }
}

/// A `stop-all` order as it is on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Order {
    asked: Asked,
    /// Number of agents when the order was given.
    agents: u32,
    /// True if the stop of every agent is recorded, except for those whose memo says [`LEFT`].
    decided: bool,
    /// True if the reply to `stop-all` was given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    answered: bool,
}

impl Order {
    fn new(asked: Asked, agents: usize) -> Self {
        let agents = u32::try_from(agents).unwrap_or(u32::MAX);
        Self { asked, agents, decided: false, answered: false }
    }
}

/// A `stop-all` order that is not completed.
#[derive(Debug)]
pub(super) struct Unfinished {
    key: String,
    order: Order,
    /// True if an earlier herder was given the order.
    belated: bool,
    /// Agents whose stop is recorded.
    stopped: BTreeSet<AgentName>,
    /// Agents that could not be asked to stop.
    left: BTreeSet<AgentName>,
    /// Agents that decide their stop ahead of everything else, with the receivers of their answers.
    ahead: BTreeMap<AgentName, oneshot::Receiver<Answer>>,
}

impl Unfinished {
    fn new(key: String, order: Order) -> Self {
        let (stopped, left) = (BTreeSet::new(), BTreeSet::new());
        Self { key, order, belated: false, stopped, left, ahead: BTreeMap::new() }
    }

    /// Returns true if the stop of this agent may not be recorded yet.
    fn concerns(&self, agent: &AgentName) -> bool {
        (!self.order.decided || self.left.contains(agent)) && !self.stopped.contains(agent)
    }

    /// Returns the request by which an agent decides its stop ahead of everything else; `None` if its stop is recorded
    /// already.
    pub(super) fn request(&mut self, agent: &AgentName) -> Option<Request> {
        if !self.concerns(agent) {
            return None;
        }
        let (request, decided) = stop(&self.key, agent, &self.order.asked);
        self.ahead.insert(agent.clone(), decided);
        Some(request)
    }
}

/// Returns the `stop-all` orders that are not completed. Blocks.
pub(super) fn unfinished(journal: &Journal) -> Result<Vec<Unfinished>, ReadError> {
    let mut all: Vec<Unfinished> = Vec::new();
    for (key, value) in journal.memos(PREFIX)? {
        // The notes of an order's agents follow the order directly.
        if let Some((of, agent)) = key.rsplit_once('/')
            && let Some(order) = all.last_mut().filter(|order| order.key == of)
        {
            let noted = if value == LEFT { &mut order.left } else { &mut order.stopped };
            noted.extend(AgentName::new(agent));
            continue;
        }
        match serde_json::from_str(&value) {
            Ok(order) => all.push(Unfinished { belated: true, ..Unfinished::new(key, order) }),
            Err(reason) => error!(key, %reason, "an order to stop all agents cannot be read"),
        }
    }
    Ok(all)
}

/// Returns the request for one agent's part of the order, and the receiver of the answer. There is one audit record for
/// all agents.
fn stop(key: &str, agent: &AgentName, asked: &Asked) -> (Request, oneshot::Receiver<Answer>) {
    let asked = Asked { audit: asked.audit.clone(), answer: None, message: None };
    let (ticket, decided) = oneshot::channel();
    let noted = of_agent(key, agent, Some(STOPPED));
    (Request { control: Control::Stop, asked, audited: false, noted: Some(noted), ticket }, decided)
}

/// Returns the memo of an agent for an order; `None` as the value removes it.
fn of_agent(key: &str, agent: &AgentName, value: Option<&str>) -> Memo {
    Memo { key: format!("{key}/{agent}"), value: value.map(str::to_owned) }
}

fn memo(key: &str, order: Option<&Order>) -> Result<Memo, Refusal> {
    let value = order.map(serde_json::to_string).transpose();
    let value = value.map_err(|reason| Refusal::NotRecorded { said: reason.to_string() })?;
    Ok(Memo { key: key.to_owned(), value })
}

/// The result of `resume-all`.
#[derive(Debug)]
pub struct Resumed {
    /// Names of the agents that continue.
    pub agents: Vec<AgentName>,
    /// Agents that stay halted, each with the reason.
    pub others: Vec<(AgentName, Halt)>,
}

/// The processes of stopped agents.
#[derive(Debug, Default)]
struct Left {
    /// Number of them on the machines that say it.
    processes: usize,
    /// Machines that do not answer.
    unheard: BTreeSet<RunnerName>,
}

impl Fleet {
    /// Resumes the agents that the last `stop-all` stopped, except those that were paused since.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn resume_all(&self, asked: Asked) -> Result<Resumed, Refusal> {
        let entries = vec![Entry::Audit(asked.audit.clone())];
        let writes = vec![Write { stream: Stream::Audit, expected_rev: None, entries }];
        let memos = asked.heard(asked.audit.agent.clone(), None).into_iter().collect();
        let batch = Batch { at: clock::now(), writes, memos, ..Batch::default() };
        self.shared.journal.commit(batch).await.map_err(storage_refusal)?;
        let (stopped, others): (Vec<View>, Vec<View>) =
            self.agents().into_iter().partition(|view| view.agent.is_stopped_with_all());
        let let_on = stopped.into_iter().map(|view| {
            let asked = Asked { audit: asked.audit.clone(), answer: None, message: None };
            async move { self.lets_on(&view.name, asked).await.then_some(view.name) }
        });
        let agents = futures_util::future::join_all(let_on).await.into_iter().flatten().collect();
        let stays = |view: View| {
            let halt = view.agent.halt().filter(|_| view.agent.stands_still())?;
            Some((view.name, halt))
        };
        Ok(Resumed { agents, others: others.into_iter().filter_map(stays).collect() })
    }

    /// Asks an agent to continue after `stop-all`; returns true if it does. There is one audit record for all agents.
    async fn lets_on(&self, agent: &AgentName, asked: Asked) -> bool {
        let Some(handle) = self.shared.handle(agent) else { return false };
        let (ticket, decided) = oneshot::channel();
        let request = Request { control: Control::LetOn, asked, audited: false, noted: None, ticket };
        handle.requests.send(Box::new(request)).await.is_ok() && matches!(decided.await, Ok(Ok(_)))
    }

    /// Stops every agent now. When this resolves, the order is on disk and will be completed even if this herder is
    /// killed; the reply is given when every process tree is verified.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn stop_all(&self, asked: Asked) -> Result<StoppingAll, Refusal> {
        let mut agents: Vec<AgentName> = self.agents().into_iter().map(|view| view.name).collect();
        let count = agents.len();
        // They are not visible, but must not continue either once their entries can be read again.
        agents.extend(self.unreadable());
        let order = Order::new(asked, count);
        let key = format!("{PREFIX}{:016x}", self.shared.random());
        let asked = &order.asked;
        let entries = vec![Entry::Audit(asked.audit.clone())];
        let writes = vec![Write { stream: Stream::Audit, expected_rev: None, entries }];
        let heard = asked.heard(asked.audit.agent.clone(), None);
        let memos = heard.into_iter().chain([memo(&key, Some(&order))?]).collect();
        let batch = Batch { at: clock::now(), writes, memos, ..Batch::default() };
        self.shared.journal.commit(batch).await.map_err(storage_refusal)?;
        Ok(StoppingAll { agents: count, done: self.carry_out(Unfinished::new(key, order), agents) })
    }

    /// Completes a `stop-all` order that an earlier herder was given. Its reply is posted, because the caller waits no
    /// more; for a shell it is posted in the control channels.
    pub(super) fn finish(&self, mut unfinished: Unfinished, agents: Vec<AgentName>) {
        let by = &unfinished.order.asked.audit.by.name;
        info!(by, "all agents were to be stopped when herder ended; that is brought to its end");
        if let Some(answer) = &mut unfinished.order.asked.answer {
            answer.posted = true;
        }
        drop(self.carry_out(unfinished, agents));
    }

    /// Carries out a `stop-all` order in the background, whether or not the caller waits for it.
    fn carry_out(
        &self,
        unfinished: Unfinished,
        agents: Vec<AgentName>,
    ) -> oneshot::Receiver<Result<Notice, Refusal>> {
        let (ticket, done) = oneshot::channel();
        let (fleet, ended) = (self.clone(), self.shared.ended.clone());
        let carrying_out = async move {
            let stopped = fleet.stop(unfinished, &agents).await;
            if let Err(refusal) = &stopped {
                error!(refusal = %crate::l10n::Locale::default().refusal(refusal), "stop-all was not carried out to its end; the next start goes on with it");
            }
            // The caller may be gone.
            let _ = ticket.send(stopped);
        };
        self.shared.services.spawn(async move { ended.run_until_cancelled(Box::pin(carrying_out)).await });
        done
    }

    async fn stop(&self, mut unfinished: Unfinished, agents: &[AgentName]) -> Result<Notice, Refusal> {
        // This is needed even if all have decided: their notes may still exist.
        self.all_decide(&mut unfinished, agents).await?;
        let Unfinished { key, mut order, belated, left: unasked, .. } = unfinished;
        if order.answered {
            return Ok(Notice::StoppedAll { agents: order.agents, processes: 0 });
        }
        let patience = self.shared.policy().stop_grace * 2 + SLACK;
        // An agent at work has been resumed since.
        let over = |view: &View| !matches!(view.agent.phase, Phase::Stopping { .. });
        // One whose machine does not answer is not waited for.
        let gone = agents.iter().map(|agent| async {
            if !self.shared.place(agent).is_out_of_reach() {
                self.wait_for(agent, over).await;
            }
        });
        if tokio::time::timeout(patience, futures_util::future::join_all(gone)).await.is_err() {
            warn!("stop-all: some sessions did not end in time");
        }
        let left = self.processes_left(agents).await;
        let processes = u32::try_from(left.processes).unwrap_or(u32::MAX);
        let stopping = |view: &View| !over(view) && !self.is_deserted(&view.name);
        let is_unheard =
            |view: &View| view.runner.as_ref().is_some_and(|runner| left.unheard.contains(runner));
        let unheard = self.agents().into_iter().filter(|view| stopping(view) && is_unheard(view));
        let unheard: Vec<AgentName> = unheard.map(|view| view.name).collect();
        let reply = match unheard.is_empty() {
            true => Notice::StoppedAll { agents: order.agents, processes },
            false => Notice::StoppedAllHeard { agents: order.agents, processes, unheard },
        };
        let posting = &self.shared.posting;
        let (posts, mut memos) = if belated && !posting.is_of_network(&order.asked) {
            (posting.belated(&order.asked, &reply, clock::now()), Vec::new())
        } else {
            self.answer_posts(&order.asked, &Target::Control, &reply)
        };
        order.answered = true;
        memos.push(memo(&key, Some(&order).filter(|_| !unasked.is_empty()))?);
        let batch = Batch { at: clock::now(), posts, memos, ..Batch::default() };
        self.shared.journal.commit(batch).await.map_err(storage_refusal)?;
        Ok(reply)
    }

    /// Asks every agent to decide its stop whose stop may not be recorded, and stores a memo for those that could not
    /// be asked.
    async fn all_decide(&self, unfinished: &mut Unfinished, agents: &[AgentName]) -> Result<(), Refusal> {
        let mut ahead = std::mem::take(&mut unfinished.ahead);
        let Unfinished { key, order, stopped, .. } = &*unfinished;
        let stops = agents.iter().filter(|agent| unfinished.concerns(agent)).map(|agent| {
            let ahead = ahead.remove(agent);
            async move { (!self.decides(key, agent, &order.asked, ahead).await).then(|| agent.clone()) }
        });
        let left: BTreeSet<AgentName> =
            futures_util::future::join_all(stops).await.into_iter().flatten().collect();
        if !left.is_empty() && self.is_draining() {
            return Err(Refusal::GoingDown);
        }
        let of_agents = agents.iter().chain(stopped).chain(&unfinished.left).collect::<BTreeSet<_>>();
        let still = |agent: &AgentName| left.contains(agent).then_some(LEFT);
        let of_agents = of_agents.into_iter().map(|agent| of_agent(key, agent, still(agent)));
        let order = Order { decided: true, ..order.clone() };
        let over = order.answered && left.is_empty();
        let mut noted = vec![memo(key, Some(&order).filter(|_| !over))?];
        noted.extend(of_agents);
        self.shared.journal.remember(noted).await.map_err(storage_refusal)?;
        (unfinished.order, unfinished.left) = (order, left);
        Ok(())
    }

    /// Asks an agent to decide its stop; `ahead`: the receiver of its answer if it was asked before. Returns true if
    /// the stop is recorded.
    async fn decides(
        &self,
        key: &str,
        agent: &AgentName,
        asked: &Asked,
        ahead: Option<oneshot::Receiver<Answer>>,
    ) -> bool {
        if let Some(decided) = ahead
            && decided.await.is_ok()
        {
            return true;
        }
        loop {
            // An agent that is gone has nothing to stop.
            let Some(handle) = self.shared.handle(agent) else { return !self.is_deserted(agent) };
            let (request, decided) = stop(key, agent, asked);
            if handle.requests.send(Box::new(request)).await.is_err() {
                return handle.view.borrow().agent.phase == Phase::Removed;
            }
            // Otherwise its supervisor panicked: it is asked again once rebuilt, or is given up.
            if decided.await.is_ok() {
                return true;
            }
        }
    }

    /// Counts the processes of stopped agents that are left. Those that are ending get some time, the rest is killed
    /// from here, since a driver may hang or an agent have no supervisor. Agents that were resumed since are left alone
    /// and not counted.
    async fn processes_left(&self, agents: &[AgentName]) -> Left {
        for _ in 0..LEAVING.as_millis() / LOOK.as_millis() {
            let left = self.left_of_stopped().await;
            if left.processes == 0 {
                return left;
            }
            tokio::time::sleep(LOOK).await;
        }
        let mut names: BTreeSet<AgentName> =
            self.agents().into_iter().map(|view| view.name).chain(agents.iter().cloned()).collect();
        for ours in self.shared.prefixes() {
            let whose = |marker: String| AgentName::new(marker.strip_prefix(&ours)?.split('/').next()?).ok();
            names.extend(self.shared.trees.markers(&ours).await.into_iter().filter_map(whose));
        }
        let kills = names.iter().map(|agent| self.kill_what_is_left(agent));
        if tokio::time::timeout(SLACK, futures_util::future::join_all(kills)).await.is_err() {
            warn!("stop-all: a machine does not say whether its processes were killed");
        }
        self.left_of_stopped().await
    }

    /// Counts the living processes of agents that are not at work, on each machine.
    async fn left_of_stopped(&self) -> Left {
        let at_work = |ours: &str| -> Vec<String> {
            let views = self.agents().into_iter().filter(|view| self.is_at_work(view));
            views.map(|view| format!("{ours}{}/", view.name)).collect()
        };
        let mut left = Left::default();
        for ours in self.shared.prefixes() {
            left.processes += self.shared.trees.count_marked_but(&ours, || at_work(&ours)).await;
        }
        let counts = self.shared.places.elsewhere().into_iter().map(|place| {
            let ours = place.prefix(self.shared.journal.id());
            let but = at_work(&ours);
            async move { (place.runner().cloned(), place.count(ours, but).await) }
        });
        for (runner, count) in futures_util::future::join_all(counts).await {
            match count {
                Some(count) => left.processes += count,
                None => left.unheard.extend(runner),
            }
        }
        left
    }

    /// Returns true if an agent has been resumed since and has a session; one whose supervisor is given up has not,
    /// whatever its last view says.
    fn is_at_work(&self, view: &View) -> bool {
        matches!(view.agent.phase, Phase::Starting { .. } | Phase::Running { .. })
            && !self.is_deserted(&view.name)
    }

    /// Kills the processes of an agent, unless it is resumed meanwhile.
    async fn kill_what_is_left(&self, agent: &AgentName) {
        let let_on = async {
            // An agent without a supervisor cannot be resumed.
            if self.wait_for(agent, |view| self.is_at_work(view)).await.is_none() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = let_on => {}
            left = self.shared.end_marked(agent) => {
                if !left.is_empty() {
                    warn!(%agent, processes = ?left, "stop-all: some processes could not be killed");
                }
            }
        }
    }
}
