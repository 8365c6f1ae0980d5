//! History: replayed on joining, or returned on request (`CHATHISTORY`, IRCv3 draft/chathistory).

use std::collections::VecDeque;
use std::ops::Range;

use irc::proto::Command;

use super::channel::{Kind, Said};
use super::client::{Cap, ClientId};
use super::numeric as n;
use super::state::{Ircd, Meta, server_time};
use super::wire::{Request, cut, fold};
use crate::core::time::Timestamp;

/// Maximum number of lines in one answer to `CHATHISTORY`.
pub(super) const PAGE_MAX: usize = 100;

/// A position in a channel's history, as a `CHATHISTORY` request names it: a time or a message id.
enum Point<'a> {
    Time(Timestamp),
    Id(&'a str),
}

impl<'a> Point<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        if let Some(id) = text.strip_prefix("msgid=") {
            return Some(Self::Id(id));
        }
        let time: jiff::Timestamp = text.strip_prefix("timestamp=")?.parse().ok()?;
        Some(Self::Time(Timestamp::from_millis(time.as_millisecond())))
    }

    /// Returns the range of lines in the history that are exactly at the position; `None` if the message id is unknown.
    fn range(&self, history: &VecDeque<Said>) -> Option<Range<usize>> {
        match self {
            Self::Time(time) => {
                let before = history.partition_point(|said| said.at < *time);
                Some(before..history.partition_point(|said| said.at <= *time))
            }
            Self::Id(id) => {
                let found = history.iter().position(|said| said.msgid == *id)?;
                Some(found..found + 1)
            }
        }
    }
}

/// The answer to a failed request: the code of a `FAIL`, and a sentence.
type Failure = (&'static str, &'static str);

const UNREADABLE: Failure =
    ("INVALID_PARAMS", "That cannot be read: timestamp=…, msgid=…, and how many lines");
const NO_SUCH_LINE: Failure = ("MESSAGE_ERROR", "There is no line of that id any more");

/// Returns the range of lines in the history for which a `CHATHISTORY` request asks. `params` are the parameters after
/// the channel.
fn slice(verb: &str, params: &[&str], history: &VecDeque<Said>) -> Result<Range<usize>, Failure> {
    let at = |index: usize| -> Result<Range<usize>, Failure> {
        let point = params.get(index).and_then(|text| Point::parse(text)).ok_or(UNREADABLE)?;
        point.range(history).ok_or(NO_SUCH_LINE)
    };
    let limit: usize = params.last().and_then(|text| text.parse().ok()).ok_or(UNREADABLE)?;
    let limit = limit.min(PAGE_MAX);
    let first = |range: Range<usize>| range.start..range.end.min(range.start + limit);
    let last = |range: Range<usize>| range.start.max(range.end.saturating_sub(limit))..range.end;
    let points = if verb == "BETWEEN" { 2 } else { 1 };
    if params.len() != points + 1 {
        return Err(UNREADABLE);
    }
    let all = history.len();
    match verb {
        "AFTER" => Ok(first(at(0)?.end..all)),
        "BEFORE" => Ok(last(0..at(0)?.start)),
        "LATEST" if params[0] == "*" => Ok(last(0..all)),
        "LATEST" => Ok(last(at(0)?.end..all)),
        "AROUND" => {
            let start = at(0)?.start.saturating_sub(limit / 2);
            Ok(first(start..all))
        }
        "BETWEEN" => {
            let (from, to) = (at(0)?, at(1)?);
            let forward = from.end <= to.start;
            if forward { Ok(first(from.end..to.start)) } else { Ok(last(to.end.min(from.start)..from.start)) }
        }
        _ => Err(("INVALID_PARAMS", "No such question: AFTER, BEFORE, LATEST, AROUND, BETWEEN or TARGETS")),
    }
}

