//! Turns the core's posts into posts on networks: one per network, urgent if an agent may be waiting, and one per
//! webhook that subscribes to the event.

use std::collections::BTreeSet;

use crate::core::hook::{self, Hook, HookEvent, HookTask};
use crate::core::id::{AgentName, NetworkName, PostId};
use crate::core::input::Control;
use crate::core::notice::{Audience, Notice};
use crate::core::post::{Body, Lane, Post, Target};
use crate::core::time::Timestamp;
use crate::core::work::{Actor, Work};
use crate::core::{Owed, OwedBody};

use super::{AnswerTo, Asked};

/// A webhook as a destination of posts, treated like a network of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Name of the webhook in the outbox.
    pub name: NetworkName,
    /// The kinds of events that the webhook subscribes to.
    pub events: BTreeSet<HookEvent>,
}

/// The networks and webhooks to which posts go.
#[derive(Debug, Clone, Default)]
pub(super) struct Posting {
    networks: Vec<NetworkName>,
    listeners: Vec<Listener>,
}

impl Posting {
    pub(super) fn new(networks: Vec<NetworkName>, listeners: Vec<Listener>) -> Self {
        Self { networks, listeners }
    }

    /// Returns the posts that `agent`'s event causes: one per network, and one per subscribed webhook; `work` is the
    /// work that the event is about.
    pub(super) fn owed(
        &self,
        agent: &AgentName,
        work: Option<&Work>,
        owed: Vec<Owed>,
        at: Timestamp,
    ) -> Vec<Post> {
        owed.into_iter()
            .flat_map(|owed| {
                let mut posts = self.told(agent, work, &owed, at);
                let body = match owed.body {
                    OwedBody::Notice(notice) => Body::Notice(notice),
                    OwedBody::Words(text) => {
                        let body = Body::Agent { agent: agent.clone(), text, is_result: true };
                        posts.extend(self.in_thread(agent, work, &body, at));
                        return posts;
                    }
                };
                if let Some(target) = target(&owed.audience, agent) {
                    posts.extend(self.everywhere(target, &body, at, None));
                }
                posts
            })
            .collect()
    }

    /// Returns the posts for subscribed webhooks. Every event is posted to the agent's channel once, so that the same
    /// post for the alerts channel is ignored here.
    fn told(&self, agent: &AgentName, work: Option<&Work>, owed: &Owed, at: Timestamp) -> Vec<Post> {
        let (Audience::Agent | Audience::Hooks, OwedBody::Notice(notice)) = (&owed.audience, &owed.body)
        else {
            return Vec::new();
        };
        let Some(event) = HookEvent::of(notice) else { return Vec::new() };
        let about = hook::task_of(notice);
        let task = work.filter(|work| about.is_none_or(|about| about == work.task())).map(HookTask::from);
        let task = task.or(about.map(|id| HookTask { id, text: String::new() }));
        let hook = Hook { event, agent: agent.clone(), task, notice: notice.clone() };
        let body = Body::Hook(Box::new(hook));
        let told = self.listeners.iter().filter(|listener| listener.events.contains(&event));
        told.map(|listener| post(listener.name.clone(), Target::Alerts, body.clone(), at)).collect()
    }

    /// Returns the posts about the fleet, for all networks.
    pub(super) fn of_fleet(&self, owed: Vec<Owed>, at: Timestamp) -> Vec<Post> {
        let place = |audience: &Audience| match audience {
            Audience::Alerts => Some(Target::Alerts),
            Audience::Work => Some(Target::Work),
            Audience::Control => Some(Target::Control),
            Audience::Agent | Audience::Hooks => None,
        };
        let posts = owed.into_iter().filter_map(|owed| match owed.body {
            OwedBody::Notice(notice) => Some((place(&owed.audience)?, Body::Notice(notice))),
            OwedBody::Words(_) => None,
        });
        posts.flat_map(|(to, body)| self.everywhere(to, &body, at, None)).collect()
    }

    /// Returns the posts of the agent's own words while its session runs; `work` is its current work.
    pub(super) fn words(
        &self,
        agent: &AgentName,
        work: Option<&Work>,
        text: String,
        at: Timestamp,
    ) -> Vec<Post> {
        let body = Body::Agent { agent: agent.clone(), text, is_result: false };
        self.in_thread(agent, work, &body, at)
    }

    /// Returns one post per network: for the thread in which the work was given, else for the agent's channel.
    fn in_thread(&self, agent: &AgentName, work: Option<&Work>, body: &Body, at: Timestamp) -> Vec<Post> {
        let mut posts = self.everywhere(Target::Agent(agent.clone()), body, at, None);
        if let Some(thread) = work.and_then(|work| work.card().thread.as_ref()) {
            for post in posts.iter_mut().filter(|post| post.network == thread.network) {
                post.to = Target::Channel(thread.id.clone());
            }
        }
        posts
    }

