//! The loop of one supervisor: what it waits for, and what it makes of each thing that happens.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::pending::Pending;
use super::{End, Mailbox, Note, Request};
use crate::core::agent::Agent;
use crate::core::id::{AgentName, WorkId};
use crate::core::input::{Input, Signal};
use crate::core::outcome::{Category, Outcome};
use crate::runtime::Report;
use crate::supervisor::session::{Heard, Session};
use crate::supervisor::{Shared, View};

/// Inputs decided together: enough for a burst, few enough that the first of them does not wait for the last.
const BATCH_MAX: usize = 64;

/// What woke the loop.
enum Woken {
    Request(Box<Request>),
    Note(Note),
    Report(Report),
    /// The driver went away without saying how its session ended.
    DriverGone,
    /// The driver has been silent for so long.
    Silent(Duration),
    /// A stopped session did not end in time.
    Overdue,
    /// Everybody who could ask is gone.
    Closed,
}

/// One agent with everything that belongs to it.
pub(super) struct Supervisor<'a> {
    pub(super) name: &'a AgentName,
    pub(super) shared: &'a Arc<Shared>,
    pub(super) agent: Arc<Agent>,
    pub(super) rev: u64,
    pub(super) session: &'a mut Option<Session>,
    pub(super) view: &'a watch::Sender<View>,
    /// An id for the next round of a loop, drawn when one may be needed: people count by these ids.
    pub(super) fresh: Option<WorkId>,
}

impl Supervisor<'_> {
    /// Decides `first`, then what comes, until the agent is retired or herder goes down.
    pub(super) async fn run(&mut self, mailbox: &mut Mailbox, first: Vec<Input>) -> End {
        let mut pending = Pending::default();
        for input in first {
            self.take(input, &mut pending);
        }
        loop {
            match self.settle(&mut pending).await {
                Ok(false) => {}
                Ok(true) => return End::Retired,
                Err(reason) => return End::Storage(reason),
            }
            let woken = self.wait(mailbox).await;
            if let Some(end) = self.woken(woken, &mut pending).await {
                return end;
            }
            // What has arrived meanwhile shares the commit.
            for _ in 1..BATCH_MAX {
                let Ok(request) = mailbox.requests.try_recv() else { break };
                self.request(*request, &mut pending);
            }
        }
    }

    /// Waits for the next thing to happen; people first.
    async fn wait(&mut self, mailbox: &mut Mailbox) -> Woken {
        let timeout = self.shared.policy.heartbeat_timeout;
        let session = async {
            match self.session.as_mut() {
                Some(session) => session.next(timeout).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            request = mailbox.requests.recv() => request.map_or(Woken::Closed, Woken::Request),
            note = mailbox.notes.recv() => note.map_or(Woken::Closed, Woken::Note),
            heard = session => match heard {
                Heard::Report(report) => Woken::Report(report),
                Heard::Gone => Woken::DriverGone,
                Heard::Silent(silent) => Woken::Silent(silent),
                Heard::Overdue => Woken::Overdue,
            },
        }
    }

    async fn woken(&mut self, woken: Woken, pending: &mut Pending) -> Option<End> {
        match woken {
            Woken::Request(request) => self.request(*request, pending),
            Woken::Note(Note::Input(input)) => self.take(*input, pending),
            Woken::Note(Note::Tools(told)) => self.tools(told, pending).await,
            Woken::Note(Note::Drain) | Woken::Closed => {
                return Some(self.drain(pending).await);
            }
            Woken::Report(report) => self.report(report, pending).await,
            Woken::DriverGone => {
                let outcome = Outcome::new(Category::Crash, "the driver stopped without a word");
                self.force_end(outcome, pending).await;
            }
            Woken::Silent(silent) => {
                if let Some(session) = self.agent.session() {
                    self.take(Input::DriverSilent { session, silent }, pending);
                }
            }
            Woken::Overdue => {
                let outcome = Outcome::new(Category::Hung, "the driver did not end its session in time");
                self.force_end(outcome, pending).await;
            }
        }
        None
    }

    /// Ends the session because herder goes down. What it finished meanwhile counts: it must not be done again. How it was cut
    /// short is not recorded, and nothing new is started; the next start takes it up as after a kill.
    async fn drain(&mut self, pending: &mut Pending) -> End {
        let Some(session) = self.session.take() else { return End::Drained };
        let id = session.id();
        let mut last_words = Vec::new();
        session.end(self.shared, |report| last_words.push(report)).await;
        for report in last_words {
            match report {
                Report::Words(text) => {
                    let at = pending.at();
                    pending.posts.extend(self.shared.posting.words(self.name, text, at));
                }
                Report::Signal(Signal::Ended { outcome, survivors })
                    if outcome.category == Category::Success =>
                {
                    self.take(Input::EndedAtShutdown { session: id, outcome, survivors }, pending);
                }
                // What was used is used, whatever becomes of the session.
                Report::Signal(signal @ Signal::Usage { .. }) => {
                    self.take(Input::Driver { session: id, signal }, pending);
                }
                Report::Beat | Report::Signal(_) => {}
            }
        }
        let mut pending = std::mem::take(pending);
        let at = pending.at();
        match self.commit(at, pending.events, pending.audits, pending.posts, pending.memos).await {
            Ok(()) => End::Drained,
            Err(reason) => End::Storage(reason),
        }
    }

    /// Ends the process tree from here, because the driver cannot be relied on, and tells the core.
    async fn force_end(&mut self, outcome: Outcome, pending: &mut Pending) {
        let Some(session) = self.session.take() else { return };
        let id = session.id();
        let mut used = None;
        let last_words = |report| {
            if let Report::Signal(signal @ Signal::Usage { .. }) = report {
                used = Some(signal);
            }
        };
        let survivors = session.end(self.shared, last_words).await;
        if let Some(signal) = used {
            self.take(Input::Driver { session: id, signal }, pending);
        }
        let signal = Signal::Ended { outcome: Box::new(outcome), survivors };
        self.take(Input::Driver { session: id, signal }, pending);
    }

    async fn report(&mut self, report: Report, pending: &mut Pending) {
        let Some(session) = self.session.as_mut() else { return };
        let id = session.id();
        match report {
            Report::Beat => {}
            Report::Words(text) => {
                let at = pending.at();
                pending.posts.extend(self.shared.posting.words(self.name, text, at));
            }
            Report::Signal(signal) => {
                let over = matches!(signal, Signal::Ended { .. });
                if over {
                    *self.session = None;
                }
                self.take(Input::Driver { session: id, signal }, pending);
            }
        }
        // What is decided but not yet on disk is shown when it is: `settle` publishes it then.
        if pending.events.is_empty() {
            self.publish();
        }
    }
}
