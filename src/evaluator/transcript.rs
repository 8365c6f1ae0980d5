//! The transcript for the judge: the task, the last turns, earlier whispers.
//!
//! All of it was written by others: people, the agent, and the programs and pages it looked at. Each of their lines
//! therefore stands behind a mark that herder's own lines lack, between two fences with an unpredictable number.
//! Characters that could change how a line reads (control characters, marks that reorder text or are invisible) are
//! removed, secrets are redacted before anything is cut, and each part and the whole are bounded, keeping the newest
//! turns.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use crate::core::clean::clean;
use crate::core::cut::{both_ends, one_line};
use crate::core::time::Timestamp;
use crate::core::turn::{End, Kind, Step, Turn};
use crate::redact::Redactor;

/// Maximum length of all turns together, in bytes: about eight thousand tokens, which a judge reads in seconds and for cents.
pub const TURNS_MAX: usize = 32 * 1024;

/// Maximum length of one turn, in bytes, so that one with a dozen commands leaves room for earlier ones.
pub const TURN_MAX: usize = 5 * 1024;

/// Maximum length of the task's text in a transcript, in bytes; its beginning and its end are kept.
pub const TASK_MAX: usize = 2 * 1024;

/// Maximum number of whispers in a transcript; the last ones are shown, which the turns could have followed.
pub const WHISPERS_SHOWN: usize = 6;

/// Maximum length of one whisper in a transcript, in bytes.
pub const WHISPER_MAX: usize = 500;

/// Maximum number of people's messages in a transcript; the last ones are shown.
pub const SAID_SHOWN: usize = 10;

/// Maximum length of one person's message in a transcript, in bytes.
pub const SAID_MAX: usize = 400;

/// Maximum length of the detector's finding in a transcript, in bytes.
const HINT_MAX: usize = 500;

/// Prefix of every line in a transcript that herder did not write itself.
const MARK: &str = "| ";

/// The data about an agent from which a transcript for the judge is made.
#[derive(Debug, Clone, Default)]
pub struct Brief {
    /// Text of the agent's task; empty if it is unknown.
    pub task: String,
    /// People's messages to the agent since the task began, oldest first: following them is not drift.
    pub said: Vec<String>,
    /// The agent's last turns, oldest first.
    pub turns: Vec<Arc<Turn>>,
    /// Earlier whispers to the agent, oldest first.
    pub whispers: Vec<Whispered>,
    /// The finding of herder's own detector on these turns; `None` if it found nothing.
    pub finding: Option<String>,
    /// The time of the evaluation.
    pub now: Timestamp,
}

/// A whisper that herder sent to the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Whispered {
    /// Text of the whisper.
    pub text: String,
    /// Time at which the agent received the whisper; `None` if it has not yet.
    pub heard: Option<Timestamp>,
    /// True if the agent followed the whisper, false if it did not; `None` if that was not judged yet.
    pub followed: Option<bool>,
}

/// Formats the data about an agent as the transcript that the judge reads, between two fence lines that contain
/// `nonce`.
#[must_use]
pub fn transcript(brief: &Brief, redactor: &Redactor, nonce: &str) -> String {
    let mut text = format!("{}\n", fence(nonce, "BEGIN"));
    text.push_str("TASK\n");
    let task = if brief.task.trim().is_empty() { "(none was named)" } else { &brief.task };
    quote(&mut text, &both_ends(&plain(task, redactor), TASK_MAX));
    if !brief.said.is_empty() {
        text.push_str("SAID TO IT BY PEOPLE SINCE, THE NEWEST LAST\n");
        for said in brief.said.iter().skip(brief.said.len().saturating_sub(SAID_SHOWN)) {
            quote(&mut text, &one_line(&plain(said, redactor), SAID_MAX));
        }
    }
    turns(&mut text, brief, redactor);
    let mut untold = whispers(brief).filter(|whisper| whisper.heard.is_none()).peekable();
    if untold.peek().is_some() {
        text.push_str("WHISPERED TO IT, AND NOT READ BY IT YET\n");
        untold.for_each(|whisper| words_of(&mut text, whisper, redactor));
    }
    if let Some(finding) = &brief.finding {
        text.push_str("A SIMPLE COMPARISON OF THE TURNS, WHICH MAY BE WRONG, SAYS\n");
        quote(&mut text, &one_line(&plain(finding, redactor), HINT_MAX));
    }
    let _ = writeln!(text, "{}", fence(nonce, "END"));
    text
}

/// Returns the fence line that begins or ends the data in a prompt; `word` is BEGIN or END.
#[must_use]
pub fn fence(nonce: &str, word: &str) -> String {
    format!("===== {word} DATA {nonce} =====")
}

/// Returns the whispers that the transcript shows: the last `WHISPERS_SHOWN`.
fn whispers(brief: &Brief) -> impl Iterator<Item = &Whispered> {
    brief.whispers.iter().skip(brief.whispers.len().saturating_sub(WHISPERS_SHOWN))
}

fn words_of(text: &mut String, whisper: &Whispered, redactor: &Redactor) {
    quote(text, &one_line(&plain(&whisper.text, redactor), WHISPER_MAX));
}

