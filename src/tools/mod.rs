//! The agents' own tools: an MCP server that every agent's CLI starts, bound to one session of one agent.
//!
//! ```text
//!  agent's CLI ── MCP, stdio ──► herder mcp ── one call a connection, Unix socket ──► socket ─► host ─► fleet, rooms
//!     model ◄── result + whispers ──┘   ◄── answer ──┘   └── "got it" ──►  whispers are recorded as handed over
//! ```
//!
//! - [`stdio`] is `herder mcp`: it speaks MCP with the CLI, and knows only the tools' definitions in
//!   [`crate::core::tools`].
//! - [`crate::runner::tools`] listens, in herder or in its runner; [`desk`] carries out what arrives there.
//! - [`crate::runtime::grants`] authenticates callers. A session has a token of its own, in a file that only herder's user can read,
//!   and a caller must be a descendant of that session's process. Both end with the session.
//! - [`crate::core::places`] determines the channels in which an agent may speak and read, as a pure function. [`rooms`] holds
//!   their recent lines and members.
//! - [`host`] carries out the calls, within the limits of [`rate`]; a question to people waits in slices shorter than
//!   any CLI's timeout.
//!
//! An agent's message carries its name ([`crate::core::post::Body::Said`]), is never read as a command (herder ignores
//! its own lines), and passes the outbox like everything else: cleaned, redacted, without mentions, paced.

pub mod desk;
pub mod host;
mod long;
pub mod rate;
pub mod rooms;
pub mod stdio;

pub use rooms::Rooms;
