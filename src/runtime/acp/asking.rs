//! Permission requests of ACP agents.
//!
//! A call that the agent's permissions cover is allowed unless it is always asked about, and so are herder's own
//! tools; any other request waits for an answer.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::known::Known;
use super::wire::{Choice, Params, Update};
use crate::core::ask::{AskKey, Told};
use crate::core::cut::both_ends;
use crate::core::spec::{AgentSpec, Permissions};
use crate::core::tools::{ALL, SERVER, Tool};
use crate::runtime::Launch;
use crate::runtime::approval::{self, Cover, Requests, Wish, is_plain_file_below, quoted};
use crate::runtime::form::Form;
use crate::runtime::protocol::Happening;
use crate::runtime::rpc::{self, Id};
use crate::runtime::text::{RAW_MAX, one_line};

/// ACP kinds of tool calls that read or change files and run nothing.
const FILE_KINDS: [&str; 5] = ["edit", "move", "delete", "read", "search"];

/// A request of the agent that waits for an answer, with the ids of the options for yes and no.
#[derive(Debug)]
struct Request {
    /// JSON-RPC id of the request; `None` for a plan that herder submits itself, so that no agent waits for the answer.
    id: Option<Id>,
    /// Id of the tool call that the request is about; empty for a form.
    call: String,
    yes: Option<String>,
    no: Option<String>,
    /// The form that people fill in, if the request is one.
    form: Option<Form>,
}

impl approval::Request for Request {
    fn answer(self, allow: bool) -> Vec<u8> {
        let outcome = match if allow { self.yes } else { self.no } {
            Some(option) => json!({ "outcome": "selected", "optionId": option }),
            None => json!({ "outcome": "cancelled" }),
        };
        self.id.map(|id| rpc::answer(&id, &json!({ "outcome": outcome }))).unwrap_or_default()
    }

    fn replied(self, answers: &[Option<Vec<String>>]) -> Vec<u8> {
        let answer = self.form.map_or_else(|| json!({ "action": "cancel" }), |form| form.answer(answers));
        self.id.map(|id| rpc::answer(&id, &answer)).unwrap_or_default()
    }
}

/// Returns the response "cancelled" to a permission request, for a turn that is being cancelled.
pub(super) fn cancelled(id: &Id) -> Vec<u8> {
    rpc::answer(id, &json!({ "outcome": { "outcome": "cancelled" } }))
}

/// The open permission requests and forms of a session, and the permissions in force.
#[derive(Debug)]
pub(super) struct Asking {
    spec: Arc<AgentSpec>,
    /// Permissions in force: after the approval of a plan the agent may write.
    permissions: Permissions,
    /// Path and text of the last file that the agent wrote while it planned, since a request may name a plan by its
    /// file alone.
    written: Option<(String, String)>,
    requests: Requests<Request>,
}

impl Asking {
    pub(super) fn of(launch: &Launch) -> Self {
        Self {
            spec: Arc::clone(&launch.spec),
            permissions: launch.spec.permissions,
            written: None,
            requests: Requests::new(launch.always_ask.clone()),
        }
    }

    /// Records that the plan is approved: from now on the agent may write to its workspace.
    pub(super) fn works(&mut self) {
        self.permissions = Permissions::WorkspaceWrite;
    }

    /// Keeps a file that the agent writes while it plans, which may be the plan.
    pub(super) fn writes(&mut self, update: &Update<'_>) {
        let whole = update.content.0.iter().find(|piece| piece.new_text.text().is_some());
        if let Some(piece) = whole.filter(|_| self.permissions == Permissions::Plan) {
            let text = both_ends(piece.new_text.text_or_empty(), RAW_MAX);
            self.written = Some((piece.path.text_or_empty().to_owned(), text));
        }
    }

    /// Asks people whether a plan may be carried out that the agent gave as the answer of its turn, without a request.
    pub(super) fn propose(&mut self, plan: String, happened: &mut Vec<Happening>) {
        let request = Request { id: None, call: String::new(), yes: None, no: None, form: None };
        self.requests.plan(request, plan, happened);
    }

