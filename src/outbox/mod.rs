//! Posts on their way out: at least once, in order per channel, an urgent lane for alerts and answers.
//!
//! A [`Post`] is committed in the same transaction as the decision that owes it, as a typed notice or the agent's own words.
//! The journal hands it to the [`NetworkQueue`] of its network; [`Outbox`] connects the two. When its turn comes it is
//! rendered ([`render`]: locale text, [`clean`], [`redact`], [`markup`], [`split`]), handed to the network's task in windows,
//! and confirmed. A confirmed window is recorded in the journal before the next one is sent, so that a killed herder repeats
//! at most one window; posts that are still owed when herder starts are loaded again.
//!
//! How lines are paced and how a network proves that it has them lives with the network, e.g. `crate::chat::irc`.

pub mod absent;
mod backlog;
pub mod clean;
pub mod discord;
mod lane;
pub mod markup;
pub mod queue;
pub mod redact;
pub mod render;
mod shelf;
pub mod split;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use serde::{Deserialize, Serialize};

use crate::core::hook::Hook;
use crate::core::id::{AgentName, NetworkName, PostId};
use crate::core::notice::{Notice, Refusal};
use crate::core::time::Timestamp;
use crate::journal::{Journal, PostSink, ReadError, Settled};

pub use backlog::{BACKLOG_KEPT, BACKLOG_LINES};
pub use discord::Attachment;
pub use lane::Line;
pub use markup::Markup;
pub use queue::{Ledger, NetworkQueue, Noted, Window};
pub use redact::Redactor;
pub use render::Renderer;

/// Where a post goes on its network.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The agent's channel.
    Agent(AgentName),
    /// The alerts channel.
    Alerts,
    /// The work channel.
    Work,
    /// The control channel.
    Control,
    /// A channel by its name on the network: where a command was given.
    Channel(String),
    /// A person, in private.
    Person(String),
}

/// Which posts overtake which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// Alerts and answers.
    Urgent,
    /// Everything else.
    Normal,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// herder speaks.
    Notice(Notice),
    /// herder refuses, in answer to a command.
    Refusal(Refusal),
    /// The agent speaks: markup, ANSI and mentions are made harmless, code is kept readable.
    Agent {
        /// Which agent.
        agent: AgentName,
        /// Its words.
        text: String,
        /// Whether they are what came of its work, and not what it said on the way.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_result: bool,
    },
    /// What an agent says by its tools, wherever it may: every line of it is marked as that agent's.
    Said {
        /// Which agent.
        agent: AgentName,
        /// Its words.
        text: String,
    },
    /// What a program is told: one line, whatever its length. See [`crate::webhook`].
    Hook(Box<Hook>),
    /// Lines that are already in the reader's language; never stored.
    Lines(Vec<String>),
    /// The same, in answer to what only looks: on IRC the server is not asked whether it has them.
    Looked(Vec<String>),
    /// Such lines, where it is on disk that what they answer was answered: stored, so that it is given after a restart as well.
    Kept(Vec<String>),
}

/// A post that is owed to a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Post {
    /// Its place in the order of commits. Zero: not stored (answers to read-only commands).
    pub id: PostId,
    /// The network.
    pub network: NetworkName,
    /// Where on it.
    pub to: Target,
    /// Its lane.
    pub lane: Lane,
    /// When it was decided.
    pub at: Timestamp,
    /// What it says.
    pub body: Body,
    /// Whom it answers, by nick: the first line is addressed to them.
    #[serde(default)]
    pub answers: Option<String>,
    /// What the network calls the line that it answers, where lines have ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotes: Option<String>,
    /// Lines of it that were already confirmed before herder was restarted.
    #[serde(default)]
    pub confirmed_lines: u32,
}

/// The queues of all configured networks.
#[derive(Debug)]
pub struct Outbox {
    queues: HashMap<NetworkName, Arc<NetworkQueue>>,
}

impl Outbox {
    /// Queues for `networks`, with nothing in them; deliveries are recorded in `ledger`. More lines than `backlog` for one
    /// channel are collapsed.
    #[must_use]
    pub fn new(networks: Vec<(NetworkName, Renderer)>, backlog: u32, ledger: &Arc<dyn Ledger>) -> Self {
        let queue = |(network, renderer): (NetworkName, Renderer)| {
            let queue =
                NetworkQueue::new(network.clone(), renderer, Arc::clone(ledger)).with_backlog(backlog);
            (network, Arc::new(queue))
        };
        Self { queues: networks.into_iter().map(queue).collect() }
    }

    /// Queues for `networks` with what is still owed to them, fed by `journal` from now on. Blocks; call it before anything
    /// commits.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn open(
        journal: &Journal,
        networks: Vec<(NetworkName, Renderer)>,
        backlog: u32,
    ) -> Result<Arc<Self>, ReadError> {
        let ledger: Arc<dyn Ledger> = Arc::new(journal.clone());
        let outbox = Arc::new(Self::new(networks, backlog, &ledger));
        for (network, queue) in &outbox.queues {
            journal.undelivered(network)?.into_iter().for_each(|post| queue.push(post));
        }
        let queues = outbox.queues.iter().map(|(network, queue)| (network.clone(), Arc::downgrade(queue)));
        journal.deliver_to(Arc::new(Feed(queues.collect())));
        Ok(outbox)
    }

    /// The queue of a network.
    #[must_use]
    pub fn queue(&self, network: &NetworkName) -> Option<&Arc<NetworkQueue>> {
        self.queues.get(network)
    }

    /// All queues. Who keeps a queue gets its posts, with or without the outbox.
    pub fn queues(&self) -> impl Iterator<Item = &Arc<NetworkQueue>> {
        self.queues.values()
    }
}

/// The journal's way to the queues. They hold the journal to record deliveries, so the journal must not hold them, or neither
/// would ever be closed.
struct Feed(HashMap<NetworkName, Weak<NetworkQueue>>);

impl PostSink for Feed {
    fn accept(&self, posts: Vec<Post>) {
        for post in posts {
            match self.0.get(&post.network).and_then(Weak::upgrade) {
                Some(queue) => queue.push(post),
                // It stays owed in the journal, for the day its network is configured again (see `absent`).
                None => {
                    tracing::debug!(network = %post.network, post = %post.id, "no such network is configured")
                }
            }
        }
    }
}

impl Ledger for Journal {
    fn record(&self, settled: Vec<Settled>) -> Noted<'_> {
        Box::pin(async move { self.settle(settled).await.map_err(|error| error.to_string()) })
    }

    fn record_soon(&self, settled: Vec<Settled>) -> Noted<'_> {
        Box::pin(async move { self.settle_soon(settled).await.map_err(|error| error.to_string()) })
    }

    fn hurry(&self) {
        self.store_waiting();
    }

    fn alerts(&self, network: &NetworkName, after: PostId, most: usize) -> Noted<'_, Vec<Post>> {
        let network = network.clone();
        Box::pin(async move {
            let read =
                move |journal: &Self| journal.undelivered_after(&network, &Target::Alerts, after, most);
            let read = self.reading(read).await.map_err(|error| error.to_string())?;
            read.map_err(|error| error.to_string())
        })
    }
}
