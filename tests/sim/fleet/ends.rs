//! Ends of tasks and the lines for machines: each end is one line in the work channel of every network, no line comes
//! without an end, and an agent's report by its tools decides how its task ends.
//!
//! An end and its lines are one transaction, and the outbox says each line once: a reader of a work channel knows in
//! the end of every task what the journal knows, at whatever point herder was killed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use herder::core::agent::{Agent, Phase};
use herder::core::board::BoardEvent;
use herder::core::event::{Event, StopReason};
use herder::core::id::{AgentName, NetworkName, PostId, SessionId, WorkId};
use herder::core::notice::Notice;
use herder::core::outcome::Category;
use herder::core::post::{Body, Post, Target};
use herder::core::work::TaskEnd;
use herder::journal::{Batch, Entry, FleetEvent, Receipt, Settled};
use herder::outbox::Line;

use super::life::NETWORKS;

/// The meaning of a line in the work channel for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// The task is over.
    Over(WorkId, TaskEnd),
    /// The task waits to be done, for the first time or once more.
    Waits(WorkId),
    /// Something else that machines are told.
    Else,
}

impl Says {
    /// Reads a line as its documentation has it.
    fn of(line: &str) -> Result<Self, String> {
        let unreadable = || format!("no machine can read {line:?}");
        let words: Vec<&str> = line.split(' ').collect();
        let (task, end) = match words[..] {
            ["DONE", task] => (task, TaskEnd::Done),
            ["FAIL", task, "reported"] => (task, TaskEnd::Failed),
            ["BLOCKED", task, "reported"] => (task, TaskEnd::Blocked),
            ["TASK", task, "cancelled"] => (task, TaskEnd::Cancelled),
            ["TASK", task, "queued"] => {
                return task.parse().map(|task| Self::Waits(WorkId(task))).map_err(|_| unreadable());
            }
            ["TASK", _, "assigned", _]
            | ["TASK", _, "split", _, _, ..]
            | ["FAIL", _, "timeout" | "context-overflow"]
            | ["BLOCKED", _, "sandbox-denied" | "part-failed"]
            | ["QUOTA-EXHAUSTED", _] => return Ok(Self::Else),
            _ => return Err(unreadable()),
        };
        task.parse().map(|task| Self::Over(WorkId(task), end)).map_err(|_| unreadable())
    }

    fn task(self) -> Option<WorkId> {
        match self {
            Self::Over(task, _) | Self::Waits(task) => Some(task),
            Self::Else => None,
        }
    }
}

/// The knowledge of a machine that reads the work channel of a network.
#[derive(Debug, Default)]
struct Reader {
    /// Tasks that are over.
    over: BTreeMap<WorkId, TaskEnd>,
    /// Tasks with missing lines: their network was away for so long that lines were left out.
    missed: BTreeSet<WorkId>,
}

/// An agent's report by its tools on its task.
#[derive(Debug, Clone, Copy)]
struct Word {
    session: SessionId,
    work: WorkId,
    end: TaskEnd,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// Tasks that are over, and how.
    over: BTreeMap<WorkId, TaskEnd>,
    /// Posts to work channels that are not delivered yet.
    owed: HashMap<PostId, Says>,
    readers: BTreeMap<NetworkName, Reader>,
    /// The reports of agents in their last sessions.
    said: HashMap<AgentName, Word>,
    /// The agent that has just ended a session, with its report there.
    due: Option<(AgentName, Word)>,
}

/// Returns the line of a post that is for machines.
fn work_line(post: &Post) -> Option<&str> {
    match &post.body {
        Body::Notice(Notice::WorkLine { line }) if post.to == Target::Work => Some(line),
        _ => None,
    }
}

impl Ends {
    /// Records a batch that is on disk.
    pub(crate) fn committed(&mut self, batch: &Batch, receipt: &Receipt) -> Result<(), String> {
        let mut ends = Vec::new();
        for entry in batch.writes.iter().flat_map(|write| &write.entries) {
            match entry {
                Entry::Agent(Event::TaskEnded { work: task, end, .. })
                | Entry::Fleet(FleetEvent::Board { event: BoardEvent::Ended { task, end, .. } }) => {
                    if let Some(before) = self.over.insert(*task, *end) {
                        return Err(format!("task {task} is {end:?}, and was {before:?} already"));
                    }
                    ends.push((*task, *end));
                }
                // The task is tried once more, if it was over.
                Entry::Agent(Event::TaskHandedBack { work: task, .. })
                | Entry::Fleet(FleetEvent::Board { event: BoardEvent::Reopened { task, .. } }) => {
                    self.over.remove(task);
                }
                _ => {}
            }
        }
        for network in NETWORKS {
            self.each_end_is_one_line(&ends, receipt, network)?;
        }
        Ok(())
    }

