//! Application commands: the whole table of commands as poise's, registered in the guild when it has changed.
//!
//! There is no second definition: names, groups, options, roles and texts come from [`crate::commands::COMMANDS`] and
//! `locales/`. poise takes the commands as values and makes what Discord is sent. It does not carry them out, see
//! [`super::interactions`]; their actions are there because poise leaves out a command without one.
//!
//! On a fresh server only people who may manage it see what changes something; who may do what is checked all the same,
//! in the one place where it always is. Discord knows such a permission for a group as a whole, so that a group with one
//! command that changes something is seen by those people alone.
//!
//! Registering is a task of its own that never holds up an event: a herder whose commands could not be registered hears
//! everything else.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use poise::serenity_prelude as serenity;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serenity::{ApplicationId, CommandOptionType, CreateCommandOption, GuildId, Permissions};
use tracing::{error, info, warn};

use super::Bot;
use super::rest::code;
use crate::access::Role;
use crate::commands::options::{COUNT_MAX, Kind, Opt, TEXT_MAX, WORD_MAX};
use crate::commands::{COMMANDS, Command, Effect, GROUPS};
use crate::journal::Memo;
use crate::l10n::{LOCALES, Locale, SOURCE};

/// Under which key it is remembered what is registered.
const KEY: &str = "discord/commands";

/// Between two tries, the first time; doubled every time.
const AGAIN: Duration = Duration::from_secs(5);

/// The longest wait between two tries: a permission that is given meanwhile is found soon enough.
const AGAIN_MAX: Duration = Duration::from_secs(300);

/// What is registered, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Registered {
    application: ApplicationId,
    guild: GuildId,
    digest: String,
}

/// Texts by Discord's name of the language.
type Localized = Cow<'static, [(Cow<'static, str>, Cow<'static, str>)]>;

/// The locales by Discord's names, which are herder's, the source first.
fn locales() -> Vec<Locale> {
    LOCALES.iter().filter_map(|(name, _)| Locale::load(name).ok()).collect()
}

/// The text `id` in the source's language, and in all others.
fn texts(locales: &[Locale], id: &str) -> (String, Localized) {
    let text = |locale: &Locale| locale.text(id, &[]);
    let source = locales.iter().find(|locale| locale.name() == SOURCE).map(text).unwrap_or_default();
    let others = locales.iter().filter(|locale| locale.name() != SOURCE);
    let others: Vec<_> = others.map(|locale| (Cow::from(locale.name()), Cow::from(text(locale)))).collect();
    (source, Cow::from(others))
}

/// The message with a command's name: `slash-agent-add`.
fn name_id(name: &str) -> String {
    format!("slash-{}", name.replace(' ', "-"))
}

/// The table as poise's commands.
fn commands() -> Vec<poise::Command<(), ()>> {
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

/// The second word of a command of a group.
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
    // What a form asks for can be left out, and what can be left out comes last.
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

/// Who sees a command on a fresh server. None: everybody.
fn permissions(commands: &[&Command]) -> Permissions {
    let changes = |command: &&Command| command.effect == Effect::Changes && command.role > Role::Anybody;
    if commands.iter().any(changes) { Permissions::MANAGE_GUILD } else { Permissions::empty() }
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
        Kind::Agent | Kind::AgentOrAll | Kind::Task | Kind::Command => true,
        Kind::Choice(_) | Kind::Flag | Kind::Count | Kind::Word | Kind::Text => false,
    }
}

/// The longest value of a text option, as Discord counts it.
fn text<const MAX: usize>(option: CreateCommandOption) -> CreateCommandOption {
    option.kind(CommandOptionType::String).max_length(u16::try_from(MAX).unwrap_or(u16::MAX))
}

fn type_setter(kind: Kind) -> fn(CreateCommandOption) -> CreateCommandOption {
    match kind {
        Kind::Agent | Kind::AgentOrAll | Kind::Task | Kind::Command | Kind::Word => text::<WORD_MAX>,
        Kind::Text => text::<TEXT_MAX>,
        Kind::Choice(_) => |option| option.kind(CommandOptionType::Integer),
        Kind::Flag => |option| option.kind(CommandOptionType::Boolean),
        Kind::Count => {
            |option| option.kind(CommandOptionType::Integer).min_int_value(1).max_int_value(COUNT_MAX)
        }
    }
}

/// In poise a choice is its place in the list, which another version of herder may have in another order while a person
/// still sees the old one. What is chosen is to say what was meant: the word itself.
fn words_for_places(item: &mut Value) {
    let items = item.as_array_mut().into_iter().flatten();
    for item in items {
        // poise says of every option that it is fit for all ages, which only commands can be asked.
        if let Some(item) = item.as_object_mut() {
            item.remove("nsfw");
        }
        if let Some(options) = item.get_mut("options") {
            words_for_places(options);
        }
        let choices = item.get_mut("choices").and_then(Value::as_array_mut);
        let Some(choices) = choices.filter(|choices| !choices.is_empty()) else { continue };
        for choice in choices {
            choice["value"] = choice["name"].clone();
        }
        item["type"] = u8::from(CommandOptionType::String).into();
    }
}

