//! The timeouts of a session, as a pure state: the times of events, the expired timeout, and the evidence of life.
//!
//! Times are durations since the session's process was given its prompt.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Clocks;
use crate::core::detail::Own;
use crate::core::input::Clock;

/// Minimum CPU use of a process tree that counts as a sign of life, as a share of one core: a runtime that hangs in a
/// model call still runs its event loop.
pub const CPU_SHARE_MIN: f64 = 0.05;

/// Maximum time for which CPU use alone counts as life, as a multiple of the silence timeout: a runtime that retries
/// an unanswered request uses some too.
pub const CPU_ALONE_MAX: u32 = 3;

/// Number of CPU samples taken within one silence timeout: several, since it takes two to compare.
const LOOKS_PER_SILENCE: u32 = 8;

/// Minimum time between two CPU samples: each reads the table of all processes.
const LOOK_PAUSE_MIN: Duration = Duration::from_millis(100);

/// Returns the time between two CPU samples.
#[must_use]
pub fn look_pause(clocks: &Clocks) -> Duration {
    (clocks.silence / LOOKS_PER_SILENCE).max(LOOK_PAUSE_MIN).min(clocks.beat)
}

/// A tool call that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTool {
    /// Name of the tool.
    pub name: String,
    /// Time of the call's start, since the prompt was given.
    pub since: Duration,
}

/// The signs of life of a session: the last event, the last CPU use, and open tool calls.
#[derive(Debug, Clone, Default)]
pub struct Vitals {
    ready: bool,
    last_event: Duration,
    last_cpu: Option<Duration>,
    tools: BTreeMap<String, OpenTool>,
}

/// Maximum number of open tool calls kept, against a stream that only starts calls.
const TOOLS_MAX: usize = 1000;

impl Vitals {
    /// Records that any event came from the process at `now`.
    pub fn event(&mut self, now: Duration) {
        self.last_event = now;
    }

    /// Records that the runtime is ready.
    pub fn ready(&mut self) {
        self.ready = true;
    }

    /// Records that the process tree has used CPU time significantly at `now`.
    pub fn cpu(&mut self, now: Duration) {
        self.last_cpu = Some(now);
    }

    /// Records the start of a tool call.
    pub fn tool_started(&mut self, id: String, name: String, now: Duration) {
        if self.tools.len() < TOOLS_MAX {
            self.tools.entry(id).or_insert(OpenTool { name, since: now });
        }
    }

    /// Records the end of a tool call.
    pub fn tool_ended(&mut self, id: &str) {
        self.tools.remove(id);
    }

    /// Records the end of a turn, which ends all of its calls.
    pub fn turn_ended(&mut self) {
        self.tools.clear();
    }

    /// Returns the tool call that has been open for longest.
    #[must_use]
    pub fn oldest_tool(&self) -> Option<&OpenTool> {
        self.tools.values().min_by_key(|tool| tool.since)
    }

    /// Returns the time of the last certain sign of life: an event, or CPU use.
    fn last_sign(&self) -> Duration {
        self.last_cpu.map_or(self.last_event, |cpu| cpu.max(self.last_event))
    }

    /// Returns the time at which the silence timeout expires, if no further sign of life comes.
    fn silent_until(&self, clocks: &Clocks) -> Duration {
        let alone = self.last_event.saturating_add(clocks.silence.saturating_mul(CPU_ALONE_MAX));
        self.last_sign().saturating_add(clocks.silence).min(alone)
    }

    /// Returns the time limit that expires next, and when.
    #[must_use]
    pub fn next(&self, clocks: &Clocks) -> (Clock, Duration) {
        let task = (Clock::Task, clocks.task);
        let other = match self.oldest_tool() {
            _ if !self.ready => (Clock::Startup, clocks.startup),
            Some(tool) => (Clock::Tool, tool.since.saturating_add(clocks.tool)),
            None => (Clock::Silence, self.silent_until(clocks)),
        };
        if other.1 < task.1 { other } else { task }
    }

    /// Returns the time limit that has expired at `now`, with the evidence; `None` if none has.
    #[must_use]
    pub fn ran_out(&self, clocks: &Clocks, now: Duration) -> Option<(Clock, Own)> {
        let (clock, at) = self.next(clocks);
        (now >= at).then(|| (clock, self.evidence(clocks, clock, now)))
    }

    /// Returns the time from which CPU use has to be sampled, as there is no other sign of life; `None` if it need not
    /// be.
    #[must_use]
    pub fn needs_cpu(&self, clocks: &Clocks) -> Option<Duration> {
        (self.ready && self.tools.is_empty()).then(|| self.last_sign().saturating_add(clocks.silence / 2))
    }

    /// Returns true if there was no sign of life for long enough to say that the session waits for something.
    #[must_use]
    pub fn is_quiet(&self, clocks: &Clocks, now: Duration) -> bool {
        self.tools.is_empty() && now.saturating_sub(self.last_sign()) >= clocks.silence.min(clocks.task) / 2
    }

