//! Answers to lines that cannot be carried out, and reading back what was recorded.

use super::grammar::Misfit;
use super::parse::Problem;
use super::say::Voice;
use super::words::repeat;
use super::{COMMANDS, Command};
use crate::core::event::Event;
use crate::core::id::{AgentName, SessionId};
use crate::journal::{Entry, Recorded};

/// What somebody is told whose line cannot be carried out: what was wrong, and what to do.
pub(super) fn problem(voice: Voice<'_>, problem: &Problem) -> Vec<String> {
    match problem {
        Problem::Unknown { word, nearest } => {
            let word = repeat(word);
            vec![match nearest {
                Some(nearest) => {
                    voice.text("cmd-unknown-but", &[("word", word.into()), ("nearest", (*nearest).into())])
                }
                None => voice.text("cmd-unknown", &[("word", word.into())]),
            }]
        }
        Problem::Usage { command, why, or_work } => usage(voice, command, why, or_work.as_ref()),
        Problem::Group { group, nearest } => vec![match nearest {
            Some(nearest) => voice.text("cmd-group-but", &[("nearest", (*nearest).into())]),
            None => {
                let names: Vec<String> = COMMANDS
                    .iter()
                    .filter(|command| command.name.split_once(' ').is_some_and(|(first, _)| first == *group))
                    .map(|command| format!("`!{}`", command.name))
                    .collect();
                let commands = names.join(", ");
                voice.text("cmd-group", &[("group", (*group).into()), ("commands", commands.into())])
            }
        }],
        Problem::AskBack { word, options, agent } => vec![ask_back(voice, word, options, agent.as_ref())],
        Problem::NoSuchAgent { word, nearest, here } => {
            vec![no_such_agent(voice, word, nearest.as_ref(), here.as_ref())]
        }
    }
}

fn ask_back(voice: Voice<'_>, word: &str, options: &[&str], agent: Option<&AgentName>) -> String {
    let typed = |option: &&str| match (*option, agent) {
        ("stop-all", _) => "`!stop-all`".to_owned(),
        (option, Some(agent)) => format!("`@{agent} {option}`"),
        (option, None) => format!("`@agent {option}`"),
    };
    let options = options.iter().map(typed).collect::<Vec<_>>().join(", ");
    let (word, options) = (("word", repeat(word).into()), ("options", options.into()));
    match agent {
        Some(agent) => voice.text("cmd-ask-back", &[word, options, ("agent", agent.into())]),
        None => voice.text("cmd-ask-which", &[word, options]),
    }
}

fn no_such_agent(
    voice: Voice<'_>,
    word: &str,
    nearest: Option<&AgentName>,
    here: Option<&AgentName>,
) -> String {
    let refusal =
        crate::core::notice::Refusal::NoSuchAgent { agent: repeat(word), nearest: nearest.cloned() };
    let mut text = voice.locale.refusal(&refusal);
    if let Some(here) = here {
        text.push(' ');
        text.push_str(&voice.text("cmd-not-for-here", &[("agent", here.into())]));
    }
    text
}

/// Why a command does not fit, its usage line, and how to give the line as work if it was meant so.
fn usage(voice: Voice<'_>, command: &Command, why: &Misfit, or_work: Option<&AgentName>) -> Vec<String> {
    let reason = match why {
        Misfit::Missing(what) => voice.text("cmd-misfit-missing", &[("what", (*what).into())]),
        Misfit::Extra(word) => voice.text("cmd-misfit-extra", &[("word", repeat(word).into())]),
        Misfit::NoSuchAgent { word, nearest } => no_such_agent(voice, word, nearest.as_ref(), None),
        Misfit::Wrong { word, wanted } => {
            let variables = [("word", repeat(word).into()), ("wanted", wanted.as_str().into())];
            voice.text("cmd-misfit-wrong", &variables)
        }
        Misfit::Unclosed(quote) => voice.text("cmd-misfit-unclosed", &[("quote", quote.to_string().into())]),
        Misfit::WholeFleet => voice.text("cmd-misfit-whole-fleet", &[("command", command.name.into())]),
    };
    let mut line = voice.text("cmd-usage", &[("reason", reason.into()), ("usage", command.usage().into())]);
    if let Some(agent) = or_work {
        line.push(' ');
        line.push_str(&voice.text("cmd-or-work", &[("agent", agent.into())]));
    }
    vec![line]
}

/// Entries read at a time.
const PAGE: usize = 200;

/// Entries looked at before giving up: a filter that fits nothing must not read archives for minutes.
const SCAN_MAX: usize = 20_000;

/// The last `wanted` entries that fit, oldest first. `read` gives a page of at most so many before a revision, oldest
/// first.
pub(super) fn last<E>(
    wanted: usize,
    fits: impl Fn(&Recorded) -> bool,
    read: impl Fn(usize, Option<u64>) -> Result<Vec<Recorded>, E>,
) -> Result<Vec<Recorded>, E> {
    let mut found = Vec::new();
    let mut before = None;
    let mut seen = 0;
    while found.len() < wanted && seen < SCAN_MAX {
        let page = read(PAGE, before)?;
        let Some(first) = page.first() else { break };
        before = Some(first.rev);
        seen += page.len();
        let room = wanted - found.len();
        found.extend(page.into_iter().rev().filter(|recorded| fits(recorded)).take(room));
    }
    found.reverse();
    Ok(found)
}

