//! States of streams: a snapshot and the entries since.
//!
//! A snapshot is only a shortcut. One that this version cannot read (the state's shape has changed) is ignored, and
//! the state is built from the stream's first entry, from archives if necessary.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::core::agent::Agent;
use crate::core::board::Board;
use crate::core::clock;
use crate::core::id::{AccountName, AgentName};
use crate::core::ledger::Ledger;
use crate::core::outcome::Category;
use crate::core::promotion::Gate;
use crate::core::spec::AgentSpec;
use crate::core::time::Timestamp;
use crate::core::work::Actor;

use super::layout::{Head, Tree, Trees, snapshot_key, stream_text};
use super::query::Reader;
use super::{Entry, FleetEvent, ReadError, Stream, encoding};
use crate::core::tie::Tie;

/// A state that is built from the entries of one stream alone.
pub trait Aggregate: Default + Serialize + DeserializeOwned {
    /// Applies one entry that was recorded at `at`. Entries of other kinds are ignored.
    fn apply_entry(&mut self, entry: &Entry, at: Timestamp);
}

impl Aggregate for Agent {
    fn apply_entry(&mut self, entry: &Entry, at: Timestamp) {
        match entry {
            Entry::Agent(event) => crate::core::apply(self, event, at),
            Entry::Fleet(_) | Entry::Audit(_) => {}
        }
    }
}

/// An account that was closed by a failure, so that its agents are paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// Reason for closing it: billing, auth or budget.
    pub category: Category,
    /// The agent whose failure closed it.
    pub agent: AgentName,
    /// Time at which it was closed.
    pub since: Timestamp,
}

/// The opening of a closed account by a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// Time at which it was opened.
    pub at: Timestamp,
    /// The person who opened it.
    pub by: Actor,
}

/// The fleet's state, built from its stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetState {
    /// Names of the existing agents.
    pub roster: BTreeSet<AgentName>,
    /// Agents that a person removed while `bot.toml` names them: the file does not bring them back.
    pub removed: BTreeSet<AgentName>,
    /// The agents' sections of `bot.toml`, as last read.
    #[serde(default)]
    pub configured: BTreeMap<AgentName, AgentSpec>,
    /// Accounts that are closed after a billing, login or budget failure.
    pub blocked: BTreeMap<AccountName, Blocked>,
    /// The last opening of each account that was closed: failures of agents before that do not count any more.
    #[serde(default)]
    pub opened: BTreeMap<AccountName, Opened>,
    /// Closed accounts that one agent must probe before the others continue.
    #[serde(default)]
    pub gates: BTreeMap<AccountName, Gate>,
    /// Time at which each account was last shown to work after it was closed.
    #[serde(default)]
    pub proved: BTreeMap<AccountName, Timestamp>,
    /// Links between Discord users and services accounts, one per person and account.
    #[serde(default)]
    pub ties: BTreeSet<Tie>,
    /// Usage of removed agents, and state of the shared caps.
    #[serde(default)]
    pub ledger: Ledger,
    /// State of the task board.
    #[serde(default)]
    pub board: Arc<Board>,
    /// Time of herder's last start.
    pub started: Option<Timestamp>,
    /// True if herder has shut down on purpose since its last start.
    pub stopped: bool,
}

impl FleetState {
    fn clock_set(&mut self, by: i64) {
        self.gates.values_mut().for_each(|gate| gate.clock_set(by));
        let blocked = self.blocked.values_mut().map(|blocked| &mut blocked.since);
        let opened = self.opened.values_mut().map(|opened| &mut opened.at);
        blocked.chain(opened).chain(self.proved.values_mut()).for_each(|at| *at = at.moved(by));
    }

    /// Returns by how many milliseconds the wall clock lies behind the fleet's recorded times, as a negative number;
    /// `None` if it does not.
    #[must_use]
    pub fn clock_behind(&self, now: Timestamp) -> Option<i64> {
        let gates = self.gates.values().map(|gate| gate.since);
        let opened = self.opened.values().map(|opened| opened.at);
        let seen = gates.chain(opened).chain(self.proved.values().copied());
        clock::behind(seen.chain(self.blocked.values().map(|blocked| blocked.since)), now)
    }
}

