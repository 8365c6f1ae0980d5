//! Tests of usage and of caps.

use super::*;
use crate::event::{PauseReason, StopReason};
use crate::outcome::Usage;
use crate::spec::Output;
use crate::usage::{Cap, Caps, Price, Reading, Unit, Window, caps_of};

const MILLION: u64 = 1_000_000;

fn tokens(input_tokens: u64) -> Usage {
    Usage { input_tokens, ..Usage::default() }
}

fn dollars(cost_usd: f64) -> Usage {
    // Tokens grow with the cost, as on a meter.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers of a test")]
    let input_tokens = (cost_usd * 1000.0) as u64;
    Usage { cost_usd, input_tokens, ..Usage::default() }
}

impl Desk {
    /// Returns a desk with a running session of an agent that is changed by `change` first.
    fn spending(runtime: Runtime, change: impl FnOnce(&mut AgentSpec)) -> Self {
        let mut spec = spec(runtime);
        change(&mut spec);
        let mut desk = Self::with(spec);
        desk.give(WorkKind::Message, 1, "count the beans");
        desk.runs();
        desk
    }

    fn reads(&mut self, usage: Usage, unpriced: Usage) -> Step {
        let reading = Reading { usage, unpriced, ..Reading::default() };
        self.signal(Signal::Usage { reading: Box::new(reading) })
    }

    fn today(&self) -> f64 {
        self.agent.books.today(self.now, None).cost_usd
    }
}

fn per_day(usd_per_day: f64) -> impl FnOnce(&mut AgentSpec) {
    move |spec| spec.caps.usd_per_day = usd_per_day
}

#[test]
fn a_session_is_stopped_at_its_cap_and_its_work_waits_for_a_person() {
    let mut desk = Desk::spending(Runtime::Claude, per_day(10.0));
    assert_eq!(desk.reads(dollars(4.0), tokens(0)).told(), "UsageRecorded");
    let step = desk.reads(dollars(5.0), tokens(0));
    assert_eq!(step.told(), "UsageRecorded, CapNear");
    assert!(!step.said().contains("#alerts"), "half of it is for the agent's own channel");
    assert_eq!(desk.reads(dollars(7.0), tokens(0)).told(), "UsageRecorded", "once for each window");
    let step = desk.reads(dollars(8.5), tokens(0));
    assert!(step.said().contains("#alerts CapNear"), "{}", step.said());
    let step = desk.reads(dollars(10.25), tokens(0));
    assert_eq!(step.told(), "UsageRecorded, StopRequested(Cap(Cap { window: Day, unit: Usd }))");
    let step = desk.fails(Category::Interrupted);
    assert_eq!(
        step.told(),
        "SessionEnded(Interrupted), Requeued(1), Paused(Cap(Cap { window: Day, unit: Usd }))"
    );
    assert!(
        step.said()
            .contains("#alerts CapReached { cap: Cap { window: Day, unit: Usd }, limit: 10.0, used: 10.25 }")
    );
    assert_eq!(
        step.effects,
        [Effect::Spent { account: "default".into() }],
        "the others of its account go on"
    );
    assert_eq!((desk.queue(), desk.agent.queue[0].attempts), (vec![1], 0));

    let step = desk.give(WorkKind::Message, 2, "more");
    assert!(matches!(step.reply, Some(Notice::QueuedWhilePaused { position: 2, .. })), "{:?}", step.reply);
    desk.tell(&Input::Started);
    assert_eq!(desk.agent.phase, Phase::Paused { reason: PauseReason::Cap(DAY) }, "across restarts");
}

const DAY: Cap = Cap { window: Window::Day, unit: Unit::Usd };

#[test]
fn a_person_lets_it_go_on_to_the_next_multiple_of_the_cap_and_no_further() {
    let mut desk = Desk::spending(Runtime::Claude, per_day(10.0));
    desk.reads(dollars(23.0), tokens(0));
    desk.fails(Category::Interrupted);
    let step = desk.ask(Control::Resume);
    assert_eq!(step.told(), "Resumed, CapWaived, SessionStarted(2)");
    assert!(step.said().contains("CapWaived { cap: Cap { window: Day, unit: Usd }, limit: 30.0 }"));
    desk.runs();
    assert_eq!(desk.reads(dollars(6.5), tokens(0)).told(), "UsageRecorded, CapNear", "of the new limit");
    assert!(desk.reads(dollars(7.25), tokens(0)).told().contains("StopRequested"), "23 and 7.25 of 30");
    desk.fails(Category::Interrupted);

    // The next day has its own limit, to which today's waiver does not apply.
    desk.pass(86_400);
    desk.ask(Control::Resume);
    desk.runs();
    assert!(desk.reads(dollars(10.0), tokens(0)).told().contains("StopRequested"));
}

