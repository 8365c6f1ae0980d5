//! Tests of waiting work: accepted, answered, steered into a turn, taken back.

use super::*;
use crate::agent::{QUEUE_MAX, WORK_TEXT_MAX};
use crate::event::PauseReason;
use crate::notice::Halt;
use crate::work::TaskEnd;

fn name() -> AgentName {
    AgentName::new("spark").expect("a good name")
}

#[test]
fn work_is_answered_with_its_position_and_with_why_it_waits() {
    let mut desk = Desk::new();
    let kind = WorkKind::Message;
    let step = desk.give(kind, 1, "one");
    assert_eq!(step.reply, Some(Notice::Accepted { agent: name(), work: WorkId(1), kind }));
    let step = desk.give(kind, 2, "two");
    assert_eq!(step.reply, Some(Notice::Queued { agent: name(), work: WorkId(2), kind, position: 1 }));
    let step = desk.give(kind, 3, "three");
    assert_eq!(step.reply, Some(Notice::Queued { agent: name(), work: WorkId(3), kind, position: 2 }));
    desk.fails(Category::Billing);
    let step = desk.give(kind, 4, "four");
    let why = Halt::Paused(PauseReason::Failure(Category::Billing));
    let queued = Notice::QueuedWhilePaused { agent: name(), work: WorkId(4), kind, position: 4, why };
    assert_eq!(step.reply, Some(queued));
    assert_eq!(desk.queue(), [1, 2, 3, 4]);
}

#[test]
fn work_that_cannot_be_taken_is_refused_with_the_reason() {
    let mut desk = Desk::busy();
    let mut give = |text: String| {
        desk.ids += 1;
        let id = WorkId(10_000 + desk.ids);
        desk.try_ask(Control::Give { id, kind: WorkKind::Message, text, card: None }).map(|_| ())
    };
    assert_eq!(give(" \t ".to_owned()), Err(Refusal::EmptyWork { agent: name() }));
    assert!(matches!(give("x".repeat(WORK_TEXT_MAX + 1)), Err(Refusal::WorkTooLong { .. })));
    for _ in 0..QUEUE_MAX {
        assert_eq!(give("x".to_owned()), Ok(()));
    }
    assert_eq!(give("x".to_owned()), Err(Refusal::QueueFull { agent: name(), max: 1000 }));
}

#[test]
fn a_message_to_a_running_turn_is_steered_and_stays_queued_until_it_arrived() {
    let mut desk = Desk::with(spec(Runtime::Claude));
    desk.give(WorkKind::Message, 1, "count the beans");
    desk.runs();
    let step = desk.give(WorkKind::Message, 2, "the red ones");
    assert_eq!(step.reply, Some(Notice::Steering { agent: name(), work: WorkId(2) }));
    let session = desk.session();
    let steer = Effect::Steer { session, work: WorkId(2), text: "the red ones".to_owned() };
    assert_eq!(step.effects, [steer]);
    assert_eq!(desk.queue(), [2]);
    let step = desk.give(WorkKind::Task, 3, "a task is never steered");
    assert_eq!(step.effects, []);
    desk.signal(Signal::Steered { work: WorkId(2) });
    assert_eq!(desk.queue(), [3]);
    assert_eq!(desk.signal(Signal::Steered { work: WorkId(2) }).events, [], "said twice, counted once");
    // The turn that had it is lost: the next session gets it again.
    desk.fails(Category::Hung);
    let (_, step) = desk.waits();
    assert!(step.recap().is_some_and(|recap| recap.contains("the red ones")));
}

#[test]
fn what_the_running_session_was_handed_cannot_be_taken_back() {
    let mut desk = Desk::with(spec(Runtime::Claude));
    desk.give(WorkKind::Message, 1, "count the beans");
    desk.runs();
    desk.give(WorkKind::Message, 2, "the red ones");
    desk.handed.insert(WorkId(2));
    let reword = || Control::Reword { id: WorkId(2), text: "the green ones".to_owned() };
    for control in [Control::Withdraw(WorkId(2)), reword(), Control::Clear] {
        assert_eq!(desk.try_ask(control).unwrap_err(), Refusal::WorkRunning { agent: name() });
    }
    desk.give(WorkKind::Message, 3, "all of them");
    let step = desk.ask(Control::Clear);
    assert_eq!(step.reply, Some(Notice::Cleared { agent: name(), count: 1 }));
    assert_eq!(desk.queue(), [2], "what can still be taken back is");
    // It was not delivered: it is in the queue alone.
    desk.handed.clear();
    desk.ask(reword());
    desk.ask(Control::Withdraw(WorkId(2)));
    assert!(desk.queue().is_empty());
}

#[test]
fn what_is_said_while_a_session_comes_up_is_offered_to_its_first_turn() {
    let steered = |runtime| {
        let mut desk = Desk::with(spec(runtime));
        desk.ask(Control::Pause { now: false });
        desk.give(WorkKind::Message, 1, "count the beans");
        desk.give(WorkKind::Message, 2, "and the peas");
        desk.pass(1);
        desk.ask(Control::Resume);
        desk.give(WorkKind::Message, 3, "the red ones");
        desk.give(WorkKind::Task, 4, "a task is never steered");
        desk.give(WorkKind::Message, 5, "all of them");
        let step = desk.signal(Signal::Ready { conversation: None });
        let offered = step.effects.iter().filter_map(|effect| match effect {
            Effect::Steer { work, .. } => Some(work.0),
            _ => None,
        });
        (offered.collect::<Vec<_>>(), desk.queue())
    };
    let queue = vec![2, 3, 4, 5];
    assert_eq!(steered(Runtime::Claude), (vec![3, 5], queue.clone()), "what waited before has its own turn");
    assert_eq!(steered(Runtime::Acp), (Vec::new(), queue));
}

#[test]
fn tasks_are_cancelled_queued_or_running_and_only_once() {
    let mut desk = Desk::busy_with_task();
    desk.give(WorkKind::Task, 2, "second");
    desk.give(WorkKind::Message, 3, "third");
    let step = desk.ask(Control::CancelTask(WorkId(2)));
    assert_eq!(step.told(), "TaskEnded(2 Cancelled)");
    let refusal = desk.try_ask(Control::CancelTask(WorkId(2))).unwrap_err();
    assert_eq!(refusal, Refusal::TaskOver { task: WorkId(2), end: TaskEnd::Cancelled });
    for unknown in [3, 99] {
        let refusal = desk.try_ask(Control::CancelTask(WorkId(unknown))).unwrap_err();
        assert_eq!(refusal, Refusal::NoSuchTask { task: WorkId(unknown) });
    }
    let step = desk.ask(Control::CancelTask(WorkId(1)));
    assert_eq!(step.told(), "StopRequested(Cancel)");
    let step = desk.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Interrupted), TaskEnded(1 Cancelled), SessionStarted(2)");
}

#[test]
fn clear_drops_messages_and_leaves_tasks() {
    let mut desk = Desk::busy();
    assert_eq!(desk.try_ask(Control::Clear).unwrap_err(), Refusal::QueueEmpty { agent: name() });
    desk.give(WorkKind::Message, 2, "b");
    desk.give(WorkKind::Task, 3, "c");
    desk.give(WorkKind::Message, 4, "d");
    let step = desk.ask(Control::Clear);
    assert_eq!(step.reply, Some(Notice::Cleared { agent: name(), count: 2 }));
    assert_eq!(desk.queue(), [3]);
    assert_eq!(desk.agent.current.as_ref().map(|work| work.id), Some(WorkId(1)));
}
