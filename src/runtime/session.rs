//! One session's loop: whatever happens to a driver is awaited in one place ([`Session::next`]) and handled without awaiting.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::clocks::{CPU_SHARE_MIN, Vitals};
use super::feed::Stdin;
use super::lines::{Line, Lines};
use super::outgoing::Outgoing;
use super::process::{Owned, ProcessTrees, Tree, spawn};
use super::protocol::{Happening, Protocol, prepare};
use super::text::Tail;
use super::{Clocks, Launch, Live, Order, Report};
use crate::clock;
use crate::core::id::WorkId;
use crate::core::input::{Clock, Signal};
use crate::core::outcome::{Category, Exit, Outcome};
use crate::core::spec::Relay;

/// An interrupted runtime reports its result within 50 ms and leaves in less than half a second; one that does not has lost
/// its event loop.
const INTERRUPT_WAIT: Duration = Duration::from_secs(2);

/// A process that would not leave after its result has had its grace: SIGTERM is a formality.
const LINGER_GRACE: Duration = Duration::from_secs(1);

/// Once the tree is gone its pipes end at once, unless a survivor holds one.
const DRAIN_WAIT: Duration = Duration::from_secs(2);

/// Longer than any stop ladder takes; a ladder that takes longer has no heartbeat, so that the supervisor notices.
const LADDER_MAX: Duration = Duration::from_secs(30);

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
        let room = self.outgoing.has_room();
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

/// What is done about what happened.
impl Session {
    fn on_order(&mut self, order: Option<Order>) {
        match order {
            Some(Order::Go) => self.go(),
            Some(Order::Steer { work, text }) => self.steer(work, &text),
            Some(Order::Stop) => self.stop(Cause::Ordered),
            None => {
                self.listening = false;
                self.stop(Cause::Ordered);
            }
        }
    }

    fn on_supervisor_gone(&mut self) {
        self.heard = false;
        self.stop(Cause::Ordered);
    }

    fn go(&mut self) {
        if !matches!(self.stage, Stage::Held) {
            return;
        }
        self.stage = Stage::Working;
        self.given = Instant::now();
        let feed = self.protocol.prompt(&self.launch.prompt);
        self.stdin.push(feed.bytes, None);
        if feed.close {
            self.stdin.close();
        }
        if self.protocol.ready_at_start() {
            self.vitals.ready();
            self.outgoing.signal(Signal::Ready { conversation: None });
        }
    }

    fn steer(&mut self, work: WorkId, text: &str) {
        if !matches!(self.stage, Stage::Working) || !self.stdin.is_open() {
            return;
        }
        if let Some(bytes) = self.protocol.steer(text) {
            self.stdin.push(bytes, Some(work));
        }
    }

    fn on_fed(&mut self, work: Option<WorkId>) {
        if let Some(work) = work {
            self.outgoing.signal(Signal::Steered { work });
        }
    }

    /// Asks the runtime first if there is a way to ask, else begins the ladder.
    fn stop(&mut self, cause: Cause) {
        match self.stage {
            Stage::Ending { .. } | Stage::Draining { .. } | Stage::Interrupting { .. } => return,
            Stage::Held | Stage::Leaving { .. } => self.cause = self.cause.take().or(Some(cause)),
            Stage::Working => {
                self.cause = self.cause.take().or(Some(cause));
                if self.stdin.is_open()
                    && let Some(bytes) = self.protocol.interrupt()
                {
                    self.stdin.push(bytes, None);
                    let wait = INTERRUPT_WAIT.min(self.clocks.grace);
                    self.stage = Stage::Interrupting { until: Instant::now() + wait };
                    return;
                }
            }
        }
        self.end(self.clocks.grace);
    }

    fn end(&mut self, grace: Duration) {
        let (trees, tree) = (self.trees.clone(), self.tree.clone());
        #[expect(clippy::disallowed_methods, reason = "the handle is kept in the stage and waited for")]
        let ladder = tokio::spawn(async move { trees.end(&tree, grace).await });
        self.stage = Stage::Ending { ladder, until: Instant::now() + grace + LADDER_MAX };
    }

    fn drain(&mut self, survivors: Vec<u32>) {
        self.stdin.drop_now();
        self.stage = Stage::Draining { survivors, until: Instant::now() + DRAIN_WAIT };
    }

