//! The journal: herder's whole state as an event store in sled, on disk before anything is done or said.
//!
//! ```text
//!  supervisors, commands ── commit(Batch) ──► bounded queue ──► writer thread ──► one transaction per group
//!                                                                   │              db.flush(), fdatasync
//!                                                                   ├──► PostSink::accept (posts, in commit order)
//!                                                                   └──► each caller's ticket
//! ```
//!
//! A [`Batch`] is one decision: entries of one or more [`Stream`]s, the posts that follow and, now and then, a
//! snapshot. It is stored as a whole or not at all. One thread owns all writes and puts all waiting batches into one
//! transaction (group commit), so that a slow disk costs one fsync per group and not one per agent. Nothing is
//! acknowledged, posted or visible in [`Journal::history`] before it is on disk: sled's own `flush` is a
//! `sync_file_range`, so that the writer calls `fdatasync` on sled's file after it. sled's `flush_async` can deadlock
//! and is never used.
//!
//! A storage error poisons the journal: every later commit fails with [`CommitError::Failed`] and [`Journal::failed`]
//! has the reason; otherwise herder would say things that a restart forgets.
//!
//! Files:
//! - [`Journal`] (`handle`): the handle that callers clone; `writer`: the thread behind it
//! - `layout`: trees and keys; `table`: one tree, in sled or in memory; `encoding`: the versioned JSON of the values
//! - `store`: opening, the lock (`holder`), repair; `acked`: acknowledged revisions, kept outside sled, because
//!   sled silently loses a torn tail
//! - `replay`: states from snapshots and tails; `query`: history and the outbox
//! - `archive`, `retention`: old events move to compressed JSON lines; `export`, `import`: everything as JSON lines;
//!   `daily`: an export every day
//! - `fit`: archives that belong to another history than the database; `notes`: the journal's notes about itself;
//!   `unread`: data written by a newer version
//! - `salvage`, `pages`: an export of a database that sled refuses, read without sled
//! - `compact`: rebuild of a database that is much larger than its content; `recent`: a second copy of the newest events
//! - `tally`: counts of the entries; `disk`: ballast and free space; `memory`: a journal without a disk, for simulations
//! - [`shared`]: the journal as a prefix of a log that several bots share
//! - `follow`: the whole journal in order, from archives and the database, and then as it grows
//!
//! Folder of a journal: `sled/` (the database), `lock` (its holder), `acked`, `recent.jsonl`, `ballast`, `archive/`,
//! `exports/`.
//!
//! Deliberately absent: decisions, rendering of posts, retries. A writer that fails is not restarted in place.

mod acked;
mod archive;
mod compact;
mod daily;
#[cfg(test)]
mod damaged_tests;
mod disk;
pub mod encoding;
mod error;
mod export;
mod fit;
mod follow;
mod handle;
mod history;
mod holder;
mod import;
mod layout;
mod lines;
mod log_line;
mod look_back;
mod look_back_from;
mod memory;
mod notes;
mod pages;
mod prepare;
mod query;
mod recent;
mod refusal;
mod replay;
mod retention;
mod room;
mod salvage;
pub mod shared;
mod soon;
mod staging;
mod store;
mod table;
mod tally;
mod unread;
mod unseen;
mod writer;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::core::board::BoardEvent;
use crate::core::event::Event;
use crate::core::id::{AccountName, AgentName, NetworkName, PostId, WorkId};
use crate::core::outcome::Category;
use crate::core::post::Post;
use crate::core::spec::AgentSpec;
use crate::core::tie::Tie;
use crate::core::time::Timestamp;
use crate::core::usage::{Books, Waived, Warned};
use crate::core::work::Actor;

pub use error::{CommitError, ExportError, ImportError, MaintainError, OpenError, ReadError};
pub use export::{Exported, export, export_to};
pub use fit::Aside;
pub use follow::{Filter, Followed, Follower, Page};
pub use handle::{Journal, PostSink};
pub use history::History;
pub use import::{Imported, import};
pub use log_line::{LogContext, line_of};
pub use look_back::Looked;
pub use look_back_from::{Piece, Reach};
pub use memory::{Memory, Onlooker, Step};
pub use notes::{Span, listed};
pub use recent::stand_twice;
pub use refusal::how_to_restore;
pub use replay::{Aggregate, Blocked, FleetState, Loaded, Opened};
pub use retention::Maintained;
pub use room::NoRoom;
pub use salvage::{Salvaged, salvage};
#[cfg(test)]
pub(crate) use table::DAMAGED;
pub use tally::{AgentCounts, Cause, Tally, VERDICTS};

