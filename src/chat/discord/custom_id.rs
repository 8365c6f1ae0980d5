//! Ids of buttons and forms. An id holds everything needed to handle it, so that it works after a restart and as long
//! as its message exists.
//!
//! ```text
//! v1:resume:spark:1772360430000         a button under a post of that time
//! v1:remove:spark:ab12                  a button that confirms, with the code
//! v1:approve:spark:12                   a button under an agent's request, with its number
//! v1:pick:spark:12.3                    a button under a question, with the number of the answer
//! v1:pick:spark:12                      a menu under a question
//! v1:other:spark:12                     a button that opens the form for a free answer
//! v1:accept:spark:7                     a button under a task in review, with its number
//! v1:again:form:1442000000000000000     a button that opens a refused form again, with the interaction that sent it
//! v1:form:agent add:name=new;runtime=claude
//! v1:form:agent edit:agent=spark;before=00000000-1b2c3d4e-00000000-00000000
//! ```
//!
//! Anybody can send such an id: it states an intent, never a permission. Text that does not parse exactly is rejected.

use std::fmt;
use std::str::FromStr;

use crate::commands::options::Given;
use crate::commands::{COMMANDS, Command};
use crate::core::id::{AgentName, AskId, WorkId};
use crate::core::time::Timestamp;

/// Maximum length of the `custom_id` of a button or form, in characters; Discord's limit.
const ID_MAX: usize = 100;

/// Maximum length of a code in the id of a button, in characters.
const CODE_MAX: usize = 16;

/// The parsed `custom_id` of a button, menu or form, which tells herder what a person has pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CustomId {
    /// A button under a post that calls for a person.
    Answer {
        /// The answer that the button gives.
        answer: Answer,
        /// The agent that the post is about.
        agent: AgentName,
        /// The time of the post: if the agent has continued since then, the answer is too late.
        at: Timestamp,
    },
    /// A button under the question whether an agent is to be removed.
    Confirm {
        /// The answer that the button gives.
        confirm: Confirm,
        /// The agent that is to be removed.
        agent: AgentName,
        /// The code that confirms the removal.
        code: String,
    },
    /// A button under an agent's request for permission or a plan.
    Ask {
        /// The answer that the button gives.
        choice: Choice,
        /// The agent that made the request.
        agent: AgentName,
        /// Number of the agent's request.
        ask: AskId,
    },
    /// A button for one answer that an agent's question offers, or the menu of all of them.
    Pick {
        /// The agent that asks the question.
        agent: AgentName,
        /// Number of the agent's question.
        ask: AskId,
        /// Number of the offered answer; `None` for the menu.
        option: Option<u8>,
    },
    /// A button that opens the form for an answer in free text.
    Other {
        /// The agent that asks the question.
        agent: AgentName,
        /// Number of the agent's question.
        ask: AskId,
    },
    /// A button under a task in review.
    Review {
        /// The answer that the button gives.
        verdict: Verdict,
        /// The agent whose task it is.
        agent: AgentName,
        /// Number of the task.
        task: WorkId,
    },
    /// A button that opens a refused form again.
    Again {
        /// Id of the interaction that submitted the refused form.
        draft: u64,
    },
    /// A form that was submitted.
    Form {
        /// The command that the form completes.
        command: &'static Command,
        /// The options that were given before the form was opened, and are carried in its id.
        given: Given,
    },
}

/// A person's answer to a post that calls for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Lets the agent continue.
    Resume,
    /// Ends the agent's session and discards its work.
    Abort,
    /// Shows the transcript; this does not answer the post.
    Transcript,
}

impl Answer {
    pub(super) const ALL: [Self; 3] = [Self::Resume, Self::Abort, Self::Transcript];

    /// Returns the name of the command that the answer runs, which is also the word in the id.
    pub(super) const fn command(self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::Abort => "abort",
            Self::Transcript => "log",
        }
    }
}

/// A person's answer to the question whether an agent is to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Confirm {
    /// ✅ Removes the agent.
    Remove,
    /// ❌ Keeps the agent.
    Keep,
}

impl Confirm {
    const ALL: [Self; 2] = [Self::Remove, Self::Keep];

