//! The tools of an agent that leads: parts of its own task for others.

use serde_json::Value;

use super::{Arguments, Caller, Host, Told, counted};
use crate::core::agent::Agent;
use crate::core::board::{Boarded, LeadRequest, LedPart, LedTask, Place};
use crate::core::card::{AFTER_MAX, Needs};
use crate::core::id::{AgentName, WorkId};
use crate::core::lead::{LeadRefusal, end_word};
use crate::core::work::{Work, WorkKind};
use crate::runtime::text::{bounded, one_line};
use crate::supervisor::View;

/// Maximum length of a part's text in the answer of `task_show`, in bytes.
const TEXT_SHOWN: usize = 8 * 1024;

/// Maximum number of agents that `task_list` names.
const AGENTS_SHOWN: usize = 50;

/// Returns the task whose parts a session may see and change, and the agent that has it.
fn led(host: &Host, caller: Caller<'_>) -> Result<(WorkId, View), String> {
    let view = host.fleet().view(caller.agent).ok_or_else(|| LeadRefusal::NoTask.to_string())?;
    let agent = &view.agent;
    if !agent.spec.as_ref().is_some_and(|spec| spec.leads) {
        return Err(LeadRefusal::NotLead.to_string());
    }
    let current = agent.current.as_ref().filter(|_| agent.session() == Some(caller.session));
    let is_task = |work: &&Work| work.kind == WorkKind::Task && work.card().review.is_none();
    let task = current.filter(is_task).map(|work| work.id);
    Ok((task.ok_or_else(|| LeadRefusal::NoTask.to_string())?, view))
}

/// Returns the open parts of the caller's task, for a report that would end it.
pub(super) fn open_parts(host: &Host, caller: Caller<'_>) -> Vec<WorkId> {
    let Ok((task, _)) = led(host, caller) else { return Vec::new() };
    let board = host.fleet().board();
    board.leads.get(&task).into_iter().flat_map(LedTask::open).map(|part| part.id).collect()
}

/// Adds a part to the task of the caller.
pub(super) async fn add(host: &Host, caller: Caller<'_>, arguments: Arguments<'_>) -> Told {
    let (task, view) = led(host, caller)?;
    let text = host.without_secrets(arguments.needed("text")?).trim().to_owned();
    let to = arguments.text("agent")?.map(str::trim).filter(|name| !name.is_empty());
    let to = to.map(|name| AgentName::new(name).map_err(|_| nobody(name))).transpose()?;
    let needs = match arguments.text("needs")?.map(str::trim).filter(|needs| !needs.is_empty()) {
        Some(needs) => Needs::parse(needs).map_err(|word| {
            format!(
                "`needs` does not take \"{}\": write permissions and tags, e.g. read-only,rust.",
                one_line(&word, 60)
            )
        })?,
        None => Needs::default(),
    };
    let after = numbers(arguments, "after")?;
    counted(&host.0.parts, caller.agent)
        .map_err(|seconds| format!("You have added as many parts as you may for now. Wait {seconds} s."))?;
    let request = LeadRequest::Add { text, to: to.clone(), needs, after };
    let (part, is_new) = host.fleet().lead(caller.agent, caller.session, request).await?;
    let whom =
        to.map_or_else(|| "the next idle agent that has what it needs".to_owned(), |to| to.to_string());
    let known = if is_new { "is added" } else { "was there already, with the same text" };
    Ok(format!(
        "Part #{part} {known}; it is for {whom}. {} Add the other parts, then call task_wait and end your turn.",
        spent(host, task, &view.agent)
    ))
}

fn nobody(name: &str) -> String {
    format!("\"{}\" is no name of an agent; task_list names them.", one_line(name, 60))
}

/// Says what the parts of a task have cost so far.
fn spent(host: &Host, task: WorkId, agent: &Agent) -> String {
    let spent = host.fleet().spent_by_parts(task).dollars();
    match agent.spec.as_ref().map_or(0.0, |spec| spec.lead_budget_usd) {
        budget if budget > 0.0 => format!("Your parts have cost ${spent:.2} of ${budget:.2} so far."),
        _ => format!("Your parts have cost ${spent:.2} so far."),
    }
}

