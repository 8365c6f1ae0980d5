//! Spans of the journal's entries.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use serde::{Deserialize, Serialize};

use crate::core::agent::Agent;
use crate::core::cut::both_ends;
use crate::core::event::Event;
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::core::outcome::{Category, Outcome, Usage};
use crate::core::spec::Runtime;
use crate::core::time::Timestamp;
use crate::core::turn::{Step, Turn};
use crate::journal::{Entry, Recorded, Stream};

/// Maximum length of a name that an agent has chosen, in bytes.
const NAME_MAX: usize = 100;

/// Settings of an agent that its spans mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    runtime: Runtime,
    model: String,
    account: String,
}

impl Facts {
    pub(super) fn of(agent: &Agent) -> Option<Self> {
        let spec = agent.spec.as_ref()?;
        let account = agent.account().to_string();
        Some(Self { runtime: spec.runtime, model: spec.model.clone(), account })
    }

    /// Returns the provider by the conventions; for a program that may use any, its protocol.
    fn provider(&self) -> &'static str {
        match self.runtime {
            Runtime::Claude => "anthropic",
            Runtime::Codex => "openai",
            Runtime::Acp => "acp",
            Runtime::Command => "command",
        }
    }
}

/// A session that has begun.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Open {
    session: SessionId,
    begun: Timestamp,
    task: Option<WorkId>,
    conversation: Option<String>,
    usage: Usage,
}

/// Position in the journal, and the sessions that are open there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Progress {
    /// Number of the last entry that was handled.
    pub(super) after: u64,
    open: BTreeMap<AgentName, Open>,
}

impl Progress {
    /// Returns a position with no open session.
    pub(super) fn at(after: u64) -> Self {
        Self { after, open: BTreeMap::new() }
    }

    /// Takes one entry; returns the spans that end with it.
    pub(super) fn take(
        &mut self,
        journal: &str,
        recorded: &Recorded,
        facts: impl Fn(&AgentName) -> Option<Facts>,
    ) -> Vec<SpanData> {
        let (Stream::Agent(agent), Entry::Agent(event)) = (&recorded.stream, &recorded.entry) else {
            return Vec::new();
        };
        match event {
            Event::SessionStarted { session, work, .. } => {
                let open =
                    Open { session: *session, begun: recorded.at, task: Some(work.id), ..Open::default() };
                self.open.insert(agent.clone(), open);
                Vec::new()
            }
            Event::ConversationNamed { session, conversation } => {
                if let Some(open) = self.open_of(agent, *session) {
                    open.conversation = Some(both_ends(conversation, NAME_MAX));
                }
                Vec::new()
            }
            Event::UsageRecorded { session, usage, .. } => {
                if let Some(open) = self.open_of(agent, *session) {
                    open.usage = *usage;
                }
                Vec::new()
            }
            Event::TurnObserved { turn, .. } => {
                let open = self.open_of(agent, turn.session).cloned().unwrap_or_default();
                let pen = Pen { journal, agent, facts: facts(agent), session: turn.session, open: &open };
                pen.turn(recorded.seq, turn)
            }
            Event::SessionEnded { session, outcome, .. } => {
                let begun = self.open_of(agent, *session).cloned();
                self.open.remove(agent);
                // Without its start the session has no duration: it began before traces were wanted.
                let Some(open) = begun else { return Vec::new() };
                let pen = Pen { journal, agent, facts: facts(agent), session: *session, open: &open };
                vec![pen.session(recorded.at, outcome)]
            }
            _ => Vec::new(),
        }
    }

    fn open_of(&mut self, agent: &AgentName, session: SessionId) -> Option<&mut Open> {
        self.open.get_mut(agent).filter(|open| open.session == session)
    }
}

/// Writes the spans of one session.
struct Pen<'a> {
    journal: &'a str,
    agent: &'a AgentName,
    facts: Option<Facts>,
    session: SessionId,
    open: &'a Open,
}

