//! Lines of the agents' languages per second, from a pipe: the real reader and parser beside a pipe with typed `serde_json`,
//! and the whole driver.
//!
//! `cargo bench --bench stream_json` measures all languages, `-- claude`, `-- codex` or `-- acp` one. Every figure is the
//! median of alternating runs. claude's lines are messages of 1 KiB, those of the others are deltas of a few words.
#![expect(clippy::disallowed_methods, reason = "what is measured here is real time")]

use std::collections::BTreeSet;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use herder::core::id::{AgentName, SessionId};
use herder::core::input::Signal;
use herder::core::outcome::Category;
use herder::core::spec::{AgentSpec, Runtime};
use herder::runtime::lines::{Line, Lines};
use herder::runtime::protocol::{Happening, prepare};
use herder::runtime::{Clocks, Launch, Local, Order, ProcessTrees, Report, launch};
use serde::Deserialize;

const LINES: u64 = 200_000;
const PAIRS: usize = 7;

/// A language, and a session in it.
struct Language {
    name: &'static str,
    runtime: Runtime,
    /// Makes the benchmark write a session.
    flag: &'static str,
    /// Lines before the measured ones: answers to the first requests of herder.
    opening: &'static [&'static str],
    line: fn() -> String,
    closing: &'static str,
    /// Reads one line with typed `serde_json`: the length of its text.
    typed: fn(&[u8]) -> serde_json::Result<usize>,
}

const LANGUAGES: [Language; 3] = [
    Language {
        name: "claude",
        runtime: Runtime::Claude,
        flag: "--write-claude",
        opening: &[],
        line: message,
        closing: r#"{"type":"result","is_error":false,"result":"done"}"#,
        typed: typed_message,
    },
    Language {
        name: "codex",
        runtime: Runtime::Codex,
        flag: "--write-codex",
        opening: &[
            r#"{"id":1,"result":{"userAgent":"bench/0.169.0"}}"#,
            r#"{"id":2,"result":{"thread":{"id":"01a1fd05-8e4d-7c91-bf85-a5d228071427"},"model":"some-model"}}"#,
            r#"{"id":3,"result":{"turn":{"id":"01a1fd05-9b32-7c91-bf85-a5d228071427","status":"inProgress"}}}"#,
        ],
        line: codex_delta,
        closing: concat!(
            r#"{"method":"turn/completed","params":{"threadId":"01a1fd05-8e4d-7c91-bf85-a5d228071427","#,
            r#""turn":{"id":"01a1fd05-9b32-7c91-bf85-a5d228071427","status":"completed","error":null}}}"#,
        ),
        typed: typed_codex_delta,
    },
    Language {
        name: "acp",
        runtime: Runtime::Acp,
        flag: "--write-acp",
        opening: &[
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"9c441e7a-6d0c-4a35-9c2b-3a4b5c6d7e8f"}}"#,
        ],
        line: acp_delta,
        closing: r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
        typed: typed_acp_delta,
    },
];

impl Language {
    /// Returns the number of lines of a session.
    fn lines(&self) -> u64 {
        let opening = u64::try_from(self.opening.len()).unwrap_or_default();
        opening + LINES + 1
    }
}

fn main() -> io::Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    // The benchmark is its own agent: as a child it writes what it is to read.
    if let Some(language) =
        LANGUAGES.iter().find(|language| wanted.iter().any(|argument| argument == language.flag))
    {
        return write_lines(language);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut out = io::stdout().lock();
    writeln!(out, "lines per second, median of {PAIRS} alternating runs of {LINES} lines")?;
    for language in &LANGUAGES {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == language.name) {
            continue;
        }
        let (mut reference, mut parser, mut driver) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..PAIRS {
            reference.push(typed_serde_json(language)?);
            parser.push(runtime.block_on(real_parser(language))?);
            driver.push(runtime.block_on(whole_driver(language))?);
        }
        let (reference, parser, driver) = (median(reference), median(parser), median(driver));
        writeln!(out, "{}, lines of {} bytes", language.name, (language.line)().len())?;
        writeln!(out, "  pipe + typed serde_json   {reference:>9.0}")?;
        writeln!(
            out,
            "  herder's parser           {parser:>9.0}   {:.2} of it (mark: 0.50)",
            parser / reference
        )?;
        writeln!(out, "  herder's whole driver     {driver:>9.0}   {:.2} of it", driver / reference)?;
    }
    Ok(())
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "a count of lines is far below where it matters")]
fn rate(lines: u64, took: Duration) -> f64 {
    lines as f64 / took.as_secs_f64()
}

