//! Discord turns herder away again and again: herder tries ever less often, and never more often than allowed.

use std::time::{Duration, Instant};

use herder::core::link::LinkState;

use super::Rig;
use crate::simulated_discord::Discord;

fn is_up(state: &LinkState) -> bool {
    matches!(state, LinkState::Up { .. })
}

/// Returns whether every wait between two tries is at least this long, in milliseconds: half of 1, 2, 4 … s, since
/// waits are drawn.
fn are_slower_each_time(tries: &[Instant]) -> bool {
    let waits = tries.windows(2).map(|pair| pair[1] - pair[0]);
    waits.zip([500, 1000, 2000, 4000]).all(|(wait, least)| wait >= Duration::from_millis(least))
}

/// Breaks the link, with that many tries that find an invalid session; messages meanwhile are handled once.
async fn keeps_its_pace(resumable: bool) {
    const INVALID: u32 = 4;
    let mut rig = Rig::open(Discord::start().await).await;
    rig.link("the link", is_up).await;
    rig.alice.says("#spark", "zero");
    rig.has_done(1).await;
    let (before, logins) = (rig.sim.gateway().connected_at().len(), rig.sim.gateway().identifies());
    rig.sim.gateway().finds_invalid(INVALID, resumable);
    rig.sim.gateway().invalidates(resumable);
    rig.alice.says("#spark", "one");
    assert_eq!(rig.has_done(2).await, ["zero", "one"]);
    rig.link("the link again", is_up).await;
    let tries = rig.sim.gateway().connected_at().split_off(before);
    assert!(are_slower_each_time(&tries), "{tries:?}");
    let logins = rig.sim.gateway().identifies() - logins;
    assert!(tries.len() <= INVALID as usize + 2 && logins <= INVALID + 1, "{logins} logins, {tries:?}");
    rig.alice.says("#spark", "two");
    assert_eq!(rig.has_done(3).await, ["zero", "one", "two"]);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_invalid_sessions_is_no_storm_of_logins() {
    keeps_its_pace(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_invalid_sessions_that_can_be_resumed_is_none_of_tries() {
    keeps_its_pace(true).await;
}

/// Links that come up and break at once are no success: the waits grow on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_flaps_is_taken_up_ever_slower() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.link("the link", is_up).await;
    let before = rig.sim.gateway().connected_at().len();
    for number in 0..4 {
        let links = rig.sim.gateway().links();
        rig.sim.gateway().invalidates(number % 2 == 0);
        rig.sim
            .until("the link to be back", |state| state.gateway.identifies + state.gateway.resumes > links)
            .await;
        rig.sim.ready().await;
    }
    rig.alice.says("#spark", "once");
    assert_eq!(rig.has_done(1).await, ["once"]);
    let tries = rig.sim.gateway().connected_at().split_off(before);
    assert!(tries.len() >= 4 && are_slower_each_time(&tries), "{tries:?}");
    rig.stop().await;
}

/// Answers logins with invalid sessions until that many are used up. The simulator reports one too many, after which
/// Discord would revoke the token.
async fn storms_until_no_login_is_left(left: u32) {
    let sim = Discord::start().await;
    sim.gateway().starts_left(left);
    let mut rig = Rig::open(sim).await;
    rig.link("the link", is_up).await;
    rig.sim.gateway().finds_invalid(u32::MAX, false);
    rig.sim.gateway().invalidates(false);
    let waits = |state: &LinkState| matches!(state, LinkState::Connecting { reason: Some(reason), .. } if reason.to_string().contains("no more logins"));
    rig.link("it to wait", waits).await;
    assert_eq!(rig.sim.gateway().identifies(), left);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_ends_with_the_logins_that_are_left() {
    storms_until_no_login_is_left(3).await;
}

/// With more logins left, herder meanwhile asks why it is refused, which is a login as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_asks_why_with_a_login_that_is_not_left() {
    storms_until_no_login_is_left(4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_to_ask_why_is_counted() {
    storms_until_no_login_is_left(5).await;
}