impl Pen<'_> {
    /// Returns the digest of a thing of this session, of which ids are parts.
    fn digest(&self, thing: &str) -> [u8; 32] {
        let text = format!("{}\n{}\n{}\n{thing}", self.journal, self.agent, self.session);
        let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(digest.as_ref()).for_each(|(to, from)| *to = *from);
        bytes
    }

    fn trace(&self) -> TraceId {
        let [half, _] = halves(self.digest("session"));
        TraceId::from_bytes(half)
    }

    fn span(&self, thing: &str) -> SpanId {
        let [_, [a, b, c, d, e, f, g, h, ..]] = halves(self.digest(thing));
        SpanId::from_bytes([a, b, c, d, e, f, g, h])
    }

    fn model(&self) -> &str {
        self.facts.as_ref().map(|facts| facts.model.as_str()).unwrap_or_default()
    }

    /// Returns the attributes that all spans of a kind have.
    fn attributes(&self, operation: &'static str) -> Vec<KeyValue> {
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", operation),
            KeyValue::new("gen_ai.agent.name", self.agent.to_string()),
            KeyValue::new("herder.session", number(self.session.0)),
        ];
        if let Some(facts) = &self.facts {
            attributes.push(KeyValue::new("gen_ai.provider.name", facts.provider()));
            attributes.push(KeyValue::new("herder.account", facts.account.clone()));
        }
        if !self.model().is_empty() {
            attributes.push(KeyValue::new("gen_ai.request.model", self.model().to_owned()));
        }
        if let Some(conversation) = &self.open.conversation {
            attributes.push(KeyValue::new("gen_ai.conversation.id", conversation.clone()));
        }
        if let Some(task) = self.open.task {
            attributes.push(KeyValue::new("herder.task", number(task.0)));
        }
        attributes
    }

    fn data(&self, thing: &str, parent: SpanId, drawn: Drawn) -> SpanData {
        let id = self.span(thing);
        let state = TraceState::NONE;
        SpanData {
            span_context: SpanContext::new(self.trace(), id, TraceFlags::SAMPLED, false, state),
            parent_span_id: parent,
            parent_span_is_remote: false,
            span_kind: drawn.kind,
            name: Cow::Owned(drawn.name),
            start_time: drawn.from,
            end_time: drawn.to.max(drawn.from),
            attributes: drawn.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: drawn.status,
            instrumentation_scope: InstrumentationScope::builder("herder")
                .with_version(env!("CARGO_PKG_VERSION"))
                .build(),
        }
    }

    fn session(&self, at: Timestamp, outcome: &Outcome) -> SpanData {
        let mut attributes = self.attributes("invoke_agent");
        let reported = outcome.usage;
        let usage = if reported == Usage::default() { self.open.usage } else { reported };
        attributes.extend([
            KeyValue::new("gen_ai.usage.input_tokens", number(usage.input_tokens)),
            KeyValue::new("gen_ai.usage.cache_read.input_tokens", number(usage.cached_tokens)),
            KeyValue::new("gen_ai.usage.output_tokens", number(usage.output_tokens)),
            KeyValue::new("herder.cost_usd", usage.cost_usd),
            KeyValue::new("herder.outcome", outcome.category.word()),
        ]);
        let is_failure = !matches!(outcome.category, Category::Success | Category::Interrupted);
        let status = failed(is_failure, outcome.category.word(), &mut attributes);
        let drawn = Drawn {
            name: format!("invoke_agent {}", self.agent),
            // The agent is a process of its own.
            kind: SpanKind::Client,
            from: moment(self.open.begun),
            to: moment(at),
            attributes,
            status,
        };
        self.data("session", SpanId::INVALID, drawn)
    }

    /// Returns the span of a turn, followed by those of its tool calls.
    fn turn(&self, seq: u64, turn: &Turn) -> Vec<SpanData> {
        let thing = format!("turn {seq}");
        let from = moment(turn.at);
        let to = later(from, turn.took_ms);
        let name = ["chat", self.model()].join(" ").trim_end().to_owned();
        let (attributes, status) = (self.attributes("chat"), Status::Unset);
        let drawn = Drawn { name, kind: SpanKind::Client, from, to, attributes, status };
        let chat = self.data(&thing, self.span("session"), drawn);
        let parent = chat.span_context.span_id();
        let calls = turn.steps.iter().enumerate().map(|(n, step)| {
            let drawn = self.call(from, to, step);
            self.data(&format!("{thing} call {n}"), parent, drawn)
        });
        let calls: Vec<SpanData> = calls.collect();
        std::iter::once(chat).chain(calls).collect()
    }

    fn call(&self, turn: SystemTime, over: SystemTime, step: &Step) -> Drawn {
        let mut attributes = self.attributes("execute_tool");
        let tool = both_ends(&step.tool, NAME_MAX);
        attributes.push(KeyValue::new("gen_ai.tool.name", tool.clone()));
        let is_failure = step.end.as_ref().is_some_and(|end| !end.ok);
        let status = failed(is_failure, "tool_error", &mut attributes);
        let from = later(turn, step.after_ms);
        let to = if step.end.is_some() { later(from, step.took_ms) } else { over };
        let name = format!("execute_tool {tool}");
        Drawn { name, kind: SpanKind::Internal, from, to, attributes, status }
    }
}

/// The parts in which spans differ.
struct Drawn {
    name: String,
    kind: SpanKind,
    from: SystemTime,
    to: SystemTime,
    attributes: Vec<KeyValue>,
    status: Status,
}

/// Returns the status. Its description stays empty, as the words of a failure are the agent's.
fn failed(is_failure: bool, category: &'static str, attributes: &mut Vec<KeyValue>) -> Status {
    if !is_failure {
        return Status::Unset;
    }
    attributes.push(KeyValue::new("error.type", category));
    Status::error("")
}

