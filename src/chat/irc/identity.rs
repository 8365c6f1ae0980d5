//! Identity of a speaker, where the server does not send the account with every line.
//!
//! A nick proves nothing: anybody can take one. Without `account-tag` the server is asked after a line came. The
//! answer counts only if it must refer to the author of that line: it names the same user and host, it came between
//! our request and its end, and meanwhile the nick did not change hands, log in or out, or leave. Nothing is cached
//! for the next line. One request is open at a time, since old servers throttle more.
//!
//! Every request ends, since otherwise nobody could be identified any more: a fence follows each one, and if the
//! server answers the fence but not the request, the request is given up.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::isupport::ISupport;
use super::wire::{Outgoing, Received, Said, Source};
use crate::core::speech::Place;
use crate::core::time::Timestamp;

/// Maximum time for which a line waits for its author's services account; then it counts as a line of somebody without
/// an account.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(15);
/// Time after the answer to the fence (PING) in which the answer to a WHO before it is still accepted: bouncers answer
/// PING themselves and forward the rest.
pub(super) const FENCE_GRACE: Duration = Duration::from_secs(3);
/// Maximum time for the answer to a WHO request, whatever the server does.
const QUERY_MAX: Duration = Duration::from_secs(60);
/// Wait before a server that was too busy for a WHO request is asked again. The timeouts of waiting lines are not
/// extended by it.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// Number of distinct tokens of WHOX requests. Servers accept three digits, and 999 is the census's token.
const TOKENS: u16 = 998;
/// Maximum number of lines that wait for their author's account. Lines beyond it count as lines of somebody without
/// one.
const WAITING_MAX: usize = 64;
/// Maximum number of waiting lines of one nick that probably may give commands: a pasted page.
const EXPECTED_MAX: usize = 32;
/// Maximum number of waiting lines of any other nick.
const STRANGER_MAX: usize = 4;
/// Maximum number of waiting lines of strangers from one host; a gateway has many users.
const HOST_MAX: usize = 16;

/// A live line whose author's services account is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Sender of the line, as in its prefix.
    pub(crate) source: Source,
    /// The channel or private conversation in which the line was said.
    pub(crate) place: Place,
    /// Text of the line.
    pub(crate) text: String,
    /// Time at which the line was received.
    pub(crate) at: Timestamp,
    /// The server's id of the line; `None` if its channel has no history.
    pub(crate) id: Option<LineId>,
}

/// The server's id and time of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineId {
    /// The server's message id of the line.
    pub(crate) id: String,
    /// Time of the line, in milliseconds by the server's clock.
    pub(crate) time: i64,
}

/// The server's answer about the author of a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Answer {
    /// Services account of the author; `None` without one.
    pub(crate) account: Option<String>,
    /// True if the author is marked as a bot.
    pub(crate) bot: bool,
}

/// The priority of an author among those whose lines wait for their account, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// Nothing is known about the author.
    Stranger,
    /// The author is in one of herder's channels.
    Present,
    /// The author probably has a role that permits commands.
    Expected,
}

#[derive(Debug)]
struct Waiting {
    heard: Heard,
    deadline: Instant,
    /// Priority of the line's author; lines of authors with a higher one come first.
    rank: Rank,
    /// True if the server's answer arrived after the line, so that it is about the line's author.
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
    /// True if the nick may belong to somebody else since the request: the answer is then about another person.
    void: bool,
    /// Number of the fence (PING) that was sent after the request.
    fence: u64,
    /// The time at which the request is given up.
    until: Instant,
}

/// The lines of one link that wait for their author's services account, and the WHO request for it.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    query: Option<Query>,
    waiting: VecDeque<Waiting>,
    tokens: u16,
    /// Time before which no request is sent, because the server was too busy; `None` if it was not.
    not_before: Option<Instant>,
}

impl Lookups {
    /// Makes a line wait until its author's account is known. Lines of a lower rank never displace those of a higher
    /// one. Returns a line that cannot wait any longer, to be treated as a line of somebody without an account.
    pub(crate) fn ask(&mut self, heard: Heard, rank: Rank, server: &ISupport, now: Instant) -> Option<Heard> {
        let of_nick = |waiting: &&Waiting| server.case.same(&waiting.heard.source.name, &heard.source.name);
        let of_host = |waiting: &&Waiting| {
            waiting.rank < Rank::Expected
                && waiting.heard.source.host.eq_ignore_ascii_case(&heard.source.host)
        };
        let from_nick = self.waiting.iter().filter(of_nick).count();
        let too_many = if rank == Rank::Expected {
            from_nick >= EXPECTED_MAX
        } else {
            from_nick >= STRANGER_MAX || self.waiting.iter().filter(of_host).count() >= HOST_MAX
        };
        if too_many {
            return Some(heard);
        }
        self.waiting.push_back(Waiting { heard, deadline: now + LOOKUP_TIMEOUT, rank, covered: false });
        if self.waiting.len() <= WAITING_MAX {
            return None;
        }
        let lowest = self.waiting.iter().map(|waiting| waiting.rank).min()?;
        let last = self.waiting.iter().rposition(|waiting| waiting.rank == lowest)?;
        self.waiting.remove(last).map(|waiting| waiting.heard)
    }

