//! The card of a task, beside its text: priority, needs, parent and failed attempts.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::checkout::Plan;
use super::detail::Detail;
use super::file::KeptFile;
use super::id::{AgentName, NetworkName, SessionId, WorkId};
use super::outcome::{Category, Usage};
use super::review::ReviewOf;
use super::spec::{AgentSpec, Permissions, Rights};
use super::time::Timestamp;
use super::work::TaskEnd;

/// Maximum number of parts of a task; more than a person can keep in view.
pub const PARTS_MAX: usize = 5;

/// Maximum depth of splits: parts, and parts of parts.
pub const DEPTH_MAX: u8 = 2;

/// Maximum number of tags of an agent, and of tags that a task needs.
pub const TAGS_MAX: usize = 10;

/// Maximum number of tasks that a task waits for; more than a person types in one line.
pub const AFTER_MAX: usize = 20;

/// Maximum length of the command of a task's check, in bytes: a command line that fits in a chat message.
pub const CHECK_MAX: usize = 1000;

/// Maximum length of a tag, in bytes.
pub const TAG_MAX: usize = 30;

/// Number of failed attempts that a card keeps; older ones are in the agents' histories.
pub const ATTEMPTS_KEPT: usize = 10;

/// Priority of a task: a more urgent one is started before others that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// The task is started after all other tasks.
    Low,
    /// Tasks of this priority are started in the order of arrival.
    #[default]
    Normal,
    /// The task is started before all other tasks.
    High,
}

impl Priority {
    /// The words for priorities, in commands and in data.
    pub const WORDS: [&'static str; 3] = ["high", "normal", "low"];

    /// Returns the priority that is written as `word`; `None` if there is none.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        [Self::High, Self::Normal, Self::Low].into_iter().find(|priority| priority.word() == word)
    }

    /// Returns the priority's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_normal(&self) -> bool {
        *self == Self::Normal
    }
}

/// Requirements that an agent must meet to be given a task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Needs {
    /// Minimum permissions of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// Tags that the agent must have, all of them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub tags: BTreeSet<String>,
}

impl Needs {
    /// Returns true if there are no needs, so that any agent meets them.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.permissions.is_none() && self.tags.is_empty()
    }

    /// Returns true if an agent with this configuration meets the needs.
    #[must_use]
    pub fn are_met_by(&self, spec: &AgentSpec) -> bool {
        self.permissions.is_none_or(|needed| spec.permissions >= needed)
            && self.tags.iter().all(|tag| spec.tags.contains(tag))
    }

    /// Returns the needs as people type them: `full,rust`.
    #[must_use]
    pub fn words(&self) -> String {
        let permissions = self.permissions.map(Permissions::word);
        permissions.into_iter().chain(self.tags.iter().map(String::as_str)).collect::<Vec<_>>().join(",")
    }

    /// Parses the form that [`Needs::words`] writes: a permission and tags, in any order.
    ///
    /// # Errors
    /// The word that is neither, or that is one too many.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut needs = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match Permissions::of(word) {
                Some(permissions) if needs.permissions.is_none() => needs.permissions = Some(permissions),
                None if is_tag(word) && needs.tags.len() < TAGS_MAX => {
                    needs.tags.insert(word.to_owned());
                }
                Some(_) | None => return Err(word.to_owned()),
            }
        }
        if needs.is_none() { Err(text.to_owned()) } else { Ok(needs) }
    }
}

/// True if a word can be a tag: lower-case letters, digits and inner hyphens, and not the name of a permission.
#[must_use]
pub fn is_tag(word: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let fits = (1..=TAG_MAX).contains(&word.len()) && word.bytes().all(inner);
    fits && !word.starts_with('-') && !word.ends_with('-') && Permissions::of(word).is_none()
}

/// A failed session of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The agent that made the attempt.
    pub agent: AgentName,
    /// Number of the agent's session.
    pub session: SessionId,
    /// Category of the session's outcome.
    pub category: Category,
    /// Details of the session's outcome, such as its exit code.
    #[serde(default, skip_serializing_if = "Detail::is_empty")]
    pub detail: Detail,
    /// Time at which the failed session ended.
    pub at: Timestamp,
}

/// Tokens and dollars that the sessions of a task have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Number of tokens sent and received.
    pub tokens: u64,
    /// Cost in millionths of a dollar.
    pub microdollars: u64,
}

impl Spent {
    /// Returns true if nothing was used, as far as the runtimes report.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the usage of one session.
    pub fn add(&mut self, usage: Usage) {
        self.tokens = self.tokens.saturating_add(usage.tokens());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "dollars of a session are neither negative nor near the largest number"
        )]
        let micro = (usage.sane().cost_usd * 1e6).round() as u64;
        self.microdollars = self.microdollars.saturating_add(micro);
    }

    /// Adds other usage.
    pub fn join(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.microdollars = self.microdollars.saturating_add(other.microdollars);
    }

    /// Returns the cost in dollars.
    #[must_use]
    pub fn dollars(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a sum of dollars is far below where it matters")]
        let micro = self.microdollars as f64;
        micro / 1e6
    }
}

/// A task that must be done before another one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// Number of the task that must be done.
    pub task: WorkId,
    /// Its outcome; `None` while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<TaskEnd>,
}

