//! Sending of posts: the room for text in a line, the line's destination, and the server's answer to it.

use super::super::delivery::{Flight, Landed, Refusal, RefusedBy, WINDOW};
use super::super::persons::Verdict;
use super::super::text;
use super::super::wire::{LINE_MAX, Outgoing, Received, Said};
use super::{Effect, Now, Phase, Session};
use crate::core::id::PostId;
use crate::core::post::Target;
use crate::outbox::{Line, Window};

/// Assumed length of herder's user name while it is unknown, in bytes, with the server's addition.
const WORST_USER: usize = 10;
/// Assumed length of herder's host while it is unknown, in bytes: the longest that a server may show.
const WORST_HOST: usize = 63;
/// Minimum room for text in a line, in bytes, however long the names around it are.
const ROOM_MIN: usize = 64;

/// Maximum number of answers that arrive as a batch at the same time: one for each line of a window, with a reserve.
const ANSWERS_MAX: usize = 16;

/// The answer to a labelled line that arrives as a batch and is not complete yet.
#[derive(Debug)]
pub(super) struct BatchedAnswer {
    id: String,
    label: String,
    refusal: Option<Refusal>,
}

/// Number of refusals after which a line is dropped. Each channel that it can go to counts as unavailable after three
/// refusals and then rests for minutes: only text that no channel accepts gets further, and it would block everything
/// behind it.
const REFUSALS_MAX: u32 = 13;

/// The first line of a target's queue, which the server refuses, and the number of refusals.
#[derive(Debug)]
pub(super) struct Setback {
    target: Target,
    urgent: bool,
    post: PostId,
    index: u32,
    count: u32,
}

impl Setback {
    fn is_of_queue(&self, line: &Line) -> bool {
        self.target == line.target && self.urgent == line.urgent
    }

    fn is_of(&self, line: &Line) -> bool {
        self.is_of_queue(line) && self.post == line.post && self.index == line.index
    }
}

/// Targets of lines that were sent without a fence (PING) since the last one: answers to people who only looked
/// something up. They do not wait for the server's confirmation, and their number is limited to what a server accepts
/// at once.
#[derive(Debug, Default)]
pub(super) struct Unproven(Vec<String>);

/// Maximum number of lines in a row without a fence (PING): with the window behind them eight, which every server
/// accepts.
const UNPROVEN_MAX: usize = WINDOW;

/// Returns the refusal in the server's answer to a line by herder; `None` if it is none.
fn refusal(said: &Said) -> Option<Refusal> {
    match said {
        Said::Numeric(code, params) if *code >= 400 => {
            Some(Refusal { code: *code, reason: params.last().cloned().unwrap_or_default() })
        }
        Said::Failed { reason, .. } => Some(Refusal { code: 0, reason: reason.clone() }),
        _ => None,
    }
}

