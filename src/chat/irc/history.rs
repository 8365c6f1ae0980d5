//! Requests for speech that was missed (IRCv3 draft/chathistory), page by page and a few channels at a time.
//!
//! ```text
//!  Waiting ──CHATHISTORY AFTER──► Asked ──BATCH + … BATCH -──► a page ─┬─ more ─► Waiting
//!                                   │                                  └─ no more ─► told
//!                                   └── FAIL, silence ─► not told
//! ```
//!
//! Only answers to our own requests are accepted: by label where the server labels, else by kind and channel. History
//! that a server or a bouncer sends unasked is treated as a replay. Live lines of a channel wait until its history is
//! complete, so that lines are handled in the order in which they were said.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

use super::identity::{Answer, Heard};
use super::isupport::ISupport;
use super::replay::parse_time;
use super::wire::{Outgoing, Received, Said};
use crate::core::time::Timestamp;

/// Number of lines of a channel's history that are requested at once; the server may allow fewer.
const PAGE: usize = 100;
/// Maximum number of pages per channel. Older lines are not fetched, and people are told so.
const PAGES_MAX: u32 = 50;
/// Maximum number of channels whose history is requested at once: servers that throttle count lines.
const AT_ONCE: usize = 4;
/// Maximum time for the server to answer a request for a page. Meanwhile posts are sent, but live lines of the channel
/// wait.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of live lines of one channel that wait for its history. Lines beyond it are fetched from history.
const HELD_MAX: usize = 64;

/// A live line that waits until the earlier lines of its channel are fetched.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) heard: Heard,
    pub(crate) answer: Answer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Reference {
    Time(i64),
    Id(String),
}

#[derive(Debug)]
enum State {
    Waiting,
    Asked {
        until: Instant,
        label: Option<String>,
        outer: Option<String>,
        batch: Option<String>,
        lines: Vec<Received>,
    },
}

#[derive(Debug)]
struct Fetch {
    /// Name of the channel as the server has it.
    actual: String,
    after: Reference,
    /// Time from which lines are wanted, in milliseconds by the server's clock; older ones are ignored.
    from: i64,
    pages: u32,
    /// Time, in milliseconds, and id of the last line that was passed on; `None` before the first.
    last: Option<(i64, Option<String>)>,
    held: Vec<Held>,
    /// Ids of lines of earlier pages that were handled or are in progress: a waiting live line may be one of them.
    worked_on: HashSet<String>,
    /// True if a live line was left out since the page was requested, because too many wait: one more page is then
    /// needed.
    left_out: bool,
    since: Option<Timestamp>,
    state: State,
}

/// A page of a channel's history, or the end of the requests for it.
#[derive(Debug)]
pub(crate) struct Told {
    /// Configured name of the channel.
    pub(crate) channel: String,
    /// Lines of the page in order, each with its time in milliseconds by the server's clock.
    pub(crate) lines: Vec<(i64, Received)>,
    /// Set if no further page of the channel is requested.
    pub(crate) end: Option<End>,
}

/// The end of the requests for a channel's history.
#[derive(Debug)]
pub(crate) struct End {
    /// Live lines that waited for the history and are handled now.
    pub(crate) held: Vec<Held>,
    /// Ids of lines of the history that were handled or are in progress.
    pub(crate) worked_on: HashSet<String>,
    /// Beginning of the time whose lines are unknown, in milliseconds by the server's clock; `None` if all missed lines
    /// were fetched.
    pub(crate) unknown_since: Option<i64>,
    /// Time at which herder's absence from the channel began; `None` if it is unknown.
    pub(crate) since: Option<Timestamp>,
}

/// The requests for the history of channels on one link, by which missed lines are fetched.
#[derive(Debug, Default)]
pub(crate) struct History {
    fetches: BTreeMap<String, Fetch>,
    /// True if the server does not support requests for history, as it said or as its silence shows.
    unknown: bool,
    /// True if the server has answered a request for history.
    answers: bool,
}

impl History {
    /// Requests the lines of a channel since `from`, in milliseconds by the server's clock. `last` is the id of the
    /// last known line, `since` the time at which herder's absence began.
    pub(crate) fn ask(
        &mut self,
        channel: &str,
        actual: &str,
        (from, last): (i64, Option<String>),
        since: Option<Timestamp>,
        server: &ISupport,
    ) {
        // Includes the first millisecond itself, since other lines of it may be unhandled.
        let by_time = Reference::Time(from.saturating_sub(1));
        let after = match last {
            Some(id) if !server.past_by.time => Reference::Id(id),
            _ => by_time,
        };
        let fetch = Fetch {
            actual: actual.to_owned(),
            after,
            from,
            pages: 0,
            last: None,
            held: Vec::new(),
            worked_on: HashSet::new(),
            left_out: false,
            since,
            state: State::Waiting,
        };
        self.fetches.insert(channel.to_owned(), fetch);
    }

