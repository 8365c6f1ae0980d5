//! The core under random histories: commands, drivers, time, panics and kills of herder itself, in any order.
//!
//! The simulation stands in for supervisor and driver: it carries decisions out event by event, knows which process is
//! alive, and checks every invariant after every event. Each invariant is one function with a sentence for a name, and
//! judges by what the simulation has seen itself, not by the core's own counters.

mod invariants;
mod totality;
mod turns;
mod world;

use herder::core::input::Clock;
use herder::core::outcome::Category;
use herder::core::spec::Runtime;
use herder::core::work::TaskEnd;
use proptest::prelude::*;
use proptest::sample::Index;

use self::world::{Ask, World};

/// Something that happens to the agent.
#[derive(Debug, Clone)]
enum Happening {
    /// Time passes, in milliseconds.
    Passes(u64),
    /// The countdown, if one runs, is waited for; `early`: not quite.
    Countdown { early: bool },
    /// A person asks for something.
    Asks(Ask),
    /// The account's gate closes.
    AccountBlocked(Category),
    /// The account's gate opens.
    AccountOpened,
    /// All places are taken, from now on.
    Held,
    /// The agent gets its turn.
    Promoted,
    /// The process was started and its runtime is up.
    Comes { conversation: bool },
    /// A message reached the turn: one that waits, or one that never did.
    Steered(Index),
    /// The agent says how its task stands.
    Reports(TaskEnd),
    /// The agent calls a tool, and gets what is whispered to it.
    TakesWhispers,
    /// A whisper reached the turn.
    WhisperSteered,
    /// A turn ended.
    Turn,
    /// The agent spends that many quarters of a dollar.
    Spends(u32),
    /// A clock ran out.
    ClockRanOut(Clock),
    /// The runtime asks for permission; some of it is always asked.
    Wants { what: u8 },
    /// The runtime does not wait for an answer any more.
    Unasks(Index),
    /// The agent asks a question of its own.
    Questions { what: u8 },
    /// The session ended.
    Ends { category: Category, resets_in: Option<i64>, survivors: bool },
    /// The driver of an earlier session speaks up.
    Stale(Category),
    /// The driver says nothing.
    DriverSilent,
    /// The agent's model answers, and does one of a few things.
    Observed(u8),
    /// The evaluation that runs comes to something, or one before it does.
    Judged { how: u8, late: bool },
    /// The task that is being split comes to something, or the one before it does.
    Divided { how: u8, late: bool },
    /// Another agent may do more from now on, or none may.
    Broader(bool),
    /// The supervisor panics and is rebuilt.
    Panic,
    /// herder goes down in order, the session finishes meanwhile, and herder is started again.
    GoesDown { down: u64 },
    /// herder is killed and started again.
    Killed { down: u64 },
}

fn category() -> impl Strategy<Value = Category> {
    prop_oneof![
        4 => Just(Category::Success),
        4 => Just(Category::Crash),
        2 => Just(Category::Transient),
        4 => Just(Category::RateLimit),
        1 => Just(Category::Quota),
        1 => Just(Category::Permanent),
        1 => Just(Category::MaxTurns),
        1 => Just(Category::Billing),
        1 => Just(Category::Auth),
        1 => Just(Category::Budget),
        3 => Just(Category::ContextOverflow),
        2 => Just(Category::TaskTimeout),
        2 => Just(Category::SandboxDenial),
        1 => Just(Category::Hung),
        1 => Just(Category::DoNotRestart),
        1 => Just(Category::Interrupted),
        1 => Just(Category::OutOfMemory),
    ]
}

fn account_category() -> impl Strategy<Value = Category> {
    prop_oneof![Just(Category::Billing), Just(Category::Auth), Just(Category::Budget)]
}

fn ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        6 => any::<bool>().prop_map(|task| Ask::Give { task }),
        1 => Just(Ask::GiveNothing),
        1 => any::<bool>().prop_map(|now| Ask::Pause { now }),
        3 => Just(Ask::Resume),
        1 => Just(Ask::Abort),
        1 => Just(Ask::Restart),
        1 => Just(Ask::Stop),
        1 => Just(Ask::LetOn),
        1 => any::<Index>().prop_map(Ask::CancelTask),
        2 => any::<Index>().prop_map(Ask::Reword),
        1 => any::<Index>().prop_map(Ask::Withdraw),
        1 => Just(Ask::Clear),
        2 => Just(Ask::Whisper),
        3 => (any::<Index>(), 0u8..4).prop_map(|(which, how)| Ask::Answer { which, how }),
        1 => any::<Index>().prop_map(Ask::RemoveRule),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(looping, claude)| Ask::Edit { looping, claude }),
    ]
}

