//! Spending and caps, counted beside the core.

use std::collections::BTreeMap;

use herder::core::agent::{Agent, Phase};
use herder::core::time::Timestamp;
use herder::core::usage::Caps;

/// The money spent, by hour and by day, and the amounts up to which a person waived a cap.
#[derive(Debug)]
pub(in crate::core_sim) struct Spending {
    caps: Caps,
    total: f64,
    hours: BTreeMap<i64, f64>,
    days: BTreeMap<i64, f64>,
    hour_allowed: BTreeMap<i64, f64>,
    day_allowed: BTreeMap<i64, f64>,
}

fn hour_and_day(now: Timestamp) -> (i64, i64) {
    (now.as_millis() / 3_600_000, now.as_millis() / 86_400_000)
}

impl Spending {
    pub(in crate::core_sim) fn new(caps: Caps) -> Self {
        let nothing = BTreeMap::new;
        Self {
            caps,
            total: 0.0,
            hours: nothing(),
            days: nothing(),
            hour_allowed: nothing(),
            day_allowed: nothing(),
        }
    }

    pub(in crate::core_sim) fn spent(&mut self, dollars: f64, now: Timestamp) {
        let (hour, day) = hour_and_day(now);
        self.total += dollars;
        *self.hours.entry(hour).or_default() += dollars;
        *self.days.entry(day).or_default() += dollars;
    }

    /// Records a waiver: one more cap's worth from the present amount.
    pub(in crate::core_sim) fn person_resumes(&mut self, now: Timestamp) {
        let (hour, day) = hour_and_day(now);
        for (spent, allowed, window, cap) in [
            (&self.hours, &mut self.hour_allowed, hour, self.caps.usd_per_hour),
            (&self.days, &mut self.day_allowed, day, self.caps.usd_per_day),
        ] {
            let mut limit = cap;
            while cap > 0.0 && limit <= spent.get(&window).copied().unwrap_or_default() {
                limit += cap;
            }
            let before = allowed.get(&window).copied().unwrap_or(cap);
            allowed.insert(window, before.max(limit));
        }
    }

    fn is_over(&self, now: Timestamp) -> bool {
        let (hour, day) = hour_and_day(now);
        [
            (&self.hours, &self.hour_allowed, hour, self.caps.usd_per_hour),
            (&self.days, &self.day_allowed, day, self.caps.usd_per_day),
        ]
        .into_iter()
        .any(|(spent, allowed, window, cap)| {
            let limit = allowed.get(&window).copied().unwrap_or(cap);
            cap > 0.0 && spent.get(&window).copied().unwrap_or_default() >= limit
        })
    }
}

pub(in crate::core_sim) fn no_session_starts_while_a_cap_is_reached_unless_a_person_resumed_it(
    spending: &Spending,
    now: Timestamp,
) {
    assert!(!spending.is_over(now), "a session started at {now:?} although {spending:?}");
}

pub(in crate::core_sim) fn a_session_over_its_cap_is_stopped(
    spending: &Spending,
    agent: &Agent,
    now: Timestamp,
) {
    let works = matches!(agent.phase, Phase::Starting { .. } | Phase::Running { .. });
    assert!(!(works && spending.is_over(now)), "it works on although {spending:?}");
}

pub(in crate::core_sim) fn everything_spent_is_counted_once(spending: &Spending, agent: &Agent) {
    assert_eq!(agent.totals.usage.cost_usd, spending.total);
}
