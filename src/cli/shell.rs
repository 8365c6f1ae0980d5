//! The chat commands from the shell: `herder pause spark` asks the herder that runs on the same data, over its
//! socket.
//!
//! The subcommands are made from the table of chat commands; this file names none of them.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::Value;

use super::{FAILED, Global, NOT_RUNNING, complain, failed, say};
use crate::commands::{self, COMMANDS, GROUPS, Verb};
use crate::core::clean::clean;
use crate::l10n::Locale;
use crate::local::follow::{Happened, Onward, Stream};
use crate::local::{self, Answer, AskError, Request};

/// Name of the command-line argument that holds a chat command's words. They are parsed like the words of a line in
/// chat.
const WORDS: &str = "words";

/// Name of the flag `--json`, which prints the answer as JSON.
const JSON: &str = "json";

/// Name of the flag `--follow`, which prints new events after the answer.
const FOLLOW: &str = "follow";

/// Wait between two attempts to reach a herder that has ended, while its events are followed.
const AGAIN: Duration = Duration::from_secs(1);

/// A chat command from the command line, to be sent to the running herder.
#[derive(Debug)]
pub(super) struct Typed {
    request: Request,
    json: bool,
    follow: bool,
}

/// Returns the chat commands that are also commands of the shell: all but `help`, because `herder help pause` has to
/// work without a running herder.
fn table() -> impl Iterator<Item = &'static commands::Command> {
    COMMANDS.iter().copied().filter(|command| command.name != "help")
}

/// Adds a subcommand for every chat command to the parser of the command line.
pub(super) fn add_to(command: Command) -> Command {
    let locale = Locale::load("en-US").expect("English is compiled in");
    let mut command = command;
    for group in GROUPS {
        let members = table().filter_map(|entry| {
            let name = entry.name.strip_prefix(group)?.strip_prefix(' ')?;
            Some(subcommand(name, entry, &locale))
        });
        let members: Vec<Command> = members.collect();
        let names: Vec<&str> = members.iter().map(Command::get_name).collect();
        let about = format!("{}: {}", sentence(group), names.join(", "));
        if command.find_subcommand(group).is_some() {
            command = command.mut_subcommand(group, |own| own.subcommands(members));
            continue;
        }
        command = command.subcommand(
            Command::new(group)
                .about(about)
                .subcommand_required(true)
                .arg_required_else_help(true)
                .subcommands(members),
        );
    }
    let single = table().filter(|entry| !entry.name.contains(' '));
    command.subcommands(single.map(|entry| subcommand(entry.name, entry, &locale)))
}

fn subcommand(name: &'static str, entry: &'static commands::Command, locale: &Locale) -> Command {
    let aliases =
        entry.aliases.iter().copied().filter(|alias| !alias.contains(' ') && !entry.name.contains(' '));
    let command = Command::new(name)
        .about(sentence(&locale.text(entry.about, &[])))
        .override_usage(format!(
            "herder {}{} [--json]",
            entry.usage(),
            if can_follow(entry) { " [--follow]" } else { "" }
        ))
        .aliases(aliases)
        .arg(Arg::new(WORDS).num_args(0..).hide(true))
        .arg(Arg::new(JSON).long(JSON).action(ArgAction::SetTrue).help("Print the answer as JSON"));
    if !can_follow(entry) {
        return command;
    }
    let follow = Arg::new(FOLLOW).long(FOLLOW).short('f').action(ArgAction::SetTrue);
    command.arg(follow.help("Go on with what happens, until Ctrl-C, also over restarts of herder"))
}

/// Returns true if a command has the flag `--follow`.
fn can_follow(entry: &commands::Command) -> bool {
    matches!(entry.verb, Verb::History | Verb::Log)
}

