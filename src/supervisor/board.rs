//! The task board in the root: people's commands to it, agents' messages to it, and its hand-overs to agents.
//!
//! No message to an agent is kept here. It may be lost with herder or with the agent's supervisor, and is sent again
//! when either is back; see [`crate::core::dealings`].

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use tokio::sync::oneshot;

use super::root::{Root, ToRoot, account_of};
use super::{Asked, Fleet, owing};
use crate::clock;
use crate::core::agent::{Agent, Phase};
use crate::core::board::{Board, BoardEvent, Door, Place, Wish, can_review};
use crate::core::card::Card;
use crate::core::id::{AccountName, AgentName, WorkId};
use crate::core::notice::{Notice, Refusal};
use crate::core::post::{Post, Target};
use crate::core::time::Timestamp;
use crate::core::work::{TaskEnd, Work, WorkKind};
use crate::journal::{CommitError, Entry, FleetEvent, Stream, Write};

/// A person's command on its way to the board, with the channel for its reply.
#[derive(Debug)]
pub(super) struct Wished {
    pub(super) wish: Wish,
    pub(super) asked: Asked,
    /// Receives the reply when the decision is on disk.
    pub(super) ticket: oneshot::Sender<Result<Notice, Refusal>>,
}

/// The part of an agent's state that the board depends on: when it changes, the board looks at the agent again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stand {
    free: bool,
    taken: u64,
    told: u64,
    /// The last task that ended, which others may wait for.
    ended: Option<WorkId>,
    /// Whether the agent goes on with reviews.
    reviews: bool,
    /// The tasks that wait for another agent's verdict, with the number of the review, and whether one takes effect now; and
    /// those that wait for parts, with the number of the session that ended with the wait.
    asked: Box<[(WorkId, u64, bool)]>,
    /// The agent's account, whose limits apply to it.
    account: AccountName,
    /// The agent's permissions and tags as text, which a task can require.
    offers: String,
}

impl Stand {
    pub(super) fn of(agent: &Agent, now: Timestamp) -> Self {
        let free = agent.is_free(now);
        let offers = agent.spec.as_ref().map(|spec| {
            let tags = spec.tags.iter().map(String::as_str);
            std::iter::once(spec.permissions.word()).chain(tags).collect::<Vec<_>>().join(",")
        });
        let (taken, told) = (agent.board.taken, agent.board.told);
        let ended = agent.finished.back().map(|finished| finished.work.id);
        let asked = agent.asked_reviews();
        let asked = asked.map(|(task, asked)| (task, asked.number.into(), agent.is_at_rest(task)));
        let parked = agent.board.parked().map(|parked| (parked.work.id, parked.session.0, false));
        let asked = asked.chain(parked).collect();
        Self {
            free,
            taken,
            told,
            ended,
            reviews: can_review(agent),
            asked,
            account: account_of(agent),
            offers: offers.unwrap_or_default(),
        }
    }
}

/// The place where a piece of work is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// In an agent's queue, or in progress there.
    Agent(AgentName),
    /// On the board.
    Board,
    /// On its way from an agent to the board, for a moment.
    Nobody,
    /// Nowhere, as it has ended in this way.
    Over(TaskEnd),
}

impl Fleet {
    /// Returns the place where a piece of work is; `None` if it cannot be found without the history.
    #[must_use]
    pub fn holder(&self, work: WorkId) -> Option<Holder> {
        // Work that leaves the board between the two searches is with an agent afterwards.
        self.look_for(work).or_else(|| self.look_for(work))
    }

    /// Returns a piece of work that waits in an agent's queue or on the board; `None` if it is elsewhere.
    #[must_use]
    pub fn waiting(&self, work: WorkId) -> Option<Work> {
        match self.holder(work)? {
            Holder::Agent(agent) => {
                self.view(&agent)?.agent.queue.iter().find(|waiting| waiting.id == work).cloned()
            }
            Holder::Board => {
                let board = self.board();
                let boarded = board.tasks.get(&work)?;
                match boarded.place {
                    Place::Queued { .. } | Place::Offered { .. } => Some((*boarded.work).clone()),
                    // Its parts are tasks of their own.
                    Place::Split { .. } => None,
                }
            }
            Holder::Nobody | Holder::Over(_) => None,
        }
    }

