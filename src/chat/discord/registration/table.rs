//! The table of commands as poise's types: names, groups, options, visibility, and texts in each language.

use std::borrow::Cow;

use poise::serenity_prelude as serenity;
use serenity::{CommandOptionType, CreateCommandOption, Permissions};

use crate::commands::options::{COUNT_MAX, Kind, Opt, TEXT_MAX, WORD_MAX};
use crate::commands::{COMMANDS, Command, Effect, GROUPS};
use crate::core::role::Role;
use crate::l10n::{LOCALES, Locale, SOURCE};

/// The translations of a text, by Discord's name of the language.
type Localized = Cow<'static, [(Cow<'static, str>, Cow<'static, str>)]>;

/// Returns all locales, `SOURCE` first; their names are also Discord's.
fn locales() -> Vec<Locale> {
    LOCALES.iter().filter_map(|(name, _)| Locale::load(name).ok()).collect()
}

/// Returns the text `id` in the source language, and its translations into all others.
fn texts(locales: &[Locale], id: &str) -> (String, Localized) {
    let text = |locale: &Locale| locale.text(id, &[]);
    let source = locales.iter().find(|locale| locale.name() == SOURCE).map(text).unwrap_or_default();
    let others = locales.iter().filter(|locale| locale.name() != SOURCE);
    let others: Vec<_> = others.map(|locale| (Cow::from(locale.name()), Cow::from(text(locale)))).collect();
    (source, Cow::from(others))
}

/// Returns the id of the message with a command's translated name: `slash-agent-add`.
pub(super) fn name_id(name: &str) -> String {
    format!("slash-{}", name.replace(' ', "-"))
}

/// Returns all slash commands in the type of the library poise.
pub(super) fn commands() -> Vec<poise::Command<(), ()>> {
    let locales = locales();
    let alone = COMMANDS.iter().filter(|command| !command.name.contains(' '));
    let alone = alone.map(|command| one(&locales, command, command.name));
    let groups = GROUPS.iter().map(|group| {
        let members: Vec<&Command> =
            COMMANDS.iter().copied().filter(|command| member(group, command).is_some()).collect();
        let subcommands =
            members.iter().filter_map(|command| Some(one(&locales, command, member(group, command)?)));
        let about = texts(&locales, &format!("slash-about-{group}"));
        poise::Command {
            subcommands: subcommands.collect(),
            subcommand_required: true,
            default_member_permissions: permissions(&members),
            ..named(&locales, group, &name_id(group), about)
        }
    });
    alone.chain(groups).collect()
}

/// Returns the second word of a command's name if the first is `group`.
fn member(group: &str, command: &Command) -> Option<&'static str> {
    command.name.split_once(' ').filter(|(first, _)| *first == group).map(|(_, second)| second)
}

fn one(locales: &[Locale], command: &Command, name: &'static str) -> poise::Command<(), ()> {
    let form = command.form();
    let parameters = command.options().into_iter().map(|option| {
        let asked_for = form.iter().any(|field| field.name == option.name);
        parameter(locales, option, option.required && !asked_for)
    });
    let mut parameters: Vec<_> = parameters.collect();
    // Fields of the form are optional as options, and Discord wants optional ones last.
    parameters.sort_by_key(|parameter| !parameter.required);
    poise::Command {
        parameters,
        default_member_permissions: permissions(&[command]),
        ..named(locales, name, &name_id(command.name), texts(locales, command.about))
    }
}

fn named(
    locales: &[Locale],
    name: &'static str,
    name_id: &str,
    (about, abouts): (String, Localized),
) -> poise::Command<(), ()> {
    poise::Command {
        slash_action: Some(|_| Box::pin(async { Ok(()) })),
        name: Cow::from(name),
        name_localizations: texts(locales, name_id).1,
        qualified_name: Cow::from(name),
        identifying_name: Cow::from(name),
        description: Some(Cow::from(about)),
        description_localizations: abouts,
        guild_only: true,
        ..poise::Command::default()
    }
}

/// Returns the Discord permission that a member needs to see a command or group on a fresh server; empty if everybody
/// sees it. Discord hides groups as a whole, so that one with a command for viewers is visible, and herder's roles
/// refuse the others.
fn permissions(commands: &[&Command]) -> Permissions {
    let changes = |command: &&Command| command.effect == Effect::Changes && command.role > Role::Anybody;
    if commands.iter().all(changes) { Permissions::MANAGE_GUILD } else { Permissions::empty() }
}

fn parameter(locales: &[Locale], option: Opt, required: bool) -> poise::CommandParameter<(), ()> {
    let (about, abouts) = texts(locales, &format!("option-about-{}", option.name));
    let choices: Vec<_> = match option.kind {
        Kind::Choice(words) => words
            .iter()
            .map(|word| poise::CommandParameterChoice {
                name: Cow::from(*word),
                localizations: Cow::default(),
                __non_exhaustive: (),
            })
            .collect(),
        _ => Vec::new(),
    };
    poise::CommandParameter {
        name: Cow::from(option.name),
        name_localizations: texts(locales, &format!("option-{}", option.name)).1,
        description: Some(Cow::from(about)),
        description_localizations: abouts,
        required,
        channel_types: None,
        choices: Cow::from(choices),
        type_setter: Some(type_setter(option.kind)),
        autocomplete_callback: is_completed(option.kind)
            .then_some(|_, _| Box::pin(async { serenity::CreateAutocompleteResponse::new() })),
        __non_exhaustive: (),
    }
}

fn is_completed(kind: Kind) -> bool {
    match kind {
        Kind::Agent
        | Kind::AgentOrAll
        | Kind::AgentOrAuto
        | Kind::Task
        | Kind::Ask
        | Kind::Call
        | Kind::Told
        | Kind::Command => true,
        Kind::Choice(_) | Kind::Flag | Kind::Count | Kind::Number | Kind::Word | Kind::Text => false,
    }
}

/// Makes an option a text of at most `MAX` characters.
fn text<const MAX: usize>(option: CreateCommandOption) -> CreateCommandOption {
    option.kind(CommandOptionType::String).max_length(u16::try_from(MAX).unwrap_or(u16::MAX))
}

fn type_setter(kind: Kind) -> fn(CreateCommandOption) -> CreateCommandOption {
    match kind {
        Kind::Agent
        | Kind::AgentOrAll
        | Kind::AgentOrAuto
        | Kind::Task
        | Kind::Ask
        | Kind::Call
        | Kind::Told
        | Kind::Command
        | Kind::Word => text::<WORD_MAX>,
        Kind::Text => text::<TEXT_MAX>,
        Kind::Choice(_) => |option| option.kind(CommandOptionType::Integer),
        Kind::Flag => |option| option.kind(CommandOptionType::Boolean),
        Kind::Number => {
            |option| option.kind(CommandOptionType::Integer).min_int_value(1).max_int_value(u32::MAX.into())
        }
        Kind::Count => {
            |option| option.kind(CommandOptionType::Integer).min_int_value(1).max_int_value(COUNT_MAX)
        }
    }
}
