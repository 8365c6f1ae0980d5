//! Pieces of text that several commands share, from the locale.

use super::words::bounded;
use crate::core::agent::{Agent, Phase};
use crate::core::clean::clean;
use crate::core::id::WorkId;
use crate::core::link::{LinkReport, LinkState};
use crate::core::outcome::Usage;
use crate::core::promotion::Hold;
use crate::core::time::Timestamp;
use crate::core::work::{Actor, TaskEnd, Work, WorkKind};
use crate::l10n::{Locale, Value};
use crate::redact::Redactor;

/// Maximum length of the text of work in a list, in characters.
pub(crate) const WORK_MAX: usize = 60;

/// Separator between the pieces of one line of a reply.
pub(crate) const DOT: &str = " · ";

/// Formats texts for replies in one language, without secrets and relative to the present time.
#[derive(Clone, Copy)]
pub(crate) struct Voice<'a> {
    pub(crate) locale: &'a Locale,
    pub(crate) now: Timestamp,
    pub(crate) redactor: &'a Redactor,
}

impl Voice<'_> {
    /// Returns the text of a Fluent message with these variables.
    pub(crate) fn text(self, id: &str, variables: &[(&str, Value<'_>)]) -> String {
        self.locale.text(id, variables)
    }

    /// Returns a person's or an agent's words on one line of at most `max` characters. The whole text is redacted
    /// first, as half of a cut secret would not be recognised.
    pub(crate) fn short(self, text: &str, max: usize) -> String {
        bounded(&self.redactor.redact(&clean(text)), max)
    }

    /// Describes an agent's phase with its work, or the reason why it does not start.
    pub(crate) fn phase(self, agent: &Agent, hold: Option<&Hold>) -> String {
        let hold = hold.filter(|_| agent.wants().is_some());
        let phase = hold.map_or_else(|| self.locale.state(agent, self.now), |hold| self.locale.hold(hold));
        let works = matches!(agent.phase, Phase::Starting { .. } | Phase::Running { .. });
        match agent.current.as_ref().filter(|_| works) {
            Some(work) if work.kind == WorkKind::Round => {
                format!("{phase} {}", self.locale.work_kind(work.kind))
            }
            Some(work) => format!("{phase} {} “{}”", task(work.id), self.short(&work.text, WORK_MAX)),
            None => phase,
        }
    }

    /// Describes the state of a network's link.
    pub(crate) fn link(self, link: &LinkReport) -> String {
        let network: Value<'_> = bounded(link.network.as_str(), WORK_MAX).into();
        match &link.state {
            LinkState::Up { since, unidentified } => {
                let up = ("up", Value::Duration(self.now.since(*since)));
                match unidentified {
                    None => self.text("cmd-link-up", &[("network", network), up]),
                    Some(reason) => {
                        let reason = self.short(&self.locale.detail(reason), 120);
                        let reason = ("reason", reason.into());
                        self.text("cmd-link-up-unidentified", &[("network", network), up, reason])
                    }
                }
            }
            LinkState::Connecting { attempts, reason } => {
                let reason = reason.as_ref().map(|reason| self.short(&self.locale.detail(reason), 120));
                let reason = reason.unwrap_or_default();
                if reason.is_empty() {
                    return self.text("cmd-link-connecting", &[("network", network)]);
                }
                if *attempts == 0 {
                    return self.text("cmd-link-waiting", &[("network", network), ("reason", reason.into())]);
                }
                let variables =
                    [("network", network), ("attempts", (*attempts).into()), ("reason", reason.into())];
                self.text("cmd-link-failing", &variables)
            }
            LinkState::Barred { attempts, reason } => {
                let reason = self.short(&self.locale.detail(reason), 120);
                let variables =
                    [("network", network), ("attempts", (*attempts).into()), ("reason", reason.into())];
                self.text("cmd-link-failing", &variables)
            }
            LinkState::Refused { reason } => self.text(
                "cmd-link-refused",
                &[("network", network), ("reason", self.short(&self.locale.detail(reason), 120).into())],
            ),
        }
    }

    /// Formats work with its number, text and author: `#7 fix the tests (alice)`.
    pub(crate) fn work(self, work: &Work) -> String {
        match work.kind {
            WorkKind::Round => self.locale.work_kind(work.kind),
            WorkKind::Task | WorkKind::Message => {
                format!("{} {} ({})", task(work.id), self.short(&work.text, WORK_MAX), person(&work.by))
            }
        }
    }

    /// Formats usage: `12k in, 3k out, $0.12`; `~$0.12` if a part is estimated.
    pub(crate) fn usage(self, usage: Usage) -> String {
        let variables =
            [("input", count(usage.input_tokens).into()), ("output", count(usage.output_tokens).into())];
        let tokens = self.text("cmd-tokens", &variables);
        if usage.cost_usd > 0.0 {
            // Estimates of herder are marked.
            let about = if usage.estimated_usd > 0.0 { "~" } else { "" };
            format!("{tokens}{DOT}{about}{}", self.locale.money(usage.cost_usd))
        } else {
            tokens
        }
    }
}

/// Formats the number of a task: `#7`.
pub(crate) fn task(id: WorkId) -> String {
    format!("#{id}")
}

/// Returns the name of the person who acted, cut to a limit, because nicks are chosen freely.
pub(super) fn person(by: &Actor) -> String {
    bounded(&by.name, 32)
}

/// Formats a count: `950`, `12.3k`, `1.2M`.
pub(crate) fn count(count: u64) -> String {
    // Tenths are computed in whole numbers, so that a huge count loses no precision.
    let tenths = |unit: u64, name: &str| match (count / unit, count % unit * 10 / unit) {
        (whole, 0) => format!("{whole}{name}"),
        (whole, tenth) => format!("{whole}.{tenth}{name}"),
    };
    match count {
        0..=999 => count.to_string(),
        1_000..=999_999 => tenths(1_000, "k"),
        _ => tenths(1_000_000, "M"),
    }
}

/// Returns the name of the way in which a task ended, in data for programs.
pub(super) const fn end_key(end: TaskEnd) -> &'static str {
    match end {
        TaskEnd::Done => "done",
        TaskEnd::Failed => "failed",
        TaskEnd::Cancelled => "cancelled",
        TaskEnd::Blocked => "blocked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1k"), (12_345, "12.3k"), (1_250_000, "1.2M")] {
            assert_eq!(count(n), text);
        }
        assert_eq!(count(u64::MAX), "18446744073709.5M");
    }
}