/// Returns a text with an upper-case first letter, like the other entries of the help.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Extracts the chat command from the parsed command line; `None` if it is one of herder's own subcommands.
pub(super) fn typed(matches: &ArgMatches) -> Option<Typed> {
    let (first, inner) = matches.subcommand()?;
    let (name, inner) = if GROUPS.contains(&first) {
        let (second, inner) = inner.subcommand()?;
        (format!("{first} {second}"), inner)
    } else {
        (first.to_owned(), inner)
    };
    let entry = table().find(|entry| entry.name == name)?;
    let words = inner.get_many::<String>(WORDS).into_iter().flatten();
    let request = Request { command: entry.name.to_owned(), args: words.cloned().collect() };
    let follow = can_follow(entry) && inner.get_flag(FOLLOW);
    Some(Typed { request, json: inner.get_flag(JSON), follow })
}

/// Sends the command to the running herder, prints the answer and returns the exit code.
pub(super) fn ask(global: &Global, typed: &Typed) -> ExitCode {
    let path = global.data_dir().join(local::FILE_NAME);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let answer = match runtime {
        Ok(runtime) if typed.follow => match runtime.block_on(follow(&path, typed)) {
            Ok(Answer { ok: true, .. }) => return ExitCode::SUCCESS,
            answer => answer,
        },
        Ok(runtime) => runtime.block_on(async {
            if typed.json {
                local::ask(&path, &typed.request).await
            } else {
                local::ask_lines(&path, &typed.request).await
            }
        }),
        Err(error) => return failed(error),
    };
    match answer {
        Ok(answer) => print(&answer, typed.json),
        Err(error @ AskError::NotRunning(_)) => {
            complain(format_args!(
                "herder: {error}; start it with `herder run`, or name its data with --config or --data-dir"
            ));
            ExitCode::from(NOT_RUNNING)
        }
        Err(
            error @ (AskError::NotAllowed(_)
            | AskError::PathTooLong(_)
            | AskError::Ended
            | AskError::Unreadable(_)
            | AskError::Io(_)),
        ) => failed(error),
    }
}

/// Prints the answer and then each event, and reconnects when herder has ended. Returns when herder refuses the
/// command, or when standard output is closed.
async fn follow(path: &Path, typed: &Typed) -> Result<Answer, AskError> {
    let (mut onward, mut is_told) = (Onward::default(), true);
    loop {
        let (answer, mut stream) = match Stream::open(path, &typed.request, onward).await {
            Ok(begun) => begun,
            Err(error) if onward.after.is_none() => return Err(error),
            Err(_) => {
                if !is_told {
                    complain("herder: herder has ended; waiting for it to come back");
                    is_told = true;
                }
                tokio::time::sleep(AGAIN).await;
                continue;
            }
        };
        if !answer.ok {
            return Ok(answer);
        }
        is_told = false;
        let done = Answer { ok: true, lines: Vec::new(), data: None };
        let shown: Vec<String> = if typed.json {
            answer.data.iter().filter_map(Value::as_array).flatten().map(Value::to_string).collect()
        } else {
            answer.lines.iter().map(|line| plain(line)).collect()
        };
        if shown.iter().any(|line| writeln!(io::stdout().lock(), "{line}").is_err()) {
            return Ok(done);
        }
        while let Ok(Some(Happened { seq, line, event })) = stream.next().await {
            onward.after = Some(seq);
            let text = if typed.json { event.to_string() } else { plain(&line) };
            // A place in the journal alone has nothing to show.
            if !event.is_null() && writeln!(io::stdout().lock(), "{text}").is_err() {
                return Ok(done);
            }
        }
    }
}

/// Removes control sequences from a line, because it may contain an agent's text. Secrets are redacted already.
fn plain(line: &str) -> String {
    clean(line)
}

fn print(answer: &Answer, json: bool) -> ExitCode {
    if json {
        match serde_json::to_string(answer) {
            Ok(text) => say(text),
            Err(error) => return failed(error),
        }
    } else {
        for line in &answer.lines {
            let line = plain(line);
            if answer.ok { say(line) } else { complain(line) }
        }
    }
    if answer.ok { ExitCode::SUCCESS } else { ExitCode::from(FAILED) }
}
