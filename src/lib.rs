//! herder: a chat bot that runs AI coding agents and keeps them honest.
//!
//! # The map
//!
//! Pure state machines in the middle, tasks with channels around them, one journal under everything. Each agent has one
//! supervisor task that alone owns that agent's state; a root supervisor owns the supervisors, the accounts and the task board. Whatever
//! happens arrives as an [`Input`](core::input::Input); a pure function decides which [`Event`](core::event::Event)s
//! follow; they are committed together with the posts they owe; then they are applied to the state; then their
//! [`Effect`](core::effect::Effect)s are performed. Nobody else writes state.
//!
//! ```text
//!  IRC, Discord ┐                                     ┌── driver task ── child process (claude | codex | acp | command)
//!  console      ├─ Inbound ─► commands ─► Control ─┐  │ Signal, heartbeats
//!  local socket ┘                                  ▼  ▼
//!                                    supervisor (one per agent; owns Agent)     root supervisor (owns the fleet)
//!                                    1 decide(&agent, input) ─► Err(Refusal): answered, nothing stored
//!                                    2 journal.commit(events, posts)   one transaction, on disk, shared across agents
//!                                    3 apply(event)
//!                                    4 react(event) ─► Spawn | Go | Steer | Answer | Stop | …
//!                                    5 outbox ─► words of the locale ─► redact ─► split ─► pace ─► confirmed
//! ```
//!
//! | room | what happens there |
//! |---|---|
//! | [`core`] | what follows from what: agents, events, effects, restarts, the breaker, usage and caps, the task board ([`core::board`]), what agents ask and what is always asked, the ladder of the evaluator, notices, [`core::detector`] that tells who goes round in circles, [`core::promotion`] whose turn it is; no I/O, no clock, no tasks |
//! | [`supervisor`] | the shell around the core: one task per agent, the root, one timer for all countdowns |
//! | [`runtime`] | one child process for one session: protocols, clocks on evidence, the stop ladder, orphans |
//! | [`evaluator`] | a second pair of eyes: transcript, prompt, a short-lived process in a home of its own, one line back; and whoever splits a task |
//! | [`tools`] | what agents get from herder over MCP: channels to speak and read in, questions to people, word of their tasks, whispers |
//! | [`journal`] | everything herder knows, in sled: commit, replay, snapshots, archives, export and import |
//! | [`outbox`] | posts on their way out: order, lanes, windows, redaction, splitting |
//! | [`chat`] | networks in neutral terms; [`chat::irc`], [`chat::discord`], [`chat::embedded_ircd`], [`chat::console`] |
//! | [`webhook`] | programs elsewhere that are told what happens to agents, and the dead man's switch |
//! | [`http`] | the page, the API and the probes: one listener, opened by `[http]` |
//! | [`commands`] | what people can ask for: one file per command, in the folder of that name beside `src` |
//! | [`access`] | who may ask for what: the one place that answers that |
//! | [`local`] | the same commands from the shell, over a socket |
//! | [`l10n`] | every sentence herder says, from one Fluent file per language in `locales/` |
//! | [`config`] | the file, checked, with every mistake in it at once |
//! | [`reload`] | the file read again while herder runs: what of it counts at once, what is named for the next start |
//! | [`cli`] | the command line and its exit codes; with the console the only room that prints |
//! | [`run`] | `herder run`: what is started, in which order, and how it ends |
//! | [`demo`] | `herder demo`: the same parts with an embedded server and scripted agents |
//! | [`telemetry`] | logs, without secrets |
//! | [`clock`] | the wall clock: the one place that reads it, or a simulated one |
//!
//! # What always holds
//!
//! - **Write before act.** Nothing is done or said before its event is on disk. A crash before the commit never happened;
//!   a crash after it is repaired at start: the core is told `Started` and decides what is owed.
//! - **One writer per state.** An agent's state is written by `apply` in its own supervisor, nowhere else. `apply` takes
//!   every event in any state; a replay runs `apply` and never `react`.
//! - **At most `max_active` sessions are owed at once**, on disk as in memory: a place is taken before a session's start is
//!   recorded and given back after its end is.
//! - **At most one process tree per agent**, known on disk before it is given work, and verified gone before the next.
//! - **One agent's failure is its own.** Counters, timers and queue live in its supervisor; a panic there rebuilds that
//!   one from the journal.
//! - **Every accepted command is answered**, and recorded with who, where and when. A refusal stores nothing.
//! - **Who speaks is proven by the network** (services account or hostmask), never by a nick, and only by live lines.
//! - **Posts of one channel keep their order** and are said at least once; what is confirmed is not said again.
//! - **No secret leaves**: not to a child, a log, a post. All that is said passes one redactor.
//! - **Time, ids and randomness are arguments** of the core; the clock, the journal's disk, processes and randomness of the
//!   shell can be simulated ([`clock::simulate`], [`journal::Memory`], [`supervisor::Simulated`]): `tests/sim/fleet` runs whole
//!   fleets in virtual time, kills herder between any two steps and looks whether all of this holds after every event.
//! - **What comes from chat, agents, files and the network is hostile**: it is bounded where it enters, and nothing it
//!   contains can become protocol, a path or a panic.
//!
//! # What is deliberately absent
//!
//! - No trait object for networks or runtimes: a network is a task with two channels, a driver is a task with two.
//! - No shared map of agents behind a lock: whoever wants something of an agent sends its supervisor a message, and what
//!   can be seen of it is published after every decision. Places at work are handed out under a lock, because a session
//!   that may begin begins with the decision that calls for it; what they are handed out by follows from the agents.
//! - No sleep as synchronisation: controls return when they were decided, tests wait for that or for protocol barriers.
//! - No model is asked by herder itself: `status` is answered from state, at once.
//! - No unbounded queue of what comes from outside: where one is full, the sender is told or waits, and the bound argues for
//!   its number. The root's inbox alone has no number: what reaches it follows a commit or one of the few commands under way.
//! - No `unsafe`.

#[path = "../commands/mod.rs"]
pub mod commands;

pub mod access;
pub mod chat;
pub mod cli;
pub mod clock;
pub mod config;
pub mod core;
pub mod demo;
pub mod evaluator;
pub mod http;
pub mod journal;
pub mod l10n;
pub mod local;
pub mod outbox;
pub mod reload;
pub mod run;
pub mod runtime;
pub mod supervisor;
pub mod telemetry;
pub mod tools;
pub mod webhook;
