//! Traces as a collector receives them, read by the messages of OpenTelemetry's own Python package.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use herder::config::Telemetry;
use herder::core::id::AgentName;
use herder::core::spec::{AgentSpec, Runtime};
use herder::local;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::agent_rig::tools;
use crate::kill::{Running, asked_until, reap, signal};
use crate::stage::{Scene, inside, server};
use crate::webhooks::receiver::{Receiver, Reply, Told};

/// Prints each span of the requests, which come as lines of hexadecimal digits, as a line of JSON.
const READ: &str = r"
import json, sys
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
def plain(value):
    return getattr(value, value.WhichOneof('value'))
def table(attributes):
    return {a.key: plain(a.value) for a in attributes}
for line in sys.stdin:
    for resource in ExportTraceServiceRequest.FromString(bytes.fromhex(line)).resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                print(json.dumps({
                    'service': table(resource.resource.attributes), 'scope': scope.scope.name,
                    'trace': span.trace_id.hex(), 'id': span.span_id.hex(), 'parent': span.parent_span_id.hex(),
                    'name': span.name, 'kind': span.kind, 'status': span.status.code, 'words': span.status.message,
                    'from': span.start_time_unix_nano, 'to': span.end_time_unix_nano,
                    'has': table(span.attributes),
                }))
";

