//! Who is speaking, where the server does not say so with every line.
//!
//! A nick proves nothing: anybody can take one. Without `account-tag` the server is asked after a line came, and the
//! answer counts only if nothing can have come between: the nick's user and host in it are those of the line, it lies
//! between our question and its end, and the nick did not change hands, log in or out, or leave in the meantime.
//! Nothing is kept for the next line. One question is under way at a time, since old servers punish more.
//!
//! No question is under way for ever, or nobody would be known again: behind each goes a fence, and a server that has
//! answered that and not the question does not answer it any more.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::isupport::ISupport;
use super::wire::{Outgoing, Received, Said, Source};
use crate::chat::Place;
use crate::core::time::Timestamp;

/// How long a line waits for its answer before it counts as nobody's.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(15);
/// How long after the fence an answer is still taken: bouncers answer PING themselves, and ask the server the rest.
pub(super) const FENCE_GRACE: Duration = Duration::from_secs(3);
/// After this a question is over, whatever the server does.
const QUERY_MAX: Duration = Duration::from_secs(60);
/// When a server that was too busy for a question is asked again. What waits for it waits no longer for that.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// The questions that are told apart by their tokens; servers take three digits, and the last number is somebody else's.
const TOKENS: u16 = 998;
/// How many lines wait at once. Someone who floods is nobody.
const WAITING_MAX: usize = 64;
/// How many lines of one nick wait that is expected to be somebody's who may command: a pasted page.
const EXPECTED_MAX: usize = 32;
/// How many lines of any other nick wait.
const STRANGER_MAX: usize = 4;
/// How many lines of strangers from one host wait; a gateway has many of them.
const HOST_MAX: usize = 16;

/// A live line whose author is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    /// From whom, as the server put it.
    pub(crate) source: Source,
    /// Where.
    pub(crate) place: Place,
    /// What.
    pub(crate) text: String,
    /// When.
    pub(crate) at: Timestamp,
    /// What the server calls it, where its channel is followed.
    pub(crate) id: Option<LineId>,
}

/// What a server calls a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineId {
    /// Its id.
    pub(crate) id: String,
    /// When it was said by the server's clock, in milliseconds.
    pub(crate) time: i64,
}

/// What a question brought.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Answer {
    /// The services account.
    pub(crate) account: Option<String>,
    /// Marked as a bot.
    pub(crate) bot: bool,
}

#[derive(Debug)]
struct Waiting {
    heard: Heard,
    deadline: Instant,
    /// Of somebody who probably may command: asked about before all others.
    expected: bool,
    /// The server's answer came after this line, so that it speaks of its author.
    covered: bool,
}

#[derive(Debug)]
struct Query {
    nick: String,
    token: Option<String>,
    user: String,
    host: String,
    answer: Answer,
    answered: bool,
    /// The nick changed hands since: the answer is about somebody else.
    void: bool,
    /// The number of the PING behind it.
    fence: u64,
    /// When it is over without an end.
    until: Instant,
}

/// The questions of one link.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    query: Option<Query>,
    waiting: VecDeque<Waiting>,
    tokens: u16,
    /// The server was too busy: nothing is asked before this.
    not_before: Option<Instant>,
}

impl Lookups {
    /// A line needs its author's account; `expected`: its author has commanded before, or bears a name that may. Hands back
    /// what can wait no longer, as nobody's. Strangers, however many, keep nobody out who is expected.
    pub(crate) fn ask(
        &mut self,
        heard: Heard,
        expected: bool,
        server: &ISupport,
        now: Instant,
    ) -> Option<Heard> {
        let of_nick = |waiting: &&Waiting| server.case.same(&waiting.heard.source.name, &heard.source.name);
        let of_host = |waiting: &&Waiting| {
            !waiting.expected && waiting.heard.source.host.eq_ignore_ascii_case(&heard.source.host)
        };
        let from_nick = self.waiting.iter().filter(of_nick).count();
        let too_many = if expected {
            from_nick >= EXPECTED_MAX
        } else {
            from_nick >= STRANGER_MAX || self.waiting.iter().filter(of_host).count() >= HOST_MAX
        };
        if too_many {
            return Some(heard);
        }
        self.waiting.push_back(Waiting { heard, deadline: now + LOOKUP_TIMEOUT, expected, covered: false });
        if self.waiting.len() <= WAITING_MAX {
            return None;
        }
        let last = self.waiting.len() - 1;
        let strangers = self.waiting.iter().rposition(|waiting| !waiting.expected);
        self.waiting.remove(strangers.unwrap_or(last)).map(|waiting| waiting.heard)
    }

