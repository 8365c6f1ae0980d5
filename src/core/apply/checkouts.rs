//! Applies the events about clones of tasks.

use super::{board, take};
use crate::agent::Agent;
use crate::checkout::CheckoutEvent;
use crate::time::Timestamp;
use crate::work::WorkKind;

pub(super) fn apply(agent: &mut Agent, event: &CheckoutEvent, at: Timestamp) {
    match event {
        CheckoutEvent::InReview { task, note, asked } => {
            let done = |agent: &mut Agent| {
                let index = agent.finished.iter().position(|over| over.work.id == *task)?;
                agent.finished.remove(index).map(|over| over.work)
            };
            let Some(work) = take(agent, *task).or_else(|| done(agent)) else { return };
            if let Some(checkout) = agent.checkouts.all.get_mut(task) {
                checkout.begin_review(work, note, asked.clone(), at);
            }
        }
        CheckoutEvent::Accepted { task, .. } => {
            agent.apply_checkout(event);
            // Messages about it that wait begin tasks of their own: no session works in a clone that is merged and removed.
            for work in &mut agent.queue {
                if let Some(card) = work.card.as_mut().filter(|card| card.of == Some(*task)) {
                    card.of = None;
                    work.kind = WorkKind::Task;
                }
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
