//! One session's loop: whatever happens to a driver is awaited in one place ([`Session::next`]) and handled without awaiting.

mod ending;
mod handling;

use std::collections::BTreeSet;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::clocks::Vitals;
use super::feed::Stdin;
use super::lines::Lines;
use super::outgoing::Outgoing;
use super::process::{Owned, ProcessTrees, Tree, spawn};
use super::protocol::{Protocol, prepare};
use super::text::Tail;
use super::{Clocks, Launch, Live, Order, Report};
use crate::core::id::WorkId;
use crate::core::input::{Clock, Signal};
use crate::core::outcome::{Category, Exit, Outcome};

/// An interrupted runtime reports its result within 50 ms and leaves in less than half a second; one that does not has lost
/// its event loop.
const INTERRUPT_WAIT: Duration = Duration::from_secs(2);

/// A process that would not leave after its result has had its grace: SIGTERM is a formality.
const LINGER_GRACE: Duration = Duration::from_secs(1);

/// Once the tree is gone its pipes end at once, unless a survivor holds one.
const DRAIN_WAIT: Duration = Duration::from_secs(2);

/// Longer than any stop ladder takes; a ladder that takes longer has no heartbeat, so that the supervisor notices.
const LADDER_MAX: Duration = Duration::from_secs(30);

/// Different things that one session asks permission for in vain before the channel is spared the rest.
const DENIALS_SAID: usize = 10;

/// The driver's ends of its channels.
pub(super) struct Ends {
    pub(super) orders: mpsc::Receiver<Order>,
    pub(super) reports: mpsc::Sender<Report>,
    pub(super) live: watch::Sender<Live>,
}

/// Runs a session. A panic in it ends the process tree and is reported as a crash.
pub(super) async fn guarded(launch: Launch, trees: ProcessTrees, ends: Ends) {
    let tree = Tree { root: None, marker: launch.marker.clone(), workspace: launch.spec.workspace.clone() };
    let grace = launch.clocks.grace;
    let reports = ends.reports.clone();
    #[expect(
        clippy::disallowed_methods,
        reason = "the task is waited for, so that its panic ends the session and nothing else"
    )]
    let Err(error) = tokio::spawn(run(launch, trees.clone(), ends)).await else { return };
    let survivors = trees.end(&tree, grace).await;
    let outcome = Outcome::new(Category::Crash, format!("the driver failed: {error}"));
    // A supervisor that is gone has nothing to be told.
    let _ = reports.send(Report::Signal(Signal::Ended { outcome: Box::new(outcome), survivors })).await;
}

async fn run(mut launch: Launch, trees: ProcessTrees, mut ends: Ends) {
    let began = Instant::now();
    loop {
        let prepared = prepare(&launch).and_then(|(invocation, protocol)| {
            spawn::spawn(&trees, &invocation, &launch.spec.workspace, &launch.marker)
                .map(|owned| (owned, protocol))
        });
        let (owned, protocol) = match prepared {
            Ok(prepared) => prepared,
            Err(missing) => {
                let outcome = Box::new(Outcome::new(Category::Permanent, missing));
                let ended = Signal::Ended { outcome, survivors: Vec::new() };
                // A supervisor that is gone has nothing to be told.
                let _ = ends.reports.send(Report::Signal(ended)).await;
                return;
            }
        };
        let session = Session::new(launch, trees.clone(), ends, owned, protocol, began);
        let Some((again, same_ends)) = session.drive().await else { return };
        tracing::info!(agent = %again.agent, "the conversation is gone, the session begins a new one");
        launch = Launch { conversation: None, ..again };
        ends = same_ends;
    }
}

/// Where a session is; see the picture in the parent module.
#[derive(Debug)]
enum Stage {
    Held,
    Working,
    Leaving { until: Instant },
    Interrupting { until: Instant },
    Ending { ladder: JoinHandle<Vec<u32>>, until: Instant },
    Draining { survivors: Vec<u32>, until: Instant },
}

/// Why a session is ended from here.
#[derive(Debug)]
enum Cause {
    Ordered,
    Clock(Clock, String),
}

/// What [`Session::next`] waited for.
enum Happened {
    Order(Option<Order>),
    Reported,
    SupervisorGone,
    Stdout(io::Result<bool>),
    Stderr(io::Result<bool>),
    Fed(Option<WorkId>),
    Exited(io::Result<ExitStatus>),
    LadderDone(Vec<u32>),
    Sampled(u64),
    Time,
}

