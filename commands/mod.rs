//! Commands of people: one file per command, the list, and the parsing of text forms.
//!
//! [`COMMANDS`] is the only list. Help, the parsing of text forms ([`parse`]), the manual's table
//! ([`table_markdown`]), the completion of verbs in a shell and the registration with networks that have commands of
//! their own derive from it. A command knows its grammar, the role it needs, its scope and its effect; it knows no
//! network. A line becomes a [`parse::Heard`]; [`dispatch::Dispatcher`] checks its author, records it, and calls the
//! command's file.
//!
//! # Commands and work
//!
//! In an agent's channel plain text is work for that agent, and so is `@agent text` anywhere. That makes one mistake
//! costly: a command that is taken for work is not carried out, and the agent reads words that were not meant for it.
//! Therefore, in this order:
//!
//! 1. `!word …`, `herder: word …` and a private message that names no agent are **always** a command attempt. What is
//!    not known gets the nearest known word, and never reaches an agent. `@herder …` is one too, but in an agent's channel.
//! 2. Plain text in an agent's channel (there also after `@herder`), and what follows `@agent` or `agent:`, is a command
//!    if the **whole line** fits a command's grammar.
//! 3. A line that begins with `pause`, `resume`, `abort`, `restart` or `stop-all` and does not fit is answered with the
//!    usage line; it is never work. `!task add spark restart the web server` gives such a text as work.
//! 4. The other single words also begin ordinary sentences ("help me with …", "log the errors in …"). A line that begins
//!    with one and does not fit is answered with the usage line when one word follows it, and is work when more do.
//!    `task …` and `agent …` are commands if the second word is one of theirs, or nearly.
//! 5. `stop` alone is `pause now` for an agent, in its channel too, and else `stop-all`. A command with polite words around
//!    it (`please pause`, `can you pause?`, `status please`) is that command.
//! 6. One word that is nearly a verb (`resum`), or that sounds like one (`kill`, `cancel it`), is asked back.
//! 7. Everything else is work: `@spark pleez pause` too.
//!
//! In channels that belong to no agent, only addressed lines are heard; in the control channel also a line that fits a
//! command as a whole.

mod answers;
mod desk;
pub mod dispatch;
pub mod follow;
pub mod grammar;
pub mod interact;
mod later;
mod limits;
mod link;
pub mod options;
pub mod parse;
mod removal;
pub(crate) mod say;
mod settings;
mod shell;
pub(crate) mod slash;
mod turns;
pub mod words;

mod abort;
mod ack;
mod agent;
mod approve;
mod audit;
mod clear;
mod handoff;
mod help;
mod history;
mod log;
mod mark;
mod page;
mod pause;
mod queue;
mod reload;
mod restart;
mod resume;
mod resume_all;
mod review;
mod runner;
mod status;
mod stop_all;
mod task;
mod usage;
mod whisper;
mod whoami;

use std::fmt::Write as _;

pub(crate) use audit::line as audit_line;
pub use dispatch::Dispatcher;
pub(crate) use history::{hide_whisper, is_told, line as history_line};
pub(crate) use log::line as log_line;
pub(crate) use task::{listed, record};
pub(crate) use usage::cap as cap_used;

use crate::core::card::Priority;
use crate::core::role::Role;
use crate::l10n::Locale;

/// Identifies a command; the dispatcher matches on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is documented by its entry in the table and its own file")]
pub enum Verb {
    Pause,
    Handoff,
    Resume,
    Abort,
    Restart,
    StopAll,
    ResumeAll,
    Status,
    AgentAdd,
    AgentEdit,
    AgentRemove,
    AgentList,
    AgentShow,
    TaskAdd,
    TaskNew,
    TaskOpen,
    TaskDrop,
    Accept,
    Reject,
    TaskList,
    TaskShow,
    TaskDiff,
    TaskAssign,
    TaskCancel,
    TaskSplit,
    Approve,
    Deny,
    Answer,
    RuleList,
    RuleRemove,
    RunnerList,
    RunnerDrain,
    RunnerOpen,
    RunnerRemove,
    Ack,
    Mark,
    Queue,
    Clear,
    Whisper,
    Log,
    History,
    Audit,
    Usage,
    Reload,
    Help,
    Link,
    Whoami,
    Page,
}

/// The agents that a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The command is for one agent, which may be left out in that agent's channel.
    Agent,
    /// The command is for the fleet, or for one agent if it is named.
    Either,
    /// The command is for the fleet; if the line is addressed to an agent, that makes no difference.
    Fleet,
    /// The command is for the whole fleet, so that addressing one agent is a mistake.
    WholeFleet,
}

