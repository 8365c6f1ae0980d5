//! Scripted agents: real child processes that speak the real wire formats, each with one behaviour.
//!
//! `herder demo-agent <script> [--option value]… [anything]` runs one, for the demo and the tests. The runtime
//! appends further arguments to a script's own options; of these only `--resume` is read.
//!
//! | script | format | behaviour |
//! |---|---|---|
//! | `claude-ok [--seconds S] [--say TEXT]` | claude | a tool call, an answer, a result |
//! | `claude-obey [--once x]` | claude | as a word of the prompt says: crash, limit, auth, billing, budget, turns, hang, tool, flood, fork, spiral, push, else as `claude-ok`; with `--once` a failure comes once, and the next session succeeds |
//! | `claude-crash` | claude | dies in the middle of an answer |
//! | `claude-ask` | claude | asks whether it may push, and follows the answer |
//! | `claude-mend` | claude | commits a change in a clone of the demo's repository: first a wrong one, then the right one |
//! | `claude-rate-limit [--reset-in S]` | claude | a limit with its reset time |
//! | `claude-auth`, `claude-billing`, `claude-budget`, `claude-server-error`, `claude-max-turns` | claude | that failure |
//! | `claude-hang` | claude | starts and falls silent, ignores interrupts |
//! | `claude-tool [--seconds S]` | claude | one long tool call |
//! | `claude-spiral [--seconds S]` | claude | one failing command, again and again, whatever it is told |
//! | `claude-no-exit` | claude | a result, then it neither exits nor obeys SIGTERM |
//! | `claude-flood [--lines N] [--every S]` | claude | that many lines, as fast as they are read or one per so many seconds |
//! | `claude-lost` | claude | does not know the conversation it is to resume |
//! | `fork` | lines | children in sessions of their own and daemons, all ignoring SIGTERM |
//! | `echo` | lines | the prompt |
//! | `exit [--code N]` | lines | a reason on standard error, then it exits |
#![expect(
    clippy::disallowed_methods,
    reason = "a script is a process of its own without tokio, and sleeping is what it has been told to do"
)]

use std::io::{self, BufRead, BufWriter, Write};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::act::Act;
use super::forks;
use super::repository;
use crate::clock;

/// Exit code of a scripted agent whose script is missing or unknown.
const UNUSABLE: u8 = 64;

/// Maximum number of unprocessed input lines of a scripted agent.
const INPUT_CAPACITY: usize = 64;

/// Maximum lifetime of a scripted agent that hangs: if herder is killed, no later demo may find and end it.
pub(super) const LIFE: Duration = Duration::from_secs(600);

/// Minimum duration of the turn of a scripted agent that forks, so that a person can look at its processes.
const FORK_WORK: Duration = Duration::from_secs(30);

/// Number of times that the scripted agent `claude-spiral` repeats its failing command: far more than herder should
/// allow.
const SPIRAL_TURNS: u32 = 200;

/// Runs one scripted agent, as the process `herder demo-agent`. `arguments` are the script's name, its options, and
/// those that the runtime appends.
#[must_use]
pub fn run(arguments: &[String]) -> ExitCode {
    let Some((script, rest)) = arguments.split_first() else {
        complain("demo-agent needs the name of a script, e.g. claude-ok");
        return ExitCode::from(UNUSABLE);
    };
    let options = Options(rest);
    let code = match script.as_str() {
        "fork" => forks::alone(),
        "fork-child" => forks::child(options.text("as") == Some("daemon")),
        "echo" => echo(),
        "exit" => exit(&options),
        _ => match Act::of(script) {
            Some(act) => Claude::start(&options).and_then(|mut claude| claude.play(act, &options)),
            None => {
                complain(&format!("there is no script {script}"));
                return ExitCode::from(UNUSABLE);
            }
        },
    };
    // Writing fails if the reader is gone, and then the script ends.
    code.unwrap_or(ExitCode::FAILURE)
}

/// Command-line options of a scripted agent, as `--name value` pairs.
struct Options<'a>(&'a [String]);

