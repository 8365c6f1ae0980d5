//! The agents' own tools: an MCP server that every agent's CLI starts, bound to one session of one agent.
//!
//! ```text
//!  agent's CLI ── MCP, stdio ──► herder mcp ── one call a connection, Unix socket ──► socket ─► host ─► fleet, rooms
//!     model ◄── result + whispers ──┘   ◄── answer ──┘   └── "got it" ──►  whispers are recorded as handed over
//! ```
//!
//! - [`stdio`] is `herder mcp`: it speaks MCP with the CLI and knows no more of the tools than [`catalogue`] says.
//! - [`wire`] is what the two processes say to each other; [`socket`] listens in the running herder.
//! - [`grants`]: who may call. A session gets a token of its own, in a file that only the user herder runs as can read, and a
//!   caller must descend from that session's process beside. Both end with the session.
//! - [`places`]: where an agent may speak and read, as a pure function. [`rooms`]: what is said there, and who is there.
//! - [`host`] does what is asked, within [`rate`]; a question to people waits in slices that no CLI runs out of patience with.
//!
//! What an agent says is attributed to it ([`crate::outbox::Body::Said`]), is never heard as a command (herder does not hear
//! itself), and passes the outbox like everything else: cleaned, redacted, without mentions, paced.

pub mod catalogue;
pub mod grants;
pub mod host;
mod long;
pub mod places;
pub mod rate;
pub mod rooms;
pub mod socket;
pub mod stdio;
pub mod wire;

pub use grants::{Access, Grants, Pass};
pub use rooms::Rooms;

/// The variable that names the file with everything `herder mcp` needs. The file's name is no secret, what is in it is.
pub const VARIABLE: &str = "HERDER_TOOLS";

/// The server's name in a CLI's configuration; a model sees it as part of the tools' names.
pub const SERVER: &str = "herder";
