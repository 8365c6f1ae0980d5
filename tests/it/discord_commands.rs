//! Slash commands, completion, forms and buttons: a whole herder and a simulated Discord.

mod accounts;
mod answers;
mod forms;
mod going_down;
mod pausing;

use std::time::Duration;

use herder::config::{Config, Discord as Settings, Reach, Subject};
use herder::core::agent::Phase;
use herder::core::id::AgentName;
use herder::run::{Herder, Options};
use herder::supervisor::View;
use serde_json::json;
use tempfile::TempDir;

use crate::simulated_discord::state::Message;
use crate::simulated_discord::{Discord, Effect, Fault, State, User, permission};
use crate::stage::{self, PATIENCE, Stage, config, shell};

/// Returns the words without what makes them bold.
fn plain(message: &Message) -> String {
    message.content.replace("**", "")
}

/// A herder on a simulated Discord, with `spark` and `quick`, who work until they are stopped.
struct Rig {
    sim: Discord,
    dir: TempDir,
    stage: Option<Stage>,
}

/// Creates a user with all permissions there, so that their client offers them every command.
fn manager(sim: &Discord, name: &str) -> User {
    sim.role("manager", permission::MANAGE_GUILD);
    sim.user(name).roles(["manager"])
}

impl Rig {
    async fn open() -> Self {
        Self::on(Discord::start().await).await
    }

    async fn on(sim: Discord) -> Self {
        let mut rig = Self { sim, dir: tempfile::tempdir().expect("a folder"), stage: None };
        rig.start().await;
        rig.listens().await;
        rig
    }

    fn config(&self) -> Config {
        let busy = "read -r work; exec sleep 600";
        let agents = ["spark", "quick"].map(|name| shell(name, self.dir.path(), busy));
        let mut config = config(self.dir.path(), Vec::new(), agents.into());
        config.discord = Some(Settings {
            token: self.sim.token().into(),
            guild: self.sim.guild_id(),
            category: "agents".to_owned(),
            alerts_channel: "alerts".to_owned(),
            work_channel: "work".to_owned(),
            control_channel: "herder".to_owned(),
            bots: Vec::new(),
            call: herder::config::Call::default(),
            reach: Reach::Plain(self.sim.api_url()),
        });
        let user = |name: &str| Subject::DiscordUser(self.sim.user(name).id.to_string());
        config.access.admins = vec![user("alice"), user("anna")];
        config.access.operators = vec![user("olga"), user("otto")];
        config.access.viewers = vec![user("vera")];
        config
    }

    async fn start(&mut self) {
        self.stage = Some(Stage::open(self.config(), Options::default()).await);
    }

    /// Waits until commands are registered and herder hears them: each can come first.
    async fn listens(&self) {
        self.sim.command("status").await;
        self.sim.ready().await;
    }

    /// Pauses an agent from elsewhere and gives the post about it.
    async fn paused_post(&self, by: &User) -> Message {
        by.slash("general", "pause", json!({ "agent": "spark" })).answer().await;
        self.sim.message_in("spark", |message| !message.buttons().is_empty()).await
    }

    async fn stop(&mut self) {
        if let Some(stage) = self.stage.take() {
            stage.close().await;
        }
    }

    fn herder(&self) -> &Herder {
        &self.stage.as_ref().expect("it runs").herder
    }

    async fn until(&self, agent: &str, condition: impl FnMut(&View) -> bool) -> View {
        let agent = AgentName::new(agent).expect("a name");
        let seen = tokio::time::timeout(PATIENCE, self.herder().fleet().wait_for(&agent, condition)).await;
        seen.expect("it gets there").expect("the agent exists")
    }