/// Size of the ballast beside the database, in bytes. It is deleted when the disk is full, since sled then cannot even
/// open.
pub const BALLAST: u64 = 64 << 20;

/// The location of a journal, and its limits.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The journal's folder, created if missing.
    pub dir: PathBuf,
    /// Limits on the history in the database: number and age of events.
    pub history: History,
    /// Version of herder, for exports and messages.
    pub version: String,
    /// Size of the ballast in bytes; [`BALLAST`] except in tests.
    pub ballast: u64,
    /// Minimum size in bytes of a database that is rebuilt at its opening if it is mostly empty.
    pub compact_from: u64,
}

impl Settings {
    /// Returns settings for `dir` with the default ballast.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>, history: History) -> Self {
        Self {
            dir: dir.into(),
            history,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ballast: BALLAST,
            compact_from: compact::COMPACT_FROM,
        }
    }
}

/// Facts found when a journal was opened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Opening {
    /// True if there was no journal, and one was created.
    pub fresh: bool,
    /// True if a torn sled snapshot was moved away; this loses nothing.
    pub repaired: bool,
    /// True if the disk was full, and the ballast was released to open the journal.
    pub ballast_released: bool,
    /// Streams of which acknowledged revisions are not in the database.
    pub missing: Vec<Missing>,
    /// Archives that do not belong to the database and were set aside. Reported by every start until
    /// [`Journal::told_aside`] is committed.
    pub aside: Option<Aside>,
    /// Time of the last sign of life of the herder before: the last batch, or [`Journal::live`].
    pub last_commit: Option<Timestamp>,
}

/// A stream whose last acknowledged entries are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Name of the stream.
    pub stream: Stream,
    /// Revision of the stream's last entry that was acknowledged as stored.
    pub expected: u64,
    /// Revision of the stream's last entry that exists.
    pub found: u64,
}

/// The entries, posts, snapshots and memos of one decision, stored as a whole or not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// Time of the decision.
    pub at: Timestamp,
    /// Entries to append, by stream.
    pub writes: Vec<Write>,
    /// Posts to deliver; the journal assigns their ids. [`crate::core::post::Body::Lines`] and
    /// [`crate::core::post::Body::Looked`] are passed on but not stored.
    pub posts: Vec<Post>,
    /// States of streams, from which the next start continues.
    pub snapshots: Vec<Snapshot>,
    /// Values that networks need after a restart.
    pub memos: Vec<Memo>,
    /// The session of the agent of these entries before the first of them, for the log alone.
    pub about: Option<LogContext>,
}

/// Entries to append to one stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// Name of the stream.
    pub stream: Stream,
    /// Revision that the stream must have; `None` for any.
    pub expected_rev: Option<u64>,
    /// The entries in order.
    pub entries: Vec<Entry>,
}

/// A stream's state at one of its revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Name of the stream.
    pub stream: Stream,
    /// Revision up to which the state includes the stream's entries.
    pub rev: u64,
    /// The state as JSON, see [`Aggregate`].
    pub state: Vec<u8>,
}

/// Data in a journal that this herder cannot read, because a newer version wrote it. It is kept unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unreadable {
    /// Numbers of such events of the fleet.
    pub events: BTreeSet<u64>,
    /// Ids of such pending posts.
    pub posts: BTreeSet<PostId>,
    /// Version of herder that wrote the last of them, if known.
    pub version: Option<String>,
}

/// A value that a network needs after a restart and that is not an event: the id of a channel it created, a line that was
/// handled. The last value of a key counts; there is no history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memo {
    /// Key of the value: `<what>/<network>/…`, at most [`MEMO_KEY_MAX`] bytes.
    pub key: String,
    /// The value as JSON, at most [`MEMO_MAX`] bytes; `None` deletes it.
    pub value: Option<String>,
}

/// Maximum length of a [`Memo`]'s key, in bytes.
pub const MEMO_KEY_MAX: usize = 200;

