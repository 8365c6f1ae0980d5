//! Requests of the codex app server to its client. Permissions are decided by the agent's permissions or by people;
//! other requests are declined in the form that fits each, so that no turn waits for an answer that cannot be given.

use serde_json::{Map, Value, json};

use super::items::Announced;
use super::wire::Params;
use crate::core::ask::{AskKey, Inquiry, Told};
use crate::core::spec::Permissions;
use crate::runtime::Launch;
use crate::runtime::approval::{self, Cover, Requests, UNANSWERED, Wish, quoted};
use crate::runtime::claude::offers;
use crate::runtime::form::Form;
use crate::runtime::protocol::Happening;
use crate::runtime::rpc::{self, Id};
use crate::runtime::text::one_line;

/// A request of the app server that waits for an answer, with the responses for yes and no.
#[derive(Debug)]
struct Request {
    /// JSON-RPC id of the request; `None` for a plan that herder submits itself, so that no server waits for the
    /// answer.
    id: Option<Id>,
    /// The response for yes; `None` if the protocol requires more information than a yes.
    yes: Option<Value>,
    no: Value,
    /// Ids of the questions that the request asks.
    asked: Vec<String>,
    /// The form that people fill in, if the request is one.
    form: Option<Form>,
}

impl approval::Request for Request {
    fn answer(self, allow: bool) -> Vec<u8> {
        let answer = self.yes.filter(|_| allow).unwrap_or(self.no);
        self.id.map(|id| rpc::answer(&id, &answer)).unwrap_or_default()
    }

    fn replied(self, answers: &[Option<Vec<String>>]) -> Vec<u8> {
        if let Some(form) = self.form {
            return self.id.map(|id| rpc::answer(&id, &form.answer(answers))).unwrap_or_default();
        }
        let said = self.asked.iter().zip(answers).map(|(name, answer)| {
            let words = answer.clone().unwrap_or_else(|| vec![UNANSWERED.to_owned()]);
            (name.clone(), json!({ "answers": words }))
        });
        let said = json!({ "answers": said.collect::<Map<String, Value>>() });
        self.id.map(|id| rpc::answer(&id, &said)).unwrap_or_default()
    }
}

/// Yields the questions of a request with their ids, in the protocol's form.
fn list<'a>(params: &'a Params<'_>) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let questions = params.questions.as_ref().and_then(Value::as_array).map(Vec::as_slice);
    questions
        .unwrap_or_default()
        .iter()
        .filter_map(|question| question["question"].as_str().and(Some((question["id"].as_str()?, question))))
}

fn asked(params: &Params<'_>) -> Vec<String> {
    list(params).map(|(name, _)| name.to_owned()).collect()
}

fn questions(params: &Params<'_>) -> Vec<Inquiry> {
    list(params)
        .map(|(_, question)| Inquiry::Question {
            text: question["question"].as_str().unwrap_or_default().to_owned(),
            options: offers(&question["options"]),
            several: false,
        })
        .collect()
}

/// The open permission requests, questions and plans of a session.
#[derive(Debug)]
pub(super) struct Asking {
    covered: bool,
    requests: Requests<Request>,
}

impl Asking {
    pub(super) fn of(launch: &Launch) -> Self {
        // With lower permissions, the sandbox defines the actions that need no permission: any request is for more.
        let covered = launch.spec.permissions == Permissions::Full;
        Self { covered, requests: Requests::new(launch.always_ask.clone()) }
    }

    /// Handles a request of the app server: for permission, with questions or a form; others are declined.
    pub(super) fn request(
        &mut self,
        (id, method): (&Id, &str),
        params: &Params<'_>,
        announced: &Announced,
        happened: &mut Vec<Happening>,
    ) {
        if method == "item/tool/requestUserInput" {
            let asked = asked(params);
            let request =
                Request { id: Some(id.clone()), yes: None, no: json!({ "answers": {} }), asked, form: None };
            return self.requests.inquire(request, questions(params), happened);
        }
        let form =
            params.requested_schema.as_ref().filter(|_| params.mode.text().is_none_or(|mode| mode == "form"));
        let approval = params.meta.0.as_ref().is_some_and(|meta| meta.codex_approval_kind.text().is_some());
        if let (Some(schema), "mcpServer/elicitation/request", false) = (form, method, approval) {
            let (form, questions) = Form::of(params.message.text_or_empty(), schema);
            let no = json!({ "action": "decline" });
            let request =
                Request { id: Some(id.clone()), yes: None, no, asked: Vec::new(), form: Some(form) };
            return self.requests.inquire(request, questions, happened);
        }
        let Some(question) = Question::of(method, params, announced) else {
            let method = one_line(method, 100);
            happened.push(Happening::Note(format!("codex asked for {method}, which is not offered")));
            happened.push(Happening::Reply(rpc::not_offered(id, &method)));
            return;
        };
        let Question { wish, yes, no } = question;
        let cover = match (&yes, self.covered) {
            (None, _) => Cover::Never,
            (Some(_), true) => Cover::Usually,
            (Some(_), false) => Cover::No,
        };
        self.requests.decide(
            Request { id: Some(id.clone()), yes, no, asked: Vec::new(), form: None },
            wish,
            cover,
            happened,
        );
    }

    /// Handles the server's notice that a request needs no answer any more. If herder has not answered it, it is
    /// withdrawn.
    pub(super) fn resolved(&mut self, id: &Id, happened: &mut Vec<Happening>) {
        self.requests.withdraw(|request| request.id.as_ref() == Some(id), happened);
    }

