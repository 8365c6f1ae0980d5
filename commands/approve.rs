//! `approve`, `deny`, `answer` and `rule list · remove`: what agents ask of people.

use serde_json::json;

use super::desk::{Answer, Desk, Done};
use super::grammar::Call;
use super::say::person;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::access::Role;
use crate::core::ask::AskAnswer;
use crate::core::input::Control;
use crate::core::notice::Refusal;
use crate::outbox::clean::visible;

pub(super) const APPROVE: Command = Command {
    verb: Verb::Approve,
    name: "approve",
    aliases: &[],
    args: &[Arg::Ask, Arg::Flag("always")],
    role: Role::Operator,
    scope: Scope::Fleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-approve",
};

pub(super) const DENY: Command = Command {
    verb: Verb::Deny,
    name: "deny",
    aliases: &[],
    args: &[Arg::Ask],
    role: Role::Operator,
    scope: Scope::Fleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-deny",
};

pub(super) const ANSWER: Command = Command {
    verb: Verb::Answer,
    name: "answer",
    aliases: &[],
    args: &[Arg::Ask, Arg::Text],
    role: Role::Operator,
    scope: Scope::Fleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-answer",
};

pub(super) const RULES: Command = Command {
    verb: Verb::RuleList,
    name: "rule list",
    aliases: &["rules"],
    args: &[Arg::AgentOrAll],
    role: Role::Viewer,
    scope: Scope::Either,
    effect: Effect::Looks,
    strictness: Strictness::Sentence,
    about: "cmd-about-rule-list",
};

pub(super) const REMOVE: Command = Command {
    verb: Verb::RuleRemove,
    name: "rule remove",
    aliases: &[],
    args: &[Arg::Ask],
    role: Role::Operator,
    scope: Scope::Fleet,
    effect: Effect::Changes,
    strictness: Strictness::Sentence,
    about: "cmd-about-rule-remove",
};

pub(super) async fn approve(desk: &Desk<'_>, call: &Call) -> Done {
    settle(desk, call, AskAnswer::Allow { always: call.now }).await
}

pub(super) async fn deny(desk: &Desk<'_>, call: &Call) -> Done {
    settle(desk, call, AskAnswer::Deny).await
}

pub(super) async fn answer(desk: &Desk<'_>, call: &Call) -> Done {
    settle(desk, call, AskAnswer::Text { text: call.text.trim().to_owned() }).await
}

/// The first answer counts; a later one is told whose that was.
async fn settle(desk: &Desk<'_>, call: &Call, answer: AskAnswer) -> Done {
    let ask = call.ask.unwrap_or_default();
    let asked = desk.fleet.asked_by(ask).ok_or(Refusal::NoSuchAsk { ask })?;
    let control = Control::Answer { ask, answer };
    let notice = desk.ask(&asked.name, control, desk.asked_for(&asked.name)).await?;
    Ok(desk.accepted(&notice))
}

pub(super) fn rules(desk: &Desk<'_>, call: &Call) -> Done {
    let voice = desk.voice();
    let views = match &call.agent {
        Some(_) => vec![desk.view(call)?],
        None => desk.fleet.agents(),
    };
    let all: Vec<_> =
        views.iter().flat_map(|view| view.agent.rules.iter().map(move |rule| (&view.name, rule))).collect();
    let mut lines = desk.first(all.iter().map(|(agent, rule)| {
        voice.text(
            "cmd-rule-line",
            &[
                ("rule", rule.id.to_string().into()),
                ("agent", agent.as_str().into()),
                ("tool", voice.short(&rule.tool, 40).into()),
                ("command", voice.short(&visible(&rule.command), desk.text_max()).replace('`', "'").into()),
                ("name", person(&rule.by).into()),
                ("at", rule.at.into()),
            ],
        )
    }));
    if lines.is_empty() {
        lines.push(voice.text("cmd-rule-none", &[]));
    }
    let data: Vec<_> = all.iter().map(|(agent, rule)| json!({ "agent": agent, "rule": rule })).collect();
    Ok(Answer::lines(lines).with(json!(data)))
}

pub(super) async fn remove(desk: &Desk<'_>, call: &Call) -> Done {
    let rule = call.ask.unwrap_or_default();
    let views = desk.fleet.agents();
    let owner = views.iter().find(|view| view.agent.rules.iter().any(|known| known.id == rule));
    let owner = owner.ok_or(Refusal::NoSuchRule { rule })?;
    let notice = desk.ask(&owner.name, Control::RemoveRule(rule), desk.asked_for(&owner.name)).await?;
    Ok(desk.accepted(&notice))
}
