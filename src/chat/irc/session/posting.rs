//! What we say: how much fits into a line, where it goes, and what became of it.

use super::super::delivery::{Flight, Landed};
use super::super::text;
use super::super::wire::{LINE_MAX, Outgoing, Received, Said};
use super::{Effect, Now, Phase, Session};
use crate::outbox::{Line, Target, Window};

/// What a server may add to our user name, and the longest host it may show for us, while we do not know them.
const WORST_USER: usize = 10;
/// See [`WORST_USER`].
const WORST_HOST: usize = 63;
/// Room that is left for a text however long the names around it are.
const ROOM_MIN: usize = 64;

/// Answers in batches that can be open at once: one for each line of a window, and some.
const ANSWERS_MAX: usize = 16;

/// An answer to a labelled line that is still coming in.
#[derive(Debug)]
pub(super) struct BatchedAnswer {
    id: String,
    label: String,
    accepted: bool,
}

/// Whether an answer to a line of ours means that the server took it. 401 too: nobody has that nick, and no other try helps.
fn accepts(said: &Said) -> bool {
    match said {
        Said::Numeric(code, _) => *code < 400 || *code == 401,
        Said::Failed(_) => false,
        _ => true,
    }
}

impl Session<'_> {
    /// How many bytes of text fit into one line for `target`, wherever it goes.
    pub(crate) fn room(&self, target: &Target) -> usize {
        match self.channels.route(target, &self.server) {
            Some(route) => self.room_at(route.to).saturating_sub(route.prefix.len()).max(ROOM_MIN),
            None => ROOM_MIN,
        }
    }

    fn room_at(&self, to: &str) -> usize {
        let (user, host) =
            self.own.as_ref().map_or((WORST_USER, WORST_HOST), |(user, host)| (user.len(), host.len()));
        // Our own nick can come back at any time, and be longer.
        let nick = self.nick.current().len().max(self.nick.wanted().len());
        let around = ":!@ ".len() + nick + user + host + "PRIVMSG  :".len() + to.len() + "\r\n".len();
        LINE_MAX.saturating_sub(around)
    }

    /// Whether a line for `target` can be sent now.
    pub(crate) fn joined(&self, target: &Target) -> bool {
        self.channels.route(target, &self.server).is_some()
    }

    /// Sends a window, with its fence.
    pub(crate) fn send_window(&mut self, window: Window, now: Now) {
        let labels = self.caps.has("echo-message") && self.caps.has("labeled-response");
        let fence = self.lasting.number();
        let mut flight = Flight::new(fence, labels, now.mono);
        for line in window.lines {
            self.send_line(&mut flight, line, labels);
        }
        self.flight = Some(flight);
        self.fence(fence, now);
    }

    fn send_line(&mut self, flight: &mut Flight, line: Line, labels: bool) {
        let Some(route) = self.channels.route(&line.target, &self.server) else {
            flight.unsendable(line);
            return;
        };
        let to = route.to.to_owned();
        let room = self.room_at(&to).saturating_sub(route.prefix.len()).max(ROOM_MIN);
        // The queue has split it already; if our own prefix has grown since, nothing is cut off all the same.
        let pieces: Vec<String> = text::pieces(&line.text, room)
            .into_iter()
            .map(|piece| format!("{}{piece}", route.prefix))
            .collect();
        let mut due = Vec::new();
        for piece in pieces {
            let mut outgoing = Outgoing::new("PRIVMSG").word(to.as_str()).text(piece);
            if labels {
                let label = format!("h{}", self.lasting.number());
                outgoing = outgoing.label(label.clone());
                due.push(label);
            }
            self.send(outgoing);
        }
        if line.target == Target::Alerts && !line.resent {
            self.netsplits.alerted(&line.text);
        }
        flight.sent(line, to, due);
    }

    /// A line that carries a label of ours speaks of one line of the window. An answer of several lines comes as a batch
    /// that carries the label; it is decided when the batch ends.
    pub(super) fn acknowledge(&mut self, line: &Received, now: Now) {
        if let Some(answer) =
            line.tag("batch").and_then(|id| self.answers.iter_mut().find(|answer| answer.id == id))
        {
            answer.accepted &= accepts(&line.said);
            return;
        }
        let label = line.tag("label").map(str::to_owned);
        match (&line.said, label) {
            (Said::BatchStart { id, .. }, Some(label)) if self.answers.len() < ANSWERS_MAX => {
                self.answers.push(BatchedAnswer { id: id.clone(), label, accepted: true });
            }
            (Said::BatchEnd { id }, _) => {
                if let Some(index) = self.answers.iter().position(|answer| answer.id == *id) {
                    let answer = self.answers.swap_remove(index);
                    self.answered(&answer.label, answer.accepted, now);
                }
            }
            (said, Some(label)) => self.answered(&label, accepts(said), now),
            (_, None) => {}
        }
    }

    fn answered(&mut self, label: &str, accepted: bool, now: Now) {
        if self.flight.as_mut().is_some_and(|flight| flight.labelled(label, accepted)) {
            self.landed(now);
        }
    }

    pub(super) fn landed(&mut self, now: Now) {
        let Some(flight) = self.flight.take() else { return };
        let landed = flight.land(&self.server);
        for channel in &landed.accepted_by {
            self.channels.accepted(channel, &self.server);
        }
        self.give_back(landed);
        self.go_on(now);
    }

    /// The link is over: what is proven is told, the rest goes back.
    pub(crate) fn lost(&mut self, now: Now) {
        if self.phase == Phase::Up {
            self.lasting.lost_at.get_or_insert(now.wall);
        }
        if let Some(flight) = self.flight.take() {
            let landed = flight.lost(&self.server);
            self.give_back(landed);
        }
    }

    fn give_back(&mut self, landed: Landed) {
        let (confirmed, again) = landed.windows();
        self.effects.push(Effect::Landed(confirmed, again));
    }
}
