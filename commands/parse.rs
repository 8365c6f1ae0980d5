//! The meaning of a line: a command, work for an agent, a mistake to answer, or nothing.
//!
//! The rules, with their reasons, are in the module's head ([`super`]). Parsing is pure: it depends on the line, its
//! place, and the existing agents. The author is checked afterwards.

use super::grammar::{self, Call, Misfit, Roster};
use super::words::{self, Words, fold, fold_end};
use super::{COMMANDS, Command, Effect, GROUPS, Strictness, Verb, command, first_words};
use crate::core::id::{AGENT_NAME_MAX, AgentName};
use crate::core::speech::Mention;

/// Words that sound like a command, with the commands that may be meant. herder asks back, because these differ in what
/// happens to the task.
pub const SOUNDS_LIKE: [(&str, &[&str]); 10] = [
    ("stop", &["pause now", "abort", "stop-all"]),
    ("halt", &["pause now", "stop-all"]),
    ("kill", &["abort", "restart"]),
    ("cancel", &["abort", "task cancel"]),
    ("quit", &["pause now", "abort"]),
    ("exit", &["pause now", "abort"]),
    ("freeze", &["pause now"]),
    ("unpause", &["resume"]),
    ("reset", &["restart", "clear"]),
    ("reboot", &["restart"]),
];

/// The word that stops an agent at once in its channel, and all agents where it is said to herder itself.
const STOP: &str = "stop";

/// The kind of place in which a line was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Room {
    /// The channel of an agent.
    Agent(AgentName),
    /// The control channel, in which people talk with herder itself.
    Control,
    /// Any other channel.
    Other,
    /// A private conversation with herder.
    Private,
}

/// The context on which the meaning of a line depends.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The kind of place in which the line was said.
    pub room: &'a Room,
    /// herder's own nick on the network.
    pub own_nick: &'a str,
    /// The people whom the line mentions by id: a line that begins with such a mention is addressed to that person,
    /// whatever name they use.
    pub mentions: &'a [Mention],
    /// The agents that exist.
    pub roster: &'a dyn Roster,
}

/// The meaning of a person's line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// The line is talk among people, not meant for herder.
    Nothing,
    /// The line is a command.
    Command(Call),
    /// The line is work for an agent.
    Work {
        /// The agent that gets the work.
        agent: AgentName,
        /// The text of the work.
        text: String,
    },
    /// The line was meant for herder but cannot be carried out.
    Problem(Problem),
}

/// Reason why a line that was meant for herder cannot be carried out. Nothing is done, and nothing reaches an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The line names a command that does not exist.
    Unknown {
        /// The unknown word as it was written.
        word: String,
        /// The name of the most similar command, if there is one.
        nearest: Option<&'static str>,
    },
    /// The arguments do not fit the command.
    Usage {
        /// The command that the line names.
        command: &'static Command,
        /// The reason why the arguments do not fit.
        why: Misfit,
        /// The agent that the line may be work for.
        or_work: Option<AgentName>,
    },
    /// The line has the name of a group of commands without one of its commands.
    Group {
        /// The group, e.g. `task`.
        group: &'static str,
        /// The most similar command of the group, if there is one.
        nearest: Option<&'static str>,
    },
    /// The line has a word that only sounds like a command; herder asks back.
    AskBack {
        /// The unknown word as it was written.
        word: String,
        /// The commands that may be meant, as they would be typed.
        options: Vec<&'static str>,
        /// The agent that the word is meant for, if that is clear.
        agent: Option<AgentName>,
    },
    /// The line is addressed to an agent that does not exist.
    NoSuchAgent {
        /// The addressed name as it was written.
        word: String,
        /// The most similar agent's name, if there is one.
        nearest: Option<AgentName>,
        /// The agent in whose channel it was said; the line is not work for that agent.
        here: Option<AgentName>,
    },
}

impl Heard {
    /// Returns true if the line changes nothing, so that its author can repeat it if herder was killed.
    #[must_use]
    pub fn only_looks(&self) -> bool {
        match self {
            Self::Nothing | Self::Problem(_) => true,
            Self::Command(call) => call.command.effect == Effect::Looks,
            Self::Work { .. } => false,
        }
    }

    /// Returns the meaning with a description of the message's attachments added, if it is work.
    #[must_use]
    pub fn with(self, attached: &str) -> Self {
        let joined = |text: String| if attached.is_empty() { text } else { format!("{text}\n\n{attached}") };
        match self {
            Self::Work { agent, text } => Self::Work { agent, text: joined(text) },
            Self::Command(call) if call.command.verb.takes_files() => {
                Self::Command(Call { text: joined(call.text), ..call })
            }
            Self::Nothing | Self::Command(_) | Self::Problem(_) => self,
        }
    }