    /// Returns for the key of a waiting plan whether herder submitted it (else the agent waits for the answer); `None`
    /// if the key is none of a plan.
    pub(super) fn plan(&self, key: AskKey) -> Option<bool> {
        let request = self.requests.waiting(key).filter(|_| self.requests.is_plan(key))?;
        Some(request.id.is_none())
    }

    /// Handles `session/request_permission` for the tool call with this id; `call` is its known content. Returns the id
    /// if the call is denied at once.
    pub(super) fn request(
        &mut self,
        id: &Id,
        params: &Params<'_>,
        (name, call): (String, &Known),
        happened: &mut Vec<Happening>,
    ) -> Option<String> {
        let wish = wish(call);
        let choose = |kinds: [&str; 2]| {
            kinds.into_iter().find_map(|kind| option(&params.options.0, kind)).map(str::to_owned)
        };
        let request = Request {
            id: Some(id.clone()),
            call: name,
            // "Once" comes first: herder stores permanent permissions itself, where they can be seen and removed.
            yes: choose(["allow_once", "allow_always"]),
            no: choose(["reject_once", "reject_always"]),
            form: None,
        };
        let cover = if request.yes.is_none() {
            Cover::Never
        } else if is_herders(call) {
            Cover::Always
        } else if covers(self.permissions, &self.spec.workspace, call) {
            Cover::Usually
        } else {
            Cover::No
        };
        // Only people approve a plan.
        if let Some(plan) = self.plan_of(call).filter(|_| request.yes.is_some()) {
            let manual = params.options.0.iter().filter_map(|option| option.option_id.text());
            // Prefer the option after which the agent asks about each change.
            let manual = manual.into_iter().find(|option| *option == ASKED_ON).map(str::to_owned);
            self.requests.plan(Request { yes: manual.or(request.yes), ..request }, plan, happened);
            return None;
        }
        let about = request.call.clone();
        let decided = self.requests.decide(request, wish, cover, happened);
        (decided == Some(false)).then_some(about)
    }

    /// Handles `elicitation/create`, a form for people. A request to open a page is declined, because there is no
    /// browser here.
    pub(super) fn elicit(&mut self, id: &Id, params: &Params<'_>, happened: &mut Vec<Happening>) {
        if params.mode.text().is_some_and(|mode| mode != "form") {
            return happened.push(Happening::Reply(rpc::answer(id, &json!({ "action": "decline" }))));
        }
        let schema = params.requested_schema.as_ref().unwrap_or(&Value::Null);
        let (form, questions) = Form::of(params.message.text_or_empty(), schema);
        let request =
            Request { id: Some(id.clone()), call: String::new(), yes: None, no: None, form: Some(form) };
        self.requests.inquire(request, questions, happened);
    }

    /// Returns true if a request waits for an answer.
    pub(super) fn is_open(&self) -> bool {
        self.requests.are_waiting()
    }

    /// Answers a waiting request, or asks its next question. Returns the id of the tool call that the request is about;
    /// `None` if it does not wait any more.
    pub(super) fn answer(
        &mut self,
        key: AskKey,
        told: &Told,
        happened: &mut Vec<Happening>,
    ) -> Option<String> {
        let call = self.requests.waiting(key)?.call.clone();
        self.requests.answer(key, told, happened);
        Some(call)
    }
}

impl Asking {
    /// Returns the plan that a tool call submits for approval; `None` if it is no such call.
    fn plan_of(&self, call: &Known) -> Option<String> {
        if call.kind == PLAN_KIND {
            return plan(call);
        }
        let (path, text) = self.written.as_ref().filter(|(path, _)| !path.is_empty())?;
        let named = call.title.strip_prefix(PLAN_BY_FILE).is_some_and(|file| file.trim() == path);
        named.then(|| text.clone()).filter(|text| !text.trim().is_empty())
    }
}

