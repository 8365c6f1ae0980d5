//! Slash commands, completion, forms and buttons: acknowledged within three seconds, exactly once, and answered.
//!
//! ```text
//!  interaction ─► once? ─► who, where, in which language ─┬─ command ─► form, or the dispatcher ─┐
//!                                                         ├─ form ────► the dispatcher ──────────┤─► [`reply`]
//!                                                         ├─ button ──► `buttons` ───────────────┘
//!                                                         └─ completion ► from memory
//! ```
//!
//! poise builds the list of commands ([`super::registration`]) but does not answer them: it repeats an answer whose
//! acknowledgement was lost, shows raw errors, and its requests do not pass [`super::rest`]. The dispatcher checks
//! permissions, for a button as for a line.

use std::collections::{HashSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use serenity::all::{
    ActionRowComponent, ApplicationId, ChannelId, CommandData, CommandInteraction, ComponentInteraction,
    GuildId, Interaction, InteractionId, Member, ModalInteraction, PartialChannel, ResolvedOption,
    ResolvedValue, RoleId, User,
};
use tracing::{debug, error, warn};

use super::custom_id::{BEFORE, CustomId, mark};
use super::reply::{self, Reply};
use super::rest::EPHEMERAL;
use super::{Bot, buttons, completion};
use crate::access::Role;
use crate::chat::{Author, Origin, Place};
use crate::clock;
use crate::commands::interact::{Answered, Structured};
use crate::commands::options::Given;
use crate::commands::{COMMANDS, Command, Effect, Verb};
use crate::core::id::AgentName;
use crate::core::notice::Refusal;
use crate::core::spec::AgentSpec;
use crate::core::time::Timestamp;
use crate::l10n::Locale;

/// Maximum number of interactions remembered, so that a repeated one is answered once. A resumed gateway repeats the
/// events of the seconds before.
const REMEMBERED_MAX: usize = 1024;

/// Ids of the interactions that were handled.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<(HashSet<InteractionId>, VecDeque<InteractionId>)>);

impl Seen {
    /// Returns true if the id is new.
    fn first(&self, id: InteractionId) -> bool {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (ids, order) = &mut *seen;
        if !ids.insert(id) {
            return false;
        }
        order.push_back(id);
        if order.len() > REMEMBERED_MAX
            && let Some(oldest) = order.pop_front()
        {
            ids.remove(&oldest);
        }
        true
    }
}

/// The fields that all interactions share.
#[derive(Debug, Clone)]
pub(super) struct Asker {
    pub(super) id: InteractionId,
    pub(super) application: ApplicationId,
    pub(super) token: String,
    pub(super) author: Author,
    pub(super) channel: ChannelId,
    pub(super) place: Place,
    pub(super) language: String,
    /// The time of the interaction, by this machine's clock.
    pub(super) at: Timestamp,
}

impl Asker {
    /// Returns the interaction's age. A resumed gateway repeats interactions that Discord has given up.
    pub(super) fn age(&self) -> Duration {
        clock::now().since(self.at)
    }

    /// Builds a command of this person in this place.
    pub(super) fn structured(&self, command: &str, given: Given) -> Structured {
        Structured {
            under: None,
            author: self.author.clone(),
            place: self.place.clone(),
            command: command.to_owned(),
            given,
            language: self.language.clone(),
            shown: true,
            owed_under: None,
        }
    }
}

/// Handles an interaction.
pub(super) async fn handle(bot: &Arc<Bot>, interaction: Interaction) {
    if !bot.seen.first(interaction.id()) {
        debug!(id = %interaction.id(), "an interaction came a second time");
        return;
    }
    // A command started now could not be finished, and the supervisors accept none any more.
    if bot.ports.hearing.is_cancelled() {
        return closing(bot, &interaction).await;
    }
    match interaction {
        Interaction::Command(command) => {
            let asker = asker(
                bot,
                (command.id, command.application_id, &command.token),
                (&command.user, command.member.as_deref()),
                (command.guild_id, command.channel_id, command.channel.as_ref()),
                &command.locale,
            );
            guarded(bot, &asker, Box::pin(self::command(bot, &asker, &command))).await;
        }
        Interaction::Modal(form) => {
            let asker = asker(
                bot,
                (form.id, form.application_id, &form.token),
                (&form.user, form.member.as_ref()),
                (form.guild_id, form.channel_id, form.channel.as_ref()),
                &form.locale,
            );
            guarded(bot, &asker, Box::pin(filled(bot, &asker, &form))).await;
        }
        Interaction::Component(press) => {
            let asker = pressed_by(bot, &press);
            guarded(bot, &asker, Box::pin(buttons::pressed(bot, &asker, &press))).await;
        }
        Interaction::Autocomplete(typing) => complete(bot, &typing).await,
        other => debug!(kind = ?other.kind(), "an interaction of a kind that herder does not offer"),
    }
}

fn pressed_by(bot: &Bot, press: &ComponentInteraction) -> Asker {
    asker(
        bot,
        (press.id, press.application_id, &press.token),
        (&press.user, press.member.as_ref()),
        (press.guild_id, press.channel_id, press.channel.as_ref()),
        &press.locale,
    )
}

/// Answers an interaction that could not be parsed with a sentence that it failed.
pub(super) async fn unreadable(bot: &Bot, raw: &Value) {
    let text = |field: &str| raw[field].as_str().unwrap_or_default();
    let Some(id) = text("id").parse().ok().filter(|id| *id != 0).map(InteractionId::new) else { return };
    if !bot.seen.first(id) {
        return;
    }
    let told = bot.ports.dispatcher.locale(text("locale")).text("answer-failed", &[]);
    nothing_comes(bot, (id, text("token")), raw["type"] == 4, told).await;
}

/// Answers an interaction that comes while herder shuts down.
async fn closing(bot: &Bot, interaction: &Interaction) {
    let (language, typing) = match interaction {
        Interaction::Command(command) => (&command.locale, false),
        Interaction::Component(press) => (&press.locale, false),
        Interaction::Modal(form) => (&form.locale, false),
        Interaction::Autocomplete(typing) => (&typing.locale, true),
        other => return debug!(kind = ?other.kind(), "an interaction of a kind that herder does not offer"),
    };
    let told = bot.ports.dispatcher.locale(language).refusal(&Refusal::Closing);
    nothing_comes(bot, (interaction.id(), interaction.token()), typing, told).await;
}

/// Answers that the interaction failed; for a completion the answer is an empty list.
async fn nothing_comes(bot: &Bot, (id, token): (InteractionId, &str), typing: bool, told: String) {
    let response = if typing {
        json!({ "type": 8, "data": { "choices": [] } })
    } else {
        json!({ "type": 4, "data": { "content": told, "flags": EPHEMERAL } })
    };
    if let Err(reason) = bot.rest.respond(id, token, &response).await {
        warn!(%reason, "whoever asked could not be told that nothing comes of it");
    }
}

/// Runs a handler; a panic in it is answered with a sentence, so that no one waits in vain.
async fn guarded(bot: &Bot, asker: &Asker, answering: impl Future<Output = ()>) {
    if AssertUnwindSafe(answering).catch_unwind().await.is_err() {
        error!(id = %asker.id, "an interaction made its handler panic");
        let told = Reply::to_them(locale(bot, asker).text("answer-failed", &[]));
        reply::at_once(bot, asker, &told).await;
    }
}

/// Returns the person's locale.
pub(super) fn locale<'a>(bot: &'a Bot, asker: &Asker) -> &'a Locale {
    bot.ports.dispatcher.locale(&asker.language)
}

