//! Merges into the base: each method, conflicts, a base that moves meanwhile, and checkouts of it.

use std::fs;
use std::path::Path;

use super::{Scene, git_as_a_person, reason};
use crate::core::checkout::Plan;
use crate::core::detail::GitReason;
use crate::core::review::{Landed, Method};
use crate::runtime::git::merge::{Move, Order, Prepared, Step};

impl Scene {
    /// Returns a scene whose person is on another branch than the base, with a task of two commits.
    pub(super) async fn with_work() -> Self {
        let scene = Self::new();
        git_as_a_person(&scene.repository(), &["switch", "--quiet", "-c", "mine"]);
        scene.checkouts.make(&scene.merging()).await.expect("a clone");
        scene.work("one");
        scene.work("two");
        scene
    }

    pub(super) fn merging(&self) -> Plan {
        let mut plan = self.plan();
        plan.repository.base = "main".to_owned();
        plan
    }

    pub(super) async fn order(&self, method: Method) -> Order {
        let held = self.checkouts.fetch(&self.merging()).await.expect("it is read");
        Order {
            plan: self.merging(),
            head: held.head,
            method,
            text: "Add two files\nand more".to_owned(),
            co_author: None,
        }
    }

    pub(super) async fn ready(&self, order: &Order) -> Step {
        match self.checkouts.prepare(order).await.expect("it is merged") {
            Prepared::Ready(step) => step,
            other => panic!("{other:?}"),
        }
    }

    /// Merges the work into the base.
    async fn lands(&self, order: &Order) -> String {
        let step = self.ready(order).await;
        assert_eq!(self.checkouts.advance(&order.plan, &step).await.expect("it moves"), Move::Done);
        step.to
    }

    fn asked(&self, words: &[&str]) -> String {
        git_as_a_person(&self.repository(), words)
    }

    /// Commits on the base, as somebody else does.
    fn on_main(&self, name: &str, text: &str) {
        let other = self.dir.path().join("other");
        if !other.exists() {
            self.asked(&["worktree", "add", "--quiet", "--detach", "../other", "main"]);
        }
        git_as_a_person(&other, &["checkout", "--quiet", "--detach", "main"]);
        fs::write(other.join(name), text).expect("a file");
        git_as_a_person(&other, &["add", "--all"]);
        git_as_a_person(&other, &["commit", "--quiet", "-m", &format!("other {name}")]);
        git_as_a_person(&other, &["update-ref", "refs/heads/main", "HEAD"]);
    }