struct Session {
    launch: Launch,
    clocks: Clocks,
    trees: ProcessTrees,
    tree: Tree,
    ends: Ends,
    /// Whether orders can still come.
    listening: bool,
    /// Whether reports are still taken.
    heard: bool,
    protocol: Box<dyn Protocol>,
    child: Option<Owned>,
    stdin: Stdin,
    stdout: Option<Lines<ChildStdout>>,
    stderr: Option<Lines<ChildStderr>>,
    stage: Stage,
    cause: Option<Cause>,
    /// What the runtime waited for when it fell silent.
    stalled: Option<Outcome>,
    exit: Option<Exit>,
    began: Instant,
    /// When the process was given its work: the clocks count from here.
    given: Instant,
    next_beat: Instant,
    vitals: Vitals,
    sampling: Option<JoinHandle<u64>>,
    /// CPU time at the last sample, and when that was.
    sampled: Option<(u64, Instant)>,
    tail: Tail,
    outgoing: Outgoing,
    /// The last words, which are the session's text if nothing follows them, and else belong in the log.
    last_words: Option<String>,
    malformed: u64,
    /// What was asked for in vain and said so.
    denied: BTreeSet<String>,
}

impl Session {
    fn new(
        launch: Launch,
        trees: ProcessTrees,
        ends: Ends,
        mut owned: Owned,
        protocol: Box<dyn Protocol>,
        began: Instant,
    ) -> Self {
        let mut clocks = launch.clocks;
        clocks.task = launch.spec.max_task_duration.unwrap_or(clocks.task);
        let mut outgoing = Outgoing::default();
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
            began,
            given: began,
            next_beat: began + clocks.beat,
            vitals: Vitals::default(),
            sampling: None,
            sampled: None,
            tail: Tail::default(),
            outgoing,
            last_words: None,
            malformed: 0,
            denied: BTreeSet::new(),
            launch,
        }
    }

    /// Runs to the end of the process. Gives everything back if the session should be begun again without the conversation
    /// that it was to resume, which turned out to be gone.
    async fn drive(mut self) -> Option<(Launch, Ends)> {
        while !self.is_over() {
            match self.next().await {
                Happened::Order(order) => self.on_order(order),
                Happened::Reported => {}
                Happened::SupervisorGone => self.on_supervisor_gone(),
                Happened::Stdout(more) => self.on_stdout(more),
                Happened::Stderr(more) => self.on_stderr(more),
                Happened::Fed(work) => self.on_fed(work),
                Happened::Exited(status) => self.on_exit(status),
                Happened::LadderDone(survivors) => self.drain(survivors),
                Happened::Sampled(ticks) => self.on_sample(ticks),
                Happened::Time => self.on_time(),
            }
        }
        if self.conversation_is_lost() {
            self.send_all().await;
            return Some((self.launch, self.ends));
        }
        self.finish().await;
        None
    }

    fn conversation_is_lost(&self) -> bool {
        let clean = matches!(&self.stage, Stage::Draining { survivors, .. } if survivors.is_empty());
        clean && self.cause.is_none() && self.protocol.conversation_lost(&self.tail)
    }

    /// Waits for whatever comes first. Everything awaited here keeps what it has when another one is first.
    async fn next(&mut self) -> Happened {
        let deadline = self.deadline();
        let room = self.outgoing.has_room() && self.stdin.has_room();
        let Self { ends, outgoing, child, stdin, stdout, stderr, stage, sampling, .. } = self;
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
            survivors = ladder_done(stage) => Happened::LadderDone(survivors),
            ticks = sample_done(sampling) => Happened::Sampled(ticks),
            () = sleep_until(deadline) => Happened::Time,
        }
    }

    fn deadline(&self) -> Instant {
        let stage = match &self.stage {
            Stage::Held => None,
            Stage::Working => Some(self.given + self.vitals.next(&self.clocks).1),
            Stage::Leaving { until }
            | Stage::Interrupting { until }
            | Stage::Ending { until, .. }
            | Stage::Draining { until, .. } => Some(*until),
        };
        [stage, self.outgoing.due()].into_iter().flatten().fold(self.next_beat, Instant::min)
    }

    fn is_over(&self) -> bool {
        let Stage::Draining { until, .. } = &self.stage else { return false };
        let drained = self.stdout.is_none() && self.stderr.is_none() && self.child.is_none();
        drained || Instant::now() >= *until
    }

    /// The time since the process was given its work.
    fn elapsed(&self) -> Duration {
        self.given.elapsed()
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

async fn ladder_done(stage: &mut Stage) -> Vec<u32> {
    match stage {
        Stage::Ending { ladder, .. } => ladder.await.unwrap_or_default(),
        Stage::Held
        | Stage::Working
        | Stage::Leaving { .. }
        | Stage::Interrupting { .. }
        | Stage::Draining { .. } => std::future::pending().await,
    }
}

async fn sample_done(sampling: &mut Option<JoinHandle<u64>>) -> u64 {
    match sampling {
        Some(sampling) => sampling.await.unwrap_or(0),
        None => std::future::pending().await,
    }
}
