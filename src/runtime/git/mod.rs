//! herder's own git: commands that run nothing of a repository's.
//!
//! A repository may be hostile, `.git` included, and an agent may change it while herder looks. So nothing that it
//! names is run: no hook, filter, alias, monitor, text conversion, external diff, credential helper, remote helper or
//! submodule. Where objects are read or fetched, git reads a configuration of herder's own ([`mirror`]) in place of the
//! repository's. Each command has a time limit and a maximum of output, and its whole process tree is ended.
//!
//! [`checkout`] makes, reads and removes the clones of tasks; [`diff`] compares them with their base; [`merge`] brings
//! accepted work there, and `scratch` is where it is checked before.

pub(crate) mod checkout;
pub(crate) mod diff;
mod files;
pub(crate) mod merge;
pub(super) mod mirror;
mod ready;
mod remote;
mod scratch;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use super::process::{Owned, Tree, spawn};
use super::protocol::Invocation;
use super::{ProcessTrees, environment};
use crate::core::detail::{Detail, GitReason};

/// Time between SIGTERM and SIGKILL for a `git` command: there is nothing to save.
const GRACE: Duration = Duration::from_millis(200);

/// Maximum length of git's own message that is kept, in bytes.
const MESSAGE_MAX: usize = 2048;

/// git settings that override those of a repository.
///
/// `core.alternateRefsCommand` is given to a shell with a path behind it, so that it cannot be empty.
const SETTINGS: [(&str, &str); 21] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.untrackedCache", "false"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.sshCommand", "false"),
    ("core.alternateRefsCommand", ":"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("submodule.recurse", "false"),
    ("transfer.fsckObjects", "true"),
    ("fetch.fsckObjects", "true"),
    ("diff.ignoreSubmodules", "all"),
    ("color.ui", "false"),
    ("advice.detachedHead", "false"),
    ("log.showSignature", "false"),
    ("safe.directory", "*"),
];

/// Environment variables that keep a `git` command away from everything but its arguments.
const VARIABLES: [(&str, &str); 15] = [
    ("HOME", "/nonexistent"),
    ("LC_ALL", "C"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
    ("GIT_ASKPASS", "false"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_MERGE_AUTOEDIT", "no"),
];

/// Protocols by which a remote may be reached. `ext` runs a command that the address names.
const REMOTE_PROTOCOLS: &str = "file:git:http:https:ssh";

/// Those of [`VARIABLES`] that a command which reaches a remote does without: it reads the operator's own settings.
const WITHOUT_LOGIN: [&str; 4] = ["HOME", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_SSH_COMMAND"];

/// Those of [`SETTINGS`] that the operator's own settings replace for such a command.
const LOGIN_SETTINGS: [&str; 3] = ["core.sshCommand", "credential.helper", "protocol.allow"];

/// The limits of a `git` command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Maximum duration.
    pub(crate) time: Duration,
    /// Maximum length of its output, in bytes.
    pub(crate) output: usize,
}

/// The output of a `git` command that has ended by itself.
#[derive(Debug)]
pub(crate) struct Output {
    /// Exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// Standard output, at most as long as the limit.
    pub(crate) out: Vec<u8>,
    /// True if there was more output than the limit; the command was ended then.
    pub(crate) cut: bool,
    /// End of its messages.
    pub(crate) said: String,
}

/// Runs `git` commands that execute nothing that a repository names.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    trees: ProcessTrees,
    /// Value of `HERDER_SESSION`, by which a later herder finds the command if this one is killed.
    marker: String,
    /// The `PATH` by which git is found.
    path: Option<String>,
}

/// A `git` command to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The working directory of the command.
    pub(crate) folder: &'a Path,
    /// Its arguments.
    pub(crate) words: &'a [&'a OsStr],
    /// Further environment variables.
    pub(crate) own: &'a [(&'a str, &'a Path)],
    /// Its standard input.
    pub(crate) input: &'a [u8],
    /// True if it may use another repository on this machine, which `clone` and `fetch` do.
    pub(crate) local: bool,
}

impl Git {
    /// Returns a way to run `git` with this marker, found by this `PATH`.
    pub(crate) fn new(trees: ProcessTrees, marker: String, path: Option<String>) -> Self {
        Self { trees, marker, path }
    }

    /// Returns the service that starts and ends the commands.
    pub(crate) fn trees(&self) -> &ProcessTrees {
        &self.trees
    }

