//! `[quota]`: rules for accounts at their usage limit.

use std::time::Duration;

use jiff::civil::Time;
use jiff::tz::TimeZone;

use super::section::Section;
use crate::core::quota::{QuietHours, QuotaRules, Resume};

/// Minimum of the interval between two probes of an account at its usage limit; more frequent ones only annoy.
const PROBE_INTERVAL_MIN: Duration = Duration::from_secs(1);

const RESUME: [(&str, Resume); 3] = [("auto", Resume::Auto), ("ask", Resume::Ask), ("never", Resume::Never)];

pub(super) fn quota(section: Section<'_>) -> QuotaRules {
    let default = QuotaRules::default();
    let quiet = section.filled("quiet_hours").and_then(|text| {
        let read = quiet_hours(&text.value);
        read.map_err(|why| section.problem_at(text.line, "quiet_hours", why)).ok()
    });
    let rules = QuotaRules {
        probe_interval: section
            .duration("probe_interval", PROBE_INTERVAL_MIN)
            .unwrap_or(default.probe_interval),
        resume: section.choice("resume", &RESUME).unwrap_or(default.resume),
        quiet,
    };
    section.finish();
    rules
}

/// Parses quiet hours, written as `"23:00-08:00 Europe/Berlin"`.
fn quiet_hours(text: &str) -> Result<QuietHours, String> {
    let wrong = || {
        format!(
            "\"{text}\" is not a part of the day; write two times of day and a time zone, e.g. \"23:00-08:00 Europe/Berlin\""
        )
    };
    let (times, zone) = text.trim().split_once(char::is_whitespace).ok_or_else(wrong)?;
    let (from, to) = times.split_once('-').ok_or_else(wrong)?;
    let (from, to) = (time(from).ok_or_else(wrong)?, time(to).ok_or_else(wrong)?);
    if from == to {
        return Err(format!(
            "\"{text}\" begins when it ends; use two different times, or resume = \"never\""
        ));
    }
    let zone = zone.trim();
    let zone = TimeZone::get(zone).map_err(|_| {
        format!(
            "there is no time zone \"{zone}\" on this machine; use a name like Europe/Berlin or UTC, and install tzdata if it is missing"
        )
    })?;
    Ok(QuietHours { from, to, zone })
}

/// Parses a time of day, written as `23:00`.
fn time(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str| text.parse::<i8>().ok().filter(|_| text.len() <= 2);
    Time::new(number(hour)?, number(minute)?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_hours_are_two_times_and_a_place() {
        let read = quiet_hours("23:00-08:30 Europe/Berlin").expect("they are");
        assert_eq!((read.from, read.to), (Time::constant(23, 0, 0, 0), Time::constant(8, 30, 0, 0)));
        assert_eq!(read.zone.iana_name(), Some("Europe/Berlin"));
        let mistakes =
            ["23-8", "23:00-08:00", "23:00-24:01 UTC", "08:00-08:00 UTC", "23:00-08:00 Europe/Berln"];
        let said: Vec<String> = mistakes.map(|text| quiet_hours(text).expect_err(text)).into();
        insta::assert_snapshot!(said.join("\n"), @r##"
        "23-8" is not a part of the day; write two times of day and a time zone, e.g. "23:00-08:00 Europe/Berlin"
        "23:00-08:00" is not a part of the day; write two times of day and a time zone, e.g. "23:00-08:00 Europe/Berlin"
        "23:00-24:01 UTC" is not a part of the day; write two times of day and a time zone, e.g. "23:00-08:00 Europe/Berlin"
        "08:00-08:00 UTC" begins when it ends; use two different times, or resume = "never"
        there is no time zone "Europe/Berln" on this machine; use a name like Europe/Berlin or UTC, and install tzdata if it is missing
        "##);
    }
}
