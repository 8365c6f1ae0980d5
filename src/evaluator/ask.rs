//! Command lines of the judges (the CLIs that evaluate turns), and extraction of the answer from their output.

use std::path::Path;

use secrecy::ExposeSecret as _;
use serde_json::Value;

use super::child::{End, Ran};
use super::credential::Credential;
use super::home::Home;
use super::{Judge, Settings};
use crate::core::outcome::{Category, Usage};
use crate::core::verdict::Lapse;
use crate::runtime::protocol::Invocation;
use crate::runtime::{claude, codex, environment};

/// Settings that disable codex's tools: it needs only the transcript, and without tools a prompt injection in it has
/// no effect. Versions ignore settings that they do not know.
const CODEX_WITHOUT: [&str; 19] = [
    "features.unbounded_connection_retries=false",
    "features.shell_tool=false",
    "features.unified_exec=false",
    "features.shell_snapshot=false",
    "features.apps=false",
    "features.browser_use=false",
    "features.computer_use=false",
    "features.image_generation=false",
    "features.multi_agent=false",
    "features.goals=false",
    "features.plugins=false",
    "features.remote_plugin=false",
    "features.hooks=false",
    "features.view_image=false",
    "features.sleep_tool=false",
    "features.skill_search=false",
    "features.tool_suggest=false",
    "include_apply_patch_tool=false",
    "web_search=\"disabled\"",
];

/// The answer and usage taken from the output of a judge's process.
#[derive(Debug)]
pub(super) struct Heard {
    /// The judge's answer as text, not parsed yet, or the reason why there is none.
    pub(super) said: Result<String, Lapse>,
    /// Tokens used according to the judge, with dollars if it states them; `None` if unknown.
    pub(super) usage: Option<Usage>,
}

/// Builds the command line and environment of the judge's process, and puts the credential into its `home`.
pub(super) fn invocation(
    settings: &Settings,
    own: &std::collections::BTreeMap<String, String>,
    credential: &Credential,
    home: &mut Home,
    (marker, role): (&str, &str),
) -> std::io::Result<Invocation> {
    let mut environment = environment::chosen(&settings.inherit_env, &settings.env, own);
    let mut set = |name: &str, value: &Path| environment.insert(name.to_owned(), value.display().to_string());
    set("HOME", home.path());
    set("TMPDIR", &home.path().join("tmp"));
    match settings.judge {
        Judge::Codex => {
            let folder = home.folder(".codex")?;
            set("CODEX_HOME", &folder);
            if let Some(path) = credential.login() {
                home.link(folder.join("auth.json"), path)?;
            }
        }
        Judge::Claude => {
            let folder = home.folder(".claude")?;
            set("CLAUDE_CONFIG_DIR", &folder);
            if let Some(path) = credential.login() {
                home.link(folder.join(".credentials.json"), path)?;
            }
            for (name, value) in claude::QUIET.into_iter().chain([("CLAUDE_CODE_MAX_RETRIES", "2")]) {
                environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
            }
        }
        Judge::Command | Judge::Builtin | Judge::Off => {}
    }
    if let Credential::Key { variable, value, .. } = credential {
        environment.insert((*variable).to_owned(), value.expose_secret().to_owned());
    }
    environment.insert(environment::MARKER.to_owned(), marker.to_owned());
    let (program, arguments) =
        settings.command.split_first().map_or((String::new(), Vec::new()), |(program, rest)| {
            (program.clone(), arguments(settings, rest, role))
        });
    Ok(Invocation { program, arguments, environment, waits: false })
}

