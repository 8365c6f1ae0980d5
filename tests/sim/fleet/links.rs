//! A network: it takes lines in windows and says that it has them, and it is lost now and then, with or without what was
//! under way.

use std::sync::Arc;
use std::time::Duration;

use herder::clock;
use herder::core::link::{LinkReport, LinkState};
use herder::core::post::Target;
use herder::outbox::{NetworkQueue, Window};
use herder::supervisor::Fleet;
use tokio::time::sleep;

use super::random::Random;
use super::world::Sim;

/// Lines that are sent before they are confirmed.
const WINDOW: usize = 4;

/// Returns more room than any line of the outbox needs, so that none is cut once more.
fn room(_: &Target) -> usize {
    400
}

fn joined(_: &Target) -> bool {
    true
}

/// Keeps a network until herder is gone.
pub(crate) async fn keep(sim: Sim, fleet: Fleet, queue: Arc<NetworkQueue>, mut dice: Random) {
    let report = |state| fleet.report_link(LinkReport { network: queue.network().clone(), state });
    sleep(dice.between(Duration::from_millis(50), Duration::from_secs(5))).await;
    loop {
        report(LinkState::Up { since: clock::now(), unidentified: None });
        queue.link_restored();
        deliver(&sim, &queue, &mut dice).await;
        sim.world().tally.links_lost += 1;
        let attempts = u32::try_from(dice.below(12)).expect("small");
        for attempts in 0..attempts {
            report(LinkState::Connecting { attempts, reason: None });
            sleep(Duration::from_secs(1 << attempts.min(5))).await;
        }
        if dice.is(1, 5) {
            sleep(dice.around(Duration::from_secs(5 * 3600))).await;
        }
    }
}

/// Delivers until the link is lost.
async fn deliver(sim: &Sim, queue: &NetworkQueue, dice: &mut Random) {
    loop {
        let window = queue.next_window(WINDOW, &room, &joined).await;
        sleep(dice.between(Duration::from_millis(5), Duration::from_millis(300))).await;
        let lost = !sim.world().calm && dice.is(1, 400);
        let arrive = if lost { dice.index(window.lines.len() + 1) } else { window.lines.len() };
        let lives = sim.step(|world| {
            world.tally.lines += arrive as u64;
            world.books.arrived(queue.network(), &window.lines[..arrive])
        });
        if !lives {
            return std::future::pending().await;
        }
        if lost {
            sim.world().books.posts.nobody_knows(&window.lines[..arrive]);
            // Some networks tell line by line what arrived, others tell nothing.
            queue.requeue(window);
            return;
        }
        confirm(queue, window).await;
    }
}

async fn confirm(queue: &NetworkQueue, window: Window) {
    queue.confirm(window).await;
}
