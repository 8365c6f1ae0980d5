//! Forms for the long values of a command: opened for a person who may give the command, and again with everything that
//! was typed if the command is refused.
//!
//! The texts are kept in memory alone: they can hold a secret, which is one of the mistakes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use serenity::all::{
    ActionRowComponent, ButtonStyle, CreateActionRow, CreateButton, InteractionId, ModalInteraction,
};
use tracing::warn;

use super::Bot;
use super::custom_id::{BEFORE, CustomId, mark};
use super::interactions::{Asker, carry_out, locale};
use super::reply::{self, Reply};
use crate::commands::interact::Mistake;
use crate::commands::options::{Given, SETTINGS};
use crate::commands::words::bounded;
use crate::commands::{Command, Verb};
use crate::core::id::AgentName;
use crate::core::spec::AgentSpec;

/// Maximum number of refused forms that are kept to be opened again: at most 80 KB each, with five fields of 4,000
/// characters.
const DRAFTS_MAX: usize = 32;

/// Maximum number of refused forms of one person that are kept.
const DRAFTS_OF_ONE_MAX: usize = 4;

/// A form as a person submitted it.
#[derive(Debug, Clone)]
pub(super) struct FilledForm {
    /// The command that the form completes.
    pub(super) command: &'static Command,
    /// The options that were carried in the form's id.
    carried: Given,
    /// The form's fields by name, with the submitted texts.
    typed: Vec<(String, String)>,
}

/// A form that was refused, kept so that the person can correct it.
#[derive(Debug, Clone)]
struct Draft {
    /// Id of the interaction that submitted the form.
    id: InteractionId,
    /// Discord user id of the person who submitted it.
    by: Option<String>,
    form: FilledForm,
    mistakes: Vec<Mistake>,
}

/// The last forms that were refused, of all people.
#[derive(Debug, Default)]
pub(super) struct Drafts(Mutex<VecDeque<Draft>>);

impl Drafts {
    fn keep(&self, draft: Draft) {
        let mut drafts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_one: Vec<_> = drafts.iter().filter(|kept| kept.by == draft.by).map(|kept| kept.id).collect();
        let excess = (of_one.len() + 1).saturating_sub(DRAFTS_OF_ONE_MAX);
        let gone = &of_one[..excess];
        drafts.retain(|kept| !gone.contains(&kept.id));
        drafts.push_back(draft);
        if drafts.len() > DRAFTS_MAX {
            drafts.pop_front();
        }
    }

    /// Returns the refused form that this person submitted by this interaction; `None` if it is not kept any more.
    fn get(&self, id: InteractionId, by: Option<&str>) -> Option<Draft> {
        let drafts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drafts.iter().find(|draft| draft.id == id && draft.by.as_deref() == by).cloned()
    }
}

/// The content of a field when its form is opened.
struct Content {
    /// The text in the field; `None` if the form does not have this field.
    value: Option<String>,
    /// The sentence about the mistake in the text that was submitted before; `None` without a mistake.
    mistake: Option<String>,
}

/// Keeps a refused form, and returns a row with the button that opens it again.
pub(super) fn keep(bot: &Bot, asker: &Asker, form: FilledForm, mistakes: &[Mistake]) -> Vec<CreateActionRow> {
    let by = asker.author.account.clone();
    bot.drafts.keep(Draft { id: asker.id, by, form, mistakes: mistakes.to_vec() });
    let id = CustomId::Again { draft: asker.id.get() };
    let label = locale(bot, asker).text("button-again", &[]);
    vec![CreateActionRow::Buttons(vec![
        CreateButton::new(id.to_string()).label(label).style(ButtonStyle::Primary),
    ])]
}

/// Opens a refused form again, with the texts and the mistakes in it.
pub(super) async fn again(bot: &Arc<Bot>, asker: &Asker, draft: u64) {
    let kept = bot.drafts.get(InteractionId::new(draft), asker.author.account.as_deref());
    let Some(Draft { form, mistakes, .. }) = kept else {
        let told = locale(bot, asker).text("form-gone", &[]);
        return reply::at_once(bot, asker, &Reply::to_them(told)).await;
    };
    let command = form.command;
    let mut given = form.carried.clone();
    given.0.retain(|(name, _)| name != BEFORE);
    // Somebody may have taken the role, or the name, meanwhile.
    if let Err(lines) = bot.ports.dispatcher.may(&asker.structured(command.name, given.clone())) {
        return reply::at_once(bot, asker, &Reply { lines, private: true, ..Reply::default() }).await;
    }
    let contents = command.form().iter().map(|field| {
        let typed = form.typed.iter().find(|(name, _)| name == field.name);
        let mistake = mistakes.iter().find(|mistake| field_of(command, &mistake.key) == Some(field.name));
        Content {
            value: typed.map(|(_, value)| value.clone()),
            mistake: mistake.map(|mistake| mistake.line.clone()),
        }
    });
    let id = CustomId::Form { command, given: form.carried.clone() };
    open(bot, asker, command, &given, (&id, contents.collect())).await;
}

