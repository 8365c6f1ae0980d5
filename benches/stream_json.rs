//! Lines of stream-json per second, from a pipe: the real reader and parser beside a pipe with typed `serde_json`, and the
//! whole driver.
//!
//! `cargo bench --bench stream_json`. Every figure is the median of alternating runs; lines are 1 KiB.
#![expect(clippy::disallowed_methods, reason = "what is measured here is real time")]

use std::hint::black_box;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use herder::core::id::{AgentName, SessionId};
use herder::core::input::Signal;
use herder::core::spec::{AgentSpec, Runtime};
use herder::runtime::lines::{Line, Lines};
use herder::runtime::protocol::{Happening, prepare};
use herder::runtime::{Clocks, Launch, Order, ProcessTrees, Report, launch};
use serde::Deserialize;

const LINES: u64 = 200_000;
const PAIRS: usize = 7;

fn main() -> io::Result<()> {
    // The benchmark is its own agent: as a child it writes what it is to read.
    if std::env::args().nth(1).as_deref() == Some("--write-lines") {
        return write_lines();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut reference, mut parser, mut driver) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        reference.push(typed_serde_json()?);
        parser.push(runtime.block_on(real_parser())?);
        driver.push(runtime.block_on(whole_driver())?);
    }
    let (reference, parser, driver) = (median(reference), median(parser), median(driver));
    let mut out = io::stdout().lock();
    writeln!(out, "1 KiB stream-json lines per second, median of {PAIRS} alternating runs of {LINES} lines")?;
    writeln!(out, "  pipe + typed serde_json   {reference:>9.0}")?;
    writeln!(
        out,
        "  herder's parser           {parser:>9.0}   {:.2} of it (mark: 0.50)",
        parser / reference
    )?;
    writeln!(out, "  herder's whole driver     {driver:>9.0}   {:.2} of it", driver / reference)
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "a count of lines is far below where it matters")]
fn rate(lines: u64, took: Duration) -> f64 {
    lines as f64 / took.as_secs_f64()
}

fn line() -> String {
    let words = "The quick brown fox says \\\"hello\\\"\\n".repeat(18);
    let mut line = format!(
        r#"{{"type":"assistant","message":{{"id":"msg_5e486046b15c","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{{"type":"text","text":"{words}"}}],"stop_reason":null,"usage":{{"input_tokens":1200,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":30}}}},"parent_tool_use_id":null,"session_id":"96d5a1b2-7c3d-4e5f-8a9b-0c1d2e3f4a5b"}}"#
    );
    let padding = 1023_usize.saturating_sub(line.len());
    line.push_str(&" ".repeat(padding));
    line.push('\n');
    line
}

fn write_lines() -> io::Result<()> {
    let line = line();
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout());
    for _ in 0..LINES {
        out.write_all(line.as_bytes())?;
    }
    out.write_all(b"{\"type\":\"result\",\"is_error\":false,\"result\":\"done\"}\n")?;
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

fn typed_serde_json() -> io::Result<f64> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("--write-lines")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let Some(pipe) = child.stdout.take() else { return Err(io::ErrorKind::BrokenPipe.into()) };
    let mut reader = BufReader::with_capacity(64 * 1024, pipe);
    let mut buffer = Vec::new();
    let (mut lines, mut sum, began) = (0, 0, Instant::now());
    while reader.read_until(b'\n', &mut buffer)? > 0 {
        let typed: Typed<'_> = serde_json::from_slice(&buffer)?;
        if let Some(message) = typed.message {
            sum += message.usage.input_tokens + message.usage.output_tokens;
            black_box(message.content.iter().map(|block| block.text.len()).sum::<usize>());
        }
        black_box(typed.kind);
        lines += 1;
        buffer.clear();
    }
    let took = began.elapsed();
    black_box(sum);
    child.wait()?;
    assert_eq!(lines, LINES + 1);
    Ok(rate(lines, took))
}

fn session() -> io::Result<Launch> {
    let agent = AgentName::new("spark").map_err(io::Error::other)?;
    let mut spec = AgentSpec::new(agent.clone(), Runtime::Claude, std::env::temp_dir());
    spec.command = vec![std::env::current_exe()?.display().to_string(), "--write-lines".to_owned()];
    let long = Duration::from_secs(600);
    Ok(Launch {
        agent,
        session: SessionId(1),
        spec: Arc::new(spec),
        prompt: "go".to_owned(),
        conversation: None,
        conversed: herder::core::outcome::Usage::default(),
        marker: format!("bench-{}/spark/1", std::process::id()),
        tools: None,
        environment: herder::runtime::environment::own_without(&Default::default()),
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

async fn real_parser() -> io::Result<f64> {
    let (_, mut claude) = prepare(&session()?).map_err(io::Error::other)?;
    let mut child = tokio::process::Command::new(std::env::current_exe()?)
        .arg("--write-lines")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let Some(pipe) = child.stdout.take() else { return Err(io::ErrorKind::BrokenPipe.into()) };
    let mut reader = Lines::new(pipe);
    let mut happened: Vec<Happening> = Vec::new();
    let (mut lines, began) = (0, Instant::now());
    while reader.fill().await? {
        while let Some(Line::Whole(line)) = reader.next_line() {
            claude.line(line, &mut happened);
            lines += 1;
        }
        black_box(&happened);
        happened.clear();
    }
    let took = began.elapsed();
    child.wait().await?;
    assert_eq!(lines, LINES + 1);
    Ok(rate(lines, took))
}

async fn whole_driver() -> io::Result<f64> {
    let mut driver = launch(session()?, ProcessTrees::new()?);
    let mut began = Instant::now();
    while let Some(report) = driver.reports.recv().await {
        match report {
            Report::Signal(Signal::Spawned { .. }) => {
                began = Instant::now();
                driver.orders.send(Order::Go).await.map_err(io::Error::other)?;
            }
            Report::Signal(Signal::Ended { outcome, .. }) => {
                assert_eq!(outcome.text.as_deref(), Some("done"));
            }
            Report::Signal(_) | Report::Beat | Report::Words(_) => {}
        }
    }
    Ok(rate(LINES + 1, began.elapsed()))
}
