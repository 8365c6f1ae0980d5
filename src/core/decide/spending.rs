//! Usage of sessions: it is recorded, priced if the runtime names no price, and compared with the agent's own caps.

use super::Draft;
use crate::agent::Phase;
use crate::event::{Event, PauseReason, StopReason};
use crate::id::SessionId;
use crate::outcome::{Category, Usage};
use crate::recap::{bounded, one_line};
use crate::spec::Runtime;
use crate::usage::{
    Cap, DEAREST, PROVISIONAL, Price, Reading, Unit, Window, caps_of, hour, next_limit, window,
};
use crate::work::Actor;

/// Maximum length of a model's name, in bytes.
const MODEL_MAX: usize = 100;

/// Records the session's usage so far, as its runtime reports it, and compares it with the caps.
pub(super) fn read(draft: &mut Draft<'_>, session: SessionId, reading: &Reading) {
    let usage = priced(draft, reading);
    if usage.tokens() < draft.agent().meter.tokens() || usage == draft.agent().meter {
        return;
    }
    let turn = reading.of_turn(usage, price(draft, &reading.model).unwrap_or(PROVISIONAL));
    draft.record(Event::UsageRecorded { session, usage, turn });
    held_against_caps(draft);
}

/// Compares the usage with the caps: warns when one is near, and stops the session when one is reached.
pub(super) fn held_against_caps(draft: &mut Draft<'_>) {
    warn(draft);
    match draft.agent().phase {
        Phase::Starting { session } | Phase::Running { session } => {
            if let Some(cap) = caught(draft) {
                draft.record(Event::StopRequested { session, reason: StopReason::Cap(cap), by: None });
            }
        }
        Phase::Stopping { .. }
        | Phase::Idle
        | Phase::Waiting { .. }
        | Phase::Paused { .. }
        | Phase::NeedsIntervention
        | Phase::Degraded
        | Phase::Removed => {}
    }
}

/// Returns the reached cap for which herder stops the session. A session's budget in dollars with Claude Code is left
/// out, as the program enforces that itself.
fn caught(draft: &Draft<'_>) -> Option<Cap> {
    let claude = draft.agent().spec.as_ref().is_some_and(|spec| spec.runtime == Runtime::Claude);
    let minds_itself = |cap: Cap| claude && cap.window == Window::Session && cap.unit == Unit::Usd;
    let reached = draft.agent().caps(draft.context.now).filter(|standing| standing.is_reached());
    reached.map(|standing| standing.cap).find(|cap| !minds_itself(*cap))
}

/// Returns the final usage of a session: the metered one, unless the runtime's last report is higher.
pub(super) fn settled(draft: &mut Draft<'_>, last: Usage) -> Usage {
    let (last, meter) = (last.sane(), draft.agent().meter);
    if last.tokens() <= meter.tokens() && last.cost_usd <= meter.cost_usd {
        return meter;
    }
    let unpriced = if last.cost_usd > 0.0 { Usage::default() } else { last };
    let model = draft.agent().unpriced.clone().unwrap_or_default();
    priced(draft, &Reading { usage: last, unpriced, model, turn: Usage::default() })
}

/// Returns the configured price of a model, or of the agent's own model if none is named.
fn price(draft: &Draft<'_>, model: &str) -> Option<Price> {
    draft.context.policy.prices.of(&model_of(draft, model))
}

fn model_of(draft: &Draft<'_>, named: &str) -> String {
    let own = draft.agent().spec.as_ref().map(|spec| spec.model.as_str()).unwrap_or_default();
    bounded(&one_line(if named.is_empty() { own } else { named }), MODEL_MAX)
}

