//! The repository of an agent: its clones, the check of its work, its review, and the way into the base.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::core::check::Check;
use crate::core::checkout::{CloneSetup, Repository, address_parts};
use crate::core::id::AgentName;
use crate::core::pull::FOLLOW_UPS;
use crate::core::review::{Landing, Method, OnAccept, ROUNDS, Reviewer};
use crate::core::spec::AgentSpec;

use crate::files::digest;

use super::section::{Section, meant};

/// Name of the folder below the data folder with herder's own copies of repositories.
const COPIES: &str = "repositories";

/// Maximum of `check_tries`: each failure that goes back is a session, and more of them lead nowhere.
const CHECK_TRIES_MAX: u64 = 20;

/// Maximum of `review_rounds`, for the same reason.
const REVIEW_ROUNDS_MAX: u64 = 20;

/// Maximum of `follow_ups`, for the same reason.
const FOLLOW_UPS_MAX: u64 = 20;

/// Parses the repository in which each task gets a clone of its own; `None` if the agent has a workspace. `is_here`:
/// whether the agent runs on this machine.
pub(super) fn repository(section: &Section<'_>, is_here: bool) -> Option<Box<Repository>> {
    let path = section.filled("repository");
    let base = section.text("base").map_or_else(String::new, |base| base.value);
    let copy = section.texts("copy").unwrap_or_default();
    let git_name = section.text("git_name").map_or_else(String::new, |name| name.value);
    let git_email = section.text("git_email").map_or_else(String::new, |email| email.value);
    let (setup, check) = (setup(section), check(section));
    let landing = landing(section);
    let Some(path) = path else {
        for key in ["review", "review_rounds", "on_accept", "merge_method", "follow_ups"]
            .into_iter()
            .filter(|key| section.has(key))
        {
            section.problem(key, "it is for agents with a repository; write repository = \"/srv/repos/app\"");
        }
        for key in ["base", "copy", "setup", "git_name", "git_email", "check"] {
            let given = match key {
                "base" => !base.is_empty(),
                "copy" => !copy.is_empty(),
                "git_name" => !git_name.is_empty(),
                "setup" => setup.is_some(),
                "check" => check.is_some(),
                _ => !git_email.is_empty(),
            };
            if given {
                section.problem(
                    key,
                    "it is for agents with a repository; write repository = \"/srv/repos/app\"",
                );
            }
        }
        return None;
    };
    if section.filled("workspace").is_some() {
        section.problem(
            "repository",
            "the agent has a workspace as well; take one of them out: with a repository each task has a folder of its own",
        );
    }
    let url = address(section, &path.value);
    if url.is_none() && !Path::new(&path.value).is_absolute() {
        let why = format!("\"{}\" is relative; write the whole path, from /, or an address", path.value);
        section.problem("repository", why);
    }
    if url.is_some() && !copy.is_empty() {
        let why = "only a repository on this machine has files beside those of git; name the path of one, or take it out";
        section.problem("copy", why);
    }
    if base.starts_with('-') || base.contains(|c: char| c.is_whitespace() || c.is_control()) {
        section.problem("base", format!("\"{base}\" is no name of a branch; write e.g. base = \"main\""));
    }
    for (key, text) in [("git_name", &git_name), ("git_email", &git_email)] {
        if text.contains(|c: char| c.is_control() || matches!(c, '<' | '>')) {
            section.problem(key, "git takes no line breaks and no < or > there; take them out");
        }
    }
    for file in &copy {
        let name = Path::new(&file.value);
        let inside = name.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if file.value.is_empty() || !inside {
            let why = format!(
                "\"{}\" is no file below the repository; write its path from there, e.g. copy = [\".env.local\"]",
                file.value
            );
            section.problem_at(file.line, "copy", why);
        }
    }
    let copy = copy.into_iter().map(|file| file.value).collect();
    let (path, url) = match url {
        Some(url) => (own_copy(&url), url),
        None => {
            if is_here {
                section.folder("repository", PathBuf::from(&path.value));
            }
            (path.value.into(), String::new())
        }
    };
    // The section is of the whole file, see `forge`.
    let forge = None;
    Some(Box::new(Repository { path, url, base, copy, setup, git_name, git_email, check, landing, forge }))
}

/// Returns the value if it is an address; `None` if it is a path.
fn address(section: &Section<'_>, value: &str) -> Option<String> {
    let (scheme, rest) = address_parts(value)?;
    if !["", "https", "http", "ssh", "git", "file"].contains(&scheme) {
        let why = format!("\"{scheme}\" is not one of https, ssh, http, git and file");
        section.problem("repository", why);
    }
    if scheme.starts_with("http") && rest.contains('@') {
        let why = "a login in an address would be stored with the agent; take it out, and give it to git: see [forge]";
        section.problem("repository", why);
    }
    if value.starts_with('-') || value.contains(|c: char| c.is_whitespace() || c.is_control()) {
        section.problem("repository", "an address has no blanks and does not begin with -");
    }
    Some(value.to_owned())
}

/// Returns the path of herder's own copy of a repository, below its data folder.
fn own_copy(url: &str) -> PathBuf {
    let last = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name: String = last.trim_end_matches(".git").chars().filter(plain).take(40).collect();
    let digits = digest(url.as_bytes()).to_string();
    Path::new(COPIES).join(format!("{name}-{}.git", digits.get(..16).unwrap_or(&digits)))
}

