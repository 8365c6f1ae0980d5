//! `usage`: shows the usage of agents and accounts in this hour and today, against their caps.

use std::collections::BTreeMap;

use serde_json::json;

use super::desk::{Answer, Desk, Done};
use super::grammar::Call;
use super::say::{DOT, Voice};
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::chart::spending::{By, Spending};
use crate::core::agent::Agent;
use crate::core::card::Spent;
use crate::core::id::WorkId;
use crate::core::ledger::{Shared, Used};
use crate::core::outcome::Usage;
use crate::core::role::Role;
use crate::core::usage::{Books, Standing, Unit, Window};
use crate::core::watch::Counts;
use crate::core::work::WorkKind;
use crate::l10n::Value;
use crate::supervisor::View;

pub(super) const COMMAND: Command = Command {
    verb: Verb::Usage,
    name: "usage",
    aliases: &[],
    args: &[Arg::AgentOrAll, Arg::Flag("chart")],
    role: Role::Viewer,
    scope: Scope::Either,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-usage",
};

/// Number of an agent's tasks that are named with their costs in a chat.
const TASKS_SHOWN: usize = 5;

pub(super) fn run(desk: &Desk<'_>, call: &Call) -> Done {
    let voice = desk.voice();
    if call.now {
        return chart(desk, call);
    }
    if call.agent.is_some() {
        let view = desk.view(call)?;
        let agent = &view.agent;
        let mut lines = vec![of_agent(voice, &view)];
        let (told, turn) = last_turn(voice, agent);
        let sums = [
            told,
            turn,
            ("session", voice.usage(agent.meter).into()),
            ("total", voice.usage(agent.totals.usage).into()),
        ];
        lines.push(voice.text("cmd-spent-session", &sums));
        lines.extend(of_tasks(voice, agent));
        return Ok(Answer::lines(lines).with(data_of_agent(desk, &view)));
    }
    let (views, together) = (desk.fleet.agents(), desk.fleet.usage());
    let mut lines: Vec<String> = together.iter().map(|shared| of_shared(voice, shared)).collect();
    let repositories = repositories(&views, desk);
    lines.extend(repositories.iter().map(|(path, used)| of_repository(voice, path, used)));
    lines.extend(desk.first(views.iter().map(|view| of_agent(voice, view))));
    let data = json!({
        "fleet": together.iter().find(|shared| shared.scope.is_none()).map(data_of_shared),
        "accounts": together.iter().filter(|shared| shared.scope.is_some()).map(data_of_shared).collect::<Vec<_>>(),
        "repositories": repositories.iter().map(|(path, used)| {
            json!({ "repository": path, "hour": used.hour, "today": used.today })
        }).collect::<Vec<_>>(),
        "agents": views.iter().map(|view| data_of_agent(desk, view)).collect::<Vec<_>>(),
    });
    Ok(Answer::lines(lines).with(data))
}

