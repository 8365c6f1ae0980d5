//! What is used, in tokens and dollars: books by hour and day, prices, caps.
//!
//! A driver reports readings of its session's meter, which only grow. What is recorded is the reading, not the step: a
//! reading that comes twice, a journal that is read again, and a session whose last words are its sums count nothing twice.
//!
//! Hours and days are those of UTC, so that a window is the same for everybody and over every change of the clocks.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::agent::Agent;
use super::id::AccountName;
use super::outcome::Usage;
use super::spec::AgentSpec;
use super::time::Timestamp;

/// The hours with any use that are kept: two days without a break, which is enough to know what is usual.
pub const HOURS_KEPT: usize = 48;

/// The days with any use that are kept: a month and a few.
pub const DAYS_KEPT: usize = 35;

/// Warned at these parts of a cap, in percent; that it is reached is said by the pause itself.
pub const WARNED_AT: [u8; 2] = [50, 80];

/// An hour with more than so many times the usual is a spike.
const SPIKE: f64 = 3.0;

/// Hours with use that must have been seen before one of them can be unusual.
const SPIKE_AFTER: usize = 3;

/// Dollars this close to a cap have reached it: an agent that stops itself at its cap rounds, and the rest buys nothing.
const AS_GOOD_AS: f64 = 0.999;

/// What a million tokens are taken to cost while a cap in dollars counts and neither the runtime nor the configuration
/// names a price: what the dearest models of the day cost, so that a cap holds before somebody looks the price up.
pub const DEAREST: Price = Price { input: 15.0, cached: 1.5, output: 75.0 };

/// What a million tokens are first taken to cost in the middle of a turn of a runtime that names the cost at its end;
/// from the first cost on that it names, this is scaled by what it came to.
pub const PROVISIONAL: Price = Price { input: 5.0, cached: 0.5, output: 25.0 };

/// The hour of a moment.
#[must_use]
pub fn hour(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(3_600_000)
}

/// The day of a moment.
#[must_use]
pub fn day(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(86_400_000)
}

/// Dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Sent, not cached.
    pub input: f64,
    /// Sent and found in the cache.
    pub cached: f64,
    /// Received.
    pub output: f64,
}

impl Price {
    /// What these tokens cost.
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

/// What models cost, by name. A name that ends with `*` stands for all that begin so; the longest one counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prices(pub BTreeMap<String, Price>);

impl Prices {
    /// The price of a model, if one is known.
    #[must_use]
    pub fn of(&self, model: &str) -> Option<Price> {
        let begins = |name: &str| name.strip_suffix('*').is_some_and(|start| model.starts_with(start));
        let by_start = || self.0.iter().filter(|(name, _)| begins(name)).max_by_key(|(name, _)| name.len());
        self.0.get(model).or_else(|| by_start().map(|(_, price)| price)).copied()
    }
}

/// What a cap is counted over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// One session.
    Session,
    /// An hour of the clock.
    Hour,
    /// A day of the calendar.
    Day,
}

/// What a cap is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Dollars.
    Usd,
    /// Tokens, sent and received.
    Tokens,
}

/// Which cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cap {
    /// Over what.
    pub window: Window,
    /// In what.
    pub unit: Unit,
}

/// How much of what `cap` counts.
#[must_use]
pub fn amount(unit: Unit, usage: Usage) -> f64 {
    match unit {
        Unit::Usd => usage.cost_usd,
        #[expect(clippy::cast_precision_loss, reason = "tokens are far below where it matters")]
        Unit::Tokens => usage.tokens() as f64,
    }
}

/// Caps that a person set; 0: none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Caps {
    /// Dollars in an hour.
    pub usd_per_hour: f64,
    /// Dollars in a day.
    pub usd_per_day: f64,
    /// Tokens in a session.
    pub tokens_per_session: u64,
    /// Tokens in an hour.
    pub tokens_per_hour: u64,
    /// Tokens in a day.
    pub tokens_per_day: u64,
}

impl Caps {
    /// Whether there are none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.list().next().is_none()
    }

    /// Whether one of them counts dollars.
    #[must_use]
    pub fn in_dollars(&self) -> bool {
        self.list().any(|(cap, _)| cap.unit == Unit::Usd)
    }

    /// Whether one of them counts tokens.
    #[must_use]
    pub fn in_tokens(&self) -> bool {
        self.list().any(|(cap, _)| cap.unit == Unit::Tokens)
    }

    /// Those that are set, with their limits.
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

