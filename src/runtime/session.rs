//! The loop of one session: all events of a driver are awaited in one place ([`Session::next`]) and handled without awaiting.

mod bringing;
mod ending;
mod handling;
mod staying;

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::clocks::Vitals;
use super::feed::Stdin;
use super::inbox::Brought;
use super::lines::Lines;
use super::observing::Observer;
use super::outgoing::Outgoing;
use super::process::stop::Gone;
use super::process::{Allowance, Exhausted, Identity, Owned, ProcessTrees, Tree, Weight, spawn};
use super::protocol::{Digest, Protocol, prepare};
use super::text::Tail;
use super::warm::Next;
use super::{Clocks, Launch, Live, Local, Order, Report, workspace};
use crate::clock::running::Held;
use crate::core::ask::AskKey;
use crate::core::detail::Own;
use crate::core::detector::Rounds;
use crate::core::id::WorkId;
use crate::core::input::{Clock, Signal};
use crate::core::machine::Enforcement;
use crate::core::outcome::{Category, Exit, Outcome};
use bringing::{Bringing, bring_first};
use staying::Stayed;

/// Maximum time to wait after an interrupt, before the stop ladder goes on. A runtime reports its result within 50 ms
/// and exits in less than half a second; one that does not has lost its event loop.
const INTERRUPT_WAIT: Duration = Duration::from_secs(2);

/// Time between SIGTERM and SIGKILL for a process that did not exit after its result: it has had its grace already.
const LINGER_GRACE: Duration = Duration::from_secs(1);

/// Maximum time to read the rest of the output after the process tree has ended: the pipes close at once unless a
/// survivor holds one.
const DRAIN_WAIT: Duration = Duration::from_secs(2);

/// Time longer than any stop ladder takes; if it takes longer, heartbeats stop, so that the supervisor notices.
const LADDER_MAX: Duration = Duration::from_secs(30);

/// Maximum time to wait for a CPU sample of a session whose silence timeout has expired: a busy machine takes a while.
const LOOK_MAX: Duration = Duration::from_secs(5);

/// The driver's ends of the channels to its supervisor.
pub(super) struct Ends {
    pub(super) orders: mpsc::Receiver<Order>,
    pub(super) reports: mpsc::Sender<Report>,
    pub(super) live: watch::Sender<Live>,
    /// Receives another session for a process that stays; once it is closed, the process is ended.
    pub(super) again: mpsc::Receiver<Next>,
    /// Receives what is left of a process that has stayed, once it is gone.
    pub(super) over: Option<oneshot::Sender<Vec<u32>>>,
    /// The process, once a session is over and it stays for the next one.
    pub(super) kept: watch::Sender<Option<Identity>>,
    /// Keeps the clock of the session ticking; `None` while the process stays between two sessions.
    pub(super) held: Option<Held>,
}

/// A session's parameters, and what this machine adds to them.
type Given = (Launch, Local);

/// A started process with the digest of its invocation, its protocol, and the parameters of the session.
type Started = ((Owned, Digest), Spoken, Given);

/// The protocol of a session, and the limit on its memory that is held by looking.
type Spoken = (Box<dyn Protocol>, Option<u64>);

/// The parameters of another start of a process by the same driver.
struct Again {
    given: Given,
    ends: Ends,
    began: Instant,
}

/// Runs a session to its end. A panic in it ends the process tree and is reported as a crash.
pub(super) async fn guarded((launch, local): Given, trees: ProcessTrees, ends: Ends) {
    let tree = Tree { root: None, marker: launch.marker.clone(), workspace: launch.spec.workspace.clone() };
    let grace = launch.clocks.grace;
    let reports = ends.reports.clone();
    #[expect(
        clippy::disallowed_methods,
        reason = "the task is waited for, so that its panic ends the session and nothing else"
    )]
    let Err(error) = tokio::spawn(run((launch, local), trees.clone(), ends)).await else { return };
    let survivors = trees.end(&tree, grace).await;
    let outcome = Outcome::new(Category::Crash, Own::DriverFailed.with(error.to_string()));
    // Fails if the supervisor is gone.
    let _ = reports.send(Report::Signal(Signal::Ended { outcome: Box::new(outcome), survivors })).await;
}

