//! Calls of herder's tools by agents on this runner: each waits for the answer of the bot, which carries it out.
//!
//! A call that the bot may have carried out before it went away is not repeated by another bot if that would say
//! something twice; the model is told so. All others are.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::host::Host;
use super::tools::Desk;
use super::tools::wire::{Answer, Call};
use super::wire::{FromRunner, Returned, SessionKey};
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::core::input::Signal;
use crate::core::tools::Tool;
use crate::runtime::Report;
use crate::runtime::grants::Admitted;

/// Maximum time for which a call waits for a bot that is not there: as long as a tool server waits for its socket.
const BOT_WITHIN: Duration = Duration::from_secs(10);

/// The calls that wait for their answers.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    last: u64,
    calls: BTreeMap<u64, Waits>,
    /// Calls that are over, of which the bot is to be told.
    over: Vec<(SessionKey, u64)>,
}

#[derive(Debug)]
struct Waits {
    of: SessionKey,
    tool: String,
    arguments: Map<String, Value>,
    /// Term of office of the bot that it was passed on to.
    passed_to: Option<u64>,
    /// True if the bot is to be told of it on this connection.
    untold: bool,
    returned: oneshot::Sender<Returned>,
}

impl Waiting {
    /// Begins a call. Returns its number, and the receiver of its answer.
    pub(super) fn begin(
        &mut self,
        of: SessionKey,
        tool: String,
        arguments: Map<String, Value>,
    ) -> (u64, oneshot::Receiver<Returned>) {
        let (returned, answer) = oneshot::channel();
        self.last += 1;
        self.calls.insert(self.last, Waits { of, tool, arguments, passed_to: None, untold: true, returned });
        (self.last, answer)
    }

    /// Ends a call, because it has its answer or its caller is gone.
    pub(super) fn end(&mut self, call: u64) -> Option<oneshot::Sender<Returned>> {
        let Waits { of, passed_to, returned, .. } = self.calls.remove(&call)?;
        if passed_to.is_some() {
            self.over.push((of, call));
        }
        Some(returned)
    }

    /// Ends a call that no bot has; returns false if one may have it.
    fn give_up(&mut self, call: u64) -> bool {
        let waits = self.calls.get(&call).is_some_and(|waits| waits.passed_to.is_none());
        waits && self.end(call).is_some()
    }

    /// Prepares for a new connection to the bot of this term of office.
    pub(super) fn connect(&mut self, epoch: u64) {
        self.over.clear();
        let is_lost = |waits: &Waits| {
            let others = waits.passed_to.is_some_and(|passed_to| passed_to != epoch);
            others && matches!(Tool::named(&waits.tool), Some(Tool::Send | Tool::Notify))
        };
        let lost: Vec<u64> =
            self.calls.iter().filter(|(_, waits)| is_lost(waits)).map(|(call, _)| *call).collect();
        for call in lost {
            let why = "herder was started again before it answered. It may have been said all the same: say it again only \
                       if twice is better than not at all.";
            // The caller may be gone.
            drop(self.end(call).map(|returned| returned.send(Returned::refused(why))));
        }
        self.calls.values_mut().for_each(|waits| waits.untold = true);
    }

    /// Returns the messages that the bot of this term of office is to be told.
    pub(super) fn untold(&mut self, epoch: u64) -> Vec<FromRunner> {
        let over = std::mem::take(&mut self.over).into_iter();
        let mut told: Vec<FromRunner> = over.map(|(of, call)| FromRunner::CallOver { of, call }).collect();
        for (call, waits) in self.calls.iter_mut().filter(|(_, waits)| waits.untold) {
            (waits.untold, waits.passed_to) = (false, Some(epoch));
            let (of, tool, arguments) = (waits.of.clone(), waits.tool.clone(), waits.arguments.clone());
            told.push(FromRunner::Call { of, call: *call, tool, arguments });
        }
        told
    }
}

