//! The link: the faults that break it, those that it survives, and those that end it for good.

use std::time::Duration;

use herder::core::input::Control;
use herder::core::link::LinkState;
use herder::run::Options;
use serde_json::json;

use super::Rig;
use super::load::Load;
use crate::from_within::asked;
use crate::simulated_discord::{Discord, permission};
use crate::stage::Stage;

fn is_up(state: &LinkState) -> bool {
    matches!(state, LinkState::Up { .. })
}

fn refused(state: &LinkState) -> Option<String> {
    match state {
        LinkState::Refused { reason } => Some(reason.to_string()),
        LinkState::Up { .. } | LinkState::Connecting { .. } | LinkState::Barred { .. } => None,
    }
}

/// Returns the processor's time that this process has used.
fn cpu_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.try_into().unwrap_or_default(), spent.tv_nsec.try_into().unwrap_or_default())
}

/// Breaks the link in its own way.
type Break = fn(&Discord);

/// Messages before, while and after the link breaks in each of these ways are handled and answered once and in order,
/// and a button that is pressed in that moment works once. Each break makes herder wait longer with the next try, so
/// that each life of it gets few.
async fn survives(breaks: &[(&str, Break)]) {
    let mut load = Box::pin(Load::open(Discord::start().await)).await;
    for (fault, breaks) in breaks {
        load.meets(fault, breaks).await;
        load.comes_through(fault).await;
    }
    load.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_done_twice_when_the_connection_drops() {
    let fin: Break = |sim| sim.gateway().drops_fin();
    let rst: Break = |sim| sim.gateway().drops_rst();
    let empty: Break = |sim| sim.gateway().closes_empty();
    survives(&[("FIN", fin), ("RST", rst), ("no code", empty)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_done_twice_when_discord_closes_and_keeps_the_session() {
    survives(&[
        ("4000", |sim| sim.gateway().closes(4000)),
        ("4001", |sim| sim.gateway().closes(4001)),
        ("4002", |sim| sim.gateway().closes(4002)),
    ])
    .await;
    survives(&[
        ("4005", |sim| sim.gateway().closes(4005)),
        ("4008", |sim| sim.gateway().closes(4008)),
        ("1001", |sim| sim.gateway().closes(1001)),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_done_twice_when_discord_ends_the_session() {
    survives(&[
        ("4007", |sim| sim.gateway().closes(4007)),
        ("4009", |sim| sim.gateway().closes(4009)),
        ("op 9", |sim| sim.gateway().invalidates(false)),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_done_twice_when_discord_asks_to_come_again() {
    survives(&[
        ("op 7", |sim| sim.gateway().asks_to_reconnect()),
        ("op 9, resumable", |sim| sim.gateway().invalidates(true)),
        ("op 7 and a session that is gone", |sim| {
            sim.gateway().forgets(1);
            sim.gateway().asks_to_reconnect();
        }),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_done_twice_when_serenity_hangs_over_a_code() {
    survives(&[("4003", |sim| sim.gateway().closes(4003))]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_and_reordered_events_are_worked_on_once() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.sim.gateway().duplicates("MESSAGE_CREATE", 3);
    for number in 0..3 {
        rig.alice.says("#spark", &format!("twice {number}"));
    }
    assert_eq!(rig.has_done(3).await, ["twice 0", "twice 1", "twice 2"]);
    rig.sim.gateway().reorders("MESSAGE_CREATE", 1);
    rig.alice.says("#spark", "first");
    rig.alice.says("#spark", "second");
    let mut done = rig.has_done(5).await.split_off(3);
    done.sort();
    assert_eq!(done, ["first", "second"]);
    // Events in the wrong order make serenity resume too early, so that Discord repeats events that were handled.
    let resumes = rig.sim.gateway().resumes();
    rig.sim.gateway().drops_rst();
    rig.sim.gateway().resumed(resumes + 1).await;
    // One is held back for another that comes only over the next link.
    rig.sim.gateway().reorders("MESSAGE_CREATE", 1);
    rig.alice.says("#spark", "held back");
    rig.sim.gateway().drops_rst();
    rig.alice.says("#spark", "the other");
    assert_eq!(rig.has_done(7).await.split_off(5), ["held back", "the other"]);
    rig.stop().await;
}

/// Posts do not use the gateway: an adapter that starts again because of the gateway sends them at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn posts_leave_while_only_the_gateway_is_away() {
    let mut rig = Rig::prepare(Discord::start().await).await;
    let mut config = rig.config();
    config.networks.attempts = 1;
    rig.stage = Some(Stage::open(config, Options::default()).await);
    let mut rig = rig.sees_ready().await;
    rig.link("the link to be up", is_up).await;
    let began = std::time::Instant::now();
    rig.sim.gateway().refuses(u32::MAX);
    rig.sim.gateway().drops_rst();
    let is_new = |state: &LinkState| matches!(state, LinkState::Connecting { attempts: 0, .. });
    rig.link("the next adapter", is_new).await;
    rig.stage()
        .herder
        .fleet()
        .control(&super::spark(), Control::Pause { now: false }, asked())
        .await
        .expect("it pauses");
    rig.sim.message_in("#spark", |post| post.content.replace("**", "").contains("spark is paused")).await;
    let took = began.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    rig.stop().await;
}

/// Before the first messages in a channel no position is recorded: the later one of two is not taken for the start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_words_in_a_channel_are_all_worked_on_in_whatever_order_they_come() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.sim.makes_channel("lobby");
    rig.sim.gateway().reorders("MESSAGE_CREATE", 1);
    rig.alice.says("#lobby", "@spark first");
    rig.alice.says("#lobby", "@spark second");
    let mut done = rig.has_done(2).await;
    done.sort();
    assert_eq!(done, ["first", "second"]);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_everything_comes_twice_it_is_acted_on_once() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.sim.command("pause").await;
    rig.sim.role("manager", permission::MANAGE_GUILD);
    let alice = rig.sim.user("alice").roles(["manager"]);
    rig.sim.gateway().duplicates("", u32::MAX);
    // The simulator would tell of an interaction that is answered twice.
    let paused = alice.slash("herder", "pause", json!({ "agent": "spark" })).answer().await;
    assert!(!paused.is_ephemeral(), "{}", paused.content);
    let changed = alice.says("#spark", "fix the bild");
    let taken_back = alice.says("#spark", "delete everything");
    rig.agent("two works", |view| view.agent.queue.len() == 2).await;
    alice.edits(changed, "fix the build");
    alice.deletes(taken_back);
    rig.agent("one work, with other words", |view| {
        view.agent.queue.iter().map(|work| work.text.as_str()).eq(["fix the build"])
    })
    .await;
    let post = rig.sim.message_in("spark", |message| !message.buttons().is_empty()).await;
    alice.clicks(post.id, &post.button("Resume").custom_id).acknowledged().await;
    assert_eq!(rig.has_done(1).await, ["fix the build"]);
    rig.sim.reaction(changed, "✅").await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_closed_again_and_again_is_not_opened_again_and_again() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.link("the link", is_up).await;
    let before = rig.sim.gateway().connections();
    rig.sim.gateway().closes_at_connect(3, 4000);
    rig.sim.gateway().closes(4000);
    // It takes a second, two and four to get through.
    rig.sim
        .until("the link to be back", |state| state.gateway.sessions.iter().any(|session| session.is_ready))
        .await;
    rig.alice.says("#spark", "once");
    rig.has_done(1).await;
    let tries = rig.sim.gateway().connections() - before;
    assert!(tries <= 6, "{tries} connections");
    rig.stop().await;
}

/// Half a minute: six tries, and between two of them the root supervisor starts the adapter again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_outage_that_outlasts_an_adapter_the_next_one_says_so_and_goes_on_waiting() {
    let mut rig = Rig::prepare(Discord::start().await).await;
    let mut options = Options::default();
    options.patience.anew = Duration::from_secs(1);
    rig.stage = Some(Stage::open(rig.config(), options).await);
    let mut rig = rig.sees_ready().await;
    rig.link("the link", is_up).await;
    rig.sim.gateway().refuses(6);
    rig.sim.gateway().drops_rst();
    rig.sim
        .until_within(Duration::from_secs(90), "a word that it is back", |state| {
            state.posts("work").any(|post| post.content.starts_with("HEARTBEAT"))
        })
        .await;
    rig.link("the link again", is_up).await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_refused_ends_the_adapter_with_what_to_mend() {
    let mut rig = Rig::prepare(Discord::start().await).await;
    let config = rig.config();
    rig.sim.changes_token("another");
    rig.sim.expects_violation("401");
    rig.stage = Some(crate::stage::Stage::open(config, herder::run::Options::default()).await);
    let state = rig.link("a refusal", |state| refused(state).is_some()).await;
    assert!(refused(&state).is_some_and(|reason| reason.contains("`token` of [discord]")), "{state:?}");
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codes_that_are_for_good_end_the_adapter() {
    for (code, part) in
        [(4004, "token"), (4013, "intent"), (4010, "shard"), (4011, "more shards"), (4012, "version")]
    {
        let mut rig = Rig::open(Discord::start().await).await;
        rig.link("the link", is_up).await;
        let (connections, cpu) = (rig.sim.gateway().connections(), cpu_time());
        rig.sim.gateway().closes_at_connect(u32::MAX, code);
        rig.sim.gateway().closes(code);
        let state = rig.link("a refusal", |state| refused(state).is_some()).await;
        assert!(refused(&state).is_some_and(|reason| reason.contains(part)), "{code}: {state:?}");
        rig.stop().await;
        // serenity polls a link that was closed with 4010 or 4011 without end, and once did for six seconds.
        let (tries, spent) = (rig.sim.gateway().connections() - connections, cpu_time() - cpu);
        assert!(tries <= 6 && spent < Duration::from_secs(3), "{code}: {tries} tries, {spent:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_over_which_serenity_hangs_is_begun_anew() {
    let mut rig = Rig::open(Discord::start().await).await;
    rig.link("the link", is_up).await;
    let identifies = rig.sim.gateway().identifies();
    rig.sim.gateway().closes(4003);
    rig.alice.says("#spark", "while it hangs");
    assert_eq!(rig.has_done(1).await, ["while it hangs"]);
    assert!(rig.sim.gateway().identifies() > identifies);
    rig.stop().await;
}

/// Discord answers a login within five seconds of the last one with an invalid session, and counts it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_login_follows_another_within_five_seconds() {
    let breaks: [(&str, Break); 4] = [
        ("4003", |sim| sim.gateway().closes(4003)),
        ("4007", |sim| sim.gateway().closes(4007)),
        ("4009", |sim| sim.gateway().closes(4009)),
        ("op 9", |sim| sim.gateway().invalidates(false)),
    ];
    for (fault, breaks) in breaks {
        let mut rig = Rig::open(Discord::start().await).await;
        rig.link("the link", is_up).await;
        breaks(&rig.sim);
        rig.sim.until("another login", |state| state.gateway.identified_at.len() > 1).await;
        let logins = rig.sim.gateway().identified_at();
        // herder counts from before a login, the simulator from its arrival.
        let apart = logins[1].duration_since(logins[0]) + Duration::from_millis(200);
        assert!(apart >= Duration::from_secs(5), "{fault}: {apart:?}");
        rig.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_is_away_is_found_again_and_what_was_missed_is_done() {
    let mut load = Box::pin(Load::open(Discord::start().await)).await;
    load.meets("away", |sim| {
        sim.gateway().refuses(2);
        sim.gateway().drops_rst();
    })
    .await;
    load.comes_through("away").await;
    // It takes a second, two and four to get through.
    load.meets("closed again and again", |sim| {
        sim.gateway().closes_at_connect(3, 4000);
        sim.gateway().closes(4000);
    })
    .await;
    load.comes_through("closed again and again").await;
    load.rig.link("the link again", is_up).await;
    load.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_zombie_is_noticed_and_what_it_swallowed_is_done() {
    let sim = Discord::start().await;
    sim.gateway().heartbeat(Duration::from_secs(1));
    let mut load = Box::pin(Load::open(sim)).await;
    load.rig.link("the link", is_up).await;
    load.meets("zombie", |sim| {
        sim.gateway().zombie(true);
        // The next links are not to be taken for dead because the machine is slow.
        sim.gateway().heartbeat(Duration::from_secs(40));
    })
    .await;
    // Not even a login is answered: nothing but herder's own watch ends that, since heartbeats are acknowledged again.
    load.rig.sim.until("another try", |state| state.gateway.swallowed > 0).await;
    load.rig.sim.gateway().zombie(false);
    load.comes_through("zombie").await;
    load.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_logins_left_it_waits_instead_of_losing_its_token() {
    let sim = Discord::start().await;
    sim.gateway().starts_left(0);
    let mut rig = Rig::prepare(sim).await;
    rig.start().await;
    let waits = |state: &LinkState| matches!(state, LinkState::Connecting { reason: Some(reason), .. } if reason.to_string().contains("no more logins"));
    rig.link("it to wait", waits).await;
    assert_eq!(rig.sim.gateway().identifies(), 0);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_intent_is_taken_away_herder_goes_on_without_it_and_says_so() {
    let mut rig = Rig::open(Discord::start().await).await;
    let alice = rig.manager();
    rig.link("the link", is_up).await;
    rig.sim.command("status").await;
    rig.sim.takes_content_away();
    // The next login is refused with 4014.
    rig.sim.gateway().invalidates(false);
    let told = rig.sim.message_in("herder", |post| post.content.contains("intent is switched off")).await;
    assert!(told.content.contains("plain text in an agent's channel does not"), "{}", told.content);
    rig.link("the link without it", is_up).await;
    alice.says("#spark", "this cannot be read");
    alice.says("#herder", "@herder pause spark");
    let post = rig.sim.message_in("spark", |post| !post.buttons().is_empty()).await;
    alice.says("#herder", "@herder task add spark count");
    rig.agent("work", |view| view.agent.queue.len() == 1).await;
    alice.clicks(post.id, &post.button("Resume").custom_id).acknowledged().await;
    rig.agent("the work to be done", |view| view.agent.totals.successes == 1).await;
    let status = alice.slash("herder", "status", json!({})).answer().await;
    assert!(status.content.contains("1 agent"), "{}", status.content);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_shards_are_one_link() {
    let mut rig = Rig::open(Discord::builder().shards(2).start().await).await;
    rig.link("both shards", is_up).await;
    let shards = rig.sim.look(|state| {
        let mut shards: Vec<_> = state.gateway.sessions.iter().map(|session| session.shard).collect();
        shards.sort_unstable();
        shards
    });
    assert_eq!(shards, [(0, 2), (1, 2)]);
    rig.alice.says("#spark", "one");
    rig.has_done(1).await;
    // Talk in private is the first shard's business, whichever the server is on.
    rig.alice.whispers("status");
    rig.sim
        .until("an answer in private", |state| {
            let direct = |id| state.channels.get(&id).is_some_and(|channel| channel.recipient.is_some());
            state.messages.values().any(|message| message.author == state.bot.id && direct(message.channel))
        })
        .await;
    let resumes = rig.sim.gateway().resumes();
    rig.sim.gateway().drops_rst();
    rig.alice.says("#spark", "two");
    rig.sim.gateway().resumed(resumes + 2).await;
    assert_eq!(rig.has_done(2).await, ["one", "two"]);
    rig.stop().await;
}
