//! The present holder of a nick: a private message goes to the person who asked, not to the holder of the nick at sending time.
//!
//! ```text
//!  nobody known ──they write to us in private──────────────────────────────► known ──NICK, QUIT, a while──► nobody known
//!       └──words are due──► asked (USERHOST) ──302──────────────────────────►  ▲
//!                                └──the fence behind it, and no 302──► away ──they write──┘
//! ```
//!
//! A 302 that comes a little later than the fence still counts: bouncers answer PING themselves and forward the rest
//! to the server.
//!
//! Messages are dropped if the recipient is away, or if the nick's user and host are not those of the person who
//! asked: nobody else may read them, and the person can ask again.

use std::time::Duration;

use tokio::time::Instant;

use super::identity::FENCE_GRACE;
use super::isupport::ISupport;
use super::wire::Source;

/// Time for which herder believes that a nick has the same holder. If herder shares no channel with somebody, no server
/// tells it that they left.
const BELIEVED: Duration = Duration::from_secs(15);
/// Maximum number of nicks whose holder is remembered; that of a forgotten one is requested again.
const PERSONS_MAX: usize = 512;

#[derive(Debug)]
enum Standing {
    /// The server is asked for the holder; `fence` is the number of the PING after the request, and `until` the
    /// request's timeout once that PING was answered.
    Asked { fence: u64, until: Option<Instant> },
    /// User and host of the nick's holder, believed until this time.
    Known { user: String, host: String, until: Instant },
    /// The nick has no holder, as is believed until this time.
    Away { until: Instant },
}

/// The decision whether a private message may be sent to a nick.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict<'a> {
    /// The recipient has the nick: the message can be sent.
    Send,
    /// The server has to be asked first who has this nick.
    Ask(&'a str),
    /// The server was asked who has the nick and has not answered yet.
    Wait,
    /// Somebody else has the nick, or nobody: the message is dropped.
    Drop,
}

/// The holders of nicks on one link, so that a private message reaches only the person it is for.
#[derive(Debug, Default)]
pub(crate) struct Persons(Vec<(String, Standing)>);

/// Returns the nick of a person given as `nick!user@host`.
pub(crate) fn nick_of(person: &str) -> &str {
    person.split_once('!').map_or(person, |(nick, _)| nick)
}

impl Persons {
    /// Records the holder of a nick, who has just written to herder.
    pub(crate) fn wrote(&mut self, source: &Source, server: &ISupport, now: Instant) {
        let (user, host) = (source.user.clone(), source.host.clone());
        self.stands(&source.name, Standing::Known { user, host, until: now + BELIEVED }, server);
    }

    /// Forgets the holder of a nick, who has left or changed nick, user or host.
    pub(crate) fn left(&mut self, nick: &str, server: &ISupport) {
        self.0.retain(|(known, standing)| {
            matches!(standing, Standing::Asked { .. }) || !server.case.same(known, nick)
        });
    }

    /// Handles reply 302 (USERHOST), which names holders of nicks: `nick*=+user@host`.
    pub(crate) fn told(&mut self, replies: &str, server: &ISupport, now: Instant) {
        for reply in replies.split_ascii_whitespace() {
            let Some((nick, rest)) = reply.split_once('=') else { continue };
            let Some((user, host)) = rest.get(1..).and_then(|rest| rest.split_once('@')) else { continue };
            let nick = nick.trim_end_matches('*');
            if self.is_asked(nick, server) {
                let (user, host) = (user.to_owned(), host.to_owned());
                self.stands(nick, Standing::Known { user, host, until: now + BELIEVED }, server);
            }
        }
    }

    /// Handles the answer to the fence (PING) of this number: the answer to the request before it comes soon or never.
    pub(crate) fn fenced(&mut self, number: u64, now: Instant) {
        for (_, standing) in &mut self.0 {
            if let Standing::Asked { fence, until } = standing
                && *fence == number
            {
                until.get_or_insert(now + FENCE_GRACE);
            }
        }
    }

    /// Records that nobody has those nicks for which the server has not answered in time.
    pub(crate) fn expired(&mut self, now: Instant) {
        for (_, standing) in &mut self.0 {
            if matches!(standing, Standing::Asked { until: Some(until), .. } if *until <= now) {
                *standing = Standing::Away { until: now + BELIEVED };
            }
        }
    }

