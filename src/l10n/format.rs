//! Formatting of durations, times, money, numbers and domain terms (phases, categories, reasons) in a locale.

use std::time::Duration;

use jiff::Timestamp as Instant;

use super::message::{NAME_MAX, one_line};
use super::{Locale, Value};
use crate::core::agent::{Agent, Phase};
use crate::core::detector::Finding;
use crate::core::event::{PauseReason, StopReason, WaitReason};
use crate::core::input::Clock;
use crate::core::machine::{Taken, size};
use crate::core::notice::Halt;
use crate::core::outcome::Category;
use crate::core::promotion::{Hold, Shut};
use crate::core::spec::Runtime;
use crate::core::time::Timestamp;
use crate::core::usage::{Cap, Unit, Window};
use crate::core::work::{TaskEnd, WorkKind};
use crate::core::workspace::Workspace;

/// Durations below this are shown in seconds alone, so that countdowns of the usual backoff are one number.
const SECONDS_UP_TO: u64 = 100;

impl Locale {
    /// Formats a duration in at most two units: `40s`, `5m`, `1h 3m`, `2d 4h`. A duration above zero is at least one second.
    #[must_use]
    pub fn duration(&self, duration: Duration) -> String {
        let rounded = duration.saturating_add(Duration::from_millis(500)).as_secs();
        let seconds = if duration.is_zero() { 0 } else { rounded.max(1) };
        let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
        if seconds < SECONDS_UP_TO {
            self.unit("unit-seconds", seconds)
        } else if hours == 0 {
            self.units(("unit-minutes", minutes), ("unit-seconds", seconds % 60))
        } else if days == 0 {
            self.units(("unit-hours", hours), ("unit-minutes", minutes % 60))
        } else {
            self.units(("unit-days", days), ("unit-hours", hours % 24))
        }
    }

    fn unit(&self, id: &str, count: u64) -> String {
        self.text(id, &[("count", Value::Count(count))])
    }

    fn units(&self, (large, count): (&str, u64), (small, rest): (&str, u64)) -> String {
        let first = self.unit(large, count);
        if rest == 0 {
            return first;
        }
        let second = self.unit(small, rest);
        self.text("unit-pair", &[("first", first.into()), ("second", second.into())])
    }

    /// Formats a time, to the second, in the locale's time zone.
    #[must_use]
    pub fn time(&self, time: Timestamp) -> String {
        self.strftime(time, "time-format")
    }

    /// Formats the time of day without the date, in the locale's time zone.
    #[must_use]
    pub fn clock_time(&self, time: Timestamp) -> String {
        self.strftime(time, "clock-format")
    }

    fn strftime(&self, time: Timestamp, format: &str) -> String {
        // A time beyond the calendar can only come from a damaged clock or a hostile agent: it is shown as a number.
        Instant::from_millisecond(time.as_millis()).map_or_else(
            |_| time.as_millis().to_string(),
            |instant| instant.to_zoned(self.0.zone.clone()).strftime(&self.text(format, &[])).to_string(),
        )
    }

    /// Formats dollars, with cents; amounts below a cent have four decimal places, so that small runs do not look free.
    #[must_use]
    pub fn money(&self, amount: f64) -> String {
        let amount = if amount.is_finite() { amount.max(0.0) } else { 0.0 };
        let plain =
            if amount > 0.0 && amount < 0.01 { format!("{amount:.4}") } else { format!("{amount:.2}") };
        let (whole, cents) = plain.split_once('.').unwrap_or((&plain, "00"));
        let amount = format!("{}{}{cents}", self.group(whole), self.text("decimal-mark", &[]));
        self.text("money", &[("amount", amount.into())])
    }

    /// Formats a number with grouped thousands.
    #[must_use]
    pub fn number(&self, number: u64) -> String {
        self.group(&number.to_string())
    }