    /// Runs a command that must succeed; returns its whole output.
    ///
    /// # Errors
    /// The command cannot be started, fails, takes too long or says too much.
    pub(crate) async fn ask(&self, call: Call<'_>, limits: Limits) -> Result<Vec<u8>, Detail> {
        let named = || name(call.words);
        let output = Box::pin(self.run(call, limits)).await?;
        if output.cut {
            return Err(GitReason::TooMuch { command: named() }.into());
        }
        if output.code == Some(0) {
            return Ok(output.out);
        }
        Err(GitReason::Failed { command: named() }.with(output.said.trim().to_owned()))
    }

    /// Runs a command, whatever it exits with.
    ///
    /// # Errors
    /// The command cannot be started, or takes too long.
    pub(crate) async fn run(&self, call: Call<'_>, limits: Limits) -> Result<Output, Detail> {
        let environment = self.environment(call.own, call.local);
        self.run_git(call, environment, limits).await
    }

    /// Runs a command that reaches a remote with the operator's login, whatever it exits with: with the operator's own
    /// settings of git, and these environment variables.
    ///
    /// # Errors
    /// The command cannot be started, or takes too long.
    pub(crate) async fn run_remote(
        &self,
        call: Call<'_>,
        login: &BTreeMap<String, String>,
        limits: Limits,
    ) -> Result<Output, Detail> {
        let mut environment = self.environment(call.own, false);
        for name in WITHOUT_LOGIN {
            environment.remove(name);
        }
        let kept = SETTINGS.iter().filter(|(name, _)| !LOGIN_SETTINGS.contains(name));
        set(&mut environment, kept);
        environment.insert("GIT_ALLOW_PROTOCOL".to_owned(), REMOTE_PROTOCOLS.to_owned());
        environment.insert("SSH_ASKPASS".to_owned(), "false".to_owned());
        environment.insert("SSH_ASKPASS_REQUIRE".to_owned(), "force".to_owned());
        environment.extend(login.iter().map(|(name, value)| (name.clone(), value.clone())));
        self.run_git(call, environment, limits).await
    }

    async fn run_git(
        &self,
        call: Call<'_>,
        environment: BTreeMap<String, String>,
        limits: Limits,
    ) -> Result<Output, Detail> {
        let invocation = Invocation {
            program: "git".to_owned(),
            arguments: call.words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            environment,
            waits: false,
        };
        self.run_program(invocation, (call.folder, call.input), &name(call.words), limits).await
    }

    /// Runs another program with this input, whatever it exits with. `named`: its name for people.
    ///
    /// # Errors
    /// The program cannot be started, or takes too long.
    pub(crate) fn run_program<'a>(
        &'a self,
        mut invocation: Invocation,
        with: (&'a Path, &'a [u8]),
        named: &'a str,
        limits: Limits,
    ) -> BoxFuture<'a, Result<Output, Detail>> {
        invocation.environment.insert(environment::MARKER.to_owned(), self.marker.clone());
        Box::pin(self.output(invocation, with, named, limits))
    }

    async fn output(
        &self,
        invocation: Invocation,
        (folder, input): (&Path, &[u8]),
        named: &str,
        limits: Limits,
    ) -> Result<Output, Detail> {
        let running = self.trees.running().clone();
        let until = running.now() + limits.time;
        let left = || until.saturating_duration_since(running.now());
        let (mut owned, ()) = self.begin(invocation, folder, limits.time).await?;
        let (stdin, stdout, stderr) =
            (owned.child.stdin.take(), owned.child.stdout.take(), owned.child.stderr.take());
        let fed = async move {
            let Some(mut stdin) = stdin else { return };
            // A command that reads no input has ended, which its exit code tells.
            let _ = stdin.write_all(input).await;
        };
        let most = limits.output;
        let read = async {
            let out = async {
                let mut out = Vec::new();
                let Some(stdout) = stdout else { return (out, false) };
                let _ = stdout.take(most as u64 + 1).read_to_end(&mut out).await;
                let cut = out.len() > most;
                out.truncate(most);
                (out, cut)
            };
            tokio::pin!(out);
            let said = last_of(stderr);
            tokio::pin!(said);
            let mut message = None;
            loop {
                tokio::select! {
                    (out, cut) = &mut out => {
                        // A command with too much output is not waited for.
                        let said = match message {
                            Some(said) => said,
                            None if cut => String::new(),
                            None => said.await,
                        };
                        return (out, cut, said);
                    }
                    said = &mut said, if message.is_none() => message = Some(said),
                }
            }
        };
        let done = running.within(left(), async { tokio::join!(fed, read).1 }).await;
        let whole = done.as_ref().is_some_and(|(_, cut, _)| !cut);
        let status = if whole { running.within(left(), owned.wait()).await } else { None };
        if status.is_none() {
            let tree = Tree { root: Some(owned.identity), ..Tree::marked(self.marker.clone()) };
            self.trees.end(&tree, GRACE).await;
        }
        match (done, status) {
            (Some((out, cut, said)), Some(status)) => {
                Ok(Output { code: status.ok().and_then(|status| status.code()), out, cut, said })
            }
            (Some((out, true, said)), None) => Ok(Output { code: None, out, cut: true, said }),
            (_, None) | (None, Some(_)) => Err(GitReason::Late { command: named.to_owned() }.into()),
        }
    }

    async fn begin(
        &self,
        invocation: Invocation,
        folder: &Path,
        within: Duration,
    ) -> Result<(Owned, ()), Detail> {
        let marker = self.marker.clone();
        spawn::begin(&self.trees, folder, &self.marker, within, move |trees, folder| {
            Ok((spawn::spawn(trees, &invocation, folder, &marker)?, ()))
        })
        .await
    }

    fn environment(&self, own: &[(&str, &Path)], local: bool) -> BTreeMap<String, String> {
        let text = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut environment: BTreeMap<String, String> = VARIABLES.iter().map(text).collect();
        let protocols = if local { "file" } else { "none" };
        environment.insert("GIT_ALLOW_PROTOCOL".to_owned(), protocols.to_owned());
        if let Some(path) = &self.path {
            environment.insert("PATH".to_owned(), path.clone());
        }
        for (name, path) in own {
            environment.insert((*name).to_owned(), path.to_string_lossy().into_owned());
        }
        set(&mut environment, SETTINGS.iter());
        environment
    }
}

