//! The root supervisor: owns the supervisors, the accounts and the roster, and follows the networks.
//!
//! It is one task that handles one [`ToRoot`] at a time. It never waits for a supervisor while a supervisor could
//! wait for it: messages to them are put into their mailboxes without waiting.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError};

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{error, info, warn};

use super::board::Wished;
use super::configure::{self, Plan, bot_toml};
use super::session::Session;
use super::task::{self, Ahead, Beginning, Mailbox, NOTES_CAPACITY, REQUESTS_CAPACITY, Request};
use super::{Asked, Handle, Shared, gates, leading, owing, posting};
use crate::clock;
use crate::core::agent::Agent;
use crate::core::detail::Detail;
use crate::core::event::Event;
use crate::core::id::{AccountName, AgentName, NetworkName, SessionId, WorkId};
use crate::core::input::Input;
use crate::core::ledger::Tallies;
use crate::core::link::{LinkReport, LinkState};
use crate::core::notice::{Audience, Notice, Refusal};
use crate::core::outcome::Category;
use crate::core::post::{Post, Target};
use crate::core::spec::AgentSpec;
use crate::core::time::Timestamp;
use crate::core::work::Actor;
use crate::core::{Owed, OwedBody};
use crate::journal::{
    Aggregate as _, Batch, CommitError, Entry, FleetEvent, FleetState, Memo, Stream, Write,
};
use crate::runtime::orphans::Remains;

/// A message to the root supervisor.
#[derive(Debug)]
pub(super) enum ToRoot {
    /// A person adds an agent.
    Add { spec: Box<AgentSpec>, asked: Asked, ticket: oneshot::Sender<Result<Notice, Refusal>> },
    /// An agent failed for billing, auth or budget.
    AccountBlocked { agent: AgentName, account: AccountName, category: Category },
    /// A person resumed an agent of the account.
    AccountOpened { agent: AgentName, account: AccountName, by: Actor },
    /// An agent that waits for its account was moved to another account.
    Moved { agent: AgentName },
    /// An agent has met the usage limit of its account; `probed`: it was probing the account.
    Exhausted { agent: AgentName, account: AccountName, resets_at: Option<Timestamp>, probed: bool },
    /// A request to check whether the wall clock was set.
    LookAtTheClock,
    /// A session of the agent has shown that the account works.
    Proved { agent: AgentName, account: AccountName },
    /// Accounts of a person were linked or unlinked; `reply` is the answer.
    Tie { events: Vec<FleetEvent>, reply: Box<Notice>, asked: Asked, ticket: oneshot::Sender<Notice> },
    /// A person gives the task board a command.
    Wish(Box<Wished>),
    /// An agent adds a part to its task, or cancels one.
    Lead(Box<leading::LeadAsked>),
    /// The part of an agent's state that the board depends on has changed.
    Look { agent: AgentName },
    /// An agent's usage on an account has grown.
    Spent { agent: AgentName, account: AccountName },
    /// The agent's supervisor panicked and is being rebuilt.
    Panicked { agent: AgentName, message: String },
    /// The supervisor of an agent was rebuilt after a panic, and its view shows the journal's state.
    Rebuilt { agent: AgentName },
    /// A supervisor has panicked too often, or its state cannot be read: it is not rebuilt.
    GaveUp { agent: AgentName, reason: String },
    /// The agent was removed, and its session has ended.
    Retired { agent: AgentName },
    /// A network reports the state of its link.
    Link(LinkReport),
    /// A webhook has refused an event so often that it was dropped.
    Dropped { webhook: NetworkName, attempts: u32, reason: Detail },
    /// A configuration file was read again: a request for the changes that it requires.
    Compare { file: Vec<AgentSpec>, ticket: oneshot::Sender<Plan> },
    /// The configuration file adds an agent; the answer is true if the agent exists now.
    Create { spec: Box<AgentSpec>, ticket: oneshot::Sender<bool> },
    /// The changes of existing agents by the configuration file were applied: a request to record that.
    Read { events: Vec<FleetEvent>, ticket: oneshot::Sender<()> },
    /// A request that only checks whether the root still answers.
    Ping { ticket: oneshot::Sender<()> },
}

