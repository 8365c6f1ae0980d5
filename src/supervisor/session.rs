//! A running session as its supervisor sees it: the driver's channels, its heartbeat, and the way to end it when the
//! driver cannot be relied on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tracing::warn;

use super::Shared;
use crate::clock::running::{Held, Running};
use crate::core::agent::ProcessRecord;
use crate::core::ask::{AskKey, Told};
use crate::core::file::{FileKind, KeptFile};
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::core::input::Signal;
use crate::core::outcome::Usage;
use crate::core::policy::Policy;
use crate::core::spec::{AgentSpec, Permissions, Runtime};
use crate::core::work::Work;
use crate::runner::Place;
use crate::runner::wire::SessionKey;
use crate::runtime::grants::Pass;
use crate::runtime::process::{Identity, Tree};
use crate::runtime::{Clocks, Driver, Launch, Live, Order, Report, Stay};

/// Time added to twice the grace before a stopped session is overdue: the interrupt and the process scans take a while.
const STOP_SLACK: Duration = Duration::from_secs(10);

/// Maximum wait for the end of a session whose driver was silent: one that was only late, on a busy machine, ends
/// within this time.
const LAST_PATIENCE: Duration = Duration::from_secs(2);

/// Number of heartbeats in the time after which a driver counts as silent, so that one late heartbeat does no harm.
const BEATS_PER_TIMEOUT: u32 = 3;

/// An event of a running session, as its supervisor sees it.
pub(super) enum Heard {
    /// The driver sent a report.
    Report(Report),
    /// The driver is gone without reporting the end of the session.
    Gone,
    /// The driver has reported nothing for this time.
    Silent(Duration),
    /// A session that was told to stop did not end in time.
    Overdue,
}

/// A running session and its driver's channels.
pub(super) struct Session {
    id: SessionId,
    agent: AgentName,
    place: Arc<Place>,
    marker: String,
    driver: Driver,
    /// Clock for the session's times, which stops while herder itself is stopped, so that this does not count as the
    /// driver's silence.
    running: Running,
    _held: Held,
    heard: Instant,
    /// Number of reports that were taken from the driver, without signs of life.
    taken: u64,
    /// True once the driver's silence was reported; afterwards the stop ladder's own deadline counts.
    silence_reported: bool,
    overdue: Option<Instant>,
    /// Time for the driver to end the session, once it was told to stop.
    patience: Duration,
    /// The session's right to use herder's tools, which ends with it; `None` if they are not served.
    pass: Option<Pass>,
    /// Number of the agent's tool calls that wait for a person.
    asking: Option<watch::Receiver<usize>>,
    /// The process that had stayed for this session, with its marker. It is the session's own, unless it did not fit.
    warm: Option<(ProcessRecord, String)>,
    /// Numbers of the whispers and messages that are on their way to the agent.
    pub(super) offered: BTreeSet<WorkId>,
    /// The latest answers that followed from reports at once, if the session runs in another process.
    pub(super) answers: Vec<(AskKey, Told)>,
}

/// A process that stays for the next session of its conversation.
pub(super) struct Staying {
    stay: Stay,
    process: ProcessRecord,
    marker: String,
    conversation: Option<String>,
}

impl Staying {
    /// Ends the process. Returns the ids of the processes that are left.
    pub(super) async fn end(self, shared: &Shared) -> Vec<u32> {
        let Self { stay, marker, .. } = self;
        match shared.trees.running().within(patience(shared), stay.end()).await.flatten() {
            Some(left) => left,
            None => shared.trees.end(&Tree::marked(marker), shared.policy().stop_grace).await,
        }
    }

    /// Returns true if the process has this conversation open.
    pub(super) fn holds(&self, conversation: Option<&str>) -> bool {
        self.conversation.is_some() && self.conversation.as_deref() == conversation
    }
}

/// The context of a session beside its work.
pub(super) struct Before {
    /// Id of the conversation to resume, if the runtime can.
    pub(super) conversation: Option<String>,
    /// The last exchanges as text, for a conversation that has to start from scratch.
    pub(super) past: Option<String>,
    /// Usage of the conversation so far.
    pub(super) conversed: Usage,
    /// Recap of the session before, if that one left the work unfinished.
    pub(super) recap: Option<String>,
    /// Texts of the whispers for the prompt.
    pub(super) whispers: Vec<String>,
    /// True if the driver is to inspect the workspace before the start.
    pub(super) look: bool,
    /// The task whose clone it works in; `None` if it works in the agent's workspace.
    pub(super) task: Option<WorkId>,
}

