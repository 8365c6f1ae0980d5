//! `approve`, `deny`, `answer` and `rule list · remove`: agents' questions to people, and rules.

use serde_json::json;

use super::desk::{Answer, Desk, Done};
use super::grammar::Call;
use super::say::person;
use super::{Arg, Command, Effect, Scope, Strictness, Verb};
use crate::core::agent::Agent;
use crate::core::ask::{About, AskAnswer};
use crate::core::clean::visible;
use crate::core::id::AskId;
use crate::core::input::Control;
use crate::core::notice::Refusal;
use crate::core::role::Role;
use crate::core::spec::Runtime;
use crate::core::work::WorkKind;
use crate::supervisor::Asked;

pub(super) const APPROVE: Command = Command {
    verb: Verb::Approve,
    name: "approve",
    aliases: &[],
    args: &[Arg::OpenAsk, Arg::Flag("always")],
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
    args: &[Arg::OpenAsk],
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
    args: &[Arg::OpenAsk, Arg::Text],
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

/// Answers an agent's question or request for permission. Only the first answer counts; the author of a later one is
/// told who gave it.
async fn settle(desk: &Desk<'_>, call: &Call, answer: AskAnswer) -> Done {
    let ask = match call.ask {
        Some(ask) => ask,
        None => only_one(desk, call, &answer)?,
    };
    let asked = desk.fleet.asked_by(ask).ok_or(Refusal::NoSuchAsk { ask })?;
    let words = answer.words().filter(|_| is_sent_back_mute(&asked.agent, ask));
    let control = Control::Answer { ask, answer };
    let notice = desk.ask(&asked.name, control, desk.asked_for(&asked.name)).await?;
    if let Some(words) = words {
        // The denial itself had no room for the reason.
        let silent = Asked { answer: None, message: None, ..desk.asked_for(&asked.name) };
        desk.fleet.give(&asked.name, WorkKind::Message, words, silent).await?;
    }
    Ok(desk.accepted(&notice))
}

/// Returns true if the question is about a plan of an ACP agent, whose protocol has no room for the reason of a denial:
/// the caller sends the words as a message afterwards.
fn is_sent_back_mute(agent: &Agent, ask: AskId) -> bool {
    let is_plan = agent.open_ask(ask).is_some_and(|ask| matches!(ask.about, About::Plan { .. }));
    is_plan && agent.spec.as_ref().is_some_and(|spec| spec.runtime == Runtime::Acp)
}

/// Returns the only open question to which `answer` fits: of the addressed agent, else of any agent. The error says
/// that there is none, or several.
fn only_one(desk: &Desk<'_>, call: &Call, answer: &AskAnswer) -> Result<AskId, Refusal> {
    let by_words = answer.words().is_some();
    let fits = |about: &About| match about {
        About::Permission { .. } => !by_words,
        About::Question { .. } => by_words,
        About::Plan { .. } => true,
    };
    let views = desk.fleet.agents();
    let views = views.iter().filter(|view| call.agent.as_ref().is_none_or(|agent| *agent == view.name));
    let asks = views.flat_map(|view| &view.agent.asks).filter(|ask| fits(&ask.about) && ask.until > desk.now);
    let open: Vec<AskId> = asks.map(|ask| ask.id).collect();
    match open.as_slice() {
        [] => Err(Refusal::NothingAsked { agent: call.agent.clone() }),
        [only] => Ok(*only),
        _ => Err(Refusal::SeveralAsked { asks: open }),
    }
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
