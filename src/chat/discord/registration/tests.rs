//! The registration body, checked for what Discord refuses.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::table::{commands, name_id};
use super::wanted;
use crate::commands::COMMANDS;
use crate::l10n::{Locale, SOURCE};

fn body() -> Value {
    wanted(&commands())
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Writes `pause [agent] [now]`, with the properties that the usage line does not show.
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
    insta::assert_snapshot!(out, @r##"
    /pause [agent:completed] [now:flag] (32)
    /handoff [agent:completed] [now:flag] (32)
    /resume [agent:completed] (32)
    /abort [agent:completed] (32)
    /restart [agent:completed] (32)
    /stop-all (32)
    /resume-all (32)
    /status [agent:completed]
    /usage [agent:completed] [chart:flag]
    /accept <task:completed> (32)
    /reject <task:completed> [text:text] (32)
    /approve [id:completed] [always:flag] (32)
    /deny [id:completed] (32)
    /answer [text:text] [id:completed] (32)
    /ack [id:completed] (32)
    /queue [agent:completed]
    /clear [agent:completed] (32)
    /whisper <text:text> [agent:completed] (32)
    /mark <id:completed> <as:choice> (32)
    /log [agent:completed] [n:count] [session:count] [page:count]
    /history [agent:completed] [n:count]
    /audit [agent:completed] [n:count]
    /reload (32)
    /help [command:completed]
    /link [code:text]
    /whoami
    /page [revoke:flag]
    /agent add <name:text> <runtime:choice> [workspace:text] [settings:text]
    /agent edit [settings:text] [agent:completed]
    /agent remove [agent:completed] [code:text]
    /agent list
    /agent show [agent:completed]
    /agent: null
    /task add [text:text] [agent:completed] [priority:choice] [needs:text] [after:text] [check:text]
    /task new [text:text] [agent:completed] [priority:choice] [check:text]
    /task open <task:completed>
    /task drop <task:completed> [confirm:flag]
    /task list [agent:completed]
    /task show <task:completed>
    /task diff <task:completed> [file:text] [page:count]
    /task assign <task:completed> [agent:completed]
    /task split <task:completed> <parts:text>
    /task cancel <task:completed>
    /task: null
    /rule list [agent:completed]
    /rule remove <id:completed>
    /rule: null
    /runner list
    /runner drain <machine:text>
    /runner open <machine:text>
    /runner remove <machine:text>
    /runner: null
    "##);
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

/// Checks rules of Discord's that its documentation does not state.
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
