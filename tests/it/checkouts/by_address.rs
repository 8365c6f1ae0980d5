//! A repository that an address names: herder keeps a copy of its own, and pushes what is accepted.

use herder::core::agent::Agent;
use herder::core::review::{Landing, Method, OnAccept, Reviewer};
use herder::core::spec::AgentSpec;
use serde_json::json;

use super::proposed::Forge;
use super::repository::{Person, Untouched, entries};
use super::{only, open};
use crate::on::{On, Story};

const COPY: &str = "repositories/app-1.git";

async fn by_address(forge: &Forge) -> (Story, Person) {
    let change = |agents: &mut Vec<AgentSpec>| {
        for agent in agents {
            let repository = agent.repository.as_mut().expect("it has one");
            (repository.path, repository.url) = (COPY.into(), forge.address());
            let on_accept = OnAccept::Merge(Method::Squash);
            repository.landing = Landing { review: Reviewer::Person, on_accept };
            repository.forge = Some(Box::new(forge.settings()));
        }
    };
    let (story, person) = open(On::Irc, change).await;
    forge.adopts(&person);
    (story, person)
}

/// Commits a file on the base at the forge.
fn pushed_by_somebody(forge: &Forge, person: &Person, name: &str, text: &str) {
    let other = person.path().join("../other");
    person.git(&["clone", "--quiet", &forge.bare().display().to_string(), "../other"]);
    let other = Person::of(other);
    std::fs::write(other.path().join(name), text).expect("a file");
    other.git(&["add", "--all"]);
    other.git(&["commit", "--quiet", "-m", &format!("other {name}")]);
    other.git(&["push", "--quiet", "origin", "HEAD"]);
    std::fs::remove_dir_all(other.path()).expect("it was there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_accepted_is_pushed_to_the_base_of_a_repository_by_address() {
    let forge = Forge::begin().await;
    let (mut story, person) = by_address(&forge).await;
    let before = Untouched::of(&person);
    story.is_reviewed("please commit alpha").await;
    let copy = Person::of(story.dir.path().join("data").join(COPY));
    assert_eq!(entries(&story.dir.path().join("data/repositories")), ["app-1.git"]);
    assert_eq!(
        forge.git(&["for-each-ref", "--format=%(refname)"]),
        "refs/heads/main",
        "nothing is pushed yet"
    );

    // Somebody is faster: the work is merged onto theirs.
    pushed_by_somebody(&forge, &person, "quick", "a\n");
    story.says("!accept 1", "accepts task 1").await;
    story.alice.hears("#spark", "is merged: main is at ").await;
    let landed = || forge.git(&["log", "--format=%s", "main"]);
    assert_eq!(landed(), "please commit alpha\nother quick\nthe first");
    let none = |agent: &Agent| agent.checkouts.all.is_empty();
    story.until("spark", |view| none(&view.agent)).await;
    assert_eq!(copy.herders_refs(), []);
    assert_eq!(copy.git(&["rev-parse", "main"]), forge.git(&["rev-parse", "main"]));

    // A task begins from the newest base, also from another default branch.
    pushed_by_somebody(&forge, &person, "later", "a\n");
    forge.git(&["branch", "--move", "main", "trunk"]);
    forge.git(&["symbolic-ref", "HEAD", "refs/heads/trunk"]);
    story.is_reviewed("please commit beta").await;
    let (task, checkout) = only(&story.agent("spark"));
    assert_eq!(checkout.plan.onto.as_deref(), Some("trunk"));
    let clone = Person::of(story.clone_of(task));
    assert_eq!(clone.git(&["log", "--format=%s", "-2"]), "commit beta\nother later");

    // A push that is refused is told with the words of the forge; the base is where it was.
    forge.does("refuse_push", json!({ "on": true })).await;
    story.alice.say("#herder", &format!("!accept {task}")).await;
    let told = story.alice.hears("#alerts", "could not be merged").await;
    assert!(told.contains("Permission to moss/app.git denied"), "{told}");
    forge.does("refuse_push", json!({ "on": false })).await;

    // A conflict with a push of somebody else's goes back.
    pushed_by_somebody(&forge, &person, "beta", "theirs\n");
    story.alice.say("#herder", &format!("!accept {task}")).await;
    story.alice.hears("#spark", "it conflicts with what is on `trunk` by now, in beta").await;
    story.says("!usage", &forge.address()).await;
    before.holds(&person);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_that_cannot_be_reached_is_told_and_a_copy_is_used_meanwhile() {
    let forge = Forge::begin().await;
    let (mut story, person) = by_address(&forge).await;
    forge.forgets_the_token();
    story.alice.say("#spark", "please commit alpha").await;
    let told = story.alice.hears("#alerts", "`git fetch` failed").await;
    assert!(!told.contains("token-of"), "{told}");
    assert!(entries(&story.dir.path().join("data/repositories")).is_empty(), "nothing is left of it");
    forge.knows_the_token();
    story.says("!resume spark", "spark").await;
    story.alice.hears("#spark", "is in review").await;
    // With a copy work begins, and what is accepted waits until the remote is back.
    forge.forgets_the_token();
    story.alice.say("#herder", "!task new spark commit beta").await;
    story.alice.hears("#spark", "Task 3 of spark is in review").await;
    story.alice.say("#herder", "!accept 3").await;
    story.alice.hears("#alerts", "`git fetch` failed").await;
    forge.knows_the_token();
    story.alice.say("#herder", "!accept 3").await;
    story.alice.hears("#spark", "is merged: main is at ").await;
    drop(person);
    story.close().await;
}