/// Appends to the transcript the whispers that the agent received just before the turn of this index.
fn read_before(text: &mut String, brief: &Brief, index: usize, redactor: &Redactor) {
    for whisper in whispers(brief) {
        let Some(heard) = whisper.heard else { continue };
        if brief.turns.partition_point(|turn| turn.at < heard) != index {
            continue;
        }
        let followed = match whisper.followed {
            Some(true) => ", and has followed",
            Some(false) => ", and has not followed",
            None => "",
        };
        let _ = writeln!(text, "WHISPERED TO IT, WHICH IT HAS READ HERE{followed}:");
        words_of(text, whisper, redactor);
    }
}

/// Appends to the transcript the newest turns that fit into `TURNS_MAX`, with the whispers between them.
fn turns(text: &mut String, brief: &Brief, redactor: &Redactor) {
    let count = brief.turns.len();
    let mut shown = Vec::new();
    let mut room = TURNS_MAX;
    for (index, turn) in brief.turns.iter().enumerate().rev() {
        let before = index.checked_sub(1).and_then(|before| brief.turns.get(before));
        let mut said = String::new();
        one_turn(&mut said, (index + 1, count), turn, before.map(Arc::as_ref), redactor);
        if said.len() > room {
            break;
        }
        room -= said.len();
        // Whispers have a bound of their own.
        let mut whispered = String::new();
        read_before(&mut whispered, brief, index, redactor);
        shown.push(whispered + &said);
    }
    let _ = writeln!(text, "THE LAST {} TURNS OF THE AGENT, THE NEWEST LAST", shown.len());
    text.extend(shown.into_iter().rev());
    read_before(text, brief, count, redactor);
    if let Some(last) = brief.turns.last() {
        let ended = last.at.after(Duration::from_millis(last.took_ms));
        let _ = writeln!(text, "NOW: {} after the end of the last turn", lasted(brief.now.since(ended)));
    }
}

fn one_turn(
    text: &mut String,
    (number, of): (usize, usize),
    turn: &Turn,
    before: Option<&Turn>,
    redactor: &Redactor,
) {
    let took = lasted(Duration::from_millis(turn.took_ms));
    let _ = write!(text, "TURN {number} of {of}, took {took}");
    if let Some(before) = before {
        let ended = before.at.after(Duration::from_millis(before.took_ms));
        let _ = write!(text, ", {} after the one before", lasted(turn.at.since(ended)));
        if before.session != turn.session {
            text.push_str(", in a new session");
        }
        if before.work != turn.work {
            text.push_str(", of another task");
        }
    }
    text.push('\n');
    let words = plain(&turn.words, redactor);
    if !words.trim().is_empty() {
        text.push_str("it says:\n");
        quote(text, &words);
    }
    let mut left_out = 0_usize;
    for step in &turn.steps {
        let mut said = String::new();
        one_step(&mut said, step, redactor);
        if text.len() + said.len() > TURN_MAX {
            left_out += 1;
        } else {
            text.push_str(&said);
        }
    }
    let more = left_out.saturating_add(usize::try_from(turn.more).unwrap_or(usize::MAX));
    if more > 0 {
        let _ = writeln!(text, "and {more} more tool calls");
    }
    if turn.steps.is_empty() {
        text.push_str("it used no tool\n");
    }
}

/// Appends one tool call of a turn to the transcript: its kind and outcome, then the call and its output as the agent
/// reported them.
fn one_step(text: &mut String, step: &Step, redactor: &Redactor) {
    let what = match step.kind {
        Kind::Command => "it runs a command",
        Kind::Edit => "it edits a file",
        Kind::Read => "it reads",
        Kind::Other => "it uses a tool",
    };
    let came = match &step.end {
        None => "its end was not seen",
        Some(End { ok: true, .. }) => "it went well",
        Some(End { ok: false, .. }) => "it FAILED",
    };
    let _ = writeln!(text, "{what}, {came}:");
    let tool = one_line(&plain(&step.tool, redactor), 80);
    quote(text, &format!("{tool}: {}", plain(&step.what, redactor)));
    let said = step.end.as_ref().map_or(String::new(), |end| plain(&end.said, redactor));
    if !said.trim().is_empty() {
        text.push_str("which says:\n");
        quote(text, &said);
    }
}

/// Appends text of people, agents or programs to the transcript, each line after `MARK`.
pub(super) fn quote(text: &mut String, theirs: &str) {
    for line in theirs.lines() {
        let _ = writeln!(text, "{MARK}{}", line.trim_end());
    }
}

/// Returns a text of people, agents or programs without control characters, invisible characters and secrets.
pub(super) fn plain(theirs: &str, redactor: &Redactor) -> String {
    let mut seen = clean(theirs);
    seen.retain(|c| !is_unseen(c));
    redactor.redact(&seen).into_owned()
}

/// Returns true for invisible characters: a model reads them, and one could split a secret.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        // Private use areas, which a judge cannot read.
        | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{ffffd}' | '\u{100000}'..='\u{10fffd}')
}

/// Formats the duration of a turn: `3s`, `2m 5s`, `1h 0m`.
fn lasted(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, minutes, _) => format!("{hours}h {minutes}m"),
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