    fn each_end_is_one_line(
        &mut self,
        ends: &[(WorkId, TaskEnd)],
        receipt: &Receipt,
        network: &str,
    ) -> Result<(), String> {
        let mut lines = Vec::new();
        for post in receipt.posts.iter().filter(|post| post.network.as_str() == network) {
            let Some(line) = work_line(post) else { continue };
            let says = Says::of(line)?;
            if let Says::Over(task, end) = says {
                lines.push((task, end));
            }
            self.owed.insert(post.id, says);
        }
        if *ends == lines {
            Ok(())
        } else {
            Err(format!("{ends:?} have ended, and the lines for {network} say {lines:?}"))
        }
    }

    /// Records lines that have arrived on a network.
    pub(crate) fn arrived(&mut self, network: &NetworkName, lines: &[Line]) -> Result<(), String> {
        for line in lines.iter().filter(|line| work_line(&line.source).is_some()) {
            let says = Says::of(&line.text)?;
            // A line that is said again may be settled by now.
            if self.owed.get(&line.post).is_some_and(|owed| *owed != says) {
                return Err(format!("post {} reads {:?} on {network}", line.post, line.text));
            }
            let reader = self.readers.entry(network.clone()).or_default();
            match says {
                Says::Over(task, end) => drop(reader.over.insert(task, end)),
                Says::Waits(task) => drop(reader.over.remove(&task)),
                Says::Else => {}
            }
        }
        Ok(())
    }

    /// Records that the deliveries of posts are on disk.
    pub(crate) fn settled(&mut self, settled: &[Settled]) {
        for settled in settled {
            match settled {
                Settled::Delivered(delivered) if delivered.lines.is_none() => {
                    self.owed.remove(&delivered.post);
                }
                Settled::Delivered(_) => {}
                Settled::Collapsed(collapsed) => {
                    let reader = self.readers.entry(collapsed.line.network.clone()).or_default();
                    for post in collapsed.left_out.iter().chain([&collapsed.line.id]) {
                        reader.missed.extend(self.owed.remove(post).and_then(Says::task));
                    }
                }
            }
        }
    }

    /// Records an agent's event; `agent` is its state before.
    pub(crate) fn heard(&mut self, name: &AgentName, event: &Event, agent: &Agent) -> Result<(), String> {
        match event {
            Event::TaskReported { session, work, report } => {
                let word = Word { session: *session, work: *work, end: report.end };
                self.said.insert(name.clone(), word);
            }
            Event::SessionEnded { session, outcome, .. } => {
                let word = self.said.get(name).filter(|word| word.session == *session);
                // A person's decision takes precedence, and another agent may be able to do what the sandbox denied
                // this one.
                let given_up = matches!(
                    agent.phase,
                    Phase::Stopping { reason: StopReason::Abort | StopReason::Cancel, .. }
                );
                let denied = |word: &&Word| {
                    word.end == TaskEnd::Blocked && outcome.category == Category::SandboxDenial
                };
                let has = |word: &&Word| agent.current.as_ref().is_some_and(|work| work.id == word.work);
                let counts = word.filter(|word| !given_up && !denied(word) && has(word));
                self.due = counts.map(|word| (name.clone(), *word));
            }
            Event::TaskEnded { work, end, .. } => {
                if let Some((_, word)) = self.due.take_if(|(of, word)| *of == *name && word.work == *work)
                    && word.end != *end
                {
                    let said = word.end;
                    return Err(format!("task {work} is {end:?}, and {name} has said {said:?}"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks after a batch: a task on whose end its agent has reported is over with its session.
    pub(crate) fn what_was_said_is_how_it_ends(&mut self) -> Result<(), String> {
        match self.due.take() {
            Some((name, word)) => Err(format!("{name} has said {word:?}, and its session is over without")),
            None => Ok(()),
        }
    }

    /// A report that an agent is told to be recorded is on disk.
    pub(crate) fn its_word_is_on_disk(&self, name: &AgentName, session: SessionId) -> Result<(), String> {
        // It may have said something in its next session by now.
        if self.said.get(name).is_some_and(|word| word.session >= session) {
            Ok(())
        } else {
            Err(format!("{name} has said in {session} how its task stands, and that is not on disk"))
        }
    }

    /// A reader of a work channel knows of every task whether it is over, and how.
    pub(crate) fn machines_know_how_every_task_ended(&self) -> Result<(), String> {
        let nothing = Reader::default();
        for network in NETWORKS {
            let reader = self.readers.get(&NetworkName::from(network)).unwrap_or(&nothing);
            let tasks: BTreeSet<WorkId> = self.over.keys().chain(reader.over.keys()).copied().collect();
            for task in tasks.difference(&reader.missed) {
                let (is, known) = (self.over.get(task), reader.over.get(task));
                if is != known {
                    return Err(format!("task {task} is {is:?}, and who reads {network} thinks {known:?}"));
                }
            }
        }
        Ok(())
    }
}
