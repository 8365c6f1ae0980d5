//! The real agents of the Agent Client Protocol at the pinned versions: the same stories for each, see `agent_rig`.
//!
//! The protocol leaves open the form of a failure, the effect of a second prompt and the way an agent leaves: the
//! tests show how each agent behaves.

pub(crate) mod gemini;
pub(crate) mod opencode;
mod others;

use std::path::Path;

use herder::core::agent::Phase;
use herder::core::ask::AskAnswer;
use herder::core::event::WaitReason;
use herder::core::input::Signal;
use herder::core::outcome::{Category, Usage};
use herder::core::spec::{AgentSpec, Autonomy, Permissions};
use herder::core::work::TaskEnd;
use herder::runtime::{Launch, Order, ProcessTrees};

use crate::agent_rig::model_api::{ANSWER, ModelApi, Scenario};
use crate::agent_rig::{
    PATIENCE, Went, a_launch, conversation_of, ended, refuses, session, session_against, session_answered,
    signals, told_while_a_tool_runs,
};
use crate::matrix::{Feature, says, shows};

/// Makes an agent whose home and workspace are below a folder, and whose model is an API of the tests' own.
type Maker = fn(&ModelApi, &Path) -> AgentSpec;

async fn success(make: Maker) {
    let api = ModelApi::start(Scenario::Success).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let spec = make(&api, folder.path());
    let names_dollars = says(&spec, Feature::Counts).contains("tokens and dollars");
    let went = session(&api, spec).await;
    went.assert_category(Category::Success);
    assert_eq!(went.outcome.usage.cost_usd > 0.0, names_dollars, "{}", went.story());
    assert_eq!(went.outcome.text.as_deref(), Some(ANSWER));
    let usage = went.outcome.usage;
    assert_eq!((went.outcome.turns, usage.input_tokens, usage.output_tokens), (1, 1200, 30));
    assert!(went.supervised.posted(&["✅", "spark"]), "{}", went.story());
    assert!(went.supervised.posted(&[ANSWER]), "{}", went.story());
    assert_eq!(*went.phase(), Phase::Idle);
    assert_eq!(went.supervised.agent.finished[0].end, TaskEnd::Done);
    assert!(api.last().contains("Say hello."), "the task reaches the model");
}

async fn refused_credentials(make: Maker, kind: &'static str) {
    let went = session_against(refuses(401, kind, "Incorrect API key provided: dummy."), make).await;
    went.assert_category(Category::Auth);
    assert!(went.supervised.posted(&["🔐", "spark"]), "{}", went.story());
    went.assert_paused(Category::Auth);
}

async fn rate_limit(make: Maker, kind: &'static str) {
    let went = session_against(refuses(429, kind, "Rate limit reached for requests."), make).await;
    went.assert_category(Category::RateLimit);
    assert!(went.supervised.posted(&["⏳", "spark", "10s"]), "{}", went.story());
    went.assert_backs_off(WaitReason::RateLimit);
}

/// Tests an hour's limit that the API names and the agent does not pass on.
async fn rate_limit_with_a_long_retry_after(make: Maker, kind: &'static str) {
    let scenario = Scenario::Refuses {
        status: 429,
        headers: vec![("retry-after".to_owned(), "3600".to_owned())],
        kind,
        message: "Rate limit reached for requests.",
    };
    let went = session_against(scenario, make).await;
    went.assert_category(Category::RateLimit);
    assert!(went.supervised.posted(&["⏳", "spark", "10s"]), "{}", went.story());
    went.assert_backs_off(WaitReason::RateLimit);
}

async fn no_credit(scenario: Scenario, make: Maker) {
    let went = session_against(scenario, make).await;
    went.assert_category(Category::Billing);
    assert!(went.supervised.posted(&["💳", "spark"]), "{}", went.story());
    went.assert_paused(Category::Billing);
}

async fn unknown_model(make: Maker, kind: &'static str, message: &'static str) {
    let went = session_against(refuses(404, kind, message), make).await;
    went.assert_category(Category::Permanent);
    assert!(went.supervised.posted(&["🚫", "spark", "10s"]), "{}", went.story());
}

/// Checks that the work is tried again, whether the CLI gives up by itself or the clock runs out.
async fn is_tried_again(scenario: Scenario, make: Maker, category: Category) -> Went {
    let went = session_against(scenario, make).await;
    went.assert_category(category);
    assert!(went.supervised.posted(&["❌", "spark", "10s"]), "{}", went.story());
    went.assert_backs_off(WaitReason::Backoff(category));
    went
}

/// Tests a call that no CLI ends, but herder's clock.
async fn hangs(scenario: Scenario, make: Maker) {
    let went = is_tried_again(scenario, make, Category::Hung).await;
    assert!(went.clock_ran_out, "{}", went.story());
}