    const fn word(self) -> &'static str {
        match self {
            Self::Remove => "remove",
            Self::Keep => "keep",
        }
    }
}

/// A person's answer to an agent's request for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// ✅ Allows the request once.
    Approve,
    /// ❌ Denies the request.
    Deny,
    /// 🔁 Allows the request, and the same one always from now on.
    Always,
}

impl Choice {
    pub(super) const ALL: [Self; 3] = [Self::Approve, Self::Deny, Self::Always];

    const fn word(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
            Self::Always => "always",
        }
    }
}

/// A person's answer to a task in review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Accepts the work.
    Accept,
    /// Opens the form for the reason why the work is sent back.
    Reject,
    /// Shows what was changed; this is no answer.
    Diff,
}

impl Verdict {
    pub(super) const ALL: [Self; 3] = [Self::Accept, Self::Reject, Self::Diff];

    const fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::Diff => "diff",
        }
    }
}

/// The error for a `custom_id` that this version of herder does not produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no id of a button or form that this herder makes")]
pub(super) struct Foreign;

impl fmt::Display for CustomId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer { answer, agent, at } => {
                write!(f, "v1:{}:{agent}:{}", answer.command(), at.as_millis())
            }
            Self::Confirm { confirm, agent, code } => write!(f, "v1:{}:{agent}:{code}", confirm.word()),
            Self::Ask { choice, agent, ask } => write!(f, "v1:{}:{agent}:{ask}", choice.word()),
            Self::Pick { agent, ask, option: Some(option) } => write!(f, "v1:pick:{agent}:{ask}.{option}"),
            Self::Pick { agent, ask, option: None } => write!(f, "v1:pick:{agent}:{ask}"),
            Self::Review { verdict, agent, task } => write!(f, "v1:{}:{agent}:{task}", verdict.word()),
            Self::Other { agent, ask } => write!(f, "v1:other:{agent}:{ask}"),
            Self::Again { draft } => write!(f, "v1:again:form:{draft}"),
            Self::Form { command, given } => {
                write!(f, "v1:form:{}:", command.name)?;
                for (at, (name, value)) in given.0.iter().enumerate() {
                    write!(f, "{}{name}={value}", if at == 0 { "" } else { ";" })?;
                }
                Ok(())
            }
        }
    }
}

impl FromStr for CustomId {
    type Err = Foreign;

    fn from_str(text: &str) -> Result<Self, Foreign> {
        if text.len() > ID_MAX {
            return Err(Foreign);
        }
        let parts: Vec<&str> = text.split(':').collect();
        let [version, word, about, rest] = parts[..] else { return Err(Foreign) };
        if version != "v1" {
            return Err(Foreign);
        }
        if word == "form" {
            return form(about, rest);
        }
        if (word, about) == ("again", "form") {
            return Ok(Self::Again { draft: number(rest)? });
        }
        // An id has one spelling only, while a name in chat has two.
        let agent = AgentName::new(about).ok().filter(|agent| agent.as_str() == about).ok_or(Foreign)?;
        if let Some(answer) = Answer::ALL.into_iter().find(|answer| answer.command() == word) {
            return Ok(Self::Answer { answer, agent, at: Timestamp::from_millis(number(rest)?) });
        }
        if let Some(choice) = Choice::ALL.into_iter().find(|choice| choice.word() == word) {
            return Ok(Self::Ask { choice, agent, ask: AskId(number(rest)?) });
        }
        if let Some(verdict) = Verdict::ALL.into_iter().find(|verdict| verdict.word() == word) {
            return Ok(Self::Review { verdict, agent, task: WorkId(number(rest)?) });
        }
        match word {
            "pick" => {
                let (ask, option) = match rest.split_once('.') {
                    Some((ask, option)) => (ask, Some(number(option)?)),
                    None => (rest, None),
                };
                return Ok(Self::Pick { agent, ask: AskId(number(ask)?), option });
            }
            "other" => return Ok(Self::Other { agent, ask: AskId(number(rest)?) }),
            _ => {}
        }
        let confirm = Confirm::ALL.into_iter().find(|confirm| confirm.word() == word).ok_or(Foreign)?;
        let plain = rest.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        if rest.is_empty() || rest.len() > CODE_MAX || !plain {
            return Err(Foreign);
        }
        Ok(Self::Confirm { confirm, agent, code: rest.to_owned() })
    }
}

