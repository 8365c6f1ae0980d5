//! Posts of agents by their tools: attributed to the agent, and in the outbox before the tool returns.

use std::path::{Component, Path, PathBuf};

use super::Fleet;
use crate::clock;
use crate::core::id::{AgentName, NetworkName, PostId};
use crate::core::link::DISCORD_NETWORK;
use crate::core::notice::{Audience, Notice};
use crate::core::post::{Body, Lane, Post, SentFile, Target};
use crate::core::tools::Tool;
use crate::core::work::Actor;
use crate::core::{Owed, OwedBody};
use crate::journal::{AuditEntry, Batch, Entry, Stream, Write};

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

    /// Returns true if a file of an agent's folder is not its work: git's own, a copied one such as `.env.local`, or
    /// herder's data.
    fn withholds(&self, agent: &AgentName, folder: &Path, path: &Path) -> bool {
        let below = path.strip_prefix(folder).unwrap_or(path);
        let is_plain = |part: &Component<'_>| !matches!(part, Component::CurDir);
        let below: PathBuf = below.components().filter(is_plain).collect();
        let is_copied = self.view(agent).is_some_and(|view| {
            let copied = view.agent.checkout().map(|checkout| checkout.plan.repository.copy.clone());
            copied.unwrap_or_default().iter().any(|copied| below.starts_with(copied))
        });
        let data = self.shared.journal.data_dir();
        let is_data = folder.join(&below).starts_with(data) && !folder.starts_with(data);
        is_copied || is_data || below.components().any(|part| part.as_os_str() == ".git")
    }

    /// Reads a file of the folder that an agent works in. `path` is the agent's.
    ///
    /// # Errors
    /// A sentence for the model.
    pub async fn take_file(&self, agent: &AgentName, path: &str, max: u64) -> Result<Vec<u8>, String> {
        let folder = self.view(agent).and_then(|view| {
            let spec = view.agent.spec.as_ref()?;
            let clone = view.agent.checkout().map(|checkout| self.shared.checkout_folder(checkout.plan.task));
            clone.or_else(|| spec.repository.is_none().then(|| spec.workspace.clone()))
        });
        let folder = folder.ok_or("You have no workspace.")?;
        if self.withholds(agent, &folder, Path::new(path)) {
            return Err("herder does not send that: git's own files, what was copied into this folder for you, and its own data stay here.".to_owned());
        }
        let marker = format!("{}/take", self.shared.marker(agent));
        let task = self.view(agent).and_then(|view| Some(view.agent.checkout()?.plan.task));
        self.shared.place(agent).take_file(marker, (folder, task), path.to_owned(), max).await
    }

    /// Posts a file of an agent in several channels, and records it in the audit trail; both are on disk when this
    /// returns. Each channel has the link or the first lines that its network needs.
    ///
    /// # Errors
    /// A sentence for the model, if it cannot be recorded.
    pub async fn send_file(
        &self,
        to: Vec<(NetworkName, Target)>,
        sent: SentFile,
        place: String,
    ) -> Result<(), String> {
        let at = clock::now();
        let SentFile { agent, file, .. } = &sent;
        let audit = AuditEntry {
            by: Actor::agent(agent),
            place,
            agent: Some(agent.clone()),
            verb: Tool::SendFile.name().to_owned(),
            text: format!("{}, {} bytes, SHA-256 {}", file.name, file.size, file.sha256),
        };
        let post = |(network, to): (NetworkName, Target)| {
            let mut sent = sent.clone();
            if network.as_str() == DISCORD_NETWORK {
                (sent.link, sent.first) = (None, String::new());
            }
            Post {
                id: PostId::default(),
                network,
                to,
                lane: Lane::Normal,
                at,
                body: Body::File(Box::new(sent)),
                answers: None,
                quotes: None,
                confirmed_lines: 0,
            }
        };
        let posts = to.into_iter().map(post).collect();
        let writes =
            vec![Write { stream: Stream::Audit, expected_rev: None, entries: vec![Entry::Audit(audit)] }];
        self.commit(Batch { at, writes, posts, ..Batch::default() }).await
    }

    async fn post(&self, posts: Vec<Post>) -> Result<(), String> {
        self.commit(Batch { at: clock::now(), posts, ..Batch::default() }).await
    }

    async fn commit(&self, batch: Batch) -> Result<(), String> {
        let stored = self.shared.journal.commit(batch).await;
        stored.map(drop).map_err(|reason| {
            tracing::error!(%reason, "what an agent says could not be recorded");
            "herder cannot record it at the moment; nothing was said.".to_owned()
        })
    }
}
