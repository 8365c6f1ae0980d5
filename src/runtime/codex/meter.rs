//! Usage of the conversations of one process.
//!
//! codex reports the total of each conversation since it started, across processes. Each subagent has a conversation
//! of its own, which costs as much.

use std::collections::BTreeMap;

use crate::core::outcome::Usage;
use crate::runtime::text::{LINE_MAX, bounded};

/// Maximum number of conversations whose usage is counted separately; more subagents at a time are not expected.
const THREADS_MAX: usize = 64;

/// The usage of all conversations of a process: the agent's own, and those of its subagents.
#[derive(Debug, Default)]
pub(super) struct Meter {
    threads: BTreeMap<String, Counted>,
    /// Usage of conversations that are no longer counted separately.
    past: Usage,
}

#[derive(Debug, Clone, Copy)]
struct Counted {
    /// Total usage of the conversation before this process.
    before: Usage,
    total: Usage,
}

impl Meter {
    /// Sets the total usage of a resumed conversation before this process.
    pub(super) fn begins_at(&mut self, thread: &str, total: Usage) {
        self.threads.insert(bounded(thread, LINE_MAX).to_owned(), Counted { before: total, total });
    }

    /// Returns true if the conversation is counted already.
    pub(super) fn knows(&self, thread: &str) -> bool {
        self.threads.contains_key(bounded(thread, LINE_MAX))
    }

    /// Stores the total usage of a conversation; `last` is the usage of its last model call. An unknown conversation
    /// counts from that call on.
    pub(super) fn read(&mut self, thread: &str, total: Usage, last: Usage) {
        let thread = bounded(thread, LINE_MAX);
        if let Some(counted) = self.threads.get_mut(thread) {
            counted.total = total;
            return;
        }
        while self.threads.len() >= THREADS_MAX {
            // If it is reported again, it counts from there on.
            let Some((_, counted)) = self.threads.pop_first() else { break };
            self.past.add(counted.total.since(counted.before));
        }
        self.threads.insert(thread.to_owned(), Counted { before: total.since(last), total });
    }

    /// Returns the usage of all conversations since the process started.
    pub(super) fn usage(&self) -> Usage {
        let mut sum = self.past;
        for counted in self.threads.values() {
            sum.add(counted.total.since(counted.before));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input_tokens: u64) -> Usage {
        Usage { input_tokens, output_tokens: input_tokens / 10, ..Usage::default() }
    }

    #[test]
    fn what_was_used_before_and_what_is_said_twice_is_not_counted() {
        let mut meter = Meter::default();
        meter.begins_at("own", tokens(5000));
        assert_eq!(meter.usage(), tokens(0));
        for (total, sum) in [(5100, 100), (5100, 100), (5300, 300)] {
            meter.read("own", tokens(total), tokens(100));
            assert_eq!(meter.usage(), tokens(sum));
        }
        // A new conversation that is first reported at its second call.
        let mut meter = Meter::default();
        meter.read("own", tokens(300), tokens(100));
        meter.read("own", tokens(500), tokens(200));
        assert_eq!(meter.usage(), tokens(300));
    }

    #[test]
    fn helpers_are_paid_for_however_many_there_are() {
        let mut meter = Meter::default();
        meter.read("own", tokens(100), tokens(100));
        for n in 0..1000 {
            meter.read(&format!("helper {n}"), tokens(100), tokens(100));
            assert!(meter.threads.len() <= THREADS_MAX);
        }
        assert_eq!(meter.usage(), tokens(100_100));
    }
}