    fn group(&self, digits: &str) -> String {
        let mark = self.text("group-mark", &[]);
        let mut grouped = String::with_capacity(digits.len() * 2);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                grouped.push_str(&mark);
            }
            grouped.push(digit);
        }
        grouped
    }

    /// Formats a number of bytes in the largest unit that leaves a whole number.
    #[must_use]
    pub fn bytes(&self, bytes: u64) -> String {
        const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
        let (size, unit) = UNITS.into_iter().find(|(size, _)| bytes >= *size).unwrap_or((1, "B"));
        format!("{}\u{a0}{unit}", self.number(bytes / size))
    }

    /// Describes an agent's phase in a few words, e.g. that it works or waits, with a countdown if it waits for a time.
    #[must_use]
    pub fn phase(&self, phase: &Phase, now: Timestamp) -> String {
        match phase {
            Phase::Idle => self.text("phase-idle", &[]),
            Phase::Starting { .. } => self.text("phase-starting", &[]),
            Phase::Running { .. } => self.text("phase-running", &[]),
            Phase::Stopping { reason, .. } => {
                self.text("phase-stopping", &[("reason", self.stop_reason(*reason).into())])
            }
            Phase::Waiting { until, reason } => {
                let countdown = Value::Duration(until.since(now));
                self.text(
                    "phase-waiting",
                    &[("reason", self.wait_reason(*reason).into()), ("countdown", countdown)],
                )
            }
            Phase::Paused { reason } => {
                self.text("phase-paused", &[("reason", self.pause_reason(reason).into())])
            }
            Phase::NeedsIntervention => self.text("phase-needs-intervention", &[]),
            Phase::Degraded => self.text("phase-degraded", &[]),
            Phase::Removed => self.text("phase-removed", &[]),
        }
    }

    /// Describes an agent's phase, or that its last work is checked.
    #[must_use]
    pub fn state(&self, agent: &Agent, now: Timestamp) -> String {
        match agent.phase {
            Phase::Idle if agent.check_due().is_some() => self.text("phase-checking", &[]),
            _ => self.phase(&agent.phase, now),
        }
    }

    /// Describes that an agent waits until a time, which is stated as such: a countdown would be wrong in a text that
    /// is not updated.
    #[must_use]
    pub fn waiting_until(&self, until: Timestamp, reason: WaitReason) -> String {
        let until = self.clock_time(until).into();
        self.text("phase-waiting-until", &[("reason", self.wait_reason(reason).into()), ("until", until)])
    }

    /// Describes why an agent does not start work at present, e.g. because it is paused, as a continuation of "it is".
    #[must_use]
    pub fn halt(&self, halt: &Halt) -> String {
        match halt {
            Halt::Paused(reason) => {
                self.text("phase-paused", &[("reason", self.pause_reason(reason).into())])
            }
            Halt::NeedsIntervention => self.text("halt-needs-intervention", &[]),
            Halt::Degraded => self.text("halt-degraded", &[]),
            Halt::Waiting(until) => self.text("halt-waiting", &[("until", self.clock_time(*until).into())]),
            Halt::Held(hold) => self.hold(hold),
        }
    }

    /// Describes why an agent with a task does not start it, for display in place of its phase.
    #[must_use]
    pub fn hold(&self, hold: &Hold) -> String {
        match hold {
            Hold::Turn { active, max: 0 } => self.text("hold-turn", &[("active", (*active).into())]),
            Hold::Turn { active, max } => {
                self.text("hold-turn-of", &[("active", (*active).into()), ("max", (*max).into())])
            }
            Hold::Closed { account, category, until } => {
                let mut variables = vec![("account", one_line(account.as_str(), NAME_MAX).into())];
                match (category, until) {
                    (Category::Quota, Some(until)) => {
                        variables.push(("until", self.time(*until).into()));
                        self.text("hold-exhausted-until", &variables)
                    }
                    (Category::Quota, None) => self.text("hold-exhausted", &variables),
                    (category, _) => {
                        variables.push(("category", self.category(*category).into()));
                        self.text("hold-closed", &variables)
                    }
                }
            }
            Hold::Pressure { percent, max } => self.text(
                "hold-pressure",
                &[("percent", u32::from(*percent).into()), ("max", u32::from(*max).into())],
            ),
            Hold::Memory { needs, free } => {
                self.text("hold-memory", &[("needs", size(*needs).into()), ("free", size(*free).into())])
            }
            Hold::Runner { runner, shut } => {
                let key = match shut {
                    Shut::Away => "hold-runner-away",
                    Shut::Drained => "hold-runner-drained",
                };
                self.text(key, &[("runner", runner.as_str().into())])
            }
            Hold::Tried { account, agent } => {
                let account = ("account", one_line(account.as_str(), NAME_MAX).into());
                self.text("hold-tried", &[account, ("agent", agent.as_str().into())])
            }
        }
    }

    /// Describes the memory that a session takes: `1.2 GB, at most 1.5 GB of 2 GB`.
    #[must_use]
    pub fn taken(&self, taken: Taken) -> String {
        let variables = [("now", size(taken.now).into()), ("peak", size(taken.peak).into())];
        if taken.limit == 0 {
            return self.text("memory-taken", &variables);
        }
        let [now, peak] = variables;
        self.text("memory-taken-of", &[now, peak, ("limit", size(taken.limit).into())])
    }

    /// Describes the state of an agent's workspace in a few words.
    #[must_use]
    pub fn workspace(&self, workspace: &Workspace) -> String {
        let branch = workspace.branch.as_deref();
        self.text(
            "workspace",
            &[
                ("on", if branch.is_some() { "branch" } else { "nothing" }.into()),
                ("branch", branch.unwrap_or_default().to_owned().into()),
                ("changed", workspace.changed.into()),
                ("under", workspace.unfinished.map_or("nothing", |unfinished| unfinished.word()).into()),
            ],
        )
    }

    /// Describes a finding of the repetition detector as a whole sentence.
    #[must_use]
    pub fn finding(&self, finding: &Finding) -> String {
        let count = |id, count: u32| self.text(id, &[("count", count.into())]);
        match finding {
            Finding::SameCommand { times, .. } | Finding::SameCall { times, .. } => {
                count("finding-same-approach", *times)
            }
            Finding::SameEdit { times, .. } => count("finding-same-edit", *times),
            Finding::SameError { times, .. } => count("finding-same-error", *times),
            Finding::SameWords { times, .. } => count("finding-same-words", *times),
            Finding::NoChange { turns, .. } => count("finding-no-change", *turns),
            Finding::LongGaps { times, longest_ms } => {
                let longest = Duration::from_millis(*longest_ms).into();
                self.text("finding-long-gaps", &[("count", (*times).into()), ("longest", longest)])
            }
        }
    }

    /// Returns the name of the category of a session's outcome.
    #[must_use]
    pub fn category(&self, category: Category) -> String {
        let id = match category {
            Category::Success => "category-success",
            Category::Transient => "category-transient",
            Category::RateLimit => "category-rate-limit",
            Category::Permanent => "category-permanent",
            Category::MaxTurns => "category-max-turns",
            Category::Billing => "category-billing",
            Category::Auth => "category-auth",
            Category::Budget => "category-budget",
            Category::Quota => "category-quota",
            Category::ContextOverflow => "category-context-overflow",
            Category::TaskTimeout => "category-task-timeout",
            Category::SandboxDenial => "category-sandbox-denial",
            Category::Hung => "category-hung",
            Category::Crash => "category-crash",
            Category::DoNotRestart => "category-do-not-restart",
            Category::Interrupted => "category-interrupted",
            Category::OutOfMemory => "category-out-of-memory",
        };
        self.text(id, &[])
    }

    /// Names the reason why an agent is paused.
    #[must_use]
    pub fn pause_reason(&self, reason: &PauseReason) -> String {
        match reason {
            PauseReason::Person(actor) => self.text("pause-person", &[("name", (&actor.name).into())]),
            PauseReason::StopAll(actor) => self.text("pause-stop-all", &[("name", (&actor.name).into())]),
            PauseReason::Failure(category) => {
                self.text("pause-failure", &[("category", self.category(*category).into())])
            }
            PauseReason::Account(category) => {
                self.text("pause-account", &[("category", self.category(*category).into())])
            }
            PauseReason::Survivors => self.text("pause-survivors", &[]),
            PauseReason::Escalation => self.text("pause-escalation", &[]),
            PauseReason::Cap(cap) => self.text("pause-cap", &[("cap", self.cap(*cap).into())]),
        }
    }

    /// Names the reason why a session is being stopped.
    #[must_use]
    pub fn stop_reason(&self, reason: StopReason) -> String {
        let id = match reason {
            StopReason::Pause => "stop-pause",
            StopReason::Abort => "stop-abort",
            StopReason::Restart => "stop-restart",
            StopReason::StopAll => "stop-stop-all",
            StopReason::Cancel => "stop-cancel",
            StopReason::Remove => "stop-remove",
            StopReason::Account(category) => {
                return self.text("stop-account", &[("category", self.category(category).into())]);
            }
            StopReason::Hung => "stop-hung",
            StopReason::Escalation => "stop-escalation",
            StopReason::Configured => "stop-configured",
            StopReason::Cap(cap) => return self.text("stop-cap", &[("cap", self.cap(cap).into())]),
        };
        self.text(id, &[])
    }

    /// Returns the name of a cap with its unit and period: "dollars a day".
    #[must_use]
    pub fn cap(&self, cap: Cap) -> String {
        let unit = match cap.unit {
            Unit::Usd => "usd",
            Unit::Tokens => "tokens",
        };
        self.text("cap", &[("unit", unit.into()), ("per", self.per(cap.window).into())])
    }

    /// Names the period of a cap: "per day".
    #[must_use]
    pub fn per(&self, window: Window) -> String {
        let window = match window {
            Window::Session => "session",
            Window::Hour => "hour",
            Window::Day => "day",
        };
        self.text("per", &[("window", window.into())])
    }

    /// Formats an amount in the unit of a cap, dollars or tokens.
    #[must_use]
    pub fn amount(&self, unit: Unit, amount: f64) -> String {
        match unit {
            Unit::Usd => self.money(amount),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the cast saturates, and an amount is not negative"
            )]
            Unit::Tokens => self.text("amount-tokens", &[("tokens", self.number(amount as u64).into())]),
        }
    }

    /// Returns the name of the reason why an agent waits, e.g. a rate limit.
    #[must_use]
    pub fn wait_reason(&self, reason: WaitReason) -> String {
        match reason {
            WaitReason::Backoff(category) => {
                self.text("wait-backoff", &[("category", self.category(category).into())])
            }
            WaitReason::RateLimit => self.text("wait-rate-limit", &[]),
            WaitReason::Rest => self.text("wait-rest", &[]),
            WaitReason::Split => self.text("wait-split", &[]),
        }
    }

    /// Describes which timeout of a session has passed, as a predicate: "did not start in time".
    #[must_use]
    pub fn clock(&self, clock: Clock) -> String {
        let id = match clock {
            Clock::Startup => "clock-startup",
            Clock::Silence => "clock-silence",
            Clock::Tool => "clock-tool",
            Clock::Task => "clock-task",
            Clock::Heartbeat => "clock-heartbeat",
        };
        self.text(id, &[])
    }

    /// Returns the name of the way in which a task ended.
    #[must_use]
    pub fn task_end(&self, end: TaskEnd) -> String {
        let id = match end {
            TaskEnd::Done => "task-done",
            TaskEnd::Failed => "task-failed",
            TaskEnd::Cancelled => "task-cancelled",
            TaskEnd::Blocked => "task-blocked",
        };
        self.text(id, &[])
    }

    /// Returns the name of a kind of work: task or message.
    #[must_use]
    pub fn work_kind(&self, kind: WorkKind) -> String {
        let id = match kind {
            WorkKind::Message => "work-message",
            WorkKind::Task => "work-task",
            WorkKind::Round => "work-round",
        };
        self.text(id, &[])
    }

    /// Returns a runtime's name: the same in every language, since it is the value in `bot.toml`.
    #[must_use]
    pub fn runtime(&self, runtime: Runtime) -> &'static str {
        match runtime {
            Runtime::Claude => "claude",
            Runtime::Codex => "codex",
            Runtime::Acp => "acp",
            Runtime::Command => "command",
        }
    }
}
