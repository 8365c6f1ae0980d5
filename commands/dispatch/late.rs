//! Lines that take long: whoever said one is told so, and answered later.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use tokio::sync::oneshot;
use tracing::{error, warn};

use super::{Dispatcher, FAULT, Inner, answer_goes_to};
use crate::chat::{Inbound, notes_lines_with_answers};
use crate::clock;
use crate::core::id::{NetworkName, PostId};
use crate::core::time::Timestamp;
use crate::journal::{Batch, Heard};
use crate::outbox::{Body, Lane, Post};

/// Lines that take longer and are waited for all the same. What hangs must not pile up.
pub(super) const LATE_MAX: usize = 64;

/// Lines that took longer and are known: all that do still, and as many of the last ones that are over.
const KNOWN_MAX: usize = 2 * LATE_MAX;

/// Resolves when a line that takes longer is over. What became of it is on disk then, and its answer in the outbox; but to a
/// network that notes its lines with their answers it gives what is to be said and must not be kept for the next herder.
pub type Over = Shared<oneshot::Receiver<Vec<String>>>;

/// What a line came to.
#[derive(Debug)]
pub enum Handled {
    /// Nothing is to be said, or the answer is already in the outbox.
    Silently,
    /// This is to be said where the line was.
    Lines(Vec<String>),
    /// The same, of a line that only looked: whoever does not get it asks again.
    Looked(Vec<String>),
    /// The same, and it is worth nothing once this herder is gone: it is not to be kept for the next one.
    Fleeting(Vec<String>),
    /// It takes longer.
    Late {
        /// What is to be said of that; `None`: it was said when the line came before. It is no answer.
        told: Option<String>,
        /// When it is over.
        over: Over,
    },
}

impl Handled {
    /// What is to be said now.
    #[must_use]
    pub fn said(self) -> Option<Vec<String>> {
        match self {
            Self::Silently => None,
            Self::Lines(lines) | Self::Looked(lines) | Self::Fleeting(lines) => Some(lines),
            Self::Late { told, over: _ } => told.map(|told| vec![told]),
        }
    }
}

/// A line that is being worked on.
pub(super) type Handling = Pin<Box<dyn Future<Output = Handled> + Send>>;

/// Lines that take longer, by their networks and ids, the oldest first. Whoever brought one can be gone before it is over, and
/// bring it again: it is done once. What is over stays known for a while, because what became of it may have been looked up
/// just before it was on disk.
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
    /// A line that comes again while it is in hand.
    pub(super) fn in_hand(&self, inbound: &Inbound) -> Option<Handled> {
        let message = inbound.message.as_deref()?;
        let in_hand = self.inner.in_hand.lock().unwrap_or_else(PoisonError::into_inner);
        let over = in_hand.find(&inbound.author.network, message)?;
        Some(Handled::Late { told: None, over })
    }

    /// Goes on with a line that takes longer. Nobody waits for it when herder ends.
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
            // Not every network wants to know.
            let _ = done.send(inner.answer_late(&inbound, handled).await);
            // It is known to be over, also if nobody waits for it.
            let _ = known.now_or_never();
        });
        Handled::Late { told: Some(voice.text("cmd-still-working", &[])), over }
    }
}

impl Inner {
    /// Says what a line came to that took long: through the outbox, because whoever brought it there waits no more. Answers
    /// what is left to be said: see [`Over`].
    async fn answer_late(&self, inbound: &Inbound, handled: Handled) -> Vec<String> {
        let body = match handled {
            Handled::Fleeting(lines) if notes_lines_with_answers(&inbound.author.network) => return lines,
            Handled::Fleeting(lines) => Body::Lines(lines),
            Handled::Lines(lines) | Handled::Looked(lines) => Body::Kept(lines),
            Handled::Silently | Handled::Late { .. } => return Vec::new(),
        };
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
