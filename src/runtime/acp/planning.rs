//! Work that begins with a plan.
//!
//! Most agents have a mode in which they change nothing. Some ask to leave it, with their plan; of the others the answer is the
//! plan. In both cases people are shown it: what they say of it the agent is told by another prompt, since the protocol has no
//! words for a no.

use serde_json::{Value, json};

use super::{Acp, Asked, wire};
use crate::core::ask::Told;
use crate::core::detail::Own;
use crate::core::outcome::Category;
use crate::core::spec::Permissions;
use crate::runtime::approval::{PLAN_APPROVED, PLAN_REFUSED, UNANSWERED, not_approved};
use crate::runtime::protocol::Happening;

/// A mode, by the request that sets it.
#[derive(Debug, Clone, PartialEq)]
struct Mode {
    method: &'static str,
    parameters: Value,
}

/// State of an agent's plan.
#[derive(Debug, Default)]
pub(super) struct Planning {
    /// It plans, and has to show what it comes to.
    plans: bool,
    /// The mode in which it plans, where it does.
    begins: Option<Mode>,
    /// The mode in which it works once its plan is approved.
    works: Option<Mode>,
    /// Answer to the plan that the running turn submitted, for the prompt that follows.
    said: Option<String>,
}

impl Planning {
    /// Other work begins with a plan of its own: the request that sets the mode for that.
    pub(super) fn begins_anew(&mut self) -> Option<(&'static str, Value)> {
        let begins = self.begins.clone()?;
        (self.plans, self.said) = (true, None);
        Some((begins.method, begins.parameters))
    }

    /// Whether it plans.
    pub(super) fn plans(&self) -> bool {
        self.plans
    }
}

impl Acp {
    /// The mode to begin with: the one in which the agent may do as much as it is permitted, or the one in which it plans.
    pub(super) fn set_mode(
        &mut self,
        session: &str,
        answer: &wire::Answer<'_>,
        happened: &mut Vec<Happening>,
    ) -> bool {
        let modes = Modes::of(session, answer);
        if self.spec.permissions != Permissions::Plan {
            let mode = self.quirks.mode(self.spec.permissions).and_then(|mode| modes.by_mode(mode));
            self.steps.extend(mode.map(|mode| (Asked::Mode, mode.method, mode.parameters)));
            return true;
        }
        let Some(plan) = modes.plan() else {
            self.give_up(Category::Permanent, Own::NoPlanMode, happened);
            return false;
        };
        let named = self.quirks.mode(Permissions::WorkspaceWrite).and_then(|mode| modes.by_mode(mode));
        let works = named.or_else(|| modes.current()).filter(|works| *works != plan);
        self.planning = Planning { plans: true, begins: Some(plan.clone()), works, said: None };
        self.steps.push_back((Asked::Mode, plan.method, plan.parameters));
        true
    }

    /// Handles the answer to a plan. `own`: herder submitted the plan after the turn; else the agent waits for a decision.
    pub(super) fn planned(&mut self, told: &Told, own: bool, happened: &mut Vec<Happening>) {
        // Without words about what is wrong, the agent is not asked for another plan.
        self.planning.plans = matches!(told, Told::Words(_));
        let said = match told {
            Told::Yes => PLAN_APPROVED.to_owned(),
            Told::Words(words) => not_approved(&words.join("\n")),
            Told::No => PLAN_REFUSED.to_owned(),
            Told::Nobody => UNANSWERED.to_owned(),
        };
        if *told == Told::Yes {
            self.asking.works();
        }
        match (own, told) {
            (false, Told::Yes) => {}
            (false, Told::Words(_) | Told::No | Told::Nobody) => self.planning.said = Some(said),
            (true, _) => {
                let works = self.planning.works.clone().filter(|_| *told == Told::Yes);
                self.steps.extend(works.map(|mode| (Asked::Mode, mode.method, mode.parameters)));
                self.prompt = said;
                self.step(happened);
            }
        }
    }

    /// The turn is over in which a plan was sent back: another one follows with the words.
    pub(super) fn goes_on_planning(&mut self, happened: &mut Vec<Happening>) -> bool {
        let Some(said) = self.planning.said.take().filter(|_| !self.cancelled) else { return false };
        self.prompt = said;
        happened.push(Happening::TurnCut);
        self.step(happened);
        true
    }

    /// The turn went well, and the agent has not asked: what it said is its plan.
    pub(super) fn proposes(&mut self, happened: &mut Vec<Happening>) -> bool {
        let Some(plan) = self.last_words.clone().filter(|_| self.planning.plans && !self.cancelled) else {
            return false;
        };
        happened.push(Happening::TurnCut);
        self.asking.propose(plan, happened);
        true
    }
}

/// The modes that an agent offers, in one of the two ways that the protocol has for them.
struct Modes<'a> {
    session: &'a str,
    answer: &'a wire::Answer<'a>,
}

impl<'a> Modes<'a> {
    fn of(session: &'a str, answer: &'a wire::Answer<'a>) -> Self {
        Self { session, answer }
    }

    fn set(&self, mode: &str) -> Mode {
        let parameters = json!({ "sessionId": self.session, "modeId": mode });
        Mode { method: "session/set_mode", parameters }
    }

    fn setting(&self) -> Option<&wire::Setting<'a>> {
        self.answer.config_options.0.iter().find(|setting| setting.id.text() == Some("mode"))
    }

    fn configure(&self, value: &str) -> Mode {
        let parameters = json!({ "sessionId": self.session, "configId": "mode", "value": value });
        Mode { method: "session/set_config_option", parameters }
    }

    fn offered(&self) -> impl Iterator<Item = &str> {
        let modes = self.answer.modes.0.iter().flat_map(|modes| &modes.available_modes.0);
        modes.filter_map(|mode| mode.id.text())
    }

    fn by_mode(&self, mode: &str) -> Option<Mode> {
        self.offered().find(|offered| *offered == mode).map(|mode| self.set(mode))
    }

    /// The one in which it changes nothing.
    fn plan(&self) -> Option<Mode> {
        let is_plan = |mode: &&str| *mode == "plan" || mode.ends_with("#plan");
        let mode = self.offered().find(is_plan).map(|mode| self.set(mode));
        mode.or_else(|| {
            let values = self.setting()?.options.0.iter().filter_map(|option| option.value.text());
            values.into_iter().find(is_plan).map(|value| self.configure(value))
        })
    }

    /// The one that it is in.
    fn current(&self) -> Option<Mode> {
        let mode = self.answer.modes.0.as_ref().and_then(|modes| modes.current_mode_id.text());
        mode.map(|mode| self.set(mode))
            .or_else(|| self.setting()?.current_value.text().map(|value| self.configure(value)))
    }
}
