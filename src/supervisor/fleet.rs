//! The handle to the whole fleet, for commands and networks.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tracing::{error, warn};

use super::root::ToRoot;
use super::shared::Shared;
use super::task::{Note, Question, Request};
use super::{Asked, View, owing, posting};
use crate::access::Ties;
use crate::clock;
use crate::core::agent::Phase;
use crate::core::ask::{Inquiry, Settled};
use crate::core::card::Card;
use crate::core::checkout::{Held, Plan};
use crate::core::detail::Detail;
use crate::core::file::Sha256;
use crate::core::id::{AgentName, AskId, NetworkName, SessionId, WorkId};
use crate::core::input::Control;
use crate::core::link::{DISCORD_NETWORK, LinkReport};
use crate::core::notice::{Notice, Refusal};
use crate::core::post::{Post, Target};
use crate::core::spec::AgentSpec;
use crate::core::tie::Tie;
use crate::core::time::Timestamp;
use crate::core::work::WorkKind;
use crate::files::{self, FileStore};
use crate::journal::{Batch, CommitError, Entry, FleetEvent, Journal, Memo, Stream, Write};
use crate::runtime::git::diff::{Diff, Selection};

/// Number of the next look at a clone: one that is late ends its own commands, and those of no other one.
static LOOKS: AtomicU64 = AtomicU64::new(0);

/// Maximum time of each of the last steps of a shutdown: the end of an evaluation, and the record of the shutdown.
const DRAIN_SLACK: Duration = Duration::from_millis(500);

/// Maximum time that an answer waits for the agents' views to show what is stored, usually within a millisecond.
const CATCH_UP: Duration = Duration::from_millis(500);

/// A handle to the whole fleet. Cheap to clone.
#[derive(Clone)]
pub struct Fleet {
    pub(super) shared: Arc<Shared>,
    /// Number of sessions that went on while herder was away.
    pub(super) went_on: usize,
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet").finish_non_exhaustive()
    }
}

impl Fleet {
    /// Returns the views of all agents that are not removed, by name.
    #[must_use]
    pub fn agents(&self) -> Vec<View> {
        let mut views = self.shared.views();
        views.retain(|view| view.agent.phase != Phase::Removed);
        views
    }

    /// Returns true if the agent's supervisor is given up, so that nothing reaches the agent until herder is restarted.
    #[must_use]
    pub fn is_deserted(&self, agent: &AgentName) -> bool {
        self.shared.is_deserted(agent)
    }

    /// Returns the names of the agents whose entries cannot be read, and which therefore are halted.
    #[must_use]
    pub fn unreadable(&self) -> Vec<AgentName> {
        self.shared.unseen()
    }

    /// Returns the view of one agent; `None` if there is no such agent.
    #[must_use]
    pub fn view(&self, agent: &AgentName) -> Option<View> {
        self.shared.handle(agent).map(|handle| self.shared.seen_now(&handle.view))
    }

    /// Returns the state of each network's link.
    #[must_use]
    pub fn links(&self) -> Vec<LinkReport> {
        self.shared.links.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Returns whether a chat network is joined, and since when that is so.
    #[must_use]
    pub fn joined(&self) -> (bool, Timestamp) {
        *self.shared.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of sessions that went on while herder was away.
    #[must_use]
    pub fn went_on(&self) -> usize {
        self.went_on
    }

    /// Returns true if agents run in another process.
    #[must_use]
    pub fn has_runner(&self) -> bool {
        self.shared.places.here().is_remote()
    }

    /// Returns true if sessions go on when herder ends.
    #[must_use]
    pub fn leaves_sessions(&self) -> bool {
        self.has_runner() && self.shared.views().iter().any(|view| view.agent.session().is_some())
    }

    /// Returns the bytes of files that people and agents give each other.
    #[must_use]
    pub fn files(&self) -> FileStore {
        FileStore::new(self.shared.journal.data_dir())
    }

    /// Returns the files that agents' work, the board's, or a post names that Discord has not taken yet. Blocks.
    ///
    /// # Errors
    /// The state of an agent is unknown, or the posts cannot be read.
    pub fn named_files(&self) -> io::Result<BTreeSet<Sha256>> {
        let views = self.shared.views();
        if !self.unreadable().is_empty() || views.iter().any(|view| self.is_deserted(&view.name)) {
            return Err(io::Error::other("the state of an agent is unknown"));
        }
        let mut named = BTreeSet::new();
        for view in views {
            files::add_named(&*view.agent, &mut named)?;
        }
        // Work that left an agent meanwhile is on the board. What an agent takes from it is young, or was the agent's before.
        files::add_named(&*self.board(), &mut named)?;
        let owed = self.shared.journal.undelivered(&NetworkName::from(DISCORD_NETWORK));
        for post in owed.map_err(io::Error::other)? {
            files::add_named(&post, &mut named)?;
        }
        Ok(named)
    }

    /// Returns false if sessions get no files, because the runner was started by an earlier herder.
    #[must_use]
    pub fn takes_files(&self) -> bool {
        self.shared.places.here().takes_files()
    }

    /// Returns the journal, for reading histories.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.shared.journal
    }

    /// Returns a receiver that is notified when an agent's view or a network's state has changed. Each follower has
    /// its own.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.shared.changed.subscribe()
    }