/// Adds git settings to an environment, which override those of files.
fn set<'a>(
    environment: &mut BTreeMap<String, String>,
    settings: impl Iterator<Item = &'a (&'a str, &'a str)>,
) {
    let mut count = 0;
    for (name, value) in settings {
        environment.insert(format!("GIT_CONFIG_KEY_{count}"), (*name).to_owned());
        environment.insert(format!("GIT_CONFIG_VALUE_{count}"), (*value).to_owned());
        count += 1;
    }
    environment.insert("GIT_CONFIG_COUNT".to_owned(), count.to_string());
}

/// Returns the name of a command for people: `git fetch`.
fn name(words: &[&OsStr]) -> String {
    let word = words.first().map_or_else(String::new, |word| word.to_string_lossy().into_owned());
    format!("git {word}")
}

/// Reads to the end and returns the last part as text.
async fn last_of(reader: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut reader) = reader else { return String::new() };
    let (mut last, mut piece) = (Vec::new(), vec![0_u8; 4096]);
    while let Ok(count @ 1..) = reader.read(&mut piece).await {
        last.extend_from_slice(piece.get(..count).unwrap_or_default());
        let surplus = last.len().saturating_sub(MESSAGE_MAX);
        last.drain(..surplus);
    }
    String::from_utf8_lossy(&last).into_owned()
}

/// Returns words as arguments of a command.
pub(super) fn words<'a>(words: &[&'a str]) -> Vec<&'a OsStr> {
    words.iter().map(|word| OsStr::new(*word)).collect()
}

/// The folders of a repository, and the settings that say how it is stored.
#[derive(Debug, Clone)]
pub(super) struct Repository {
    /// Its folders.
    pub(super) places: mirror::Places,
    /// Output of `git config --null --list` there.
    pub(super) config: String,
}

impl Repository {
    /// Finds the repository at `path`, which is its top folder or a bare repository itself.
    ///
    /// # Errors
    /// There is none, or git cannot tell.
    pub(super) async fn at(git: &Git, path: &Path, limits: Limits) -> Result<Self, Detail> {
        let none = || GitReason::NoRepository { path: path.display().to_string() };
        let above = path.parent().unwrap_or(path);
        let own = [("GIT_CEILING_DIRECTORIES", above)];
        let call = |words| Call { folder: path, words, own: &own, input: &[], local: false };
        let asked = words(&["rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-common-dir"]);
        let found = Box::pin(git.run(call(&asked), limits)).await?;
        if found.code != Some(0) {
            return Err(none().with(found.said.trim().to_owned()));
        }
        let found = String::from_utf8_lossy(&found.out).into_owned();
        let [own_git, common] = <[&str; 2]>::try_from(found.lines().collect::<Vec<_>>())
            .map_err(|_| none().with(String::new()))?;
        let config = git.ask(call(&words(&["config", "--null", "--list"])), limits).await?;
        Ok(Self {
            places: mirror::Places {
                git: PathBuf::from(own_git),
                common: PathBuf::from(common),
                top: path.to_owned(),
            },
            config: String::from_utf8_lossy(&config).into_owned(),
        })
    }
}
