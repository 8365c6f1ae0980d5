//! The memory that running agents cost herder itself: herder with that many sessions in the middle of a turn, beside
//! the same agents idle. The memory of the children does not count.

use std::path::Path;
use std::time::Duration;

use super::bench::{self, Herder, Toml, median, say};
use super::{Arena, POLICY};

/// Rounds per figure.
const ROUNDS: usize = 5;

/// A child that speaks claude's wire format: it takes its work, says a few dozen things, opens a tool call, says its name and
/// pid, and stays.
const CHILD: &str = r###"
use std::io::{BufRead as _, Write as _};
use std::os::unix::net::UnixDatagram;
fn main() {
    let mut args = std::env::args().skip(1);
    let (socket, name) = (args.next().unwrap(), args.next().unwrap());
    let mut lines = std::io::stdin().lock().lines();
    while let Some(Ok(line)) = lines.next() {
        if line.contains("\"type\":\"user\"") { break; }
    }
    let mut out = std::io::stdout().lock();
    let words = "word ".repeat(200);
    writeln!(out, r##"{{"type":"system","subtype":"init","session_id":"{name}"}}"##).unwrap();
    for n in 0..40 {
        writeln!(out, r##"{{"type":"assistant","message":{{"id":"m{n}","model":"x","content":[{{"type":"text","text":"{words}"}}],"usage":{{"input_tokens":1000,"output_tokens":200}}}}}}"##).unwrap();
    }
    writeln!(out, r##"{{"type":"assistant","message":{{"id":"t","model":"x","content":[{{"type":"tool_use","id":"t","name":"Bash","input":{{"command":"make"}}}}],"usage":{{"input_tokens":1000,"output_tokens":20}}}}}}"##).unwrap();
    out.flush().unwrap();
    let line = format!("{name} {}", std::process::id());
    UnixDatagram::unbound().unwrap().send_to(line.as_bytes(), socket).unwrap();
    for _ in lines {}
}
"###;

/// Returns the memory that herder holds with `agents`, at work or not, in KiB.
fn resident(arena: &Arena, agents: usize, at_work: bool) -> f64 {
    let dir = tempfile::tempdir_in(arena.dir.path()).expect("a folder");
    let mut toml = Toml::new(&dir.path().join("data")).raw(POLICY);
    for n in 0..agents {
        let name = format!("agent-{n}");
        let command = arena.command(&name).map(|word| format!("{word:?}")).join(", ");
        let workspace = arena.dir.path().display().to_string();
        toml = toml.raw(&format!(
            "[[agent]]\nname = {name:?}\nruntime = \"claude\"\ncommand = [{command}]\nworkspace = {workspace:?}\n\
             account = \"bench\"\nloop = {at_work}\nmax_task_duration = \"24h\"\ninstructions = \"go\""
        ));
    }
    let herder = Herder::start(&toml.write(dir.path()));
    if at_work {
        arena.hear_all(agents);
    } else {
        let socket: &Path = &dir.path().join("data/herder.sock");
        assert!(bench::poll_until(Duration::from_secs(60), || socket.exists()), "herder did not start");
    }
    // By now the lines of the agents are read and on disk.
    std::thread::sleep(Duration::from_secs(5));
    let held = bench::rss_kib(herder.pid());
    herder.stop();
    held
}

/// Prints the memory of each running agent, for each of these numbers of agents.
pub(super) fn memory(counts: &[usize]) {
    let arena = Arena::of(CHILD);
    for agents in counts {
        let mut rounds = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            let (idle, running) = (resident(&arena, *agents, false), resident(&arena, *agents, true));
            let each = (running - idle) / (*agents).max(1) as f64;
            for (figures, figure) in rounds.iter_mut().zip([idle, running, each]) {
                figures.push(figure);
            }
        }
        let [idle, running, each] = rounds.map(|figures| median(&figures));
        say(&format!(
            "{agents} agents: {:.1} MiB idle, {:.1} MiB at work: {each:.0} KiB for each that runs",
            idle / 1024.0,
            running / 1024.0
        ));
    }
}
