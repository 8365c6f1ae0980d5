//! Dispatch of the server's lines to the parts of the session.

use super::super::delivery::Refusal;
use super::super::registration::{Caps, pong};
use super::super::wire::{Cap, Outgoing, Received, Said};
use super::{Closing, Now, Phase, Session, services};

impl Session<'_> {
    /// Handles one line from the server, after the registration.
    pub(crate) fn receive(&mut self, line: &Received, now: Now) {
        self.idle.heard(now.mono);
        if self.past_told(line, now) {
            return self.go_on(now);
        }
        self.observe(line);
        self.acknowledge(line, now);
        for (heard, answer) in self.lookups.receive(line, &self.server, now.mono) {
            self.speak(heard, &answer);
        }
        self.handle(line, now);
        self.go_on(now);
    }

    fn handle(&mut self, line: &Received, now: Now) {
        match &line.said {
            Said::Numeric(code, params) => self.numeric(*code, params, line, now),
            Said::Ping(params) => self.send(pong(params)),
            Said::Pong(token) => self.ponged(token, line, now),
            Said::Error(reason) => self.close(Closing::from_error(reason)),
            Said::Cap { sub, list, .. } => self.capabilities(*sub, list, now),
            Said::Message { to, text } => self.message(line, to, text, now),
            Said::Join { channel, account } => self.somebody_joined(line, channel, account.as_deref(), now),
            Said::Part { channel } => self.somebody_parted(line, channel, now),
            Said::Kick { channel, nick, reason } => self.somebody_kicked(channel, nick, reason, now),
            Said::Nick(to) => self.renamed(&line.source, to, now),
            Said::Quit(reason) => self.somebody_quit(line, reason, now),
            Said::ChangeHost { user, host } => {
                if self.is_us(&line.source.name) {
                    self.own = Some((user.clone(), host.clone()));
                }
                self.persons.left(&line.source.name, &self.server);
                self.lasting.netsplits.moved(&line.source, user, host);
            }
            Said::Account(account) => self.logged_in_or_out(&line.source, account.as_deref()),
            Said::Mode { channel } => self.channels.modes_changed(channel, &self.server),
            Said::Topic { channel, topic } => {
                let by_us = self.is_us(&line.source.name);
                self.channels.topic(channel, topic, by_us, &self.server, now.mono);
            }
            Said::Invite { nick, channel } => {
                if self.is_us(nick) {
                    self.channels.invited(channel, &self.server, now.mono);
                }
            }
            Said::BatchStart { id, kind, .. } => self.replay.start(id, kind, line),
            Said::BatchEnd { id } => self.replay.end(id),
            Said::Notice { text } => self.noticed(line, text, now),
            Said::Authenticate(_) | Said::Acknowledged | Said::Failed { .. } | Said::Other => {}
        }
    }

    fn capabilities(&mut self, sub: Cap, list: &str, now: Now) {
        self.caps.take(sub, list);
        if sub == Cap::New {
            let wanted = Caps::wanted_of(list);
            if !wanted.is_empty() {
                self.send(Outgoing::new("CAP").word("REQ").text(wanted.join(" ")));
            }
            // The services are back.
            let back = list.split_ascii_whitespace().any(|name| name.split('=').next() == Some("sasl"));
            if back && let Some(at) = &mut self.identify_at {
                *at = now.mono;
            }
        }
    }

    fn ponged(&mut self, token: &str, line: &Received, now: Now) {
        let Some(number) = token.strip_prefix('f').and_then(|number| number.parse().ok()) else { return };
        self.replay.calibrate(line, now.wall);
        let live = self.channels.fenced(number);
        self.came_live(live, now);
        self.lookups.fenced(number, now.mono);
        self.persons.fenced(number, now.mono);
        if self.phase == (Phase::Greeting { fence: number }) {
            self.greeted(now);
        }
        if !std::mem::replace(&mut self.live, true) {
            self.began_to_hear(now);
        }
        if self.flight.as_ref().is_some_and(|flight| flight.is_fence(number)) {
            self.landed(now);
        }
    }

    fn numeric(&mut self, code: u16, params: &[String], line: &Received, now: Now) {
        let word = |index: usize| params.get(index).map(String::as_str).unwrap_or_default();
        let reason = params.last().map(String::as_str).unwrap_or_default();
        match code {
            5 => self.server.take(params),
            376 | 422 => self.greeted(now),
            396 => self.host_shown(word(1)),
            263 => self.who_not_answered(word(1), now),
            310 | 312 | 313 | 318 => self.nickserv_is(code, params, now),
            315 => self.who_answered(word(1)),
            352 | 354 => self.somebody_is_there(code, params),
            302 => self.persons.told(reason, &self.server, now.mono),
            331 => self.channels.topic(word(1), "", false, &self.server, now.mono),
            332 => self.channels.topic(word(1), reason, false, &self.server, now.mono),
            353 => {
                if let [.., channel, names] = params {
                    self.listed(channel, names, now);
                }
            }
            366 => self.channels.named(word(1), &self.server),
            401 | 402 | 407 | 411..=415 if services::is_nickserv(word(1)) => self.nickserv_unknown(now),
            401 => self.not_taken(code, word(1), reason, line, now),
            403
            | 404
            | 405
            | 407
            | 437
            | 442
            | 448
            | 471
            | 473..=477
            | 479
            | 480
            | 485
            | 489
            | 495
            | 519
            | 520 => {
                self.refused(code, word(1), reason, line, now);
            }
            465 => self.close(Closing::barred(reason)),
            470 => self.channels.forwarded(word(1), word(2), &self.server),
            482 => self.topic_denied(word(1), now),
            900 => self.known(),
            464 => self.password_refused(reason),
            // Servers have numerics of their own for refusals, so that any error that names a target of ours counts.
            400..600 => self.not_taken(code, word(1), reason, line, now),
            _ => {}
        }
    }

    /// Handles reply 396: the server shows another host for herder, sometimes with the user part.
    fn host_shown(&mut self, shown: &str) {
        let (user, host) = match shown.split_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host),
            None => (None, shown),
        };
        if let Some(own) = &mut self.own {
            host.clone_into(&mut own.1);
            if let Some(user) = user {
                own.0 = user;
            }
        }
    }

    /// Handles the server's refusal of a JOIN or of a line that herder has sent.
    fn refused(&mut self, code: u16, target: &str, reason: &str, line: &Received, now: Now) {
        // The answer to a labelled line never refers to a JOIN, even if one is in flight.
        if self.is_answer(line) {
            return;
        }
        let trouble = self.channels.refused(code, target, reason, &self.server, now.mono);
        self.not_taken(code, target, reason, line, now);
        self.tell(trouble, now);
    }

    /// Handles an error reply without a label: it is about all lines in flight to `target`.
    fn not_taken(&mut self, code: u16, target: &str, reason: &str, line: &Received, now: Now) {
        if self.is_answer(line) {
            return;
        }
        self.unproven_refused(code, target, reason, now);
        if let Some(flight) = &mut self.flight {
            flight.refused(target, &Refusal { code, reason: reason.to_owned() }, &self.server);
        }
    }
}
