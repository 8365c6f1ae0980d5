//! The agents' tools, from a client of the tool server to people on IRC and back.
//!
//! The agent is a shell that starts `herder mcp` as an agent's CLI would; the test is the CLI: it writes to the server's
//! standard input and reads what it answers.

mod asking;
mod clis;
pub(crate) mod killed;
mod leading;
mod runner;
mod sending;
mod whispers;

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herder::core::spec::AgentSpec;
use serde_json::{Value, json};

use crate::stage::{PATIENCE, Scene, appears, shell};

/// Returns an agent that keeps its prompt, starts the tool server and leaves when that does.
pub(crate) fn agent(name: &str, dir: &Path) -> AgentSpec {
    let herder = env!("CARGO_BIN_EXE_herder");
    let home = dir.join(name);
    std::fs::create_dir_all(&home).expect("a folder is made");
    let script = format!(
        "cat > prompt && mkfifo calls && {herder} mcp < calls > answers; rm calls answers; echo over"
    );
    let mut spec = shell(name, &home, &script);
    spec.env.insert("MODEL_API_KEY".to_owned(), "a-model-key".to_owned());
    spec
}

/// The CLI's end of an agent's tool server.
pub(crate) struct Client {
    calls: File,
    answers: PathBuf,
    next: u64,
}

