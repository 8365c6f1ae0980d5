//! One integration binary, a module per theme: linking is what costs time.

mod claude_cli;
mod cli;
mod commands;
mod config;
mod conversation;
mod core_sim;
mod demo;
mod embedded_ircd;
mod irc;
mod irc_rig;
mod irc_servers;
mod journal;
mod kill;
mod locales;
mod outbox;
mod runtime;
mod servers;
mod stage;
mod supervisor;
mod tidy;
