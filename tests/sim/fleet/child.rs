//! A session's process and its driver: their reports, by a script that is drawn for each, their answers to orders,
//! and their agents' calls of herder's tools. One that hangs answers nothing until it is ended.

use std::time::Duration;

use herder::clock;
use herder::core::ask::AskKey;
use herder::core::detail::Own;
use herder::core::id::{AgentName, SessionId};
use herder::core::input::{Clock, Signal};
use herder::core::outcome::{Category, Outcome, Usage};
use herder::core::time::Timestamp;
use herder::core::turn::{End, Kind, Step, Turn};
use herder::core::usage::Reading;
use herder::core::work::{TaskEnd, TaskReport};
use herder::runner::Starts;
use herder::runtime::{Driver, Launch, Live, Order, Report};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::random::Random;
use super::tools::{Call, Words};
use super::world::{Sim, World};

const MINUTE: Duration = Duration::from_secs(60);

/// The behaviour of the agent in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Works,
    /// The same again and again.
    Spirals,
    /// Asks whether it may do something that is always asked.
    Asks,
}

/// A report by an agent's tools on the state of its task.
#[derive(Debug)]
struct Said {
    /// After which turn.
    after: u64,
    report: TaskReport,
    /// Whether it waits until the report is recorded. If not, its session may end before that.
    waits: bool,
}

impl Said {
    fn draw(dice: &mut Random, calm: bool, turns: u64) -> Self {
        let after = dice.below(turns);
        if calm {
            return Self { after, report: report(TaskEnd::Done, false), waits: true };
        }
        let (end, denied) = match dice.weighted(&[60, 15, 15, 10]) {
            0 => (TaskEnd::Done, false),
            1 => (TaskEnd::Failed, false),
            2 => (TaskEnd::Blocked, false),
            _ => (TaskEnd::Blocked, true),
        };
        Self { after, report: report(end, denied), waits: dice.is(3, 4) }
    }
}

fn report(end: TaskEnd, denied: bool) -> TaskReport {
    TaskReport { end, note: "it says so".to_owned(), denied: denied.then_some(true), opinion: None }
}

/// The course of a session.
#[derive(Debug)]
struct Script {
    /// The reason for which it never becomes ready.
    stillborn: Option<Own>,
    manner: Manner,
    turns: u64,
    /// Its reports, later ones possibly different.
    says: Vec<Said>,
    /// True if it stops answering after its turns.
    hangs: bool,
    ends: Category,
}

impl Script {
    fn draw(dice: &mut Random, calm: bool, work: u64) -> Self {
        if calm {
            let turns = 1 + dice.below(3);
            let says = if dice.is(1, 2) { vec![Said::draw(dice, calm, turns)] } else { Vec::new() };
            return Self {
                stillborn: None,
                manner: Manner::Works,
                turns,
                says,
                hangs: false,
                ends: Category::Success,
            };
        }
        let ends = [
            (Category::Success, 700),
            (Category::Crash, 60),
            (Category::Transient, 50),
            (Category::RateLimit, 20),
            (Category::Permanent, 8),
            (Category::MaxTurns, 15),
            (Category::Budget, 1),
            (Category::ContextOverflow, 15),
            (Category::TaskTimeout, 25),
            (Category::SandboxDenial, 12),
            (Category::Hung, 8),
            (Category::DoNotRestart, 3),
        ];
        let at = dice.weighted(&ends.map(|(_, weight)| weight));
        // Some work is too much for every session, and some has no place to be done.
        let missing = work % 31 == 7 && dice.is(3, 4);
        let stillborn = match dice.below(60) {
            _ if missing => Some(Own::WorkspaceMissing { path: "/srv/gone".to_owned() }),
            0 => Some(Own::NoCommand),
            _ => None,
        };
        let manner = match dice.below(40) {
            0 => Manner::Spirals,
            1 | 2 => Manner::Asks,
            _ => Manner::Works,
        };
        let turns = 1 + dice.below(if manner == Manner::Spirals { 12 } else { 5 });
        // A task that is too large for every session is not reported on.
        let often = if work % 23 == 5 { 0 } else { dice.weighted(&[50, 40, 10]) };
        Self {
            stillborn,
            manner,
            turns,
            says: (0..often).map(|_| Said::draw(dice, calm, turns)).collect(),
            hangs: dice.is(1, 80),
            ends: if work % 23 == 5 { Category::TaskTimeout } else { ends[at].0 },
        }
    }
}

