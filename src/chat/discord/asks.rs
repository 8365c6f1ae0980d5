//! Buttons and menus under an agent's request: ✅ ❌ 🔁 for a permission, and the offered answers for a question.
//!
//! A button is the command `approve` or `deny`, given by the person who presses it: the dispatcher decides whether
//! they may, the core whether they are first, and a late one is told who was. However it was answered, the message
//! shows by whom ([`super::buttons`] updates it). Up to five answers are buttons; more, or several at once, are a
//! menu; a free answer is given in a form. Questions without offered answers have no buttons, and still show who
//! answered them.

use serenity::all::{
    ButtonStyle, CreateActionRow, CreateButton, CreateSelectMenu, CreateSelectMenuKind,
    CreateSelectMenuOption, ReactionType,
};

use super::Bot;
use super::buttons::{Pressed, attributed, cut};
use super::custom_id::{Choice, CustomId};
use super::interactions::{Asker, locale};
use super::reply::Reply;
use crate::commands::interact::Structured;
use crate::commands::options::Given;
use crate::core::ask::{AskAnswer, AskEnd, OFFERS_MAX, Offer};
use crate::core::clean::clean;
use crate::core::id::{AgentName, AskId};
use crate::core::notice::{Notice, Refusal};
use crate::core::post::Body;
use crate::core::unseen::hides;
use crate::l10n::Locale;
use crate::redact::Redactor;
use crate::supervisor::View;

/// Returns the agent and the number of the request or question that a post shows; `None` for other posts.
pub(super) fn asked(body: &Body) -> Option<(&AgentName, AskId)> {
    match body {
        Body::Notice(
            Notice::PermissionAsked { agent, ask, .. }
            | Notice::QuestionAsked { agent, ask, .. }
            | Notice::PlanAsked { agent, ask, .. },
        ) => Some((agent, *ask)),
        _ => None,
    }
}

/// Maximum number of a question's answers that are shown as buttons, in one row; more are shown as a menu.
const BUTTONS_MAX: usize = 5;

/// Maximum length of an answer's text and of its explanation in a menu, in characters.
const OFFER_MAX: usize = 100;

/// Builds the buttons and menus under a post with an agent's request or question.
pub(super) fn open_rows(locale: &Locale, redactor: &Redactor, body: &Body) -> Vec<CreateActionRow> {
    let Body::Notice(notice) = body else { return Vec::new() };
    match notice {
        Notice::PermissionAsked { agent, ask, command, cut, vague, secret, .. } => {
            // A command that was not shown in full cannot be allowed permanently.
            let exact = !cut && !vague && !secret && !hides(command);
            let offered = Choice::ALL.into_iter().filter(|choice| exact || *choice != Choice::Always);
            let buttons = offered.map(|choice| choice_button(locale, choice, agent, *ask));
            vec![CreateActionRow::Buttons(buttons.collect())]
        }
        Notice::PlanAsked { agent, ask, .. } => {
            let choices = [Choice::Approve, Choice::Deny];
            let mut buttons: Vec<_> =
                choices.into_iter().map(|choice| choice_button(locale, choice, agent, *ask)).collect();
            buttons.push(other_button(locale, agent, *ask));
            vec![CreateActionRow::Buttons(buttons)]
        }
        Notice::QuestionAsked { agent, ask, options, several, .. } if !options.is_empty() => {
            let mut rows = offers((agent, *ask), options, *several, redactor);
            let other = other_button(locale, agent, *ask);
            match rows.last_mut() {
                Some(CreateActionRow::Buttons(buttons)) if buttons.len() < BUTTONS_MAX => buttons.push(other),
                Some(_) | None => rows.push(CreateActionRow::Buttons(vec![other])),
            }
            rows
        }
        _ => Vec::new(),
    }
}

