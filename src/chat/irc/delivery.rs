//! A window of lines in flight: sent, then proven to have reached the server.
//!
//! `PING :f<id>` follows each window. A server handles lines in order: the matching PONG proves that it has handled
//! the window, and an error for a target before the PONG tells which lines it refused. The server's own flood
//! throttle delays the PONG, and so paces herder without a setting per network. Where the server also echoes and
//! labels, each line is proven by itself, and less is repeated after a broken link.
//!
//! Answers to people who only looked something up are sent a few at a time without a fence: who misses one asks again.

use tokio::time::Instant;

use super::isupport::ISupport;
use crate::core::post::Target;
use crate::outbox::{Line, Window};

/// Maximum number of lines in one window (lines that are sent together and then confirmed). More is not faster and
/// repeats more after a break; with one, a backlog takes three times as long on servers that throttle.
pub(crate) const WINDOW: usize = 4;

/// The server's refusal of a line that herder has sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Number of the error reply; 0 for a `FAIL`.
    pub(crate) code: u16,
    /// The server's reason, as text.
    pub(crate) reason: String,
}

/// The state of a line in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fate {
    /// The line was sent and the server has not answered.
    Sent,
    /// The server has accepted the line.
    Accepted,
    /// The server has refused the line.
    Refused(Refusal),
    /// The line was not sent, and has to be sent again.
    Unsent,
    /// The line was not sent, and will not be.
    Dropped,
}

#[derive(Debug)]
struct Sent {
    line: Line,
    /// Name of the channel, or nick, to which the line was sent.
    to: String,
    /// Labels that the server has not answered yet: one for each piece of the line.
    labels: Vec<String>,
    fate: Fate,
}

/// The window of lines that was sent and is not confirmed yet.
#[derive(Debug)]
pub(crate) struct Flight {
    fence: u64,
    lines: Vec<Sent>,
    labelled: bool,
    deadline: Instant,
}

/// The result of a window: which lines the server has accepted, and which have to be sent again.
#[derive(Debug, Default)]
pub(crate) struct Landed {
    /// Lines that the server has accepted.
    pub(crate) confirmed: Vec<Line>,
    /// Lines that have to be sent again.
    pub(crate) again: Vec<Line>,
    /// Channels that accepted a line.
    pub(crate) accepted_by: Vec<String>,
    /// Channels that refused a line, each once, for the first refused line in `again`.
    pub(crate) refused_by: Vec<RefusedBy>,
}

/// A channel or nick for which the server has refused a line, with the refusal.
#[derive(Debug)]
pub(crate) struct RefusedBy {
    /// Name of the channel, or nick, to which the line was sent.
    pub(crate) to: String,
    /// The server's refusal.
    pub(crate) refusal: Refusal,
    /// Index of the refused line in [`Landed::again`].
    pub(crate) index: usize,
}

impl Landed {
    /// Converts the result into two windows for the outbox queue: the lines to confirm, and those to send again.
    pub(crate) fn windows(self) -> (Window, Window) {
        (Window { lines: self.confirmed }, Window { lines: self.again })
    }
}

impl Flight {
    /// Begins a window that is followed by the fence of this number: a PING that the server has to answer before
    /// `deadline`, which proves that it has processed the lines.
    pub(crate) fn new(fence: u64, labelled: bool, deadline: Instant) -> Self {
        Self { fence, lines: Vec::new(), labelled, deadline }
    }

    /// Begins a window of lines that count as delivered once they are sent, without a fence.
    pub(crate) fn sent_only() -> Self {
        Self::new(0, false, Instant::now())
    }

    /// Records that a line was sent to `to`, in as many pieces as there are labels.
    pub(crate) fn sent(&mut self, line: Line, to: String, labels: Vec<String>) {
        self.lines.push(Sent { line, to, labels, fate: Fate::Sent });
    }

    /// Records that a line could not be sent, because its channel became unavailable after the line was taken from the
    /// queue.
    pub(crate) fn unsendable(&mut self, line: Line) {
        self.lines.push(Sent { line, to: String::new(), labels: Vec::new(), fate: Fate::Unsent });
    }

    /// Records a line that is done with and was not sent.
    pub(crate) fn dropped(&mut self, line: Line) {
        self.lines.push(Sent { line, to: String::new(), labels: Vec::new(), fate: Fate::Dropped });
    }

    /// Returns the number of the fence (PING) that follows the window.
    pub(crate) fn fence(&self) -> u64 {
        self.fence
    }

    /// Returns the time at which the link is given up if the window's fence is not answered.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns true if the window is followed by the fence of this number.
    pub(crate) fn is_fence(&self, fence: u64) -> bool {
        self.fence == fence
    }

    /// Records the server's answer to the line with this label. Returns true if all labels of the window are answered.
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

    /// Records an error reply without a label: all lines of the window to that target count as refused.
    pub(crate) fn refused(&mut self, target: &str, refusal: &Refusal, server: &ISupport) {
        for sent in self.lines.iter_mut().filter(|sent| server.case.same(&sent.to, target)) {
            sent.fate = Fate::Refused(refusal.clone());
        }
    }

    /// Ends the window after its fence or all of its labels were answered, and returns the result.
    pub(crate) fn land(self, server: &ISupport) -> Landed {
        self.split(true, server)
    }

    /// Ends the window after the link broke, and returns the result.
    pub(crate) fn lost(self, server: &ISupport) -> Landed {
        self.split(false, server)
    }

    /// Splits the window into confirmed and repeated lines. After a refused line no later line for its target counts
    /// as accepted, because order matters more than a repeat; refused private lines are dropped, since otherwise
    /// anybody could make herder retry forever.
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
