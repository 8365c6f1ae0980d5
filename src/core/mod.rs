//! The pure core: what follows from what, without I/O, clocks, randomness or tasks.
//!
//! Whatever happens to an agent is an [`input::Input`]. [`decide()`] says which [`event::Event`]s follow, or refuses. The
//! supervisor commits them together with the posts they owe ([`posts()`]), then [`apply()`]s them, then performs the
//! [`effect::Effect`]s that [`react()`] names. A replay runs `apply` alone.
//!
//! `posts` and `react` are asked for each event with the state right after that event, so whoever carries out a decision
//! walks through it: apply one event, ask both, go on to the next.
//!
//! Time, ids and randomness are arguments ([`Context`]). A test in `tests/it/tidy.rs` keeps this folder free of I/O.

pub mod agent;
mod apply;
pub mod ask;
pub mod board;
pub mod breaker;
pub mod card;
pub mod clock;
pub mod context;
pub mod cut;
pub mod danger;
pub mod dealings;
mod decide;
pub mod detail;
pub mod detector;
pub mod effect;
pub mod event;
pub mod hook;
pub mod id;
pub mod input;
pub mod ledger;
pub mod notice;
pub mod outcome;
pub mod past;
pub mod policy;
mod posts;
pub mod promotion;
pub mod quota;
mod react;
mod recap;
pub mod restart;
pub mod spec;
pub mod time;
pub mod turn;
pub mod usage;
pub mod verdict;
pub mod watch;
pub mod whisper;
pub mod work;
pub mod workspace;

pub use apply::apply;
pub use decide::decide;
pub use posts::{Owed, OwedBody, posts};
pub use react::react;

use std::collections::BTreeSet;
use std::time::Duration;

use id::WorkId;
use policy::Policy;
use promotion::Hold;
use time::Timestamp;

/// What `decide` may know beside the state.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Now.
    pub now: Timestamp,
    /// The limits.
    pub policy: &'a Policy,
    /// Added to restart countdowns, so that many agents of one fault do not come back in one instant. Zero for one agent.
    pub jitter: Duration,
    /// Why no session may begin now; `None`: one may. Whoever carries the decision out asks for a place, and decides anew
    /// with the answer if there is none.
    pub hold: Option<&'a Hold>,
    /// Since when its account has been closed, where time decides something and the agent waits for that.
    pub closed: Option<Timestamp>,
    /// Whether there is an agent that may do more than this one, and would do for the work that this one has at hand.
    pub broader: bool,
    /// What the running session was given and has not taken yet: it may read it at any moment, so that nobody can take it back.
    pub handed: Option<&'a BTreeSet<WorkId>>,
    /// An unused number, for work that herder itself gives (rounds of a loop) or for a question that an agent asks.
    pub fresh: WorkId,
}

/// What `decide` decided: facts to commit and what the person who asked is told.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// In order.
    pub events: Vec<event::Event>,
    /// The answer to an accepted command; every accepted command has one.
    pub reply: Option<notice::Notice>,
}

#[cfg(test)]
mod tests;
