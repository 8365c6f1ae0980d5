//! Calls of herder's tools that a runner has passed on, at the bot: each is carried out once, and its answer is kept
//! until the runner has it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::wire::{Returned, SessionKey};

/// A call of a tool by an agent on a runner, which has admitted the caller.
#[derive(Debug)]
pub struct Called {
    /// The session.
    pub of: SessionKey,
    /// Number of the call, for its answer.
    pub call: u64,
    /// Name of the tool.
    pub tool: String,
    /// Arguments of the call, by name.
    pub arguments: Map<String, Value>,
    /// Cancelled when nobody waits for the answer any more.
    pub gone: CancellationToken,
}

/// The calls that are not over.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    calls: BTreeMap<(SessionKey, u64), Call>,
    /// Calls whose answer the runner is to be told.
    untold: BTreeSet<(SessionKey, u64)>,
}

#[derive(Debug, Default)]
struct Call {
    gone: CancellationToken,
    returned: Option<Returned>,
}

impl UnderWay {
    /// Returns true if there are so many calls.
    pub(super) fn are_full(&self, most: usize) -> bool {
        self.calls.len() >= most
    }

    /// Begins a call. `None` if it has begun already; if it has its answer, that is told again.
    pub(super) fn begin(&mut self, of: SessionKey, call: u64) -> Option<CancellationToken> {
        let key = (of, call);
        if let Some(known) = self.calls.get(&key) {
            if known.returned.is_some() {
                self.untold.insert(key);
            }
            return None;
        }
        let begun = Call::default();
        let gone = begun.gone.clone();
        self.calls.insert(key, begun);
        Some(gone)
    }

    /// Keeps the answer to a call; returns false if the call is over.
    pub(super) fn answer(&mut self, of: SessionKey, call: u64, returned: Returned) -> bool {
        let key = (of, call);
        let Some(known) = self.calls.get_mut(&key) else { return false };
        known.returned = Some(returned);
        self.untold.insert(key);
        true
    }

    /// Ends a call.
    pub(super) fn over(&mut self, of: SessionKey, call: u64) {
        let key = (of, call);
        self.untold.remove(&key);
        if let Some(known) = self.calls.remove(&key) {
            known.gone.cancel();
        }
    }

    /// Ends all calls of a session, or all of the runner.
    pub(super) fn all_over(&mut self, of: Option<&SessionKey>) {
        let is_over = |(session, _): &(SessionKey, u64)| of.is_none_or(|of| of == session);
        self.untold.retain(|key| !is_over(key));
        self.calls.retain(|key, call| {
            if is_over(key) {
                call.gone.cancel();
            }
            !is_over(key)
        });
    }

    /// Takes the answers that the runner is to be told.
    pub(super) fn take_untold(&mut self) -> Vec<(SessionKey, u64, Returned)> {
        let untold = std::mem::take(&mut self.untold).into_iter();
        untold
            .filter_map(|(of, call)| {
                let returned = self.calls.get(&(of.clone(), call))?.returned.clone()?;
                Some((of, call, returned))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::id::{AgentName, SessionId};

    #[test]
    fn a_call_that_comes_again_is_carried_out_once_and_answered_again() {
        let of = SessionKey { agent: AgentName::new("spark").expect("a good name"), session: SessionId(1) };
        let mut calls = UnderWay::default();
        let gone = calls.begin(of.clone(), 1).expect("it is new");
        assert!(calls.begin(of.clone(), 1).is_none() && calls.take_untold().is_empty());
        assert!(calls.answer(of.clone(), 1, Returned::refused("no")));
        assert_eq!(calls.take_untold().len(), 1);
        assert_eq!(calls.take_untold(), [], "it is told once on a connection");
        assert!(calls.begin(of.clone(), 1).is_none());
        assert_eq!(calls.take_untold(), [(of.clone(), 1, Returned::refused("no"))]);
        calls.over(of.clone(), 1);
        assert!(gone.is_cancelled());
        assert!(!calls.answer(of.clone(), 1, Returned::refused("late")));
        assert_eq!(calls.take_untold(), []);
        let other = calls.begin(of.clone(), 2).expect("it is new");
        calls.all_over(Some(&of));
        assert!(other.is_cancelled());
    }
}