impl ToRoot {
    /// Returns true if the message adds or removes agents, or changes views otherwise, so that usage must be summed
    /// again.
    fn changes_who_is_there(&self) -> bool {
        !matches!(
            self,
            Self::Look { .. }
                | Self::Spent { .. }
                | Self::Wish(_)
                | Self::Link(_)
                | Self::Proved { .. }
                | Self::LookAtTheClock
                | Self::AccountBlocked { .. }
                | Self::AccountOpened { .. }
                | Self::Exhausted { .. }
                | Self::Ping { .. }
        )
    }
}

/// The root supervisor: it owns the fleet's state, the accounts and the board.
pub(super) struct Root {
    pub(super) shared: Arc<Shared>,
    pub(super) fleet: FleetState,
    rev: u64,
    /// Networks that were reported as down on the others, with the time since when.
    down: BTreeMap<NetworkName, Timestamp>,
    /// Number of consecutive failed attempts to connect after which the other networks are told.
    attempts: u32,
    refused: BTreeSet<NetworkName>,
    /// Webhooks that have dropped an event and accepted none since; people were told.
    refusing: BTreeSet<NetworkName>,
    /// Networks whose services refuse herder's password; people were told.
    unidentified: BTreeSet<NetworkName>,
    /// True if the state of an account has changed since tasks were handed out.
    moved: bool,
    /// Tasks whose needs no agent meets, and of which people were told since herder started.
    pub(super) unfit: BTreeSet<WorkId>,
    /// Index of the agents' usage by account, as far as it was reported to the root.
    pub(super) tallies: Tallies,
    /// Difference between wall clock and monotonic clock at the last check, by which a set clock is detected.
    offset: clock::Offset,
}

impl Root {
    pub(super) fn new(shared: Arc<Shared>, fleet: FleetState, rev: u64, attempts: u32) -> Self {
        Self {
            shared,
            attempts,
            fleet,
            rev,
            down: BTreeMap::new(),
            refused: BTreeSet::new(),
            refusing: BTreeSet::new(),
            unidentified: BTreeSet::new(),
            moved: false,
            unfit: BTreeSet::new(),
            tallies: Tallies::default(),
            offset: clock::Offset::read(),
        }
    }

