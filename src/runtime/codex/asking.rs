//! What the app server asks of its client, and the answers: permission by the agent's autonomy, anything else is declined
//! in the terms of the question, so that no turn waits for a person who is not there.

use serde_json::{Value, json};

use super::wire::Params;
use crate::runtime::approval::Verdict;
use crate::runtime::protocol::Happening;
use crate::runtime::rpc::{self, Id};
use crate::runtime::text::{LINE_MAX, one_line};

/// Answers a request of the server's. `files` are those of the last change that was announced.
pub(super) fn answer(
    verdict: Verdict,
    (id, method): (&Id, &str),
    params: &Params<'_>,
    files: &str,
    happened: &mut Vec<Happening>,
) {
    let Some(question) = Question::of(method, params, files) else {
        happened.push(Happening::Note(format!(
            "codex asked for {}, which is not offered",
            one_line(method, 100)
        )));
        happened.push(Happening::Reply(rpc::not_offered(id, method)));
        return;
    };
    let yes = verdict.allows() && question.yes.is_some();
    let what = one_line(&question.what, LINE_MAX);
    happened.push(match (yes, verdict) {
        (true, _) => Happening::Note(format!("allowed: {what}")),
        (false, Verdict::DenyUnasked) => Happening::Denied { what },
        (false, Verdict::Allow | Verdict::Deny) => Happening::Note(format!("denied: {what}")),
    });
    let result = question.yes.filter(|_| yes).unwrap_or(question.no);
    happened.push(Happening::Reply(rpc::answer(id, &result)));
}

/// A question, with both answers in its own terms. What nobody can say yes to without knowing more has no yes.
struct Question {
    what: String,
    yes: Option<Value>,
    no: Value,
}

impl Question {
    fn of(method: &str, params: &Params<'_>, files: &str) -> Option<Self> {
        let decided = |what: String, yes: &str, no: &str| {
            Some(Self { what, yes: Some(json!({ "decision": yes })), no: json!({ "decision": no }) })
        };
        match method {
            // "decline" lets the turn go on without it, where "cancel" would end the turn.
            "item/commandExecution/requestApproval" => {
                decided(words(&[&params.command, &params.reason], "a command"), "accept", "decline")
            }
            "item/fileChange/requestApproval" => {
                let fallback = if files.is_empty() { "a change of files" } else { files };
                decided(fallback.to_owned(), "accept", "decline")
            }
            // As older servers ask.
            "execCommandApproval" => {
                decided(words(&[&params.command, &params.reason], "a command"), "approved", "denied")
            }
            "applyPatchApproval" => {
                decided(words(&[&params.reason], "a change of files"), "approved", "denied")
            }
            "item/permissions/requestApproval" => Some(Self {
                what: words(&[&params.reason], "more permissions"),
                yes: params
                    .permissions
                    .as_ref()
                    .map(|asked| json!({ "permissions": asked, "scope": "turn" })),
                no: json!({ "permissions": {} }),
            }),
            "mcpServer/elicitation/request" => {
                let approval = params.meta.0.as_ref().and_then(|meta| meta.codex_approval_kind.text());
                Some(Self {
                    what: words(&[&params.message], "a tool"),
                    // A form that asks for more than a yes cannot be filled in here.
                    yes: approval.map(|_| json!({ "action": "accept", "content": {} })),
                    no: json!({ "action": "decline" }),
                })
            }
            "item/tool/requestUserInput" => Some(Self {
                what: "an answer to a question".to_owned(),
                yes: None,
                no: json!({ "answers": {} }),
            }),
            // Refreshing tokens, attestation, tools of the client's own: none of them is announced.
            _ => None,
        }
    }
}

/// The first text there is.
fn words(fields: &[&crate::runtime::loose::Scalar<'_>], fallback: &str) -> String {
    fields.iter().find_map(|field| field.text()).unwrap_or(fallback).to_owned()
}