    fn look_for(&self, work: WorkId) -> Option<Holder> {
        let mut views = self.shared.published();
        // A removed agent may still have news for the board.
        let handed_back = views.iter().any(|view| view.agent.board.hands_back(work));
        views.retain(|view| view.agent.phase != Phase::Removed);
        let board = self.board();
        let has = |agent: &Agent| agent.all_works().any(|it| it.id == work);
        if let Some(view) = views.iter().find(|view| has(&view.agent)) {
            return Some(Holder::Agent(view.name.clone()));
        }
        if board.tasks.contains_key(&work) {
            return Some(Holder::Board);
        }
        if handed_back {
            return Some(Holder::Nobody);
        }
        let mut over = views.iter().flat_map(|view| &view.agent.finished).chain(&board.finished);
        over.find(|over| over.work.id == work).map(|over| Holder::Over(over.end))
    }

    /// Returns the state of the task board as it is on disk.
    #[must_use]
    pub fn board(&self) -> Arc<Board> {
        Arc::clone(&self.shared.board.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives the board a command; resolves when the decision is on disk.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn wish(&self, wish: Wish, asked: Asked) -> Result<Notice, Refusal> {
        let (ticket, answer) = oneshot::channel();
        self.shared.tell_root(ToRoot::Wish(Box::new(Wished { wish, asked, ticket })));
        let gone = || Refusal::NotRecorded { said: CommitError::Closed.to_string() };
        answer.await.map_err(|_| gone())?
    }

    /// Puts a task on the board, for the agent `to` if one is named: [`Fleet::wish`] with a fresh id.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn post_task(
        &self,
        text: String,
        card: Option<Box<Card>>,
        to: Option<AgentName>,
        asked: Asked,
    ) -> Result<Notice, Refusal> {
        let id = self.fresh();
        let by = asked.audit.by.clone();
        let work = Work {
            id,
            kind: WorkKind::Task,
            text: String::new(),
            by,
            at: Timestamp::default(),
            attempts: 0,
            card: card.clone(),
        };
        let agents = self.shared.published();
        let fits = agents.iter().any(|view| !view.deserted && Board::would_do(&view.agent, &work));
        self.wish(Wish::Add { id, text, card, to, fits }, asked).await
    }

    /// Returns an unused number for a new piece of work.
    #[must_use]
    pub fn fresh(&self) -> WorkId {
        self.shared.journal.fresh_work_id()
    }
}

impl Root {
    /// Decides a person's command to the board: record, decision and reply are one transaction.
    pub(super) async fn wish(&mut self, wished: Wished) -> Result<(), CommitError> {
        let Wished { wish, asked, ticket } = wished;
        let now = clock::now();
        let (events, reply) = match self.fleet.board.wish(&wish, &asked.audit.by, now) {
            Ok(decided) => decided,
            Err(refusal) => {
                drop(ticket.send(Err(self.why_refused(refusal))));
                return Ok(());
            }
        };
        let said = asked.audit.text.clone();
        let mut posts = self.shared.posting.mirrored(&asked, said, &Target::Control, Some(&reply), now);
        let owed = owing::answered(&asked, &reply, &mut posts, now);
        // The line's message id stands for the work from now on. A rewording does not change that: the line still
        // belongs to the agent that it was given to.
        let heard = match &wish {
            Wish::Reword { .. } => None,
            Wish::Add { id, to, .. } => asked.heard(to.clone(), Some(*id)),
            _ => asked.heard(None, None),
        };
        let memos = heard.into_iter().chain(owed).collect();
        let audit =
            Write { stream: Stream::Audit, expected_rev: None, entries: vec![Entry::Audit(asked.audit)] };
        let owed = self.board_posts(&events, now);
        posts.extend(owed);
        let events = events.into_iter().map(|event| FleetEvent::Board { event }).collect();
        self.commit_with(events, vec![audit], posts, memos).await?;
        if let Wish::Add { id, to: None, fits: false, .. } = &wish {
            // The reply has said so.
            self.unfit.insert(*id);
        }
        // The caller may be gone; the decision stands.
        let waits = matches!(&reply, Notice::TaskWaits { .. });
        drop(ticket.send(Ok(reply)));
        if waits {
            // A task that it waits for may have ended meanwhile.
            for view in self.shared.published() {
                self.look_at(&view.name, &view.agent).await?;
            }
        }
        self.run_all_errands();
        self.deal().await
    }

