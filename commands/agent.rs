//! `agent add · edit · remove · list · show`: manages and shows the agents and their configuration.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::desk::{Answer, Desk, Done, Failure, Mistake};
use super::dispatch::Inner;
use super::grammar::Call;
use super::say::{DOT, Voice};
use super::settings::{self, Problem, Why};
use super::words::repeat;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::clock::running::Running;
use crate::core::id::{AgentName, NameError, RunnerName};
use crate::core::input::Control;
use crate::core::notice::Refusal;
use crate::core::role::Role;
use crate::core::spec::{AgentSpec, Runtime};
use crate::core::words::is_command_word;
use crate::runtime::folder;

/// Maximum wait for the check that a folder exists; one on a server that is gone never answers.
const ANSWERS: Duration = Duration::from_secs(6);

/// Maximum number of attempts of an edit while the configuration is being reloaded.
const TRIES: u32 = 5;

pub(super) const ADD: Command = Command {
    verb: Verb::AgentAdd,
    name: "agent add",
    aliases: &[],
    args: &[
        Arg::NewAgent,
        Arg::OneOf { name: "runtime", words: &["claude", "codex", "acp", "command"] },
        Arg::Settings { name: "workspace", usage: "<workspace> [key=value …]" },
    ],
    role: Role::Admin,
    scope: Scope::Fleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-agent-add",
};

pub(super) const EDIT: Command = Command {
    verb: Verb::AgentEdit,
    name: "agent edit",
    aliases: &[],
    args: &[Arg::Agent, Arg::Settings { name: "key=value", usage: "key=value …" }],
    role: Role::Admin,
    scope: Scope::Agent,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-agent-edit",
};

pub(super) const REMOVE: Command = Command {
    verb: Verb::AgentRemove,
    name: "agent remove",
    aliases: &[],
    args: &[Arg::Agent, Arg::Code],
    role: Role::Admin,
    scope: Scope::Agent,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-agent-remove",
};

pub(super) const LIST: Command = Command {
    verb: Verb::AgentList,
    name: "agent list",
    aliases: &["agents"],
    args: &[],
    role: Role::Viewer,
    scope: Scope::Fleet,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-agent-list",
};

pub(super) const SHOW: Command = Command {
    verb: Verb::AgentShow,
    name: "agent show",
    aliases: &[],
    args: &[Arg::Agent],
    role: Role::Viewer,
    scope: Scope::Agent,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-agent-show",
};

pub(super) async fn add(desk: &Desk<'_>, call: &Call) -> Done {
    let voice = desk.voice();
    let word = call.word.as_deref().unwrap_or_default();
    let mut mistakes = Vec::new();
    let name = match new_name(desk.inner, voice, word) {
        Ok(name) => Some(name),
        Err(line) => {
            mistakes.push(Mistake { key: "name".to_owned(), line });
            None
        }
    };
    // The first word after the runtime may be the workspace without a key.
    let (folder, pairs) = match call.rest.split_first() {
        Some((first, rest)) if !first.contains('=') => (Some(first), rest),
        _ => (None, call.rest.as_slice()),
    };
    let runtime = match call.choice {
        Some("command") => Runtime::Command,
        Some("codex") => Runtime::Codex,
        Some("acp") => Runtime::Acp,
        Some(_) | None => Runtime::Claude,
    };
    let placeholder = || AgentName::new("placeholder").expect("a name by the rules");
    let workspace = folder.map_or_else(PathBuf::new, PathBuf::from);
    let mut spec = AgentSpec::new(name.clone().unwrap_or_else(placeholder), runtime, workspace);
    let problems = problems(&mut spec, pairs, None, (&machines(desk), desk.fleet.needs_runners())).await;
    mistakes.extend(problems.iter().map(|problem| tell(voice, problem)));
    match name {
        Some(name) if mistakes.is_empty() => {
            let notice = desk.fleet.add(spec, desk.asked_for(&name)).await?;
            Ok(desk.accepted(&notice))
        }
        _ => Err(refused(voice, word, mistakes)),
    }
}

/// Returns the name of a new agent.
///
/// # Errors
/// The sentence that says why no agent can have that name.
pub(super) fn new_name(inner: &Inner, voice: Voice<'_>, word: &str) -> Result<AgentName, String> {
    let (id, name) = match AgentName::new(word) {
        Ok(name) if is_command_word(name.as_str()) => ("cmd-agent-name-is-word", name.to_string()),
        Ok(name) if inner.is_channel(&name) => ("cmd-agent-name-is-channel", name.to_string()),
        Ok(name) => return Ok(name),
        Err(NameError::Reserved(_)) => ("cmd-agent-name-is-word", repeat(word)),
        Err(NameError::Empty | NameError::TooLong(_) | NameError::Character(_)) => {
            ("cmd-agent-name", repeat(word))
        }
    };
    Err(voice.text(id, &[("name", name.into())]))
}

