//! Chat networks.
//!
//! A network is a task with two channels, not a trait object: it sends [`Inbound`](crate::core::speech::Inbound) lines and
//! takes posts from its outbox queue. The network establishes the identity of a speaker
//! ([`Author`](crate::core::speech::Author)); `crate::access` alone decides the permissions of that person.

mod absence;
pub mod console;
pub mod discord;
pub mod embedded_ircd;
pub mod irc;
mod reconnect;

pub use absence::Silence;