/// The treatment of a line in an agent's channel that begins with a command's name but does not fit the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Such a line gets the usage line as a reply and is never work, because the command steers agents.
    Never,
    /// Such a line is work if enough words follow, because the name also begins ordinary sentences.
    Sentence,
}

/// The effect of a command on herder's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The command only reads: it is answered at once, its record follows within 50 ms, and its reply is not stored.
    Looks,
    /// The command changes something: its record, its decision and its reply are stored in one transaction.
    Changes,
}

/// The form of one argument of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arg {
    /// The name of an existing agent. May be left out in that agent's channel.
    Agent,
    /// An agent that exists, or `all`.
    AgentOrAll,
    /// The name of an existing agent, or `auto` for the next free one. May be left out.
    AgentOrAuto,
    /// The name of an agent that exists or existed. May be left out in its channel.
    PastAgent,
    /// The name of an agent that exists or existed, or `all`.
    PastAgentOrAll,
    /// The name of a new agent.
    NewAgent,
    /// One word from a fixed set.
    OneOf {
        /// The argument's name in the usage line.
        name: &'static str,
        /// The permitted words.
        words: &'static [&'static str],
    },
    /// One word of any form.
    Word {
        /// The argument's name in the usage line.
        name: &'static str,
    },
    /// A fixed word that may be given, such as `now`.
    Flag(&'static str),
    /// A count from 1 to `options::COUNT_MAX`.
    Count {
        /// The argument's name in the usage line.
        name: &'static str,
    },
    /// A number from 1 that follows its name, as in `page 2`; may be left out.
    Number {
        /// The name, in the usage line and before the number.
        name: &'static str,
    },
    /// The number of a task, with or without `#`.
    Task,
    /// The priority of a task, as `priority=high`; may be left out.
    Priority,
    /// The requirements of a task for an agent, as `needs=full,rust`; may be left out.
    Needs,
    /// The tasks that must be done before a new one, as `after=7,8`; may be left out.
    After,
    /// The check of a new task, as `check="make test"`; may be left out.
    Check,
    /// Number of a question, with or without `#`.
    Ask,
    /// The number of a question; may be left out if only one is open.
    OpenAsk,
    /// The number of a call for a person, or the agent that it is about. May be left out if that is clear.
    Call,
    /// The number of a whisper of the evaluator.
    Told,
    /// A confirmation code that herder has given to the author; may be left out.
    Code,
    /// The rest of the line as text, which must not be empty.
    Text,
    /// The name of a changed file, or `stat`: the rest of the line, but for a number that follows; may be left out.
    File,
    /// The rest of the line as the parts of a task, which must not be empty.
    Parts,
    /// The rest of the line as `key=value` settings, at least one.
    Settings {
        /// The argument's name.
        name: &'static str,
        /// The argument's form in the usage line.
        usage: &'static str,
    },
    /// The name of a command or group, for `help`; may be left out.
    Topic,
}

impl Arg {
    /// Returns the argument's form in the usage line.
    fn usage(self) -> String {
        match self {
            Self::Agent | Self::PastAgent => "[agent]".to_owned(),
            Self::AgentOrAll | Self::PastAgentOrAll => "[agent|all]".to_owned(),
            Self::AgentOrAuto => "[agent|auto]".to_owned(),
            Self::Priority => format!("[priority={}]", Priority::WORDS.join("|")),
            Self::Needs => "[needs=full,tag]".to_owned(),
            Self::Check => "[check=\"make test\"]".to_owned(),
            Self::After => "[after=7,8]".to_owned(),
            Self::NewAgent => "<name>".to_owned(),
            Self::OneOf { words, .. } => format!("<{}>", words.join("|")),
            Self::Word { name } => format!("<{name}>"),
            Self::Flag(word) => format!("[{word}]"),
            Self::Count { name } => format!("[{name}]"),
            Self::Number { name } => format!("[{name} <number>]"),
            Self::Task => "<task>".to_owned(),
            Self::Ask | Self::Told => "<id>".to_owned(),
            Self::OpenAsk => "[id]".to_owned(),
            Self::Call => "[id|agent]".to_owned(),
            Self::Code => "[code]".to_owned(),
            Self::Text => "<text>".to_owned(),
            Self::File => "[stat|file]".to_owned(),
            Self::Parts => "<first; second; …>".to_owned(),
            Self::Settings { usage, .. } => usage.to_owned(),
            Self::Topic => "[command]".to_owned(),
        }
    }
}

