//! `stop-all`: on disk before anybody is told that it is done, and done to its end by whichever herder is there.
//!
//! ```text
//!  asked ─► record and order, one transaction ─► every agent decides its own stop ─► noted ─► sessions gone, processes
//!           counted ─► answer owed and order taken back, one transaction
//! ```
//!
//! A herder that is killed on the way finds the order at its next start. Unless it is noted that every agent has decided,
//! each of them decides its stop ahead of anything else, so that none takes up what it was at; whoever was resumed after
//! that is left alone. Then processes are counted and the answer is given as if nothing had happened.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tracing::{error, info, warn};

use super::fleet::storage_refusal;
use super::task::Request;
use super::{Asked, Fleet};
use crate::clock;
use crate::core::agent::Phase;
use crate::core::id::AgentName;
use crate::core::input::Control;
use crate::core::notice::{Notice, Refusal};
use crate::journal::{Batch, Entry, Journal, Memo, ReadError, Stream, Write};
use crate::outbox::Target;

/// Orders that are not carried out yet, under this key and a number that nobody else draws.
const PREFIX: &str = "stop-all/";

/// How long processes that are being ended may be left before they are counted, and how often that is looked at.
const LEAVING: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(100);

/// Added to twice the grace before the answer says what is left.
const SLACK: Duration = Duration::from_secs(15);

/// A `stop-all` that is on disk and being carried out.
#[derive(Debug)]
pub struct StoppingAll {
    /// How many agents there are.
    pub agents: usize,
    done: oneshot::Receiver<Result<Notice, Refusal>>,
}

impl StoppingAll {
    /// Waits until every process tree was verified, and gives the number of processes left.
    ///
    /// # Errors
    /// A refusal if the answer cannot be recorded, or herder goes down first: then the next start gives it.
    pub async fn done(self) -> Result<Notice, Refusal> {
        self.done.await.unwrap_or(Err(Refusal::GoingDown))
    }
}

/// As it is on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Order {
    asked: Asked,
    /// How many agents there were.
    agents: u32,
    /// Every agent has its own stop on record.
    decided: bool,
}

/// An order that an earlier herder did not carry out to its end.
#[derive(Debug)]
pub(super) struct Unfinished {
    key: String,
    order: Order,
}

impl Unfinished {
    /// What an agent is asked ahead of everything else, if its stop may not be on record.
    pub(super) fn request(&self) -> Option<Request> {
        (!self.order.decided).then(|| stop(&self.order.asked))
    }
}

/// The orders that are not carried out yet. Blocks.
pub(super) fn unfinished(journal: &Journal) -> Result<Vec<Unfinished>, ReadError> {
    let mut all = Vec::new();
    for (key, value) in journal.memos(PREFIX)? {
        match serde_json::from_str(&value) {
            Ok(order) => all.push(Unfinished { key, order }),
            Err(reason) => error!(key, %reason, "an order to stop all agents cannot be read"),
        }
    }
    Ok(all)
}

/// One agent's part of it. The record is one for all agents.
fn stop(asked: &Asked) -> Request {
    let asked = Asked { audit: asked.audit.clone(), answer: None, message: None };
    // Nobody waits for this one: what counts is that it is decided before what follows it in the same mailbox.
    let (ticket, _) = oneshot::channel();
    Request { control: Control::Stop, asked, audited: false, ticket }
}

fn memo(key: &str, order: Option<&Order>) -> Result<Memo, Refusal> {
    let value = order.map(serde_json::to_string).transpose();
    let value = value.map_err(|reason| Refusal::NotRecorded { said: reason.to_string() })?;
    Ok(Memo { key: key.to_owned(), value })
}