    /// Returns the time at which [`Persons::expired`] has to be called.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let until = |(_, standing): &(String, Standing)| match standing {
            Standing::Asked { until, .. } => *until,
            Standing::Known { .. } | Standing::Away { .. } => None,
        };
        self.0.iter().filter_map(until).min()
    }

    /// Returns true if the server is being asked for the holder of this person's nick.
    pub(crate) fn is_asked(&self, person: &str, server: &ISupport) -> bool {
        matches!(self.find(nick_of(person), server), Some(Standing::Asked { .. }))
    }

    /// Returns true if the person is known to hold the nick now: [`Verdict::Send`].
    pub(crate) fn is_seen(&self, person: &str, server: &ISupport, now: Instant) -> bool {
        let Some((nick, (user, host))) =
            person.split_once('!').and_then(|(nick, rest)| Some((nick, rest.split_once('@')?)))
        else {
            return false;
        };
        matches!(
            self.find(nick, server),
            Some(Standing::Known { user: known, host: at, until })
                if now < *until && known == user && at.eq_ignore_ascii_case(host)
        )
    }

    /// Decides whether a message for `person`, given as `nick!user@host`, may be sent. With [`Verdict::Ask`] the
    /// request counts as sent, followed by the PING numbered `fence`.
    pub(crate) fn verdict<'a>(
        &mut self,
        person: &'a str,
        fence: u64,
        server: &ISupport,
        now: Instant,
    ) -> Verdict<'a> {
        // A nick alone does not identify a person.
        let Some((nick, (user, host))) =
            person.split_once('!').and_then(|(nick, rest)| Some((nick, rest.split_once('@')?)))
        else {
            return Verdict::Drop;
        };
        match self.find(nick, server) {
            Some(Standing::Asked { .. }) => Verdict::Wait,
            Some(Standing::Known { user: known, host: at, until }) if now < *until => {
                if known == user && at.eq_ignore_ascii_case(host) { Verdict::Send } else { Verdict::Drop }
            }
            Some(Standing::Away { until }) if now < *until => Verdict::Drop,
            Some(Standing::Known { .. } | Standing::Away { .. }) | None => {
                self.stands(nick, Standing::Asked { fence, until: None }, server);
                Verdict::Ask(nick)
            }
        }
    }

    fn find(&self, nick: &str, server: &ISupport) -> Option<&Standing> {
        self.0.iter().find(|(known, _)| server.case.same(known, nick)).map(|(_, standing)| standing)
    }

    fn stands(&mut self, nick: &str, standing: Standing, server: &ISupport) {
        self.0.retain(|(known, _)| !server.case.same(known, nick));
        if self.0.len() >= PERSONS_MAX {
            self.0.remove(0);
        }
        self.0.push((nick.to_owned(), standing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: &str = "alice!a@h";

    fn source(name: &str, user: &str) -> Source {
        Source { name: name.to_owned(), user: user.to_owned(), host: "h".to_owned() }
    }

    #[test]
    fn words_are_for_who_asked_and_for_nobody_else_of_that_name() {
        let (mut persons, server, now) = (Persons::default(), ISupport::default(), Instant::now());
        persons.wrote(&source("Alice", "a"), &server, now);
        assert_eq!(persons.verdict(ALICE, 1, &server, now), Verdict::Send);
        assert_eq!(persons.verdict("alice!other@h", 1, &server, now), Verdict::Drop);
        assert_eq!(persons.verdict("alice", 1, &server, now), Verdict::Drop, "a nick alone");
        persons.wrote(&source("alice", "mallory"), &server, now);
        assert_eq!(persons.verdict(ALICE, 1, &server, now), Verdict::Drop);
    }

    #[test]
    fn who_has_not_written_just_now_is_asked_for() {
        let (server, now) = (ISupport::default(), Instant::now());
        let gone: [&dyn Fn(&mut Persons) -> Instant; 3] = [
            &|_| now,
            &|persons| {
                persons.wrote(&source("alice", "a"), &server, now);
                persons.left("ALICE", &server);
                now
            },
            &|persons| {
                persons.wrote(&source("alice", "a"), &server, now);
                now + BELIEVED
            },
        ];
        for gone in gone {
            for (told, verdict) in [
                ("bob=+a@h alice*=+a@H", Verdict::Send),
                ("alice=-mallory@h", Verdict::Drop),
                ("bob=+a@h", Verdict::Drop),
                ("alice= alice", Verdict::Drop),
            ] {
                let mut persons = Persons::default();
                let now = gone(&mut persons);
                assert_eq!(persons.verdict(ALICE, 7, &server, now), Verdict::Ask("alice"));
                assert!(persons.is_asked(ALICE, &server));
                assert_eq!(persons.verdict(ALICE, 8, &server, now), Verdict::Wait);
                persons.fenced(6, now);
                persons.told(told, &server, now);
                persons.fenced(7, now);
                let now = now + FENCE_GRACE;
                persons.expired(now);
                assert_eq!(persons.verdict(ALICE, 9, &server, now), verdict, "{told}");
            }
        }
    }

    #[test]
    fn an_answer_a_little_later_than_the_fence_still_counts() {
        let (server, now) = (ISupport::default(), Instant::now());
        for (after, verdict) in [(FENCE_GRACE / 2, Verdict::Send), (FENCE_GRACE, Verdict::Drop)] {
            let mut persons = Persons::default();
            assert_eq!(persons.verdict(ALICE, 7, &server, now), Verdict::Ask("alice"));
            assert_eq!(persons.deadline(), None);
            persons.fenced(7, now);
            assert_eq!(persons.deadline(), Some(now + FENCE_GRACE));
            persons.expired(now + after);
            persons.told("alice=+a@h", &server, now + after);
            assert_eq!(persons.verdict(ALICE, 8, &server, now + after), verdict, "{after:?}");
            assert_eq!(persons.deadline(), None);
        }
    }
}