fn option<'a>(options: &'a [Choice<'_>], kind: &str) -> Option<&'a str> {
    options.iter().find(|option| option.kind.text() == Some(kind))?.option_id.text()
}

/// Id of the option by which qwen-code approves a plan and asks about each change. The option before it lets a model
/// decide.
const ASKED_ON: &str = "proceed_once";

/// Prefix of gemini's question for the approval of a plan in a file.
const PLAN_BY_FILE: &str = "Requesting plan approval for: ";

/// ACP kind of a tool call that leaves planning mode.
const PLAN_KIND: &str = "switch_mode";

/// Returns the text of the plan that a tool call submits for approval; `None` if there is none.
fn plan(call: &Known) -> Option<String> {
    let given = call.input["plan"].as_str().map(str::to_owned);
    let plan = given.unwrap_or_else(|| call.pieces.join("\n"));
    (!plan.trim().is_empty()).then_some(plan)
}

/// Start of the explanation that gemini adds to a shell command; the command itself is in the title.
const COMMAND_EXPLAINED: &str = "[current working directory ";

/// Returns what a permission request is about: the command if the agent gives it; otherwise the title with the
/// arguments and the changes of files.
fn wish(call: &Known) -> Wish {
    let kind = call.kind.as_str();
    let title = if call.title.is_empty() { "a tool" } else { &call.title };
    let tool = if kind.is_empty() { "tool".to_owned() } else { one_line(kind, 100) };
    let shell = !FILE_KINDS.contains(&kind);
    if let Some(command) = command(&call.input) {
        return Wish { tool, command, shell, vague: false };
    }
    let mut pieces = call.pieces.clone();
    if kind == "execute" && pieces.iter().any(|piece| piece.starts_with(COMMAND_EXPLAINED)) {
        return Wish { tool, command: title.to_owned(), shell, vague: false };
    }
    if !call.input.is_null() {
        pieces.insert(0, call.written.clone());
    }
    let vague = pieces.is_empty();
    pieces.insert(0, title.to_owned());
    Wish { tool, command: pieces.join("\n"), shell, vague }
}

/// Returns the command in the arguments, which is one string or a program with its arguments.
fn command(input: &Value) -> Option<String> {
    let first = |names: &[&str]| {
        names.iter().find_map(|name| match &input[*name] {
            Value::String(text) => Some(text.clone()),
            // Words joined by blanks could be a different command, for example the argument of `bash -c`; so they are quoted.
            Value::Array(words) => Some(quoted(words)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        })
    };
    let program = first(&["command", "program"])?;
    Some(match first(&["args", "arguments", "argv"]) {
        Some(arguments) if !arguments.is_empty() => format!("{program} {arguments}"),
        Some(_) | None => program,
    })
}

/// Returns true if the tool call is one of herder's own tools, which are always allowed. The title decides only for
/// kinds of calls whose title the agent writes, and not the model.
fn is_herders(call: &Known) -> bool {
    let named = |tool: Tool| {
        let name = tool.name();
        [
            format!("{name} ({SERVER} MCP Server)"),
            format!("mcp__{SERVER}__{name}"),
            format!("{SERVER}_{name}"),
        ]
        .contains(&call.title)
    };
    matches!(call.kind.as_str(), "other" | "") && command(&call.input).is_none() && ALL.into_iter().any(named)
}

/// Returns true if the permissions allow the tool call without asking.
fn covers(permissions: Permissions, workspace: &Path, call: &Known) -> bool {
    let inside = || {
        let mut paths = call.located.iter().chain(&call.changed).peekable();
        paths.peek().is_some()
            && paths.all(|path| path.as_ref().is_some_and(|path| is_plain_file_below(path, workspace)))
    };
    match permissions {
        Permissions::Full => true,
        Permissions::WorkspaceWrite => matches!(call.kind.as_str(), "edit" | "move" | "delete") && inside(),
        Permissions::ReadOnly | Permissions::Plan => false,
    }
}
