//! Fits a line to a command: its words to the command's arguments.

use std::collections::BTreeSet;

use super::words::{self, Unclosed, Words, fold, fold_end};
use super::{Arg, COMMANDS, Command, Scope, Verb};
use crate::core::card::{AFTER_MAX, CHECK_MAX, Needs, Priority};
use crate::core::id::{AgentName, AskId, WorkId};

/// Maximum count in a command, e.g. of `log`; replies have further bounds.
pub(super) const COUNT_MAX: u64 = 1000;

/// Names of the arguments that are typed as `name=value`, in any order.
pub(super) const NAMED: [&str; 4] = ["priority", "needs", "after", "check"];

/// The word that stands for the next free agent, in place of an agent's name.
pub(super) const AUTO: &str = "auto";

/// The agents that exist, as far as the meaning of a line depends on them.
pub trait Roster {
    /// Returns true if an agent of this name exists.
    fn knows(&self, agent: &AgentName) -> bool;
    /// Returns the names of all agents, to find the one nearest to a mistyped name.
    fn names(&self) -> Vec<AgentName>;
    /// Returns true if an agent of this name existed and was removed.
    fn remembers(&self, agent: &AgentName) -> bool;
}

/// A parsed command with its arguments, ready to be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The command that is to be carried out.
    pub command: &'static Command,
    /// The agent that the command is for; `None` if it names none.
    pub agent: Option<AgentName>,
    /// True if the command's flag was given, e.g. `now` or `always`.
    pub now: bool,
    /// The count in the command, e.g. of entries to show; `None` for the usual number.
    pub count: Option<u32>,
    /// Number of the session that the command is about.
    pub session: Option<u32>,
    /// Number of the page to show, from 1.
    pub page: Option<u32>,
    /// Number of the task that the command is about.
    pub task: Option<WorkId>,
    /// Priority of the task that the command creates.
    pub priority: Priority,
    /// Requirements for an agent of the task that the command creates.
    pub needs: Needs,
    /// Tasks that must be done before the task that the command creates.
    pub after: BTreeSet<WorkId>,
    /// Command that must succeed before the task that the command creates is done.
    pub check: Option<Box<str>>,
    /// Number of the question, the call for a person, or the whisper that the command is about.
    pub ask: Option<AskId>,
    /// A single word that the command takes, e.g. a code.
    pub word: Option<String>,
    /// The given one of the words that the command offers.
    pub choice: Option<&'static str>,
    /// The end of the line as free text, as it was written.
    pub text: String,
    /// The end of the line as words, with quotes resolved.
    pub rest: Vec<String>,
}

impl Call {
    /// Returns true if the command answers a question in words without its number: such a line may be talk among
    /// people, or work for an agent.
    pub(super) fn is_loose_answer(&self) -> bool {
        self.command.verb == Verb::Answer && self.ask.is_none()
    }

    /// Returns a call of the command without any argument.
    pub(super) fn of(command: &'static Command) -> Self {
        Self {
            command,
            agent: None,
            now: false,
            count: None,
            session: None,
            page: None,
            task: None,
            priority: Priority::default(),
            needs: Needs::default(),
            after: BTreeSet::new(),
            check: None,
            ask: None,
            word: None,
            choice: None,
            text: String::new(),
            rest: Vec::new(),
        }
    }
}

/// The reason why the arguments of a command do not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// A required argument is missing; the field is its name in the usage line.
    Missing(&'static str),
    /// A word fits none of the command's arguments.
    Extra(String),
    /// A word stands for an agent, but no agent has this name.
    NoSuchAgent {
        /// The word as it was written.
        word: String,
        /// The most similar agent's name, if there is one.
        nearest: Option<AgentName>,
    },
    /// A word does not have the form of its argument.
    Wrong {
        /// The word as it was written.
        word: String,
        /// The expected form, as in the usage line.
        wanted: String,
    },
    /// An opening quote, the field, is never closed.
    Unclosed(char),
    /// The command is for the whole fleet, but the line was addressed to an agent.
    WholeFleet,
}

