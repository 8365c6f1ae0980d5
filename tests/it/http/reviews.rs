//! A task in review on the page and in the API: looked at, accepted and sent back, with JavaScript, without, and by keyboard.

use herder::core::agent::{Agent, Phase};
use herder::core::id::{AgentName, WorkId};
use herder::core::review::{Method, Reviewer};
use herder::core::role::Role;
use serde_json::{Value, json};

use super::browser::{Browser, Kind};
use super::looks::{audited, enter, faults};
use super::schemathesis::schema;
use super::{House, json as ask, text};
use crate::checkouts::agent;
use crate::checkouts::repository::Person;
use crate::checkouts::reviewed::{elsewhere, reviewed};

/// A house whose agent works in a repository, with a check, a review and a merge.
async fn house() -> House {
    house_with_check("test -e alpha").await
}

async fn house_with_check(check: &str) -> House {
    super::looks::house(&["#spark", "#herder", "#work"], |dir| {
        elsewhere(&Person::with_repository(dir.join("app")));
        let mut agents = vec![agent("spark", dir)];
        reviewed(&mut agents, Reviewer::Person, Some(Method::Squash));
        agents[0].repository.as_mut().expect("it has one").check =
            crate::checkouts::checked::check(check, 60);
        agents
    })
    .await
}

impl House {
    /// Gives the agent its first task, and waits until that is in review.
    async fn is_reviewed(&self) {
        let work = json!({ "command": "task add", "agent": "spark", "text": "please commit alpha" });
        assert_eq!(ask(self.command(Role::Operator, &work)).await.0, 200);
        self.until_spark(|agent| agent.checkouts.is_reviewed()).await;
    }

    async fn until_spark(&self, wanted: impl Fn(&Agent) -> bool) {
        let name = AgentName::new("spark").expect("a name");
        let fleet = self.scene.stage.herder.fleet();
        fleet.wait_for(&name, |view| wanted(&view.agent)).await.expect("spark");
    }

    /// The task as the API has it, which is as its document says.
    async fn task(&self) -> Value {
        let (_, document) = ask(self.get("/api/v1/openapi.json")).await;
        let of = &document["paths"]["/api/v1/tasks/{id}"]["get"]["responses"]["200"]["content"];
        let schema = schema(&document, &of["application/json"]["schema"]);
        let (status, task) = ask(self.by(Role::Viewer, "/tasks/1")).await;
        let wrong: Vec<String> = schema.iter_errors(&task).map(|error| error.to_string()).collect();
        assert!(status == 200 && wrong.is_empty(), "{wrong:?} {task}");
        task
    }

    async fn is_merged(&mut self) {
        self.scene.person.hears_in_any_order("#work", "DONE 1").await;
        let task = self.task().await;
        assert_eq!(task["state"], "done", "{task}");
        let evidence = &task["evidence"];
        assert_eq!(evidence["accepted_by"]["name"], "alice", "{task}");
        assert_eq!(evidence["merged"]["branch"], "main", "{task}");
        assert_eq!(evidence["check"]["passed"], true, "{task}");
        let repository = Person::of(self.scene.dir.path().join("app"));
        let head = repository.git(&["rev-parse", "main"]);
        assert_eq!(evidence["merged"]["commit"], head.as_str(), "{task}");
    }
}