impl Aggregate for FleetState {
    fn apply_entry(&mut self, entry: &Entry, at: Timestamp) {
        let event = match entry {
            Entry::Fleet(event) => event,
            Entry::Agent(_) | Entry::Audit(_) => return,
        };
        match event {
            FleetEvent::AgentAdded { agent } => {
                self.removed.remove(agent);
                // The agent keeps its own usage from here on.
                self.ledger.kept.remove(agent);
                self.roster.insert(agent.clone());
            }
            FleetEvent::AgentRemoved { agent } => {
                self.roster.remove(agent);
                // A section added later asks for the agent again.
                if self.configured.contains_key(agent) {
                    self.removed.insert(agent.clone());
                }
            }
            FleetEvent::Configured { spec } => {
                self.configured.insert(spec.name.clone(), (**spec).clone());
            }
            FleetEvent::LeftOut { agent } => {
                self.configured.remove(agent);
                self.removed.remove(agent);
            }
            FleetEvent::AccountBlocked { account, category, agent } => {
                let blocked = Blocked { category: *category, agent: agent.clone(), since: at };
                self.blocked.entry(account.clone()).or_insert(blocked);
                // The trial has failed: the account does not work.
                if self.gates.get(account).is_some_and(|gate| gate.category.is_of_account()) {
                    self.gates.remove(account);
                }
            }
            FleetEvent::AccountExhausted { account, agent, resets_at, probe_at, ask_at } => {
                let closed = || Gate::closed(Category::Quota, agent.clone(), at);
                let gate = self.gates.entry(account.clone()).or_insert_with(closed);
                let (resets_at, probe_at, ask_at) = (*resets_at, *probe_at, *ask_at);
                *gate = Gate {
                    category: Category::Quota,
                    resets_at,
                    probe_at,
                    ask_at,
                    first: None,
                    ..gate.clone()
                };
            }
            FleetEvent::ClockSet { by } => self.clock_set(*by),
            FleetEvent::AccountAsked { account } => {
                if let Some(gate) = self.gates.get_mut(account) {
                    gate.ask_at = None;
                }
            }
            FleetEvent::AccountTried { account, category, agent, .. } => {
                let closed = || Gate::closed(*category, agent.clone(), at);
                let gate = self.gates.entry(account.clone()).or_insert_with(closed);
                gate.first = Some(agent.clone());
                gate.probe_at = Some(at);
                gate.ask_at = None;
            }
            FleetEvent::AccountProved { account, .. } => {
                self.gates.remove(account);
                self.proved.insert(account.clone(), at);
            }
            FleetEvent::AccountOpened { account, by } => {
                self.blocked.remove(account);
                self.opened.insert(account.clone(), Opened { at, by: by.clone() });
            }
            FleetEvent::Linked { tie, .. } => {
                // A person has one account per network, and an account one person.
                self.ties.retain(|known| {
                    let same = known.user == tie.user && known.network == tie.network;
                    !same && !known.is_of(&tie.network, &tie.account)
                });
                self.ties.insert(tie.clone());
            }
            FleetEvent::Unlinked { tie, .. } => {
                self.ties.remove(tie);
            }
            FleetEvent::Board { event } => Arc::make_mut(&mut self.board).apply(event, at),
            FleetEvent::SupervisorPanicked { .. } => {}
            FleetEvent::Started { .. } => {
                self.started = Some(at);
                self.stopped = false;
            }
            FleetEvent::BooksKept { agent, books } => {
                self.ledger.keep(agent.clone(), (**books).clone(), at);
            }
            FleetEvent::CapNear { account, warned } => self.ledger.warned(account, *warned),
            FleetEvent::CapWaived { account, waived, .. } => self.ledger.waive(account, *waived),
            FleetEvent::Stopped => self.stopped = true,
        }
    }
}

/// A state loaded from the journal, with its position in its stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded<S> {
    /// The state itself.
    pub state: S,
    /// Revision up to which the state is built, which the next write expects; 0 if the stream is empty.
    pub rev: u64,
    /// Number of the stream's entries that are missing in the state.
    pub missing: u64,
    /// The last revision before the first missing one; `rev` if none is missing.
    pub whole: u64,
}

/// The header of a snapshot.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct SnapshotHeader {
    pub(super) rev: u64,
    pub(super) chunks: u16,
    pub(super) crc: u32,
}

/// Reads the snapshot of a stream, with its revision; `None` if there is none, or the writer is just replacing it.
pub(super) fn snapshot(trees: &Trees, stream: &Stream) -> Result<Option<(u64, Vec<u8>)>, ReadError> {
    let text = stream_text(stream);
    let tree = trees.get(Tree::Snapshots);
    // The writer may replace the snapshot between two reads; the checksum shows that, and it is read again.
    for _ in 0..3 {
        let Some(header) = tree.get(snapshot_key(&text, 0))? else { return Ok(None) };
        let header: SnapshotHeader = encoding::versioned(&header)
            .map_err(|source| ReadError::Decode { what: format!("the snapshot of {stream}"), source })?;
        let mut state = Vec::new();
        for n in 1..=header.chunks {
            state.extend_from_slice(&tree.get(snapshot_key(&text, n))?.unwrap_or_default());
        }
        if crc32fast::hash(&state) == header.crc {
            return Ok(Some((header.rev, state)));
        }
    }
    tracing::warn!(%stream, "the snapshot is damaged; the state is built from its entries");
    Ok(None)
}

/// Builds the state of a stream from its snapshot and the entries since.
///
/// # Errors
/// One of its entries, or an archive on the way, cannot be read.
pub(super) fn load<S: Aggregate>(reader: &Reader, stream: &Stream) -> Result<Loaded<S>, ReadError> {
    build(reader, stream, &mut |_, error| Err(error)).map(|(loaded, _)| loaded)
}