fn asker(
    bot: &Bot,
    (id, application, token): (InteractionId, ApplicationId, &str),
    (user, member): (&User, Option<&Member>),
    (guild, channel, thread): (Option<GuildId>, ChannelId, Option<&PartialChannel>),
    language: &str,
) -> Asker {
    let ours = guild.is_some_and(|guild| guild.get() == bot.ports.settings.guild);
    // Roles of another server do not count.
    let roles: &[RoleId] = member.filter(|_| ours).map(|member| member.roles.as_slice()).unwrap_or_default();
    let nick = member.and_then(|member| member.nick.as_deref());
    let nick = nick.or(user.global_name.as_deref()).unwrap_or(&user.name);
    let place = if guild.is_some() {
        let parent = thread.and_then(|thread| thread.parent_id).filter(|_| ours);
        bot.place_of(channel, parent)
    } else {
        Place::Direct(user.id.to_string())
    };
    Asker {
        at: bot.said_at(id.get()),
        id,
        application,
        token: token.to_owned(),
        author: Author {
            network: bot.network(),
            nick: nick.to_owned(),
            account: Some(user.id.to_string()),
            mask: None,
            roles: roles.iter().map(ToString::to_string).collect(),
            origin: Origin::Network,
        },
        channel,
        place,
        language: language.to_owned(),
    }
}