    /// Replaces the refusal for a task on its way to an agent whose supervisor is given up, as the task will not arrive
    /// soon.
    fn why_refused(&self, refusal: Refusal) -> Refusal {
        let Refusal::TaskMoving { task } = refusal else { return refusal };
        match self.fleet.board.tasks.get(&task).map(|boarded| &boarded.place) {
            Some(Place::Offered { to, .. }) if self.shared.is_deserted(to) => {
                Refusal::Deserted { agent: to.clone() }
            }
            Some(_) | None => refusal,
        }
    }

    /// Records the messages of an agent without a supervisor to the board, and takes back tasks that were offered to
    /// it.
    pub(super) async fn take_back(&mut self, name: &AgentName, agent: &Agent) -> Result<(), CommitError> {
        let events = self.fleet.board.take_back(name, agent, clock::now());
        self.record_board(events).await?;
        self.run_all_errands();
        self.deal().await
    }

    /// Processes a change of an agent for the board: records its messages, sends it what it does not know yet, and
    /// hands out tasks.
    pub(super) async fn look(&mut self, name: &AgentName) -> Result<(), CommitError> {
        let Some(handle) = self.shared.handle(name) else { return Ok(()) };
        let agent = Arc::clone(&handle.view.borrow().agent);
        let concerns_others = self.look_at(name, &agent).await?;
        if concerns_others {
            self.run_all_errands()
        } else {
            self.run_errands(name, &agent)
        }
        self.deal().await
    }

    /// Records an agent's messages to the board, and asks for the reviews that its tasks wait for. Returns true if the board
    /// may have something for other agents.
    pub(super) async fn look_at(&mut self, name: &AgentName, agent: &Agent) -> Result<bool, CommitError> {
        let now = clock::now();
        let looked = self.fleet.board.look(name, agent, now);
        let mut concerns = looked.iter().any(concerns_others);
        self.record_board(looked).await?;
        let fresh = || self.shared.journal.fresh_work_id();
        let asked = self.fleet.board.look_for_reviews(name, agent, now, fresh);
        concerns |= asked.iter().any(concerns_others);
        self.record_board(asked).await?;
        Ok(concerns)
    }

    /// Sends agents everything from the board again that may not have arrived before a start. A task offered to an
    /// agent whose stream cannot be read (`unread`) stays offered, since the agent may have taken it.
    pub(super) async fn look_at_the_board(&mut self, unread: BTreeSet<AgentName>) -> Result<(), CommitError> {
        let mut there = unread;
        there.extend(self.shared.published().into_iter().map(|view| view.name));
        let lost = self.fleet.board.look_for_lost(|name| there.contains(name), clock::now());
        self.record_board(lost).await?;
        for view in self.shared.published() {
            self.look_at(&view.name, &view.agent).await?;
        }
        self.run_all_errands();
        self.deal().await
    }

    /// Hands out tasks to agents, and alerts people about those whose needs no agent meets.
    pub(super) async fn deal(&mut self) -> Result<(), CommitError> {
        self.hand_out().await?;
        // While the configuration is being applied, an agent that meets the needs may still be added.
        if self.shared.configuring.try_lock().is_err() {
            return Ok(());
        }
        self.call_for_unfit().await
    }

