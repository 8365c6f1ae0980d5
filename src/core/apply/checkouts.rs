//! Applies the events about clones of tasks.

use super::{board, take};
use crate::agent::Agent;
use crate::checkout::CheckoutEvent;
use crate::time::Timestamp;

pub(super) fn apply(agent: &mut Agent, event: &CheckoutEvent, at: Timestamp) {
    match event {
        CheckoutEvent::InReview { task, note } => {
            let Some(work) = take(agent, *task) else { return };
            if let Some(checkout) = agent.checkouts.all.get_mut(task) {
                checkout.begin_review(work, note, at);
            }
        }
        CheckoutEvent::Returned { task, back } => {
            let returned = agent.checkouts.all.get_mut(task).and_then(|checkout| checkout.end_review(back));
            if let Some(work) = returned {
                board::enqueue_first(agent, work);
            }
        }
        _ => {
            if let Some(message) = agent.apply_checkout(event) {
                take(agent, message);
            }
        }
    }
}
