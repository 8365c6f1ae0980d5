//! The whole conversation on Discord and IRC at once: an agent is added by a form, talked to, queued for, paused,
//! given up on, crashes, is brought back by buttons and from IRC; each network sees the other's messages.

use std::time::Duration;

use herder::chat::embedded_ircd::Server;
use herder::config::Subject;
use herder::core::id::AgentName;
use herder::core::policy::Intensity;
use herder::supervisor::View;
use serde_json::json;

use crate::simulated_discord::state::Message;
use crate::simulated_discord::{Discord, User, permission};
use crate::stage::{self, ALICE, Door, PATIENCE, Person, Stage};

/// spark's script: some work takes long, some fails once, some must not be tried again.
const SCRIPT: &str = r#"
work=$(tail -n 1)
case $work in
  long*) exec sleep 300 ;;
  shaky*) if [ ! -e tried ]; then touch tried; echo "no luck" >&2; exit 3; fi ;;
  ruined*) if [ ! -e mended ]; then echo "no key" >&2; exit 3; fi ;;
  broken*) if [ ! -e broke ]; then touch broke; echo "no licence" >&2; exit 2; fi ;;
esac
echo "did $work"
"#;

/// Words of the alert about an agent that fails again and again.
const INTERVENTION: &str = "needs intervention";

struct Conversation {
    sim: Discord,
    olga: User,
    alice: Person,
    stage: Stage,
    /// It ends with this.
    _server: Server,
}

fn labels(message: &Message) -> Vec<String> {
    message.buttons().into_iter().map(|button| button.label).collect()
}

impl Conversation {
    async fn seen(&self, text: &str) -> Message {
        self.sim.message_in("spark", |message| message.content.contains(text)).await
    }

    /// Waits for the message that calls for a person and was not answered yet.
    async fn prompt(&self, channel: &str, text: &str) -> Message {
        let open = |message: &Message| {
            message.content.contains(text) && labels(message).iter().any(|label| label == "Resume")
        };
        self.sim.message_in(channel, open).await
    }

    async fn until(&self, condition: impl FnMut(&View) -> bool) {
        let spark = AgentName::new("spark").expect("a name");
        let seen =
            tokio::time::timeout(PATIENCE, self.stage.herder.fleet().wait_for(&spark, condition)).await;
        seen.expect("it gets there").expect("spark is there");
    }
}

async fn open(dir: &std::path::Path) -> Conversation {
    std::fs::write(dir.join("work.sh"), SCRIPT).expect("a file can be written");
    let (server, sim) = (stage::server().await, Discord::start().await);
    sim.role("manager", permission::MANAGE_GUILD);
    let olga = sim.user("olga").roles(["manager"]);
    let asking = stage::asking("scout", dir, "git push origin main");
    let mut config = stage::config(dir, vec![stage::embedded_network(&server)], vec![asking]);
    config.discord = Some(stage::discord(&sim, Door::Plain));
    config.policy.breaker = Intensity { count: 2, window: Duration::from_secs(60) };
    config.access.admins.push(Subject::DiscordUser(olga.id.to_string()));
    let stage = Stage::open(config, stage::inside(&server)).await;
    sim.command("agent").await;
    let mut alice =
        Person::join(server.address(), "alice", Some(ALICE), &["#spark", "#scout", "#herder"]).await;
    alice.reaches("herder", "#herder").await;
    Conversation { sim, olga, alice, stage, _server: server }
}

async fn spark_is_added(on: &mut Conversation, dir: &std::path::Path) {
    let given = json!({ "name": "spark", "runtime": "command" });
    let asked = on.olga.slash("general", "agent add", given);
    let folder = dir.display().to_string();
    let fields = [("workspace", folder.as_str()), ("command", "sh work.sh")];
    let added = on.olga.submits_modal(&asked, &fields).await.answer().await;
    assert!(added.content.contains("is here, running command"), "{}", added.content);
    on.sim.channel("#spark").await;
    on.alice.reaches("herder", "#spark").await;
    // Discord lets people write before herder knows that the channel is one of its own.
    on.olga.says("#spark", "status");
    on.seen("idle").await;
}

async fn talk_queue_and_pause(on: &mut Conversation) {
    let said = on.olga.says("#spark", "count the ants");
    on.sim.reaction(said, "✅").await;
    assert_eq!(on.alice.hears("#spark", "💬 olga").await, "💬 olga (discord): count the ants");
    on.alice.hears("#spark", "did count the ants").await;
    on.seen("did count the ants").await;

    let said = on.olga.says("#spark", "long work");
    on.sim.reaction(said, "⏳").await;
    on.alice.say("#spark", "tidy up").await;
    on.alice.hears("#spark", "👀").await;
    on.seen("💬 alice (demo): tidy up").await;
    let queue = on.olga.slash("spark", "queue", json!({})).answer().await;
    assert!(queue.content.contains("tidy up"), "{}", queue.content);

    // Paused in the middle of it, given up by one button, and resumed by another.
    on.olga.slash("spark", "pause", json!({ "now": true })).answer().await;
    let post = on.prompt("spark", "is paused").await;
    assert_eq!(labels(&post), ["Resume", "Abort", "Transcript"]);
    let shown = on.olga.clicks(post.id, &post.button("Abort").custom_id).answer().await;
    assert_eq!(labels(&shown), ["Resume", "Abort · olga (discord)", "Transcript"]);
    let shown = on.olga.clicks(post.id, &post.button("Resume").custom_id).answer().await;
    assert_eq!(labels(&shown), ["Resume · olga (discord)", "Transcript"]);
    on.alice.hears("#spark", "did tidy up").await;
    on.seen("did tidy up").await;
}

