//! `herder check`: checks the file, then everything that it names. All problems are reported, whichever check fails.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use rustix::fs::Access;

use super::{Global, MISCONFIGURED, say};
use crate::certificate::Certificate;
use crate::chat::{discord, irc};
use crate::clock::running::Running;
use crate::config::{self, Config, Evaluator, IrcNetwork};
use crate::core::review::OnAccept;
use crate::core::spec::{AgentSpec, Permissions, Runtime};
use crate::evaluator::credential::Credential;
use crate::journal::OpenError;
use crate::runtime::folder::ask;
use crate::runtime::isolation::PUSH;
use crate::runtime::{codex, environment};
use crate::webhook;

/// Maximum time for a login to a chat server in `herder check`; some servers look up names for half a minute first.
const PATIENCE: Duration = Duration::from_secs(60);

/// Maximum time for `herder check` to examine a folder, whose file system may not answer.
const FOLDER_WITHIN: Duration = Duration::from_secs(6);

/// The result of one check of `herder check`, with its text for the person.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    verdict: Verdict,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Good,
    /// herder works with the checked setting, but not completely.
    Note,
    Bad,
}

impl Finding {
    pub(super) fn good(text: String) -> Self {
        Self { verdict: Verdict::Good, text }
    }

    pub(super) fn note(text: String) -> Self {
        Self { verdict: Verdict::Note, text }
    }

    pub(super) fn bad(text: String) -> Self {
        Self { verdict: Verdict::Bad, text }
    }
}

impl From<discord::Finding> for Finding {
    fn from(finding: discord::Finding) -> Self {
        match finding {
            discord::Finding::Good(text) => Self::good(text),
            discord::Finding::Note(text) => Self { verdict: Verdict::Note, text },
            discord::Finding::Bad(text) => Self::bad(text),
        }
    }
}

/// Runs all checks of `herder check`, prints their results and returns the exit code. `offline` leaves out the servers;
/// `webhooks` adds a test event for each webhook.
pub(super) fn check(global: &Global, offline: bool, webhooks: bool) -> ExitCode {
    let file = global.config.display().to_string();
    let config = match config::load(&global.config) {
        Ok(config) => config,
        Err(problems) => {
            say(&problems);
            say(format_args!("{} in {file}", counted(problems.list.len(), "problem")));
            return ExitCode::from(MISCONFIGURED);
        }
    };
    for warning in &config.warnings {
        say(format_args!("note  {}", warning.sentence(&file)));
    }
    let networks = if config.embedded {
        "no network, so that herder opens an IRC server of its own on loopback".to_owned()
    } else {
        counted(config.irc.len() + usize::from(config.discord.is_some()), "network")
    };
    let agents = counted(config.agents.len(), "agent");
    say(format_args!("ok    {file}: {agents}, {networks}"));
    let data_dir = global.data_dir.as_ref().unwrap_or(&config.data_dir);
    let mut findings = vec![data_folder(data_dir)];
    if !config.agents.is_empty() {
        findings.push(super::contained::contained(&global.config));
        findings.extend(super::contained::exposed_data(data_dir, &config.agents).map(Finding::note));
    }
    findings.extend(super::contained::limits(&config.policy, &config.agents));
    findings.extend(of_agents(&config.agents));
    findings.extend(evaluator(&config.evaluator));
    findings.extend(certificate(&config));
    if !offline {
        findings.extend(servers(&config));
    }
    if webhooks {
        findings.extend(endpoints(&config));
    }
    for finding in &findings {
        let verdict = match finding.verdict {
            Verdict::Good => "ok  ",
            Verdict::Note => "note",
            Verdict::Bad => "FAIL",
        };
        say(format_args!("{verdict}  {}", config::printable(&config.redactor.redact(&finding.text))));
    }
    let bad = findings.iter().filter(|finding| finding.verdict == Verdict::Bad).count();
    if bad == 0 {
        return ExitCode::SUCCESS;
    }
    say(format_args!("{bad} of {} checks failed", findings.len()));
    ExitCode::from(super::FAILED)
}

