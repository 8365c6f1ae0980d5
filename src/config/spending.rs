//! `[limits]` and `[prices]`: caps, and prices of models whose runtimes report no cost.

use crate::core::id::AccountName;
use crate::core::policy::Policy;
use crate::core::spec::{AgentSpec, Output, Runtime};
use crate::core::usage::{Caps, Price, Prices, SharedCaps};
use crate::runtime::acp::quirks::Quirks;

use super::section::Section;

/// Maximum of a configured cap in tokens.
const TOKENS_MAX: u64 = 1_000_000_000_000_000;

/// Parses `[limits]`: caps of all agents together, and of the agents of each account together.
pub(super) fn limits(section: Section<'_>) -> SharedCaps {
    let fleet = shared(&section);
    let mut accounts = std::collections::BTreeMap::new();
    for (name, section) in section.named("accounts") {
        accounts.insert(AccountName(name), shared(&section));
        section.finish();
    }
    section.finish();
    SharedCaps { fleet, accounts }
}

fn shared(section: &Section<'_>) -> Caps {
    Caps {
        usd_per_hour: section.amount("usd_per_hour").unwrap_or_default(),
        usd_per_day: section.amount("usd_per_day").unwrap_or_default(),
        tokens_per_session: 0,
        tokens_per_hour: tokens(section, "tokens_per_hour"),
        tokens_per_day: tokens(section, "tokens_per_day"),
    }
}

/// Parses the caps of one agent, without its budget per session.
pub(super) fn of_agent(section: &Section<'_>) -> Caps {
    Caps { tokens_per_session: tokens(section, "tokens_per_session"), ..shared(section) }
}

fn tokens(section: &Section<'_>, key: &'static str) -> u64 {
    section.number(key, 0..=TOKENS_MAX).unwrap_or_default()
}

/// Parses `[prices]`: dollars per million tokens, by model.
pub(super) fn prices(top: &Section<'_>) -> Prices {
    let mut prices = Prices::default();
    for (model, section) in top.named("prices") {
        let amount = |key| {
            if !section.has(key) {
                section.problem(key, "a price names dollars for a million tokens, input and output");
            }
            section.amount(key).unwrap_or_default()
        };
        let (input, output) = (amount("input"), amount("output"));
        let cached = section.amount("cached").unwrap_or(input);
        prices.0.insert(model, Price { input, cached, output });
        section.finish();
    }
    prices
}

/// Records warnings about caps that cannot be enforced as intended.
pub(super) fn warn(top: &Section<'_>, policy: &Policy, agents: &[AgentSpec]) {
    for agent in agents {
        let own = agent.max_budget_usd > 0.0 || agent.caps.in_dollars();
        let dollars = own || policy.caps.in_dollars(&agent.account);
        let capped = dollars || !agent.caps.is_none() || !policy.caps.fleet.is_none();
        let priced = !agent.model.is_empty() && policy.prices.of(&agent.model).is_some();
        let tokens = agent.caps.in_tokens() || policy.caps.in_tokens(&agent.account);
        let program = agent.command.first().map_or("", String::as_str);
        let unpriced = dollars && !priced;
        match (agent.runtime, agent.output) {
            (Runtime::Command, Output::Text) if capped => top.warn(
                "limits",
                format!(
                    "{} is of runtime command, which reports no tokens unless `output` says how it prints them: no cap can \
                     hold for it",
                    agent.name
                ),
            ),
            (Runtime::Codex, _) if unpriced && policy.prices.0.is_empty() => {
                no_dollars(top, "codex", agent);
            }
            (Runtime::Command, Output::Gemini) if unpriced && policy.prices.0.is_empty() => {
                no_dollars(top, "gemini", agent);
            }
            // It does not report its model.
            (Runtime::Command, Output::Codex) if unpriced => no_dollars(top, "codex", agent),
            (Runtime::Acp, _) if tokens && Quirks::of_program(program).counts_last_call => top.warn(
                "limits",
                format!(
                    "{program} names the tokens of a turn's last call of the model alone: the caps in tokens of {} let it \
                     use more than they say; its dollars are of all of them",
                    agent.name
                ),
            ),
            (Runtime::Claude | Runtime::Codex | Runtime::Acp | Runtime::Command, _) => {}
        }
        let resumes = agent.command.iter().any(|word| word == "resume");
        if (agent.runtime, agent.output) == (Runtime::Command, Output::Codex) && resumes {
            top.warn(
                "limits",
                format!(
                    "codex names the tokens of the whole conversation when it resumes one: each session of {} counts those \
                     before it again; leave `resume` out, or use runtime codex",
                    agent.name
                ),
            );
        }
    }
}

fn no_dollars(top: &Section<'_>, cli: &str, agent: &AgentSpec) {
    let named = match (agent.runtime, agent.output) {
        (Runtime::Command, Output::Codex) => " for the `model` that is set for it",
        _ => "",
    };
    top.warn(
        "prices",
        format!(
            "{cli} reports tokens and no dollars; without a price{named} the caps in dollars of {} count its tokens at the \
             price of the dearest models",
            agent.name
        ),
    );
}
