//! herder's own sentences in the form of Discord: commands in backticks as slash commands with their options. Words
//! of others in them are left alone ([`crate::l10n::Form`]).

use super::grammar;
use super::options::{Kind, Opt};
use super::words::Words;
use super::{Command, Verb};
use crate::core::id::AgentName;

/// Converts herder's own sentence for Discord: `@spark resume` becomes `/resume agent:spark`, `!task cancel 7` becomes
/// `/task cancel task:7`. Only whole commands in backticks are converted; work for an agent stays as it is.
pub(crate) fn line(line: &str) -> String {
    let mut pieces = line.split('`');
    let mut told = pieces.next().unwrap_or_default().to_owned();
    let rest: Vec<&str> = pieces.collect();
    for (at, piece) in rest.iter().enumerate() {
        told.push('`');
        // Every second piece is between two backticks, except after an unclosed one.
        match given(piece).filter(|_| at % 2 == 0 && at + 1 < rest.len()) {
            Some(given) => told.push_str(&given),
            None => told.push_str(piece),
        }
    }
    told
}

fn given(said: &str) -> Option<String> {
    if let Some(command) = said.strip_prefix('!') {
        let words = Words::of_line(command);
        let found = grammar::find(&words)?;
        let rest = words.text_from(found.used);
        // A code is given on Discord and typed on IRC.
        let is_said_elsewhere = found.command.verb == Verb::Link && !matches!(rest.as_str(), "" | "remove");
        return (!is_said_elsewhere).then(|| with_options(found.command, None, &rest));
    }
    let (agent, command) = said.strip_prefix('@')?.split_once(' ')?;
    AgentName::new(agent).ok()?;
    let words = Words::of_line(command);
    let found = grammar::find(&words)?;
    Some(with_options(found.command, Some(agent), &words.text_from(found.used)))
}

/// Formats the words of a command as a slash command with options. Placeholders, and words that fit no option, stay as
/// they are typed.
fn with_options(command: &Command, agent: Option<&str>, rest: &str) -> String {
    let name = command.name;
    let as_typed = || [Some(format!("/{name}")), agent.map(|agent| format!("agent:{agent}")), some(rest)];
    let fitted = if rest.contains(['[', '<']) { None } else { options(command, agent, rest) };
    match fitted {
        Some(options) => std::iter::once(format!("/{name}")).chain(options).collect::<Vec<_>>().join(" "),
        None => as_typed().into_iter().flatten().collect::<Vec<_>>().join(" "),
    }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn options(command: &Command, agent: Option<&str>, rest: &str) -> Option<Vec<String>> {
    let mut words: std::collections::VecDeque<&str> = rest.split_whitespace().collect();
    let mut given = Vec::new();
    let all: Vec<Opt> = command.args.iter().flat_map(|arg| super::options::of_arg(*arg)).collect();
    // A command about an agent's question finds its agent by the question.
    let takes_an_agent = all.iter().any(|option| option.name == "agent");
    given.extend(agent.filter(|_| takes_an_agent).map(|agent| format!("agent:{agent}")));
    for option in all {
        let Some(next) = words.front().copied() else { break };
        let taken = match option.kind {
            Kind::Agent | Kind::AgentOrAll | Kind::AgentOrAuto if agent.is_some() => None,
            Kind::Flag => (next == option.name).then(|| {
                words.pop_front();
                "True".to_owned()
            }),
            Kind::Number => (next == option.name).then(|| {
                words.pop_front();
                words.pop_front().unwrap_or_default().to_owned()
            }),
            Kind::Count => next.parse::<u32>().is_ok().then(|| {
                words.pop_front();
                next.to_owned()
            }),
            _ if grammar::NAMED.contains(&option.name) => {
                let named = next.strip_prefix(option.name).and_then(|value| value.strip_prefix('='));
                named.map(|value| {
                    words.pop_front();
                    value.to_owned()
                })
            }
            Kind::Text => Some(words.drain(..).collect::<Vec<_>>().join(" ")),
            _ => words.pop_front().map(str::to_owned),
        };
        given.extend(taken.map(|value| format!("{}:{value}", option.name)));
    }
    words.is_empty().then_some(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_typed_can_be_typed_on_discord() {
        let table = [
            ("Usage: `!pause [agent] [now]`", "Usage: `/pause [agent] [now]`"),
            (
                "**spark** is paused. `@spark resume` lets it go on.",
                "**spark** is paused. `/resume agent:spark` lets it go on.",
            ),
            ("`@spark log session 4 page 2` goes on.", "`/log agent:spark session:4 page:2` goes on."),
            ("`@spark log 1`", "`/log agent:spark n:1`"),
            ("`@spark pause now`", "`/pause agent:spark now:True`"),
            ("`@spark approve 9`, `@spark approve 9 always`", "`/approve id:9`, `/approve id:9 always:True`"),
            ("`@spark answer 9 …`", "`/answer id:9 text:…`"),
            ("`!rule remove 9`, `!ack 21`, `!help`", "`/rule remove id:9`, `/ack id:21`, `/help`"),
            ("`!task add spark fix it`", "`/task add agent:spark text:fix it`"),
            ("`!task split 4 first; second`", "`/task split task:4 parts:first; second`"),
            ("`!agent remove spark chgx`", "`/agent remove agent:spark code:chgx`"),
            (
                "Say `!link abcd2345` on IRC; `!link remove`",
                "Say `!link abcd2345` on IRC; `/link code:remove`",
            ),
            ("`@spark run the tests`, `git push`", "`@spark run the tests`, `git push`"),
            ("a `b` c, `!b`, `@b/c d`", "a `b` c, `!b`, `@b/c d`"),
            ("wow `!never closed", "wow `!never closed"),
        ];
        for (said, shown) in table {
            assert_eq!(line(said), shown);
        }
    }
}