fn happening() -> impl Strategy<Value = Happening> {
    let resets = prop_oneof![
        2 => Just(None),
        3 => (-100_000i64..=0).prop_map(Some),
        1 => (1i64..10_000_000).prop_map(Some),
    ];
    let ends = (category(), resets, prop::bool::weighted(0.03));
    prop_oneof![
        3 => (0u64..120_000).prop_map(Happening::Passes),
        6 => prop::bool::weighted(0.2).prop_map(|early| Happening::Countdown { early }),
        8 => ask().prop_map(Happening::Asks),
        1 => account_category().prop_map(Happening::AccountBlocked),
        1 => Just(Happening::AccountOpened),
        1 => Just(Happening::Held),
        3 => Just(Happening::Promoted),
        6 => any::<bool>().prop_map(|conversation| Happening::Comes { conversation }),
        1 => any::<Index>().prop_map(Happening::Steered),
        1 => Just(Happening::Turn),
        12 => (0u8..4).prop_map(Happening::Observed),
        8 => (0u8..10, prop::bool::weighted(0.1)).prop_map(|(how, late)| Happening::Judged { how, late }),
        4 => (0u8..6, prop::bool::weighted(0.1)).prop_map(|(how, late)| Happening::Divided { how, late }),
        1 => any::<bool>().prop_map(Happening::Broader),
        4 => (1u32..12).prop_map(Happening::Spends),
        1 => Just(Happening::Reports(TaskEnd::Done)),
        1 => Just(Happening::Reports(TaskEnd::Blocked)),
        1 => Just(Happening::TakesWhispers),
        1 => Just(Happening::WhisperSteered),
        1 => Just(Happening::ClockRanOut(Clock::Silence)),
        10 => ends.prop_map(|(category, resets_in, survivors)| Happening::Ends { category, resets_in, survivors }),
        4 => (0u8..4).prop_map(|what| Happening::Wants { what }),
        1 => any::<Index>().prop_map(Happening::Unasks),
        1 => (0u8..3).prop_map(|what| Happening::Questions { what }),
        1 => category().prop_map(Happening::Stale),
        1 => Just(Happening::DriverSilent),
        1 => Just(Happening::Panic),
        1 => (0u64..400_000).prop_map(|down| Happening::GoesDown { down }),
        2 => (0u64..400_000).prop_map(|down| Happening::Killed { down }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_history_keeps_every_invariant(
        looping in prop::bool::weighted(0.3),
        claude in any::<bool>(),
        jitter in 0u64..3_000,
        degrades in any::<bool>(),
        capped in any::<bool>(),
        happenings in prop::collection::vec(happening(), 1..120),
        removed_at in prop::option::weighted(0.1, 0usize..120),
    ) {
        let runtime = if claude { Runtime::Claude } else { Runtime::Command };
        let mut world = World::new(runtime, looping, jitter, degrades, capped);
        for (index, happening) in happenings.iter().enumerate() {
            if removed_at == Some(index) {
                world.happen(&Happening::Asks(Ask::Remove));
            }
            world.happen(happening);
        }
    }
}

/// An agent crashes whenever it can, for thirty days, and no person reacts.
#[test]
fn an_agent_that_only_crashes_is_left_alone_after_six_times_however_long_nobody_looks() {
    let mut world = World::new(Runtime::Command, false, 0, true, false);
    world.happen(&Happening::Asks(Ask::Give { task: false }));
    for _ in 0..30 * 24 * 60 {
        world.happen(&Happening::Ends { category: Category::Crash, resets_in: None, survivors: false });
        world.happen(&Happening::Passes(60_000));
        world.happen(&Happening::Countdown { early: false });
    }
    assert!(world.agent().totals.sessions <= 6, "{:?}", world.agent().totals);
}

/// The conversation is lost with the session, after its agent has said that the task is done.
#[test]
fn an_agent_goes_on_at_once_after_a_task_that_is_over_by_its_word() {
    let mut world = World::new(Runtime::Claude, false, 0, false, false);
    world.happen(&Happening::Asks(Ask::Give { task: true }));
    world.happen(&Happening::Asks(Ask::Give { task: true }));
    world.happen(&Happening::Comes { conversation: true });
    world.happen(&Happening::Reports(TaskEnd::Done));
    world.happen(&Happening::Ends { category: Category::ContextOverflow, resets_in: None, survivors: false });
    assert_eq!(world.agent().totals.sessions, 2, "{:?}", world.agent().phase);
}

/// A weekend without a person: an agent that loops, spends, crashes and is killed, with a cap of ten dollars a day.
#[test]
fn an_agent_that_spends_a_weekend_alone_stays_within_its_cap() {
    let mut world = World::new(Runtime::Claude, true, 0, false, true);
    for minute in 0..48 * 60u32 {
        world.happen(&Happening::Comes { conversation: true });
        world.happen(&Happening::Spends(1 + minute % 7));
        match minute % 5 {
            0 => world.happen(&Happening::Killed { down: 1000 }),
            1 => world.happen(&Happening::Ends {
                category: Category::Crash,
                resets_in: None,
                survivors: false,
            }),
            2 => world.happen(&Happening::Panic),
            _ => world.happen(&Happening::Ends {
                category: Category::Success,
                resets_in: None,
                survivors: false,
            }),
        }
        world.happen(&Happening::Passes(60_000));
    }
    let spent = world.agent().totals.usage.cost_usd;
    // The cost of a call of the model is not known before the call.
    assert!(spent <= 5.0 + 7.0 * 0.25 + 0.25, "spent {spent}");
}
