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
use crate::core::detail::{Detail, GitReason};
use crate::core::pull::{Client, Forge, Look, Opened, PullRequest, PullState};
use crate::core::review::{Landed, Merged};
use crate::redact::{Redactor, addresses};

pub(crate) use remote::Remote;

/// The limits of a question to a forge. A list of a hundred comments may have a megabyte.
const QUESTION: Limits = Limits { time: Duration::from_secs(60), output: 8 * 1024 * 1024 };

/// Maximum length of a pull request's title, in bytes.
const TITLE_MAX: usize = 120;

/// Maximum length of the text of a pull request, in bytes; GitHub takes 65,536 characters.
const BODY_MAX: usize = 16 * 1024;

/// Maximum length of the answers that are kept together, in bytes.
const ANSWERS_MAX: usize = 16 * 1024 * 1024;

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
        let held: usize = answers.values().map(|answer| answer.body.len()).sum();
        if held.saturating_add(answer.body.len()) > ANSWERS_MAX {
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
    /// The pull request that was opened last; `None` if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pull: Option<Box<PullRequest>>,
    /// The task's text.
    pub(crate) text: String,
    /// The agent's last words about it.
    #[serde(default)]
    pub(crate) note: String,
    /// Name and address of the person who gave the task; `None` if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) co_author: Option<String>,
}

impl Proposal {
    fn title(&self) -> String {
        let line =
            self.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("Work of an agent");
        cut::one_line(&crate::core::clean::clean(line), TITLE_MAX)
    }

    fn body(&self) -> String {
        let (note, text) = (self.note.trim(), self.text.trim());
        let whole = if note.is_empty() { text.to_owned() } else { format!("{note}\n\n{text}") };
        let whole = cut::both_ends(&crate::core::clean::clean(&whole), BODY_MAX);
        let with = self.co_author.as_ref().map(|author| format!("Co-authored-by: {author}\n"));
        // The last paragraph is herder's own, so that no words of others are read as its lines.
        format!("{whole}\n\nTask: {}\n{}", self.plan.task, with.unwrap_or_default())
    }
}

/// A forge as it is reached from this machine.
pub(crate) struct Reached<'a> {
    pub(crate) forge: &'a Forge,
    /// With the login, which the client gets as well.
    pub(crate) checkouts: &'a Checkouts,
    pub(crate) answers: &'a Answers,
    pub(crate) redactor: &'a Redactor,
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
    let inherited = forge.inherit_env.iter().filter(|name| Forge::is_login(name));
    let inherited = inherited.filter_map(|name| own.get(name));
    let secret = |secret: &String| SecretString::from(secret.clone());
    redactor.learn(&secrets.values().chain(inherited).map(secret).collect::<Vec<_>>());
    // A proxy may be named with a password.
    for value in login.values() {
        redactor.learn(&addresses::in_text(value));
    }
    login.extend(secrets);
    Ok(login)
}

impl Reached<'_> {
    /// Pushes the branch and opens a pull request, unless one is open for it; or finds that the work was merged there.
    /// Repeated, it finds what it has done.
    ///
    /// # Errors
    /// The remote or the forge cannot be reached, or refuses.
    pub(crate) async fn open(&self, proposal: &Proposal) -> Result<Merged, Detail> {
        let plan = &proposal.plan;
        let base = self.checkouts.base_of(plan).await?;
        let (address, remote) = self.remote(plan).await?;
        if let Some(pull) = proposal.pull.as_deref().filter(|pull| pull.opened.head == proposal.head)
            && let PullState::Merged { commit } = self.ask(&remote, pull).await?.state
        {
            let Opened { branch, head, link, .. } = pull.opened.clone();
            return Ok(Merged::Landed(Landed { branch, commit, head, link }));
        }
        Box::pin(self.checkouts.push(plan, (&address, &proposal.head))).await?;
        let wanted = Wanted {
            branch: plan.branch.clone(),
            base: base.clone(),
            title: proposal.title(),
            body: proposal.body(),
        };
        let (number, link) = match &self.forge.client {
            Client::Gh => self.open_by_gh(&remote.known()?, &wanted).await?,
            Client::Program(path) => self.open_by_program(path, &remote, &wanted).await?,
        };
        let opened = Opened { number, link, branch: base, head: proposal.head.clone() };
        if opened.has_link() {
            return Ok(Merged::Proposed(opened));
        }
        let command = format!("{} open", self.forge.shown());
        Err(GitReason::Forge { command }.with("its answer has no address of the web"))
    }

    /// Looks at a pull request. Where there is news, herder's own copy of the repository is brought up to date, as the
    /// agent may need what is new on the base.
    ///
    /// # Errors
    /// The forge cannot be reached, or refuses.
    pub(crate) async fn look(&self, plan: &Plan, pull: &PullRequest) -> Result<Look, Detail> {
        let (_, remote) = self.remote(plan).await?;
        let look = pull.without_read(self.ask(&remote, pull).await?);
        if !look.failed.is_empty() || !look.remarks.is_empty() {
            Box::pin(self.checkouts.freshen(plan, false)).await?;
        }
        Ok(look)
    }

    async fn ask(&self, remote: &Remote, pull: &PullRequest) -> Result<Look, Detail> {
        match &self.forge.client {
            Client::Gh => self.look_by_gh(&remote.known()?, pull).await,
            Client::Program(path) => self.look_by_program(path, remote, pull).await,
        }
    }

    /// Returns the remote; for GitHub's program one at the host that has the login.
    async fn remote(&self, plan: &Plan) -> Result<(String, Remote), Detail> {
        let address = self.checkouts.address_of(plan).await?;
        self.redactor.learn(&addresses::in_text(&address));
        let remote = Remote::of(&address);
        if self.forge.client == Client::Gh {
            let host = remote.known()?.host;
            let known = self.forge.host.clone();
            if !host.eq_ignore_ascii_case(&known) {
                return Err(GitReason::OtherHost { host, known }.into());
            }
        }
        Ok((address, remote))
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