/// The command whose name a line begins with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// The command that was found.
    pub(super) command: &'static Command,
    /// Number of words of the line that the command's name takes.
    pub(super) used: usize,
}

/// Finds the command whose name a line begins with; the longest name wins.
pub(super) fn find(line: &Words) -> Option<Found> {
    let one = fold_end(line.get(0)?);
    let two =
        line.get(1).map(|second| format!("{} {}", fold(line.get(0).unwrap_or_default()), fold_end(second)));
    let by_name = |name: &str, used| {
        COMMANDS
            .iter()
            .copied()
            .find(|command| command.name == name || command.aliases.contains(&name))
            .map(|command| Found { command, used })
    };
    two.and_then(|two| by_name(&two, 2)).or_else(|| by_name(&one, 1))
}

/// Parses a word as an agent's name, without the punctuation that people put around one.
pub(super) fn agent_of(word: &str) -> Option<AgentName> {
    let word = fold_end(word);
    let word = word.strip_prefix('@').unwrap_or(&word).trim_end_matches([':', ',']);
    AgentName::new(word).ok()
}

/// Fits the words of `line` after the command's name to its arguments.
///
/// `addressed` is the agent that the line was addressed to, `here` the agent whose channel it was said in.
pub(super) fn fit(
    found: Found,
    line: &Words,
    addressed: Option<&AgentName>,
    here: Option<&AgentName>,
    roster: &dyn Roster,
) -> Result<Call, Misfit> {
    let command = found.command;
    if command.scope == Scope::WholeFleet && addressed.is_some() {
        return Err(Misfit::WholeFleet);
    }
    let mut fitting = Fitting {
        call: Call::of(command),
        line,
        next: found.used,
        addressed,
        here,
        roster,
        unknown_agent: None,
    };
    for arg in command.args {
        fitting.take(*arg)?;
    }
    fitting.finish()
}

struct Fitting<'a> {
    call: Call,
    line: &'a Words,
    next: usize,
    addressed: Option<&'a AgentName>,
    here: Option<&'a AgentName>,
    roster: &'a dyn Roster,
    /// Index of a word at which an agent could be named but none has that name: if no other argument takes the word, it
    /// counts as a wrong name.
    unknown_agent: Option<usize>,
}