    /// Returns the meaning with names in place of the ids of mentioned people, as `spell` replaces them in texts.
    #[must_use]
    pub fn spelled_out(self, spell: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::Command(call) => Self::Command(Call {
                word: call.word.as_deref().map(&spell),
                text: spell(&call.text),
                rest: call.rest.iter().map(|word| spell(word)).collect(),
                ..call
            }),
            Self::Work { agent, text } => Self::Work { agent, text: spell(&text) },
            Self::Problem(problem) => Self::Problem(problem.spelled_out(spell)),
        }
    }
}

impl Problem {
    fn spelled_out(self, spell: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Unknown { word, nearest } => Self::Unknown { word: spell(&word), nearest },
            Self::Usage { command, why, or_work } => {
                let why = match why {
                    Misfit::Extra(word) => Misfit::Extra(spell(&word)),
                    Misfit::NoSuchAgent { word, nearest } => {
                        Misfit::NoSuchAgent { word: spell(&word), nearest }
                    }
                    Misfit::Wrong { word, wanted } => Misfit::Wrong { word: spell(&word), wanted },
                    Misfit::Missing(_) | Misfit::Unclosed(_) | Misfit::WholeFleet => why,
                };
                Self::Usage { command, why, or_work }
            }
            Self::AskBack { word, options, agent } => Self::AskBack { word: spell(&word), options, agent },
            Self::NoSuchAgent { word, nearest, here } => {
                Self::NoSuchAgent { word: spell(&word), nearest, here }
            }
            Self::Group { .. } => self,
        }
    }
}

/// Parses a chat line into its meaning.
#[must_use]
pub fn line(text: &str, scene: Scene<'_>) -> Heard {
    let (first, rest) = words::head(text);
    match first {
        None => Heard::Nothing,
        Some('!') => prefixed(rest, scene),
        Some('/') if is_slash_command(rest) => prefixed(rest, scene),
        Some('@') => mentioned(text, rest, scene),
        Some(_) => {
            let text = words::seen(text);
            scene.other(text).map_or_else(|| named(text, scene), |other| to_other(other, scene))
        }
    }
}

/// Parses a command from the shell, as a name and arguments; it is never work.
#[must_use]
pub fn request(name: &str, args: &[String], roster: &dyn Roster) -> Heard {
    let items = name.split_whitespace().map(str::to_owned).chain(args.iter().cloned()).collect();
    attempt(&Words::of_args(items), None, roster)
}

/// Parses a line that began with `!`, without that character; it is always meant as a command.
fn prefixed(rest: &str, scene: Scene<'_>) -> Heard {
    if let Some(call) = plain_request(rest, None, scene) {
        return Heard::Command(call);
    }
    let begins = |text: &str| text.starts_with(|c: char| c.is_alphanumeric() || c == '@' || !c.is_ascii());
    if !begins(rest) {
        // Among people `!!!` and `! ` are no command attempts, but in an agent's channel silence would leave the
        // line's fate open.
        return match scene.room {
            Room::Control | Room::Other => Heard::Nothing,
            Room::Agent(_) | Room::Private if !begins(rest.trim_start()) => unknown(&format!("!{rest}")),
            Room::Agent(_) | Room::Private => attempt(&Words::of_line(rest), scene.here(), scene.roster),
        };
    }
    attempt(&Words::of_line(rest), scene.here(), scene.roster)
}

/// Parses a line that is either a command or a mistake, never work; `here` is the agent in whose channel it was said.
fn attempt(line: &Words, here: Option<&AgentName>, roster: &dyn Roster) -> Heard {
    let Some(word) = line.get(0) else { return help() };
    if let Some(found) = grammar::find(line) {
        return match grammar::fit(found, line, None, here, roster) {
            Ok(call) => Heard::Command(call),
            Err(why) => Heard::Problem(Problem::Usage { command: found.command, why, or_work: None }),
        };
    }
    if let Some(problem) = group(line) {
        return Heard::Problem(problem);
    }
    // `!spark pause` in place of `!pause spark`.
    if let Some(agent) = grammar::agent_of(word).filter(|agent| roster.knows(agent)) {
        let rest = Words::of_line(&line.text_from(1));
        if let Some(found) = grammar::find(&rest) {
            return match grammar::fit(found, &rest, Some(&agent), here, roster) {
                Ok(call) => Heard::Command(call),
                Err(why) => Heard::Problem(Problem::Usage { command: found.command, why, or_work: None }),
            };
        }
        return unknown(rest.get(0).unwrap_or(word));
    }
    match sounds_like(word) {
        Some(options) => {
            let named = line.get(1).and_then(grammar::agent_of).filter(|agent| roster.knows(agent));
            let agent = named.or_else(|| here.cloned());
            Heard::Problem(Problem::AskBack { word: word.to_owned(), options: options.to_vec(), agent })
        }
        None => unknown(word),
    }
}

