//! `task add · list · show · cancel`: units of work with a state of their own.

use serde_json::json;

use super::desk::{Answer, Desk, Done};
use super::grammar::Call;
use super::say::{Voice, end_key, person, task};
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::access::Role;
use crate::core::agent::Agent;
use crate::core::id::{AgentName, WorkId};
use crate::core::input::Control;
use crate::core::notice::Refusal;
use crate::core::work::{FinishedTask, Work, WorkKind};
use crate::journal::Stream;

pub(super) const ADD: Command = Command {
    verb: Verb::TaskAdd,
    name: "task add",
    aliases: &[],
    args: &[Arg::Agent, Arg::Text],
    role: Role::Operator,
    scope: Scope::Agent,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-task-add",
};

pub(super) const LIST: Command = Command {
    verb: Verb::TaskList,
    name: "task list",
    aliases: &["tasks"],
    args: &[Arg::AgentOrAll],
    role: Role::Viewer,
    scope: Scope::Either,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-task-list",
};

pub(super) const SHOW: Command = Command {
    verb: Verb::TaskShow,
    name: "task show",
    aliases: &[],
    args: &[Arg::Task],
    role: Role::Viewer,
    scope: Scope::Fleet,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-task-show",
};

pub(super) const CANCEL: Command = Command {
    verb: Verb::TaskCancel,
    name: "task cancel",
    aliases: &[],
    args: &[Arg::Task],
    role: Role::Operator,
    scope: Scope::Fleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-task-cancel",
};

pub(super) async fn add(desk: &Desk<'_>, call: &Call) -> Done {
    desk.give(desk.agent(call)?, WorkKind::Task, call.text.trim().to_owned()).await
}

pub(super) async fn cancel(desk: &Desk<'_>, call: &Call) -> Done {
    let id = call.task.unwrap_or_default();
    let views = desk.fleet.agents();
    let owner =
        views.iter().find(|view| find(&view.agent, id).is_some()).ok_or(Refusal::NoSuchTask { task: id })?;
    let notice =
        desk.fleet.control(&owner.name, Control::CancelTask(id), desk.asked_for(&owner.name)).await?;
    Ok(desk.accepted(&notice))
}

pub(super) fn list(desk: &Desk<'_>, call: &Call) -> Done {
    let voice = desk.voice();
    let views = match &call.agent {
        Some(_) => vec![desk.view(call)?],
        None => desk.fleet.agents(),
    };
    let mut open = Vec::new();
    let mut over = Vec::new();
    for view in &views {
        let agent = &view.agent;
        let works = agent.current.iter().chain(&agent.queue).filter(|work| work.kind == WorkKind::Task);
        open.extend(works.map(|work| Listed { agent: &view.name, place: Place::of(agent, work) }));
        over.extend(agent.finished.iter().map(|done| Listed { agent: &view.name, place: Place::Over(done) }));
    }
    // What is open comes first, in the order it will be done; then what is over, the latest first.
    over.sort_by_key(|listed| std::cmp::Reverse(listed.place.work().id));
    let all: Vec<Listed<'_>> = open.into_iter().chain(over).collect();
    let mut lines = desk.first(all.iter().map(|listed| listed.line(voice)));
    if lines.is_empty() {
        lines.push(voice.text("cmd-task-none", &[]));
    }
    let data: Vec<_> = all.iter().map(Listed::data).collect();
    Ok(Answer::lines(lines).with(json!(data)))
}

pub(super) async fn show(desk: &Desk<'_>, call: &Call) -> Done {
    let id = call.task.unwrap_or_default();
    let views = desk.fleet.agents();
    let there = views.iter().find_map(|view| Some((&view.name, find(&view.agent, id)?)));
    if let Some((agent, place)) = there {
        return Ok(shown(desk, &Listed { agent, place }));
    }
    let journal = desk.inner.journal.clone();
    let living: Vec<AgentName> = views.into_iter().map(|view| view.name).collect();
    let removed = desk.read(move || {
        for name in journal.agents()?.into_iter().filter(|name| !living.contains(name)) {
            let agent = journal.load::<Agent>(&Stream::Agent(name.clone()))?.state;
            if find(&agent, id).is_some() {
                return Ok(Some((name, agent)));
            }
        }
        Ok(None)
    });
    let (name, agent) = removed.await?.ok_or(Refusal::NoSuchTask { task: id })?;
    let place = find(&agent, id).ok_or(Refusal::NoSuchTask { task: id })?;
    Ok(shown(desk, &Listed { agent: &name, place }))
}

fn shown(desk: &Desk<'_>, listed: &Listed<'_>) -> Answer {
    let voice = desk.voice();
    let work = listed.place.work();
    let mut lines = vec![listed.line(voice)];
    lines.push(voice.text(
        "cmd-task-given",
        &[
            ("name", person(&work.by).into()),
            ("network", work.by.network.as_str().into()),
            ("at", work.at.into()),
            ("attempts", work.attempts.into()),
        ],
    ));
    lines.push(voice.short(&work.text, desk.text_max()));
    if let Place::Over(done) = &listed.place {
        let note = voice.short(&done.note, desk.text_max());
        if !note.is_empty() {
            lines.push(voice.text("cmd-task-note", &[("note", note.into())]));
        }
    }
    Answer::lines(lines).with(listed.data())
}

/// Where a task is.
enum Place<'a> {
    Current(&'a Work),
    Queued(&'a Work),
    Over(&'a FinishedTask),
}

impl<'a> Place<'a> {
    fn of(agent: &Agent, work: &'a Work) -> Self {
        let current = agent.current.as_ref().is_some_and(|current| current.id == work.id);
        if current { Self::Current(work) } else { Self::Queued(work) }
    }

    fn work(&self) -> &'a Work {
        match self {
            Self::Current(work) | Self::Queued(work) => work,
            Self::Over(done) => &done.work,
        }
    }

    fn state(&self) -> &'static str {
        match self {
            Self::Current(_) => "running",
            Self::Queued(_) => "queued",
            Self::Over(done) => end_key(done.end),
        }
    }
}

/// A task as it is listed.
struct Listed<'a> {
    agent: &'a AgentName,
    place: Place<'a>,
}

impl Listed<'_> {
    fn line(&self, voice: Voice<'_>) -> String {
        let work = self.place.work();
        voice.text(
            "cmd-task-line",
            &[
                ("task", task(work.id).into()),
                ("agent", self.agent.as_str().into()),
                ("state", self.state(voice).into()),
                ("text", voice.short(&work.text, super::say::WORK_MAX).into()),
            ],
        )
    }

    fn state(&self, voice: Voice<'_>) -> String {
        match &self.place {
            Place::Current(_) => voice.text("cmd-task-running", &[]),
            Place::Queued(_) => voice.text("cmd-task-queued", &[]),
            Place::Over(done) => voice.locale.task_end(done.end),
        }
    }

    fn data(&self) -> serde_json::Value {
        let note = match &self.place {
            Place::Over(done) => Some(&done.note),
            Place::Current(_) | Place::Queued(_) => None,
        };
        json!({ "agent": self.agent, "state": self.place.state(), "work": self.place.work(), "note": note })
    }
}

/// A task of one agent, wherever it is.
fn find(agent: &Agent, id: WorkId) -> Option<Place<'_>> {
    let open =
        agent.current.iter().chain(&agent.queue).find(|work| work.id == id && work.kind == WorkKind::Task);
    open.map(|work| Place::of(agent, work))
        .or_else(|| agent.finished.iter().find(|done| done.work.id == id).map(Place::Over))
}