fn choice_button(locale: &Locale, choice: Choice, agent: &AgentName, ask: AskId) -> CreateButton {
    let style = match choice {
        Choice::Approve => ButtonStyle::Success,
        Choice::Deny => ButtonStyle::Danger,
        Choice::Always => ButtonStyle::Secondary,
    };
    let id = CustomId::Ask { choice, agent: agent.clone(), ask };
    CreateButton::new(id.to_string())
        .label(locale.text(label(choice), &[]))
        .emoji(ReactionType::Unicode(emoji(choice).to_owned()))
        .style(style)
}

/// Builds the button that opens the form for an answer in free text.
fn other_button(locale: &Locale, agent: &AgentName, ask: AskId) -> CreateButton {
    let id = CustomId::Other { agent: agent.clone(), ask };
    let label = locale.text("button-other", &[]);
    CreateButton::new(id.to_string()).label(label).style(ButtonStyle::Secondary)
}

/// Builds the buttons or the menu with the answers that a question offers. Their text is the agent's.
fn offers(
    (agent, ask): (&AgentName, AskId),
    options: &[Offer],
    several: bool,
    redactor: &Redactor,
) -> Vec<CreateActionRow> {
    let shown = |text: &str, max: usize| -> String {
        let text = clean(text);
        redactor.redact(&text).replace('\n', " ").chars().take(max).collect()
    };
    let numbered = (1_u8..).zip(options);
    if !several && options.len() <= BUTTONS_MAX {
        let buttons = numbered.map(|(number, offer)| {
            let id = CustomId::Pick { agent: agent.clone(), ask, option: Some(number) };
            let label = format!("{number}. {}", shown(&offer.label, OFFER_MAX));
            CreateButton::new(id.to_string()).label(cut(&label)).style(ButtonStyle::Primary)
        });
        return vec![CreateActionRow::Buttons(buttons.collect())];
    }
    let options: Vec<CreateSelectMenuOption> = numbered
        .take(OFFERS_MAX)
        .map(|(number, offer)| {
            let label = shown(&format!("{number}. {}", offer.label), OFFER_MAX);
            let option = CreateSelectMenuOption::new(label, number.to_string());
            let description = shown(&offer.description, OFFER_MAX);
            if description.trim().is_empty() { option } else { option.description(description) }
        })
        .collect();
    let most = if several { u8::try_from(options.len()).unwrap_or(1) } else { 1 };
    let id = CustomId::Pick { agent: agent.clone(), ask, option: None };
    let menu = CreateSelectMenu::new(id.to_string(), CreateSelectMenuKind::String { options });
    vec![CreateActionRow::SelectMenu(menu.min_values(1).max_values(most))]
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

/// The answer that a person gave to an agent's request by a button or a menu.
pub(super) enum Pick {
    /// The button under a request for permission or a plan was pressed.
    Choice(Choice),
    /// Numbers of the chosen answers of a question.
    Offers(String),
}

/// Handles a pressed button or a chosen answer: runs the command for it and returns the message's new buttons.
pub(super) async fn pressed(
    bot: &Bot,
    asker: &Asker,
    (pick, agent, ask): (Pick, &AgentName, AskId),
) -> Pressed {
    let id = ("id".to_owned(), ask.to_string());
    let (command, given) = match pick {
        Pick::Choice(Choice::Approve) => ("approve", vec![id]),
        Pick::Choice(Choice::Deny) => ("deny", vec![id]),
        Pick::Choice(Choice::Always) => ("approve", vec![id, ("always".to_owned(), "true".to_owned())]),
        Pick::Offers(numbers) => ("answer", vec![id, ("text".to_owned(), numbers)]),
    };
    let structured = Structured {
        // The message itself shows who answered.
        shown: false,
        ..asker.structured(command, Given(given))
    };
    // A person without permission is told only that, not the outcome.
    if let Err(lines) = bot.ports.dispatcher.may(&structured) {
        return Pressed::Told(Reply { lines, private: true, ..Reply::default() });
    }
    // The number is valid only together with its agent: anybody can send an id.
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

/// Builds the row that replaces the buttons once the request is answered. Its button is disabled, but Discord requires
/// an id for it.
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
        Some(AskEnd::Answered { answer: AskAnswer::Text { .. } | AskAnswer::Chosen { .. }, by }) => {
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
