//! Replies to lines that cannot be carried out, and searches in the journal for `log`, `history` and `audit`.

use std::ops::ControlFlow;

use super::grammar::Misfit;
use super::parse::Problem;
use super::say::Voice;
use super::words::repeat;
use super::{COMMANDS, Command};
use crate::core::event::Event;
use crate::core::id::{AgentName, SessionId};
use crate::core::time::Timestamp;
use crate::journal::{Entry, Recorded};
use crate::l10n::Value;

/// Returns the reply to a line that cannot be carried out: the mistake, and the way to correct it.
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
                voice.text("cmd-group", &[("group", (*group).into()), ("commands", Value::Own(commands))])
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
    let (word, options) = (("word", repeat(word).into()), ("options", Value::Own(options)));
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

/// Returns the reply to a command with wrong arguments: the reason, the usage line, and with `or_work` the form that
/// gives the line to that agent as work.
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

/// Maximum number of journal entries that one reply searches: a filter that matches nothing must not read archives for
/// minutes.
const SCAN_MAX: usize = 20_000;

/// Maximum size of the entries for one reply, in bytes of JSON: more than anyone reads, and well below the longest
/// reply that a shell accepts from herder.
const FOUND_MAX: usize = 16 * 1024 * 1024;

/// Extent of a search in the journal that stopped before the beginning of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Short {
    /// Number of journal entries that were searched.
    pub(super) seen: usize,
    /// Time of the oldest entry that was searched.
    pub(super) since: Timestamp,
}

/// Journal entries that a search found, oldest first.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) entries: Vec<Recorded>,
    /// The extent of the search if it stopped early, so that more may be found further back; else `None`.
    pub(super) short: Option<Short>,
    /// Number of entries among the searched ones that cannot be read.
    pub(super) unreadable: u64,
}

impl Found {
    /// Returns lines for the reply about entries that were not searched or cannot be read.
    pub(super) fn remarks(&self, voice: Voice<'_>) -> Vec<String> {
        let short = self.short.map(|short| short.line(voice, self.entries.len()));
        let left_out = ("count", self.unreadable.into());
        let unreadable = (self.unreadable > 0).then(|| voice.text("cmd-unreadable", &[left_out]));
        short.into_iter().chain(unreadable).collect()
    }
}

/// Search that collects the last journal entries that match a filter, from the newest back.
pub(super) struct Last<F> {
    wanted: usize,
    fits: F,
    looked: Short,
    size: usize,
    found: Vec<Recorded>,
}

impl<F: Fn(&Recorded) -> bool> Last<F> {
    /// Creates a search for at most `wanted` entries for which `fits` returns true.
    pub(super) fn new(wanted: usize, fits: F) -> Self {
        Self { wanted, fits, looked: Short::default(), size: 0, found: Vec::new() }
    }

    /// Examines the next older entry; returns `Continue` if more are wanted.
    pub(super) fn take(&mut self, recorded: Recorded) -> ControlFlow<()> {
        if self.found.len() < self.wanted && (self.fits)(&recorded) {
            self.size += size(&recorded);
            if self.size > FOUND_MAX && !self.found.is_empty() {
                return ControlFlow::Break(());
            }
            self.looked.at(&recorded);
            self.found.push(recorded);
        } else {
            self.looked.at(&recorded);
        }
        if self.found.len() < self.wanted && self.looked.seen < SCAN_MAX {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    /// Returns the found entries. `whole` is true if the search reached the oldest entry.
    pub(super) fn found(mut self, whole: bool, unreadable: u64) -> Found {
        self.found.reverse();
        let short = !whole && self.found.len() < self.wanted;
        Found { entries: self.found, short: short.then_some(self.looked), unreadable }
    }
}

/// Returns the length of an entry as JSON, in bytes.
fn size(recorded: &Recorded) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // An entry that was read from JSON can be written as JSON.
    let _ = serde_json::to_writer(&mut count, recorded);
    count.0
}

/// Maximum length of one session's text, in bytes: more than anyone reads in a chat, and small enough to hold in
/// memory.
const SESSION_MAX: usize = 4 * 1024 * 1024;

/// Search that collects the turns and the end of one session, from the newest back; only the last ones if they are
/// longer than `SESSION_MAX` together.
pub(super) struct WholeSession {
    session: SessionId,
    looked: Short,
    size: usize,
    /// True if the search has reached the beginning of the session, or of an earlier one.
    begun: bool,
    found: Vec<Recorded>,
}

impl WholeSession {
    pub(super) fn of(session: SessionId) -> Self {
        Self { session, looked: Short::default(), size: 0, begun: false, found: Vec::new() }
    }

