//! Lines that take long: whoever said one is told so, and answered later.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tracing::{error, warn};

use super::{Dispatcher, FAULT, Inner, answer_goes_to};
use crate::chat::Inbound;
use crate::clock;
use crate::core::id::PostId;
use crate::core::time::Timestamp;
use crate::journal::Batch;
use crate::outbox::{Body, Lane, Post};

/// Lines that take longer and are waited for all the same. What hangs must not pile up.
pub(super) const LATE_MAX: usize = 64;

/// A line that is being worked on.
pub(super) type Handling = Pin<Box<dyn Future<Output = Option<Vec<String>>> + Send>>;

impl Dispatcher {
    /// Goes on with a line that takes longer. Answers what is said of that. Nobody waits for it when herder ends.
    pub(super) fn go_on(&self, inbound: Inbound, now: Timestamp, handling: Handling) -> String {
        let inner = &self.inner;
        let voice = inner.voice(inner.default_locale(), now);
        let (network, nick) = (inbound.author.network.as_str(), inbound.author.nick.as_str());
        let Ok(place) = Arc::clone(&inner.late).try_acquire_owned() else {
            error!(network, nick, "a line takes too long, as many others do, and is waited for no longer");
            return voice.text("cmd-given-up", &[]);
        };
        warn!(network, nick, "a line takes long");
        let inner = Arc::clone(inner);
        self.inner.tasks.spawn(async move {
            let answer = AssertUnwindSafe(handling).catch_unwind().await.unwrap_or_else(|_| {
                error!("a line that took long made the dispatcher panic");
                Some(vec![FAULT.to_owned()])
            });
            drop(place);
            if let Some(lines) = answer {
                inner.answer_late(&inbound, lines).await;
            }
        });
        voice.text("cmd-still-working", &[])
    }
}

impl Inner {
    /// Says what a line came to that took long: through the outbox, because whoever brought it there waits no more.
    async fn answer_late(&self, inbound: &Inbound, lines: Vec<String>) {
        let to = answer_goes_to(inbound, &self.room(inbound)).1;
        let post = Post {
            id: PostId::default(),
            network: inbound.author.network.clone(),
            to,
            lane: Lane::Urgent,
            at: clock::now(),
            body: Body::Kept(lines),
            answers: Some(inbound.author.nick.clone()),
            quotes: inbound.message.clone(),
            confirmed_lines: 0,
        };
        let batch = Batch { at: clock::now(), posts: vec![post], ..Batch::default() };
        if let Err(reason) = self.journal.commit(batch).await {
            warn!(%reason, "a late answer could not be posted");
        }
    }
}