/// Returns a whole message of claude's.
fn message() -> String {
    let words = "The quick brown fox says \\\"hello\\\"\\n".repeat(18);
    let mut line = format!(
        r#"{{"type":"assistant","message":{{"id":"msg_5e486046b15c","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{{"type":"text","text":"{words}"}}],"stop_reason":null,"usage":{{"input_tokens":1200,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":30}}}},"parent_tool_use_id":null,"session_id":"96d5a1b2-7c3d-4e5f-8a9b-0c1d2e3f4a5b"}}"#
    );
    let padding = 1023_usize.saturating_sub(line.len());
    line.push_str(&" ".repeat(padding));
    line.push('\n');
    line
}

fn codex_delta() -> String {
    concat!(
        r#"{"method":"item/agentMessage/delta","params":{"threadId":"01a1fd05-8e4d-7c91-bf85-a5d228071427","#,
        r#""turnId":"01a1fd05-9b32-7c91-bf85-a5d228071427","itemId":"msg_5e486046b15c","#,
        r#""delta":" says \"hello\"\nto the"}}"#,
        "\n"
    )
    .to_owned()
}

fn acp_delta() -> String {
    concat!(
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"9c441e7a-6d0c-4a35-9c2b-3a4b5c6d7e8f","#,
        r#""update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":" says \"hello\"\nto the"}}}}"#,
        "\n"
    )
    .to_owned()
}

fn write_lines(language: &Language) -> io::Result<()> {
    if !language.opening.is_empty() {
        // An agent that is asked answers after the question.
        io::stdin().lock().read_line(&mut String::new())?;
    }
    let line = (language.line)();
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout());
    for answer in language.opening {
        writeln!(out, "{answer}")?;
    }
    for _ in 0..LINES {
        out.write_all(line.as_bytes())?;
    }
    writeln!(out, "{}", language.closing)?;
    out.flush()
}

#[derive(Deserialize)]
struct Typed<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(default)]
    message: Option<TypedMessage>,
}

#[derive(Deserialize)]
struct TypedMessage {
    content: Vec<TypedBlock>,
    usage: TypedUsage,
}

#[derive(Deserialize)]
struct TypedBlock {
    text: String,
}

#[derive(Deserialize)]
struct TypedUsage {
    input_tokens: u64,
    output_tokens: u64,
}

fn typed_message(line: &[u8]) -> serde_json::Result<usize> {
    let typed: Typed<'_> = serde_json::from_slice(line)?;
    black_box(typed.kind);
    Ok(typed.message.map_or(0, |message| {
        black_box(message.usage.input_tokens + message.usage.output_tokens);
        message.content.iter().map(|block| block.text.len()).sum()
    }))
}

#[derive(Deserialize)]
struct Rpc<'a, P> {
    #[serde(default)]
    method: Option<&'a str>,
    #[serde(default = "none")]
    params: Option<P>,
}

fn none<P>() -> Option<P> {
    None
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CodexDelta<'a> {
    thread_id: &'a str,
    #[serde(default)]
    item_id: Option<&'a str>,
    #[serde(default)]
    delta: Option<String>,
}

