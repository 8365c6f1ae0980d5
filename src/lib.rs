//! herder: a chat bot that runs AI coding agents, supervises them and reports what they do.
//!
//! # The map
//!
//! The core is a set of pure state machines; around it, tasks communicate over channels; everything is stored in one
//! journal (event sourcing). Each agent has a supervisor task, the only owner of that agent's state; a root supervisor
//! owns the supervisors, the accounts and the task board. Every occurrence arrives as an
//! [`Input`](core::input::Input). A pure function decides which [`Event`](core::event::Event)s follow; they are
//! committed together with the resulting posts, then applied to the state, and then their
//! [`Effect`](core::effect::Effect)s are performed. No other code changes state.
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
//! | module | responsibility |
//! |---|---|
//! | [`core`] | the decisions: agents, events, effects, restarts, the breaker, usage and caps, the task board ([`core::board`]), questions and always-ask rules, the evaluator's ladder, notices, posts ([`core::post`]), lines of people ([`core::speech`]), detection of loops ([`core::detector`]), the order of waiting agents ([`core::promotion`]), which of several bots decides ([`core::office`]); a crate of its own, without I/O, clock and tasks |
//! | [`supervisor`] | the shell around the core: one task per agent, the root supervisor, one timer for all countdowns |
//! | [`runner`] | the side that runs agents, in the bot or beside it: the machine's part of a launch, versioned messages, numbers, the socket of the agents' tools |
//! | [`cluster`] | the way to runners on other machines: keys, invitations, signed connections by NATS |
//! | [`runtime`] | one child process per session: protocols, timeouts based on evidence of life, the stop ladder, orphans |
//! | [`evaluator`] | review of an agent's turns by a model: transcript, prompt, a short-lived process in a home of its own, one line as the answer; also the splitting of tasks |
//! | [`tools`] | herder's MCP tools for agents, which the core lists ([`core::tools`]): channels to write to and read, questions to people, task status, whispers |
//! | [`files`] | bytes of files that people and agents give each other, kept in the data folder by their SHA-256 |
//! | [`journal`] | all stored state, in sled: commit, replay, snapshots, archives, export and import; the log that several bots share ([`journal::shared`]) |
//! | [`outbox`] | pending posts: order, lanes, windows, redaction, splitting |
//! | [`redact`] | removal of secrets from every text that leaves herder |
//! | [`chat`] | the networks behind a common interface: [`chat::irc`], [`chat::discord`], [`chat::embedded_ircd`], [`chat::console`] |
//! | [`webhook`] | HTTP notifications about agents for other programs, and the dead man's switch |
//! | [`http`] | the page, the API and the probes: one listener, opened by `[http]` |
//! | [`certificate`] | the certificate of that listener, read again at every reload |
//! | [`chart`] | figures as a picture: SVG for the page, PNG for Discord, a line of blocks for IRC |
//! | [`commands`] | what people can ask for: one file per command, in the folder of that name beside `src` |
//! | [`access`] | roles and permissions of people: the only place that decides them; logins to the page |
//! | [`local`] | the chat commands from the shell, over a Unix socket |
//! | [`socket`] | binding of Unix sockets in the data folder, with mode 0600 |
//! | [`l10n`] | every sentence of herder, from one Fluent file per language in `locales/` |
//! | [`config`] | the configuration file: parsing and validation, with all mistakes reported at once |
//! | [`reload`] | reloading the configuration file: which changes apply at once, and which at the next start |
//! | [`cli`] | the command line and its exit codes; with the console the only module that prints |
//! | [`run`] | `herder run`: the order in which its parts start and end |
//! | [`demo`] | `herder demo`: the same parts with an embedded server and scripted agents |
//! | [`numbers`] | counts and durations of this run, for `/metrics`: atomic additions |
//! | [`telemetry`] | logs, without secrets |
//! | [`traces`] | sessions, turns and tool calls as OpenTelemetry spans for a collector |
//! | [`clock`] | the wall clock, real or simulated; no other module reads it |
//!
//! A room imports only rooms below it: there is no circle, and a test looks for one. Types that several rooms share are in
//! the core, or in the lowest of them.
//!
//! # What always holds
//!
//! - **Write before act.** An event is on disk before its effects are performed and its posts are sent. After a crash
//!   before the commit, the event never happened; after a crash following the commit, the core gets `Started` at the
//!   next start and decides about the remaining effects.
//! - **One writer per state.** Only `apply`, in the agent's own supervisor, changes an agent's state. `apply` accepts
//!   every event in every state; a replay calls `apply` and never `react`.
//! - **At most `max_active` sessions at once**, on disk as in memory: a place is taken before the start of a session is
//!   recorded, and returned after its end is.
//! - **At most one process tree per agent**, recorded on disk before it gets work, and verified to be gone before the
//!   next one starts.
//! - **Failures are isolated per agent.** Counters, timers and queue belong to its supervisor; after a panic there, only
//!   that supervisor is rebuilt from the journal.
//! - **Every accepted command is answered**, and recorded with its author, place and time. A refusal stores nothing.
//! - **The network proves the author's identity** (services account or hostmask), never the nick, and only for live
//!   lines.
//! - **Posts of a channel keep their order** and are delivered at least once; a confirmed post is not sent again.
//! - **No secret leaves herder**, whether to a child process, a log or a post. All output passes one redactor.
//! - **Time, ids and randomness are arguments** of the core. The shell's clock, journal disk, processes and randomness
//!   can be simulated ([`clock::simulate`], [`journal::Memory`], [`supervisor::Simulated`]): `tests/sim/fleet` runs
//!   fleets in virtual time, kills herder between any two steps, and checks these invariants after every event.
//! - **Input from chat, agents, files and the network is hostile**: its size is limited on entry, and its content cannot
//!   become protocol, a path or a panic.
//!
//! # What is deliberately absent
//!
//! - No trait object for networks or runtimes: a network is a task with two channels, and so is a driver.
//! - No shared map of agents behind a lock: code that needs something of an agent sends its supervisor a message, and
//!   the visible state is published after every decision. Places are assigned under a lock, because a session that may
//!   start does so with the decision that requests it; the assignment depends only on the agents.
//! - No sleep as synchronisation: a control returns once it is decided, and tests wait for that or for barriers of the
//!   protocols.
//! - No model behind herder's own answers: `status` is answered from state, at once.
//! - No unbounded queue for input from outside: if a queue is full, the sender is told or waits, and each bound has a
//!   stated reason. Only the root supervisor's inbox has no limit: its messages follow commits, or one of the few
//!   commands being handled.
//! - No `unsafe`.

#[path = "../commands/mod.rs"]
pub mod commands;

pub use herder_core as core;

pub mod access;
pub mod certificate;
pub mod chart;
pub mod chat;
pub mod cli;
pub mod clock;
pub mod cluster;
pub mod config;
pub mod demo;
pub mod evaluator;
pub mod files;
pub mod http;
pub mod journal;
pub mod l10n;
pub mod local;
pub mod numbers;
pub mod outbox;
pub mod redact;
pub mod reload;
pub mod run;
pub mod runner;
pub mod runtime;
pub mod socket;
pub mod supervisor;
pub mod telemetry;
pub mod tools;
pub mod traces;
pub mod webhook;
