//! Applies the events about questions to an agent's state.

use crate::agent::Agent;
use crate::ask::{
    ABOUT_MAX, About, Ask, AskEnd, AskKey, Asker, DecidedBy, Denial, RULES_MAX, Rule, Settled, settle,
};
use crate::id::{AskId, SessionId};
use crate::recap::bounded;
use crate::time::Timestamp;

pub(super) fn asked(agent: &mut Agent, ask: &Ask) {
    if agent.open_ask(ask.id).is_none() {
        agent.asks.push(ask.clone());
    }
}

pub(super) fn asked_again(agent: &mut Agent, id: AskId, asker: Asker) {
    if let Some(open) = agent.asks.iter_mut().find(|ask| ask.id == id) {
        open.asker = Some(asker);
    } else if let Some(settled) = agent.settled.iter_mut().rev().find(|settled| settled.ask.id == id) {
        settled.ask.asker = Some(asker);
        settled.due = false;
    }
}

pub(super) fn over(agent: &mut Agent, id: AskId, end: AskEnd, at: Timestamp) {
    let Some(index) = agent.asks.iter().position(|ask| ask.id == id) else { return };
    let ask = agent.asks.remove(index);
    let due = ask.asker.is_none() && matches!(end, AskEnd::Answered { .. });
    if let About::Permission { danger, .. } = &ask.about
        && let Some(unfinished) = agent.unfinished.as_mut().filter(|unfinished| unfinished.work == ask.work)
    {
        match &end {
            AskEnd::Expired if danger.is_none() => unfinished.denied = Some(Denial::Uncovered),
            AskEnd::Answered { answer, .. } if answer.allows() => unfinished.denied = None,
            AskEnd::Expired | AskEnd::Answered { .. } => unfinished.denied = Some(Denial::Kept),
            AskEnd::Dropped => {}
        }
    }
    let mut ask = ask;
    // Plans are long, and a settled one is not read again.
    if let (About::Plan { text }, false) = (&mut ask.about, due) {
        *text = bounded(text, ABOUT_MAX);
    }
    settle(&mut agent.settled, Settled { ask, end, at, due });
}

/// Applies a permission request that was decided without a person: records whether, and why, the unfinished work was
/// last denied permission.
pub(super) fn decided(agent: &mut Agent, session: SessionId, allowed: bool, by: DecidedBy) {
    if agent.session() == Some(session)
        && let Some(unfinished) = &mut agent.unfinished
    {
        unfinished.denied = match by {
            _ if allowed => None,
            DecidedBy::Autonomy => Some(Denial::Uncovered),
            DecidedBy::Rule { .. } | DecidedBy::TooMany => Some(Denial::Kept),
        };
    }
}

pub(super) fn reminded(agent: &mut Agent, id: AskId, next: Option<Timestamp>) {
    if let Some(ask) = agent.asks.iter_mut().find(|ask| ask.id == id) {
        ask.remind_at = next;
        ask.reminded = ask.reminded.saturating_add(1);
    }
}

/// Detaches the questions of a session that ended, until another session asks the same. The answers that a call of
/// several questions got so far become due then.
pub(super) fn session_ended(agent: &mut Agent, session: SessionId) {
    let of_session = |ask: &Ask| ask.asker.filter(|asker| asker.session == session).and(ask.part);
    let whole: Vec<AskKey> = agent
        .settled
        .iter()
        .filter_map(|settled| of_session(&settled.ask).filter(|part| part.last).map(|part| part.call))
        .collect();
    for settled in &mut agent.settled {
        let cut = of_session(&settled.ask).is_some_and(|part| !whole.contains(&part.call));
        settled.due |= cut && matches!(settled.end, AskEnd::Answered { .. });
    }
    for ask in &mut agent.asks {
        ask.asker = ask.asker.filter(|asker| asker.session != session);
    }
}

pub(super) fn rule_added(agent: &mut Agent, rule: &Rule) {
    if agent.rules.iter().any(|known| known.id == rule.id) {
        return;
    }
    if agent.rules.len() >= RULES_MAX {
        agent.rules.remove(0);
    }
    agent.rules.push(rule.clone());
}
