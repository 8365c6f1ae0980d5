//! Messages between bot and runner, by the rules of the journal's: `tests/golden/runner/v1/` holds one of
//! everything, `v2/` one of everything that version 2 has added, `v3/` and `v4/` likewise.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use herder::core::ask::{AskKey, Inquiry, Offer, Part, Told};
use herder::core::danger::AskPattern;
use herder::core::detail::Own;
use herder::core::file::{FileKind, KeptFile};
use herder::core::id::{SessionId, WorkId};
use herder::core::input::{Clock, Signal};
use herder::core::machine::{Enforcement, Taken, Together};
use herder::core::outcome::{Category, Usage};
use herder::core::time::Timestamp;
use herder::core::turn::{End, Kind, Step, Turn};
use herder::core::usage::Reading;
use herder::core::workspace::{Unfinished, Workspace};
use herder::runner::wire::{
    Envelope, FromRunner, HelloRefusal, Returned, SessionKey, SessionStatus, Standing, Status, ToRunner,
};
use herder::runtime::{Clocks, Launch, Live, Order, Report};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::samples::{assert_all, outcome, specs};
use super::{agent, assert_golden};

variants!(SIGNALS, signal_name, Signal: Workspace Spawned Ready ConversationLost Steered Turn Observed ClockRanOut Asked Inquired AskWithdrawn Usage Ended);
variants!(ORDERS, order_name, Order: Go Steer Insist Answer Hold Stop);
variants!(TOLD, told_name, Told: Yes No Words Nobody);
variants!(INQUIRIES, inquiry_name, Inquiry: Question Plan);
variants!(REPORTS, report_name, Report: Beat Signal Words NotTaken);
variants!(TO, to_name, ToRunner: Hello Status Stop Launch Order Heard Returned StopWhenIdle Job Jobs Piece);
variants!(FROM, from_name, FromRunner: Welcome Refused Status Took Report Alive Live Beat Call CallOver Done Fetch);
variants!(HELLO_REFUSALS, hello_refusal_name, HelloRefusal: Version Journal Epoch);

const USAGE: Usage =
    Usage { input_tokens: 1200, cached_tokens: 800, output_tokens: 90, cost_usd: 0.25, estimated_usd: 0.0 };

fn launches() -> Vec<Launch> {
    let seconds = Duration::from_secs;
    let launch = |spec| Launch {
        agent: agent("spark"),
        session: SessionId(7),
        spec: Arc::new(spec),
        prompt: "Mend the tests.".to_owned(),
        conversation: None,
        past: None,
        conversed: Usage::default(),
        marker: "0123456789abcdef/spark/7".to_owned(),
        clocks: Clocks {
            startup: seconds(30),
            silence: seconds(300),
            tool: seconds(1800),
            task: seconds(14_400),
            grace: seconds(10),
            beat: Duration::from_millis(3_333),
        },
        look: false,
        always_ask: Vec::new(),
        together: Together::All,
        limits: Enforcement::Require,
        reviews: false,
        files: Vec::new(),
        task: None,
        withheld: BTreeSet::new(),
    };
    let mut launches: Vec<Launch> = specs().into_iter().map(launch).collect();
    launches.push(Launch {
        conversation: Some("c-1".to_owned()),
        past: Some("You: hello".to_owned()),
        conversed: USAGE,
        look: true,
        always_ask: vec![AskPattern::new("terraform (apply|destroy)").expect("a good pattern")],
        withheld: BTreeSet::new(),
        ..launches[0].clone()
    });
    launches.push(Launch { together: Together::Percent(80), ..launches[0].clone() });
    launches.push(Launch { limits: Enforcement::Try, ..launches[0].clone() });
    launches.push(Launch { withheld: BTreeSet::from(["IRC_PASSWORD".to_owned()]), ..launches[0].clone() });
    launches
}

fn tolds() -> [Told; 4] {
    [Told::Yes, Told::No, Told::Words(vec!["main".into(), "next".into()]), Told::Nobody]
}

fn orders() -> Vec<Order> {
    let (work, key) = (WorkId(41), AskKey(3));
    let mut orders = vec![
        Order::Go,
        Order::Steer { work, text: "Use the other branch.".to_owned(), files: Vec::new() },
        Order::Insist { work, text: "Use the other branch.".to_owned(), files: Vec::new() },
        Order::Hold { waits: true },
        Order::Stop,
    ];
    orders.extend(tolds().map(|told| Order::Answer { key, told }));
    orders
}

