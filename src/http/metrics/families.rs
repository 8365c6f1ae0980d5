//! All metric families, in the order of the output.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::writer::{Label, Writer, label, large, number, with};
use crate::clock;
use crate::commands::COMMANDS;
use crate::core::agent::{Agent, Phase};
use crate::core::board::{Board, Place};
use crate::core::id::{AccountName, AgentName, NetworkName};
use crate::core::ledger::Scope;
use crate::core::link::{LinkReport, LinkState};
use crate::core::machine::Taken;
use crate::core::outcome::{Category, Usage};
use crate::core::review::Review;
use crate::core::time::Timestamp;
use crate::core::usage::{Standing, Unit, Window};
use crate::core::work::{Work, WorkKind};
use crate::http::Setup;
use crate::journal::{Journal, VERDICTS};
use crate::numbers::Unheard;
use crate::outbox::OwedNumbers;

/// The phases, all of which are always there.
const PHASES: [&str; 8] =
    ["idle", "starting", "running", "stopping", "waiting", "paused", "needs-intervention", "degraded"];

/// The states of an account, all of which are always there.
const ACCOUNTS: [Category; 4] = [Category::Billing, Category::Auth, Category::Budget, Category::Quota];

/// The states of a task, all of which are always there.
const TASKS: [&str; 11] = [
    "queued", "offered", "split", "blocked", "waiting", "at-work", "parked", "checking", "review", "merging",
    "proposed",
];

/// The states of a command, all of which are always there.
const RESULTS: [&str; 3] = ["done", "refused", "denied"];

/// Lines that are no commands by name, as they are counted.
const OTHER_COMMANDS: [&str; 2] = ["work", "unknown"];

/// Networks that are no chat: the shell, the page and the API.
const OTHER_NETWORKS: [&str; 2] = ["local", "http"];

/// The published state at one moment.
#[derive(Debug)]
pub(super) struct Scrape {
    agents: Vec<(AgentName, Arc<Agent>)>,
    /// Memory of the sessions that are limited.
    taken: Vec<(AgentName, Taken)>,
    shared_caps: Vec<(Scope, Standing)>,
    board: Arc<Board>,
    networks: Vec<NetworkName>,
    links: Vec<LinkReport>,
    owed: Vec<(NetworkName, OwedNumbers)>,
    hooks: Vec<(NetworkName, OwedNumbers)>,
    journal: Journal,
    now: Timestamp,
}

impl Scrape {
    pub(super) fn of(setup: &Setup) -> Self {
        let now = clock::now();
        let agents = setup.fleet.published();
        Self {
            shared_caps: setup.fleet.shared_caps(&agents, now),
            agents,
            taken: setup.fleet.taken(),
            board: setup.fleet.board(),
            networks: setup.networks.clone(),
            links: setup.fleet.links(),
            owed: setup.queues.iter().map(|queue| (queue.network().clone(), queue.owed())).collect(),
            hooks: setup.hooks.iter().map(|queue| (queue.network().clone(), queue.owed())).collect(),
            journal: setup.journal.clone(),
            now,
        }
    }
}

fn of_agent(agent: &AgentName) -> Vec<Label> {
    label("agent", agent.as_str())
}

fn of_network(network: &NetworkName) -> Vec<Label> {
    label("network", network.as_str())
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

/// The unit of a cap, with its window.
fn unit(standing: &Standing) -> &'static str {
    match (standing.cap.unit, standing.cap.window) {
        (Unit::Usd, Window::Session) => "usd-per-session",
        (Unit::Usd, Window::Hour) => "usd-per-hour",
        (Unit::Usd, Window::Day) => "usd-per-day",
        (Unit::Tokens, Window::Session) => "tokens-per-session",
        (Unit::Tokens, Window::Hour) => "tokens-per-hour",
        (Unit::Tokens, Window::Day) => "tokens-per-day",
    }
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut to = Writer(encoder);
        let version = label("version", env!("CARGO_PKG_VERSION"));
        to.gauges("herder_build_info", [(version, 1.0)])?;
        self.phases(&mut to)?;
        self.sessions(&mut to)?;
        self.usage(&mut to)?;
        self.caps(&mut to)?;
        self.accounts(&mut to)?;
        self.tasks(&mut to)?;
        self.attention(&mut to)?;
        self.outbox(&mut to)?;
        self.links(&mut to)?;
        self.commands(&mut to)?;
        self.journal(&mut to)
    }
}