#[test]
fn what_is_said_at_the_end_alone_counts_just_as_much() {
    for category in [Category::Success, Category::Crash, Category::Transient, Category::MaxTurns] {
        let mut desk = Desk::spending(Runtime::Claude, per_day(10.0));
        desk.give(WorkKind::Message, 2, "more");
        let step = desk.ends(Outcome { usage: dollars(11.0), ..Outcome::new(category, "so it ended") });
        assert!(step.told().ends_with("Paused(Cap(Cap { window: Day, unit: Usd }))"), "{}", step.told());
        assert_eq!(step.spawns(), 0);
    }
}

#[test]
fn a_crash_loop_adds_up() {
    let mut desk = Desk::spending(Runtime::Claude, per_day(10.0));
    for _ in 0..3 {
        desk.reads(dollars(3.0), tokens(0));
        desk.fails(Category::Crash);
        desk.waits();
        desk.runs();
    }
    desk.reads(dollars(1.5), tokens(0));
    assert!(matches!(desk.agent.phase, Phase::Stopping { reason: StopReason::Cap(DAY), .. }));
    assert_eq!(desk.today(), 10.5);
}

#[test]
fn a_kill_in_the_middle_of_a_turn_loses_and_doubles_nothing() {
    let mut desk = Desk::spending(Runtime::Claude, |_| {});
    desk.reads(dollars(3.0), tokens(0));
    desk.tell(&Input::Started);
    assert_eq!((desk.today(), desk.agent.totals.usage.cost_usd), (3.0, 3.0));
    assert_eq!(desk.agent.last_outcome.as_ref().map(|outcome| outcome.usage.cost_usd), Some(3.0));
    // The next process has a meter of its own.
    desk.runs();
    desk.reads(dollars(1.0), tokens(0));
    desk.ends(Outcome { usage: dollars(1.5), ..Outcome::new(Category::Success, "") });
    assert_eq!((desk.today(), desk.agent.totals.usage.cost_usd), (4.5, 4.5));
}

#[test]
fn tokens_without_a_price() {
    let price = Price { input: 2.0, cached: 0.2, output: 10.0 };
    let used =
        Usage { input_tokens: MILLION, cached_tokens: MILLION / 2, output_tokens: MILLION, ..tokens(0) };
    let mut events = Vec::new();
    for (runtime, model, cap, expected) in [
        // The sources of a price, in order: the table; a prefix in the table; no cap in dollars; the highest price;
        // the provisional price until a cost is reported.
        (Runtime::Codex, "gpt-5.4", 0.0, 11.1),
        (Runtime::Codex, "gpt-6-mini", 0.0, 11.1),
        (Runtime::Codex, "other", 0.0, 0.0),
        (Runtime::Codex, "other", 1000.0, 83.25),
        (Runtime::Claude, "other", 0.0, 27.75),
    ] {
        let mut desk = Desk::spending(runtime, |spec| {
            model.clone_into(&mut spec.model);
            spec.caps.usd_per_day = cap;
        });
        desk.policy.prices.0.extend([("gpt-5.4".to_owned(), price), ("gpt-6*".to_owned(), price)]);
        let step = desk.reads(used, used);
        events.push(step.told());
        assert_eq!(desk.reads(used, used).events, [], "nothing new");
        assert!((desk.today() - expected).abs() < 1e-9, "{model}: {}", desk.today());
        assert_eq!(desk.agent.meter.estimated_usd, desk.today());
    }
    assert_eq!(
        events,
        [
            "UsageRecorded",
            "UsageRecorded",
            "PriceUnknown, UsageRecorded",
            "PriceUnknown, UsageRecorded",
            "UsageRecorded"
        ]
    );
}

#[test]
fn claude_that_is_asked_once_names_its_cost_in_the_end_as_well() {
    for output in [Output::Claude, Output::Codex] {
        let mut desk = Desk::spending(Runtime::Command, |spec| {
            spec.output = output;
            spec.caps.usd_per_day = 1000.0;
        });
        let step = desk.reads(tokens(MILLION), tokens(MILLION));
        assert_eq!(
            step.told().contains("PriceUnknown"),
            output != Output::Claude,
            "{output:?}: {}",
            step.told()
        );
    }
}

