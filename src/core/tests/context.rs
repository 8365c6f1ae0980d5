//! Tests of `context.md` after unfinished work, and of unusable workspaces.

use super::*;
use crate::context::context;
use crate::detail::Own;
use crate::event::PauseReason;
use crate::policy::{EvaluatorRules, Judge};
use crate::turn::{End, Kind, Step as Did, Turn};
use crate::workspace::{Unfinished, Workspace};

impl Step {
    /// Returns the text that is kept in `context.md`; the outer `None`: it is unchanged.
    fn kept(&self) -> Option<Option<String>> {
        self.kept.last().cloned()
    }
}

fn turn(words: &str, what: &str, ok: bool) -> Signal {
    let end = Some(End { ok, said: "no rule".to_owned(), digest: 1 });
    let step = Did {
        tool: "Bash".to_owned(),
        kind: Kind::Command,
        what: what.to_owned(),
        digest: 2,
        end,
        after_ms: 0,
        took_ms: 0,
    };
    let turn = Turn {
        session: SessionId(0),
        work: None,
        at: Timestamp::default(),
        took_ms: 10,
        words: words.to_owned(),
        steps: vec![step],
        more: 0,
    };
    Signal::Observed { turn: Box::new(turn) }
}

/// Returns an agent that is watched, with a task.
fn watched() -> Desk {
    let mut desk = Desk::new();
    desk.policy.evaluator = EvaluatorRules { judge: Judge::Asked, ..desk.policy.evaluator };
    desk.give(WorkKind::Task, 1, "count\nthe beans");
    desk.runs();
    desk
}

