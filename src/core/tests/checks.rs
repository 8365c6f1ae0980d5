//! Checks: what an agent calls done is done once its check has succeeded.

use std::time::Duration;

use super::{Desk, Step, spec};
use crate::agent::Phase;
use crate::check::{Check, Evidence};
use crate::checkout::{Acted, Base, CloneSetup, Held, Repository};
use crate::detail::Own;
use crate::id::WorkId;
use crate::input::{Control, Input};
use crate::notice::Refusal;
use crate::outcome::Category;
use crate::promotion::Hold;
use crate::spec::Runtime;
use crate::work::{TaskEnd, TaskReport, WorkKind};

pub(super) const TASK: WorkId = WorkId(1);

fn evidence(code: i32) -> Evidence {
    Evidence {
        command: "make test".to_owned(),
        code: Some(code),
        signal: None,
        took: Duration::from_secs(7),
        late: false,
        commit: "0a1b2c3d4e5f".to_owned(),
        tree: "0a1b2c3d4e5f".to_owned(),
        uncommitted: 0,
        void: None,
        output: if code == 0 { String::new() } else { "2 failed".to_owned() },
    }
}

/// Returns a check that sends work back twice.
pub(super) fn check() -> Option<Box<Check>> {
    Some(Box::new(Check { command: "make test".to_owned(), timeout: Check::TIMEOUT, tries: 2 }))
}

/// Returns an agent at work on a task whose check sends it back twice.
fn at_work() -> Desk {
    at_work_in(Repository { path: "/srv/app".into(), check: check(), ..Repository::default() })
}

/// Returns an agent at work on a task in a clone of this repository.
pub(super) fn at_work_in(repository: Repository) -> Desk {
    let mut spec = spec(Runtime::Claude);
    spec.repository = Some(Box::new(repository));
    let mut desk = Desk::with(spec);
    desk.give(WorkKind::Task, 1, "benchmark nemotron");
    let step = acted(&mut desk, Acted::Made(begun()));
    assert_eq!(step.told(), "Checkout(Made, SessionStarted(1)");
    desk.runs();
    desk
}

#[test]
fn a_plan_leaves_out_the_settings_that_are_read_when_they_are_needed() {
    let setup = CloneSetup { command: "npm ci".to_owned(), timeout: CloneSetup::TIMEOUT };
    let copied = Repository { copy: vec![".env".to_owned()], ..Repository::default() };
    let desk = at_work_in(Repository { setup: Some(Box::new(setup)), check: check(), ..copied.clone() });
    assert_eq!(desk.agent.checkouts.all[&TASK].plan.repository, copied);
}

/// Returns the beginning of a task.
pub(super) fn begun() -> Base {
    Base { commit: "0".repeat(40), onto: "main".to_owned() }
}

/// The session succeeds, and its clone is read.
fn succeeds(desk: &mut Desk) -> Step {
    let step = desk.succeeds();
    read(desk, Held::default());
    step
}

/// The last read of the clone has ended so.
pub(super) fn is_read(desk: &mut Desk, held: Held) -> Step {
    let number = desk.agent.checkouts.all[&TASK].reads;
    acted(desk, Acted::Read(number, Ok(held)))
}

/// The clone is read.
pub(super) fn read(desk: &mut Desk, held: Held) {
    let step = is_read(desk, held);
    assert_eq!(step.told(), "Checkout(Read");
}

pub(super) fn acted(desk: &mut Desk, acted: Acted) -> Step {
    desk.tell(&Input::Checkout { task: TASK, acted })
}

/// The check that is due, or was at last, ends with this code.
pub(super) fn checked(desk: &mut Desk, code: i32) -> Step {
    let number = desk.agent.checkouts.all[&TASK].checks;
    acted(desk, Acted::Checked(number, Ok(Some(Box::new(evidence(code))))))
}

#[test]
fn a_task_is_done_once_its_check_has_succeeded() {
    let mut desk = at_work();
    let step = succeeds(&mut desk);
    assert_eq!(step.told(), "SessionEnded(Success), Requeued(1), Checkout(Checking");
    assert_eq!(desk.agent.check_due(), Some((TASK, 1)));
    assert!(!step.said().contains("DONE"), "{}", step.said());
    assert!(desk.agent.waits_for_checkout() && desk.agent.wants().is_none(), "it takes no place meanwhile");
    desk.give(WorkKind::Task, 2, "and this");
    let step = checked(&mut desk, 0);
    assert_eq!(step.told(), "Checkout(Checked, TaskEnded(1 Done), Checkout(Planned");
    let passed = "CheckPassed { task: WorkId(1), command: \"make test\", took: 7s, commit: \"0a1b2c3d4e\" }";
    assert_eq!(step.said(), format!("{passed}\n#work DONE 1"));
    assert_eq!(checked(&mut desk, 2).told(), "", "a result that nobody waits for");
}

