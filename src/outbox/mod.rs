//! Outgoing posts: delivered at least once, in order per channel, with an urgent lane for alerts and answers.
//!
//! A [`Post`] is committed in the same transaction as the decision that causes it, as a typed notice or the agent's
//! own text. The journal passes it to the [`NetworkQueue`] of its network; [`Outbox`] connects the two. It is
//! rendered at its turn ([`render`]: locale text, [`clean`](mod@crate::core::clean), [`redact`](crate::redact),
//! [`markup`], [`split`]), passed to the
//! network's task in windows, and confirmed. A confirmed window is recorded in the journal before the next one is
//! sent, so that a killed herder repeats at most one window; pending posts are loaded again at the start.
//!
//! Each network has its own pacing and proof of delivery, e.g. in `crate::chat::irc`.

pub mod absent;
mod backlog;
pub mod discord;
mod lane;
pub mod markup;
mod owed;
pub mod queue;
pub mod render;
mod shelf;
pub mod split;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::core::id::{NetworkName, PostId};
use crate::core::post::{Post, Target};
use crate::journal::{Journal, PostSink, ReadError, Settled};

pub use backlog::{BACKLOG_KEPT, BACKLOG_LINES};
pub use discord::Attachment;
pub use lane::Line;
pub use markup::Markup;
pub use owed::OwedNumbers;
pub use queue::{Ledger, NetworkQueue, Noted, Window};
pub use render::Renderer;

/// The queues of pending posts of all configured networks.
#[derive(Debug)]
pub struct Outbox {
    queues: HashMap<NetworkName, Arc<NetworkQueue>>,
}

impl Outbox {
    /// Creates empty queues for `networks`; `ledger` records deliveries. A target with more than `backlog` pending
    /// lines is shortened.
    #[must_use]
    pub fn new(networks: Vec<(NetworkName, Renderer)>, backlog: u32, ledger: &Arc<dyn Ledger>) -> Self {
        let queue = |(network, renderer): (NetworkName, Renderer)| {
            let queue =
                NetworkQueue::new(network.clone(), renderer, Arc::clone(ledger)).with_backlog(backlog);
            (network, Arc::new(queue))
        };
        Self { queues: networks.into_iter().map(queue).collect() }
    }

    /// Creates queues for `networks`, filled with the pending posts of earlier runs, to which `journal` passes all new
    /// posts. Blocks; has to be called before the first commit.
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

    /// Returns the queue of pending posts of a network; `None` if the network is not configured.
    #[must_use]
    pub fn queue(&self, network: &NetworkName) -> Option<&Arc<NetworkQueue>> {
        self.queues.get(network)
    }

    /// Returns all queues. A queue receives its posts as long as it exists, also without the outbox.
    pub fn queues(&self) -> impl Iterator<Item = &Arc<NetworkQueue>> {
        self.queues.values()
    }
}

/// The journal's references to the queues of the networks. They are weak because the queues hold the journal to record
/// deliveries: otherwise neither would ever be closed.
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
