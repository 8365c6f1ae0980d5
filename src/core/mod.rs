//! The pure core: decisions and their consequences, without I/O, clocks, randomness or tasks.
//!
//! Everything that happens to an agent is an [`input::Input`]. [`decide()`] returns the [`event::Event`]s that
//! follow, or a refusal. The supervisor commits them together with the posts that they cause ([`posts()`]), then
//! [`apply()`]s them, then performs the [`effect::Effect`]s that [`react()`] returns. A replay runs `apply` alone.
//!
//! `posts` and `react` get each event with the state right after that event. The supervisor therefore walks through a
//! decision: it applies one event, calls both, and continues with the next.
//!
//! Time, ids and randomness are arguments ([`Context`]). The crate depends on no runtime, storage or network, and
//! `tests/it/tidy.rs` keeps it free of the standard library's I/O.

pub mod agent;
mod apply;
pub mod ask;
pub mod board;
pub mod breaker;
pub mod card;
pub mod check;
pub mod checkout;
pub mod clean;
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
pub mod file;
pub mod handoff;
pub mod hook;
pub mod id;
pub mod input;
pub mod lead;
pub mod ledger;
pub mod link;
pub mod machine;
pub mod notice;
pub mod office;
pub mod outcome;
pub mod past;
pub mod people;
pub mod places;
pub mod policy;
pub mod post;
mod posts;
pub mod promotion;
pub mod pull;
pub mod quota;
mod react;
mod recap;
pub mod restart;
pub mod review;
pub mod role;
pub mod spec;
pub mod speech;
pub mod strip;
pub mod tie;
pub mod time;
pub mod tools;
pub mod turn;
pub mod unseen;
pub mod usage;
pub mod verdict;
pub mod watch;
pub mod whisper;
pub mod words;
pub mod work;
pub mod workspace;

pub use apply::apply;
pub use decide::decide;
pub use posts::{Owed, OwedBody, posts};
pub use react::{owed, react};

use std::collections::BTreeSet;
use std::time::Duration;

use id::WorkId;
use policy::Policy;
use promotion::Hold;
use time::Timestamp;

/// The information that `decide` gets beside the agent's state.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The current time, at which the decision is made.
    pub now: Timestamp,
    /// The configured limits.
    pub policy: &'a Policy,
    /// Addition to restart countdowns, so that many agents with the same fault do not come back at the same moment.
    /// It is zero for a single agent.
    pub jitter: Duration,
    /// The reason why no session may start now; `None` if one may. The supervisor asks for a place, and decides again
    /// with this reason if there is none.
    pub hold: Option<&'a Hold>,
    /// Time since which the agent's account has been closed, if the agent waits for that.
    pub closed: Option<Timestamp>,
    /// True if another agent has more permissions and is able to do this agent's current work.
    pub broader: bool,
    /// Numbers of the messages that were given to the running session and not acknowledged. It may read them at any
    /// moment, so that they cannot be withdrawn.
    pub handed: Option<&'a BTreeSet<WorkId>>,
    /// Open parts of the current task, if its agent leads.
    pub parts: &'a [WorkId],
    /// An unused number, for work that herder itself gives (rounds of a loop) or for a question of an agent.
    pub fresh: WorkId,
}

/// The result of `decide`: events to commit, and the reply to the person who gave the command.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// The events to commit, in order.
    pub events: Vec<event::Event>,
    /// The reply to an accepted command; every accepted command has one.
    pub reply: Option<notice::Notice>,
}

#[cfg(test)]
mod tests;
