//! The handle to the whole fleet, for commands and networks.

use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tracing::{error, warn};

use super::root::ToRoot;
use super::shared::Shared;
use super::task::{Note, Question, Request};
use super::{Asked, View, owing, posting};
use crate::access::Ties;
use crate::chat::LinkReport;
use crate::clock;
use crate::core::agent::Phase;
use crate::core::ask::{Inquiry, Settled};
use crate::core::card::Card;
use crate::core::detail::Detail;
use crate::core::id::{AgentName, AskId, NetworkName, SessionId};
use crate::core::input::Control;
use crate::core::notice::{Notice, Refusal};
use crate::core::spec::AgentSpec;
use crate::core::work::WorkKind;
use crate::journal::{Batch, CommitError, Entry, FleetEvent, Journal, Memo, Stream, Tie, Write};
use crate::outbox::{Post, Target};

/// What an evaluation, and the record of the end, may take when herder goes down.
const DRAIN_SLACK: Duration = Duration::from_millis(500);

/// The longest that an answer waits for views, which follow what is stored within a millisecond unless the machine is busy.
const CATCH_UP: Duration = Duration::from_millis(500);

/// A handle to the whole fleet. Cheap to clone.
#[derive(Clone)]
pub struct Fleet {
    pub(super) shared: Arc<Shared>,
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet").finish_non_exhaustive()
    }
}

impl Fleet {
    /// All agents that are not removed, by name.
    #[must_use]
    pub fn agents(&self) -> Vec<View> {
        let mut views = self.shared.views();
        views.retain(|view| view.agent.phase != Phase::Removed);
        views
    }

    /// Whether the agent's supervisor is given up: nothing reaches the agent before herder is started again.
    #[must_use]
    pub fn is_deserted(&self, agent: &AgentName) -> bool {
        self.shared.is_deserted(agent)
    }

    /// Agents whose entries cannot be read: they stand still, and nothing is known of them but their names.
    #[must_use]
    pub fn unreadable(&self) -> Vec<AgentName> {
        self.shared.unseen()
    }

    /// One agent.
    #[must_use]
    pub fn view(&self, agent: &AgentName) -> Option<View> {
        self.shared.handle(agent).map(|handle| self.shared.seen_now(&handle.view))
    }

    /// How the networks stand.
    #[must_use]
    pub fn links(&self) -> Vec<LinkReport> {
        self.shared.links.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The journal, for histories.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.shared.journal
    }

