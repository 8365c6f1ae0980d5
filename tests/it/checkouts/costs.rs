//! Costs of tasks and of repositories.

use super::{agent, open};
use crate::on::{On, on_each_network};

on_each_network!(costs_are_told_by_task_and_by_repository);

async fn costs_are_told_by_task_and_by_repository(on: On) {
    let cost = |agents: &mut Vec<herder::core::spec::AgentSpec>| {
        for (agent, cost) in agents.iter_mut().zip(["0.25", "0.5"]) {
            agent.env.insert("COST".to_owned(), cost.to_owned());
        }
    };
    let (mut story, person) = open(on, cost).await;
    story.gives("spark", "please commit alpha").await;
    story.alice.say("#herder", "!task new spark commit beta").await;
    story.is_done_after("spark", 1).await;
    story.gives("nova", "commit delta").await;
    let second = story.agent("spark").checkouts.open.expect("it is open");
    let told = story.says("!usage spark", "tasks: ").await;
    assert_eq!(told, format!("tasks: #{second} $0.25 · #1 $0.25"));
    let path = person.path().display().to_string();
    let told = story.says("!usage", &format!("repository {path}")).await;
    assert!(told.ends_with("today 0 in, 0 out · $1.00"), "{told}");
    let shared = agent("spark", story.dir.path());
    assert_eq!(shared.workspace.display().to_string(), path);
    story.close().await;
}