async fn run((mut launch, mut local): Given, trees: ProcessTrees, mut ends: Ends) {
    let running = trees.running().clone();
    ends.held = Some(running.hold());
    let mut began = running.now();
    loop {
        // Boxed, like the start and the session: the task keeps no room for them while it waits.
        match Box::pin(workspace::look(&launch, &local, &trees)).await {
            Ok(None) => {}
            Ok(Some(seen)) => {
                launch.prompt = format!("{}\n\n{}", seen.words(), launch.prompt);
                // The prompt of a second try has it already.
                launch.look = false;
                // Fails if the supervisor is gone.
                let _ = ends.reports.send(Report::Signal(Signal::Workspace { seen })).await;
            }
            Err(broken) => return never_began(&ends, Outcome::new(Category::Permanent, broken)).await,
        }
        let mut early = Vec::new();
        let begin = async {
            let given = bring_first((launch, local), &trees, &mut ends, &mut early).await?;
            start(given, &trees, &mut ends, &mut early).await
        };
        let (owned, spoken, same) = match Box::pin(begin).await {
            Ok(started) => started,
            Err(Some(outcome)) => {
                for order in early {
                    if let Order::Steer { work, .. } = order {
                        // Fails if the supervisor is gone.
                        let _ = ends.reports.send(Report::NotTaken { work }).await;
                    }
                }
                return never_began(&ends, outcome).await;
            }
            Err(None) => return,
        };
        let mut session = Box::new(Session::new(same, trees.clone(), ends, owned, spoken, began));
        for order in early {
            session.on_order(Some(order));
        }
        let Some(next) = Box::pin(session.drive()).await else { return };
        (launch, local) = next.given;
        (ends, began) = (next.ends, next.began);
    }
}

/// Starts the session's process, within the startup time limit. Orders received meanwhile are collected in `early`:
/// few, since each waits for an answer.
///
/// # Errors
/// The outcome of a session that never began; `None` if the supervisor is gone.
async fn start(
    (launch, local): Given,
    trees: &ProcessTrees,
    ends: &mut Ends,
    early: &mut Vec<Order>,
) -> Result<Started, Option<Outcome>> {
    let clocks = launch.clocks;
    let (workspace, marker) = (launch.spec.workspace.clone(), launch.marker.clone());
    let begin = spawn::begin(trees, &workspace, &marker, clocks.startup, move |trees, workspace| {
        let (invocation, protocol) = prepare(&launch, &local)?;
        let allowance = Allowance { own: launch.spec.share, together: launch.together };
        let limited = if allowance.is_none() { Ok(()) } else { trees.limit(&launch.marker, &allowance) };
        let watched = match limited {
            Ok(()) => None,
            Err(why) if launch.limits == Enforcement::Require => return Err(Own::LimitsNotSet.with(why)),
            Err(why) => {
                tracing::debug!(agent = %launch.agent, %why, "the kernel does not hold the limits");
                Some(launch.spec.share.memory).filter(|limit| *limit > 0)
            }
        };
        let owned = spawn::spawn(trees, &invocation, workspace, &launch.marker)
            .inspect_err(|_| trees.unlimit(&launch.marker))?;
        Ok((owned, (invocation.digest(), (protocol, watched), (launch, local))))
    });
    match while_heard(begin, ends, clocks.beat, early).await? {
        Ok((owned, (digest, spoken, given))) => Ok(((owned, digest), spoken, given)),
        Err(missing) => Err(Some(Outcome::new(Category::Permanent, missing))),
    }
}

/// Waits for what a session's process needs before it works, and sends heartbeats meanwhile. Orders received are collected
/// in `early`; after a stop it is given up soon.
///
/// # Errors
/// The outcome of a session that never began; `None` if the supervisor is gone.
async fn while_heard<F: Future>(
    before: F,
    ends: &mut Ends,
    beat: Duration,
    early: &mut Vec<Order>,
) -> Result<F::Output, Option<Outcome>> {
    tokio::pin!(before);
    let Ends { orders, reports, .. } = ends;
    let mut stopped = None;
    loop {
        let given_up = stopped.unwrap_or_else(Instant::now);
        tokio::select! {
            done = &mut before => return Ok(done),
            order = orders.recv(), if stopped.is_none() => {
                if matches!(order, Some(Order::Stop) | None) {
                    stopped = Some(Instant::now() + spawn::STOPPED_START);
                }
                early.extend(order);
            }
            // A process that is started all the same is ended by the task that starts it.
            () = tokio::time::sleep_until(given_up), if stopped.is_some() => {
                return Err(Some(Outcome::new(Category::Interrupted, "")));
            }
            // Waiting for the file system has a timeout of its own.
            () = tokio::time::sleep(beat) => {
                // A full channel contains other reports, which prove life as well.
                let _ = reports.try_send(Report::Beat);
            }
            () = reports.closed() => return Err(None),
        }
    }
}