/// Maximum length of a [`Memo`]'s value, in bytes: one value of the database.
pub const MEMO_MAX: usize = layout::CHUNK;

/// The result of a chat message that has an id on its network: stored with the decision, so that a message which is
/// fetched again after an absence is handled only once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// The agent that the message was for; `None` if it was for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Number of the task or message for an agent that it became; `None` if it became none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// The channel in which it was written, as in the audit trail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl Heard {
    /// Returns the prefix of the keys under which the results of a network's messages are stored.
    #[must_use]
    pub fn prefix(network: &NetworkName) -> String {
        format!("heard/{network}/")
    }

    /// Returns the memo that stores this result for the message with the id `message`.
    #[must_use]
    pub fn memo(&self, network: &NetworkName, message: &str) -> Memo {
        let value = serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned());
        Memo { key: format!("{}{message}", Self::prefix(network)), value: Some(value) }
    }
}

/// The confirmation that a batch is on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// Revision of each write's stream after the batch, in the order of [`Batch::writes`].
    pub revs: Vec<u64>,
    /// The posts of the batch, with their ids.
    pub posts: Vec<Post>,
    /// True if a stream of the batch has many entries since its snapshot, so that the next batch should contain one.
    pub snapshot_due: bool,
}

/// The delivery of a post, whole or in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// The network that confirmed it.
    pub network: NetworkName,
    /// Id of the post.
    pub post: PostId,
    /// Number of the post's lines that are delivered; `None` for all, which removes it.
    pub lines: Option<u32>,
}

/// A collapsed backlog: one line takes the place of many pending posts.
#[derive(Debug, Clone, PartialEq)]
pub struct Collapsed {
    /// The line, which takes the place of the last post that it replaces.
    pub line: Post,
    /// Ids of the other posts that it replaces, which are removed.
    pub left_out: Vec<PostId>,
}

/// A way in which pending posts are done with.
#[derive(Debug, Clone, PartialEq)]
pub enum Settled {
    /// A post, or a part of one, was delivered.
    Delivered(Confirmed),
    /// Several posts were replaced by one line.
    Collapsed(Box<Collapsed>),
}

/// A sequence of entries with one writer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Stream {
    /// Events of the fleet: its agents, accounts and board.
    Fleet,
    /// Events of one agent.
    Agent(AgentName),
    /// The audit trail of commands.
    Audit,
}

/// The error for a text that names no stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no stream: it is fleet, audit or agent:<name>")]
pub struct NoStream(String);

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fleet => f.write_str("fleet"),
            Self::Audit => f.write_str("audit"),
            Self::Agent(name) => write!(f, "agent:{name}"),
        }
    }
}

impl FromStr for Stream {
    type Err = NoStream;
    fn from_str(text: &str) -> Result<Self, NoStream> {
        match text {
            "fleet" => Ok(Self::Fleet),
            "audit" => Ok(Self::Audit),
            other => other
                .strip_prefix("agent:")
                .and_then(|name| AgentName::new(name).ok())
                .map(Self::Agent)
                .ok_or_else(|| NoStream(other.to_owned())),
        }
    }
}

impl TryFrom<String> for Stream {
    type Error = NoStream;
    fn try_from(text: String) -> Result<Self, NoStream> {
        text.parse()
    }
}

impl From<Stream> for String {
    fn from(stream: Stream) -> Self {
        stream.to_string()
    }
}

