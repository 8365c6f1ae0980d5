//! Sessions without a process: a runtime's protocol, and the recorded lines of a real one, replayed to it.
//!
//! Where a transcript holds both directions, `<` is the runtime and `>` the client that it was recorded with.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use herder::core::ask::Told;
use herder::core::id::{AgentName, SessionId};
use herder::core::outcome::{Category, Exit, Outcome};
use herder::core::spec::{AgentSpec, Runtime};
use herder::runtime::protocol::{Happening, Invocation, Protocol, prepare};
use herder::runtime::text::Tail;
use herder::runtime::{Clocks, Launch, Local};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

/// Returns the command line of `runtime` and its protocol.
pub(super) fn launched(
    runtime: Runtime,
    change: impl FnOnce(&mut Launch, &mut AgentSpec),
) -> (Invocation, Box<dyn Protocol>) {
    let agent = AgentName::new("spark").expect("a good name");
    let mut spec = AgentSpec::new(agent.clone(), runtime, "/srv/agent/work".into());
    let second = Duration::from_secs(1);
    let mut launch = Launch {
        always_ask: Vec::new(),
        reviews: false,
        files: Vec::new(),
        task: None,
        withheld: BTreeSet::new(),
        agent,
        session: SessionId(1),
        spec: Arc::new(spec.clone()),
        prompt: String::new(),
        conversation: None,
        past: None,
        look: false,
        conversed: herder::core::outcome::Usage::default(),
        together: herder::core::machine::Together::All,
        limits: herder::core::machine::Enforcement::Require,
        marker: "j/spark/1".to_owned(),
        clocks: Clocks {
            startup: second,
            silence: second,
            tool: second,
            task: second,
            grace: second,
            beat: second,
        },
    };
    change(&mut launch, &mut spec);
    launch.spec = Arc::new(spec);
    prepare(&launch, &Local::default()).expect("it has a command")
}

/// Parses a write to a runtime, which is one line of JSON each time.
pub(super) fn as_line(bytes: &[u8]) -> Value {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    assert_eq!(text.matches('\n').count(), 1, "one line each: {text}");
    serde_json::from_str(text).expect("JSON")
}

/// Takes the replies out of what has happened.
pub(super) fn replies(happened: &mut [Happening]) -> Vec<Value> {
    let reply = |happening: &mut Happening| match happening {
        Happening::Reply(bytes) if !bytes.is_empty() => Some(as_line(&std::mem::take(bytes))),
        _ => None,
    };
    happened.iter_mut().filter_map(reply).collect()
}

/// Returns the tools that were open, one after the other.
pub(super) fn tools(happened: &[Happening]) -> Vec<&str> {
    happened
        .iter()
        .filter_map(|happening| match happening {
            Happening::ToolStarted { name, .. } => Some(name.as_str()),
            Happening::ToolEnded { .. } => Some("end"),
            _ => None,
        })
        .collect()
}

/// Tokens of the last turn, sent and received, as the last reading has them.
pub(super) fn last_turn(happened: &[Happening]) -> Option<(u64, u64)> {
    happened.iter().rev().find_map(|happening| match happening {
        Happening::Progress { reading, .. } => Some((reading.turn.input_tokens, reading.turn.output_tokens)),
        _ => None,
    })
}

/// Returns the first request for permission.
pub(super) fn asked(happened: &[Happening]) -> Option<String> {
    happened.iter().find_map(|happening| match happening {
        Happening::Asked { command, .. } => Some(command.clone()),
        _ => None,
    })
}

/// Returns whether the first request for permission is known by a name alone.
pub(super) fn asked_vaguely(happened: &[Happening]) -> Option<bool> {
    happened.iter().find_map(|happening| match happening {
        Happening::Asked { vague, .. } => Some(*vague),
        _ => None,
    })
}

/// Answers every request for permission that waits.
pub(super) fn answer_asked(protocol: &mut dyn Protocol, happened: &[Happening], allow: bool) -> Vec<Value> {
    let told = if allow { Told::Yes } else { Told::No };
    let mut answered = Vec::new();
    for happening in happened {
        if let Happening::Asked { key, .. } = happening {
            protocol.answer(*key, &told, &mut answered);
        }
    }
    replies(&mut answered)
}