/// The definition of one command: its name, arguments, role and treatment.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    /// The value by which the dispatcher recognises the command.
    pub verb: Verb,
    /// The command's name: one word, or two for a command in a group.
    pub name: &'static str,
    /// Other names for the command.
    pub aliases: &'static [&'static str],
    /// The command's arguments, in order.
    pub args: &'static [Arg],
    /// The role that the author needs.
    pub role: Role,
    /// The agents that the command is for.
    pub scope: Scope,
    /// The command's effect on herder's state.
    pub effect: Effect,
    /// The treatment of a line that begins with the command's name and does not fit it.
    pub strictness: Strictness,
    /// Id of the Fluent message that describes the command.
    pub about: &'static str,
}

impl Verb {
    /// Returns true if files that come with the command's line go with the work that it gives.
    pub(crate) const fn takes_files(self) -> bool {
        matches!(self, Self::TaskAdd | Self::TaskNew)
    }
}

impl Command {
    /// Returns the command's usage line: `pause [agent] [now]`.
    #[must_use]
    pub fn usage(&self) -> String {
        let mut usage = self.name.to_owned();
        for arg in self.args {
            let _ = write!(usage, " {}", arg.usage());
        }
        usage
    }

    /// Returns true if the command cannot be carried out without an agent.
    #[must_use]
    pub fn needs_agent(&self) -> bool {
        self.args.contains(&Arg::Agent) || self.args.contains(&Arg::PastAgent)
    }
}

/// All commands, in the order of help.
pub static COMMANDS: [&Command; 48] = [
    &pause::COMMAND,
    &handoff::COMMAND,
    &resume::COMMAND,
    &abort::COMMAND,
    &restart::COMMAND,
    &stop_all::COMMAND,
    &resume_all::COMMAND,
    &status::COMMAND,
    &usage::COMMAND,
    &task::ADD,
    &task::NEW,
    &task::OPEN,
    &task::DROP,
    &review::ACCEPT,
    &review::REJECT,
    &task::LIST,
    &task::SHOW,
    &task::diff::DIFF,
    &task::ASSIGN,
    &task::SPLIT,
    &task::CANCEL,
    &approve::APPROVE,
    &approve::DENY,
    &approve::ANSWER,
    &approve::RULES,
    &approve::REMOVE,
    &ack::COMMAND,
    &queue::COMMAND,
    &clear::COMMAND,
    &whisper::COMMAND,
    &mark::COMMAND,
    &log::COMMAND,
    &history::COMMAND,
    &audit::COMMAND,
    &agent::ADD,
    &agent::EDIT,
    &agent::REMOVE,
    &agent::LIST,
    &agent::SHOW,
    &runner::LIST,
    &runner::DRAIN,
    &runner::OPEN,
    &runner::REMOVE,
    &reload::COMMAND,
    &help::COMMAND,
    &link::COMMAND,
    &whoami::COMMAND,
    &page::COMMAND,
];

/// First words of the commands whose name has two words.
pub const GROUPS: [&str; 4] = ["agent", "task", "rule", "runner"];

/// Returns the definition of a command.
#[must_use]
pub fn command(verb: Verb) -> &'static Command {
    COMMANDS.iter().copied().find(|command| command.verb == verb).unwrap_or(&help::COMMAND)
}

/// Returns every single word with which a command's name can begin: names, aliases and groups.
pub fn first_words() -> impl Iterator<Item = &'static str> {
    COMMANDS
        .iter()
        .flat_map(|command| std::iter::once(command.name).chain(command.aliases.iter().copied()))
        .filter(|name| !name.contains(' '))
        .chain(GROUPS)
}

/// Returns true if herder uses a word in commands, so that no agent can have it as its name.
#[must_use]
pub fn table_markdown(locale: &Locale) -> String {
    let mut table = String::from("| command | does | needs |\n|---|---|---|\n");
    for command in COMMANDS {
        let usage = command.usage().replace('|', "\\|");
        let mut forms = format!("`!{usage}`");
        for alias in command.aliases {
            let _ = write!(forms, ", `!{alias}`");
        }
        let _ = writeln!(table, "| {forms} | {} | {} |", locale.text(command.about, &[]), command.role);
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{first_words, parse};
    use crate::core::words::COMMAND_WORDS;

    #[test]
    fn no_agent_can_be_named_by_a_word_of_a_command() {
        let arguments =
            ["now", "always", "chart", "confirm", "add", "edit", "remove", "list", "show", "cancel", "auto"];
        let sounds = parse::SOUNDS_LIKE.iter().map(|(word, _)| *word);
        let words: BTreeSet<&str> = first_words().chain(arguments).chain(sounds).collect();
        assert_eq!(words.into_iter().collect::<Vec<_>>(), COMMAND_WORDS);
    }
}