    /// Posts an alert on every network; it is on disk when this returns.
    pub async fn alert(&self, notice: Notice) {
        let posts = self.shared.posting.alert(notice, clock::now(), None);
        self.owe(posts).await;
    }

    /// Posts a notice in the control channel of every network; it is on disk when this returns.
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

    /// Posts an alert on every network but one; it is on disk when this returns.
    pub async fn alert_elsewhere(&self, notice: Notice, but: &NetworkName) {
        let posts = self.shared.posting.alert(notice, clock::now(), Some(but));
        self.owe(posts).await;
    }

    /// Reports the state of a network's link to the root supervisor.
    pub fn report_link(&self, report: LinkReport) {
        self.shared.tell_root(ToRoot::Link(report));
    }

    /// Reports to the root supervisor that an event was dropped, because its webhook has refused it so often.
    pub fn report_dropped(&self, webhook: NetworkName, attempts: u32, reason: Detail) {
        self.shared.tell_root(ToRoot::Dropped { webhook, attempts, reason });
    }

    /// Waits until the view of `agent` satisfies `condition`, and returns that view; `None` if there is no such agent,
    /// or it went away first.
    ///
    /// # Errors
    /// `None` if there is no such agent, or it went away first.
    pub async fn wait_for(&self, agent: &AgentName, condition: impl FnMut(&View) -> bool) -> Option<View> {
        let mut view = self.shared.handle(agent)?.view;
        let seen = view.wait_for(condition).await.ok()?.clone();
        Some(seen)
    }

    /// Waits like [`Fleet::wait_for`], for a condition that also depends on the whole fleet: on whether the agent's
    /// account is closed. `None` if there is no such agent, or it went away first.
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