/// Returns the reply of `usage chart`: the last 24 hours by hour, in dollars, or in tokens if no dollars are known.
fn chart(desk: &Desk<'_>, call: &Call) -> Done {
    let voice = desk.voice();
    let (name, books, caps): (_, _, Vec<Standing>) = match &call.agent {
        Some(agent) => {
            let held = desk.view(call)?.agent;
            let caps = held.caps(desk.now).collect();
            (agent.to_string(), vec![(agent.clone(), held.books.clone())], caps)
        }
        None => {
            let fleet = desk.fleet.usage().into_iter().find(|shared| shared.scope.is_none());
            let caps = fleet.map(|fleet| fleet.caps).unwrap_or_default();
            (voice.text("cmd-spent-fleet", &[]), desk.fleet.books(), caps)
        }
    };
    let limit = |cap: &Standing| voice.locale.amount(cap.cap.unit, cap.limit);
    let caps: Vec<(Standing, String)> = caps
        .into_iter()
        .map(|cap| (cap, voice.text("page-cap-line", &[("limit", limit(&cap).into())])))
        .collect();
    let others = voice.text("page-others", &[]);
    let spending = |unit| Spending { window: Window::Hour, unit, by: By::Agent };
    let drawn = |unit| spending(unit).chart(&books, (name.clone(), &others), &caps, desk.now);
    let dollars = drawn(Unit::Usd);
    let (unit, chart) =
        if dollars.is_empty() { (Unit::Tokens, drawn(Unit::Tokens)) } else { (Unit::Usd, dollars) };
    let sums: Vec<f64> = chart.bars.iter().map(|bar| bar.parts.iter().sum()).collect();
    let amount = |amount: f64| voice.locale.amount(unit, amount).into();
    let most = sums.iter().copied().fold(0.0, f64::max);
    let said = [("name", name.into()), ("sum", amount(sums.iter().sum())), ("most", amount(most))];
    let mut line = format!("{} {}", chart.blocks(), voice.text("cmd-spent-chart", &said));
    for limit in &chart.limits {
        line.push_str(DOT);
        line.push_str(&limit.label);
    }
    let hours: Vec<_> = chart
        .bars
        .iter()
        .zip(&sums)
        .map(|(bar, sum)| json!({ "begins": bar.label, "amount": sum }))
        .collect();
    Ok(Answer::lines(vec![line]).with(json!({ "unit": unit, "hours": hours })).drawn(chart, unit))
}

fn line(voice: Voice<'_>, name: String, hour: Usage, today: Usage, caps: &[Standing]) -> String {
    let used =
        [("name", name.into()), ("hour", voice.usage(hour).into()), ("today", voice.usage(today).into())];
    let caps = caps.iter().map(|standing| cap(voice, *standing));
    std::iter::once(voice.text("cmd-spent", &used)).chain(caps).collect::<Vec<_>>().join(DOT)
}

/// Formats a cap with the amount that is used: `$4.20 of $5.00 per day`.
pub(crate) fn cap(voice: Voice<'_>, standing: Standing) -> String {
    let Standing { cap, limit, used } = standing;
    let amount = |amount| voice.locale.amount(cap.unit, amount).into();
    let per = ("per", voice.locale.per(cap.window).into());
    voice.text("cmd-spent-cap", &[("used", amount(used)), ("limit", amount(limit)), per])
}

/// Returns the usage of an agent's last turn, and whether it is known, as two variables of a Fluent message.
pub(super) fn last_turn(
    voice: Voice<'_>,
    agent: &Agent,
) -> ((&'static str, Value<'static>), (&'static str, Value<'static>)) {
    let told = if agent.turn.is_none() { "no" } else { "yes" };
    (("told", told.into()), ("turn", voice.usage(agent.turn).into()))
}

fn of_shared(voice: Voice<'_>, shared: &Shared) -> String {
    let name = match &shared.scope {
        None => voice.text("cmd-spent-fleet", &[]),
        Some(account) => {
            let account = voice.short(account.as_str(), super::say::WORK_MAX);
            voice.text("cmd-spent-account", &[("account", account.into())])
        }
    };
    line(voice, name, shared.hour, shared.today, &shared.caps)
}

/// Returns the usage of the agents of each repository.
fn repositories(views: &[View], desk: &Desk<'_>) -> BTreeMap<String, Used> {
    let mut agents: BTreeMap<String, Vec<&Books>> = BTreeMap::new();
    for view in views {
        let repository = view.agent.spec.as_ref().and_then(|spec| spec.repository.as_ref());
        if let Some(repository) = repository {
            agents.entry(repository.shown()).or_default().push(&view.agent.books);
        }
    }
    let used = |books: Vec<&Books>| Used::of(books.into_iter(), &None, desk.now);
    agents.into_iter().map(|(path, books)| (path, used(books))).collect()
}