impl Options<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        let at = self.0.iter().position(|argument| argument.strip_prefix("--") == Some(name))?;
        self.0.get(at + 1).map(String::as_str)
    }

    fn number<T: FromStr>(&self, name: &str, default: T) -> T {
        self.text(name).and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    fn seconds(&self, name: &str, default: f64) -> Duration {
        Duration::try_from_secs_f64(self.number(name, default)).unwrap_or_default()
    }
}

fn complain(sentence: &str) {
    let _ = writeln!(io::stderr(), "{sentence}");
}

/// A message that a scripted claude reads from standard input.
enum Heard {
    User(String),
    Interrupt(String),
    /// The answer to its request for permission: true if it is allowed.
    Answer(bool),
}

/// The reason why a scripted claude's wait ended: the time was over, or it was interrupted.
#[derive(Debug, PartialEq, Eq)]
enum Waited {
    ForAll,
    Interrupted,
}

/// The state of a scripted agent that imitates the claude CLI, from its prompt on.
struct Claude {
    out: BufWriter<io::Stdout>,
    heard: Receiver<Heard>,
    conversation: String,
    prompt: String,
    steered: Vec<String>,
    began: Instant,
    messages: u32,
}

impl Claude {
    /// Starts to read standard input and waits for the first message of a user; the real claude prints nothing before
    /// it either.
    fn start(options: &Options<'_>) -> io::Result<Self> {
        let (sender, heard) = sync_channel(INPUT_CAPACITY);
        thread::spawn(move || listen(&sender));
        let conversation = options.text("resume").map_or_else(
            || format!("{:08x}-0000-4000-8000-{:012x}", std::process::id(), clock::now().as_millis()),
            str::to_owned,
        );
        let mut claude = Self {
            out: BufWriter::new(io::stdout()),
            heard,
            conversation,
            prompt: String::new(),
            steered: Vec::new(),
            began: Instant::now(),
            messages: 0,
        };
        loop {
            match claude.heard.recv() {
                Ok(Heard::User(prompt)) => {
                    claude.prompt = prompt;
                    return Ok(claude);
                }
                Ok(Heard::Interrupt(id)) => claude.acknowledge(&id)?,
                Ok(Heard::Answer(_)) => {}
                Err(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    fn play(&mut self, act: Act, options: &Options<'_>) -> io::Result<ExitCode> {
        let act = match act {
            Act::Obey if options.text("once").is_some() => Act::asked_for(&self.prompt).once()?,
            Act::Obey => Act::asked_for(&self.prompt),
            other => other,
        };
        if act == Act::Lost && options.text("resume").is_some() {
            complain(&format!("No conversation found with session ID: {}", self.conversation));
            self.failed("error_during_execution", "error", &["No conversation found"])?;
            return Ok(ExitCode::FAILURE);
        }
        self.init()?;
        match act {
            Act::Ok | Act::Obey | Act::Lost => self.work(options.seconds("seconds", 0.0), options)?,
            Act::Crash => {
                self.says("I will start with the failing te")?;
                complain("panic: index out of range [7] with length 7");
                return Ok(ExitCode::FAILURE);
            }
            Act::RateLimit => self.rate_limited(options.number("reset-in", 20))?,
            Act::Auth => {
                self.api_error(
                    "authentication_failed",
                    401,
                    "authentication_error",
                    "Invalid API key · Fix external API key",
                )?;
            }
            Act::Billing => {
                self.api_error("billing_error", 400, "invalid_request_error", "Credit balance is too low")?;
            }
            Act::ServerError => {
                self.api_error("server_error", 500, "api_error", "API Error: 500 Internal server error.")?;
            }
            Act::Budget => {
                self.failed("error_max_budget_usd", "budget_exhausted", &["Reached maximum budget ($0.5)"])?;
            }
            Act::MaxTurns => {
                self.failed("error_max_turns", "max_turns", &["Reached maximum number of turns (2)"])?;
            }
            Act::Hang => thread::sleep(LIFE),
            Act::Tool => self.work(options.seconds("seconds", 5.0), options)?,
            Act::Spiral => self.spiral(options.seconds("pace", 0.5))?,
            Act::Ask => self.push()?,
            Act::Mend => self.mend()?,
            Act::NoExit => {
                forks::ignore_sigterm()?;
                self.succeed("Done, but I stay.")?;
                thread::sleep(LIFE);
            }
            Act::Flood => self.flood(options.number("lines", 10_000), options.seconds("every", 0.0))?,
            Act::Fork => {
                forks::begin()?;
                self.work(options.seconds("seconds", 0.0).max(FORK_WORK), options)?;
            }
        }
        self.serve()
    }

    /// Plays an ordinary turn: a tool call that takes `seconds`, then an answer that repeats the prompt and the
    /// messages received meanwhile.
    fn work(&mut self, seconds: Duration, options: &Options<'_>) -> io::Result<()> {
        self.says("I will look at it.")?;
        if self.tool("cargo test", seconds, Ok("ok"))? == Waited::Interrupted {
            return Ok(());
        }
        let asked =
            self.prompt.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
        let mut answer = options.text("say").map_or_else(|| format!("Done: {}", asked.trim()), str::to_owned);
        for text in std::mem::take(&mut self.steered) {
            answer.push_str(&format!("\nAlso heard: {text}"));
        }
        self.says(&answer)?;
        self.succeed(&answer)
    }

    /// Plays another turn for each message that arrives after a result, until standard input ends; returns the exit
    /// code.
    fn serve(&mut self) -> io::Result<ExitCode> {
        loop {
            let late = if self.steered.is_empty() {
                match self.heard.recv() {
                    Ok(Heard::User(text)) => text,
                    Ok(Heard::Interrupt(id)) => {
                        self.acknowledge(&id)?;
                        continue;
                    }
                    Ok(Heard::Answer(_)) => continue,
                    Err(_) => return Ok(ExitCode::SUCCESS),
                }
            } else {
                self.steered.remove(0)
            };
            self.init()?;
            let answer = format!("Also done: {}", late.trim());
            self.says(&answer)?;
            self.succeed(&answer)?;
        }
    }

    /// Plays a turn that repeats one failing command every `pace` and ignores messages, until it is interrupted.
    fn spiral(&mut self, pace: Duration) -> io::Result<()> {
        for _ in 0..SPIRAL_TURNS {
            self.says("The benchmark did not build. I will run it again.")?;
            let failed = Err("make: *** No rule to make target 'bench'.  Stop.");
            if self.tool("make bench", pace, failed)? == Waited::Interrupted {
                return Ok(());
            }
            // It ignores messages.
            self.steered.clear();
        }
        self.succeed("I give up.")
    }

    /// Plays a turn that asks for permission to run `git push`, waits for the answer without a timeout, and follows it.
    fn push(&mut self) -> io::Result<()> {
        let (id, command) = (format!("toolu_{:012x}", self.messages + 1), "git push origin main");
        self.message(&json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command, "description": "d" } }]))?;
        self.line(&json!({
            "type": "control_request", "request_id": format!("ask-{id}"),
            "request": { "subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": id, "input": { "command": command, "description": "d" } },
        }))?;
        let allowed = loop {
            match self.heard.recv() {
                Ok(Heard::Answer(allowed)) => break allowed,
                Ok(Heard::User(text)) => self.steered.push(text),
                Ok(Heard::Interrupt(id)) => {
                    self.acknowledge(&id)?;
                    return self.failed(
                        "error_during_execution",
                        "aborted_tools",
                        &["[ede_diagnostic] aborted"],
                    );
                }
                Err(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        };
        let (said, answer) = match allowed {
            true => ("Everything up-to-date", "Pushed, since you allow it."),
            false => ("denied", "Not pushed, since you do not allow it. The commit is here."),
        };
        self.line(&json!({
            "type": "user",
            "message": { "role": "user", "content": [{ "tool_use_id": id, "type": "tool_result", "content": said, "is_error": !allowed }] },
            "parent_tool_use_id": null,
        }))?;
        self.says(answer)?;
        self.succeed(answer)
    }

    /// Plays a turn that commits the next change in the clone that it works in.
    fn mend(&mut self) -> io::Result<()> {
        let work = self.prompt.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let said = repository::change(work)?;
        if self.tool("git commit --all", Duration::from_secs(1), Ok("committed"))? == Waited::Interrupted {
            return Ok(());
        }
        self.says(said)?;
        self.succeed(said)
    }

    /// Prints a call of the shell tool and, after the time `takes`, its output: `Ok` for a success, `Err` for a
    /// failure.
    fn tool(&mut self, command: &str, takes: Duration, said: Result<&str, &str>) -> io::Result<Waited> {
        let id = format!("toolu_{:012x}", self.messages + 1);
        self.message(&json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command, "description": "d" } }]))?;
        if self.wait(takes)? == Waited::Interrupted {
            self.failed("error_during_execution", "aborted_tools", &["[ede_diagnostic] aborted"])?;
            return Ok(Waited::Interrupted);
        }
        let (text, failed) = match said {
            Ok(text) => (text, false),
            Err(text) => (text, true),
        };
        self.line(&json!({
            "type": "user",
            "message": { "role": "user", "content": [{ "tool_use_id": id, "type": "tool_result", "content": text, "is_error": failed }] },
            "parent_tool_use_id": null,
        }))?;
        Ok(Waited::ForAll)
    }

    /// Waits for the time `takes`, or until an interrupt; messages received meanwhile are kept.
    fn wait(&mut self, takes: Duration) -> io::Result<Waited> {
        let until = Instant::now() + takes;
        loop {
            match self.heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Heard::User(text)) => self.steered.push(text),
                Ok(Heard::Answer(_)) => {}
                Ok(Heard::Interrupt(id)) => {
                    self.acknowledge(&id)?;
                    return Ok(Waited::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => return Ok(Waited::ForAll),
                // Standard input was closed: the turn is finished all the same.
                Err(RecvTimeoutError::Disconnected) => {
                    thread::sleep(until.saturating_duration_since(Instant::now()));
                    return Ok(Waited::ForAll);
                }
            }
        }
    }

    fn rate_limited(&mut self, seconds: i64) -> io::Result<()> {
        let resets_at = clock::now().as_millis().div_euclid(1000).saturating_add(seconds);
        let info = json!({ "status": "rejected", "resetsAt": resets_at, "rateLimitType": "five_hour", "overageStatus": "rejected", "isUsingOverage": false });
        self.line(&json!({ "type": "rate_limit_event", "rate_limit_info": info }))?;
        let text = "You've hit your limit";
        self.synthetic(
            &json!({
                "error": "rate_limit", "api_error_status": 429, "api_error_type": "rate_limit_error",
                "api_error": "usage_limit_reached", "api_error_params": { "rate_limit_info": info },
            }),
            text,
        )?;
        self.result(&json!({
            "subtype": "success", "is_error": true, "terminal_reason": "api_error", "result": text,
            "api_error_status": 429, "api_error_type": "rate_limit_error", "api_error": "usage_limit_reached",
        }))
    }

    fn api_error(&mut self, error: &str, status: u16, kind: &str, text: &str) -> io::Result<()> {
        self.synthetic(&json!({ "error": error, "api_error_status": status, "api_error_type": kind }), text)?;
        self.result(&json!({
            "subtype": "success", "is_error": true, "terminal_reason": "api_error", "result": text,
            "api_error_status": status, "api_error_type": kind,
        }))
    }

    fn failed(&mut self, subtype: &str, reason: &str, errors: &[&str]) -> io::Result<()> {
        self.result(
            &json!({ "subtype": subtype, "is_error": true, "terminal_reason": reason, "errors": errors }),
        )
    }

    fn succeed(&mut self, text: &str) -> io::Result<()> {
        self.result(&json!({
            "subtype": "success", "is_error": false, "terminal_reason": "completed", "result": text,
            "api_error_status": null, "stop_reason": "end_turn",
        }))
    }

    fn flood(&mut self, lines: u32, every: Duration) -> io::Result<()> {
        let padding = "x".repeat(800);
        for n in 0..lines {
            self.messages += 1;
            let text = format!("line {n} {padding}");
            let line = self.message_line(&json!([{ "type": "text", "text": text }]));
            serde_json::to_writer(&mut self.out, &line)?;
            self.out.write_all(b"\n")?;
            if !every.is_zero() {
                self.out.flush()?;
                thread::sleep(every);
            }
        }
        self.succeed(&format!("{lines} lines"))
    }
}