    /// Whether a line of this nick waits: what it says next must not overtake it.
    pub(crate) fn holds(&self, nick: &str, server: &ISupport) -> bool {
        self.waiting.iter().any(|waiting| server.case.same(&waiting.heard.source.name, nick))
    }

    /// The next question, if none is under way, and the number of the fence that has to follow it.
    pub(crate) fn next_query(
        &mut self,
        server: &ISupport,
        now: Instant,
        number: impl FnOnce() -> u64,
    ) -> Option<(Outgoing, u64)> {
        if self.query.is_some() || self.not_before.is_some_and(|then| now < then) {
            return None;
        }
        self.not_before = None;
        let expected = self.waiting.iter().find(|waiting| waiting.expected);
        let nick = expected.or_else(|| self.waiting.front())?.heard.source.name.clone();
        let (token, line) = if server.whox {
            self.tokens = self.tokens % TOKENS + 1;
            let token = self.tokens.to_string();
            let line = Outgoing::new("WHO").word(nick.as_str()).word(format!("%tuhnfa,{token}"));
            (Some(token), line)
        } else {
            (None, Outgoing::new("WHOIS").word(nick.as_str()))
        };
        let fence = number();
        self.query = Some(Query {
            nick,
            token,
            user: String::new(),
            host: String::new(),
            answer: Answer::default(),
            answered: false,
            void: false,
            fence,
            until: now + QUERY_MAX,
        });
        Some((line, fence))
    }

    /// Takes a line from the server; hands back what is decided by it.
    pub(crate) fn receive(
        &mut self,
        line: &Received,
        server: &ISupport,
        now: Instant,
    ) -> Vec<(Heard, Answer)> {
        match &line.said {
            Said::Numeric(263, params) => {
                self.too_busy(params, now);
                Vec::new()
            }
            Said::Numeric(code, params) => self.numeric(*code, params, server),
            Said::Nick(to) => {
                let mut decided = self.changed_hands(&line.source.name, server);
                decided.extend(self.changed_hands(to, server));
                decided
            }
            Said::Quit(_) | Said::Part { .. } | Said::Account(_) => {
                self.changed_hands(&line.source.name, server)
            }
            Said::Kick { nick, .. } => self.changed_hands(nick, server),
            Said::Ping(_)
            | Said::Pong(_)
            | Said::Error(_)
            | Said::Cap { .. }
            | Said::Authenticate(_)
            | Said::Message { .. }
            | Said::Notice { .. }
            | Said::Join { .. }
            | Said::ChangeHost { .. }
            | Said::Topic { .. }
            | Said::Mode { .. }
            | Said::Invite { .. }
            | Said::BatchStart { .. }
            | Said::BatchEnd { .. }
            | Said::Acknowledged
            | Said::Failed { .. }
            | Said::Other => Vec::new(),
        }
    }

    /// The fence of this number was answered.
    pub(crate) fn fenced(&mut self, number: u64, now: Instant) {
        if let Some(query) = self.query.as_mut().filter(|query| query.fence == number) {
            query.until = query.until.min(now + FENCE_GRACE);
        }
    }

    /// The server does not answer now. The line goes on waiting, and is asked about again while it does.
    fn too_busy(&mut self, params: &[String], now: Instant) {
        let Some(query) = &self.query else { return };
        let command = if query.token.is_some() { "WHO" } else { "WHOIS" };
        // me, command, sentence; some leave the command out.
        if let [_, named, _, ..] = params
            && !named.eq_ignore_ascii_case(command)
        {
            return;
        }
        self.query = None;
        self.not_before = Some(now + RETRY_AFTER);
    }