impl Session<'_> {
    /// Returns the room for text in one line to `target`, in bytes, at its present destination.
    pub(crate) fn room(&self, target: &Target) -> usize {
        match self.channels.route(target, &self.server) {
            Some(route) => self.room_at(route.to).saturating_sub(route.prefix.len()).max(ROOM_MIN),
            None => ROOM_MIN,
        }
    }

    fn room_at(&self, to: &str) -> usize {
        let (user, host) =
            self.own.as_ref().map_or((WORST_USER, WORST_HOST), |(user, host)| (user.len(), host.len()));
        // Our own nick can come back at any time, and may be longer.
        let nick = self.nick.current().len().max(self.nick.wanted().len());
        let around = ":!@ ".len() + nick + user + host + "PRIVMSG  :".len() + to.len() + "\r\n".len();
        LINE_MAX.saturating_sub(around)
    }

    /// Returns true if a line to `target` can be sent now: its channel, or the one in its place, is joined. For a
    /// person it is true unless the server is being asked who has the nick.
    pub(crate) fn joined(&self, target: &Target) -> bool {
        match target {
            Target::Person(person) => !self.persons.is_asked(person, &self.server),
            Target::Agent(_) | Target::Alerts | Target::Work | Target::Control | Target::Channel(_) => {
                self.channels.route(target, &self.server).is_some()
            }
        }
    }

    /// Sends a window of lines, followed by a fence (a PING that proves their delivery) if it needs one.
    pub(crate) fn send_window(&mut self, window: Window, now: Now) {
        if self.goes_unproven(&window, now) {
            return self.send_unproven(window);
        }
        self.unproven.0.clear();
        let labels = self.caps.has("echo-message") && self.caps.has("labeled-response");
        let fence = self.lasting.number();
        let mut flight = Flight::new(fence, labels, now.mono + self.settings.patience.flight);
        for line in window.lines {
            if let Some(line) = self.for_whom_it_is(&mut flight, line, now) {
                self.send_line(&mut flight, line, labels);
            }
        }
        self.flight = Some(flight);
        self.fence(fence, now);
    }

    /// Returns true if a whole window may be sent without a fence (PING).
    fn goes_unproven(&self, window: &Window, now: Now) -> bool {
        let fits = |line: &Line| match &line.target {
            Target::Person(person) => self.persons.is_seen(person, &self.server, now.mono),
            Target::Agent(_) | Target::Alerts | Target::Work | Target::Control | Target::Channel(_) => true,
        };
        self.unproven.0.len() + window.lines.len() <= UNPROVEN_MAX
            && window.lines.iter().all(|line| line.is_look() && !line.resent && fits(line))
    }

    /// Sends a window whose lines count as delivered once they are sent.
    fn send_unproven(&mut self, window: Window) {
        let mut sent = Flight::sent_only();
        for line in window.lines {
            self.send_line(&mut sent, line, false);
        }
        let landed = sent.land(&self.server);
        self.unproven.0.extend(landed.accepted_by.iter().cloned());
        self.give_back(landed);
    }

    /// Handles the refusal of a line to `target` that was sent without a fence (PING). The person can ask again, and
    /// the next answer is sent with a fence.
    pub(super) fn unproven_refused(&mut self, code: u16, target: &str, reason: &str, now: Now) {
        if self.flight.is_some() || !self.unproven.0.iter().any(|to| self.server.case.same(to, target)) {
            return;
        }
        self.unproven.0.resize(UNPROVEN_MAX, target.to_owned());
        let trouble = self.channels.denied(code, target, reason, &self.server, now.mono);
        self.tell(trouble, now);
    }

    /// Returns the line if it may be sent: a private message goes only to the person it is for.
    fn for_whom_it_is(&mut self, flight: &mut Flight, line: Line, now: Now) -> Option<Line> {
        let Target::Person(person) = &line.target else { return Some(line) };
        match self.persons.verdict(person, flight.fence(), &self.server, now.mono) {
            Verdict::Send => return Some(line),
            Verdict::Ask(nick) => {
                let question = Outgoing::new("USERHOST").word(nick);
                self.send(question);
                flight.unsendable(line);
            }
            Verdict::Wait => flight.unsendable(line),
            Verdict::Drop => {
                tracing::info!(to = person, "somebody else has that nick, or nobody: not said");
                flight.dropped(line);
            }
        }
        None
    }

    fn send_line(&mut self, flight: &mut Flight, line: Line, labels: bool) {
        let Some(route) = self.channels.route(&line.target, &self.server) else {
            flight.unsendable(line);
            return;
        };
        let to = route.to.to_owned();
        let room = self.room_at(&to).saturating_sub(route.prefix.len()).max(ROOM_MIN);
        // The queue has split it already; if our own prefix has grown since, it is split again so that nothing is cut off.
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
            self.lasting.netsplits.alerted(&line.text);
        }
        flight.sent(line, to, due);
    }

    /// Handles the server's answer to a labelled line of the window. An answer of several lines is a batch with the
    /// label, and counts when the batch ends.
    pub(super) fn acknowledge(&mut self, line: &Received, now: Now) {
        if let Some(answer) =
            line.tag("batch").and_then(|id| self.answers.iter_mut().find(|answer| answer.id == id))
        {
            answer.refusal = answer.refusal.take().or_else(|| refusal(&line.said));
            return;
        }
        let label = line.tag("label").map(str::to_owned);
        match (&line.said, label) {
            (Said::BatchStart { id, .. }, Some(label)) if self.answers.len() < ANSWERS_MAX => {
                self.answers.push(BatchedAnswer { id: id.clone(), label, refusal: None });
            }
            (Said::BatchEnd { id }, _) => {
                if let Some(index) = self.answers.iter().position(|answer| answer.id == *id) {
                    let answer = self.answers.swap_remove(index);
                    self.answered(&answer.label, answer.refusal.as_ref(), now);
                }
            }
            (said, Some(label)) => self.answered(&label, refusal(said).as_ref(), now),
            (_, None) => {}
        }
    }

    /// Returns true if a line from the server is the answer to a labelled line by herder, which
    /// [`Session::acknowledge`] has handled.
    pub(super) fn is_answer(&self, line: &Received) -> bool {
        let batch = line.tag("batch");
        line.tag("label").is_some() || self.answers.iter().any(|answer| batch == Some(answer.id.as_str()))
    }

    fn answered(&mut self, label: &str, refusal: Option<&Refusal>, now: Now) {
        if self.flight.as_mut().is_some_and(|flight| flight.labelled(label, refusal)) {
            self.landed(now);
        }
    }

    pub(super) fn landed(&mut self, now: Now) {
        let Some(flight) = self.flight.take() else { return };
        let mut landed = flight.land(&self.server);
        for channel in &landed.accepted_by {
            self.channels.accepted(channel, &self.server);
        }
        self.setbacks.retain(|setback| !landed.confirmed.iter().any(|line| setback.is_of(line)));
        // From the back, so that a removal does not shift the indexes that follow.
        for RefusedBy { to, refusal, index } in std::mem::take(&mut landed.refused_by).into_iter().rev() {
            let Refusal { code, reason } = refusal;
            let trouble = self.channels.denied(code, &to, &reason, &self.server, now.mono);
            self.tell(trouble, now);
            if self.set_back(&landed.again[index]) {
                tracing::warn!(code, channel = to, reason, "a line that no channel takes was given up");
                landed.confirmed.push(landed.again.remove(index));
            }
        }
        self.give_back(landed);
        self.go_on(now);
    }

    /// Counts that the server has refused a line. Returns true if the line has to be dropped.
    fn set_back(&mut self, line: &Line) -> bool {
        let before =
            self.setbacks.iter().find(|setback| setback.is_of(line)).map_or(0, |setback| setback.count);
        self.setbacks.retain(|setback| !setback.is_of_queue(line));
        let count = before + 1;
        if count < REFUSALS_MAX {
            let (target, urgent) = (line.target.clone(), line.urgent);
            self.setbacks.push(Setback { target, urgent, post: line.post, index: line.index, count });
        }
        count >= REFUSALS_MAX
    }

    /// Ends the window of lines when the link is lost: those that the server has accepted are confirmed, the others are
    /// sent again.
    pub(crate) fn lost(&mut self, now: Now) {
        if self.phase == Phase::Up {
            self.lasting.lost_at.get_or_insert(now.wall);
            self.lasting.silence.begins(now.mono);
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
