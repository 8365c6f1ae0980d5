//! The runner: the side of herder that runs agents, apart from the side that decides and speaks (the bot).
//!
//! ```text
//!  bot                                          runner (machine of the agents)
//!  supervisor ── Place ── Launch, Order ──────► driver ── child process
//!             ◄────────── Report, Live ────────
//! ```
//!
//! A [`Place`] is the bot's view of a runner. The embedded one is this process, and costs nothing but two channels.
//!
//! | who | knows | never knows |
//! |---|---|---|
//! | bot | journal, people, networks, the evaluator's login, all agents' states | an agent's environment, files, secrets; a process other than by its reports |
//! | runner | [`Machine`]: environment, secrets of agents, folders, process trees, access to tools | journal, people, networks, why a session is started or stopped |
//! | between them | plain data of [`wire`], numbered by [`ledger`] | environments, secrets, paths of the runner's own data |
//!
//! `docs/inside/runner.md` has the rules in full.

mod asked;
mod called;
mod calls;
mod facts;
mod fit;
pub mod host;
mod hosted;
mod job;
mod jobs;
pub mod ledger;
pub mod link;
mod machine;
mod place;
mod places;
pub mod process;
mod record;
pub mod tools;
mod way;
pub mod wire;

pub use called::Called;
pub use job::Job;
pub(crate) use job::JobKind;
pub use machine::{Machine, Setup, Starts};
pub use place::Place;
pub use places::{Finds, Places};
pub use way::Opens;

use crate::core::id::RunnerName;

/// Name of the runner beside the bot.
pub(crate) const LOCAL: &str = "local";

/// Returns the beginning of the markers of a runner's processes; `None`: of the one beside the bot. No marker of the bot's own begins so: neither ends
/// what the other has started.
#[must_use]
pub fn prefix(journal: &str, runner: Option<&RunnerName>) -> String {
    format!("{journal}+{}/", runner.map_or(LOCAL, RunnerName::as_str))
}