/// Lists the parts of the caller's task, and the agents that can get one.
pub(super) fn list(host: &Host, caller: Caller<'_>) -> Told {
    let (task, view) = led(host, caller)?;
    let (board, views) = (host.fleet().board(), host.fleet().agents());
    let mut lines: Vec<String> = Vec::new();
    let parts = board.leads.get(&task).map(|led| led.parts.as_slice()).unwrap_or_default();
    for part in parts {
        let line = match &part.result {
            Some(result) => result.line(),
            None => format!("#{}: {}", part.id, state(part, board.tasks.get(&part.id), &views)),
        };
        lines.push(format!("{line}; begins \"{}\"", part.about));
    }
    if lines.is_empty() {
        lines.push("Your task has no parts.".to_owned());
    }
    lines.push(spent(host, task, &view.agent));
    let own = view.agent.spec.as_ref().map(|spec| spec.rights());
    let others = views.iter().filter(|other| !other.agent.leaves() && !host.fleet().is_deserted(&other.name));
    let named = others.filter_map(|other| {
        let spec =
            other.agent.spec.as_ref().filter(|spec| own.is_some_and(|own| spec.rights().are_within(own)))?;
        let tags = spec.tags.iter().map(String::as_str);
        let words: Vec<&str> = std::iter::once(spec.permissions.word()).chain(tags).collect();
        let folder = if spec.repository.is_some() { ", with a repository" } else { "" };
        let busy = if other.agent.current.is_some() { ", at work" } else { "" };
        Some(format!("{} ({}{folder}{busy})", other.name, words.join(", ")))
    });
    let named: Vec<String> = named.take(AGENTS_SHOWN).collect();
    lines.push(format!("Agents that can get a part: {}.", named.join("; ")));
    Ok(host.without_secrets(&lines.join("\n")))
}

/// Tells all about one part of the caller's task.
pub(super) fn show(host: &Host, caller: Caller<'_>, arguments: Arguments<'_>) -> Told {
    let (task, _) = led(host, caller)?;
    let part = number(arguments)?;
    let (board, views) = (host.fleet().board(), host.fleet().agents());
    let known = board.leads.get(&task).and_then(|led| led.part(part));
    let known = known.ok_or_else(|| LeadRefusal::NoPart { part }.to_string())?;
    let boarded = board.tasks.get(&part);
    let mut lines = vec![match &known.result {
        Some(result) => result.line(),
        None => format!("#{part}: {}", state(known, boarded, &views)),
    }];
    let ended = views.iter().flat_map(|view| &view.agent.finished).chain(&board.finished);
    let works = views.iter().flat_map(|view| view.agent.all_works()).chain(ended.map(|over| &over.work));
    let work =
        boarded.map(|boarded| &*boarded.work).or_else(|| works.into_iter().find(|work| work.id == part));
    let checkout = views.iter().find_map(|view| view.agent.checkouts.all.get(&part));
    if let Some(checkout) = checkout {
        lines.push(format!("Branch: {}", checkout.plan.branch));
        if let Some(held) = &checkout.held {
            lines.push(format!(
                "Changes: {} commits, {} files, +{} -{}; last commit {}; {} files not committed",
                held.commits, held.files, held.added, held.removed, held.head, held.uncommitted
            ));
        }
        if let Some(check) = checkout.evidence.as_deref().filter(|check| !check.is_green()) {
            lines.push(format!("Its check `{}` failed: {}", check.command, check.why()));
        }
    }
    match work {
        Some(work) => {
            for attempt in &work.card().attempts {
                lines.push(format!("A session of {} failed: {}", attempt.agent, attempt.detail));
            }
            lines.push(format!("Its text:\n{}", bounded(&work.text, TEXT_SHOWN)));
        }
        None => lines.push(format!("Its text begins: {}", known.about)),
    }
    Ok(host.without_secrets(&lines.join("\n")))
}

/// Returns the state of an open part, in words for the model.
fn state(part: &LedPart, boarded: Option<&Boarded>, views: &[View]) -> String {
    let id = part.id;
    let stopped = if part.cancelled.is_some() { ", is being cancelled" } else { "" };
    if let Some(view) = views.iter().find(|view| view.agent.all_works().any(|work| work.id == id)) {
        let agent = &view.agent;
        let what = if agent.current.as_ref().is_some_and(|work| work.id == id) {
            "at work"
        } else if agent.board.parked().any(|parked| parked.work.id == id) {
            "waits for parts of its own"
        } else if agent.checkouts.review(id).is_some() {
            "in review"
        } else if agent.is_claimed(id) {
            "being checked"
        } else {
            "in the queue"
        };
        return format!("{what} ({}){stopped}", view.name);
    }
    match boarded.map(|boarded| (&boarded.place, boarded)) {
        Some((Place::Queued { .. }, boarded)) if boarded.waits_for_others() => {
            format!("waits for {}", named(boarded.work.card().awaited()))
        }
        Some((Place::Queued { to: Some(to) }, _)) => format!("waits for {to}"),
        Some((Place::Split { parts, .. }, _)) => format!("split into {} pieces", parts.len()),
        Some((Place::Queued { to: None } | Place::Offered { .. }, _)) | None => {
            "waits for an agent".to_owned()
        }
    }
}