/// Stops the model in the middle of its answer, as a person does.
async fn stopped_in_mid_answer(make: Maker) {
    let api = ModelApi::start(Scenario::Hang).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let trees = ProcessTrees::new().expect("this process can adopt");
    let (hears, stops) = tokio::sync::oneshot::channel();
    let mut hears = Some(hears);
    let until_asked = async {
        let orders: tokio::sync::mpsc::Sender<Order> = stops.await.expect("the session begins");
        while api.messages() == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        orders.send(Order::Stop).await.expect("the driver listens");
    };
    let spec = make(&api, folder.path());
    shows(&spec, Feature::Interrupted, true);
    let session = signals(a_launch(spec), &trees, |signal, driver| {
        if matches!(signal, Signal::Ready { .. })
            && let Some(hears) = hears.take()
        {
            drop(hears.send(driver.orders.clone()));
        }
    });
    let both = async { tokio::join!(session, until_asked) };
    let (said, ()) = tokio::time::timeout(PATIENCE, both).await.expect("it ends in time");
    let (outcome, survivors) = ended(&said);
    assert_eq!((outcome.category, survivors.len()), (Category::Interrupted, 0), "{said:#?}");
}

/// Checks that the agent's request for permission is answered by its autonomy, or by a person.
async fn asks_for_permission(make: Maker) {
    let (yes, no) = (AskAnswer::Allow { always: false }, AskAnswer::Deny);
    for (autonomy, answer, made) in [
        (Autonomy::Human, Some(yes), true),
        (Autonomy::Human, Some(no), false),
        (Autonomy::Strict, None, false),
        (Autonomy::Full, None, true),
    ] {
        let api = ModelApi::start(Scenario::Asks { command: "touch made" }).await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut spec = make(&api, folder.path());
        (spec.permissions, spec.autonomy) = (Permissions::ReadOnly, autonomy);
        let (file, asked) = (spec.workspace.join("made"), answer.is_some());
        let went = session_answered(&api, spec, answer).await;
        assert!(went.survivors.is_empty(), "{}", went.story());
        assert_eq!(file.exists(), made, "{autonomy:?}: {}", went.story());
        assert_eq!(went.supervised.posted(&["⚙️", "asks for permission"]), asked, "{}", went.story());
        went.assert_category(Category::Success);
    }
}

/// Checks that a message in the middle of a turn is not forced on the agent: it waits, and the turn continues as it
/// was.
async fn keeps_its_turn_when_a_message_comes(make: Maker) {
    let api = ModelApi::start(Scenario::OneTool { command: "sleep 2" }).await;
    let trees = ProcessTrees::new().expect("this process can adopt");
    let order = Order::Steer {
        work: herder::core::id::WorkId(7),
        text: "look left first".to_owned(),
        files: Vec::new(),
    };
    let agent = |api: &ModelApi, folder: &Path| {
        let spec = make(api, folder);
        shows(&spec, Feature::MidTurn, false);
        spec
    };
    let said = told_while_a_tool_runs(&api, &trees, agent, order).await;
    let (outcome, survivors) = ended(&said);
    assert_eq!((outcome.category, survivors.len()), (Category::Success, 0), "{said:#?}");
    assert!(!said.iter().any(|signal| matches!(signal, Signal::Steered { .. })), "{said:#?}");
    assert!(!api.last().contains("look left first"));
}

/// Continues a conversation, then one that is gone: `between` changes the agent's folder between the two sessions.
async fn conversation_that_goes_on_and_one_that_is_gone(make: Maker, gone: &str, between: fn(&Path)) {
    let api = ModelApi::start(Scenario::Success).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let spec = make(&api, folder.path());
    let trees = ProcessTrees::new().expect("this process can adopt");
    let dollars = if says(&spec, Feature::Counts).contains("tokens and dollars") { 0.00405 } else { 0.0 };
    // As a supervisor does, which keeps what a conversation has used.
    let mut conversed = Usage::default();
    let mut run = async |conversation: Option<&str>, prompt: &str| {
        let (conversation, prompt) = (conversation.map(str::to_owned), prompt.to_owned());
        // The past for a conversation that begins again; the first one has none.
        let past = conversation.as_ref().map(|_| "The bird is grey.".to_owned());
        let launch = Launch { conversation, past, prompt, conversed, ..a_launch(spec.clone()) };
        let said = signals(launch, &trees, |_, _| ()).await;
        let outcome = ended(&said).0;
        assert_eq!(outcome.category, Category::Success, "{said:#?}");
        assert_eq!(outcome.usage.input_tokens, 1200, "each session counts its own");
        assert!((outcome.usage.cost_usd - dollars).abs() < 1e-9, "each session pays its own: {outcome:?}");
        conversed.add(outcome.usage);
        conversation_of(&said)
    };
    let first = run(None, "The word is heron.").await;
    between(folder.path());
    assert_eq!(run(Some(&first), "What is the word?").await, first);
    assert!(api.last().contains("The word is heron."), "what was said before is still known");
    assert!(!api.last().contains("The bird is grey."), "it is told again only where it is gone");
    let anew = run(Some(gone), "Hello?").await;
    assert!(api.last().contains("The bird is grey."), "what was said last is told");
    assert!(anew != gone && anew != first);
    assert!(!api.last().contains("heron"));
}