fn typed_codex_delta(line: &[u8]) -> serde_json::Result<usize> {
    let typed: Rpc<'_, CodexDelta<'_>> = serde_json::from_slice(line)?;
    black_box(typed.method);
    Ok(typed.params.map_or(0, |params| {
        black_box((params.thread_id, params.item_id));
        params.delta.map_or(0, |delta| delta.len())
    }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AcpUpdate<'a> {
    session_id: &'a str,
    #[serde(borrow)]
    update: AcpChunk<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AcpChunk<'a> {
    session_update: &'a str,
    content: TypedBlock,
}

fn typed_acp_delta(line: &[u8]) -> serde_json::Result<usize> {
    let typed: Rpc<'_, AcpUpdate<'_>> = serde_json::from_slice(line)?;
    black_box(typed.method);
    Ok(typed.params.map_or(0, |params| {
        black_box((params.session_id, params.update.session_update));
        params.update.content.text.len()
    }))
}

/// Returns the benchmark as a child that writes a session.
fn child(language: &Language) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(language.flag).stdin(Stdio::null()).stdout(Stdio::piped());
    Ok(command)
}

fn typed_serde_json(language: &Language) -> io::Result<f64> {
    let mut child = child(language)?.spawn()?;
    let Some(pipe) = child.stdout.take() else { return Err(io::ErrorKind::BrokenPipe.into()) };
    let mut reader = BufReader::with_capacity(64 * 1024, pipe);
    let mut buffer = Vec::new();
    let (mut lines, mut sum, began) = (0, 0, Instant::now());
    while reader.read_until(b'\n', &mut buffer)? > 0 {
        sum += (language.typed)(&buffer)?;
        lines += 1;
        buffer.clear();
    }
    let took = began.elapsed();
    black_box(sum);
    child.wait()?;
    assert_eq!(lines, language.lines());
    Ok(rate(lines, took))
}

fn local() -> Local {
    let environment = herder::runtime::environment::own_without(&Default::default());
    Local { environment, ..Local::default() }
}

fn session(language: &Language) -> io::Result<Launch> {
    let agent = AgentName::new("spark").map_err(io::Error::other)?;
    let mut spec = AgentSpec::new(agent.clone(), language.runtime, std::env::temp_dir());
    spec.command = vec![std::env::current_exe()?.display().to_string(), language.flag.to_owned()];
    let long = Duration::from_secs(600);
    Ok(Launch {
        always_ask: Vec::new(),
        reviews: false,
        files: Vec::new(),
        task: None,
        withheld: BTreeSet::new(),
        agent,
        session: SessionId(1),
        spec: Arc::new(spec),
        prompt: "go".to_owned(),
        conversation: None,
        past: None,
        look: false,
        conversed: herder::core::outcome::Usage::default(),
        together: herder::core::machine::Together::All,
        limits: herder::core::machine::Enforcement::Require,
        marker: format!("bench-{}/spark/1", std::process::id()),
        clocks: Clocks {
            startup: long,
            silence: long,
            tool: long,
            task: long,
            grace: Duration::from_secs(10),
            beat: Duration::from_secs(5),
        },
    })
}

async fn real_parser(language: &Language) -> io::Result<f64> {
    let (_, mut protocol) =
        prepare(&session(language)?, &local()).map_err(|detail| io::Error::other(detail.to_string()))?;
    let mut child = tokio::process::Command::from(child(language)?).spawn()?;
    let Some(pipe) = child.stdout.take() else { return Err(io::ErrorKind::BrokenPipe.into()) };
    let mut reader = Lines::new(pipe);
    let mut happened: Vec<Happening> = Vec::new();
    protocol.prompt("go");
    let (mut lines, mut ended, began) = (0, false, Instant::now());
    while reader.fill().await? {
        while let Some(Line::Whole(line)) = reader.next_line() {
            protocol.line(line, &mut happened);
            lines += 1;
        }
        ended |= happened.contains(&Happening::TurnEnded);
        black_box(&happened);
        happened.clear();
    }
    let took = began.elapsed();
    child.wait().await?;
    assert!(ended, "the lines are those of a session");
    assert_eq!(lines, language.lines());
    Ok(rate(lines, took))
}

async fn whole_driver(language: &Language) -> io::Result<f64> {
    let mut driver = launch(session(language)?, local(), ProcessTrees::new()?);
    let mut began = Instant::now();
    while let Some(report) = driver.reports.recv().await {
        match report {
            Report::Signal(Signal::Spawned { .. }) => {
                began = Instant::now();
                driver.orders.send(Order::Go).await.map_err(io::Error::other)?;
            }
            Report::Signal(Signal::Ended { outcome, .. }) => {
                assert_eq!(outcome.category, Category::Success, "{outcome:?}");
            }
            Report::Signal(_) | Report::Beat | Report::Words(_) | Report::NotTaken { .. } => {}
        }
    }
    Ok(rate(language.lines(), began.elapsed()))
}
