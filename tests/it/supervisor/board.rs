//! Tasks of the board and agents that cannot take them, or can no longer.

use herder::core::board::Wish;
use herder::core::card::{Before, Card, Needs};
use herder::core::dealings::Cut;
use herder::core::outcome::Category;
use herder::core::promotion::Hold;
use herder::core::quota::{QuotaRules, Resume};
use herder::core::spec::{Pattern, Permissions};

use super::*;

fn done(view: &View) -> bool {
    idle(view) && view.agent.totals.successes == 1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_supervisor_breaks_over_goes_to_another_once_that_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let fault = FaultInjection::new(|agent, input| {
        let handed = matches!(input, Input::HandedOver { .. });
        assert!(!(agent.as_str() == "fragile" && handed), "a fault");
    });
    // It has been idle for longer than the other one.
    let agents = vec![shell("fragile", dir.path(), "cat"), shell("nova", dir.path(), "cat")];
    let house = House::open(dir.path(), agents, fault).await;
    house.fleet.post_task("count".to_owned(), None, None, asked("task add")).await.unwrap();
    house.until("nova", done).await;
    let refused = house.control("fragile", Control::Pause { now: false }).await;
    assert_eq!(refused, Err(Refusal::Deserted { agent: name("fragile") }), "nothing reaches it");
    house.close().await;
}

fn of(account: &str, spec: AgentSpec) -> AgentSpec {
    AgentSpec { account: account.into(), ..spec }
}

/// Meets the limit of its account once `go` is there.
fn limited(agent: &str, dir: &Path) -> AgentSpec {
    let script = "while [ ! -e go ]; do sleep 0.05; done; echo used up >&2; exit 1";
    let patterns = vec![Pattern { matches: "used up".to_owned(), category: Category::Quota }];
    of("one", AgentSpec { patterns, ..shell(agent, dir, script) })
}

fn policy(reassign_after: Duration) -> Policy {
    let quota = QuotaRules { resume: Resume::Never, ..QuotaRules::default() };
    Policy { quota, reassign_after, max_active: 1, stop_grace: Duration::from_secs(1), ..Policy::default() }
}

impl House {
    async fn give_task(&self, agent: &str) {
        self.fleet.give_task(&name(agent), "count".to_owned(), None, asked("task add")).await.unwrap();
    }

    async fn post(&self, needs: &str) {
        let card = Card { needs: Needs::parse(needs).unwrap_or_default(), ..Card::default() };
        let posted = self.fleet.post_task("count".to_owned(), Some(Box::new(card)), None, asked("task add"));
        posted.await.unwrap();
    }

    /// Waits until the root has processed all earlier inputs.
    async fn root_is_through(&self, dir: &Path, newcomer: &str) {
        let spec = AgentSpec { permissions: Permissions::ReadOnly, ..shell(newcomer, dir, "cat") };
        self.fleet.add(spec, asked("agent add")).await.unwrap();
    }