/// Counts how often this happened.
pub(super) fn times(happened: &[Happening], wanted: &Happening) -> usize {
    happened.iter().filter(|happening| *happening == wanted).count()
}

/// Checks a table of failures against recorded runs: the text of each row stands in one of them, or the row is one of
/// `unseen`, which none of them contains. So a text that no runtime writes is noticed.
pub(super) fn assert_rows_were_seen<F: Copy + PartialEq + std::fmt::Debug>(
    table: &[(F, &str, Category)],
    unseen: &[(F, &str)],
    runs: &[&str],
    stands_in: impl Fn(F, &str, &str) -> bool,
) {
    let was_seen = |field, value: &str| runs.iter().any(|run| stands_in(field, value, run));
    for (field, value, category) in table {
        let (seen, marked) = (was_seen(*field, value), unseen.contains(&(*field, *value)));
        assert!(seen != marked, "{field:?} {value:?} {category:?}: seen {seen}, marked as unseen {marked}");
    }
    for marked in unseen {
        assert!(table.iter().any(|(field, value, _)| (*field, *value) == *marked), "{marked:?} is no row");
    }
}

/// Returns whether one of these forms stands in a run, `{}` being the value.
pub(super) fn stands(run: &str, value: &str, forms: &[&str]) -> bool {
    forms.iter().any(|form| run.contains(&form.replacen("{}", value, 1)))
}

/// Checks an end that was seen: its class, its words, and what goes before every end.
pub(super) fn assert_end(
    name: &str,
    (happened, outcome): (&[Happening], &Outcome),
    category: Category,
    detail: &str,
) {
    assert_eq!(outcome.category, category, "{name}: {outcome:?}");
    assert!(outcome.detail.to_string().starts_with(detail), "{name}: {}", outcome.detail);
    assert!(!happened.contains(&Happening::Malformed), "{name}");
    assert!(happened.contains(&Happening::TurnEnded), "{name}");
    let named = happened.iter().any(|h| matches!(h, Happening::Ready { conversation: Some(_) }));
    assert!(named, "{name} names its conversation");
}

/// A session that was replayed.
pub(super) struct Replayed {
    pub(super) happened: Vec<Happening>,
    /// The lines that were written to the runtime.
    pub(super) written: Vec<Value>,
    pub(super) outcome: Outcome,
    /// After each line, what the runtime said it waits for.
    pub(super) stalled: Vec<Option<Outcome>>,
}

impl Replayed {
    /// Returns the methods that the runtime was asked for.
    pub(super) fn methods(&self) -> Vec<&str> {
        self.written.iter().filter_map(|line| line["method"].as_str()).collect()
    }

    /// Returns the answers to its requests.
    pub(super) fn answers(&self) -> Vec<&Value> {
        self.written.iter().filter(|line| line["method"].is_null()).collect()
    }
}

/// Cuts and changed bytes: the line, the place, and below 128 a cut, else the byte.
pub(super) type Damage = Vec<(Index, Index, u8)>;

/// Returns a strategy for some damage.
pub(super) fn damage() -> impl Strategy<Value = Damage> {
    prop::collection::vec((any::<Index>(), any::<Index>(), any::<u8>()), 0..6)
}

/// Plays the runtime's lines with `damage` done to them. All lines that are written in answer are whole.
pub(super) fn play_damaged(protocol: &mut dyn Protocol, transcript: &str, damage: Damage) {
    let lines = transcript.lines().filter_map(|line| line.strip_prefix("< "));
    let mut lines: Vec<Vec<u8>> = lines.map(|line| line.as_bytes().to_vec()).collect();
    for (line, at, with) in damage {
        let line = line.index(lines.len());
        let line = &mut lines[line];
        let at = at.index(line.len().max(1)).min(line.len());
        if with < 128 {
            line.truncate(at);
        } else if at < line.len() {
            line[at] = with;
        }
    }
    protocol.prompt("say hi");
    let mut happened = Vec::new();
    for line in &lines {
        protocol.line(line, &mut happened);
    }
    protocol.outcome(Some(Exit::Code(0)), &Tail::default());
    replies(&mut happened);
}
