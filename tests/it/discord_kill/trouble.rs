//! herder under load during every trouble between it and Discord, with kills by -9 in the middle: nothing is lost,
//! nothing doubled, buttons work.
//!
//! The troubles are drawn by a seed, which a failure names: `HERDER_SEED` sets the seed (1),
//! `HERDER_DISCORD_TROUBLES` the number of troubles (8).

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::Signal;

use super::{
    Field, LONG, WORKERS, done, everything_is_marked, everything_is_told_once_and_in_order,
    everything_was_done_once, load,
};
use crate::kill::{Moments, number, reap, signal};
use crate::simulated_discord::{Discord, Effect, Fault};

/// The default seed: a check with a new seed each time would fail for code that its change did not touch.
const USUAL: u64 = 1;

/// Lives in which the link breaks a few times: after each break herder waits twice as long.
const TROUBLES_A_LIFE: u64 = 3;

/// Requests that meet a fault. The requests sent meanwhile matter: posts, marks, buttons, and the fetch of missed
/// messages.
const STRUCK: u32 = 6;

/// A trouble between herder and Discord.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    // Answers of Discord.
    Limited,
    LimitedInAll,
    Fails(u16, Effect),
    Slow,
    Dropped(Effect),
    // Failures of the link.
    Fin,
    Reset,
    Closed(u16),
    ClosedWithoutCode,
    AskedToReconnect,
    Invalid(bool),
    InvalidAgain(bool),
    Forgotten,
    Away,
    Deaf,
    // Failures of events on it.
    Twice,
    InAnotherOrder,
}

const TROUBLES: [Trouble; 26] = [
    Trouble::Limited,
    Trouble::LimitedInAll,
    Trouble::Fails(500, Effect::Before),
    Trouble::Fails(502, Effect::After),
    Trouble::Fails(503, Effect::Before),
    Trouble::Slow,
    Trouble::Dropped(Effect::Before),
    Trouble::Dropped(Effect::After),
    Trouble::Fin,
    Trouble::Reset,
    Trouble::Closed(1001),
    Trouble::Closed(4000),
    Trouble::Closed(4003),
    Trouble::Closed(4007),
    Trouble::Closed(4008),
    Trouble::Closed(4009),
    Trouble::ClosedWithoutCode,
    Trouble::AskedToReconnect,
    Trouble::Invalid(true),
    Trouble::Invalid(false),
    Trouble::InvalidAgain(true),
    Trouble::InvalidAgain(false),
    Trouble::Forgotten,
    Trouble::Away,
    Trouble::Deaf,
    Trouble::Twice,
];

impl Trouble {
    fn drawn(moments: &mut Moments) -> Self {
        let of = TROUBLES.len() + 1;
        let drawn = usize::try_from(moments.millis(of as u64).as_millis()).expect("it is below a number");
        TROUBLES.get(drawn).copied().unwrap_or(Self::InAnotherOrder)
    }

    /// Returns the fault of requests, if the trouble is about those.
    fn fault(self) -> Option<Fault> {
        match self {
            Self::Limited => Some(Fault::rate_limited(0.4)),
            Self::LimitedInAll => Some(Fault::globally_rate_limited(0.3)),
            Self::Fails(status, effect) => Some(Fault::status(status, effect)),
            Self::Slow => Some(Fault::slow(Duration::from_millis(500))),
            Self::Dropped(effect) => Some(Fault::dropped(effect)),
            _ => None,
        }
    }

    fn strikes(self, sim: &Discord) {
        let link = sim.gateway();
        match self {
            Self::Limited | Self::LimitedInAll | Self::Fails(..) | Self::Slow | Self::Dropped(_) => {
                let fault = self.fault().expect("it is about requests");
                sim.inject(fault.times(STRUCK));
            }
            Self::Fin => link.drops_fin(),
            Self::Reset => link.drops_rst(),
            Self::Closed(code) => link.closes(code),
            Self::ClosedWithoutCode => link.closes_empty(),
            Self::AskedToReconnect => link.asks_to_reconnect(),
            Self::Invalid(resumable) => link.invalidates(resumable),
            Self::InvalidAgain(resumable) => {
                link.finds_invalid(1, resumable);
                link.invalidates(resumable);
            }
            Self::Forgotten => {
                link.forgets(1);
                link.asks_to_reconnect();
            }
            Self::Away => {
                link.refuses(1);
                link.drops_rst();
            }
            Self::Deaf => link.zombie(true),
            Self::Twice => link.duplicates("", 20),
            Self::InAnotherOrder => link.reorders("MESSAGE_CREATE", 1),
        }
    }