/// Parses a number without a leading zero, so that a number can be written in one way only.
fn number<T: FromStr>(text: &str) -> Result<T, Foreign> {
    let digits = text.bytes().all(|c| c.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| digits).ok_or(Foreign)
}

fn form(name: &str, rest: &str) -> Result<CustomId, Foreign> {
    let command = COMMANDS.iter().copied().find(|command| command.name == name).ok_or(Foreign)?;
    if command.form().is_empty() {
        return Err(Foreign);
    }
    let mut given = Given::default();
    let pairs = if rest.is_empty() { Vec::new() } else { rest.split(';').collect() };
    for pair in pairs {
        let (name, value) = pair.split_once('=').ok_or(Foreign)?;
        let known = carried(command).any(|option| option == name);
        if !known || given.get(name).is_some() || !is_plain(value) {
            return Err(Foreign);
        }
        given.0.push((name.to_owned(), value.to_owned()));
    }
    Ok(CustomId::Form { command, given })
}

/// Name of the option that carries a checksum of a form's contents when it was opened, see [`mark`].
pub(super) const BEFORE: &str = "before";

/// Returns a checksum of the content of a form's field; line ends count as Discord returns them.
pub(super) fn mark(content: &str) -> String {
    let content = content.replace("\r\n", "\n");
    format!("{:08x}", crc32fast::hash(content.trim().as_bytes()))
}