/// Additional data of a task: priority, needs, the tasks before it, its check, its place among split tasks, failed attempts, and
/// usage. Most tasks keep the default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    /// Priority of the task.
    #[serde(skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    /// Requirements that an agent must meet.
    #[serde(skip_serializing_if = "Needs::is_none")]
    pub needs: Needs,
    /// Tasks that must be done before it begins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Before>,
    /// Command that must succeed before it is done, in place of the check that its agent's settings name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<str>>,
    /// Number of the task that it is a part of; `None` if it is no part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<WorkId>,
    /// The rights that an agent may have at most that gets it: those of the agent that added it as a part of its own
    /// task. A person who assigns it to another agent lifts the bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<Rights>,
    /// Depth of the split; 0 for a task that is no part.
    #[serde(skip_serializing_if = "is_zero")]
    pub depth: u8,
    /// Failed sessions, oldest first; the last [`ATTEMPTS_KEPT`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// Time at which the board handed the task to its agent; `None` if the task was given to the agent directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub came: Option<Timestamp>,
    /// The chat thread in which it was given; the agent's words about it are posted there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ChatThread>,
    /// Usage of the task's sessions so far.
    #[serde(skip_serializing_if = "Spent::is_none")]
    pub spent: Spent,
    /// Number of the task in whose clone the work is done; `None` if it is a task itself, or its agent has no
    /// repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<WorkId>,
    /// The task's clone, while the task is on its way from one agent to another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkout: Option<Box<Plan>>,
    /// The review that the task is, of another agent's task; `None` for any other task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<Box<ReviewOf>>,
    /// The files that came with it, at most [`FILES_MAX`](super::file::FILES_MAX).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<KeptFile>,
}

/// A thread of a chat channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatThread {
    /// Name of the chat network that the thread belongs to.
    pub network: NetworkName,
    /// The network's own id of the thread.
    pub id: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(depth: &u8) -> bool {
    *depth == 0
}

impl Card {
    /// The card of a task for which nothing was specified and that is no part.
    pub(super) const PLAIN: Self = Self {
        priority: Priority::Normal,
        needs: Needs { permissions: None, tags: BTreeSet::new() },
        after: Vec::new(),
        check: None,
        parent: None,
        most: None,
        depth: 0,
        attempts: Vec::new(),
        came: None,
        thread: None,
        spent: Spent { tokens: 0, microdollars: 0 },
        of: None,
        checkout: None,
        review: None,
        files: Vec::new(),
    };

    /// Adds a failed session; the oldest one makes room.
    pub fn tried(&mut self, attempt: Attempt) {
        if self.attempts.len() >= ATTEMPTS_KEPT {
            self.attempts.remove(0);
        }
        self.attempts.push(attempt);
    }

    /// Returns true if an agent with this configuration meets the task's needs, and has a clone for its check to run in.
    #[must_use]
    pub fn is_for(&self, spec: &AgentSpec) -> bool {
        self.needs.are_met_by(spec)
            && (self.check.is_none() || spec.repository.is_some())
            && self.is_within(spec.rights())
    }

    /// Returns true if an agent with these rights may get the task, whatever it needs.
    #[must_use]
    pub fn is_within(&self, rights: Rights) -> bool {
        self.most.is_none_or(|most| rights.are_within(most))
    }

    /// Returns the card for a part of the task that has this card.
    #[must_use]
    pub fn of_part(&self, parent: WorkId) -> Self {
        let (priority, needs, depth) = (self.priority, self.needs.clone(), self.depth.saturating_add(1));
        let (after, check, most) = (self.after.clone(), self.check.clone(), self.most);
        let (thread, files) = (self.thread.clone(), self.files.clone());
        let parent = Some(parent);
        Self { priority, needs, after, check, parent, most, depth, thread, files, ..Self::default() }
    }

    /// Returns the tasks that must be done before this one and are not.
    pub fn awaited(&self) -> impl Iterator<Item = WorkId> {
        self.after.iter().filter(|before| before.end != Some(TaskEnd::Done)).map(|before| before.task)
    }

    /// Returns the task that this one waits for although it was not done.
    #[must_use]
    pub fn awaits_in_vain(&self) -> Option<WorkId> {
        let in_vain = |before: &&Before| before.end.is_some_and(|end| end != TaskEnd::Done);
        self.after.iter().find(in_vain).map(|before| before.task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_a_permission_and_tags() {
        let needs = Needs::parse("rust, full,gpu").expect("they are");
        assert_eq!((needs.permissions, needs.words().as_str()), (Some(Permissions::Full), "full,gpu,rust"));
        assert_eq!(Needs::parse(&needs.words()), Ok(needs));
        for (text, wrong) in
            [("", ""), (",", ","), ("full,read-only", "read-only"), ("a,B", "B"), ("-x", "-x")]
        {
            assert_eq!(Needs::parse(text), Err(wrong.to_owned()));
        }
    }

    #[test]
    fn an_agent_suffices_if_it_may_as_much_and_has_every_tag() {
        let name = AgentName::new("spark").expect("a name");
        let mut spec = AgentSpec::new(name, crate::spec::Runtime::Claude, "/srv".into());
        spec.tags = vec!["rust".to_owned(), "gpu".to_owned()];
        let met = |text: &str| Needs::parse(text).expect("needs").are_met_by(&spec);
        assert!(met("rust") && met("workspace-write,gpu") && met("read-only"));
        assert!(!met("full") && !met("rust,cuda"));
        assert!(Needs::default().are_met_by(&spec));
    }
}