/// Returns the number of the work in a prompt: its last word.
fn number(prompt: &str) -> u64 {
    prompt.split_whitespace().next_back().and_then(|word| word.parse().ok()).unwrap_or_default()
}

struct Child {
    sim: Sim,
    /// The number of the runner that has it; `None` for one of herder's own.
    runner: Option<u64>,
    launch: Launch,
    dice: Random,
    orders: mpsc::Receiver<Order>,
    reports: mpsc::Sender<Report>,
    words: Option<Words>,
    _live: watch::Sender<Live>,
    used: Usage,
    keys: u64,
    beat_at: Instant,
    /// A minute of its work.
    minute: Duration,
}

/// The order that a session waits for.
#[derive(Debug, Clone, Copy)]
enum Owed {
    Go,
    Answer(AskKey),
}

/// The end of a session, with its outcome.
struct Over(Option<Box<Outcome>>);

/// Takes a step of the process in which the driver runs. Returns whether that one lives on.
fn step(sim: &Sim, runner: Option<u64>, done: impl FnOnce(&mut World) -> Result<(), String>) -> bool {
    match runner {
        None => sim.step(done),
        Some(runner) => sim.runner_step(runner, done),
    }
}

/// Returns the way in which the machine of this runner starts sessions.
pub(crate) fn starts(sim: &Sim, runner: u64) -> Starts {
    let sim = sim.clone();
    Box::new(move |launch| begin(&sim, None, Some(runner), launch))
}

/// Starts one, as [`herder::runtime::launch`] would.
pub(crate) fn launch(sim: &Sim, words: &Words, launch: Launch) -> Driver {
    begin(sim, Some(words.clone()), None, launch)
}

fn begin(sim: &Sim, words: Option<Words>, runner: Option<u64>, launch: Launch) -> Driver {
    let (orders, orders_rx) = mpsc::channel(64);
    let (reports, reports_rx) = mpsc::channel(256);
    let (live_tx, live) = watch::channel(Live::default());
    let mut seed = 0;
    let (agent, session) = (launch.agent.clone(), launch.session);
    let lives = step(sim, runner, |world| {
        world.launches += 1;
        seed = world.launches;
        at_most_one_process_per_agent(world.processes.get(&agent).copied(), &agent)?;
        if runner.is_some() {
            world.books.reports.begun((agent.clone(), session))?;
            world.begun_at.insert(agent.clone(), clock::now());
        }
        world.processes.insert(agent.clone(), session);
        world.tally.sessions += 1;
        Ok(())
    });
    let dice = Random::new(sim.world().plan.seed, &[2, seed]);
    let keys = seed << 16;
    let sim = sim.clone();
    let (used, beat_at) = (Usage::default(), Instant::now());
    let faster = sim.world().plan.runner.as_ref().map_or(1, |on| on.faster);
    let minute = MINUTE / faster;
    let child = Child {
        sim,
        runner,
        launch,
        dice,
        orders: orders_rx,
        reports,
        words,
        _live: live_tx,
        used,
        keys,
        beat_at,
        minute,
    };
    tokio::spawn(async move {
        if !lives {
            // It was herder's last step: no one receives the reports of the process.
            std::future::pending::<()>().await;
        }
        child.play().await;
    });
    Driver { orders, reports: reports_rx, live, stay: None }
}

fn at_most_one_process_per_agent(alive: Option<SessionId>, agent: &AgentName) -> Result<(), String> {
    match alive {
        Some(session) => Err(format!("{agent} is started while its session {session} still has a process")),
        None => Ok(()),
    }
}