impl Scrape {
    fn phases(&self, to: &mut Writer<'_>) -> fmt::Result {
        let mut phases: BTreeMap<&str, u32> = PHASES.into_iter().map(|phase| (phase, 0)).collect();
        for (_, agent) in &self.agents {
            if let Some(count) = phase(&agent.phase).and_then(|phase| phases.get_mut(phase)) {
                *count += 1;
            }
        }
        let samples = phases.into_iter().map(|(phase, count)| (label("phase", phase), f64::from(count)));
        to.gauges("herder_agents", samples)?;
        let needy = self.agents.iter().filter(|(_, agent)| agent.needs_a_person(self.now)).count();
        to.gauge("herder_agents_needing_person", number(needy))?;
        let trees = self.agents.iter().filter(|(_, agent)| agent.process.is_some()).count();
        to.gauge("herder_process_trees", number(trees))?;
        let queues = self.agents.iter().map(|(name, agent)| (of_agent(name), number(agent.queue.len())));
        to.gauges("herder_queue", queues)?;
        let memory = |of: fn(&Taken) -> u64| {
            self.taken
                .iter()
                .map(move |(name, taken)| (of_agent(name), large(of(taken))))
                .filter(|it| it.1 > 0.0)
        };
        to.gauges("herder_agent_memory_bytes", memory(|taken| taken.now))?;
        to.gauges("herder_agent_memory_peak_bytes", memory(|taken| taken.peak))?;
        to.gauges("herder_agent_memory_limit_bytes", memory(|taken| taken.limit))
    }

    fn sessions(&self, to: &mut Writer<'_>) -> fmt::Result {
        let counts = self.journal.tally().agents();
        let counted = || self.agents.iter().filter_map(|(name, _)| Some((name, counts.get(name)?)));
        let sessions = counted().flat_map(|(name, counts)| {
            let sample = |(category, count): (Category, u64)| {
                (with(of_agent(name), "outcome", category.word()), large(count))
            };
            counts.sessions().map(sample).collect::<Vec<_>>()
        });
        to.counters("herder_sessions", sessions)?;
        let ran = self.journal.numbers().session_seconds.read();
        to.histogram("herder_session_seconds", &ran)?;
        let restarts = counted().flat_map(|(name, counts)| {
            let restarts = counts.restarts();
            restarts
                .map(|(cause, count)| (with(of_agent(name), "cause", cause.word()), large(count)))
                .collect::<Vec<_>>()
        });
        to.counters("herder_restarts", restarts)
    }

