//! Tests of tasks that their agent cannot do as they are: split, or given to an agent with more permissions.

use super::*;
use crate::ask::{AskAnswer, AskKey};
use crate::card::{Card, DEPTH_MAX};
use crate::dealings::{Cut, News, Onward};
use crate::event::{PauseReason, WaitReason};
use crate::outcome::Usage;
use crate::policy::Judge;
use crate::spec::{Autonomy, Permissions};
use crate::verdict::Lapse;
use crate::watch::Why;
use crate::work::{TaskEnd, TaskReport};

/// Returns a desk with a task in progress and a model that splits tasks.
fn asking() -> Desk {
    let mut desk = Desk::busy_with_task();
    desk.policy.evaluator.judge = Judge::Asked;
    desk
}

/// Returns a desk with a task that is being split.
fn splitting() -> Desk {
    let mut desk = asking();
    desk.fails(Category::ContextOverflow);
    desk
}

fn number(desk: &Desk) -> u32 {
    desk.agent.splitting.as_ref().expect("it is being split").number
}

fn cuts(texts: &[&str]) -> Vec<Cut> {
    let cut = |(index, text): (u64, &&str)| Cut { id: WorkId(50 + index), text: (*text).to_owned() };
    (0..).zip(texts).map(cut).collect()
}

impl Desk {
    fn divided(&mut self, answer: Result<Vec<Cut>, Lapse>) -> Step {
        let number = number(self);
        self.tell(&Input::Divided { number, answer, usage: Some(Usage::default()) })
    }

    /// Returns the reason of the call for a person.
    fn called(&self) -> String {
        match &self.agent.watch.escalation.as_ref().expect("a person is called").why {
            Why::Ended { category, detail } => format!("{category:?}: {detail}"),
            other => format!("{other:?}"),
        }
    }
}