pub(super) async fn edit(desk: &Desk<'_>, call: &Call) -> Done {
    let agent = desk.agent(call)?;
    // A later command about this agent must not overtake the edit while its folder is checked.
    let _turn = desk.inner.turn(agent).await;
    let voice = desk.voice();
    for _ in 1..TRIES {
        match try_edit(desk, call, voice).await {
            Err(Failure::Refusal(Refusal::EditedMeanwhile { .. })) => {}
            done => return done,
        }
    }
    try_edit(desk, call, voice).await
}

/// Returns the machines that have joined.
fn machines(desk: &Desk<'_>) -> Vec<RunnerName> {
    desk.fleet.runners().unwrap_or_default().into_iter().map(|machine| machine.name).collect()
}

/// Makes one attempt to edit an agent. It is refused if the agent was changed meanwhile.
async fn try_edit(desk: &Desk<'_>, call: &Call, voice: Voice<'_>) -> Done {
    let view = desk.view(call)?;
    let Some(spec) = view.agent.spec.clone() else {
        return Err(Refusal::Removed { agent: view.name }.into());
    };
    let mut changed = spec.clone();
    let problems =
        problems(&mut changed, &call.rest, Some(&spec), (&machines(desk), desk.fleet.needs_runners())).await;
    if !problems.is_empty() {
        let mistakes = problems.iter().map(|problem| tell(voice, problem)).collect();
        return Err(refused(voice, view.name.as_str(), mistakes));
    }
    let edit = Control::Edit { spec: Box::new(changed), base: Some(Box::new(spec)) };
    let notice = desk.fleet.control(&view.name, edit, desk.asked.clone()).await?;
    Ok(desk.accepted(&notice))
}

/// Applies `key=value` settings to an agent's configuration and returns all problems. The folder on disk is checked
/// only if it differs from that in `before`, the present configuration.
async fn problems(
    spec: &mut AgentSpec,
    pairs: &[String],
    before: Option<&AgentSpec>,
    (machines, needs_one): (&[RunnerName], bool),
) -> Vec<Problem> {
    let mut problems = settings::apply(spec, pairs);
    let told = |problems: &[Problem], what: &str| problems.iter().any(|problem| problem.what == what);
    for problem in settings::check(spec) {
        if !told(&problems, &problem.what) {
            problems.push(problem);
        }
    }
    let moved = before.is_none_or(|before| before.runner != spec.runner);
    if moved && spec.runner.as_ref().is_some_and(|runner| !machines.contains(runner)) {
        problems.push(Problem { what: "runner".to_owned(), why: Why::NoMachine });
    }
    if needs_one && spec.runner.is_none() {
        problems.push(Problem { what: "runner".to_owned(), why: Why::NeedsMachine });
    }
    let other = moved || before.is_none_or(|before| before.workspace != spec.workspace);
    // A folder of another machine is looked at there, once it is used.
    if other && spec.runner.is_none() && !told(&problems, "workspace") {
        let is_folder =
            folder::ask(&Running::default(), &spec.workspace, ANSWERS, std::path::Path::is_dir).await;
        let why = match is_folder {
            Ok(true) => None,
            Ok(false) => Some(Why::NoFolder),
            Err(_) => Some(Why::FolderSilent),
        };
        problems.extend(why.map(|why| Problem { what: "workspace".to_owned(), why }));
    }
    problems
}

fn refused(voice: Voice<'_>, name: &str, mistakes: Vec<Mistake>) -> Failure {
    let count = mistakes.len().into();
    let head = voice.text("cmd-agent-problems", &[("name", repeat(name).into()), ("count", count)]);
    Failure::Mistakes { head, mistakes }
}

