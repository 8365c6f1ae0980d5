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
//! - `store`: opening, the lock and its holder, repair; `acked`: acknowledged revisions, kept outside sled, because
//!   sled silently loses a torn tail
//! - `replay`: states from snapshots and tails; `query`: history and the outbox
//! - `archive`, `retention`: old events move to compressed JSON lines; `export`, `import`: everything as JSON lines;
//!   `daily`: an export every day
//! - `fit`: archives that belong to another history than the database; `notes`: the journal's notes about itself;
//!   `unread`: data written by a newer version
//! - `salvage`, `pages`: an export of a database that sled refuses, read without sled
//! - `compact`: rebuild of a database that is much larger than its content; `recent`: a second copy of the newest events
//! - `tally`: counts of the entries; `disk`: ballast and free space; `memory`: a journal without a disk, for simulations
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
mod import;
mod layout;
mod lines;
mod log_line;
mod look_back;
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

use crate::config;
use crate::core::board::BoardEvent;
use crate::core::event::Event;
use crate::core::id::{AccountName, AgentName, NetworkName, PostId, WorkId};
use crate::core::outcome::Category;
use crate::core::spec::AgentSpec;
use crate::core::time::Timestamp;
use crate::core::usage::{Books, Waived, Warned};
use crate::core::work::Actor;
use crate::outbox::Post;

pub use error::{CommitError, ExportError, ImportError, MaintainError, OpenError, ReadError};
pub use export::{Exported, export, export_to};
pub use fit::Aside;
pub use follow::{Filter, Followed, Follower, Page};
pub use handle::{Journal, PostSink};
pub use import::{Imported, import};
pub use log_line::line_of;
pub use look_back::Looked;
pub use memory::{Memory, Onlooker, Step};
pub use notes::{Span, listed};
pub use recent::stand_twice;
pub use refusal::how_to_restore;
pub use replay::{Aggregate, Blocked, FleetState, Loaded, Opened};
pub use retention::Maintained;
pub use room::NoRoom;
pub use salvage::{Salvaged, salvage};
pub use tally::{AgentCounts, Cause, Tally, VERDICTS};

/// Size of the ballast beside the database, in bytes: on a full disk sled cannot even open, so that something has to
/// be deleted first.
pub const BALLAST: u64 = 64 << 20;

/// The location and the limits of a journal.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its folder, created if missing.
    pub dir: PathBuf,
    /// The limits on its history.
    pub history: config::History,
    /// herder's version, for exports and messages.
    pub version: String,
    /// Size of the ballast in bytes; [`BALLAST`] except in tests.
    pub ballast: u64,
    /// Minimum size in bytes of a database that is rebuilt at its opening if it is mostly empty.
    pub compact_from: u64,
}

impl Settings {
    /// Returns settings for `dir` with the default ballast.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>, history: config::History) -> Self {
        Self {
            dir: dir.into(),
            history,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ballast: BALLAST,
            compact_from: compact::COMPACT_FROM,
        }
    }
}

/// The findings when a journal was opened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Opening {
    /// True if there was none, and it was created.
    pub fresh: bool,
    /// True if a torn sled snapshot was moved away; this loses nothing.
    pub repaired: bool,
    /// True if the disk was full, and the ballast was released to open the journal.
    pub ballast_released: bool,
    /// Revisions that were acknowledged and are not in the database.
    pub missing: Vec<Missing>,
    /// Archives that do not belong to the database and were set aside. Reported by every start until
    /// [`Journal::told_aside`] is committed.
    pub aside: Option<Aside>,
    /// The last sign of life: the time of the last batch, [`Journal::live`] included.
    pub last_commit: Option<Timestamp>,
}

/// A stream that lacks its acknowledged end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The stream.
    pub stream: Stream,
    /// The last acknowledged revision.
    pub expected: u64,
    /// The last existing revision.
    pub found: u64,
}

/// One decision, stored as a whole or not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The time of the decision.
    pub at: Timestamp,
    /// Entries, by stream.
    pub writes: Vec<Write>,
    /// Pending posts; the journal assigns their ids. [`crate::outbox::Body::Lines`] and
    /// [`crate::outbox::Body::Looked`] are passed on but not stored.
    pub posts: Vec<Post>,
    /// States from which the next start continues.
    pub snapshots: Vec<Snapshot>,
    /// Memos of networks.
    pub memos: Vec<Memo>,
}