fn sounds_like(word: &str) -> Option<&'static [&'static str]> {
    let word = fold_end(word);
    SOUNDS_LIKE.iter().find(|(sound, _)| *sound == word).map(|(_, options)| *options)
}

/// Parses a line that begins with `@name`; `rest` is the line after `@`.
fn mentioned(whole: &str, rest: &str, scene: Scene<'_>) -> Heard {
    let name_end = rest.find(|c: char| c.is_whitespace()).unwrap_or(rest.len());
    let (name, said) = rest.split_at(name_end);
    let name = name.trim_end_matches([':', ',', '：', '、']);
    if scene.is_herder(name) {
        return match scene.room {
            // On Discord, people mention the bot to address the agent of a channel.
            Room::Agent(agent) if !said.trim().is_empty() && !said.trim_start().starts_with('!') => {
                spoken(agent.clone(), said.trim(), None, scene)
            }
            Room::Agent(_) | Room::Control | Room::Other | Room::Private => to_herder(said, scene),
        };
    }
    if let Some(agent) = grammar::agent_of(name).filter(|agent| scene.roster.knows(agent)) {
        return addressed(agent, said.trim(), scene);
    }
    match scene.room {
        // A line addressed to someone else must neither be given to an agent nor dropped.
        Room::Agent(here) if looks_like_name(name) => no_such_agent(name, Some(here.clone()), scene),
        Room::Agent(here) => work(here.clone(), words::seen(whole)),
        Room::Private => no_such_agent(name, None, scene),
        Room::Control | Room::Other => {
            let nearest = grammar::nearest_agent(name, scene.roster);
            if nearest.is_some() || fits_something(said, scene) {
                no_such_agent(name, None, scene)
            } else {
                Heard::Nothing
            }
        }
    }
}

/// Returns the meaning of a line addressed to another person, who is mentioned by id.
fn to_other(other: &Mention, scene: Scene<'_>) -> Heard {
    let word = other.shown.trim_start_matches('@').to_owned();
    match scene.room {
        Room::Agent(_) | Room::Private => {
            Heard::Problem(Problem::NoSuchAgent { word, nearest: None, here: scene.here().cloned() })
        }
        Room::Control | Room::Other => Heard::Nothing,
    }
}

/// Parses a line `name: …` or `name, …`, or plain text.
fn named(text: &str, scene: Scene<'_>) -> Heard {
    let end = text.find([':', ',', '：', '、']).filter(|end| *end <= AGENT_NAME_MAX.max(64));
    if let Some(end) = end {
        let (name, said) = text.split_at(end);
        let said = said.trim_start_matches([':', ',', '：', '、']);
        let alone =
            said.is_empty() || said.starts_with(char::is_whitespace) || text[end..].starts_with(['：', '、']);
        if alone && !name.contains(char::is_whitespace) {
            if scene.is_herder(name) {
                return to_herder(said, scene);
            }
            if let Some(agent) = grammar::agent_of(name).filter(|agent| scene.roster.knows(agent)) {
                return addressed(agent, said.trim(), scene);
            }
            // `sprak: pause` is a typing mistake; `note: the tests fail` is plain text.
            if grammar::nearest_agent(name, scene.roster).is_some() && fits_something(said, scene) {
                return no_such_agent(name, scene.here().cloned(), scene);
            }
        }
    }
    match scene.room {
        Room::Agent(agent) => spoken(agent.clone(), text, None, scene),
        Room::Private => to_herder(text, scene),
        Room::Control => in_control(text, scene),
        Room::Other => Heard::Nothing,
    }
}

/// Parses what was said to herder itself, which is either a command or a mistake, never work.
fn to_herder(said: &str, scene: Scene<'_>) -> Heard {
    let request = plain_request(said, None, scene).map(Heard::Command);
    request.unwrap_or_else(|| attempt(&Words::of_line(said), scene.here(), scene.roster))
}