impl Ircd {
    /// Handles a `CHATHISTORY` request of a client.
    pub(super) fn past(&mut self, id: ClientId, request: &Request<'_>) {
        let needed = [Cap::ChatHistory, Cap::Batch, Cap::ServerTime, Cap::MessageTags];
        if !self.clients.get(&id).is_some_and(|client| needed.iter().all(|cap| client.has(*cap))) {
            self.numeric(id, n::ERR_UNKNOWNCOMMAND, &["CHATHISTORY", "Unknown command"]);
            return;
        }
        let verb = request.param(0).unwrap_or("*").to_ascii_uppercase();
        let Some(target) = request.param(1) else {
            return self.fail_past(id, &verb, None, ("NEED_MORE_PARAMS", "Missing parameters"));
        };
        if verb == "TARGETS" {
            return self.past_targets(id, &request.params[1..]);
        }
        let key = fold(target);
        let channel = self.channels.get(&key).filter(|channel| channel.members.contains(&id));
        let Some(channel) = channel else {
            let failure = ("INVALID_TARGET", "Messages could not be retrieved: join it first");
            return self.fail_past(id, &verb, Some(target), failure);
        };
        match slice(&verb, &request.params[2..], &channel.history) {
            Ok(range) => {
                let (name, lines) = (channel.name.clone(), channel.history.range(range).cloned().collect());
                self.tell_past(id, &name, lines, true);
            }
            Err(failure) => self.fail_past(id, &verb, Some(target), failure),
        }
    }

    /// Answers `CHATHISTORY TARGETS`: the client's channels that have lines between two times, each with the time of
    /// the last one.
    fn past_targets(&mut self, id: ClientId, params: &[&str]) {
        let time = |text: &&str| match Point::parse(text) {
            Some(Point::Time(time)) => Some(time),
            Some(Point::Id(_)) | None => None,
        };
        let times: Option<Vec<Timestamp>> = params.iter().take(2).map(time).collect();
        let limit = params.get(2).and_then(|text| text.parse::<usize>().ok());
        let (Some(&[one, other]), Some(limit)) = (times.as_deref(), limit) else {
            return self.fail_past(id, "TARGETS", None, UNREADABLE);
        };
        let (from, to) = (one.min(other), one.max(other));
        let channels = self.channels.values().filter(|channel| channel.members.contains(&id));
        let mut found: Vec<(Timestamp, String)> = channels
            .filter_map(|channel| Some((channel.history.back()?.at, channel.name.clone())))
            .filter(|(at, _)| from < *at && *at < to)
            .collect();
        found.sort();
        found.truncate(limit.min(PAGE_MAX));
        let batch = self.fresh();
        let begin = vec![format!("+{batch}"), "draft/chathistory-targets".to_owned()];
        self.server_says(id, Command::Raw("BATCH".to_owned(), begin));
        let prefix = irc::proto::Prefix::ServerName(self.settings.name.clone());
        for (at, name) in found {
            let params = vec!["TARGETS".to_owned(), name, server_time(at)];
            let meta = Meta { batch: Some(batch.clone()), ..Meta::default() };
            self.relay(id, &prefix, Command::Raw("CHATHISTORY".to_owned(), params), &meta);
        }
        self.server_says(id, Command::Raw("BATCH".to_owned(), vec![format!("-{batch}")]));
    }

    fn fail_past(&mut self, id: ClientId, verb: &str, target: Option<&str>, (code, text): Failure) {
        let word = |text: &str| {
            let text = cut(text, 64);
            if text.starts_with(':') || text.contains(' ') { "*".to_owned() } else { text.to_owned() }
        };
        let mut params = vec!["CHATHISTORY".to_owned(), code.to_owned(), word(verb)];
        params.extend(target.map(word));
        params.push(text.to_owned());
        self.server_says(id, Command::Raw("FAIL".to_owned(), params));
    }

    /// Sends lines of a channel's history to a client: in a batch if `batches`, else as notices.
    pub(super) fn tell_past(&mut self, id: ClientId, name: &str, lines: VecDeque<Said>, batches: bool) {
        let batch = batches.then(|| self.fresh());
        if let Some(batch) = &batch {
            let start = vec![format!("+{batch}"), "chathistory".to_owned(), name.to_owned()];
            self.server_says(id, Command::Raw("BATCH".to_owned(), start));
        }
        for said in lines {
            let Said { at, msgid, from, account, bot, kind, text } = said;
            let meta = Meta {
                at: Some(at),
                msgid: Some(msgid),
                account,
                bot,
                client_tags: Vec::new(),
                batch: batch.clone(),
            };
            let command = match kind {
                Kind::Privmsg if batches => Command::PRIVMSG(name.to_owned(), text),
                Kind::Privmsg | Kind::Notice => Command::NOTICE(name.to_owned(), text),
            };
            self.relay(id, &from, command, &meta);
        }
        if let Some(batch) = batch {
            self.server_says(id, Command::Raw("BATCH".to_owned(), vec![format!("-{batch}")]));
        }
    }
}