#[test]
fn a_task_that_does_not_fit_is_split_and_its_parts_go_to_the_board() {
    let mut desk = asking();
    desk.give(WorkKind::Task, 2, "next");
    let step = desk.fails(Category::ContextOverflow);
    assert_eq!(
        step.told(),
        "SessionEnded(ContextOverflow), Requeued(1), SplitBegun, Waiting(1500s Split)",
        "in one transaction"
    );
    assert_eq!(step.said(), "#work FAIL 1 context-overflow\nTaskSplitting { task: WorkId(1) }");
    assert!(step.effects.contains(&Effect::Split { number: number(&desk) }), "{:?}", step.effects);
    let kept = step.kept.first().and_then(Option::as_deref).unwrap_or_default();
    assert!(kept.contains("benchmark nemotron") && kept.contains("the context window was full"), "{kept}");

    let step = desk.divided(Ok(cuts(&["read the driver", " run it\n"])));
    assert_eq!(step.told(), "SplitEnded, TaskHandedBack, WaitOver, SessionStarted(2)");
    assert_eq!(
        step.said(),
        "TaskSplit { task: WorkId(1), parts: [WorkId(50), WorkId(51)] }\nStarted { work: \"next\" }"
    );
    let News::HandedBack { work, onward: Onward::Split(parts), by } = &desk.agent.board.news[0].news else {
        panic!("{:?}", desk.agent.board.news);
    };
    assert_eq!((work.id, by.is_herder(), work.card().attempts.len()), (WorkId(1), true, 1));
    insta::assert_snapshot!(parts[1].text, @r#"
    run it

    (This is part 2 of 2 of task 1, which was too large for one conversation: "benchmark nemotron". Do this part alone. What was done before is in the workspace, and .herder/spark/context.md says what is known of it, if it is about task 1.)
    "#);
    assert_eq!(desk.agent.splitting, None);
}

#[test]
fn what_is_known_of_the_whole_is_kept_for_its_parts() {
    for (parent, kept) in [(Some(WorkId(1)), vec![]), (None, vec![None])] {
        let mut desk = Desk::new();
        let card = Some(Box::new(Card { parent, ..Card::default() }));
        let give = Control::Give { id: WorkId(2), kind: WorkKind::Task, text: "a part".to_owned(), card };
        assert_eq!(desk.ask(give).kept, kept, "{parent:?}");
        desk.runs();
        assert_eq!(desk.succeeds().kept, kept, "{parent:?}");
    }
}

#[test]
fn the_second_try_of_what_took_too_long_is_focused_also_after_a_kill() {
    let mut desk = Desk::busy_with_task();
    desk.fails(Category::TaskTimeout);
    desk.waits();
    let step = desk.tell(&Input::Started);
    assert!(step.recap().is_some_and(|recap| recap.contains("This time be focused")), "{:?}", step.recap());
    desk.runs();
    let step = desk.fails(Category::TaskTimeout);
    assert!(step.told().ends_with("Escalated, Paused(Escalation)"), "{}", step.told());
}

#[test]
fn a_person_is_called_where_nobody_can_split_it() {
    let no_list = "ContextOverflow: its context window was full, and the evaluator's answer was no list of 2 to 5 parts";
    let late =
        "ContextOverflow: its context window was full, and the evaluator did not split the task in time";
    let table = [
        (Ok(cuts(&["one"])), no_list),
        (Ok(cuts(&["1", "2", "3", "4", "5", "6"])), no_list),
        (Ok(cuts(&["one", " "])), no_list),
        (Err(Lapse::unparsable("OK")), no_list),
        (Err(Lapse::TimedOut { after_ms: 30_000 }), late),
        (Err(Lapse::Busy), late),
        (
            Err(Lapse::missing("codex")),
            "ContextOverflow: its context window was full, and the evaluator could not split the task: codex",
        ),
    ];
    for (answer, why) in table {
        let mut desk = splitting();
        let step = desk.divided(answer);
        assert_eq!(step.told(), "SplitEnded, Escalated, Paused(Escalation)");
        assert_eq!((desk.called().as_str(), desk.queue()), (why, vec![1]), "its work is kept");
        // A person lets it try once more; it is split again if that does not help.
        assert_eq!(desk.ask(Control::Resume).told(), "EscalationAnswered, Resumed, SessionStarted(2)");
        desk.runs();
        let step = desk.fails(Category::ContextOverflow);
        assert!(step.told().ends_with("SplitBegun, Waiting(1500s Split)"), "{}", step.told());
    }
}

#[test]
fn where_no_model_is_asked_or_the_task_is_a_part_of_a_part_a_person_is_called_at_once() {
    for judge in [Judge::Off, Judge::Builtin] {
        let mut desk = Desk::busy_with_task();
        desk.policy.evaluator.judge = judge;
        let step = desk.fails(Category::ContextOverflow);
        assert!(step.told().ends_with("Requeued(1), Escalated, Paused(Escalation)"), "{}", step.told());
        assert!(desk.called().contains("nobody is asked to split the task"), "{}", desk.called());
    }
    for depth in 0..=DEPTH_MAX {
        let mut desk = Desk::new();
        desk.policy.evaluator.judge = Judge::Asked;
        let card = Some(Box::new(Card { depth, ..Card::default() }));
        let give = Control::Give { id: WorkId(1), kind: WorkKind::Task, text: "a part".to_owned(), card };
        desk.ask(give);
        desk.runs();
        desk.fails(Category::ContextOverflow);
        assert_eq!(desk.agent.splitting.is_some(), depth < DEPTH_MAX, "depth {depth}");
        let called = desk.agent.watch.escalation.is_some();
        assert!(called == (depth == DEPTH_MAX) && (!called || desk.called().contains("a part of a part")));
    }
}

#[test]
fn what_was_asked_before_herder_was_killed_is_asked_again_and_the_old_answer_says_nothing() {
    let mut desk = splitting();
    let before = number(&desk);
    let step = desk.tell(&Input::Started);
    assert_eq!(step.told(), "SplitEnded, SplitBegun, Waiting(1500s Split)");
    assert!(number(&desk) > before);
    assert_eq!(desk.agent.watch.counts.unmetered, 1, "nobody can say what the first one cost");
    let late =
        Input::Divided { number: before, answer: Ok(cuts(&["a", "b"])), usage: Some(Usage::default()) };
    assert_eq!(desk.tell(&late).events, []);
    let step = desk.divided(Ok(cuts(&["a", "b"])));
    assert_eq!(step.told(), "SplitEnded, TaskHandedBack, WaitOver");
    assert_eq!(desk.tell(&Input::Started).events, [], "once");

    // The same applies if herder was down past the deadline, since no answer could arrive.
    let mut desk = splitting();
    desk.pass(3600);
    let step = desk.tell(&Input::Started);
    assert_eq!(step.told(), "SplitEnded, SplitBegun, Waiting(1500s Split)");
    let step = desk.divided(Ok(cuts(&["a", "b"])));
    assert_eq!(step.told(), "SplitEnded, TaskHandedBack, WaitOver");

    // No evaluator is configured any more.
    let mut desk = splitting();
    desk.policy.evaluator.judge = Judge::Builtin;
    assert_eq!(desk.tell(&Input::Started).told(), "SplitEnded, Escalated, Paused(Escalation)");
}

#[test]
fn what_it_costs_counts_against_the_agent_whatever_came_of_it() {
    let mut desk = splitting();
    let usage = Usage { input_tokens: 1000, cost_usd: 0.5, ..Usage::default() };
    let number = number(&desk);
    let step = desk.tell(&Input::Divided { number, answer: Err(Lapse::Busy), usage: Some(usage) });
    assert!(step.effects.contains(&Effect::Spent { account: "default".into() }), "{:?}", step.effects);
    assert_eq!(desk.agent.totals.usage.cost_usd, 0.5);
    // The same applies to an answer that comes too late.
    desk.tell(&Input::Divided { number, answer: Ok(cuts(&["a", "b"])), usage: Some(usage) });
    assert_eq!((desk.agent.totals.usage.cost_usd, desk.queue()), (1.0, vec![1]));
}

#[test]
fn nobody_waits_for_ever() {
    let mut desk = splitting();
    let (wait, step) = desk.waits();
    assert_eq!((wait, step.told().as_str()), (1500, "SplitEnded, Escalated, Paused(Escalation)"));
    assert!(desk.called().contains("in time"), "{}", desk.called());
    // It ends, and is counted once with an unknown cost.
    assert_eq!(desk.agent.watch.counts.unmetered, 0);
    let number = desk.agent.watch.last;
    desk.tell(&Input::Divided { number, answer: Err(Lapse::Overtaken), usage: None });
    assert_eq!(desk.agent.watch.counts.unmetered, 1);
}

#[test]
fn people_go_before_the_split() {
    // The task was given up, moved, or split by a person: the answer is ignored.
    let assign = Control::HandBack { task: WorkId(1), onward: Onward::To(None) };
    let by_hand = Control::HandBack { task: WorkId(1), onward: Onward::Split(cuts(&["a", "b"])) };
    for control in [Control::Abort, Control::CancelTask(WorkId(1)), assign, by_hand] {
        let mut desk = splitting();
        let number = number(&desk);
        desk.ask(control.clone());
        assert_eq!((&desk.agent.phase, &desk.agent.splitting), (&Phase::Idle, &None), "{control:?}");
        let late = Input::Divided { number, answer: Ok(cuts(&["c", "d"])), usage: Some(Usage::default()) };
        assert_eq!(desk.tell(&late).events, [], "{control:?}");
    }
    // A clean session is what was asked for.
    let mut desk = splitting();
    assert_eq!(desk.ask(Control::Restart).told(), "Reset, WaitOver, SessionStarted(2)");
    assert_eq!(desk.agent.splitting, None);
    // A pause does not end the split, and after a resume the agent waits for it.
    let mut desk = splitting();
    desk.ask(Control::Pause { now: false });
    let step = desk.ask(Control::Resume);
    assert_eq!(step.told(), "Resumed, Waiting(1500s Split)");
    desk.ask(Control::Pause { now: false });
    let step = desk.divided(Ok(cuts(&["a", "b"])));
    assert_eq!(step.told(), "SplitEnded, TaskHandedBack");
    assert!(matches!(desk.agent.phase, Phase::Paused { reason: PauseReason::Person(_) }));
    // A removed agent's split ends, with an unknown cost.
    let mut desk = splitting();
    let step = desk.ask(Control::Remove);
    assert!(step.told().contains("SplitEnded"), "{}", step.told());
}

#[test]
fn what_comes_in_meanwhile_waits_behind_the_task() {
    let mut desk = splitting();
    desk.ask(Control::Give { id: WorkId(3), kind: WorkKind::Message, text: "hello".to_owned(), card: None });
    assert_eq!(desk.queue(), [1, 3]);
    assert!(matches!(desk.agent.phase, Phase::Waiting { reason: WaitReason::Split, .. }));
    assert_eq!(desk.tell(&Input::Promoted).events, []);
    let step = desk.divided(Ok(cuts(&["a", "b"])));
    assert!(step.told().ends_with("WaitOver, SessionStarted(2)"), "{}", step.told());
}

/// Returns a desk with a task that an agent with `permissions` has.
fn may(permissions: Permissions) -> Desk {
    let mut desk = Desk::with(AgentSpec { permissions, ..spec(Runtime::Command) });
    desk.give(WorkKind::Task, 1, "push it");
    desk.runs();
    desk
}

#[test]
fn a_task_that_was_denied_goes_to_an_agent_that_may_do_more() {
    for (permissions, least) in [
        (Permissions::ReadOnly, Permissions::WorkspaceWrite),
        (Permissions::WorkspaceWrite, Permissions::Full),
    ] {
        let mut desk = may(permissions);
        desk.broader = true;
        desk.give(WorkKind::Task, 2, "next");
        let step = desk.fails(Category::SandboxDenial);
        assert_eq!(
            step.told(),
            "SessionEnded(SandboxDenial), Requeued(1), TaskHandedBack, SessionStarted(2)"
        );
        let said = format!("TaskNeedsMore {{ task: WorkId(1), permissions: {least:?} }}");
        assert_eq!(
            step.said(),
            format!("#work BLOCKED 1 sandbox-denied\n{said}\nStarted {{ work: \"next\" }}")
        );
        let News::HandedBack { work, .. } = &desk.agent.board.news[0].news else {
            panic!("it is handed back")
        };
        assert_eq!(work.card().needs.permissions, Some(least), "never back to one as narrow");
    }
}

/// The agent asks for something that its permissions do not cover.
pub(super) fn asks(desk: &mut Desk, key: u64, command: &str) {
    let (tool, command) = ("Bash".to_owned(), command.to_owned());
    desk.signal(Signal::Asked { key: AskKey(key), tool, command, redacted: None, shell: true, vague: false });
}

fn says_blocked(desk: &mut Desk, denied: impl Into<Option<bool>>) {
    let (session, note) = (desk.session(), "it cannot be written to".to_owned());
    let report = TaskReport { end: TaskEnd::Blocked, note, denied: denied.into(), opinion: None };
    desk.tell(&Input::Reported { session, report });
}

#[test]
fn what_an_agent_says_again_of_its_task_is_noted_once() {
    let mut desk = may(Permissions::Full);
    let session = desk.session();
    let mut says = |note: &str| {
        let report = TaskReport { end: TaskEnd::Done, note: note.to_owned(), denied: None, opinion: None };
        desk.tell(&Input::Reported { session, report }).told()
    };
    let told: Vec<String> = ["green", "green", " green\n", "red", "green"].map(&mut says).into();
    assert_eq!(told, ["TaskReported", "", "", "TaskReported", "TaskReported"]);
}

#[test]
fn an_agent_that_says_that_it_is_denied_what_its_task_needs_hands_it_on_however_well_its_session_ended() {
    let strict = |desk: &mut Desk| {
        let spec = desk.agent.spec.clone().expect("it was added");
        desk.ask(Control::Edit {
            spec: Box::new(AgentSpec { autonomy: Autonomy::Strict, ..spec }),
            base: None,
        });
        asks(desk, 1, "touch /etc/motd");
    };
    let answered = |desk: &mut Desk, answer| {
        asks(desk, 1, "touch /etc/motd");
        let ask = desk.agent.asks.first().expect("it is open").id;
        desk.ask(Control::Answer { ask, answer });
    };
    let unheard = |desk: &mut Desk, command| {
        asks(desk, 1, command);
        desk.now = desk.agent.asks.first().expect("it is open").until;
        desk.tell(&Input::Tick);
    };
    type Does<'a> = &'a dyn Fn(&mut Desk);
    let table: [(&str, Does<'_>, Option<bool>, bool); 12] = [
        ("says nothing of a denial", &|_| {}, None, false),
        ("says it itself", &|_| {}, Some(true), true),
        ("denied by its autonomy", &|desk| strict(desk), None, true),
        // Its own report takes precedence over an earlier denial.
        ("denied by its autonomy, and not for that", &|desk| strict(desk), Some(false), false),
        ("nobody answered, and not for that", &|desk| unheard(desk, "touch /etc/motd"), Some(false), false),
        ("denied by nobody", &|_| {}, Some(false), false),
        ("nobody answered", &|desk| unheard(desk, "touch /etc/motd"), None, true),
        // These must not be evaded through an agent with more permissions, nor may a person's denial.
        ("always asked", &|desk| unheard(desk, "git push"), Some(true), false),
        ("a person said no", &|desk| answered(desk, AskAnswer::Deny), Some(true), false),
        ("a person said yes", &|desk| answered(desk, AskAnswer::Allow { always: false }), None, false),
        (
            "allowed at last",
            &|desk| {
                unheard(desk, "touch /etc/motd");
                answered(desk, AskAnswer::Allow { always: false });
            },
            None,
            false,
        ),
        // A denial in another session.
        (
            "of before",
            &|desk| {
                unheard(desk, "touch /etc/motd");
                desk.fails(Category::MaxTurns);
                desk.runs();
            },
            None,
            false,
        ),
    ];
    for (what, does, says, hands_on) in table {
        let mut desk = may(Permissions::ReadOnly);
        desk.broader = true;
        does(&mut desk);
        says_blocked(&mut desk, says);
        let step = desk.succeeds();
        if hands_on {
            assert_eq!(step.told(), "SessionEnded(SandboxDenial), Requeued(1), TaskHandedBack", "{what}");
            assert!(step.said().starts_with("#work BLOCKED 1 sandbox-denied\n"), "{what}: {}", step.said());
        } else {
            assert_eq!(step.told(), "SessionEnded(Success), TaskEnded(1 Blocked)", "{what}");
            assert!(step.said().contains("#work BLOCKED 1 reported"), "{what}: {}", step.said());
        }
    }
}

/// Checks that a limit met after the agent's report on its task does not call a person.
#[test]
fn a_session_that_meets_a_limit_after_its_agent_has_reported_calls_nobody_and_the_next_work_follows() {
    let reports = |desk: &mut Desk, end| {
        let (session, note) = (desk.session(), "said so".to_owned());
        desk.tell(&Input::Reported {
            session,
            report: TaskReport { end, note, denied: None, opinion: None },
        });
    };
    for category in [Category::TaskTimeout, Category::ContextOverflow, Category::SandboxDenial] {
        for end in [TaskEnd::Done, TaskEnd::Failed] {
            let mut desk = asking();
            desk.fails(Category::TaskTimeout);
            desk.waits();
            desk.runs();
            desk.give(WorkKind::Task, 2, "next");
            reports(&mut desk, end);
            let step = desk.fails(category);
            assert_eq!(
                step.told(),
                format!("SessionEnded({category:?}), TaskEnded(1 {end:?}), SessionStarted(3)")
            );
            assert_eq!((desk.agent.failures, &desk.agent.watch.escalation), (2, &None), "it counts");
            if end == TaskEnd::Done {
                assert_eq!(step.said(), "#work DONE 1\nStarted { work: \"next\" }");
            }
        }
    }
    // One that crashes is no good for the next work, either.
    let mut desk = asking();
    reports(&mut desk, TaskEnd::Done);
    let step = desk.fails(Category::Crash);
    assert_eq!(step.told(), "SessionEnded(Crash), TaskEnded(1 Done), Waiting(1s Backoff(Crash))");
}

/// The same applies if the agent itself ends with the denial.
#[test]
fn past_a_persons_no_no_other_agent_is_let() {
    let denied = || {
        let mut desk = may(Permissions::ReadOnly);
        desk.broader = true;
        asks(&mut desk, 1, "touch /etc/motd");
        let ask = desk.agent.asks.first().expect("it is open").id;
        desk.ask(Control::Answer { ask, answer: AskAnswer::Deny });
        desk
    };
    let mut desk = denied();
    says_blocked(&mut desk, true);
    let step = desk.fails(Category::SandboxDenial);
    assert!(step.told().starts_with("SessionEnded(SandboxDenial), TaskEnded(1 Blocked)"), "{}", step.told());
    assert!(!step.told().contains("TaskHandedBack"), "{}", step.told());

    let mut desk = denied();
    let step = desk.fails(Category::SandboxDenial);
    assert!(step.told().ends_with("Requeued(1), Escalated, Paused(Escalation)"), "{}", step.told());
    assert_eq!(desk.called(), "SandboxDenial: went wrong");
}

#[test]
fn what_a_person_stops_is_not_handed_on_and_who_is_called_reads_what_it_needs() {
    // A pause was requested: the task is blocked, and a person is present already.
    let mut desk = may(Permissions::ReadOnly);
    desk.broader = true;
    says_blocked(&mut desk, true);
    desk.ask(Control::Pause { now: false });
    assert_eq!(desk.succeeds().told(), "SessionEnded(Success), TaskEnded(1 Blocked), Paused(alice)");

    let mut desk = may(Permissions::Full);
    says_blocked(&mut desk, true);
    let step = desk.succeeds();
    assert!(step.told().ends_with("Requeued(1), Escalated, Paused(Escalation)"), "{}", step.told());
    assert!(
        desk.called().ends_with("no other agent may do more: it cannot be written to"),
        "{}",
        desk.called()
    );
    // A report counts once: the next session is judged by itself.
    desk.ask(Control::Resume);
    desk.runs();
    assert_eq!(desk.succeeds().told(), "SessionEnded(Success), TaskEnded(1 Done)");
}

#[test]
fn a_person_is_called_where_nobody_may_do_more() {
    for (permissions, broader) in [(Permissions::Full, true), (Permissions::ReadOnly, false)] {
        let mut desk = may(permissions);
        desk.broader = broader;
        let step = desk.fails(Category::SandboxDenial);
        assert!(step.told().ends_with("Requeued(1), Escalated, Paused(Escalation)"), "{}", step.told());
        assert_eq!(
            desk.called(),
            "SandboxDenial: its sandbox denied what the task needs, and no other agent may do more: went wrong"
        );
        // An agent with more permissions was added meanwhile.
        desk.ask(Control::Resume);
        desk.runs();
        desk.broader = permissions == Permissions::ReadOnly;
        let step = desk.fails(Category::SandboxDenial);
        assert_eq!(step.told().contains("TaskHandedBack"), desk.broader, "{}", step.told());
    }
}

#[test]
fn what_is_no_task_is_tried_again_by_its_agent() {
    for category in [Category::ContextOverflow, Category::SandboxDenial] {
        let mut desk = Desk::busy();
        desk.policy.evaluator.judge = Judge::Asked;
        desk.broader = true;
        let step = desk.fails(category);
        let notice = if category == Category::ContextOverflow { "Overflowed" } else { "Permanent" };
        let said = format!("{notice} {{ detail: \"went wrong\", restart_in: 10s }}");
        assert_eq!(step.said(), said, "{category:?}");
        assert_eq!(desk.waits().1.spawns(), 1);
    }
}

/// Models a split that fails while the agent is paused because its account is closed.
#[test]
fn an_account_that_is_opened_again_starts_nothing_while_a_person_is_called() {
    let mut desk = splitting();
    desk.tell(&Input::AccountBlocked { category: Category::Billing });
    let step = desk.divided(Err(Lapse::Busy));
    assert_eq!(step.told(), "SplitEnded, Escalated");
    let step = desk.tell(&Input::AccountOpened { by: bob() });
    assert_eq!(step.told(), "AccountOpened, Paused(Escalation)");
    let step = desk.ask(Control::Resume);
    assert!(step.told().ends_with("SessionStarted(2)"), "{}", step.told());
}
