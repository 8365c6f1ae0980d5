//! Clones that are set up before they are handed out.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{Scene, git_as_a_person};
use crate::core::checkout::{Base, CloneSetup};
use crate::core::detail::{Detail, GitReason, Own};
use crate::redact::Redactor;
use crate::runtime::{Launch, Local, ProcessTrees, setup};

impl Scene {
    /// Makes the clone, with this setup.
    async fn make_ready(&self, command: Option<&str>) -> Result<Base, Detail> {
        let with = command.map(|command| {
            let launches = include_str!("../../../../tests/golden/runner/v1/launch.jsonl");
            let launch: Launch =
                serde_json::from_str(launches.lines().next().expect("a line")).expect("a launch");
            let mut spec = (*launch.spec).clone();
            spec.workspace = self.clone();
            let marker = format!("test-{}/spark/setup", std::process::id());
            let launch = Launch { spec: spec.into(), marker, ..launch };
            let redactor = Redactor::new(&["hunter2-and-more".into()]);
            let environment = std::env::vars().collect();
            let setup = CloneSetup { command: command.to_owned(), timeout: Duration::from_secs(60) };
            ((launch, Local { environment, redactor, ..Local::default() }), setup)
        });
        let trees = ProcessTrees::new().expect("processes can be looked at");
        setup::make(&self.checkouts, &trees, &self.plan(), with).await
    }

    fn waits(&self) -> bool {
        self.clone().with_extension("setup").exists()
    }
}

const SETUP: &str = "pwd >> .ran";

fn runs(clone: &Path) -> Vec<String> {
    let ran = fs::read_to_string(clone.join(".ran")).unwrap_or_default();
    ran.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clone_is_set_up_once_under_its_final_name() {
    let scene = Scene::new();
    let own = fs::canonicalize(scene.dir.path()).expect("a folder").join("tasks/7").display().to_string();
    let base = scene.make_ready(Some(SETUP)).await.expect("a clone");
    assert_eq!(base.commit, git_as_a_person(&scene.repository(), &["rev-parse", "HEAD"]));
    assert_eq!(runs(&scene.clone()), std::slice::from_ref(&own));
    scene.make_ready(Some(SETUP)).await.expect("it is there");
    assert_eq!(runs(&scene.clone()), std::slice::from_ref(&own));
    // One that was lost is new.
    fs::remove_dir_all(scene.clone()).expect("it is there");
    scene.make_ready(Some(SETUP)).await.expect("a clone");
    assert_eq!(runs(&scene.clone()), [own]);
    assert!(!scene.waits());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clone_that_was_made_without_a_setup_is_not_set_up_later() {
    let scene = Scene::new();
    scene.make_ready(None).await.expect("a clone");
    scene.make_ready(Some(SETUP)).await.expect("it is there");
    assert_eq!(runs(&scene.clone()), [] as [String; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clone_whose_setup_failed_waits_until_one_succeeds() {
    let scene = Scene::new();
    let command = "echo one; echo key hunter2-and-more >&2; exit 3";
    let why = scene.make_ready(Some(command)).await.expect_err("it fails");
    let own = GitReason::SetupFailed { command: command.replace("hunter2-and-more", "[redacted]"), code: 3 };
    assert_eq!(why.own, Some(Own::Git(own)));
    assert_eq!(why.said, "one | key [redacted]");
    let kept = scene.clone().with_extension("setup");
    assert_eq!(fs::read_to_string(&kept).expect("it is kept"), "one\nkey [redacted]");
    assert!(scene.clone().join("file").exists(), "the clone stays");
    let why = scene.make_ready(Some("echo two; kill -9 $$")).await.expect_err("it fails again");
    let own = GitReason::SetupKilled { command: "echo two; kill -9 $$".to_owned(), signal: 9 };
    assert_eq!(why, own.with("two"));
    scene.make_ready(Some(SETUP)).await.expect("it is mended");
    assert_eq!((runs(&scene.clone()).len(), scene.waits()), (1, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clone_waits_no_more_once_the_setup_is_taken_out() {
    let scene = Scene::new();
    scene.make_ready(Some("false")).await.expect_err("it fails");
    assert!(scene.waits());
    scene.make_ready(None).await.expect("it is there");
    assert!(!scene.waits());
    scene.make_ready(Some("false")).await.expect("it counts as set up");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clone_that_is_removed_leaves_no_output_behind() {
    let scene = Scene::new();
    scene.make_ready(Some("false")).await.expect_err("it fails");
    scene.checkouts.remove(&scene.plan()).await.expect("it is removed");
    assert!(!scene.waits() && !scene.clone().exists());
}