fn read(requests: &[Told]) -> Vec<Value> {
    let python = tools().join("otlp/bin/python3");
    let mut child = Command::new(&python)
        .args(["-c", READ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}; scripts/test installs it", python.display()));
    let hexadecimal = |body: &[u8]| body.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let lines: String = requests.iter().map(|told| hexadecimal(&told.body) + "\n").collect();
    child.stdin.take().expect("it is piped").write_all(lines.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Returns the requests up to the one with the last span of a session, and their spans.
async fn until_the_end(collector: &mut Receiver) -> (Vec<Told>, Vec<Value>) {
    let mut requests = Vec::new();
    loop {
        requests.push(collector.next().await);
        let spans = read(&requests);
        if spans.iter().any(|span| span["has"]["gen_ai.operation.name"] == "invoke_agent") {
            return (requests, spans);
        }
    }
}

/// Speaks claude's wire format: a turn with two tool calls, of which one fails, and a last turn.
const AGENT: &str = r#"
read -r work
echo '{"type":"system","subtype":"init","session_id":"a-conversation"}'
echo '{"type":"assistant","message":{"id":"m1","model":"x","content":[{"type":"text","text":"Let me look at the hidden valley."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls /hidden/valley"}},{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"/hidden/map"}}]}}'
sleep 0.3
echo '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a hidden river"}]}}'
echo '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"no hidden map"}]}}'
echo '{"type":"assistant","message":{"id":"m2","model":"x","content":[{"type":"text","text":"There is a hidden river."}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"There is a hidden river.","session_id":"a-conversation","terminal_reason":"completed","total_cost_usd":0.25,"modelUsage":{"claude-opus-5-5":{"inputTokens":1200,"outputTokens":30,"costUSD":0.25}}}'
while read -r line; do :; done
"#;

fn agent(dir: &std::path::Path) -> AgentSpec {
    let file = dir.join("agent.sh");
    std::fs::write(&file, AGENT).expect("a file");
    let mut spec = AgentSpec::new(AgentName::new("spark").expect("a name"), Runtime::Claude, dir.to_owned());
    spec.command = vec!["sh".to_owned(), file.display().to_string()];
    spec.model = "claude-opus-5-5".to_owned();
    spec
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_a_trace_of_turns_and_calls_without_a_word_of_it() {
    // The first request fails, and comes again.
    let mut collector = Receiver::open([Reply::Status(503, Vec::new())]).await;
    let otlp = format!("http://{}/", collector.address);
    let server = server().await;
    let options = inside(&server);
    let mut scene = Scene::open_configured(
        (server, options),
        "alice",
        &["#spark"],
        |dir| vec![agent(dir)],
        |config| {
            config.telemetry = Some(Telemetry { otlp: otlp.into() });
            config.policy.evaluator.traced = true;
        },
    )
    .await;
    scene.person.say("#spark", "@spark find the hidden valley").await;
    scene.person.hears_in_any_order("#spark", "completed").await;
    let refused = collector.next().await;
    let (requests, spans) = until_the_end(&mut collector).await;
    assert_eq!(requests[0].line, "POST /v1/traces HTTP/1.1");
    assert_eq!(requests[0].headers["content-type"], "application/x-protobuf");
    assert_eq!(refused.body, requests[0].body, "what was not taken comes again");
    for request in &requests {
        let text = String::from_utf8_lossy(&request.body);
        assert!(!text.contains("hidden"), "{text}");
    }
    let named: BTreeMap<&str, &Value> =
        spans.iter().map(|span| (span["name"].as_str().expect("a name"), span)).collect();
    let names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().expect("a name")).collect();
    assert_eq!(
        names,
        [
            "chat claude-opus-5-5",
            "execute_tool Bash",
            "execute_tool Read",
            "chat claude-opus-5-5",
            "invoke_agent spark"
        ]
    );
    let (first, session) = (&spans[0], named["invoke_agent spark"]);
    let (bash, map) = (named["execute_tool Bash"], named["execute_tool Read"]);
    for span in &spans {
        assert_eq!(span["trace"], session["trace"]);
        assert_eq!((&span["service"]["service.name"], &span["scope"]), (&"herder".into(), &"herder".into()));
        assert_eq!(span["words"], "");
        let has = &span["has"];
        assert_eq!(has["gen_ai.agent.name"], "spark");
        assert_eq!(has["gen_ai.provider.name"], "anthropic");
        assert_eq!(has["gen_ai.request.model"], "claude-opus-5-5");
        assert_eq!(has["gen_ai.conversation.id"], "a-conversation");
        let time = |key: &str| span[key].as_u64().expect("nanoseconds");
        let of_session = |key: &str| session[key].as_u64().expect("nanoseconds");
        assert!(of_session("from") <= time("from") && time("from") <= time("to"), "{span}");
        assert!(time("to") <= of_session("to"), "{span} is longer than {session}");
    }
    assert_eq!(session["parent"], "");
    assert_eq!((&first["parent"], &spans[3]["parent"]), (&session["id"], &session["id"]));
    assert_eq!((&bash["parent"], &map["parent"]), (&first["id"], &first["id"]));
    // Kinds are INTERNAL (1) and CLIENT (3), a status is unset (0) or an error (2).
    let kinds: Vec<_> = spans.iter().map(|span| span["kind"].as_u64()).collect();
    assert_eq!(kinds, [3, 1, 1, 3, 3].map(Some));
    let states: Vec<_> = spans.iter().map(|span| span["status"].as_u64()).collect();
    assert_eq!(states, [0, 0, 2, 0, 0].map(Some));
    assert_eq!(map["has"]["error.type"], "tool_error");
    assert_eq!(
        (&bash["has"]["gen_ai.tool.name"], &bash["has"]["error.type"]),
        (&"Bash".into(), &Value::Null)
    );
    let lasted =
        |span: &Value| span["to"].as_u64().expect("an end") - span["from"].as_u64().expect("a start");
    assert!(lasted(bash) >= 200_000_000, "{bash}");
    let has = &session["has"];
    assert_eq!((&has["herder.outcome"], &has["herder.cost_usd"]), (&json!("success"), &json!(0.25)));
    assert_eq!(has["gen_ai.usage.input_tokens"], 1200);
    assert_eq!(has["gen_ai.usage.output_tokens"], 30);
    scene.close().await;
}

/// A span that was not sent before a `kill -9` is sent by the next herder, with the session that the kill has cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_collector_misses_is_sent_after_a_kill() {
    let dir = tempfile::tempdir().expect("a folder");
    // It refuses connections until it listens.
    let quiet = TcpSocket::new_v4().expect("a socket");
    quiet.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let address = quiet.local_addr().expect("an address");
    let config = dir.path().join("bot.toml");
    let text = format!(
        "data_dir = \"data\"\n[telemetry]\notlp = \"http://{address}\"\n[evaluator]\nkind = \"off\"\n[[agent]]\nname = \"spark\"\n\
         runtime = \"command\"\ncommand = [\"sh\", \"-c\", \"if [ -e second ]; then sleep 3600; fi; touch second; echo did\"]\n\
         workspace = \"{}\"\n",
        dir.path().display()
    );
    std::fs::write(&config, text).expect("a file");
    let socket = dir.path().join("data/herder.sock");
    let herder = Running::start(dir.path(), &config, &[]);
    let add = ("task", ["add", "spark", "first"].as_slice());
    asked_until(&socket, add, |answer| answer.ok).await;
    let has_run = || dir.path().join("second").exists();
    let shows = |answer: &local::Answer, word: &str| answer.lines.iter().any(|line| line.contains(word));
    asked_until(&socket, ("status", &["spark"]), |answer| has_run() && shows(answer, "idle")).await;
    asked_until(&socket, ("task", &["add", "spark", "second"]), |answer| answer.ok).await;
    asked_until(&socket, ("status", &["spark"]), |answer| shows(answer, "running")).await;
    signal(&herder, Signal::KILL);
    reap(herder).await;
    let mut collector = Receiver::open_on(quiet.listen(16).expect("it listens"), []);
    let herder = Running::start(dir.path(), &config, &[]);
    let mut requests = Vec::new();
    let sessions = loop {
        requests.push(collector.next().await);
        let spans = read(&requests);
        let is_session = |span: &&Value| span["has"]["gen_ai.operation.name"] == "invoke_agent";
        let sessions: Vec<Value> = spans.iter().filter(is_session).cloned().collect();
        if sessions.len() >= 2 {
            assert!(spans.iter().any(|span| span["name"] == "chat"), "{spans:#?}");
            break sessions;
        }
    };
    let outcomes: Vec<&Value> = sessions.iter().map(|span| &span["has"]["herder.outcome"]).collect();
    assert_eq!(outcomes, ["success", "interrupted"]);
    assert_ne!(sessions[0]["trace"], sessions[1]["trace"]);
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success());
}
