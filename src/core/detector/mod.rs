//! Finds agents that go round in circles, by their turns alone: no model is asked.
//!
//! It looks for one command, call, edit, error or sentence again and again, for many turns that change no file and only
//! repeat or fail, and for long silences. Precision comes before recall, since a wrong word disturbs an agent that is at
//! work: what makes progress, explores, waits for something or retries a network twice is left alone, and whatever changes
//! a file in a way that can be seen starts the count anew. What was found must still go on: it counts only while its last
//! occurrence is no longer ago than it usually takes to come back.
//!
//! How well it does is measured in `tests/it/detector.rs` on labelled transcripts.

mod command;
mod finding;
mod line;
mod patterns;
mod seen;
mod shape;
mod shell;
#[cfg(test)]
mod tests;
mod trouble;

pub use finding::{EVIDENCE_MAX, Finding, Pattern};

use super::turn::Turn;
use patterns::Window;

/// How many turns are looked at: `window_size` of the contract.
pub const WINDOW: usize = 20;

/// The fewest turns in which anything is found: three times is the least that is "again and again".
pub const TURNS_MIN: usize = 3;

/// What the agent is caught in by its last turns, oldest first, if anything. Only the last [`WINDOW`] are looked at, and
/// of them those of the same work as the last one.
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