fn inquiries() -> [Inquiry; 3] {
    let offer = Offer { label: "main".into(), description: "what is out".into() };
    [
        Inquiry::Question { text: "Which branch?".into(), options: Vec::new(), several: false },
        Inquiry::Question { text: "Which ones?".into(), options: vec![offer], several: true },
        Inquiry::Plan { text: "1. Look. 2. Leap.".into() },
    ]
}

fn signals() -> Vec<Signal> {
    let (key, session) = (AskKey(3), SessionId(7));
    let at = Timestamp::from_millis(1_763_700_000_123);
    let end = End { ok: false, said: "no such target".to_owned(), digest: 7 };
    let step = Step {
        tool: "Bash".into(),
        kind: Kind::Command,
        digest: 9,
        what: "make".into(),
        end: Some(end),
        after_ms: 120,
        took_ms: 900,
    };
    let turn =
        Turn { session, work: None, at, took_ms: 1500, words: "Done.".into(), steps: vec![step], more: 0 };
    let asked = |redacted: Option<&str>, shell, vague| Signal::Asked {
        key,
        tool: "Bash".to_owned(),
        command: "git push origin main".to_owned(),
        redacted: redacted.map(str::to_owned),
        shell,
        vague,
    };
    let [question, choice, plan] = inquiries().map(Box::new);
    let mut signals = vec![
        Signal::Workspace {
            seen: Workspace {
                branch: Some("main".to_owned()),
                changed: 3,
                unfinished: Some(Unfinished::Revert),
            },
        },
        Signal::Spawned { pid: 4711, started: 123_456_789 },
        Signal::Ready { conversation: None },
        Signal::Ready { conversation: Some("c-1".to_owned()) },
        Signal::ConversationLost { why: "No conversation found".to_owned() },
        Signal::Steered { work: WorkId(41) },
        Signal::Turn { text: "Done.".to_owned(), tools: vec!["Bash".to_owned()] },
        Signal::Turn { text: String::new(), tools: Vec::new() },
        Signal::Observed { turn: Box::new(turn) },
        Signal::ClockRanOut {
            clock: Clock::Silence,
            evidence: Own::NothingYet { waited: Duration::from_secs(300) },
        },
        asked(None, true, false),
        asked(Some("git push [redacted]"), false, true),
        Signal::Inquired { key, inquiry: question, part: None },
        Signal::Inquired { key, inquiry: choice, part: Some(Part { call: AskKey(2), last: true }) },
        Signal::Inquired { key, inquiry: plan, part: None },
        Signal::AskWithdrawn { key },
        Signal::Usage {
            reading: Box::new(Reading { usage: USAGE, model: "m-1".to_owned(), ..Reading::default() }),
        },
    ];
    signals.extend(
        [(Category::Success, vec![]), (Category::Crash, vec![4711, 4712])]
            .map(|(category, survivors)| Signal::Ended { outcome: Box::new(outcome(category)), survivors }),
    );
    signals
}

fn reports() -> Vec<Report> {
    let others = [Report::Beat, Report::Words("Look.".to_owned()), Report::NotTaken { work: WorkId(41) }];
    signals().into_iter().map(Report::Signal).chain(others).collect()
}

fn lives() -> [Live; 3] {
    let at = Timestamp::from_millis(1_763_700_000_123);
    let memory = Some(Taken { now: 1_200_000_000, peak: 1_500_000_000, limit: 2_000_000_000 });
    let limited = Live { memory, ..Live::default() };
    [
        Live::default(),
        Live { tool: Some("Bash".to_owned()), last_event: Some(at), turns: 4, usage: USAGE, memory: None },
        limited,
    ]
}

fn of() -> SessionKey {
    SessionKey { agent: agent("spark"), session: SessionId(7) }
}

fn hello_refusals() -> [HelloRefusal; 3] {
    [
        HelloRefusal::Version { oldest: 2, newest: 3 },
        HelloRefusal::Journal,
        HelloRefusal::Epoch { highest: 9 },
    ]
}

fn to_runner() -> Vec<Envelope<ToRunner>> {
    let numbered = |body| Envelope { v: 1, epoch: 12, n: 5, body };
    let plain = |body| Envelope { v: 1, epoch: 12, n: 0, body };
    vec![
        plain(ToRunner::Hello { journal: "0123456789abcdef".to_owned(), oldest: 1, newest: 1 }),
        plain(ToRunner::Status),
        plain(ToRunner::Stop),
        numbered(ToRunner::Launch(Box::new(launches().remove(0)))),
        numbered(ToRunner::Order { of: of(), order: Order::Go }),
        plain(ToRunner::Heard { of: of(), up_to: 17 }),
    ]
}