/// Parses a request in plain words: `stop` for the agent of the channel or the whole fleet, or a command with polite
/// words around it. `None` if it is none.
fn plain_request(text: &str, addressed: Option<&AgentName>, scene: Scene<'_>) -> Option<Call> {
    let bare = words::without_courtesy(text);
    let line = Words::of_line(bare.as_deref().unwrap_or(text));
    if line.len() == 1 && line.get(0).map(fold_end).as_deref() == Some(STOP) {
        let stop = match (addressed, scene.room) {
            (Some(_), _) | (None, Room::Agent(_)) => "pause now",
            (None, Room::Control | Room::Other | Room::Private) => "stop-all",
        };
        return whole_command(&Words::of_line(stop), addressed, scene);
    }
    bare.and_then(|_| whole_command(&line, addressed, scene))
}

/// Parses a line as a command without free text; `None` if it is none: "please whisper …" is a sentence.
fn whole_command(line: &Words, addressed: Option<&AgentName>, scene: Scene<'_>) -> Option<Call> {
    let found = grammar::find(line)?;
    let here = if addressed.is_some() { None } else { scene.here() };
    let call = grammar::fit(found, line, addressed, here, scene.roster).ok()?;
    call.text.is_empty().then_some(call)
}

/// Parses a line in the control channel: a command if all of it fits, else talk among people.
fn in_control(text: &str, scene: Scene<'_>) -> Heard {
    if let Some(call) = plain_request(text, None, scene) {
        return Heard::Command(call);
    }
    let line = Words::of_line(text);
    match grammar::find(&line) {
        Some(found) => {
            let fitted = grammar::fit(found, &line, None, None, scene.roster);
            let short = line.len() <= found.used + 1;
            match fitted {
                Ok(call) if call.is_loose_answer() => Heard::Nothing,
                Ok(call) => Heard::Command(call),
                Err(why) if short => {
                    Heard::Problem(Problem::Usage { command: found.command, why, or_work: None })
                }
                Err(_) => Heard::Nothing,
            }
        }
        None if line.len() == 1 => {
            let word = line.get(0).unwrap_or_default();
            nearest_command(word).map_or(Heard::Nothing, |_| unknown(word))
        }
        None => Heard::Nothing,
    }
}

/// Parses `said`, the text that was addressed to an agent by name.
fn addressed(agent: AgentName, said: &str, scene: Scene<'_>) -> Heard {
    if said.is_empty() {
        let call = grammar::fit(
            grammar::Found { command: command(Verb::Status), used: 0 },
            &Words::of_line(""),
            Some(&agent),
            None,
            scene.roster,
        );
        return call.map_or(Heard::Nothing, Heard::Command);
    }
    // In `@spark !pause` the mark is superfluous, but the meaning is clear.
    if let (Some('!'), rest) = words::head(said) {
        let line = Words::of_line(rest);
        return match grammar::find(&line) {
            Some(found) => match grammar::fit(found, &line, Some(&agent), None, scene.roster) {
                Ok(call) => Heard::Command(call),
                Err(why) => Heard::Problem(Problem::Usage { command: found.command, why, or_work: None }),
            },
            None => group(&line).map_or_else(|| unknown(line.get(0).unwrap_or("!")), Heard::Problem),
        };
    }
    spoken(agent.clone(), said, Some(&agent), scene)
}

/// Parses text in an agent's channel or addressed to an agent, which is work unless it is a command (rules 2 to 6 of
/// the module's head). `addressed` is set if the agent was named.
fn spoken(agent: AgentName, text: &str, addressed: Option<&AgentName>, scene: Scene<'_>) -> Heard {
    if let Some(call) = plain_request(text, addressed, scene) {
        return Heard::Command(call);
    }
    let line = Words::of_line(text);
    let here = if addressed.is_some() { None } else { Some(&agent) };
    if let Some(found) = grammar::find(&line) {
        let why = match grammar::fit(found, &line, addressed, here, scene.roster) {
            // While a question is open it is the answer, like any other words.
            Ok(call) if call.is_loose_answer() => return work(agent, text),
            Ok(call) => return Heard::Command(call),
            Err(why) => why,
        };
        let follow = line.len() - found.used;
        let sentence = found.command.strictness == Strictness::Sentence && found.used == 1 && follow > 1;
        return if sentence {
            work(agent, text)
        } else {
            Heard::Problem(Problem::Usage { command: found.command, why, or_work: Some(agent) })
        };
    }
    if let Some(problem) = group(&line).filter(|problem| line.len() <= 2 || near_group(problem)) {
        return Heard::Problem(problem);
    }
    asked_back(&agent, &line).unwrap_or_else(|| work(agent, text))
}