/// Entries for one stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// The stream.
    pub stream: Stream,
    /// The revision that it must have; `None` for any.
    pub expected_rev: Option<u64>,
    /// The entries, in order.
    pub entries: Vec<Entry>,
}

/// A stream's state at one of its revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The stream.
    pub stream: Stream,
    /// The revision after which it is the state.
    pub rev: u64,
    /// The state as JSON, see [`Aggregate`].
    pub state: Vec<u8>,
}

/// Valid data in a journal that this herder cannot read, because a newer version wrote it. It is kept unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unreadable {
    /// The fleet's entries, by seq.
    pub events: BTreeSet<u64>,
    /// Pending posts.
    pub posts: BTreeSet<PostId>,
    /// The version that wrote the last of them, if known.
    pub version: Option<String>,
}

/// A value that a network needs after a restart and that is not an event: the id of a channel it created, a line that was
/// handled. The last value of a key counts; there is no history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memo {
    /// Its key: `<what>/<network>/…`, at most [`MEMO_KEY_MAX`] bytes.
    pub key: String,
    /// JSON, at most [`MEMO_MAX`] bytes; `None` deletes it.
    pub value: Option<String>,
}

/// Maximum length of a [`Memo`]'s key, in bytes.
pub const MEMO_KEY_MAX: usize = 200;

/// Maximum length of a [`Memo`]'s value, in bytes: one value of the database.
pub const MEMO_MAX: usize = layout::CHUNK;

/// The result of a line with an id of its network: stored with the decision, so that a line that is fetched again
/// after an absence is handled once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// The agent that it was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The task or message that it became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// The place in which it was said, as in the audit trail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl Heard {
    /// Returns the key prefix of a network's lines.
    #[must_use]
    pub fn prefix(network: &NetworkName) -> String {
        format!("heard/{network}/")
    }

    /// Returns the memo of the line with the id `message`.
    #[must_use]
    pub fn memo(&self, network: &NetworkName, message: &str) -> Memo {
        let value = serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned());
        Memo { key: format!("{}{message}", Self::prefix(network)), value: Some(value) }
    }
}

/// The confirmation that a batch is on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// The revision of each write's stream after it.
    pub revs: Vec<u64>,
    /// The posts, with their ids.
    pub posts: Vec<Post>,
    /// True if a stream of the batch has a long tail since its snapshot: the next batch should contain one.
    pub snapshot_due: bool,
}

/// A delivered post, or a delivered part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// The network.
    pub network: NetworkName,
    /// The post.
    pub post: PostId,
    /// Number of its delivered lines; `None` for all, which removes it.
    pub lines: Option<u32>,
}

/// A collapsed backlog: one line replaces posts that nobody will read.
#[derive(Debug, Clone, PartialEq)]
pub struct Collapsed {
    /// The line, in the row of the last post that it replaces.
    pub line: Post,
    /// The other posts that it replaces, which are removed.
    pub left_out: Vec<PostId>,
}

/// The end of pending posts.
#[derive(Debug, Clone, PartialEq)]
pub enum Settled {
    /// They were delivered.
    Delivered(Confirmed),
    /// A line replaces them.
    Collapsed(Box<Collapsed>),
}

/// A sequence of events with one owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Stream {
    /// The fleet: its agents and accounts.
    Fleet,
    /// One agent.
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

/// A link of one person's two identities: a Discord user and a services account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tie {
    /// The Discord user's id.
    pub user: String,
    /// The network of the account.
    pub network: NetworkName,
    /// The account.
    pub account: String,
}

impl Tie {
    /// True if it concerns that account. Services compare accounts without case.
    #[must_use]
    pub fn is_of(&self, network: &NetworkName, account: &str) -> bool {
        self.network == *network && self.account.eq_ignore_ascii_case(account)
    }
}