/// The caps of all agents together and of the agents of one account together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SharedCaps {
    /// Of the fleet.
    pub fleet: Caps,
    /// Of accounts.
    pub accounts: BTreeMap<AccountName, Caps>,
}

impl SharedCaps {
    /// Whether what an agent of `account` spends is capped in dollars.
    #[must_use]
    pub fn in_dollars(&self, account: &AccountName) -> bool {
        self.fleet.in_dollars() || self.accounts.get(account).is_some_and(Caps::in_dollars)
    }

    /// Whether what an agent of `account` uses is capped in tokens.
    #[must_use]
    pub fn in_tokens(&self, account: &AccountName) -> bool {
        self.fleet.in_tokens() || self.accounts.get(account).is_some_and(Caps::in_tokens)
    }
}

/// The caps that herder itself counts for an agent alone.
pub fn caps_of(spec: &AgentSpec) -> impl Iterator<Item = (Cap, f64)> {
    let session = Cap { window: Window::Session, unit: Unit::Usd };
    let budget = (spec.max_budget_usd > 0.0).then_some((session, spec.max_budget_usd));
    budget.into_iter().chain(spec.caps.list())
}

/// What was used in one hour or on one day, on one account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Which hour or day since the epoch.
    pub at: i64,
    /// Who is billed for it.
    pub account: AccountName,
    /// What was used.
    pub usage: Usage,
}

/// What an agent used lately.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Books {
    /// By hour, oldest first.
    pub hours: VecDeque<Page>,
    /// By day, oldest first.
    pub days: VecDeque<Page>,
}

impl Books {
    /// Whether nothing was used.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.days.is_empty()
    }

    /// Whoever is billed for something that was used on a day.
    pub fn accounts_of(&self, day: i64) -> impl Iterator<Item = &AccountName> {
        self.days.iter().rev().filter(move |page| page.at == day).map(|page| &page.account)
    }

    /// Enters `usage`, which may take back dollars that were estimated too high.
    pub fn enter(&mut self, account: &AccountName, usage: Usage, at: Timestamp) {
        enter(&mut self.hours, HOURS_KEPT, hour(at), account, usage);
        enter(&mut self.days, DAYS_KEPT, day(at), account, usage);
    }

    /// What was used in the hour of `now`.
    #[must_use]
    pub fn this_hour(&self, now: Timestamp, account: Option<&AccountName>) -> Usage {
        sum(&self.hours, hour(now), account)
    }

    /// What was used on the day of `now`.
    #[must_use]
    pub fn today(&self, now: Timestamp, account: Option<&AccountName>) -> Usage {
        sum(&self.days, day(now), account)
    }

    /// What was used in a window; of a session nothing is known here.
    #[must_use]
    pub fn within(&self, window: Window, now: Timestamp, account: Option<&AccountName>) -> Usage {
        match window {
            Window::Session => Usage::default(),
            Window::Hour => self.this_hour(now, account),
            Window::Day => self.today(now, account),
        }
    }

    /// What is usual in an hour: the median of the hours with any use, before that of `now`.
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
    // A clock that was set back leaves later pages behind; the order stays that of time.
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
    // In the order of time: those of a moment are together, and most often the last.
    let those = pages.iter().rev().skip_while(|page| page.at > at).take_while(|page| page.at == at);
    for page in those.filter(fits) {
        sum.add(page.usage);
    }
    sum
}

/// A reading of a session's meter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// Since the session began; dollars as far as the runtime names them.
    pub usage: Usage,
    /// The tokens of it that those dollars do not cover.
    pub unpriced: Usage,
    /// The model, if the runtime names it.
    pub model: String,
    /// What the last turn used of it; dollars only where the runtime names them for a turn. Nothing, if nobody can say.
    pub turn: Usage,
}

impl Reading {
    /// What the last turn used of `usage`, which is the whole with its dollars: where nobody names dollars for a turn, its share
    /// of them by what its tokens cost at `price`.
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
        // What is all of it costs what all of it costs.
        let estimated_usd = if part < 1.0 { cost_usd } else { usage.estimated_usd };
        Usage { cost_usd, estimated_usd, ..turn }
    }
}

