//! Findings with their evidence, worded for the agent in English and for people by their locale.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Maximum length of a command, an error or words that a finding quotes, in bytes: enough to recognise them, and
/// whispers and posts stay one line.
pub const EVIDENCE_MAX: usize = 120;

/// A pattern of repetition in an agent's turns, with the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Finding {
    /// One command many times with the same result, without a change in between.
    SameCommand {
        /// Text of the command as it was last written.
        command: String,
        /// Number of turns in which it came.
        times: u32,
        /// True if every attempt failed.
        failed: bool,
    },
    /// One call of another tool many times with the same result, without a change in between.
    SameCall {
        /// Name of the tool.
        tool: String,
        /// Input of the call.
        what: String,
        /// Number of turns in which it came.
        times: u32,
    },
    /// One edit of a file many times: it fails each time, or is undone and made again.
    SameEdit {
        /// Path of the file.
        file: String,
        /// Number of turns in which it came.
        times: u32,
        /// True if every attempt failed.
        failed: bool,
    },
    /// One error many times, whichever command is run.
    SameError {
        /// Text of the error when it last came.
        error: String,
        /// Number of turns in which it came.
        times: u32,
        /// True if files were changed between the errors, without success.
        edited: bool,
    },
    /// The same words many times, without anything new done.
    SameWords {
        /// The words as they were last said.
        words: String,
        /// Number of turns in which it came.
        times: u32,
    },
    /// No file changed in many turns, most of which only repeated something or failed.
    NoChange {
        /// Number of turns since the last change of a file.
        turns: u32,
        /// Number of those turns that only repeated something or failed.
        idle: u32,
    },
    /// Long silences during work, and no file changed since.
    LongGaps {
        /// Number of long silences.
        times: u32,
        /// Duration of the longest silence, in milliseconds.
        longest_ms: u64,
    },
}

/// The kind of a finding, without its evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Kind of [`Finding::SameCommand`].
    SameCommand,
    /// Kind of [`Finding::SameCall`].
    SameCall,
    /// Kind of [`Finding::SameEdit`].
    SameEdit,
    /// Kind of [`Finding::SameError`].
    SameError,
    /// Kind of [`Finding::SameWords`].
    SameWords,
    /// Kind of [`Finding::NoChange`].
    NoChange,
    /// Kind of [`Finding::LongGaps`].
    LongGaps,
}

impl Pattern {
    /// All kinds of findings.
    pub const ALL: [Self; 7] = [
        Self::SameCommand,
        Self::SameCall,
        Self::SameEdit,
        Self::SameError,
        Self::SameWords,
        Self::NoChange,
        Self::LongGaps,
    ];

    /// Returns the kind's name, as it is stored and counted.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SameCommand => "same-command",
            Self::SameCall => "same-call",
            Self::SameEdit => "same-edit",
            Self::SameError => "same-error",
            Self::SameWords => "same-words",
            Self::NoChange => "no-change",
            Self::LongGaps => "long-gaps",
        }
    }
}

impl Finding {
    /// Returns the kind of the finding.
    #[must_use]
    pub fn pattern(&self) -> Pattern {
        match self {
            Self::SameCommand { .. } => Pattern::SameCommand,
            Self::SameCall { .. } => Pattern::SameCall,
            Self::SameEdit { .. } => Pattern::SameEdit,
            Self::SameError { .. } => Pattern::SameError,
            Self::SameWords { .. } => Pattern::SameWords,
            Self::NoChange { .. } => Pattern::NoChange,
            Self::LongGaps { .. } => Pattern::LongGaps,
        }
    }

    /// Returns the evidence as one English sentence for the agent.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::SameCommand { command, times, failed } => {
                let result = if *failed { "failure" } else { "result" };
                format!(
                    "You ran `{}` {times} times with the same {result} and changed nothing between.",
                    quote(command)
                )
            }
            Self::SameCall { tool, what, times } if what.is_empty() => {
                format!(
                    "You called {} {times} times with the same result and changed nothing between.",
                    quote(tool)
                )
            }
            Self::SameCall { tool, what, times } => format!(
                "You called {} with `{}` {times} times, got the same result and changed nothing between.",
                quote(tool),
                quote(what)
            ),
            Self::SameEdit { file, times, failed: true } => {
                format!(
                    "You tried the same edit of `{}` {times} times, and it failed each time.",
                    quote(file)
                )
            }
            Self::SameEdit { file, times, failed: false } => {
                format!("You made the very same edit of `{}` {times} times.", quote(file))
            }
            Self::SameError { error, times, edited: true } => {
                format!("In spite of your changes the same error came {times} times: `{}`.", quote(error))
            }
            Self::SameError { error, times, edited: false } => {
                format!(
                    "Whatever you tried, the same error came {times} times, and no file changed between: `{}`.",
                    quote(error)
                )
            }
            Self::SameWords { words, times } => {
                format!(
                    "You said nearly the same {times} times and did nothing new: \"{}\".",
                    quote(words).trim_end_matches(['.', '!'])
                )
            }
            Self::NoChange { turns, idle } => format!(
                "No file has changed in your last {turns} turns, and {idle} of them only failed or repeated what you had done."
            ),
            Self::LongGaps { times, longest_ms } => format!(
                "You fell silent {times} times in the middle of your work, once for {}, and no file has changed since.",
                minutes(*longest_ms)
            ),
        }
    }

    /// Returns the first whisper about the finding: the evidence and advice.
    #[must_use]
    pub fn correction(&self) -> String {
        format!("{} {}", self.sentence(), self.pattern().advice())
    }

    /// Returns the second whisper, after the first did not help: the evidence again, and that a person is called
    /// next.
    #[must_use]
    pub fn stronger(&self) -> String {
        format!(
            "You were told, and it goes on. {} Do not do it once more: write down what you expected, what you saw instead \
             and what could explain the difference, then take another way, or report that you are blocked. If this goes \
             on, you are paused and a person is called.",
            self.sentence()
        )
    }
}

impl Pattern {
    /// Returns advice for the agent on how to get out of this kind of repetition.
    fn advice(self) -> &'static str {
        match self {
            Self::SameCommand => {
                "It will not come out differently: find out why it does what it does, or try something else."
            }
            Self::SameCall => {
                "You have that answer already: use it, or ask another question; if you cannot go on, say what you lack."
            }
            Self::SameEdit => "Read the file as it is now, then decide once what it shall say.",
            Self::SameError => {
                "Step back: read the error word by word, and check the assumption that all your attempts share."
            }
            Self::SameWords => "Do the next step now, or say plainly what keeps you from it.",
            Self::NoChange => {
                "Say what you know by now and what is still open, then do the smallest step that brings you on."
            }
            Self::LongGaps => "If something keeps you waiting, say what it is; otherwise go on.",
        }
    }
}

/// Replaces backticks in text of the agent that is put into quotation marks.
fn quote(text: &str) -> String {
    text.replace('`', "'")
}

fn minutes(millis: u64) -> String {
    let minutes = Duration::from_millis(millis).as_secs().div_ceil(60);
    if minutes == 1 { "a minute".to_owned() } else { format!("{minutes} minutes") }
}

/// Returns `text` on one line of at most [`EVIDENCE_MAX`] bytes.
#[must_use]
pub(super) fn evidence(text: &str) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > EVIDENCE_MAX {
            let room = EVIDENCE_MAX - '…'.len_utf8();
            let end = (0..=room).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
            line.truncate(end);
            line.truncate(line.trim_end().len());
            line.push('…');
            break;
        }
    }
    line
}