/// Returns the full name of a command and its options.
fn named(data: &CommandData) -> (String, Vec<ResolvedOption<'_>>) {
    let mut name = data.name.clone();
    let mut options = data.options();
    loop {
        let inner = options.iter_mut().find_map(|option| match &mut option.value {
            ResolvedValue::SubCommand(inner) | ResolvedValue::SubCommandGroup(inner) => {
                Some((option.name, std::mem::take(inner)))
            }
            _ => None,
        });
        let Some((word, inner)) = inner else { return (name, options) };
        name = format!("{name} {word}");
        options = inner;
    }
}

fn known(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().copied().find(|command| command.name == name)
}

/// Converts the options to words.
fn given(options: &[ResolvedOption<'_>]) -> Given {
    let words = options.iter().map(|option| {
        let value = match &option.value {
            ResolvedValue::Integer(number) => number.to_string(),
            ResolvedValue::Boolean(truth) => truth.to_string(),
            ResolvedValue::String(text) => (*text).to_owned(),
            // herder registers no option of this type.
            _ => "?".to_owned(),
        };
        (option.name.to_owned(), value)
    });
    Given(words.collect())
}

async fn command(bot: &Arc<Bot>, asker: &Asker, command: &CommandInteraction) {
    let (name, options) = named(&command.data);
    let meant = known(&name);
    let given = given(&options);
    if let Some(meant) = meant.filter(|meant| lacks_form(meant, &given)) {
        offer_form(bot, asker, meant, given).await;
        return;
    }
    carry_out(bot, asker, &name, given).await;
}

/// Returns true if the command has a form and none of its fields was given.
fn lacks_form(command: &Command, given: &Given) -> bool {
    let form = command.form();
    !form.is_empty() && form.iter().all(|field| given.get(field.name).is_none())
}

async fn carry_out(bot: &Arc<Bot>, asker: &Asker, name: &str, given: Given) {
    let owed_under = format!("{}/{}", bot.network(), asker.id);
    // The token lets the next process ask whether the command was answered.
    let with_token = format!("{owed_under}/{}", asker.token);
    let structured = Structured { owed_under: Some(with_token), ..asker.structured(name, given) };
    let dispatcher = &bot.ports.dispatcher;
    let changes = known(name).is_some_and(|command| command.effect == Effect::Changes);
    let role = dispatcher.role(&asker.author).unwrap_or(Role::Viewer);
    let private = known(name).is_some_and(|command| command.is_private(role));
    // If the person may not give the command, the announcement is private.
    let announced_privately = private || dispatcher.may(&structured).is_err();
    let answering = async {
        let answered = dispatcher.interact(&structured).await;
        let private = private || answered.refused;
        let calls = buttons::called_for(&answered).filter(|_| !private && bot.may_change(asker));
        let calls = calls.map(|agent| (agent, clock::now()));
        let rows = match &calls {
            Some((agent, at)) => buttons::calling(&bot.ports.locale, agent, *at),
            None => buttons::confirming(locale(bot, asker), known(name), &answered),
        };
        let owed = (changes && !answered.refused).then_some(owed_under);
        Reply { private, rows, calls, owed, ..Reply::of(answered) }
    };
    reply::answer(bot, asker, announced_privately, answering).await;
}

impl Bot {
    /// Returns true if a public answer can be edited later: a command can be given in a channel that herder cannot
    /// read.
    fn may_change(&self, asker: &Asker) -> bool {
        self.readable.borrow().get(&asker.channel) != Some(&false)
    }
}

/// Opens the form of a command for a person who may give it.
pub(super) async fn offer_form(bot: &Arc<Bot>, asker: &Asker, command: &'static Command, mut given: Given) {
    // The form carries the agent's canonical name, however it was written.
    if let (Some(agent), true) = (agent(asker, &given), given.get("agent").is_some()) {
        given.0.retain(|(name, _)| name != "agent");
        given.0.push(("agent".to_owned(), agent.to_string()));
    }
    let structured = asker.structured(command.name, given);
    if let Err(lines) = bot.ports.dispatcher.may(&structured) {
        let refused = Answered { refused: true, lines, ..Answered::default() };
        reply::at_once(bot, asker, &Reply { private: true, ..Reply::of(refused) }).await;
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
        carry_out(bot, asker, command.name, structured.given).await;
        return;
    };
    let form = form(bot, asker, command, (&structured.given, spec.as_ref()), &id);
    if let Err(reason) = bot.rest.respond(asker.id, &asker.token, &form).await {
        warn!(%reason, "a form could not be opened");
    }
}

/// Returns the agent that a command concerns, if there is one.
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

/// Returns the initial content of a form's field.
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
    (given, spec): (&Given, Option<&AgentSpec>),
    id: &CustomId,
) -> serde_json::Value {
    /// Maximum length of a title, in characters; Discord's limit.
    const TITLE_MAX: usize = 45;
    /// Maximum length of a field's value, in characters.
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
    let fields = command.form().iter().filter_map(|field| {
        let value = prefill(spec, field.name);
        // A truncated value would replace the complete one.
        if value.chars().count() > VALUE_MAX {
            return None;
        }
        // The text of an answer differs from that of a task.
        let name = if command.verb == Verb::Answer { "answer" } else { field.name };
        let mut input = json!({
            "type": 4,
            "custom_id": field.name,
            "style": if field.long { 2 } else { 1 },
            "label": locale.text(&format!("field-{name}"), &[]),
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

/// Handles a submitted form: runs the command with all of its options.
async fn filled(bot: &Arc<Bot>, asker: &Asker, form: &ModalInteraction) {
    let Ok(CustomId::Form { command, given }) = form.data.custom_id.parse() else {
        let told = locale(bot, asker).text("answer-unknown", &[]);
        reply::at_once(bot, asker, &Reply::to_them(told)).await;
        return;
    };
    let mut given = given;
    let before: Vec<String> =
        given.0.extract_if(.., |(name, _)| name == BEFORE).flat_map(|(_, marks)| split(&marks)).collect();
    let mut emptied = Vec::new();
    let inputs = form.data.components.iter().flat_map(|row| &row.components);
    for input in inputs {
        let ActionRowComponent::InputText(input) = input else { continue };
        let value = input.value.as_deref().unwrap_or_default().replace("\r\n", "\n");
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
    carry_out(bot, asker, command.name, given).await;
}

fn split(marks: &str) -> Vec<String> {
    marks.split('-').map(str::to_owned).collect()
}

/// Completes the text that somebody types, from memory.
async fn complete(bot: &Bot, typing: &CommandInteraction) {
    let asker = asker(
        bot,
        (typing.id, typing.application_id, &typing.token),
        (&typing.user, typing.member.as_deref()),
        (typing.guild_id, typing.channel_id, typing.channel.as_ref()),
        &typing.locale,
    );
    let name = named(&typing.data).0;
    let focused = typing.data.autocomplete();
    // Choices reveal information: they are for people who may give the command, and at least view.
    let role = bot.ports.dispatcher.role(&asker.author).filter(|role| *role >= Role::Viewer);
    let command = known(&name).filter(|command| role.is_some_and(|role| role >= command.role));
    let kind = focused.as_ref().zip(command).and_then(|(focused, command)| {
        command.options().into_iter().find(|option| option.name == focused.name).map(|option| option.kind)
    });
    let choices = match (focused, kind) {
        (Some(focused), Some(kind)) => {
            let (agents, board) = (bot.ports.fleet.agents(), bot.ports.fleet.board());
            completion::choices(kind, focused.value, &agents, &board, &bot.ports.redactor)
        }
        (Some(_) | None, _) => Vec::new(),
    };
    let choices: Vec<_> =
        choices.into_iter().map(|choice| json!({ "name": choice.shown, "value": choice.value })).collect();
    let response = json!({ "type": 8, "data": { "choices": choices } });
    if let Err(reason) = bot.rest.respond(typing.id, &typing.token, &response).await {
        // The client asks again with the next character.
        debug!(%reason, "a completion came too late");
    }
}