    async fn until_paused(&self, agent: &str) {
        self.until(agent, |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_given_and_answered() {
    let mut rig = Rig::open().await;
    let olga = manager(&rig.sim, "olga");
    let paused = olga.slash("general", "pause", json!({ "agent": "spark" })).answer().await;
    assert_eq!(plain(&paused), "⏸️ spark is paused. `/resume agent:spark` lets it go on.");
    assert!(!paused.is_ephemeral());
    let status = olga.slash("general", "status", json!({})).answer().await;
    assert!(status.content.contains("2 agents, 0 busy, 1 stopped"), "{}", status.content);
    let again = olga.slash("general", "pause", json!({ "agent": "spark" })).answer().await;
    assert!(again.is_ephemeral(), "a refusal is for whoever asked");
    assert!(again.content.contains("already paused"), "{}", again.content);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_names_the_role_in_the_language_of_whoever_asked() {
    let mut rig = Rig::open().await;
    let vera = manager(&rig.sim, "vera").locale("de");
    let told = vera.slash("general", "pause", json!({ "agent": "spark" })).answer().await;
    assert!(told.is_ephemeral());
    assert_eq!(told.content, "`pause` braucht die Rolle operator.");
    let told = vera.slash("general", "task add", json!({ "agent": "spark" })).answer().await;
    assert_eq!(
        told.content, "`task add` braucht die Rolle operator.",
        "no form for those who may not send it"
    );
    // On a fresh server only those who manage it are offered what changes something; a group with a list is for everybody.
    let mallory = rig.sim.user("mallory");
    assert!(!mallory.is_offered("pause") && mallory.is_offered("agent") && mallory.is_offered("status"));
    assert!(mallory.is_offered("link"));
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_completed() {
    let mut rig = Rig::open().await;
    let olga = manager(&rig.sim, "olga");
    let names = |choices: Vec<(String, serde_json::Value)>| -> Vec<String> {
        choices.into_iter().map(|(name, _)| name).collect()
    };
    let choices = olga.autocompletes("general", "pause", "agent", "qu", json!({})).choices().await;
    assert_eq!(names(choices), ["quick"]);
    let choices = olga.autocompletes("general", "status", "agent", "", json!({})).choices().await;
    assert_eq!(names(choices), ["all", "quick", "spark"]);
    let mallory = rig.sim.user("mallory");
    let choices = mallory.autocompletes("general", "status", "agent", "", json!({})).choices().await;
    assert_eq!(names(choices), [""; 0], "a stranger is shown nothing");
    // The choices reveal something, such as whispers that can be marked: they are for people who may give the
    // command.
    let vera = manager(&rig.sim, "vera");
    let choices = vera.autocompletes("general", "status", "agent", "", json!({})).choices().await;
    assert_eq!(names(choices), ["all", "quick", "spark"]);
    let choices = vera.autocompletes("general", "whisper", "agent", "", json!({})).choices().await;
    assert_eq!(names(choices), [""; 0], "she may not whisper");
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_texts_are_asked_for_in_a_form() {
    let mut rig = Rig::open().await;
    let olga = manager(&rig.sim, "olga");
    let asked = olga.slash("general", "task add", json!({ "agent": "@Spark" }));
    let modal = asked.modal().await;
    assert_eq!((modal.title.as_str(), modal.fields[0].label.as_str()), ("A task for spark", "What to do"));
    // The form is filled in after a restart, too.
    rig.stop().await;
    rig.start().await;
    rig.sim.ready().await;
    let sent = olga.submits_modal(&asked, &[("text", "fix the build\n\nand say why")]).await;
    let answer = sent.answer().await;
    assert!(plain(&answer).starts_with("👀 spark takes up task"), "{}", answer.content);
    let view = rig.until("spark", |view| view.agent.current.is_some()).await;
    assert_eq!(
        view.agent.current.as_ref().map(|work| work.text.as_str()),
        Some("fix the build\n\nand say why")
    );
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_put_on_the_board_completed_by_its_words_and_assigned() {
    let mut rig = Rig::open().await;
    let olga = manager(&rig.sim, "olga");
    for agent in ["spark", "quick"] {
        olga.slash("general", "pause", json!({ "agent": agent })).answer().await;
    }
    let form = olga.slash("general", "task add", json!({})).modal().await;
    assert_eq!(form.title, "A task for the board");
    let options = json!({ "text": "fix the build", "priority": "high", "needs": "workspace-write" });
    let told = plain(&olga.slash("general", "task add", options).answer().await);
    assert!(told.contains("is on the board. The next idle agent that suffices takes it."), "{told}");
    let choices = olga.autocompletes("general", "task assign", "task", "fix", json!({})).choices().await;
    let [(shown, _)] = &choices[..] else { panic!("one task, not {choices:?}") };
    let number = shown.trim_start_matches('#').split(' ').next().expect("its number");
    assert_eq!(*shown, format!("#{number} board: fix the build"));
    let options = json!({ "task": number, "agent": "quick" });
    let told = plain(&olga.slash("general", "task assign", options).answer().await);
    assert_eq!(told, format!("👀 Task {number} goes to quick."));
    let view = rig.until("quick", |view| !view.agent.queue.is_empty()).await;
    assert_eq!(view.agent.queue[0].text, "fix the build");
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_added_by_a_form_and_removed_with_a_button() {
    let mut rig = Rig::open().await;
    let alice = manager(&rig.sim, "alice");
    let asked = alice.slash("general", "agent add", json!({ "name": "owl", "runtime": "command" }));
    let folder = rig.dir.path().display().to_string();
    let fields = [("workspace", folder.as_str()), ("command", "sh -c 'sleep 600'"), ("settings", "rest=5s")];
    let added = alice.submits_modal(&asked, &fields).await.answer().await;
    assert!(plain(&added).contains("owl is here, running command"), "{}", added.content);
    let view = rig.until("owl", |view| view.agent.spec.is_some()).await;
    assert_eq!(view.agent.spec.as_ref().map(|spec| spec.rest.as_secs()), Some(5));

    let asked = alice.slash("general", "agent remove", json!({ "agent": "owl" }));
    let question = asked.answer().await;
    let olga = manager(&rig.sim, "olga");
    let told = olga.clicks(question.id, &question.button("Remove").custom_id).answer().await;
    assert!(told.is_ephemeral() && told.content.contains("needs the role admin"), "{}", told.content);
    let shown = alice.clicks(question.id, &question.button("Remove").custom_id).answer().await;
    assert_eq!(shown.buttons()[0].label, "Remove · alice (discord)");
    let owl = AgentName::new("owl").expect("a name");
    // Gone, or about to be.
    rig.herder().fleet().wait_for(&owl, |view| view.agent.phase == Phase::Removed).await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_is_confirmed_after_a_restart_whoever_else_pressed_and_not_after_it_was_declined() {
    let mut rig = Rig::open().await;
    let (alice, anna) = (manager(&rig.sim, "alice"), manager(&rig.sim, "anna"));
    let ask = async || alice.slash("general", "agent remove", json!({ "agent": "quick" })).answer().await;
    // A question that another took the place of is over, and its buttons say so.
    let (first, second) = (ask().await, ask().await);
    let stale = alice.clicks(first.id, &first.button("Remove").custom_id).answer().await;
    assert_eq!(labels(&stale), ["settled"]);
    assert!(stale.buttons()[0].disabled);
    // A removal that was declined cannot be confirmed any more.
    let remove = second.button("Remove").custom_id;
    let shown = alice.clicks(second.id, &second.button("Keep").custom_id).answer().await;
    assert_eq!(labels(&shown), ["kept · alice"]);
    let code = remove.rsplit(':').next().expect("a code");
    let said = json!({ "agent": "quick", "code": code });
    let told = alice.slash("general", "agent remove", said).answer().await;
    assert!(told.content.contains("does not fit"), "{}", told.content);

    let question = ask().await;
    rig.stop().await;
    let sessions = rig.sim.gateway().identifies();
    rig.start().await;
    rig.sim.gateway().identified(sessions + 1).await;
    let remove = question.button("Remove").custom_id;
    let told = anna.clicks(question.id, &remove).answer().await;
    assert!(told.is_ephemeral(), "another admin did not ask for it: {}", told.content);
    let shown = alice.clicks(question.id, &remove).answer().await;
    assert_eq!(labels(&shown), ["Remove · alice (discord)"]);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_changes_what_was_changed_in_it_and_nothing_else() {
    let mut rig = Rig::open().await;
    let alice = manager(&rig.sim, "alice");
    let edit = |settings: &str| {
        alice.slash("general", "agent edit", json!({ "agent": "quick", "settings": settings }))
    };
    edit("model=opus instructions='be kind'").answer().await;
    let asked = alice.slash("general", "agent edit", json!({ "agent": "quick" }));
    let unchanged = alice.submits_modal(&asked, &[]).await.answer().await;
    assert_eq!(unchanged.content, "Nothing was changed.");
    // Another person changes the model while the form is open; in the form the instructions are emptied.
    edit("model=sonnet").answer().await;
    let sent = alice.submits_modal(&asked, &[("instructions", "")]).await.answer().await;
    assert!(plain(&sent).contains("changed"), "{}", sent.content);
    let view =
        rig.until("quick", |view| view.agent.spec.as_ref().is_some_and(|spec| spec.instructions.is_empty()));
    let spec = view.await.agent.spec.clone().expect("it is one");
    assert_eq!((spec.model.as_str(), spec.command.len()), ("sonnet", 3));
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_lost_is_not_given_twice_and_a_repeated_interaction_is_done_once() {
    let mut rig = Rig::open().await;
    let olga = manager(&rig.sim, "olga");
    rig.sim.gateway().duplicates("INTERACTION_CREATE", 1);
    rig.sim.inject(
        Fault::dropped(Effect::After).on("POST /interactions/{interaction_id}/{interaction_token}/callback"),
    );
    let paused = olga.slash("general", "pause", json!({ "agent": "spark" }));
    assert!(paused.answer().await.content.contains("is paused"));
    let status = olga.slash("general", "status", json!({})).answer().await;
    assert!(status.content.contains("1 stopped"), "{}", status.content);
    rig.until_paused("spark").await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_for_one_person_and_can_be_answered_no_more_is_told_in_private() {
    let mut rig = Rig::open().await;
    let olga = manager(&rig.sim, "olga");
    rig.sim.expects_violation("was never acknowledged");
    rig.sim.inject(
        Fault::refused(404, 10062, "Unknown interaction")
            .on("POST /interactions/{interaction_id}/{interaction_token}/callback"),
    );
    olga.slash("general", "whisper", json!({ "agent": "spark", "text": "mind the budget" }));
    let told = |state: &State| {
        let to_olga = |id| state.channels.get(&id).is_some_and(|channel| channel.recipient == Some(olga.id));
        state.messages.values().any(|post| post.author == state.bot.id && to_olga(post.channel))
    };
    rig.sim.until("an answer in private", told).await;
    for channel in ["general", "spark", "herder"] {
        assert!(rig.sim.posts(channel).iter().all(|post| !post.contains("whisper")), "{channel}");
    }
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_registered_once_and_as_often_as_it_takes() {
    let sim = Discord::start().await;
    let route = "PUT /applications/{application_id}/guilds/{guild_id}/commands";
    sim.inject(Fault::status(500, Effect::Before).on(route).times(2));
    let mut rig = Rig::on(sim).await;
    let sent = rig.sim.requests(route).len();
    rig.stop().await;
    rig.start().await;
    rig.sim.ready().await;
    let olga = manager(&rig.sim, "olga");
    assert!(olga.slash("general", "status", json!({})).answer().await.content.contains("2 agents"));
    let looks = "GET /applications/{application_id}/guilds/{guild_id}/commands";
    rig.sim
        .until("a look at them", |state| state.requests.iter().filter(|it| it.route == looks).count() > 1)
        .await;
    assert_eq!(rig.sim.requests(route).len(), sent, "what has not changed is not registered again");
    rig.stop().await;
}

/// Returns the labels of the buttons.
fn labels(message: &Message) -> Vec<String> {
    message.buttons().into_iter().map(|button| button.label).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_who_press_after_a_restart_one_is_first_and_the_other_is_told() {
    let mut rig = Rig::open().await;
    let (olga, otto) = (manager(&rig.sim, "olga"), manager(&rig.sim, "otto"));
    let post = rig.paused_post(&olga).await;
    assert_eq!(labels(&post), ["Resume", "Abort", "Transcript"]);
    rig.stop().await;
    let sessions = rig.sim.gateway().identifies();
    rig.start().await;
    rig.sim.gateway().identified(sessions + 1).await;

    let resume = post.button("Resume").custom_id;
    let vera = rig.sim.user("vera").locale("de");
    let told = vera.clicks(post.id, &resume).answer().await;
    assert!(told.is_ephemeral());
    assert_eq!(plain(&told), "`resume` braucht die Rolle operator.");
    let log = vera.clicks(post.id, &post.button("Transcript").custom_id).answer().await;
    assert!(log.is_ephemeral() && plain(&log).contains("noch nichts gesagt"), "{}", log.content);

    let clicks = [olga.clicks(post.id, &resume), otto.clicks(post.id, &resume)];
    let kinds = [clicks[0].acknowledged().await.kind, clicks[1].acknowledged().await.kind];
    let (first, late, name) =
        if kinds[0] == 7 { (&clicks[0], &clicks[1], "olga") } else { (&clicks[1], &clicks[0], "otto") };
    assert_eq!(
        labels(&first.answer().await),
        [format!("Resume · {name} (discord)"), "Transcript".to_owned()]
    );
    let told = late.answer().await;
    assert!(told.is_ephemeral());
    assert_eq!(plain(&told), format!("Too late: {name} (discord) has answered this: Resume."));
    rig.until("spark", |view| view.agent.phase == Phase::Idle).await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_answered_without_the_button_is_shown_by_it() {
    let mut rig = Rig::open().await;
    let (olga, otto) = (manager(&rig.sim, "olga"), manager(&rig.sim, "otto"));
    let post = rig.paused_post(&olga).await;
    otto.slash("general", "resume", json!({ "agent": "spark" })).answer().await;
    let shown =
        rig.sim.message(post.id, |message| message.buttons().iter().any(|button| button.disabled)).await;
    assert_eq!(labels(&shown), ["Resume · otto (discord)", "Transcript"]);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_answered_while_discord_is_away_is_shown_when_it_is_back() {
    let mut rig = Rig::open().await;
    let (olga, otto) = (manager(&rig.sim, "olga"), manager(&rig.sim, "otto"));
    let post = rig.paused_post(&olga).await;
    let edit = "PATCH /channels/{channel_id}/messages/{message_id}";
    let away = rig.sim.inject(Fault::status(403, Effect::Before).on(edit));
    otto.slash("general", "resume", json!({ "agent": "spark" })).answer().await;
    away.spent().await;
    let shown =
        rig.sim.message(post.id, |message| message.buttons().iter().any(|button| button.disabled)).await;
    assert_eq!(labels(&shown), ["Resume · otto (discord)", "Transcript"]);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_answered_on_irc_is_shown_by_the_button() {
    let server = stage::server().await;
    let mut rig =
        Rig { sim: Discord::start().await, dir: tempfile::tempdir().expect("a folder"), stage: None };
    let mut config = rig.config();
    config.irc = vec![stage::embedded_network(&server)];
    config.access.admins.push(Subject::IrcAccount { network: "demo".into(), account: "alice".to_owned() });
    rig.stage = Some(Stage::open(config, stage::inside(&server)).await);
    rig.listens().await;
    let mut alice =
        stage::Person::join(server.address(), "alice", Some(stage::ALICE), &["#spark", "#herder"]).await;
    alice.reaches("herder", "#spark").await;

    let olga = manager(&rig.sim, "olga");
    let post = rig.paused_post(&olga).await;
    alice.say("#spark", "resume").await;
    let shown =
        rig.sim.message(post.id, |message| message.buttons().iter().any(|button| button.disabled)).await;
    assert_eq!(labels(&shown), ["Resume · alice (demo)", "Transcript"]);

    // One person on both: the code that Discord gives is said on IRC.
    let code = rig.sim.user("mallory").slash("general", "link", json!({})).answer().await;
    assert!(code.is_ephemeral());
    let said = code.content.split('`').find(|part| part.starts_with("!link ")).expect("a code").to_owned();
    alice.say("#herder", &said).await;
    alice.hears("#herder", "are one person").await;
    let mallory = manager(&rig.sim, "mallory");
    let paused = mallory.slash("general", "pause", json!({ "agent": "spark" })).answer().await;
    assert!(!paused.is_ephemeral(), "{}", paused.content);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_comes_late_is_for_whoever_asked_alone() {
    // The command is so old when it comes that it is acknowledged before anything is done.
    let sim = Discord::builder().clock_behind(Duration::from_millis(2300)).start().await;
    let mut rig = Rig::on(sim).await;
    let (olga, vera) = (manager(&rig.sim, "olga"), manager(&rig.sim, "vera"));
    let paused = olga.slash("general", "pause", json!({ "agent": "spark" }));
    assert_eq!(paused.acknowledged().await.kind, 5);
    assert!(!paused.answer().await.is_ephemeral());
    // Refused because of the agent's state, which is known only after a try.
    let again = olga.slash("general", "pause", json!({ "agent": "spark" }));
    let told = again.followups(1).await;
    assert!(told[0].is_ephemeral() && told[0].content.contains("already paused"), "{told:?}");
    let announced = again.now().original.expect("it was announced");
    rig.sim.message(announced, |message| message.deleted).await;
    // Refused for who asks: that is known at once.
    let refused = vera.slash("general", "pause", json!({ "agent": "quick" }));
    assert!(refused.acknowledged().await.ephemeral);
    assert!(refused.answer().await.content.contains("operator"));
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_follows_an_answer_comes_although_discord_fails() {
    const FOLLOW_UP: &str = "POST /webhooks/{webhook_id}/{webhook_token}";
    let sim = Discord::builder().clock_behind(Duration::from_millis(2300)).start().await;
    let mut rig = Rig::on(sim).await;
    let olga = manager(&rig.sim, "olga");
    olga.slash("general", "pause", json!({ "agent": "spark" })).answer().await;
    // A refusal that follows an announcement, when that is gone.
    let failures = rig.sim.inject(Fault::status(503, Effect::Before).on(FOLLOW_UP));
    let told = olga.slash("general", "pause", json!({ "agent": "spark" })).followups(1).await;
    assert!(told[0].is_ephemeral() && told[0].content.contains("already paused"), "{told:?}");
    assert_eq!(failures.struck(), 1);

    // The rest of an answer for all that is longer than a message.
    let name = |number: usize| format!("entry-{number:02}");
    for number in 0..12 {
        let text = format!("{} {}", name(number), "and so on ".repeat(25));
        olga.slash("general", "task add", json!({ "agent": "spark", "text": text })).answer().await;
    }
    // Discord has it, and its acknowledgement alone is lost: it is not said again.
    let lost = rig.sim.inject(Fault::dropped(Effect::After).on(FOLLOW_UP));
    olga.slash("general", "audit", json!({})).followups(1).await;
    lost.spent().await;
    rig.sim.inject(Fault::status(503, Effect::Before).on(FOLLOW_UP).always());
    let first = olga.slash("general", "audit", json!({})).answer().await;
    let left: Vec<String> = (4..12).map(name).filter(|name| !first.content.contains(name.as_str())).collect();
    assert!(!left.is_empty(), "all of it is in one message: {}", first.content);
    let owed = |message: &Message| message.nonce.is_some() && message.content.contains(&left[0]);
    let rest = rig.sim.message_in("general", owed).await;
    assert!(!rest.is_ephemeral() && rest.id != first.id);
    assert!(left.iter().all(|name| rest.content.contains(name.as_str())), "{}", rest.content);
    assert!((4..12).map(name).all(|name| left.contains(&name) == rest.content.contains(name.as_str())));
    let owed = |message: &&Message| message.nonce.is_some() && message.content.contains("entry-");
    assert_eq!(rig.sim.look(|state| state.posts("general").filter(owed).count()), 1, "all else was answered");

    // A refusal that can follow nothing is told in private.
    let refused = olga.slash("general", "pause", json!({ "agent": "spark" }));
    assert_eq!(refused.acknowledged().await.kind, 5);
    let in_private = |state: &State, message: &Message| {
        state.channels.get(&message.channel).is_some_and(|channel| channel.recipient == Some(olga.id))
    };
    let told = |state: &State| {
        let mut told = state.messages.values().filter(|message| in_private(state, message));
        told.any(|message| message.content.contains("already paused"))
    };
    rig.sim.until("a refusal in private", told).await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_agents_are_completed_in_time_and_the_best_first() {
    const AGENTS: usize = 1_000;
    /// Discord waits for three seconds; a machine that does much else at once is given the most of them.
    const IN_TIME: Duration = Duration::from_secs(2);
    // It may make no channels: a thousand of them are not what is looked at.
    let sim =
        Discord::builder().bot_permissions(permission::BOT & !permission::MANAGE_CHANNELS).start().await;
    let mut rig = Rig { sim, dir: tempfile::tempdir().expect("a folder"), stage: None };
    let mut config = rig.config();
    let mut spec = config.agents.remove(0);
    config.agents = (0..AGENTS)
        .map(|number| {
            spec.name = AgentName::new(&format!("worker-{number:04}")).expect("a good name");
            spec.clone()
        })
        .collect();
    rig.stage = Some(Stage::open(config, Options::default()).await);
    rig.listens().await;
    let olga = manager(&rig.sim, "olga");
    let typed = |text: &str| olga.autocompletes("general", "pause", "agent", text, json!({}));
    for (text, count, first) in [
        ("", 25, "worker-0000"),
        ("worker-07", 25, "worker-0700"),
        ("worker-0742", 1, "worker-0742"),
        ("742", 1, "worker-0742"),
        ("wrk99", 19, "worker-0099"),
        ("wroker-0742", 1, "worker-0742"),
        ("nothing-like-it", 0, ""),
    ] {
        let asked = typed(text);
        let names: Vec<String> = asked.choices().await.into_iter().map(|(name, _)| name).collect();
        assert!(asked.latency().await < IN_TIME, "{text}");
        assert_eq!(names.first().map_or("", String::as_str), first, "{text}: {names:?}");
        assert!(
            names.len() == count || (text.starts_with("wr") && (1..=25).contains(&names.len())),
            "{text}: {names:?}"
        );
    }
    // All at once, as people type.
    let asked: Vec<_> = "worker-0742".char_indices().map(|(end, _)| typed(&"worker-0742"[..=end])).collect();
    for asked in asked {
        assert!(asked.latency().await < IN_TIME && asked.choices().await.len() <= 25);
    }
    rig.stop().await;
}
