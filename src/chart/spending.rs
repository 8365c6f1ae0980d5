//! Recorded usage of tokens and dollars per hour or day, as a chart and as CSV.

use std::fmt::Write as _;

use super::{Chart, Limit};
use crate::core::id::AgentName;
use crate::core::time::Timestamp;
use crate::core::usage::{Books, DAYS_KEPT, Page, Standing, Unit, Window, amount, day, hour};

/// Number of hours that a chart by hour shows, up to the present one.
const HOURS: i64 = 24;

/// The division of each bar of a usage chart: by agent or by account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum By {
    /// Divides each bar by agent.
    #[default]
    Agent,
    /// Divides each bar by account.
    Account,
}

/// Settings of a chart of recorded usage (tokens or dollars).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spending {
    /// The period of one bar: an hour, for the last 24 hours, or a day, for all days that are kept.
    pub window: Window,
    /// The unit of the bars: US dollars or tokens.
    pub unit: Unit,
    /// The division of each bar.
    pub by: By,
}

/// Converts the number of an hour or day since the epoch to the time at which it begins, in milliseconds since the
/// epoch.
fn begins(window: Window, at: i64) -> i64 {
    let length = if window == Window::Day { 86_400_000 } else { 3_600_000 };
    at.saturating_mul(length)
}

/// Formats the beginning of an hour or day in UTC, the zone in which hours and days are counted.
fn written(window: Window, at: i64, format: &str) -> String {
    jiff::Timestamp::from_millisecond(begins(window, at))
        .map_or_else(|_| at.to_string(), |moment| moment.strftime(format).to_string())
}

fn pages(books: &Books, window: Window) -> impl Iterator<Item = &Page> {
    if window == Window::Day { books.days.iter() } else { books.hours.iter() }
}

impl Spending {
    /// Builds the chart from each agent's recorded usage. `said` is a summary in one sentence; `others` labels the part
    /// of a bar that is too small for a colour of its own; each of `caps` with the same period and unit is drawn as a
    /// line.
    #[must_use]
    pub fn chart(
        self,
        books: &[(AgentName, Books)],
        (said, others): (String, &str),
        caps: &[(Standing, String)],
        now: Timestamp,
    ) -> Chart {
        let (last, count, format) = match self.window {
            Window::Day => (day(now), i64::try_from(DAYS_KEPT).unwrap_or(HOURS), "%m-%d"),
            Window::Hour | Window::Session => (hour(now), HOURS, "%H:%M"),
        };
        let first = last - count + 1;
        let labels = (first..=last).map(|at| written(self.window, at, format)).collect();
        let mut amounts: Vec<(usize, String, f64)> = Vec::new();
        for (name, books) in books {
            for page in pages(books, self.window).filter(|page| (first..=last).contains(&page.at)) {
                let whose = match self.by {
                    By::Agent => name.to_string(),
                    By::Account => page.account.to_string(),
                };
                let index = usize::try_from(page.at - first).unwrap_or_default();
                amounts.push((index, whose, amount(self.unit, page.usage)));
            }
        }
        let limits =
            caps.iter().filter(|(cap, _)| (cap.cap.window, cap.cap.unit) == (self.window, self.unit));
        let limits = limits.map(|(cap, label)| Limit { label: label.clone(), at: cap.limit }).collect();
        Chart::stacked(said, labels, &amounts, others, limits)
    }
}

/// Formats all recorded usage per hour or day as comma-separated values, with one row per agent and period.
#[must_use]
pub fn csv(books: &[(AgentName, Books)], window: Window) -> String {
    let mut csv = String::from(
        "begins,agent,account,input_tokens,cached_tokens,output_tokens,cost_usd,estimated_usd\r\n",
    );
    for (name, books) in books {
        for page in pages(books, window) {
            let usage = page.usage;
            let _ = write!(
                csv,
                "{},{},{},{},{},{},{},{}\r\n",
                written(window, page.at, "%Y-%m-%dT%H:%M:%SZ"),
                field(name.as_str()),
                field(page.account.as_str()),
                usage.input_tokens,
                usage.cached_tokens,
                usage.output_tokens,
                usage.cost_usd,
                usage.estimated_usd,
            );
        }
    }
    csv
}

/// Quotes a name as a CSV field; a leading `'` keeps spreadsheets from reading it as a formula.
fn field(name: &str) -> String {
    let safe = if name.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("\"{safe}{}\"", name.replace('"', "\"\""))
}

/// Returns the usage of each calendar month (UTC), latest first, as far back as days are kept: the month (`2027-01`),
/// tokens and US dollars.
#[must_use]
pub fn months(books: &[(AgentName, Books)]) -> Vec<(String, u64, f64)> {
    let mut months: std::collections::BTreeMap<String, (u64, f64)> = std::collections::BTreeMap::new();
    for page in books.iter().flat_map(|(_, books)| &books.days) {
        let sum = months.entry(written(Window::Day, page.at, "%Y-%m")).or_default();
        sum.0 = sum.0.saturating_add(page.usage.tokens());
        sum.1 += page.usage.cost_usd;
    }
    months.into_iter().rev().map(|(month, (tokens, dollars))| (month, tokens, dollars)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::id::AccountName;
    use crate::core::outcome::Usage;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn books() -> Vec<(AgentName, Books)> {
        let book = |name: &str, account: &str, cost_usd: f64| {
            let mut books = Books::default();
            let usage = Usage { cost_usd, input_tokens: 10, ..Usage::default() };
            books.enter(&AccountName::from(account), usage, NOW);
            (AgentName::new(name).expect("a name"), books)
        };
        vec![book("spark", "team", 2.0), book("nova", "team", 1.0), book("ember", "=own", 4.0)]
    }

    #[test]
    fn a_chart_is_by_agent_or_by_account_and_ends_with_this_hour() {
        let spending = |by| Spending { window: Window::Hour, unit: Unit::Usd, by };
        let chart = |by| spending(by).chart(&books(), (String::new(), "others"), &[], NOW);
        assert_eq!(chart(By::Agent).series, ["ember", "spark", "nova"]);
        assert_eq!(chart(By::Account).series, ["=own", "team"]);
        assert_eq!(chart(By::Account).bars.last().map(|bar| bar.parts.clone()), Some(vec![4.0, 3.0]));
    }

    #[test]
    fn rows_are_complete_and_no_formula() {
        let csv = csv(&books(), Window::Day);
        assert!(csv.contains("2027-01-15T00:00:00Z,\"ember\",\"'=own\",10,0,0,4,0\r\n"), "{csv}");
        assert_eq!(csv.lines().count(), 4);
        assert_eq!(months(&books()), [("2027-01".to_owned(), 30, 7.0)]);
    }
}
