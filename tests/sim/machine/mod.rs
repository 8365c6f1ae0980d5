//! The machine of the agents in virtual time: a real runner without processes, and connections to it that a seed decides.
//!
//! Bot and runner have a life each: a runtime of its own with a paused clock, which a kill drops whole. Both are on one
//! thread, and live by turns from one point in time to the next ([`Life::live`]), so that what one says is heard by the
//! other a little later, and a seed decides everything.

mod relay;

use std::collections::BTreeSet;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use herder::clock;
use herder::core::time::Timestamp;
use herder::runner::host::Host;
use herder::runner::wire::SessionKey;
use herder::runner::{Opens, Starts};
use tokio::io::{DuplexStream, duplex};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::simulated_fleet::random::Random;

/// Bytes on their way in one direction, at most: as many as a socket holds.
const ROOM: usize = 64 * 1024;

/// The longest time that a runner goes on without a bot: the default of its configuration.
const UNATTENDED: Duration = Duration::from_secs(15 * 60);

/// The time at which simulations begin.
pub(crate) const BEGINNING: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// A life: a runtime whose time is paused.
pub(crate) struct Life {
    runtime: Runtime,
    /// The beginning of the life, by its own clock, and since the beginning of the simulation.
    began: Instant,
    at: Duration,
}

impl Life {
    pub(crate) fn begin(at: Duration) -> Self {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime");
        let began = runtime.block_on(async { Instant::now() });
        Self { runtime, began, at }
    }

    /// Lets it live until then. Returns what `over` resolves to, if it does so before.
    pub(crate) fn live<T>(&self, until: Duration, over: impl Future<Output = T>) -> Option<T> {
        self.runtime.block_on(async {
            clock::simulate(BEGINNING.after(self.at + self.began.elapsed()));
            tokio::select! {
                biased;
                over = over => Some(over),
                () = sleep_until(self.began + until.saturating_sub(self.at)) => None,
            }
        })
    }

    /// Runs what needs no time, as [`Life::live`] does.
    pub(crate) fn within<T>(&self, begins: impl FnOnce() -> T) -> T {
        self.runtime.block_on(async {
            clock::simulate(BEGINNING.after(self.at + self.began.elapsed()));
            begins()
        })
    }
}

/// The length of the turns of two lives: short ones while something is said between them.
#[derive(Debug)]
pub(crate) struct Turns {
    crossings: u64,
    length: u64,
    max: u64,
}

impl Turns {
    /// Returns turns that are no longer than `max` while nothing is said.
    pub(crate) fn new(max: Duration) -> Self {
        let max = u64::try_from(max.as_millis()).expect("short");
        Self { crossings: 0, length: 1, max }
    }

    /// Returns the length of the next turn.
    pub(crate) fn next(&mut self, seen: &Seen, dice: &mut Random) -> Duration {
        let crossings = seen.counts().crossings;
        let quiet = std::mem::replace(&mut self.crossings, crossings) == crossings;
        self.length = if quiet { (self.length * 2).min(self.max) } else { 1 + dice.below(12) };
        Duration::from_millis(self.length)
    }
}

/// The counts of what happened to connections.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    /// No more faults.
    pub(crate) calm: bool,
    /// Pieces that were passed on.
    pub(crate) crossings: u64,
    pub(crate) connections: u64,
    /// Connections that were cut after some byte.
    pub(crate) cuts: u64,
    pub(crate) delays: u64,
    /// Times at which a connection stood still for seconds.
    pub(crate) freezes: u64,
    /// Reports that came to the same bot again.
    pub(crate) doubled_reports: u64,
    /// Launches and orders that came to the same runner again.
    pub(crate) doubled_orders: u64,
    reports: BTreeSet<(u64, SessionKey, u64)>,
    orders: BTreeSet<(u64, u64, u64)>,
}

/// The counts, shared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Counts>>);

impl Seen {
    pub(crate) fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().expect("nobody panics with the counts in hand")
    }
}

/// The way into the runner that lives, if one does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Door(Arc<Mutex<Option<mpsc::UnboundedSender<DuplexStream>>>>);

impl Door {
    /// Returns the way by which a bot connects.
    pub(crate) fn opens(&self) -> Opens {
        let door = self.clone();
        Box::new(move || {
            let (near, far) = duplex(ROOM);
            let inside = door.inside();
            let lets_in = inside.as_ref().is_some_and(|inside| inside.send(far).is_ok());
            if lets_in { Ok(near) } else { Err(io::ErrorKind::ConnectionRefused.into()) }
        })
    }

    fn inside(&self) -> MutexGuard<'_, Option<mpsc::UnboundedSender<DuplexStream>>> {
        self.0.lock().expect("nobody panics in the door")
    }
}

/// A runner that lives. Dropping it kills it, with its connections.
pub(crate) struct Runner {
    pub(crate) life: Life,
    pub(crate) host: Host,
}

impl Runner {
    /// Starts the runner of this number, for the bot of a journal.
    pub(crate) fn start(
        (at, number): (Duration, u64),
        journal: &str,
        starts: Starts,
        (door, seen): (&Door, &Seen),
        dice: Random,
    ) -> Self {
        let life = Life::begin(at);
        let machine = herder::runner::Machine::simulated(starts);
        let host = Host::new(machine, Some(journal.to_owned()), None, None).expect("there is randomness");
        let (inside, connections) = mpsc::unbounded_channel();
        *door.inside() = Some(inside);
        let listening = listen(host.clone(), number, connections, seen.clone(), dice);
        let unattended = host.clone();
        life.within(|| {
            tokio::spawn(listening);
            tokio::spawn(async move { unattended.end_unattended(UNATTENDED).await });
        });
        Self { life, host }
    }
}

async fn listen(
    host: Host,
    number: u64,
    mut connections: mpsc::UnboundedReceiver<DuplexStream>,
    seen: Seen,
    mut dice: Random,
) {
    while let Some(bot) = connections.recv().await {
        let of = {
            let mut counts = seen.counts();
            counts.connections += 1;
            counts.crossings += 1;
            counts.connections
        };
        let dice = Random::new(dice.next(), &[of]);
        let relay = relay::Relay { runner: number, seen: seen.clone(), dice };
        tokio::spawn(relay.run(bot, host.clone()));
    }
}
