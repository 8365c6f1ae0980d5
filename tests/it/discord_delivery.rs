//! Posts on Discord: exactly once and in order under every fault, without a notification for anyone, alerts ahead of
//! a flood.

use std::time::Duration;

use herder::config::{Call, Discord as Settings, History, Reach};
use herder::core::id::{AgentName, NetworkName, PostId};
use herder::core::notice::Notice;
use herder::core::post::{Body, Lane, Post, Target};
use herder::core::time::Timestamp;
use herder::core::work::{Actor, WorkKind};
use herder::journal::{self, AuditEntry, Batch, Journal, Memo};
use herder::run::Options;
use herder::supervisor::Asked;
use serde_json::json;
use tempfile::TempDir;

use crate::simulated_discord::state::Message;
use crate::simulated_discord::{Discord, Effect, Fault, Gate, State, permission};
use crate::stage::{PATIENCE, Stage, config, shell};

const POST: &str = "POST /channels/{channel_id}/messages";

/// A herder on a simulated Discord, with channels that it knows from before.
struct Rig {
    sim: Discord,
    dir: TempDir,
    agents: Vec<String>,
    call: Call,
    stage: Option<Stage>,
}

fn name(agent: &str) -> AgentName {
    AgentName::new(agent).expect("a good name")
}

fn words(agent: &str, text: &str) -> Post {
    post(
        Target::Agent(name(agent)),
        Lane::Normal,
        Body::Agent { agent: name(agent), text: text.to_owned(), is_result: false },
    )
}

fn post(to: Target, lane: Lane, body: Body) -> Post {
    Post {
        id: PostId(0),
        network: NetworkName::from("discord"),
        to,
        lane,
        at: Timestamp::from_millis(0),
        body,
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    }
}

impl Rig {
    async fn open(sim: Discord, agents: &[&str]) -> Self {
        let agents: Vec<String> = agents.iter().map(|agent| (*agent).to_owned()).collect();
        let dir = tempfile::tempdir().expect("a folder");
        let settings = journal::Settings::new(dir.path().join("data"), History::default());
        let journal = tokio::task::spawn_blocking(move || Journal::open(&settings)).await;
        let (journal, _) = journal.expect("it does not panic").expect("a new journal opens");
        let mut memos = Vec::new();
        for channel in ["alerts", "work", "herder"].into_iter().chain(agents.iter().map(String::as_str)) {
            let id = sim.makes_channel(channel);
            let (key, purpose) = match channel {
                "herder" => ("control".to_owned(), json!("control")),
                "alerts" | "work" => (channel.to_owned(), json!(channel)),
                agent => (format!("agent/{agent}"), json!({ "agent": agent })),
            };
            let value = json!({ "purpose": purpose, "id": id }).to_string();
            memos.push(Memo { key: format!("discord/channel/{key}"), value: Some(value) });
        }
        journal.remember(memos).await.expect("a memo is kept");
        journal.close().await;
        drop(journal);
        let mut rig = Self { sim, dir, agents, call: Call::default(), stage: None };
        rig.start("read -r work; echo \"$work\"").await;
        rig.sim.ready().await;
        // herder's first message is not part of the test.
        rig.sim.message_in("herder", |message| message.content.contains("Nobody can command")).await;
        rig.owe(vec![post(
            Target::Work,
            Lane::Normal,
            Body::Agent { agent: name("spark"), text: "barrier".to_owned(), is_result: false },
        )])
        .await;
        rig.sim.message_in("work", |message| message.content == "barrier").await;
        rig
    }

    /// Starts herder; its agents run `script`.
    async fn start(&mut self, script: &str) {
        let agents = self.agents.iter().map(|agent| shell(agent, self.dir.path(), script)).collect();
        let mut config = config(self.dir.path(), Vec::new(), agents);
        config.discord = Some(Settings {
            token: self.sim.token().into(),
            guild: self.sim.guild_id(),
            category: "agents".to_owned(),
            alerts_channel: "alerts".to_owned(),
            work_channel: "work".to_owned(),
            control_channel: "herder".to_owned(),
            bots: Vec::new(),
            call: self.call.clone(),
            reach: Reach::Plain(self.sim.api_url()),
        });
        self.stage = Some(Stage::open(config, Options::default()).await);
    }

