//! Commands with named options, for networks that have commands of their own: the options of a command, the fields of
//! its form, and their meaning together.
//!
//! Both derive from the same arguments as the text form ([`super::Arg`]), and the result is the same [`Call`], so
//! that later code does not depend on how a command was given.

use super::grammar::{self, Call, Misfit, Roster};
use super::settings::KEYS;
use super::words::{fold, fold_end, in_quotes, split_quoted};
use super::{Arg, Command, Verb};
use crate::core::card::Priority;
use crate::core::id::AgentName;
use crate::core::role::Role;

/// The kind of an option's value, for networks that have commands with options (Discord).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The name of an existing agent.
    Agent,
    /// The name of an existing agent, or `all`.
    AgentOrAll,
    /// The name of an existing agent, or `auto` for the next free one.
    AgentOrAuto,
    /// The number of a task.
    Task,
    /// The number of an agent's question or request for permission.
    Ask,
    /// The number of a call for a person.
    Call,
    /// The number of a whisper of the evaluator.
    Told,
    /// The name of a command.
    Command,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A switch: true or false.
    Flag,
    /// A whole number from 1 to [`COUNT_MAX`].
    Count,
    /// A whole number from 1.
    Number,
    /// One word of at most [`WORD_MAX`] characters.
    Word,
    /// A text, of at most [`TEXT_MAX`] characters.
    Text,
}

/// One named option of a command, for networks that have commands with options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opt {
    /// The option's name.
    pub name: &'static str,
    /// The kind of the option's value.
    pub kind: Kind,
    /// True if the command needs the option; a form may ask for it if it was not given.
    pub required: bool,
}

/// One field of a form for a command's long values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Name of the option that the field fills, or key of a setting.
    pub name: &'static str,
    /// True if the field has room for several lines.
    pub long: bool,
    /// True if the field must be filled.
    pub required: bool,
}

/// Maximum length of a text in a form or an option, in characters: the limit of one field on the networks.
pub const TEXT_MAX: usize = 4000;

/// Maximum length of a single word, in characters.
pub const WORD_MAX: usize = 100;

/// Maximum count in a command.
pub const COUNT_MAX: u64 = grammar::COUNT_MAX;

/// Name of the option that takes `key=value` settings.
pub const SETTINGS: &str = "settings";

impl Command {
    /// Returns the command's options, required ones first.
    #[must_use]
    pub fn options(&self) -> Vec<Opt> {
        let mut options = Vec::new();
        for arg in self.args {
            options.extend(of_arg(*arg));
        }
        // The sort is stable, so that the order is otherwise that of the usage line.
        options.sort_by_key(|option| !option.required);
        options
    }

    /// Returns true if only the author may see the reply: always for commands such as `link`, and for a history if the
    /// author's `role` shows them whispers.
    #[must_use]
    pub fn is_private(&self, role: Role) -> bool {
        match self.verb {
            Verb::Link | Verb::Whisper | Verb::Whoami | Verb::Page => true,
            Verb::History => role >= Role::Operator,
            _ => false,
        }
    }

    /// Returns the fields of the form that asks for long values; empty if the command needs no form.
    #[must_use]
    pub fn form(&self) -> &'static [Field] {
        const TASK: [Field; 1] = [Field { name: "text", long: true, required: true }];
        const EDIT: [Field; 4] = [
            Field { name: "model", long: false, required: false },
            Field { name: "command", long: false, required: false },
            Field { name: "instructions", long: true, required: false },
            Field { name: SETTINGS, long: true, required: false },
        ];
        const ADD: [Field; 5] =
            [Field { name: "workspace", long: false, required: true }, EDIT[0], EDIT[1], EDIT[2], EDIT[3]];
        match self.verb {
            Verb::TaskAdd | Verb::TaskNew | Verb::Answer | Verb::Reject => &TASK,
            Verb::AgentAdd => &ADD,
            Verb::AgentEdit => &EDIT,
            Verb::Pause
            | Verb::Handoff
            | Verb::Resume
            | Verb::Abort
            | Verb::Restart
            | Verb::StopAll
            | Verb::Status
            | Verb::Usage
            | Verb::AgentRemove
            | Verb::AgentList
            | Verb::ResumeAll
            | Verb::AgentShow
            | Verb::TaskList
            | Verb::TaskShow
            | Verb::TaskDiff
            | Verb::TaskAssign
            | Verb::TaskSplit
            | Verb::TaskCancel
            | Verb::TaskOpen
            | Verb::TaskDrop
            | Verb::Accept
            | Verb::Approve
            | Verb::Deny
            | Verb::RuleList
            | Verb::RuleRemove
            | Verb::RunnerList
            | Verb::RunnerDrain
            | Verb::RunnerOpen
            | Verb::RunnerRemove
            | Verb::Ack
            | Verb::Mark
            | Verb::Queue
            | Verb::Clear
            | Verb::Log
            | Verb::History
            | Verb::Audit
            | Verb::Reload
            | Verb::Help
            | Verb::Whisper
            | Verb::Link
            | Verb::Whoami
            | Verb::Page => &[],
        }
    }
}

