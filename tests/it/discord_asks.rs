//! Questions of agents, on Discord alone: ✅ ❌ 🔁, pressed by any person, also after herder was started again.

use herder::config::{Config, Subject};
use herder::core::ask::{AskAnswer, AskEnd, Inquiry, Offer};
use herder::core::id::{AgentName, AskId};
use serde_json::json;
use tempfile::TempDir;

use crate::simulated_discord::state::Message;
use crate::simulated_discord::{Discord, User, permission};
use crate::stage::{self, Door, PATIENCE, Stage};

fn labels(message: &Message) -> Vec<String> {
    message.buttons().into_iter().map(|button| button.label).collect()
}

struct Rig {
    sim: Discord,
    dir: TempDir,
}

impl Rig {
    async fn new() -> Self {
        let sim = Discord::start().await;
        sim.role("manager", permission::MANAGE_GUILD);
        Self { sim, dir: tempfile::tempdir().expect("a folder") }
    }

    fn person(&self, name: &str) -> User {
        self.sim.user(name).roles(["manager"])
    }

    fn config(&self) -> Config {
        let asking = stage::asking("spark", self.dir.path(), "git push origin main");
        let busy = stage::shell("quick", self.dir.path(), "read -r work; exec sleep 600");
        let mut config = stage::config(self.dir.path(), Vec::new(), vec![asking, busy]);
        config.discord = Some(stage::discord(&self.sim, Door::Plain));
        let user = |name: &str| Subject::DiscordUser(self.sim.user(name).id.to_string());
        config.access.operators = vec![user("olga"), user("otto")];
        config.access.viewers = vec![user("vera")];
        config
    }

    /// Returns a herder that listens.
    async fn start(&self) -> Stage {
        self.start_with(self.config()).await
    }

    async fn start_with(&self, config: Config) -> Stage {
        let sessions = self.sim.gateway().identifies();
        let stage = Stage::open(config, herder::run::Options::default()).await;
        self.sim.command("status").await;
        self.sim.gateway().identified(sessions + 1).await;
        stage
    }

    async fn gives(&self, by: &User, agent: &str) {
        by.slash("general", "task add", json!({ "agent": agent, "text": "publish it" })).answer().await;
    }

    /// Waits for the question with buttons that can be pressed.
    async fn asked(&self) -> Message {
        self.sim.message_in("spark", |message| labels(message).iter().any(|label| label == "🔁 Always")).await
    }

