//! Usage by hour or day, as a chart and as rows.

use std::fmt::Write as _;

use super::{Chart, Limit};
use crate::core::id::AgentName;
use crate::core::time::Timestamp;
use crate::core::usage::{Books, DAYS_KEPT, Page, Standing, Unit, Window, amount, day, hour};

/// Hours that are shown.
const HOURS: i64 = 24;

/// Owners of a bar's parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// A part for each agent.
    #[default]
    Agent,
    /// A part for each account.
    Account,
}

/// A chart of what was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spending {
    /// A bar for each hour of a day, or for each day of a month.
    pub window: Window,
    /// In dollars or tokens.
    pub unit: Unit,
    /// Owners of the parts.
    pub by: By,
}

/// Beginning of a window, in milliseconds since the epoch.
fn begins(window: Window, at: i64) -> i64 {
    let length = if window == Window::Day { 86_400_000 } else { 3_600_000 };
    at.saturating_mul(length)
}

/// The moment in UTC, as hours and days are counted.
fn written(window: Window, at: i64, format: &str) -> String {
    jiff::Timestamp::from_millisecond(begins(window, at))
        .map_or_else(|_| at.to_string(), |moment| moment.strftime(format).to_string())
}

fn pages(books: &Books, window: Window) -> impl Iterator<Item = &Page> {
    if window == Window::Day { books.days.iter() } else { books.hours.iter() }
}

impl Spending {
    /// The chart of these books; `said` is the whole in a sentence, `others` what is too small for a colour of its own.
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

/// All that the books have for a window, as comma-separated values.
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

/// A name as a field: no program that reads it takes it for a formula.
fn field(name: &str) -> String {
    let safe = if name.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("\"{safe}{}\"", name.replace('"', "\"\""))
}

/// Sums of calendar months (UTC), the latest first, as far as days are kept: the month, tokens and dollars.
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