pub(super) fn of_arg(arg: Arg) -> Vec<Opt> {
    let one = |name, kind, required| vec![Opt { name, kind, required }];
    match arg {
        Arg::Agent | Arg::PastAgent => one("agent", Kind::Agent, false),
        Arg::AgentOrAll | Arg::PastAgentOrAll => one("agent", Kind::AgentOrAll, false),
        Arg::AgentOrAuto => one("agent", Kind::AgentOrAuto, false),
        Arg::Priority => one("priority", Kind::Choice(&Priority::WORDS), false),
        Arg::Needs => one("needs", Kind::Word, false),
        Arg::After => one("after", Kind::Word, false),
        Arg::Check => one("check", Kind::Text, false),
        Arg::NewAgent => one("name", Kind::Word, true),
        Arg::OneOf { name, words } => one(name, Kind::Choice(words), true),
        Arg::Word { name } => one(name, Kind::Word, true),
        Arg::Flag(name) => one(name, Kind::Flag, false),
        Arg::Count { name } => one(name, Kind::Count, false),
        Arg::Number { name } => one(name, Kind::Number, false),
        Arg::Task => one("task", Kind::Task, true),
        Arg::Ask => one("id", Kind::Ask, true),
        Arg::OpenAsk => one("id", Kind::Ask, false),
        Arg::Call => one("id", Kind::Call, false),
        Arg::Told => one("id", Kind::Told, true),
        Arg::Code => one("code", Kind::Word, false),
        Arg::Text => one("text", Kind::Text, true),
        Arg::File => one("file", Kind::Word, false),
        Arg::Parts => one("parts", Kind::Text, true),
        Arg::Settings { name, .. } => {
            let settings = Opt { name: SETTINGS, kind: Kind::Text, required: false };
            match folder(name) {
                Some(name) => vec![Opt { name, required: true, ..settings }, settings],
                None => vec![Opt { required: true, ..settings }],
            }
        }
        Arg::Topic => one("command", Kind::Command, false),
    }
}

/// Returns the option for the value that precedes the `key=value` settings, such as the workspace, if the command has
/// one.
fn folder(name: &'static str) -> Option<&'static str> {
    (!name.contains('=')).then_some(name)
}

/// The given options of a command: names and values, each name once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given(pub Vec<(String, String)>);

impl Given {
    /// Returns the value of an option; `None` if it was not given or is blank.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.trim().is_empty())
    }

    /// Returns the command as a person would have typed it, for the audit trail.
    #[must_use]
    pub fn said(&self, command: &Command) -> String {
        let mut said = command.name.to_owned();
        let names: Vec<&str> = command.options().iter().map(|option| option.name).collect();
        let pairs = KEYS.into_iter().filter(|key| command.has_settings() && !names.contains(key));
        for name in in_order(command).into_iter().chain(pairs) {
            let Some(value) = self.get(name) else { continue };
            let kind = command.options().iter().find(|option| option.name == name).map(|option| option.kind);
            said.push(' ');
            match kind {
                Some(Kind::Flag) if value == "true" => said.push_str(name),
                Some(Kind::Flag) => {
                    said.pop();
                }
                Some(Kind::Number) => said.push_str(&format!("{name} {value}")),
                Some(_) if grammar::NAMED.contains(&name) => {
                    said.push_str(&format!("{name}={}", in_quotes(value)));
                }
                Some(_) => said.push_str(value),
                None => said.push_str(&format!("{name}={value}")),
            }
        }
        said
    }
}

/// Returns the names of the command's options in the order of its usage line.
fn in_order(command: &Command) -> Vec<&'static str> {
    command.args.iter().flat_map(|arg| of_arg(*arg)).map(|option| option.name).collect()
}

impl Command {
    fn has_settings(&self) -> bool {
        self.args.iter().any(|arg| matches!(arg, Arg::Settings { .. }))
    }

