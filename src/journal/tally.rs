//! Counts of recorded entries by agent, command and verdict, for `/metrics`. They go on over restarts.
//!
//! Only the writer counts. It stores the counts now and then, with the number of the last event that is in them. A start
//! reads them and counts the later events, so that a kill loses none and doubles none.
//! Entries from before the first herder that counts are not in them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::core::event::{Event, StopReason, WaitReason};
use crate::core::id::{AgentName, NetworkName};
use crate::core::outcome::Category;
use crate::core::verdict::Verdict;
use crate::core::watch::Judgement;

use super::layout::{Tree, Trees};
use super::query::Reader;
use super::staging::Changes;
use super::{Entry, FleetEvent, Memo, ReadError, Stream, notes, query};

/// Key of the memo with the counts that belong to no agent or command, and the number of the last event counted.
const ALL: &str = "journal/counts";

/// Prefix of the keys of the memos with one agent's counts each.
const OF_AGENT: &str = "journal/counts/agent/";

/// Prefix of the keys of the memos with one command's counts each.
const OF_COMMAND: &str = "journal/counts/command/";

/// Number of events after which the counts are stored again: a start has to count at most these anew.
const EVERY: u64 = 1000;

/// The reason why an agent's session was started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The session before ended with this category.
    Ended(Category),
    /// A person asked for a restart.
    Command,
    /// The agent's settings changed.
    Settings,
}

impl Cause {
    const COUNT: usize = Category::ALL.len() + 2;

    fn index(self) -> usize {
        match self {
            Self::Ended(category) => category as usize,
            Self::Command => Category::ALL.len(),
            Self::Settings => Category::ALL.len() + 1,
        }
    }

    fn all() -> impl Iterator<Item = Self> {
        Category::ALL.into_iter().map(Self::Ended).chain([Self::Command, Self::Settings])
    }

    /// Returns the word for the reason, as in `/metrics`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ended(category) => category.word(),
            Self::Command => "command",
            Self::Settings => "settings",
        }
    }
}

/// The results of evaluations, in the order of their counts.
pub const VERDICTS: [&str; 5] = ["ok", "correction", "think-deeper", "escalation", "lapse"];

/// An occurrence to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Count {
    Session(AgentName, Category, Duration),
    Restart(AgentName, Cause),
    /// The agent's counts start at zero, because it was added or removed.
    Cleared(AgentName),
    Evaluation(usize),
    Panic,
    Command(String, NetworkName),
}

/// Returns what an entry adds to the counts; `None` if nothing.
pub(super) fn count(stream: &Stream, entry: &Entry) -> Option<Count> {
    match (stream, entry) {
        (Stream::Agent(agent), Entry::Agent(event)) => of_agent(agent, event),
        (_, Entry::Fleet(FleetEvent::SupervisorPanicked { .. })) => Some(Count::Panic),
        (_, Entry::Audit(audit)) => Some(Count::Command(audit.verb.clone(), audit.by.network.clone())),
        _ => None,
    }
}

fn of_agent(agent: &AgentName, event: &Event) -> Option<Count> {
    let restart = |cause| Some(Count::Restart(agent.clone(), cause));
    match event {
        Event::Added { .. } | Event::Removed { .. } => Some(Count::Cleared(agent.clone())),
        Event::SessionEnded { outcome, .. } => {
            Some(Count::Session(agent.clone(), outcome.category, outcome.duration))
        }
        Event::Waiting { reason: WaitReason::Backoff(category), .. } => restart(Cause::Ended(*category)),
        Event::Waiting { reason: WaitReason::RateLimit, .. } => restart(Cause::Ended(Category::RateLimit)),
        Event::StopRequested { reason: StopReason::Restart, .. } => restart(Cause::Command),
        Event::StopRequested { reason: StopReason::Configured, .. } => restart(Cause::Settings),
        Event::Evaluated { judgement, .. } => Some(Count::Evaluation(match **judgement {
            Judgement::Verdict(Verdict::Ok) => 0,
            Judgement::Verdict(Verdict::Correction(_)) => 1,
            Judgement::Verdict(Verdict::ThinkDeeper(_)) => 2,
            Judgement::Verdict(Verdict::Escalation(_)) => 3,
            Judgement::Lapse(_) => 4,
        })),
        _ => None,
    }
}