fn from_runner() -> Vec<Envelope<FromRunner>> {
    let incarnation = "fedcba9876543210".to_owned();
    let standing = Standing { of: of(), unheard: 17, next: 19 };
    let mut bodies = vec![
        FromRunner::Welcome {
            incarnation: incarnation.clone(),
            version: 1,
            sessions: Vec::new(),
            past: None,
        },
        FromRunner::Welcome { incarnation, version: 1, sessions: vec![standing], past: None },
        FromRunner::Took { up_to: 5 },
        FromRunner::Report { of: of(), n: 18, report: Report::Words("Look.".to_owned()) },
        FromRunner::Alive { of: of() },
        FromRunner::Live { of: of(), live: lives()[1].clone() },
    ];
    let incarnation = "fedcba9876543210".to_owned();
    let journal = Some("0123456789abcdef".to_owned());
    let session = |over, kept, live| SessionStatus { of: of(), over, kept, live };
    let [new, used, _] = lives();
    let sessions = vec![session(false, 2, used), session(true, 1, new)];
    let fresh =
        Status { pid: 4711, incarnation, journal: None, attended: false, sessions: Vec::new(), jobs: 0 };
    bodies.push(FromRunner::Status(fresh.clone()));
    bodies.push(FromRunner::Status(Status { journal, attended: true, sessions, ..fresh }));
    bodies.extend(hello_refusals().map(FromRunner::Refused));
    bodies.into_iter().map(|body| Envelope { v: 1, epoch: 12, n: 0, body }).collect()
}

/// Messages of the bot that version 2 has added.
fn to_runner_2() -> Vec<Envelope<ToRunner>> {
    let returned = |returned| ToRunner::Returned { of: of(), call: 3, returned };
    let whispers = vec![(WorkId(41), "[correction] Read the error first.".to_owned())];
    let said = Returned { ok: true, text: "Said in #spark.".to_owned(), whispers };
    let bodies =
        [returned(said), returned(Returned::refused("There is no such tool.")), ToRunner::StopWhenIdle];
    bodies.into_iter().map(|body| Envelope { v: 2, epoch: 12, n: 0, body }).collect()
}

/// Messages of the runner that version 2 has added.
fn from_runner_2() -> Vec<Envelope<FromRunner>> {
    let record = r#"{"boot":"b","space":1,"since":1000,"groups":["/"],"sessions":[null],"reapers":[[1,0]],"strays":[]}"#;
    let past = Some(Box::new(serde_json::from_str(record).expect("a record")));
    let incarnation = "fedcba9876543210".to_owned();
    let call = |arguments| FromRunner::Call { of: of(), call: 3, tool: "irc_send".to_owned(), arguments };
    let arguments = [("text".to_owned(), "Look.".into())].into_iter().collect();
    let bodies = [
        FromRunner::Welcome { incarnation, version: 2, sessions: Vec::new(), past },
        FromRunner::Beat,
        call(serde_json::Map::new()),
        call(arguments),
        FromRunner::CallOver { of: of(), call: 3 },
    ];
    bodies.into_iter().map(|body| Envelope { v: 2, epoch: 12, n: 0, body }).collect()
}

/// Messages of the bot that version 3 has added. The kinds of jobs are held where they are defined.
fn to_runner_3() -> Vec<Envelope<ToRunner>> {
    let jobs = include_str!("../../../golden/runner/v3/job.jsonl").lines();
    let look =
        jobs.filter(|line| line.contains("\"look\"")).map(|line| serde_json::from_str(line).expect("a job"));
    let mut bodies: Vec<ToRunner> = look.map(|job| ToRunner::Job { job: 3, what: Box::new(job) }).collect();
    bodies.push(ToRunner::Jobs { open: vec![3, 4], stopped: Vec::new() });
    bodies.push(ToRunner::Jobs { open: vec![3, 4], stopped: vec![4] });
    bodies.into_iter().map(|body| Envelope { v: 3, epoch: 12, n: 0, body }).collect()
}

/// Messages of the runner that version 3 has added.
fn from_runner_3() -> Vec<Envelope<FromRunner>> {
    let bodies = [
        FromRunner::Done { job: 3, part: "{\"acted\":".to_owned(), last: false },
        FromRunner::Done { job: 3, part: "\"removed\"}".to_owned(), last: true },
    ];
    bodies.into_iter().map(|body| Envelope { v: 3, epoch: 12, n: 0, body }).collect()
}

fn files() -> Vec<KeptFile> {
    let sha256 = "0f".repeat(32).parse().expect("a digest");
    vec![KeptFile { name: "41-1-cat.png".to_owned(), size: 15, sha256, kind: FileKind::Png }]
}

/// Launches with the files that version 4 has added.
fn launches_4() -> Vec<Launch> {
    vec![Launch { files: files(), ..launches().remove(0) }]
}