    fn on_exit(&mut self, status: io::Result<ExitStatus>) {
        self.child = None;
        self.exit = status
            .ok()
            .and_then(|status| status.code().map(Exit::Code).or_else(|| status.signal().map(Exit::Signal)));
        match self.stage {
            Stage::Ending { .. } | Stage::Draining { .. } => {}
            Stage::Held | Stage::Working | Stage::Leaving { .. } | Stage::Interrupting { .. } => {
                if self.trees.nothing_left(&self.tree) {
                    self.drain(Vec::new());
                } else {
                    self.end(self.clocks.grace);
                }
            }
        }
    }

    fn on_stdout(&mut self, more: io::Result<bool>) {
        let Some(mut stdout) = self.stdout.take() else { return };
        let mut happened = Vec::new();
        let (mut lines, mut bad) = (0_u64, 0_u64);
        while let Some(line) = stdout.next_line() {
            lines += 1;
            match line {
                Line::Whole(line) => self.protocol.line(line, &mut happened),
                Line::TooLong => bad += 1,
            }
        }
        bad += happened.iter().filter(|happening| **happening == Happening::Malformed).count() as u64;
        if bad > 0 && self.malformed == 0 {
            tracing::warn!(agent = %self.launch.agent, "a line of the agent could not be understood and is left out");
        }
        self.malformed += bad;
        if lines > bad {
            self.vitals.ready();
        }
        if lines > 0 {
            self.vitals.event(self.elapsed());
        }
        for happening in happened {
            self.on_happening(happening);
        }
        self.show(lines > 0);
        if matches!(more, Ok(true)) {
            self.stdout = Some(stdout);
        }
    }

    fn on_stderr(&mut self, more: io::Result<bool>) {
        let Some(stderr) = &mut self.stderr else { return };
        let mut lines = false;
        while let Some(line) = stderr.next_line() {
            lines = true;
            if let Line::Whole(line) = line {
                self.tail.push(line);
            }
        }
        if lines {
            self.vitals.event(self.given.elapsed());
        }
        if !matches!(more, Ok(true)) {
            self.stderr = None;
        }
    }

    fn on_happening(&mut self, happening: Happening) {
        let now = Instant::now();
        match happening {
            Happening::Ready { conversation } => self.outgoing.signal(Signal::Ready { conversation }),
            Happening::TurnStarted => {
                if matches!(self.stage, Stage::Leaving { .. }) {
                    self.stage = Stage::Working;
                    self.keep_last_words(now);
                }
            }
            Happening::Words(text) => {
                self.keep_last_words(now);
                self.relay(&text, now);
                self.last_words = Some(text);
            }
            Happening::Output(text) => self.relay(&text, now),
            Happening::ToolStarted { id, name } => {
                self.outgoing.tool(name.clone(), now);
                self.vitals.tool_started(id, name, self.elapsed());
            }
            Happening::ToolEnded { id } => self.vitals.tool_ended(&id),
            Happening::Progress { turns, usage } => self.ends.live.send_modify(|live| {
                live.turns = turns;
                live.usage = usage;
            }),
            Happening::Note(text) => self.outgoing.logged(&text, now),
            Happening::TurnEnded => self.on_turn_end(),
            Happening::Malformed => {}
        }
    }

    fn on_turn_end(&mut self) {
        self.vitals.turn_ended();
        self.outgoing.flush();
        self.stdin.close();
        if matches!(self.stage, Stage::Working) {
            self.stage = Stage::Leaving { until: Instant::now() + self.clocks.grace };
        }
    }

    fn relay(&mut self, text: &str, now: Instant) {
        if self.launch.spec.relay == Relay::All {
            self.outgoing.words(text, now);
        }
    }

    fn keep_last_words(&mut self, now: Instant) {
        if let Some(text) = self.last_words.take() {
            self.outgoing.logged(&text, now);
        }
    }

    fn show(&self, event: bool) {
        let tool = self.vitals.oldest_tool().map(|tool| tool.name.clone());
        self.ends.live.send_modify(|live| {
            live.tool = tool;
            if event {
                live.last_event = Some(clock::now());
            }
        });
    }
}

