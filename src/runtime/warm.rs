//! A process that stays after its session, as its supervisor sees it: it can be given another session, or be ended.

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};

use super::process::Identity;
use super::session::Ends;
use super::{Driver, Launch, Live, Local, ORDERS_CAPACITY, Order, REPORTS_CAPACITY, Report};

/// Handle of a driver by which its process is given another session. Dropping it ends a process that stays.
#[derive(Debug)]
pub struct Stay {
    again: mpsc::Sender<Next>,
    kept: watch::Receiver<Option<Identity>>,
    /// Receives what is left of the process once it is gone.
    gone: oneshot::Receiver<Vec<u32>>,
}

/// Another session for a process that has stayed.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) launch: Launch,
    pub(super) local: Local,
    pub(super) orders: mpsc::Receiver<Order>,
    pub(super) reports: mpsc::Sender<Report>,
    pub(super) live: watch::Sender<Live>,
}

/// Returns the two ends of a new driver's channels.
pub(super) fn connected() -> (Ends, Driver) {
    let (orders, orders_inbox) = mpsc::channel(ORDERS_CAPACITY);
    let (reports_outbox, reports) = mpsc::channel(REPORTS_CAPACITY);
    let (live_sender, live) = watch::channel(Live::default());
    let ((again, again_inbox), (over, gone)) = (mpsc::channel(1), oneshot::channel());
    let (kept_sender, kept) = watch::channel(None);
    let ends = Ends {
        orders: orders_inbox,
        reports: reports_outbox,
        live: live_sender,
        again: again_inbox,
        over: Some(over),
        kept: kept_sender,
        held: None,
    };
    (ends, Driver { orders, reports, live, stay: Some(Stay { again, kept, gone }) })
}

impl Stay {
    /// Gives the process another session. If the process does not fit the session or is gone, the driver starts
    /// another one.
    ///
    /// # Errors
    /// Returns the parameters if the driver is gone.
    pub fn go_on(self, launch: Launch, local: Local) -> Result<Driver, Box<(Launch, Local)>> {
        let (orders, orders_inbox) = mpsc::channel(ORDERS_CAPACITY);
        let (reports_outbox, reports) = mpsc::channel(REPORTS_CAPACITY);
        let (live_sender, live) = watch::channel(Live::default());
        let next = Next { launch, local, orders: orders_inbox, reports: reports_outbox, live: live_sender };
        match self.again.try_send(next) {
            Ok(()) => Ok(Driver { orders, reports, live, stay: Some(self) }),
            Err(TrySendError::Full(next) | TrySendError::Closed(next)) => {
                Err(Box::new((next.launch, next.local)))
            }
        }
    }

    /// Returns the process if its session is over and it stays.
    #[must_use]
    pub fn kept(&self) -> Option<Identity> {
        *self.kept.borrow()
    }

    /// Ends the process. Returns the ids of the processes that are left; `None` if its driver failed.
    pub async fn end(self) -> Option<Vec<u32>> {
        let Self { again, gone, .. } = self;
        drop(again);
        gone.await.ok()
    }
}