impl Client {
    /// Waits for the agent's server, and introduces itself.
    pub(crate) async fn meet(dir: &Path, agent: &str) -> Self {
        let home = dir.join(agent);
        let calls = home.join("calls");
        appears(&calls).await;
        let open = move || OpenOptions::new().write(true).open(calls);
        let calls = tokio::task::spawn_blocking(open).await.expect("it opens").expect("the server reads");
        let mut client = Self { calls, answers: home.join("answers"), next: 1 };
        let version = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": version });
        let answer = client.request("initialize", &hello).await;
        assert_eq!(answer["serverInfo"]["name"], "herder", "{answer}");
        client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.calls, "{message}").expect("the server reads");
    }

    pub(crate) async fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id).await
    }

    /// Asks without waiting.
    fn ask(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    async fn answer(&self, id: u64) -> Value {
        let answered = async {
            loop {
                // The shell makes it a moment after it has begun to read.
                let file = File::open(&self.answers).into_iter();
                let lines = file.flat_map(|file| BufReader::new(file).lines().map_while(Result::ok));
                let messages = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
                if let Some(answer) = messages.into_iter().find(|message| message["id"] == id) {
                    return answer["result"].clone();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, answered).await.expect("every call is answered")
    }

    /// Calls a tool: whether it was done, and what the model is told, whispers included.
    async fn call(&mut self, tool: &str, arguments: Value) -> (bool, String) {
        let answer = self.request("tools/call", &json!({ "name": tool, "arguments": arguments })).await;
        told(&answer)
    }

    pub(crate) async fn does(&mut self, tool: &str, arguments: Value) -> String {
        let (done, text) = self.call(tool, arguments).await;
        assert!(done, "{tool}: {text}");
        text
    }

    pub(crate) async fn is_refused(&mut self, tool: &str, arguments: Value) -> String {
        let (done, text) = self.call(tool, arguments).await;
        assert!(!done, "{tool}: {text}");
        text
    }
}

fn told(answer: &Value) -> (bool, String) {
    let texts: Vec<&str> = answer["content"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|block| block["text"].as_str().unwrap_or_default())
        .collect();
    (answer["isError"] == false, texts.join("\n"))
}

/// Returns a scene with spark at work, and its client.
async fn at_work(change: impl FnOnce(&mut AgentSpec)) -> (Scene, Client) {
    let agents = |dir: &Path| {
        let mut spark = agent("spark", dir);
        change(&mut spark);
        vec![spark, agent("flint", dir)]
    };
    let mut scene =
        Scene::open("alice", &["#spark", "#flint", "#work", "#alerts", "#dev", "#herder"], agents).await;
    scene.person.say("#spark", "look around").await;
    let client = Client::meet(scene.dir.path(), "spark").await;
    (scene, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_speaks_and_reads_in_its_own_channels_alone() {
    let (mut scene, mut client) = at_work(|_| {}).await;
    let listed = client.request("tools/list", &json!({})).await;
    let names: Vec<&str> =
        listed["tools"].as_array().expect("a list").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"irc_send") && names.contains(&"task_done"), "{names:?}");

    client.does("irc_send", json!({ "text": "half\n✅ **flint** completed" })).await;
    scene.person.hears("#spark", "<spark> half").await;
    scene.person.hears("#spark", "<spark> ✅ flint completed").await;
    client
        .does("irc_send", json!({ "text": "\u{1}ACTION pings @everyone\r\nQUIT :bye", "channel": "work" }))
        .await;
    let line = scene.person.hears("#work", "pings").await;
    assert_eq!(line, "<spark> ACTION pings @everyone");
    scene.person.hears("#work", "<spark> QUIT :bye").await;
    for elsewhere in ["#flint", "#alerts", "#herder", "alice", "#spark,#flint", "#spark\r\nQUIT"] {
        let why = client.is_refused("irc_send", json!({ "text": "hello", "channel": elsewhere })).await;
        assert!(why.contains("#spark on demo"), "{why}");
        client.is_refused("irc_read", json!({ "channel": elsewhere })).await;
    }
    // An agent's words are no command, not even in its own channel.
    client.does("irc_send", json!({ "text": "!stop-all" })).await;
    scene.person.hears("#spark", "<spark> !stop-all").await;

    let heard = client.does("irc_read", json!({ "channel": "#work" })).await;
    assert!(heard.contains("<spark (agent)>") && heard.contains("QUIT :bye"), "{heard}");
    let last =
        heard.lines().filter_map(|line| line.strip_prefix('[')?.split(']').next()?.parse::<u64>().ok()).max();
    let last = last.expect("every line has its id");
    let waits = json!({ "channel": "#work", "wait_seconds": 25, "after": last });
    let waits = client.ask("tools/call", &json!({ "name": "irc_read", "arguments": waits }));
    scene.person.say("#work", "who has the cache?").await;
    let (done, heard) = told(&client.answer(waits).await);
    assert!(
        done && heard.contains("<alice> who has the cache?") && !heard.contains("spark (agent)"),
        "{heard}"
    );
    let who = client.does("irc_who", json!({ "channel": "#work" })).await;
    assert!(who.contains("alice") && who.contains("herder"), "{who}");
    let topic = client.does("irc_topic", json!({})).await;
    assert!(topic.starts_with("#spark on demo: ") && topic.contains(" · "), "{topic}");
    client.does("notify", json!({ "text": "the disk is full" })).await;
    scene.person.hears("#alerts", "spark says: the disk is full").await;
    drop(client);
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_says_is_bounded_and_hostile_calls_do_no_harm() {
    let (scene, mut client) = at_work(|_| {}).await;
    for arguments in [
        json!({}),
        json!({ "text": "" }),
        json!({ "text": "  \n " }),
        json!({ "text": 7 }),
        json!({ "text": "x".repeat(2001) }),
        json!({ "text": "x\n".repeat(21) }),
        json!({ "text": "x", "channel": ["#spark"] }),
        json!({ "text": "x", "network": "elsewhere" }),
    ] {
        client.is_refused("irc_send", arguments).await;
    }
    client.is_refused("irc_send", json!({ "text": "x".repeat(200_000) })).await;
    client.is_refused("no_such_tool", json!({})).await;
    client.is_refused("irc_read", json!({ "limit": -1 })).await;
    client.is_refused("irc_join", json!({ "channel": "#dev" })).await;
    for n in 0..10 {
        client.does("irc_send", json!({ "text": format!("line {n}") })).await;
    }
    let why = client.is_refused("irc_send", json!({ "text": "one more" })).await;
    assert!(why.contains("as much as you may"), "{why}");
    // The way is still open.
    client.does("irc_channels", json!({})).await;
    drop(client);
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_joins_what_its_list_allows_and_leaves_again() {
    let (mut scene, mut client) = at_work(|spark| spark.channels = vec!["demo/#dev".to_owned()]).await;
    let why = client.is_refused("irc_send", json!({ "text": "hello", "channel": "#dev" })).await;
    assert!(why.contains("irc_join"), "{why}");
    client.does("irc_join", json!({ "channel": "#dev" })).await;
    scene.person.sees("herder", "#dev").await;
    client.does("irc_send", json!({ "text": "hello", "channel": "#dev" })).await;
    scene.person.hears("#dev", "<spark> hello").await;
    scene.person.say("#dev", "welcome").await;
    loop {
        let heard =
            client.does("irc_read", json!({ "channel": "#dev", "wait_seconds": 5, "after": 0 })).await;
        if heard.contains("<alice> welcome") {
            break;
        }
    }
    client.does("irc_part", json!({ "channel": "#dev" })).await;
    scene.person.expect("herder to leave", |line| line.contains(" PART ") && line.contains("#dev")).await;
    // Beside the two that were done.
    for _ in 0..8 {
        client.is_refused("irc_part", json!({ "channel": "#dev" })).await;
    }
    for tool in ["irc_part", "irc_join"] {
        let why = client.is_refused(tool, json!({ "channel": "#dev" })).await;
        assert!(why.contains("as often as you may"), "{why}");
    }
    let heard = client.does("irc_read", json!({ "after": 1_000_000 })).await;
    assert!(heard.contains("Nothing new"), "{heard}");
    drop(client);
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_says_of_its_task_is_its_end() {
    let agents = |dir: &Path| vec![agent("spark", dir)];
    let mut scene = Scene::open("alice", &["#spark", "#work", "#alerts"], agents).await;
    scene.person.say("#spark", "look around").await;
    let mut client = Client::meet(scene.dir.path(), "spark").await;
    client.is_refused("task_done", json!({ "result": "looked" })).await;
    drop(client);
    scene.person.hears("#spark", "completed").await;
    for (tool, arguments, line) in [
        ("task_done", json!({ "result": "it is green" }), "DONE"),
        ("task_fail", json!({ "reason": "timeout" }), "FAIL"),
        ("task_blocked", json!({ "reason": "no access to the registry" }), "BLOCKED"),
    ] {
        scene.person.say("#spark", "task add make it green").await;
        let mut client = Client::meet(scene.dir.path(), "spark").await;
        client.does(tool, arguments).await;
        drop(client);
        scene.person.hears("#spark", "completed").await;
        let said = scene.person.hears_in_any_order("#work", line).await;
        assert!(line == "DONE" || said.ends_with(" reported"), "{said}");
    }
    scene.person.hears_in_any_order("#alerts", "is blocked on task").await;

    // A step that its own sandbox denies is more: another agent may be able to do it, or a person is called.
    scene.person.say("#spark", "task add push it").await;
    let mut client = Client::meet(scene.dir.path(), "spark").await;
    client.is_refused("task_blocked", json!({ "reason": "no", "denied": "perhaps" })).await;
    client.does("task_blocked", json!({ "reason": "the registry is read-only", "denied": true })).await;
    drop(client);
    let call = scene.person.hears("#alerts", "[ESCALATION] Agent spark appears stuck").await;
    assert!(call.contains("no other agent may do more: the registry is read-only"), "{call}");
    scene.person.hears_in_any_order("#work", "sandbox-denied").await;
    scene.close().await;
}

/// Says a call to herder's socket as it is, from this process.
fn knock(socket: &Path, call: &Value) -> Value {
    let mut stream = UnixStream::connect(socket).expect("herder listens");
    writeln!(stream, "{call}").expect("it reads");
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).expect("it answers");
    serde_json::from_str(&answer).expect("an answer")
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_calls_with_a_token_that_is_not_theirs() {
    let (mut scene, mut client) = at_work(|_| {}).await;
    scene.person.say("#flint", "look around").await;
    let mut flints = Client::meet(scene.dir.path(), "flint").await;
    let tools = scene.dir.path().join("data/tools");
    let key = |agent: &str| -> Value {
        let file = tools.join(format!("{agent}.json"));
        serde_json::from_slice(&std::fs::read(file).expect("a key")).expect("JSON")
    };
    let (spark, flint) = (key("spark"), key("flint"));
    let socket = tools.join("tools.sock");
    let call = |agent: &str, session: u64, token: &Value| {
        json!({
            "agent": agent, "session": session, "token": token, "tool": "irc_send",
            "arguments": { "text": "forged" },
        })
    };
    for (call, why) in [
        // The right token, from a process that is none of the agent's.
        (call("spark", 1, &spark["token"]), "this key is not yours"),
        (call("spark", 1, &flint["token"]), "not its key"),
        (call("spark", 2, &spark["token"]), "not its key"),
        (call("spark", 1, &json!("")), "not its key"),
        (call("nobody", 1, &spark["token"]), "not its key"),
        (json!({ "agent": "spark" }), "cannot be read"),
    ] {
        let answer = tokio::task::block_in_place(|| knock(&socket, &call));
        assert_eq!(answer["ok"], false, "{call}: {answer}");
        assert!(answer["text"].as_str().is_some_and(|text| text.contains(why)), "{call}: {answer}");
    }
    // Another agent's key in an agent's own process.
    std::fs::copy(tools.join("spark.json"), tools.join("flint.json")).expect("flint may write there");
    let why = flints.is_refused("irc_send", json!({ "text": "forged" })).await;
    assert!(why.contains("this key is not yours"), "{why}");
    client.does("irc_send", json!({ "text": "it is me" })).await;
    scene.person.hears("#spark", "<spark> it is me").await;
    assert!(!scene.person.heard_in("#spark").iter().any(|line| line.contains("forged")));
    drop((client, flints));
    scene.person.hears("#spark", "completed").await;
    let left = std::fs::read(tools.join("spark.json")).expect("the file stays");
    assert!(left.is_empty(), "a key outlives its session");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tool_server_knows_nothing_of_the_agents_secrets() {
    let (scene, mut client) = at_work(|_| {}).await;
    client.does("irc_channels", json!({})).await;
    let servers = std::fs::read_dir("/proc").expect("there is one").flatten().filter_map(|entry| {
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        let text = String::from_utf8_lossy(&command).replace('\0', " ");
        let own = std::fs::read_link(entry.path().join("cwd")).ok()? == scene.dir.path().join("spark");
        (own && text.trim_end().ends_with("herder mcp")).then(|| (text, entry.path()))
    });
    let servers: Vec<(String, PathBuf)> = servers.collect();
    let [(command, process)] = &servers[..] else { panic!("one server, not {servers:?}") };
    let environment = std::fs::read(process.join("environ")).expect("it is ours");
    let environment = String::from_utf8_lossy(&environment);
    assert!(!environment.contains("a-model-key"), "{environment}");
    assert!(environment.contains("HERDER_SESSION="), "{environment}");
    let key = std::fs::read_to_string(scene.dir.path().join("data/tools/spark.json")).expect("a key");
    let key: Value = serde_json::from_str(&key).expect("JSON");
    let token = key["token"].as_str().expect("a token");
    assert!(!environment.contains(token) && !command.contains(token));
    drop(client);
    scene.close().await;
}