    /// Returns an alert as a post for every network, except the one that it is about.
    pub(super) fn alert(&self, notice: Notice, at: Timestamp, but: Option<&NetworkName>) -> Vec<Post> {
        self.everywhere(Target::Alerts, &Body::Notice(notice), at, but)
    }

    /// Returns the mirror of an accepted command for the other networks: its author, in `to`, and the reply, unless
    /// the decision posts the same there.
    ///
    /// herder never listens to its own lines, and they begin with a mark that begins no command, so that a mirrored
    /// command is never executed again.
    pub(super) fn mirrored(
        &self,
        asked: &Asked,
        said: String,
        to: &Target,
        reply: Option<&Notice>,
        at: Timestamp,
    ) -> Vec<Post> {
        // A command from the web page was given on none of the networks.
        if asked.audit.place == crate::core::link::HTTP_NETWORK {
            return self.shown(asked, said, to, reply, at, None);
        }
        // The shell is no network that people could look at.
        if !self.is_of_network(asked) {
            return Vec::new();
        }
        self.shown(asked, said, to, reply, at, Some(&asked.audit.by.network))
    }

    /// Returns the posts about a shell command that an earlier herder was given. Its caller waits no more, so that
    /// author and result are posted everywhere, and a result that needs a person is an alert as well.
    pub(super) fn belated(&self, asked: &Asked, reply: &Notice, at: Timestamp) -> Vec<Post> {
        let mut posts = self.shown(asked, summary(asked), &Target::Control, Some(reply), at, None);
        if matches!(reply, Notice::StoppedAll { processes: 1.., .. }) {
            posts.extend(self.alert(reply.clone(), at, None));
        }
        posts
    }

    /// Returns true if a command came from a network to which its reply can be posted.
    pub(super) fn is_of_network(&self, asked: &Asked) -> bool {
        self.has(&asked.audit.by.network)
    }

    /// Returns true if posts for this network are delivered by herder.
    pub(super) fn has(&self, network: &NetworkName) -> bool {
        self.networks.contains(network)
    }

    /// Returns a command's author and reply as posts for every network but one.
    fn shown(
        &self,
        asked: &Asked,
        said: String,
        to: &Target,
        reply: Option<&Notice>,
        at: Timestamp,
        but: Option<&NetworkName>,
    ) -> Vec<Post> {
        let Actor { name: by, network, .. } = asked.audit.by.clone();
        let line = Notice::Mirrored { by, network, text: said };
        let notices = std::iter::once(line).chain(reply.cloned());
        notices.flat_map(|notice| self.everywhere(to.clone(), &Body::Notice(notice), at, but)).collect()
    }

    /// Returns a notice as a post for the control channel of every network.
    pub(super) fn announced(&self, notice: Notice, at: Timestamp) -> Vec<Post> {
        self.everywhere(Target::Control, &Body::Notice(notice), at, None)
    }

    fn everywhere(&self, to: Target, body: &Body, at: Timestamp, but: Option<&NetworkName>) -> Vec<Post> {
        self.networks
            .iter()
            .filter(|network| Some(*network) != but)
            .map(|network| post(network.clone(), to.clone(), body.clone(), at))
            .collect()
    }
}

fn post(network: NetworkName, to: Target, body: Body, at: Timestamp) -> Post {
    // A question must not wait behind the agent's other posts, because it expires.
    let lane = if to == Target::Alerts || is_question(&body) { Lane::Urgent } else { Lane::Normal };
    Post {
        id: PostId::default(),
        network,
        to,
        lane,
        at,
        body,
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    }
}

/// Returns true if an agent waits for people's answer to the post.
fn is_question(body: &Body) -> bool {
    matches!(body, Body::Notice(Notice::PermissionAsked { .. } | Notice::QuestionAsked { .. }))
}

/// Returns the channel for an audience on a network; `None` for webhooks alone.
fn target(audience: &Audience, agent: &AgentName) -> Option<Target> {
    match audience {
        Audience::Agent => Some(Target::Agent(agent.clone())),
        Audience::Alerts => Some(Target::Alerts),
        Audience::Work => Some(Target::Work),
        Audience::Control => Some(Target::Control),
        Audience::Hooks => None,
    }
}

/// Returns the reply to an accepted command as a post.
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

/// Returns the text that mirrors a command to one agent.
pub(super) fn said(control: &Control, asked: &Asked) -> String {
    // Settings are shown only to the person who asked.
    if matches!(control, Control::Edit { .. } | Control::Configure(_)) {
        summary(asked)
    } else {
        asked.audit.text.clone()
    }
}

