//! A window of lines on its way: sent, then proven to be with the server.
//!
//! After each window comes `PING :f<id>`. A server handles lines in order, so that the matching PONG says that it has
//! handled the window too, and an error for a target that came before it says which lines it did not take. The server's
//! own flood brake delays the PONG, and so paces us without a setting per network. Where the server also echoes and
//! labels, every line is proven by itself, and less is repeated when the link breaks in the middle.
//!
//! Answers to those who only looked go without, a few at a time: who misses one asks again.

use tokio::time::Instant;

use super::isupport::ISupport;
use crate::outbox::{Line, Target, Window};

/// Lines per window: with more nothing is faster, and more would be repeated after a break; with one, servers that
/// brake make a backlog last three times as long.
pub(crate) const WINDOW: usize = 4;

/// Why the server did not take a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The numeric; 0 for a `FAIL`.
    pub(crate) code: u16,
    /// The server's words.
    pub(crate) reason: String,
}

/// How a line stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fate {
    /// No word of it.
    Sent,
    /// The server says so itself.
    Accepted,
    /// The server did not take it.
    Refused(Refusal),
    /// It did not leave us.
    Unsent,
    /// It did not leave us, and is not to.
    Dropped,
}

#[derive(Debug)]
struct Sent {
    line: Line,
    /// Where it went.
    to: String,
    /// Labels whose answers are due: one for each piece.
    labels: Vec<String>,
    fate: Fate,
}

/// The window that is on its way.
#[derive(Debug)]
pub(crate) struct Flight {
    fence: u64,
    lines: Vec<Sent>,
    labelled: bool,
    deadline: Instant,
}

/// What became of a window.
#[derive(Debug, Default)]
pub(crate) struct Landed {
    /// The server has these.
    pub(crate) confirmed: Vec<Line>,
    /// These have to be sent again.
    pub(crate) again: Vec<Line>,
    /// Channels that took something.
    pub(crate) accepted_by: Vec<String>,
    /// Channels that did not: each once, for the first of `again` that was refused there.
    pub(crate) refused_by: Vec<RefusedBy>,
}

/// A channel that did not take a line.
#[derive(Debug)]
pub(crate) struct RefusedBy {
    /// Where it went.
    pub(crate) to: String,
    /// Why it was not taken.
    pub(crate) refusal: Refusal,
    /// Which of [`Landed::again`] it was.
    pub(crate) index: usize,
}

impl Landed {
    /// What the queue is told.
    pub(crate) fn windows(self) -> (Window, Window) {
        (Window { lines: self.confirmed }, Window { lines: self.again })
    }
}

impl Flight {
    /// A window is about to be sent, with the fence of this number behind it, to be answered until `deadline`.
    pub(crate) fn new(fence: u64, labelled: bool, deadline: Instant) -> Self {
        Self { fence, lines: Vec::new(), labelled, deadline }
    }

    /// Of lines that nobody is asked about.
    pub(crate) fn sent_only() -> Self {
        Self::new(0, false, Instant::now())
    }

    /// A line was sent, in as many pieces as there are labels.
    pub(crate) fn sent(&mut self, line: Line, to: String, labels: Vec<String>) {
        self.lines.push(Sent { line, to, labels, fate: Fate::Sent });
    }

    /// A line could not be sent, because its channel was lost between being asked for and now.
    pub(crate) fn unsendable(&mut self, line: Line) {
        self.lines.push(Sent { line, to: String::new(), labels: Vec::new(), fate: Fate::Unsent });
    }

    /// A line is done with, without being sent.
    pub(crate) fn dropped(&mut self, line: Line) {
        self.lines.push(Sent { line, to: String::new(), labels: Vec::new(), fate: Fate::Dropped });
    }

    /// The number of the fence behind it.
    pub(crate) fn fence(&self) -> u64 {
        self.fence
    }

    /// When the link is to be given up.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether this is our fence.
    pub(crate) fn is_fence(&self, fence: u64) -> bool {
        self.fence == fence
    }

    /// The server answered what carried this label. True if that was the last word that was due.
    pub(crate) fn labelled(&mut self, label: &str, refusal: Option<&Refusal>) -> bool {
        for sent in &mut self.lines {
            let Some(index) = sent.labels.iter().position(|due| due == label) else { continue };
            sent.labels.swap_remove(index);
            if let Some(refusal) = refusal {
                sent.fate = Fate::Refused(refusal.clone());
            } else if sent.labels.is_empty() && sent.fate == Fate::Sent {
                sent.fate = Fate::Accepted;
            }
        }
        self.labelled && self.lines.iter().all(|sent| sent.fate != Fate::Sent)
    }

    /// An error without a label for a target: nothing that is on its way there was taken.
    pub(crate) fn refused(&mut self, target: &str, refusal: &Refusal, server: &ISupport) {
        for sent in self.lines.iter_mut().filter(|sent| server.case.same(&sent.to, target)) {
            sent.fate = Fate::Refused(refusal.clone());
        }
    }

    /// The fence was answered, or every label was.
    pub(crate) fn land(self, server: &ISupport) -> Landed {
        self.split(true, server)
    }

    /// The link broke.
    pub(crate) fn lost(self, server: &ISupport) -> Landed {
        self.split(false, server)
    }

    /// After a line that was not taken, nothing else for its target counts as taken: order matters more than a repeat.
    /// What a person does not get is done with: whoever is gone, or takes no messages from us, will not take the next try
    /// either, and anybody could have us try for ever.
    fn split(self, fenced: bool, server: &ISupport) -> Landed {
        let mut landed = Landed::default();
        let mut blocked: Vec<String> = Vec::new();
        for sent in self.lines {
            if sent.fate == Fate::Dropped {
                landed.confirmed.push(sent.line);
                continue;
            }
            let private = matches!(sent.line.target, Target::Person(_));
            let taken = match &sent.fate {
                Fate::Accepted => true,
                Fate::Sent => fenced,
                Fate::Refused(_) | Fate::Unsent | Fate::Dropped => false,
            };
            let refusal = match sent.fate {
                Fate::Refused(refusal) if private => {
                    tracing::info!(
                        to = sent.to,
                        code = refusal.code,
                        reason = refusal.reason,
                        "not taken: given up"
                    );
                    landed.confirmed.push(sent.line);
                    continue;
                }
                Fate::Refused(refusal) => Some(refusal),
                Fate::Accepted | Fate::Sent | Fate::Unsent | Fate::Dropped => None,
            };
            let behind = blocked.iter().any(|target| server.case.same(target, &sent.to));
            if taken && !behind {
                landed.accepted_by.push(sent.to);
                landed.confirmed.push(sent.line);
                continue;
            }
            if let Some(refusal) = refusal
                && !behind
            {
                let index = landed.again.len();
                landed.refused_by.push(RefusedBy { to: sent.to.clone(), refusal, index });
            }
            blocked.push(sent.to);
            landed.again.push(sent.line);
        }
        landed
    }
}