impl Fitting<'_> {
    fn take(&mut self, arg: Arg) -> Result<(), Misfit> {
        match arg {
            Arg::Agent | Arg::PastAgent => self.agent(arg, true),
            Arg::AgentOrAll | Arg::PastAgentOrAll => {
                let all = self.addressed.is_none()
                    && self.peek().is_some_and(|word| matches!(fold_end(word).as_str(), "all" | "fleet"));
                if all {
                    self.next += 1;
                    return Ok(());
                }
                self.agent(arg, false)
            }
            Arg::AgentOrAuto => self.agent_or_auto(arg),
            Arg::Priority | Arg::Needs | Arg::After | Arg::Check => self.named(),
            Arg::NewAgent | Arg::Word { .. } => {
                let word = self.word(arg)?;
                self.call.word = Some(word);
                Ok(())
            }
            Arg::OneOf { words, .. } => self.one_of(arg, words),
            Arg::Flag(flag) => {
                if self.peek().is_some_and(|word| fold_end(word) == flag) {
                    self.next += 1;
                    self.call.now = true;
                }
                Ok(())
            }
            Arg::Count { name } => self.count(name),
            Arg::Number { name } => self.number(name),
            Arg::Task => self.task(),
            Arg::Call => self.standing_call(arg),
            Arg::OpenAsk => {
                self.open_ask();
                Ok(())
            }
            Arg::Ask | Arg::Told => {
                let word = self.word(arg)?;
                self.call.ask = Some(ask_of(&word)?);
                Ok(())
            }
            Arg::Code => {
                if let Some(word) = self.peek() {
                    self.call.word = Some(fold(word));
                    self.next += 1;
                }
                Ok(())
            }
            Arg::File => {
                self.file();
                Ok(())
            }
            Arg::Text | Arg::Parts => self.text(arg),
            Arg::Settings { name, .. } => self.settings(name),
            Arg::Topic => self.topic(),
        }
    }

    fn peek(&self) -> Option<&str> {
        self.line.get(self.next)
    }

    fn word(&mut self, arg: Arg) -> Result<String, Misfit> {
        let word = self.peek().ok_or(Misfit::Missing(wanted(arg)))?.to_owned();
        self.next += 1;
        Ok(word)
    }

    fn agent(&mut self, arg: Arg, required: bool) -> Result<(), Misfit> {
        if let Some(addressed) = self.addressed {
            self.call.agent = Some(addressed.clone());
            // `@spark pause spark` names the agent twice and means it once.
            if self.peek().and_then(agent_of).as_ref() == Some(addressed) && self.call.command.takes_no_text()
            {
                self.next += 1;
            }
            return Ok(());
        }
        let named = self.peek().and_then(agent_of);
        if let Some(agent) = named.filter(|agent| is_meant(arg, agent, self.roster)) {
            self.next += 1;
            self.call.agent = Some(agent);
            return Ok(());
        }
        if let Some(here) = self.here {
            self.unknown_agent = self.peek().is_some().then_some(self.next);
            self.call.agent = Some(here.clone());
            return Ok(());
        }
        match self.peek() {
            Some(word) if required => Err(no_such_agent(word, self.roster)),
            Some(_) => {
                self.unknown_agent = Some(self.next);
                Ok(())
            }
            None if required => Err(Misfit::Missing(wanted(arg))),
            None => Ok(()),
        }
    }

    /// Parses the argument for a call for a person: its number, else the agent that is named, addressed or whose
    /// channel it is.
    fn standing_call(&mut self, arg: Arg) -> Result<(), Misfit> {
        let about = self.peek().and_then(agent_of).filter(|agent| is_meant(arg, agent, self.roster));
        let number = self.peek().filter(|_| about.is_none()).map(ask_of).transpose()?;
        self.next += usize::from(about.is_some() || number.is_some());
        self.call.ask = number;
        self.call.agent = about.or_else(|| self.addressed.or(self.here).cloned());
        match (number, &self.call.agent) {
            (None, None) => Err(Misfit::Missing(wanted(arg))),
            (Some(_), _) | (None, Some(_)) => Ok(()),
        }
    }

    /// Parses the number of a question, which may be left out. A lone number where text is expected is the answer, not
    /// the question.
    fn open_ask(&mut self) {
        self.call.agent = self.addressed.or(self.here).cloned();
        let alone = self.next + 1 == self.line.len();
        let is_answer = !self.call.command.takes_no_text() && alone;
        self.call.ask = self.peek().filter(|_| !is_answer).and_then(|word| ask_of(word).ok());
        self.next += usize::from(self.call.ask.is_some());
    }

    fn agent_or_auto(&mut self, arg: Arg) -> Result<(), Misfit> {
        if self.addressed.is_none() && self.peek().is_some_and(|word| is_auto(word, self.roster)) {
            self.next += 1;
            return Ok(());
        }
        self.agent(arg, false)?;
        // A word similar to an agent's name was meant as that agent, and is no text for the next free one.
        match self.peek().filter(|_| self.call.agent.is_none()) {
            Some(word) if nearest_agent(word, self.roster).is_some() => Err(no_such_agent(word, self.roster)),
            Some(_) | None => Ok(()),
        }
    }

    /// Parses the arguments `priority=…`, `needs=…`, `after=…` and `check=…`, in any order.
    fn named(&mut self) -> Result<(), Misfit> {
        while let Some((name, value)) = self.peek().and_then(|word| word.split_once(['=', '＝'])) {
            let taken = |arg| self.call.command.args.contains(&arg);
            match fold(name).as_str() {
                "priority" => self.call.priority = priority_of(value)?,
                "needs" if taken(Arg::Needs) => self.call.needs = needs_of(value)?,
                "after" if taken(Arg::After) => {
                    let after = after_of(value)?;
                    self.call.after.extend(after);
                }
                "check" if taken(Arg::Check) => {
                    let quoted = self.line.quoted_at(self.next);
                    let (word, count) = quoted.map_err(|Unclosed(quote)| Misfit::Unclosed(quote))?;
                    let value = word.split_once(['=', '＝']).map(|(_, value)| value);
                    self.call.check = Some(check_of(value.unwrap_or_default())?);
                    self.next += count;
                    continue;
                }
                _ => return Ok(()),
            }
            self.next += 1;
        }
        Ok(())
    }

    fn one_of(&mut self, arg: Arg, words: &'static [&'static str]) -> Result<(), Misfit> {
        let word = self.word(arg)?;
        self.call.choice = Some(choice(&word, words)?);
        Ok(())
    }

    fn count(&mut self, name: &'static str) -> Result<(), Misfit> {
        let Some(word) = self.peek() else { return Ok(()) };
        if !fold_end(word).bytes().all(|c| c.is_ascii_digit()) {
            return Ok(());
        }
        self.call.count = Some(counted(word, name)?);
        self.next += 1;
        Ok(())
    }

    fn number(&mut self, name: &'static str) -> Result<(), Misfit> {
        if self.peek().is_none_or(|word| fold_end(word) != name) {
            return Ok(());
        }
        let Some(word) = self.line.get(self.next + 1) else { return Ok(()) };
        self.call.set_number(name, numbered(word, name)?);
        self.next += 2;
        Ok(())
    }

    fn task(&mut self) -> Result<(), Misfit> {
        let word = self.word(Arg::Task)?;
        self.call.task = Some(task_of(&word)?);
        Ok(())
    }

    /// Parses the name of a file, which may have blanks, up to a page's number at the end of the line.
    fn file(&mut self) {
        let end = self.line.len();
        let is_page = |at: usize| {
            let number = self.line.get(at + 1).is_some_and(|word| fold_end(word).parse::<u32>().is_ok());
            at + 2 == end && number && self.line.get(at).is_some_and(|word| fold_end(word) == "page")
        };
        let until = end.checked_sub(2).filter(|at| *at >= self.next && is_page(*at)).unwrap_or(end);
        let (text, behind) = (self.line.text_from(self.next), self.line.text_from(until));
        text.strip_suffix(&behind).unwrap_or(&text).trim().clone_into(&mut self.call.text);
        self.next = until;
    }

    fn text(&mut self, arg: Arg) -> Result<(), Misfit> {
        self.call.text = self.line.text_from(self.next);
        self.next = self.line.len();
        no_late_order(self.call.command, &self.call.text)?;
        if self.call.text.trim().is_empty() { Err(Misfit::Missing(wanted(arg))) } else { Ok(()) }
    }

    fn settings(&mut self, name: &'static str) -> Result<(), Misfit> {
        self.call.rest = self.line.quoted_from(self.next).map_err(|unclosed| Misfit::Unclosed(unclosed.0))?;
        self.next = self.line.len();
        if self.call.rest.is_empty() { Err(Misfit::Missing(name)) } else { Ok(()) }
    }

    fn topic(&mut self) -> Result<(), Misfit> {
        let rest = self.line.text_from(self.next);
        if rest.is_empty() {
            return Ok(());
        }
        self.call.word = Some(topic_of(&rest)?);
        self.next = self.line.len();
        Ok(())
    }

    fn finish(self) -> Result<Call, Misfit> {
        match self.peek() {
            None => Ok(self.call),
            Some(word) if self.unknown_agent == Some(self.next) => match no_such_agent(word, self.roster) {
                // In an agent's channel a stray word is no name, unless it is similar to one.
                Misfit::NoSuchAgent { nearest: None, word } if self.here.is_some() => {
                    Err(Misfit::Extra(word))
                }
                misfit => Err(misfit),
            },
            Some(word) => Err(Misfit::Extra(word.to_owned())),
        }
    }
}