impl Session {
    /// Starts the driver of a session, or gives the session to a process that has stayed for it.
    pub(super) fn start(
        shared: &Arc<Shared>,
        mut spec: AgentSpec,
        id: SessionId,
        work: &Work,
        before: Before,
        staying: Option<Staying>,
    ) -> Self {
        let Before { conversation, past, conversed, recap, whispers, look, task } = before;
        // A new conversation starts with the exchanges; otherwise the driver adds them if it cannot resume.
        let (head, past) = if conversation.is_some() { (None, past) } else { (past, None) };
        let agent = spec.name.clone();
        let place = shared.places.of(spec.runner.as_ref());
        let marker = format!("{}{agent}/{id}", place.prefix(shared.journal.id()));
        let reviews = work.card().review.is_some();
        if reviews {
            // Work that is reviewed is not changed.
            spec.permissions = Permissions::ReadOnly;
        }
        let (files, missing) = files_for(&place, work);
        let launch = Launch {
            prompt: prompt(&spec, work, [head, recap], whispers) + &missing,
            look,
            always_ask: shared.policy().always_ask.clone(),
            conversation,
            past,
            conversed,
            marker: marker.clone(),
            reviews,
            files,
            task,
            ..Self::aside(shared, spec, id)
        };
        let warm = staying.as_ref().map(|staying| (staying.process, staying.marker.clone()));
        let (driver, pass) = match (&shared.fault.simulated, staying) {
            // A runner simulates its sessions itself.
            (Some(simulated), _) if !place.is_remote() => ((simulated.launch)(launch), None),
            (_, Some(staying)) => place.go_on(staying.stay, launch),
            (_, None) => place.launch(launch),
        };
        Self { warm, ..Self::with(shared, place, (agent, id, marker), (driver, pass), 0) }
    }

    /// Returns the parameters of a process that runs for an agent beside its sessions.
    pub(super) fn aside(shared: &Shared, spec: AgentSpec, id: SessionId) -> Launch {
        let policy = shared.policy();
        Launch {
            agent: spec.name.clone(),
            session: id,
            prompt: String::new(),
            clocks: clocks(&policy, &spec),
            together: policy.memory,
            limits: policy.limits,
            look: false,
            always_ask: Vec::new(),
            withheld: BTreeSet::new(),
            spec: Arc::new(spec),
            conversation: None,
            past: None,
            conversed: Usage::default(),
            marker: String::new(),
            reviews: false,
            files: Vec::new(),
            task: None,
        }
    }

    /// Goes on with a session that runs in another process, after the report of this number.
    pub(super) fn adopt(
        shared: &Arc<Shared>,
        place: Arc<Place>,
        of: &SessionKey,
        driver: Driver,
        heard: u64,
    ) -> Self {
        let (agent, id) = (of.agent.clone(), of.session);
        let marker = format!("{}{agent}/{id}", place.prefix(shared.journal.id()));
        let pass = place.pass(&agent, id);
        Self::with(shared, place, (agent, id, marker), (driver, pass), heard)
    }

    fn with(
        shared: &Arc<Shared>,
        place: Arc<Place>,
        (agent, id, marker): (AgentName, SessionId, String),
        (driver, pass): (Driver, Option<Pass>),
        taken: u64,
    ) -> Self {
        let running = shared.trees.running().clone();
        shared.watch_live(agent.clone(), driver.live.clone());
        Self {
            id,
            agent,
            place,
            marker,
            driver,
            heard: running.now(),
            taken,
            _held: running.hold(),
            running,
            silence_reported: false,
            overdue: None,
            patience: Duration::ZERO,
            asking: pass.as_ref().map(Pass::asking),
            pass,
            warm: None,
            offered: BTreeSet::new(),
            answers: Vec::new(),
        }
    }

    /// Returns true if a call of one of herder's tools is open, so that whispers are delivered with its result.
    pub(super) fn call_is_open(&self) -> bool {
        self.pass.as_ref().is_some_and(Pass::call_is_open)
    }

    /// Returns its process if the session is over and the process stays for the next one.
    pub(super) fn kept(&self) -> Option<ProcessRecord> {
        let Identity { pid, started } = self.driver.stay.as_ref()?.kept()?;
        Some(ProcessRecord { pid, started })
    }

