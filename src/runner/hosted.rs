//! One session on a runner: its orders, and its reports until they are heard.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::{Notify, mpsc, watch};
use tokio_util::bytes::{Bytes, BytesMut};
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::fit::{encoded, sane, sane_live};
use super::host::WRITE_MAX;
use super::ledger::Unheard;
use super::wire::{Envelope, Frames, FromRunner, MESSAGE_MAX, SessionKey, Standing, WireError, encode};
use crate::core::detail::Own;
use crate::core::id::WorkId;
use crate::core::input::Signal;
use crate::core::outcome::{Category, Outcome};
use crate::runtime::grants::Pass;
use crate::runtime::{Live, ORDERS_CAPACITY, Order, Report};

/// Maximum length of an envelope around a message, in bytes.
const ENVELOPE_MAX: usize = 1024;

/// Maximum number of orders that wait for a driver. One that has taken none of so many hangs, and is stopped.
const WAITING_MAX: usize = 4 * ORDERS_CAPACITY;

/// A session, until its last report is heard.
#[derive(Debug)]
pub(super) struct Hosted {
    pub(super) of: SessionKey,
    /// Orders that wait for the driver. `None` once it was told to end by dropping them, or has ended.
    pub(super) orders: Option<mpsc::Sender<Order>>,
    /// Its right to use herder's tools.
    pub(super) pass: Option<Pass>,
    pub(super) unheard: Unheard<Bytes>,
    /// The number up to which reports were sent over this connection.
    pub(super) sent: u64,
    pub(super) alive: bool,
    /// Its process, once it was started.
    pub(super) process: Option<u32>,
    pub(super) live: watch::Receiver<Live>,
    /// True once its last report is among those.
    pub(super) over: bool,
    /// Wakes the pump when there is room.
    pub(super) room: Arc<Notify>,
    /// Messages that were given to the runtime, and whispers in answers to calls, so that none is given twice.
    pub(super) steered: BTreeSet<WorkId>,
}

impl Hosted {
    /// Returns a session without a process.
    pub(super) fn over(of: SessionKey) -> Self {
        Self {
            of,
            orders: None,
            pass: None,
            unheard: Unheard::default(),
            sent: 0,
            over: true,
            alive: false,
            process: None,
            live: watch::Sender::new(Live::default()).subscribe(),
            room: Arc::default(),
            steered: BTreeSet::new(),
        }
    }

    pub(super) fn standing(&self) -> Standing {
        Standing { of: self.of.clone(), unheard: self.unheard.first(), next: self.unheard.next_number() }
    }

    /// Gives an order to the driver, or lets it wait for room there. A message that was given before is not given
    /// again. Returns the report of a message that could not be given: too many others wait before it, or the driver is
    /// ending.
    pub(super) fn order(&mut self, order: Order) -> Option<Report> {
        if self.over {
            // Its end says it: a report after the last one would never be heard.
            return None;
        }
        let work = match &order {
            Order::Steer { work, .. } | Order::Insist { work, .. } => Some(*work),
            Order::Go | Order::Answer { .. } | Order::Hold { .. } | Order::Stop => None,
        };
        let insists = matches!(order, Order::Insist { .. });
        if let Some(work) = work.filter(|_| !insists)
            && !self.steered.insert(work)
        {
            return None;
        }
        let given = match &self.orders {
            // The bot keeps a message that is not taken; nothing else is given twice, so that it has the rest of the room.
            Some(orders) if work.is_some() && WAITING_MAX - orders.capacity() >= ORDERS_CAPACITY => false,
            Some(orders) => match orders.try_send(order) {
                Ok(()) => true,
                Err(mpsc::error::TrySendError::Closed(_)) => false,
                Err(mpsc::error::TrySendError::Full(_)) => {
                    warn!(agent = %self.of.agent, "its driver takes no orders, and is stopped");
                    self.orders = None;
                    false
                }
            },
            None => false,
        };
        let work = work.filter(|_| !given)?;
        self.steered.remove(&work);
        Some(Report::NotTaken { work })
    }

    /// Returns those whispers of an answer that the session was not given before, by another bot in another way. They
    /// count as given.
    pub(super) fn not_given(&mut self, whispers: Vec<(WorkId, String)>) -> Vec<(WorkId, String)> {
        whispers.into_iter().filter(|(work, _)| self.steered.insert(*work)).collect()
    }

    /// Keeps a report until it is heard.
    pub(super) fn keep(&mut self, report: Report) {
        if let Report::NotTaken { work } = &report {
            // It may be given again.
            self.steered.remove(work);
        }
        let n = self.unheard.next_number();
        match self.encoded(n, sane(report)) {
            Ok(message) => {
                let bytes = message.len();
                self.unheard.keep(message, bytes);
            }
            Err(reason) => warn!(agent = %self.of.agent, %reason, "a report could not be told"),
        }
    }

