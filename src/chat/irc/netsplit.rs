//! Alerts that an operator missed during a netsplit.
//!
//! During a split the server on our side accepts every line, echoes it and answers every fence: nothing shows that
//! people on the other side never received it. The split itself is visible from the QUIT messages. Known operators
//! who leave that way are remembered, and the alerts since then are repeated when they return.

use std::collections::VecDeque;
use std::sync::LazyLock;

use regex::Regex;

use super::isupport::ISupport;
use super::wire::Source;

/// Maximum number of operators remembered per network; far more than a fleet has.
const PEOPLE_MAX: usize = 200;
/// Maximum number of missed alerts that are repeated to an operator: a screenful. All alerts are in the history.
const ALERTS_MAX: usize = 20;

/// Pattern of the QUIT reason for people on the other side of a netsplit: the names of two servers.
static SERVERS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[^\s:]+\.[^\s:]+ [^\s:]+\.[^\s:]+$").expect("a constant expression"));

/// The operators seen on a network, those lost in a netsplit, and recent alerts, which are repeated when they return.
#[derive(Debug, Default)]
pub(crate) struct Netsplits {
    operators: VecDeque<Source>,
    /// Operators that were lost in a netsplit, with the number of the first alert that each has missed.
    lost: VecDeque<(Source, u64)>,
    alerts: VecDeque<(u64, String)>,
    next_alert: u64,
}

impl Netsplits {
    /// Records an operator who has spoken or joined.
    pub(crate) fn operator_seen(&mut self, source: &Source) {
        self.operators.retain(|known| known != source);
        self.operators.push_back(source.clone());
        if self.operators.len() > PEOPLE_MAX {
            self.operators.pop_front();
        }
    }

    /// Returns true if this person was seen to be an operator and has not left since.
    pub(crate) fn knows(&self, source: &Source) -> bool {
        self.operators.contains(source)
    }

    /// Forgets a person who turned out to be no operator.
    pub(crate) fn no_operator(&mut self, source: &Source) {
        self.operators.retain(|known| known != source);
    }

    /// Records the new user and host of a known operator.
    pub(crate) fn moved(&mut self, source: &Source, user: &str, host: &str) {
        for known in self.operators.iter_mut().filter(|known| *known == source) {
            (known.user, known.host) = (user.to_owned(), host.to_owned());
        }
    }

    /// Records the new nick of a known operator.
    pub(crate) fn renamed(&mut self, source: &Source, to: &str) {
        for known in self.operators.iter_mut().filter(|known| *known == source) {
            to.clone_into(&mut known.name);
        }
    }

    /// Records an alert that was sent, to be repeated for those who miss it.
    pub(crate) fn alerted(&mut self, text: &str) {
        self.alerts.push_back((self.next_alert, text.to_owned()));
        self.next_alert += 1;
        if self.alerts.len() > ALERTS_MAX {
            self.alerts.pop_front();
        }
    }

    /// Records that somebody left the network; a known operator counts as lost if the QUIT belongs to a netsplit.
    pub(crate) fn left(&mut self, source: &Source, reason: &str, in_batch: bool) {
        let is_back = self.lost.iter().any(|(lost, _)| lost == source);
        let known = is_back || self.operators.iter().any(|known| known == source);
        self.operators.retain(|known| known != source);
        self.found(source);
        if known && (in_batch || SERVERS.is_match(reason)) {
            self.lost.push_back((source.clone(), self.next_alert));
            if self.lost.len() > PEOPLE_MAX {
                self.lost.pop_front();
            }
        }
    }

    /// Records that a lost operator is on herder's side of the netsplit, perhaps returned unseen.
    pub(crate) fn found(&mut self, source: &Source) {
        self.lost.retain(|(lost, _)| lost != source);
    }

