//! The two refs of a task: those of another herder are left alone, and the task's own branch is fetched.

use super::{GitReason, Plan, Scene, all_refs, git_as_a_person, reason};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_herder_has_fetched_is_left_alone() {
    let scene = Scene::new();
    let repository = scene.repository();
    let plan = Plan { begun: false, ..scene.plan() };
    git_as_a_person(&repository, &["update-ref", "refs/herder/7/base", "HEAD"]);
    git_as_a_person(&repository, &["update-ref", "refs/herder/7/head", "HEAD"]);
    let before = all_refs(&repository);
    let path = repository.display().to_string();
    let taken = GitReason::Taken { path, name: "refs/herder/7/head".to_owned() };
    assert_eq!(reason(scene.checkouts.make(&plan).await), Some(taken));
    assert!(!scene.clone().exists());
    scene.checkouts.remove(&plan).await.expect("nothing was made");
    assert_eq!(all_refs(&repository), before);
    // A base alone is what a make has left that was cut short.
    git_as_a_person(&repository, &["update-ref", "-d", "refs/herder/7/head"]);
    scene.commit("later", "of somebody\n");
    let base = scene.checkouts.make(&plan).await.expect("a clone");
    assert_eq!(base.commit, git_as_a_person(&repository, &["rev-parse", "HEAD"]));
    // One that was cut short after the clone was there begins where the clone does.
    scene.commit("latest", "of somebody\n");
    assert_eq!(scene.checkouts.make(&plan).await.expect("it is there"), base);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_branch_of_the_task_is_fetched_unless_the_agent_went_on_elsewhere() {
    let scene = Scene::new();
    let plan = scene.plan();
    let fetched =
        || git_as_a_person(&scene.repository(), &["log", "-1", "--format=%s", "refs/herder/7/head"]);
    let base = scene.checkouts.make(&plan).await.expect("a clone");
    scene.work("new");
    // An earlier commit is checked out, with which nothing is added.
    git_as_a_person(&scene.clone(), &["checkout", "--quiet", &base.commit]);
    let held = scene.checkouts.fetch(&plan).await.expect("it is read");
    assert_eq!((fetched().as_str(), held.commits, held.aside), ("b", 1, 0));
    // The agent goes on without a branch.
    git_as_a_person(&scene.clone(), &["commit", "--quiet", "--allow-empty", "-m", "beside"]);
    let held = scene.checkouts.fetch(&plan).await.expect("it is read");
    assert_eq!((fetched().as_str(), held.commits, held.aside), ("beside", 1, 1));
    // The agent has renamed its branch.
    git_as_a_person(&scene.clone(), &["branch", "-m", "herder/7-x", "other"]);
    git_as_a_person(&scene.clone(), &["checkout", "--quiet", "other"]);
    let held = scene.checkouts.fetch(&plan).await.expect("it is read");
    assert_eq!((fetched().as_str(), held.commits), ("b", 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_branch_of_a_task_says_who_gave_it() {
    let scene = Scene::new();
    let told = "Task 7, given by =\"alice\" (libera)";
    let checkouts = scene.checkouts.clone().described(told.to_owned());
    checkouts.make(&scene.plan()).await.expect("a clone");
    assert_eq!(git_as_a_person(&scene.clone(), &["config", "branch.herder/7-x.description"]), told);
}