/// A call, which ends when this is dropped.
struct Under<'a> {
    host: &'a Host,
    of: SessionKey,
    call: u64,
    answer: oneshot::Receiver<Returned>,
}

impl Drop for Under<'_> {
    fn drop(&mut self) {
        self.host.with_calls(|calls| drop(calls.end(self.call)));
        // The caller went at the moment at which its answer came.
        if let Ok(returned) = self.answer.try_recv() {
            let whispers = returned.whispers.into_iter();
            self.host.report(&self.of, whispers.map(|(work, _)| Report::NotTaken { work }));
        }
    }
}

impl Desk for Host {
    fn process_of(&self, agent: &AgentName, session: SessionId) -> Option<u32> {
        self.process(&SessionKey { agent: agent.clone(), session })
    }

    async fn perform(&self, call: Call, _: Admitted) -> (Answer, Vec<WorkId>) {
        let of = SessionKey { agent: call.agent, session: call.session };
        let (call, answer) = self.with_calls(|calls| calls.begin(of.clone(), call.tool, call.arguments));
        let mut under = Under { host: self, of, call, answer };
        let returned = match self.running().within(BOT_WITHIN, &mut under.answer).await {
            Some(returned) => returned,
            None if self.with_calls(|calls| calls.give_up(call)) => Ok(Returned::refused(
                "herder is not there at the moment; go on without it and try again later.",
            )),
            None => (&mut under.answer).await,
        };
        let gone = || Returned::refused("Your session is over, as far as herder knows.");
        let Returned { ok, text, whispers } = returned.unwrap_or_else(|_| gone());
        let (numbers, whispers) = whispers.into_iter().unzip();
        (Answer { ok, text, whispers }, numbers)
    }

    fn delivered(&self, agent: &AgentName, session: SessionId, whispers: Vec<WorkId>, got: bool) {
        let report = |work| match got {
            true => Report::Signal(Signal::Steered { work }),
            false => Report::NotTaken { work },
        };
        let of = SessionKey { agent: agent.clone(), session };
        self.report(&of, whispers.into_iter().map(report));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of() -> SessionKey {
        SessionKey { agent: AgentName::new("spark").expect("a good name"), session: SessionId(1) }
    }

    fn told(calls: &mut Waiting, epoch: u64) -> Vec<String> {
        let told = calls.untold(epoch).into_iter();
        told.map(|message| match message {
            FromRunner::Call { call, tool, .. } => format!("{call} {tool}"),
            FromRunner::CallOver { call, .. } => format!("{call} over"),
            other => panic!("{other:?}"),
        })
        .collect()
    }

    #[test]
    fn a_call_is_passed_on_again_unless_that_could_say_something_twice() {
        let mut calls = Waiting::default();
        let mut begin = |tool: &str| calls.begin(of(), tool.to_owned(), Map::new()).1;
        let (mut read, mut send) = (begin("irc_read"), begin("irc_send"));
        assert_eq!(told(&mut calls, 1), ["1 irc_read", "2 irc_send"]);
        assert_eq!(told(&mut calls, 1), [] as [&str; 0]);
        // The same bot knows by the number that it has the call.
        calls.connect(1);
        assert_eq!(told(&mut calls, 1), ["1 irc_read", "2 irc_send"]);
        let mut unsent = calls.begin(of(), "irc_send".to_owned(), Map::new()).1;
        calls.connect(2);
        assert_eq!(told(&mut calls, 2), ["2 over", "1 irc_read", "3 irc_send"]);
        assert!(
            send.try_recv()
                .is_ok_and(|returned| !returned.ok && returned.text.contains("may have been said"))
        );
        drop(calls.end(1).map(|returned| returned.send(Returned::refused("x"))));
        assert!(read.try_recv().is_ok() && unsent.try_recv().is_err());
        assert_eq!(told(&mut calls, 2), ["1 over"]);
    }
}