    fn encoded(&self, n: u64, report: Report) -> Result<Bytes, serde_json::Error> {
        let body = |report| FromRunner::Report { of: self.of.clone(), n, report };
        encoded(report, MESSAGE_MAX - ENVELOPE_MAX, body).map(Bytes::from)
    }

    /// Appends what the bot does not know yet; returns whether that is all.
    pub(super) fn tell(
        &mut self,
        epoch: u64,
        frames: &mut Frames,
        out: &mut BytesMut,
    ) -> Result<bool, WireError> {
        let mut sent = self.sent;
        for (n, body) in self.unheard.since(sent + 1) {
            if out.len() >= WRITE_MAX {
                self.sent = sent;
                return Ok(false);
            }
            let body: &serde_json::value::RawValue = serde_json::from_slice(body)?;
            frames.write_encoded(encode(&Envelope::new(epoch, 0, body))?, out)?;
            sent = n;
        }
        self.sent = sent;
        if std::mem::take(&mut self.alive) {
            let alive = FromRunner::Alive { of: self.of.clone() };
            frames.write(&Envelope::new(epoch, 0, alive), out)?;
        }
        if self.live.has_changed().unwrap_or_default() {
            let live = sane_live(self.live.borrow_and_update().clone());
            frames.write(&Envelope::new(epoch, 0, FromRunner::Live { of: self.of.clone(), live }), out)?;
        }
        Ok(true)
    }
}

/// Returns the queue of a driver's orders, and passes them on when the driver has room. Its end is the driver's.
pub(super) fn queue(tasks: &TaskTracker, driver: mpsc::Sender<Order>) -> mpsc::Sender<Order> {
    let (orders, mut waiting) = mpsc::channel(WAITING_MAX);
    tasks.spawn(async move {
        while let Some(order) = waiting.recv().await {
            if driver.send(order).await.is_err() {
                return;
            }
        }
    });
    orders
}

/// Returns the end of a session in the runner's own words.
pub(super) fn ended(category: Category, why: Own) -> Report {
    let outcome = Outcome::new(category, why);
    Report::Signal(Signal::Ended { outcome: Box::new(outcome), survivors: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ask::{AskKey, Told};
    use crate::core::id::{AgentName, SessionId};

    #[tokio::test]
    async fn a_driver_without_room_gets_each_order_that_is_owed_once_it_has_room() {
        let tasks = TaskTracker::new();
        let (driver, mut orders) = mpsc::channel(1);
        let of = SessionKey { agent: AgentName::new("spark").expect("a good name"), session: SessionId(1) };
        let mut hosted = Hosted { orders: Some(queue(&tasks, driver)), over: false, ..Hosted::over(of) };
        let steer =
            |n: usize| Order::Steer { work: WorkId(n as u64), text: String::new(), files: Vec::new() };
        let not_taken: Vec<Report> = (0..100).filter_map(|n| hosted.order(steer(n))).collect();
        assert_eq!(
            not_taken.len(),
            100 - ORDERS_CAPACITY,
            "of messages the bot hears that they wait with it"
        );
        let answer = Order::Answer { key: AskKey(1), told: Told::Yes };
        for _ in 0..100 {
            assert_eq!(hosted.order(answer.clone()), None);
        }
        assert_eq!(hosted.order(Order::Stop), None);
        drop(hosted);
        let mut got = Vec::new();
        while let Some(order) = orders.recv().await {
            got.push(order);
        }
        let mut expected: Vec<Order> = (0..ORDERS_CAPACITY).map(steer).collect();
        expected.extend(std::iter::repeat_n(answer, 100));
        expected.push(Order::Stop);
        assert_eq!(got, expected);
    }

    #[tokio::test]
    async fn a_whisper_is_given_in_one_way_until_that_has_failed() {
        let (driver, mut orders) = mpsc::channel(WAITING_MAX);
        let of = SessionKey { agent: AgentName::new("spark").expect("a good name"), session: SessionId(1) };
        let mut hosted = Hosted { orders: Some(driver), over: false, ..Hosted::over(of) };
        let steer = |n| Order::Steer { work: WorkId(n), text: String::new(), files: Vec::new() };
        let answer = |numbers: [u64; 2]| numbers.map(|n| (WorkId(n), String::new())).to_vec();
        assert_eq!(hosted.order(steer(1)), None);
        assert_eq!(hosted.not_given(answer([1, 2])), answer([1, 2])[1..], "the turn has the first one");
        // The next bot knows of neither way.
        assert_eq!((hosted.order(steer(1)), hosted.order(steer(2))), (None, None));
        assert_eq!(hosted.not_given(answer([1, 2])), []);
        hosted.keep(Report::NotTaken { work: WorkId(2) });
        assert_eq!(hosted.order(steer(2)), None);
        for n in [1, 2] {
            assert_eq!(orders.try_recv(), Ok(steer(n)));
        }
        assert!(orders.try_recv().is_err());
    }
}
