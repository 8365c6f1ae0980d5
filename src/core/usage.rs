//! Usage in tokens and dollars: sums by hour and day, prices, and caps.
//!
//! A driver reports the total usage of its session so far (a reading), which only grows. The total is recorded, not the
//! difference, so that nothing is counted twice: a repeated reading, a replayed journal, or a session whose last
//! message contains its sums.
//!
//! Hours and days are in UTC, so that a window is the same for everybody and over every change of the clocks.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::agent::Agent;
use super::id::AccountName;
use super::outcome::Usage;
use super::spec::AgentSpec;
use super::time::Timestamp;

/// Number of entries with usage by hour that are kept for an agent: two days without a break, which is enough to know
/// the usual amount.
pub const HOURS_KEPT: usize = 48;

/// Number of entries with usage by day that are kept for an agent: a month and a few.
pub const DAYS_KEPT: usize = 35;

/// Levels of a cap at which a warning is posted, in percent. The pause itself reports a reached cap.
pub const WARNED_AT: [u8; 2] = [50, 80];

/// Factor over the usual hour from which an hour's usage is unusual (a spike).
const SPIKE: f64 = 3.0;

/// Minimum number of earlier hours with usage before an hour can be unusual.
const SPIKE_AFTER: usize = 3;

/// Share of a cap from which it counts as reached: an agent that stops itself at its cap rounds, and the rest buys
/// nothing.
const AS_GOOD_AS: f64 = 0.999;

/// Assumed price if a cap in dollars applies and neither the runtime nor the configuration names one: that of the
/// most expensive models, so that a cap holds until a person configures the price.
pub const DEAREST: Price = Price { input: 15.0, cached: 1.5, output: 75.0 };

/// Provisional price during a turn of a runtime that reports the cost at the end; later it is scaled by the costs
/// that the runtime reported.
pub const PROVISIONAL: Price = Price { input: 5.0, cached: 0.5, output: 25.0 };

/// Returns the number of the hour (UTC) that contains `at`, counted from the Unix epoch.
#[must_use]
pub fn hour(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(3_600_000)
}

/// Returns the number of the day (UTC) that contains `at`, counted from the Unix epoch.
#[must_use]
pub fn day(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(86_400_000)
}

/// Price of a model's tokens, in dollars per million.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Price of tokens that are sent and not cached.
    pub input: f64,
    /// Price of tokens that are sent and found in the model's cache.
    pub cached: f64,
    /// Price of tokens that are received.
    pub output: f64,
}

impl Price {
    /// Returns the cost of these tokens, in dollars.
    #[must_use]
    pub fn of(self, tokens: Usage) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "tokens are far below where it matters")]
        let million = |tokens: u64| tokens as f64 / 1e6;
        let cached = tokens.cached_tokens.min(tokens.input_tokens);
        million(tokens.input_tokens - cached) * self.input
            + million(cached) * self.cached
            + million(tokens.output_tokens) * self.output
    }
}

/// Prices of models by name. A name ending in `*` stands for all with that beginning; the longest match counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prices(pub BTreeMap<String, Price>);

impl Prices {
    /// Returns the configured price of a model; `None` if none is configured.
    #[must_use]
    pub fn of(&self, model: &str) -> Option<Price> {
        let begins = |name: &str| name.strip_suffix('*').is_some_and(|start| model.starts_with(start));
        let by_start = || self.0.iter().filter(|(name, _)| begins(name)).max_by_key(|(name, _)| name.len());
        self.0.get(model).or_else(|| by_start().map(|(_, price)| price)).copied()
    }
}

/// Period that a cap is counted over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// The cap is counted over one session.
    Session,
    /// The cap is counted over an hour of the clock.
    Hour,
    /// The cap is counted over a day of the calendar.
    Day,
}

/// Unit that a cap is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// The cap is in dollars.
    Usd,
    /// The cap is in tokens, sent and received.
    Tokens,
}

/// A kind of cap on usage: its period and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cap {
    /// Period that the cap counts over.
    pub window: Window,
    /// Unit that the cap counts in.
    pub unit: Unit,
}

/// Returns the amount of a usage in a unit, dollars or tokens.
#[must_use]
pub fn amount(unit: Unit, usage: Usage) -> f64 {
    match unit {
        Unit::Usd => usage.cost_usd,
        #[expect(clippy::cast_precision_loss, reason = "tokens are far below where it matters")]
        Unit::Tokens => usage.tokens() as f64,
    }
}