/// Orders with the files that version 4 has added.
fn orders_4() -> Vec<Order> {
    let (work, text) = (WorkId(41), "See this.".to_owned());
    vec![
        Order::Steer { work, text: text.clone(), files: files() },
        Order::Insist { work, text, files: files() },
    ]
}

/// Messages of the bot that version 4 has added.
fn to_runner_4() -> Vec<Envelope<ToRunner>> {
    let file = files()[0].sha256;
    let piece = |from, piece| ToRunner::Piece { file, from, piece };
    let bodies = [piece(0, Some("iVBORw0KGgo=".to_owned())), piece(8, None)];
    bodies.into_iter().map(|body| Envelope { v: 4, epoch: 12, n: 0, body }).collect()
}

/// Messages of the runner that version 4 has added.
fn from_runner_4() -> Vec<Envelope<FromRunner>> {
    let body = FromRunner::Fetch { file: files()[0].sha256, from: 8 };
    vec![Envelope { v: 4, epoch: 12, n: 0, body }]
}

fn assert_messages<T: PartialEq + Debug + Serialize + DeserializeOwned>(name: &str, samples: &[T]) {
    let path = PathBuf::from("../runner").join(name);
    assert_golden(
        &path.display().to_string(),
        samples,
        |sample| serde_json::to_string(sample).expect("encodes"),
        |line, _| serde_json::from_str(line).expect("decodes"),
    );
}

#[test]
fn there_is_a_sample_of_everything_that_is_said_between_bot_and_runner() {
    let bodies = |it: Vec<Envelope<ToRunner>>| it.into_iter().map(|it| it.body).collect::<Vec<_>>();
    assert_all(SIGNALS, &signals(), signal_name);
    assert_all(ORDERS, &orders(), order_name);
    assert_all(TOLD, &tolds(), told_name);
    assert_all(INQUIRIES, &inquiries(), inquiry_name);
    assert_all(REPORTS, &reports(), report_name);
    assert_all(TO, &bodies([to_runner(), to_runner_2(), to_runner_3(), to_runner_4()].concat()), to_name);
    let from: Vec<FromRunner> = [from_runner(), from_runner_2(), from_runner_3(), from_runner_4()]
        .concat()
        .into_iter()
        .map(|it| it.body)
        .collect();
    assert_all(FROM, &from, from_name);
    assert_all(HELLO_REFUSALS, &hello_refusals(), hello_refusal_name);
}

#[test]
fn messages_of_version_1_are_read_and_written_as_they_were() {
    assert_messages("v1/launch.jsonl", &launches());
    assert_messages("v1/order.jsonl", &orders());
    assert_messages("v1/report.jsonl", &reports());
    assert_messages("v1/live.jsonl", &lives());
    assert_messages("v1/to-runner.jsonl", &to_runner());
    assert_messages("v1/from-runner.jsonl", &from_runner());
}

#[test]
fn messages_of_version_2_are_read_and_written_as_they_were() {
    assert_messages("v2/to-runner.jsonl", &to_runner_2());
    assert_messages("v2/from-runner.jsonl", &from_runner_2());
}

#[test]
fn messages_of_version_3_are_read_and_written_as_they_were() {
    assert_messages("v3/to-runner.jsonl", &to_runner_3());
    assert_messages("v3/from-runner.jsonl", &from_runner_3());
}

/// A peer that is a little newer has fields that this one does not know.
#[test]
fn a_field_that_is_not_known_is_ignored() {
    let line = serde_json::to_string(&from_runner()[2]).expect("encodes");
    let newer =
        line.replacen("\"up_to\":5", "\"up_to\":5,\"load\":0.5", 1).replacen('{', "{\"trace\":\"x\",", 1);
    assert_ne!(line, newer);
    let read: Envelope<FromRunner> = serde_json::from_str(&newer).expect("decodes");
    assert_eq!(read, from_runner()[2]);
}

/// A pattern comes from another process: it is held to the same bounds as one from the configuration.
#[test]
fn a_pattern_that_is_none_is_refused() {
    for wrong in ["\"\"", "\"(\"", "\"(a{1000}){1000}\"", "7"] {
        serde_json::from_str::<AskPattern>(wrong).expect_err(wrong);
    }
}

#[test]
fn messages_of_version_4_are_read_and_written_as_they_were() {
    assert_messages("v4/launch.jsonl", &launches_4());
    assert_messages("v4/order.jsonl", &orders_4());
    assert_messages("v4/to-runner.jsonl", &to_runner_4());
    assert_messages("v4/from-runner.jsonl", &from_runner_4());
}
