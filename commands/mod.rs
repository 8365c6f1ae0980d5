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
//! 5. `stop` alone is `pause now` for an agent and `stop-all` in the control channel. A command with polite words around
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
pub(crate) use task::listed;

use crate::access::Role;
use crate::core::card::Priority;
use crate::l10n::Locale;

/// The commands, as one value each: the dispatch is a `match` over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is documented by its entry in the table and its own file")]
pub enum Verb {
    Pause,
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
    TaskList,
    TaskShow,
    TaskAssign,
    TaskCancel,
    TaskSplit,
    Approve,
    Deny,
    Answer,
    RuleList,
    RuleRemove,
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

/// The target of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One agent, which may be left out in its channel.
    Agent,
    /// The fleet, or one agent of it.
    Either,
    /// The fleet; addressing an agent makes no difference.
    Fleet,
    /// The whole fleet, so that addressing one agent is a mistake.
    WholeFleet,
}

/// Treatment of a line that begins with a command and does not fit it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// The command steers: such a line is never work.
    Never,
    /// The word also begins ordinary sentences: such a line is work if enough words follow.
    Sentence,
}

/// The effect of a command on the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It only reads: it is answered from state at once, its record follows within 50 ms, its reply is not stored.
    Looks,
    /// It changes something: its record, its decision and its reply are one transaction.
    Changes,
}

/// One argument of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arg {
    /// An agent that exists. May be left out in its channel.
    Agent,
    /// An agent that exists, or `all`.
    AgentOrAll,
    /// An agent that exists, or `auto`: the next free one. May be left out.
    AgentOrAuto,
    /// An agent that exists or existed. May be left out in its channel.
    PastAgent,
    /// An agent that exists or existed, or `all`.
    PastAgentOrAll,
    /// The name of a new agent.
    NewAgent,
    /// A word from a fixed set.
    OneOf {
        /// The name in the usage line.
        name: &'static str,
        /// The words.
        words: &'static [&'static str],
    },
    /// One word, taken as it is.
    Word {
        /// The name in the usage line.
        name: &'static str,
    },
    /// A word that is given or not.
    Flag(&'static str),
    /// A count from 1.
    Count {
        /// The name in the usage line.
        name: &'static str,
    },
    /// A number from 1 after its name; may be left out.
    Number {
        /// The name, in the usage line and before the number.
        name: &'static str,
    },
    /// A task's number, with or without `#`.
    Task,
    /// `priority=high`; may be left out.
    Priority,
    /// `needs=full,rust`: requirements for an agent; may be left out.
    Needs,
    /// Number of a question, with or without `#`.
    Ask,
    /// The same; may be left out if only one question is open.
    OpenAsk,
    /// Number of a call for a person, or the agent that it is about. May be left out if that is clear.
    Call,
    /// The number of a whisper of the evaluator.
    Told,
    /// A confirmation code; may be left out.
    Code,
    /// The rest of the line, which must not be empty.
    Text,
    /// The parts of a task: the rest of the line, which must not be empty.
    Parts,
    /// `key=value` pairs: the rest of the line as words, at least one.
    Settings {
        /// The name in the usage line.
        name: &'static str,
        /// The argument in the usage line.
        usage: &'static str,
    },
    /// A command's name; may be left out.
    Topic,
}

impl Arg {
    /// Returns the argument in the usage line.
    fn usage(self) -> String {
        match self {
            Self::Agent | Self::PastAgent => "[agent]".to_owned(),
            Self::AgentOrAll | Self::PastAgentOrAll => "[agent|all]".to_owned(),
            Self::AgentOrAuto => "[agent|auto]".to_owned(),
            Self::Priority => format!("[priority={}]", Priority::WORDS.join("|")),
            Self::Needs => "[needs=full,tag]".to_owned(),
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
            Self::Parts => "<first; second; …>".to_owned(),
            Self::Settings { usage, .. } => usage.to_owned(),
            Self::Topic => "[command]".to_owned(),
        }
    }
}

/// One command.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    /// The command as a value.
    pub verb: Verb,
    /// Its name: one word, or two in a group.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Its arguments, in order.
    pub args: &'static [Arg],
    /// The role it needs.
    pub role: Role,
    /// Its target.
    pub scope: Scope,
    /// Its effect on the state.
    pub effect: Effect,
    /// Treatment of a line that begins with it and does not fit.
    pub strictness: Strictness,
    /// Id of the locale message that describes it.
    pub about: &'static str,
}

impl Command {
    /// Returns its usage line: `pause [agent] [now]`.
    #[must_use]
    pub fn usage(&self) -> String {
        let mut usage = self.name.to_owned();
        for arg in self.args {
            let _ = write!(usage, " {}", arg.usage());
        }
        usage
    }

    /// True if it needs an agent.
    #[must_use]
    pub fn needs_agent(&self) -> bool {
        self.args.contains(&Arg::Agent) || self.args.contains(&Arg::PastAgent)
    }
}

/// All commands, in the order of help.
pub static COMMANDS: [&Command; 37] = [
    &pause::COMMAND,
    &resume::COMMAND,
    &abort::COMMAND,
    &restart::COMMAND,
    &stop_all::COMMAND,
    &resume_all::COMMAND,
    &status::COMMAND,
    &usage::COMMAND,
    &task::ADD,
    &task::LIST,
    &task::SHOW,
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
    &reload::COMMAND,
    &help::COMMAND,
    &link::COMMAND,
    &whoami::COMMAND,
    &page::COMMAND,
];

/// First words of the commands with two.
pub const GROUPS: [&str; 3] = ["agent", "task", "rule"];

/// Returns the command of a verb.
#[must_use]
pub fn command(verb: Verb) -> &'static Command {
    COMMANDS.iter().copied().find(|command| command.verb == verb).unwrap_or(&help::COMMAND)
}

/// Yields every single word that begins a command: names, aliases, groups.
pub fn first_words() -> impl Iterator<Item = &'static str> {
    COMMANDS
        .iter()
        .flat_map(|command| std::iter::once(command.name).chain(command.aliases.iter().copied()))
        .filter(|name| !name.contains(' '))
        .chain(GROUPS)
}

/// True if herder uses a word itself, so that no agent can have it as its name.
#[must_use]
pub fn is_word(word: &str) -> bool {
    let word = words::fold(word);
    let arguments =
        ["now", "always", "chart", "confirm", "add", "edit", "remove", "list", "show", "cancel", "auto"];
    first_words().chain(arguments).chain(parse::SOUNDS_LIKE.iter().map(|(w, _)| *w)).any(|w| w == word)
}

/// Returns the manual's table of commands; a test compares it with the manual.
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