#[test]
fn where_nothing_was_changed_nothing_is_said() {
    let mut desk = at_work();
    succeeds(&mut desk);
    let step = acted(&mut desk, Acted::Checked(1, Ok(None)));
    assert_eq!(step.told(), "Checkout(Checked, TaskEnded(1 Done)");
    assert_eq!(step.said(), "#work DONE 1");
}

#[test]
fn a_check_that_fails_goes_back_to_the_agent_and_then_to_a_person() {
    let mut desk = at_work();
    for tries in 2..=3 {
        succeeds(&mut desk);
        let step = checked(&mut desk, 2);
        assert_eq!(step.told(), format!("Checkout(Checked, SessionStarted({tries})"));
        let recap = step.recap().expect("it is told");
        assert!(
            recap.starts_with("Your work on this is not done: `make test` failed with exit code 2"),
            "{recap}"
        );
        assert!(recap.contains("\n\n2 failed\n\n"), "{recap}");
        assert!(step.said().contains("why: \"exit code 2: 2 failed\", again: true"), "{}", step.said());
        desk.runs();
    }
    succeeds(&mut desk);
    let step = checked(&mut desk, 2);
    assert_eq!(step.told(), "Checkout(Checked, Escalated, Paused(Escalation)");
    assert!(step.said().contains("again: false"), "{}", step.said());
    let why = "`make test` has failed 3 times on what the agent called done: exit code 2: 2 failed";
    assert!(step.said().contains(why), "{}", step.said());
    assert_eq!(desk.queue(), [1], "the task is kept");

    // A person has it tried once more.
    let step = desk.ask(Control::Resume);
    assert_eq!(step.told(), "EscalationAnswered, Resumed, SessionStarted(4)");
    assert!(step.recap().is_some_and(|recap| recap.contains("2 failed")));
    desk.runs();
    succeeds(&mut desk);
    assert!(checked(&mut desk, 2).told().ends_with("Escalated, Paused(Escalation)"));
    let step = desk.ask(Control::Abort);
    assert!(step.told().starts_with("TaskEnded(1 Cancelled), EscalationAnswered"), "{}", step.told());
}

#[test]
fn what_the_agent_reports_as_done_is_checked_and_what_it_reports_as_failed_is_not() {
    let report = |end| TaskReport { end, note: "it is".to_owned(), denied: None, opinion: None };
    let mut desk = at_work();
    let session = desk.session();
    desk.tell(&Input::Reported { session, report: report(TaskEnd::Done) });
    let step = desk.fails(Category::Crash);
    assert!(
        step.told().starts_with("SessionEnded(Crash), Requeued(1), Checkout(Checking"),
        "{}",
        step.told()
    );
    checked(&mut desk, 2);
    let (_, step) = desk.waits();
    assert_eq!(step.told(), "WaitOver, SessionStarted(2)");
    desk.runs();
    // The report before the check says nothing about what came after it.
    desk.fails(Category::Crash);
    assert_eq!(desk.queue(), [1]);
    assert!(!desk.agent.checkouts.is_being_checked(TASK));

    let mut desk = at_work();
    let session = desk.session();
    desk.tell(&Input::Reported { session, report: report(TaskEnd::Failed) });
    assert_eq!(succeeds(&mut desk).told(), "SessionEnded(Success), TaskEnded(1 Failed)");
}

#[test]
fn a_check_that_herders_end_cut_short_runs_again_and_the_work_does_not() {
    let mut desk = at_work();
    succeeds(&mut desk);
    let step = desk.tell(&Input::Started);
    assert_eq!((desk.agent.check_due(), step.spawns()), (Some((TASK, 1)), 0), "{}", step.told());
    let step = checked(&mut desk, 0);
    assert_eq!(step.told(), "Checkout(Checked, TaskEnded(1 Done)");
}

#[test]
fn work_that_leaves_meanwhile_takes_its_check_along() {
    type Leaves = fn(&mut Desk);
    let leaves: [Leaves; 4] = [
        |desk| drop(desk.ask(Control::CancelTask(WorkId(1)))),
        |desk| drop(desk.ask(Control::Abort)),
        |desk| {
            // A message, once the task is done.
            checked(desk, 0);
            desk.give(WorkKind::Message, 2, "and the docs");
            desk.runs();
            succeeds(desk);
            desk.ask(Control::Clear);
        },
        |desk| {
            checked(desk, 0);
            desk.give(WorkKind::Message, 2, "and the docs");
            desk.runs();
            succeeds(desk);
            desk.ask(Control::Abort);
        },
    ];
    for (case, leaves) in leaves.into_iter().enumerate() {
        let mut desk = at_work();
        succeeds(&mut desk);
        leaves(&mut desk);
        assert_eq!((desk.agent.check_due(), desk.queue()), (None, vec![]), "{case}");
        assert_eq!(checked(&mut desk, 0).told(), "", "{case}");
        // Later work is done and checked, and an earlier result is not taken for its own.
        let number = desk.agent.checkouts.all[&TASK].checks;
        desk.ask(Control::OpenTask(TASK));
        let step = desk.give(WorkKind::Message, 3, "once more");
        assert_eq!(step.spawns(), 1, "{case}: {}", step.told());
        desk.runs();
        succeeds(&mut desk);
        assert_eq!(desk.agent.check_due(), Some((TASK, number + 1)), "{case}");
        let late = Acted::Checked(number, Ok(Some(Box::new(evidence(0)))));
        assert_eq!(acted(&mut desk, late).told(), "", "{case}");
        assert_eq!(desk.queue(), [3], "{case}");
    }
}

