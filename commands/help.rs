//! `help`: lists the commands, from the same table as everything else.

use serde_json::json;

use super::desk::{Answer, Desk, Done};
use super::grammar::Call;
use super::say::Voice;
use super::{Arg, COMMANDS, Command, Effect, GROUPS, Scope, Strictness, Verb};
use crate::core::role::Role;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Help,
    name: "help",
    aliases: &["commands"],
    args: &[Arg::Topic],
    role: Role::Viewer,
    scope: Scope::Fleet,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-help",
};

pub(super) fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let voice = desk.voice();
    let lines = match call.word.as_deref() {
        None => overview(voice, desk.role),
        Some(group) if GROUPS.contains(&group) => COMMANDS
            .into_iter()
            .filter(|command| command.name.split_once(' ').is_some_and(|(first, _)| first == group))
            .map(|command| short(voice, command))
            .collect(),
        Some(name) => COMMANDS
            .into_iter()
            .filter(|command| command.name == name)
            .flat_map(|command| about(voice, command))
            .collect(),
    };
    let data: Vec<_> = COMMANDS
        .map(|command| {
            json!({
                "name": command.name,
                "aliases": command.aliases,
                "usage": command.usage(),
                "about": voice.text(command.about, &[]),
                "role": command.role,
            })
        })
        .into();
    Ok(Answer::lines(lines).with(json!(data)))
}

/// Returns the reply of `help` alone: the ways to address herder, and all commands, one line for each role that they
/// need. `role` is the author's.
fn overview(voice: Voice<'_>, role: Role) -> Vec<String> {
    let mut lines = vec![voice.text("cmd-help-how", &[])];
    for needed in [Role::Anybody, Role::Viewer, Role::Operator, Role::Admin] {
        let names: Vec<&str> = COMMANDS
            .into_iter()
            .filter(|command| command.role == needed)
            .map(|command| command.name)
            .collect();
        let names = names.join(", ");
        let variables = [("role", needed.as_str().into()), ("commands", names.into())];
        lines.push(
            voice.text(if needed <= role { "cmd-help-yours" } else { "cmd-help-not-yours" }, &variables),
        );
    }
    lines.push(voice.text("cmd-help-more", &[]));
    lines
}

fn short(voice: Voice<'_>, command: &Command) -> String {
    format!("!{} – {}", command.usage(), voice.text(command.about, &[]))
}

/// Returns the reply of `help <command>`: everything about one command.
fn about(voice: Voice<'_>, command: &Command) -> Vec<String> {
    let mut lines = vec![short(voice, command)];
    if !command.aliases.is_empty() {
        let names: Vec<String> = command.aliases.iter().map(|alias| format!("!{alias}")).collect();
        lines.push(voice.text("cmd-help-aliases", &[("names", names.join(", ").into())]));
    }
    let mut needs = voice.text("cmd-help-role", &[("role", command.role.as_str().into())]);
    if command.needs_agent() {
        needs.push(' ');
        needs.push_str(&voice.text("cmd-help-agent", &[("command", command.name.into())]));
    }
    lines.push(needs);
    if command.args.iter().any(|arg| matches!(arg, Arg::Settings { .. })) {
        let keys = super::settings::KEYS.join(", ");
        lines.push(voice.text("cmd-help-keys", &[("keys", keys.into())]));
    }
    lines
}