    /// Examines the next older entry; returns `Continue` if more are wanted.
    pub(super) fn take(&mut self, recorded: Recorded) -> ControlFlow<()> {
        let more = |looked: Short| {
            if looked.seen < SCAN_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        match &recorded.entry {
            Entry::Agent(Event::SessionStarted { session: begun, .. }) if begun.0 <= self.session.0 => {
                self.begun = true;
                return ControlFlow::Break(());
            }
            Entry::Agent(Event::TurnEnded { session, text, .. }) if *session == self.session => {
                self.size += text.len();
            }
            Entry::Agent(Event::SessionEnded { session, outcome, .. }) if *session == self.session => {
                self.size += outcome.text.as_ref().map_or(0, String::len);
            }
            Entry::Agent(Event::Asked { ask }) if ask.plan_of() == Some(self.session) => {
                self.size += ask.about.words().len();
            }
            Entry::Agent(_) | Entry::Fleet(_) | Entry::Audit(_) => {
                self.looked.at(&recorded);
                return more(self.looked);
            }
        }
        if self.size > SESSION_MAX && !self.found.is_empty() {
            return ControlFlow::Break(());
        }
        self.looked.at(&recorded);
        self.found.push(recorded);
        more(self.looked)
    }

    /// Returns the found entries. `whole` is true if the search reached the oldest entry of the agent.
    pub(super) fn found(mut self, whole: bool, unreadable: u64) -> Found {
        self.found.reverse();
        let short = !whole && !self.begun;
        Found { entries: self.found, short: short.then_some(self.looked), unreadable }
    }
}

impl Short {
    fn at(&mut self, recorded: &Recorded) {
        self.seen += 1;
        self.since = recorded.at;
    }

    /// Returns the line that tells how far back the search went, given the number of `found` entries.
    fn line(self, voice: Voice<'_>, found: usize) -> String {
        let seen = voice.locale.number(u64::try_from(self.seen).unwrap_or(u64::MAX));
        let since = voice.locale.time(self.since);
        let found = ("found", found.into());
        voice.text("cmd-looked-back", &[found, ("seen", seen.into()), ("since", since.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::id::WorkId;
    use crate::core::outcome::{Category, Outcome};
    use crate::core::work::{Actor, Work, WorkKind};
    use crate::journal::Stream;

    /// Returns `count` journal entries for a test, newest first.
    fn stream(count: u64) -> impl Iterator<Item = Recorded> {
        (1..=count).rev().map(|rev| Recorded {
            seq: rev,
            stream: Stream::Audit,
            rev,
            at: Timestamp::default(),
            entry: Entry::Agent(Event::WaitOver),
        })
    }

    fn revs(wanted: usize, count: u64, fits: impl Fn(&Recorded) -> bool) -> Vec<u64> {
        let mut last = Last::new(wanted, fits);
        let _ = stream(count).try_for_each(|recorded| last.take(recorded));
        last.found(true, 0).entries.iter().map(|recorded| recorded.rev).collect()
    }

    #[test]
    fn the_last_entries_that_fit_are_found_oldest_first() {
        assert_eq!(revs(3, 10, |_| true), [8, 9, 10]);
        assert_eq!(revs(3, 2, |_| true), [1, 2]);
        assert_eq!(revs(3, 0, |_| true), [0_u64; 0]);
        assert_eq!(revs(3, 1000, |recorded| recorded.rev % 300 == 0), [300, 600, 900]);
        assert_eq!(revs(400, 1000, |_| true).len(), 400);
        assert_eq!(revs(0, 10, |_| true), [0_u64; 0]);
    }

    #[test]
    fn a_filter_that_fits_nothing_does_not_look_for_ever() {
        let mut last = Last::new(1, |_: &Recorded| false);
        let looked =
            stream(u64::MAX).take_while(|recorded| last.take(recorded.clone()).is_continue()).count();
        assert_eq!(looked + 1, SCAN_MAX);
        let short = Short { seen: SCAN_MAX, since: Timestamp::default() };
        assert_eq!(last.found(false, 0).short, Some(short));
    }

    #[test]
    fn what_was_found_is_short_only_when_more_was_wanted_and_may_be_there() {
        for (wanted, whole, short) in [(3, false, false), (4, false, true), (4, true, false)] {
            let mut last = Last::new(wanted, |_: &Recorded| true);
            let _ = stream(3).try_for_each(|recorded| last.take(recorded));
            assert_eq!(last.found(whole, 0).short.is_some(), short, "{wanted} {whole}");
        }
    }

    #[test]
    fn one_answer_holds_no_more_than_a_shell_takes() {
        let text = "\"".repeat(1024 * 1024);
        let long = move |mut recorded: Recorded| {
            let (session, tools) = (SessionId(1), Vec::new());
            recorded.entry = Entry::Agent(Event::TurnEnded { session, text: text.clone(), tools });
            recorded
        };
        let mut last = Last::new(500, |_: &Recorded| true);
        let _ = stream(100).map(long).try_for_each(|recorded| last.take(recorded));
        let found = last.found(false, 0);
        // Each character of the text takes two bytes of JSON.
        assert_eq!((found.entries.len(), found.short.expect("cut").seen), (7, 7));
        assert!(serde_json::to_string(&found.entries).expect("JSON").len() <= FOUND_MAX);
    }

    #[test]
    fn a_session_is_read_from_its_end_to_its_start_and_no_further() {
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
        let mut whole = WholeSession::of(SessionId(2));
        let mut entries = stream(1000).map(told);
        let _ = entries.try_for_each(|recorded| whole.take(recorded));
        assert_eq!(entries.next().map(|next| next.rev), Some(599), "read past the start of the session");
        let found = whole.found(false, 0);
        assert_eq!(found.short, None);
        assert_eq!(found.entries.iter().map(|recorded| recorded.rev).collect::<Vec<_>>(), [601, 899]);
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
}