    /// Rings when some agent's view has changed, or how a network stands. Everybody who follows the fleet has one of their own.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.shared.changed.subscribe()
    }

    /// Alerts every network, durably.
    pub async fn alert(&self, notice: Notice) {
        let posts = self.shared.posting.alert(notice, clock::now(), None);
        self.owe(posts).await;
    }

    /// Says something in the control channel of every network, durably.
    pub async fn announce(&self, notice: Notice) {
        let posts = self.shared.posting.announced(notice, clock::now());
        self.owe(posts).await;
    }

    async fn owe(&self, posts: Vec<Post>) {
        let batch = Batch { at: clock::now(), posts, ..Batch::default() };
        if let Err(reason) = self.shared.journal.commit(batch).await {
            error!(%reason, "an alert could not be recorded");
        }
    }

    /// Alerts every network but one, durably.
    pub async fn alert_elsewhere(&self, notice: Notice, but: &NetworkName) {
        let posts = self.shared.posting.alert(notice, clock::now(), Some(but));
        self.owe(posts).await;
    }

    /// A network's task says how it stands.
    pub fn report_link(&self, report: LinkReport) {
        self.shared.tell_root(ToRoot::Link(report));
    }

    /// A webhook has refused an event so often that it is given up.
    pub fn report_dropped(&self, webhook: NetworkName, attempts: u32, reason: Detail) {
        self.shared.tell_root(ToRoot::Dropped { webhook, attempts, reason });
    }

    /// Resolves when `agent` satisfies `condition`, with what it looked like then.
    ///
    /// # Errors
    /// `None` if there is no such agent, or it went away first.
    pub async fn wait_for(&self, agent: &AgentName, condition: impl FnMut(&View) -> bool) -> Option<View> {
        let mut view = self.shared.handle(agent)?.view;
        let seen = view.wait_for(condition).await.ok()?.clone();
        Some(seen)
    }

    /// The same, where the condition is also about what the whole fleet does to the agent: whether its account is closed.
    ///
    /// # Errors
    /// `None` if there is no such agent, or it went away first.
    pub async fn wait_among_all(
        &self,
        agent: &AgentName,
        mut condition: impl FnMut(&View) -> bool,
    ) -> Option<View> {
        let (mut view, mut changes) = (self.shared.handle(agent)?.view, self.changes());
        loop {
            changes.borrow_and_update();
            view.borrow_and_update();
            let seen = self.shared.seen_now(&view);
            if condition(&seen) {
                return Some(seen);
            }
            tokio::select! {
                changed = view.changed() => changed.ok()?,
                changed = changes.changed() => changed.ok()?,
            }
        }
    }

    /// Asks one agent for something; resolves when it was decided and is on disk (`Stop`, `Remove`, `Pause { now }` and
    /// `Abort` do not wait for the process to be gone).
    ///
    /// With `asked.answer` the answer is already in the outbox, in the same transaction as the decision; a refusal never is.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn control(
        &self,
        agent: &AgentName,
        control: Control,
        asked: Asked,
    ) -> Result<Notice, Refusal> {
        let deserted = || Refusal::Deserted { agent: agent.clone() };
        let Some(handle) = self.shared.handle(agent) else {
            return Err(match self.is_deserted(agent) {
                true => deserted(),
                false => {
                    Refusal::NoSuchAgent { agent: agent.to_string(), nearest: self.nearest(agent.as_str()) }
                }
            });
        };
        let (ticket, answer) = oneshot::channel();
        let fault = || match (self.is_deserted(agent), self.is_draining()) {
            (true, _) => deserted(),
            (false, true) => Refusal::Closing,
            (false, false) => Refusal::Fault { agent: agent.clone() },
        };
        let request = Request { control, asked, audited: true, noted: None, ticket };
        handle.requests.send(Box::new(request)).await.map_err(|_| fault())?;
        answer.await.map_err(|_| fault())?
    }

    /// Gives an agent work: [`Fleet::control`] with a fresh id.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn give(
        &self,
        agent: &AgentName,
        kind: WorkKind,
        text: String,
        asked: Asked,
    ) -> Result<Notice, Refusal> {
        self.control(agent, Control::Give { id: self.fresh(), kind, text, card: None }, asked).await
    }

    /// Gives an agent a task that something is written on.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn give_task(
        &self,
        agent: &AgentName,
        text: String,
        card: Option<Box<Card>>,
        asked: Asked,
    ) -> Result<Notice, Refusal> {
        let (id, kind) = (self.fresh(), WorkKind::Task);
        self.control(agent, Control::Give { id, kind, text, card }, asked).await
    }

    /// A running session's agent asks people something; resolves with the question's number when it is on disk. What became
    /// of it is in the agent's view ([`Fleet::answer_to`]). The same question of the same work is one question: an answer
    /// that came while nobody waited is there at once.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn question(
        &self,
        agent: &AgentName,
        session: SessionId,
        inquiry: Inquiry,
    ) -> Result<AskId, Refusal> {
        let fault = || Refusal::Fault { agent: agent.clone() };
        let handle = self
            .shared
            .handle(agent)
            .ok_or_else(|| Refusal::NoSuchAgent { agent: agent.to_string(), nearest: None })?;
        let (ticket, asked) = oneshot::channel();
        handle
            .notes
            .send(Note::Question(Box::new(Question { session, inquiry, ticket })))
            .await
            .map_err(|_| fault())?;
        asked.await.map_err(|_| fault())?
    }

    /// How a question ended, as soon as it has; `None` if it is open still after `patience`, or not known.
    pub async fn answer_to(&self, agent: &AgentName, ask: AskId, patience: Duration) -> Option<Settled> {
        let over = self.wait_for(agent, |view| view.agent.open_ask(ask).is_none());
        let view = tokio::time::timeout(patience, over).await.ok()??;
        view.agent.settled_ask(ask).cloned()
    }

    /// The agent that asked a question which is open, or over and still known.
    #[must_use]
    pub fn asked_by(&self, ask: AskId) -> Option<View> {
        let known = |view: &View| view.agent.open_ask(ask).is_some() || view.agent.settled_ask(ask).is_some();
        self.agents().into_iter().find(known)
    }

    /// Adds an agent.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn add(&self, spec: AgentSpec, asked: Asked) -> Result<Notice, Refusal> {
        let (ticket, answer) = oneshot::channel();
        let fault = Refusal::Fault { agent: spec.name.clone() };
        self.shared.tell_root(ToRoot::Add { spec: Box::new(spec), asked, ticket });
        answer.await.unwrap_or(Err(fault))
    }

    /// Who is who on Discord and elsewhere.
    #[must_use]
    pub fn ties(&self) -> &Ties {
        &self.shared.ties
    }

    /// Records that a person is a Discord user and the owner of an account; resolves when it is on disk.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub async fn link(&self, tie: Tie, name: String, asked: Asked) -> Result<Notice, Refusal> {
        let Tie { user, network, account } = tie.clone();
        let reply = Notice::Linked { name: name.clone(), user, account, network };
        let by = asked.audit.by.clone();
        self.tie(vec![FleetEvent::Linked { tie, name, by }], reply, asked).await
    }

    /// Undoes it, for all of these.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub async fn unlink(&self, ties: Vec<Tie>, asked: Asked) -> Result<Notice, Refusal> {
        let reply = Notice::Unlinked { count: u32::try_from(ties.len()).unwrap_or(u32::MAX) };
        let undone = |tie| FleetEvent::Unlinked { tie, by: asked.audit.by.clone() };
        self.tie(ties.into_iter().map(undone).collect(), reply, asked.clone()).await
    }

    async fn tie(&self, events: Vec<FleetEvent>, reply: Notice, asked: Asked) -> Result<Notice, Refusal> {
        let (ticket, done) = oneshot::channel();
        self.shared.tell_root(ToRoot::Tie { events, reply: Box::new(reply), asked, ticket });
        done.await.map_err(|_| Refusal::NotRecorded { said: CommitError::Closed.to_string() })
    }

    /// Removes an agent: its session is stopped, its history kept.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn remove(&self, agent: &AgentName, asked: Asked) -> Result<Notice, Refusal> {
        self.control(agent, Control::Remove, asked).await
    }

    /// Owes the answer to a command that was recorded before and took its time, and what the other networks are shown of it.
    ///
    /// # Errors
    /// A refusal if the journal cannot be written.
    pub async fn owe_answer(&self, asked: &Asked, to: &Target, reply: &Notice) -> Result<(), Refusal> {
        let (posts, mut memos) = self.answer_posts(asked, to, reply);
        if !(posts.is_empty() && memos.is_empty()) {
            let noted =
                asked.is_noted_with_its_answer().then(|| asked.heard(asked.audit.agent.clone(), None));
            memos.extend(noted.flatten());
            let batch = Batch { at: clock::now(), posts, memos, ..Batch::default() };
            self.shared.journal.commit(batch).await.map_err(storage_refusal)?;
        }
        Ok(())
    }

    /// The posts of an answer, and what is noted of one that is not posted.
    pub(super) fn answer_posts(&self, asked: &Asked, to: &Target, reply: &Notice) -> (Vec<Post>, Vec<Memo>) {
        let (said, now) = (posting::summary(asked), clock::now());
        let mut posts = self.shared.posting.mirrored(asked, said, to, Some(reply), now);
        let memo = owing::answered(asked, reply, &mut posts, now);
        (posts, memo.into_iter().collect())
    }

    /// Records an accepted command; resolves when it is on disk.
    ///
    /// # Errors
    /// A refusal if the journal cannot be written.
    pub async fn record(&self, asked: &Asked) -> Result<(), Refusal> {
        self.shared.journal.commit(record(asked)).await.map(drop).map_err(storage_refusal)
    }

    /// Records an accepted command that only looks: on disk with the next commit, within 50 ms.
    ///
    /// # Errors
    /// A refusal if the journal cannot be written.
    pub async fn record_soon(&self, asked: &Asked) -> Result<(), Refusal> {
        self.shared.journal.commit_soon(record(asked)).await.map_err(storage_refusal)
    }

    /// Waits until what is stored of the agents is also seen of them: a post may be read before its agent's view has changed.
    /// No longer than [`CATCH_UP`]; then the views are what they are.
    pub async fn catch_up(&self) {
        let seen = tokio::time::timeout(CATCH_UP, self.shared.journal.all_seen()).await;
        if seen.is_err() {
            tracing::debug!("an agent's view is late");
        }
    }

    /// Whether the root supervisor answers within `patience`.
    pub async fn root_answers(&self, patience: Duration) -> bool {
        let (ticket, answer) = oneshot::channel();
        self.shared.tell_root(ToRoot::Ping { ticket });
        matches!(tokio::time::timeout(patience, answer).await, Ok(Ok(())))
    }

    /// The agent whose name is nearest to `text`, if one is near enough to be meant.
    #[must_use]
    pub fn nearest(&self, text: &str) -> Option<AgentName> {
        /// Below it two names have little in common (Jaro-Winkler, 0 to 1).
        const NEAR: f64 = 0.75;
        let score = |name: &AgentName| strsim::jaro_winkler(name.as_str(), &text.to_ascii_lowercase());
        self.agents()
            .into_iter()
            .map(|view| (score(&view.name), view.name))
            .filter(|(score, _)| *score >= NEAR)
            .max_by(|(a, _), (b, _)| a.total_cmp(b))
            .map(|(_, name)| name)
    }

    /// Notes that herder went down on purpose. The root, which writes this stream otherwise, has ended by now.
    async fn record_end(&self) {
        let entries = vec![Entry::Fleet(FleetEvent::Stopped)];
        let writes = vec![Write { stream: Stream::Fleet, expected_rev: None, entries }];
        if let Err(reason) =
            self.shared.journal.commit(Batch { at: clock::now(), writes, ..Batch::default() }).await
        {
            warn!(%reason, "the end could not be recorded");
        }
    }

    /// Ends every session with the stop ladder and every supervisor; of the sessions nothing is recorded, so the next start
    /// finds them as a kill would have left them and takes them up again.
    ///
    /// Answers the number of processes that are left, after `patience` for the supervisors and half a second for each of
    /// what follows at most.
    pub async fn drain(&self, patience: Duration) -> usize {
        self.shared.draining.cancel();
        for (agent, _) in self.shared.all_handles() {
            self.shared.note(&agent, Note::Drain);
        }
        self.shared.tasks.close();
        if tokio::time::timeout(patience, self.shared.tasks.wait()).await.is_err() {
            warn!("some supervisors did not end in time");
        }
        if let Some(evaluator) = &self.shared.evaluator
            && tokio::time::timeout(DRAIN_SLACK, evaluator.stop()).await.is_err()
        {
            warn!("an evaluation did not end in time");
        }
        self.shared.ended.cancel();
        self.shared.services.close();
        // A disk that hangs keeps whoever waits for a commit.
        let last = async {
            self.shared.services.wait().await;
            self.record_end().await;
        };
        if tokio::time::timeout(DRAIN_SLACK, last).await.is_err() {
            warn!("the end could not be recorded in time");
        }
        self.shared.trees.count_marked(&format!("{}/", self.shared.journal.id())).await
    }
}

/// The record of an accepted command, and what is remembered of its line.
fn record(asked: &Asked) -> Batch {
    let entries = vec![Entry::Audit(asked.audit.clone())];
    let writes = vec![Write { stream: Stream::Audit, expected_rev: None, entries }];
    let later = asked.is_noted_with_its_answer();
    let memos = if later { None } else { asked.heard(asked.audit.agent.clone(), None) };
    Batch { at: clock::now(), writes, memos: memos.into_iter().collect(), ..Batch::default() }
}

pub(super) fn storage_refusal(reason: CommitError) -> Refusal {
    error!(%reason, "a command could not be recorded");
    Refusal::NotRecorded { said: reason.to_string() }
}