/// Returns the names of a command's options that its form does not ask for, so that the form's id carries them.
fn carried(command: &'static Command) -> impl Iterator<Item = &'static str> {
    let asked_for = |name| command.form().iter().any(|field| field.name == name);
    command
        .options()
        .into_iter()
        .map(|option| option.name)
        .filter(move |name| !asked_for(*name))
        .chain([BEFORE])
}

fn is_plain(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
}

impl CustomId {
    /// Builds the id of the form that completes a command; `None` if the given options do not fit.
    pub(super) fn form(command: &'static Command, given: &Given) -> Option<Self> {
        let carried = carried(command).filter_map(|name| {
            let value = given.get(name)?;
            Some((name.to_owned(), value.to_owned()))
        });
        let given = Given(carried.collect());
        let id = Self::Form { command, given };
        // An id that cannot be parsed again must not be sent.
        (id.to_string().parse() == Ok(id.clone())).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::commands::{Verb, command};

    fn spark() -> AgentName {
        AgentName::new("spark").expect("a name")
    }

    fn given(options: &[(&str, &str)]) -> Given {
        Given(options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn ids_are_read_back_as_they_were_written() {
        let at = Timestamp::from_millis(1_772_360_430_000);
        let longest = AgentName::new(&"a".repeat(crate::core::id::AGENT_NAME_MAX)).expect("a name");
        let form = |verb, options| CustomId::form(command(verb), &given(options)).expect("it fits");
        let cases = [
            (
                CustomId::Answer { answer: Answer::Resume, agent: spark(), at },
                "v1:resume:spark:1772360430000",
            ),
            (CustomId::Answer { answer: Answer::Abort, agent: spark(), at }, "v1:abort:spark:1772360430000"),
            (
                CustomId::Answer { answer: Answer::Transcript, agent: spark(), at },
                "v1:log:spark:1772360430000",
            ),
            (
                CustomId::Confirm { confirm: Confirm::Remove, agent: spark(), code: "ab12".to_owned() },
                "v1:remove:spark:ab12",
            ),
            (
                CustomId::Confirm { confirm: Confirm::Keep, agent: spark(), code: "ab12".to_owned() },
                "v1:keep:spark:ab12",
            ),
            (
                CustomId::Ask { choice: Choice::Approve, agent: spark(), ask: AskId(12) },
                "v1:approve:spark:12",
            ),
            (CustomId::Ask { choice: Choice::Deny, agent: spark(), ask: AskId(12) }, "v1:deny:spark:12"),
            (CustomId::Ask { choice: Choice::Always, agent: spark(), ask: AskId(12) }, "v1:always:spark:12"),
            (CustomId::Pick { agent: spark(), ask: AskId(12), option: Some(3) }, "v1:pick:spark:12.3"),
            (CustomId::Pick { agent: spark(), ask: AskId(12), option: None }, "v1:pick:spark:12"),
            (CustomId::Other { agent: spark(), ask: AskId(12) }, "v1:other:spark:12"),
            (
                CustomId::Review { verdict: Verdict::Accept, agent: spark(), task: WorkId(7) },
                "v1:accept:spark:7",
            ),
            (
                CustomId::Review { verdict: Verdict::Reject, agent: spark(), task: WorkId(7) },
                "v1:reject:spark:7",
            ),
            (CustomId::Review { verdict: Verdict::Diff, agent: spark(), task: WorkId(7) }, "v1:diff:spark:7"),
            (CustomId::Again { draft: u64::MAX }, "v1:again:form:18446744073709551615"),
            (form(Verb::TaskAdd, &[("agent", "spark")]), "v1:form:task add:agent=spark"),
            (form(Verb::TaskAdd, &[]), "v1:form:task add:"),
            (
                form(Verb::AgentAdd, &[("runtime", "claude"), ("name", "new"), ("model", "opus")]),
                "v1:form:agent add:name=new;runtime=claude",
            ),
            (form(Verb::AgentEdit, &[("agent", "spark")]), "v1:form:agent edit:agent=spark"),
        ];
        for (id, text) in cases {
            assert_eq!(id.to_string(), text);
            assert_eq!(text.parse(), Ok(id));
        }
        for answer in Answer::ALL {
            let id = CustomId::Answer { answer, agent: longest.clone(), at };
            assert!(id.to_string().len() <= ID_MAX, "{id}");
        }
        for choice in Choice::ALL {
            let id = CustomId::Ask { choice, agent: longest.clone(), ask: AskId(u64::MAX) };
            assert!(id.to_string().len() <= ID_MAX, "{id}");
        }
        let both = form(Verb::AgentAdd, &[("name", longest.as_str()), ("runtime", "command")]);
        assert!(both.to_string().len() <= ID_MAX, "{both}");
    }

    #[test]
    fn what_is_not_exactly_an_id_is_nobodys() {
        for text in [
            "",
            "v1",
            "v2:resume:spark:1",
            "v1:resume:spark",
            "v1:resume:spark:",
            "v1:resume:spark:-1",
            "v1:resume:spark:+1",
            "v1:resume:spark:01",
            "v1:resume:spark:1:2",
            "v1:resume:Spark:1",
            "v1:resume::1",
            "v1:approve:spark:",
            "v1:approve:spark:012",
            "v1:always:spark:-1",
            "v1:deny:spark:18446744073709551616",
            "v1:accept:spark:07",
            "v1:accept:spark:",
            "v1:stop-all:spark:1",
            "v1:again:spark:1",
            "v1:again:form:0",
            "v1:remove:spark:",
            "v1:remove:spark:AB12",
            "v1:remove:spark:ab12ab12ab12ab12x",
            "v1:form:pause:agent=spark",
            "v1:form:task add:text=x",
            "v1:form:task add:agent=spark;agent=quick",
            "v1:form:task add:agent",
            "v1:form:task add:agent=spark;",
            "v1:form:task add:agent=a b",
            "v1:form:nothing:",
            " v1:resume:spark:1",
            &format!("v1:resume:{}:1", "a".repeat(200)),
        ] {
            assert_eq!(text.parse::<CustomId>(), Err(Foreign), "{text}");
        }
    }

    #[test]
    fn what_cannot_travel_is_not_sent() {
        for value in ["a:b", "a;b", "a=b", "ü", &"a".repeat(200)] {
            assert_eq!(CustomId::form(command(Verb::TaskAdd), &given(&[("agent", value)])), None, "{value}");
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics_and_there_is_one_way_to_write_an_id(text in "(v1:)?(resume|abort|log|remove|keep|approve|deny|always|accept|reject|diff|form|again)?:?\\PC{0,40}") {
            if let Ok(id) = text.parse::<CustomId>() {
                let same = id.to_string();
                prop_assert_eq!(same, text);
            }
        }
    }
}