    /// Returns true unless the server is known not to support requests for history.
    pub(crate) fn is_known(&self) -> bool {
        !self.unknown
    }

    /// Returns true if the history of a channel is being requested.
    pub(crate) fn covers(&self, channel: &str) -> bool {
        self.fetches.contains_key(channel)
    }

    /// Makes a live line wait until the channel's history is fetched.
    pub(crate) fn hold(&mut self, channel: &str, held: Held) {
        let Some(fetch) = self.fetches.get_mut(channel) else { return };
        if fetch.held.len() < HELD_MAX {
            fetch.held.push(held);
        } else {
            fetch.left_out = true;
        }
    }

    /// Records ids of a page's lines that are handled or in progress.
    pub(crate) fn worked_on(&mut self, channel: &str, ids: HashSet<String>) {
        if let Some(fetch) = self.fetches.get_mut(channel) {
            fetch.worked_on.extend(ids);
        }
    }

    /// Ends the requests for all channels for which `stays` returns false.
    pub(crate) fn keep(&mut self, stays: impl Fn(&str) -> bool) {
        self.fetches.retain(|channel, _| stays(channel));
    }

    /// Extends the timeouts of all requests while herder does not read from the server.
    pub(crate) fn not_listening(&mut self, now: Instant) {
        for fetch in self.fetches.values_mut() {
            if let State::Asked { until, .. } = &mut fetch.state {
                *until = now + PAGE_TIMEOUT;
            }
        }
    }

    /// Ends the request for a channel that herder has left: after the next JOIN all lines since then are requested.
    pub(crate) fn left(&mut self, channel: &str) {
        self.fetches.remove(channel);
    }

    /// Returns the next request to send, if fewer than `AT_ONCE` are open. `label` makes a label if the server supports
    /// labelled responses.
    pub(crate) fn next(
        &mut self,
        server: &ISupport,
        now: Instant,
        label: impl FnOnce() -> Option<String>,
    ) -> Option<Outgoing> {
        let asked = self.fetches.values().filter(|fetch| !matches!(fetch.state, State::Waiting)).count();
        if asked >= AT_ONCE {
            return None;
        }
        let waiting = self.fetches.values_mut().filter(|fetch| matches!(fetch.state, State::Waiting));
        // Channels with waiting live lines come first.
        let fetch = waiting.min_by_key(|fetch| fetch.held.is_empty())?;
        let after = match &fetch.after {
            Reference::Id(id) => format!("msgid={id}"),
            Reference::Time(millis) => format!("timestamp={}", time(*millis)),
        };
        let label = label();
        let limit = server.past_max.unwrap_or(PAGE).min(PAGE);
        let line = Outgoing::new("CHATHISTORY").word("AFTER").word(fetch.actual.as_str()).word(after);
        let line = line.word(limit.to_string());
        let line = match &label {
            Some(label) => line.label(label.clone()),
            None => line,
        };
        let until = now + PAGE_TIMEOUT;
        fetch.left_out = false;
        fetch.pages += 1;
        fetch.state = State::Asked { until, label, outer: None, batch: None, lines: Vec::new() };
        Some(line)
    }