impl Child {
    async fn play(mut self) {
        let calm = self.sim.world().calm;
        let script = Script::draw(&mut self.dice, calm, number(&self.launch.prompt));
        let outcome = match self.live(&script).await {
            Ok(outcome) => outcome,
            Err(Over(Some(outcome))) => *outcome,
            Err(Over(None)) => return,
        };
        let calm = self.sim.world().calm;
        let stuck = !calm && outcome.category != Category::Success && self.dice.is(1, 100);
        let survivors = if stuck { vec![4_711] } else { Vec::new() };
        // The tree is verified empty before this is said.
        let (agent, session) = (self.launch.agent.clone(), self.launch.session);
        let lives = step(&self.sim, self.runner, |world| {
            if world.processes.get(&agent) != Some(&session) {
                return Ok(());
            }
            if stuck {
                world.tally.survivors += 1;
                world.survivors.insert(agent);
            } else {
                world.process_ended(&agent);
            }
            Ok(())
        });
        if self.runner.is_some() {
            let of = self.of();
            self.sim.world().books.reports.ended(&of, &outcome);
        }
        if lives {
            self.say(Signal::Ended { outcome: Box::new(outcome), survivors }).await;
        }
    }

    async fn live(&mut self, script: &Script) -> Result<Outcome, Over> {
        let startup = self.dice.between(Duration::from_millis(200), Duration::from_secs(5));
        self.pass(startup).await?;
        if let Some(reason) = &script.stillborn {
            return Ok(Outcome::new(Category::Permanent, reason.clone()));
        }
        let pid = 1_000 + u32::try_from(self.dice.below(60_000)).expect("small");
        let started = self.dice.below(1 << 40);
        self.say(Signal::Spawned { pid, started }).await;
        self.wait_for_go().await?;
        self.pass(startup).await?;
        let conversation = self.dice.is(3, 4).then(|| format!("conversation-{pid}"));
        self.say(Signal::Ready { conversation }).await;
        for turn in 0..script.turns {
            let took = self.dice.around(3 * self.minute);
            self.pass(took).await?;
            self.refused()?;
            self.turn(turn, script.manner).await?;
            for said in script.says.iter().filter(|said| said.after == turn) {
                self.tells(said).await?;
            }
        }
        if script.hangs {
            return self.hang().await;
        }
        let took = self.dice.around(2 * self.minute);
        self.pass(took).await?;
        self.refused()?;
        Ok(self.ends(script.ends).await)
    }

    async fn turn(&mut self, number: u64, manner: Manner) -> Result<(), Over> {
        self.used.input_tokens += 500 + self.dice.below(5_000);
        self.used.output_tokens += 50 + self.dice.below(900);
        self.used.cost_usd = self.used.tokens() as f64 / 100_000.0;
        let reading = Reading { usage: self.used, ..Reading::default() };
        self.say(Signal::Usage { reading: Box::new(reading) }).await;
        // Other words each time, and other ones come back.
        let unlike = self.dice.next();
        let (what, digest) = match manner {
            Manner::Spirals => ("make".to_owned(), 7),
            Manner::Works | Manner::Asks => (format!("step {unlike:x}"), unlike),
        };
        let end = End { ok: manner != Manner::Spirals, said: "no such target".to_owned(), digest };
        let step = Step {
            tool: "shell".into(),
            kind: Kind::Command,
            digest: if manner == Manner::Spirals { number } else { unlike },
            what,
            end: Some(end),
            after_ms: 0,
            took_ms: 0,
        };
        if manner == Manner::Spirals || self.dice.is(1, 4) {
            let (session, at) = (self.launch.session, clock::now());
            let words = "Once more.".to_owned();
            let turn = Turn { session, work: None, at, took_ms: 5, words, steps: vec![step], more: 0 };
            self.say(Signal::Observed { turn: Box::new(turn) }).await;
        }
        // Each turn on a runner is numbered, so that none is missing.
        if self.dice.is(1, 3) || self.runner.is_some() {
            let text = format!("Turn {number}.");
            if self.runner.is_some() {
                let of = self.of();
                self.sim.world().books.reports.said(&of, text.clone());
            }
            self.say(Signal::Turn { text, tools: vec!["shell".to_owned()] }).await;
        }
        if manner == Manner::Asks && number == 0 {
            self.asks().await?;
        }
        Ok(())
    }