/// Parses the command that makes a new clone ready; `None` if there is none.
fn setup(section: &Section<'_>) -> Option<Box<CloneSetup>> {
    let command = section.filled("setup");
    let timeout = section.duration("setup_timeout", Duration::from_secs(1));
    let Some(command) = command else {
        if timeout.is_some() {
            let why = "there is no setup to which it applies; write e.g. setup = \"npm ci\"";
            section.problem("setup_timeout", why);
        }
        return None;
    };
    if command.value.contains('\0') {
        section.problem("setup", "a command contains no NUL; take it out");
    }
    let timeout = timeout.unwrap_or(CloneSetup::TIMEOUT);
    Some(Box::new(CloneSetup { command: command.value, timeout }))
}

/// Parses the way of the agent's work into the base.
fn landing(section: &Section<'_>) -> Landing {
    let review = reviewer(section);
    let method = section.choice("merge_method", &Method::WORDS);
    let follow_ups = section.number("follow_ups", 0..=FOLLOW_UPS_MAX);
    let (merge, pull) = (OnAccept::Merge(method.unwrap_or_default()), pull(follow_ups));
    let words = [("keep", OnAccept::Keep), ("merge", merge), ("pr", pull)];
    let on_accept = section.choice("on_accept", &words).unwrap_or_default();
    if section.has("repository") {
        if method.is_some() && on_accept != merge {
            section.problem(
                "merge_method",
                "herder merges nothing here; write on_accept = \"merge\" as well, or take it out",
            );
        }
        if follow_ups.is_some() && on_accept != pull {
            section.problem(
                "follow_ups",
                "no pull request is opened here; write on_accept = \"pr\" as well, or take it out",
            );
        }
    }
    Landing { review, on_accept }
}

fn pull(follow_ups: Option<u64>) -> OnAccept {
    let follow_ups = follow_ups.and_then(|number| u32::try_from(number).ok()).unwrap_or(FOLLOW_UPS);
    OnAccept::Pull { follow_ups }
}

/// Parses the one who reviews the agent's work: nobody, a person or another agent. That the agent exists is looked at once
/// all are read.
fn reviewer(section: &Section<'_>) -> Reviewer {
    let rounds = section.number("review_rounds", 1..=REVIEW_ROUNDS_MAX);
    let text = section.filled("review");
    let review = match text.as_ref().map(|text| text.value.as_str()) {
        None | Some("none") => Reviewer::None,
        Some("person") => Reviewer::Person,
        Some(word) => match AgentName::new(word) {
            Ok(name) => {
                let rounds = rounds.and_then(|rounds| u32::try_from(rounds).ok()).unwrap_or(ROUNDS);
                return Reviewer::Agent { name, rounds };
            }
            Err(_) => {
                let why = format!("\"{word}\" is not none, not person and no name of an agent");
                section.problem("review", why);
                Reviewer::None
            }
        },
    };
    if rounds.is_some() && section.has("repository") {
        section.problem(
            "review_rounds",
            "no agent reviews the work; write the name of one, e.g. review = \"ember\", or take it out",
        );
    }
    review
}

/// Parses the check of the agent's work; `None` if there is none.
fn check(section: &Section<'_>) -> Option<Box<Check>> {
    let command = section.filled("check");
    let timeout = section.duration("check_timeout", Duration::from_secs(1));
    let tries = section.number("check_tries", 0..=CHECK_TRIES_MAX);
    let Some(command) = command else {
        for key in [timeout.map(|_| "check_timeout"), tries.map(|_| "check_tries")].into_iter().flatten() {
            section.problem(key, "there is no check to which it applies; write e.g. check = \"make test\"");
        }
        return None;
    };
    if command.value.contains('\0') {
        section.problem("check", "a command contains no NUL; take it out");
    }
    let tries = tries.and_then(|tries| u32::try_from(tries).ok()).unwrap_or(Check::TRIES);
    let timeout = timeout.unwrap_or(Check::TIMEOUT);
    Some(Box::new(Check { command: command.value, timeout, tries }))
}

/// Records a mistake for each agent that would review its own work, or that of another machine, and warns of those whose reviewer the file does not
/// name: people may add it in chat.
pub(super) fn compare_reviewers(agents: &[(AgentSpec, &Section<'_>)]) {
    let has_clones =
        |name: &AgentName| agents.iter().any(|(agent, _)| agent.name == *name && agent.repository.is_some());
    let machine = |name: &AgentName| {
        agents.iter().find(|(agent, _)| agent.name == *name).and_then(|(agent, _)| agent.runner.as_ref())
    };
    let names: Vec<&str> = agents.iter().map(|(agent, _)| agent.name.as_str()).collect();
    for (agent, section) in agents {
        let landing = agent.repository.as_ref().map(|repository| &repository.landing);
        let Some(Reviewer::Agent { name, .. }) = landing.map(|landing| &landing.review) else { continue };
        if *name == agent.name {
            let why = "an agent does not review its own work; write the name of another one, or \"person\"";
            section.problem("review", why);
        } else if !names.contains(&name.as_str()) {
            let known: Vec<&str> = names.iter().copied().chain(["none", "person"]).collect();
            let hint = meant(name.as_str(), &known);
            let why =
                format!("no agent here is called {name}, so that a person is called for each review{hint}");
            section.warn("review", why);
        } else if !has_clones(name) {
            let why = format!("{name} reviews in clones; give it the repository in place of its workspace");
            section.problem("review", why);
        } else if machine(name) != machine(&agent.name) {
            let why = format!(
                "{name} runs on another machine, which does not have the commits to review; give both the same runner"
            );
            section.problem("review", why);
        }
    }
}