/// Configured limits on usage, by period and unit; 0: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Caps {
    /// Maximum dollars per hour.
    pub usd_per_hour: f64,
    /// Maximum dollars per day.
    pub usd_per_day: f64,
    /// Maximum tokens per session.
    pub tokens_per_session: u64,
    /// Maximum tokens per hour.
    pub tokens_per_hour: u64,
    /// Maximum tokens per day.
    pub tokens_per_day: u64,
}

impl Caps {
    /// Returns true if no cap is set.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.list().next().is_none()
    }

    /// Returns true if a cap in dollars is set.
    #[must_use]
    pub fn in_dollars(&self) -> bool {
        self.list().any(|(cap, _)| cap.unit == Unit::Usd)
    }

    /// Returns true if a cap in tokens is set.
    #[must_use]
    pub fn in_tokens(&self) -> bool {
        self.list().any(|(cap, _)| cap.unit == Unit::Tokens)
    }

    /// Yields the caps that are set, with their limits.
    pub fn list(&self) -> impl Iterator<Item = (Cap, f64)> + use<> {
        #[expect(clippy::cast_precision_loss, reason = "tokens are far below where it matters")]
        let tokens = |window, limit: u64| (Cap { window, unit: Unit::Tokens }, limit as f64);
        let dollars = |window, limit| (Cap { window, unit: Unit::Usd }, limit);
        [
            dollars(Window::Hour, self.usd_per_hour),
            dollars(Window::Day, self.usd_per_day),
            tokens(Window::Session, self.tokens_per_session),
            tokens(Window::Hour, self.tokens_per_hour),
            tokens(Window::Day, self.tokens_per_day),
        ]
        .into_iter()
        .filter(|(_, limit)| *limit > 0.0)
    }
}

/// Caps that all agents share, and caps that the agents of one account share.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SharedCaps {
    /// Caps on the usage of all agents together.
    pub fleet: Caps,
    /// Caps on the usage of all agents of an account together.
    pub accounts: BTreeMap<AccountName, Caps>,
}

impl SharedCaps {
    /// Returns true if the usage of `account` is capped in dollars.
    #[must_use]
    pub fn in_dollars(&self, account: &AccountName) -> bool {
        self.fleet.in_dollars() || self.accounts.get(account).is_some_and(Caps::in_dollars)
    }

    /// Returns true if the usage of `account` is capped in tokens.
    #[must_use]
    pub fn in_tokens(&self, account: &AccountName) -> bool {
        self.fleet.in_tokens() || self.accounts.get(account).is_some_and(Caps::in_tokens)
    }
}

/// Yields the caps of an agent's own, with their limits.
pub fn caps_of(spec: &AgentSpec) -> impl Iterator<Item = (Cap, f64)> {
    let session = Cap { window: Window::Session, unit: Unit::Usd };
    let budget = (spec.max_budget_usd > 0.0).then_some((session, spec.max_budget_usd));
    budget.into_iter().chain(spec.caps.list())
}

/// Usage of an agent in one hour or on one day, on one account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Number of the hour or day since the Unix epoch.
    pub at: i64,
    /// The account that paid.
    pub account: AccountName,
    /// Usage of the account in that hour or day.
    pub usage: Usage,
}

/// An agent's recent usage, by hour, by day and by account.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Books {
    /// Usage by hour and account, oldest first.
    pub hours: VecDeque<Page>,
    /// Usage by day and account, oldest first.
    pub days: VecDeque<Page>,
}