    /// Handles that somebody joined the alerts channel. Returns the alerts that they missed if they are an operator who
    /// was lost in a netsplit.
    pub(crate) fn back(&mut self, source: &Source, server: &ISupport) -> Option<Vec<String>> {
        self.take(|lost| {
            server.case.same(&lost.name, &source.name) && lost.user == source.user && lost.host == source.host
        })
    }

    /// Handles a name in the alerts channel's list of names, because people may have returned unseen; `name` is the
    /// nick, or `nick!user@host` where the server sends that. Returns the alerts that they missed if they are an
    /// operator who was lost in a netsplit.
    pub(crate) fn listed(&mut self, name: &str, server: &ISupport) -> Option<Vec<String>> {
        let (nick, mask) = name.split_once('!').map_or((name, None), |(nick, mask)| (nick, Some(mask)));
        self.take(|lost| {
            let known = mask
                .is_none_or(|mask| mask.split_once('@') == Some((lost.user.as_str(), lost.host.as_str())));
            known && server.case.same(&lost.name, nick)
        })
    }

    fn take(&mut self, same: impl Fn(&Source) -> bool) -> Option<Vec<String>> {
        let index = self.lost.iter().position(|(lost, _)| same(lost))?;
        let (_, since) = self.lost.remove(index)?;
        let missed: Vec<String> =
            self.alerts.iter().filter(|(number, _)| *number >= since).map(|(_, text)| text.clone()).collect();
        (!missed.is_empty()).then_some(missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(nick: &str) -> Source {
        Source { name: nick.to_owned(), user: "u".to_owned(), host: "h".to_owned() }
    }

    #[test]
    fn an_operator_who_was_split_off_gets_the_alerts_of_the_gap_once() {
        let (mut splits, server) = (Netsplits::default(), ISupport::default());
        splits.operator_seen(&person("alice"));
        splits.alerted("before");
        splits.left(&person("alice"), "irc.a.test irc.b.test", false);
        splits.alerted("missed");
        assert_eq!(splits.back(&person("alice"), &server), Some(vec!["missed".to_owned()]));
        assert_eq!(splits.back(&person("alice"), &server), None);
    }

    #[test]
    fn who_came_back_while_nobody_saw_it_is_not_lost_for_ever() {
        let server = ISupport::default();
        let lost = || {
            let mut splits = Netsplits::default();
            splits.operator_seen(&person("alice"));
            splits.left(&person("alice"), "irc.a.test irc.b.test", false);
            splits.alerted("missed");
            splits
        };
        for (listed, missed) in
            [("Alice", true), ("alice!u@h", true), ("alice!u@elsewhere", false), ("bob", false)]
        {
            let mut splits = lost();
            let told = missed.then(|| vec!["missed".to_owned()]);
            assert_eq!(splits.listed(listed, &server), told, "{listed}");
            assert_eq!(splits.back(&person("alice"), &server).is_some(), !missed, "{listed}");
        }
        let seen: [fn(&mut Netsplits); 2] = [
            |splits| splits.found(&person("alice")),
            |splits| splits.left(&person("alice"), "Quit: bye", false),
        ];
        for seen in seen {
            let mut splits = lost();
            seen(&mut splits);
            assert_eq!(splits.back(&person("alice"), &server), None, "she has been there since");
        }
    }

    #[test]
    fn who_quits_or_is_not_known_or_comes_from_elsewhere_gets_nothing() {
        let (mut splits, server) = (Netsplits::default(), ISupport::default());
        splits.operator_seen(&person("alice"));
        splits.operator_seen(&person("carol"));
        splits.left(&person("alice"), "Quit: a.b c.d", false);
        splits.left(&person("bob"), "irc.a.test irc.b.test", false);
        splits.left(&person("carol"), "irc.a.test irc.b.test", false);
        splits.alerted("missed");
        let elsewhere = Source { host: "other".to_owned(), ..person("carol") };
        for source in [person("alice"), person("bob"), elsewhere] {
            assert_eq!(splits.back(&source, &server), None);
        }
    }
}
