//! Permission requests of Claude Code over standard input and output (`--permission-prompt-tool stdio`).
//!
//! The CLI asks if neither its mode nor the user's own rules allow a call. To be asked about commands that are always
//! asked about, regardless of those rules, herder registers a `PreToolUse` hook over the same lines and requests the
//! question there.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::wire;
use crate::core::ask::{AskKey, Inquiry, Offer, Told};
use crate::core::danger::AskPattern;
use crate::core::spec::{AgentSpec, Permissions};
use crate::core::tools::SERVER;
use crate::runtime::Launch;
use crate::runtime::approval::{self, Cover, Requests, UNANSWERED, Wish, is_plain_file_below, not_approved};
use crate::runtime::protocol::Happening;
use crate::runtime::text::one_line;

/// Tools that change files, with the name of the argument that contains the path.
const FILE_TOOLS: [(&str, &str); 4] = [
    ("Edit", "file_path"),
    ("MultiEdit", "file_path"),
    ("Write", "file_path"),
    ("NotebookEdit", "notebook_path"),
];

/// Text for the model about a tool call that was denied.
const DENIED: &str = "The operator denied this. Do not try to do the same in another way; go on without it, or say what you need.";

/// Name of the tool by which the model asks people questions.
const QUESTIONS: &str = "AskUserQuestion";

/// Text for the model that submits a plan before it has written one; the CLI reads the plan from a file.
const NO_PLAN: &str = "There is no plan yet. Write it into the plan file, then ask again.";

/// Name of the tool by which the model submits a plan for approval.
const PLAN: &str = "ExitPlanMode";

/// Returns the CLI's permission mode for the work itself, without planning.
pub(super) const fn mode(permissions: Permissions) -> &'static str {
    match permissions {
        // In this mode the CLI asks about everything, and herder answers, which lets it detect the commands that are
        // always asked about.
        Permissions::ReadOnly | Permissions::Full => "default",
        Permissions::Plan | Permissions::WorkspaceWrite => "acceptEdits",
    }
}

/// Tools about whose calls the CLI calls herder's hook, as a regular expression: the shell and the tools of MCP
/// servers.
pub(super) const WATCHED: &str = "^(Bash|mcp__.*)$";

/// Starts of commands for which the CLI is told to ask, as they may be always asked about, in case it does not call the
/// hook.
const ASKED: [&str; 14] = [
    "git push", "rm", "sudo", "doas", "su", "sh", "bash", "zsh", "dash", "xargs", "psql", "mysql", "mariadb",
    "sqlite3",
];

/// Returns the rules for the CLI by which it asks even if its mode or the user's settings would allow the command. With
/// full permissions it asks about every command, and herder allows it unless it is always asked about.
pub(super) fn rules(permissions: Permissions) -> Vec<String> {
    match permissions {
        Permissions::Full => vec!["Bash".to_owned()],
        Permissions::WorkspaceWrite | Permissions::Plan | Permissions::ReadOnly => {
            ASKED.iter().map(|command| format!("Bash({command}:*)")).collect()
        }
    }
}

/// A request of the CLI that waits for an answer.
#[derive(Debug)]
struct Request {
    id: String,
    tool: String,
    input: Value,
    /// The CLI's permission mode for carrying out an approved plan.
    mode: &'static str,
}

impl approval::Request for Request {
    fn answer(self, allow: bool) -> Vec<u8> {
        let answer = match (allow, self.tool == PLAN) {
            (true, true) => json!({ "behavior": "allow", "updatedInput": self.input, "updatedPermissions": [
                { "type": "setMode", "mode": self.mode, "destination": "session" },
            ] }),
            (true, false) => allowed(self.input),
            (false, _) => denied(DENIED),
        };
        wire::permission_line(&self.id, &answer)
    }

    fn replied(self, answers: &[Option<Vec<String>>]) -> Vec<u8> {
        if answers.iter().all(Option::is_none) {
            return wire::permission_line(&self.id, &denied(UNANSWERED));
        }
        let mut input = self.input;
        let said = asked(&input).zip(answers).map(|(question, answer)| {
            let answer = answer.as_ref().map_or_else(|| UNANSWERED.to_owned(), |words| words.join(", "));
            (question["question"].as_str().unwrap_or_default().to_owned(), json!(answer))
        });
        let said: Map<String, Value> = said.collect();
        input["answers"] = Value::Object(said);
        wire::permission_line(&self.id, &allowed(input))
    }

    fn sent_back(self, why: &str) -> Vec<u8> {
        let why = if why == UNANSWERED { why.to_owned() } else { not_approved(why) };
        wire::permission_line(&self.id, &denied(&why))
    }
}

/// The open permission requests, questions and plans of a session.
#[derive(Debug)]
pub(super) struct Asking {
    spec: Arc<AgentSpec>,
    always_ask: Vec<AskPattern>,
    requests: Requests<Request>,
}

impl Asking {
    pub(super) fn of(launch: &Launch) -> Self {
        let always_ask = launch.always_ask.clone();
        Self { spec: Arc::clone(&launch.spec), requests: Requests::new(always_ask.clone()), always_ask }
    }