#[test]
fn an_estimate_gives_way_to_what_the_runtime_says_and_teaches_the_next() {
    let mut desk = Desk::spending(Runtime::Claude, per_day(10.0));
    // Two million tokens would be ten dollars by the provisional price.
    let step = desk.reads(tokens(2 * MILLION), tokens(2 * MILLION));
    assert!(step.told().contains("StopRequested"));
    let said = Usage { cost_usd: 2.0, ..tokens(2 * MILLION) };
    desk.reads(said, tokens(0));
    let step = desk.ends(Outcome { usage: said, ..Outcome::new(Category::Interrupted, "") });
    assert_eq!(step.told(), "SessionEnded(Interrupted), Requeued(1), SessionStarted(2)");
    assert_eq!((desk.today(), desk.agent.rate), (2.0, Some(0.2)));
    desk.runs();
    desk.reads(tokens(2 * MILLION), tokens(2 * MILLION));
    assert_eq!(desk.today(), 4.0);
}

#[test]
fn a_cap_on_tokens_and_one_per_session() {
    let mut desk = Desk::spending(Runtime::Codex, |spec| spec.caps.tokens_per_session = 1000);
    assert_eq!(desk.reads(tokens(900), tokens(0)).told(), "UsageRecorded, CapNear");
    let step = desk.reads(tokens(1001), tokens(0));
    assert!(step.told().ends_with("StopRequested(Cap(Cap { window: Session, unit: Tokens }))"));
    let step = desk.fails(Category::Interrupted);
    assert!(step.told().ends_with("Paused(Cap(Cap { window: Session, unit: Tokens }))"));
    assert!(step.said().contains("limit: 1000.0, used: 1001.0"));
    assert_eq!(
        desk.ask(Control::Resume).told(),
        "Resumed, SessionStarted(2)",
        "a new session has a cap anew"
    );

    // A session that has finished its work is not paused for its usage.
    let mut desk = Desk::spending(Runtime::Codex, |spec| spec.max_budget_usd = 1.0);
    let step = desk.ends(Outcome { usage: dollars(1.5), ..Outcome::new(Category::Success, "") });
    assert_eq!(step.told(), "SessionEnded(Success)");
}

#[test]
fn the_budget_of_a_session_is_claudes_own_to_mind() {
    let mut desk = Desk::spending(Runtime::Claude, |spec| spec.max_budget_usd = 5.0);
    assert!(!desk.reads(dollars(5.0), tokens(0)).told().contains("StopRequested"));
    let step = desk.ends(Outcome { usage: dollars(5.0), ..Outcome::new(Category::Budget, "so much") });
    assert!(step.told().ends_with("Paused(Failure(Budget))"), "{}", step.told());

    // The runtime is also told the rest of the hour's cap, and a new hour has more.
    let mut desk = Desk::spending(Runtime::Claude, |spec| spec.caps.usd_per_hour = 5.0);
    desk.reads(dollars(4.0), tokens(0));
    desk.fails(Category::Transient);
    desk.waits();
    desk.runs();
    assert_eq!(desk.agent.allowance(desk.now), 1.0);
    desk.pass(3600);
    let hour = Duration::from_secs(3600);
    let stopped = |usage| Outcome { usage, duration: hour, ..Outcome::new(Category::Budget, "so much") };
    let step = desk.ends(stopped(dollars(1.0)));
    assert_eq!(step.told(), "SessionEnded(Budget), Requeued(1), SessionStarted(3)");
}

/// It would end in the same way repeatedly, without a pause.
#[test]
fn a_budget_that_nothing_explains_is_no_reason_to_begin_again_at_once() {
    for duration in [0, 3600] {
        let mut desk = Desk::spending(Runtime::Claude, per_day(20.0));
        desk.reads(dollars(11.0), tokens(0));
        desk.fails(Category::Transient);
        desk.waits();
        desk.runs();
        assert_eq!(desk.agent.allowance(desk.now), 9.0);
        let duration = Duration::from_secs(duration);
        let step = desk.ends(Outcome {
            usage: dollars(0.01),
            duration,
            ..Outcome::new(Category::Budget, "so much")
        });
        assert!(step.told().ends_with("Paused(Failure(Budget))"), "{}", step.told());
        assert_eq!(step.spawns(), 0);
    }
}

#[test]
fn an_unusual_hour_is_said_once() {
    let mut desk = Desk::spending(Runtime::Claude, |_| {});
    let mut sum = 0.0;
    for _ in 0..4 {
        sum += 1.0;
        assert_eq!(desk.reads(dollars(sum), tokens(0)).told(), "UsageRecorded");
        desk.pass(3600);
    }
    assert_eq!(desk.reads(dollars(sum + 2.9), tokens(0)).told(), "UsageRecorded");
    let step = desk.reads(dollars(sum + 3.5), tokens(0));
    assert_eq!(step.told(), "UsageRecorded, Spiked");
    assert!(step.said().contains("#alerts Spiked { unit: Usd, used: 3.5, usual: 1.0 }"));
    assert_eq!(desk.reads(dollars(sum + 30.0), tokens(0)).told(), "UsageRecorded");
}