/// The numbers of one agent's sessions and restarts.
#[derive(Debug, Default)]
pub struct AgentCounts {
    sessions: [AtomicU64; Category::ALL.len()],
    restarts: [AtomicU64; Cause::COUNT],
}

impl AgentCounts {
    /// Yields the numbers of sessions by the category in which they ended, without zeros.
    pub fn sessions(&self) -> impl Iterator<Item = (Category, u64)> {
        Category::ALL.into_iter().zip(&self.sessions).filter_map(|(it, count)| occurred(it, count))
    }

    /// Yields the numbers of sessions that were started again by the reason, without zeros.
    pub fn restarts(&self) -> impl Iterator<Item = (Cause, u64)> {
        Cause::all().zip(&self.restarts).filter_map(|(it, count)| occurred(it, count))
    }

    fn stored(&self) -> StoredAgent {
        StoredAgent {
            sessions: self.sessions().map(|(it, count)| (it.word().to_owned(), count)).collect(),
            restarts: self.restarts().map(|(it, count)| (it.word().to_owned(), count)).collect(),
        }
    }

    fn of(stored: &StoredAgent) -> Self {
        let counts = Self::default();
        for (category, count) in Category::ALL.into_iter().zip(&counts.sessions) {
            count.store(stored.sessions.get(category.word()).copied().unwrap_or(0), Ordering::Relaxed);
        }
        for (cause, count) in Cause::all().zip(&counts.restarts) {
            count.store(stored.restarts.get(cause.word()).copied().unwrap_or(0), Ordering::Relaxed);
        }
        counts
    }
}

fn occurred<T>(it: T, count: &AtomicU64) -> Option<(T, u64)> {
    let count = count.load(Ordering::Relaxed);
    (count > 0).then_some((it, count))
}

type Agents = Arc<BTreeMap<AgentName, Arc<AgentCounts>>>;
type Commands = Arc<BTreeMap<(String, NetworkName), Arc<AtomicU64>>>;

/// The counts of journal entries for `/metrics`. Readers do not delay the writer, which replaces a map to add a key.
#[derive(Debug, Default)]
pub struct Tally {
    agents: RwLock<Agents>,
    commands: RwLock<Commands>,
    evaluations: [AtomicU64; VERDICTS.len()],
    panics: AtomicU64,
}

fn now<T>(map: &RwLock<Arc<T>>) -> Arc<T> {
    Arc::clone(&map.read().unwrap_or_else(PoisonError::into_inner))
}

fn replace<T>(map: &RwLock<Arc<T>>, with: T) {
    *map.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(with);
}

impl Tally {
    /// Returns the counts of all agents.
    #[must_use]
    pub fn agents(&self) -> Agents {
        now(&self.agents)
    }

    /// Returns the numbers of commands that were carried out, by command and network.
    #[must_use]
    pub fn commands(&self) -> Commands {
        now(&self.commands)
    }

