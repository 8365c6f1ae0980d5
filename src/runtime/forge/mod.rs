//! Pull requests at a forge: a branch is pushed, a pull request opened, and looked at until it is merged or closed.
//!
//! herder speaks to a forge through a program with the operator's login: [`gh`], or one of the operator's own
//! ([`program`]). No agent gets that login, and nothing of a repository's is run.

mod gh;
mod program;
mod remote;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::environment;
use super::git::Limits;
use super::git::checkout::Checkouts;
use crate::core::checkout::Plan;
use crate::core::cut;
use crate::core::detail::Detail;
use crate::core::pull::{Client, Forge, Look, Opened, PullRequest};
use crate::redact::Redactor;

pub(crate) use remote::Remote;

/// The limits of a question to a forge. A list of a hundred comments may have a megabyte.
const QUESTION: Limits = Limits { time: Duration::from_secs(60), output: 8 * 1024 * 1024 };

/// Maximum length of a pull request's title, in bytes.
const TITLE_MAX: usize = 120;

/// Maximum length of the text of a pull request, in bytes; GitHub takes 65,536 characters.
const BODY_MAX: usize = 16 * 1024;

/// Maximum number of answers that are kept.
const ANSWERS_MAX: usize = 400;

/// Answers of forges with their `ETag`, by address: a question whose answer has not changed costs nothing there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers(Arc<Mutex<BTreeMap<String, Answer>>>);

/// An answer of a forge.
#[derive(Debug, Clone)]
struct Answer {
    tag: String,
    body: Vec<u8>,
}

impl Answers {
    fn of(&self, address: &str) -> Option<Answer> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(address).cloned()
    }

    fn keep(&self, address: String, answer: Answer) {
        let mut answers = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if answers.len() >= ANSWERS_MAX {
            answers.clear();
        }
        answers.insert(address, answer);
    }
}

/// Accepted work for which a pull request is to be open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Proposal {
    /// The task's clone.
    pub(crate) plan: Plan,
    /// The accepted commit.
    pub(crate) head: String,
    /// The commit that was pushed before; `None` if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// The task's text.
    pub(crate) text: String,
    /// The agent's last words about it.
    #[serde(default)]
    pub(crate) note: String,
}

impl Proposal {
    fn title(&self) -> String {
        let line =
            self.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("Work of an agent");
        cut::one_line(&crate::core::clean::clean(line), TITLE_MAX)
    }

    fn body(&self) -> String {
        let note = self.note.trim();
        let said = if note.is_empty() { String::new() } else { format!("{note}\n\n") };
        let whole = format!("{said}Task {}:\n\n{}\n", self.plan.task, self.text.trim());
        cut::both_ends(&crate::core::clean::clean(&whole), BODY_MAX)
    }
}

/// A forge as it is reached from this machine.
pub(crate) struct Reached<'a> {
    pub(crate) client: &'a Client,
    /// With the login, which the client gets as well.
    pub(crate) checkouts: &'a Checkouts,
    pub(crate) answers: &'a Answers,
}

/// Returns the environment variables with the login: for the client, and for git when it reaches a remote.
///
/// # Errors
/// A file with a variable cannot be read.
pub(crate) fn login(forge: &Forge, redactor: &Redactor) -> Result<BTreeMap<String, String>, Detail> {
    let mut inherit = forge.inherit_env.clone();
    inherit.extend(["HOME", "PATH"].map(str::to_owned));
    let own = environment::own_for(&inherit, &BTreeSet::new());
    let mut login = environment::chosen(&inherit, &forge.env, &own);
    let secrets = environment::from_files(&forge.env_files)?;
    let tokens = login.iter().filter(|(name, _)| name.ends_with("TOKEN"));
    let secret = |(_, secret): (&String, &String)| SecretString::from(secret.clone());
    redactor.learn(&secrets.iter().chain(tokens).map(secret).collect::<Vec<_>>());
    login.extend(secrets);
    Ok(login)
}

impl Reached<'_> {
    /// Pushes the branch and opens a pull request, unless one is open for it. Repeated, it finds what it has done.
    ///
    /// # Errors
    /// The remote or the forge cannot be reached, or refuses.
    pub(crate) async fn open(&self, proposal: &Proposal) -> Result<Opened, Detail> {
        let plan = &proposal.plan;
        let (address, base) = self.checkouts.remote_of(plan).await?;
        let before = proposal.before.as_deref();
        Box::pin(self.checkouts.push(plan, (&address, &proposal.head), before)).await?;
        let remote = Remote::of(&address);
        let wanted = Wanted {
            branch: plan.branch.clone(),
            base: base.clone(),
            title: proposal.title(),
            body: proposal.body(),
        };
        let (number, link) = match self.client {
            Client::Gh => self.open_by_gh(&remote.known()?, &wanted).await?,
            Client::Program(path) => self.open_by_program(path, &remote, &wanted).await?,
        };
        Ok(Opened { number, link, branch: base, head: proposal.head.clone() })
    }

    /// Looks at a pull request.
    ///
    /// # Errors
    /// The forge cannot be reached, or refuses.
    pub(crate) async fn look(&self, plan: &Plan, pull: &PullRequest) -> Result<Look, Detail> {
        let (address, _) = self.checkouts.remote_of(plan).await?;
        let remote = Remote::of(&address);
        match self.client {
            Client::Gh => self.look_by_gh(&remote.known()?, pull).await,
            Client::Program(path) => self.look_by_program(path, &remote, pull).await,
        }
    }
}

/// A pull request that is to be opened.
#[derive(Debug, Serialize)]
struct Wanted {
    /// The branch with the work.
    branch: String,
    /// The branch that it gets into.
    base: String,
    title: String,
    body: String,
}
