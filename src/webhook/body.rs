//! The body of a request: an event in the receiver's format.

use serde_json::json;

use crate::core::time::Timestamp;

/// Flag by which Discord shows no link previews.
const SUPPRESS_EMBEDS: u32 = 1 << 2;

/// The format in which an endpoint receives events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON with all fields, for programs.
    Json,
    /// The format of Discord's webhooks.
    Discord,
    /// The format of Slack's webhooks.
    Slack,
}

/// The content of one webhook event, as texts that are ready to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Telling<'a> {
    /// The event's id, the same in every delivery attempt.
    pub id: &'a str,
    /// The name of the kind of event, e.g. `agent_escalation`.
    pub event: &'a str,
    /// The agent that the event is about; `None` in a test event.
    pub agent: Option<&'a str>,
    /// The task of that agent, as number and text; `None` if it has none.
    pub task: Option<(u64, &'a str)>,
    /// The event as text for people.
    pub text: &'a str,
    /// The time of the decision that caused the event.
    pub at: Timestamp,
}

/// Builds the body of the HTTP request that delivers an event, in the endpoint's format.
#[must_use]
pub fn encode(format: Format, telling: &Telling<'_>) -> Vec<u8> {
    let body = match format {
        Format::Json => json!({
            "id": telling.id,
            "event": telling.event,
            "agent": telling.agent,
            "task": telling.task.map(|(id, text)| json!({ "id": id, "text": text })),
            "text": telling.text,
            "time": time(telling.at),
        }),
        // No one is notified, whatever text a task has.
        Format::Discord => json!({
            "content": telling.text,
            "allowed_mentions": { "parse": [] },
            "flags": SUPPRESS_EMBEDS,
        }),
        Format::Slack => json!({ "text": escaped(telling.text) }),
    };
    body.to_string().into_bytes()
}

/// Escapes `<…>`, which Slack reads as links and mentions.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Formats the time of an event as ISO 8601, in UTC.
fn time(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(format: Format) -> String {
        let telling = Telling {
            id: "evt_0f_7",
            event: "agent_escalation",
            agent: Some("spark-codex"),
            task: Some((3, "benchmark nemotron")),
            text: "<!channel> stuck & \"quiet\"\n@everyone",
            at: Timestamp::from_millis(1_772_360_430_250),
        };
        String::from_utf8(encode(format, &telling)).expect("JSON is text")
    }

    #[test]
    fn events_are_told_in_three_forms() {
        insta::assert_snapshot!(shown(Format::Json), @r#"{"agent":"spark-codex","event":"agent_escalation","id":"evt_0f_7","task":{"id":3,"text":"benchmark nemotron"},"text":"<!channel> stuck & \"quiet\"\n@everyone","time":"2026-03-01T10:20:30.25Z"}"#);
        insta::assert_snapshot!(shown(Format::Discord), @r#"{"allowed_mentions":{"parse":[]},"content":"<!channel> stuck & \"quiet\"\n@everyone","flags":4}"#);
        insta::assert_snapshot!(shown(Format::Slack), @r#"{"text":"&lt;!channel&gt; stuck &amp; \"quiet\"\n@everyone"}"#);
    }

    #[test]
    fn an_event_that_is_about_nobody_says_so() {
        let telling =
            Telling { id: "x", event: "test", agent: None, task: None, text: "", at: Timestamp::default() };
        let body: serde_json::Value = serde_json::from_slice(&encode(Format::Json, &telling)).expect("JSON");
        assert_eq!((&body["agent"], &body["task"]), (&json!(null), &json!(null)));
        assert_eq!(body["time"], "1970-01-01T00:00:00Z");
    }
}
