//! Usage limits of accounts: the time at which an account at its limit may be probed, that is, tried by one agent.

use std::time::Duration;

use jiff::civil::Time;
use jiff::tz::TimeZone;

use super::promotion::Gate;
use super::time::Timestamp;

/// Maximum delay that is added to a reported reset, so that not all who wait for it come at the same moment; a tenth of
/// the wait, if that is less.
pub const JITTER_MAX: Duration = Duration::from_secs(10);

/// Rules for accounts that have reached their usage limit: `[quota]`.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaRules {
    /// Time between two probes of an account whose reset is not reported.
    pub probe_interval: Duration,
    /// The authority that allows a probe: herder itself or a person.
    pub resume: Resume,
    /// Hours of the day without probes.
    pub quiet: Option<QuietHours>,
}

/// The authority that lets an account at its usage limit be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// herder itself, when the limit should have ended.
    Auto,
    /// A person, who is asked when the limit should have ended.
    Ask,
    /// A person, who is not asked and has to act unprompted.
    Never,
}

/// A part of every day, in a time zone, in which no account is probed.
#[derive(Debug, Clone, PartialEq)]
pub struct QuietHours {
    /// Time of day at which the quiet hours begin.
    pub from: Time,
    /// End of the hours; on the next day if it is before `from`.
    pub to: Time,
    /// Time zone of both times.
    pub zone: TimeZone,
}

impl Default for QuotaRules {
    fn default() -> Self {
        Self { probe_interval: Duration::from_secs(5 * 60), resume: Resume::Auto, quiet: None }
    }
}

impl QuotaRules {
    /// Returns the time of the next probe, and the time at which people are asked for it, after an account met its
    /// limit at `now`. A reset in the past is ignored, as the limit was met after it; `jitter` is added to one in the
    /// future.
    #[must_use]
    pub fn closing(
        &self,
        resets_at: Option<Timestamp>,
        now: Timestamp,
        jitter: Duration,
    ) -> (Option<Timestamp>, Option<Timestamp>) {
        let reset = resets_at.filter(|reset| *reset > now);
        let again = reset.map_or_else(
            || now.after(self.probe_interval),
            |reset| reset.after(jitter.min(JITTER_MAX).min(reset.since(now) / 10)),
        );
        let again = self.quiet.as_ref().map_or(again, |quiet| quiet.end(again));
        match self.resume {
            Resume::Auto => (Some(again), None),
            Resume::Ask => (None, Some(again)),
            Resume::Never => (None, None),
        }
    }

    /// Returns the time at which people are asked whether an account may continue. It is put off to the end of quiet
    /// hours that have begun since: herder was down, or the hours are new.
    #[must_use]
    pub fn asks_at(&self, gate: &Gate, now: Timestamp) -> Option<Timestamp> {
        let at = gate.ask_at?;
        let quiet = self.quiet.as_ref().filter(|_| at <= now);
        Some(quiet.map_or(at, |quiet| quiet.end(now)))
    }

    /// Returns true if a limit that an agent met while its account was closed is new information: the agent was
    /// probing, or was told a later reset.
    #[must_use]
    pub fn says_more(gate: &Gate, probed: bool, resets_at: Option<Timestamp>, now: Timestamp) -> bool {
        let later = |reset: &Timestamp| *reset > now && gate.resets_at.is_none_or(|known| *reset > known);
        probed || resets_at.is_some_and(|reset| later(&reset))
    }

    /// Returns true if the limit that an agent met at `met` is not in the stored gate and still counts, because herder
    /// was killed before storing it.
    #[must_use]
    pub fn is_unheard(
        &self,
        gate: Option<&Gate>,
        met: Timestamp,
        resets_at: Option<Timestamp>,
        now: Timestamp,
    ) -> bool {
        let Some(gate) = gate else { return true };
        // This includes a probe that was allowed because a person had fixed billing or login.
        let tried = gate.probe_at.is_some_and(|at| at <= met);
        let (again, _) = self.closing(resets_at, met, Duration::ZERO);
        tried && again.is_none_or(|at| at > now)
    }
}