    fn numeric(&mut self, code: u16, params: &[String], server: &ISupport) -> Vec<(Heard, Answer)> {
        let Some(query) = &mut self.query else { return Vec::new() };
        let word = |index: usize| params.get(index).map(String::as_str).unwrap_or_default();
        match (code, &query.token) {
            // me, token, user, host, nick, flags, account
            (354, Some(token)) if word(1) == token && server.case.same(word(4), &query.nick) => {
                word(2).clone_into(&mut query.user);
                word(3).clone_into(&mut query.host);
                let account = word(6);
                query.answer.account = (account != "0" && !account.is_empty()).then(|| account.to_owned());
                query.answer.bot = server.bot_mode.is_some_and(|mode| word(5).contains(mode));
                self.answered(server);
                Vec::new()
            }
            // me, nick, user, host, *, real name
            (311, None) if server.case.same(word(1), &query.nick) => {
                word(2).clone_into(&mut query.user);
                word(3).clone_into(&mut query.host);
                self.answered(server);
                Vec::new()
            }
            (330, None) if server.case.same(word(1), &query.nick) => {
                query.answer.account = Some(word(2).to_owned());
                Vec::new()
            }
            (335, None) if server.case.same(word(1), &query.nick) => {
                query.answer.bot = true;
                Vec::new()
            }
            (315, Some(_)) | (318, None) if server.case.same(word(1), &query.nick) => self.ended(server),
            _ => Vec::new(),
        }
    }

    /// The answer's first line: it speaks of every line of that nick that came before it.
    fn answered(&mut self, server: &ISupport) {
        let Some(query) = &mut self.query else { return };
        query.answered = true;
        for waiting in &mut self.waiting {
            if server.case.same(&waiting.heard.source.name, &query.nick) {
                waiting.covered = true;
            }
        }
    }

    /// The end of the answer.
    fn ended(&mut self, server: &ISupport) -> Vec<(Heard, Answer)> {
        let Some(query) = self.query.take() else { return Vec::new() };
        if query.void {
            return Vec::new();
        }
        let decided = self.remove(|waiting| {
            let same = server.case.same(&waiting.heard.source.name, &query.nick);
            same && (waiting.covered || !query.answered)
        });
        let answer_for = |heard: Heard| {
            let same_person = query.answered
                && heard.source.user == query.user
                && heard.source.host.eq_ignore_ascii_case(&query.host);
            let answer = if same_person { query.answer.clone() } else { Answer::default() };
            (heard, answer)
        };
        decided.into_iter().map(answer_for).collect()
    }

    /// The nick is somebody else now, or may be: what waits for it is nobody's.
    fn changed_hands(&mut self, nick: &str, server: &ISupport) -> Vec<(Heard, Answer)> {
        if let Some(query) = &mut self.query
            && server.case.same(&query.nick, nick)
        {
            query.void = true;
        }
        let lost = self.remove(|waiting| server.case.same(&waiting.heard.source.name, nick));
        lost.into_iter().map(|heard| (heard, Answer::default())).collect()
    }

    /// What has waited too long. The question stays under way for now: its late answer must not be taken for the next
    /// one's.
    pub(crate) fn expired(&mut self, now: Instant, server: &ISupport) -> Vec<(Heard, Answer)> {
        let late = self.remove(|waiting| waiting.deadline <= now);
        // What others waited for in vain says nothing about whom is asked now.
        if let Some(query) = &mut self.query
            && late.iter().any(|heard| server.case.same(&heard.source.name, &query.nick))
        {
            query.void = true;
        }
        let mut decided: Vec<_> = late.into_iter().map(|heard| (heard, Answer::default())).collect();
        if self.query.as_ref().is_some_and(|query| query.until <= now) {
            decided.extend(self.ended(server));
        }
        decided
    }

