//! The sessions on a runner, and the messages under way, as the bot knows them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;

use tokio::sync::{mpsc, watch};
use tokio_util::bytes::Bytes;
use tracing::{debug, warn};

use super::super::asked::OpenJobs;
use super::super::called::UnderWay;
use super::super::ledger::{Arrival, InOrder, Unheard};
use super::super::wire::{Envelope, MESSAGE_MAX, SessionKey, Standing, ToRunner, WireError, encode};
use crate::core::detail::Own;
use crate::core::id::{AgentName, SessionId};
use crate::core::input::Signal;
use crate::core::outcome::{Category, Outcome};
use crate::runtime::process::descent::Record;
use crate::runtime::{Live, Order, Report};

/// Maximum number of reports of sessions that no supervisor has adopted yet: those of a hundred sessions whose reports
/// nobody has heard. A runner that sends more is not believed.
const EARLY_MAX: usize = 100 * 256;

#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) incarnation: Option<String>,
    /// The version that both ends of the connection speak.
    pub(super) version: u32,
    /// Process id of the runner, while it is connected.
    pub(super) process: Option<u32>,
    /// The record of runners that were killed, as the connected one knows it.
    pub(super) past: Option<Record>,
    /// Calls of tools that are not over.
    pub(super) calls: UnderWay,
    /// Jobs whose results are waited for.
    pub(super) asked: OpenJobs,
    /// Pieces of files that the runner has asked for over this connection.
    pub(super) pieces: VecDeque<ToRunner>,
    /// Launches and orders that the runner has not taken yet.
    pub(super) owed: Unheard<Bytes>,
    /// The number up to which they were sent over this connection.
    pub(super) sent: u64,
    pub(super) sessions: BTreeMap<AgentName, Linked>,
    /// Last session of each agent that a supervisor had.
    pub(super) last: BTreeMap<AgentName, SessionId>,
    /// True if reports of sessions that no supervisor has adopted yet are kept for it.
    pub(super) keeps_early: bool,
    /// Reports of sessions that no supervisor has adopted yet, as many as a runner sends before they are heard.
    pub(super) early: BTreeMap<SessionKey, Vec<(u64, Report)>>,
    /// Last session of each agent, with the number up to which its reports are decided and on disk.
    pub(super) heard: BTreeMap<AgentName, (SessionKey, u64)>,
    /// Agents of which the runner is to be told that.
    pub(super) untold: BTreeSet<AgentName>,
    /// Environment variables that no agent gets.
    pub(super) withheld: BTreeSet<String>,
    /// True while the machine is not on the roster: nothing is owed to it, and nothing waits for it.
    pub(super) given_up: bool,
}

/// A session on the runner.
#[derive(Debug)]
pub(super) struct Linked {
    pub(super) of: SessionKey,
    /// Number of its launch, if this bot has started it.
    pub(super) launched: u64,
    pub(super) arrived: InOrder,
    pub(super) reports: mpsc::Sender<Report>,
    pub(super) live: watch::Sender<Live>,
    /// True once its orders were dropped: it is stopped.
    pub(super) dropped: bool,
    pub(super) over: bool,
}

impl Known {
    /// Numbers a message, and keeps it until the runner has taken it.
    pub(super) fn owe(&mut self, epoch: u64, body: ToRunner) -> Result<u64, WireError> {
        let n = self.owed.next_number();
        let message = encode(&Envelope::new(epoch, n, body))?;
        if message.len() > MESSAGE_MAX {
            return Err(WireError::TooLong(message.len()));
        }
        let bytes = message.len();
        Ok(self.owed.keep(message, bytes))
    }

