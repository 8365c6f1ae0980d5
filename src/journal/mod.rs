//! The journal: everything herder knows, in sled, on disk before it is done or said.
//!
//! ```text
//!  supervisors, commands ── commit(Batch) ──► bounded queue ──► writer thread ──► one transaction per group
//!                                                                   │              db.flush(), fdatasync
//!                                                                   ├──► PostSink::accept (posts, in commit order)
//!                                                                   └──► each caller's ticket
//! ```
//!
//! A [`Batch`] is one decision: entries of one or more [`Stream`]s, the posts they owe and, now and then, a snapshot.
//! It is stored whole or not at all. One thread owns all writes and puts every batch that waits into one transaction
//! (group commit), so that a slow disk costs one fsync per group and not one per agent. Nothing is acknowledged, posted
//! or visible in [`Journal::history`] before it is on the disk: sled's own `flush` is a `sync_file_range`, so the
//! writer calls `fdatasync` on sled's file after it. sled's `flush_async` can deadlock and is never used.
//!
//! A storage error poisons the journal: every later commit answers [`CommitError::Failed`] and [`Journal::failed`]
//! carries the reason; going on would mean to say things that a restart forgets.
//!
//! What is where:
//! - [`Journal`] (`handle`): the handle that everybody clones; `writer`: the thread behind it
//! - `layout`: trees and keys; `table`: one tree, in sled or in memory; `encoding`: the versioned JSON of the values
//! - `store`: opening, the lock and its holder, repair; `acked`: what was acknowledged, kept outside sled, because
//!   sled loses a torn tail without a word
//! - `replay`: states from snapshots and tails; `query`: history and the outbox
//! - `archive`, `retention`: old events move to compressed JSON lines; `export`, `import`: everything as JSON lines; `daily`: an
//!   export every day
//! - `fit`: archives that belong to another history than the database; `notes`: what the journal notes of itself; `unread`: what a
//!   later version wrote
//! - `salvage`, `pages`: an export of a database that sled refuses, read without sled
//! - `compact`: a database that has grown far beyond what it holds; `recent`: the newest events a second time; `pages`, `salvage`:
//!   what can be read of a database that sled refuses
//! - `disk`: ballast and free space; `memory`: a journal without a disk, for simulations
//!
//! Folder of a journal: `sled/` (the database), `lock` (who holds it), `acked`, `recent.jsonl`, `ballast`, `archive/`, `exports/`.
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
mod handle;
mod import;
mod layout;
mod lines;
mod log_line;
mod look_back;
mod memory;
mod notes;
mod pages;
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
pub use handle::{Journal, PostSink};
pub use import::{Imported, import};
pub use look_back::Looked;
pub use memory::{Memory, Onlooker, Step};
pub use notes::{Span, listed};
pub use recent::stand_twice;
pub use refusal::how_to_restore;
pub use replay::{Aggregate, Blocked, FleetState, Loaded, Opened};
pub use retention::Maintained;
pub use room::NoRoom;
pub use salvage::{Salvaged, salvage};

/// Ballast kept beside the database: on a full disk sled cannot even open, so there must be something to give up.
pub const BALLAST: u64 = 64 << 20;

/// Where a journal lives and how it is kept.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its folder, made when it is missing.
    pub dir: PathBuf,
    /// What is kept, and for how long.
    pub history: config::History,
    /// herder's version, for exports and messages.
    pub version: String,
    /// Bytes of ballast; [`BALLAST`] but in tests.
    pub ballast: u64,
    /// The size in bytes from which on a database that holds little is built anew when it is opened.
    pub compact_from: u64,
}

impl Settings {
    /// Settings for `dir` with the default ballast.
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

/// What was found when a journal was opened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Opening {
    /// There was none; it was made.
    pub fresh: bool,
    /// A torn sled snapshot was moved away; nothing is lost by that.
    pub repaired: bool,
    /// The disk was full: the ballast was given up so that the journal could be opened.
    pub ballast_released: bool,
    /// Revisions that were acknowledged once and are not in the database.
    pub missing: Vec<Missing>,
    /// Archives that do not belong to the database were set aside. Said by every start until [`Journal::told_aside`] is committed.
    pub aside: Option<Aside>,
    /// The last sign of life: when the last batch was decided, [`Journal::live`] included.
    pub last_commit: Option<Timestamp>,
}

