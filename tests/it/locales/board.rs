//! Samples of the texts about the task board.

use std::time::Duration;

use herder::core::checkout::Act;
use herder::core::detail::{GitReason, Own};
use herder::core::id::{AgentName, WorkId};
use herder::core::notice::{Notice, Refusal};
use herder::core::review::Change;
use herder::core::spec::Permissions;
use herder::core::work::TaskEnd;

use super::spark;

pub(super) fn notices() -> Vec<Notice> {
    let task = WorkId(7);
    let flint = AgentName::new("flint").expect("a good name");
    let moved = |from, to| Notice::TaskMoved { task, from, to };
    let why = || GitReason::Failed { command: "git clone".to_owned() }.with("no space left on device");
    let failed = |act| Notice::CheckoutFailed { agent: spark(), task, act, why: why() };
    let (command, took) = ("make test".to_owned(), Duration::from_secs(72));
    let passed = Notice::CheckPassed {
        agent: spark(),
        task,
        command: command.clone(),
        took,
        commit: "0a1b2c3d4e".to_owned(),
    };
    let red = |again| Notice::CheckFailed {
        agent: spark(),
        task,
        command: command.clone(),
        took,
        why: Own::ExitCode { code: 2 }.with("2 failed | make: *** [test] Error 1"),
        again,
    };
    let in_review = |commits, uncommitted, checked: Option<&str>, cost_usd, reviewer| Notice::TaskInReview {
        agent: spark(),
        task,
        change: Change { commits, files: commits, added: 12, removed: 3, uncommitted },
        checked: checked.map(str::to_owned),
        cost_usd,
        onto: checked.map(|_| "main".to_owned()),
        reviewer,
    };
    let accepted = |merges, proposes| Notice::TaskAccepted {
        agent: spark(),
        task,
        by: "alice".to_owned(),
        merges,
        proposes,
    };
    let link = "https://forge.example/moss/app/pull/5".to_owned();
    vec![
        Notice::Boarded { task, fits: true },
        Notice::Boarded { task, fits: false },
        moved(Some(spark()), Some(flint.clone())),
        moved(Some(spark()), None),
        moved(None, Some(flint.clone())),
        moved(None, None),
        Notice::TaskSplit { task, parts: vec![WorkId(8), WorkId(9)] },
        Notice::BoardCancelled { task, parts: 0 },
        Notice::BoardCancelled { task, parts: 1 },
        Notice::BoardCancelled { task, parts: 3 },
        Notice::BoardReworded { task, work: "benchmark nemotron\non every driver".to_owned() },
        Notice::TaskTaken { agent: spark(), task, work: "benchmark nemotron\non every driver".to_owned() },
        Notice::TaskReleased { agent: spark(), task },
        Notice::TaskSplitting { agent: spark(), task },
        Notice::TaskOpened { agent: spark(), task },
        Notice::TaskDropping { agent: spark(), task },
        failed(Act::Make),
        failed(Act::Read),
        failed(Act::Remove),
        failed(Act::Check),
        failed(Act::Merge),
        in_review(1, 0, None, 0.0, None),
        in_review(2, 3, Some("make test"), 0.42, None),
        in_review(2, 0, Some("make test"), 0.0, Some(flint)),
        Notice::ReviewLeft {
            agent: spark(),
            task,
            why: GitReason::RejectedOften { reviewer: "flint".to_owned(), times: 3 }.with("name the error"),
        },
        accepted(true, false),
        accepted(false, false),
        accepted(false, true),
        Notice::TaskProposed { agent: spark(), task, link },
        Notice::TaskRejected { agent: spark(), task, by: "alice".to_owned() },
        Notice::TaskLanded {
            agent: spark(),
            task,
            branch: "main".to_owned(),
            commit: "0a1b2c3d4e".to_owned(),
        },
        Notice::TaskReturned {
            agent: spark(),
            task,
            why: GitReason::Conflict { branch: "main".to_owned(), files: "src/lib.rs".to_owned() }.into(),
        },
        passed,
        red(true),
        red(false),
        Notice::TaskNeedsMore { agent: spark(), task, permissions: Permissions::WorkspaceWrite },
        Notice::PartFailed { task, part: WorkId(8), end: TaskEnd::Failed },
        Notice::AwaitedNotDone { task, awaited: WorkId(6), end: TaskEnd::Failed },
        Notice::AwaitedNotDone { task, awaited: WorkId(6), end: TaskEnd::Cancelled },
        Notice::TaskWaits { task, after: vec![WorkId(5), WorkId(6)], to: None, fits: true },
        Notice::TaskWaits { task, after: vec![WorkId(5)], to: None, fits: false },
        Notice::TaskWaits { task, after: vec![WorkId(5)], to: Some(spark()), fits: true },
        Notice::NobodySuffices { task, needs: "full,rust".to_owned() },
        Notice::NobodySuffices { task, needs: "none".to_owned() },
    ]
}

pub(super) fn refusals() -> Vec<Refusal> {
    let (task, agent) = (WorkId(7), spark());
    vec![
        Refusal::TaskRunning { agent: agent.clone(), task },
        Refusal::NoCheckout { task },
        Refusal::InReview { agent: spark(), task },
        Refusal::NotInReview { task },
        Refusal::IsReview { task },
        Refusal::WorkedOn { agent: spark(), task },
        Refusal::NotAsReviewed { agent: spark(), task },
        Refusal::BeingMerged { task, by: "alice".to_owned() },
        Refusal::PullOpen { task, link: "https://forge.example/moss/app/pull/5".to_owned() },
        Refusal::TaskMoving { task },
        Refusal::Deserted { agent: agent.clone() },
        Refusal::TaskKept { agent, task },
        Refusal::TaskIsSplit { task },
        Refusal::SplitParts { task, parts: 1, max: 5 },
        Refusal::SplitTooDeep { task, max: 2 },
        Refusal::BoardFull { max: 1000 },
        Refusal::NothingToCheck { agent: spark() },
        Refusal::AwaitsParts { agent: spark(), task },
    ]
}