/// A recorded event of the fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum FleetEvent {
    /// An agent was added, or added again after it was removed.
    AgentAdded {
        /// Name of the agent.
        agent: AgentName,
    },
    /// An agent was removed. As long as `bot.toml` names it, that does not bring it back.
    AgentRemoved {
        /// Name of the agent.
        agent: AgentName,
    },
    /// An agent's section in `bot.toml` was read.
    Configured {
        /// The agent's settings in the file.
        spec: Box<AgentSpec>,
    },
    /// An agent's section is not in `bot.toml` any more.
    LeftOut {
        /// Name of the agent.
        agent: AgentName,
    },
    /// The usage of a removed agent is kept, for the caps that it shared.
    BooksKept {
        /// Name of the agent.
        agent: AgentName,
        /// Usage of the agent by hour and day.
        books: Box<Books>,
    },
    /// A shared cap is used in part, or reached.
    CapNear {
        /// The account of the agents; `None` for all agents.
        account: Option<AccountName>,
        /// The cap with the level of the warning; 100 % or more if it is reached.
        warned: Warned,
    },
    /// A person lets agents continue past a shared cap.
    CapWaived {
        /// The account of the agents; `None` for all agents.
        account: Option<AccountName>,
        /// The cap with its raised limit.
        waived: Waived,
        /// The person; `None` in records of before this was written down.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Actor>,
    },
    /// An account was closed, so that its agents are paused.
    AccountBlocked {
        /// Name of the account.
        account: AccountName,
        /// Reason for closing it: billing, auth or budget.
        category: Category,
        /// The agent whose failure closed it.
        agent: AgentName,
    },
    /// A person opened an account again.
    AccountOpened {
        /// Name of the account.
        account: AccountName,
        /// The person who opened it.
        by: Actor,
    },
    /// The usage limit of an account is reached, or still is, so that none of its sessions starts.
    AccountExhausted {
        /// Name of the account.
        account: AccountName,
        /// The agent whose failure closed it.
        agent: AgentName,
        /// End of the limit, if the runtime reported it.
        resets_at: Option<Timestamp>,
        /// Time from which one agent may probe the account; `None`: a person decides.
        probe_at: Option<Timestamp>,
        /// Time at which people are asked whether one agent may probe; `None` if they are not asked.
        ask_at: Option<Timestamp>,
    },
    /// People were asked whether an agent may probe an account.
    AccountAsked {
        /// Name of the account.
        account: AccountName,
    },
    /// A person lets one agent of a closed account start, which shows whether the account works.
    AccountTried {
        /// Name of the account.
        account: AccountName,
        /// Reason why the account was closed.
        category: Category,
        /// The agent that probes.
        agent: AgentName,
        /// The person who allowed it.
        by: Actor,
    },
    /// An agent has shown that its account works, which is open again for the others.
    AccountProved {
        /// Name of the account.
        account: AccountName,
        /// The agent that has shown it.
        agent: AgentName,
    },
    /// An event of the task board occurred.
    Board {
        /// The event of the board.
        event: BoardEvent,
    },
    /// The supervisor of an agent panicked.
    SupervisorPanicked {
        /// The agent of that supervisor.
        agent: AgentName,
        /// Message of the panic.
        message: String,
    },
    /// A person has proved to be both a Discord user and the owner of a services account.
    Linked {
        /// The Discord user and the services account.
        tie: Tie,
        /// Name of the person on Discord.
        name: String,
        /// The person who gave the code as proof.
        by: Actor,
    },
    /// A link between a Discord user and a services account was removed.
    Unlinked {
        /// The link that was removed.
        tie: Tie,
        /// The person who removed the link.
        by: Actor,
    },
    /// The wall clock was set: recorded times that waits are measured from were moved along.
    ClockSet {
        /// Milliseconds by which the clock was set forward; negative if it was set back.
        by: i64,
    },
    /// herder was started.
    Started {
        /// Version of herder.
        version: String,
    },
    /// herder shut down on purpose.
    Stopped,
}

/// An accepted command, for the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The person who gave the command.
    pub by: Actor,
    /// The place where it was given: a channel, `private` or `local`.
    pub place: String,
    /// The agent that the command was for; `None` if it was for none.
    #[serde(default)]
    pub agent: Option<AgentName>,
    /// Name of the command.
    pub verb: String,
    /// Text of the command, redacted and of bounded length.
    pub text: String,
}

/// An entry of any stream of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// An event of an agent.
    Agent(Event),
    /// An event of the fleet.
    Fleet(FleetEvent),
    /// A command in the audit trail.
    Audit(AuditEntry),
}

/// An entry as it is recorded, with its position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Number in the whole journal, counted from 1 without gaps.
    pub seq: u64,
    /// The stream that it belongs to.
    pub stream: Stream,
    /// Revision: the number in its stream, counted from 1 without gaps.
    pub rev: u64,
    /// Time of the decision that recorded it.
    pub at: Timestamp,
    /// The entry itself.
    pub entry: Entry,
}