/// The most text of one session that is read: more than anybody reads in a chat, and little enough to hold in memory.
const SESSION_MAX: usize = 4 * 1024 * 1024;

/// The turns and the end of a session, oldest first; the last ones if they are too long together. `read` as in [`last`].
pub(super) fn session<E>(
    session: SessionId,
    read: impl Fn(usize, Option<u64>) -> Result<Vec<Recorded>, E>,
) -> Result<Vec<Recorded>, E> {
    let mut found = Vec::new();
    let (mut before, mut seen, mut size) = (None, 0, 0);
    while seen < SCAN_MAX {
        let page = read(PAGE, before)?;
        let Some(first) = page.first() else { break };
        before = Some(first.rev);
        seen += page.len();
        for recorded in page.into_iter().rev() {
            match &recorded.entry {
                Entry::Agent(Event::SessionStarted { session: begun, .. }) if begun.0 <= session.0 => {
                    seen = SCAN_MAX;
                    break;
                }
                Entry::Agent(Event::TurnEnded { session: of, text, .. }) if *of == session => {
                    size += text.len();
                }
                Entry::Agent(Event::SessionEnded { session: of, outcome, .. }) if *of == session => {
                    size += outcome.text.as_ref().map_or(0, String::len);
                }
                Entry::Agent(_) | Entry::Fleet(_) | Entry::Audit(_) => continue,
            }
            if size > SESSION_MAX && !found.is_empty() {
                seen = SCAN_MAX;
                break;
            }
            found.push(recorded);
        }
    }
    found.reverse();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::id::WorkId;
    use crate::core::outcome::{Category, Outcome};
    use crate::core::time::Timestamp;
    use crate::core::work::{Actor, Work, WorkKind};
    use crate::journal::Stream;

    /// A stream of `count` entries, read in pages as the journal gives them.
    fn read(count: u64) -> impl Fn(usize, Option<u64>) -> Result<Vec<Recorded>, ()> {
        move |limit, before| {
            let end = before.unwrap_or(u64::MAX).min(count + 1);
            let first = end.saturating_sub(u64::try_from(limit).expect("a page")).max(1);
            let entry = |rev| Recorded {
                seq: rev,
                stream: Stream::Audit,
                rev,
                at: Timestamp::default(),
                entry: Entry::Agent(Event::WaitOver),
            };
            Ok((first..end).map(entry).collect())
        }
    }

    fn revs(wanted: usize, count: u64, fits: impl Fn(&Recorded) -> bool) -> Vec<u64> {
        last(wanted, fits, read(count)).expect("it reads").iter().map(|recorded| recorded.rev).collect()
    }

    #[test]
    fn the_last_entries_that_fit_are_found_across_pages_oldest_first() {
        assert_eq!(revs(3, 10, |_| true), [8, 9, 10]);
        assert_eq!(revs(3, 2, |_| true), [1, 2]);
        assert_eq!(revs(3, 0, |_| true), [0_u64; 0]);
        assert_eq!(revs(3, 1000, |recorded| recorded.rev % 300 == 0), [300, 600, 900]);
        assert_eq!(revs(400, 1000, |_| true).len(), 400);
    }

    #[test]
    fn a_session_is_read_from_its_end_to_its_start_and_no_further() {
        let journal = |limit: usize, before: Option<u64>| {
            assert!(before.is_none_or(|before| before >= 601), "read past the start of the session");
            let entries = read(1000)(limit, before)?;
            let told = |mut recorded: Recorded| {
                let (session, tools) = (SessionId(recorded.rev / 300), Vec::new());
                recorded.entry = match recorded.rev % 300 {
                    0 => Entry::Agent(started(session)),
                    1 => Entry::Agent(Event::TurnEnded { session, text: String::new(), tools }),
                    299 => Entry::Agent(Event::SessionEnded {
                        session,
                        outcome: Box::new(Outcome::new(Category::Success, "")),
                        survivors: Vec::new(),
                    }),
                    _ => return recorded,
                };
                recorded
            };
            Ok::<_, ()>(entries.into_iter().map(told).collect())
        };
        let found = session(SessionId(2), journal).expect("it reads");
        assert_eq!(found.iter().map(|recorded| recorded.rev).collect::<Vec<_>>(), [601, 899]);
    }

    fn started(session: SessionId) -> Event {
        let work = Work {
            id: WorkId(1),
            kind: WorkKind::Message,
            text: "x".to_owned(),
            by: Actor::herder(),
            at: Timestamp::default(),
            attempts: 0,
            card: None,
        };
        Event::SessionStarted { session, work, trial: false }
    }

    #[test]
    fn a_filter_that_fits_nothing_ends() {
        assert_eq!(revs(1, u64::MAX - 1, |_| false), [0_u64; 0]);
    }
}