    /// Ends the sessions of which the runner has forgotten reports that were not decided here: it was told that they were,
    /// and the journal was restored since.
    pub(super) fn stop_gaps(&mut self, epoch: u64, standings: &[Standing]) {
        for Standing { of, unheard, next } in standings {
            let has_gap = |linked: &mut Linked| linked.arrived.last().saturating_add(1) < *unheard;
            if !self.session(of).is_some_and(has_gap) {
                continue;
            }
            warn!(agent = %of.agent, "the journal is older than what the runner has reported: the session is stopped");
            self.end(&of.agent, Outcome::new(Category::Interrupted, Own::Restarted));
            let stop = ToRunner::Order { of: of.clone(), order: Order::Stop };
            // An order without content is short.
            drop(self.owe(epoch, stop));
            self.hear(of.clone(), next.saturating_sub(1));
        }
    }

    /// Forgets what the runner has not taken.
    pub(super) fn forget_owed(&mut self) {
        let last = self.owed.next_number().saturating_sub(1);
        self.owed.heard(last);
    }

    pub(super) fn hear(&mut self, of: SessionKey, up_to: u64) {
        self.untold.insert(of.agent.clone());
        self.heard.insert(of.agent.clone(), (of, up_to));
    }

    /// Ends a session that the runner does not have.
    pub(super) fn end(&mut self, agent: &AgentName, outcome: Outcome) {
        let Some(linked) = self.sessions.remove(agent) else { return };
        self.calls.all_over(Some(&linked.of));
        let ended = Signal::Ended { outcome: Box::new(outcome), survivors: Vec::new() };
        if linked.reports.try_send(Report::Signal(ended)).is_err() {
            warn!(%agent, "a supervisor did not hear that its session is lost");
        }
    }

    /// Hands a report to the session's supervisor, once and in order.
    pub(super) fn deliver(&mut self, of: &SessionKey, n: u64, report: Report) -> Result<(), WireError> {
        let Some(linked) = self.session(of) else {
            if self.keeps_early && self.last.get(&of.agent).is_none_or(|last| *last < of.session) {
                if self.early.values().map(Vec::len).sum::<usize>() >= EARLY_MAX {
                    return Err(confused());
                }
                self.early.entry(of.clone()).or_default().push((n, report));
            }
            return Ok(());
        };
        match linked.arrived.take(n) {
            Arrival::Next => {}
            Arrival::Again => return Ok(()),
            Arrival::Gap => return Err(confused()),
        }
        linked.over = matches!(report, Report::Signal(Signal::Ended { .. }));
        if linked.over {
            self.calls.all_over(Some(of));
        }
        let Some(linked) = self.session(of) else { return Ok(()) };
        // There is room for all that a runner sends before it is heard.
        match linked.reports.try_send(report) {
            Ok(()) if linked.over => {
                self.sessions.remove(&of.agent);
            }
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => return Err(confused()),
            Err(mpsc::error::TrySendError::Closed(_)) => self.unheeded(of),
        }
        Ok(())
    }

    /// Acknowledges the reports of a session that was stopped by dropping both its orders and its reports: they have no
    /// consequences.
    pub(super) fn unheeded(&mut self, of: &SessionKey) {
        let Some(linked) = self.session(of) else { return };
        if !linked.dropped || !linked.reports.is_closed() {
            return;
        }
        let (last, over) = (linked.arrived.last(), linked.over);
        self.hear(of.clone(), last);
        if over {
            self.sessions.remove(&of.agent);
        }
    }

    pub(super) fn session(&mut self, of: &SessionKey) -> Option<&mut Linked> {
        self.sessions.get_mut(&of.agent).filter(|linked| linked.of == *of)
    }
}

/// Returns the error for a runner that breaks the protocol: the connection is made again.
pub(super) fn confused() -> WireError {
    io::Error::from(io::ErrorKind::InvalidData).into()
}

impl Linked {
    /// Passes a sign of life on. Reports that are waiting prove life as well, and have the room.
    pub(super) fn beat(&self) {
        if self.reports.capacity() == self.reports.max_capacity()
            && self.reports.try_send(Report::Beat).is_err()
        {
            debug!(agent = %self.of.agent, "a sign of life of a session that no supervisor has");
        }
    }
}