    fn evidence(&self, clocks: &Clocks, clock: Clock, now: Duration) -> Own {
        let since = |then: Duration| now.saturating_sub(then);
        let silent = since(self.last_event);
        match (clock, self.oldest_tool()) {
            (Clock::Startup, _) => Own::NothingYet { waited: now },
            (Clock::Tool, Some(OpenTool { name, since: began })) => {
                Own::ToolOpen { tool: name.clone(), open: since(*began) }
            }
            (Clock::Task, Some(OpenTool { name, since: began })) => {
                Own::TakesLongWithTool { takes: now, tool: name.clone(), open: since(*began) }
            }
            (Clock::Task, None) => Own::TakesLong { takes: now, silent },
            (Clock::Silence | Clock::Tool | Clock::Heartbeat, _) => match self.last_cpu.map(since) {
                Some(cpu) if cpu < clocks.silence => Own::OnlyCpu { silent },
                cpu => Own::Silent { silent, cpu },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn minutes(n: u64) -> Duration {
        Duration::from_secs(60 * n)
    }

    const CLOCKS: Clocks = Clocks {
        startup: minutes(1),
        silence: minutes(5),
        tool: minutes(30),
        task: minutes(120),
        grace: Duration::from_secs(10),
        beat: Duration::from_secs(5),
    };

    fn ready() -> Vitals {
        let mut vitals = Vitals::default();
        vitals.ready();
        vitals
    }

    fn with_tool(since: Duration) -> Vitals {
        let mut vitals = ready();
        vitals.event(since);
        vitals.tool_started("t".to_owned(), "Bash".to_owned(), since);
        vitals
    }

    #[test]
    fn each_clock_runs_out_at_its_time_and_not_before() {
        let spoke = |at| {
            let mut vitals = ready();
            vitals.event(at);
            vitals
        };
        let computed = |at| {
            let mut vitals = ready();
            vitals.cpu(at);
            vitals
        };
        let closed = {
            let mut vitals = with_tool(minutes(3));
            vitals.tool_ended("t");
            vitals
        };
        let overlong = {
            let mut vitals = with_tool(minutes(100));
            vitals.event(minutes(119));
            vitals
        };
        let table = [
            (Vitals::default(), Clock::Startup, minutes(1), "nothing from the process for 60s"),
            (ready(), Clock::Silence, minutes(5), "no event for 5m, no tool open, no CPU time"),
            (spoke(minutes(3)), Clock::Silence, minutes(8), "no event for 5m, no tool open, no CPU time"),
            (
                computed(minutes(4)),
                Clock::Silence,
                minutes(9),
                "no event for 9m, no tool open, no CPU time for 5m",
            ),
            (with_tool(minutes(2)), Clock::Tool, minutes(32), "tool Bash open for 30m"),
            (closed, Clock::Silence, minutes(8), "no event for 5m, no tool open, no CPU time"),
            (overlong, Clock::Task, minutes(120), "the session takes 2h, tool Bash open for 20m"),
            (spoke(minutes(118)), Clock::Task, minutes(120), "the session takes 2h, last event 2m ago"),
        ];
        for (vitals, clock, at, evidence) in table {
            assert_eq!(vitals.next(&CLOCKS), (clock, at), "{evidence}");
            assert_eq!(vitals.ran_out(&CLOCKS, at - Duration::from_millis(1)), None, "{evidence}");
            let seen = vitals.ran_out(&CLOCKS, at).map(|(clock, seen)| (clock, seen.to_string()));
            assert_eq!(seen, Some((clock, evidence.to_owned())));
        }
    }

    #[test]
    fn a_silent_tool_call_within_its_limit_is_alive_for_all_of_it() {
        let vitals = with_tool(minutes(1));
        for minute in 1..31 {
            assert_eq!(vitals.ran_out(&CLOCKS, minutes(minute)), None, "minute {minute}");
        }
    }

    #[test]
    fn two_tool_calls_at_once_are_two() {
        let mut vitals = with_tool(minutes(1));
        vitals.tool_started("u".to_owned(), "Read".to_owned(), minutes(9));
        vitals.tool_ended("t");
        assert_eq!(vitals.oldest_tool().map(|tool| tool.name.as_str()), Some("Read"));
        assert_eq!(vitals.next(&CLOCKS), (Clock::Tool, minutes(39)));
        vitals.turn_ended();
        assert_eq!(vitals.next(&CLOCKS).0, Clock::Silence);
    }

    #[test]
    fn cpu_time_is_looked_at_only_when_nothing_else_speaks() {
        assert_eq!(ready().needs_cpu(&CLOCKS), Some(minutes(5) / 2));
        assert_eq!(with_tool(minutes(0)).needs_cpu(&CLOCKS), None);
        assert_eq!(Vitals::default().needs_cpu(&CLOCKS), None);
    }

    #[test]
    fn cpu_time_alone_is_evidence_for_three_times_the_silence_timeout() {
        let mut vitals = ready();
        vitals.event(minutes(2));
        for minute in 3..17 {
            vitals.cpu(minutes(minute));
            assert_eq!(vitals.ran_out(&CLOCKS, minutes(minute)), None, "minute {minute}");
        }
        let (clock, evidence) = vitals.ran_out(&CLOCKS, minutes(17)).expect("it has had its time");
        assert_eq!(clock, Clock::Silence);
        assert_eq!(evidence.to_string(), "no event for 15m, no tool open, only CPU time was used");
        vitals.event(minutes(17));
        assert_eq!(vitals.ran_out(&CLOCKS, minutes(21)), None, "an event is a new beginning");
    }

    #[test]
    fn cpu_time_is_looked_at_by_the_clock_that_it_serves() {
        for (silence, beat, pause) in [(300, 5000, 5000), (6, 5000, 750), (6, 200, 200), (10, 5000, 1250)] {
            let (silence, beat) = (Duration::from_secs(silence), Duration::from_millis(beat));
            assert_eq!(look_pause(&Clocks { silence, beat, ..CLOCKS }), Duration::from_millis(pause));
        }
    }

    #[test]
    fn a_tool_call_that_is_told_twice_began_when_it_was_told_first() {
        let mut vitals = with_tool(minutes(2));
        vitals.tool_started("t".to_owned(), "Bash".to_owned(), minutes(20));
        assert_eq!(vitals.next(&CLOCKS), (Clock::Tool, minutes(32)));
    }
}