/// Returns the question back about a short line that sounds like a command; `None` if it does not.
fn asked_back(agent: &AgentName, line: &Words) -> Option<Heard> {
    let word = line.get(0)?;
    let options = match sounds_like(word).filter(|_| line.len() <= 2) {
        Some(options) => options.to_vec(),
        None => {
            let short = match line.get(1) {
                None => true,
                Some(second) => line.len() == 2 && matches!(fold_end(second).as_str(), "now" | "please"),
            };
            vec![nearest_command(word).filter(|_| short)?]
        }
    };
    Some(Heard::Problem(Problem::AskBack { word: word.to_owned(), options, agent: Some(agent.clone()) }))
}

/// Returns the problem of a line that has a group's name without one of its commands; `None` if it is none.
fn group(line: &Words) -> Option<Problem> {
    let first = fold_end(line.get(0)?);
    let group = GROUPS.into_iter().find(|group| *group == first)?;
    let nearest = line.get(1).and_then(|second| {
        let second = fold_end(second);
        let members =
            || COMMANDS.iter().filter_map(|command| command.name.strip_prefix(group)?.strip_prefix(' '));
        let begun = members().find(|member| second.len() >= 2 && member.starts_with(&second));
        let member = begun.or_else(|| words::nearest(&second, members()))?;
        COMMANDS.iter().map(|command| command.name).find(|name| *name == format!("{group} {member}"))
    });
    Some(Problem::Group { group, nearest })
}

fn near_group(problem: &Problem) -> bool {
    matches!(problem, Problem::Group { nearest: Some(_), .. })
}

/// Returns the command whose first word is most similar to a word, as it would be typed.
fn nearest_command(word: &str) -> Option<&'static str> {
    let names = COMMANDS.iter().flat_map(|c| std::iter::once(c.name).chain(c.aliases.iter().copied()));
    let whole = words::nearest(word, names.clone()).map(|near| {
        COMMANDS.iter().find(|c| c.name == near || c.aliases.contains(&near)).map_or(near, |c| c.name)
    });
    whole.or_else(|| words::nearest(word, first_words()))
}

/// Returns true if `said` is a command by itself: then a name before it was meant as an agent.
fn fits_something(said: &str, scene: Scene<'_>) -> bool {
    let line = Words::of_line(said);
    let Some(found) = grammar::find(&line) else { return false };
    let fitted = grammar::fit(found, &line, None, scene.here(), scene.roster);
    matches!(fitted, Ok(_) | Err(Misfit::Missing("agent"))) || line.len() == found.used
}

/// Returns true if a text after `@` can be the name of a person or agent, unlike `@types/node`.
fn looks_like_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().count() <= 64
        && !name.contains(['/', '(', ')', '{', '}', '<', '>', '"', '.', '='])
}

/// Returns true if a line is a slash command such as `/pause` that a client has passed on, and not a path.
fn is_slash_command(rest: &str) -> bool {
    let word = rest.split_whitespace().next().unwrap_or_default();
    !word.contains('/') && (first_words().any(|known| known == fold(word)) || nearest_command(word).is_some())
}

fn unknown(word: &str) -> Heard {
    let nearest = nearest_command(word.trim_start_matches('!'));
    Heard::Problem(Problem::Unknown { word: word.to_owned(), nearest })
}

fn no_such_agent(name: &str, here: Option<AgentName>, scene: Scene<'_>) -> Heard {
    let nearest = grammar::nearest_agent(name, scene.roster);
    Heard::Problem(Problem::NoSuchAgent { word: name.to_owned(), nearest, here })
}

fn work(agent: AgentName, text: &str) -> Heard {
    Heard::Work { agent, text: text.trim().to_owned() }
}

fn help() -> Heard {
    Heard::Command(Call::of(command(Verb::Help)))
}

impl<'a> Scene<'a> {
    fn here(self) -> Option<&'a AgentName> {
        match self.room {
            Room::Agent(agent) => Some(agent),
            Room::Control | Room::Other | Room::Private => None,
        }
    }

    /// Returns the mention at the beginning of a line by which the line is addressed to a person; `None` if there is
    /// none.
    fn other(self, text: &str) -> Option<&'a Mention> {
        self.mentions.iter().find(|mention| mention.addresses && text.starts_with(&mention.written))
    }

    fn is_herder(self, name: &str) -> bool {
        let name = fold(name);
        name == "herder" || (!self.own_nick.is_empty() && name == fold(self.own_nick))
    }
}
