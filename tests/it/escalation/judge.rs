//! A model as evaluator: the real Codex CLI, whose verdicts are those of the tests' own model, takes an agent in
//! which the built-in detector sees nothing up the whole ladder. See `agent_rig`.

use herder::core::agent::Phase;
use herder::core::event::{Event, PauseReason};
use herder::core::verdict::Verdict;
use herder::core::watch::{Judgement, Why};
use herder::core::whisper::Tone;
use herder::journal::{Entry, Stream};

use super::clis::full;
use super::spark;
use crate::agent_rig::model_api::{ModelApi, Scenario};
use crate::stage::{self, ALICE, PATIENCE, Person, Stage};
use crate::{codex_cli, evaluator_cli};

/// The answers of the evaluations, one after the other.
const VERDICTS: Scenario = Scenario::SaysInTurn {
    texts: &[
        "CORRECTION You look at the machine, not at the benchmark.",
        "THINK_DEEPER What do these listings tell you of nemotron?",
        "OK",
        "CORRECTION You look around again.",
        "ESCALATION It has lost its task.",
        "CORRECTION It still only looks around.",
    ],
};

/// Each is something else, none fails, and a window of turns has none twice.
const LOOKS_AROUND: Scenario = Scenario::Wanders {
    commands: &[
        "uname -s",
        "ls /",
        "id -u",
        "cat /etc/hostname",
        "date +%Y",
        "ls /usr",
        "nproc",
        "env | wc -l",
        "ls /etc | wc -l",
        "pwd",
        "cat /proc/version",
        "ls /var",
        "stat /tmp",
        "head -n1 /etc/passwd",
        "df /",
        "cat /proc/uptime",
        "ls /bin | wc -l",
        "free",
        "ls /lib | wc -l",
        "cat /proc/loadavg",
        "ls /opt",
        "umask",
        "cat /proc/meminfo | wc -l",
        "ls /home",
        "type sh",
        "cat /etc/os-release | wc -l",
    ],
};

/// Returns the evaluations and their consequences from the journal, a line each.
fn went(stage: &Stage) -> Vec<String> {
    let entries = stage.herder.fleet().journal().history(&Stream::Agent(spark()), 10_000, None);
    let mut recorded = entries.expect("the journal can be read");
    recorded.sort_by_key(|recorded| recorded.seq);
    let line = |event: Event| match event {
        Event::EvaluationBegun { finding: Some(finding), .. } => {
            Some(format!("the detector: {}", finding.sentence()))
        }
        Event::Evaluated { judgement, .. } => Some(match *judgement {
            Judgement::Verdict(Verdict::Ok) => "OK".to_owned(),
            Judgement::Verdict(verdict) => verdict.word().to_owned(),
            Judgement::Lapse(lapse) => format!("{lapse:?}"),
        }),
        Event::Whispered { whisper } if whisper.tone != Tone::Person => {
            Some(format!("  {}", whisper.words()))
        }
        Event::Escalated { escalation } => match escalation.why {
            Why::Said(said) => Some(format!("  a person is called: {said}")),
            Why::Found(finding) => Some(format!("  found: {}", finding.sentence())),
            Why::Ended { detail, .. } => Some(format!("  given up: {detail}")),
        },
        _ => None,
    };
    let events = recorded.into_iter().filter_map(|recorded| match recorded.entry {
        Entry::Agent(event) => line(event),
        Entry::Fleet(_) | Entry::Audit(_) => None,
    });
    events.collect()
}

async fn judged_by_a_model() {
    let (api, judge) = (ModelApi::start(LOOKS_AROUND).await, ModelApi::start(VERDICTS).await);
    let dir = tempfile::tempdir().expect("a folder");
    let server = stage::server().await;
    let agent = full(codex_cli::agent(&api, dir.path()));
    let mut config = stage::config(dir.path(), vec![stage::embedded_network(&server)], vec![agent]);
    config.evaluator = evaluator_cli::key(evaluator_cli::codex(&judge));
    config.policy.evaluator = config.evaluator.rules();
    let stage = Stage::open(config, stage::inside(&server)).await;
    let mut alice = Person::join(server.address(), "alice", Some(ALICE), &["#alerts", "#spark"]).await;
    alice.reaches("herder", "#spark").await;
    alice.say("#spark", "benchmark nemotron").await;

    // Its model thinks for as long as it is judged: what it does meanwhile would be judged as done before it was told.
    let fleet = stage.herder.fleet().clone();
    let mut changes = fleet.changes();
    let paced = async {
        loop {
            let judged = fleet.view(&spark()).is_some_and(|view| view.agent.watch.open.is_some());
            api.thinks(judged);
            changes.changed().await.expect("the fleet is there");
        }
    };
    let line = tokio::select! {
        line = alice.hears("#alerts", "[ESCALATION]") => line,
        never = paced => never,
    };
    let known =
        "[ESCALATION] Agent spark appears stuck on task \"benchmark nemotron\". It still only looks around.";
    assert!(line.contains(known) && line.contains("Reply @spark resume/abort"), "{line}");
    let paused = |phase: &Phase| *phase == Phase::Paused { reason: PauseReason::Escalation };
    let agent = spark();
    let waiting = fleet.wait_for(&agent, |view| paused(&view.agent.phase));
    let view = tokio::time::timeout(PATIENCE, waiting).await.expect("it is paused").expect("spark is there");
    insta::assert_snapshot!(went(&stage).join("\n"), @r"
    CORRECTION
      [CORRECTION] You look at the machine, not at the benchmark.
    THINK_DEEPER
      [THINK_DEEPER] You were told, and it goes on. What do these listings tell you of nemotron? Stop what you are doing, say in one sentence why it does not work, and take another way. If this goes on, you are paused and a person is called.
    OK
    CORRECTION
      [CORRECTION] You look around again.
    ESCALATION
      [CORRECTION] You were told, and it goes on. It has lost its task. Stop what you are doing, say in one sentence why it does not work, and take another way. If this goes on, you are paused and a person is called.
    CORRECTION
      a person is called: It still only looks around.
      [ESCALATION] You were paused, because nothing had changed: It still only looks around.
    ");
    assert_eq!(judge.messages(), 6, "the judge is asked of nothing more");
    let asked = judge.last();
    for part in ["benchmark nemotron", "| You were told, and it goes on. It has lost its task.", "BEGIN DATA"]
    {
        assert!(asked.contains(part), "{part} is in {asked}");
    }
    // The agent's own model was told, in its own conversation, and what the judge used is on the agent's bill.
    let told = api.last();
    for part in
        ["[CORRECTION] You look at the machine", "[CORRECTION] You were told, and it goes on. It has lost"]
    {
        assert!(told.contains(part), "{part} is in {told}");
    }
    let watch = &view.agent.watch;
    assert_eq!((watch.counts.judged, watch.counts.lapses, watch.counts.unmetered), (6, 0, 0));
    let (whole, session) = (view.agent.totals.usage, view.agent.meter);
    assert_eq!(
        whole.input_tokens,
        session.input_tokens + 6 * 1200,
        "what the judge used, beside the one session"
    );
    assert_eq!(whole.output_tokens, session.output_tokens + 6 * 30);

    alice.say("#alerts", "@spark abort").await;
    alice.hears("#alerts", "is answered by alice: its work is discarded").await;
    stage.close().await;
}

#[test]
fn codex_judges() {
    crate::agent_rig::alone("escalation::judge", "codex_judges", judged_by_a_model);
}
