//! Outgoing posts: delivered at least once, in order per channel, with an urgent lane for alerts and answers.
//!
//! A [`Post`] is committed in the same transaction as the decision that causes it, as a typed notice or the agent's
//! own text. The journal passes it to the [`NetworkQueue`] of its network; [`Outbox`] connects the two. It is
//! rendered at its turn ([`render`]: locale text, [`clean`], [`redact`], [`markup`], [`split`]), passed to the
//! network's task in windows, and confirmed. A confirmed window is recorded in the journal before the next one is
//! sent, so that a killed herder repeats at most one window; pending posts are loaded again at the start.
//!
//! Each network has its own pacing and proof of delivery, e.g. in `crate::chat::irc`.

pub mod absent;
mod backlog;
pub mod clean;
pub mod discord;
mod lane;
pub mod markup;
mod owed;
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
pub use owed::OwedNumbers;
pub use queue::{Ledger, NetworkQueue, Noted, Window};
pub use redact::Redactor;
pub use render::Renderer;

/// The target of a post on its network.
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
    /// A channel by its name on the network, e.g. the one in which a command was given.
    Channel(String),
    /// A person, in private.
    Person(String),
}

/// The priority of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// Alerts and answers, which overtake the others.
    Urgent,
    /// Everything else.
    Normal,
}

/// The content of a post.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// A notice of herder's.
    Notice(Notice),
    /// A refusal by herder, in answer to a command.
    Refusal(Refusal),
    /// An agent's text: markup, ANSI and mentions are made harmless, code is kept readable.
    Agent {
        /// The agent.
        agent: AgentName,
        /// Its text.
        text: String,
        /// True if it is the result of the agent's task, false if it is an intermediate message.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_result: bool,
    },
    /// A message that an agent sends by its tools to any channel it may: every line is marked as that agent's.
    Said {
        /// The agent.
        agent: AgentName,
        /// Its text.
        text: String,
    },
    /// A message to a program: one line of any length. See [`crate::webhook`].
    Hook(Box<Hook>),
    /// Lines that are already in the reader's language; never stored.
    Lines(Vec<String>),
    /// Such lines in answer to a look-up: on IRC they are not confirmed by the server.
    Looked(Vec<String>),
    /// Such lines in answer to a line that is recorded as answered: stored, so that they are sent after a restart as well.
    Kept(Vec<String>),
}

/// A pending post of a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Post {
    /// Its position in the order of commits; zero if not stored (answers to read-only commands).
    pub id: PostId,
    /// The network.
    pub network: NetworkName,
    /// The target on the network.
    pub to: Target,
    /// Its lane.
    pub lane: Lane,
    /// The time of the decision that caused it.
    pub at: Timestamp,
    /// Its content.
    pub body: Body,
    /// The nick of the person it answers: the first line is addressed to them.
    #[serde(default)]
    pub answers: Option<String>,
    /// The network's id of the line that it answers, where lines have ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotes: Option<String>,
    /// Number of lines confirmed before herder was restarted.
    #[serde(default)]
    pub confirmed_lines: u32,
}

/// The queues of all configured networks.
#[derive(Debug)]
pub struct Outbox {
    queues: HashMap<NetworkName, Arc<NetworkQueue>>,
}

impl Outbox {
    /// Creates empty queues for `networks`; `ledger` records deliveries. A channel with more than `backlog` lines is collapsed.
    #[must_use]
    pub fn new(networks: Vec<(NetworkName, Renderer)>, backlog: u32, ledger: &Arc<dyn Ledger>) -> Self {
        let queue = |(network, renderer): (NetworkName, Renderer)| {
            let queue =
                NetworkQueue::new(network.clone(), renderer, Arc::clone(ledger)).with_backlog(backlog);
            (network, Arc::new(queue))
        };
        Self { queues: networks.into_iter().map(queue).collect() }
    }

    /// Creates queues for `networks` with their pending posts, fed by `journal` from now on. Blocks; has to be called
    /// before the first commit.
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

    /// Returns the queue of a network.
    #[must_use]
    pub fn queue(&self, network: &NetworkName) -> Option<&Arc<NetworkQueue>> {
        self.queues.get(network)
    }

    /// Returns all queues. A queue receives its posts as long as it exists, also without the outbox.
    pub fn queues(&self) -> impl Iterator<Item = &Arc<NetworkQueue>> {
        self.queues.values()
    }
}

/// The journal's references to the queues. They are weak because the queues hold the journal to record deliveries:
/// otherwise neither would ever be closed.
struct Feed(HashMap<NetworkName, Weak<NetworkQueue>>);

impl PostSink for Feed {
    fn accept(&self, posts: Vec<Post>) {
        for post in posts {
            match self.0.get(&post.network).and_then(Weak::upgrade) {
                Some(queue) => queue.push(post),
                // The post stays pending in the journal until its network is configured again (see `absent`).
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
