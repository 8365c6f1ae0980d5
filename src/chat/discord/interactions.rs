//! Slash commands, completion, forms and buttons: acknowledged within three seconds, exactly once, and answered.
//!
//! ```text
//!  interaction ─► once? ─► who, where, in which language ─┬─ command ─► form, or the dispatcher ─┐
//!                                                         ├─ form ────► [`forms`] ───────────────┤─► [`reply`]
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
    ApplicationId, ChannelId, CommandData, CommandInteraction, ComponentInteraction, GuildId, Interaction,
    InteractionId, Member, PartialChannel, ResolvedOption, ResolvedValue, RoleId, User,
};
use tracing::{debug, error, warn};

use super::forms::{self, FilledForm};
use super::reply::{self, Reply};
use super::rest::EPHEMERAL;
use super::{Bot, buttons, completion};
use crate::clock;
use crate::commands::interact::Structured;
use crate::commands::options::Given;
use crate::commands::{COMMANDS, Command, Effect};
use crate::core::notice::Refusal;
use crate::core::role::Role;
use crate::core::speech::{Author, Origin, Place};
use crate::core::time::Timestamp;
use crate::l10n::Locale;

/// Maximum number of handled interactions whose id is remembered, so that a repeated one is answered once: a resumed
/// gateway repeats the events of the seconds before.
const REMEMBERED_MAX: usize = 1024;

/// Ids of the last interactions that were handled.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<(HashSet<InteractionId>, VecDeque<InteractionId>)>);

impl Seen {
    /// Records an interaction; returns true if it was not recorded before.
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

/// The person who triggered an interaction (a slash command, button, form or typing), with the data that is needed to
/// answer it.
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
    /// Returns the time since the interaction. A resumed gateway repeats interactions that Discord has given up.
    pub(super) fn age(&self) -> Duration {
        clock::now().since(self.at)
    }

    /// Builds the command `command` with these options, as given by this person in this place.
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

/// Handles an interaction: runs its command and answers it; a repeated one is ignored.
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
            guarded(bot, &asker, Box::pin(forms::filled(bot, &asker, &form))).await;
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

/// Answers an interaction that could not be parsed with a sentence that it has failed.
pub(super) async fn unreadable(bot: &Bot, raw: &Value) {
    let text = |field: &str| raw[field].as_str().unwrap_or_default();
    let Some(id) = text("id").parse().ok().filter(|id| *id != 0).map(InteractionId::new) else { return };
    if !bot.seen.first(id) {
        return;
    }
    let told = bot.ports.dispatcher.locale(text("locale")).text("answer-failed", &[]);
    nothing_comes(bot, (id, text("token")), raw["type"] == 4, told).await;
}

/// Answers an interaction that arrives while herder shuts down with a refusal.
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

/// Answers that an interaction has failed; for the completion of an option (`typing`) the answer is an empty list.
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

/// Runs the handler of an interaction. If it panics, the person gets a sentence, so that nobody waits in vain.
async fn guarded(bot: &Bot, asker: &Asker, answering: impl Future<Output = ()>) {
    if AssertUnwindSafe(answering).catch_unwind().await.is_err() {
        error!(id = %asker.id, "an interaction made its handler panic");
        let told = Reply::to_them(locale(bot, asker).text("answer-failed", &[]));
        reply::at_once(bot, asker, &told).await;
    }
}

/// Returns the locale of the person's Discord client.
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

/// Returns the full name of a slash command, with its group, and its options.
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

/// Converts the options of a slash command to names and values as texts.
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
    if let Some(meant) = meant.filter(|meant| forms::is_asked_for(meant, &given)) {
        forms::offer(bot, asker, meant, given).await;
        return;
    }
    carry_out(bot, asker, &name, given, None).await;
}

/// Runs a command and answers the interaction. `filled` is the form that gave the command, which is kept if the command
/// is refused.
pub(super) async fn carry_out(
    bot: &Arc<Bot>,
    asker: &Asker,
    name: &str,
    given: Given,
    filled: Option<FilledForm>,
) {
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
        let again = filled.filter(|form| answered.refused && role >= form.command.role);
        let rows = match (&calls, again) {
            (_, Some(form)) => forms::keep(bot, asker, form, &answered.mistakes),
            (Some((agent, at)), None) => buttons::calling(&bot.ports.locale, agent, *at),
            (None, None) => buttons::confirming(locale(bot, asker), known(name), &answered),
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

/// Answers with the choices for an option that somebody is typing, from state in memory.
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