    /// Returns the process with its conversation, if it stays now that the session is over.
    pub(super) fn stays(self, conversation: Option<String>) -> Option<Staying> {
        let (process, stay) = (self.kept()?, self.driver.stay?);
        // Its processes are known by the marker that they were started with.
        let marker = self.warm.filter(|(warm, _)| *warm == process).map_or(self.marker, |(_, marker)| marker);
        Some(Staying { stay, process, marker, conversation })
    }

    /// Returns the place where it runs.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Returns the number of the session.
    pub(super) fn id(&self) -> SessionId {
        self.id
    }

    /// Returns the session, and the number of the last report that was taken from its driver.
    pub(super) fn taken(&self) -> (SessionKey, u64) {
        (SessionKey { agent: self.agent.clone(), session: self.id }, self.taken)
    }

    /// Returns the state of the session as its driver reports it.
    pub(super) fn live(&self) -> Live {
        self.driver.live.borrow().clone()
    }

    /// Waits for a report of the driver, or for the time at which one is missing.
    pub(super) async fn next(&mut self, timeout: Duration) -> Heard {
        loop {
            let deadline = match self.overdue {
                Some(overdue) => overdue,
                None if self.silence_reported => self.running.now() + Duration::from_secs(3600),
                None => self.heard + timeout,
            };
            tokio::select! {
                biased;
                report = self.driver.reports.recv() => {
                    self.heard = self.running.now();
                    match report {
                        Some(Report::Beat) => {}
                        Some(report) => {
                            self.taken += 1;
                            return Heard::Report(report);
                        }
                        None => return Heard::Gone,
                    }
                }
                waits = asked(&mut self.asking) => self.order(Order::Hold { waits }).await,
                () = self.running.sleep_until(deadline) => {
                    if let Some(overdue) = &mut self.overdue {
                        if !self.place.is_out_of_reach() {
                            return Heard::Overdue;
                        }
                        // It is told once its machine is heard.
                        *overdue = self.running.now() + self.patience;
                        continue;
                    }
                    if !self.silence_reported {
                        self.silence_reported = true;
                        return Heard::Silent(timeout);
                    }
                }
            }
        }
    }

    /// Sends an order to the driver. If the driver's mailbox is full or gone, its silence is detected later.
    pub(super) async fn order(&mut self, order: Order) {
        if let Err(reason) = self.driver.orders.try_send(order) {
            warn!(agent = %self.agent, session = %self.id, %reason, "an order did not reach the driver");
            if let Order::Steer { work, .. } | Order::Insist { work, .. } = reason.into_inner() {
                self.offered.remove(&work);
            }
        }
    }

    /// Sets the time by which the session must have ended: that of the stop ladder, or sooner if its driver is known to
    /// be silent.
    pub(super) fn expect_end(&mut self, shared: &Shared) {
        self.patience = if self.silence_reported { LAST_PATIENCE } else { patience(shared) };
        self.overdue.get_or_insert(self.running.now() + self.patience);
    }

    /// Ends the session without the core: dropping its orders asks the driver to stop; if it does not, its process tree
    /// is ended from here. Reports that still arrive go to `heard`. Returns the ids of the processes that are left.
    ///
    /// A driver that was overdue already gets no second wait: only the reports that have arrived are read.
    pub(super) async fn end(self, shared: &Shared, mut heard: impl FnMut(Report)) -> Vec<u32> {
        let late = self.overdue.is_some_and(|overdue| overdue <= self.running.now());
        let patience = match self.silence_reported {
            _ if late => Duration::ZERO,
            true => LAST_PATIENCE,
            false => patience(shared),
        };
        let Self { agent, place, marker, driver, running, _held, warm, .. } = self;
        let Driver { orders, mut reports, mut stay, .. } = driver;
        drop(orders);
        let ended = async {
            while let Some(report) = reports.recv().await {
                let survivors = match &report {
                    Report::Signal(Signal::Ended { survivors, .. }) => Some(survivors.clone()),
                    Report::Signal(_) | Report::Beat | Report::Words(_) | Report::NotTaken { .. } => None,
                };
                heard(report);
                if survivors.is_some() {
                    // A process that was to stay when its session ended is ended here.
                    return match stay.take().filter(|stay| stay.kept().is_some()) {
                        Some(stay) => stay.end().await,
                        None => survivors,
                    };
                }
            }
            None
        };
        match running.within(patience, ended).await.flatten() {
            Some(survivors) => survivors,
            None => {
                warn!(%agent, "the driver did not end its session; its processes are ended without it");
                if let Some(simulated) = &shared.fault.simulated {
                    return (simulated.end_processes)(&agent);
                }
                if place.runner().is_some() {
                    return place.end(marker).await;
                }
                let mut left = Vec::new();
                for marker in std::iter::once(marker).chain(warm.map(|(_, marker)| marker)) {
                    let tree = Tree::marked(marker);
                    left.extend(shared.trees.end(&tree, shared.policy().stop_grace).await);
                }
                left
            }
        }
    }
}