async fn never_began(ends: &Ends, outcome: Outcome) {
    let ended = Signal::Ended { outcome: Box::new(outcome), survivors: Vec::new() };
    // Fails if the supervisor is gone.
    let _ = ends.reports.send(Report::Signal(ended)).await;
}

/// Time between two looks at memory that the kernel does not limit.
const WEIGHED_EVERY: Duration = Duration::from_secs(1);

/// The stage of a session; see the diagram in the parent module.
#[derive(Debug)]
enum Stage {
    Held,
    Working,
    Leaving { until: Instant },
    Interrupting { until: Instant },
    Ending { ladder: JoinHandle<Gone>, until: Instant },
    Draining { gone: Gone, until: Instant },
}

/// The reason why the driver ends a session: an order, or a time limit that ran out.
#[derive(Debug)]
enum Cause {
    Ordered,
    Clock(Clock, Own),
    Memory,
}

/// An event that the driver of a session waits for, see [`Session::next`].
enum Happened {
    Order(Option<Order>),
    Reported,
    SupervisorGone,
    Stdout(io::Result<bool>),
    Stderr(io::Result<bool>),
    Fed(Option<WorkId>),
    Exited(io::Result<ExitStatus>),
    LadderDone(Gone),
    Brought(Brought),
    Sampled(u64),
    Weighed(Weight),
    Time,
}

struct Session {
    launch: Launch,
    local: Local,
    clocks: Clocks,
    trees: ProcessTrees,
    tree: Tree,
    ends: Ends,
    /// True while the supervisor may send orders.
    listening: bool,
    /// True while the supervisor receives reports.
    heard: bool,
    protocol: Box<dyn Protocol>,
    child: Option<Owned>,
    stdin: Stdin,
    stdout: Option<Lines<ChildStdout>>,
    stderr: Option<Lines<ChildStderr>>,
    stage: Stage,
    cause: Option<Cause>,
    /// The limit for which the runtime waited when it fell silent; `None` if that was not the reason.
    stalled: Option<Outcome>,
    exit: Option<Exit>,
    /// The process that took the most memory at the last look, if memory is limited.
    biggest: Option<String>,
    /// Maximum of the memory that the session took, in bytes; 0 if it is not limited.
    peak: u64,
    /// The memory that the session took, if it was ended for want of more.
    exhausted: Option<Exhausted>,
    /// True if the process still ran when herder began to end it.
    told_to_leave: bool,
    began: Instant,
    /// Time at which the process was given its prompt, from which time limits count.
    given: Instant,
    next_beat: Instant,
    vitals: Vitals,
    sampling: Option<JoinHandle<u64>>,
    /// Limit on memory that is held by looking, in bytes; `None` if there is none, or the kernel holds it.
    watched: Option<u64>,
    /// Time of the next look at the memory that is held by looking.
    next_weighing: Instant,
    weighing: Option<JoinHandle<Weight>>,
    /// CPU time of the process tree at the last sample, in clock ticks, and the time of that sample.
    sampled: Option<(u64, Instant)>,
    /// Time at which two CPU samples were last compared.
    looked: Option<Instant>,
    tail: Tail,
    outgoing: Outgoing,
    /// Collects the turns for the evaluator.
    observer: Observer,
    /// Detects rounds of repeated output, for a program that reports no turns.
    rounds: Rounds,
    /// The agent's last words: the text of the session if none follow, otherwise part of the log.
    last_words: Option<String>,
    malformed: u64,
    /// Digest of the invocation that the process was started with.
    invoked: Digest,
    /// True once the session is over and its process stays for another one.
    staying: bool,
    /// True if the process has stayed for this session.
    warm: bool,
    /// Keys of the runtime's requests that wait for an answer.
    asked: BTreeSet<AskKey>,
    /// True if the agent waits for people in a call of one of herder's tools.
    waits: bool,
    /// Messages whose files are on their way, in order.
    bringing: VecDeque<Bringing>,
    /// Total time for which the session waited for people, which no timeout counts.
    held: Duration,
    /// Time since which people are waited for now; `None` if they are not.
    held_since: Option<Instant>,
}