/// Methods that print lines in the format of claude's `stream-json` output.
impl Claude {
    fn init(&mut self) -> io::Result<()> {
        self.line(&json!({
            "type": "system", "subtype": "init", "cwd": ".", "tools": ["Bash", "Edit", "Read", "Write"],
            "mcp_servers": [], "model": "claude-scripted", "permissionMode": "default", "claude_code_version": "2.1.329",
        }))
    }

    fn says(&mut self, text: &str) -> io::Result<()> {
        self.message(&json!([{ "type": "text", "text": text }]))
    }

    fn message(&mut self, content: &Value) -> io::Result<()> {
        self.messages += 1;
        let line = self.message_line(content);
        self.line(&line)
    }

    fn message_line(&self, content: &Value) -> Value {
        json!({
            "type": "assistant",
            "message": {
                "id": format!("msg_{:012x}", self.messages), "type": "message", "role": "assistant",
                "model": "claude-scripted", "content": content, "stop_reason": null,
                "usage": { "input_tokens": 1200, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 30 },
            },
            "parent_tool_use_id": null,
        })
    }

    fn synthetic(&mut self, error: &Value, text: &str) -> io::Result<()> {
        let mut line = json!({
            "type": "assistant",
            "message": { "id": "synthetic", "model": "<synthetic>", "role": "assistant", "content": [{ "type": "text", "text": text }] },
            "parent_tool_use_id": null, "is_api_error_message": true,
        });
        merge(&mut line, error);
        self.line(&line)
    }

