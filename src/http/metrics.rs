//! `/metrics`: what herder knows of itself, in numbers. Read from published state when it is asked for; nothing is counted
//! between two scrapes, and no supervisor waits for one.

use std::collections::BTreeMap;
use std::fmt;

use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::{Shared, api};
use crate::chat::{LinkReport, LinkState};
use crate::clock;
use crate::config::Listen;
use crate::core::agent::Phase;
use crate::core::time::Timestamp;
use crate::supervisor::View;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The phases, all of which are always there.
const PHASES: [&str; 8] =
    ["idle", "starting", "running", "stopping", "waiting", "paused", "needs-intervention", "degraded"];

pub(super) async fn metrics(State(app): State<Shared>, parts: Parts) -> Response {
    // A proxy in front makes everybody come from this machine.
    let is_local = match &app.setup.settings.listen {
        Listen::Tcp(address) => address.ip().is_loopback(),
        Listen::Unix(_) => true,
    };
    let is_open = is_local && !app.setup.settings.behind_proxy;
    if !is_open && let Err(unknown) = app.caller(&parts).await {
        return api::Problem::from(unknown).into_response();
    }
    let scrape =
        Scrape { agents: app.setup.fleet.agents(), links: app.setup.fleet.links(), now: clock::now() };
    let mut registry = Registry::default();
    registry.register_collector(Box::new(scrape));
    let mut text = String::new();
    if encode(&mut text, &registry).is_err() {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let accepted = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.contains("application/openmetrics-text")) {
        ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response()
    } else {
        ([(header::CONTENT_TYPE, PLAIN)], plain(&text)).into_response()
    }
}

/// The same in the format of before OpenMetrics: a counter is described by the name that its samples have.
fn plain(text: &str) -> String {
    let counters: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let mut shown = String::with_capacity(text.len());
    for line in text.lines().filter(|line| !line.starts_with("# EOF") && !line.starts_with("# UNIT")) {
        let described = line.strip_prefix("# TYPE ").or_else(|| line.strip_prefix("# HELP "));
        let name = described.and_then(|rest| rest.split(' ').next()).filter(|name| counters.contains(name));
        match name {
            Some(name) => shown.push_str(&line.replacen(name, &format!("{name}_total"), 1)),
            None => shown.push_str(line),
        }
        shown.push('\n');
    }
    shown
}

/// What is published at one moment.
#[derive(Debug)]
struct Scrape {
    agents: Vec<View>,
    links: Vec<LinkReport>,
    now: Timestamp,
}

type Label = (&'static str, String);

/// Writes families of samples.
struct Writer<'a>(DescriptorEncoder<'a>);

impl Writer<'_> {
    fn gauges(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Vec<Label>, f64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        samples
            .into_iter()
            .try_for_each(|(labels, value)| ConstGauge::new(value).encode(family.encode_family(&labels)?))
    }

    fn counters(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Vec<Label>, f64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        samples
            .into_iter()
            .try_for_each(|(labels, value)| ConstCounter::new(value).encode(family.encode_family(&labels)?))
    }
}

fn number(count: impl TryInto<u32>) -> f64 {
    f64::from(count.try_into().unwrap_or(u32::MAX))
}

#[expect(clippy::cast_precision_loss, reason = "a count of tokens is exact up to nine quadrillion")]
fn large(count: u64) -> f64 {
    count as f64
}

fn of_agent(view: &View) -> Vec<Label> {
    vec![("agent", view.name.to_string())]
}

fn with(mut labels: Vec<Label>, name: &'static str, value: &str) -> Vec<Label> {
    labels.push((name, value.to_owned()));
    labels
}

