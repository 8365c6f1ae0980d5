//! Pending reports of a driver to its supervisor: bounded and aggregated, whatever the agent does.
//!
//! Signals keep their order and are never dropped; when too many wait, the driver stops reading, and the agent blocks
//! on its own pipe. Words and tool names are collected for a while and become one report. At most one heartbeat
//! waits.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::Report;
use super::text::HeadTail;
use crate::core::id::WorkId;
use crate::core::input::Signal;
use crate::core::turn::Turn;
use crate::core::usage::Reading;
use crate::redact::Redactor;

/// Maximum number of waiting reports before the driver stops reading the agent's output: a supervisor that is so far
/// behind has a slow disk.
const WAITING_MAX: usize = 64;

/// Time for which words are collected that come after a silence: the other lines of one print, without a noticeable
/// delay.
const FIRST_WORDS: Duration = Duration::from_millis(100);

/// Minimum time between two reports of words, and maximum time of collecting them: people read no faster, and each
/// report is a commit.
const WORDS_PACE: Duration = Duration::from_secs(1);

/// Maximum size of words in one report, in bytes. A line longer than a quarter of it is cut.
const WORDS_MAX: usize = 32 * 1024;

/// Time for which the texts of turns are collected for one log entry.
const TURN_PACE: Duration = Duration::from_secs(5);

/// Time for which usage reports are collected, of which the last counts: the maximum delay in noticing a cap.
const USED_PACE: Duration = Duration::from_secs(1);

/// Maximum size of the text of turns in one log entry, in bytes.
const TURN_MAX: usize = 64 * 1024;

/// Maximum number of tool names in one log entry.
const TOOLS_MAX: usize = 50;

/// The reports of a driver that wait to be sent: words, log texts and usage are collected for a moment first. All texts
/// are redacted, because they are stored.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    redactor: Redactor,
    queue: VecDeque<Report>,
    beat: bool,
    words: Option<Gathered>,
    /// The earliest time of the next report of words.
    words_again: Option<Instant>,
    turn: Option<Gathered>,
    used: Option<(Reading, Instant)>,
}

#[derive(Debug)]
struct Gathered {
    text: HeadTail,
    tools: Vec<String>,
    due: Instant,
}

impl Gathered {
    fn new(max: usize, due: Instant) -> Self {
        Self { text: HeadTail::new(max), tools: Vec::new(), due }
    }
}

