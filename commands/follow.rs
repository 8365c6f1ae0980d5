//! `herder history --follow` and `herder log --follow`: new events of the journal, as they happen, in the format of
//! these commands.

use std::collections::BTreeSet;

use serde_json::Value as Data;

use super::dispatch::{Dispatcher, Reply};
use super::parse::{self, Heard};
use super::say::Voice;
use super::{Verb, answers, audit, history, log};
use crate::clock;
use crate::core::clean::clean;
use crate::core::id::AgentName;
use crate::core::role::Role;
use crate::journal::{Entry, Filter, Followed, Follower, Recorded, Stream};

/// Maximum number of events that are read from the journal at once.
const READ_MAX: usize = 200;

/// One event that is sent to a shell which follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Followable {
    /// The event's number in the journal.
    pub seq: u64,
    /// The event as one line for people.
    pub line: String,
    /// The event as JSON for programs.
    pub event: Data,
}

/// A `history` or `log` command of a shell that follows new events.
pub struct Following {
    dispatcher: Dispatcher,
    follower: Follower,
    verb: Verb,
    agent: Option<AgentName>,
    /// Number of the journal's event after which the following began.
    pub begun_after: u64,
}

impl Dispatcher {
    /// Answers `history` or `log` for the shell and returns the events that come after the answer. With `after` there
    /// is no answer, and the events after that number are returned.
    ///
    /// # Errors
    /// The reply that refuses it.
    pub async fn follow(
        &self,
        (name, args): (&str, &[String]),
        after: Option<u64>,
    ) -> Result<(Option<Reply>, Following), Reply> {
        let inner = self.inner();
        let refused = |lines| Reply { ok: false, lines, data: None };
        let voice = inner.voice(inner.typed(), clock::now());
        let call = match parse::request(name, args, inner) {
            Heard::Command(call) if matches!(call.command.verb, Verb::History | Verb::Log) => call,
            Heard::Problem(problem) => return Err(refused(answers::problem(voice, &problem))),
            Heard::Command(_) | Heard::Work { .. } | Heard::Nothing => {
                return Err(refused(vec![voice.text("cmd-follow-not", &[])]));
            }
        };
        let end = inner.journal.end();
        let (reply, after) = match after {
            Some(after) if after > end => {
                return Err(refused(vec![
                    voice.text("cmd-follow-behind", &[("end", end.to_string().into())]),
                ]));
            }
            Some(after) => (None, after),
            None => {
                let reply = self.request(name, args).await;
                if !reply.ok {
                    return Err(reply);
                }
                let shown = reply.data.iter().filter_map(Data::as_array).flatten();
                let last = shown.filter_map(|event| event["seq"].as_u64()).max().unwrap_or(0);
                (Some(reply), last.max(end))
            }
        };
        let streams: Option<BTreeSet<Stream>> = call.agent.clone().map(|agent| [Stream::Agent(agent)].into());
        let follower = inner.journal.follow(after, Filter { streams, kinds: None });
        let (dispatcher, verb, agent) = (self.clone(), call.command.verb, call.agent);
        Ok((reply, Following { dispatcher, follower, verb, agent, begun_after: after }))
    }
}

impl Following {
    /// Waits for the next events; `None` if the journal is closed or cannot be read.
    pub async fn next(&mut self) -> Option<Vec<Followable>> {
        loop {
            if !self.follower.grows().await {
                return None;
            }
            let page = self.follower.page(READ_MAX).await;
            let page =
                page.inspect_err(|reason| tracing::error!(%reason, "events could not be read")).ok()?;
            let found: Vec<Followable> = page.steps.into_iter().filter_map(|step| self.shown(step)).collect();
            if !found.is_empty() {
                return Some(found);
            }
        }
    }

    fn shown(&self, step: Followed) -> Option<Followable> {
        let inner = self.dispatcher.inner();
        let voice = inner.voice(inner.typed(), clock::now());
        let recorded = match step {
            Followed::Event(recorded) => recorded,
            Followed::Gap(span) => {
                let line = voice.text("cmd-follow-gap", &[("numbers", span.to_string().into())]);
                return Some(Followable { seq: span.last, line, event: serde_json::json!({ "gap": span }) });
            }
        };
        let said = match self.verb {
            Verb::Log => log::line(voice, &recorded)?,
            _ if history::is_told(&recorded) => self.told(voice, &recorded),
            _ => return None,
        };
        let line = voice.redactor.redact(&clean(&said)).into_owned();
        let (seq, event) = (recorded.seq, self.dispatcher.seen_by(Role::Admin, *recorded)?);
        Some(Followable { seq, line, event })
    }

    /// Formats an event as `history` does, with the agent's name if events of several agents are followed.
    fn told(&self, voice: Voice<'_>, recorded: &Recorded) -> String {
        let time = voice.locale.time(recorded.at);
        match (&recorded.entry, &recorded.stream) {
            (Entry::Audit(audit), _) => format!("{time} {}", audit::line(voice, audit)),
            (_, Stream::Agent(agent)) if self.agent.is_none() => {
                format!("{time} {agent}: {}", history::line(voice, recorded))
            }
            _ => format!("{time} {}", history::line(voice, recorded)),
        }
    }
}