    fn result(&mut self, how: &Value) -> io::Result<()> {
        let (input, output) = (1200 * u64::from(self.messages), 30 * u64::from(self.messages));
        let cost = 0.0054 * f64::from(self.messages);
        let millis = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut line = json!({
            "duration_ms": millis, "num_turns": 1, "total_cost_usd": cost, "permission_denials": [],
            "modelUsage": { "claude-scripted": { "inputTokens": input, "outputTokens": output, "costUSD": cost } },
            "usage": { "input_tokens": input, "output_tokens": output }, "type": "result", "queued_turn_count": 0,
        });
        merge(&mut line, how);
        self.line(&line)
    }

    fn acknowledge(&mut self, id: &str) -> io::Result<()> {
        self.line(&json!({
            "type": "control_response",
            "response": { "subtype": "success", "request_id": id, "response": { "still_queued": [] } },
        }))
    }

    fn line(&mut self, line: &Value) -> io::Result<()> {
        let mut line = line.clone();
        merge(&mut line, &json!({ "session_id": self.conversation }));
        serde_json::to_writer(&mut self.out, &line)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}

fn merge(into: &mut Value, more: &Value) {
    if let (Some(into), Some(more)) = (into.as_object_mut(), more.as_object()) {
        into.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
}

/// Reads standard input and passes on each message. A line that is not JSON ends the reading, as in the real claude.
fn listen(heard: &SyncSender<Heard>) {
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let Ok(value) = serde_json::from_str::<Value>(&line) else {
            complain("Error parsing streaming input line");
            return;
        };
        let what = match value["type"].as_str() {
            Some("user") => Heard::User(value["message"]["content"].as_str().unwrap_or_default().to_owned()),
            Some("control_request") => {
                Heard::Interrupt(value["request_id"].as_str().unwrap_or_default().to_owned())
            }
            Some("control_response") => {
                Heard::Answer(value["response"]["response"]["behavior"].as_str() == Some("allow"))
            }
            _ => continue,
        };
        if heard.send(what).is_err() {
            return;
        }
    }
}

fn echo() -> io::Result<ExitCode> {
    let prompt = io::read_to_string(io::stdin())?;
    say(prompt.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

fn exit(options: &Options<'_>) -> io::Result<ExitCode> {
    let code = options.number("code", 1_u8);
    complain(&format!("leaving with code {code}, as told"));
    Ok(ExitCode::from(code))
}

pub(super) fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