    /// Returns the numbers of evaluations by result, in the order of [`VERDICTS`].
    #[must_use]
    pub fn evaluations(&self) -> [u64; VERDICTS.len()] {
        self.evaluations.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Returns the number of panics of supervisors.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    fn agent(&self, agent: &AgentName) -> Arc<AgentCounts> {
        let known = now(&self.agents);
        if let Some(counts) = known.get(agent) {
            return Arc::clone(counts);
        }
        let (mut more, counts) = ((*known).clone(), Arc::<AgentCounts>::default());
        more.insert(agent.clone(), Arc::clone(&counts));
        replace(&self.agents, more);
        counts
    }

    fn command(&self, key: (String, NetworkName)) -> Arc<AtomicU64> {
        let known = now(&self.commands);
        if let Some(count) = known.get(&key) {
            return Arc::clone(count);
        }
        let (mut more, count) = ((*known).clone(), Arc::<AtomicU64>::default());
        more.insert(key, Arc::clone(&count));
        replace(&self.commands, more);
        count
    }

    fn clear(&self, agent: &AgentName) {
        let known = now(&self.agents);
        if known.contains_key(agent) {
            let mut less = (*known).clone();
            less.remove(agent);
            replace(&self.agents, less);
        }
    }

    /// Adds one occurrence to the counts. Returns the part of the stored counts that changes with it, beside the one of
    /// [`ALL`].
    fn add(&self, count: Count) -> Option<Note> {
        let one = |count: &AtomicU64| {
            count.fetch_add(1, Ordering::Relaxed);
        };
        match count {
            Count::Session(agent, category, _) => {
                self.agent(&agent).sessions.get(category as usize).into_iter().for_each(one);
                Some(Note::Agent(agent))
            }
            Count::Restart(agent, cause) => {
                self.agent(&agent).restarts.get(cause.index()).into_iter().for_each(one);
                Some(Note::Agent(agent))
            }
            Count::Cleared(agent) => {
                self.clear(&agent);
                Some(Note::Agent(agent))
            }
            Count::Evaluation(verdict) => {
                self.evaluations.get(verdict).into_iter().for_each(one);
                None
            }
            Count::Panic => {
                one(&self.panics);
                None
            }
            Count::Command(verb, network) => {
                one(&self.command((verb.clone(), network)));
                Some(Note::Command(verb))
            }
        }
    }
}

/// The counts of one agent, as they are stored.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredAgent {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    sessions: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    restarts: BTreeMap<String, u64>,
}

/// The counts that belong to no agent or command, as they are stored.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredAll {
    /// Number of the last event that is in all counts.
    seq: u64,
    evaluations: BTreeMap<String, u64>,
    panics: u64,
}

/// A part of the counts that is stored in a memo of its own, so that no value of the database is large.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Note {
    Agent(AgentName),
    /// The counts of one command, by network.
    Command(String),
}

/// The writer's access to the counts: it alone adds to them and stores them.
pub(super) struct Counter {
    tally: Arc<Tally>,
    /// Number of the last event that is in the counts on disk.
    stored: u64,
    /// Parts of the counts that have changed since they were stored.
    changed: BTreeSet<Note>,
    /// True if no counts are on disk yet, so that the next group stores them.
    is_new: bool,
}

impl Counter {
    /// Reads the stored counts and adds the events since, up to number `last`.
    pub(super) fn open(trees: &Trees, reader: &Reader, last: u64) -> Result<Self, ReadError> {
        let mut counter =
            Self { tally: Arc::default(), stored: last, changed: BTreeSet::new(), is_new: false };
        if trees.get(Tree::Memos).get(ALL)?.is_none() {
            counter.is_new = true;
            return Ok(counter);
        }
        let all: StoredAll = notes::read(trees, ALL)?;
        let tally = &counter.tally;
        let mut agents = BTreeMap::new();
        for (key, value) in query::memos(trees, OF_AGENT)? {
            let name = key.strip_prefix(OF_AGENT).and_then(|name| AgentName::new(name).ok());
            let stored = serde_json::from_str(&value).ok();
            agents.extend(name.zip(stored).map(|(name, stored)| (name, Arc::new(AgentCounts::of(&stored)))));
        }
        replace(&tally.agents, agents);
        for (key, value) in query::memos(trees, OF_COMMAND)? {
            let Some(verb) = key.strip_prefix(OF_COMMAND) else { continue };
            let networks: BTreeMap<NetworkName, u64> = serde_json::from_str(&value).unwrap_or_default();
            for (network, count) in networks {
                tally.command((verb.to_owned(), network)).store(count, Ordering::Relaxed);
            }
        }
        for (verdict, count) in VERDICTS.iter().zip(&tally.evaluations) {
            count.store(all.evaluations.get(*verdict).copied().unwrap_or(0), Ordering::Relaxed);
        }
        tally.panics.store(all.panics, Ordering::Relaxed);
        // A database that was restored may end before what was counted.
        counter.stored = all.seq.min(last);
        counter.follow(reader, counter.stored + 1, last)?;
        Ok(counter)
    }

