//! Stories about an agent, told the same way of every CLI.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use herder::core::ask::{AskAnswer, Inquiry, Told};
use herder::core::id::WorkId;
use herder::core::input::Signal;
use herder::core::outcome::Category;
use herder::core::spec::{AgentSpec, Autonomy, Permissions};
use herder::files::{FileSource, FileStore};
use herder::runtime::{Launch, Local, Order, ProcessTrees};

use super::model_api::{ModelApi, Scenario};
use crate::matrix::{Feature, shows};

use super::{
    a_launch, conversation_of, ended, local, once_a_tool_runs, session_answered, session_with_files, signals,
};

/// Commands that are asked about whatever an agent may do. None of them does harm if it runs.
pub(crate) const DANGEROUS: [&str; 6] = [
    "git push origin main; touch made",
    "mkdir -p gone && rm -r gone; touch made",
    "sudo -n true; touch made",
    "echo 'touch made' | sh",
    "psql -c 'drop table users'; touch made",
    "psql -c 'truncate table users'; touch made",
];

/// An agent that may do everything and answers for itself is asked about what is dangerous all the same, and about nothing
/// else; it does what it is told.
pub(crate) async fn asks_what_is_dangerous(agent: impl Fn(&ModelApi, &Path) -> AgentSpec) {
    let (yes, no) = (AskAnswer::Allow { always: false }, AskAnswer::Deny);
    let dangerous = DANGEROUS.into_iter().enumerate().map(|(at, command)| {
        // Each is answered, every other one with yes.
        (command, Some(if at % 2 == 0 { no.clone() } else { yes.clone() }))
    });
    for (command, answer) in dangerous.chain([("touch made", None)]) {
        let api = ModelApi::start(Scenario::Asks { command }).await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut spec = agent(&api, folder.path());
        shows(&spec, Feature::Asks, true);
        (spec.permissions, spec.autonomy) = (Permissions::Full, Autonomy::Full);
        let (file, expected) = (spec.workspace.join("made"), answer != Some(AskAnswer::Deny));
        let asked = answer.is_some();
        let went = session_answered(&api, spec, answer).await;
        went.assert_category(Category::Success);
        assert_eq!(
            went.supervised.posted(&["⚙️", "asks for permission"]),
            asked,
            "{command}: {}",
            went.story()
        );
        assert_eq!(file.exists(), expected, "{command}: {}", went.story());
    }
}

/// Returns the signals of an agent with all permissions in a session in which `command` runs, and in which it is
/// given `order` meanwhile.
pub(crate) async fn told_while_a_tool_runs(
    api: &ModelApi,
    trees: &ProcessTrees,
    agent: impl FnOnce(&ModelApi, &Path) -> AgentSpec,
    order: Order,
) -> Vec<Signal> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let spec = AgentSpec { permissions: Permissions::Full, ..agent(api, folder.path()) };
    let mut order = Some(order);
    signals(a_launch(spec), trees, |signal, driver| {
        if matches!(signal, Signal::Ready { .. })
            && let Some(order) = order.take()
        {
            once_a_tool_runs(driver, order);
        }
    })
    .await
}

/// A message that comes while `command` runs reaches the model in the same turn.
pub(crate) async fn takes_a_message_in_mid_turn(
    command: &'static str,
    agent: impl FnOnce(&ModelApi, &Path) -> AgentSpec,
) {
    let api = ModelApi::start(Scenario::OneTool { command }).await;
    let trees = ProcessTrees::new().expect("this process can adopt");
    let order = Order::Steer { work: WorkId(7), text: "look left first".to_owned(), files: Vec::new() };
    let agent = |api: &ModelApi, folder: &Path| {
        let spec = agent(api, folder);
        shows(&spec, Feature::MidTurn, true);
        spec
    };
    let said = told_while_a_tool_runs(&api, &trees, agent, order).await;
    let (outcome, survivors) = ended(&said);
    assert_eq!((outcome.category, survivors.len()), (Category::Success, 0), "{said:#?}");
    assert!(said.contains(&Signal::Steered { work: WorkId(7) }), "{said:#?}");
    assert!(api.last().contains("look left first"), "the model was told");
    assert_eq!(api.messages(), 2, "in the same turn");
}

/// A picture of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The model sees the picture of a task, byte for byte, and reads the name of the other file, which is in the inbox.
pub(crate) async fn is_shown_a_picture(agent: impl FnOnce(&ModelApi, &Path) -> AgentSpec) {
    let api = ModelApi::start(Scenario::Success).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let spec = agent(&api, folder.path());
    let store = FileStore::new(folder.path());
    let pixel = STANDARD.decode(PIXEL).expect("Base64");
    let picture = store.keep("1-1-dot.png", &pixel).expect("it is kept");
    let other = store.keep("1-2-core.bin", b"\0\x01\x02").expect("it is kept");
    let local = Local { files: Some(FileSource::Store(store)), ..local() };
    let inbox = spec.workspace.join(".herder/spark/inbox");
    let went = session_with_files(&api, spec, None, (vec![picture.clone(), other.clone()], local)).await;
    went.assert_category(Category::Success);
    let asked = api.last();
    assert!(asked.contains(PIXEL), "the picture reaches the model: {asked}");
    assert!(asked.contains("Say hello."), "{asked}");
    for (file, bytes) in [(&picture, &pixel[..]), (&other, b"\0\x01\x02")] {
        assert!(asked.contains(&file.sha256.to_string()) && asked.contains(&file.name), "{asked}");
        assert_eq!(std::fs::read(inbox.join(&file.name)).expect("it is in the inbox"), bytes);
    }
}