/// Builds the state of a stream from its readable entries, and returns the numbers of the unreadable ones.
///
/// # Errors
/// The database cannot be read.
pub(super) fn load_readable<S: Aggregate>(
    reader: &Reader,
    stream: &Stream,
) -> Result<(Loaded<S>, Vec<u64>), ReadError> {
    build(reader, stream, &mut |seq, reason| match reason {
        ReadError::Decode { .. } => {
            tracing::error!(%stream, %reason, "an entry is left out of the state and kept as it is");
            Ok(Some(seq))
        }
        ReadError::Archive { .. } => {
            tracing::error!(%stream, %reason, "a part of an archive is left out of the state");
            Ok(None)
        }
        reason => Err(reason),
    })
}

/// Builds the state of a stream. For an unreadable entry `unread` returns an error to stop, the entry's number if it
/// belongs to the stream, or `None` if that is unknown.
fn build<S: Aggregate>(
    reader: &Reader,
    stream: &Stream,
    unread: &mut dyn FnMut(u64, ReadError) -> Result<Option<u64>, ReadError>,
) -> Result<(Loaded<S>, Vec<u64>), ReadError> {
    let head = reader.head(stream)?;
    let (mut state, from) = start::<S>(reader, stream, head)?;
    let mut taken = from;
    let (mut missing, mut whole) = (0, from);
    let (mut unreadable, mut before) = (Vec::new(), 0);
    reader.each(stream, from + 1, &mut |seq, recorded| {
        let recorded = match recorded {
            Ok(recorded) => recorded,
            Err(error) => {
                if let Some(seq) = unread(seq, error)? {
                    unreadable.push(seq);
                    before += 1;
                }
                return Ok(());
            }
        };
        missing += recorded.rev.saturating_sub(taken + 1 + before);
        (taken, before) = (recorded.rev, 0);
        if missing == 0 {
            whole = taken;
        }
        state.apply_entry(&recorded.entry, recorded.at);
        Ok(())
    })?;
    let rev = head.rev.max(taken);
    missing += (rev - taken).saturating_sub(before);
    if missing > 0 {
        tracing::error!(%stream, missing, "entries are missing; the state is built from the others");
    }
    Ok((Loaded { state, rev, missing, whole }, unreadable))
}

fn start<S: Aggregate>(reader: &Reader, stream: &Stream, head: Head) -> Result<(S, u64), ReadError> {
    if head.snapshot == 0 {
        return Ok((S::default(), 0));
    }
    let Some((rev, bytes)) = snapshot(reader.trees(), stream)? else { return Ok((S::default(), 0)) };
    match serde_json::from_slice(&bytes) {
        Ok(state) => Ok((state, rev)),
        Err(error) => {
            tracing::warn!(%stream, %error, "the snapshot has another shape; the state is built from its entries");
            Ok((S::default(), 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(events: Vec<FleetEvent>) -> FleetState {
        let mut fleet = FleetState::default();
        for (second, event) in (0..).zip(events) {
            fleet.apply_entry(&Entry::Fleet(event), Timestamp::from_seconds(second));
        }
        fleet
    }

    #[test]
    fn an_agent_that_is_added_again_is_not_removed_any_more() {
        let spark = AgentName::new("spark").expect("a name");
        let fleet = fleet(vec![
            FleetEvent::AgentAdded { agent: spark.clone() },
            FleetEvent::AgentRemoved { agent: spark.clone() },
            FleetEvent::AgentAdded { agent: spark.clone() },
        ]);
        assert_eq!((fleet.roster, fleet.removed), (BTreeSet::from([spark]), BTreeSet::new()));
    }

    #[test]
    fn an_account_is_closed_since_its_first_failure() {
        let account = AccountName::default();
        let blocked = |agent: &str, category| FleetEvent::AccountBlocked {
            account: account.clone(),
            category,
            agent: AgentName::new(agent).expect("a name"),
        };
        let fleet = fleet(vec![blocked("spark", Category::Auth), blocked("flint", Category::Billing)]);
        let first = &fleet.blocked[&account];
        assert_eq!((first.agent.as_str(), first.category), ("spark", Category::Auth));
        assert_eq!(first.since, Timestamp::from_seconds(0));
    }

    #[test]
    fn it_is_known_when_an_account_was_last_opened_also_after_it_is_closed_again() {
        let account = AccountName::default();
        let agent = AgentName::new("spark").expect("a name");
        let blocked = || FleetEvent::AccountBlocked {
            account: account.clone(),
            category: Category::Auth,
            agent: agent.clone(),
        };
        let opened = || FleetEvent::AccountOpened { account: account.clone(), by: Actor::herder() };
        let fleet = fleet(vec![blocked(), opened(), blocked(), opened(), blocked()]);
        let last = Opened { at: Timestamp::from_seconds(3), by: Actor::herder() };
        assert_eq!((fleet.opened.get(&account), fleet.blocked.len()), (Some(&last), 1));
        // A state stored by an earlier version lacks the field.
        let mut stored = serde_json::to_value(&fleet).expect("JSON");
        stored.as_object_mut().expect("an object").remove("opened");
        let read: FleetState = serde_json::from_value(stored).expect("it is read");
        assert_eq!(read, FleetState { opened: BTreeMap::new(), ..fleet });
    }
}