/// Lets the caller's task wait for its parts.
pub(super) async fn wait(host: &Host, caller: Caller<'_>, arguments: Arguments<'_>) -> Told {
    led(host, caller)?;
    let parts = numbers(arguments, "parts")?;
    let parts = host.fleet().await_parts(caller.agent, caller.session, &parts).await?;
    Ok(format!(
        "Noted: your task waits for {}. Now end your turn with a short closing word. You are called again in this conversation, \
         with the results, when they are over; nothing runs and nothing is paid for until then.",
        named(parts.into_iter())
    ))
}

/// Cancels a part of the caller's task.
pub(super) async fn cancel(host: &Host, caller: Caller<'_>, arguments: Arguments<'_>) -> Told {
    let (task, _) = led(host, caller)?;
    let part = number(arguments)?;
    host.fleet().lead(caller.agent, caller.session, LeadRequest::Cancel(part)).await?;
    let board = host.fleet().board();
    let known = board.leads.get(&task).and_then(|led| led.part(part));
    let end = known.and_then(|known| known.result.as_ref()).map(|result| end_word(result.end));
    Ok(match end {
        Some(end) => format!("Part #{part} is {end}."),
        None => format!("Part #{part} is being cancelled: its agent is told to stop."),
    })
}

fn number(arguments: Arguments<'_>) -> Result<WorkId, String> {
    arguments.number("part")?.map(WorkId).ok_or_else(|| "`part` is missing.".to_owned())
}

/// Parses a list of parts: numbers, with or without a `#`, also in one text.
fn numbers(arguments: Arguments<'_>, name: &str) -> Result<Vec<WorkId>, String> {
    let wrong = || format!("`{name}` has to be a list of numbers of parts, e.g. [8, 9].");
    let one = |text: &str| text.trim().trim_start_matches('#').parse().map(WorkId).map_err(|_| wrong());
    let parts = match arguments.value(name) {
        None => Vec::new(),
        Some(Value::Array(values)) => values
            .iter()
            .map(|value| match value {
                Value::Number(number) => number.as_u64().map(WorkId).ok_or_else(wrong),
                Value::String(text) => one(text),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(wrong()),
            })
            .collect::<Result<_, _>>()?,
        Some(Value::Number(number)) => vec![number.as_u64().map(WorkId).ok_or_else(wrong)?],
        Some(Value::String(text)) => {
            let words = text.split([',', ' ', '[', ']']).filter(|word| !word.trim().is_empty());
            words.map(one).collect::<Result<_, _>>()?
        }
        Some(Value::Null | Value::Bool(_) | Value::Object(_)) => return Err(wrong()),
    };
    if parts.len() > AFTER_MAX {
        return Err(format!("`{name}` takes at most {AFTER_MAX} numbers."));
    }
    Ok(parts)
}

/// Lists parts inside a sentence for the model.
pub(super) fn named(parts: impl Iterator<Item = WorkId>) -> String {
    parts.map(|part| format!("#{part}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_read_as_models_write_them() {
        let read = |value: Value| {
            let object = json!({ "after": value });
            numbers(Arguments(object.as_object().expect("an object")), "after")
        };
        let two = Ok(vec![WorkId(8), WorkId(9)]);
        for value in [json!([8, 9]), json!(["8", "#9"]), json!("8, 9"), json!("[8,9]"), json!("#8 #9")] {
            assert_eq!(read(value.clone()), two, "{value}");
        }
        assert_eq!(read(json!(8)), Ok(vec![WorkId(8)]));
        assert_eq!((read(json!(null)), read(json!([]))), (Ok(vec![]), Ok(vec![])));
        for value in [json!("eight"), json!([8.5]), json!([-1]), json!({}), json!(true), json!([[8]])] {
            assert!(read(value.clone()).is_err(), "{value}");
        }
        assert!(read(json!((0..30).collect::<Vec<_>>())).is_err());
    }
}