/// Returns the field of a command's form that contains the option or setting `key`: settings without a field of their
/// own share one.
fn field_of(command: &Command, key: &str) -> Option<&'static str> {
    let field = |name: &str| command.form().iter().map(|field| field.name).find(|field| *field == name);
    let is_option = command.options().iter().any(|option| option.name == key);
    field(key).or_else(|| field(SETTINGS).filter(|_| !is_option))
}

/// Returns true if a command has a form and none of its fields was given as an option, so that the form is opened.
pub(super) fn is_asked_for(command: &Command, given: &Given) -> bool {
    let form = command.form();
    !form.is_empty() && form.iter().all(|field| given.get(field.name).is_none())
}

/// Opens the form of a command, if the person may give the command; else answers with the refusal.
pub(super) async fn offer(bot: &Arc<Bot>, asker: &Asker, command: &'static Command, mut given: Given) {
    // The form carries the agent's canonical name, however it was written.
    if let (Some(agent), true) = (agent(asker, &given), given.get("agent").is_some()) {
        given.0.retain(|(name, _)| name != "agent");
        given.0.push(("agent".to_owned(), agent.to_string()));
    }
    let structured = asker.structured(command.name, given);
    if let Err(lines) = bot.ports.dispatcher.may(&structured) {
        reply::at_once(bot, asker, &Reply { lines, private: true, ..Reply::default() }).await;
        return;
    }
    let spec = edited(bot, asker, command, &structured.given);
    let mut carried = structured.given.clone();
    if spec.is_some() {
        let marks = command.form().iter().map(|field| mark(&prefill(spec.as_ref(), field.name)));
        carried.0.push((BEFORE.to_owned(), marks.collect::<Vec<_>>().join("-")));
    }
    let Some(id) = CustomId::form(command, &carried) else {
        // Options that no form can carry are invalid themselves: the command's own error tells why.
        carry_out(bot, asker, command.name, structured.given, None).await;
        return;
    };
    let fields = command
        .form()
        .iter()
        .map(|field| Content { value: Some(prefill(spec.as_ref(), field.name)), mistake: None });
    open(bot, asker, command, &structured.given, (&id, fields.collect())).await;
}

/// Opens a form whose fields have these contents.
async fn open(
    bot: &Bot,
    asker: &Asker,
    command: &Command,
    given: &Given,
    (id, contents): (&CustomId, Vec<Content>),
) {
    let form = form(bot, asker, command, given, (id, contents));
    if let Err(reason) = bot.rest.respond(asker.id, &asker.token, &form).await {
        warn!(%reason, "a form could not be opened");
    }
}

/// Returns the agent that the given options or the channel name, for a command about an agent; else `None`.
fn agent(asker: &Asker, given: &Given) -> Option<AgentName> {
    let here = asker.place.channel().and_then(|channel| channel.strip_prefix('#'));
    given
        .get("agent")
        .map(|word| word.trim_start_matches('@'))
        .or(here)
        .and_then(|name| AgentName::new(name).ok())
}

/// Returns the present settings of the agent that an `agent edit` form is about (named, else the channel's), to fill it
/// in; `None` for other commands. The caller has checked the role.
fn edited(bot: &Bot, asker: &Asker, command: &Command, given: &Given) -> Option<AgentSpec> {
    let agent = agent(asker, given).filter(|_| command.verb == Verb::AgentEdit)?;
    bot.ports.fleet.view(&agent)?.agent.spec.clone()
}

/// Returns the initial content of a form's field: of an agent's present settings, or empty.
fn prefill(spec: Option<&AgentSpec>, field: &str) -> String {
    let Some(spec) = spec else { return String::new() };
    match field {
        "model" => spec.model.clone(),
        "instructions" => spec.instructions.clone(),
        "command" if !spec.command.is_empty() => json!(spec.command).to_string(),
        _ => String::new(),
    }
}

