//! Distinguishes live speech from lines that a server or bouncer replays.
//!
//! A replayed `@spark abort` must not abort anything. Four things identify a replay: its batch, an old time, a
//! message id that was seen before, and a position between our JOIN of a channel and the end of the server's burst
//! for it (`channels` tracks that one).

use std::collections::{HashMap, HashSet, VecDeque};

use super::wire::Received;
use crate::core::time::Timestamp;

/// Maximum age of a line that counts as live, in milliseconds by the server's clock.
const LIVE_FOR: i64 = 30_000;
/// Maximum number of remembered message ids: more than any server replays for all channels of a fleet.
const IDS_MAX: usize = 8192;
/// Maximum number of open batches that are tracked. A server has a handful; lines in any further one count as replayed.
const BATCHES_MAX: usize = 256;

/// Ids of messages that were seen on any link of a network, by which a repeated message is recognised.
#[derive(Debug, Default)]
pub(crate) struct SeenIds {
    known: HashSet<String>,
    order: VecDeque<String>,
}

impl SeenIds {
    /// Returns true if `id` is new, and remembers it.
    pub(super) fn first(&mut self, id: &str) -> bool {
        if !self.known.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > IDS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

/// Tells live lines from replayed ones on one link, by the open batches and the server's clock.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    /// The open batches: their kinds, by the reference that lines name.
    batches: HashMap<String, Kind>,
    /// Difference between herder's clock and the server's, in milliseconds, from the last line that was certainly live;
    /// `None` before the first.
    skew: Option<i64>,
}

/// The kind of an IRCv3 batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The batch has replayed lines.
    History,
    /// The batch has the QUITs of everybody on a server that was split off.
    Netsplit,
    /// Any other batch, e.g. the answer to a labelled command.
    Other,
}

impl Replay {
    /// Handles the start of a batch of lines, perhaps inside another one.
    pub(crate) fn start(&mut self, id: &str, kind: &str, line: &Received) {
        let inside = line.tag("batch").and_then(|outer| self.batches.get(outer)).copied();
        let told_again = ["history", "playback", "netjoin"].iter().any(|word| kind.contains(word));
        let kind = if told_again || inside == Some(Kind::History) || self.batches.len() >= BATCHES_MAX {
            Kind::History
        } else if kind == "netsplit" || inside == Some(Kind::Netsplit) {
            Kind::Netsplit
        } else {
            Kind::Other
        };
        if self.batches.len() < BATCHES_MAX {
            self.batches.insert(id.to_owned(), kind);
        }
    }

    /// Handles the end of a batch of lines.
    pub(crate) fn end(&mut self, id: &str) {
        self.batches.remove(id);
    }

    /// Returns the kind of the batch that contains a line. An unknown batch counts as history.
    pub(crate) fn batch_of(&self, line: &Received) -> Option<Kind> {
        line.tag("batch").map(|id| self.batches.get(id).copied().unwrap_or(Kind::History))
    }

    /// Handles a line by herder itself. It can be a replay, whose time says nothing about the server's clock; only a
    /// line with the label of one just sent is certainly its echo.
    pub(crate) fn own(&mut self, line: &Received, now: Timestamp, seen: &mut SeenIds) {
        let first = line.tag("msgid").is_none_or(|id| seen.first(id));
        if first && line.tag("batch").is_none() && line.tag("label").is_some() {
            self.calibrate(line, now);
        }
    }

    /// Measures the difference of the clocks from a line that is certainly live: the answer to a PING or label of
    /// herder's.
    pub(crate) fn calibrate(&mut self, line: &Received, now: Timestamp) {
        if let Some(Some(time)) = line.tag("time").map(parse_time) {
            self.skew = Some(now.as_millis().saturating_sub(time));
        }
    }

    /// Converts a time of herder's clock to the server's, in milliseconds.
    pub(crate) fn by_server(&self, ours: Timestamp) -> i64 {
        ours.as_millis().saturating_sub(self.skew.unwrap_or(0))
    }

    /// Converts a time of the server's clock, in milliseconds, to herder's.
    pub(crate) fn by_us(&self, millis: i64) -> Timestamp {
        Timestamp::from_millis(millis.saturating_add(self.skew.unwrap_or(0)))
    }

