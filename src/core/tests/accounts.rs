//! The gate that the agents of one account share.

use super::*;
use crate::core::event::PauseReason;

const OF_ACCOUNT: [Category; 3] = [Category::Billing, Category::Auth, Category::Budget];

#[test]
fn a_failure_of_the_account_pauses_counts_nothing_and_closes_the_gate() {
    for category in OF_ACCOUNT {
        let mut desk = Desk::busy();
        desk.fails(Category::Transient);
        desk.waits();
        let before = desk.agent.clone();
        let step = desk.fails(category);
        assert_eq!(step.effects, [Effect::BlockAccount(category)]);
        assert_eq!(desk.agent.phase, Phase::Paused { reason: PauseReason::Failure(category) });
        let counters = |agent: &Agent| (agent.failures, agent.crashes, agent.failure_times.clone());
        assert_eq!(counters(&desk.agent), counters(&before));
        assert_eq!(desk.queue(), [1]);
        assert_eq!(desk.agent.queue[0].attempts, 1, "the transient one alone");
        assert!(!step.said().contains("#alerts"), "the one alert is the root's");
    }
}

#[test]
fn siblings_are_paused_and_told_in_their_own_channel() {
    let block = Input::AccountBlocked { category: Category::Auth };
    let mut idle = Desk::new();
    let step = idle.tell(&block);
    assert_eq!(step.said(), "PausedWithAccount { account: AccountName(\"default\"), category: Auth }");

    let mut running = Desk::busy();
    assert_eq!(running.tell(&block).told(), "StopRequested(Account(Auth))");
    let step = running.fails(Category::Auth);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Requeued(1), Paused(Account(Auth))");
    assert_eq!(step.effects, [], "the gate is closed already");

    let mut waiting = Desk::busy();
    waiting.fails(Category::Transient);
    assert_eq!(waiting.tell(&block).told(), "Paused(Account(Auth))");
    assert_eq!(waiting.tell(&block).events, []);
}

#[test]
fn opening_the_gate_resumes_whom_it_had_paused_and_nobody_else() {
    let open = Input::AccountOpened { by: bob() };
    let mut sibling = Desk::busy();
    sibling.tell(&Input::AccountBlocked { category: Category::Auth });
    sibling.fails(Category::Interrupted);
    let step = sibling.tell(&open);
    assert_eq!(step.told(), "AccountOpened, SessionStarted(2)");
    assert!(!step.effects.iter().any(|effect| matches!(effect, Effect::OpenAccount { .. })), "it is open");

    let mut failed = Desk::busy();
    failed.fails(Category::Auth);
    assert_eq!(failed.tell(&open).told(), "AccountOpened, SessionStarted(2)");

    for category in [Category::Interrupted, Category::Auth] {
        let mut paused = Desk::busy();
        paused.ask(Control::Pause { now: false });
        paused.fails(category);
        assert_eq!(paused.agent.phase, Phase::Paused { reason: PauseReason::Person(alice()) });
        assert_eq!(paused.tell(&open).events, []);
    }

    let mut exit_two = Desk::busy();
    exit_two.fails(Category::DoNotRestart);
    assert_eq!(exit_two.tell(&open).events, []);
}

#[test]
fn a_gate_that_opens_while_the_session_is_still_being_stopped_lets_it_go_on() {
    let mut desk = Desk::busy();
    desk.tell(&Input::AccountBlocked { category: Category::Billing });
    desk.tell(&Input::AccountOpened { by: bob() });
    let step = desk.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Requeued(1), SessionStarted(2)");
}

#[test]
fn resume_opens_the_gate_for_everybody() {
    let mut desk = Desk::busy();
    desk.fails(Category::Billing);
    let step = desk.ask(Control::Resume);
    assert!(step.effects.contains(&Effect::OpenAccount { by: alice() }));
    assert_eq!(step.spawns(), 1);
}

#[test]
fn an_abort_that_is_under_way_still_discards_when_the_gate_closes() {
    let mut desk = Desk::busy();
    desk.ask(Control::Abort);
    let step = desk.tell(&Input::AccountBlocked { category: Category::Billing });
    assert_eq!(step.told(), "Discarded(1 by alice), StopRequested(Account(Billing))");
    let step = desk.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Paused(Account(Billing))");
}
