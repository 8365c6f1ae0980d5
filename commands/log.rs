//! `log`: an agent's last turns, in its own words.

use serde_json::json;

use super::desk::{Answer, Desk, Done};
use super::grammar::Call;
use super::say::{DOT, Voice};
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::access::Role;
use crate::core::event::Event;
use crate::journal::{Entry, Recorded, Stream};

pub(super) const COMMAND: Command = Command {
    verb: Verb::Log,
    name: "log",
    aliases: &[],
    args: &[Arg::Agent, Arg::Count { name: "n" }],
    role: Role::Viewer,
    scope: Scope::Agent,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-log",
};

/// Turns shown when no number is given.
const TURNS: usize = 5;

/// The most of one turn's text in a line.
const TURN_MAX: usize = 300;

pub(super) async fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let agent = desk.agent(call)?.clone();
    let voice = desk.voice();
    let wanted = desk.wanted(call, TURNS);
    let entries = desk.history(Stream::Agent(agent.clone()), wanted, is_turn).await?;
    let mut lines: Vec<String> = entries.iter().filter_map(|recorded| line(voice, recorded)).collect();
    if lines.is_empty() {
        lines.push(voice.text("cmd-log-empty", &[("agent", (&agent).into())]));
    }
    Ok(Answer::lines(lines).with(json!(entries)))
}

fn is_turn(recorded: &Recorded) -> bool {
    matches!(&recorded.entry, Entry::Agent(Event::TurnEnded { .. } | Event::SessionEnded { .. }))
}

fn line(voice: Voice<'_>, recorded: &Recorded) -> Option<String> {
    let time = voice.locale.time(recorded.at);
    match &recorded.entry {
        Entry::Agent(Event::TurnEnded { text, tools, .. }) => {
            let mut pieces = vec![voice.short(text, TURN_MAX)];
            if !tools.is_empty() {
                let tools = voice.short(&tools.join(", "), 120);
                pieces.push(voice.text("cmd-log-tools", &[("tools", tools.into())]));
            }
            pieces.retain(|piece| !piece.is_empty());
            Some(format!("{time} {}", pieces.join(DOT)))
        }
        Entry::Agent(Event::SessionEnded { session, outcome, .. }) => {
            let text = outcome.text.as_deref().unwrap_or(&outcome.detail);
            let ended = voice.text(
                "cmd-log-ended",
                &[("session", session.0.into()), ("how", voice.locale.category(outcome.category).into())],
            );
            let text = voice.short(text, TURN_MAX);
            Some(if text.is_empty() {
                format!("{time} {ended}")
            } else {
                format!("{time} {ended}{DOT}{text}")
            })
        }
        Entry::Agent(_) | Entry::Fleet(_) | Entry::Audit(_) => None,
    }
}