impl Books {
    /// Returns true if nothing was used.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.days.is_empty()
    }

    /// Yields the accounts that paid for usage on the day with this number.
    pub fn accounts_of(&self, day: i64) -> impl Iterator<Item = &AccountName> {
        self.days.iter().rev().filter(move |page| page.at == day).map(|page| &page.account)
    }

    /// Adds `usage` to the hour and the day of `at`. Dollars may be negative, if an estimate was too high.
    pub fn enter(&mut self, account: &AccountName, usage: Usage, at: Timestamp) {
        enter(&mut self.hours, HOURS_KEPT, hour(at), account, usage);
        enter(&mut self.days, DAYS_KEPT, day(at), account, usage);
    }

    /// Returns the usage in the hour of `now`; on one account, if given.
    #[must_use]
    pub fn this_hour(&self, now: Timestamp, account: Option<&AccountName>) -> Usage {
        sum(&self.hours, hour(now), account)
    }

    /// Returns the usage on the day of `now`; on one account, if given.
    #[must_use]
    pub fn today(&self, now: Timestamp, account: Option<&AccountName>) -> Usage {
        sum(&self.days, day(now), account)
    }

    /// Returns the usage in the window of `now`; zero for a session, whose usage is kept elsewhere.
    #[must_use]
    pub fn within(&self, window: Window, now: Timestamp, account: Option<&AccountName>) -> Usage {
        match window {
            Window::Session => Usage::default(),
            Window::Hour => self.this_hour(now, account),
            Window::Day => self.today(now, account),
        }
    }

    /// Returns the usual amount in an hour: the median of the earlier hours with usage; `None` if there are too few.
    fn usual_hour(&self, now: Timestamp, unit: Unit) -> Option<f64> {
        let mut hours: BTreeMap<i64, f64> = BTreeMap::new();
        for page in self.hours.iter().filter(|page| page.at < hour(now)) {
            *hours.entry(page.at).or_default() += amount(unit, page.usage);
        }
        let mut amounts: Vec<f64> = hours.into_values().filter(|amount| *amount > 0.0).collect();
        amounts.sort_by(f64::total_cmp);
        amounts.get(amounts.len() / 2).copied().filter(|_| amounts.len() >= SPIKE_AFTER)
    }
}

fn enter(pages: &mut VecDeque<Page>, kept: usize, at: i64, account: &AccountName, usage: Usage) {
    let known = pages.iter_mut().rev().find(|page| page.at == at && page.account == *account);
    if let Some(page) = known {
        page.usage.add(usage);
        return;
    }
    // After the clock was set back there are later pages; the order by time is kept.
    let place = pages.iter().rposition(|page| page.at <= at).map_or(0, |index| index + 1);
    let mut first = Usage::default();
    first.add(usage);
    pages.insert(place, Page { at, account: account.clone(), usage: first });
    while pages.len() > kept {
        pages.pop_front();
    }
}

fn sum(pages: &VecDeque<Page>, at: i64, account: Option<&AccountName>) -> Usage {
    let mut sum = Usage::default();
    let fits = |page: &&Page| account.is_none_or(|account| page.account == *account);
    // Pages are ordered by time: those of one hour or day are together, and most often last.
    let those = pages.iter().rev().skip_while(|page| page.at > at).take_while(|page| page.at == at);
    for page in those.filter(fits) {
        sum.add(page.usage);
    }
    sum
}

/// A report of a session's usage by its runtime.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// Usage since the session started, with dollars as far as the runtime reports them.
    pub usage: Usage,
    /// Tokens of that usage that the reported dollars do not cover.
    pub unpriced: Usage,
    /// Name of the model; empty if the runtime does not name it.
    pub model: String,
    /// Usage of the last turn; dollars only if the runtime reports them per turn. Zero if it is unknown.
    pub turn: Usage,
}

impl Reading {
    /// Returns the last turn's part of `usage`, the priced total. Without dollars per turn it gets the share of the
    /// dollars that its tokens have at `price`.
    #[must_use]
    pub fn of_turn(&self, usage: Usage, price: Price) -> Usage {
        let turn = self.turn.sane();
        let named = turn.cost_usd > 0.0;
        if named || turn.tokens() == 0 {
            return Usage { estimated_usd: 0.0, ..turn };
        }
        let whole = price.of(usage);
        let part = if whole > 0.0 { (price.of(turn) / whole).clamp(0.0, 1.0) } else { 0.0 };
        let cost_usd = usage.cost_usd * part;
        // A turn that is the whole session costs the whole amount.
        let estimated_usd = if part < 1.0 { cost_usd } else { usage.estimated_usd };
        Usage { cost_usd, estimated_usd, ..turn }
    }
}

/// A cap that a person waived: it applies again at a higher limit, or in the next window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Waived {
    /// The cap that is waived.
    pub cap: Cap,
    /// Number of the hour or day for which the cap is waived.
    pub at: i64,
    /// The raised limit that applies in that window, in the cap's unit.
    pub limit: f64,
}

/// A warning that was posted: the highest level of a cap so far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Warned {
    /// The cap that was nearly used.
    pub cap: Cap,
    /// Number of the hour, day or session that the cap counted over.
    pub at: i64,
    /// Limit of the cap at that time, in its unit.
    pub limit: f64,
    /// Level of the warning, in percent of the limit.
    pub percent: u8,
}

