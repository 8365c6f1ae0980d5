//! A running session, seen from its supervisor: the driver's channels, its heartbeat, and the way to end it when the
//! driver itself cannot be relied on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use super::Shared;
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::core::input::Signal;
use crate::core::outcome::Usage;
use crate::core::spec::{AgentSpec, Runtime};
use crate::core::work::Work;
use crate::runtime::process::Tree;
use crate::runtime::{self, Clocks, Driver, Launch, Live, Order, Report};
use crate::tools::Pass;

/// Added to twice the grace before a stopped session counts as overdue: the interrupt and the scans take a while.
const STOP_SLACK: Duration = Duration::from_secs(10);

/// Beats per heartbeat timeout, so that one late beat does not count as silence.
const BEATS_PER_TIMEOUT: u32 = 3;

/// What was heard of a session.
pub(super) enum Heard {
    /// A report.
    Report(Report),
    /// The driver is gone without `Ended`.
    Gone,
    /// No report for so long.
    Silent(Duration),
    /// A stopped session did not end.
    Overdue,
}

/// A running session.
pub(super) struct Session {
    id: SessionId,
    agent: AgentName,
    marker: String,
    driver: Driver,
    heard: Instant,
    /// Silence is reported once per session: after it the stop ladder's own deadline counts.
    silence_reported: bool,
    overdue: Option<Instant>,
    /// Its right to herder's tools, which ends with it.
    pass: Option<Pass>,
    /// Whispers that are on their way to the agent.
    pub(super) offered: BTreeSet<WorkId>,
}

/// What a session begins with beside its work.
pub(super) struct Before {
    /// What to resume, if the runtime can.
    pub(super) conversation: Option<String>,
    /// What was used in it before.
    pub(super) conversed: Usage,
    /// What the session before it was doing.
    pub(super) recap: Option<String>,
    /// What was whispered meanwhile.
    pub(super) whispers: Vec<String>,
}

impl Session {
    /// Starts the driver.
    pub(super) fn start(
        shared: &Arc<Shared>,
        spec: AgentSpec,
        id: SessionId,
        work: &Work,
        before: Before,
    ) -> Self {
        let Before { conversation, conversed, recap, whispers } = before;
        let agent = spec.name.clone();
        let pass = shared.tools.as_ref().and_then(|tools| match tools.issue(&agent, id) {
            Ok(pass) => Some(pass),
            Err(reason) => {
                warn!(%agent, %reason, "the session has to do without herder's tools");
                None
            }
        });
        let marker = format!("{}/{agent}/{id}", shared.journal.id());
        let launch = Launch {
            agent: agent.clone(),
            session: id,
            prompt: prompt(&spec, work, recap, whispers),
            clocks: clocks(shared, &spec),
            spec: Arc::new(spec),
            conversation,
            conversed,
            marker: marker.clone(),
            environment: runtime::environment::own_without(&shared.withheld),
            tools: pass.as_ref().map(Pass::access),
        };
        let driver = runtime::launch(launch, shared.trees.clone());
        shared.watch_live(agent.clone(), driver.live.clone());
        Self {
            id,
            agent,
            marker,
            driver,
            heard: Instant::now(),
            silence_reported: false,
            overdue: None,
            pass,
            offered: BTreeSet::new(),
        }
    }

    /// Whether the agent waits for one of herder's tools: what is to be told it goes along with the answer.
    pub(super) fn call_is_open(&self) -> bool {
        self.pass.as_ref().is_some_and(Pass::call_is_open)
    }

    /// Its number.
    pub(super) fn id(&self) -> SessionId {
        self.id
    }

    /// What can be seen of it.
    pub(super) fn live(&self) -> Live {
        self.driver.live.borrow().clone()
    }

    /// Waits for a report, or for one that should have come.
    pub(super) async fn next(&mut self, timeout: Duration) -> Heard {
        loop {
            let deadline = match self.overdue {
                Some(overdue) => overdue,
                None if self.silence_reported => Instant::now() + Duration::from_secs(3600),
                None => self.heard + timeout,
            };
            tokio::select! {
                biased;
                report = self.driver.reports.recv() => {
                    self.heard = Instant::now();
                    match report {
                        Some(Report::Beat) => {}
                        Some(report) => return Heard::Report(report),
                        None => return Heard::Gone,
                    }
                }
                () = tokio::time::sleep_until(deadline) => {
                    if self.overdue.is_some() {
                        return Heard::Overdue;
                    }
                    if !self.silence_reported {
                        self.silence_reported = true;
                        return Heard::Silent(timeout);
                    }
                }
            }
        }
    }

    /// Tells the driver something. A driver whose mailbox is full or gone is noticed by its silence.
    pub(super) async fn order(&mut self, order: Order) {
        if let Err(reason) = self.driver.orders.try_send(order) {
            warn!(agent = %self.agent, session = %self.id, %reason, "an order did not reach the driver");
        }
    }

    /// From here on the session has to end within the ladder's own time.
    pub(super) fn expect_end(&mut self, shared: &Shared) {
        self.overdue.get_or_insert(Instant::now() + shared.policy.stop_grace * 2 + STOP_SLACK);
    }

    /// Ends the session without the core: the driver is asked to stop by dropping its orders; if it does not, its process
    /// tree is ended from here. What it still reports goes to `heard`. Answers the processes that are left.
    pub(super) async fn end(self, shared: &Shared, mut heard: impl FnMut(Report)) -> Vec<u32> {
        let Self { agent, marker, driver, .. } = self;
        let Driver { orders, mut reports, .. } = driver;
        drop(orders);
        let patience = shared.policy.stop_grace * 2 + STOP_SLACK;
        let ended = tokio::time::timeout(patience, async {
            while let Some(report) = reports.recv().await {
                let survivors = match &report {
                    Report::Signal(Signal::Ended { survivors, .. }) => Some(survivors.clone()),
                    Report::Signal(_) | Report::Beat | Report::Words(_) => None,
                };
                heard(report);
                if survivors.is_some() {
                    return survivors;
                }
            }
            None
        })
        .await;
        match ended {
            Ok(Some(survivors)) => survivors,
            Ok(None) | Err(_) => {
                warn!(%agent, "the driver did not end its session; its processes are ended without it");
                let tree = Tree::marked(marker);
                shared.trees.end(&tree, shared.policy.stop_grace).await
            }
        }
    }
}

/// What the process is told: what it was doing, standing instructions where the runtime has no place of its own for
/// them, and the work.
fn prompt(spec: &AgentSpec, work: &Work, recap: Option<String>, whispers: Vec<String>) -> String {
    let instructions = match spec.runtime {
        Runtime::Claude | Runtime::Codex => None,
        Runtime::Acp | Runtime::Command => Some(spec.instructions.clone()),
    };
    let whispers = Some(whispers.join("\n\n"));
    [recap, instructions, whispers, Some(work.text.clone())]
        .into_iter()
        .flatten()
        .filter(|part| !part.trim().is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn clocks(shared: &Shared, spec: &AgentSpec) -> Clocks {
    let policy = &shared.policy;
    Clocks {
        startup: policy.startup_timeout,
        silence: policy.silence_timeout,
        tool: policy.tool_timeout,
        task: spec.max_task_duration.unwrap_or(policy.max_task_duration),
        grace: policy.stop_grace,
        beat: policy.heartbeat_timeout / BEATS_PER_TIMEOUT,
    }
}