/// A recorded event of the fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum FleetEvent {
    /// An agent was added, or added again after it was removed.
    AgentAdded {
        /// The agent.
        agent: AgentName,
    },
    /// An agent was removed. As long as `bot.toml` names it, that does not bring it back.
    AgentRemoved {
        /// The agent.
        agent: AgentName,
    },
    /// The section of an agent in `bot.toml`, as it was last read.
    Configured {
        /// The agent's settings in the file.
        spec: Box<AgentSpec>,
    },
    /// An agent's section is gone from `bot.toml`.
    LeftOut {
        /// The agent.
        agent: AgentName,
    },
    /// The costs of a removed agent are kept.
    BooksKept {
        /// The agent.
        agent: AgentName,
        /// Its usage.
        books: Box<Books>,
    },
    /// A shared cap is used in part, or reached.
    CapNear {
        /// The account of the agents; `None` for all agents.
        account: Option<AccountName>,
        /// The warning that was given.
        warned: Warned,
    },
    /// A person let agents go on past a shared cap.
    CapWaived {
        /// The account of the agents; `None` for all agents.
        account: Option<AccountName>,
        /// The cap that applies instead.
        waived: Waived,
    },
    /// An account's agents are paused.
    AccountBlocked {
        /// The account.
        account: AccountName,
        /// The reason: billing, auth or budget.
        category: Category,
        /// The agent whose failure showed it.
        agent: AgentName,
    },
    /// A person opened an account again.
    AccountOpened {
        /// The account.
        account: AccountName,
        /// The person.
        by: Actor,
    },
    /// The usage limit of an account is reached, or still is: nothing of it begins.
    AccountExhausted {
        /// The account.
        account: AccountName,
        /// The agent whose failure showed it.
        agent: AgentName,
        /// The end of the limit, if the runtime stated it.
        resets_at: Option<Timestamp>,
        /// The time from which one agent may try.
        probe_at: Option<Timestamp>,
        /// The time at which people are asked whether one may try.
        ask_at: Option<Timestamp>,
    },
    /// People were asked whether an account goes on.
    AccountAsked {
        /// The account.
        account: AccountName,
    },
    /// A person let one agent of a closed account through, which is to show whether it works.
    AccountTried {
        /// The account.
        account: AccountName,
        /// The reason for which it was closed.
        category: Category,
        /// The agent that tries.
        agent: AgentName,
        /// The person.
        by: Actor,
    },
    /// An agent has shown that its account works: the others go on.
    AccountProved {
        /// The account.
        account: AccountName,
        /// The agent.
        agent: AgentName,
    },
    /// Something happened on the task board.
    Board {
        /// The event.
        event: BoardEvent,
    },
    /// A supervisor panicked.
    SupervisorPanicked {
        /// The supervisor's agent.
        agent: AgentName,
        /// The panic's message.
        message: String,
    },
    /// A person showed to be both a Discord user and the owner of a services account.
    Linked {
        /// The two identities.
        tie: Tie,
        /// Their name on Discord.
        name: String,
        /// The person who gave the code as proof.
        by: Actor,
    },
    /// Such a tie was undone.
    Unlinked {
        /// The link.
        tie: Tie,
        /// The person who removed it.
        by: Actor,
    },
    /// The wall clock was set: what is measured by its own length is moved along with it.
    ClockSet {
        /// The change in ms; negative if it was set back.
        by: i64,
    },
    /// herder started.
    Started {
        /// Its version.
        version: String,
    },
    /// herder went down on purpose.
    Stopped,
}

/// One accepted command, with its author.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The author.
    pub by: Actor,
    /// The place: channel, `private` or `local`.
    pub place: String,
    /// The agent that it was for, if any.
    #[serde(default)]
    pub agent: Option<AgentName>,
    /// The command's verb.
    pub verb: String,
    /// The text, redacted and bounded.
    pub text: String,
}

/// An entry of any stream.
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

/// A recorded entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its position in the whole journal, counted from 1 without gaps.
    pub seq: u64,
    /// Its stream.
    pub stream: Stream,
    /// Its position in its stream, counted from 1 without gaps.
    pub rev: u64,
    /// The time.
    pub at: Timestamp,
    /// The entry.
    pub entry: Entry,
}