    fn log(&self) -> Vec<String> {
        self.asked(&["log", "--first-parent", "--format=%s by %an", "main"])
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_method_brings_the_work_onto_a_base_that_has_moved() {
    for (method, expected) in [
        (Method::Squash, &["Add two files by ann", "other three by ann", "a by ann"][..]),
        (Method::Rebase, &["b by ann", "b by ann", "other three by ann", "a by ann"]),
        (Method::Merge, &["Merge task 7: Add two files by ann", "other three by ann", "a by ann"]),
    ] {
        let scene = Scene::with_work().await;
        scene.on_main("three", "c\n");
        let order = scene.order(method).await;
        let landed = scene.lands(&order).await;
        assert_eq!(scene.log(), expected, "{method:?}");
        assert_eq!(scene.asked(&["rev-parse", "main"]), landed);
        assert_eq!(scene.asked(&["ls-tree", "--name-only", "main"]), "file\none\nthree\ntwo");
        let mine = scene.asked(&["status", "--porcelain", "--branch"]);
        assert_eq!(mine, "## mine", "the person's checkout is as it was");
        scene.asked(&["fsck", "--strict", "--no-dangling"]);
        // Once more, as after a kill between the move and its record.
        match scene.checkouts.prepare(&order).await {
            Ok(Prepared::Landed(Landed { branch, commit, .. })) => {
                assert_eq!((branch.as_str(), commit), ("main", landed))
            }
            other => panic!("{method:?}: {other:?}"),
        }
        scene.checkouts.remove(&order.plan).await.expect("it is removed");
        assert_eq!(scene.asked(&["for-each-ref", "refs/herder"]), "");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_on_an_unmoved_base_keeps_its_commits() {
    let scene = Scene::with_work().await;
    let order = scene.order(Method::Rebase).await;
    assert_eq!(scene.lands(&order).await, order.head, "nothing is made anew");
    let scene = Scene::with_work().await;
    let order = scene.order(Method::Squash).await;
    let step = scene.ready(&order).await;
    assert_eq!(step.tree, scene.asked(&["rev-parse", &format!("{}^{{tree}}", order.head)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_conflict_are_named_and_the_base_stays() {
    for method in [Method::Squash, Method::Rebase, Method::Merge] {
        let scene = Scene::with_work().await;
        scene.on_main("two", "of somebody else\n");
        let before = scene.asked(&["rev-parse", "main"]);
        let order = scene.order(method).await;
        match scene.checkouts.prepare(&order).await {
            Ok(Prepared::Conflict { branch, files }) => {
                assert_eq!((branch.as_str(), files), ("main", vec!["two".to_owned()]), "{method:?}");
            }
            other => panic!("{method:?}: {other:?}"),
        }
        assert_eq!(scene.asked(&["rev-parse", "main"]), before);
        // The agent merges the base and resolves the conflict.
        let clone = scene.clone();
        git_as_a_person(&clone, &["fetch", "--quiet", "origin"]);
        git_as_a_person(&clone, &["merge", "--quiet", "-X", "ours", "-m", "resolve", "origin/main"]);
        let order = scene.order(method).await;
        scene.lands(&order).await;
        assert_eq!(scene.asked(&["show", "main:two"]), "b");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_base_that_somebody_moves_meanwhile_is_merged_onto_again() {
    let scene = Scene::with_work().await;
    let order = scene.order(Method::Squash).await;
    let step = scene.ready(&order).await;
    scene.on_main("three", "c\n");
    assert_eq!(scene.checkouts.advance(&order.plan, &step).await.expect("an answer"), Move::Overtaken);
    assert_eq!(scene.log(), ["other three by ann", "a by ann"], "nothing is lost");
    scene.lands(&order).await;
    assert_eq!(scene.log()[..2], ["Add two files by ann", "other three by ann"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clean_checkout_of_the_base_moves_along() {
    let scene = Scene::with_work().await;
    scene.asked(&["switch", "--quiet", "main"]);
    fs::write(scene.repository().join("loose"), "of the person\n").expect("a file");
    let (program, mark) = scene.trap();
    let hook = scene.repository().join(".git/hooks/post-merge");
    fs::create_dir_all(hook.parent().expect("a folder")).expect("a folder");
    fs::copy(program, hook).expect("a hook");
    let order = scene.order(Method::Squash).await;
    scene.lands(&order).await;
    assert_eq!(scene.asked(&["status", "--porcelain"]), "?? loose");
    assert_eq!(fs::read_to_string(scene.repository().join("two")).expect("it is there"), "b\n");
    assert!(!mark.exists(), "a hook of the repository ran");
    // A linked worktree, too.
    scene.asked(&["switch", "--quiet", "mine"]);
    scene.asked(&["worktree", "add", "--quiet", "../linked", "main"]);
    scene.work("four");
    let order = scene.order(Method::Squash).await;
    scene.lands(&order).await;
    let linked = scene.dir.path().join("linked");
    assert_eq!(git_as_a_person(&linked, &["status", "--porcelain"]), "");
    assert!(linked.join("four").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkout_of_the_base_with_changes_stays_and_the_line_that_moves_it_is_said() {
    type Busy = fn(&Path);
    let busy: [Busy; 4] = [
        |top| fs::write(top.join("file"), "changed\n").expect("a file"),
        |top| {
            fs::write(top.join("file"), "staged\n").expect("a file");
            git_as_a_person(top, &["add", "file"]);
        },
        |top| fs::write(top.join(".git/MERGE_HEAD"), "").expect("a file"),
        |top| {
            fs::create_dir_all(top.join(".git/info")).expect("a folder");
            fs::write(top.join(".git/info/attributes"), "* filter=lfs\n").expect("a file");
        },
    ];
    for (case, busy) in busy.into_iter().enumerate() {
        let scene = Scene::with_work().await;
        scene.asked(&["switch", "--quiet", "main"]);
        let before = scene.asked(&["rev-parse", "main"]);
        busy(&scene.repository());
        let order = scene.order(Method::Squash).await;
        let step = scene.ready(&order).await;
        let line = match reason(scene.checkouts.advance(&order.plan, &step).await) {
            Some(GitReason::CheckedOut { branch, line }) if branch == "main" => line,
            other => panic!("{case}: {other:?}"),
        };
        assert_eq!(scene.asked(&["rev-parse", "main"]), before, "{case}");
        // The person commits or puts it away, and types the line.
        drop(fs::remove_file(scene.repository().join(".git/MERGE_HEAD")));
        scene.asked(&["reset", "--quiet", "--hard"]);
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        scene.asked(&words);
        match scene.checkouts.prepare(&order).await {
            Ok(Prepared::Landed(Landed { commit, .. })) => assert_eq!(commit, step.to, "{case}"),
            other => panic!("{case}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_git_ignores_is_not_overwritten() {
    let scene = Scene::with_work().await;
    scene.asked(&["switch", "--quiet", "main"]);
    let exclude = scene.repository().join(".git/info");
    fs::create_dir_all(&exclude).expect("a folder");
    fs::write(exclude.join("exclude"), "one\n").expect("a file");
    fs::write(scene.repository().join("one"), "of the person\n").expect("a file");
    let order = scene.order(Method::Squash).await;
    let step = scene.ready(&order).await;
    let why = scene.checkouts.advance(&order.plan, &step).await.expect_err("it would be lost");
    assert!(why.to_string().contains("would be overwritten"), "{why}");
    assert_eq!(fs::read_to_string(scene.repository().join("one")).expect("it is there"), "of the person\n");
    assert_eq!(scene.asked(&["status", "--porcelain"]), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_base_that_is_rebased_or_has_a_split_index_stays() {
    type Busy = fn(&Scene);
    let busy: [Busy; 2] = [
        |scene| {
            scene.asked(&["checkout", "--quiet", "--detach"]);
            fs::create_dir(scene.repository().join(".git/rebase-merge")).expect("a folder");
            fs::write(scene.repository().join(".git/rebase-merge/head-name"), "refs/heads/main\n")
                .expect("a file");
        },
        |scene| drop(scene.asked(&["update-index", "--split-index"])),
    ];
    for busy in busy {
        let scene = Scene::with_work().await;
        scene.asked(&["switch", "--quiet", "main"]);
        let before = scene.asked(&["rev-parse", "main"]);
        busy(&scene);
        let order = scene.order(Method::Squash).await;
        let step = scene.ready(&order).await;
        let why = reason(scene.checkouts.advance(&order.plan, &step).await);
        assert!(matches!(why, Some(GitReason::CheckedOut { .. })), "{why:?}");
        assert_eq!(scene.asked(&["rev-parse", "main"]), before);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_work_gets_into_the_branch_that_was_the_base_as_it_began() {
    let scene = Scene::new();
    let base = scene.checkouts.make(&scene.plan()).await.expect("a clone");
    assert_eq!(base.onto, "main");
    scene.work("one");
    // The person is elsewhere by now.
    scene.asked(&["switch", "--quiet", "-c", "feature"]);
    let held = scene.checkouts.fetch(&scene.plan()).await.expect("it is read");
    let plan = Plan { onto: Some(base.onto), ..scene.plan() };
    let (head, text) = (held.head, "One".to_owned());
    let order = Order { plan, head, method: Method::Squash, text, co_author: None };
    let landed = scene.lands(&order).await;
    assert_eq!(scene.asked(&["rev-parse", "main"]), landed);
    assert_ne!(scene.asked(&["rev-parse", "feature"]), landed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_a_power_cut_has_left_does_not_stand_in_the_way() {
    let scene = Scene::with_work().await;
    let order = scene.order(Method::Squash).await;
    let step = scene.ready(&order).await;
    let lock = scene.repository().join(".git").join(format!("{}.lock", step.kept));
    fs::write(&lock, "").expect("a file");
    scene.on_main("three", "c\n");
    scene.lands(&order).await;
    fs::write(&lock, "").expect("a file");
    scene.checkouts.remove(&order.plan).await.expect("it is removed");
    assert!(!lock.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_that_was_cut_short_between_the_files_and_the_branch_is_finished() {
    let scene = Scene::with_work().await;
    scene.asked(&["switch", "--quiet", "main"]);
    let order = scene.order(Method::Squash).await;
    let step = scene.ready(&order).await;
    scene.asked(&["read-tree", "-m", "-u", "main", &step.to]);
    let step = scene.ready(&order).await;
    assert_eq!(scene.checkouts.advance(&order.plan, &step).await.expect("it moves"), Move::Done);
    assert_eq!(scene.asked(&["status", "--porcelain"]), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_base_that_nothing_can_be_merged_into_is_named() {
    let scene = Scene::with_work().await;
    scene.asked(&["tag", "v1", "main"]);
    let mut order = scene.order(Method::Squash).await;
    order.plan.repository.base = "v1".to_owned();
    let why = reason(scene.checkouts.prepare(&order).await);
    assert_eq!(why, Some(GitReason::NoBranch { base: "v1".to_owned() }));
    // A branch that lacks what the task began from.
    scene.asked(&["branch", "old", "main"]);
    scene.on_main("three", "c\n");
    scene.checkouts.remove(&scene.merging()).await.expect("it is removed");
    scene.checkouts.make(&scene.merging()).await.expect("a clone");
    scene.work("one");
    let mut order = scene.order(Method::Squash).await;
    order.plan.repository.base = "old".to_owned();
    let why = reason(scene.checkouts.prepare(&order).await);
    assert_eq!(why, Some(GitReason::Behind { branch: "old".to_owned() }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bare_repository_s_base_moves() {
    let scene = Scene::new();
    let bare = scene.dir.path().join("bare.git");
    scene.asked(&["clone", "--quiet", "--bare", ".", "../bare.git"]);
    let app = scene.repository();
    fs::remove_dir_all(&app).expect("it is there");
    fs::rename(&bare, &app).expect("another name");
    scene.checkouts.make(&scene.plan()).await.expect("a clone");
    scene.work("one");
    let held = scene.checkouts.fetch(&scene.plan()).await.expect("it is read");
    let order = Order {
        plan: scene.plan(),
        head: held.head,
        method: Method::Squash,
        text: "One".to_owned(),
        co_author: None,
    };
    let landed = scene.lands(&order).await;
    assert_eq!(git_as_a_person(&app, &["rev-parse", "main"]), landed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_person_who_gave_the_task_is_named_in_the_commit() {
    for (method, expected) in [
        (Method::Squash, "Add two files\n\nTask: 7\nCo-authored-by: Alice <a@example.org>"),
        (Method::Merge, "Merge task 7: Add two files\n\nTask: 7\nCo-authored-by: Alice <a@example.org>"),
    ] {
        let scene = Scene::with_work().await;
        let co_author = Some("Alice <a@example.org>".to_owned());
        let order = Order { co_author, ..scene.order(method).await };
        scene.lands(&order).await;
        assert_eq!(scene.asked(&["log", "-1", "--format=%B", "main"]), expected);
        let trailer = "--format=%(trailers:key=Co-authored-by,valueonly)";
        assert_eq!(scene.asked(&["log", "-1", trailer, "main"]), "Alice <a@example.org>");
    }
}