    /// Returns the usage by agent and account, with the labels.
    fn paid(&self) -> impl Iterator<Item = (Vec<Label>, Usage)> + '_ {
        self.agents.iter().flat_map(|(name, agent)| {
            // A state from before there were sums by account.
            let before = agent.paid_by.is_empty().then(|| (agent.account(), agent.totals.usage));
            let paid = agent.paid_by.iter().map(|(account, usage)| (account.clone(), *usage));
            paid.chain(before)
                .map(|(account, usage)| (with(of_agent(name), "account", account.as_str()), usage))
                .collect::<Vec<_>>()
        })
    }

    fn usage(&self, to: &mut Writer<'_>) -> fmt::Result {
        let tokens = self.paid().flat_map(|(labels, usage)| {
            let fresh = usage.input_tokens.saturating_sub(usage.cached_tokens);
            let kinds = [("input", fresh), ("cached", usage.cached_tokens), ("output", usage.output_tokens)];
            kinds.map(|(kind, count)| (with(labels.clone(), "kind", kind), large(count)))
        });
        to.counters("herder_tokens", tokens)?;
        let dollars = self.paid().map(|(labels, usage)| (labels, usage.cost_usd.max(0.0)));
        to.counters("herder_cost_usd", dollars)
    }

    fn caps(&self, to: &mut Writer<'_>) -> fmt::Result {
        let sample = |scope: &'static str, name: &str, standing: Standing| {
            let labels = with(with(label("scope", scope), "name", name), "unit", unit(&standing));
            (labels, if standing.limit > 0.0 { standing.used / standing.limit } else { 0.0 })
        };
        let own = self
            .agents
            .iter()
            .flat_map(|(name, agent)| agent.caps(self.now).map(|it| sample("agent", name.as_str(), it)));
        let shared = self.shared_caps.iter().map(|(scope, standing)| match scope {
            Some(account) => sample("account", account.as_str(), *standing),
            None => sample("fleet", "all", *standing),
        });
        to.gauges("herder_cap_ratio", own.chain(shared))
    }

    fn accounts(&self, to: &mut Writer<'_>) -> fmt::Result {
        let closed = self.journal.numbers().closed();
        let mut known: BTreeSet<AccountName> = self.agents.iter().map(|(_, agent)| agent.account()).collect();
        known.extend(closed.keys().cloned());
        let open = known.iter().filter(|account| !closed.contains_key(*account)).count();
        let states = ACCOUNTS.into_iter().map(|state| {
            let count = closed.values().filter(|category| **category == state).count();
            (label("state", state.word()), number(count))
        });
        let samples = std::iter::once((label("state", "open"), number(open))).chain(states);
        to.gauges("herder_accounts", samples)
    }

    fn tasks(&self, to: &mut Writer<'_>) -> fmt::Result {
        let mut counts: BTreeMap<&str, usize> = TASKS.into_iter().map(|state| (state, 0)).collect();
        let mut add = |state, more: usize| *counts.entry(state).or_default() += more;
        for task in self.board.tasks.values() {
            let state = match task.place {
                Place::Queued { .. } => "queued",
                Place::Offered { .. } => "offered",
                Place::Split { .. } if task.blocked_by().is_some() => "blocked",
                Place::Split { .. } => "split",
            };
            add(state, 1);
        }
        for (_, agent) in &self.agents {
            let is_task = |kind: WorkKind| kind == WorkKind::Task;
            let (checking, waiting): (Vec<&Work>, Vec<&Work>) = agent
                .queue
                .iter()
                .filter(|work| is_task(work.kind))
                .partition(|work| agent.checkouts.is_being_checked(work.id));
            add("waiting", waiting.len());
            add("checking", checking.len());
            add("at-work", usize::from(agent.current.as_ref().is_some_and(|work| is_task(work.kind))));
            let (merging, reviewed): (Vec<&Review>, Vec<&Review>) =
                agent.checkouts.reviews().partition(|review| review.is_being_merged());
            let (proposed, reviewed): (Vec<&Review>, Vec<&Review>) =
                reviewed.into_iter().partition(|review| review.is_outside());
            add("proposed", proposed.len());
            add("review", reviewed.len());
            add("merging", merging.len());
            add("parked", agent.board.parked().count());
        }
        let samples = counts.into_iter().map(|(state, count)| (label("state", state), number(count)));
        to.gauges("herder_board_tasks", samples)
    }

    /// Writes questions, calls and evaluations.
    fn attention(&self, to: &mut Writer<'_>) -> fmt::Result {
        let asks: usize = self.agents.iter().map(|(_, agent)| agent.asks.len()).sum();
        to.gauge("herder_asks_open", number(asks))?;
        let calls = self.agents.iter().filter_map(|(_, agent)| agent.watch.escalation.as_ref());
        let ages: Vec<f64> = calls.map(|call| self.now.since(call.at).as_secs_f64()).collect();
        to.gauge("herder_calls_open", number(ages.len()))?;
        let oldest = ages.into_iter().fold(0.0, f64::max);
        to.gauge("herder_call_oldest_seconds", oldest)?;
        let verdicts = VERDICTS.iter().zip(self.journal.tally().evaluations());
        let samples = verdicts.map(|(verdict, count)| (label("verdict", *verdict), large(count)));
        to.counters("herder_evaluations", samples)
    }

    fn outbox(&self, to: &mut Writer<'_>) -> fmt::Result {
        let posts = self.owed.iter().flat_map(|(network, owed)| {
            let lanes = [("urgent", owed.urgent), ("normal", owed.normal)];
            lanes.map(|(lane, count)| (with(of_network(network), "lane", lane), number(count)))
        });
        to.gauges("herder_outbox_posts", posts)?;
        let age = |owed: &OwedNumbers| owed.oldest.map_or(0.0, |at| self.now.since(at).as_secs_f64());
        let ages = self.owed.iter().map(|(network, owed)| (of_network(network), age(owed)));
        to.gauges("herder_outbox_oldest_seconds", ages)?;
        let named = |name: &NetworkName| label("name", name.as_str());
        let hooks = self.hooks.iter().map(|(name, owed)| (named(name), number(owed.urgent + owed.normal)));
        to.gauges("herder_webhook_owed", hooks)?;
        let failures = &self.journal.numbers().webhook_failures;
        let failures = self.hooks.iter().map(|(name, _)| (named(name), large(failures.get(name))));
        to.counters("herder_webhook_failures", failures)
    }

    fn links(&self, to: &mut Writer<'_>) -> fmt::Result {
        let up = self.networks.iter().map(|network| {
            let link = self.links.iter().find(|link| link.network == *network);
            let is_up = link.is_some_and(|link| matches!(link.state, LinkState::Up { .. }));
            (of_network(network), f64::from(u8::from(is_up)))
        });
        to.gauges("herder_network_up", up)?;
        let numbers = self.journal.numbers();
        let again = self.networks.iter().map(|it| (of_network(it), large(numbers.reconnects.get(it))));
        to.counters("herder_network_reconnects", again)?;
        let limited = large(numbers.ratelimited.load(Ordering::Relaxed));
        to.counter("herder_discord_ratelimited", limited)
    }

    /// Commands by name, network and result. Every value of each label is there, also of those that nobody has used.
    fn commands(&self, to: &mut Writer<'_>) -> fmt::Result {
        let mut networks: BTreeSet<NetworkName> = self.networks.iter().cloned().collect();
        networks.extend(OTHER_NETWORKS.into_iter().map(NetworkName::from));
        let names = COMMANDS.iter().map(|command| command.name).chain(OTHER_COMMANDS);
        let mut counts: BTreeMap<(&str, &NetworkName, &str), u64> = BTreeMap::new();
        for name in names {
            for network in &networks {
                counts.extend(RESULTS.map(|result| ((name, network, result), 0)));
            }
        }
        let done = self.journal.tally().commands();
        for ((name, network), count) in &*done {
            let count = count.load(Ordering::Relaxed);
            counts.entry((name, network, "done")).and_modify(|known| *known = count);
        }
        let unheard = self.journal.numbers().unheard.read();
        for ((name, network, why), count) in &unheard {
            let result = match why {
                Unheard::Refused => "refused",
                Unheard::Denied => "denied",
            };
            counts.entry((name, network, result)).and_modify(|known| *known = *count);
        }
        let samples = counts.into_iter().map(|((name, network, result), count)| {
            (with(with(label("command", name), "network", network.as_str()), "result", result), large(count))
        });
        to.counters("herder_commands", samples)?;
        let took = self.journal.numbers().command_seconds.read();
        to.histogram("herder_command_seconds", &took)
    }

    fn journal(&self, to: &mut Writer<'_>) -> fmt::Result {
        let numbers = self.journal.numbers();
        let took = numbers.commit_seconds.read();
        to.histogram("herder_commit_seconds", &took)?;
        let bytes = large(numbers.journal_bytes.load(Ordering::Relaxed));
        to.gauge("herder_journal_bytes", bytes)?;
        let free = large(numbers.disk_free_bytes.load(Ordering::Relaxed));
        to.gauge("herder_disk_free_bytes", free)?;
        let panics = large(self.journal.tally().panics());
        to.counter("herder_supervisor_panics", panics)
    }
}
