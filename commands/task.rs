//! `task add · new · open · drop · list · show · diff · assign · split · cancel`: units of work with a state of their own, with
//! agents or on the board.

mod clones;
pub(super) mod diff;
pub(crate) mod listed;
pub(crate) mod record;

use std::sync::Arc;

use serde_json::json;

use super::desk::{Answer, Desk, Done, Failure};
use super::grammar::Call;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::agent::Agent;
use crate::core::board::{Board, Wish};
use crate::core::card::{Before, Card, PARTS_MAX};
use crate::core::checkout::{Checkout, Held, Stage};
use crate::core::dealings::{Cut, Onward};
use crate::core::detail::Detail;
use crate::core::id::{AgentName, WorkId};
use crate::core::input::Control;
use crate::core::notice::{Notice, Refusal};
use crate::core::role::Role;
use crate::core::work::{TaskEnd, WorkKind};
use crate::journal::Stream;
use crate::supervisor::View;
use listed::{Families, Listed, all_of, find, moving, on_board};

pub(super) const ADD: Command = Command {
    verb: Verb::TaskAdd,
    name: "task add",
    aliases: &[],
    args: &[Arg::AgentOrAuto, Arg::Priority, Arg::Needs, Arg::After, Arg::Check, Arg::Text],
    role: Role::Operator,
    scope: Scope::Either,
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

pub(super) const ASSIGN: Command = Command {
    verb: Verb::TaskAssign,
    name: "task assign",
    aliases: &[],
    args: &[Arg::Task, Arg::AgentOrAuto],
    role: Role::Operator,
    scope: Scope::Either,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-task-assign",
};

pub(super) const SPLIT: Command = Command {
    verb: Verb::TaskSplit,
    name: "task split",
    aliases: &[],
    args: &[Arg::Task, Arg::Parts],
    role: Role::Operator,
    scope: Scope::Fleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-task-split",
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

pub(super) const NEW: Command = Command {
    verb: Verb::TaskNew,
    name: "task new",
    aliases: &[],
    args: &[Arg::Agent, Arg::Priority, Arg::Check, Arg::Text],
    role: Role::Operator,
    scope: Scope::Agent,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-task-new",
};

pub(super) const OPEN: Command = Command {
    verb: Verb::TaskOpen,
    name: "task open",
    aliases: &[],
    args: &[Arg::Task],
    role: Role::Operator,
    scope: Scope::Fleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-task-open",
};

pub(super) const DROP: Command = Command {
    verb: Verb::TaskDrop,
    name: "task drop",
    aliases: &[],
    args: &[Arg::Task, Arg::Flag("confirm")],
    role: Role::Operator,
    scope: Scope::Fleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-task-drop",
};

pub(super) async fn begin(desk: &Desk<'_>, call: &Call) -> Done {
    let agent = desk.agent(call)?;
    let text = call.text.trim().to_owned();
    let (priority, check, thread) = (call.priority, call.check.clone(), desk.thread.clone());
    let card = Card { priority, check, thread, files: desk.given.clone(), ..Card::default() };
    drop(desk.inner.turn(agent).await);
    let card = (card != Card::default()).then(|| Box::new(card));
    can_check(desk, agent, card.as_deref())?;
    let notice = desk.fleet.begin_task(agent, text, card, desk.asked.clone()).await?;
    Ok(desk.accepted(&notice))
}

/// Returns the agent that has the clone of a task, with what is known about the clone.
pub(super) fn checkout(views: &[View], id: WorkId) -> Option<(&AgentName, &Checkout)> {
    views.iter().find_map(|view| Some((&view.name, view.agent.checkouts.all.get(&id)?)))
}

pub(super) async fn open(desk: &Desk<'_>, call: &Call) -> Done {
    let id = call.task.unwrap_or_default();
    let views = desk.fleet.agents();
    let waits = |view: &&View| view.agent.has_repository() && find(&view.agent, id).is_some();
    let agent = checkout(&views, id).map(|(agent, _)| agent.clone());
    let agent = agent.or_else(|| views.iter().find(waits).map(|view| view.name.clone()));
    let agent = agent.ok_or(Refusal::NoCheckout { task: id })?;
    let notice = desk.ask(&agent, Control::OpenTask(id), desk.asked_for(&agent)).await?;
    Ok(desk.accepted(&notice))
}

/// Removes the clone of a task. Where something would be lost, that is said, and the command has to be confirmed.
pub(super) async fn drop_clone(desk: &Desk<'_>, call: &Call) -> Done {
    let id = call.task.unwrap_or_default();
    let views = desk.fleet.agents();
    let (agent, known) = checkout(&views, id).ok_or(Refusal::NoCheckout { task: id })?;
    let held = match known.stage {
        Stage::Made | Stage::NotMade if !call.now => {
            match desk.fleet.look_at_checkout(agent, &known.plan).await {
                Ok(held) => held,
                Err(why) => return Ok(unread(desk, id, known, &why)),
            }
        }
        Stage::Made | Stage::NotMade | Stage::Planned | Stage::Removing => Held::default(),
    };
    if !call.now && !held.is_elsewhere() {
        return Ok(lossy(desk, id, known, &held));
    }
    let notice = desk.ask(agent, Control::DropCheckout(id), desk.asked_for(agent)).await?;
    Ok(desk.accepted(&notice))
}

/// Returns the answer where the clone cannot be read, so that what is in it is not known.
fn unread(desk: &Desk<'_>, id: WorkId, known: &Checkout, why: &Detail) -> Answer {
    let voice = desk.voice();
    let why = voice.short(&voice.locale.detail(why), desk.text_max());
    let (task, branch) = (id.to_string(), known.plan.branch.as_str());
    let named = [("task", task.as_str().into()), ("branch", branch.into())];
    let lines = vec![
        voice.text("cmd-task-unread", &[("why", why.into())]),
        voice.text("cmd-task-lost-unknown", &named),
    ];
    Answer::lines(lines).with(json!({ "task": id, "branch": branch, "held": null }))
}

fn lossy(desk: &Desk<'_>, id: WorkId, known: &Checkout, held: &Held) -> Answer {
    let voice = desk.voice();
    let lost = voice.text(
        "cmd-task-lost",
        &[
            ("task", id.to_string().into()),
            ("branch", known.plan.branch.as_str().into()),
            ("size", clones::size(voice, held).into()),
            ("commits", held.nowhere.into()),
            ("files", held.uncommitted.into()),
        ],
    );
    Answer::lines(vec![lost]).with(json!({ "task": id, "branch": known.plan.branch, "held": held }))
}

pub(super) async fn add(desk: &Desk<'_>, call: &Call) -> Done {
    let text = call.text.trim().to_owned();
    let (needs, thread, files) = (call.needs.clone(), desk.thread.clone(), desk.given.clone());
    let (priority, after, check) = (call.priority, awaited(desk, call)?, call.check.clone());
    let card = Card { priority, needs, after, check, thread, files, ..Card::default() };
    let waits = card.awaited().next().is_some();
    let card = (card != Card::default()).then(|| Box::new(card));
    if let Some(agent) = &call.agent {
        drop(desk.inner.turn(agent).await);
        can_check(desk, agent, card.as_deref())?;
        if waits && desk.fleet.is_deserted(agent) {
            return Err(Refusal::Deserted { agent: agent.clone() }.into());
        }
    }
    let notice = match &call.agent {
        Some(agent) if !waits => desk.fleet.give_task(agent, text, card, desk.asked.clone()).await?,
        to => desk.fleet.post_task(text, card, to.clone(), desk.asked.clone()).await?,
    };
    Ok(desk.accepted(&notice))
}

/// Refuses a task with a check of its own for an agent that has no repository, in whose clones checks run.
fn can_check(desk: &Desk<'_>, agent: &AgentName, card: Option<&Card>) -> Result<(), Refusal> {
    let views = desk.fleet.agents();
    let lacks = |view: &View| view.name == *agent && !view.agent.has_repository();
    match card.is_some_and(|card| card.check.is_some()) && views.iter().any(lacks) {
        true => Err(Refusal::NothingToCheck { agent: agent.clone() }),
        false => Ok(()),
    }
}

/// Returns the tasks that a new one comes after, with the outcome of those that are done.
fn awaited(desk: &Desk<'_>, call: &Call) -> Result<Vec<Before>, Refusal> {
    let (views, board) = everywhere(desk);
    let outcome = |task: &WorkId| {
        let there = || views.iter().find_map(|view| Listed::with(&view.name, find(&view.agent, *task)?));
        let listed = on_board(&board, *task).or_else(there).or_else(|| moving(&views, &board, *task));
        let end = listed.ok_or(Refusal::NoSuchTask { task: *task })?.over().map(|over| over.end);
        match end {
            None | Some(TaskEnd::Done) => Ok(Before { task: *task, end }),
            Some(end) => Err(Refusal::TaskOver { task: *task, end }),
        }
    };
    call.after.iter().map(outcome).collect()
}

/// The holder of a task: an agent, or the board.
pub(super) enum Holder {
    Agent(AgentName),
    Board,
}

/// Returns the agent or board that has a task now. An open task takes precedence over one that has ended elsewhere.
pub(super) fn holder(desk: &Desk<'_>, id: WorkId) -> Result<Holder, Refusal> {
    let (views, board) = (desk.fleet.agents(), desk.fleet.board());
    let with = |has: &dyn Fn(&Agent) -> bool| {
        let view = views.iter().find(|view| has(&view.agent));
        view.map(|view| Holder::Agent(view.name.clone()))
    };
    let open = |agent: &Agent| agent.all_works().any(|work| work.id == id && work.kind == WorkKind::Task);
    if let Some(holder) = with(&open) {
        return Ok(holder);
    }
    if board.tasks.contains_key(&id) {
        return Ok(Holder::Board);
    }
    if with(&|agent| agent.board.hands_back(id)).is_some() {
        return Err(Refusal::TaskMoving { task: id });
    }
    with(&|agent| find(agent, id).is_some())
        .or_else(|| on_board(&board, id).map(|_| Holder::Board))
        .ok_or(Refusal::NoSuchTask { task: id })
}

/// Passes a change of a task to its holder: `control` to an agent, or `wish` to the board.
async fn change(desk: &Desk<'_>, id: WorkId, control: Control, wish: Wish) -> Result<Notice, Failure> {
    Ok(match holder(desk, id)? {
        Holder::Agent(agent) => desk.ask(&agent, control, desk.asked_for(&agent)).await?,
        Holder::Board => desk.fleet.wish(wish, desk.asked.clone()).await?,
    })
}

pub(super) async fn cancel(desk: &Desk<'_>, call: &Call) -> Done {
    let id = call.task.unwrap_or_default();
    let notice = change(desk, id, Control::CancelTask(id), Wish::Cancel(id)).await?;
    Ok(desk.accepted(&notice))
}

pub(super) async fn assign(desk: &Desk<'_>, call: &Call) -> Done {
    let (task, to) = (call.task.unwrap_or_default(), call.agent.clone());
    if let Some(agent) = to.as_ref().filter(|to| desk.fleet.is_deserted(to)) {
        return Err(Refusal::Deserted { agent: agent.clone() }.into());
    }
    if let Some(agent) = &to {
        // The agent's permissions are those after an edit that was given before.
        drop(desk.inner.turn(agent).await);
        let (views, board) = everywhere(desk);
        let there = || views.iter().find_map(|view| Listed::with(&view.name, find(&view.agent, task)?));
        if let Some(listed) = on_board(&board, task).or_else(there) {
            can_check(desk, agent, Some(listed.work().card()))?;
        }
    }
    let control = Control::HandBack { task, onward: Onward::To(to.clone()) };
    let notice = change(desk, task, control, Wish::Assign { task, to }).await?;
    Ok(desk.accepted(&notice))
}

pub(super) async fn split(desk: &Desk<'_>, call: &Call) -> Done {
    let task = call.task.unwrap_or_default();
    let texts = call.text.split([';', '；', '\n']).map(str::trim).filter(|text| !text.is_empty());
    let texts: Vec<&str> = texts.collect();
    if texts.len() > PARTS_MAX {
        let (parts, max) = (u32::try_from(texts.len()).unwrap_or(u32::MAX), PARTS_MAX as u32);
        return Err(Refusal::SplitParts { task, parts, max }.into());
    }
    let cut = |text: &str| Cut { id: desk.fleet.fresh(), text: text.to_owned() };
    let cuts: Vec<Cut> = texts.into_iter().map(cut).collect();
    let control = Control::HandBack { task, onward: Onward::Split(cuts.clone()) };
    let notice = change(desk, task, control, Wish::Split { task, cuts }).await?;
    Ok(desk.accepted(&notice))
}

/// Maximum number of attempts to read the board and the agents at one moment, while tasks move between them.
const LOOKS_MAX: usize = 3;

/// Returns the agents and the board at one moment; a task that moved between two reads would be in neither.
fn everywhere(desk: &Desk<'_>) -> (Vec<View>, Arc<Board>) {
    let mut board = desk.fleet.board();
    for _ in 1..LOOKS_MAX {
        let views = desk.fleet.agents();
        let again = desk.fleet.board();
        if Arc::ptr_eq(&board, &again) {
            return (views, board);
        }
        board = again;
    }
    (desk.fleet.agents(), board)
}

pub(super) fn list(desk: &Desk<'_>, call: &Call) -> Done {
    let voice = desk.voice();
    let (views, board) = match &call.agent {
        Some(_) => (vec![desk.view(call)?], None),
        None => {
            let (views, board) = everywhere(desk);
            (views, Some(board))
        }
    };
    let all = all_of(&views, board.as_deref());
    let mut lines = desk.first(all.iter().map(|listed| listed.line(voice)));
    if lines.is_empty() {
        lines.push(voice.text("cmd-task-none", &[]));
    }
    lines.extend(clones::list(desk, &views));
    let families = Families::of(&views, &desk.fleet.board());
    let data: Vec<_> = all.iter().map(|listed| listed.data(&views, &families)).collect();
    Ok(Answer::lines(lines).with(json!(data)))
}

pub(super) async fn show(desk: &Desk<'_>, call: &Call) -> Done {
    let id = call.task.unwrap_or_default();
    let (views, board) = everywhere(desk);
    let there = || views.iter().find_map(|view| Listed::with(&view.name, find(&view.agent, id)?));
    let found = on_board(&board, id).or_else(there).or_else(|| moving(&views, &board, id));
    if let Some(listed) = found {
        return Ok(listed.shown(desk, &views, &board));
    }
    let journal = desk.inner.journal.clone();
    let living: Vec<AgentName> = views.iter().map(|view| view.name.clone()).collect();
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
    let listed = find(&agent, id).and_then(|place| Listed::with(&name, place));
    let listed = listed.ok_or(Refusal::NoSuchTask { task: id })?;
    Ok(listed.shown(desk, &views, &board))
}
