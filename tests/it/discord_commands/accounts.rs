//! Buttons below messages about an account.

use herder::core::outcome::Category;
use herder::core::quota::Resume;
use herder::core::spec::Pattern;

use super::*;

/// While the account is closed, a press lets it be tried: also when the agent that met the limit has no work any
/// more.
#[tokio::test(flavor = "multi_thread")]
async fn an_exhausted_account_can_be_let_on_by_its_button_until_it_is() {
    let mut rig =
        Rig { sim: Discord::start().await, dir: tempfile::tempdir().expect("a folder"), stage: None };
    let mut config = rig.config();
    let mut spark = shell("spark", rig.dir.path(), "echo 'usage limit reached' >&2; exit 1");
    spark.patterns = vec![Pattern { matches: "usage limit".to_owned(), category: Category::Quota }];
    spark.account = "openai".into();
    // It works for longer than a post may be there before what it is about.
    let quick = shell("quick", rig.dir.path(), "read -r work; sleep 2");
    config.agents = vec![spark, quick];
    config.policy.quota.resume = Resume::Never;
    rig.stage = Some(Stage::open(config, Options::default()).await);
    rig.listens().await;
    let (olga, otto) = (manager(&rig.sim, "olga"), manager(&rig.sim, "otto"));
    olga.slash("general", "task add", json!({ "agent": "spark", "text": "count the beans" })).answer().await;
    let post = rig.sim.message_in("alerts", |message| !message.buttons().is_empty()).await;
    assert_eq!(labels(&post), ["Resume", "Abort", "Transcript"]);
    olga.slash("general", "abort", json!({ "agent": "spark" })).answer().await;
    olga.slash("general", "task add", json!({ "agent": "quick", "text": "sweep" })).answer().await;
    rig.until("quick", |view| view.agent.totals.successes > 0).await;
    let shown = rig.sim.message(post.id, |_| true).await;
    assert!(shown.buttons().iter().all(|button| !button.disabled), "{:?}", labels(&shown));

    otto.clicks(post.id, &post.button("Resume").custom_id).answer().await;
    let shown = rig.sim.message(post.id, |message| message.buttons().len() == 2).await;
    assert_eq!(labels(&shown), ["Resume · otto (discord)", "Transcript"]);
    rig.stop().await;
}