/// Time and the end.
impl Session {
    fn on_time(&mut self) {
        let now = Instant::now();
        if self.outgoing.due().is_some_and(|due| now >= due) {
            self.outgoing.flush();
        }
        match &self.stage {
            Stage::Held | Stage::Draining { .. } => {}
            Stage::Working => {
                if let Some((clock, evidence)) = self.vitals.ran_out(&self.clocks, self.elapsed()) {
                    self.outgoing.signal(Signal::ClockRanOut { clock, evidence: evidence.clone() });
                    self.stop(Cause::Clock(clock, evidence));
                }
            }
            Stage::Leaving { until } if now >= *until => self.end(LINGER_GRACE.min(self.clocks.grace)),
            Stage::Interrupting { until } if now >= *until => self.end(self.clocks.grace),
            Stage::Ending { ladder, until } if now >= *until => {
                ladder.abort();
                let left = self.tree.root.filter(|root| super::process::lives(*root));
                self.drain(left.map(|root| root.pid).into_iter().collect());
            }
            Stage::Leaving { .. } | Stage::Interrupting { .. } | Stage::Ending { .. } => {}
        }
        if now >= self.next_beat {
            self.next_beat = now + self.clocks.beat;
            // Every clock is looked at above: a session that is still here has evidence of life or is being ended in time.
            self.outgoing.beat();
            self.sample();
        }
    }

    /// Looks at the tree's CPU time if nothing else speaks for the session.
    fn sample(&mut self) {
        let working = matches!(self.stage, Stage::Working);
        if working && self.sampling.is_none() && self.vitals.needs_cpu(&self.clocks, self.elapsed()) {
            let (trees, tree) = (self.trees.clone(), self.tree.clone());
            #[expect(clippy::disallowed_methods, reason = "the handle is kept and waited for")]
            let sampling = tokio::spawn(async move { trees.ticks(&tree).await });
            self.sampling = Some(sampling);
        }
    }

    fn on_sample(&mut self, ticks: u64) {
        self.sampling = None;
        let now = Instant::now();
        if let Some((before, at)) = self.sampled.replace((ticks, now)) {
            #[expect(clippy::cast_precision_loss, reason = "CPU seconds are far below where it matters")]
            let used = ticks.saturating_sub(before) as f64 / rustix::param::clock_ticks_per_second() as f64;
            if used > 0.0 && used >= CPU_SHARE_MIN * now.duration_since(at).as_secs_f64() {
                self.vitals.cpu(self.elapsed());
            }
        }
    }

    async fn finish(mut self) {
        let mut outcome = self.protocol.outcome(self.exit, &self.tail);
        let succeeded = outcome.category == Category::Success;
        match &self.cause {
            None => {}
            // What was finished before the order reached it is finished.
            Some(Cause::Ordered) if succeeded && self.exit.is_some() => {}
            Some(Cause::Ordered) => {
                outcome.category = Category::Interrupted;
                outcome.resets_at = None;
            }
            Some(Cause::Clock(clock, evidence)) => {
                outcome.category = if *clock == Clock::Task { Category::TaskTimeout } else { Category::Hung };
                outcome.detail.clone_from(evidence);
                outcome.resets_at = None;
            }
        }
        // What it said last is how far it got.
        outcome.text = outcome.text.take().or_else(|| self.last_words.take());
        outcome.exit = self.exit;
        outcome.duration = self.began.elapsed();
        let survivors = match &mut self.stage {
            Stage::Draining { survivors, .. } => std::mem::take(survivors),
            Stage::Held
            | Stage::Working
            | Stage::Leaving { .. }
            | Stage::Interrupting { .. }
            | Stage::Ending { .. } => Vec::new(),
        };
        if self.malformed > 0 {
            tracing::info!(agent = %self.launch.agent, lines = self.malformed, "lines that could not be understood");
        }
        self.outgoing.signal(Signal::Ended { outcome: Box::new(outcome), survivors });
        self.send_all().await;
    }

    /// Waits until everything is told.
    async fn send_all(&mut self) {
        self.outgoing.flush();
        while let Some(report) = self.outgoing.pop() {
            if self.ends.reports.send(report).await.is_err() {
                return;
            }
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