    /// When there is something to do without a line from the server.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let waiting = self.waiting.front()?.deadline;
        let asked = self.query.as_ref().map(|query| query.until);
        [asked, self.not_before].into_iter().flatten().chain([waiting]).min()
    }

    fn remove(&mut self, decided: impl Fn(&Waiting) -> bool) -> Vec<Heard> {
        let (out, stay): (Vec<_>, Vec<_>) = self.waiting.drain(..).partition(|waiting| decided(waiting));
        self.waiting = stay.into();
        out.into_iter().map(|waiting| waiting.heard).collect()
    }
}

#[cfg(test)]
mod tests {
    use ::irc::proto::Message;

    use super::*;

    fn line(text: &str) -> Received {
        text.parse::<Message>().expect("a line").into()
    }

    fn heard(text: &str) -> Heard {
        let source = Source { name: "alice".to_owned(), user: "u".to_owned(), host: "h".to_owned() };
        let place = Place::Channel("#spark".to_owned());
        Heard { source, place, text: text.to_owned(), at: Timestamp::from_seconds(0), id: None }
    }

    fn server() -> ISupport {
        ISupport { whox: true, ..ISupport::default() }
    }

    fn texts(decided: &[(Heard, Answer)]) -> Vec<(&str, Option<&str>)> {
        decided.iter().map(|(heard, answer)| (heard.text.as_str(), answer.account.as_deref())).collect()
    }

    /// The next question; its fence is always number 7.
    fn ask(lookups: &mut Lookups, now: Instant) -> Option<String> {
        lookups.next_query(&server(), now, || 7).map(|(line, _)| line.to_line())
    }

    #[test]
    fn an_answer_speaks_of_what_was_said_before_it_alone() {
        let (mut lookups, server, now) = (Lookups::default(), server(), Instant::now());
        assert_eq!(lookups.ask(heard("before"), false, &server, now), None);
        assert!(ask(&mut lookups, now).is_some());
        assert_eq!(lookups.receive(&line(":s 354 me 1 u h alice H acct"), &server, now), []);
        assert_eq!(lookups.ask(heard("after"), false, &server, now), None);
        let decided = lookups.receive(&line(":s 315 me alice :End"), &server, now);
        assert_eq!(texts(&decided), [("before", Some("acct"))]);
        assert!(ask(&mut lookups, now).is_some(), "what came later is asked about anew");
    }

    #[test]
    fn an_answer_that_comes_too_late_is_not_taken_for_the_next_one() {
        let (mut lookups, server, now) = (Lookups::default(), server(), Instant::now());
        assert_eq!(lookups.ask(heard("first"), false, &server, now), None);
        assert!(ask(&mut lookups, now).is_some());
        let late = now + LOOKUP_TIMEOUT;
        assert_eq!(texts(&lookups.expired(late, &server)), [("first", None)]);
        assert_eq!(lookups.ask(heard("second"), false, &server, late), None);
        assert!(ask(&mut lookups, now).is_none(), "one question at a time");
        assert_eq!(lookups.receive(&line(":s 354 me 1 u h alice H acct"), &server, now), []);
        assert_eq!(lookups.receive(&line(":s 315 me alice :End"), &server, now), []);
        assert!(ask(&mut lookups, now).is_some());
    }

    #[test]
    fn a_question_without_an_end_ends_with_its_fence_and_in_any_case() {
        for (fence, until) in [(Some(7), FENCE_GRACE), (Some(8), QUERY_MAX), (None, QUERY_MAX)] {
            let (mut lookups, server, now) = (Lookups::default(), server(), Instant::now());
            assert_eq!(lookups.ask(heard("first"), false, &server, now), None);
            assert!(ask(&mut lookups, now).is_some());
            if let Some(fence) = fence {
                lookups.fenced(fence, now);
            }
            let soonest = until.min(LOOKUP_TIMEOUT);
            assert_eq!(lookups.deadline(), Some(now + soonest), "{fence:?}");
            assert_eq!(texts(&lookups.expired(now + soonest, &server)), [("first", None)]);
            assert_eq!(lookups.ask(heard("second"), false, &server, now + until), None);
            lookups.expired(now + until, &server);
            assert!(ask(&mut lookups, now + until).is_some(), "{fence:?}");
        }
    }