    async fn seen(&self, channel: &str, text: &str) -> Message {
        self.sim.message_in(channel, |message| message.content.contains(text)).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_who_presses_answers_and_the_others_are_told() {
    let rig = Rig::new().await;
    let (olga, otto, vera) = (rig.person("olga"), rig.person("otto"), rig.person("vera"));
    let stage = rig.start().await;
    rig.gives(&olga, "spark").await;
    let post = rig.asked().await;
    assert_eq!(labels(&post), ["✅ Approve", "❌ Deny", "🔁 Always"]);
    assert!(post.content.contains("⚙️") && post.content.contains("git push origin main"), "{}", post.content);

    let told = vera.clicks(post.id, &post.button("✅ Approve").custom_id).answer().await;
    assert!(told.is_ephemeral() && told.content.contains("operator"), "{}", told.content);
    let clicks = [
        olga.clicks(post.id, &post.button("✅ Approve").custom_id),
        otto.clicks(post.id, &post.button("✅ Approve").custom_id),
    ];
    let kinds = [clicks[0].acknowledged().await.kind, clicks[1].acknowledged().await.kind];
    let (first, late, name) =
        if kinds[0] == 7 { (&clicks[0], &clicks[1], "olga") } else { (&clicks[1], &clicks[0], "otto") };
    let shown = first.answer().await;
    assert_eq!(labels(&shown), [format!("✅ Approve · {name} (discord)")]);
    assert!(shown.buttons()[0].disabled);
    let told = late.answer().await;
    assert!(told.is_ephemeral(), "{}", told.content);
    assert!(told.content.contains("Too late") && told.content.contains(name), "{}", told.content);
    rig.seen("spark", "was told yes").await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_button_answers_after_a_restart_and_the_same_is_not_asked_twice() {
    let rig = Rig::new().await;
    let olga = rig.person("olga");
    let stage = rig.start().await;
    rig.gives(&olga, "spark").await;
    let post = rig.asked().await;
    stage.close().await;
    let stage = rig.start().await;
    let shown = olga.clicks(post.id, &post.button("🔁 Always").custom_id).answer().await;
    assert_eq!(labels(&shown), ["🔁 Always · olga (discord)"]);
    rig.seen("spark", "was told yes").await;
    // By the rule that it made the next time goes without a question.
    rig.gives(&olga, "spark").await;
    let spark = AgentName::new("spark").expect("a name");
    let twice = stage.herder.fleet().wait_for(&spark, |view| view.agent.finished.len() == 2);
    let view = tokio::time::timeout(PATIENCE, twice).await.expect("in time").expect("spark is there");
    assert_eq!((view.agent.settled.len(), view.agent.rules.len()), (1, 1));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_in_words_is_answered_in_the_channel_and_its_post_shows_by_whom() {
    let rig = Rig::new().await;
    let olga = rig.person("olga");
    let stage = rig.start().await;
    rig.gives(&olga, "quick").await;
    let (quick, fleet) = (AgentName::new("quick").expect("a name"), stage.herder.fleet());
    let runs = fleet.wait_for(&quick, |view| view.agent.session().is_some());
    let view = tokio::time::timeout(PATIENCE, runs).await.expect("in time").expect("quick is there");
    let session = view.agent.session().expect("it runs");
    let question =
        Inquiry::Question { text: "Which branch?".to_owned(), options: Vec::new(), several: false };
    let ask: AskId = fleet.question(&quick, (session, None), question).await.expect("it is asked");
    let post = rig.seen("quick", "Which branch?").await;
    olga.says("#quick", "the green one");
    let settled = fleet.answer_to(&quick, ask, PATIENCE).await.expect("it is answered");
    let AskEnd::Answered { answer, by } = settled.end else { panic!("{settled:?}") };
    assert!(format!("{answer:?}").contains("the green one"));
    assert_eq!(by.name, "olga");
    let shown = rig.sim.message(post.id, |message| !labels(message).is_empty()).await;
    assert_eq!(labels(&shown), ["Answer · olga (discord)"]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_presses_in_time_is_a_no_and_whoever_comes_later_is_told() {
    let rig = Rig::new().await;
    let olga = rig.person("olga");
    let mut config = rig.config();
    config.policy.confirm_timeout = std::time::Duration::from_secs(1);
    let stage = rig.start_with(config).await;
    rig.gives(&olga, "spark").await;
    let post = rig.seen("spark", "asks for permission").await;
    rig.seen("spark", "was told no").await;
    let number = stage::number_of(&post.content);
    let told = olga.slash("general", "approve", json!({ "id": number })).answer().await;
    assert!(
        told.content.contains("Too late") && told.content.contains("the answer was no"),
        "{}",
        told.content
    );
    // The post shows that nothing can be pressed any more.
    let shown =
        rig.sim.message(post.id, |message| message.buttons().iter().all(|button| button.disabled)).await;
    assert!(shown.content.contains("git push origin main"), "{}", shown.content);
    let spark = AgentName::new("spark").expect("a name");
    let view = stage.herder.fleet().view(&spark).expect("spark is there");
    assert!(view.agent.rules.is_empty() && matches!(view.agent.settled[0].end, AskEnd::Expired));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_to_choose_from_are_buttons_or_a_menu_and_words_are_given_in_a_form() {
    let rig = Rig::new().await;
    let olga = rig.person("olga");
    let stage = rig.start().await;
    rig.gives(&olga, "quick").await;
    let (quick, fleet) = (AgentName::new("quick").expect("a name"), stage.herder.fleet());
    let runs = fleet.wait_for(&quick, |view| view.agent.session().is_some());
    let view = tokio::time::timeout(PATIENCE, runs).await.expect("in time").expect("quick is there");
    let session = view.agent.session().expect("it runs");
    let asks = async |text: &str, count: usize, several: bool| {
        let offer = |n| Offer { label: format!("plan {n}"), description: format!("it costs {n}") };
        let options = (1..=count).map(offer).collect();
        let question = Inquiry::Question { text: text.to_owned(), options, several };
        fleet.question(&quick, (session, None), question).await.expect("it is asked")
    };
    let chosen = async |ask: AskId| match fleet.answer_to(&quick, ask, PATIENCE).await.expect("answered").end
    {
        AskEnd::Answered { answer, .. } => answer,
        end => panic!("{end:?}"),
    };
    let labels_of =
        |labels: &[&str]| AskAnswer::Chosen { labels: labels.iter().map(|&l| l.to_owned()).collect() };

    let ask = asks("Which one?", 3, false).await;
    let post = rig.seen("quick", "Which one?").await;
    assert!(post.content.contains("2. plan 2 — it costs 2"), "{}", post.content);
    assert_eq!(labels(&post), ["1. plan 1", "2. plan 2", "3. plan 3", "Other…"]);
    let shown = olga.clicks(post.id, &post.button("plan 2").custom_id).answer().await;
    assert_eq!(chosen(ask).await, labels_of(&["plan 2"]));
    assert_eq!(labels(&shown), ["Answer · olga (discord)"]);

    let ask = asks("Which of them?", 3, true).await;
    let post = rig.seen("quick", "Which of them?").await;
    assert_eq!(labels(&post), ["Other…"]);
    olga.chooses(post.id, &["1", "3"]).answer().await;
    assert_eq!(chosen(ask).await, labels_of(&["plan 1", "plan 3"]));

    let ask = asks("Which of the many?", 12, false).await;
    let post = rig.seen("quick", "Which of the many?").await;
    let form = olga.clicks(post.id, &post.button("Other…").custom_id);
    olga.submits_modal(&form, &[("text", "none of these")]).await.answer().await;
    assert_eq!(chosen(ask).await, AskAnswer::Text { text: "none of these".to_owned() });
    stage.close().await;
}
