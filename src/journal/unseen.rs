//! Stored events of agents that their supervisors have not published yet. A post is sent as soon as it is stored, so
//! that a person who reads it may ask for the agent's state before its view has changed.

use std::collections::HashMap;

use tokio::sync::watch;

use super::layout::Head;
use super::{Journal, Stream};
use crate::core::id::AgentName;

/// The last stored revision of each agent whose view does not show it yet. A supervisor updates its agent's view before
/// it stores again.
#[derive(Debug, Default)]
pub(super) struct Unseen(watch::Sender<HashMap<AgentName, u64>>);

impl Unseen {
    /// Records that streams ended at `before` and end at `heads` now. Call it before the commit is acknowledged.
    pub(super) fn stored(&self, heads: &HashMap<Stream, Head>, before: &HashMap<Stream, Head>) {
        let agents = heads.iter().filter_map(|(stream, head)| match stream {
            Stream::Agent(agent) if before.get(stream).is_none_or(|before| before.rev < head.rev) => {
                Some((agent.clone(), head.rev))
            }
            _ => None,
        });
        self.0.send_if_modified(|unseen| {
            unseen.extend(agents);
            false
        });
    }

    /// Records that an agent's view shows its stream up to revision `rev`; `None` if the agent has no view any more.
    pub(super) fn seen(&self, agent: &AgentName, rev: Option<u64>) {
        self.0.send_if_modified(|unseen| {
            let is_seen = unseen.get(agent).is_some_and(|stored| rev.is_none_or(|rev| *stored <= rev));
            is_seen && unseen.remove(agent).is_some()
        });
    }

    /// Waits until the views show everything that is stored now.
    pub(super) async fn nothing(&self) {
        let mut shown = self.0.subscribe();
        let stored = shown.borrow_and_update().clone();
        let all = |unseen: &HashMap<AgentName, u64>| {
            stored.iter().all(|(agent, rev)| unseen.get(agent).is_none_or(|later| later > rev))
        };
        // The sender belongs to this value, and so lives as long as any waiter.
        let _ = shown.wait_for(all).await;
    }
}

impl Journal {
    /// Records that an agent's view shows the revision `rev` of its stream; `None` if the agent has no view any more.
    pub fn seen(&self, agent: &AgentName, rev: Option<u64>) {
        self.shown().unseen.seen(agent, rev);
    }

    /// Waits until the agents' views show everything stored now.
    pub async fn all_seen(&self) {
        self.shown().unseen.nothing().await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn agent(name: &str) -> AgentName {
        AgentName::new(name).expect("a good name")
    }

    fn heads(revs: &[(&str, u64)]) -> HashMap<Stream, Head> {
        let head = |rev| Head { rev, ..Head::default() };
        revs.iter().map(|(name, rev)| (Stream::Agent(agent(name)), head(*rev))).collect()
    }

    #[test]
    fn what_is_stored_is_waited_for_until_it_is_shown() {
        let unseen = Unseen::default();
        assert!(unseen.nothing().now_or_never().is_some(), "nothing is stored");
        unseen.stored(
            &heads(&[("spark", 3), ("flint", 1), ("ember", 7)]),
            &heads(&[("spark", 1), ("ember", 7)]),
        );
        unseen.seen(&agent("flint"), Some(1));
        assert!(unseen.nothing().now_or_never().is_none());
        unseen.seen(&agent("spark"), Some(2));
        assert!(unseen.nothing().now_or_never().is_none(), "an older view");
        unseen.seen(&agent("spark"), Some(3));
        assert!(unseen.nothing().now_or_never().is_some());
    }

    #[tokio::test]
    async fn what_is_stored_later_is_not_waited_for() {
        let unseen = Unseen::default();
        unseen.stored(&heads(&[("spark", 3)]), &HashMap::new());
        let mut waits = std::pin::pin!(unseen.nothing());
        assert!(futures_util::poll!(&mut waits).is_pending());
        unseen.seen(&agent("spark"), Some(3));
        unseen.stored(&heads(&[("spark", 4)]), &heads(&[("spark", 3)]));
        waits.await;
        unseen.seen(&agent("spark"), None);
        assert!(unseen.nothing().now_or_never().is_some(), "nobody shows it any more");
    }
}