    /// Returns the time at which [`History::expired`] has to be called.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let until = |fetch: &Fetch| match fetch.state {
            State::Asked { until, .. } => Some(until),
            State::Waiting => None,
        };
        self.fetches.values().filter_map(until).min()
    }

    /// Ends the requests that the server has not answered in time, and returns their results. A server that has never
    /// answered gets no more requests.
    pub(crate) fn expired(&mut self, now: Instant) -> Vec<Told> {
        let is_over = |fetch: &Fetch| matches!(fetch.state, State::Asked { until, .. } if until <= now);
        self.unknown |= !self.answers && self.fetches.values().any(is_over);
        let all = self.unknown;
        self.fail(|_, fetch| all || is_over(fetch))
    }

    /// Handles a line from the server that may answer a request; `None` if it does not.
    pub(crate) fn receive(&mut self, line: &Received, server: &ISupport) -> Option<Vec<Told>> {
        let told = self.told(line, server);
        self.answers |= told.is_some();
        told
    }

    fn told(&mut self, line: &Received, server: &ISupport) -> Option<Vec<Told>> {
        if self.fetches.is_empty() {
            return None;
        }
        match &line.said {
            Said::BatchStart { id, kind, about } => {
                self.batch(line, id, kind, about.as_deref(), server).then(Vec::new)
            }
            Said::BatchEnd { id } => {
                let ended = |fetch: &Fetch| {
                    matches!(&fetch.state, State::Asked { outer, batch, .. }
                        if batch.as_ref().or(outer.as_ref()) == Some(id))
                };
                let found = self.fetches.iter().find(|(_, fetch)| ended(fetch));
                let name = found.map(|(name, _)| name.clone())?;
                Some(self.page(&name, server).into_iter().collect())
            }
            Said::Acknowledged => {
                let name = self.labelled(line)?;
                Some(self.page(&name, server).into_iter().collect())
            }
            Said::Failed { command, about, .. } if command == "CHATHISTORY" => {
                let is_asked = |fetch: &Fetch| matches!(fetch.state, State::Asked { .. });
                if line.tag("label").is_some() {
                    // The label may belong to a request that is already over.
                    let name = self.labelled(line);
                    return Some(self.fail(|channel, _| name.as_deref() == Some(channel)));
                }
                let named = |fetch: &Fetch| about.iter().any(|word| server.case.same(word, &fetch.actual));
                // A FAIL that names no channel applies to all of them.
                let all = !about.iter().any(|word| word.starts_with(['#', '&', '+', '!']));
                Some(self.fail(|_, fetch| is_asked(fetch) && (all || named(fetch))))
            }
            Said::Numeric(421, params)
                if params.iter().any(|word| word.eq_ignore_ascii_case("CHATHISTORY")) =>
            {
                self.unknown = true;
                Some(self.fail(|_, _| true))
            }
            Said::Numeric(400.., _) => {
                let name = self.labelled(line)?;
                Some(self.fail(|channel, _| channel == name))
            }
            _ => {
                let id = line.tag("batch")?;
                let lines = self.fetches.values_mut().find_map(|fetch| match &mut fetch.state {
                    State::Asked { batch: Some(batch), lines, .. } if batch == id => Some(lines),
                    State::Asked { .. } | State::Waiting => None,
                })?;
                if lines.len() < PAGE {
                    lines.push(line.clone());
                }
                Some(Vec::new())
            }
        }
    }

    /// Returns the channel whose request carries the label of this line.
    fn labelled(&self, line: &Received) -> Option<String> {
        let tag = line.tag("label")?;
        let is_it =
            |fetch: &Fetch| matches!(&fetch.state, State::Asked { label: Some(label), .. } if label == tag);
        self.fetches.iter().find(|(_, fetch)| is_it(fetch)).map(|(name, _)| name.clone())
    }

    /// Handles the start of a batch. Returns true if the batch is an answer, or encloses one.
    fn batch(
        &mut self,
        line: &Received,
        id: &str,
        kind: &str,
        about: Option<&str>,
        server: &ISupport,
    ) -> bool {
        let of_past = matches!(kind, "chathistory" | "draft/chathistory");
        let (tag, inside) = (line.tag("label"), line.tag("batch"));
        for fetch in self.fetches.values_mut() {
            let State::Asked { label, outer, batch, .. } = &mut fetch.state else { continue };
            if batch.is_some() {
                continue;
            }
            let ours = match label {
                Some(label) => tag == Some(label) || (inside.is_some() && inside == outer.as_deref()),
                None => {
                    of_past && inside.is_none() && about.is_some_and(|it| server.case.same(it, &fetch.actual))
                }
            };
            if ours {
                *(if of_past { batch } else { outer }) = Some(id.to_owned());
                return true;
            }
        }
        false
    }

    /// Handles the end of a page of a channel's history.
    fn page(&mut self, name: &str, server: &ISupport) -> Option<Told> {
        let fetch = self.fetches.get_mut(name)?;
        let State::Asked { lines, .. } = std::mem::replace(&mut fetch.state, State::Waiting) else {
            return None;
        };
        let from = fetch.from;
        let timed = lines.into_iter().filter_map(|line| Some((parse_time(line.tag("time")?)?, line)));
        let mut lines: Vec<(i64, Received)> = timed.filter(|(time, _)| *time >= from).collect();
        lines.sort_by_key(|(time, _)| *time);
        let last = lines.last().map(|(time, line)| (*time, line.tag("msgid").map(str::to_owned)));
        let moved = last.is_some() && last != fetch.last;
        let next = last.as_ref().map(|(time, id)| fetch.next_after(*time, id.as_deref(), server));
        fetch.last = last.or(fetch.last.take());
        // A page may have fewer lines than requested although more exist: only a page without new lines is the last.
        let more = moved || fetch.left_out;
        if let Some(next) = next {
            fetch.after = next;
        }
        if more && fetch.pages < PAGES_MAX {
            return Some(Told { channel: name.to_owned(), lines, end: None });
        }
        let fetch = self.fetches.remove(name)?;
        let end = Some(fetch.end(!more));
        Some(Told { channel: name.to_owned(), lines, end })
    }

    fn fail(&mut self, which: impl Fn(&str, &Fetch) -> bool) -> Vec<Told> {
        let failed = self.fetches.iter().filter(|(channel, fetch)| which(channel, fetch));
        let failed: Vec<String> = failed.map(|(channel, _)| channel.clone()).collect();
        let told = |channel: String| {
            let fetch = self.fetches.remove(&channel)?;
            Some(Told { channel, lines: Vec::new(), end: Some(fetch.end(false)) })
        };
        failed.into_iter().filter_map(told).collect()
    }
}