impl Call {
    /// Stores the number of the argument `name`, e.g. `session` or `page`.
    pub(super) fn set_number(&mut self, name: &str, number: u32) {
        match name {
            "session" => self.session = Some(number),
            _ => self.page = Some(number),
        }
    }
}

/// Returns true if an agent's name can stand for this argument.
pub(super) fn is_meant(arg: Arg, agent: &AgentName, roster: &dyn Roster) -> bool {
    roster.knows(agent) || (matches!(arg, Arg::PastAgent | Arg::PastAgentOrAll) && roster.remembers(agent))
}

impl Command {
    /// Returns true if the command takes no free text, so that a repeated agent's name is not part of a text.
    fn takes_no_text(&self) -> bool {
        !self.args.contains(&Arg::Text)
    }
}

/// Returns the one of `words` that equals a word in the line.
pub(super) fn choice(word: &str, words: &'static [&'static str]) -> Result<&'static str, Misfit> {
    let folded = fold_end(word);
    let known = words.iter().find(|known| **known == folded);
    known.copied().ok_or_else(|| Misfit::Wrong { word: word.to_owned(), wanted: words.join("|") })
}

/// Returns true if a word stands for the next free agent, unless an agent has that name.
pub(super) fn is_auto(word: &str, roster: &dyn Roster) -> bool {
    fold_end(word) == AUTO && agent_of(word).is_none_or(|agent| !roster.knows(&agent))
}

