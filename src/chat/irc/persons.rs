//! Who bears a nick now: what is said in private is for whoever asked, not for whoever has that name when it is sent.
//!
//! ```text
//!  nobody known ──they write to us in private──────────────────────────────► known ──NICK, QUIT, a while──► nobody known
//!       └──words are due──► asked (USERHOST) ──302──────────────────────────►  ▲
//!                                └──the fence behind it, and no 302──► away ──they write──┘
//! ```
//!
//! A 302 that comes a little later than the fence still counts: bouncers answer PING themselves, and ask the server the rest.
//!
//! Words for somebody who is away, or whose user and host are not those of the one who asked, are dropped: nobody else may
//! read them, and whoever comes back can ask again.

use std::time::Duration;

use tokio::time::Instant;

use super::identity::FENCE_GRACE;
use super::isupport::ISupport;
use super::wire::Source;

/// For how long it is believed who bears a nick. Where we share no channel with somebody nobody tells us that they left.
const BELIEVED: Duration = Duration::from_secs(15);
/// How many are remembered; whoever is forgotten is asked for again.
const PERSONS_MAX: usize = 512;

#[derive(Debug)]
enum Standing {
    /// A question is under way, with this fence behind it; once that was answered, until then.
    Asked { fence: u64, until: Option<Instant> },
    /// This is their user and host.
    Known { user: String, host: String, until: Instant },
    /// Nobody bears the nick.
    Away { until: Instant },
}

/// What is to be done with words for a person.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict<'a> {
    /// It is them.
    Send,
    /// The server has to be asked first who bears this nick.
    Ask(&'a str),
    /// The answer to that has to be waited for.
    Wait,
    /// It is somebody else, or nobody.
    Drop,
}

/// Whom one link has seen in private.
#[derive(Debug, Default)]
pub(crate) struct Persons(Vec<(String, Standing)>);

/// The nick of a person, who is called `nick!user@host`.
pub(crate) fn nick_of(person: &str) -> &str {
    person.split_once('!').map_or(person, |(nick, _)| nick)
}

impl Persons {
    /// Somebody has written to us, live.
    pub(crate) fn wrote(&mut self, source: &Source, server: &ISupport, now: Instant) {
        let (user, host) = (source.user.clone(), source.host.clone());
        self.stands(&source.name, Standing::Known { user, host, until: now + BELIEVED }, server);
    }

    /// Whoever had the nick does not have it any more, or looks different.
    pub(crate) fn left(&mut self, nick: &str, server: &ISupport) {
        self.0.retain(|(known, standing)| {
            matches!(standing, Standing::Asked { .. }) || !server.case.same(known, nick)
        });
    }

    /// 302: `nick*=+user@host`, several of them.
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

    /// A fence was answered: what was asked before it is answered soon, or not at all.
    pub(crate) fn fenced(&mut self, number: u64, now: Instant) {
        for (_, standing) in &mut self.0 {
            if let Standing::Asked { fence, until } = standing
                && *fence == number
            {
                until.get_or_insert(now + FENCE_GRACE);
            }
        }
    }

    /// Questions that were not answered in time: nobody bears the nick.
    pub(crate) fn expired(&mut self, now: Instant) {
        for (_, standing) in &mut self.0 {
            if matches!(standing, Standing::Asked { until: Some(until), .. } if *until <= now) {
                *standing = Standing::Away { until: now + BELIEVED };
            }
        }
    }

    /// When [`Persons::expired`] has something to do.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let until = |(_, standing): &(String, Standing)| match standing {
            Standing::Asked { until, .. } => *until,
            Standing::Known { .. } | Standing::Away { .. } => None,
        };
        self.0.iter().filter_map(until).min()
    }

    /// Whether it is being found out who bears the nick.
    pub(crate) fn is_asked(&self, person: &str, server: &ISupport) -> bool {
        matches!(self.find(nick_of(person), server), Some(Standing::Asked { .. }))
    }

    /// Whether it is known to be them who bear the nick: [`Verdict::Send`].
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

    /// What is to be done with words for `person`. With [`Verdict::Ask`] the question counts as under way, with `fence`
    /// behind it.
    pub(crate) fn verdict<'a>(
        &mut self,
        person: &'a str,
        fence: u64,
        server: &ISupport,
        now: Instant,
    ) -> Verdict<'a> {
        // A nick alone says nothing of who it was.
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