impl Fetch {
    fn end(self, is_told: bool) -> End {
        let unknown_since = (!is_told).then(|| self.last.map_or(self.from, |(time, _)| time));
        End { held: self.held, worked_on: self.worked_on, unknown_since, since: self.since }
    }

    /// Returns the position after which the next page is requested. A time stands for all lines of its millisecond, so
    /// that this millisecond is requested once more unless that makes no progress.
    fn next_after(&self, time: i64, id: Option<&str>, server: &ISupport) -> Reference {
        match id {
            Some(id) if server.past_by.id => Reference::Id(id.to_owned()),
            _ if self.after == Reference::Time(time - 1) => Reference::Time(time),
            _ => Reference::Time(time - 1),
        }
    }
}

/// Formats a time in milliseconds as the `server-time` tag does.
fn time(millis: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::speech::Place;

    fn asks(history: &mut History, now: Instant) -> Vec<String> {
        let server = ISupport::default();
        let questions = std::iter::from_fn(|| history.next(&server, now, || None));
        questions.map(|line| line.to_line().split(' ').nth(2).unwrap_or_default().to_owned()).collect()
    }

    fn of(channels: &[&str]) -> History {
        let mut history = History::default();
        for channel in channels {
            history.ask(channel, channel, (0, None), None, &ISupport::default());
        }
        history
    }

    fn said_in(history: &mut History, channel: &str) {
        let line = ":alice!a@h PRIVMSG #f :stop".parse::<::irc::proto::Message>().expect("a line");
        let source = Received::from(line).source;
        let place = Place::Channel(channel.to_owned());
        let heard = Heard { source, place, text: "stop".to_owned(), at: Timestamp::default(), id: None };
        history.hold(channel, Held { heard, answer: Answer::default() });
    }

    #[tokio::test(start_paused = true)]
    async fn where_somebody_waits_to_be_heard_is_asked_about_first() {
        let mut history = of(&["#a", "#b", "#c", "#d", "#e", "#f", "#g"]);
        let now = Instant::now();
        assert_eq!(asks(&mut history, now), ["#a", "#b", "#c", "#d"]);
        said_in(&mut history, "#f");
        history.left("#b");
        assert_eq!(asks(&mut history, now), ["#f"]);
        history.left("#a");
        assert_eq!(asks(&mut history, now), ["#e"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_answers_holds_up_no_channel_for_longer_than_one_question() {
        let mut history = of(&["#a", "#b", "#c", "#d", "#e", "#f", "#g"]);
        let now = Instant::now();
        asks(&mut history, now);
        said_in(&mut history, "#g");
        assert!(history.expired(now + PAGE_TIMEOUT / 2).is_empty());
        let told = history.expired(now + PAGE_TIMEOUT);
        let ends: Vec<_> = told.iter().filter_map(|told| told.end.as_ref()).collect();
        assert_eq!((told.len(), ends.len()), (7, 7));
        assert_eq!(ends.iter().filter(|end| !end.held.is_empty()).count(), 1);
        assert!(!history.is_known());
    }

    #[test]
    fn nothing_is_asked_about_a_channel_that_nobody_wants_any_more() {
        let mut history = of(&["#a", "#b"]);
        history.keep(|channel| channel == "#b");
        assert_eq!((history.covers("#a"), history.covers("#b")), (false, true));
    }
}