async fn opened(kind: Kind) -> (House, Browser) {
    let mut house = house().await;
    let browser = enter(&mut house, kind).await;
    (house, browser)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_in_review_is_accepted_by_a_button_and_chat_sees_it() {
    let (mut house, browser) = opened(Kind::default()).await;
    house.is_reviewed().await;
    browser.until("document.querySelector('#needs .need button.yes')").await;
    browser.until_it_says("one commit, one file, +1 −0").await;
    browser
        .until(
            "document.querySelector('#agent-spark.needs .phase').innerText.includes('has a task in review')",
        )
        .await;
    let task = house.task().await;
    assert_eq!(task["state"], "review", "{task}");
    let evidence = &task["evidence"];
    assert_eq!(evidence["branch"], "herder/1-please-commit-alpha", "{task}");
    assert_eq!(evidence["change"]["commits"], 1, "{task}");
    assert_eq!(evidence["check"]["command"], "test -e alpha", "{task}");
    assert!(evidence["in_review_since"].is_i64() && evidence["merged"].is_null(), "{task}");
    let faults = faults(&browser, &house, &["/", "/board", "/tasks/1", "/agents/spark"]).await;
    assert!(faults.is_empty(), "{faults:#?}");
    browser.go(&format!("{}/board", house.url)).await;
    browser.until("document.querySelector('.column[aria-label=\"In review\"] button.yes')").await;
    browser.go(&house.url).await;
    browser.press("#needs [aria-label=spark] button.yes").await;
    house.is_merged().await;
    browser.until("document.querySelectorAll('#needs .need').length === 0").await;
    house.scene.person.hears_in_any_order("#spark", "alice (demo): accept 1").await;
    assert_eq!(audited(&house).await, [("accept".to_owned(), "alice".to_owned())]);
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_in_review_is_sent_back_with_words_by_keyboard_alone() {
    let (mut house, browser) = opened(Kind::default()).await;
    house.is_reviewed().await;
    browser.until("document.querySelector('#reject-1')").await;
    browser.tab_to("#reject-1").await;
    browser.keys("missing: beta\u{e007}").await;
    house.scene.person.hears_in_any_order("#work", "REJECTED 1").await;
    house.scene.person.hears_in_any_order("#spark", "alice (demo): reject 1").await;
    browser.shows(".said").await;
    assert_eq!(audited(&house).await, [("reject".to_owned(), "alice".to_owned())]);
    // The agent does what is missing, and the task is in review again.
    browser.until_it_says("2 commits, 2 files, +2 −0").await;
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_in_review_is_accepted_by_keyboard_alone() {
    let (mut house, browser) = opened(Kind::default()).await;
    house.is_reviewed().await;
    browser.until("document.querySelector('#needs [aria-label=spark] button.yes')").await;
    browser.tab_to("#needs [aria-label=spark] button.yes").await;
    browser.keys("\u{e007}").await;
    house.is_merged().await;
    house.scene.person.hears_in_any_order("#spark", "alice (demo): accept 1").await;
    assert_eq!(audited(&house).await, [("accept".to_owned(), "alice".to_owned())]);
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_in_review_is_accepted_without_scripts() {
    let (mut house, browser) = opened(Kind { no_scripts: true, ..Kind::default() }).await;
    house.is_reviewed().await;
    browser.go(&format!("{}/tasks/1", house.url)).await;
    for said in ["branch herder/1-please-commit-alpha", "one commit", "Checked: `test -e alpha`", "In review"]
    {
        browser.says(said).await;
    }
    browser.press("button[value='accept|1']").await;
    browser.shows(".said").await;
    house.is_merged().await;
    browser.go(&format!("{}/tasks/1", house.url)).await;
    for said in ["Accepted by alice", "Merged: main is at"] {
        browser.says(said).await;
    }
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_whose_check_runs_has_a_column_and_is_counted() {
    let mut house = house_with_check("until test -e $NOTES.go; do sleep 0.02; done").await;
    let browser = house.log_in().await;
    let work = json!({ "command": "task add", "agent": "spark", "text": "please commit alpha" });
    assert_eq!(ask(house.command(Role::Operator, &work)).await.0, 200);
    let goes_on = house.scene.dir.path().join("spark.go");
    let rests = |agent: &Agent| agent.phase == Phase::Idle && agent.current.is_none();
    house.until_spark(|agent| rests(agent) && agent.checkouts.is_being_checked(WorkId(1))).await;
    for (state, column, other) in [("checking", "Checking", "In review"), ("review", "In review", "Checking")]
    {
        let (_, board) = house.see(&browser, "/board").await;
        let has_card = |column: &str| {
            let rest = board.split(&format!("aria-label=\"{column}\"")).nth(1).expect("a column");
            rest.split("</section>").next().expect("its end").contains("please commit alpha")
        };
        assert!(has_card(column) && !has_card(other), "{board}");
        assert_eq!(house.task().await["state"], state);
        let (_, metrics) = text(house.get("/metrics")).await;
        for one in ["queued", "waiting", "at-work", "checking", "review", "merging"] {
            let line = format!("herder_board_tasks{{state=\"{one}\"}} {}", u8::from(one == state));
            assert!(metrics.contains(&line), "{line}: {metrics}");
        }
        std::fs::write(&goes_on, "").expect("a file");
        house.until_spark(|agent| agent.checkouts.is_reviewed()).await;
    }
    house.close().await;
}