#[test]
fn an_agent_that_is_removed_and_added_anew_has_its_caps_behind_it_no_more_than_before() {
    let mut desk = Desk::spending(Runtime::Claude, per_day(10.0));
    desk.reads(dollars(10.0), tokens(0));
    desk.ask(Control::Remove);
    desk.fails(Category::Interrupted);
    let mut spec = spec(Runtime::Claude);
    spec.caps.usd_per_day = 10.0;
    apply(&mut desk.agent, &Event::Added { spec: Box::new(spec), by: alice() }, desk.now);
    let step = desk.give(WorkKind::Message, 9, "again");
    assert_eq!((step.spawns(), desk.today()), (0, 10.0));
}

#[test]
fn the_books_are_bounded_and_in_order_whatever_the_clock_does() {
    let mut desk = Desk::spending(Runtime::Claude, |_| {});
    let began = desk.now;
    let mut usage = dollars(1.0);
    for n in 0..500_u64 {
        desk.now = began.after(Duration::from_secs(3600 * (n * 7 % 100)));
        usage.add(dollars(1.0));
        desk.reads(usage, tokens(0));
        let books = &desk.agent.books;
        assert!(books.hours.len() <= 48 && books.days.len() <= 35);
        assert!(books.hours.iter().is_sorted_by_key(|page| page.at));
    }
    assert_eq!(desk.agent.totals.usage.cost_usd, 501.0);
}

#[test]
fn caps_that_are_zero_are_none() {
    assert_eq!(caps_of(&spec(Runtime::Claude)).count(), 0);
    assert!(Caps::default().is_none());
}

#[test]
fn an_idle_agent_is_free_again_when_the_hour_of_its_cap_is_over() {
    let mut desk = Desk::spending(Runtime::Claude, |_| {});
    desk.reads(dollars(5.0), tokens(0));
    desk.succeeds();
    assert!(desk.agent.is_free(desk.now) && desk.agent.uncapped_at(desk.now).is_none());
    let mut capped = spec(Runtime::Claude);
    capped.caps.usd_per_hour = 4.0;
    desk.ask(Control::Edit { spec: Box::new(capped), base: None });
    assert!(!desk.agent.is_free(desk.now));
    let at = desk.agent.uncapped_at(desk.now).expect("its hour ends");
    assert!(desk.agent.is_free(at) && desk.agent.uncapped_at(at).is_none() && at > desk.now);
    // With work of its own it is paused and waits for a person.
    desk.give(WorkKind::Message, 2, "more");
    assert_eq!(desk.agent.uncapped_at(desk.now), None);
}

/// Checks that the last turn's usage is kept if the runtime reports it, with its share of the dollars if those are
/// not reported per turn.
#[test]
fn what_the_last_turn_used_is_kept_beside_the_session() {
    let mut desk = Desk::spending(Runtime::Claude, |_| ());
    let mut reads = |usage, turn| {
        let reading = Reading { usage, turn, ..Reading::default() };
        desk.signal(Signal::Usage { reading: Box::new(reading) });
        desk.agent.turn
    };
    assert_eq!(reads(tokens(1_000), tokens(1_000)), tokens(1_000), "no dollars, no share");
    let whole = Usage { cost_usd: 0.8, ..tokens(4_000) };
    let share = Usage { cost_usd: 0.4, estimated_usd: 0.4, ..tokens(2_000) };
    assert_eq!(reads(whole, tokens(2_000)), share);
    let named = Usage { cost_usd: 0.3, ..tokens(1_000) };
    assert_eq!(reads(Usage { cost_usd: 1.1, ..tokens(5_000) }, named), named);
    assert_eq!(
        reads(Usage { cost_usd: 1.2, ..tokens(5_500) }, tokens(0)),
        named,
        "nothing is known of another"
    );
    assert_eq!(desk.agent.meter.input_tokens, 5_500);

    desk.succeeds();
    assert_eq!(desk.agent.turn, named, "it stays until there is another");
    desk.give(WorkKind::Message, 2, "more");
    assert_eq!(desk.agent.turn, tokens(0));
    desk.runs();
    let usage = Usage { cost_usd: 0.5, ..tokens(700) };
    desk.ends(Outcome { usage, turns: 1, ..Outcome::new(Category::Success, "") });
    assert_eq!(desk.agent.turn, usage, "the only one is all of it");
}
