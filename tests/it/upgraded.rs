//! A CLI that is upgraded while its agent rests: its program is missing, or is half a program, when the next session
//! starts. The conversation goes on with the new one.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use herder::core::id::AgentName;
use herder::core::spec::{AgentSpec, Runtime};

use crate::stage::Scene;

/// Speaks as much of the protocol as it takes, and notes how each conversation was opened.
const PROGRAM: &str = r#"#!/usr/bin/env python3
import json, sys
def say(**line): print(json.dumps(dict(jsonrpc="2.0", **line)), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    method, number = asked.get("method"), asked.get("id")
    if method == "initialize":
        say(id=number, result=dict(protocolVersion=1, agentCapabilities=dict(loadSession=True)))
    elif method in ("session/new", "session/load"):
        with open("opened", "a") as notes: notes.write(f"{method} {asked['params'].get('sessionId', '-')}\n")
        say(id=number, result=dict(sessionId="c-1"))
    elif method == "session/prompt":
        text = asked["params"]["prompt"][0]["text"].splitlines()[-1]
        words = dict(sessionUpdate="agent_message_chunk", content=dict(type="text", text=f"done: {text}"))
        say(method="session/update", params=dict(sessionId="c-1", update=words))
        say(id=number, result=dict(stopReason="end_turn"))
"#;

fn installs(program: &Path, text: &str) {
    // As a package manager does: under another name, then in place.
    let new = program.with_extension("new");
    std::fs::write(&new, text).expect("writable");
    std::fs::set_permissions(&new, PermissionsExt::from_mode(0o755)).expect("ours");
    std::fs::rename(&new, program).expect("writable");
}

fn opened(dir: &Path) -> Vec<String> {
    std::fs::read_to_string(dir.join("opened")).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_being_upgraded_loses_no_conversation() {
    let agents = |dir: &Path| {
        installs(&dir.join("agent"), PROGRAM);
        let name = AgentName::new("spark").expect("a good name");
        let mut spec = AgentSpec::new(name, Runtime::Acp, dir.to_owned());
        spec.command = vec![dir.join("agent").display().to_string()];
        vec![spec]
    };
    let rooms = ["#herder", "#spark", "#alerts"];
    let mut scene = Scene::open("alice", &rooms, agents).await;
    let (dir, program) = (scene.dir.path().to_owned(), scene.dir.path().join("agent"));
    scene.person.say("#spark", "one").await;
    scene.person.hears("#spark", "done: one").await;

    // The program is away: nothing can be started, which a person is told.
    std::fs::remove_file(&program).expect("it is there");
    scene.person.say("#spark", "two").await;
    scene.person.hears("#spark", "there is no program").await;
    installs(&program, PROGRAM);
    scene.person.say("#herder", "!resume spark").await;
    scene.person.hears("#spark", "done: two").await;

    // Half of it is there: it crashes, and is started again.
    installs(&program, &PROGRAM[..PROGRAM.len() / 2]);
    scene.person.say("#spark", "three").await;
    scene.person.hears("#spark", "crashed").await;
    installs(&program, PROGRAM);
    scene.person.hears("#spark", "done: three").await;
    assert_eq!(opened(&dir), ["session/new -", "session/load c-1", "session/load c-1"]);
    scene.close().await;
}
