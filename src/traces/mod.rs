//! Traces for an OpenTelemetry collector (`[telemetry]`), by the GenAI conventions: a session is `invoke_agent`, a turn of its
//! model `chat`, a tool call `execute_tool`.
//!
//! Spans are made of the journal's entries once those are on disk, so that no agent waits for a collector. The position in the
//! journal is stored with every batch: what a collector could not take is sent later, also by the next herder. The ids of
//! spans are digests of what they stand for, so that a span that is sent twice is the same span.
//!
//! Names, numbers, times and categories leave herder; prompts, words, arguments and results do not.

mod export;
mod spans;

use std::collections::BTreeSet;
use std::time::Duration;

use tracing::{info, warn};

use crate::config::Telemetry;
use crate::journal::{CommitError, Filter, Followed, Journal, Memo, ReadError};
use crate::supervisor::Fleet;
pub use export::ExportError;
use export::{Exporter, Refused};
use spans::{Facts, Progress};

/// Key of the stored position.
const POSITION: &str = "traces/position";

/// Time within which entries are gathered to one request.
const GATHER: Duration = Duration::from_secs(1);

/// Maximum number of entries of one request. Each is a turn with its calls at most, some kilobytes.
const BATCH: usize = 200;

/// Entries that a stored position may be behind; older ones are left out.
const MISSED_MAX: u64 = 100_000;

/// Wait after a failed request: the first, and the longest.
const AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The kinds of entries that spans are made of.
const KINDS: [&str; 5] =
    ["session-started", "conversation-named", "usage-recorded", "turn-observed", "session-ended"];

/// The traces cannot go on.
#[derive(Debug, thiserror::Error)]
enum TraceError {
    #[error("the journal cannot be read: {0}")]
    Read(#[from] ReadError),
    #[error("the position cannot be stored: {0}")]
    Commit(#[from] CommitError),
}

/// The way of the traces, from the end of the journal before any agent is started.
#[derive(Debug)]
pub struct Traces {
    exporter: Exporter,
    journal: Journal,
    progress: Progress,
}

impl Traces {
    /// Prepares the traces. What the agents do from here on is in them.
    ///
    /// # Errors
    /// No client for HTTP can be made.
    pub fn open(settings: &Telemetry, journal: Journal) -> Result<Self, ExportError> {
        let exporter = Exporter::new(settings, journal.id())?;
        let end = journal.end();
        let stored = journal.memos(POSITION).unwrap_or_default().into_iter().next();
        let stored = stored.and_then(|(_, text)| serde_json::from_str::<Progress>(&text).ok());
        let progress = stored
            .filter(|stored| stored.after <= end && end - stored.after <= MISSED_MAX)
            .unwrap_or_else(|| Progress::at(end));
        Ok(Self { exporter, journal, progress })
    }

    /// Sends spans until dropped, or until the journal is closed.
    pub async fn keep(self, fleet: Fleet) {
        if let Err(reason) = self.follow(&fleet).await {
            warn!(%reason, "traces are not sent any more until the next start");
        }
    }

    async fn follow(mut self, fleet: &Fleet) -> Result<(), TraceError> {
        let kinds: BTreeSet<String> = KINDS.map(str::to_owned).into();
        let filter = Filter { kinds: Some(kinds), streams: None };
        self.store().await?;
        let mut follower = self.journal.follow(self.progress.after, filter);
        while follower.grows().await {
            tokio::time::sleep(GATHER).await;
            loop {
                let page = follower.page(BATCH).await?;
                let mut next = self.progress.clone();
                let mut spans = Vec::new();
                for step in &page.steps {
                    if let Followed::Event(recorded) = step {
                        let facts = |agent: &_| fleet.view(agent).and_then(|view| Facts::of(&view.agent));
                        spans.extend(next.take(self.journal.id(), recorded, facts));
                    }
                }
                next.after = page.upto;
                if !spans.is_empty() {
                    self.deliver(spans).await;
                }
                let is_news = !page.steps.is_empty();
                self.progress = next;
                if is_news {
                    self.store().await?;
                }
                if page.is_end {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Delivers spans, however long that takes; the journal holds what follows.
    async fn deliver(&self, spans: Vec<opentelemetry_sdk::trace::SpanData>) {
        let mut wait = AGAIN.0;
        let mut is_down = false;
        loop {
            match self.exporter.send(spans.clone()).await {
                Ok(()) => {
                    if is_down {
                        info!("the collector of traces takes them again");
                    }
                    return;
                }
                Err(Refused::ForGood { reason }) => {
                    warn!(reason, spans = spans.len(), "the collector refuses traces, which are dropped");
                    return;
                }
                Err(Refused::ForNow { reason }) => {
                    if !is_down {
                        warn!(reason, "traces cannot be sent; they are sent later");
                    }
                    is_down = true;
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(AGAIN.1);
                }
            }
        }
    }

    async fn store(&self) -> Result<(), CommitError> {
        let Ok(value) = serde_json::to_string(&self.progress) else { return Ok(()) };
        self.journal.remember(vec![Memo { key: POSITION.to_owned(), value: Some(value) }]).await
    }
}
