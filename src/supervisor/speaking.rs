//! Posts of agents by their tools: attributed to the agent, and in the outbox before the tool returns.

use super::Fleet;
use crate::clock;
use crate::core::id::{AgentName, NetworkName, PostId};
use crate::core::notice::{Audience, Notice};
use crate::core::post::{Body, Lane, Post, Target};
use crate::core::{Owed, OwedBody};
use crate::journal::Batch;

impl Fleet {
    /// Posts an agent's words in several channels; they are in the outbox when this returns.
    ///
    /// # Errors
    /// A sentence, if they cannot be recorded.
    pub async fn speak(
        &self,
        agent: &AgentName,
        to: Vec<(NetworkName, Target)>,
        text: &str,
    ) -> Result<(), String> {
        let at = clock::now();
        let post = |(network, to): (NetworkName, Target)| Post {
            id: PostId::default(),
            network,
            to,
            lane: Lane::Normal,
            at,
            body: Body::Said { agent: agent.clone(), text: text.to_owned() },
            answers: None,
            quotes: None,
            confirmed_lines: 0,
        };
        self.post(to.into_iter().map(post).collect()).await
    }

    /// Posts an agent's call for people's attention, in its own channel and in the alerts channel of every network.
    ///
    /// # Errors
    /// A sentence, if it cannot be recorded.
    pub async fn notify(&self, agent: &AgentName, text: String) -> Result<(), String> {
        let work = self.view(agent).and_then(|view| view.agent.current.clone());
        let notice = Notice::Notified { agent: agent.clone(), detail: text.into() };
        let owed = [Audience::Agent, Audience::Alerts]
            .map(|audience| Owed { audience, body: OwedBody::Notice(notice.clone()) });
        self.post(self.shared.posting.owed(agent, work.as_ref(), owed.to_vec(), clock::now())).await
    }

    async fn post(&self, posts: Vec<Post>) -> Result<(), String> {
        let batch = Batch { at: clock::now(), posts, ..Batch::default() };
        let stored = self.shared.journal.commit(batch).await;
        stored.map(drop).map_err(|reason| {
            tracing::error!(%reason, "what an agent says could not be recorded");
            "herder cannot record it at the moment; nothing was said.".to_owned()
        })
    }
}