impl Session {
    fn new(
        (launch, local): Given,
        trees: ProcessTrees,
        ends: Ends,
        (mut owned, invoked): (Owned, Digest),
        (protocol, watched): Spoken,
        began: Instant,
    ) -> Self {
        let mut clocks = launch.clocks;
        clocks.task = launch.spec.max_task_duration.unwrap_or(clocks.task);
        let mut outgoing = Outgoing::new(local.redactor.clone());
        let identity = owned.identity;
        outgoing.signal(Signal::Spawned { pid: identity.pid, started: identity.started });
        Self {
            tree: Tree {
                root: Some(identity),
                marker: launch.marker.clone(),
                workspace: launch.spec.workspace.clone(),
            },
            clocks,
            trees,
            ends,
            listening: true,
            heard: true,
            protocol,
            stdin: Stdin::new(owned.child.stdin.take()),
            stdout: owned.child.stdout.take().map(Lines::new),
            stderr: owned.child.stderr.take().map(Lines::new),
            child: Some(owned),
            stage: Stage::Held,
            cause: None,
            stalled: None,
            exit: None,
            biggest: None,
            exhausted: None,
            peak: 0,
            told_to_leave: false,
            began,
            given: began,
            next_beat: began + clocks.beat,
            vitals: Vitals::default(),
            sampling: None,
            watched,
            next_weighing: began,
            weighing: None,
            sampled: None,
            looked: None,
            tail: Tail::default(),
            outgoing,
            observer: Observer::new(local.redactor.clone()),
            rounds: Rounds::default(),
            last_words: None,
            malformed: 0,
            invoked,
            staying: false,
            warm: false,
            asked: BTreeSet::new(),
            waits: false,
            bringing: VecDeque::new(),
            held: Duration::ZERO,
            held_since: None,
            launch,
            local,
        }
    }

    /// Runs to the end of the process, through all sessions that it is given. Returns the parameters if a process has
    /// to be started again: without the conversation that turned out to be gone, or for a session that the process does
    /// not fit.
    async fn drive(mut self: Box<Self>) -> Option<Again> {
        loop {
            self.drive_a_session().await;
            if !self.staying {
                break;
            }
            match Box::pin(self.stay()).await {
                Stayed::Given => {}
                Stayed::Other => {
                    return Some(Again {
                        given: (self.launch, self.local),
                        ends: self.ends,
                        began: self.began,
                    });
                }
                Stayed::Over => return None,
            }
        }
        if self.conversation_is_lost() {
            self.outgoing.signal(Signal::ConversationLost { why: self.tail.reason() });
            self.send_all().await;
            tracing::info!(agent = %self.launch.agent, "the conversation is gone, the session begins a new one");
            let given = (self.launch.begun_anew(), self.local);
            return Some(Again { given, ends: self.ends, began: self.began });
        }
        self.finish(None).await;
        None
    }

    async fn drive_a_session(&mut self) {
        while !self.is_over() && !self.staying {
            match self.next().await {
                Happened::Order(order) => self.on_order(order),
                Happened::Reported => {}
                Happened::SupervisorGone => self.on_supervisor_gone(),
                Happened::Stdout(more) => self.on_stdout(more),
                Happened::Stderr(more) => self.on_stderr(more),
                Happened::Fed(work) => self.on_fed(work),
                Happened::Exited(status) => self.on_exit(status),
                Happened::LadderDone(gone) => self.drain(gone),
                Happened::Brought(brought) => self.on_brought(&brought),
                Happened::Sampled(ticks) => self.on_sample(ticks),
                Happened::Weighed(weight) => self.on_weight(weight),
                Happened::Time => self.on_time(),
            }
        }
    }

    fn conversation_is_lost(&self) -> bool {
        let clean = matches!(&self.stage, Stage::Draining { gone, .. } if gone.survivors.is_empty());
        clean && self.cause.is_none() && self.protocol.conversation_lost(&self.tail)
    }