/// Use of a cap in its current window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// The kind of the cap.
    pub cap: Cap,
    /// Limit of the cap, in its unit: as configured, or as raised by a waiver.
    pub limit: f64,
    /// Amount used in the window, in the cap's unit.
    pub used: f64,
}

impl Standing {
    /// Returns true if the cap is reached.
    #[must_use]
    pub fn is_reached(self) -> bool {
        self.used >= self.limit * AS_GOOD_AS
    }

    /// Returns the highest warning level that is reached, in percent; `None` if none is.
    #[must_use]
    pub fn warning(self) -> Option<u8> {
        let reached = |percent: &&u8| self.used * 100.0 >= self.limit * f64::from(**percent);
        WARNED_AT.iter().rev().find(reached).copied()
    }
}

/// Returns the number of the hour or day that contains `now`, since the Unix epoch; for a session, `session`.
#[must_use]
pub fn window(window: Window, now: Timestamp, session: u64) -> i64 {
    match window {
        Window::Session => i64::try_from(session).unwrap_or(i64::MAX),
        Window::Hour => hour(now),
        Window::Day => day(now),
    }
}

/// Returns the end of the hour or day that contains `now`; `None` for a session.
#[must_use]
pub fn ends(of: Window, now: Timestamp) -> Option<Timestamp> {
    let (number, length) = match of {
        Window::Session => return None,
        Window::Hour => (hour(now), 3_600_000),
        Window::Day => (day(now), 86_400_000),
    };
    Some(Timestamp::from_millis(number.saturating_add(1).saturating_mul(length)))
}

/// Returns the limit of a cap in the window of `now`: `set`, as configured, or as raised by a waiver.
#[must_use]
pub fn limit(waived: &[Waived], cap: Cap, set: f64, now: Timestamp) -> f64 {
    let at = window(cap.window, now, 0);
    let holds = |waived: &&Waived| waived.cap == cap && waived.at == at;
    waived.iter().find(holds).map_or(set, |waived| waived.limit.max(set))
}

/// Returns the next multiple of a cap above the amount used, which is the limit after a waiver.
#[must_use]
pub fn next_limit(set: f64, used: f64) -> f64 {
    let times = (used / (set * AS_GOOD_AS)).floor().max(0.0) + 1.0;
    set * times
}

impl Agent {
    /// Yields the use of each of the agent's own caps. Those of a session count only while one runs.
    pub fn caps(&self, now: Timestamp) -> impl Iterator<Item = Standing> {
        let session = self.session();
        self.spec.iter().flat_map(caps_of).filter_map(move |(cap, set)| {
            let used = match cap.window {
                Window::Session => session.map(|_| self.meter)?,
                Window::Hour | Window::Day => self.books.within(cap.window, now, None),
            };
            let limit = limit(&self.waived, cap, set, now);
            Some(Standing { cap, limit, used: amount(cap.unit, used) })
        })
    }

    /// Returns the first of the agent's own caps that is reached; `None` if none is.
    #[must_use]
    pub fn capped(&self, now: Timestamp) -> Option<Standing> {
        self.caps(now).find(|standing| standing.is_reached())
    }

    /// Returns the dollars that the next session may cost by the agent's own caps, for a runtime that enforces them
    /// itself; 0: no cap.
    #[must_use]
    pub fn allowance(&self, now: Timestamp) -> f64 {
        let budget = self.spec.as_ref().map_or(0.0, |spec| spec.max_budget_usd);
        let left = self
            .caps(now)
            .filter(|standing| standing.cap.unit == Unit::Usd && standing.cap.window != Window::Session)
            .map(|standing| (standing.limit - standing.used).max(0.01));
        left.chain((budget > 0.0).then_some(budget)).min_by(f64::total_cmp).unwrap_or(0.0)
    }

    /// Returns the unit, the amount used and the usual amount, if the agent's usage in the hour of `now` is far above
    /// the usual; else `None`.
    #[must_use]
    pub fn spike(&self, now: Timestamp) -> Option<(Unit, f64, f64)> {
        let used = self.books.this_hour(now, None);
        let unit = if used.cost_usd > 0.0 { Unit::Usd } else { Unit::Tokens };
        let usual = self.books.usual_hour(now, unit)?;
        let used = amount(unit, used);
        (used > usual * SPIKE).then_some((unit, used, usual))
    }
}

/// Returns the time until the next hour.
#[must_use]
pub fn until_next_hour(now: Timestamp) -> Duration {
    ends(Window::Hour, now).map(|end| end.since(now)).unwrap_or_default()
}