fn arguments(settings: &Settings, given: &[String], role: &str) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let model = |option: &str| {
        if settings.model.is_empty() { Vec::new() } else { vec![option.to_owned(), settings.model.clone()] }
    };
    match settings.judge {
        Judge::Codex => {
            let settings = codex::QUIET.iter().chain(&CODEX_WITHOUT);
            let mut arguments: Vec<String> =
                settings.flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]).collect();
            arguments.extend_from_slice(given);
            arguments.extend(words(&["exec", "--json", "-s", "read-only", "--skip-git-repo-check"]));
            arguments.extend(model("-m"));
            arguments.push("-".to_owned());
            arguments
        }
        Judge::Claude => {
            let mut arguments = given.to_vec();
            arguments.extend(words(&["-p", "--tools", "", "--strict-mcp-config"]));
            // Streaming output, so that the usage of an interrupted answer is known.
            arguments.extend(words(&[
                "--output-format",
                "stream-json",
                "--verbose",
                "--include-partial-messages",
            ]));
            arguments.extend(words(&["--setting-sources", "", "--no-session-persistence"]));
            arguments.extend(words(&["--disable-slash-commands", "--system-prompt", role]));
            arguments.extend(model("--model"));
            arguments
        }
        Judge::Command | Judge::Builtin | Judge::Off => given.to_vec(),
    }
}

/// Extracts the answer and the usage from the output of a finished judge's process. `after_ms` is its timeout, for the
/// failure text.
pub(super) fn heard(judge: Judge, ran: &Ran, after_ms: u64) -> Heard {
    let mut heard = match judge {
        Judge::Codex => of_codex(&ran.output),
        Judge::Claude => of_claude(&ran.output),
        Judge::Command | Judge::Builtin | Judge::Off => {
            Heard { said: Ok(String::from_utf8_lossy(&ran.output).into_owned()), usage: None }
        }
    };
    let kept = |lapse: &Lapse| {
        matches!(lapse, Lapse::LoggedOut { .. } | Lapse::Limited { .. } | Lapse::Failed { .. })
    };
    match &ran.end {
        // An earlier reason in its output is more precise than the timeout.
        End::TimedOut => match &heard.said {
            Err(lapse) if kept(lapse) => {}
            Ok(_) | Err(_) => heard.said = Err(Lapse::TimedOut { after_ms }),
        },
        End::Flooded => heard.said = Err(Lapse::failed("it would not stop printing")),
        End::Cancelled => heard.said = Err(Lapse::Overtaken),
        // Its output does not count.
        End::Lost => heard.said = Err(Lapse::failed("nobody can say how it ended")),
        End::Exited(status) if !status.success() => match &heard.said {
            Err(lapse) if kept(lapse) => {}
            Ok(_) | Err(_) => heard.said = Err(died(judge, *status, &ran.complaint)),
        },
        End::Exited(_) => {}
    }
    // A vendor does not charge for a refused request.
    if matches!(heard.said, Err(Lapse::LoggedOut { .. } | Lapse::Limited { .. })) {
        heard.usage.get_or_insert_default();
    }
    heard
}

/// Builds the failure of a judge's process that exited with an error: from its last line of standard error, or else
/// from its exit status.
fn died(judge: Judge, status: std::process::ExitStatus, complaint: &str) -> Lapse {
    let last = complaint.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    let why = if last.is_empty() { status.to_string() } else { format!("{status}: {last}") };
    let category = match judge {
        Judge::Codex => codex::classify::Failure::said(complaint).category(),
        Judge::Claude => claude::classify::Failure::said(complaint).category(),
        Judge::Command | Judge::Builtin | Judge::Off => None,
    };
    lapse(category, &why)
}

fn lapse(category: Option<Category>, why: &str) -> Lapse {
    match category {
        Some(Category::Auth) => Lapse::logged_out(why),
        Some(Category::RateLimit | Category::Quota | Category::Billing | Category::Budget) => {
            Lapse::limited(why)
        }
        Some(
            Category::Success
            | Category::Transient
            | Category::Permanent
            | Category::MaxTurns
            | Category::ContextOverflow
            | Category::TaskTimeout
            | Category::SandboxDenial
            | Category::Hung
            | Category::Crash
            | Category::DoNotRestart
            | Category::Interrupted
            | Category::OutOfMemory,
        )
        | None => Lapse::failed(why),
    }
}