fn of_repository(voice: Voice<'_>, name: &str, used: &Used) -> String {
    let path = voice.short(name, super::say::WORK_MAX);
    let name = voice.text("cmd-spent-repository", &[("repository", path.into())]);
    line(voice, name, used.hour, used.today, &[])
}

/// Returns an agent's tasks that have cost something, the dearest first.
fn spent(agent: &Agent) -> Vec<(WorkId, Spent)> {
    let over = agent.finished.iter().map(|finished| &finished.work);
    let all = agent.all_works().chain(over).filter(|work| work.kind == WorkKind::Task);
    let mut spent: Vec<_> = all.map(|work| (work.id, work.card().spent)).collect();
    spent.retain(|(_, spent)| !spent.is_none());
    spent.sort_by_key(|(task, spent)| std::cmp::Reverse((spent.microdollars, spent.tokens, *task)));
    spent
}

/// Returns a line with the dearest tasks of an agent; `None` if none has cost anything.
fn of_tasks(voice: Voice<'_>, agent: &Agent) -> Option<String> {
    let amount = |spent: Spent| match spent.microdollars {
        #[expect(clippy::cast_precision_loss, reason = "a number of tokens is far below where it matters")]
        0 => voice.locale.amount(Unit::Tokens, spent.tokens as f64),
        _ => voice.locale.amount(Unit::Usd, spent.dollars()),
    };
    let tasks: Vec<String> = spent(agent)
        .into_iter()
        .take(TASKS_SHOWN)
        .map(|(task, spent)| format!("#{task} {}", amount(spent)))
        .collect();
    (!tasks.is_empty()).then(|| voice.text("cmd-spent-tasks", &[("tasks", tasks.join(DOT).into())]))
}

fn of_agent(voice: Voice<'_>, view: &View) -> String {
    let books = &view.agent.books;
    let caps: Vec<Standing> = view.agent.caps(voice.now).collect();
    let (hour, today) = (books.this_hour(voice.now, None), books.today(voice.now, None));
    let mut line = line(voice, view.name.to_string(), hour, today, &caps);
    let Counts { right, wrong, unmetered, .. } = view.agent.watch.counts;
    if unmetered > 0 {
        line.push_str(DOT);
        line.push_str(&voice.text("cmd-spent-unmetered", &[("count", unmetered.into())]));
    }
    if right + wrong > 0 {
        line.push_str(DOT);
        line.push_str(
            &voice.text("cmd-spent-marks", &[("right", right.into()), ("all", (right + wrong).into())]),
        );
    }
    line
}

fn data_of_caps(caps: &[Standing]) -> serde_json::Value {
    let caps = caps.iter().map(|Standing { cap, limit, used }| {
        json!({ "window": cap.window, "unit": cap.unit, "limit": limit, "used": used })
    });
    caps.collect()
}

fn data_of_shared(shared: &Shared) -> serde_json::Value {
    json!({
        "account": shared.scope,
        "hour": shared.hour,
        "today": shared.today,
        "caps": data_of_caps(&shared.caps),
    })
}

fn data_of_agent(desk: &Desk<'_>, view: &View) -> serde_json::Value {
    let agent = &view.agent;
    json!({
        "agent": view.name,
        "account": agent.spec.as_ref().map(|spec| &spec.account),
        "last_turn": agent.turn,
        "session": agent.meter,
        "tasks": spent(agent).into_iter().map(|(task, spent)| {
            json!({ "task": task, "tokens": spent.tokens, "cost_usd": spent.dollars() })
        }).collect::<Vec<_>>(),
        "hour": agent.books.this_hour(desk.now, None),
        "today": agent.books.today(desk.now, None),
        "total": agent.totals.usage,
        "hours": agent.books.hours,
        "days": agent.books.days,
        "caps": data_of_caps(&agent.caps(desk.now).collect::<Vec<_>>()),
        "unmetered_evaluations": agent.watch.counts.unmetered,
        "whispers": { "right": agent.watch.counts.right, "wrong": agent.watch.counts.wrong },
    })
}
