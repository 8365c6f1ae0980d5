//! Applies the events about splitting a task to an agent's state.

use super::counters;
use crate::agent::{Agent, Splitting};
use crate::id::WorkId;
use crate::outcome::Usage;
use crate::time::Timestamp;

pub(super) fn begun(agent: &mut Agent, work: WorkId, number: u32, until: Timestamp) {
    agent.watch.number(number);
    if agent.queue.iter().any(|queued| queued.id == work) {
        agent.splitting = Some(Box::new(Splitting { work, number, until }));
    }
}

pub(super) fn ended(agent: &mut Agent, number: u32, usage: Usage, at: Timestamp) {
    agent.splitting.take_if(|split| split.number == number);
    counters::charge(agent, usage, at);
}