#[test]
fn a_paused_agent_s_check_waits() {
    for pause in [Control::Pause { now: false }, Control::Stop] {
        let mut desk = at_work();
        succeeds(&mut desk);
        desk.ask(pause);
        assert!(matches!(desk.agent.phase, Phase::Paused { .. }), "{:?}", desk.agent.phase);
        assert_eq!(desk.agent.check_due(), None);
        let step = desk.ask(Control::Resume);
        assert_eq!((step.spawns(), desk.agent.check_due()), (0, Some((TASK, 1))), "{}", step.told());
    }
}

#[test]
fn what_a_person_gave_up_is_not_checked() {
    let mut desk = at_work();
    desk.ask(Control::Abort);
    let step = succeeds(&mut desk);
    assert!(step.told().starts_with("SessionEnded(Success), TaskEnded(1 Cancelled)"), "{}", step.told());
    assert_eq!(desk.agent.check_due(), None);
}

#[test]
fn what_is_checked_is_neither_reworded_nor_given_to_another_agent() {
    let mut desk = at_work();
    succeeds(&mut desk);
    let reworded = Control::Reword { id: TASK, text: "else".to_owned() };
    assert!(matches!(desk.try_ask(reworded), Err(Refusal::WorkRunning { .. })));
    desk.policy.reassign_after = Duration::from_secs(600);
    let releases = |desk: &Desk| desk.agent.release_at(&desk.policy, Some(desk.now)).is_some();
    assert!(!releases(&desk));
    acted(&mut desk, Acted::Checked(1, Err(Own::LimitsNotSet.into())));
    assert!(!releases(&desk), "it is tried again here");
    desk.ask(Control::Resume);
    checked(&mut desk, 0);
    desk.hold = Some(Hold::Turn { active: 1, max: 1 });
    desk.give(WorkKind::Task, 2, "another");
    assert!(releases(&desk));
}

#[test]
fn a_check_that_cannot_be_run_pauses_the_agent_and_is_tried_again_instead_of_the_work() {
    let mut desk = at_work();
    succeeds(&mut desk);
    let step = acted(&mut desk, Acted::Checked(1, Err(Own::LimitsNotSet.into())));
    assert_eq!(step.told(), "Checkout(Failed, Paused(Failure(Permanent))");
    assert!(step.said().contains("#alerts CheckoutFailed { task: WorkId(1), act: Check"), "{}", step.said());
    assert_eq!(desk.agent.check_due(), None);
    let step = desk.ask(Control::Resume);
    assert_eq!((step.told().as_str(), step.spawns()), ("Resumed, Checkout(Reading, Checkout(Checking", 0));
    read(&mut desk, Held::default());
    assert_eq!(desk.agent.check_due(), Some((TASK, 2)));
    assert!(checked(&mut desk, 0).told().ends_with("TaskEnded(1 Done)"));
}

#[test]
fn a_message_about_a_task_is_checked_as_well() {
    let mut desk = at_work();
    succeeds(&mut desk);
    checked(&mut desk, 0);
    desk.give(WorkKind::Message, 2, "and the docs");
    desk.runs();
    assert_eq!(succeeds(&mut desk).told(), "SessionEnded(Success), Requeued(2), Checkout(Checking");
    assert_eq!(checked(&mut desk, 2).told(), "Checkout(Checked, SessionStarted(3)");
    desk.runs();
    succeeds(&mut desk);
    let step = checked(&mut desk, 0);
    assert_eq!((step.told().as_str(), desk.queue()), ("Checkout(Checked", vec![]));
    assert!(!step.said().contains("DONE"), "{}", step.said());
    // One that has put everything back has nothing to check, whatever was wrong before.
    desk.give(WorkKind::Message, 4, "put it back");
    desk.runs();
    succeeds(&mut desk);
    checked(&mut desk, 2);
    desk.runs();
    succeeds(&mut desk);
    let number = desk.agent.checkouts.all[&TASK].checks;
    let step = acted(&mut desk, Acted::Checked(number, Ok(None)));
    assert_eq!((step.told().as_str(), step.said().as_str(), desk.queue()), ("Checkout(Checked", "", vec![]));
    assert_eq!(desk.agent.finished.len(), 1, "a message is no task");
}