fn halves(bytes: [u8; 32]) -> [[u8; 16]; 2] {
    let mut halves = [[0; 16]; 2];
    halves.iter_mut().flatten().zip(bytes).for_each(|(to, from)| *to = from);
    halves
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn moment(at: Timestamp) -> SystemTime {
    later(SystemTime::UNIX_EPOCH, u64::try_from(at.as_millis()).unwrap_or(0))
}

fn later(from: SystemTime, ms: u64) -> SystemTime {
    from.checked_add(Duration::from_millis(ms)).unwrap_or(from)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::core::turn::{End, Kind};
    use crate::core::work::{Actor, Work, WorkKind};

    const BEGUN: i64 = 1_763_700_300_000;

    fn agent() -> AgentName {
        AgentName::new("spark").expect("a name")
    }

    fn recorded(seq: u64, ms: i64, event: Event) -> Recorded {
        let at = Timestamp::from_millis(BEGUN + ms);
        Recorded { seq, stream: Stream::Agent(agent()), rev: seq, at, entry: Entry::Agent(event) }
    }

    fn started() -> Recorded {
        let work = Work {
            id: WorkId(7),
            kind: WorkKind::Task,
            text: "the secret of the valley".to_owned(),
            by: Actor::herder(),
            at: Timestamp::from_millis(BEGUN),
            attempts: 0,
            card: None,
        };
        recorded(1, 0, Event::SessionStarted { session: SessionId(3), work, trial: false })
    }

    fn turn() -> Recorded {
        let step = |tool: &str, end| Step {
            tool: tool.to_owned(),
            kind: Kind::Other,
            what: "a secret path".to_owned(),
            digest: 1,
            end,
            after_ms: 100,
            took_ms: 50,
        };
        let end = End { ok: false, said: "a secret error".to_owned(), digest: 2 };
        let turn = Turn {
            session: SessionId(3),
            work: None,
            at: Timestamp::from_millis(BEGUN + 1_000),
            took_ms: 500,
            words: "secret words".to_owned(),
            steps: vec![step("Bash", Some(end)), step(&"x".repeat(1_000), None)],
            more: 0,
        };
        recorded(2, 1_500, Event::TurnObserved { turn: Arc::new(turn), keep: 20 })
    }

    fn ended() -> Recorded {
        let outcome = Box::new(Outcome::new(Category::Crash, "a secret reason".to_owned()));
        let survivors = Vec::new();
        recorded(3, 2_000, Event::SessionEnded { session: SessionId(3), outcome, survivors })
    }

    fn facts(_: &AgentName) -> Option<Facts> {
        Some(Facts { runtime: Runtime::Codex, model: String::new(), account: "default".to_owned() })
    }

    fn spans(progress: &mut Progress, entries: &[Recorded]) -> Vec<SpanData> {
        entries.iter().flat_map(|entry| progress.take("journal", entry, facts)).collect()
    }

    #[test]
    fn a_session_holds_its_turns_and_those_their_calls() {
        let spans = spans(&mut Progress::default(), &[started(), turn(), ended()]);
        let [chat, bash, long, session] = spans.as_slice() else { panic!("{spans:#?}") };
        assert_eq!((chat.name.as_ref(), session.name.as_ref()), ("chat", "invoke_agent spark"));
        assert_eq!(chat.parent_span_id, session.span_context.span_id());
        assert_eq!(bash.parent_span_id, chat.span_context.span_id());
        assert_ne!(bash.span_context.span_id(), long.span_context.span_id());
        assert!(spans.iter().all(|span| span.span_context.trace_id() == session.span_context.trace_id()));
        let ms = |span: &SpanData| {
            let since = |at: SystemTime| at.duration_since(moment(Timestamp::from_millis(BEGUN)));
            [span.start_time, span.end_time].map(|at| since(at).expect("later").as_millis())
        };
        assert_eq!((ms(session), ms(chat)), ([0, 2_000], [1_000, 1_500]));
        assert_eq!(ms(bash), [1_100, 1_150]);
        assert_eq!(ms(long), [1_100, 1_500], "its end was not seen");
        assert_eq!((&bash.status, &session.status), (&Status::error(""), &Status::error("")));
        assert!(long.name.len() < 200, "{}", long.name);
        assert!(!format!("{spans:?}").contains("secret"), "{spans:?}");
    }

    /// A herder that is killed reads its position, and what follows, again.
    #[test]
    fn what_is_sent_again_is_the_same_and_an_open_session_is_known_by_the_next_herder() {
        let mut progress = Progress::default();
        spans(&mut progress, &[started()]);
        let stored = serde_json::to_string(&progress).expect("JSON");
        let once = spans(&mut progress, &[turn(), ended()]);
        let mut again: Progress = serde_json::from_str(&stored).expect("a position");
        assert_eq!(spans(&mut again, &[turn(), ended()]), once);
        assert_eq!(again, progress);
        assert!(again.open.is_empty());
    }

    #[test]
    fn the_end_of_a_session_that_was_never_seen_to_begin_is_no_span() {
        assert_eq!(spans(&mut Progress::default(), &[ended()]), []);
        assert_eq!(spans(&mut Progress::default(), &[turn()]).len(), 3, "its turns have times of their own");
    }
}
