//! Work of an ACP agent that begins with a plan, which people approve before it is carried out.
//!
//! Most agents have a mode in which they change nothing. Some submit their plan by asking to leave that mode; for the
//! others, the answer of the turn is the plan. In both cases people are asked about it, and the agent gets their answer
//! in another prompt, since the protocol has no words for a no.

use serde_json::{Value, json};

use super::{Acp, Asked, wire};
use crate::core::ask::Told;
use crate::core::detail::Own;
use crate::core::outcome::Category;
use crate::core::spec::Permissions;
use crate::runtime::approval::{PLAN_APPROVED, PLAN_REFUSED, UNANSWERED, not_approved};
use crate::runtime::protocol::Happening;

/// A mode of the agent, as the request that sets it.
#[derive(Debug, Clone, PartialEq)]
struct Mode {
    method: &'static str,
    parameters: Value,
}

/// State of a session whose work begins with a plan that people approve.
#[derive(Debug, Default)]
pub(super) struct Planning {
    /// True while the agent plans: its answer is a plan to be shown to people.
    plans: bool,
    /// The mode for planning; `None` if the work does not begin with a plan.
    begins: Option<Mode>,
    /// The mode for the work once the plan is approved; `None` if the agent changes to it by itself.
    works: Option<Mode>,
    /// People's answer to the plan that the running turn submitted, for the prompt of the turn that follows.
    said: Option<String>,
}

impl Planning {
    /// Begins other work with a plan of its own, if plans are asked for. Returns the request that sets the mode for it.
    pub(super) fn begins_anew(&mut self) -> Option<(&'static str, Value)> {
        let begins = self.begins.clone()?;
        (self.plans, self.said) = (true, None);
        Some((begins.method, begins.parameters))
    }

    /// Returns true while the agent plans.
    pub(super) fn plans(&self) -> bool {
        self.plans
    }
}

impl Acp {
    /// Queues the request for the session's first mode: planning, if the permissions ask for a plan, else the one in
    /// which the agent may do as much as it is permitted. Returns false if the agent has no planning mode, which ends
    /// the session.
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

    /// Handles people's answer to a plan. `own`: herder submitted the plan after the turn; else the agent waits for the
    /// answer.
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

    /// Starts another turn after one whose plan people did not approve, with their words as the prompt. Returns false
    /// if there is no such plan.
    pub(super) fn goes_on_planning(&mut self, happened: &mut Vec<Happening>) -> bool {
        let Some(said) = self.planning.said.take().filter(|_| !self.cancelled) else { return false };
        self.prompt = said;
        happened.push(Happening::TurnCut);
        self.step(happened);
        true
    }

    /// Submits the answer of a turn that ended well as the plan, if the agent is planning and did not ask itself.
    /// Returns true if so.
    pub(super) fn proposes(&mut self, happened: &mut Vec<Happening>) -> bool {
        let Some(plan) = self.last_words.clone().filter(|_| self.planning.plans && !self.cancelled) else {
            return false;
        };
        happened.push(Happening::TurnCut);
        self.asking.propose(plan, happened);
        true
    }
}

/// The modes that an agent offers for a conversation, in one of the two ways that the protocol has for them.
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

    /// Returns the mode in which the agent plans and changes nothing, if it has one.
    fn plan(&self) -> Option<Mode> {
        let is_plan = |mode: &&str| *mode == "plan" || mode.ends_with("#plan");
        let mode = self.offered().find(is_plan).map(|mode| self.set(mode));
        mode.or_else(|| {
            let values = self.setting()?.options.0.iter().filter_map(|option| option.value.text());
            values.into_iter().find(is_plan).map(|value| self.configure(value))
        })
    }

    /// Returns the mode that the agent is in, if it reports it.
    fn current(&self) -> Option<Mode> {
        let mode = self.answer.modes.0.as_ref().and_then(|modes| modes.current_mode_id.text());
        mode.map(|mode| self.set(mode))
            .or_else(|| self.setting()?.current_value.text().map(|value| self.configure(value)))
    }
}
