//! What an operator missed while two halves of the network could not hear each other.
//!
//! During a split the server on our side takes every line, echoes it and answers every fence: nothing shows that somebody
//! on the other side never got it. The split itself does show, in how people leave. Who is known to be an operator is
//! remembered when they go that way, and alerts of the gap are repeated when they are back.

use std::collections::VecDeque;
use std::sync::LazyLock;

use regex::Regex;

use super::isupport::ISupport;
use super::wire::Source;

/// How many operators are remembered per network; far more than a fleet has.
const PEOPLE_MAX: usize = 200;
/// How many alerts can be repeated: a screenful. All of them are in the history.
const ALERTS_MAX: usize = 20;

/// The reason a server gives for people on the other side of a split: the two servers' names.
static SERVERS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[^\s:]+\.[^\s:]+ [^\s:]+\.[^\s:]+$").expect("a constant expression"));

/// Operators seen and lost, and the alerts of the recent past.
#[derive(Debug, Default)]
pub(crate) struct Netsplits {
    operators: VecDeque<Source>,
    /// With the number of the next alert when they went.
    lost: VecDeque<(Source, u64)>,
    alerts: VecDeque<(u64, String)>,
    next_alert: u64,
}

impl Netsplits {
    /// Somebody who may command has spoken, or come in.
    pub(crate) fn operator_seen(&mut self, source: &Source) {
        self.operators.retain(|known| known != source);
        self.operators.push_back(source.clone());
        if self.operators.len() > PEOPLE_MAX {
            self.operators.pop_front();
        }
    }

    /// A known operator has another nick now.
    pub(crate) fn renamed(&mut self, source: &Source, to: &str) {
        for known in self.operators.iter_mut().filter(|known| *known == source) {
            to.clone_into(&mut known.name);
        }
    }

    /// An alert was sent.
    pub(crate) fn alerted(&mut self, text: &str) {
        self.alerts.push_back((self.next_alert, text.to_owned()));
        self.next_alert += 1;
        if self.alerts.len() > ALERTS_MAX {
            self.alerts.pop_front();
        }
    }

    /// Somebody left.
    pub(crate) fn left(&mut self, source: &Source, reason: &str, in_batch: bool) {
        let known = self.operators.iter().any(|known| known == source);
        self.operators.retain(|known| known != source);
        if known && (in_batch || SERVERS.is_match(reason)) {
            self.lost.push_back((source.clone(), self.next_alert));
            if self.lost.len() > PEOPLE_MAX {
                self.lost.pop_front();
            }
        }
    }

    /// Somebody came into the alerts channel: what they missed, if they were lost in a split.
    pub(crate) fn back(&mut self, source: &Source, server: &ISupport) -> Option<Vec<String>> {
        let same = |lost: &Source| {
            server.case.same(&lost.name, &source.name) && lost.user == source.user && lost.host == source.host
        };
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