    /// Calls one of its tools; the driver beats meanwhile.
    async fn tells(&mut self, said: &Said) -> Result<(), Over> {
        let (agent, session, report) = (self.launch.agent.clone(), self.launch.session, said.report.clone());
        let (answered, mut answer) = oneshot::channel();
        let words = self.words.clone().or_else(|| self.sim.world().words.clone());
        let sent = words.is_some_and(|words| words.send(Call { agent, session, report, answered }).is_ok());
        if !sent || !said.waits {
            return Ok(());
        }
        loop {
            let next = Instant::now() + self.launch.clocks.beat;
            tokio::select! {
                biased;
                order = self.orders.recv() => { self.take(order).await?; }
                _ = &mut answer => return Ok(()),
                () = sleep_until(next) => {
                    let _ = self.reports.send(Report::Beat).await;
                }
            }
        }
    }

    async fn asks(&mut self) -> Result<(), Over> {
        self.keys += 1;
        let (key, tool, command) = (AskKey(self.keys), "Bash".to_owned(), "git push".to_owned());
        self.say(Signal::Asked { key, tool, command, redacted: None, shell: true, vague: false }).await;
        loop {
            match self.order(Some(Owed::Answer(key))).await? {
                Order::Answer { key: answered, .. } if answered == key => {
                    self.got();
                    return Ok(());
                }
                _ => {}
            }
        }
    }

    /// Fails if the account refuses requests now.
    fn refused(&mut self) -> Result<(), Over> {
        let now = clock::now();
        match self.sim.world().refusal(&self.launch.spec.account, now) {
            Some((category, resets_at)) => {
                Err(Over(Some(Box::new(Outcome { resets_at, ..self.outcome(category) }))))
            }
            None => Ok(()),
        }
    }

    fn outcome(&self, category: Category) -> Outcome {
        let mut outcome =
            Outcome::new(category, if category == Category::Success { "" } else { "it says so" });
        outcome.usage = self.used;
        if category == Category::Success {
            outcome.text = Some("Done.".to_owned());
        }
        outcome
    }

    async fn ends(&mut self, category: Category) -> Outcome {
        let now = clock::now();
        let mut outcome = self.outcome(category);
        match category {
            Category::TaskTimeout => {
                let evidence = Own::NothingYet { waited: 30 * MINUTE };
                self.say(Signal::ClockRanOut { clock: Clock::Task, evidence }).await;
            }
            Category::Hung => {
                let evidence = Own::NothingYet { waited: 5 * MINUTE };
                self.say(Signal::ClockRanOut { clock: Clock::Silence, evidence }).await;
            }
            Category::RateLimit => outcome.resets_at = self.reset(now),
            _ => {}
        }
        outcome
    }

    fn reset(&mut self, now: Timestamp) -> Option<Timestamp> {
        match self.dice.below(4) {
            0 => None,
            1 => Some(now),
            _ => Some(now.after(self.dice.around(20 * MINUTE))),
        }
    }

    async fn hang(&mut self) -> Result<Outcome, Over> {
        self.sim.world().tally.hangs += 1;
        // It reads no order until the last sender is gone.
        self.orders.close();
        while self.orders.recv().await.is_some() {}
        loop {
            if self.reports.is_closed() || self.gone() {
                return Err(Over(None));
            }
            tokio::time::sleep(self.looks_every(MINUTE)).await;
        }
    }

    /// Returns after how long a driver finds that its process was ended: one that does not has its supervisor gone in
    /// herder itself.
    fn looks_every(&self, otherwise: Duration) -> Duration {
        if self.runner.is_some() { Duration::from_secs(1) } else { otherwise }
    }

    /// Returns whether another party ended its process.
    fn gone(&self) -> bool {
        self.sim.world().processes.get(&self.launch.agent) != Some(&self.launch.session)
    }

    async fn wait_for_go(&mut self) -> Result<(), Over> {
        loop {
            if self.order(Some(Owed::Go)).await? == Order::Go {
                self.got();
                return Ok(());
            }
        }
    }

