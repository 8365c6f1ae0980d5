//! The bot and its runners on other machines: keys, permissions, invitations and connections by NATS.
//!
//! ```text
//!  operator ── signs ──► account of the bot ── signs ──► users: bot, runners, invitations
//!     └─────── signs ──► system account ────── signs ──► user: system (brings revocations to the servers)
//!  CA ──────── signs ──► certificate of the servers
//! ```
//!
//! | file | content |
//! |---|---|
//! | [`keys`] | JWTs and `.creds` files: pure functions with the time as argument |
//! | [`permits`] | subjects of a bot, and who may publish and subscribe to which |
//! | [`folder`] | the folder of the bot's machine with all keys |
//! | [`invitation`] | the token that a new runner is invited with |
//! | [`joining`] | a new runner's request, the bot's answer, and the runner's folder |
//! | [`client`] | connections with TLS, verified by the bot's own CA alone |
//! | [`log`] | the shared log of a bot with a standby: a JetStream stream |
//! | [`office`] | the part of one of several bots: it follows the log, and comes into office |
//! | [`copies`] | copies of the journal in an object store |
//! | [`revoking`] | removal of a runner's key on all servers |
//!
//! Keys are made where they are used: a runner's seed never leaves its machine. The key of the bot's messages is pinned by
//! each runner when it joins, and is another one than that of the bot's user: a server has the latter sign what it likes.

mod authority;
pub mod client;
pub mod copies;
mod disk;
pub mod folder;
pub mod invitation;
pub mod joining;
pub mod keys;
pub mod log;
#[cfg(test)]
mod log_tests;
pub mod net;
pub mod office;
pub mod permits;
pub mod revoking;
pub mod runner_folder;
mod server_conf;
#[cfg(test)]
mod server_tests;
#[cfg(test)]
mod test_cluster;
#[cfg(test)]
mod test_server;