/// Parses the priority of a task.
pub(super) fn priority_of(word: &str) -> Result<Priority, Misfit> {
    let wanted = || format!("priority={}", Priority::WORDS.join("|"));
    Priority::of(&fold_end(word)).ok_or_else(|| Misfit::Wrong { word: word.to_owned(), wanted: wanted() })
}

/// Parses the requirements of a task, separated by commas.
pub(super) fn needs_of(words: &str) -> Result<Needs, Misfit> {
    Needs::parse(words).map_err(|word| Misfit::Wrong { word, wanted: "needs=full,rust".to_owned() })
}

/// Parses the numbers of tasks that must be done first, separated by commas.
pub(super) fn after_of(words: &str) -> Result<BTreeSet<WorkId>, Misfit> {
    let wrong = || Misfit::Wrong { word: words.to_owned(), wanted: "after=7,8".to_owned() };
    let numbers = words.split([',', '，', '、']).map(str::trim).filter(|word| !word.is_empty());
    let tasks: Result<BTreeSet<WorkId>, Misfit> = numbers.map(task_of).collect();
    tasks.ok().filter(|tasks| (1..=AFTER_MAX).contains(&tasks.len())).ok_or_else(wrong)
}

/// Parses the command of a task's check.
pub(super) fn check_of(command: &str) -> Result<Box<str>, Misfit> {
    let command = command.trim();
    let fits = (1..=CHECK_MAX).contains(&command.len()) && !command.contains(char::is_control);
    let wrong =
        || Misfit::Wrong { word: words::bounded(command, 100), wanted: "check=\"make test\"".to_owned() };
    fits.then(|| command.into()).ok_or_else(wrong)
}

/// Refuses a task's text with an `after=…` or a quoted `check="…"` in it: the order or the check is meant, and what is to
/// come later must not begin at once.
pub(super) fn no_late_order(command: &Command, text: &str) -> Result<(), Misfit> {
    let has = |arg| command.args.contains(&arg);
    let is_order = |word: &str| word.strip_prefix("after=").is_some_and(|value| after_of(value).is_ok());
    let is_check = |word: &str| {
        word.strip_prefix("check=").is_some_and(|value| value.starts_with(['"', '“', '„', '\'', '‘']))
    };
    let late = |word: &&str| has(Arg::After) && is_order(word) || has(Arg::Check) && is_check(word);
    match text.split_whitespace().find(late) {
        Some(word) if is_check(word) => {
            Err(Misfit::Wrong { word: word.to_owned(), wanted: "check=\"make test\" <text>".to_owned() })
        }
        Some(word) => Err(Misfit::Wrong { word: word.to_owned(), wanted: format!("{word} <text>") }),
        None => Ok(()),
    }
}

