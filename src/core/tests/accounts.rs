//! The gate that the agents of one account share.

use super::*;
use crate::event::PauseReason;
use crate::id::AccountName;
use crate::notice::Halt;
use crate::outcome::Usage;
use crate::promotion::Hold;

const OF_ACCOUNT: [Category; 3] = [Category::Billing, Category::Auth, Category::Budget];

#[test]
fn a_failure_of_the_account_pauses_counts_nothing_and_closes_the_gate() {
    for category in OF_ACCOUNT {
        let mut desk = Desk::busy();
        desk.fails(Category::Transient);
        desk.waits();
        let before = desk.agent.clone();
        let step = desk.fails(category);
        assert_eq!(step.effects, [Effect::BlockAccount { account: "default".into(), category }]);
        assert_eq!(desk.agent.phase, Phase::Paused { reason: PauseReason::Failure(category) });
        let counters = |agent: &Agent| (agent.failures, agent.crashes, agent.failure_times.clone());
        assert_eq!(counters(&desk.agent), counters(&before));
        assert_eq!(desk.queue(), [1]);
        assert_eq!(desk.agent.queue[0].attempts, 1, "the transient one alone");
        assert!(!step.said().contains("#alerts"), "the one alert is the root's");
    }
}

#[test]
fn what_a_session_began_on_pays_for_it_and_is_closed_by_its_failure_whatever_the_agent_is_changed_to() {
    let edit = |desk: &mut Desk, account: &str| {
        let spec = AgentSpec { account: account.into(), ..desk.agent.spec.clone().expect("there") };
        desk.ask(Control::Edit { spec: Box::new(spec), base: None });
    };
    for category in [Category::Auth, Category::Quota, Category::Success] {
        let mut desk = Desk::busy();
        edit(&mut desk, "b");
        edit(&mut desk, "c");
        let usage = Usage { input_tokens: 1000, cost_usd: 2.0, ..Usage::default() };
        let old = AccountName::from("default");
        let step = desk.ends(Outcome { usage, ..Outcome::new(category, "") });
        let spent = Effect::Spent { account: old.clone() };
        assert!(step.effects.contains(&spent), "{:?}", step.effects);
        let shown = match category {
            Category::Auth => Effect::BlockAccount { account: old.clone(), category },
            Category::Quota => Effect::Exhausted { account: old.clone(), resets_at: None },
            _ => Effect::Proved { account: old.clone() },
        };
        assert!(step.effects.contains(&shown), "{:?}", step.effects);
        assert_eq!(desk.agent.exhausted, None, "it has left that account");
        assert!(!step.said().contains("QuotaReached"), "it waits for no account: {}", step.said());
        let booked = |account: &AccountName| desk.agent.books.today(desk.now, Some(account)).cost_usd;
        assert_eq!((booked(&old), booked(&"b".into()), booked(&"c".into())), (2.0, 0.0, 0.0));
        // The next session is on the new account.
        desk.give(WorkKind::Task, 2, "more");
        if desk.agent.session().is_none() {
            desk.ask(Control::Restart);
        }
        desk.runs();
        let step = desk.ends(Outcome { usage, ..Outcome::new(Category::Auth, "") });
        let blocked = Effect::BlockAccount { account: "c".into(), category: Category::Auth };
        assert!(step.effects.contains(&blocked), "{:?}", step.effects);
    }
}

#[test]
fn a_session_on_an_account_that_its_agent_has_left_ends_with_it_and_its_work_goes_on_elsewhere() {
    let closed = |account: &str| Input::LeftAccountBlocked { account: account.into() };
    let mut desk = Desk::busy();
    assert_eq!(desk.tell(&closed("default")).events, [], "it has not left it");
    let spec = AgentSpec { account: "b".into(), ..desk.agent.spec.clone().expect("there") };
    desk.ask(Control::Edit { spec: Box::new(spec), base: None });
    assert_eq!(desk.tell(&closed("c")).events, [], "its session costs nothing there");
    let step = desk.tell(&closed("default"));
    assert_eq!(
        (step.told(), step.said()),
        ("StopRequested(Configured)".into(), "Stopping { reason: Configured }".into())
    );
    assert_eq!(desk.tell(&closed("default")).events, []);
    let step = desk.fails(Category::Interrupted);
    assert_eq!(step.told(), "SessionEnded(Interrupted), Requeued(1), SessionStarted(2)");
    assert_eq!((desk.agent.session_account(), desk.agent.failures), ("b".into(), 0));
    desk.runs();
    assert_eq!(desk.tell(&closed("default")).events, [], "that is over");
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
    assert_eq!(step.opens(), ["default"]);
    assert_eq!(step.spawns(), 1);
}