impl Outgoing {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self { redactor, ..Self::default() }
    }

    /// Queues a heartbeat.
    pub(super) fn beat(&mut self) {
        self.beat = true;
    }

    fn holds_secret(&self, text: &str) -> bool {
        matches!(self.redactor.redact(text), Cow::Owned(_))
    }

    /// Redacts a text that is so long that it will be cut; shorter ones are redacted together when they are sent.
    fn before_a_cut<'a>(&self, text: &'a str, max: usize) -> Cow<'a, str> {
        if text.len() > max / 4 { self.redactor.redact(text) } else { Cow::Borrowed(text) }
    }

    /// Adds words for the agent's channel.
    pub(super) fn words(&mut self, text: &str, now: Instant) {
        let text = self.before_a_cut(text, WORDS_MAX);
        let soon = now + FIRST_WORDS;
        let due = self.words_again.map_or(soon, |again| again.clamp(soon, now + WORDS_PACE));
        self.words.get_or_insert_with(|| Gathered::new(WORDS_MAX, due)).text.push(&text);
    }

    /// Adds text for the log.
    pub(super) fn logged(&mut self, text: &str, now: Instant) {
        let text = self.before_a_cut(text, TURN_MAX);
        self.turn.get_or_insert_with(|| Gathered::new(TURN_MAX, now + TURN_PACE)).text.push(&text);
    }

    /// Adds the name of a used tool for the log.
    pub(super) fn tool(&mut self, name: &str, now: Instant) {
        let name = self.redactor.redact(name).into_owned();
        let turn = self.turn.get_or_insert_with(|| Gathered::new(TURN_MAX, now + TURN_PACE));
        if turn.tools.len() < TOOLS_MAX {
            turn.tools.push(name);
        }
    }

    /// Sets the session's usage so far, to be reported soon.
    pub(super) fn used(&mut self, reading: Reading, now: Instant) {
        let due = self.used.as_ref().map_or(now + USED_PACE, |(_, due)| *due);
        self.used = Some((reading, due));
    }

    /// Queues a signal, after everything collected before it.
    pub(super) fn signal(&mut self, mut signal: Signal) {
        self.flush();
        match &mut signal {
            Signal::Ended { outcome, .. } => {
                outcome.detail = self.redactor.of(&outcome.detail).into_owned();
                outcome.text = self.redactor.of(&outcome.text).into_owned();
            }
            Signal::ClockRanOut { evidence, .. } => *evidence = self.redactor.of(evidence).into_owned(),
            Signal::Asked { tool, command, redacted, .. } => {
                let secret = [&*tool, &*command].iter().any(|text| self.holds_secret(text));
                *redacted = secret.then(|| self.redactor.redact(command).into_owned());
                *tool = self.redactor.redact(tool).into_owned();
            }
            Signal::Inquired { inquiry, .. } => {
                **inquiry = inquiry.each(|text| self.redactor.redact(text).into_owned())
            }
            Signal::ConversationLost { why } => *why = self.redactor.redact(why).into_owned(),
            _ => {}
        }
        self.queue.push_back(Report::Signal(signal));
    }

    /// Queues the report that the runtime does not accept a message into its turn.
    pub(super) fn not_taken(&mut self, work: WorkId) {
        self.queue.push_back(Report::NotTaken { work });
    }

    /// Queues a turn for the evaluator, without reporting first what is collected for people.
    pub(super) fn observed(&mut self, turn: Turn) {
        self.queue.push_back(Report::Signal(Signal::Observed { turn: Box::new(turn) }));
    }

    /// Queues the reports of everything that was collected.
    pub(super) fn flush(&mut self) {
        if let Some((reading, _)) = self.used.take() {
            self.queue.push_back(Report::Signal(Signal::Usage { reading: Box::new(reading) }));
        }
        if let Some(turn) = self.turn.take() {
            let text = turn.text.text().unwrap_or_default();
            let text = self.redactor.redact(&text).into_owned();
            self.queue.push_back(Report::Signal(Signal::Turn { text, tools: turn.tools }));
        }
        let Some(words) = self.words.take() else { return };
        self.words_again = Some(words.due + WORDS_PACE);
        let words = words.text.text().map(|words| self.redactor.redact(&words).into_owned());
        self.queue.extend(words.map(Report::Words));
    }

    /// Returns the time at which [`Outgoing::flush`] is due; `None` if nothing is collected.
    pub(super) fn due(&self) -> Option<Instant> {
        let gathered = self.words.iter().chain(&self.turn).map(|gathered| gathered.due);
        gathered.chain(self.used.as_ref().map(|(_, due)| *due)).min()
    }

    /// Returns true if more output of the agent may be read.
    pub(super) fn has_room(&self) -> bool {
        self.queue.len() < WAITING_MAX
    }

    /// Returns true if no report can be sent now.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && !self.beat
    }

    /// Takes the next report to send; a heartbeat overtakes all others.
    pub(super) fn pop(&mut self) -> Option<Report> {
        if std::mem::take(&mut self.beat) {
            return Some(Report::Beat);
        }
        self.queue.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ask::{AskKey, Inquiry};
    use crate::core::outcome::{Category, Outcome};

    #[test]
    fn ten_thousand_lines_are_one_report_that_says_what_is_missing() {
        let now = Instant::now();
        let mut outgoing = Outgoing::default();
        for n in 0..10_000 {
            outgoing.words(&format!("line {n}"), now);
        }
        assert!(outgoing.is_empty());
        assert_eq!(outgoing.due(), Some(now + FIRST_WORDS));
        outgoing.signal(Signal::Ready { conversation: None });
        let Some(Report::Words(text)) = outgoing.pop() else { panic!("the words go before the signal") };
        assert!(text.len() < WORDS_MAX + 100);
        assert!(text.contains("lines left out"));
        assert_eq!(outgoing.pop(), Some(Report::Signal(Signal::Ready { conversation: None })));
        assert_eq!(outgoing.pop(), None);
    }

    #[test]
    fn a_paragraph_stays_whole_and_a_longer_line_is_cut_between_words() {
        let (now, paragraph) = (Instant::now(), "漢".repeat(2_500));
        let mut outgoing = Outgoing::default();
        outgoing.words(&paragraph, now);
        outgoing.words(&"word ".repeat(10_000), now);
        outgoing.flush();
        let Some(Report::Words(text)) = outgoing.pop() else { panic!("words were gathered") };
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], paragraph);
        assert!(lines[1].ends_with(" word") && lines[2].contains("bytes left out"), "{text}");
        assert!(lines[3].starts_with("word "), "{text}");
    }

    #[test]
    fn the_first_words_after_a_silence_go_soon_and_those_that_follow_once_a_second() {
        let begin = Instant::now();
        let after = |millis| begin + Duration::from_millis(millis);
        let mut outgoing = Outgoing::default();
        let mut due_of_words_at = |millis| {
            outgoing.words("line", after(millis));
            let due = outgoing.due().expect("they wait");
            outgoing.flush();
            due
        };
        assert_eq!(due_of_words_at(0), after(100));
        assert_eq!(due_of_words_at(150), after(1_100));
        assert_eq!(due_of_words_at(1_200), after(2_100));
        // Sent early with a signal: later words still wait for at most a second.
        assert_eq!(due_of_words_at(1_300), after(2_300));
        assert_eq!(due_of_words_at(60_000), after(60_100), "after a pause");
    }

    #[test]
    fn the_last_reading_counts_and_goes_before_the_end() {
        let now = Instant::now();
        let mut outgoing = Outgoing::default();
        let reading = |input_tokens| Reading {
            usage: crate::core::outcome::Usage { input_tokens, ..Default::default() },
            ..Reading::default()
        };
        outgoing.used(reading(1), now);
        outgoing.used(reading(2), now + USED_PACE / 2);
        assert_eq!(outgoing.due(), Some(now + USED_PACE), "a stream of readings is not put off for ever");
        outgoing.signal(Signal::Ready { conversation: None });
        let last = Report::Signal(Signal::Usage { reading: Box::new(reading(2)) });
        assert_eq!(outgoing.pop(), Some(last));
        assert_eq!(outgoing.pop(), Some(Report::Signal(Signal::Ready { conversation: None })));
        assert_eq!(outgoing.due(), None);
    }

    #[test]
    fn what_is_kept_for_good_holds_no_secret() {
        let now = Instant::now();
        let mut outgoing = Outgoing::new(Redactor::new(&["canary-server-password".into()]));
        outgoing.logged("the key is canary-server-password", now);
        outgoing.tool("mcp__canary-server-password", now);
        outgoing.words("canary-server\n-password", now);
        let ends = |text: &str| {
            let outcome = Outcome { text: Some(text.to_owned()), ..Outcome::new(Category::Crash, text) };
            Signal::Ended { outcome: Box::new(outcome), survivors: Vec::new() }
        };
        outgoing.signal(ends("canary-server-password"));
        let command = "login canary-server-password".to_owned();
        let (key, tool) = (AskKey(1), "Bash".to_owned());
        let asked = Signal::Asked { key, tool, command, redacted: None, shell: true, vague: false };
        outgoing.signal(asked.clone());
        let lost = |why: &str| Signal::ConversationLost { why: why.to_owned() };
        outgoing.signal(lost("no canary-server-password"));
        let plan = |text: &str| Signal::Inquired {
            key,
            inquiry: Box::new(Inquiry::Plan { text: text.to_owned() }),
            part: None,
        };
        outgoing.signal(plan("use canary-server-password"));
        let Signal::Asked { key, tool, command, shell, vague, .. } = asked else {
            panic!("it was made above")
        };
        let redacted = Some("login [redacted]".to_owned());
        let asked = Signal::Asked { key, tool, command, redacted, shell, vague };
        let tools = vec!["mcp__[redacted]".to_owned()];
        let turn = Signal::Turn { text: "the key is [redacted]".to_owned(), tools };
        let reports: Vec<Report> = std::iter::from_fn(|| outgoing.pop()).collect();
        let expected = [
            Report::Signal(turn),
            Report::Words("[redacted]".to_owned()),
            Report::Signal(ends("[redacted]")),
            // The command that runs stays unchanged, beside what is stored of it.
            Report::Signal(asked),
            Report::Signal(lost("no [redacted]")),
            Report::Signal(plan("use [redacted]")),
        ];
        assert_eq!(reports, expected);
    }

    #[test]
    fn heartbeats_do_not_pile_up() {
        let mut outgoing = Outgoing::default();
        outgoing.signal(Signal::Ready { conversation: None });
        outgoing.beat();
        outgoing.beat();
        assert_eq!(outgoing.pop(), Some(Report::Beat));
        assert!(matches!(outgoing.pop(), Some(Report::Signal(_))));
        assert!(outgoing.is_empty());
    }
}