/// Parses a count from 1 to `COUNT_MAX`; `name` is the argument's name in the usage line.
pub(super) fn counted(word: &str, name: &str) -> Result<u32, Misfit> {
    // Digits that overflow count as a number that is too high.
    let count = fold_end(word).parse::<u64>().unwrap_or(u64::MAX);
    let count = u32::try_from(count).ok().filter(|count| (1..=COUNT_MAX).contains(&u64::from(*count)));
    count
        .ok_or_else(|| Misfit::Wrong { word: word.to_owned(), wanted: format!("{name} = 1 – {COUNT_MAX}") })
}

/// Parses a number from 1; `name` is the argument's name in the usage line.
pub(super) fn numbered(word: &str, name: &str) -> Result<u32, Misfit> {
    let number = fold_end(word).parse::<u32>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Misfit::Wrong { word: word.to_owned(), wanted: format!("{name} 12") })
}

/// Parses the number of a task, with or without `#`.
pub(super) fn task_of(word: &str) -> Result<WorkId, Misfit> {
    let folded = fold_end(word);
    let id = folded.strip_prefix('#').unwrap_or(&folded).parse::<u64>();
    id.map(WorkId).map_err(|_| Misfit::Wrong { word: word.to_owned(), wanted: "#12".to_owned() })
}

/// Parses the number of a question or rule, with or without `#`.
pub(super) fn ask_of(word: &str) -> Result<AskId, Misfit> {
    let folded = fold_end(word);
    let id = folded.strip_prefix('#').unwrap_or(&folded).parse::<u64>();
    id.map(AskId).map_err(|_| Misfit::Wrong { word: word.to_owned(), wanted: "3".to_owned() })
}

/// Parses the name of a command or of a group, for `help`, with or without `!`.
pub(super) fn topic_of(text: &str) -> Result<String, Misfit> {
    let text = text.trim_start_matches(['!', '/', '！']);
    let topic = Words::of_line(text);
    let group = topic.len() == 1 && super::GROUPS.contains(&fold_end(text).as_str());
    match find(&topic) {
        Some(found) if found.used == topic.len() => Ok(found.command.name.to_owned()),
        _ if group => Ok(fold_end(text)),
        _ => Err(Misfit::Wrong { word: text.to_owned(), wanted: Arg::Topic.usage() }),
    }
}

pub(super) fn no_such_agent(word: &str, roster: &dyn Roster) -> Misfit {
    Misfit::NoSuchAgent { word: word.to_owned(), nearest: nearest_agent(word, roster) }
}

/// Returns the agent whose name is most similar to a word, if one is similar enough.
pub(super) fn nearest_agent(word: &str, roster: &dyn Roster) -> Option<AgentName> {
    let names = roster.names();
    let word = fold_end(word);
    let word = word.trim_start_matches('@').trim_end_matches([':', ',']);
    let near = words::nearest(word, names.iter().map(AgentName::as_str))?;
    AgentName::new(near).ok()
}

/// Returns the name of an argument for the reply that it is missing.
pub(super) fn wanted(arg: Arg) -> &'static str {
    match arg {
        Arg::Agent | Arg::AgentOrAll | Arg::AgentOrAuto | Arg::PastAgent | Arg::PastAgentOrAll => "agent",
        Arg::Priority => "priority",
        Arg::Needs => "needs",
        Arg::After => "after",
        Arg::Check => "check",
        Arg::NewAgent => "name",
        Arg::OneOf { name, .. }
        | Arg::Word { name }
        | Arg::Count { name }
        | Arg::Number { name }
        | Arg::Settings { name, .. }
        | Arg::Flag(name) => name,
        Arg::Task => "task",
        Arg::Ask | Arg::OpenAsk | Arg::Call | Arg::Told => "id",
        Arg::Code => "code",
        Arg::Text => "text",
        Arg::File => "file",
        Arg::Parts => "parts",
        Arg::Topic => "command",
    }
}