/// A cap that a person let an agent go past, until the next multiple of it or the next window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Waived {
    /// Which cap.
    pub cap: Cap,
    /// In which hour or on which day.
    pub at: i64,
    /// What holds there instead.
    pub limit: f64,
}

/// How far a cap was warned of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Warned {
    /// Which cap.
    pub cap: Cap,
    /// In which hour, on which day, or in which session.
    pub at: i64,
    /// Which limit.
    pub limit: f64,
    /// Up to which part.
    pub percent: u8,
}

/// How a cap stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Which cap.
    pub cap: Cap,
    /// What may be used: what was set, or what a person let it go on to.
    pub limit: f64,
    /// What is used.
    pub used: f64,
}

impl Standing {
    /// Whether it is reached.
    #[must_use]
    pub fn is_reached(self) -> bool {
        self.used >= self.limit * AS_GOOD_AS
    }

    /// The part of it that is used, of those that are warned at.
    #[must_use]
    pub fn warning(self) -> Option<u8> {
        let reached = |percent: &&u8| self.used * 100.0 >= self.limit * f64::from(**percent);
        WARNED_AT.iter().rev().find(reached).copied()
    }
}

/// The number of the window that `now` is in.
#[must_use]
pub fn window(window: Window, now: Timestamp, session: u64) -> i64 {
    match window {
        Window::Session => i64::try_from(session).unwrap_or(i64::MAX),
        Window::Hour => hour(now),
        Window::Day => day(now),
    }
}

/// When a window of `now` is over; a session's end is not known.
#[must_use]
pub fn ends(of: Window, now: Timestamp) -> Option<Timestamp> {
    let (number, length) = match of {
        Window::Session => return None,
        Window::Hour => (hour(now), 3_600_000),
        Window::Day => (day(now), 86_400_000),
    };
    Some(Timestamp::from_millis(number.saturating_add(1).saturating_mul(length)))
}

/// What holds in a window: what was set, or what a person let it go on to.
#[must_use]
pub fn limit(waived: &[Waived], cap: Cap, set: f64, now: Timestamp) -> f64 {
    let at = window(cap.window, now, 0);
    let holds = |waived: &&Waived| waived.cap == cap && waived.at == at;
    waived.iter().find(holds).map_or(set, |waived| waived.limit.max(set))
}

/// The next multiple of a cap above what is used: as far as a person's word carries.
#[must_use]
pub fn next_limit(set: f64, used: f64) -> f64 {
    let times = (used / (set * AS_GOOD_AS)).floor().max(0.0) + 1.0;
    set * times
}

impl Agent {
    /// How its own caps stand. Those of a session count only while one runs.
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

    /// The first of its own caps that is reached.
    #[must_use]
    pub fn capped(&self, now: Timestamp) -> Option<Standing> {
        self.caps(now).find(|standing| standing.is_reached())
    }

    /// The dollars that its next session may cost by its own caps, for a runtime that minds them itself; 0: no cap.
    #[must_use]
    pub fn allowance(&self, now: Timestamp) -> f64 {
        let budget = self.spec.as_ref().map_or(0.0, |spec| spec.max_budget_usd);
        let left = self
            .caps(now)
            .filter(|standing| standing.cap.unit == Unit::Usd && standing.cap.window != Window::Session)
            .map(|standing| (standing.limit - standing.used).max(0.01));
        left.chain((budget > 0.0).then_some(budget)).min_by(f64::total_cmp).unwrap_or(0.0)
    }

    /// Whether this hour is far above its usual ones: what was used, and what is usual.
    #[must_use]
    pub fn spike(&self, now: Timestamp) -> Option<(Unit, f64, f64)> {
        let used = self.books.this_hour(now, None);
        let unit = if used.cost_usd > 0.0 { Unit::Usd } else { Unit::Tokens };
        let usual = self.books.usual_hour(now, unit)?;
        let used = amount(unit, used);
        (used > usual * SPIKE).then_some((unit, used, usual))
    }
}

/// How long until the next hour, for whoever looks at the books by the clock.
#[must_use]
pub fn until_next_hour(now: Timestamp) -> Duration {
    ends(Window::Hour, now).map(|end| end.since(now)).unwrap_or_default()
}