#[test]
fn resume_opens_the_account_of_the_failure_too_where_the_agent_has_left_it() {
    let edit = |desk: &mut Desk, account: &str| {
        let spec = AgentSpec { account: account.into(), ..desk.agent.spec.clone().expect("there") };
        desk.ask(Control::Edit { spec: Box::new(spec), base: None });
    };
    for category in OF_ACCOUNT {
        // During its session, and after that had failed.
        for before in [true, false] {
            let mut desk = Desk::busy();
            if before {
                edit(&mut desk, "other");
            }
            desk.fails(category);
            if !before {
                edit(&mut desk, "other");
            }
            assert_eq!(desk.agent.session_account(), "default".into());
            let step = desk.ask(Control::Resume);
            assert_eq!((step.opens(), step.spawns()), (vec!["other", "default"], 1));
            // The next failure is the new account's.
            desk.runs();
            let step = desk.fails(category);
            assert!(step.effects.contains(&Effect::BlockAccount { account: "other".into(), category }));
            assert_eq!(desk.ask(Control::Resume).opens(), ["other"]);
        }
        let mut back = Desk::busy();
        back.fails(category);
        edit(&mut back, "other");
        edit(&mut back, "default");
        assert_eq!(back.ask(Control::Resume).opens(), ["default"]);
    }
    let mut paused = Desk::busy();
    edit(&mut paused, "other");
    paused.ask(Control::Pause { now: false });
    paused.succeeds();
    assert_eq!(
        paused.ask(Control::Resume).opens(),
        ["other"],
        "nothing was said of the account that it has left"
    );
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

#[test]
fn the_usage_limit_of_the_account_is_not_the_agents_failure_and_its_work_waits() {
    let mut desk = Desk::busy_with_task();
    let reset = desk.now.after(Duration::from_secs(3600));
    let step = desk.ends(Outcome { resets_at: Some(reset), ..Outcome::new(Category::Quota, "limit") });
    assert_eq!(step.told(), "SessionEnded(Quota), Requeued(1)");
    let exhausted = Effect::Exhausted { account: "default".into(), resets_at: Some(reset) };
    assert!(step.effects.contains(&exhausted), "{:?}", step.effects);
    assert_eq!((desk.agent.phase.clone(), desk.agent.wants()), (Phase::Idle, Some(desk.now)));
    assert_eq!(
        (desk.agent.failures, desk.agent.failure_times.len(), desk.agent.queue[0].attempts),
        (0, 0, 0)
    );
    assert_eq!(desk.agent.exhausted, Some(desk.now));
    // Only a place at work starts it again.
    assert_eq!(desk.tell(&Input::Tick).events, []);
    assert_eq!(desk.tell(&Input::Promoted).told(), "SessionStarted(2)");
    desk.runs();
    let step = desk.succeeds();
    assert!(step.effects.contains(&Effect::Proved { account: "default".into() }), "{:?}", step.effects);
    assert_eq!(desk.agent.exhausted, None);
}

#[test]
fn whoever_is_told_that_it_is_their_turn_begins_only_if_they_still_can() {
    let mut desk = Desk::busy();
    desk.fails(Category::Quota);
    desk.ask(Control::Pause { now: false });
    assert_eq!(desk.agent.wants(), None);
    assert_eq!(desk.tell(&Input::Promoted).events, []);
    desk.ask(Control::Resume);
    assert_eq!(desk.tell(&Input::Promoted).events, [], "it works already");
}

#[test]
fn an_agent_that_waits_for_its_account_is_resumed_and_its_work_given_up() {
    let closed = || Hold::Closed { account: "default".into(), category: Category::Quota, until: None };
    let mut desk = Desk::busy();
    desk.fails(Category::Quota);
    assert_eq!(
        desk.try_ask(Control::Resume).map(|step| step.spawns()),
        Err(Refusal::NotPaused { agent: desk.name() })
    );
    desk.hold = Some(closed());
    let step = desk.ask(Control::Resume);
    assert_eq!((step.told().as_str(), step.spawns()), ("Resumed", 0));
    assert_eq!(step.opens(), ["default"]);
    let step = desk.give(WorkKind::Message, 2, "more");
    assert_eq!(
        step.reply,
        Some(Notice::QueuedWhilePaused {
            agent: desk.name(),
            work: WorkId(2),
            kind: WorkKind::Message,
            position: 2,
            why: Halt::Held(closed()),
        })
    );
    assert_eq!(desk.ask(Control::Abort).told(), "Discarded(1 by alice)");
    assert_eq!(desk.queue(), [2]);
}

#[test]
fn whoever_waits_for_an_account_and_is_changed_has_it_looked_at() {
    let edit = |desk: &mut Desk| {
        let spec = AgentSpec { account: "other".into(), ..desk.agent.spec.clone().expect("there") };
        desk.ask(Control::Edit { spec: Box::new(spec), base: None })
    };
    let looks = |step: &Step| step.effects.contains(&Effect::LookAtAccount);
    let mut desk = Desk::new();
    assert!(!looks(&edit(&mut desk)), "it waits for nothing");
    desk.tell(&Input::AccountBlocked { category: Category::Auth });
    assert!(looks(&edit(&mut desk)));
    let mut desk = Desk::busy();
    desk.tell(&Input::AccountBlocked { category: Category::Auth });
    assert!(looks(&edit(&mut desk)), "it is being stopped for that");
    let mut desk = Desk::busy();
    desk.fails(Category::Auth);
    assert!(!looks(&edit(&mut desk)), "its own failure was another account's");
}
