//! `[[agent]]`: the agents in the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;

use crate::core::card::{TAGS_MAX, is_tag};
use crate::core::id::{AccountName, AgentName, RunnerName};
use crate::core::lead::LEAD_BUDGET_USD;
use crate::core::outcome::Category;
use crate::core::spec::{AgentSpec, Autonomy, Output, Pattern, Permissions, PromptMode, Relay, Runtime};

use crate::core::places;
use crate::core::words::is_command_word;
use crate::runtime::isolation::{PUSH, is_credential};

use super::section::Section;
use super::{Discord, IrcNetwork, Runners, environment, machine, repository, runners, spending, validate};

/// Placeholder in a command line that the prompt replaces.
const PROMPT: &str = "{prompt}";

/// Categories that an agent's pattern may assign to a line of stderr, by their words. Success and herder's own actions
/// are not among them.
const CATEGORIES: [(&str, Category); 10] = [
    ("transient", Category::Transient),
    ("rate-limit", Category::RateLimit),
    ("permanent", Category::Permanent),
    ("max-turns", Category::MaxTurns),
    ("billing", Category::Billing),
    ("auth", Category::Auth),
    ("budget", Category::Budget),
    ("quota", Category::Quota),
    ("context-overflow", Category::ContextOverflow),
    ("sandbox-denial", Category::SandboxDenial),
];

