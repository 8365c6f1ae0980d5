//! ✅ ❌ 🔁 under what an agent asks permission for.
//!
//! A button is the command `approve` or `deny`, given by whoever presses it: the dispatcher decides whether they may, the core
//! whether they are first, and a late one is told who was. However it was answered, the message shows by whom
//! ([`super::buttons`] follows it). Questions in words have no buttons, and show who answered them all the same.

use serenity::all::{ButtonStyle, CreateActionRow, CreateButton, ReactionType};

use super::Bot;
use super::buttons::{Pressed, attributed, cut};
use super::custom_id::{Choice, CustomId};
use super::interactions::{Asker, locale};
use super::reply::Reply;
use crate::commands::interact::Structured;
use crate::commands::options::Given;
use crate::core::ask::{AskAnswer, AskEnd, hides};
use crate::core::id::{AgentName, AskId};
use crate::core::notice::{Notice, Refusal};
use crate::l10n::Locale;
use crate::outbox::Body;
use crate::supervisor::View;

/// What an agent asks in a post.
pub(super) fn asked(body: &Body) -> Option<(&AgentName, AskId)> {
    match body {
        Body::Notice(
            Notice::PermissionAsked { agent, ask, .. } | Notice::QuestionAsked { agent, ask, .. },
        ) => Some((agent, *ask)),
        _ => None,
    }
}

/// The buttons under a request for permission.
pub(super) fn open_row(locale: &Locale, body: &Body) -> Option<CreateActionRow> {
    let Body::Notice(Notice::PermissionAsked { agent, ask, command, cut, vague, .. }) = body else {
        return None;
    };
    // Nobody allows for good what nobody has seen whole.
    let exact = !cut && !vague && !hides(command);
    let offered = Choice::ALL.into_iter().filter(|choice| exact || *choice != Choice::Always);
    let buttons = offered.map(|choice| {
        let style = match choice {
            Choice::Approve => ButtonStyle::Success,
            Choice::Deny => ButtonStyle::Danger,
            Choice::Always => ButtonStyle::Secondary,
        };
        let id = CustomId::Ask { choice, agent: agent.clone(), ask: *ask };
        CreateButton::new(id.to_string())
            .label(locale.text(label(choice), &[]))
            .emoji(ReactionType::Unicode(emoji(choice).to_owned()))
            .style(style)
    });
    Some(CreateActionRow::Buttons(buttons.collect()))
}

const fn label(choice: Choice) -> &'static str {
    match choice {
        Choice::Approve => "button-approve",
        Choice::Deny => "button-deny",
        Choice::Always => "button-always",
    }
}

const fn emoji(choice: Choice) -> &'static str {
    match choice {
        Choice::Approve => "✅",
        Choice::Deny => "❌",
        Choice::Always => "🔁",
    }
}

/// A button was pressed: the command that it is, and what its message shows then.
pub(super) async fn pressed(
    bot: &Bot,
    asker: &Asker,
    (choice, agent, ask): (Choice, &AgentName, AskId),
) -> Pressed {
    let id = ("id".to_owned(), ask.to_string());
    let (command, given) = match choice {
        Choice::Approve => ("approve", vec![id]),
        Choice::Deny => ("deny", vec![id]),
        Choice::Always => ("approve", vec![id, ("always".to_owned(), "true".to_owned())]),
    };
    let structured = Structured {
        // The message shows who answered.
        shown: false,
        ..asker.structured(command, Given(given))
    };
    // Who may not answer is told that, and not what became of it.
    if let Err(lines) = bot.ports.dispatcher.may(&structured) {
        return Pressed::Told(Reply { lines, private: true, ..Reply::default() });
    }
    // A number says what is meant only together with whose it is: anybody can send an id.
    if bot.ports.fleet.asked_by(ask).is_none_or(|view| view.name != *agent) {
        let lines = vec![locale(bot, asker).refusal(&Refusal::NoSuchAsk { ask })];
        return Pressed::Told(Reply { lines, private: true, ..Reply::default() });
    }
    let answered = bot.ports.dispatcher.interact(&structured).await;
    if answered.refused {
        return Pressed::Told(Reply { private: true, ..Reply::of(answered) });
    }
    Pressed::Buttons(vec![closed_row(&bot.ports.locale, bot.ports.fleet.view(agent), ask)])
}

/// What stands where the buttons were. It cannot be pressed, but Discord wants an id of every button.
pub(super) fn closed_row(locale: &Locale, view: Option<View>, ask: AskId) -> CreateActionRow {
    let end = view.as_ref().and_then(|view| view.agent.settled_ask(ask)).map(|settled| &settled.end);
    let chosen =
        |choice: Choice, by| (attributed(locale, locale.text(label(choice), &[]), by), Some(emoji(choice)));
    let (label, emoji) = match end {
        Some(AskEnd::Answered { answer: AskAnswer::Allow { always: true }, by }) => {
            chosen(Choice::Always, by)
        }
        Some(AskEnd::Answered { answer: AskAnswer::Allow { always: false }, by }) => {
            chosen(Choice::Approve, by)
        }
        Some(AskEnd::Answered { answer: AskAnswer::Deny, by }) => chosen(Choice::Deny, by),
        Some(AskEnd::Answered { answer: AskAnswer::Text { .. }, by }) => {
            (attributed(locale, locale.text("button-answer", &[]), by), None)
        }
        Some(AskEnd::Expired) => (locale.text("button-expired", &[]), None),
        Some(AskEnd::Dropped) | None => (locale.text("button-over", &[]), None),
    };
    let button = CreateButton::new(format!("over:{ask}")).label(cut(&label)).style(ButtonStyle::Secondary);
    let button = match emoji {
        Some(emoji) => button.emoji(ReactionType::Unicode(emoji.to_owned())),
        None => button,
    };
    CreateActionRow::Buttons(vec![button.disabled(true)])
}
