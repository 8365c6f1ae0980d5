//! A bot: it starts sessions, decides each report, and acts on it once that is on disk. One that follows adopts.

use std::path::Path;
use std::time::Duration;

use herder::core::ask::Told;
use herder::core::id::{AgentName, WorkId};
use herder::core::input::Signal;
use herder::runner::link::{Link, LinkError};
use herder::runner::prefix;
use herder::runner::wire::{SessionKey, Standing};
use herder::runtime::{Driver, Order, Report};
use tokio::time::{Instant, sleep, sleep_until};

use super::driver::key;
use super::world::{Ending, Party, Record, Sim};
use super::{JOURNAL, agent};
use crate::simulated_fleet::random::Random;

/// Maximum time for the runner to answer at a start.
const RUNNER_WITHIN: Duration = Duration::from_secs(10);

/// Lives until it is killed, leaves, or finds no runner.
pub(super) async fn live(sim: Sim, link: Link, mut dice: Random) {
    let standings = match link.connected(RUNNER_WITHIN).await {
        Ok(standings) => standings,
        Err(LinkError::Away) => return sim.ends(Ending::WithoutRunner),
        Err(LinkError::Refused(refusal)) => {
            return sim.step(Party::Bot, |_| Err(format!("a bot is refused: {refusal}"))).await;
        }
    };
    // The records are read meanwhile.
    sleep(dice.around(Duration::from_millis(60))).await;
    let agents = sim.world().plan.agents;
    let mut adopted = adopt(&sim, &link, standings).await;
    for number in 0..agents {
        let agent = agent(number);
        let there = adopted.iter().position(|(of, _)| of.agent == agent).map(|at| adopted.remove(at));
        let clerk =
            Clerk { sim: sim.clone(), link: link.clone(), agent, dice: Random::new(dice.next(), &[7]) };
        tokio::spawn(clerk.works(there));
    }
    let stays = dice.around(Duration::from_secs(40));
    sleep(stays).await;
    if sim.world().calm {
        return;
    }
    link.close().await;
    sim.ends(Ending::Left);
}

/// Adopts the open sessions, and stops the others, as a supervisor's start does.
async fn adopt(sim: &Sim, link: &Link, standings: Vec<Standing>) -> Vec<(SessionKey, Driver)> {
    let mut adopted = Vec::new();
    sim.world().note(|| format!("a bot finds {standings:?}"));
    for Standing { of, unheard, next } in standings {
        let record = sim.world().disk.get(&of.agent).cloned().unwrap_or_default();
        if record.open && record.session == of.session.0 {
            let driver = link.adopt(of.clone(), record.heard.max(unheard.saturating_sub(1)));
            adopted.push((of, driver));
        } else {
            drop(link.adopt(of, next.saturating_sub(1)));
        }
    }
    let here: Vec<AgentName> = adopted.iter().map(|(of, _)| of.agent.clone()).collect();
    sim.step(Party::Bot, |world| {
        world.tally.adopted += here.len() as u64;
        for (_, record) in world.disk.iter_mut().filter(|(agent, _)| !here.contains(agent)) {
            world.tally.lost += u64::from(std::mem::take(&mut record.open));
        }
        Ok(())
    })
    .await;
    adopted
}

/// The supervisor of an agent.
struct Clerk {
    sim: Sim,
    link: Link,
    agent: AgentName,
    dice: Random,
}

impl Clerk {
    async fn works(mut self, adopted: Option<(SessionKey, Driver)>) {
        if let Some((of, driver)) = adopted {
            self.owed(&of, &driver).await;
            self.attend(of, driver).await;
        }
        loop {
            sleep(self.dice.around(Duration::from_secs(2))).await;
            if self.sim.world().calm {
                return;
            }
            let agent = self.agent.clone();
            let session = self
                .sim
                .step(Party::Bot, |world| {
                    let record = world.disk.entry(agent.clone()).or_default();
                    let (session, waiting) = (record.session + 1, std::mem::take(&mut record.waiting));
                    *record = Record { session, open: true, waiting, ..Record::default() };
                    world.note(|| format!("{agent} #{session} begins"));
                    Ok(session)
                })
                .await;
            let of = key(&self.agent, session);
            let mut launch = super::super::launch(Path::new("/srv"), "");
            launch.agent = self.agent.clone();
            launch.session = of.session;
            launch.marker = format!("{}{}/{session}", prefix(JOURNAL, None), self.agent);
            let driver = self.link.launch(launch);
            // A kill between the launch and the first report.
            self.sim.step(Party::Bot, |_| Ok(())).await;
            self.attend(of, driver).await;
        }
    }