/// Checks that the TLS certificate of `[http]` can be read; `None` if none is configured.
fn certificate(config: &Config) -> Option<Finding> {
    let files = config.http.as_ref()?.tls.as_ref()?;
    Some(match Certificate::read(files) {
        Ok(_) => Finding::good(format!("[http] encrypts with {}", files.cert.display())),
        Err(why) => Finding::bad(why.to_string()),
    })
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Checks that the agents can be run in their workspaces. All are checked at the same time, so that a folder that
/// does not answer delays no other.
fn of_agents(specs: &[AgentSpec]) -> Vec<Finding> {
    let runtime = match super::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return vec![Finding::bad(format!("the agents could not be looked at: {error}"))],
    };
    let running = &Running::default();
    // The folders and programs of others are on their machines.
    let here = specs.iter().filter(|spec| spec.runner.is_none());
    let looks = here.map(|spec| async move {
        let of = spec.clone();
        match ask(running, &spec.workspace, FOLDER_WITHIN, move |_| agent(&of)).await {
            Ok(findings) => findings,
            Err(_) => vec![Finding::bad(format!(
                "{}: workspace {} does not answer; see whether the server that it is mounted from is up",
                spec.name,
                spec.workspace.display()
            ))],
        }
    });
    runtime.block_on(futures_util::future::join_all(looks)).into_iter().flatten().collect()
}

fn agent(agent: &AgentSpec) -> Vec<Finding> {
    let mut findings = vec![program(agent)];
    findings.extend(sandbox(agent));
    findings.extend(shared_home(agent));
    let home = env::var_os("HOME").map(PathBuf::from);
    findings.extend(credentials(agent, home.as_deref()));
    findings.extend(netrc(agent, home.as_deref()));
    findings.extend(workspace(agent));
    findings.extend(forge(agent));
    findings
}

/// Checks that files can be created in a folder. A missing folder is created by `run`, if its nearest parent permits
/// it.
fn folder(what: &str, path: &Path) -> Finding {
    let shown = path.display();
    let mut place = path;
    while !place.exists() {
        place = match place.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
    }
    let usable = Access::WRITE_OK | Access::EXEC_OK;
    match (place.is_dir(), rustix::fs::access(place, usable)) {
        (true, Ok(())) => Finding::good(format!("{what} {shown} is writable")),
        (false, _) => Finding::bad(format!("{what} {shown}: {} is not a folder", place.display())),
        (true, Err(error)) => Finding::bad(format!(
            "{what} {shown}: {} cannot be written: {}; change its owner, or choose another folder",
            place.display(),
            std::io::Error::from(error)
        )),
    }
}

/// Checks the data folder: herder starts in none that belongs to another user.
fn data_folder(path: &Path) -> Finding {
    let owner = fs::metadata(path).ok().map(|found| found.uid());
    match owner.filter(|owner| *owner != rustix::process::geteuid().as_raw()) {
        Some(owner) => Finding::bad(OpenError::Stranger { dir: path.to_owned(), owner }.to_string()),
        None => folder("data folder", path),
    }
}

/// Checks that an agent's workspace exists and can be used; herder never creates one.
fn workspace(agent: &AgentSpec) -> Option<Finding> {
    let (name, path) = (&agent.name, &agent.workspace);
    if agent.repository.is_some() {
        return Some(repository(agent));
    }
    if !path.is_dir() {
        let text =
            format!("{name}: workspace {} is no folder that is there; create it (mkdir -p)", path.display());
        return Some(Finding::bad(text));
    }
    (agent.permissions != Permissions::ReadOnly).then(|| folder(&format!("{name}: workspace"), path))
}

/// Checks that an agent's repository is one: a folder with `.git`, or a bare repository.
fn repository(agent: &AgentSpec) -> Finding {
    let (name, path) = (&agent.name, &agent.workspace);
    if let Some(url) = agent.repository.as_ref().map(|of| &of.url).filter(|url| !url.is_empty()) {
        return Finding::good(format!(
            "{name}: repository {url}, of which a copy is kept in the data folder"
        ));
    }
    let shown = path.display();
    if path.join(".git").exists() || (path.join("objects").is_dir() && path.join("HEAD").is_file()) {
        return folder(&format!("{name}: repository"), path);
    }
    Finding::bad(format!(
        "{name}: {shown} is no git repository; make one (git init, git clone), or name its top folder"
    ))
}