/// A stop while `command` runs, which leaves its process group, leaves no process.
pub(crate) async fn leaves_nothing_when_it_is_stopped_in_mid_tool(
    command: &'static str,
    agent: impl FnOnce(&ModelApi, &Path) -> AgentSpec,
) {
    let api = ModelApi::start(Scenario::OneTool { command }).await;
    let trees = ProcessTrees::without_cgroups().expect("this process can adopt");
    let agent = |api: &ModelApi, folder: &Path| {
        let spec = agent(api, folder);
        shows(&spec, Feature::NothingLeft, true);
        spec
    };
    let said = told_while_a_tool_runs(&api, &trees, agent, Order::Stop).await;
    let (outcome, survivors) = ended(&said);
    assert_eq!((outcome.category, survivors.len()), (Category::Interrupted, 0), "{said:#?}");
    assert_eq!(trees.count_marked(&format!("test-{}/", std::process::id())).await, 0);
}

/// Waits until a CLI has these words in a file of its own: words that a kill precedes cannot be known again.
async fn written_down(folder: &Path, words: &[u8]) {
    fn holds(folder: &Path, words: &[u8]) -> bool {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| match path.symlink_metadata() {
            Ok(it) if it.is_dir() => holds(&path, words),
            Ok(it) if it.is_file() => {
                std::fs::read(&path).is_ok_and(|text| text.windows(words.len()).any(|part| part == words))
            }
            _ => false,
        })
    }
    let written = async {
        while !holds(folder, words) {
            // It does not announce its writes.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(crate::stage::PATIENCE, written).await.expect("it writes down what it was told");
}

/// The CLI is killed while `command` runs: nothing is left, and the next session knows what was said. `between` is what
/// happens to the agent's folder between the two.
pub(crate) async fn goes_on_after_it_was_killed_in_mid_tool(
    command: &'static str,
    agent: impl FnOnce(&ModelApi, &Path) -> AgentSpec,
    between: impl FnOnce(&Path),
) {
    let api = ModelApi::start(Scenario::OneTool { command }).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let spec = AgentSpec { permissions: Permissions::Full, ..agent(&api, folder.path()) };
    shows(&spec, Feature::GoesOn, true);
    let trees = ProcessTrees::new().expect("this process can adopt");
    let prompt = "The word is heron.".to_owned();
    let mut process = None;
    let said = signals(Launch { prompt, ..a_launch(spec.clone()) }, &trees, |signal, driver| match signal {
        Signal::Spawned { pid, .. } => {
            process = i32::try_from(*pid).ok().and_then(rustix::process::Pid::from_raw);
        }
        Signal::Ready { .. } => {
            let (mut live, process) = (driver.live.clone(), process.expect("it was spawned first"));
            let folder = folder.path().to_owned();
            tokio::spawn(async move {
                live.wait_for(|live| live.tool.is_some()).await.expect("the session runs");
                written_down(&folder, b"The word is heron.").await;
                rustix::process::kill_process(process, rustix::process::Signal::KILL).expect("it runs");
            });
        }
        _ => {}
    })
    .await;
    let (outcome, survivors) = ended(&said);
    assert_eq!((outcome.category, survivors.len()), (Category::Crash, 0), "{said:#?}");
    assert_eq!(trees.count_marked(&format!("test-{}/", std::process::id())).await, 0);
    between(folder.path());
    let conversation = Some(conversation_of(&said));
    let prompt = "Go on.".to_owned();
    let said = signals(Launch { conversation, prompt, ..a_launch(spec) }, &trees, |_, _| ()).await;
    assert_eq!(ended(&said).0.category, Category::Success, "{said:#?}");
    let asked = api.last();
    let known = asked.contains("The word is heron.") && asked.contains("Go on.");
    assert!(known, "what was said is still known: {asked}");
}

/// Sees a session through in which an agent begins with a plan: it is shown whole, sent back with words, and approved when it
/// comes again; not before is anything done. `scenario` plans, plans again and then makes `made`.
pub(crate) async fn begins_with_a_plan(
    scenario: Scenario,
    agent: impl FnOnce(&ModelApi, &Path) -> AgentSpec,
    [first, second]: [&str; 2],
) {
    let api = ModelApi::start(scenario).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut spec = agent(&api, folder.path());
    // No autonomy approves a plan.
    (spec.permissions, spec.autonomy) = (Permissions::Plan, Autonomy::Full);
    let made = spec.workspace.join("made");
    let trees = ProcessTrees::new().expect("this process can adopt");
    let mut plans = Vec::new();
    let said = signals(a_launch(spec), &trees, |signal, driver| {
        let give = |order| driver.orders.try_send(order).expect("the driver listens");
        match signal {
            Signal::Inquired { key, inquiry, .. } => {
                let Inquiry::Plan { text } = &**inquiry else { panic!("a plan, not {inquiry:?}") };
                plans.push(text.trim().to_owned());
                assert!(!made.exists(), "nothing is done before the plan is approved");
                let told = match plans.len() {
                    1 => Told::Words(vec!["Mind the herons.".to_owned()]),
                    _ => Told::Yes,
                };
                give(Order::Answer { key: *key, told });
            }
            Signal::Asked { key, .. } => give(Order::Answer { key: *key, told: Told::Yes }),
            _ => {}
        }
    })
    .await;
    let (outcome, survivors) = ended(&said);
    assert_eq!((outcome.category, survivors.len()), (Category::Success, 0), "{said:#?}");
    assert_eq!(plans, [first, second], "{said:#?}");
    assert!(made.exists(), "what was approved is done: {said:#?}");
    assert!(api.last().contains("Mind the herons."), "the model reads what was said: {}", api.last());
}