    /// Gives one agent a command; resolves when the decision is on disk. `Stop`, `Remove`, `Pause { now }` and
    /// `Abort` do not wait for the process to be gone.
    ///
    /// With `asked.answer` the reply is already in the outbox, in the same transaction as the decision; a refusal
    /// never is.
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
        self.give_with(agent, (kind, text), None, asked).await
    }

    /// Gives an agent a task with additional data, such as its priority.
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
        self.give_with(agent, (WorkKind::Task, text), card, asked).await
    }

    /// Gives an agent work with additional data, if there is any.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn give_with(
        &self,
        agent: &AgentName,
        (kind, text): (WorkKind, String),
        card: Option<Box<Card>>,
        asked: Asked,
    ) -> Result<Notice, Refusal> {
        self.control(agent, Control::Give { id: self.fresh(), kind, text, card }, asked).await
    }

    /// Gives an agent a task, to which what is said in its channel belongs from now on.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn begin_task(
        &self,
        agent: &AgentName,
        text: String,
        card: Option<Box<Card>>,
        asked: Asked,
    ) -> Result<Notice, Refusal> {
        self.control(agent, Control::Begin { id: self.fresh(), text, card }, asked).await
    }

    /// Returns the path of the clone of a task.
    #[must_use]
    pub fn checkout_folder(&self, task: WorkId) -> PathBuf {
        self.shared.checkout_folder(task)
    }

    /// Looks at the clone of a task of this agent.
    ///
    /// # Errors
    /// The clone cannot be read.
    pub async fn look_at_checkout(&self, agent: &AgentName, plan: &Plan) -> Result<Held, Detail> {
        let of = self.shared.marker_of_checkout(agent, plan.task);
        let marker = format!("{of}/look-{}", LOOKS.fetch_add(1, Ordering::Relaxed));
        Box::pin(self.shared.place(agent).look(marker, plan)).await
    }

    /// Compares the clone of a task of this agent with the commit that the task began from, with the text of the
    /// selected files.
    ///
    /// # Errors
    /// The clone cannot be compared.
    pub(crate) async fn diff_of_checkout(
        &self,
        agent: &AgentName,
        plan: &Plan,
        selection: Selection,
    ) -> Result<Diff, Detail> {
        let of = self.shared.marker_of_checkout(agent, plan.task);
        let marker = format!("{of}/diff-{}", LOOKS.fetch_add(1, Ordering::Relaxed));
        Box::pin(self.shared.place(agent).compare(marker, plan, selection)).await
    }

    /// Records a question that a running session's agent asks people, and returns its number when it is on disk. Its
    /// end is in the agent's view ([`Fleet::answer_to`]). The same question for the same work is one question: an
    /// answer that came while no session waited is available at once.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn question(
        &self,
        agent: &AgentName,
        (session, call): (SessionId, Option<u64>),
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
            .send(Note::Question(Box::new(Question { session, call, inquiry, ticket })))
            .await
            .map_err(|_| fault())?;
        asked.await.map_err(|_| fault())?
    }

    /// Waits until a question is over and returns it with its outcome; `None` if it is still open after `patience`, or
    /// not known.
    pub async fn answer_to(&self, agent: &AgentName, ask: AskId, patience: Duration) -> Option<Settled> {
        let over = self.wait_for(agent, |view| view.agent.open_ask(ask).is_none());
        let view = tokio::time::timeout(patience, over).await.ok()??;
        view.agent.settled_ask(ask).cloned()
    }

    /// Returns the view of the agent that asked a question, if the question is open or still kept.
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

    /// Returns the links between Discord users and services accounts.
    #[must_use]
    pub fn ties(&self) -> &Ties {
        &self.shared.ties
    }

    /// Records that a Discord user is the owner of a services account; resolves when it is on disk.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub async fn link(&self, tie: Tie, name: String, asked: Asked) -> Result<Notice, Refusal> {
        let Tie { user, network, account } = tie.clone();
        let reply = Notice::Linked { name: name.clone(), user, account, network };
        let by = asked.audit.by.clone();
        self.tie(vec![FleetEvent::Linked { tie, name, by }], reply, asked).await
    }

    /// Removes these links between Discord users and services accounts; resolves when that is on disk.
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

    /// Posts the reply to a command that was recorded before and took time, and its mirror on other networks; both are
    /// on disk when this returns.
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

    /// Returns the posts of a reply, and the memo about a reply that is not posted.
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

    /// Records an accepted command that only reads: it is on disk with the next commit, within 50 ms.
    ///
    /// # Errors
    /// A refusal if the journal cannot be written.
    pub async fn record_soon(&self, asked: &Asked) -> Result<(), Refusal> {
        self.shared.journal.commit_soon(record(asked)).await.map_err(storage_refusal)
    }

    /// Waits until the views of agents show what is stored, because a post may be read before its agent's view has
    /// changed. The wait is at most [`CATCH_UP`], and callers return in the order in which they came.
    pub async fn catch_up(&self) {
        let enough = tokio::time::Instant::now() + CATCH_UP;
        // Each holder returns by its own deadline, which is no later than those of the callers behind it.
        let _turn = self.shared.catching_up.lock().await;
        let seen = tokio::time::timeout_at(enough, self.shared.journal.all_seen()).await;
        if seen.is_err() {
            tracing::debug!("an agent's view is late");
        }
    }

    /// Returns true if the root supervisor answers within `patience`, for the health probes.
    pub async fn root_answers(&self, patience: Duration) -> bool {
        let (ticket, answer) = oneshot::channel();
        self.shared.tell_root(ToRoot::Ping { ticket });
        matches!(tokio::time::timeout(patience, answer).await, Ok(Ok(())))
    }

    /// Returns the agent whose name is most similar to `text`, if it is similar enough.
    #[must_use]
    pub fn nearest(&self, text: &str) -> Option<AgentName> {
        /// Minimum similarity (Jaro-Winkler, 0 to 1) of a name for a suggestion; below it two names have little in
        /// common.
        const NEAR: f64 = 0.75;
        let score = |name: &AgentName| strsim::jaro_winkler(name.as_str(), &text.to_ascii_lowercase());
        self.agents()
            .into_iter()
            .map(|view| (score(&view.name), view.name))
            .filter(|(score, _)| *score >= NEAR)
            .max_by(|(a, _), (b, _)| a.total_cmp(b))
            .map(|(_, name)| name)
    }

    /// Records that herder shut down on purpose. The root, which writes this stream otherwise, has ended by then.
    async fn record_end(&self) {
        let entries = vec![Entry::Fleet(FleetEvent::Stopped)];
        let writes = vec![Write { stream: Stream::Fleet, expected_rev: None, entries }];
        if let Err(reason) =
            self.shared.journal.commit(Batch { at: clock::now(), writes, ..Batch::default() }).await
        {
            warn!(%reason, "the end could not be recorded");
        }
    }

    /// Ends every session with the stop ladder, and every supervisor. Nothing is recorded about the sessions, so that
    /// the next start finds them as after a kill and continues them.
    ///
    /// Returns the number of processes that are left, after at most `patience` for the supervisors and half a second
    /// for each of the following steps.
    pub async fn drain(&self, patience: Duration) -> usize {
        self.shared.draining.cancel();
        // From here on an order that is dropped stops nothing there.
        self.shared.places.leave().await;
        if let Some(runners) = &self.shared.runners {
            runners.close().await;
        }
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
        // A hanging disk blocks tasks that wait for a commit.
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

/// Returns the batch that records an accepted command, with the memo about its chat message.
pub(super) fn record(asked: &Asked) -> Batch {
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