    /// Waits for the next event of the session, whichever comes first. All awaited futures are cancel-safe.
    async fn next(&mut self) -> Happened {
        let deadline = self.deadline();
        let room = self.outgoing.has_room() && self.stdin.has_room();
        let Self {
            trees,
            ends,
            outgoing,
            child,
            stdin,
            stdout,
            stderr,
            stage,
            sampling,
            weighing,
            bringing,
            ..
        } = self;
        let Ends { orders, reports, .. } = ends;
        tokio::select! {
            order = orders.recv(), if self.listening => Happened::Order(order),
            permit = reports.reserve(), if self.heard && !outgoing.is_empty() => match permit {
                Ok(permit) => {
                    if let Some(report) = outgoing.pop() {
                        permit.send(report);
                    }
                    Happened::Reported
                }
                Err(_) => Happened::SupervisorGone,
            },
            more = fill(stdout), if room && stdout.is_some() => Happened::Stdout(more),
            more = fill(stderr), if stderr.is_some() => Happened::Stderr(more),
            work = stdin.feed(), if stdin.has_work() => Happened::Fed(work),
            status = exited(child), if child.is_some() => Happened::Exited(status),
            gone = ladder_done(stage) => Happened::LadderDone(gone),
            brought = bringing::done(bringing) => Happened::Brought(brought),
            ticks = done(sampling) => Happened::Sampled(ticks),
            weight = done(weighing) => Happened::Weighed(weight),
            () = trees.running().sleep_until(deadline) => Happened::Time,
        }
    }

    fn deadline(&self) -> Instant {
        let stage = match &self.stage {
            Stage::Held => None,
            Stage::Working if self.held_since.is_some() => None,
            Stage::Working => Some(self.clock_due(self.now())),
            Stage::Leaving { until }
            | Stage::Interrupting { until }
            | Stage::Ending { until, .. }
            | Stage::Draining { until, .. } => Some(*until),
        };
        let looks = [self.look_due(), self.weighing_due()];
        [stage, self.outgoing.due()].into_iter().chain(looks).flatten().fold(self.next_beat, Instant::min)
    }

    /// Returns the present time of a clock that stops while herder itself is stopped; all times of a session use it.
    fn now(&self) -> Instant {
        self.trees.running().now()
    }

    fn is_over(&self) -> bool {
        let Stage::Draining { until, .. } = &self.stage else { return false };
        let drained = self.stdout.is_none() && self.stderr.is_none() && self.child.is_none();
        drained || self.now() >= *until
    }

    /// Returns the time since the process was given its prompt, without the time of waiting for people.
    fn elapsed(&self) -> Duration {
        let until = self.held_since.unwrap_or_else(|| self.now());
        until.saturating_duration_since(self.given).saturating_sub(self.held)
    }

    /// Stops the time limits when people begin to be waited for, and resumes them afterwards.
    fn hold(&mut self) {
        let waits = self.waits || !self.asked.is_empty();
        match self.held_since {
            None if waits => self.held_since = Some(self.now()),
            Some(since) if !waits => {
                self.held += self.now().saturating_duration_since(since);
                self.held_since = None;
            }
            Some(_) | None => {}
        }
    }
}

async fn fill<R: tokio::io::AsyncRead + Unpin>(lines: &mut Option<Lines<R>>) -> io::Result<bool> {
    match lines {
        Some(lines) => lines.fill().await,
        None => std::future::pending().await,
    }
}

async fn exited(child: &mut Option<Owned>) -> io::Result<ExitStatus> {
    match child {
        Some(owned) => owned.wait().await,
        None => std::future::pending().await,
    }
}

async fn ladder_done(stage: &mut Stage) -> Gone {
    match stage {
        Stage::Ending { ladder, .. } => ladder.await.unwrap_or_default(),
        Stage::Held
        | Stage::Working
        | Stage::Leaving { .. }
        | Stage::Interrupting { .. }
        | Stage::Draining { .. } => std::future::pending().await,
    }
}

async fn done<T: Default>(look: &mut Option<JoinHandle<T>>) -> T {
    match look {
        Some(look) => look.await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the size of a future in bytes.
    const fn size<W: Future>(_work: fn(Given, ProcessTrees, Ends) -> W) -> usize {
        size_of::<W>()
    }

    #[test]
    fn a_session_that_waits_keeps_no_room_for_its_start() {
        // With all of it in one piece it is 14 KB.
        assert!(size(run) < 8 * 1024, "{} bytes", size(run));
    }
}