/// Checks that the program that opens an agent's pull requests can be executed; `None` if it opens none.
fn forge(agent: &AgentSpec) -> Option<Finding> {
    let repository = agent.repository.as_ref()?;
    let OnAccept::Pull { .. } = repository.landing.on_accept else { return None };
    let forge = repository.forge.as_deref().cloned().unwrap_or_default();
    let inherited = ["PATH".to_owned()];
    let found = runnable(&forge.shown(), "[forge] client", Path::new("/"), &forge.env, &inherited);
    let name = &agent.name;
    Some(found.map_or_else(
        |why| Finding::bad(format!("{name}: pull requests: {why}")),
        |path| Finding::good(format!("{name}: pull requests: {path}")),
    ))
}

/// Checks that an agent's program can be found and executed with the environment that the agent gets.
fn program(agent: &AgentSpec) -> Finding {
    let default = match agent.runtime {
        Runtime::Claude => "claude",
        Runtime::Codex => codex::PROGRAM,
        Runtime::Acp | Runtime::Command => "",
    };
    let program = agent.command.first().map_or(default, String::as_str);
    let found = runnable(program, "command", &agent.workspace, &agent.env, &agent.inherit_env);
    found.map_or_else(
        |why| Finding::bad(format!("{}: {why}", agent.name)),
        |path| Finding::good(format!("{}: {path}", agent.name)),
    )
}

/// Checks that an agent's sandbox program can be found and executed; `None` if the agent has no sandbox.
fn sandbox(agent: &AgentSpec) -> Option<Finding> {
    let program = agent.sandbox.first()?;
    let found = runnable(program, "sandbox", &agent.workspace, &agent.env, &agent.inherit_env);
    Some(found.map_or_else(
        |why| Finding::bad(format!("{}: sandbox: {why}", agent.name)),
        |path| Finding::good(format!("{}: sandbox: {path}", agent.name)),
    ))
}

/// Returns a note if an agent's sandbox contains `{home}` although the agent has no HOME of its own: it can then read
/// the HOME of the user who starts herder.
fn shared_home(agent: &AgentSpec) -> Option<Finding> {
    let named = agent.sandbox.iter().any(|word| word.contains("{home}"));
    (named && !agent.own_home).then(|| Finding {
        verdict: Verdict::Note,
        text: format!(
            "{}: {{home}} in sandbox is the HOME that it shares with whoever starts herder, with all that is in it; own_home = true gives it one of its own",
            agent.name
        ),
    })
}

/// Checks that the login files which are to be linked into an agent's own HOME exist in `home`.
fn credentials(agent: &AgentSpec, home: Option<&Path>) -> Vec<Finding> {
    let files = agent.credentials.iter().filter(|entry| !PUSH.contains(&entry.as_str()));
    let look = |entry: &String| {
        let name = &agent.name;
        let Some(home) = home else {
            return Finding::bad(format!("{name}: herder itself has no HOME to find {entry} in; set HOME"));
        };
        let path = home.join(entry);
        if path.exists() {
            Finding::good(format!("{name}: {} is linked into its own HOME", path.display()))
        } else {
            Finding::bad(format!(
                "{name}: {} is not there; log in first, or take it out of credentials",
                path.display()
            ))
        }
    };
    files.map(look).collect()
}

/// Returns a note if an agent can read the file `.netrc` of the HOME that it shares, from which git and curl take
/// passwords.
fn netrc(agent: &AgentSpec, home: Option<&Path>) -> Option<Finding> {
    let inherited = || home.filter(|_| agent.inherit_env.iter().any(|name| name == "HOME"));
    let home = agent.env.get("HOME").map(Path::new).or_else(inherited)?;
    let file = home.join(".netrc");
    let reachable = !agent.own_home && agent.sandbox.is_empty() && file.exists();
    reachable.then(|| Finding {
        verdict: Verdict::Note,
        text: format!(
            "{}: git and curl take passwords from {}, which credentials does not keep from it; own_home or a sandbox does",
            agent.name,
            file.display()
        ),
    })
}

/// Checks that the evaluator's program can be executed; `None` if none is configured. A missing default program is only
/// a note, because herder works without it.
fn evaluator(settings: &Evaluator) -> Option<Finding> {
    let program = settings.command.first().filter(|_| settings.asks())?;
    let finding = match runnable(program, "command", Path::new("/"), &settings.env, &settings.inherit_env) {
        Ok(path) => logged_in(settings, &path),
        Err(why) if !settings.is_default() => Finding::bad(format!("evaluator: {why}")),
        Err(why) => Finding {
            verdict: Verdict::Note,
            text: format!(
                "evaluator: {why}; until then herder's own detector judges alone (kind = \"builtin\" under [evaluator] \
                 says that this is meant)"
            ),
        },
    };
    Some(finding)
}

