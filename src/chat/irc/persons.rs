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

/// The time for which a nick's holder is believed. If we share no channel with somebody, no server tells us that they left.
const BELIEVED: Duration = Duration::from_secs(15);
/// Maximum number of remembered nicks; a forgotten one is requested again.
const PERSONS_MAX: usize = 512;

#[derive(Debug)]
enum Standing {
    /// A request is open; `fence` follows it, and `until` is its timeout after the fence was answered.
    Asked { fence: u64, until: Option<Instant> },
    /// User and host of the holder.
    Known { user: String, host: String, until: Instant },
    /// The nick is unused.
    Away { until: Instant },
}

/// The decision about a private message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict<'a> {
    /// The holder of the nick is the recipient: send it.
    Send,
    /// Ask the server first for the holder of this nick.
    Ask(&'a str),
    /// Wait for the answer to the open request.
    Wait,
    /// The holder is somebody else, or nobody: drop it.
    Drop,
}

/// Holders of nicks, as one link knows them.
#[derive(Debug, Default)]
pub(crate) struct Persons(Vec<(String, Standing)>);

/// Returns the nick of a person given as `nick!user@host`.
pub(crate) fn nick_of(person: &str) -> &str {
    person.split_once('!').map_or(person, |(nick, _)| nick)
}

impl Persons {
    /// Records the holder of a nick who has written to us, live.
    pub(crate) fn wrote(&mut self, source: &Source, server: &ISupport, now: Instant) {
        let (user, host) = (source.user.clone(), source.host.clone());
        self.stands(&source.name, Standing::Known { user, host, until: now + BELIEVED }, server);
    }

    /// Forgets the holder of a nick after they left, changed nick, or changed user or host.
    pub(crate) fn left(&mut self, nick: &str, server: &ISupport) {
        self.0.retain(|(known, standing)| {
            matches!(standing, Standing::Asked { .. }) || !server.case.same(known, nick)
        });
    }

    /// Handles 302: `nick*=+user@host`, several of them.
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

    /// Handles the answer to a fence: the request before it is answered soon or never.
    pub(crate) fn fenced(&mut self, number: u64, now: Instant) {
        for (_, standing) in &mut self.0 {
            if let Standing::Asked { fence, until } = standing
                && *fence == number
            {
                until.get_or_insert(now + FENCE_GRACE);
            }
        }
    }

    /// Marks nicks as unused whose request was not answered in time.
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

    /// Returns true if a request for the holder of the person's nick is open.
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

    /// Decides about a message for `person`. With [`Verdict::Ask`] the request counts as open, followed by `fence`.
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