    async fn stop(&mut self) {
        if let Some(stage) = self.stage.take() {
            stage.close().await;
        }
    }

    fn stage(&self) -> &Stage {
        self.stage.as_ref().expect("it runs")
    }

    /// Adds these posts to the outbox.
    async fn owe(&self, posts: Vec<Post>) {
        let batch = Batch { at: Timestamp::from_millis(1), posts, ..Batch::default() };
        self.stage().herder.fleet().journal().commit(batch).await.expect("posts are kept");
    }

    /// Waits until no post for Discord is pending: each was said or given up.
    async fn owes_nothing(&self) {
        let owes = || self.stage().herder.fleet().journal().networks_owed().expect("the journal is read");
        let waited = async {
            while !owes().is_empty() {
                // A post that is given up leaves no other trace, and the journal does not announce it.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waited).await.expect("it is said or given up");
    }

    /// Returns the posts of this test in a channel.
    fn said(&self, channel: &str) -> Vec<String> {
        self.sim.posts(channel).into_iter().filter(|text| text.starts_with("post ")).collect()
    }

    /// Waits until `count` posts of this test are in a channel.
    async fn until_said(&self, channel: &str, count: usize) {
        let of_test = |message: &&Message| message.content.starts_with("post ");
        self.sim
            .until(&format!("{count} posts in {channel}"), |state| {
                state.posts(channel).filter(of_test).count() >= count
            })
            .await;
    }
}

fn numbered(agent: &str, count: usize) -> (Vec<Post>, Vec<String>) {
    let texts: Vec<String> = (1..=count).map(|number| format!("post {number} of {agent}")).collect();
    (texts.iter().map(|text| words(agent, text)).collect(), texts)
}

#[tokio::test]
async fn whatever_goes_wrong_every_post_is_seen_once_and_in_order() {
    let rig = Rig::open(Discord::start().await, &["spark", "flint"]).await;
    let faults = [
        Fault::dropped(Effect::After),
        Fault::status(500, Effect::After),
        Fault::rate_limited(0.2),
        Fault::dropped(Effect::Before),
        Fault::status(502, Effect::Before),
        Fault::globally_rate_limited(0.2),
        Fault::dropped(Effect::After).times(3),
        Fault::status(503, Effect::After).times(2),
        Fault::slow(Duration::from_millis(300)),
    ];
    let armed: Vec<_> = faults.into_iter().map(|fault| rig.sim.inject(fault.on(POST).skip(1))).collect();
    let ((sparks, of_spark), (flints, of_flint)) = (numbered("spark", 15), numbered("flint", 15));
    rig.owe(sparks.into_iter().zip(flints).flat_map(|(one, other)| [one, other]).collect()).await;
    for fault in &armed {
        fault.spent().await;
    }
    rig.until_said("spark", 15).await;
    rig.until_said("flint", 15).await;
    // Nothing comes twice later: what is said last is seen last.
    rig.owe(vec![words("spark", "post 16 of spark")]).await;
    rig.until_said("spark", 16).await;
    assert_eq!(rig.said("spark")[..15], of_spark);
    assert_eq!(rig.said("flint"), of_flint);
}

#[tokio::test]
async fn a_post_whose_answer_was_lost_is_not_repeated_by_the_next_herder() {
    let mut rig = Rig::open(Discord::start().await, &["spark"]).await;
    let lost = rig.sim.inject(Fault::dropped(Effect::After).on(POST).always());
    let (posts, texts) = numbered("spark", 3);
    rig.owe(posts).await;
    rig.until_said("spark", 1).await;
    rig.stop().await;
    lost.lift();
    rig.start("cat").await;
    rig.until_said("spark", 3).await;
    assert_eq!(rig.said("spark"), texts);
}

#[tokio::test]
async fn a_post_whose_answer_was_lost_is_not_repeated_long_after_that_either() {
    let mut rig = Rig::open(Discord::start().await, &["spark"]).await;
    let lost = rig.sim.inject(Fault::dropped(Effect::After).on(POST).always());
    let (posts, texts) = numbered("spark", 3);
    rig.owe(posts).await;
    rig.until_said("spark", 1).await;
    rig.stop().await;
    rig.sim.forgets_nonces();
    lost.lift();
    rig.start("cat").await;
    rig.until_said("spark", 3).await;
    assert_eq!(rig.said("spark"), texts);
}

/// An answer overtakes what an agent says, and says nothing of whether that is there.
#[tokio::test]
async fn a_post_in_doubt_is_not_repeated_because_an_urgent_one_goes_first() {
    let mut rig = Rig::open(Discord::start().await, &["spark"]).await;
    let lost = rig.sim.inject(Fault::dropped(Effect::After).on(POST).always());
    rig.owe(vec![words("spark", "post 1")]).await;
    rig.until_said("spark", 1).await;
    rig.owe(vec![Post { lane: Lane::Urgent, ..words("spark", "post 2") }]).await;
    rig.stop().await;
    rig.sim.forgets_nonces();
    lost.lift();
    rig.start("cat").await;
    rig.until_said("spark", 2).await;
    rig.owe(vec![words("spark", "post 3")]).await;
    rig.until_said("spark", 3).await;
    assert_eq!(rig.said("spark"), ["post 1", "post 2", "post 3"]);
}

#[tokio::test]
async fn a_post_in_doubt_is_not_repeated_because_others_of_its_channel_are_owed_by_name() {
    let mut rig = Rig::open(Discord::start().await, &["spark"]).await;
    let spark = Target::Channel(rig.sim.channel("spark").await.id.to_string());
    let by_id = |text: &str| Post { to: spark.clone(), ..words("spark", text) };
    // The first goes as two messages, with the second in between.
    let lost = rig.sim.inject(Fault::dropped(Effect::After).on(POST).skip(1).always());
    rig.owe(vec![words("spark", &format!("post 1\n{}", "x\n".repeat(1500))), by_id("post 2")]).await;
    rig.until_said("spark", 2).await;
    rig.stop().await;
    rig.sim.forgets_nonces();
    lost.lift();
    rig.start("cat").await;
    rig.owe(vec![by_id("post 3")]).await;
    rig.until_said("spark", 3).await;
    assert_eq!(rig.said("spark")[1..], ["post 2", "post 3"]);
}

#[tokio::test]
async fn a_page_in_place_of_the_messages_does_not_say_that_a_post_is_missing() {
    const MESSAGES: &str = "GET /channels/{channel_id}/messages";
    let mut rig = Rig::open(Discord::start().await, &["spark"]).await;
    let lost = rig.sim.inject(Fault::dropped(Effect::After).on(POST).always());
    let (posts, texts) = numbered("spark", 2);
    rig.owe(posts).await;
    rig.until_said("spark", 1).await;
    rig.stop().await;
    rig.sim.forgets_nonces();
    lost.lift();
    let pages = rig.sim.inject(Fault::status(200, Effect::Before).on(MESSAGES).always());
    let spark = rig.sim.channel("spark").await.id.to_string();
    let before = rig.sim.requests(MESSAGES).len();
    rig.start("cat").await;
    // The search for missed messages has read a page as well, and its next try comes later than that.
    let looked = |state: &State| {
        let all = state.requests.iter().filter(|request| request.route == MESSAGES).skip(before);
        all.filter(|request| request.path.contains(&spark)).count() >= 2
    };
    rig.sim.until("herder to look for its post", looked).await;
    pages.lift();
    rig.until_said("spark", 2).await;
    assert_eq!(rig.said("spark"), texts);
}

#[tokio::test]
async fn alerts_are_not_starved_by_a_flood_and_nothing_is_refused_for_its_number() {
    let channels = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"];
    let rig = Rig::open(Discord::builder().real_limits().start().await, &channels).await;
    let flood = channels.iter().flat_map(|channel| numbered(channel, 25).0).collect();
    rig.owe(flood).await;
    rig.until_said("a1", 1).await;
    rig.stage().herder.fleet().alert(Notice::DiskLow { free_bytes: 1 }).await;
    rig.sim.message_in("alerts", |message| message.content.contains("are left on the disk")).await;
    let said: usize = channels.iter().map(|channel| rig.said(channel).len()).sum();
    assert!(said < channels.len() * 25, "the alert came when all was said");
    assert_eq!(rig.sim.look(|state| state.limits.refused), 0, "Discord had to refuse requests");
}

#[tokio::test]
async fn whatever_an_agent_writes_nobody_is_pinged_and_nothing_is_fetched() {
    let rig = Rig::open(Discord::start().await, &["spark"]).await;
    let alice = rig.sim.user("alice");
    let role = rig.sim.role("team", 0);
    let text = format!(
        "post @everyone @here {} <@&{role}> [good](https://evil.example/?secret)\n>>> all\n-# small\n✅ **spark** completed",
        alice.mention(),
    );
    rig.owe(vec![words("spark", &text)]).await;
    let message = rig.sim.message_in("spark", |message| message.content.starts_with("post ")).await;
    assert!(message.pings.is_empty(), "{:?}", message.pings);
    assert_ne!(message.flags & 4, 0, "previews are fetched");
    let expected = format!(
        "post @\u{200b}everyone @\u{200b}here \\{} \\<@&{role}> good (<https://evil.example/?secret>)\n> all\n\\-# small\n\
         > ✅ **spark** completed",
        alice.mention(),
    );
    assert_eq!(message.content, expected);
}

#[tokio::test]
async fn long_words_come_as_a_file() {
    let rig = Rig::open(Discord::start().await, &["spark"]).await;
    let lines: Vec<String> = (1..=2000).map(|line| format!("line {line}")).collect();
    rig.owe(vec![words("spark", &format!("post\n{}", lines.join("\n")))]).await;
    let message = rig.sim.message_in("spark", |message| message.content.starts_with("post")).await;
    let [file] = &message.attachments[..] else { panic!("one file goes along: {:?}", message.attachments) };
    assert_eq!(file.name, "spark.txt");
    assert!(file.text().ends_with("line 1999\nline 2000\n"));
    assert!(message.content.contains("the attached file has all 2001 lines"), "{}", message.content);
}

#[tokio::test]
async fn what_discord_refuses_holds_nothing_up() {
    let rig = Rig::open(Discord::start().await, &["spark"]).await;
    let invalid = || Fault::refused(400, 50035, "Invalid Form Body").on(POST);
    // The first in all its forms, and the sentence about it; the second as it is meant.
    let refused = rig.sim.inject(invalid().times(5));
    let (posts, _) = numbered("spark", 3);
    rig.owe(posts).await;
    rig.until_said("spark", 2).await;
    assert_eq!(rig.said("spark"), ["post 2 of spark", "post 3 of spark"]);
    assert_eq!(refused.struck(), 5);
}

#[tokio::test]
async fn what_discord_takes_in_no_form_is_said_to_be_missing() {
    let rig = Rig::open(Discord::start().await, &["spark"]).await;
    rig.sim.inject(Fault::refused(400, 200_000, "Message was blocked by AutoMod").on(POST).times(3));
    let (posts, _) = numbered("spark", 2);
    rig.owe(posts).await;
    rig.until_said("spark", 1).await;
    let said = rig.sim.posts("spark");
    let [.., missing, next] = &said[..] else { panic!("two posts: {said:?}") };
    assert_eq!(next, "post 2 of spark");
    assert!(missing.starts_with("🚫 Something was to be said here"), "{missing}");
}

#[tokio::test]
async fn what_stands_between_herder_and_discord_makes_nothing_be_given_up() {
    let rig = Rig::open(Discord::start().await, &["spark", "flint"]).await;
    // Pages of a guard or a proxy, and a refusal that says nothing of the message.
    let faults = [
        rig.sim.inject(Fault::status(403, Effect::Before).on(POST)),
        rig.sim.inject(Fault::status(404, Effect::Before).on(POST)),
        rig.sim.inject(Fault::refused(403, 40_004, "Send message temporarily disabled").on(POST)),
        // Taken, and the answer is a page.
        rig.sim.inject(Fault::status(200, Effect::After).on(POST)),
    ];
    let ((sparks, of_spark), (flints, of_flint)) = (numbered("spark", 2), numbered("flint", 2));
    rig.owe(sparks.into_iter().chain(flints).collect()).await;
    for fault in &faults {
        fault.spent().await;
    }
    rig.until_said("spark", 2).await;
    rig.until_said("flint", 2).await;
    assert_eq!((rig.said("spark"), rig.said("flint")), (of_spark, of_flint));
}

#[tokio::test]
async fn who_takes_no_messages_is_left_alone_and_the_others_get_theirs() {
    let rig = Rig::open(Discord::start().await, &["spark"]).await;
    let alice = rig.sim.user("alice").id.to_string();
    let closed = rig.sim.inject(Fault::refused(403, 50007, "Cannot send messages to this user").on(POST));
    let private = |text: &str| {
        post(
            Target::Person(alice.clone()),
            Lane::Urgent,
            Body::Agent { agent: name("spark"), text: text.to_owned(), is_result: false },
        )
    };
    rig.owe(vec![private("post 1"), private("post 2")]).await;
    closed.spent().await;
    rig.owes_nothing().await;
    rig.owe(vec![private("post 3")]).await;
    let is_private = |message: &&Message| message.content.starts_with("post ");
    let said = rig.sim.find("a private message", |state| {
        state.messages.values().find(is_private).map(|message| message.content.clone())
    });
    assert_eq!(said.await, "post 3");
}

#[tokio::test]
async fn a_channel_that_may_not_be_spoken_in_waits_until_it_may() {
    let rig = Rig::open(Discord::start().await, &["spark", "flint"]).await;
    rig.sim.expects_violation("Missing Permissions");
    let role = rig.sim.look(|state| state.bot.role);
    rig.sim.overwrites("spark", role, 0, permission::SEND_MESSAGES);
    rig.owe(vec![words("spark", "post 1 of spark")]).await;
    // The whole message and its bare text.
    let refused = |state: &State| state.requests.iter().filter(|request| request.status == Some(403)).count();
    rig.sim.until("two refusals", |state| refused(state) >= 2).await;
    rig.owe(vec![words("flint", "post 1 of flint"), words("spark", "post 2 of spark")]).await;
    rig.until_said("flint", 1).await;
    assert_eq!(rig.said("spark"), [] as [String; 0]);
    rig.sim.overwrites("spark", role, permission::SEND_MESSAGES, 0);
    rig.until_said("spark", 2).await;
    assert_eq!(rig.said("spark"), ["post 1 of spark", "post 2 of spark"]);
}

#[tokio::test]
async fn what_is_under_way_to_a_channel_that_is_deleted_is_said_in_the_next_one() {
    let rig = Rig::open(Discord::start().await, &["spark", "flint"]).await;
    let alice = rig.sim.user("alice");
    let (gate, before) = (Gate::default(), rig.sim.channel("spark").await.id);
    let held = rig.sim.inject(Fault::unknown_channel().on(POST).until(&gate));
    let (posts, texts) = numbered("spark", 3);
    rig.owe(posts).await;
    held.spent().await;
    alice.deletes_channel("spark");
    // herder knows it before the answer to its message comes, which is that there is no such channel.
    rig.sim
        .until("a new channel", |state| {
            state.channels.values().any(|channel| channel.name == "spark" && channel.id != before)
        })
        .await;
    // Nothing overtakes what is still under way to the old one.
    rig.owe(vec![words("flint", "post 1 of flint")]).await;
    rig.until_said("flint", 1).await;
    assert_eq!(rig.said("spark"), [] as [String; 0]);
    gate.opens();
    rig.until_said("spark", 3).await;
    assert_eq!(rig.said("spark"), texts);
}

#[tokio::test]
async fn a_running_session_has_one_message_that_says_what_it_does_also_after_a_restart() {
    let mut rig = Rig::open(Discord::start().await, &["spark"]).await;
    rig.stop().await;
    // It works until it is told to end, by a file.
    let script = "read -r work; until test -e done; do sleep 0.1; done; echo finished";
    rig.start(script).await;
    let work = "fix <@1> *.rs".to_owned();
    let given = rig.stage().herder.fleet().give(&name("spark"), WorkKind::Message, work, asked()).await;
    given.expect("it takes work");
    let is_live = |message: &Message| message.content.contains("is at work, started <t:");
    let live = rig.sim.message_in("spark", is_live).await;
    assert!(live.content.contains("“fix \\<@1> \\*.rs”"), "{}", live.content);
    assert!(live.pings.is_empty());
    rig.stop().await;
    rig.start(script).await;
    // It continues where it was: the same message is changed, and says at last how it ended.
    rig.sim.message(live.id, |message| message.edited.is_some()).await;
    std::fs::write(rig.dir.path().join("done"), "").expect("a file can be written");
    rig.sim.message(live.id, |message| message.content.contains("✅ **spark** completed")).await;
    let shown = |message: &&Message| {
        ["started", "at work", "worked for", "completed"].iter().any(|says| message.content.contains(says))
    };
    assert_eq!(rig.sim.look(|state| state.posts("spark").filter(shown).count()), 1);
}

#[tokio::test]
async fn an_alert_calls_those_who_are_named_for_it_and_nobody_else() {
    let sim = Discord::start().await;
    let (role, bob) = (sim.role("on call", 0), sim.user("bob"));
    let mut rig = Rig::open(sim, &["spark"]).await;
    let alert = |notice| post(Target::Alerts, Lane::Urgent, Body::Notice(notice));
    let failed = |failures| {
        let (window, trial, detail) = (Duration::from_secs(60), false, "it fell <@1>".into());
        Notice::NeedsIntervention { agent: name("spark"), failures, window, trial, detail }
    };
    rig.owe(vec![alert(failed(7))]).await;
    let quiet = rig.sim.message_in("alerts", |message| message.content.contains("7 ")).await;
    assert!(quiet.pings.is_empty(), "nobody is, by default: {}", quiet.content);
    rig.stop().await;
    rig.call = Call { roles: vec![role.to_string()], users: vec![bob.id.to_string()] };
    rig.start("read -r work").await;
    let up = Notice::NetworkUp { network: NetworkName::from("libera"), down_for: Duration::from_secs(9) };
    rig.owe(vec![alert(failed(8)), alert(up), words("spark", &format!("look, {}", bob.mention()))]).await;
    let loud = rig.sim.message_in("alerts", |message| message.content.contains("8 ")).await;
    assert!(loud.content.ends_with(&format!("\n<@&{role}> {}", bob.mention())), "{}", loud.content);
    assert_eq!((loud.pings.roles, loud.pings.users), (vec![role], vec![bob.id]));
    let over = rig.sim.message_in("alerts", |message| message.content.contains("libera")).await;
    let said = rig.sim.message_in("spark", |message| message.content.contains("look, ")).await;
    assert!(over.pings.is_empty() && said.pings.is_empty());
}

fn asked() -> Asked {
    let by = Actor { network: NetworkName::from("local"), name: "alice".to_owned(), identity: None };
    let audit = AuditEntry {
        by,
        place: "local".to_owned(),
        agent: Some(name("spark")),
        verb: "work".to_owned(),
        text: "work".to_owned(),
    };
    Asked { audit, answer: None, message: None }
}
