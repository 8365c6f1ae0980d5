//! The clone and the branch of a task.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::id::WorkId;
use super::work::Work;

/// Name of the folder below the data folder in which the clones of tasks are.
pub const FOLDER: &str = "tasks";

/// Maximum length of the part of a branch's name that comes from the task's text, in bytes.
const SLUG_MAX: usize = 40;

/// A repository in which each task of an agent gets a clone and a branch of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Repository {
    /// Path of the repository on the agent's machine.
    pub path: PathBuf,
    /// The branch or commit that tasks begin from; empty: the default branch of its remote, else its HEAD.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// Files of the repository's folder that are copied into each clone although git does not track them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy: Vec<String>,
    /// Name of the author of the agent's commits; empty: the agent's own git settings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub git_name: String,
    /// Address of the author of the agent's commits; empty: the agent's own git settings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub git_email: String,
}

/// The clone of a task as it is planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Number of the task.
    pub task: WorkId,
    /// The repository, as the agent's settings named it when the task began.
    pub repository: Repository,
    /// Name of the task's branch in the clone.
    pub branch: String,
}

impl Plan {
    /// Returns the plan for the clone of a task that begins with this work.
    #[must_use]
    pub fn new(repository: &Repository, work: &Work) -> Self {
        let (task, slug) = (work.task(), slug(&work.text));
        Self { task, repository: repository.clone(), branch: format!("herder/{task}-{slug}") }
    }
}

/// The state of a task's clone and branch after a look at them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Held {
    /// The commit that the task began from.
    pub base: String,
    /// The last commit of the task.
    pub head: String,
    /// Number of commits since the base.
    pub commits: u32,
    /// Number of changed and new files that are not committed.
    pub uncommitted: u32,
    /// Number of commits on other branches of the clone, which are nowhere else.
    pub aside: u32,
}

impl Held {
    /// Returns true if nothing was changed since the base.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        (self.commits, self.uncommitted, self.aside) == (0, 0, 0)
    }
}

/// Returns the first words of a text as part of a branch's name: lower-case ASCII letters, digits and hyphens.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let room = SLUG_MAX.saturating_sub(slug.len() + 1);
        if word.len() > room && !slug.is_empty() {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(word.chars().take(SLUG_MAX).map(|c| c.to_ascii_lowercase()));
    }
    if slug.is_empty() { "task".to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_named_after_the_first_words_of_its_task() {
        for (text, expected) in [
            ("Port the build!", "port-the-build"),
            ("", "task"),
            ("修正", "task"),
            ("../../etc; rm -rf ~", "etc-rm-rf"),
            ("a.lock", "a-lock"),
            (
                "write a parser for the configuration file of the program",
                "write-a-parser-for-the-configuration",
            ),
        ] {
            assert_eq!(slug(text), expected);
        }
        assert_eq!(slug(&"x".repeat(100)).len(), SLUG_MAX);
    }
}