/// Checks that a credential for the evaluator exists. Its validity shows only when it is used.
fn logged_in(settings: &Evaluator, path: &str) -> Finding {
    let own = environment::own_without(&BTreeSet::new());
    let credential = Credential::find(settings, &own);
    match (credential.missing(settings), credential.place()) {
        (Some(how), _) => Finding { verdict: Verdict::Note, text: format!("evaluator: {path}, but {how}") },
        (None, Some(place)) => Finding::good(format!("evaluator: {path}, logged in by {place}")),
        (None, None) => Finding::good(format!("evaluator: {path}")),
    }
}

/// Searches a program that is started in `folder` with this environment. Returns its path, or a description of the
/// problem, which names the key `setting` of the configuration.
fn runnable(
    program: &str,
    setting: &str,
    folder: &Path,
    env: &BTreeMap<String, String>,
    inherit_env: &[String],
) -> Result<String, String> {
    if program.contains('/') {
        let path = folder.join(program);
        return if is_executable(&path) {
            Ok(format!("{} can be run", path.display()))
        } else {
            Err(format!("{} is no program that can be run; install it or correct {setting}", path.display()))
        };
    }
    let own = env.get("PATH").map(OsString::from);
    let inherited = || env::var_os("PATH").filter(|_| inherit_env.iter().any(|name| name == "PATH"));
    let Some(path) = own.or_else(inherited) else {
        return Err(format!("it gets no PATH to find {program} on; add PATH to inherit_env"));
    };
    let found: Option<PathBuf> =
        env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| is_executable(candidate));
    let missing = || format!("{program} is not on the PATH; install it or correct {setting}");
    found.map(|found| format!("{program} is {}", found.display())).ok_or_else(missing)
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Sends a test event to every configured webhook at the same time, and reports which of them accept it.
fn endpoints(config: &Config) -> Vec<Finding> {
    if config.webhooks.is_empty() {
        return vec![Finding::bad("no [[webhook]] is configured, so that no test event was sent".to_owned())];
    }
    let runtime = match super::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return vec![Finding::bad(format!("the webhooks could not be tried: {error}"))],
    };
    let tries = config.webhooks.iter().map(webhook::examine);
    let tried = runtime.block_on(futures_util::future::join_all(tries));
    tried.into_iter().map(|tried| tried.map_or_else(Finding::bad, Finding::good)).collect()
}

/// Tries to log in to every configured chat network at the same time, and reports the results.
fn servers(config: &Config) -> Vec<Finding> {
    let runtime = match super::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return vec![Finding::bad(format!("the servers could not be tried: {error}"))],
    };
    runtime.block_on(async {
        let tries = futures_util::future::join_all(config.irc.iter().map(server));
        let discord = async {
            match &config.discord {
                Some(settings) => discord::examine(settings).await,
                None => Vec::new(),
            }
        };
        let (mut findings, discord) = futures_util::future::join(tries, discord).await;
        findings.extend(discord.into_iter().map(Finding::from));
        findings
    })
}

/// Tries to log in to one IRC network. A running herder may use the nick, so that any nick is fine.
async fn server(network: &IrcNetwork) -> Finding {
    let IrcNetwork { name, server, port, .. } = network;
    let shown = format!("{name}: {server} port {port}");
    match tokio::time::timeout(PATIENCE, irc::log_in(network)).await {
        Ok(Ok(login)) if network.sasl.is_some() && !login.logged_in => {
            Finding::bad(format!("{shown} lets {} in, but not under its account", login.nick))
        }
        Ok(Ok(login)) if login.logged_in => Finding::good(format!("{shown}: {} is logged in", login.nick)),
        Ok(Ok(login)) => Finding::good(format!("{shown} lets {} in", login.nick)),
        Ok(Err(why)) => Finding::bad(format!("{shown}: {why}")),
        Err(_) => Finding::bad(format!("{shown} does not answer within {} s", PATIENCE.as_secs())),
    }
}
