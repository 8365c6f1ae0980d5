//! The driver of a session and its process, by a script that is drawn: it waits for each order that it is owed.

use std::time::Duration;

use herder::core::ask::AskKey;
use herder::core::detail::Own;
use herder::core::id::SessionId;
use herder::core::input::Signal;
use herder::core::outcome::{Category, Outcome};
use herder::runner::Starts;
use herder::runner::wire::SessionKey;
use herder::runtime::{Driver, Launch, Live, Order, Report};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::world::{Party, Sim};
use crate::simulated_fleet::random::Random;

/// Most of a session's reports at once: more than a runner keeps unheard.
const BURST: u64 = 400;

struct Child {
    sim: Sim,
    of: SessionKey,
    dice: Random,
    orders: mpsc::Receiver<Order>,
    reports: mpsc::Sender<Report>,
    live: watch::Sender<Live>,
    words: u64,
}

/// The session is to end.
struct Stopped;

/// Returns the way in which the machine of this runner starts sessions.
pub(super) fn starts(sim: &Sim, runner: u64) -> Starts {
    let sim = sim.clone();
    Box::new(move |launch| start(&sim, runner, &launch))
}

fn start(sim: &Sim, runner: u64, launch: &Launch) -> Driver {
    let (orders, orders_inbox) = mpsc::channel(64);
    let (reports_outbox, reports) = mpsc::channel(256);
    let (live_sender, live) = watch::channel(Live::default());
    let of = SessionKey { agent: launch.agent.clone(), session: launch.session };
    let sim = sim.clone();
    let seed = sim.world().plan.seed;
    tokio::spawn(async move {
        let number = sim.step(Party::Runner, |world| world.launched(&of)).await;
        let dice = Random::new(seed, &[12, runner, number]);
        let (orders, reports, live) = (orders_inbox, reports_outbox, live_sender);
        Child { sim, of, dice, orders, reports, live, words: 0 }.play().await;
    });
    Driver { orders, reports, live, stay: None }
}

impl Child {
    async fn play(mut self) {
        let category = match self.works().await {
            Ok(()) => Category::Success,
            Err(Stopped) => Category::Interrupted,
        };
        let outcome = Box::new(Outcome::new(category, Own::DriverGone));
        self.say(Report::Signal(Signal::Ended { outcome, survivors: Vec::new() })).await;
    }

    async fn works(&mut self) -> Result<(), Stopped> {
        self.pass(300).await?;
        let (pid, started) = (self.sim.world().number(), self.of.session.0);
        let pid = u32::try_from(pid).expect("few");
        self.say(Report::Signal(Signal::Spawned { pid, started })).await;
        while self.order().await? != Order::Go {}
        self.say(Report::Signal(Signal::Ready { conversation: None })).await;
        for _ in 0..1 + self.dice.below(6) {
            self.pass(1_500).await?;
            match self.dice.below(24) {
                0..=10 => self.talk(1).await,
                11 => {
                    let burst = self.dice.below(BURST);
                    self.talk(burst).await;
                }
                12 => {
                    let long = usize::try_from(self.dice.below(300_000)).expect("small");
                    self.say(Report::Words("long ".repeat(long / 5))).await;
                }
                13..=15 => {
                    self.live.send_modify(|live| live.turns += 1);
                    let _ = self.reports.send(Report::Beat).await;
                }
                _ => self.ask().await?,
            }
        }
        self.pass(1_500).await
    }

    async fn talk(&mut self, often: u64) {
        for _ in 0..often {
            self.words += 1;
            self.say(Report::Words(format!("{} says {}", self.of.session, self.words))).await;
        }
    }

    async fn ask(&mut self) -> Result<(), Stopped> {
        let key = AskKey(self.sim.world().number());
        let (tool, command) = ("Bash".to_owned(), "git push".to_owned());
        let asked = Signal::Asked { key, tool, command, redacted: None, shell: true, vague: false };
        self.say(Report::Signal(asked)).await;
        loop {
            if matches!(self.order().await?, Order::Answer { key: answered, .. } if answered == key) {
                return Ok(());
            }
        }
    }

    /// Lives on for about so many milliseconds.
    async fn pass(&mut self, about: u64) -> Result<(), Stopped> {
        let until = Instant::now() + self.dice.around(Duration::from_millis(about));
        loop {
            tokio::select! {
                biased;
                order = self.orders.recv() => { self.take(order).await?; }
                () = sleep_until(until) => return Ok(()),
            }
        }
    }

    async fn order(&mut self) -> Result<Order, Stopped> {
        let order = self.orders.recv().await;
        self.take(order).await
    }

    async fn take(&mut self, order: Option<Order>) -> Result<Order, Stopped> {
        let Some(order) = order else { return Err(Stopped) };
        self.sim.step(Party::Runner, |world| world.came(&self.of, &order)).await;
        match &order {
            Order::Stop => return Err(Stopped),
            Order::Steer { work, .. } => {
                let work = *work;
                let taken = self.dice.is(3, 4);
                let says =
                    if taken { Report::Signal(Signal::Steered { work }) } else { Report::NotTaken { work } };
                self.say(says).await;
            }
            Order::Go | Order::Insist { .. } | Order::Answer { .. } | Order::Hold { .. } => {}
        }
        Ok(order)
    }

    async fn say(&mut self, report: Report) {
        self.sim.step(Party::Runner, |world| world.reported(&self.of, &report)).await;
        // A runner that is over hears nothing.
        let _ = self.reports.send(report).await;
    }
}

/// Returns a session of an agent.
pub(super) fn key(agent: &herder::core::id::AgentName, session: u64) -> SessionKey {
    SessionKey { agent: agent.clone(), session: SessionId(session) }
}