/// Parses every `[[agent]]` section of the file.
pub(super) fn agents(
    top: &Section<'_>,
    irc: &[IrcNetwork],
    discord: Option<&Discord>,
    (data_dir, runners): (&Path, &Runners),
) -> Vec<AgentSpec> {
    let sections = top.tables("agent");
    let names: Vec<Option<AgentName>> = sections.iter().map(name).collect();
    let named =
        names.iter().zip(&sections).filter_map(|(name, section)| Some((name.as_ref()?.as_str(), section)));
    validate::duplicates(named, "the agent");
    let agents: Vec<(AgentSpec, &Section<'_>)> = sections
        .iter()
        .zip(names)
        .filter_map(|(section, name)| Some((agent(section, name)?, section)))
        .collect();
    repository::compare_reviewers(&agents);
    runners::check(runners, &agents);
    for (agent, section) in &agents {
        clashes(agent, section, irc, discord);
    }
    for (agent, section) in agents.iter().filter(|(agent, _)| agent.runner.is_none()) {
        if data_dir.starts_with(&agent.workspace) {
            let text = format!(
                "herder's own folder {} lies in it, and an agent that cleans up would take it away; give the agent a folder \
                 of its own",
                data_dir.display()
            );
            section.warn(if agent.repository.is_some() { "repository" } else { "workspace" }, text);
        }
    }
    let mut workspaces: BTreeMap<(&Option<RunnerName>, &PathBuf), &AgentName> = BTreeMap::new();
    let alone = |agent: &AgentSpec| agent.permissions != Permissions::ReadOnly && agent.repository.is_none();
    for (agent, section) in agents.iter().filter(|(agent, _)| alone(agent)) {
        if let Some(other) = workspaces.insert((&agent.runner, &agent.workspace), &agent.name) {
            section.warn(
                "workspace",
                format!("{other} works in the same folder; two agents in one folder undo each other's work"),
            );
        }
    }
    let specs = agents.into_iter().map(|(agent, _)| agent).collect();
    for section in sections {
        section.finish();
    }
    specs
}

/// Checks that an agent's channel, `#name` on every network, is not also a channel of herder's own.
fn clashes(agent: &AgentSpec, section: &Section<'_>, irc: &[IrcNetwork], discord: Option<&Discord>) {
    let channel = format!("#{}", agent.name);
    if let Some(discord) = discord {
        let own = [&discord.alerts_channel, &discord.work_channel, &discord.control_channel];
        if own.iter().any(|own| own.eq_ignore_ascii_case(agent.name.as_str())) {
            section.problem(
                "name",
                format!("{channel} is a channel of herder's own on Discord; rename one of them"),
            );
        }
    }
    for network in irc {
        let own = [&network.alerts_channel, &network.work_channel, &network.control_channel];
        if own.iter().any(|own| own.eq_ignore_ascii_case(&channel)) {
            section.problem(
                "name",
                format!("{channel} is a channel of herder's own on {}; rename one of them", network.name),
            );
        }
    }
}

fn name(section: &Section<'_>) -> Option<AgentName> {
    let Some(name) = section.text("name") else {
        section.problem("name", "the agent needs a name, e.g. name = \"spark\"");
        return None;
    };
    if is_command_word(&name.value) {
        let why = format!(
            "\"{}\" is a word of herder's commands and cannot name an agent; choose another",
            name.value
        );
        section.problem("name", why);
        return None;
    }
    AgentName::new(&name.value).map_err(|why| section.problem("name", why.to_string())).ok()
}

fn agent(section: &Section<'_>, name: Option<AgentName>) -> Option<AgentSpec> {
    let runtime = runtime(section);
    let runner = section.text("runner").and_then(|runner| {
        let named = RunnerName::new(&runner.value);
        named.map_err(|why| section.problem_at(runner.line, "runner", why.to_string())).ok()
    });
    let is_here = !section.has("runner");
    let repository = repository::repository(section, is_here);
    let workspace = match &repository {
        Some(repository) => Some(repository.path.clone()),
        None => workspace(section, is_here),
    };
    // The rest is read even if these are missing, so that its mistakes are reported, too.
    let stand_in = AgentName::new("unnamed").expect("the word is within the rules for names");
    let known = name.is_some() && runtime.is_some() && workspace.is_some();
    let mut spec = AgentSpec::new(
        name.unwrap_or(stand_in),
        runtime.unwrap_or(Runtime::Command),
        workspace.unwrap_or_default(),
    );
    spec.runner = runner;
    spec.repository = repository;
    limits(section, &mut spec);
    if spec.repository.is_some() && spec.looping {
        section.problem(
            "loop",
            "rounds of a loop are no tasks, and only tasks have clones; take it out, or give the agent a workspace",
        );
    }
    if runtime == Some(Runtime::Acp) && spec.max_turns > 0 {
        section
            .warn("max_turns", "the Agent Client Protocol has no limit on turns; max_task_duration counts");
    }
    if runtime.is_some_and(|runtime| runtime != Runtime::Acp) && !spec.keep_warm.is_zero() {
        section.problem(
            "keep_warm",
            "only the process of an ACP agent can stay for the next session; take it out or write runtime = \"acp\"",
        );
    }
    choices(section, &mut spec);
    command(section, &mut spec, runtime);
    variables(section, &mut spec);
    isolation(section, &mut spec);
    spec.patterns = patterns(section, runtime);
    spec.channels = channels(section);
    spec.tags = tags(section);
    leads(section, &mut spec);
    known.then_some(spec)
}

fn channels(section: &Section<'_>) -> Vec<String> {
    let texts = section.texts("channels").unwrap_or_default();
    if texts.len() > places::CHANNELS_MAX {
        section.problem("channels", format!("an agent has at most {}", places::CHANNELS_MAX));
    }
    for text in &texts {
        if let Err(why) = places::entry(&text.value) {
            section.problem_at(text.line, "channels", why);
        }
    }
    texts.into_iter().map(|text| text.value).collect()
}

/// Parses whether the agent may give parts of its tasks to others, and what they may cost.
fn leads(section: &Section<'_>, spec: &mut AgentSpec) {
    spec.leads = section.flag("leads").unwrap_or(spec.leads);
    let budget = section.amount("lead_budget_usd");
    if budget.is_some() && !spec.leads {
        section.problem(
            "lead_budget_usd",
            "the agent gives no parts of its tasks to others; write leads = true as well, or take it out",
        );
    }
    if spec.leads && spec.looping {
        section
            .problem("leads", "rounds of a loop are no tasks, so they have no parts; take out leads or loop");
    }
    spec.lead_budget_usd = if spec.leads { budget.unwrap_or(LEAD_BUDGET_USD) } else { 0.0 };
}

/// Parses the agent's tags, which tasks can require.
fn tags(section: &Section<'_>) -> Vec<String> {
    let texts = section.texts("tags").unwrap_or_default();
    if texts.len() > TAGS_MAX {
        section.problem("tags", format!("an agent has at most {TAGS_MAX}"));
    }
    for text in texts.iter().filter(|text| !is_tag(&text.value)) {
        let why = format!(
            "\"{}\" cannot be a tag; use small letters, digits and hyphens inside, e.g. tags = [\"rust\"]",
            text.value
        );
        section.problem_at(text.line, "tags", why);
    }
    let mut tags: Vec<String> = texts.into_iter().map(|text| text.value).collect();
    tags.sort();
    tags.dedup();
    tags
}

fn runtime(section: &Section<'_>) -> Option<Runtime> {
    let word = section.text("runtime");
    let known = [
        ("claude", Runtime::Claude),
        ("codex", Runtime::Codex),
        ("acp", Runtime::Acp),
        ("command", Runtime::Command),
    ];
    let Some(word) = word else {
        section.problem(
            "runtime",
            "it is not said how the agent is run; write runtime = \"claude\", \"codex\", \"acp\" or \"command\"",
        );
        return None;
    };
    let found = known.iter().find(|(name, _)| *name == word.value);
    if found.is_none() {
        let text = format!("there is no runtime \"{}\"; use claude, codex, acp or command", word.value);
        section.problem("runtime", text);
    }
    found.map(|(_, runtime)| *runtime)
}

fn workspace(section: &Section<'_>, is_here: bool) -> Option<PathBuf> {
    let Some(text) = section.filled("workspace") else {
        section.problem(
            "workspace",
            "the agent needs a folder to work in, e.g. workspace = \"/srv/agents/spark\"",
        );
        return None;
    };
    let path = PathBuf::from(&text.value);
    if !path.is_absolute() {
        section.problem("workspace", format!("\"{}\" is relative; write the whole path, from /", text.value));
        return None;
    }
    if is_here {
        section.folder("workspace", path.clone());
    }
    Some(path)
}

fn limits(section: &Section<'_>, spec: &mut AgentSpec) {
    let turns = section.number("max_turns", 0..=100_000).and_then(|turns| u32::try_from(turns).ok());
    spec.max_turns = turns.unwrap_or(spec.max_turns);
    spec.max_budget_usd = section.amount("max_budget_usd").unwrap_or(spec.max_budget_usd);
    spec.caps = spending::of_agent(section);
    spec.share = machine::share(section);
    spec.max_task_duration = section.duration("max_task_duration", Duration::from_secs(1));
    spec.keep_warm = section.duration("keep_warm", Duration::ZERO).unwrap_or(spec.keep_warm);
    spec.looping = section.flag("loop").unwrap_or(spec.looping);
    spec.rest = section.duration("rest", Duration::ZERO).unwrap_or(spec.rest);
}

fn choices(section: &Section<'_>, spec: &mut AgentSpec) {
    let permissions = [
        ("read-only", Permissions::ReadOnly),
        ("plan", Permissions::Plan),
        ("workspace-write", Permissions::WorkspaceWrite),
        ("full", Permissions::Full),
    ];
    let autonomy = [("human", Autonomy::Human), ("full", Autonomy::Full), ("strict", Autonomy::Strict)];
    let relay = [("all", Relay::All), ("final", Relay::Final), ("none", Relay::None)];
    spec.permissions = section.choice("permissions", &permissions).unwrap_or(spec.permissions);
    if spec.permissions == Permissions::Plan && spec.runtime == Runtime::Command {
        section.problem(
            "permissions",
            "runtime command has no way to have a plan approved: only claude, codex and acp can begin with one; write \"read-only\", \"workspace-write\" or \"full\"",
        );
    }
    spec.autonomy = section.choice("autonomy", &autonomy).unwrap_or(spec.autonomy);
    spec.relay = section.choice("relay", &relay).unwrap_or(spec.relay);
    spec.model = section.text("model").map_or_else(String::new, |model| model.value);
    spec.instructions = section.text("instructions").map_or_else(String::new, |text| text.value);
    if let Some(account) = section.filled("account") {
        spec.account = AccountName(account.value);
    }
}

fn command(section: &Section<'_>, spec: &mut AgentSpec, runtime: Option<Runtime>) {
    let given = section.texts("command").unwrap_or_default();
    spec.command = given.into_iter().map(|word| word.value).collect();
    let prompt = [("stdin", PromptMode::Stdin), ("arg", PromptMode::Arg)];
    spec.prompt = section.choice("prompt", &prompt).unwrap_or(spec.prompt);
    let output = [
        ("text", Output::Text),
        ("claude", Output::Claude),
        ("codex", Output::Codex),
        ("gemini", Output::Gemini),
        ("opencode", Output::Opencode),
    ];
    spec.output = section.choice("output", &output).unwrap_or(spec.output);
    if runtime.is_some_and(|runtime| runtime != Runtime::Command) && !spec.output.is_text() {
        section.warn("output", "it says what runtime command prints; the other runtimes know what they read");
    }
    if spec.command.iter().any(|word| word.contains('\0'))
        || spec.command.first().is_some_and(String::is_empty)
    {
        section.problem("command", "this cannot be run; write the program first, then its arguments");
    }
    if runtime == Some(Runtime::Acp) && spec.command.is_empty() {
        section.problem("command", "runtime acp needs one, e.g. command = [\"gemini\", \"--acp\"]");
    }
    if runtime != Some(Runtime::Command) {
        return;
    }
    let placed = spec.command.iter().skip(1).any(|word| word.contains(PROMPT));
    if spec.command.is_empty() {
        section.problem("command", "runtime command needs one, e.g. command = [\"aider\", \"--yes\"]");
    } else if spec.prompt == PromptMode::Arg && !placed {
        section.problem(
            "command",
            format!("with prompt = \"arg\" one argument must be or contain \"{PROMPT}\""),
        );
    } else if spec.prompt == PromptMode::Stdin && placed {
        section.problem("prompt", format!("the command has \"{PROMPT}\" in it, so write prompt = \"arg\""));
    }
}

fn variables(section: &Section<'_>, spec: &mut AgentSpec) {
    let variables = environment::variables(section);
    spec.env = variables.env;
    spec.env_files = variables.env_files;
    if let Some(inherited) = variables.inherit_env {
        spec.inherit_env = inherited;
    }
}

/// Parses how an agent is isolated (own HOME, sandbox), and the credentials that it gets nevertheless.
fn isolation(section: &Section<'_>, spec: &mut AgentSpec) {
    spec.own_home = section.flag("own_home").unwrap_or(spec.own_home);
    let credentials = section.texts("credentials").unwrap_or_default();
    for text in &credentials {
        if !is_credential(&text.value) {
            let why = format!(
                "\"{}\" is none; write git, ssh, gh, or a file below the HOME, e.g. \".codex/auth.json\"",
                text.value
            );
            section.problem_at(text.line, "credentials", why);
        } else if !spec.own_home && !PUSH.contains(&text.value.as_str()) {
            let why = format!("{} is a file for a HOME of its own; write own_home = true", text.value);
            section.problem_at(text.line, "credentials", why);
        }
    }
    spec.credentials = credentials.into_iter().map(|text| text.value).collect();
    let sandbox = section.texts("sandbox").unwrap_or_default();
    for word in &sandbox {
        if let Some(name) = unknown_place(&word.value) {
            let why = format!("there is no {{{name}}}; use {{workspace}}, {{home}}, {{state}} or {{tools}}");
            section.problem_at(word.line, "sandbox", why);
        }
    }
    spec.sandbox = sandbox.into_iter().map(|word| word.value).collect();
    if spec.sandbox.first().is_some_and(String::is_empty)
        || spec.sandbox.iter().any(|word| word.contains('\0'))
    {
        section.problem(
            "sandbox",
            "this cannot be run; write the program first, e.g. [\"bwrap\", \"--ro-bind\", \"/\", \"/\"]",
        );
    }
}

/// Returns the first name in braces in a word of the sandbox's command that is no known placeholder; `None` if there is
/// none.
fn unknown_place(word: &str) -> Option<&str> {
    let inner = word.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    let mut names = inner.map(|(name, _)| name).filter(|name| name.chars().all(|c| c.is_ascii_lowercase()));
    names.find(|name| !name.is_empty() && !matches!(*name, "workspace" | "home" | "state" | "tools"))
}

fn patterns(section: &Section<'_>, runtime: Option<Runtime>) -> Vec<Pattern> {
    let tables = section.tables("patterns");
    if let Some(runtime) = runtime.filter(|runtime| !tables.is_empty() && *runtime != Runtime::Command) {
        let name = match runtime {
            Runtime::Claude => "claude",
            Runtime::Codex => "codex",
            Runtime::Acp | Runtime::Command => "acp",
        };
        section.warn(
            "patterns",
            format!("runtime {name} says itself what went wrong; patterns are for runtime command"),
        );
    }
    let mut patterns = Vec::new();
    for table in tables {
        let matches = table.filled("match");
        let category = table.choice("category", &CATEGORIES);
        match &matches {
            Some(text) => {
                if let Err(why) = Regex::new(&text.value) {
                    let why = why.to_string();
                    let why = why.lines().last().unwrap_or("it cannot be read").trim_start_matches("error: ");
                    table.problem("match", format!("this is not a regular expression: {why}"));
                }
            }
            None => {
                table.problem("match", "it is not said which lines are meant; write a regular expression")
            }
        }
        if category.is_none() && !table.has("category") {
            table.problem("category", "it is not said what a match means, e.g. category = \"rate-limit\"");
        }
        patterns
            .extend(matches.zip(category).map(|(text, category)| Pattern { matches: text.value, category }));
        table.finish();
    }
    patterns
}