    #[test]
    fn a_bouncer_that_answers_the_fence_itself_is_waited_for() {
        let (mut lookups, server, now) = (Lookups::default(), server(), Instant::now());
        assert_eq!(lookups.ask(heard("one"), false, &server, now), None);
        assert!(ask(&mut lookups, now).is_some());
        lookups.fenced(7, now);
        let then = now + FENCE_GRACE / 2;
        assert_eq!(lookups.expired(then, &server), []);
        assert_eq!(lookups.receive(&line(":s 354 me 1 u h alice H acct"), &server, then), []);
        let decided = lookups.receive(&line(":s 315 me alice :End"), &server, then);
        assert_eq!(texts(&decided), [("one", Some("acct"))]);
    }

    #[test]
    fn a_server_that_is_too_busy_is_asked_again_for_as_long_as_the_line_waits() {
        for busy in [":s 263 me WHO :Try again", ":s 263 me who :Try again", ":s 263 me :Try again"] {
            let (mut lookups, server, now) = (Lookups::default(), server(), Instant::now());
            assert_eq!(lookups.ask(heard("one"), false, &server, now), None);
            assert!(ask(&mut lookups, now).is_some());
            assert_eq!(lookups.receive(&line(":s 263 me LIST :Try again"), &server, now), []);
            assert_eq!(lookups.deadline(), Some(now + LOOKUP_TIMEOUT), "that was about something else");
            assert_eq!(lookups.receive(&line(busy), &server, now), []);
            assert_eq!(ask(&mut lookups, now), None);
            let then = now + RETRY_AFTER;
            assert_eq!(lookups.deadline(), Some(then));
            assert!(ask(&mut lookups, then).is_some());
            assert_eq!(lookups.receive(&line(busy), &server, then), []);
            assert_eq!(texts(&lookups.expired(now + LOOKUP_TIMEOUT, &server)), [("one", None)]);
            assert_eq!(lookups.deadline(), None);
        }
    }

    #[test]
    fn strangers_keep_nobody_out_who_is_expected() {
        let (mut lookups, server, now) = (Lookups::default(), server(), Instant::now());
        let from = |nick: &str, host: &str| {
            let mut heard = heard("x");
            (heard.source.name, heard.source.host) = (nick.to_owned(), host.to_owned());
            heard
        };
        for number in 0..200 {
            let _ = lookups.ask(from(&format!("s{number}"), &format!("h{number}")), false, &server, now);
        }
        assert_eq!(lookups.waiting.len(), WAITING_MAX);
        assert!(ask(&mut lookups, now).is_some_and(|line| line.starts_with("WHO s0 ")));
        let given_up = lookups.ask(from("alice", "h"), true, &server, now).expect("one stranger's");
        assert_eq!(given_up.source.name, format!("s{}", WAITING_MAX - 1));
        assert_eq!(lookups.receive(&line(":s 315 me s0 :End"), &server, now).len(), 1);
        assert!(ask(&mut lookups, now).is_some_and(|line| line.starts_with("WHO alice ")));
        // The strangers' time is over while alice is asked about.
        let late = now + LOOKUP_TIMEOUT - Duration::from_millis(1);
        assert_eq!(lookups.ask(from("alice", "h"), true, &server, late), None);
        assert!(!lookups.expired(now + LOOKUP_TIMEOUT, &server).is_empty());

        let mut lookups = Lookups::default();
        let taken = |lookups: &mut Lookups, nick: &str, host: &str, expected| {
            (0..100).filter(|_| lookups.ask(from(nick, host), expected, &server, now).is_none()).count()
        };
        assert_eq!(taken(&mut lookups, "one", "gateway", false), STRANGER_MAX);
        let of_host: usize = (0..50).map(|n| taken(&mut lookups, &format!("n{n}"), "gateway", false)).sum();
        assert_eq!(of_host + STRANGER_MAX, HOST_MAX);
        assert_eq!(taken(&mut lookups, "alice", "gateway", true), EXPECTED_MAX);
    }
}