/// A stream whose acknowledged end is not in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Which.
    pub stream: Stream,
    /// The last acknowledged revision.
    pub expected: u64,
    /// The last one that is there.
    pub found: u64,
}

/// One decision, stored whole or not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// When it was decided.
    pub at: Timestamp,
    /// Entries, by stream.
    pub writes: Vec<Write>,
    /// Posts that are owed; their ids are drawn here. [`crate::outbox::Body::Lines`] and
    /// [`crate::outbox::Body::Looked`] are passed on but not stored.
    pub posts: Vec<Post>,
    /// States to start from next time.
    pub snapshots: Vec<Snapshot>,
    /// What networks have to remember.
    pub memos: Vec<Memo>,
}

/// Entries for one stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// Which.
    pub stream: Stream,
    /// The revision it must have; `None`: whichever it has.
    pub expected_rev: Option<u64>,
    /// In order.
    pub entries: Vec<Entry>,
}

/// A stream's state at one of its revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Which stream.
    pub stream: Stream,
    /// After which revision.
    pub rev: u64,
    /// The state as JSON, see [`Aggregate`].
    pub state: Vec<u8>,
}

/// What of a journal this herder cannot read, though nothing is wrong with it: a later version wrote it. It is kept as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unreadable {
    /// Entries of the fleet, by seq.
    pub events: BTreeSet<u64>,
    /// Posts that are owed.
    pub posts: BTreeSet<PostId>,
    /// The version that wrote the last of them, where that is known.
    pub version: Option<String>,
}

/// Something a network has to know after a restart that is no event: the id of a channel it made, a line that was worked
/// on. The last value of a key counts; there is no history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memo {
    /// Its name: `<what>/<network>/…`, at most [`MEMO_KEY_MAX`] bytes.
    pub key: String,
    /// JSON, at most [`MEMO_MAX`] bytes; `None` takes it out.
    pub value: Option<String>,
}

/// The longest key of a [`Memo`], in bytes.
pub const MEMO_KEY_MAX: usize = 200;

/// The longest value of a [`Memo`], in bytes: one value of the database.
pub const MEMO_MAX: usize = layout::CHUNK;

/// What became of a line that a network gave an id: stored with the decision, so that a line that is fetched again after
/// an absence is worked on once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// The agent it was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The work it became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// Where it was said, as in the audit trail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl Heard {
    /// Under which keys the lines of a network are kept.
    #[must_use]
    pub fn prefix(network: &NetworkName) -> String {
        format!("heard/{network}/")
    }

    /// The memo of the line that `network` calls `message`.
    #[must_use]
    pub fn memo(&self, network: &NetworkName, message: &str) -> Memo {
        let value = serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned());
        Memo { key: format!("{}{message}", Self::prefix(network)), value: Some(value) }
    }
}

/// A batch is on the disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// Per write, its stream's revision after it.
    pub revs: Vec<u64>,
    /// The posts, with their ids.
    pub posts: Vec<Post>,
    /// A stream of the batch has grown a long tail since its snapshot: add one to the next batch.
    pub snapshot_due: bool,
}

/// A post, or a part of one, reached its network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// The network.
    pub network: NetworkName,
    /// The post.
    pub post: PostId,
    /// How many of its lines; `None`: all, it is taken out.
    pub lines: Option<u32>,
}

/// A long backlog was collapsed: one line stands for posts that nobody will read.
#[derive(Debug, Clone, PartialEq)]
pub struct Collapsed {
    /// The line, in the row of the last post that it stands for.
    pub line: Post,
    /// The other posts that it stands for: they are taken out.
    pub left_out: Vec<PostId>,
}

/// What became of posts that were owed.
#[derive(Debug, Clone, PartialEq)]
pub enum Settled {
    /// They arrived.
    Delivered(Confirmed),
    /// A line stands for them.
    Collapsed(Box<Collapsed>),
}

/// A sequence of events with one owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Stream {
    /// The fleet: which agents exist, accounts.
    Fleet,
    /// One agent's.
    Agent(AgentName),
    /// Who commanded what.
    Audit,
}

/// A text that names no stream.
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

/// One person on two networks: a Discord user and a services account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tie {
    /// The id of the Discord user.
    pub user: String,
    /// The network of the account.
    pub network: NetworkName,
    /// The account.
    pub account: String,
}

