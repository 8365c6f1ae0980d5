//! Tests of the state after single events.

use std::collections::VecDeque;

use super::*;
use crate::breaker::within;
use crate::event::PauseReason;

#[test]
fn a_failure_leaves_the_window_when_it_is_as_old_as_the_window_is_long() {
    let minute = Duration::from_secs(60);
    let then = Timestamp::from_seconds(1000);
    let ring = VecDeque::from([then]);
    assert_eq!(within(&ring, minute, then.after(Duration::from_millis(59_999))), 1);
    assert_eq!(within(&ring, minute, then.after(minute)), 0);
}

#[test]
fn an_account_that_fails_under_a_pending_pause_is_closed_all_the_same() {
    let mut desk = Desk::busy();
    desk.ask(Control::Pause { now: false });
    let step = desk.fails(Category::Auth);
    assert_eq!(step.effects, [Effect::BlockAccount { account: "default".into(), category: Category::Auth }]);
    assert_eq!(desk.agent.phase, Phase::Paused { reason: PauseReason::Person(alice()) });
}

#[test]
fn a_pause_that_came_is_not_pending_any_more() {
    let mut desk = Desk::busy();
    desk.ask(Control::Pause { now: false });
    assert!(desk.agent.pause_pending.is_some());
    desk.succeeds();
    assert_eq!(desk.agent.pause_pending, None);
}

#[test]
fn work_that_is_recorded_twice_is_there_once() {
    let mut desk = Desk::busy();
    let current = Event::Queued { work: desk.agent.current.clone().expect("it is busy") };
    let waiting = desk.give(WorkKind::Message, 2, "later").events.remove(0);
    for event in [current, waiting] {
        apply(&mut desk.agent, &event, desk.now);
    }
    assert_eq!(desk.queue(), [2]);
}

#[test]
fn a_session_that_is_over_leaves_no_process_and_one_that_is_being_stopped_says_since_when() {
    let mut desk = Desk::busy();
    assert!(desk.agent.process.is_some());
    desk.pass(5);
    desk.ask(Control::Abort);
    assert_eq!(desk.agent.since, desk.now);
    desk.fails(Category::Interrupted);
    assert_eq!(desk.agent.process, None);
}
