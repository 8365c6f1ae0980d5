//! The usage as the events tell it, and the caps: past a reached cap no session begins and none continues.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use herder::core::agent::{Agent, Phase};
use herder::core::event::Event;
use herder::core::id::{AccountName, AgentName};
use herder::core::ledger::Shared;
use herder::core::outcome::Usage;
use herder::core::time::Timestamp;
use herder::core::usage::{Cap, Caps, SharedCaps, Unit, Waived, Window, day, hour};
use herder::journal::FleetEvent;
use herder::supervisor::View;

use super::world::Tally;

/// The longest delay of the actions that follow from usage.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Longer than any turn, at whose end it is known what was used.
const LONGEST_TURN: Duration = Duration::from_secs(20 * 60);

/// The owner of a cap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Agent(AgentName),
    Account(AccountName),
    Fleet,
}

/// The recent usage.
#[derive(Debug, Default, Clone)]
struct Sum {
    hour: (i64, Usage),
    day: (i64, Usage),
    /// The time of the last usage.
    last: Timestamp,
    waived: Vec<Waived>,
}

impl Sum {
    fn enter(&mut self, usage: Usage, at: Timestamp) {
        for ((when, sum), now) in [(&mut self.hour, hour(at)), (&mut self.day, day(at))] {
            if *when != now {
                (*when, *sum) = (now, Usage::default());
            }
            sum.add(usage);
        }
        self.last = at;
    }

    fn within(&self, window: Window, now: Timestamp) -> Usage {
        let ((when, sum), now) = match window {
            Window::Hour => (self.hour, hour(now)),
            Window::Day => (self.day, day(now)),
            Window::Session => return Usage::default(),
        };
        if when == now { sum } else { Usage::default() }
    }

    /// Returns the cap that is reached, if one is.
    fn reached(&self, caps: &Caps, now: Timestamp) -> Option<Cap> {
        let is_reached = |(cap, set): &(Cap, f64)| {
            let at = if cap.window == Window::Day { day(now) } else { hour(now) };
            let waived = self.waived.iter().filter(|waived| waived.cap == *cap && waived.at == at);
            let limit = waived.map(|waived| waived.limit).fold(*set, f64::max);
            cap.window != Window::Session && amount(self.within(cap.window, now), cap.unit) >= limit
        };
        caps.list().find(is_reached).map(|(cap, _)| cap)
    }
}

#[expect(clippy::cast_precision_loss, reason = "tokens are far below where it matters")]
fn amount(usage: Usage, unit: Unit) -> f64 {
    if unit == Unit::Usd { usage.cost_usd } else { usage.tokens() as f64 }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    sums: BTreeMap<Whose, Sum>,
    meters: HashMap<AgentName, Usage>,
    /// Agents whose usage is just being recorded.
    using: BTreeSet<AgentName>,
    caps: SharedCaps,
    /// The time since which these caps hold.
    since: Timestamp,
}

impl Spent {
    /// Sets other caps from now on.
    pub(crate) fn cap(&mut self, caps: SharedCaps, now: Timestamp) {
        // An agent that is just ending a session is waited for before the books are checked.
        (self.caps, self.since) = (caps, now.after(Duration::from_secs(15)));
    }