    /// Returns true if the command has an option of this name.
    fn knows_option(&self, name: &str) -> bool {
        self.options().iter().any(|option| option.name == name)
            || (self.has_settings() && KEYS.contains(&name))
    }
}

/// Parses the given options into the command's arguments; `here` is the agent in whose channel it was given.
///
/// # Errors
/// The reason why they do not fit.
pub fn fit(
    command: &'static Command,
    given: &Given,
    here: Option<&AgentName>,
    roster: &dyn Roster,
) -> Result<Call, Misfit> {
    for (at, (name, _)) in given.0.iter().enumerate() {
        let twice = given.0.iter().take(at).any(|(before, _)| before == name);
        if twice || !command.knows_option(name) {
            return Err(Misfit::Extra(name.clone()));
        }
    }
    let mut call = Call::of(command);
    for arg in command.args {
        take(&mut call, *arg, given, here, roster)?;
    }
    Ok(call)
}

fn take(
    call: &mut Call,
    arg: Arg,
    given: &Given,
    here: Option<&AgentName>,
    roster: &dyn Roster,
) -> Result<(), Misfit> {
    let wanted = grammar::wanted(arg);
    let needed = |name| given.get(name).ok_or(Misfit::Missing(wanted));
    match arg {
        Arg::Agent | Arg::PastAgent => {
            call.agent = agent(arg, given, here, roster)?;
            if call.agent.is_none() {
                return Err(Misfit::Missing(wanted));
            }
        }
        Arg::AgentOrAll | Arg::PastAgentOrAll => {
            let all =
                given.get("agent").is_some_and(|word| matches!(fold_end(word).as_str(), "all" | "fleet"));
            call.agent = if all { None } else { agent(arg, given, here, roster)? };
        }
        Arg::AgentOrAuto => {
            let auto = given.get("agent").is_some_and(|word| grammar::is_auto(word, roster));
            call.agent = if auto { None } else { agent(arg, given, here, roster)? };
        }
        Arg::Priority => {
            if let Some(word) = given.get("priority") {
                call.priority = grammar::priority_of(word)?;
            }
        }
        Arg::Needs => {
            if let Some(words) = given.get("needs") {
                call.needs = grammar::needs_of(words)?;
            }
        }
        Arg::After => {
            if let Some(words) = given.get("after") {
                call.after = grammar::after_of(words)?;
            }
        }
        Arg::Check => call.check = given.get("check").map(grammar::check_of).transpose()?,
        Arg::NewAgent => call.word = Some(needed("name")?.to_owned()),
        Arg::OneOf { name, words } => {
            let word = needed(name)?;
            call.choice = Some(grammar::choice(word, words)?);
        }
        Arg::Word { name } => call.word = Some(needed(name)?.to_owned()),
        Arg::Flag(name) => call.now = given.get(name) == Some("true"),
        Arg::Count { name } => {
            call.count = given.get(name).map(|word| grammar::counted(word, name)).transpose()?;
        }
        Arg::Number { name } => {
            if let Some(word) = given.get(name) {
                call.set_number(name, grammar::numbered(word, name)?);
            }
        }
        Arg::Call => {
            call.ask = given.get("id").map(grammar::ask_of).transpose()?;
            call.agent = here.cloned();
            if call.ask.is_none() && call.agent.is_none() {
                return Err(Misfit::Missing(wanted));
            }
        }
        Arg::OpenAsk => {
            call.ask = given.get("id").map(grammar::ask_of).transpose()?;
            call.agent = here.cloned();
        }
        Arg::Ask | Arg::Told => call.ask = Some(grammar::ask_of(needed("id")?)?),
        Arg::Task => call.task = Some(grammar::task_of(needed("task")?)?),
        Arg::Code => call.word = given.get("code").map(fold),
        Arg::Text => {
            grammar::no_late_order(call.command, needed("text")?)?;
            needed("text")?.clone_into(&mut call.text);
        }
        Arg::File => given.get("file").unwrap_or_default().clone_into(&mut call.text),
        Arg::Parts => needed("parts")?.clone_into(&mut call.text),
        Arg::Settings { name, .. } => call.rest = settings(call.command, name, given)?,
        Arg::Topic => call.word = given.get("command").map(grammar::topic_of).transpose()?,
    }
    Ok(())
}

fn agent(
    arg: Arg,
    given: &Given,
    here: Option<&AgentName>,
    roster: &dyn Roster,
) -> Result<Option<AgentName>, Misfit> {
    let Some(word) = given.get("agent") else { return Ok(here.cloned()) };
    let named = grammar::agent_of(word).filter(|agent| grammar::is_meant(arg, agent, roster));
    named.map(Some).ok_or_else(|| grammar::no_such_agent(word, roster))
}