/// Parses the output of `codex exec --json`, one event per line. The last message is the answer.
fn of_codex(output: &[u8]) -> Heard {
    let (mut said, mut usage, mut wrong, mut done) = (None, None, None, false);
    for line in output.split(|byte| *byte == b'\n') {
        let Ok(event) = serde_json::from_slice::<Value>(line) else { continue };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        match event["type"].as_str().unwrap_or_default() {
            "item.completed" if event["item"]["type"] == "agent_message" => {
                said = text(&event["item"]["text"])
            }
            "turn.completed" => {
                done = true;
                let count = |name: &str| event["usage"][name].as_u64().unwrap_or_default();
                usage = Some(Usage {
                    input_tokens: count("input_tokens"),
                    cached_tokens: count("cached_input_tokens"),
                    output_tokens: count("output_tokens"),
                    ..Usage::default()
                });
            }
            // Retries and their final failure look alike: the last one counts, unless there is an answer.
            "error" => wrong = text(&event["message"]),
            "turn.failed" => wrong = text(&event["error"]["message"]).or(wrong),
            _ => {}
        }
    }
    let said = match (said, wrong) {
        (Some(said), _) if done => Ok(said),
        (_, Some(wrong)) => Err(lapse(codex::classify::Failure::said(&wrong).category(), &wrong)),
        (Some(said), None) => Err(Lapse::unparsable(&said)),
        (None, None) => Err(Lapse::unparsable(&String::from_utf8_lossy(output))),
    };
    Heard { said, usage }
}

/// Parses the output of `claude -p --output-format stream-json`. The last line is the answer; the events before it
/// state the usage so far, which counts if the process was ended early.
fn of_claude(output: &[u8]) -> Heard {
    let mut so_far = Pieces::default();
    for line in output.split(|byte| *byte == b'\n') {
        let Ok(known) = claude::wire::parse(line.trim_ascii()) else { continue };
        match known.kind.text() {
            Some("result") => return result_of_claude(&known),
            Some("stream_event") => so_far.take(line),
            Some(_) | None => {}
        }
    }
    let said = Err(Lapse::unparsable(&String::from_utf8_lossy(output)));
    Heard { said, usage: so_far.used() }
}

fn result_of_claude(line: &claude::wire::Line<'_>) -> Heard {
    let usage = Some(line.used());
    let said = line.result.text_or_empty();
    if line.is_error.is_true() {
        let mut failure = claude::classify::Failure::said(said);
        failure.status = line.api_error_status.integer().map_or(String::new(), |status| status.to_string());
        line.api_error_type.text_or_empty().clone_into(&mut failure.error_type);
        line.api_error.text_or_empty().clone_into(&mut failure.api_error);
        line.subtype.text_or_empty().clone_into(&mut failure.subtype);
        line.terminal_reason.text_or_empty().clone_into(&mut failure.terminal_reason);
        let why = if said.trim().is_empty() { failure.subtype.clone() } else { said.to_owned() };
        return Heard { said: Err(lapse(failure.category(), &why)), usage };
    }
    Heard { said: Ok(said.to_owned()), usage }
}

/// Sums up the usage of an answer that claude has not finished, from its stream events.
#[derive(Debug, Default)]
struct Pieces {
    /// Usage of the finished messages; a message that is sent again after a failure costs as well.
    before: Usage,
    current: Option<Usage>,
}

impl Pieces {
    /// Adds a stream event: the beginning of a message states the input tokens, later events the output tokens so far.
    fn take(&mut self, line: &[u8]) {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { return };
        let event = &line["event"];
        let of = |usage: &Value, name: &str| usage[name].as_u64().unwrap_or_default();
        match event["type"].as_str() {
            Some("message_start") => {
                self.before.add(self.current.take().unwrap_or_default());
                let usage = &event["message"]["usage"];
                let cached = of(usage, "cache_read_input_tokens");
                let written = of(usage, "cache_creation_input_tokens");
                self.current = Some(Usage {
                    input_tokens: of(usage, "input_tokens").saturating_add(written).saturating_add(cached),
                    cached_tokens: cached,
                    output_tokens: of(usage, "output_tokens"),
                    ..Usage::default()
                });
            }
            Some("message_delta") => {
                if let Some(current) = &mut self.current {
                    current.output_tokens = current.output_tokens.max(of(&event["usage"], "output_tokens"));
                }
            }
            Some(_) | None => {}
        }
    }

    /// Returns the total usage; `None` if no message has begun, so that the usage is unknown.
    fn used(mut self) -> Option<Usage> {
        self.before.add(self.current?);
        Some(self.before)
    }
}