/// Returns true if the reply to a command must be mirrored as well, because the decision posts nothing equal.
pub(super) fn owes_answer(reply: &Notice, owed: &[Post]) -> bool {
    let again = |post: &Post| matches!(&post.body, Body::Notice(notice) if notice == reply);
    // Work that starts at once is posted as started.
    !matches!(reply, Notice::Accepted { .. }) && !owed.iter().any(again)
}

/// Returns the name of a command and its agent, without its other arguments.
pub(super) fn summary(asked: &Asked) -> String {
    let agent = asked.audit.agent.as_ref().map(|agent| format!(" {agent}")).unwrap_or_default();
    format!("!{}{agent}", asked.audit.verb)
}

/// Leaves out a post that would repeat the reply in the same place: a command given in the agent's own channel is
/// answered there.
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
    // A reply that the adapter gives has no buttons, so that the post with the buttons is kept.
    let is_called_for = !to.posted && reply.calls_for().is_some();
    if !here || is_called_for {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::id::{AskId, WorkId};

    fn spark() -> AgentName {
        AgentName::new("spark").expect("a good name")
    }

    /// Returns the posts of notices: network, place and kind, with `*` for the alerts channel.
    fn owed(listener: &[HookEvent], owed: &[(Audience, Notice)]) -> Vec<String> {
        let listener = Listener { name: "webhook:it".into(), events: listener.iter().copied().collect() };
        let posting = Posting::new(vec!["demo".into()], vec![listener]);
        let owed = owed
            .iter()
            .map(|(audience, notice)| Owed {
                audience: audience.clone(),
                body: OwedBody::Notice(notice.clone()),
            })
            .collect();
        let posts = posting.owed(&spark(), None, owed, Timestamp::default());
        let shown = |post: &Post| match &post.body {
            Body::Hook(hook) => format!("{}: {}", post.network, hook.event.word()),
            _ => format!("{}{}", post.network, if post.to == Target::Alerts { "*" } else { "" }),
        };
        posts.iter().map(shown).collect()
    }

    #[test]
    fn an_event_is_told_once_wherever_else_it_is_said() {
        let notice = Notice::TaskFailed { agent: spark(), task: WorkId(7), detail: "gave up".into() };
        let both = [(Audience::Agent, notice.clone()), (Audience::Alerts, notice)];
        assert_eq!(owed(&HookEvent::ALL, &both), ["webhook:it: agent_error", "demo", "demo*"]);
        assert_eq!(owed(&[HookEvent::Complete], &both), ["demo", "demo*"]);
    }

    #[test]
    fn a_question_does_not_wait_behind_what_its_agent_has_said() {
        let posting = Posting::new(vec!["demo".into()], Vec::new());
        let lane = |body: OwedBody| {
            let owed = vec![Owed { audience: Audience::Agent, body }];
            posting.owed(&spark(), None, owed, Timestamp::default())[0].lane
        };
        let question = Notice::QuestionAsked {
            options: Vec::new(),
            several: false,
            agent: spark(),
            ask: AskId(3),
            text: "Which branch?".to_owned(),
            within: std::time::Duration::from_secs(1800),
        };
        assert_eq!(lane(OwedBody::Notice(question)), Lane::Urgent);
        assert_eq!(lane(OwedBody::Words("done".to_owned())), Lane::Normal);
        assert_eq!(lane(OwedBody::Notice(Notice::Paused { agent: spark() })), Lane::Normal);
    }

    #[test]
    fn what_the_shell_asked_of_an_earlier_herder_is_an_alert_only_where_processes_are_left() {
        let posting = Posting::new(vec!["demo".into(), "other".into()], Vec::new());
        let by = Actor { network: "local".into(), name: "alice".to_owned(), identity: None };
        let audit = crate::journal::AuditEntry {
            by,
            place: String::new(),
            agent: None,
            verb: "stop-all".to_owned(),
            text: String::new(),
        };
        let asked = Asked { audit, answer: None, message: None };
        for (processes, alerts) in [(0, 0), (2, 2)] {
            let reply = Notice::StoppedAll { agents: 3, processes };
            let posts = posting.belated(&asked, &reply, Timestamp::default());
            let to = |target: &Target| posts.iter().filter(|post| post.to == *target).count();
            assert_eq!((to(&Target::Control), to(&Target::Alerts)), (4, alerts), "{processes}");
        }
    }

    #[test]
    fn what_is_for_programs_alone_is_said_in_no_channel() {
        let notice = Notice::Spiraling { agent: spark(), work: "benchmark".into(), times: 1 };
        assert_eq!(
            owed(&HookEvent::ALL, &[(Audience::Hooks, notice.clone())]),
            ["webhook:it: agent_spiraling"]
        );
        assert_eq!(owed(&[HookEvent::Error], &[(Audience::Hooks, notice)]), [] as [&str; 0]);
    }
}