impl Tie {
    /// Whether it is about that account. Services compare accounts without case.
    #[must_use]
    pub fn is_of(&self, network: &NetworkName, account: &str) -> bool {
        self.network == *network && self.account.eq_ignore_ascii_case(account)
    }
}

/// A recorded fact of the fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum FleetEvent {
    /// An agent was added, or added again after it was removed.
    AgentAdded {
        /// Which.
        agent: AgentName,
    },
    /// An agent was removed. As long as `bot.toml` names it, that does not bring it back.
    AgentRemoved {
        /// Which.
        agent: AgentName,
    },
    /// The section of an agent in `bot.toml`, as it was last read.
    Configured {
        /// The agent as the file has it.
        spec: Box<AgentSpec>,
    },
    /// An agent's section is gone from `bot.toml`.
    LeftOut {
        /// Which.
        agent: AgentName,
    },
    /// The costs of a removed agent are kept.
    BooksKept {
        /// Which.
        agent: AgentName,
        /// What it used.
        books: Box<Books>,
    },
    /// A shared cap is used in part, or reached.
    CapNear {
        /// The agents of which account; none: all.
        account: Option<AccountName>,
        /// What was warned of.
        warned: Warned,
    },
    /// A person let agents go on past a shared cap.
    CapWaived {
        /// The agents of which account; none: all.
        account: Option<AccountName>,
        /// What holds instead.
        waived: Waived,
    },
    /// An account's agents are paused.
    AccountBlocked {
        /// Which account.
        account: AccountName,
        /// Billing, auth or budget.
        category: Category,
        /// Whose failure showed it.
        agent: AgentName,
    },
    /// A person opened an account again.
    AccountOpened {
        /// Which account.
        account: AccountName,
        /// Who.
        by: Actor,
    },
    /// The usage limit of an account is reached, or still is: nothing of it begins.
    AccountExhausted {
        /// Which account.
        account: AccountName,
        /// Whose failure showed it.
        agent: AgentName,
        /// When the limit ends, if the runtime said so.
        resets_at: Option<Timestamp>,
        /// From when on one agent is let through.
        probe_at: Option<Timestamp>,
        /// When people are asked whether one is.
        ask_at: Option<Timestamp>,
    },
    /// People were asked whether an account goes on.
    AccountAsked {
        /// Which account.
        account: AccountName,
    },
    /// A person let one agent of a closed account through, which is to show whether it works.
    AccountTried {
        /// Which account.
        account: AccountName,
        /// Why it was closed.
        category: Category,
        /// Which agent goes first.
        agent: AgentName,
        /// Who.
        by: Actor,
    },
    /// An agent has shown that its account works: the others go on.
    AccountProved {
        /// Which account.
        account: AccountName,
        /// Which agent.
        agent: AgentName,
    },
    /// Something happened on the task board.
    Board {
        /// What.
        event: BoardEvent,
    },
    /// A supervisor panicked.
    SupervisorPanicked {
        /// Whose.
        agent: AgentName,
        /// The panic's message.
        message: String,
    },
    /// A person showed to be both a Discord user and the owner of a services account.
    Linked {
        /// Who they are on both.
        tie: Tie,
        /// What they are called on Discord.
        name: String,
        /// Who gave the code that proves it.
        by: Actor,
    },
    /// Such a tie was undone.
    Unlinked {
        /// Which.
        tie: Tie,
        /// By whom.
        by: Actor,
    },
    /// The wall clock was set: what is measured by its own length is moved along with it.
    ClockSet {
        /// By how many milliseconds; below zero: back.
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

/// Who commanded what: one accepted command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Who.
    pub by: Actor,
    /// Where: channel, `private` or `local`.
    pub place: String,
    /// The agent it was for, if one.
    #[serde(default)]
    pub agent: Option<AgentName>,
    /// The command's verb.
    pub verb: String,
    /// What was said, redacted and bounded.
    pub text: String,
}

/// One entry of any stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// Of an agent.
    Agent(Event),
    /// Of the fleet.
    Fleet(FleetEvent),
    /// Of the audit trail.
    Audit(AuditEntry),
}

/// An entry as it was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its place in the whole journal, counted from 1 without gaps.
    pub seq: u64,
    /// Its stream.
    pub stream: Stream,
    /// Its place in its stream, counted from 1 without gaps.
    pub rev: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub entry: Entry,
}