    /// Handles messages until all senders or the journal are gone.
    pub(super) async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<ToRoot>) {
        loop {
            let due = self.gates_due();
            let told = tokio::select! {
                biased;
                told = inbox.recv() => told.map(Some),
                () = self.shared.turns.ring(due) => Some(None),
            };
            let Some(told) = told else { return };
            self.shared.journal.numbers().root.begin();
            let handled = AssertUnwindSafe(self.woken(told)).catch_unwind().await;
            match handled {
                Ok(Ok(())) => {}
                Ok(Err(reason @ (CommitError::Failed(_) | CommitError::Closed))) => {
                    error!(%reason, "the root supervisor stops: the journal cannot be written");
                    return;
                }
                Ok(Err(reason @ (CommitError::Conflict { .. } | CommitError::Invalid(_)))) => {
                    error!(%reason, "the root supervisor could not record what it was told");
                }
                // Its state is written only after a commit, so it equals what is on disk.
                Err(_) => error!("the root supervisor panicked over what it was told, and goes on"),
            }
            self.shared.journal.numbers().root.end();
        }
    }

    async fn woken(&mut self, told: Option<ToRoot>) -> Result<(), CommitError> {
        if let Some(by) = self.offset.jumped() {
            self.clock_set(by).await?;
        }
        let due = told.is_none();
        match told {
            Some(told) => self.handle(told).await?,
            None => self.let_through().await?,
        }
        // A task on the board may go to an agent that could not start before.
        if std::mem::take(&mut self.moved) || due { self.deal().await } else { Ok(()) }
    }

    async fn handle(&mut self, told: ToRoot) -> Result<(), CommitError> {
        self.takes_in(&told);
        self.shared.fault.before_root();
        if told.changes_who_is_there() {
            self.tallies = Tallies::default();
        }
        match told {
            ToRoot::Add { spec, asked, ticket } => self.add(*spec, asked, ticket).await,
            ToRoot::AccountBlocked { agent, account, category } => self.block(agent, account, category).await,
            ToRoot::AccountOpened { agent, account, by } => self.open(&agent, account, by).await,
            ToRoot::Exhausted { agent, account, resets_at, probed } => {
                self.exhausted(agent, account, resets_at, probed).await
            }
            // The clock was checked before.
            ToRoot::LookAtTheClock => Ok(()),
            ToRoot::Proved { agent, account } => self.proved(agent, account).await,
            ToRoot::Moved { agent } => self.look_at_account(&agent).await,
            ToRoot::Tie { events, reply, asked, ticket } => {
                let mut posts = Vec::new();
                let owed = owing::answered(&asked, &reply, &mut posts, clock::now());
                let memos = asked.heard(None, None).into_iter().chain(owed).collect();
                let entries = vec![Entry::Audit(asked.audit)];
                let audit = Write { stream: Stream::Audit, expected_rev: None, entries };
                // A caller that reads the reply may act on it at once, so the links are set before the commit.
                let mut tied = FleetState { ties: self.fleet.ties.clone(), ..FleetState::default() };
                for event in &events {
                    tied.apply_entry(&Entry::Fleet(event.clone()), clock::now());
                }
                self.shared.ties.set(tied.ties);
                let stored = self.commit_with(events, vec![audit], posts, memos).await;
                self.shared.ties.set(self.fleet.ties.clone());
                stored?;
                // The caller may be gone; the link stands.
                let _ = ticket.send(*reply);
                Ok(())
            }
            ToRoot::Rebuilt { agent } => {
                self.open_noted(Some(&agent)).await?;
                self.tell_again(&agent);
                self.close_for(&agent).await?;
                let state = self.shared.handle(&agent).map(|handle| Arc::clone(&handle.view.borrow().agent));
                match state {
                    Some(state) => self.recall_limit(&agent, &state).await,
                    None => Ok(()),
                }
            }
            ToRoot::Panicked { agent, message } => {
                self.record(vec![FleetEvent::SupervisorPanicked { agent, message }], Vec::new()).await
            }
            ToRoot::GaveUp { agent, reason } => self.gave_up(agent, reason).await,
            ToRoot::Wish(wished) => self.wish(*wished).await,
            ToRoot::Lead(asked) => self.lead(*asked).await,
            ToRoot::Look { agent } => self.look(&agent).await,
            ToRoot::Spent { agent, account } => self.spent(&agent, &account).await,
            ToRoot::Retired { agent } => {
                let handle = self.shared.handle(&agent);
                let last = handle.map(|handle| Arc::clone(&handle.view.borrow().agent));
                if let Some(agent_now) = &last {
                    self.look_at(&agent, agent_now).await?;
                }
                self.shared.forget(&agent);
                self.shared.timers.arm(&agent, None);
                self.strike(agent, last.as_deref()).await?;
                self.deal().await
            }
            ToRoot::Link(report) => self.link(report).await,
            ToRoot::Dropped { webhook, attempts, reason } => self.dropped(webhook, attempts, reason).await,
            ToRoot::Compare { file, ticket } => {
                // The caller may be gone; nothing is done yet.
                drop(ticket.send(self.compare(file)));
                Ok(())
            }
            ToRoot::Create { spec, ticket } => {
                let free = self.shared.handle(&spec.name).is_none();
                let created = match free {
                    true => self.create((*spec, true), bot_toml(), Vec::new(), Vec::new(), Vec::new()).await,
                    false => Ok(()),
                };
                let _ = ticket.send(free && created.is_ok());
                created
            }
            ToRoot::Ping { ticket } => {
                // The caller may be gone.
                let _ = ticket.send(());
                Ok(())
            }
            ToRoot::Read { events, ticket } => {
                self.record(events, Vec::new()).await?;
                // Shared caps may be lower now.
                self.look_at_the_books().await?;
                // All agents of the file exist now.
                self.call_for_unfit().await?;
                let _ = ticket.send(());
                Ok(())
            }
        }
    }

    /// Gives up the supervisor of an agent that cannot be rebuilt: people are told, and its tasks go back to the board.
    async fn gave_up(&mut self, agent: AgentName, reason: String) -> Result<(), CommitError> {
        error!(%agent, reason, "a supervisor is given up; restart herder once the cause is found");
        self.shared.desert(&agent);
        self.open_noted(Some(&agent)).await?;
        let notice = Notice::SupervisorGaveUp { agent: agent.clone(), reason };
        let owed = [Audience::Agent, Audience::Alerts]
            .map(|audience| Owed { audience, body: OwedBody::Notice(notice.clone()) });
        let posts = self.shared.posting.owed(&agent, None, owed.into(), clock::now());
        self.record(Vec::new(), posts).await?;
        // The decision uses the state on disk, which may contain a hand-over that was never published.
        match task::reload(&agent, &self.shared).await {
            Ok((state, _)) => self.take_back(&agent, &state).await,
            Err(reason) => {
                warn!(%agent, reason, "what it was offered by the board stays with it: it may have it");
                Ok(())
            }
        }
    }

    /// Records that an agent was removed; `last` is its final state, whose usage is kept.
    pub(super) async fn strike(&mut self, agent: AgentName, last: Option<&Agent>) -> Result<(), CommitError> {
        let mut events = vec![FleetEvent::AgentRemoved { agent: agent.clone() }];
        let books = last.map(|last| last.books.clone()).unwrap_or_default();
        if !books.is_empty() {
            events.push(FleetEvent::BooksKept { agent: agent.clone(), books: Box::new(books) });
        }
        // A file that contains it again adds it again, since no person has removed it by command.
        if last.is_some_and(configure::was_left_out) && self.fleet.configured.contains_key(&agent) {
            events.push(FleetEvent::LeftOut { agent });
        }
        self.record(events, Vec::new()).await
    }

    pub(super) fn blocked(&self, account: &AccountName) -> Option<Category> {
        self.fleet.blocked.get(account).map(|blocked| blocked.category)
    }

    /// Compares the agents of a newly read file with its last reading.
    fn compare(&self, file: Vec<AgentSpec>) -> Plan {
        let mut known = BTreeMap::new();
        for view in self.shared.published() {
            if !configure::is_going(&view.agent)
                && let Some(spec) = &view.agent.spec
            {
                known.insert(view.name.clone(), spec.clone());
            }
        }
        configure::plan(&self.fleet, |agent| known.get(agent), file)
    }

    pub(super) async fn record(
        &mut self,
        events: Vec<FleetEvent>,
        posts: Vec<Post>,
    ) -> Result<(), CommitError> {
        self.commit_with(events, Vec::new(), posts, Vec::new()).await
    }

    pub(super) async fn commit_with(
        &mut self,
        events: Vec<FleetEvent>,
        mut writes: Vec<Write>,
        posts: Vec<Post>,
        memos: Vec<Memo>,
    ) -> Result<(), CommitError> {
        let at = clock::now();
        let added = events.len() as u64;
        if !events.is_empty() {
            writes.push(Write {
                stream: Stream::Fleet,
                expected_rev: Some(self.rev),
                entries: events.iter().cloned().map(Entry::Fleet).collect(),
            });
        }
        if writes.is_empty() && posts.is_empty() {
            return Ok(());
        }
        let receipt =
            self.shared.journal.commit(Batch { at, writes, posts, memos, ..Batch::default() }).await?;
        self.rev += added;
        let closed = events.iter().filter_map(gates::closes);
        let closed: Vec<AccountName> =
            closed.filter(|account| !self.fleet.gates.contains_key(*account)).cloned().collect();
        for event in &events {
            self.fleet.apply_entry(&Entry::Fleet(event.clone()), at);
        }
        if !events.is_empty() {
            let mut ledger = self.shared.ledger.write().unwrap_or_else(PoisonError::into_inner);
            ledger.clone_from(&self.fleet.ledger);
            drop(ledger);
            let mut board = self.shared.board.write().unwrap_or_else(PoisonError::into_inner);
            *board = Arc::clone(&self.fleet.board);
            drop(board);
            self.shared.rings();
        }
        if events.iter().any(gates::moves) {
            self.shared.set_gates(gates::of(&self.fleet));
            self.moved = true;
            self.tell_waiting(&closed);
        }
        if receipt.snapshot_due {
            self.shared.snapshot(Stream::Fleet, self.rev, &self.fleet).await?;
        }
        Ok(())
    }

    async fn add(
        &mut self,
        spec: AgentSpec,
        asked: Asked,
        ticket: oneshot::Sender<Result<Notice, Refusal>>,
    ) -> Result<(), CommitError> {
        let name = spec.name.clone();
        if self.shared.handle(&name).is_some() {
            drop(ticket.send(Err(Refusal::AgentExists { agent: name })));
            return Ok(());
        }
        if let Err(reason) = task::reload(&name, &self.shared).await {
            error!(agent = %name, reason, "the history of an agent that is added again cannot be read");
            drop(ticket.send(Err(Refusal::HistoryUnreadable { agent: name, said: reason })));
            return Ok(());
        }
        let reply = Notice::AgentAdded { agent: name.clone(), runtime: spec.runtime };
        let (said, now) = (posting::summary(&asked), clock::now());
        let mut posts = self.shared.posting.mirrored(&asked, said, &Target::Control, Some(&reply), now);
        let owed = owing::answered(&asked, &reply, &mut posts, now);
        let memos = asked.heard(Some(name), None).into_iter().chain(owed).collect();
        let by = asked.audit.by.clone();
        let audit =
            Write { stream: Stream::Audit, expected_rev: None, entries: vec![Entry::Audit(asked.audit)] };
        self.create((spec, false), by, vec![audit], posts, memos).await?;
        drop(ticket.send(Ok(reply)));
        Ok(())
    }

    /// Records a new agent, and that the configuration file names it, and starts its supervisor.
    pub(super) async fn create(
        &mut self,
        (spec, configured): (AgentSpec, bool),
        by: Actor,
        mut writes: Vec<Write>,
        posts: Vec<Post>,
        memos: Vec<Memo>,
    ) -> Result<(), CommitError> {
        let name = spec.name.clone();
        let stream = Stream::Agent(name.clone());
        // A name that was used before continues its old stream, so that its history is found under it.
        let (mut agent, rev) = match task::reload(&name, &self.shared).await {
            Ok(loaded) => loaded,
            // A damaged old stream does not concern the rest of the journal.
            Err(reason) => {
                return Err(CommitError::Invalid(format!(
                    "what {name} left behind cannot be read: {reason}"
                )));
            }
        };
        // No session starts beside processes of the earlier agent with this name that cannot be ended.
        let used = agent.last_session != SessionId::default();
        let survivors = if used { self.shared.end_left(&name).await } else { Vec::new() };
        let mut events = vec![FleetEvent::AgentAdded { agent: name.clone() }];
        let spec = Box::new(spec);
        events.extend(configured.then(|| FleetEvent::Configured { spec: spec.clone() }));
        let added = Event::Added { spec, by };
        crate::core::apply(Arc::make_mut(&mut agent), &added, clock::now());
        writes.push(Write { stream, expected_rev: Some(rev), entries: vec![Entry::Agent(added)] });
        self.commit_with(events, writes, posts, memos).await?;
        let blocked = self.blocked(&account_of(&agent));
        let remains = Remains { ended: 0, survivors: survivors.clone() };
        self.start(name.clone(), (agent, rev + 1), (remains, None), Vec::new());
        if let Some(category) = blocked {
            self.shared.input(&name, Input::AccountBlocked { category });
        }
        if survivors.is_empty() { Ok(()) } else { self.alert_survivors(&name, &survivors).await }
    }

    /// Starts the supervisor of an agent with the state `agent` at revision `rev`; `remains`: the processes that its
    /// last session left; `session`: the open one, if it goes on. It decides the requests in `ahead` first, so that the next session uses the configuration's
    /// settings, and none starts if all agents are to be stopped.
    pub(super) fn start(
        &self,
        name: AgentName,
        (agent, rev): (Arc<Agent>, u64),
        (remains, session): (Remains, Option<Box<Session>>),
        ahead: Vec<Request>,
    ) {
        let (requests, requests_rx) = mpsc::channel(REQUESTS_CAPACITY);
        let (notes, notes_rx) = mpsc::channel(NOTES_CAPACITY);
        let (view_tx, view) = watch::channel(task::first_view(&name, &agent));
        self.shared.remember(name.clone(), Handle { requests, notes, view });
        self.shared.journal.seen(&name, Some(rev));
        let ahead = (!ahead.is_empty()).then(|| Box::new(Ahead(ahead)));
        let mailbox = Mailbox { requests: requests_rx, notes: notes_rx };
        let shared = Arc::clone(&self.shared);
        self.shared.tasks.spawn(Box::pin(task::supervise(
            name,
            shared,
            mailbox,
            (agent, rev),
            Box::new(Beginning { remains, ahead, session }),
            view_tx,
        )));
        self.shared.changed.send_replace(());
    }

    /// Posts the alert that processes of an earlier herder, or of an earlier agent with this name, block an agent.
    pub(super) async fn alert_survivors(
        &mut self,
        agent: &AgentName,
        pids: &[u32],
    ) -> Result<(), CommitError> {
        let notice = Notice::Survivors { agent: agent.clone(), pids: pids.to_vec() };
        let owed = [Audience::Agent, Audience::Alerts]
            .map(|audience| Owed { audience, body: OwedBody::Notice(notice.clone()) });
        let posts = self.shared.posting.owed(agent, None, owed.into(), clock::now());
        self.record(Vec::new(), posts).await
    }

    /// Handles a change of a network's link: the other networks are told when it stays down, is given up, or is up
    /// again.
    async fn link(&mut self, report: LinkReport) -> Result<(), CommitError> {
        let LinkReport { network, state } = report;
        let now = clock::now();
        let notice = match &state {
            LinkState::Connecting { attempts, reason } if *attempts >= self.attempts => {
                let reason = reason.clone().unwrap_or_default();
                self.stays_away(&network, *attempts, reason, now)
            }
            LinkState::Barred { attempts, reason } => {
                self.stays_away(&network, *attempts, reason.clone(), now)
            }
            LinkState::Connecting { attempts: 1, reason: Some(reason) } => {
                warn!(%network, %reason, "a network is lost; herder connects again");
                None
            }
            LinkState::Connecting { .. } => None,
            LinkState::Up { unidentified, .. } => {
                info!(%network, "a network is up");
                self.refused.remove(&network);
                self.refusing.remove(&network);
                self.told_who_herder_is(&network, unidentified.as_ref()).await?;
                self.down
                    .remove(&network)
                    .map(|since| Notice::NetworkUp { network: network.clone(), down_for: now.since(since) })
            }
            LinkState::Refused { reason } => {
                error!(%network, %reason, "a network is given up");
                let first = self.refused.insert(network.clone());
                first.then(|| Notice::NetworkRefused { network: network.clone(), reason: reason.clone() })
            }
        };
        self.shared.set_link(LinkReport { network: network.clone(), state });
        let Some(notice) = notice else { return Ok(()) };
        let posts = self.shared.posting.alert(notice, now, Some(&network));
        self.record(Vec::new(), posts).await
    }

    /// Records that a network cannot be reached; returns the notice about that the first time only.
    fn stays_away(
        &mut self,
        network: &NetworkName,
        attempts: u32,
        reason: Detail,
        now: Timestamp,
    ) -> Option<Notice> {
        warn!(%network, attempts, %reason, "a network stays away");
        let first = !self.down.contains_key(network);
        self.down.entry(network.clone()).or_insert(now);
        first.then(|| Notice::NetworkDown { network: network.clone(), attempts, reason })
    }

    /// Records whether a network's services accept the password. A refusal is posted once until they accept it, also
    /// on that network, which is up.
    async fn told_who_herder_is(
        &mut self,
        network: &NetworkName,
        unidentified: Option<&Detail>,
    ) -> Result<(), CommitError> {
        let Some(reason) = unidentified else {
            self.unidentified.remove(network);
            return Ok(());
        };
        if !self.unidentified.insert(network.clone()) {
            return Ok(());
        }
        let notice = Notice::NickservRefused { network: network.clone(), reason: reason.clone() };
        let posts = self.shared.posting.alert(notice, clock::now(), None);
        self.record(Vec::new(), posts).await
    }

    /// Posts that a webhook has dropped an event, once until the webhook accepts one.
    async fn dropped(
        &mut self,
        webhook: NetworkName,
        attempts: u32,
        reason: Detail,
    ) -> Result<(), CommitError> {
        if !self.refusing.insert(webhook.clone()) {
            return Ok(());
        }
        let notice = Notice::WebhookDropped { webhook: webhook.clone(), attempts, reason };
        let posts = self.shared.posting.alert(notice, clock::now(), Some(&webhook));
        self.record(Vec::new(), posts).await
    }
}

pub(super) fn account_of(agent: &Agent) -> AccountName {
    agent.account()
}