    /// Ends the trouble, even if parts of it have not struck.
    fn is_over(self, sim: &Discord) {
        let link = sim.gateway();
        if matches!(self, Self::Deaf) {
            link.zombie(false);
            link.drops_rst();
        }
        link.refuses(0);
        link.forgets(0);
        link.finds_invalid(0, false);
        link.duplicates("", 0);
        link.reorders("", 0);
    }
}

/// Says what a run met that fails, wherever that is.
struct Met {
    seed: u64,
    troubles: Vec<Trouble>,
}

impl Drop for Met {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let told = format!("HERDER_SEED={} met {:?}\n", self.seed, self.troubles);
            std::io::stderr().write_all(told.as_bytes()).ok();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_goes_wrong_under_load_nothing_is_lost_or_done_twice() {
    let troubles = number("HERDER_DISCORD_TROUBLES", 8);
    let seed = number("HERDER_SEED", USUAL);
    let mut moments = Moments::new(seed);
    let field = Arc::new(Field::new().await);
    let mut herder = field.start();
    for channel in WORKERS.into_iter().chain(["calm"]) {
        field.sim.channel(channel).await;
    }
    let mut post = field.calms(0).await;
    let loads = WORKERS.map(|worker| tokio::spawn(load(Arc::clone(&field), worker)));
    let mut met = Met { seed, troubles: Vec::new() };
    for round in 0..troubles {
        let trouble = Trouble::drawn(&mut moments);
        met.troubles.push(trouble);
        trouble.strikes(&field.sim);
        tokio::time::sleep(moments.millis(300)).await;
        // In every life it is killed in the midst of something.
        let is_killed = round % TROUBLES_A_LIFE == TROUBLES_A_LIFE - 1;
        if is_killed {
            signal(&herder, Signal::KILL);
            reap(herder).await;
            trouble.is_over(&field.sim);
            field.sim.gateway().silent().await;
            herder = field.start();
        } else {
            trouble.is_over(&field.sim);
        }
        works_on(&field).await;
        if is_killed {
            let life = round / TROUBLES_A_LIFE;
            field.presses(&post, life).await;
            post = field.calms(life + 1).await;
        }
    }
    field.over.store(true, Ordering::SeqCst);
    for load in loads {
        load.await.unwrap();
    }
    field.caught_up().await;
    everything_is_marked(&field).await;
    field.presses(&post, troubles / TROUBLES_A_LIFE).await;
    signal(&herder, Signal::TERM);
    let status = reap(herder).await;
    assert!(status.success(), "seed {seed}: {status}\n{}", field.log());
    let violations = std::fs::read_to_string(field.dir.path().join("violations")).unwrap_or_default();
    assert_eq!(violations, "", "seed {seed}");
    // Discord itself told another order where it did.
    let in_order = !met.troubles.iter().any(|trouble| matches!(trouble, Trouble::InAnotherOrder));
    everything_is_told_once_and_in_order(&field, (seed, in_order));
    everything_was_done_once(&field, seed).await;
}

/// Waits until a job that was given after the trouble is done: herder receives messages again.
async fn works_on(field: &Field) {
    let said = WORKERS.map(|worker| field.said.lock().unwrap().get(worker).map_or(0, Vec::len));
    for (worker, said) in WORKERS.into_iter().zip(said) {
        let what = format!("{worker} to do more than {said}");
        field.sim.until_within(LONG, &what, |state| done(state, worker).count() > said).await;
    }
}
