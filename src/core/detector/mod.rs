//! Detects repetition in an agent's turns, without a model.
//!
//! It looks for the same command, call, edit, error or words many times, for many turns that change no file and only
//! repeat or fail, and for long silences. Precision comes before recall, since a wrong whisper disturbs an agent at
//! work: progress, exploration, waiting and two retries of a network are left alone, and every visible change of a
//! file starts the count again. A finding counts only while it lasts: its last occurrence must not be longer ago than
//! its usual interval.
//!
//! For a program that reports no turns, [`Rounds`] detects repeated output instead.
//!
//! Its precision and recall are measured in `tests/it/detector.rs` on labelled transcripts.

mod command;
mod finding;
mod line;
mod patterns;
mod printed;
mod seen;
mod shape;
mod shell;
#[cfg(test)]
mod tests;
mod trouble;

pub use finding::{EVIDENCE_MAX, Finding, Pattern};
pub use printed::{Round, Rounds};

use super::turn::Turn;
use patterns::Window;

/// Number of turns that are examined: `window_size` of the contract.
pub const WINDOW: usize = 20;

/// Minimum number of turns for a finding: three is the least that counts as repetition.
pub const TURNS_MIN: usize = 3;

/// Returns the finding in an agent's turns, given oldest first. Only the last [`WINDOW`] turns are examined, and of
/// them those about the same work as the last one.
pub fn find<'a, T>(turns: T) -> Option<Finding>
where
    T: IntoIterator<Item = &'a Turn>,
    T::IntoIter: DoubleEndedIterator,
{
    let mut last: Vec<&Turn> = turns.into_iter().rev().take(WINDOW).collect();
    let work = last.first()?.work;
    let of_work = last.iter().take_while(|turn| turn.work == work).count();
    last.truncate(of_work);
    last.reverse();
    if last.len() < TURNS_MIN {
        return None;
    }
    Window::new(&last).find()
}