    fn follow(&mut self, reader: &Reader, from: u64, upto: u64) -> Result<(), ReadError> {
        let mut counts = Vec::new();
        reader.each_text(from, upto, &mut |seq, text| {
            // One that cannot be read is told of where its stream is.
            if let Ok(recorded) = query::decode_event(seq, text.as_bytes()) {
                counts.extend(count(&recorded.stream, &recorded.entry));
            }
            std::ops::ControlFlow::Continue(())
        })?;
        self.add(counts);
        Ok(())
    }

    /// Returns the counts, shared with readers.
    pub(super) fn tally(&self) -> &Arc<Tally> {
        &self.tally
    }

    /// Adds the occurrences of a stored group.
    pub(super) fn add(&mut self, counts: Vec<Count>) {
        for count in counts {
            self.changed.extend(self.tally.add(count));
        }
    }

    /// Adds the counts to the changes of a group whose last event is `last`, if they are due to be stored.
    pub(super) fn store(&mut self, changes: &mut Changes, last: u64) {
        if self.is_new || last >= self.stored.saturating_add(EVERY) {
            self.store_now(changes, last);
        }
    }

    fn store_now(&mut self, changes: &mut Changes, last: u64) {
        for note in std::mem::take(&mut self.changed) {
            changes.memo(self.memo(note));
        }
        let verdicts = VERDICTS.iter().map(|verdict| (*verdict).to_owned());
        let evaluations = verdicts.zip(self.tally.evaluations()).collect();
        let all = StoredAll { seq: last, evaluations, panics: self.tally.panics() };
        changes.memo(notes::memo(ALL, &all));
        self.stored = last;
        self.is_new = false;
    }

    fn memo(&self, note: Note) -> Memo {
        match note {
            Note::Agent(agent) => {
                let key = format!("{OF_AGENT}{agent}");
                match self.tally.agents().get(&agent) {
                    Some(counts) => notes::memo(&key, &counts.stored()),
                    None => Memo { key, value: None },
                }
            }
            Note::Command(verb) => {
                let commands = self.tally.commands();
                let networks: BTreeMap<&NetworkName, u64> = commands
                    .iter()
                    .filter(|((of, _), _)| *of == verb)
                    .map(|((_, network), count)| (network, count.load(Ordering::Relaxed)))
                    .collect();
                notes::memo(&format!("{OF_COMMAND}{verb}"), &networks)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_causes_are_in_the_order_of_their_counts() {
        for (index, cause) in Cause::all().enumerate() {
            assert_eq!(cause.index(), index, "{cause:?}");
        }
        assert_eq!(Cause::all().count(), Cause::COUNT);
    }

    #[test]
    fn counts_of_an_agent_are_read_as_they_were_stored() {
        let counts = AgentCounts::default();
        counts.sessions[Category::Crash as usize].store(3, Ordering::Relaxed);
        counts.restarts[Cause::Settings.index()].store(2, Ordering::Relaxed);
        let text = serde_json::to_string(&counts.stored()).expect("JSON");
        assert_eq!(text, r#"{"sessions":{"crash":3},"restarts":{"settings":2}}"#);
        let read = AgentCounts::of(&serde_json::from_str(&text).expect("the same"));
        assert_eq!(read.sessions().collect::<Vec<_>>(), [(Category::Crash, 3)]);
        assert_eq!(read.restarts().collect::<Vec<_>>(), [(Cause::Settings, 2)]);
    }

    #[test]
    fn an_agent_that_is_removed_takes_its_counts_along() {
        let tally = Tally::default();
        let agent = AgentName::new("spark").expect("a name");
        tally.add(Count::Session(agent.clone(), Category::Success, Duration::ZERO));
        assert_eq!(tally.agents().len(), 1);
        tally.add(Count::Cleared(agent));
        assert!(tally.agents().is_empty());
    }
}
