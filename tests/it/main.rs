//! One integration binary, a module per theme, because linking takes the most time.

#![expect(
    clippy::disallowed_methods,
    reason = "a test's tasks end with its runtime and its clock is its own; the bans are for herder itself"
)]

mod acp_cli;
mod agent_rig;
mod as_said;
mod asked_once_cli;
mod board;
mod checkouts;
mod claude_cli;
mod cli;
mod cli_killed;
mod clocks;
mod codex_cli;
mod commands;
mod config;
mod conversation;
mod conversation_servers;
mod core_sim;
mod danger;
mod dead_mount;
mod demo;
mod detector;
mod discord;
mod discord_asks;
mod discord_beside_irc;
mod discord_channels;
mod discord_commands;
mod discord_conversation;
mod discord_delivery;
mod discord_kill;
mod discord_looks;

mod discord_sim;
mod docs;
mod drain;
mod embedded_ircd;
mod escalation;
mod evaluator;
mod evaluator_cli;
mod files;
mod fleet_sim;
mod from_within;
mod going_down;
mod handoff_cli;
mod http;
mod irc;
mod irc_rig;
mod irc_servers;
mod journal;
mod kill;
mod lands_cli;
mod locales;
mod machines;
mod matrix;
mod mirrors;
mod missed;
mod missing;
mod networks;
mod on;
mod outbox;
mod owners;
mod packaging;
mod process_log;
mod read_only;
mod reasons;
mod recovery;
mod reload;
mod runner;
mod runtime;
mod servers;
mod service;
mod set_free;
#[expect(dead_code, reason = "a toolbox: what one theme does not need, another does")]
#[path = "../sim/discord/mod.rs"]
mod simulated_discord;
#[path = "../sim/fleet/mod.rs"]
mod simulated_fleet;
#[path = "../sim/machine/mod.rs"]
mod simulated_machine;
mod slow_archive;
mod slow_lines;
mod spending;
mod spending_cli;
mod stage;
mod standby;
mod storage_failure;
mod supervisor;
mod task_diff;
mod tidy;
mod tools;
mod traces;
mod turns;
mod upgraded;
mod upkeep;
mod warm_cli;
mod webhooks;