    /// Returns how often people were told that no agent suffices for a task.
    fn called_for_tasks(&self) -> usize {
        let calls = |body: &Body| matches!(body, Body::Notice(Notice::NobodySuffices { .. }));
        self.owed("test").iter().filter(|(to, body)| *to == Target::Alerts && calls(body)).count()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_after_which_tasks_go_to_others_counts_for_agents_that_stand_still_already() {
    let dir = tempfile::tempdir().unwrap();
    let agents = vec![shell("spark", dir.path(), "cat"), shell("nova", dir.path(), "cat")];
    let house = House::open(dir.path(), agents, FaultInjection::default()).await;
    house.control("spark", Control::Pause { now: false }).await.unwrap();
    house.give_task("spark").await;
    house.fleet.set_policy(policy(Duration::from_millis(1)));
    house.until("nova", done).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_of_agents_whose_account_stays_closed_go_to_others() {
    let dir = tempfile::tempdir().unwrap();
    let agents = vec![
        limited("spark", dir.path()),
        of("one", shell("flint", dir.path(), "cat")),
        of("two", shell("nova", dir.path(), "cat")),
    ];
    let house = House::open(dir.path(), agents, FaultInjection::default()).await;
    house.fleet.set_policy(policy(Duration::from_millis(1)));
    house.give_task("spark").await;
    // One is at work at a time: it waits for its turn when the account is closed.
    house.give_task("flint").await;
    std::fs::write(dir.path().join("go"), "").unwrap();
    house.until("nova", |view| idle(view) && view.agent.totals.successes == 2).await;
    let flint = house.fleet.view(&name("flint")).unwrap();
    assert_eq!(flint.agent.totals.sessions, 0);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_moved_to_another_account_takes_what_waits_on_the_board() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("go"), "").unwrap();
    let flint = |account: &str| of(account, shell("flint", dir.path(), "cat"));
    let house =
        House::open(dir.path(), vec![limited("spark", dir.path()), flint("one")], FaultInjection::default())
            .await;
    house.fleet.set_policy(policy(Duration::ZERO));
    house.give("spark", "count").await.unwrap();
    let mut changes = house.fleet.changes();
    while !matches!(house.fleet.view(&name("spark")).unwrap().hold, Some(Hold::Closed { .. })) {
        changes.changed().await.unwrap();
    }
    house.post("workspace-write").await;
    house.root_is_through(dir.path(), "newcomer").await;
    assert_eq!(house.fleet.view(&name("flint")).unwrap().agent.totals.sessions, 0, "its account is closed");
    house.control("flint", Control::Edit { spec: Box::new(flint("two")), base: None }).await.unwrap();
    house.until("flint", done).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_comes_after_another_begins_when_that_is_done_although_its_agent_works_on() {
    let dir = tempfile::tempdir().unwrap();
    // Its second session waits until the other agent has begun.
    let script = "if [ -e once ]; then while [ ! -e go ]; do sleep 0.05; done; fi; : > once";
    let agents = vec![shell("spark", dir.path(), script), shell("nova", dir.path(), ": > go")];
    let house = House::open(dir.path(), agents, FaultInjection::default()).await;
    let first =
        house.fleet.give_task(&name("spark"), "one".to_owned(), None, asked("task add")).await.unwrap();
    let Notice::Accepted { work: task, .. } = first else { panic!("{first:?}") };
    house.give_task("spark").await;
    let card = Card { after: vec![Before { task, end: None }], ..Card::default() };
    let to = Some(name("nova"));
    house.fleet.post_task("last".to_owned(), Some(Box::new(card)), to, asked("task add")).await.unwrap();
    house.until("nova", done).await;
    house.until("spark", |view| idle(view) && view.agent.totals.successes == 2).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_called_once_for_a_task_that_an_edit_or_a_removal_has_left_to_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let nova = |permissions| AgentSpec { permissions, ..shell("nova", dir.path(), "cat") };
    let house = House::open(dir.path(), vec![nova(Permissions::Full)], FaultInjection::default()).await;
    house.control("nova", Control::Pause { now: false }).await.unwrap();
    house.post("full").await;
    house.root_is_through(dir.path(), "first").await;
    assert_eq!(house.called_for_tasks(), 0, "it waits for nova");
    house
        .control("nova", Control::Edit { spec: Box::new(nova(Permissions::ReadOnly)), base: None })
        .await
        .unwrap();
    house.root_is_through(dir.path(), "second").await;
    assert_eq!(house.called_for_tasks(), 1);
    house.fleet.remove(&name("nova"), asked("agent remove")).await.unwrap();
    house.root_is_through(dir.path(), "third").await;
    assert_eq!(house.called_for_tasks(), 1, "once");
    house.post("full").await;
    house.root_is_through(dir.path(), "fourth").await;
    assert_eq!(house.called_for_tasks(), 1, "the answer has said so");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_called_for_the_parts_of_a_task_once_somebody_who_would_do_for_them_does_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let nova = |permissions| AgentSpec { permissions, ..shell("nova", dir.path(), "cat") };
    let house = House::open(dir.path(), vec![nova(Permissions::ReadOnly)], FaultInjection::default()).await;
    house.control("nova", Control::Pause { now: false }).await.unwrap();
    house.post("full").await;
    let task = *house.fleet.board().tasks.keys().next().unwrap();
    let cuts = ["one", "two"].map(|text| Cut { id: house.fleet.fresh(), text: text.to_owned() }).to_vec();
    house.fleet.wish(Wish::Split { task, cuts }, asked("task split")).await.unwrap();
    house.root_is_through(dir.path(), "first").await;
    assert_eq!(house.called_for_tasks(), 0, "it was said of the whole");
    let edit = async |permissions| {
        let spec = Box::new(nova(permissions));
        house.control("nova", Control::Edit { spec, base: None }).await.unwrap();
    };
    edit(Permissions::Full).await;
    house.root_is_through(dir.path(), "second").await;
    edit(Permissions::ReadOnly).await;
    house.root_is_through(dir.path(), "third").await;
    assert_eq!(house.called_for_tasks(), 2, "for each of them");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_called_for_a_task_whose_agent_comes_with_the_file_that_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let full = |agent: &str| AgentSpec { permissions: Permissions::Full, ..shell(agent, dir.path(), "cat") };
    let house = House::open(dir.path(), vec![full("nova")], FaultInjection::default()).await;
    house.control("nova", Control::Pause { now: false }).await.unwrap();
    house.post("full").await;
    house.fleet.configure(vec![full("ember")]).await.unwrap();
    house.until("ember", done).await;
    assert_eq!(house.called_for_tasks(), 0);
    house.post("full,gpu").await;
    house.fleet.configure(Vec::new()).await.unwrap();
    assert_eq!(house.called_for_tasks(), 0, "that was said when it was given");
    house.close().await;
}