impl QuietHours {
    /// Returns the end of the quiet hours that contain `at`; `at` itself if none do.
    #[must_use]
    pub fn end(&self, at: Timestamp) -> Timestamp {
        let Ok(moment) = jiff::Timestamp::from_millisecond(at.as_millis()) else { return at };
        let local = self.zone.to_datetime(moment);
        let (date, time) = (local.date(), local.time());
        let overnight = self.to <= self.from;
        let quiet =
            if overnight { time >= self.from || time < self.to } else { time >= self.from && time < self.to };
        if !quiet {
            return at;
        }
        let date = if overnight && time >= self.from { date.tomorrow().unwrap_or(date) } else { date };
        let end = self.zone.to_timestamp(date.to_datetime(self.to));
        // When clocks are set back an hour comes twice: the end is never before the time that it is asked for.
        end.map_or(at, |end| Timestamp::from_millis(end.as_millisecond()).max(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Category;

    fn at(text: &str) -> Timestamp {
        Timestamp::from_millis(text.parse::<jiff::Timestamp>().expect("a moment").as_millisecond())
    }

    fn quiet(from: i8, to: i8, zone: &str) -> QuietHours {
        let hour = |hour| Time::constant(hour, 0, 0, 0);
        QuietHours { from: hour(from), to: hour(to), zone: TimeZone::get(zone).expect("a zone") }
    }

    #[test]
    fn quiet_hours_end_by_the_clocks_of_their_place() {
        let night = quiet(23, 8, "Europe/Berlin");
        // Winter: an hour before UTC; summer: two.
        assert_eq!(night.end(at("2026-01-15T21:59:59Z")), at("2026-01-15T21:59:59Z"));
        assert_eq!(night.end(at("2026-01-15T22:00:00Z")), at("2026-01-16T07:00:00Z"));
        assert_eq!(night.end(at("2026-01-16T06:59:59Z")), at("2026-01-16T07:00:00Z"));
        assert_eq!(night.end(at("2026-01-16T07:00:00Z")), at("2026-01-16T07:00:00Z"));
        assert_eq!(night.end(at("2026-07-15T21:30:00Z")), at("2026-07-16T06:00:00Z"));
        // Clocks are set forward in this night, and so is the end.
        assert_eq!(night.end(at("2026-03-28T23:00:00Z")), at("2026-03-29T06:00:00Z"));
        let day = quiet(9, 17, "UTC");
        assert_eq!(day.end(at("2026-01-15T12:00:00Z")), at("2026-01-15T17:00:00Z"));
        assert_eq!(day.end(at("2026-01-15T18:00:00Z")), at("2026-01-15T18:00:00Z"));
    }

    #[test]
    fn one_is_let_through_at_the_reset_or_after_the_interval_and_not_in_quiet_hours() {
        let now = at("2026-01-15T12:00:00Z");
        let seconds = Duration::from_secs;
        let auto = QuotaRules::default();
        let reset = now.after(seconds(3600));
        assert_eq!(auto.closing(Some(reset), now, seconds(3)), (Some(reset.after(seconds(3))), None));
        assert_eq!(auto.closing(Some(reset), now, seconds(99)), (Some(reset.after(JITTER_MAX)), None));
        assert_eq!(auto.closing(None, now, seconds(3)), (Some(now.after(seconds(300))), None));
        assert_eq!(
            auto.closing(Some(now), now, seconds(3)),
            (Some(now.after(seconds(300))), None),
            "a past reset"
        );

        let quiet_day = QuotaRules { quiet: Some(quiet(13, 15, "UTC")), ..QuotaRules::default() };
        assert_eq!(
            quiet_day.closing(Some(reset), now, Duration::ZERO),
            (Some(at("2026-01-15T15:00:00Z")), None)
        );
        assert_eq!(quiet_day.closing(None, now, Duration::ZERO), (Some(now.after(seconds(300))), None));

        let ask = QuotaRules { resume: Resume::Ask, ..QuotaRules::default() };
        assert_eq!(ask.closing(Some(reset), now, Duration::ZERO), (None, Some(reset)));
        let never = QuotaRules { resume: Resume::Never, ..QuotaRules::default() };
        assert_eq!(never.closing(Some(reset), now, Duration::ZERO), (None, None));
    }

    #[test]
    fn nobody_is_asked_in_quiet_hours_that_have_begun_since() {
        let night = QuotaRules { quiet: Some(quiet(23, 8, "UTC")), ..QuotaRules::default() };
        let agent = crate::id::AgentName::new("spark").expect("a name");
        let due = at("2026-01-15T22:30:00Z");
        let gate = Gate { ask_at: Some(due), ..Gate::closed(Category::Quota, agent, due) };
        for (now, asks) in [
            ("2026-01-15T20:00:00Z", "2026-01-15T22:30:00Z"),
            ("2026-01-15T22:30:00Z", "2026-01-15T22:30:00Z"),
            ("2026-01-15T23:30:00Z", "2026-01-16T08:00:00Z"),
            ("2026-01-16T08:00:00Z", "2026-01-16T08:00:00Z"),
        ] {
            assert_eq!(night.asks_at(&gate, at(now)), Some(at(asks)), "{now}");
        }
        let none = Gate { ask_at: None, ..gate.clone() };
        assert_eq!(night.asks_at(&none, due), None);
        assert_eq!(QuotaRules::default().asks_at(&gate, at("2026-01-15T23:30:00Z")), Some(due));
    }

    #[test]
    fn a_limit_that_was_met_in_vain_and_not_recorded_is_recorded_later_if_it_still_counts() {
        let met = at("2026-01-15T12:00:00Z");
        let seconds = |seconds| met.after(Duration::from_secs(seconds));
        let agent = crate::id::AgentName::new("spark").expect("a name");
        let gate = |probe_at| Gate {
            probe_at,
            ..Gate::closed(Category::Quota, agent.clone(), met.before(Duration::from_secs(3600)))
        };
        let (auto, ask) =
            (QuotaRules::default(), QuotaRules { resume: Resume::Ask, ..QuotaRules::default() });
        let (before, later) = (Some(met.before(Duration::from_secs(60))), Some(seconds(300)));
        let hour = Some(seconds(3600));
        for (rules, gate, resets_at, now, unheard) in [
            (&auto, None, None, seconds(1), true),
            // Probed before without success: until the next probe.
            (&auto, Some(gate(before)), None, seconds(1), true),
            (&auto, Some(gate(before)), None, seconds(300), false),
            (&auto, Some(gate(before)), hour, seconds(300), true),
            (&auto, Some(gate(before)), hour, seconds(3600), false),
            // It is recorded.
            (&auto, Some(gate(later)), hour, seconds(1), false),
            (&ask, Some(gate(None)), None, seconds(1), false),
            // A person has let it through; the next limit asks again.
            (&ask, Some(gate(before)), None, seconds(9999), true),
            // Closed for another reason, and probed.
            (&auto, Some(Gate { category: Category::Auth, ..gate(None) }), None, seconds(1), false),
            (&auto, Some(Gate { category: Category::Auth, ..gate(before) }), hour, seconds(1), true),
        ] {
            assert_eq!(
                rules.is_unheard(gate.as_ref(), met, resets_at, now),
                unheard,
                "{gate:?} {resets_at:?}"
            );
        }
    }
}
