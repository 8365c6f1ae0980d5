//! From what the core owes to posts on networks: one per network, urgent when somebody may be waiting.

use crate::core::id::{AgentName, NetworkName, PostId};
use crate::core::input::Control;
use crate::core::notice::{Audience, Notice};
use crate::core::time::Timestamp;
use crate::core::{Owed, OwedBody};
use crate::outbox::{Body, Lane, Post, Target};

use super::{AnswerTo, Asked};

/// The networks that posts go to.
#[derive(Debug, Clone, Default)]
pub(super) struct Posting {
    networks: Vec<NetworkName>,
}

impl Posting {
    pub(super) fn new(networks: Vec<NetworkName>) -> Self {
        Self { networks }
    }

    /// One post per network for everything that `agent`'s event owes.
    pub(super) fn owed(&self, agent: &AgentName, owed: Vec<Owed>, at: Timestamp) -> Vec<Post> {
        owed.into_iter()
            .flat_map(|owed| {
                let body = match owed.body {
                    OwedBody::Notice(notice) => Body::Notice(notice),
                    OwedBody::Words(text) => Body::Agent { agent: agent.clone(), text },
                };
                self.everywhere(target(&owed.audience, agent), &body, at, None)
            })
            .collect()
    }

    /// Words of the agent itself while its session runs.
    pub(super) fn words(&self, agent: &AgentName, text: String, at: Timestamp) -> Vec<Post> {
        let body = Body::Agent { agent: agent.clone(), text };
        self.everywhere(Target::Agent(agent.clone()), &body, at, None)
    }

    /// An alert on every network but one: the one it is about.
    pub(super) fn alert(&self, notice: Notice, at: Timestamp, but: Option<&NetworkName>) -> Vec<Post> {
        self.everywhere(Target::Alerts, &Body::Notice(notice), at, but)
    }

    /// What the other networks are shown of an accepted command: who gave it, in `to`, and the answer, unless what was
    /// decided says it there anyway.
    ///
    /// herder never listens to its own lines, and they begin with a mark that begins no command: what is mirrored is
    /// never heard again.
    pub(super) fn mirrored(
        &self,
        asked: &Asked,
        said: String,
        to: &Target,
        reply: Option<&Notice>,
        at: Timestamp,
    ) -> Vec<Post> {
        let from = &asked.audit.by.network;
        // The shell is no network that people could look at.
        if !self.networks.contains(from) {
            return Vec::new();
        }
        let by = asked.audit.by.name.clone();
        let line = Notice::Mirrored { by, network: from.clone(), text: said };
        let notices = std::iter::once(line).chain(reply.cloned());
        notices
            .flat_map(|notice| self.everywhere(to.clone(), &Body::Notice(notice), at, Some(from)))
            .collect()
    }

    fn everywhere(&self, to: Target, body: &Body, at: Timestamp, but: Option<&NetworkName>) -> Vec<Post> {
        let lane = if to == Target::Alerts { Lane::Urgent } else { Lane::Normal };
        self.networks
            .iter()
            .filter(|network| Some(*network) != but)
            .map(|network| Post {
                id: PostId::default(),
                network: network.clone(),
                to: to.clone(),
                lane,
                at,
                body: body.clone(),
                answers: None,
                quotes: None,
                confirmed_lines: 0,
            })
            .collect()
    }
}

fn target(audience: &Audience, agent: &AgentName) -> Target {
    match audience {
        Audience::Agent => Target::Agent(agent.clone()),
        Audience::Alerts => Target::Alerts,
        Audience::Work => Target::Work,
        Audience::Control => Target::Control,
    }
}

/// The answer to an accepted command.
pub(super) fn answer(answer: &AnswerTo, quoted: Option<String>, reply: Notice, at: Timestamp) -> Post {
    Post {
        id: PostId::default(),
        network: answer.network.clone(),
        to: answer.to.clone(),
        lane: Lane::Urgent,
        at,
        body: Body::Notice(reply),
        answers: Some(answer.nick.clone()),
        quotes: quoted,
        confirmed_lines: 0,
    }
}

/// What the other networks are shown of a command to one agent.
pub(super) fn said(control: &Control, asked: &Asked) -> String {
    // Settings are for those who asked to see them.
    if matches!(control, Control::Edit(_)) { summary(asked) } else { asked.audit.text.clone() }
}

/// Whether the other networks are owed the answer too, beside what the decision says there anyway.
pub(super) fn owes_answer(reply: &Notice, owed: &[Post]) -> bool {
    let again = |post: &Post| matches!(&post.body, Body::Notice(notice) if notice == reply);
    // Work that is taken up at once is said to have started.
    !matches!(reply, Notice::Accepted { .. }) && !owed.iter().any(again)
}

/// A command without its arguments.
pub(super) fn summary(asked: &Asked) -> String {
    let agent = asked.audit.agent.as_ref().map(|agent| format!(" {agent}")).unwrap_or_default();
    format!("!{}{agent}", asked.audit.verb)
}

/// Leaves out what would be said twice in one place: a command that was given in the agent's own channel is answered
/// there, and the post about it for that channel says the same.
pub(super) fn leave_out_echo(
    posts: &mut Vec<Post>,
    first: usize,
    to: &AnswerTo,
    agent: &AgentName,
    reply: &Notice,
) {
    let here = match &to.to {
        Target::Channel(channel) => {
            channel.strip_prefix('#').is_some_and(|name| name.eq_ignore_ascii_case(agent.as_str()))
        }
        Target::Agent(name) => name == agent,
        Target::Alerts | Target::Work | Target::Control | Target::Person(_) => false,
    };
    if !here {
        return;
    }
    let echo = |post: &Post| {
        post.network == to.network
            && matches!(&post.to, Target::Agent(name) if name == agent)
            && matches!(&post.body, Body::Notice(notice) if notice == reply)
    };
    let mut index = 0;
    posts.retain(|post| {
        index += 1;
        index <= first || !echo(post)
    });
}