/// Returns the maximum time for a driver to end its session.
fn patience(shared: &Shared) -> Duration {
    shared.policy().stop_grace * 2 + STOP_SLACK
}

/// Waits until the number of tool calls that wait for a person may have changed; returns whether there are any.
async fn asked(asking: &mut Option<watch::Receiver<usize>>) -> bool {
    let Some(asking) = asking else { return std::future::pending().await };
    if asking.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
    *asking.borrow_and_update() > 0
}

/// Returns the whole prompt of a session: the recap, the standing instructions if the runtime has no other place for
/// them, whispers, and the work.
fn prompt(spec: &AgentSpec, work: &Work, before: [Option<String>; 2], whispers: Vec<String>) -> String {
    let instructions = match spec.runtime {
        Runtime::Claude | Runtime::Codex => None,
        Runtime::Acp | Runtime::Command => Some(spec.instructions.clone()),
    };
    let whispers = Some(whispers.join("\n\n"));
    before
        .into_iter()
        .chain([instructions, whispers, Some(work.text.clone())])
        .flatten()
        .filter(|part| !part.trim().is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Returns the files of work, under their names in the agent's inbox.
fn inbox_files(work: &Work) -> Vec<KeptFile> {
    // A picture that the model refuses is refused each time: from the third attempt on it is a file alone.
    let kind = |file: &KeptFile| if work.attempts > 1 { FileKind::Other } else { file.kind };
    let named = |(index, file): (usize, &KeptFile)| KeptFile {
        name: file.inbox_name(work.id, index),
        kind: kind(file),
        ..file.clone()
    };
    work.card().files.iter().enumerate().map(named).collect()
}

/// Returns the files of work, and the end of its prompt, which names those that a runner of an earlier herder cannot bring.
pub(super) fn files_for(place: &Place, work: &Work) -> (Vec<KeptFile>, String) {
    let files = inbox_files(work);
    if files.is_empty() || place.takes_files() {
        return (files, String::new());
    }
    let names = files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ");
    (
        Vec::new(),
        format!("\n\nFiles came with this message that herder cannot bring to this machine: {names}"),
    )
}

/// Returns the time limits of a session, which stay the same until it ends, whatever the configuration becomes.
fn clocks(policy: &Policy, spec: &AgentSpec) -> Clocks {
    Clocks {
        startup: policy.startup_timeout,
        silence: policy.silence_timeout,
        tool: policy.tool_timeout,
        task: spec.max_task_duration.unwrap_or(policy.max_task_duration),
        grace: policy.stop_grace,
        beat: policy.heartbeat_timeout / BEATS_PER_TIMEOUT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::card::Card;
    use crate::core::file::Sha256;
    use crate::core::time::Timestamp;
    use crate::core::work::{Actor, WorkKind};

    #[test]
    fn a_picture_is_a_file_alone_from_the_third_attempt_on() {
        let cat =
            KeptFile { name: "cat.png".to_owned(), size: 9, sha256: Sha256([7; 32]), kind: FileKind::Png };
        let card = Some(Box::new(Card { files: vec![cat], ..Card::default() }));
        let (id, at) = (WorkId(7), Timestamp::from_seconds(1));
        let kind = WorkKind::Message;
        let work = Work { id, kind, text: "look".to_owned(), by: Actor::herder(), at, attempts: 0, card };
        let kinds = (0..4).map(|attempts| inbox_files(&Work { attempts, ..work.clone() })[0].kind);
        let (picture, file) = (FileKind::Png, FileKind::Other);
        assert_eq!(kinds.collect::<Vec<_>>(), [picture, picture, file, file]);
        assert_eq!(inbox_files(&work)[0].name, "7-1-cat.png");
    }
}