fn form(
    bot: &Bot,
    asker: &Asker,
    command: &Command,
    given: &Given,
    (id, contents): (&CustomId, Vec<Content>),
) -> serde_json::Value {
    /// Maximum length of a form's title and of a field's label, in characters; Discord's limit.
    const TITLE_MAX: usize = 45;
    /// Maximum length of the text in a form's field, in characters; Discord's limit.
    const VALUE_MAX: usize = 4000;
    let locale = locale(bot, asker);
    let agent = agent(asker, given);
    let name = given.get("name").or(agent.as_ref().map(AgentName::as_str)).unwrap_or_default();
    // A task without a named agent.
    let boarded = command.verb == Verb::TaskAdd && name.is_empty();
    let title = locale.text(
        &format!("form-{}{}", command.name.replace(' ', "-"), if boarded { "-auto" } else { "" }),
        &[("agent", name.into()), ("name", name.into())],
    );
    let fields = command.form().iter().zip(contents).filter_map(|(field, Content { value, mistake })| {
        // A truncated value would replace the complete one.
        let value = value.filter(|value| value.chars().count() <= VALUE_MAX)?;
        // The texts of an answer and of a rejection differ from that of a task.
        let name = match command.verb {
            Verb::Answer => "answer",
            Verb::Reject => "reject",
            _ => field.name,
        };
        let label = match mistake {
            Some(mistake) => bounded(&format!("⚠ {}", mistake.replace('`', "")), TITLE_MAX - 1),
            None => locale.text(&format!("field-{name}"), &[]),
        };
        let mut input = json!({
            "type": 4,
            "custom_id": field.name,
            "style": if field.long { 2 } else { 1 },
            "label": label,
            "placeholder": locale.text(&format!("field-example-{name}"), &[]),
            "required": field.required,
            "max_length": VALUE_MAX,
        });
        if !value.is_empty() {
            input["value"] = value.into();
        }
        Some(json!({ "type": 1, "components": [input] }))
    });
    let title: String = title.chars().take(TITLE_MAX).collect();
    let data =
        json!({ "custom_id": id.to_string(), "title": title, "components": fields.collect::<Vec<_>>() });
    json!({ "type": 9, "data": data })
}

/// Handles a submitted form: runs its command with the options in its id and its fields.
pub(super) async fn filled(bot: &Arc<Bot>, asker: &Asker, form: &ModalInteraction) {
    let Ok(CustomId::Form { command, given }) = form.data.custom_id.parse() else {
        let told = locale(bot, asker).text("answer-unknown", &[]);
        reply::at_once(bot, asker, &Reply::to_them(told)).await;
        return;
    };
    let mut form_filled = FilledForm { command, carried: given.clone(), typed: Vec::new() };
    let mut given = given;
    let before: Vec<String> =
        given.0.extract_if(.., |(name, _)| name == BEFORE).flat_map(|(_, marks)| split(&marks)).collect();
    let mut emptied = Vec::new();
    let inputs = form.data.components.iter().flat_map(|row| &row.components);
    for input in inputs {
        let ActionRowComponent::InputText(input) = input else { continue };
        let value = input.value.as_deref().unwrap_or_default().replace("\r\n", "\n");
        form_filled.typed.push((input.custom_id.clone(), value.clone()));
        let place = command.form().iter().position(|field| field.name == input.custom_id);
        let before = place.and_then(|place| before.get(place));
        // An unchanged field is left out: somebody else may have changed the setting since.
        if before.is_some_and(|before| *before == mark(&value)) {
            continue;
        }
        if !value.trim().is_empty() {
            given.0.push((input.custom_id.clone(), value));
        } else if before.is_some() {
            emptied.push(format!("{}=\"\"", input.custom_id));
        }
    }
    if !emptied.is_empty() {
        let settings = given.0.extract_if(.., |(name, _)| name == "settings").map(|(_, value)| value);
        let settings: Vec<String> = settings.chain(emptied).collect();
        given.0.push(("settings".to_owned(), settings.join("\n")));
    }
    if !before.is_empty() && command.form().iter().all(|field| given.get(field.name).is_none()) {
        let told = locale(bot, asker).text("form-unchanged", &[]);
        reply::at_once(bot, asker, &Reply::to_them(told)).await;
        return;
    }
    carry_out(bot, asker, command.name, given, Some(form_filled)).await;
}

fn split(marks: &str) -> Vec<String> {
    marks.split('-').map(str::to_owned).collect()
}