    /// Returns true if a line of this nick waits, so that the nick's next line must not overtake it.
    pub(crate) fn holds(&self, nick: &str, server: &ISupport) -> bool {
        self.waiting.iter().any(|waiting| server.case.same(&waiting.heard.source.name, nick))
    }

    /// Returns the next WHO request to send if none is open, and the number of the fence (PING) to send after it.
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
        let highest = self.waiting.iter().map(|waiting| waiting.rank).max()?;
        let nick = self.waiting.iter().find(|waiting| waiting.rank == highest)?.heard.source.name.clone();
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

    /// Handles a line from the server that may be about a waiting line's author. Returns the waiting lines whose author
    /// is known now, with the answers.
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

    /// Handles the answer to the fence (PING) of this number: the answer to the request before it comes soon or never.
    pub(crate) fn fenced(&mut self, number: u64, now: Instant) {
        if let Some(query) = self.query.as_mut().filter(|query| query.fence == number) {
            query.until = query.until.min(now + FENCE_GRACE);
        }
    }

    /// Handles that the server is too busy for the request: the lines keep waiting, and the request is repeated later.
    fn too_busy(&mut self, params: &[String], now: Instant) {
        let Some(query) = &self.query else { return };
        let command = if query.token.is_some() { "WHO" } else { "WHOIS" };
        // Parameters: our nick, command, text; some servers leave the command out.
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
            // Parameters: our nick, token, user, host, nick, flags, account.
            (354, Some(token)) if word(1) == token && server.case.same(word(4), &query.nick) => {
                word(2).clone_into(&mut query.user);
                word(3).clone_into(&mut query.host);
                let account = word(6);
                query.answer.account = (account != "0" && !account.is_empty()).then(|| account.to_owned());
                query.answer.bot = server.bot_mode.is_some_and(|mode| word(5).contains(mode));
                self.answered(server);
                Vec::new()
            }
            // Parameters: our nick, nick, user, host, `*`, real name.
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

    /// Handles the first line of an answer: it is about every waiting line of that nick that came before it.
    fn answered(&mut self, server: &ISupport) {
        let Some(query) = &mut self.query else { return };
        query.answered = true;
        for waiting in &mut self.waiting {
            if server.case.same(&waiting.heard.source.name, &query.nick) {
                waiting.covered = true;
            }
        }
    }

    /// Handles the end of an answer; returns the lines whose author is known now.
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

    /// Handles that a nick belongs, or may belong, to somebody else now: its waiting lines count as lines of somebody
    /// without an account.
    fn changed_hands(&mut self, nick: &str, server: &ISupport) -> Vec<(Heard, Answer)> {
        if let Some(query) = &mut self.query
            && server.case.same(&query.nick, nick)
        {
            query.void = true;
        }
        let lost = self.remove(|waiting| server.case.same(&waiting.heard.source.name, nick));
        lost.into_iter().map(|heard| (heard, Answer::default())).collect()
    }

    /// Returns the waiting lines whose timeout has passed. The request stays open for now, so that its late answer is
    /// not taken for the next one's.
    pub(crate) fn expired(&mut self, now: Instant, server: &ISupport) -> Vec<(Heard, Answer)> {
        let late = self.remove(|waiting| waiting.deadline <= now);
        // A timeout of other nicks' lines does not concern the nick of the present request.
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

    /// Returns the time at which the next timeout passes.
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

    /// For a test: sends the next request, whose fence always has number 7.
    fn ask(lookups: &mut Lookups, now: Instant) -> Option<String> {
        lookups.next_query(&server(), now, || 7).map(|(line, _)| line.to_line())
    }

    #[test]
    fn an_answer_speaks_of_what_was_said_before_it_alone() {
        let (mut lookups, server, now) = (Lookups::default(), server(), Instant::now());
        assert_eq!(lookups.ask(heard("before"), Rank::Stranger, &server, now), None);
        assert!(ask(&mut lookups, now).is_some());
        assert_eq!(lookups.receive(&line(":s 354 me 1 u h alice H acct"), &server, now), []);
        assert_eq!(lookups.ask(heard("after"), Rank::Stranger, &server, now), None);
        let decided = lookups.receive(&line(":s 315 me alice :End"), &server, now);
        assert_eq!(texts(&decided), [("before", Some("acct"))]);
        assert!(ask(&mut lookups, now).is_some(), "what came later is asked about anew");
    }

    #[test]
    fn an_answer_that_comes_too_late_is_not_taken_for_the_next_one() {
        let (mut lookups, server, now) = (Lookups::default(), server(), Instant::now());
        assert_eq!(lookups.ask(heard("first"), Rank::Stranger, &server, now), None);
        assert!(ask(&mut lookups, now).is_some());
        let late = now + LOOKUP_TIMEOUT;
        assert_eq!(texts(&lookups.expired(late, &server)), [("first", None)]);
        assert_eq!(lookups.ask(heard("second"), Rank::Stranger, &server, late), None);
        assert!(ask(&mut lookups, now).is_none(), "one question at a time");
        assert_eq!(lookups.receive(&line(":s 354 me 1 u h alice H acct"), &server, now), []);
        assert_eq!(lookups.receive(&line(":s 315 me alice :End"), &server, now), []);
        assert!(ask(&mut lookups, now).is_some());
    }

    #[test]
    fn a_question_without_an_end_ends_with_its_fence_and_in_any_case() {
        for (fence, until) in [(Some(7), FENCE_GRACE), (Some(8), QUERY_MAX), (None, QUERY_MAX)] {
            let (mut lookups, server, now) = (Lookups::default(), server(), Instant::now());
            assert_eq!(lookups.ask(heard("first"), Rank::Stranger, &server, now), None);
            assert!(ask(&mut lookups, now).is_some());
            if let Some(fence) = fence {
                lookups.fenced(fence, now);
            }
            let soonest = until.min(LOOKUP_TIMEOUT);
            assert_eq!(lookups.deadline(), Some(now + soonest), "{fence:?}");
            assert_eq!(texts(&lookups.expired(now + soonest, &server)), [("first", None)]);
            assert_eq!(lookups.ask(heard("second"), Rank::Stranger, &server, now + until), None);
            lookups.expired(now + until, &server);
            assert!(ask(&mut lookups, now + until).is_some(), "{fence:?}");
        }
    }

    #[test]
    fn a_bouncer_that_answers_the_fence_itself_is_waited_for() {
        let (mut lookups, server, now) = (Lookups::default(), server(), Instant::now());
        assert_eq!(lookups.ask(heard("one"), Rank::Stranger, &server, now), None);
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
            assert_eq!(lookups.ask(heard("one"), Rank::Stranger, &server, now), None);
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
            let _ =
                lookups.ask(from(&format!("s{number}"), &format!("h{number}")), Rank::Stranger, &server, now);
        }
        assert_eq!(lookups.waiting.len(), WAITING_MAX);
        assert!(ask(&mut lookups, now).is_some_and(|line| line.starts_with("WHO s0 ")));
        let given_up = lookups.ask(from("alice", "h"), Rank::Expected, &server, now).expect("one stranger's");
        assert_eq!(given_up.source.name, format!("s{}", WAITING_MAX - 1));
        assert_eq!(lookups.receive(&line(":s 315 me s0 :End"), &server, now).len(), 1);
        assert!(ask(&mut lookups, now).is_some_and(|line| line.starts_with("WHO alice ")));
        // The strangers' timeout passes while alice's account is requested.
        let late = now + LOOKUP_TIMEOUT - Duration::from_millis(1);
        assert_eq!(lookups.ask(from("alice", "h"), Rank::Expected, &server, late), None);
        assert!(!lookups.expired(now + LOOKUP_TIMEOUT, &server).is_empty());

        // Members of a channel come before strangers, and after those who probably may give commands.
        let mut lookups = Lookups::default();
        for (nick, rank) in [("s", Rank::Stranger), ("bob", Rank::Present), ("alice", Rank::Expected)] {
            assert_eq!(lookups.ask(from(nick, nick), rank, &server, now), None);
        }
        for nick in ["alice", "bob", "s"] {
            assert!(
                ask(&mut lookups, now).is_some_and(|line| line.starts_with(&format!("WHO {nick} "))),
                "{nick}"
            );
            assert_eq!(lookups.receive(&line(&format!(":s 315 me {nick} :End")), &server, now).len(), 1);
        }
        let mut lookups = Lookups::default();
        let taken = |lookups: &mut Lookups, nick: &str, host: &str, rank| {
            (0..100).filter(|_| lookups.ask(from(nick, host), rank, &server, now).is_none()).count()
        };
        assert_eq!(taken(&mut lookups, "one", "gateway", Rank::Stranger), STRANGER_MAX);
        let of_host: usize =
            (0..50).map(|n| taken(&mut lookups, &format!("n{n}"), "gateway", Rank::Stranger)).sum();
        assert_eq!(of_host + STRANGER_MAX, HOST_MAX);
        assert_eq!(taken(&mut lookups, "alice", "gateway", Rank::Expected), EXPECTED_MAX);
    }
}