/// Returns the reported usage with estimated dollars for the tokens that the runtime did not price.
fn priced(draft: &mut Draft<'_>, reading: &Reading) -> Usage {
    let mut usage = Usage { estimated_usd: 0.0, ..reading.usage.sane() };
    let Some(spec) = draft.agent().spec.as_ref().filter(|_| reading.unpriced.tokens() > 0) else {
        return usage;
    };
    let model = model_of(draft, &reading.model);
    let policy = draft.context.policy;
    let estimate = if let Some(price) = price(draft, &reading.model) {
        price.of(reading.unpriced)
    } else if spec.counts_as_claude() {
        // The cost is reported at the end of the turn; a session that is cut before has a cost all the same.
        PROVISIONAL.of(reading.unpriced) * draft.agent().rate.unwrap_or(1.0)
    } else {
        let capped = caps_of(spec).any(|(cap, _)| cap.unit == Unit::Usd)
            || policy.caps.in_dollars(&draft.agent().session_account());
        if draft.agent().unpriced.as_deref() != Some(&model) {
            draft.record(Event::PriceUnknown { model, assumed: capped });
        }
        if capped { DEAREST.of(reading.unpriced) } else { 0.0 }
    };
    usage.cost_usd += estimate;
    usage.estimated_usd = estimate;
    usage
}

/// Records warnings: when part of a cap is used (once per window and level), and when an hour's usage is unusual.
fn warn(draft: &mut Draft<'_>) {
    let now = draft.context.now;
    let session = draft.agent().last_session.0;
    let standings: Vec<_> = draft.agent().caps(now).filter(|standing| !standing.is_reached()).collect();
    for standing in standings {
        let at = window(standing.cap.window, now, session);
        let Some(percent) = standing.warning() else { continue };
        let told = draft.agent().warned.iter().any(|warned| {
            let same = warned.cap == standing.cap && warned.at == at && warned.limit == standing.limit;
            same && warned.percent >= percent
        });
        if !told {
            let (limit, used) = (standing.limit, standing.used);
            draft.record(Event::CapNear { cap: standing.cap, at, limit, used, percent });
        }
    }
    if let Some((unit, used, usual)) = draft.agent().spike(now)
        && draft.agent().spiked != Some(hour(now))
    {
        draft.record(Event::Spiked { hour: hour(now), unit, used, usual });
    }
}

/// Waives every reached cap for a person: each applies again at its next multiple, or in the next window.
pub(super) fn waive(draft: &mut Draft<'_>, by: &Actor) {
    let now = draft.context.now;
    let set: Vec<_> = draft.agent().spec.iter().flat_map(caps_of).collect();
    let reached: Vec<_> = draft.agent().caps(now).filter(|standing| standing.is_reached()).collect();
    for standing in reached.iter().filter(|standing| standing.cap.window != Window::Session) {
        let Some((cap, set)) = set.iter().copied().find(|(cap, _)| *cap == standing.cap) else { continue };
        let at = window(cap.window, now, 0);
        let limit = next_limit(set, standing.used);
        draft.record(Event::CapWaived { cap, at, limit, by: by.clone() });
    }
}

/// Decides the next step by a reached cap instead of the session's outcome; returns false if no cap applies.
pub(super) fn follows(draft: &mut Draft<'_>, category: Category) -> bool {
    if matches!(category, Category::Billing | Category::Auth | Category::DoNotRestart) {
        return false;
    }
    if let Some(standing) = draft.agent().capped(draft.context.now) {
        draft.pause(PauseReason::Cap(standing.cap));
        return true;
    }
    let of_a_window_that_is_over = category == Category::Budget && was_told_less(draft);
    if of_a_window_that_is_over {
        draft.proceed();
    }
    of_a_window_that_is_over
}

/// Returns true if the runtime stopped at what was left of an hour's or a day's cap, and that hour or day is over now,
/// so that the next session may go on.
fn was_told_less(draft: &Draft<'_>) -> bool {
    let (agent, now) = (draft.agent(), draft.context.now);
    let began = now.before(agent.last_outcome.as_ref().map(|outcome| outcome.duration).unwrap_or_default());
    let is_over = |cap: Cap| {
        let passing = cap.unit == Unit::Usd && cap.window != Window::Session;
        passing && window(cap.window, began, 0) != window(cap.window, now, 0)
    };
    agent.spec.as_ref().is_some_and(|spec| {
        let told = spec.runtime == Runtime::Claude && caps_of(spec).any(|(cap, _)| is_over(cap));
        told && (spec.max_budget_usd == 0.0 || agent.meter.cost_usd < spec.max_budget_usd * 0.99)
    })
}