fn phase(phase: &Phase) -> Option<&'static str> {
    Some(match phase {
        Phase::Idle => "idle",
        Phase::Starting { .. } => "starting",
        Phase::Running { .. } => "running",
        Phase::Stopping { .. } => "stopping",
        Phase::Waiting { .. } => "waiting",
        Phase::Paused { .. } => "paused",
        Phase::NeedsIntervention => "needs-intervention",
        Phase::Degraded => "degraded",
        Phase::Removed => return None,
    })
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut to = Writer(encoder);
        let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
        to.gauges("herder_build_info", "The version that runs; always 1", [(version, 1.0)])?;
        self.phases(&mut to)?;
        self.sums(&mut to)?;
        self.attention(&mut to)?;
        let up = self.links.iter().map(|link| {
            let is_up = matches!(link.state, LinkState::Up { .. });
            (vec![("network", link.network.to_string())], f64::from(u8::from(is_up)))
        });
        to.gauges("herder_network_up", "Whether a network is joined", up)
    }
}

impl Scrape {
    fn phases(&self, to: &mut Writer<'_>) -> fmt::Result {
        let mut phases: BTreeMap<&str, u32> = PHASES.into_iter().map(|phase| (phase, 0)).collect();
        for view in &self.agents {
            if let Some(count) = phase(&view.agent.phase).and_then(|phase| phases.get_mut(phase)) {
                *count += 1;
            }
        }
        let samples =
            phases.into_iter().map(|(phase, count)| (vec![("phase", phase.to_owned())], f64::from(count)));
        to.gauges("herder_agents", "Agents by phase", samples)?;
        let queues = self.agents.iter().map(|view| (of_agent(view), number(view.agent.queue.len())));
        to.gauges("herder_queue", "Works that wait for an agent", queues)
    }

    fn sums(&self, to: &mut Writer<'_>) -> fmt::Result {
        let sessions = self.agents.iter().flat_map(|view| {
            let totals = &view.agent.totals;
            let crashes = totals.crashes;
            let kinds = [
                ("success", totals.successes),
                ("crash", crashes),
                ("failure", totals.failures.saturating_sub(crashes)),
                ("other", totals.sessions.saturating_sub(totals.successes.saturating_add(totals.failures))),
            ];
            kinds.map(|(kind, count)| (with(of_agent(view), "outcome", kind), large(count)))
        });
        to.counters("herder_sessions", "Sessions by outcome since the agent was added", sessions)?;
        let tokens = self.agents.iter().flat_map(|view| {
            let usage = view.agent.totals.usage;
            let fresh = usage.input_tokens.saturating_sub(usage.cached_tokens);
            let kinds = [("input", fresh), ("cached", usage.cached_tokens), ("output", usage.output_tokens)];
            kinds.map(|(kind, count)| (with(of_agent(view), "kind", kind), large(count)))
        });
        to.counters("herder_tokens", "Tokens used since the agent was added", tokens)?;
        let dollars =
            self.agents.iter().map(|view| (of_agent(view), view.agent.totals.usage.cost_usd.max(0.0)));
        to.counters("herder_cost_usd", "Dollars spent since the agent was added", dollars)?;
        let caps = self.agents.iter().filter_map(|view| {
            let cap = view.agent.spec.as_ref()?.caps.usd_per_day;
            let today = view.agent.books.today(self.now, None).cost_usd;
            (cap > 0.0).then(|| (of_agent(view), today / cap))
        });
        to.gauges("herder_cap_ratio", "Dollars of today as a part of the agent's daily cap", caps)
    }

    /// What waits for people.
    fn attention(&self, to: &mut Writer<'_>) -> fmt::Result {
        let asks: usize = self.agents.iter().map(|view| view.agent.asks.len()).sum();
        to.gauges(
            "herder_asks_open",
            "Questions and requests of agents that wait",
            [(Vec::new(), number(asks))],
        )?;
        let calls = self.agents.iter().filter_map(|view| view.agent.watch.escalation.as_ref());
        let ages: Vec<f64> = calls.map(|call| self.now.since(call.at).as_secs_f64()).collect();
        to.gauges("herder_calls_open", "Calls for a person that wait", [(Vec::new(), number(ages.len()))])?;
        let oldest = ages.into_iter().fold(0.0, f64::max);
        to.gauges(
            "herder_call_oldest_seconds",
            "Age of the oldest call; 0 if there is none",
            [(Vec::new(), oldest)],
        )
    }
}
