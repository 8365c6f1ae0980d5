//! Lines that take long: their authors are told so, and answered later.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use tokio::sync::oneshot;
use tracing::{error, warn};

use super::{Dispatcher, FAULT, Inner, answer_goes_to};
use crate::clock;
use crate::core::id::{NetworkName, PostId};
use crate::core::link::notes_lines_with_answers;
use crate::core::post::{Body, Lane, Post};
use crate::core::speech::Inbound;
use crate::core::time::Timestamp;
use crate::journal::{Batch, Heard};

/// Maximum number of lines that take longer and are still waited for, so that hanging ones do not pile up.
pub(super) const LATE_MAX: usize = 64;

/// Maximum number of lines that took longer and are known: all unfinished ones, and the last finished ones.
const KNOWN_MAX: usize = 2 * LATE_MAX;

/// Future that resolves when a line that takes longer is finished. Its result is on disk then and its reply in the
/// outbox; the future returns only a reply that must not be stored, for a network that stores lines with their replies.
pub type Over = Shared<oneshot::Receiver<Vec<String>>>;

/// The result of handling a line.
#[derive(Debug)]
pub enum Handled {
    /// There is no reply, or it is in the outbox already.
    Silently,
    /// The reply, to be sent to the place of the line.
    Lines(Vec<String>),
    /// The reply to a line that only read something; if it is lost, the author can ask again.
    Looked(Vec<String>),
    /// The reply that is of no use after a restart of herder, and is not stored.
    Fleeting(Vec<String>),
    /// The line takes longer than `PATIENCE`; its reply follows later.
    Late {
        /// The remark that it takes longer, to be sent now; `None` if it was sent when the same line arrived before.
        told: Option<String>,
        /// Future that resolves when the line is finished.
        over: Over,
    },
}

impl Handled {
    /// Returns the lines to send now; `None` if there are none.
    #[must_use]
    pub fn said(self) -> Option<Vec<String>> {
        match self {
            Self::Silently => None,
            Self::Lines(lines) | Self::Looked(lines) | Self::Fleeting(lines) => Some(lines),
            Self::Late { told, over: _ } => told.map(|told| vec![told]),
        }
    }
}

/// The future of a line that is being handled.
pub(super) type Handling = Pin<Box<dyn Future<Output = Handled> + Send>>;

/// Lines that take longer, by network and message id, oldest first. A network that delivers such a line again, e.g.
/// after a reconnection, gets the same result. Finished lines stay known for a while.
#[derive(Default)]
pub(super) struct InHand(VecDeque<((NetworkName, String), Over)>);

impl InHand {
    fn take(&mut self, line: (NetworkName, String), over: Over) {
        self.0.push_back((line, over));
        if self.0.len() > KNOWN_MAX
            && let Some(oldest) = self.0.iter().position(|(_, over)| over.peek().is_some())
        {
            self.0.remove(oldest);
        }
    }

    fn find(&self, network: &NetworkName, message: &str) -> Option<Over> {
        let found = self.0.iter().rev().find(|((of, id), _)| of == network && id == message);
        found.map(|(_, over)| over.clone())
    }
}

impl Dispatcher {
    /// Returns the pending result of a line that is delivered again while it is being handled; else `None`.
    pub(super) fn in_hand(&self, inbound: &Inbound) -> Option<Handled> {
        let message = inbound.message.as_deref()?;
        let in_hand = self.inner.in_hand.lock().unwrap_or_else(PoisonError::into_inner);
        let over = in_hand.find(&inbound.author.network, message)?;
        Some(Handled::Late { told: None, over })
    }

    /// Continues a line that takes longer in a task of its own, which is not waited for when herder ends.
    pub(super) fn go_on(&self, inbound: Inbound, now: Timestamp, handling: Handling) -> Handled {
        let inner = &self.inner;
        let voice = inner.voice(inner.locale_on(&inbound.author.network), now);
        let (network, nick) = (inbound.author.network.as_str(), inbound.author.nick.as_str());
        let Ok(place) = Arc::clone(&inner.late).try_acquire_owned() else {
            error!(network, nick, "a line takes too long, as many others do, and is waited for no longer");
            return Handled::Lines(vec![voice.text("cmd-given-up", &[])]);
        };
        warn!(network, nick, "a line takes long");
        let inner = Arc::clone(inner);
        let (done, over) = oneshot::channel();
        let over = over.shared();
        if let Some(message) = inbound.message.clone() {
            let line = (inbound.author.network.clone(), message);
            inner.in_hand.lock().unwrap_or_else(PoisonError::into_inner).take(line, over.clone());
        }
        let known = over.clone();
        self.inner.tasks.spawn(async move {
            let handled = AssertUnwindSafe(handling).catch_unwind().await.unwrap_or_else(|_| {
                error!("a line that took long made the dispatcher panic");
                Handled::Lines(vec![FAULT.to_owned()])
            });
            drop(place);
            // Not every network waits for it.
            let _ = done.send(inner.answer_late(&inbound, handled).await);
            // This marks it as finished, even if no caller waits for it.
            let _ = known.now_or_never();
        });
        Handled::Late { told: Some(voice.text("cmd-still-working", &[])), over }
    }
}

impl Inner {
    /// Posts the reply to a line that took long through the outbox, because its adapter does not wait any more. Returns
    /// the lines that are still to be sent: see [`Over`].
    async fn answer_late(&self, inbound: &Inbound, handled: Handled) -> Vec<String> {
        let body = match handled {
            Handled::Fleeting(lines) if notes_lines_with_answers(&inbound.author.network) => return lines,
            Handled::Fleeting(lines) => Body::Lines(lines),
            Handled::Lines(lines) | Handled::Looked(lines) => Body::Kept(lines),
            Handled::Silently | Handled::Late { .. } => return Vec::new(),
        };
        let (place, to) = answer_goes_to(inbound, &self.room(inbound));
        let network = &inbound.author.network;
        // A network that notes its lines with their replies must not deliver an answered one again.
        let message = inbound.message.as_deref().filter(|_| notes_lines_with_answers(network));
        let heard = Heard { agent: None, work: None, place: Some(place) };
        let memos = message.map(|message| heard.memo(network, message)).into_iter().collect();
        let post = Post {
            id: PostId::default(),
            network: network.clone(),
            to,
            lane: Lane::Urgent,
            at: clock::now(),
            body,
            answers: Some(inbound.author.nick.clone()),
            quotes: inbound.message.clone(),
            confirmed_lines: 0,
        };
        let batch = Batch { at: clock::now(), posts: vec![post], memos, ..Batch::default() };
        if let Err(reason) = self.journal.commit(batch).await {
            warn!(%reason, "a late answer could not be posted");
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_lines_that_are_over_the_oldest_are_forgotten_and_of_the_others_none() {
        let mut in_hand = InHand::default();
        let network = NetworkName::from("discord");
        let line = |number: usize| (network.clone(), number.to_string());
        let (_held, first) = oneshot::channel();
        in_hand.take(line(0), first.shared());
        for number in 1..=2 * KNOWN_MAX {
            let (done, over) = oneshot::channel();
            let over = over.shared();
            in_hand.take(line(number), over.clone());
            done.send(Vec::new()).expect("it is waited for");
            let _ = over.now_or_never();
        }
        assert_eq!(in_hand.0.len(), KNOWN_MAX);
        let knows = |number: usize| in_hand.find(&network, &number.to_string()).is_some();
        assert!(knows(0) && !knows(1) && knows(2 * KNOWN_MAX));
        assert!(in_hand.find(&NetworkName::from("net"), "0").is_none());
    }
}