    /// Repeats what the session may lack.
    async fn owed(&mut self, of: &SessionKey, driver: &Driver) {
        let record = self.sim.world().disk.get(&of.agent).cloned().unwrap_or_default();
        if record.spawned && !record.ready {
            self.order(of, driver, Order::Go).await;
        }
        for key in record.answered {
            self.order(of, driver, Order::Answer { key, told: Told::Yes }).await;
        }
        for work in record.waiting {
            self.order(of, driver, Order::Steer { work, text: String::new(), files: Vec::new() }).await;
        }
        if record.stopping {
            self.order(of, driver, Order::Stop).await;
        }
    }

    /// Decides the reports of a session to its end.
    async fn attend(&mut self, of: SessionKey, mut driver: Driver) {
        let mut heard = self.sim.world().disk.get(&of.agent).map_or(0, |record| record.heard);
        let mut whim = Instant::now() + self.dice.around(Duration::from_secs(3));
        loop {
            tokio::select! {
                biased;
                report = driver.reports.recv() => {
                    let Some(report) = report else {
                        let gone = format!("each report is decided once: {} #{} has none", of.agent, of.session);
                        return self.sim.step(Party::Bot, |_| Err(gone)).await;
                    };
                    if report == Report::Beat {
                        continue;
                    }
                    // The disk takes a while, most of the time.
                    let takes = self.dice.below(6);
                    if takes > 2 {
                        sleep(Duration::from_millis(takes)).await;
                    }
                    let over = self.sim.step(Party::Bot, |world| world.decided(&of, &report)).await;
                    heard += 1;
                    self.link.heard(&of, heard);
                    self.acts(&of, &driver, report).await;
                    if over {
                        return;
                    }
                }
                () = sleep_until(whim) => {
                    whim = Instant::now() + self.dice.around(Duration::from_secs(4));
                    self.follows_a_whim(&of, &driver).await;
                }
            }
        }
    }

    async fn acts(&mut self, of: &SessionKey, driver: &Driver, report: Report) {
        match report {
            Report::Signal(Signal::Spawned { .. }) => self.order(of, driver, Order::Go).await,
            Report::Signal(Signal::Asked { key, .. }) => {
                self.order(of, driver, Order::Answer { key, told: Told::Yes }).await;
            }
            // It is tried once more.
            Report::NotTaken { work } => {
                let waits = self.sim.world().disk[&of.agent].waiting.contains(&work);
                if waits {
                    self.order(of, driver, Order::Steer { work, text: String::new(), files: Vec::new() })
                        .await;
                }
            }
            _ => {}
        }
    }

    /// A person writes to the agent, or stops it.
    async fn follows_a_whim(&mut self, of: &SessionKey, driver: &Driver) {
        if self.sim.world().calm {
            return;
        }
        let stops = self.dice.is(1, 6);
        let agent = of.agent.clone();
        let order = self
            .sim
            .step(Party::Bot, |world| {
                let work = WorkId(world.number());
                let record = world.disk.entry(agent).or_default();
                if stops {
                    record.stopping = true;
                    world.tally.stopped += 1;
                    return Ok(Order::Stop);
                }
                record.waiting.insert(work);
                Ok(Order::Steer { work, text: String::new(), files: Vec::new() })
            })
            .await;
        self.order(of, driver, order).await;
    }

    async fn order(&self, of: &SessionKey, driver: &Driver, order: Order) {
        self.sim.step(Party::Bot, |world| world.gives(of, &order)).await;
        // One whose session is over meanwhile reaches nobody.
        let _ = driver.orders.send(order).await;
    }
}