/// Returns the words of the settings: first the value without a key, then every `key=value`.
fn settings(command: &Command, name: &'static str, given: &Given) -> Result<Vec<String>, Misfit> {
    let folder = folder(name);
    let mut words: Vec<String> =
        folder.and_then(|name| given.get(name)).map(str::to_owned).into_iter().collect();
    let options = command.options();
    let keys = KEYS.into_iter().filter(|key| !options.iter().any(|option| option.name == *key));
    words.extend(keys.filter_map(|key| given.get(key).map(|value| format!("{key}={value}"))));
    if let Some(pairs) = given.get(SETTINGS) {
        words.extend(split_quoted(pairs).map_err(|unclosed| Misfit::Unclosed(unclosed.0))?);
    }
    if words.is_empty() { Err(Misfit::Missing(name)) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::{COMMANDS, command, parse};

    struct Two;

    impl Roster for Two {
        fn knows(&self, agent: &AgentName) -> bool {
            matches!(agent.as_str(), "spark" | "quick")
        }

        fn names(&self) -> Vec<AgentName> {
            ["spark", "quick"].into_iter().filter_map(|name| AgentName::new(name).ok()).collect()
        }

        fn remembers(&self, agent: &AgentName) -> bool {
            agent.as_str() == "gone"
        }
    }

    type Options = &'static [(&'static str, &'static str)];

    fn given(options: &[(&str, &str)]) -> Given {
        Given(options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn options_mean_what_the_text_form_means() {
        let cases: &[(Verb, Options, &str)] = &[
            (Verb::Pause, &[("agent", "spark")], "pause spark"),
            (Verb::Pause, &[("agent", "@Spark"), ("now", "true")], "pause spark now"),
            (Verb::Pause, &[("agent", "spark"), ("now", "false")], "pause spark"),
            (Verb::StopAll, &[], "stop-all"),
            (Verb::Status, &[], "status"),
            (Verb::Status, &[("agent", "all")], "status all"),
            (Verb::Status, &[("agent", "quick")], "status quick"),
            (Verb::TaskAdd, &[("text", "spark on"), ("agent", "quick")], "task add quick spark on"),
            (Verb::TaskCancel, &[("task", "#12")], "task cancel 12"),
            (Verb::TaskAdd, &[("text", "fix it")], "task add fix it"),
            (Verb::TaskAdd, &[("text", "spark is slow"), ("agent", "auto")], "task add auto spark is slow"),
            (
                Verb::TaskAdd,
                &[("needs", "full,rust"), ("priority", "high"), ("text", "fix it"), ("agent", "quick")],
                "task add quick priority=high needs=full,rust fix it",
            ),
            (Verb::TaskAdd, &[("text", "fix it"), ("after", "7, #8")], "task add after=7,8 fix it"),
            (
                Verb::TaskAdd,
                &[("text", "fix it"), ("check", "test \"$A\" = 'b c'")],
                "task add check=\"test \\\"$A\\\" = 'b c'\" fix it",
            ),
            (Verb::TaskAssign, &[("task", "12"), ("agent", "quick")], "task assign #12 quick"),
            (Verb::TaskAssign, &[("task", "12"), ("agent", "auto")], "task assign 12"),
            (Verb::TaskSplit, &[("task", "12"), ("parts", "a; b")], "task split 12 'a; b'"),
            (Verb::Log, &[("agent", "spark"), ("n", "7")], "log spark 7"),
            (
                Verb::Log,
                &[("page", "2"), ("agent", "gone"), ("session", "4000")],
                "log gone session 4000 page 2",
            ),
            (Verb::History, &[("agent", "gone")], "history gone"),
            (Verb::AgentRemove, &[("agent", "spark"), ("code", "AB12")], "agent remove spark ab12"),
            (Verb::Help, &[("command", "agent add")], "help agent add"),
            (
                Verb::AgentAdd,
                &[("name", "new"), ("runtime", "claude"), ("workspace", "/srv"), ("model", "opus")],
                "agent add new claude /srv model=opus",
            ),
            (
                Verb::AgentAdd,
                &[("name", "new"), ("runtime", "command"), ("settings", "workspace=/srv\ncommand='a b'")],
                "agent add new command workspace=/srv command='a b'",
            ),
            (
                Verb::AgentEdit,
                &[("agent", "spark"), ("instructions", "do it")],
                "agent edit spark instructions='do it'",
            ),
        ];
        for (verb, options, text) in cases {
            let structured = fit(command(*verb), &given(options), None, &Two);
            let words: Vec<String> = split_quoted(text).expect("closed quotes");
            let parse::Heard::Command(typed) = parse::request(&words[0], &words[1..], &Two) else {
                panic!("{text}");
            };
            assert_eq!(structured, Ok(typed), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let spark = AgentName::new("spark").ok();
        let cases: &[(Verb, Options, bool, Misfit)] = &[
            (Verb::Pause, &[], false, Misfit::Missing("agent")),
            (
                Verb::Pause,
                &[("agent", "sprak")],
                true,
                Misfit::NoSuchAgent { word: "sprak".to_owned(), nearest: spark.clone() },
            ),
            (Verb::Pause, &[("agent", "spark"), ("text", "x")], false, Misfit::Extra("text".to_owned())),
            (
                Verb::Pause,
                &[("agent", "spark"), ("agent", "quick")],
                false,
                Misfit::Extra("agent".to_owned()),
            ),
            (Verb::TaskAdd, &[("text", "  ")], true, Misfit::Missing("text")),
            (
                Verb::TaskAdd,
                &[("text", "x"), ("needs", "Rust")],
                false,
                Misfit::Wrong { word: "Rust".to_owned(), wanted: "needs=full,rust".to_owned() },
            ),
            (
                Verb::TaskAdd,
                &[("text", "fix it after=7")],
                false,
                Misfit::Wrong { word: "after=7".to_owned(), wanted: "after=7 <text>".to_owned() },
            ),
            (
                Verb::TaskAdd,
                &[("text", "x"), ("after", "seven")],
                false,
                Misfit::Wrong { word: "seven".to_owned(), wanted: "after=7,8".to_owned() },
            ),
            (Verb::AgentEdit, &[("agent", "spark")], false, Misfit::Missing("key=value")),
            (
                Verb::AgentAdd,
                &[("name", "new"), ("runtime", "perl")],
                false,
                Misfit::Wrong { word: "perl".to_owned(), wanted: "claude|codex|acp|command".to_owned() },
            ),
            (Verb::AgentEdit, &[("agent", "spark"), ("settings", "a=\"b")], false, Misfit::Unclosed('"')),
            (
                Verb::Log,
                &[("agent", "spark"), ("n", "0")],
                false,
                Misfit::Wrong { word: "0".to_owned(), wanted: "n = 1 – 1000".to_owned() },
            ),
        ];
        for (verb, options, here, misfit) in cases {
            let here = spark.as_ref().filter(|_| *here);
            assert_eq!(fit(command(*verb), &given(options), here, &Two).as_ref(), Err(misfit), "{options:?}");
        }
    }

    #[test]
    fn in_an_agents_channel_the_agent_can_be_left_out() {
        let spark = AgentName::new("spark").ok();
        for verb in [Verb::Pause, Verb::Status, Verb::Queue] {
            let call = fit(command(verb), &given(&[]), spark.as_ref(), &Two).expect("it fits");
            assert_eq!(call.agent, spark);
        }
        // A text may equal an agent's name.
        let task = fit(command(Verb::TaskAdd), &given(&[("text", "quick")]), spark.as_ref(), &Two);
        let task = task.expect("it fits");
        assert_eq!((task.agent, task.text.as_str()), (spark, "quick"));
    }

    #[test]
    fn every_field_of_a_form_fills_an_option_and_every_required_option_can_be_given() {
        for command in COMMANDS {
            for field in command.form() {
                assert!(command.knows_option(field.name), "{}: {}", command.name, field.name);
            }
            let options = command.options();
            let first_optional = options.iter().position(|option| !option.required);
            let last_required = options.iter().rposition(|option| option.required);
            assert!(last_required.is_none_or(|last| first_optional.is_none_or(|first| last < first)));
        }
    }

    #[test]
    fn the_record_reads_as_if_it_was_typed() {
        for (verb, options, said) in [
            (Verb::Pause, &[("now", "true"), ("agent", "spark")][..], "pause spark now"),
            (Verb::Pause, &[("now", "false"), ("agent", "spark")], "pause spark"),
            (Verb::StopAll, &[], "stop-all"),
            (
                Verb::AgentAdd,
                &[("model", "opus"), ("name", "new"), ("runtime", "claude"), ("workspace", "/srv")],
                "agent add new claude /srv model=opus",
            ),
        ] {
            assert_eq!(given(options).said(command(verb)), said);
        }
    }
}