/// What Discord is sent, and by what it is known that it is the same as last time.
fn wanted(commands: &[poise::Command<(), ()>]) -> (Value, String) {
    let builders = poise::builtins::create_application_commands(commands);
    let mut body = serde_json::to_value(&builders).expect("builders of commands are plain data");
    words_for_places(&mut body);
    let digest = ring::digest::digest(&ring::digest::SHA256, body.to_string().as_bytes());
    let digest = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    (body, digest)
}

/// Registers the commands if they changed, as often as it takes.
pub(super) async fn keep(bot: Arc<Bot>) {
    let (body, digest) = wanted(&commands());
    let guild = GuildId::new(bot.ports.settings.guild);
    let wanted = Registered { application: bot.application, guild, digest };
    if registered(&bot).await.as_ref() == Some(&wanted) {
        return;
    }
    let mut again = AGAIN;
    loop {
        match bot.rest.put_guild_commands(wanted.application, wanted.guild, &body).await {
            Ok(()) => break,
            Err(reason) if reason.code() == Some(code::MISSING_ACCESS) => error!(
                %reason, "the commands cannot be registered: invite the bot again with the scope applications.commands"
            ),
            Err(reason) => warn!(%reason, "the commands could not be registered; it is tried again"),
        }
        tokio::time::sleep(again).await;
        again = (again * 2).min(AGAIN_MAX);
    }
    info!(digest = wanted.digest, "the commands are registered");
    let Ok(value) = serde_json::to_string(&wanted) else { return };
    let memo = Memo { key: KEY.to_owned(), value: Some(value) };
    if let Err(reason) = bot.ports.journal.remember(vec![memo]).await {
        warn!(%reason, "what is registered could not be remembered; the next start registers it again");
    }
}

