//! A webhook: it takes events one after the other, is away now and then, with or without the one under way, and
//! refuses some for good.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use herder::clock;
use herder::core::checkout::CheckoutEvent;
use herder::core::event::Event;
use herder::core::hook::HookEvent;
use herder::core::id::{AgentName, NetworkName};
use herder::core::link::{LinkReport, LinkState};
use herder::core::outcome::Category;
use herder::core::post::Body;
use herder::core::review::Back;
use herder::journal::{Batch, Entry, Receipt, Stream};
use herder::outbox::{NetworkQueue, Window};
use herder::supervisor::{Fleet, Listener};
use herder::webhook::{Answer, Next, Standing};
use tokio::time::sleep;

use super::Plan;
use super::random::Random;
use super::world::Sim;

/// The number of agents from which on no webhook is told: large fleets test the load that herder bears, not rare
/// cases.
const LARGE: usize = 500;

pub(crate) fn name() -> NetworkName {
    NetworkName::from("webhook:pager")
}

/// Returns the webhooks.
pub(crate) fn listeners(plan: &Plan) -> Vec<Listener> {
    let all = Listener { name: name(), events: HookEvent::ALL.into_iter().collect() };
    Some(all).filter(|_| plan.agents < LARGE).into_iter().collect()
}

/// Takes what it is told until herder is gone, as [`herder::webhook::run`] tells it.
pub(crate) async fn keep(sim: Sim, fleet: Fleet, queue: Arc<NetworkQueue>, mut dice: Random) {
    let mut standing = Standing::default();
    let report = |state| fleet.report_link(LinkReport { network: queue.network().clone(), state });
    let (mut away, mut up) = (clock::now(), false);
    queue.link_restored();
    loop {
        let window = queue.next_window(1, &|_| usize::MAX, &|_| true).await;
        sleep(dice.between(Duration::from_millis(5), Duration::from_millis(300))).await;
        let calm = sim.world().calm;
        if !calm && dice.is(1, 100) {
            away = clock::now().after(dice.around(Duration::from_secs(2 * 3600)));
        }
        let answer = match () {
            () if !calm && away > clock::now() => {
                Answer::Later { reason: "no answer".to_owned(), after: None }
            }
            () if !calm && is_unwanted(&window) => Answer::Refused { reason: "422".to_owned() },
            () => Answer::Taken { status: 204 },
        };
        // The answer to an accepted event may be lost.
        let lost = matches!(answer, Answer::Later { .. }) && dice.is(1, 5);
        let next = standing.after(&answer, 0.5);
        let lives = sim.step(|world| {
            let posts = &mut world.books.posts;
            match &next {
                Next::Done => posts.arrived(queue.network(), &window.lines)?,
                Next::Dropped { .. } => posts.given_up(&window.lines),
                Next::Again { .. } if lost => {
                    posts.arrived(queue.network(), &window.lines)?;
                    posts.nobody_knows(&window.lines);
                }
                Next::Again { .. } | Next::Gone { .. } => {}
            }
            Ok(())
        });
        if !lives {
            return std::future::pending().await;
        }
        match next {
            Next::Done => {
                queue.confirm(window).await;
                if !std::mem::replace(&mut up, true) {
                    report(LinkState::Up { since: clock::now(), unidentified: None });
                }
            }
            Next::Dropped { attempts, reason } => {
                up = false;
                queue.confirm(window).await;
                fleet.report_dropped(queue.network().clone(), attempts, reason.into());
            }
            Next::Again { wait, attempts, reason } => {
                up = false;
                report(LinkState::Connecting { attempts, reason: Some(reason.into()) });
                queue.requeue(window);
                sleep(wait).await;
            }
            Next::Gone { .. } => {}
        }
    }
}

/// Returns whether the webhook refuses this event at every try; it does so for one post in 97.
fn is_unwanted(window: &Window) -> bool {
    window.lines.iter().any(|line| line.post.0 % 97 == 5)
}

/// Checks that the posts to webhooks are on disk together with their event, each once.
pub(crate) fn each_transition_is_told_once(
    batch: &Batch,
    receipt: &Receipt,
    told: bool,
) -> Result<(), String> {
    let mut due: BTreeMap<(&AgentName, HookEvent), i64> = BTreeMap::new();
    for write in &batch.writes {
        let Stream::Agent(agent) = &write.stream else { continue };
        let events = write.entries.iter().filter_map(|entry| match entry {
            Entry::Agent(event) => of(event),
            _ => None,
        });
        events.for_each(|event| *due.entry((agent, event)).or_default() += i64::from(told));
    }
    for post in &receipt.posts {
        if let Body::Hook(hook) = &post.body
            && is_looked_at(hook.event)
        {
            *due.entry((&hook.agent, hook.event)).or_default() -= 1;
        }
    }
    match due.into_iter().find(|(_, count)| *count != 0) {
        Some(((agent, event), count)) => {
            Err(format!("programs are told of {event:?} of {agent}, {count} times too rarely"))
        }
        None => Ok(()),
    }
}

/// Returns the event that webhooks receive, for events that decide it alone.
fn of(event: &Event) -> Option<HookEvent> {
    match event {
        Event::Escalated { .. } => Some(HookEvent::Escalation),
        Event::ClockRanOut { .. } => Some(HookEvent::Timeout),
        Event::Whispered { whisper } if whisper.tone.is_finding() => Some(HookEvent::Spiraling),
        Event::SessionEnded { outcome, .. } if outcome.category == Category::Success => {
            Some(HookEvent::Complete)
        }
        Event::Resumed { .. } | Event::AccountOpened { .. } => Some(HookEvent::Resumed),
        Event::Checkout(CheckoutEvent::InReview { .. }) => Some(HookEvent::Review),
        Event::Checkout(CheckoutEvent::Accepted { by, .. }) if !by.is_herder() => Some(HookEvent::Accepted),
        Event::Checkout(CheckoutEvent::Returned { back: Back::Rejected { .. }, .. }) => {
            Some(HookEvent::Rejected)
        }
        Event::Checkout(CheckoutEvent::Landed { .. }) => Some(HookEvent::Merged),
        _ => None,
    }
}

fn is_looked_at(event: HookEvent) -> bool {
    match event {
        HookEvent::Escalation
        | HookEvent::Timeout
        | HookEvent::Spiraling
        | HookEvent::Complete
        | HookEvent::Resumed
        | HookEvent::Review
        | HookEvent::Accepted
        | HookEvent::Rejected
        | HookEvent::Merged => true,
        HookEvent::Error | HookEvent::Question => false,
    }
}