    /// Asks people whether a plan may be carried out that the agent gave as the answer of its turn, without a request.
    pub(super) fn propose(&mut self, plan: String, happened: &mut Vec<Happening>) {
        let request = Request { id: None, yes: None, no: Value::Null, asked: Vec::new(), form: None };
        self.requests.plan(request, plan, happened);
    }

    /// Returns true if a plan waits for an answer under this key.
    pub(super) fn is_plan(&self, key: AskKey) -> bool {
        self.requests.is_plan(key)
    }

    pub(super) fn answer(&mut self, key: AskKey, told: &Told, happened: &mut Vec<Happening>) {
        self.requests.answer(key, told, happened);
    }
}

/// A permission request read from the protocol, with the responses for yes and no; no `yes` if that would require more
/// information.
struct Question {
    wish: Wish,
    yes: Option<Value>,
    no: Value,
}

impl Question {
    fn of(method: &str, params: &Params<'_>, announced: &Announced) -> Option<Self> {
        let decided = |wish: Wish, yes: &str, no: &str| {
            Some(Self { wish, yes: Some(json!({ "decision": yes })), no: json!({ "decision": no }) })
        };
        match method {
            // "decline" lets the turn continue without the call, "cancel" would end the turn.
            "item/commandExecution/requestApproval" => decided(command(params), "accept", "decline"),
            "item/fileChange/requestApproval" => {
                decided(file_change(announced.asked(params), params), "accept", "decline")
            }
            // The form of older servers.
            "execCommandApproval" => decided(command(params), "approved", "denied"),
            "applyPatchApproval" => {
                let changes = Some(params.file_changes.json()).filter(|changes| !changes.is_empty());
                decided(file_change(changes, params), "approved", "denied")
            }
            "item/permissions/requestApproval" => {
                let asked = params.permissions.as_ref();
                let reason = words(&[&params.reason], "more permissions");
                let what = asked.map_or_else(|| reason.clone(), |asked| format!("{reason}\n{asked}"));
                Some(Self {
                    wish: wish("permissions", what, false),
                    yes: asked.map(|asked| json!({ "permissions": asked, "scope": "turn" })),
                    no: json!({ "permissions": {} }),
                })
            }
            "mcpServer/elicitation/request" => {
                let meta = params.meta.0.as_ref();
                let approval = meta.and_then(|meta| meta.codex_approval_kind.text());
                Some(Self {
                    wish: tool_call(params),
                    // A form without its fields cannot be filled in.
                    yes: approval.map(|_| json!({ "action": "accept", "content": {} })),
                    no: json!({ "action": "decline" }),
                })
            }
            // Requests for features that herder does not announce: refreshing tokens, attestation, the client's own tools.
            _ => None,
        }
    }
}

fn wish(tool: &str, command: String, shell: bool) -> Wish {
    Wish { tool: tool.to_owned(), command, shell, vague: false }
}

/// Returns what a request to change files is about. The request contains only an id, so the change is unknown unless it
/// was announced.
fn file_change(changes: Option<&str>, params: &Params<'_>) -> Wish {
    let mut text = changes.unwrap_or("an unknown change of files").to_owned();
    let root = params.grant_root.text();
    if let Some(root) = root {
        text.push_str("\nand from then on any in ");
        text.push_str(root);
    }
    Wish { vague: changes.is_none() || root.is_some(), ..wish("file change", text, false) }
}

/// Returns what a request to call a tool of an MCP server is about: the tool with its arguments.
fn tool_call(params: &Params<'_>) -> Wish {
    let message = words(&[&params.message], "a tool");
    let meta = params.meta.0.as_ref();
    let arguments = meta.and_then(|meta| {
        [meta.tool_params.json(), meta.tool_params_display.json()].into_iter().find(|json| !json.is_empty())
    });
    match arguments {
        Some(arguments) => wish("tool server", format!("{message}\n{arguments}"), true),
        None => Wish { vague: true, ..wish("tool server", message, true) },
    }
}

/// Returns what a request to run a command is about: the command itself instead of the model's reason for it, or the
/// requested object if there is no command.
fn command(params: &Params<'_>) -> Wish {
    let command = match &params.command {
        Some(Value::String(command)) => Some(command.clone()),
        Some(Value::Array(words)) => Some(quoted(words)),
        Some(_) | None => None,
    };
    let known = command.is_some();
    let command = command.unwrap_or_else(|| words(&[&params.reason], "a command"));
    if let Some(network) = &params.network_approval_context.0 {
        let (protocol, host) = (network.protocol.text_or_empty(), network.host.text());
        let text = format!("{protocol} {}", host.unwrap_or("an unknown host"));
        let text = if known { format!("{text}\n{command}") } else { text };
        return Wish { vague: host.is_none(), ..wish("network", text.trim().to_owned(), true) };
    }
    // Input for a running command, and later additions.
    let kind = params.kind.text().filter(|kind| *kind != "command").map(|kind| one_line(kind, 100));
    Wish { vague: !known || kind.is_some(), ..wish(kind.as_deref().unwrap_or("shell"), command, true) }
}

/// Returns the first of the fields that is a text, or the fallback.
fn words(fields: &[&crate::runtime::loose::Scalar<'_>], fallback: &str) -> String {
    fields.iter().find_map(|field| field.text()).unwrap_or(fallback).to_owned()
}