    /// Alerts people, once per task, about tasks whose needs no agent meets, busy or not, after an edit or a removal.
    pub(super) async fn call_for_unfit(&mut self) -> Result<(), CommitError> {
        let board = Arc::clone(&self.fleet.board);
        self.unfit.retain(|task| board.tasks.contains_key(task));
        if !board.has_queued() {
            return Ok(());
        }
        let (agents, now) = (self.shared.published(), clock::now());
        let mut posts = Vec::new();
        for work in board.waiting_for_anybody() {
            if agents.iter().any(|view| !view.deserted && Board::would_do(&view.agent, work)) {
                self.unfit.remove(&work.id);
                // The notice about the whole task does not apply any more either.
                if let Some(whole) = work.card().parent {
                    self.unfit.remove(&whole);
                }
                continue;
            }
            // The notice about the whole task covers its parts.
            let known = work.card().parent.is_some_and(|whole| self.unfit.contains(&whole));
            if self.unfit.insert(work.id) && !known {
                let card = work.card();
                let words = card.needs.words();
                let mut needs: Vec<&str> = [words.as_str()].into_iter().filter(|it| !it.is_empty()).collect();
                needs.extend(card.check.is_some().then_some("repository"));
                let needs = if needs.is_empty() { "none".to_owned() } else { needs.join(",") };
                let notice = Notice::NobodySuffices { task: work.id, needs };
                posts.extend(self.shared.posting.alert(notice, now, None));
            }
        }
        if posts.is_empty() { Ok(()) } else { self.record(Vec::new(), posts).await }
    }

    async fn hand_out(&mut self) -> Result<(), CommitError> {
        if !self.fleet.board.has_any_to_deal() {
            return Ok(());
        }
        let views = self.shared.published();
        let agents: Vec<(&AgentName, &Agent)> = views.iter().map(|view| (&view.name, &*view.agent)).collect();
        let now = clock::now();
        let door = |name: &AgentName, agent: &Agent| {
            if self.shared.is_deserted(name) {
                Door::Deserted
            } else if self.shared.turns.closed(name, &account_of(agent), now).is_some() {
                Door::Closed
            } else {
                Door::Open
            }
        };
        let events = self.fleet.board.deal(&agents, door, now);
        let to = |event: &BoardEvent| match event {
            BoardEvent::Offered { to, .. } => Some(to.clone()),
            _ => None,
        };
        let offered: BTreeSet<AgentName> = events.iter().filter_map(to).collect();
        let ended = events.iter().any(concerns_others);
        self.record_board(events).await?;
        if ended {
            self.run_all_errands();
        }
        for view in views.iter().filter(|view| offered.contains(&view.name)) {
            self.run_errands(&view.name, &view.agent);
        }
        Ok(())
    }

    pub(super) fn run_errands(&self, name: &AgentName, agent: &Agent) {
        for errand in self.fleet.board.errands(name, agent) {
            self.shared.input(name, errand);
        }
    }

    pub(super) fn run_all_errands(&self) {
        let views = self.shared.published();
        let pairs = views.iter().map(|view| (&view.name, &*view.agent));
        for (name, agent) in self.fleet.board.concerned(pairs) {
            self.run_errands(name, agent);
        }
    }

    pub(super) async fn record_board(&mut self, events: Vec<BoardEvent>) -> Result<(), CommitError> {
        if events.is_empty() {
            return Ok(());
        }
        let posts = self.board_posts(&events, clock::now());
        let events = events.into_iter().map(|event| FleetEvent::Board { event }).collect();
        self.record(events, posts).await
    }

    /// Returns the posts about events of the board, each made from the board's state right after the event.
    fn board_posts(&self, events: &[BoardEvent], now: Timestamp) -> Vec<Post> {
        let mut board = (*self.fleet.board).clone();
        let mut posts = Vec::new();
        for event in events {
            board.apply(event, now);
            posts.extend(self.shared.posting.of_fleet(board.posts(event), now));
        }
        posts
    }
}

/// Returns true if an event may be followed by an input for another agent: parts that are cancelled with their task, or
/// are over and waited for, and reviews that end.
fn concerns_others(event: &BoardEvent) -> bool {
    matches!(
        event,
        BoardEvent::Taken { .. }
            | BoardEvent::Reviewed { .. }
            | BoardEvent::ReviewGivenUp { .. }
            | BoardEvent::ReviewClosed { .. }
            | BoardEvent::PartOver { .. }
            | BoardEvent::LeadEnding { .. }
            | BoardEvent::Ended { .. }
    )
}