    /// Handles a request of the CLI: for permission, with questions, with a plan, or by the hook.
    pub(super) fn request(&mut self, line: &wire::Line<'_>, happened: &mut Vec<Happening>) {
        let Some(id) = line.request_id.text() else {
            happened.push(Happening::Malformed);
            return;
        };
        let nothing = wire::Request::default();
        let request = line.request.0.as_ref().unwrap_or(&nothing);
        let kind = request.subtype.text_or_empty();
        if kind == "hook_callback" {
            let answer = told(request.input.as_ref().unwrap_or(&Value::Null), &self.always_ask);
            happened.push(Happening::Reply(wire::permission_line(id, &answer)));
            return;
        }
        if kind != "can_use_tool" {
            let kind = one_line(kind, 100);
            happened.push(Happening::Note(format!("claude asked for {kind}, which is not offered")));
            happened.push(Happening::Reply(wire::not_offered_line(id, &kind)));
            return;
        }
        let tool = one_line(request.tool_name.text_or_empty(), 100);
        let input = request.input.clone().unwrap_or_else(|| json!({}));
        let request =
            Request { id: id.to_owned(), tool: tool.clone(), input, mode: mode(self.spec.permissions) };
        // Questions for people are answered by people, regardless of the permissions.
        if tool == QUESTIONS {
            let questions = questions(&request.input);
            return self.requests.inquire(request, questions, happened);
        }
        if tool == PLAN {
            let plan = request.input["plan"].as_str().unwrap_or_default().to_owned();
            if plan.trim().is_empty() {
                // An empty plan cannot be reviewed.
                happened.push(Happening::Note("a plan without a word was sent back".to_owned()));
                let line = wire::permission_line(&request.id, &denied(NO_PLAN));
                return happened.push(Happening::Reply(line));
            }
            return self.requests.plan(request, plan, happened);
        }
        let input = &request.input;
        let wish = wish(&tool, input);
        let covered = covers(self.spec.permissions, &self.spec.workspace, &tool, input);
        let cover = if covered { Cover::Usually } else { Cover::No };
        self.requests.decide(request, wish, cover, happened);
    }

    /// Handles the withdrawal of a request by the CLI.
    pub(super) fn withdrawn(&mut self, line: &wire::Line<'_>, happened: &mut Vec<Happening>) {
        let id = line.request_id.text_or_empty();
        self.requests.withdraw(|request| request.id == id, happened);
    }

    pub(super) fn answer(&mut self, key: AskKey, told: &Told, happened: &mut Vec<Happening>) {
        self.requests.answer(key, told, happened);
    }
}

/// Returns the answer to the hook, which is called for each watched tool call: "ask" if the call is always asked about,
/// otherwise nothing, so that the CLI applies its own rules.
fn told(call: &Value, always_ask: &[AskPattern]) -> Value {
    let tool = one_line(call["tool_name"].as_str().unwrap_or_default(), 100);
    let herders = tool.strip_prefix("mcp__").and_then(|rest| rest.strip_prefix(SERVER));
    if herders.is_some_and(|rest| rest.starts_with("__"))
        || !wish(&tool, &call["tool_input"]).is_dangerous(always_ask)
    {
        return json!({});
    }
    json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "always asked",
    } })
}

fn allowed(input: Value) -> Value {
    json!({ "behavior": "allow", "updatedInput": input })
}

fn denied(why: &str) -> Value {
    json!({ "behavior": "deny", "message": why, "interrupt": false })
}

/// Yields the questions in a call of the question tool.
fn asked(input: &Value) -> impl Iterator<Item = &Value> {
    let questions = input["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
    questions.iter().filter(|question| question["question"].is_string())
}

/// Returns the questions in a call of the question tool, in the form in which people are asked.
fn questions(input: &Value) -> Vec<Inquiry> {
    asked(input)
        .map(|question| Inquiry::Question {
            text: question["question"].as_str().unwrap_or_default().to_owned(),
            options: offers(&question["options"]),
            several: question["multiSelect"] == true,
        })
        .collect()
}

/// Returns the offered answers of a question, in the format that Claude Code and codex share.
pub(in crate::runtime) fn offers(options: &Value) -> Vec<Offer> {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let offers = options.iter().map(|option| Offer {
        label: option["label"].as_str().unwrap_or_default().to_owned(),
        description: option["description"].as_str().unwrap_or_default().to_owned(),
    });
    offers.filter(|offer| !offer.label.trim().is_empty()).collect()
}

fn file_of<'a>(tool: &str, input: &'a Value) -> Option<&'a str> {
    let (_, argument) = FILE_TOOLS.iter().find(|(name, _)| *name == tool)?;
    input[*argument].as_str()
}

/// Returns what a permission request is about: for the shell the command, otherwise the file and all arguments.
fn wish(tool: &str, input: &Value) -> Wish {
    let file_tool = FILE_TOOLS.iter().any(|(name, _)| *name == tool);
    let command = match input["command"].as_str() {
        Some(command) if tool == "Bash" => command.to_owned(),
        Some(_) | None => match file_of(tool, input) {
            Some(path) => format!("{path}\n{input}"),
            None => input.to_string(),
        },
    };
    Wish { tool: tool.to_owned(), command, shell: !file_tool, vague: false }
}

/// Returns true if the permissions allow the tool call without asking.
fn covers(permissions: Permissions, workspace: &Path, tool: &str, input: &Value) -> bool {
    match permissions {
        Permissions::Full => true,
        Permissions::WorkspaceWrite | Permissions::Plan => {
            file_of(tool, input).is_some_and(|path| is_plain_file_below(path, workspace))
        }
        Permissions::ReadOnly => false,
    }
}