    /// Lives on for that long, with heartbeats.
    async fn pass(&mut self, time: Duration) -> Result<(), Over> {
        let until = Instant::now() + time;
        loop {
            let next = until.min(self.next_look());
            tokio::select! {
                biased;
                order = self.orders.recv() => { self.take(order).await?; }
                () = sleep_until(next) => {
                    if next == until {
                        return Ok(());
                    }
                    self.look().await?;
                }
            }
        }
    }

    /// Returns the next order that is not for the driver alone; beats meanwhile.
    async fn order(&mut self, owed: Option<Owed>) -> Result<Order, Over> {
        loop {
            let next = self.next_look();
            tokio::select! {
                biased;
                order = self.orders.recv() => return self.take(order).await,
                () = sleep_until(next) => {
                    self.look().await?;
                    self.waits_for(owed);
                }
            }
        }
    }

    /// Returns when it looks at its process the next time.
    fn next_look(&self) -> Instant {
        Instant::now() + self.looks_every(self.launch.clocks.beat)
    }

    /// Looks at its process, and beats when it is time for that.
    async fn look(&mut self) -> Result<(), Over> {
        if self.runner.is_some() && self.gone() {
            return Err(Over(Some(Box::new(self.outcome(Category::Crash)))));
        }
        if self.beat_at.elapsed() + self.looks_every(self.launch.clocks.beat) > self.launch.clocks.beat {
            self.beat_at = Instant::now();
            let _ = self.reports.send(Report::Beat).await;
        }
        Ok(())
    }

    /// Tells the books what it waits for.
    fn waits_for(&self, owed: Option<Owed>) {
        let (Some(_), Some(owed), now) = (self.runner, owed, clock::now()) else { return };
        let of = self.of();
        let answer = match owed {
            Owed::Go => None,
            Owed::Answer(key) => Some(key),
        };
        self.sim.look(|world| {
            let books = &mut world.books;
            let agent = books.agents.get(&of.0).filter(|_| books.is_supervised(&of.0));
            books.reports.what_an_adopted_session_is_owed_it_gets(&of, answer, agent, now)
        });
    }

    fn got(&self) {
        if self.runner.is_some() {
            self.sim.world().books.reports.got(&self.of());
        }
    }

    fn of(&self) -> (AgentName, SessionId) {
        (self.launch.agent.clone(), self.launch.session)
    }

    async fn take(&mut self, order: Option<Order>) -> Result<Order, Over> {
        let (of, runs) = (self.of(), self.runner.is_some());
        let lives = step(&self.sim, self.runner, |world| match &order {
            Some(Order::Go) if runs => {
                world.books.reports.what_an_adopted_session_is_owed_it_gets_once(&of, None)
            }
            Some(Order::Steer { work, .. }) if runs => {
                world.books.reports.what_an_adopted_session_is_owed_it_gets_once(&of, Some(*work))
            }
            _ => Ok(()),
        });
        if !lives {
            std::future::pending::<()>().await;
        }
        match order {
            // An order to stop and the loss of the supervisor both run the stop ladder.
            Some(Order::Stop) | None => {
                let grace = self.dice.around(Duration::from_secs(2));
                tokio::time::sleep(grace).await;
                // It may have been done just before.
                let category = if self.dice.is(1, 20) { Category::Success } else { Category::Interrupted };
                Err(Over(Some(Box::new(self.outcome(category)))))
            }
            Some(Order::Steer { work, .. }) => {
                if self.dice.is(4, 5) {
                    self.say(Signal::Steered { work }).await;
                } else {
                    if runs {
                        self.sim.world().books.reports.refused(&of, work);
                    }
                    let _ = self.reports.send(Report::NotTaken { work }).await;
                }
                Ok(Order::Steer { work, text: String::new(), files: Vec::new() })
            }
            Some(order) => Ok(order),
        }
    }

    async fn say(&mut self, signal: Signal) {
        // A supervisor that is gone receives nothing.
        let _ = self.reports.send(Report::Signal(signal)).await;
    }
}
