//! Appearance of buttons: active ones, and the disabled ones that replace them.

use serenity::all::{ButtonStyle, CreateActionRow, CreateButton, ReactionType};

use super::{Done, calls_for};
use crate::chat::discord::asks;
use crate::chat::discord::custom_id::{Answer, Confirm, CustomId, Verdict};
use crate::commands::interact::Answered;
use crate::commands::{Command, Verb};
use crate::core::id::{AgentName, WorkId};
use crate::core::notice::Notice;
use crate::core::post::{Body, Post};
use crate::core::time::Timestamp;
use crate::core::work::Actor;
use crate::l10n::Locale;
use crate::redact::Redactor;

/// Maximum length of a button's label, in characters.
const LABEL_MAX: usize = 80;

/// Maximum length of a person's name on a button, in characters.
const NAME_MAX: usize = 32;

/// Builds the rows of buttons under a post; empty for a post without buttons.
pub(in crate::chat::discord) fn rows(
    post: &Post,
    locale: &Locale,
    redactor: &Redactor,
) -> Vec<CreateActionRow> {
    match calls_for(&post.body) {
        Some(agent) => vec![open_row(locale, agent, post.at, None)],
        None if let Body::Notice(Notice::TaskInReview { agent, task, .. }) = &post.body => {
            vec![review_row(locale, agent, *task)]
        }
        None => asks::open_rows(locale, redactor, &post.body),
    }
}

/// Builds the row of buttons under a reply that says that an agent is stopped.
pub(in crate::chat::discord) fn calling(
    locale: &Locale,
    agent: &AgentName,
    at: Timestamp,
) -> Vec<CreateActionRow> {
    vec![open_row(locale, agent, at, None)]
}

/// Builds the row of buttons under a task in review.
fn review_row(locale: &Locale, agent: &AgentName, task: WorkId) -> CreateActionRow {
    let button = |verdict| {
        let (label, style) = match verdict {
            Verdict::Accept => ("button-accept", ButtonStyle::Success),
            Verdict::Reject => ("button-reject", ButtonStyle::Danger),
            Verdict::Diff => ("button-diff", ButtonStyle::Secondary),
        };
        let id = CustomId::Review { verdict, agent: agent.clone(), task };
        CreateButton::new(id.to_string()).label(locale.text(label, &[])).style(style)
    };
    CreateActionRow::Buttons(Verdict::ALL.map(button).to_vec())
}

/// Builds the row that replaces them once the task is accepted.
pub(super) fn accepted_row(locale: &Locale, agent: &AgentName, task: WorkId, by: &Actor) -> CreateActionRow {
    let label = attributed(locale, locale.text("button-accept", &[]), by);
    let id = CustomId::Review { verdict: Verdict::Accept, agent: agent.clone(), task };
    let button = CreateButton::new(id.to_string()).label(cut(&label)).style(ButtonStyle::Secondary);
    CreateActionRow::Buttons(vec![button.disabled(true)])
}

fn answer_button(locale: &Locale, answer: Answer, agent: &AgentName, at: Timestamp) -> CreateButton {
    let (label, style) = match answer {
        Answer::Resume => ("button-resume", ButtonStyle::Success),
        Answer::Abort => ("button-abort", ButtonStyle::Danger),
        Answer::Transcript => ("button-transcript", ButtonStyle::Secondary),
    };
    let id = CustomId::Answer { answer, agent: agent.clone(), at };
    CreateButton::new(id.to_string()).label(locale.text(label, &[])).style(style)
}

/// Builds the row of active buttons under a post that calls for a person. After an abort the agent is still stopped, so
/// that the other buttons stay active.
pub(super) fn open_row(
    locale: &Locale,
    agent: &AgentName,
    at: Timestamp,
    aborted: Option<&Done>,
) -> CreateActionRow {
    let button = |answer| answer_button(locale, answer, agent, at);
    let abort = match aborted {
        Some(done) => answered_button(locale, Some(done), agent, at),
        None => button(Answer::Abort),
    };
    CreateActionRow::Buttons(vec![button(Answer::Resume), abort, button(Answer::Transcript)])
}

/// Builds the row that replaces the buttons once somebody has answered: it shows who, and keeps the button for the
/// transcript.
pub(super) fn closed_row(
    locale: &Locale,
    prompt: (&AgentName, Timestamp),
    done: Option<&Done>,
) -> CreateActionRow {
    let (agent, at) = prompt;
    CreateActionRow::Buttons(vec![
        answered_button(locale, done, agent, at),
        answer_button(locale, Answer::Transcript, agent, at),
    ])
}

/// Builds the disabled button that shows who answered. Discord requires an id for every button.
fn answered_button(locale: &Locale, done: Option<&Done>, agent: &AgentName, at: Timestamp) -> CreateButton {
    let label = match done {
        Some(done) => attributed(locale, action(locale, done.command), &done.by),
        None => locale.text("button-over", &[]),
    };
    let id = CustomId::Answer { answer: Answer::Abort, agent: agent.clone(), at };
    CreateButton::new(id.to_string()).label(cut(&label)).style(ButtonStyle::Secondary).disabled(true)
}

/// Returns a button's label with an action and the name of the person who performed it.
pub(in crate::chat::discord) fn attributed(locale: &Locale, action: String, by: &Actor) -> String {
    let variables = [
        ("action", action.into()),
        ("name", short(&by.name).into()),
        ("network", by.network.as_str().to_owned().into()),
    ];
    locale.text("button-answered", &variables)
}

/// Returns the word for a command on a button, in the reader's language.
pub(super) fn action(locale: &Locale, command: &str) -> String {
    match command {
        "resume" => locale.text("button-resume", &[]),
        "abort" => locale.text("button-abort", &[]),
        other => other.to_owned(),
    }
}

pub(super) fn short(name: &str) -> String {
    crate::commands::words::bounded(name, NAME_MAX)
}

/// Cuts a button's label to the length that Discord allows.
pub(in crate::chat::discord) fn cut(label: &str) -> String {
    label.chars().take(LABEL_MAX).collect()
}

/// Builds the buttons ✅ and ❌ under the question whether an agent is to be removed.
pub(in crate::chat::discord) fn confirming(
    locale: &Locale,
    command: Option<&Command>,
    answered: &Answered,
) -> Vec<CreateActionRow> {
    let asks = command.is_some_and(|command| command.verb == Verb::AgentRemove) && !answered.refused;
    let text = |key: &str| answered.data.as_ref().and_then(|data| data[key].as_str());
    let (true, Some(agent), Some(code)) = (asks, text("agent"), text("code")) else { return Vec::new() };
    let Ok(agent) = AgentName::new(agent) else { return Vec::new() };
    let button = |confirm, emoji: &str, label, style| {
        let id = CustomId::Confirm { confirm, agent: agent.clone(), code: code.to_owned() };
        CreateButton::new(id.to_string())
            .label(locale.text(label, &[]))
            .emoji(ReactionType::Unicode(emoji.to_owned()))
            .style(style)
    };
    vec![CreateActionRow::Buttons(vec![
        button(Confirm::Remove, "✅", "button-remove", ButtonStyle::Danger),
        button(Confirm::Keep, "❌", "button-keep", ButtonStyle::Secondary),
    ])]
}
