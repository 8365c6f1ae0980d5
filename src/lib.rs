//! herder: a chat bot that runs AI coding agents and keeps them honest.

#[path = "../commands/mod.rs"]
pub mod commands;

pub mod access;
pub mod chat;
pub mod cli;
pub mod clock;
pub mod config;
pub mod core;
pub mod demo;
pub mod journal;
pub mod l10n;
pub mod local;
pub mod outbox;
pub mod run;
pub mod runtime;
pub mod supervisor;
pub mod telemetry;
