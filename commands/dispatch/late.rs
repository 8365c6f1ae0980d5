//! Lines that take long: whoever said one is told so, and answered later.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::oneshot;
use tracing::{error, warn};

use super::{Dispatcher, FAULT, Inner, answer_goes_to};
use crate::chat::{Inbound, notes_lines_with_answers};
use crate::clock;
use crate::core::id::PostId;
use crate::core::time::Timestamp;
use crate::journal::{Batch, Heard};
use crate::outbox::{Body, Lane, Post};

/// Lines that take longer and are waited for all the same. What hangs must not pile up.
pub(super) const LATE_MAX: usize = 64;

/// What a line came to.
#[derive(Debug)]
pub enum Handled {
    /// Nothing is to be said, or the answer is already in the outbox.
    Silently,
    /// This is to be said where the line was.
    Lines(Vec<String>),
    /// The same, and it is worth nothing once this herder is gone: it is not to be kept for the next one.
    Fleeting(Vec<String>),
    /// It takes longer.
    Late {
        /// What is to be said of that. It is no answer.
        told: String,
        /// Resolves when it is over: what became of it is on disk, and its answer in the outbox.
        over: oneshot::Receiver<()>,
    },
}

impl Handled {
    /// What is to be said now.
    #[must_use]
    pub fn said(self) -> Option<Vec<String>> {
        match self {
            Self::Silently => None,
            Self::Lines(lines) | Self::Fleeting(lines) => Some(lines),
            Self::Late { told, over: _ } => Some(vec![told]),
        }
    }
}

/// A line that is being worked on.
pub(super) type Handling = Pin<Box<dyn Future<Output = Handled> + Send>>;

impl Dispatcher {
    /// Goes on with a line that takes longer. Nobody waits for it when herder ends.
    pub(super) fn go_on(&self, inbound: Inbound, now: Timestamp, handling: Handling) -> Handled {
        let inner = &self.inner;
        let voice = inner.voice(inner.default_locale(), now);
        let (network, nick) = (inbound.author.network.as_str(), inbound.author.nick.as_str());
        let Ok(place) = Arc::clone(&inner.late).try_acquire_owned() else {
            error!(network, nick, "a line takes too long, as many others do, and is waited for no longer");
            return Handled::Lines(vec![voice.text("cmd-given-up", &[])]);
        };
        warn!(network, nick, "a line takes long");
        let inner = Arc::clone(inner);
        let (done, over) = oneshot::channel();
        self.inner.tasks.spawn(async move {
            let handled = AssertUnwindSafe(handling).catch_unwind().await.unwrap_or_else(|_| {
                error!("a line that took long made the dispatcher panic");
                Handled::Lines(vec![FAULT.to_owned()])
            });
            drop(place);
            if let Some(lines) = handled.said() {
                inner.answer_late(&inbound, lines).await;
            }
            // Not every network wants to know.
            let _ = done.send(());
        });
        Handled::Late { told: voice.text("cmd-still-working", &[]), over }
    }
}

impl Inner {
    /// Says what a line came to that took long: through the outbox, because whoever brought it there waits no more.
    async fn answer_late(&self, inbound: &Inbound, lines: Vec<String>) {
        let (place, to) = answer_goes_to(inbound, &self.room(inbound));
        let network = &inbound.author.network;
        // A network that notes its lines with their answers must not hear one again that is answered.
        let message = inbound.message.as_deref().filter(|_| notes_lines_with_answers(network));
        let heard = Heard { agent: None, work: None, place: Some(place) };
        let memos = message.map(|message| heard.memo(network, message)).into_iter().collect();
        let post = Post {
            id: PostId::default(),
            network: network.clone(),
            to,
            lane: Lane::Urgent,
            at: clock::now(),
            body: Body::Kept(lines),
            answers: Some(inbound.author.nick.clone()),
            quotes: inbound.message.clone(),
            confirmed_lines: 0,
        };
        let batch = Batch { at: clock::now(), posts: vec![post], memos, ..Batch::default() };
        if let Err(reason) = self.journal.commit(batch).await {
            warn!(%reason, "a late answer could not be posted");
        }
    }
}