fn tell(voice: Voice<'_>, problem: &Problem) -> Mistake {
    let (id, more) = match &problem.why {
        Why::NoPair => ("cmd-setting-no-pair", ""),
        Why::NoSuchKey(Some(nearest)) => ("cmd-setting-nearest-key", *nearest),
        Why::NoSuchKey(None) => ("cmd-setting-no-such-key", ""),
        Why::Twice => ("cmd-setting-twice", ""),
        Why::OneOf(words) => ("cmd-setting-one-of", *words),
        Why::Form(example) => ("cmd-setting-form", *example),
        Why::TooLong => ("cmd-setting-too-long", ""),
        Why::Control => ("cmd-setting-control", ""),
        Why::Unclosed => ("cmd-setting-unclosed", ""),
        Why::Secret => ("cmd-setting-secret", ""),
        Why::NotAbsolute => ("cmd-setting-not-absolute", ""),
        Why::NoFolder => ("cmd-setting-no-folder", ""),
        Why::FolderSilent => ("cmd-setting-folder-silent", ""),
        Why::NeedsCommand => ("cmd-setting-needs-command", ""),
        Why::Placeholder => ("cmd-setting-placeholder", ""),
        Why::NeedsOwnHome => ("cmd-setting-needs-own-home", ""),
        Why::NoMachine => ("cmd-setting-no-machine", ""),
        Why::NeedsMachine => ("cmd-setting-needs-machine", ""),
    };
    let line = voice.text(id, &[("key", problem.what.as_str().into()), ("more", more.into())]);
    Mistake { key: problem.what.clone(), line }
}

pub(super) async fn remove(desk: &Desk<'_>, call: &Call) -> Done {
    let view = desk.view(call)?;
    let voice = desk.voice();
    let Some(code) = &call.word else {
        let code = desk.ask_removal(&view.name).await?;
        let works = ("works", view.agent.works().into());
        let variables = [("agent", view.name.as_str().into()), ("code", code.clone().into()), works];
        let line = voice.text("cmd-agent-remove-confirm", &variables);
        return Ok(Answer::lines(vec![line]).with(json!({ "agent": view.name, "code": code })));
    };
    if !desk.removal_confirmed(&view.name, code).await {
        let line = voice.text("cmd-agent-remove-stale", &[("agent", view.name.as_str().into())]);
        return Err(Failure::Lines(vec![line]));
    }
    let notice = desk.ask(&view.name, Control::Remove, desk.asked_for(&view.name)).await?;
    Ok(desk.accepted(&notice))
}

pub(super) fn list(desk: &Desk<'_>) -> Done {
    let voice = desk.voice();
    let views = desk.fleet.agents();
    let specs: Vec<&AgentSpec> = views.iter().filter_map(|view| view.agent.spec.as_ref()).collect();
    let lines = if specs.is_empty() {
        vec![voice.text("cmd-status-nobody", &[])]
    } else {
        desk.first(specs.iter().map(|spec| {
            let model = if spec.model.is_empty() {
                String::new()
            } else {
                format!("{DOT}{}", voice.short(&spec.model, 60))
            };
            let workspace = voice.short(&spec.workspace.to_string_lossy(), 120);
            format!("{}: {}{model}{DOT}{workspace}", spec.name, voice.locale.runtime(spec.runtime))
        }))
    };
    let data: Vec<_> = specs.iter().map(|spec| shown(spec)).collect();
    Ok(Answer::lines(lines).with(json!(data)))
}

pub(super) fn show(desk: &Desk<'_>, call: &Call) -> Done {
    let view = desk.view(call)?;
    let Some(spec) = &view.agent.spec else {
        return Err(Refusal::Removed { agent: view.name }.into());
    };
    let (voice, mut data) = (desk.voice(), shown(spec));
    let mut first = vec![format!("{}: {}", spec.name, voice.locale.runtime(spec.runtime))];
    let mut second = Vec::new();
    // Settings at their default are left out; the keys are those of `agent edit`.
    let defaults = shown(&AgentSpec::new(spec.name.clone(), spec.runtime, PathBuf::new()));
    let pairs = data.as_object().into_iter().flatten();
    for (key, value) in pairs.filter(|(key, value)| {
        !matches!(key.as_str(), "name" | "runtime") && defaults[key.as_str()] != **value
    }) {
        let value = voice.short(&settings::written(key, value), 200);
        let list =
            if matches!(key.as_str(), "workspace" | "model" | "account") { &mut first } else { &mut second };
        list.push(format!("{key}={value}"));
    }
    let mut lines = vec![first.join(DOT)];
    if !second.is_empty() {
        lines.push(second.join(DOT));
    }
    let handoff = super::handoff::line(desk.inner.journal.data_dir(), &view);
    lines.extend(view.agent.conversation.as_ref().map(|conversation| {
        let known = if handoff.is_some() { "yes" } else { "no" };
        let line = ("line", handoff.clone().unwrap_or_default().into());
        voice.text(
            "cmd-agent-conversation",
            &[("conversation", voice.short(conversation, 60).into()), ("known", known.into()), line],
        )
    }));
    data["conversation"] = json!(view.agent.conversation);
    data["handoff"] = json!(handoff);
    Ok(Answer::lines(lines).with(data))
}

/// Returns an agent's configuration as it may be shown, without secrets.
fn shown(spec: &AgentSpec) -> serde_json::Value {
    serde_json::Value::Object(settings::shown(spec))
}