async fn crash_and_recovery(on: &mut Conversation, dir: &std::path::Path) {
    on.alice.say("#spark", "shaky work").await;
    on.seen("💬 alice (demo): shaky work").await;
    let crashed = on.seen("❌").await;
    assert!(crashed.content.contains("no luck") && crashed.content.contains("Restarting in"), "{crashed:?}");
    on.alice.hears("#spark", "did shaky work").await;
    on.seen("did shaky work").await;

    // Work that must not be tried again calls for a person, and a button brings it back.
    let said = on.olga.says("#spark", "broken work");
    let post = on.prompt("spark", "asked not to be restarted").await;
    let shown = on.olga.clicks(post.id, &post.button("Resume").custom_id).answer().await;
    assert_eq!(labels(&shown), ["Resume · olga (discord)", "Transcript"]);
    on.sim.reaction(said, "✅").await;
    on.alice.hears("#spark", "did broken work").await;

    // A repeated failure is an alert, and its button lets the agent try once more.
    let said = on.olga.says("#spark", "ruined work");
    let alert = on.prompt("alerts", INTERVENTION).await;
    let post = on.prompt("spark", INTERVENTION).await;
    assert_eq!(labels(&alert), ["Resume", "Abort", "Transcript"]);
    std::fs::write(dir.join("mended"), "").expect("a file can be written");
    let shown = on.olga.clicks(alert.id, &alert.button("Resume").custom_id).answer().await;
    assert_eq!(labels(&shown), ["Resume · olga (discord)", "Transcript"]);
    // It stands in the agent's channel as well, and is answered there too.
    let is_closed = |message: &Message| labels(message).iter().any(|label| label.contains("olga (discord)"));
    on.sim.message(post.id, is_closed).await;
    on.sim.reaction(said, "✅").await;
}

async fn the_same_from_irc(on: &mut Conversation, dir: &std::path::Path) {
    on.alice.say("#spark", "pause").await;
    on.seen("💬 alice (demo): pause").await;
    let post = on.prompt("spark", "is paused").await;
    let waiting = on.olga.says("#spark", "sweep the floor");
    on.sim.reaction(waiting, "👀").await;
    on.seen("but it is paused (by alice)").await;
    on.alice.say("#spark", "resume").await;
    let is_closed = |message: &Message| labels(message).iter().any(|label| label.contains("alice (demo)"));
    let shown = on.sim.message(post.id, is_closed).await;
    assert_eq!(labels(&shown), ["Resume · alice (demo)", "Transcript"]);
    on.sim.reaction(waiting, "✅").await;
    on.alice.hears("#spark", "did sweep the floor").await;

    // An alert that is answered on IRC is answered wherever it stands on Discord.
    std::fs::remove_file(dir.join("mended")).expect("it was mended");
    let said = on.olga.says("#spark", "ruined again");
    let alert = on.prompt("alerts", INTERVENTION).await;
    let post = on.prompt("spark", INTERVENTION).await;
    std::fs::write(dir.join("mended"), "").expect("a file can be written");
    on.alice.say("#spark", "resume").await;
    for prompt in [alert, post] {
        let shown = on.sim.message(prompt.id, is_closed).await;
        assert_eq!(labels(&shown), ["Resume · alice (demo)", "Transcript"]);
    }
    on.sim.reaction(said, "✅").await;
}

/// Checks that scout's question is asked on both networks, answered on either, and seen on both.
async fn asked_on_both(on: &mut Conversation) {
    for (answer, told) in [("deny", "was told no"), ("approve", "was told yes")] {
        on.alice.say("#herder", "@scout publish it").await;
        let asked = on.alice.hears("#scout", "asks for permission").await;
        let number = stage::number_of(&asked);
        let is_it = |message: &Message| message.content.contains(&format!("permission {number}"));
        let post = on.sim.message_in("scout", is_it).await;
        assert_eq!(labels(&post), ["✅ Approve", "❌ Deny", "🔁 Always"]);
        assert!(post.content.contains("git push origin main"), "{}", post.content);
        if answer == "deny" {
            on.alice.say("#scout", &format!("deny {number}")).await;
            let is_closed = |message: &Message| labels(message).len() == 1;
            let shown = on.sim.message(post.id, is_closed).await;
            assert_eq!(labels(&shown), ["❌ Deny · alice (demo)"]);
        } else {
            let shown = on.olga.clicks(post.id, &post.button("✅ Approve").custom_id).answer().await;
            assert_eq!(labels(&shown), ["✅ Approve · olga (discord)"]);
            on.alice.hears("#scout", "approved by olga (discord)").await;
            on.alice.say("#scout", &format!("deny {number}")).await;
            let late = on.alice.hears("#scout", "Too late").await;
            assert!(late.contains(&format!("olga (discord) approved {number}")), "{late}");
        }
        on.alice.hears_in_any_order("#scout", told).await;
        on.sim.message_in("scout", |message| message.content.contains(told)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_conversation_on_discord_and_irc_at_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut on = open(dir.path()).await;
    spark_is_added(&mut on, dir.path()).await;
    talk_queue_and_pause(&mut on).await;
    crash_and_recovery(&mut on, dir.path()).await;
    the_same_from_irc(&mut on, dir.path()).await;
    asked_on_both(&mut on).await;
    on.until(|view| view.agent.current.is_none() && view.agent.queue.is_empty()).await;
    on.stage.close().await;
}