/// What was registered last.
async fn registered(bot: &Bot) -> Option<Registered> {
    let journal = bot.ports.journal.clone();
    match tokio::task::spawn_blocking(move || journal.memos(KEY)).await {
        Ok(Ok(memos)) => {
            let memo = memos.into_iter().find(|(key, _)| key == KEY);
            memo.and_then(|(_, value)| serde_json::from_str(&value).ok())
        }
        Ok(Err(reason)) => {
            warn!(%reason, "what is registered cannot be read; it is registered again");
            None
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;

    use serde_json::Value;

    use super::*;

    fn body() -> Value {
        wanted(&commands()).0
    }

    fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
        value[key].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// `pause [agent] [now]`, with what cannot be seen in the usage line.
    fn usage(command: &Value, out: &mut String, before: &str) {
        let subcommands: Vec<&Value> =
            items(command, "options").iter().filter(|option| option["type"] == 1).collect();
        let name = format!("{before}{}", command["name"].as_str().unwrap());
        for subcommand in &subcommands {
            usage(subcommand, out, &format!("{name} "));
        }
        if !subcommands.is_empty() {
            let _ = writeln!(out, "/{name}: {}", command["default_member_permissions"]);
            return;
        }
        let _ = write!(out, "/{name}");
        for option in items(command, "options") {
            let kind = match option["type"].as_u64() {
                Some(3) if !items(option, "choices").is_empty() => "choice",
                Some(3) if option["autocomplete"] == true => "completed",
                Some(3) => "text",
                Some(4) => "count",
                Some(5) => "flag",
                other => panic!("{other:?}"),
            };
            let name = option["name"].as_str().unwrap();
            let shown = if option["required"] == true {
                format!(" <{name}:{kind}>")
            } else {
                format!(" [{name}:{kind}]")
            };
            out.push_str(&shown);
        }
        if before.is_empty() && !command["default_member_permissions"].is_null() {
            let _ = write!(out, " ({})", command["default_member_permissions"].as_str().unwrap());
        }
        out.push('\n');
    }

    #[test]
    fn the_whole_table_is_registered() {
        let body = body();
        let mut out = String::new();
        for command in body.as_array().unwrap() {
            usage(command, &mut out, "");
        }
        insta::assert_snapshot!(out, @r#"
        /pause [agent:completed] [now:flag] (32)
        /resume [agent:completed] (32)
        /abort [agent:completed] (32)
        /restart [agent:completed] (32)
        /stop-all (32)
        /status [agent:completed]
        /queue [agent:completed]
        /clear [agent:completed] (32)
        /log [agent:completed] [n:count]
        /history [agent:completed] [n:count]
        /audit [agent:completed] [n:count]
        /help [command:completed]
        /link [code:text]
        /agent add <name:text> <runtime:choice> [workspace:text] [settings:text]
        /agent edit [settings:text] [agent:completed]
        /agent remove [agent:completed] [code:text]
        /agent list
        /agent show [agent:completed]
        /agent: "32"
        /task add [text:text] [agent:completed]
        /task list [agent:completed]
        /task show <task:completed>
        /task cancel <task:completed>
        /task: "32"
        "#);
        for command in COMMANDS {
            let options = command.options();
            assert!(out.contains(&format!("/{}", command.name)), "{}", command.name);
            assert!(options.len() <= 25);
        }
    }

    #[test]
    fn a_command_as_discord_gets_it() {
        let body = body();
        let pause = body.as_array().unwrap().iter().find(|command| command["name"] == "pause").unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(pause).unwrap(), @r#"
        {
          "contexts": [
            0
          ],
          "default_member_permissions": "32",
          "description": "pause after the current session; `now` interrupts it",
          "description_localizations": {
            "de": "nach der laufenden Sitzung anhalten; `now` unterbricht sie",
            "ja": "今のセッションの後で一時停止する。`now` を付けるとすぐ止める"
          },
          "name": "pause",
          "name_localizations": {
            "de": "pausieren",
            "ja": "一時停止"
          },
          "options": [
            {
              "autocomplete": true,
              "channel_types": [],
              "choices": [],
              "description": "which agent; in its own channel it can be left out",
              "description_localizations": {
                "de": "welcher Agent; in seinem eigenen Kanal nicht nötig",
                "ja": "どのエージェントか。その専用チャンネルでは省ける"
              },
              "max_length": 100,
              "max_value": null,
              "min_length": null,
              "min_value": null,
              "name": "agent",
              "name_localizations": {
                "de": "agent",
                "ja": "エージェント"
              },
              "options": [],
              "required": false,
              "type": 3
            },
            {
              "autocomplete": false,
              "channel_types": [],
              "choices": [],
              "description": "do not wait for the end of the session",
              "description_localizations": {
                "de": "nicht auf das Ende der Sitzung warten",
                "ja": "セッションの終わりを待たない"
              },
              "max_length": null,
              "max_value": null,
              "min_length": null,
              "min_value": null,
              "name": "now",
              "name_localizations": {
                "de": "sofort",
                "ja": "すぐ"
              },
              "options": [],
              "required": false,
              "type": 5
            }
          ]
        }
        "#);
    }

    /// What Discord refuses, and its document does not say.
    fn check(item: &Value, out: &mut Vec<String>) {
        let mut names = vec![item["name"].as_str().unwrap()];
        let mut abouts = vec![item["description"].as_str().unwrap()];
        for (of, texts) in [("name_localizations", &mut names), ("description_localizations", &mut abouts)] {
            let localized = item[of].as_object().unwrap();
            assert_eq!(localized.keys().map(String::as_str).collect::<Vec<_>>(), ["de", "ja"], "{item}");
            texts.extend(localized.values().map(|text| text.as_str().unwrap()));
        }
        let pattern = regex::Regex::new(r"^[-_\p{L}\p{N}]{1,32}$").unwrap();
        for name in names {
            if !pattern.is_match(name) || name.to_lowercase() != name {
                out.push(format!("name {name:?}"));
            }
        }
        for about in abouts {
            if !(1..=100).contains(&about.chars().count()) {
                out.push(format!("description {about:?}"));
            }
        }
        let options = items(item, "options");
        for names in ["", "de", "ja"].map(|locale| {
            options.iter().map(move |option| match locale {
                "" => option["name"].as_str().unwrap(),
                locale => option["name_localizations"][locale].as_str().unwrap(),
            })
        }) {
            let all: Vec<_> = names.collect();
            if all.iter().collect::<BTreeSet<_>>().len() < all.len() {
                out.push(format!("a name twice: {all:?}"));
            }
        }
        let optional = options.iter().position(|option| option["required"] != true);
        let required = options.iter().rposition(|option| option["required"] == true);
        if required.is_some_and(|required| optional.is_some_and(|optional| optional < required)) {
            out.push(format!("required after optional in {}", item["name"]));
        }
        options.iter().for_each(|option| check(option, out));
    }

    #[test]
    fn discord_takes_every_name_and_description() {
        let body = body();
        let mut wrong = Vec::new();
        let all = serde_json::json!({
            "name": "all", "description": "all", "options": body,
            "name_localizations": { "de": "all", "ja": "all" },
            "description_localizations": { "de": "all", "ja": "all" },
        });
        check(&all, &mut wrong);
        assert_eq!(wrong, Vec::<String>::new());
        assert!(body.as_array().unwrap().len() <= 100);
        for command in body.as_array().unwrap() {
            assert_eq!(command["contexts"], serde_json::json!([0]), "in guilds alone");
            assert!(command.to_string().chars().count() < 8000 * 3);
        }
    }

    #[test]
    fn english_names_are_the_commands_own() {
        let english = Locale::load(SOURCE).unwrap();
        for command in COMMANDS {
            let own = command.name.rsplit(' ').next().unwrap();
            assert_eq!(english.text(&name_id(command.name), &[]), own);
            for option in command.options() {
                assert_eq!(english.text(&format!("option-{}", option.name), &[]), option.name);
            }
        }
    }

    #[test]
    fn what_changes_is_registered_again_and_what_does_not_is_not() {
        let mut table = commands();
        let digest = wanted(&table).1;
        assert_eq!(wanted(&table).1, digest);
        assert_eq!(digest.len(), 64);
        table[0].description = Some(Cow::from("something else"));
        assert_ne!(wanted(&table).1, digest);
    }
}
