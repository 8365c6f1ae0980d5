//! Answers that are not Discord's, and herder's reaction to many refusals.

use herder::core::agent::Phase;
use herder::core::id::AgentName;
use herder::core::link::LinkState;
use herder::run::Options;

use super::{Rig, spark};
use crate::simulated_discord::{Discord, Fault, State};
use crate::stage::{self, Stage};

const MESSAGES: &str = "GET /channels/{channel_id}/messages";
const CHANNEL: &str = "GET /channels/{channel_id}";
const MARK: &str = "PUT /channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me";

/// Checks that messages from herder's absence are handled, whatever the first tries to fetch them meet.
async fn is_found_after(fault: Fault) {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.alice.says("#spark", "zero");
    rig.has_done(1).await;
    rig.stop().await;
    rig.alice.says("#spark", "one");
    // More often than herder asks at once: for four channels, three times each.
    let fails = rig.sim.inject(fault.on(MESSAGES).times(16));
    let mut rig = rig.started().await;
    assert_eq!(rig.has_done(2).await, ["zero", "one"]);
    assert!(fails.struck() > 0);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_missed_is_found_although_a_proxy_says_that_the_channel_is_not_there() {
    is_found_after(Fault::foreign(404)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_missed_is_found_although_a_proxy_refuses_it() {
    is_found_after(Fault::foreign(403)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_missed_is_found_although_discords_own_guard_refuses_it() {
    is_found_after(Fault::refused(403, 40333, "internal network error")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_missed_is_found_although_a_portal_answers_everything_with_a_page() {
    is_found_after(Fault::foreign(200)).await;
}

/// A thread without an event is looked up before messages there count as talk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_in_the_way_makes_nothing_of_what_was_said() {
    let mut rig = Rig::open(Discord::start().await).await;
    let fails = rig.sim.inject(Fault::foreign(404).on(CHANNEL).times(2));
    rig.alice.says("#spark", "one");
    assert_eq!(rig.has_done(1).await, ["one"]);
    fails.lift();
    rig.stop().await;
}

/// A token that a proxy does not like is not a wrong one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_wants_a_login_does_not_end_the_link_for_good() {
    let mut rig = Rig::prepare(Discord::start().await).await;
    rig.sim.inject(Fault::foreign(401).on("GET /gateway/bot").times(3));
    rig.start().await;
    let mut rig = rig.sees_ready().await;
    rig.alice.says("#spark", "one");
    assert_eq!(rig.has_done(1).await, ["one"]);
    rig.stop().await;
}

/// Sixty marks are pending, everything is refused, and another agent is at work all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn marks_that_nobody_takes_are_no_storm() {
    const OWED: usize = 60;
    let mut rig = Rig::prepare(Discord::start().await).await;
    let mut config = rig.config();
    config.agents.push(stage::shell("nova", rig.dir.path(), "cat > /dev/null; sleep 0.4"));
    rig.stage = Some(Stage::open(config, Options::default()).await);
    let mut rig = rig.sees_ready().await;
    let nova = rig.sim.channel("#nova").await;
    rig.alice.says("#spark", "pause");
    rig.agent("a pause", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    let refuses = rig.sim.inject(Fault::foreign(403).always());
    for number in 0..OWED {
        rig.alice.says("#spark", &format!("work {number}"));
    }
    rig.agent("all of it to wait", |view| view.agent.queue.len() == OWED).await;
    for number in 0..15 {
        rig.alice.says(&nova.name, &format!("other work {number}"));
    }
    let name = AgentName::new("nova").expect("a good name");
    let worked = rig.stage().herder.fleet().wait_for(&name, |view| view.agent.totals.successes >= 15);
    worked.await.expect("nova is there");
    let refused = refuses.struck();
    assert!(refused < 200, "{refused} requests were refused");
    // It is shown, and over when they are taken again.
    let is_shown = |state: &LinkState| matches!(state, LinkState::Connecting { attempts: 0, reason: Some(reason) } if reason.to_string().contains("were refused within ten minutes"));
    if refused > 100 {
        rig.link("the stop", is_shown).await;
    }
    refuses.lift();
    rig.link("the link", |state| matches!(state, LinkState::Up { .. })).await;
    let marks = |state: &State| state.requests.iter().any(|it| it.route == MARK && it.status == Some(204));
    rig.sim.until("a mark", marks).await;
    assert_eq!(rig.stage().herder.fleet().view(&spark()).map(|view| view.agent.queue.len()), Some(OWED));
    rig.stop().await;
}