    /// Returns the reason why a line is not live (too old, replayed or repeated); `None` if it is live.
    pub(crate) fn stale(&self, line: &Received, now: Timestamp, seen: &mut SeenIds) -> Option<&'static str> {
        let first = line.tag("msgid").is_none_or(|id| seen.first(id));
        if self.batch_of(line) == Some(Kind::History) {
            return Some("inside a batch of history");
        }
        if !first {
            return Some("a message id that was seen before");
        }
        let time = line.tag("time")?;
        let Some(time) = parse_time(time) else { return Some("a time that cannot be read") };
        let age = now.as_millis().saturating_sub(time).saturating_sub(self.skew.unwrap_or(0));
        (age > LIVE_FOR).then_some("a time that is long past")
    }
}

/// Parses the server's tag `time` into milliseconds since the epoch.
pub(super) fn parse_time(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::irc::proto::Message;

    fn line(text: &str) -> Received {
        text.parse::<Message>().expect("a line").into()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    #[test]
    fn a_servers_clock_that_is_wrong_makes_nothing_stale() {
        let (mut replay, mut seen) = (Replay::default(), SeenIds::default());
        // The server's clock is an hour behind ours.
        let pong = line("@time=1970-01-01T00:00:00.000Z :s PONG s :f1");
        let live = line("@time=1970-01-01T00:00:10.000Z :a!b@c PRIVMSG #c :x");
        assert!(replay.stale(&live, at(3610), &mut seen).is_some());
        replay.calibrate(&pong, at(3600));
        assert_eq!(replay.stale(&live, at(3610), &mut seen), None);
        assert_eq!(replay.stale(&live, at(3641), &mut seen), Some("a time that is long past"));
    }

    #[test]
    fn our_own_lines_told_again_say_nothing_of_the_servers_clock() {
        let hours_ago = line("@time=1970-01-01T00:00:00.000Z :a!b@c PRIVMSG #c :abort");
        for (tags, live) in [
            ("", false),
            ("msgid=new;", false),
            ("label=h1;msgid=seen;", false),
            ("label=h1;batch=history;", false),
            ("label=h1;batch=other;", false),
            ("label=h1;", true),
            ("label=h1;msgid=new;", true),
        ] {
            let (mut replay, mut seen) = (Replay::default(), SeenIds::default());
            seen.first("seen");
            replay.start("history", "chathistory", &line("BATCH +history chathistory #c"));
            replay.start("other", "labeled-response", &line("BATCH +other labeled-response"));
            let own = line(&format!("@{tags}time=1970-01-01T00:00:00.000Z :herder!h@host PRIVMSG #c :x"));
            replay.own(&own, at(10_800), &mut seen);
            assert_eq!(replay.stale(&hours_ago, at(10_800), &mut seen).is_none(), live, "{tags}");
        }
    }

    #[test]
    fn history_is_known_by_its_batch_even_when_nested_or_never_opened() {
        let (mut replay, mut seen) = (Replay::default(), SeenIds::default());
        replay.start("out", "chathistory", &line("BATCH +out chathistory #c"));
        replay.start("in", "labeled-response", &line("@batch=out BATCH +in labeled-response"));
        replay.start("label", "labeled-response", &line("BATCH +label labeled-response"));
        for (id, stale) in [("out", true), ("in", true), ("nobody", true), ("label", false)] {
            let speech = line(&format!("@batch={id} :a!b@c PRIVMSG #c :x"));
            assert_eq!(replay.stale(&speech, at(0), &mut seen).is_some(), stale, "{id}");
        }
    }

    #[test]
    fn an_id_counts_once_and_memory_is_bounded() {
        let (replay, mut seen) = (Replay::default(), SeenIds::default());
        let speech = line("@msgid=x :a!b@c PRIVMSG #c :x");
        assert_eq!(replay.stale(&speech, at(0), &mut seen), None);
        assert!(replay.stale(&speech, at(0), &mut seen).is_some());
        for n in 0..IDS_MAX * 2 {
            seen.first(&n.to_string());
        }
        assert_eq!(seen.known.len(), IDS_MAX);
        assert_eq!(seen.order.len(), IDS_MAX);
    }
}