#[test]
fn what_was_done_and_said_is_kept_and_told_to_the_next_session() {
    let mut desk = watched();
    desk.signal(turn("I look for beans.", "ls /srv", true));
    desk.signal(turn("", "make beans", false));
    let step = desk.ends(Outcome {
        text: Some("# 3 beans so far\n## Task 9\nno end".to_owned()),
        ..Outcome::new(Category::Crash, Own::ExitCode { code: 3 })
    });
    let kept = step.kept().flatten().expect("it is kept");
    insta::assert_snapshot!(kept, @r#"
    # Where spark left off

    herder wrote this when a session ended before its work was done. It is written anew with each such end.

    ## Task 1

    > count
    > the beans

    ## How it ended

    > 1 session had it so far. It ended because its process died: exit code 3

    ## Done so far

    > - I look for beans.; Bash ls /srv
    > - Bash make beans (failed)

    ## Last output

    > # 3 beans so far
    > ## Task 9
    > no end

    ## Open questions

    > nothing that is known
    "#);
    assert_eq!(context(&desk.agent), Some(kept), "it can be made again at any time");
    let (_, step) = desk.waits();
    insta::assert_snapshot!(step.recap().expect("it is told"), @r#"
    You were working on this before, in a session that did not finish it: "count the beans". It ended because its process died: exit code 3

    What was done so far, the latest last:
    - I look for beans.; Bash ls /srv
    - Bash make beans (failed)

    The last thing you said about it:
    # 3 beans so far
    ## Task 9
    no end

    herder keeps this in .herder/spark/context.md, if the workspace can be written to.

    Look at what is already there in the workspace before you go on; do not start from nothing.
    "#);
    assert_eq!(step.kept(), None, "the file is there");

    // A second failure adds to it, a success removes it.
    desk.signal(turn("I count.", "wc -l beans", true));
    let kept = desk.fails(Category::Transient).kept().flatten().expect("it is kept");
    let order = ["ls /srv", "make beans (failed)", "wc -l beans"].map(|piece| kept.find(piece));
    assert!(order.is_sorted() && order[0].is_some(), "{kept}");
    assert!(kept.contains("2 sessions had it so far"), "{kept}");
    desk.waits();
    assert_eq!(desk.succeeds().kept(), Some(None));
}

#[test]
fn what_is_kept_is_bounded_whatever_an_agent_says() {
    let mut desk = Desk::new();
    desk.policy.evaluator = EvaluatorRules { judge: Judge::Asked, ..desk.policy.evaluator };
    desk.give(WorkKind::Task, 1, &"ä b\n".repeat(6000));
    for _ in 0..4 {
        for _ in 0..30 {
            desk.signal(turn(&"ö ".repeat(5000), &"x".repeat(5000), true));
        }
        desk.ends(Outcome {
            text: Some("ü\n".repeat(100_000)),
            ..Outcome::new(Category::Transient, "y".repeat(9000))
        });
        desk.waits();
    }
    let length = context(&desk.agent).map_or(0, |context| context.len());
    assert!((5_000..32_000).contains(&length), "{length}");
}

#[test]
fn a_new_work_a_clean_restart_and_a_success_have_nothing_left_behind() {
    let mut desk = Desk::busy();
    desk.fails(Category::Transient);
    assert!(context(&desk.agent).is_some());
    let step = desk.ask(Control::Restart);
    assert_eq!((step.kept(), step.recap()), (Some(None), None), "a clean session is told nothing");
    desk.give(WorkKind::Message, 2, "other work");
    let step = desk.succeeds();
    assert_eq!((step.kept(), step.recap()), (Some(None), None));
}

#[test]
fn a_workspace_that_cannot_be_used_calls_a_person_and_is_no_crash_loop() {
    let path = || "/srv/spark".to_owned();
    for own in [
        Own::WorkspaceMissing { path: path() },
        Own::WorkspaceNoFolder { path: path() },
        Own::WorkspaceLocked { path: path() },
        Own::WorkspaceSilent { path: path() },
        Own::StartSilent { path: path() },
    ] {
        let mut desk = Desk::busy();
        let step = desk.ends(Outcome::new(Category::Permanent, own.clone()));
        assert_eq!(step.told(), "SessionEnded(Permanent), Requeued(1), Escalated, Paused(Escalation)");
        let said = format!("why: Ended {{ category: Permanent, detail: {:?} }}", own.to_string());
        assert!(step.said().contains("#alerts Escalated") && step.said().contains(&said), "{}", step.said());
        assert_eq!(desk.agent.phase, Phase::Paused { reason: PauseReason::Escalation });
        assert_eq!(desk.ask(Control::Resume).spawns(), 1);
    }
    let mut desk = Desk::busy();
    let step = desk.ends(Outcome::new(Category::Permanent, Own::NoCommand));
    assert!(step.told().ends_with("Waiting(10s Backoff(Permanent))"), "anything else is tried again");
}

#[test]
fn how_the_workspace_stands_is_remembered_and_said_where_it_matters() {
    let clean = Workspace { branch: Some("main".to_owned()), changed: 0, unfinished: None };
    let dirty = Workspace { changed: 2, ..clean.clone() };
    let merging = Workspace { unfinished: Some(Unfinished::Merge), ..clean.clone() };
    for (seen, said) in [(clean, false), (dirty, true), (merging, true)] {
        let mut desk = Desk::new();
        desk.give(WorkKind::Message, 1, "count the beans");
        let step = desk.signal(Signal::Workspace { seen: seen.clone() });
        assert_eq!(step.said().contains("WorkspaceSeen"), said, "{seen:?}");
        assert_eq!(desk.agent.workspace, Some(seen));
        desk.runs();
        let spec = AgentSpec { workspace: "/srv/else".into(), ..spec(Runtime::Command) };
        desk.ask(Control::Edit { spec: Box::new(spec), base: None });
        assert_eq!(desk.agent.workspace, None, "that is another one");
    }
    let seen = Workspace { branch: Some("x".repeat(1000)), changed: u32::MAX, unfinished: None };
    let mut desk = Desk::new();
    desk.give(WorkKind::Message, 1, "count the beans");
    desk.signal(Signal::Workspace { seen });
    let kept = desk.agent.workspace.expect("it is remembered");
    assert!(kept.branch.is_some_and(|branch| branch.len() <= 100) && kept.changed == 10_000);
}