impl Fleet {
    /// Stops every agent now. When this resolves, that is on disk and will be done whatever becomes of this herder; the
    /// answer is owed when every process tree was verified.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn stop_all(&self, asked: Asked) -> Result<StoppingAll, Refusal> {
        let agents: Vec<AgentName> = self.agents().into_iter().map(|view| view.name).collect();
        let count = agents.len();
        let order = Order { agents: u32::try_from(count).unwrap_or(u32::MAX), asked, decided: false };
        let key = format!("{PREFIX}{:016x}", self.shared.random());
        let asked = &order.asked;
        let entries = vec![Entry::Audit(asked.audit.clone())];
        let writes = vec![Write { stream: Stream::Audit, expected_rev: None, entries }];
        let heard = asked.heard(asked.audit.agent.clone(), None);
        let memos = heard.into_iter().chain([memo(&key, Some(&order))?]).collect();
        let batch = Batch { at: clock::now(), writes, memos, ..Batch::default() };
        self.shared.journal.commit(batch).await.map_err(storage_refusal)?;
        Ok(StoppingAll { agents: count, done: self.carry_out(Unfinished { key, order }, agents) })
    }

    /// Goes on with what an earlier herder was asked: its answer is posted, because nobody waits for it otherwise any more.
    pub(super) fn finish(&self, mut unfinished: Unfinished, agents: Vec<AgentName>) {
        let by = &unfinished.order.asked.audit.by.name;
        info!(by, "all agents were to be stopped when herder ended; that is brought to its end");
        if let Some(answer) = &mut unfinished.order.asked.answer {
            answer.posted = true;
        }
        drop(self.carry_out(unfinished, agents));
    }

    /// Carries an order out, whether anybody waits for that or not.
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
                error!(?refusal, "stop-all was not carried out to its end; the next start goes on with it");
            }
            // Whoever asked may be gone.
            let _ = ticket.send(stopped);
        };
        self.shared.services.spawn(async move { ended.run_until_cancelled(Box::pin(carrying_out)).await });
        done
    }

    async fn stop(&self, unfinished: Unfinished, agents: &[AgentName]) -> Result<Notice, Refusal> {
        let Unfinished { key, mut order } = unfinished;
        if !order.decided {
            let asked = &order.asked;
            let stops = agents.iter().map(|agent| async move {
                let (ticket, decided) = oneshot::channel();
                let request = Box::new(Request { ticket, ..stop(asked) });
                let Some(handle) = self.shared.handle(agent) else { return };
                // One that is gone meanwhile has nothing to stop.
                if handle.requests.send(request).await.is_ok() {
                    drop(decided.await);
                }
            });
            futures_util::future::join_all(stops).await;
            order.decided = true;
            let noted = vec![memo(&key, Some(&order))?];
            self.shared.journal.remember(noted).await.map_err(storage_refusal)?;
        }
        let patience = self.shared.policy().stop_grace * 2 + SLACK;
        let gone = agents.iter().map(|agent| self.wait_for(agent, |view| view.agent.session().is_none()));
        if tokio::time::timeout(patience, futures_util::future::join_all(gone)).await.is_err() {
            warn!("stop-all: some sessions did not end in time");
        }
        let left = self.processes_left().await;
        let processes = u32::try_from(left).unwrap_or(u32::MAX);
        let reply = Notice::StoppedAll { agents: order.agents, processes };
        let posts = self.answer_posts(&order.asked, &Target::Control, &reply);
        let batch = Batch { at: clock::now(), posts, memos: vec![memo(&key, None)?], ..Batch::default() };
        self.shared.journal.commit(batch).await.map_err(storage_refusal)?;
        Ok(reply)
    }

    /// Processes that are left once those that are on their way out have had their time: evaluations of the agents that were
    /// stopped are ended, and nobody says when their last process is gone. What is there even then is killed from here: a driver
    /// that hangs does not do it. Agents that a person has let on since are left alone and not counted.
    async fn processes_left(&self) -> usize {
        let mut left = self.not_at_work_again().await.0;
        for _ in 0..LEAVING.as_millis() / LOOK.as_millis() {
            if left == 0 {
                return 0;
            }
            tokio::time::sleep(LOOK).await;
            left = self.not_at_work_again().await.0;
        }
        let (left, again) = self.not_at_work_again().await;
        if left == 0 || again {
            return left;
        }
        self.shared.trees.end_marked(&format!("{}/", self.shared.journal.id()), Duration::ZERO).await.len()
    }

    /// How many processes there are that are not of an agent which is at work again, and whether there is such an agent.
    async fn not_at_work_again(&self) -> (usize, bool) {
        let (id, trees) = (self.shared.journal.id(), &self.shared.trees);
        let mut left = trees.count_marked(&format!("{id}/")).await;
        let mut again = false;
        for view in self.agents() {
            if matches!(view.agent.phase, Phase::Starting { .. } | Phase::Running { .. }) {
                again = true;
                left = left.saturating_sub(trees.count_marked(&format!("{id}/{}/", view.name)).await);
            }
        }
        (left, again)
    }
}