    /// Records an agent's event; `agent` is its state before, `began_on` the account that its last session began on.
    pub(crate) fn heard(
        &mut self,
        name: &AgentName,
        event: &Event,
        agent: &Agent,
        began_on: &AccountName,
        at: Timestamp,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let account = agent.spec.as_ref().map(|spec| spec.account.clone()).unwrap_or_default();
        match event {
            Event::SessionStarted { .. } => {
                self.meters.insert(name.clone(), Usage::default());
                self.nothing_begins_past_a_cap(name, agent, at)?;
            }
            // Its own caps may be others now, and its account.
            Event::Edited { .. } | Event::Added { .. } => {
                self.sums.entry(Whose::Agent(name.clone())).or_default().last = at;
            }
            Event::UsageRecorded { session, usage, .. } if agent.session() == Some(*session) => {
                self.read(name, began_on, *usage, at);
            }
            Event::SessionEnded { session, outcome, .. } if agent.session() == Some(*session) => {
                self.read(name, began_on, outcome.usage, at);
            }
            Event::Evaluated { usage, .. } | Event::SplitEnded { usage, .. } => {
                self.enter(name, &account, *usage, at);
            }
            Event::CapWaived { cap, at: when, limit, .. } => {
                tally.waived += 1;
                self.waive(Whose::Agent(name.clone()), Waived { cap: *cap, at: *when, limit: *limit });
            }
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn fleet(&mut self, event: &FleetEvent, tally: &mut Tally) {
        if let FleetEvent::CapWaived { account, waived, .. } = event {
            tally.waived += 1;
            self.waive(account.clone().map_or(Whose::Fleet, Whose::Account), *waived);
        }
    }

    fn waive(&mut self, whose: Whose, waived: Waived) {
        self.sums.entry(whose).or_default().waived.push(waived);
    }

    /// Records a reading of the session's meter: the difference from the last one was used since.
    fn read(&mut self, name: &AgentName, account: &AccountName, usage: Usage, at: Timestamp) {
        let meter = self.meters.entry(name.clone()).or_default();
        if usage.tokens() < meter.tokens() || usage == *meter {
            return;
        }
        let step = usage.since(*meter);
        *meter = usage;
        self.enter(name, account, step, at);
    }

    fn enter(&mut self, name: &AgentName, account: &AccountName, usage: Usage, at: Timestamp) {
        if usage == Usage::default() {
            return;
        }
        self.using.insert(name.clone());
        let account = Whose::Account(account.clone());
        for whose in [Whose::Agent(name.clone()), account, Whose::Fleet] {
            self.sums.entry(whose).or_default().enter(usage, at);
        }
    }

    /// Returns the caps that hold for an agent, and how much was used of each.
    fn of(&self, name: &AgentName, account: &AccountName, agent: &Agent) -> Vec<(Whose, Caps)> {
        let own = agent.spec.as_ref().map(|spec| spec.caps).unwrap_or_default();
        let shared = self.caps.accounts.get(account).copied().unwrap_or_default();
        vec![
            (Whose::Agent(name.clone()), own),
            (Whose::Account(account.clone()), shared),
            (Whose::Fleet, self.caps.fleet),
        ]
    }

    fn reached(&self, name: &AgentName, agent: &Agent, now: Timestamp) -> Option<(Whose, Cap, Timestamp)> {
        let account = agent.spec.as_ref().map(|spec| spec.account.clone()).unwrap_or_default();
        self.of(name, &account, agent).into_iter().find_map(|(whose, caps)| {
            let sum = self.sums.get(&whose)?;
            let cap = sum.reached(&caps, now)?;
            let edited = self.sums.get(&Whose::Agent(name.clone())).map(|sum| sum.last).unwrap_or_default();
            Some((whose, cap, sum.last.max(self.since).max(edited)))
        })
    }

    fn nothing_begins_past_a_cap(
        &self,
        name: &AgentName,
        agent: &Agent,
        now: Timestamp,
    ) -> Result<(), String> {
        match self.reached(name, agent, now) {
            Some((whose, cap, since)) if since.after(AT_ONCE) < now => {
                Err(format!("{name} begins although {cap:?} of {whose:?} is reached since {since:?}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks after a batch: a cap of its own ends an agent's session with the very usage that reaches it.
    pub(crate) fn whoever_reaches_its_own_cap_is_stopped(
        &mut self,
        name: &AgentName,
        agent: &Agent,
        now: Timestamp,
    ) -> Result<(), String> {
        let works = matches!(agent.phase, Phase::Starting { .. } | Phase::Running { .. });
        if !self.using.remove(name) || !works {
            return Ok(());
        }
        let caps = agent.spec.as_ref().map(|spec| spec.caps).unwrap_or_default();
        let sum = self.sums.get(&Whose::Agent(name.clone()));
        match sum.and_then(|sum| sum.reached(&caps, now)) {
            Some(cap) => Err(format!("{name} goes on although it has just reached its {cap:?}")),
            None => Ok(()),
        }
    }

    /// Checks that an agent that worked when a cap was reached has stopped once it has used something since.
    pub(crate) fn nobody_works_past_a_cap(&self, views: &[View], now: Timestamp) -> Result<(), String> {
        let works = |view: &&View| matches!(view.agent.phase, Phase::Starting { .. } | Phase::Running { .. });
        for view in views.iter().filter(works) {
            if let Some((whose, cap, since)) = self.reached(&view.name, &view.agent, now)
                && since.after(LONGEST_TURN) < now
            {
                let name = &view.name;
                return Err(format!("{name} works although {cap:?} of {whose:?} is reached since {since:?}"));
            }
        }
        Ok(())
    }

    /// Checks that the usage that people are shown is the recorded usage.
    pub(crate) fn what_is_shown_was_used(&self, shown: &[Shared], now: Timestamp) -> Result<(), String> {
        for shared in shown {
            let whose = shared.scope.clone().map_or(Whose::Fleet, Whose::Account);
            let sum = self.sums.get(&whose).cloned().unwrap_or_default();
            let pairs = [(shared.hour, Window::Hour), (shared.today, Window::Day)];
            for (shown, window) in pairs {
                let used = sum.within(window, now);
                let apart = (used.cost_usd - shown.cost_usd).abs() > 1e-6;
                if apart || used.tokens() != shown.tokens() {
                    return Err(format!(
                        "{whose:?} has used {used:?} in its {window:?}, and {shown:?} is shown"
                    ));
                }
            }
        }
        Ok(())
    }
}
