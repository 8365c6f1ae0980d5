//! The evaluator: a second model that judges an agent's last turns, and splits tasks that are too large.
//!
//! The core decides when the evaluator is asked and what follows; this module asks. The turns become a text
//! ([`transcript`]), instructions are added ([`prompt`]), and a short-lived process is asked: a vendor's CLI, or any
//! program (`ask`). The process has a home of its own (`home`) with one credential ([`credential`]), an environment
//! from an allow-list, an empty working directory, and no tools. It is ended at its timeout with its whole tree
//! (`child`), and its home is removed. A refused credential is not used for a while (`refusal`). The answer is one
//! line ([`answer`]); without one the reason is a [`Lapse`], never an OK.
//!
//! A task that does not fit into one context window is split in the same way, with other instructions and a list as
//! its answer ([`split`]).
//!
//! The evaluator touches no file, process or channel of an agent. herder whispers its findings.

pub mod answer;
mod ask;
mod child;
pub mod credential;
mod home;
pub mod prompt;
mod refusal;
mod settings;
pub mod split;
pub mod transcript;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::core::outcome::Usage;
use crate::core::usage::{DEAREST, Prices};
use crate::core::verdict::{Lapse, Verdict};
use crate::redact::Redactor;
use crate::runtime::process::spawn;
use crate::runtime::{ProcessTrees, environment};
use credential::Credential;
use refusal::{Mark, Refusals};

pub use settings::{Judge, Settings, TIMEOUT_MAX};
pub use split::Whole;
pub use transcript::{Brief, Whispered};

/// Name of the folder in herder's data folder that contains the temporary homes of judges' processes.
pub const FOLDER: &str = "evaluator";

/// Factor by which the timeout of splitting a task is longer than that of a verdict.
const SPLIT_TIMES: u32 = 4;

/// Time between SIGTERM and SIGKILL for processes that are left when an evaluation panics.
const GRACE: Duration = Duration::from_millis(500);

/// Settings and services that an evaluator needs.
#[derive(Debug)]
pub struct Setup {
    /// The section `[evaluator]` of the configuration.
    pub settings: Settings,
    /// Prices of models whose CLIs state no cost.
    pub prices: Prices,
    /// Redacts secrets in prompts and answers.
    pub redactor: Redactor,
    /// The process-tree service, which ends a judge's processes.
    pub trees: ProcessTrees,
    /// Path of herder's data folder.
    pub data_dir: PathBuf,
    /// Names of the variables of herder's environment that no child process gets, because they contain secrets.
    pub withheld: BTreeSet<String>,
}

/// A request to the evaluator: to judge turns (`B` is a `Brief`) or to split a task (`Whole`).
#[derive(Debug)]
pub struct Asked<B = Brief> {
    /// Value of the environment variable `HERDER_SESSION` for the judge's processes, by which they are found after a
    /// crash. It begins like those of the agent's sessions, and differs from all of them.
    pub marker: String,
    /// The turns to judge, or the task to split.
    pub brief: B,
    /// True if the agent has a cap in dollars: then tokens of a model without a price are charged at the price of the
    /// dearest models.
    pub capped: bool,
    /// Cancelled when the answer is not needed any more: the process is ended, and its usage so far is reported.
    pub overtaken: CancellationToken,
}

/// The result of an evaluation: the verdict, and the usage.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluated {
    /// The verdict, or the reason why there is none.
    pub verdict: Result<Verdict, Lapse>,
    /// Tokens and dollars used, also without a verdict; `None` if unknown.
    pub usage: Option<Usage>,
}

/// The result of splitting a task: the parts, and the usage.
#[derive(Debug, Clone, PartialEq)]
pub struct Divided {
    /// The parts of the task in order, or the reason why there are none.
    pub parts: Result<Vec<String>, Lapse>,
    /// Tokens and dollars used, also without parts; `None` if unknown.
    pub usage: Option<Usage>,
}

/// The question that a judge is asked.
#[derive(Debug)]
enum Question {
    /// A request for a verdict on these turns.
    Turns(Brief),
    /// A request to split this task into parts.
    Task(Whole),
}

impl Question {
    /// Returns the system prompt for the judge, which only some CLIs accept.
    fn role(&self) -> &'static str {
        match self {
            Self::Turns(_) => prompt::ROLE,
            Self::Task(_) => split::ROLE,
        }
    }

    /// Returns the timeout of the question, given the one of a verdict. Splitting gets `SPLIT_TIMES` as long, because
    /// its answer is a page and no session waits for it.
    fn time(&self, timeout: Duration) -> Duration {
        match self {
            Self::Turns(_) => timeout,
            Self::Task(_) => timeout.saturating_mul(SPLIT_TIMES).min(TIMEOUT_MAX),
        }
    }

    /// Builds the prompt for the judge's standard input. `nonce` makes the fences around the data unpredictable.
    fn prompt(&self, redactor: &Redactor, nonce: &str) -> String {
        match self {
            Self::Turns(brief) => prompt::prompt(&transcript::transcript(brief, redactor, nonce), nonce),
            Self::Task(whole) => split::prompt(whole, redactor, nonce),
        }
    }
}

/// An unparsed answer, or the reason why there is none.
#[derive(Debug)]
struct Answered {
    said: Result<String, Lapse>,
    usage: Option<Usage>,
}

/// The evaluator: asks a model, as a short-lived process, for verdicts and for parts of tasks. Cheap to clone; there is
/// one per herder.
#[derive(Debug, Clone)]
pub struct Evaluator {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    setup: Setup,
    homes: PathBuf,
    turns: Semaphore,
    refusals: Mutex<Refusals>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Evaluator {
    /// Creates an evaluator. No process is started and nothing is written before the first request.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let inner = Inner {
            homes: setup.data_dir.join(FOLDER),
            turns: Semaphore::new(setup.settings.at_once),
            refusals: Mutex::default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            setup,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns true if a killed herder left temporary homes of judges.
    #[must_use]
    pub fn is_littered(&self) -> bool {
        home::is_littered(&self.inner.homes)
    }

    /// Removes temporary homes of judges that a killed herder left; logins that a CLI had renewed are moved to the
    /// user's login file. Call it once no other process has the data folder, and after the processes in the homes were
    /// ended.
    pub async fn sweep(&self) {
        let homes = self.inner.homes.clone();
        let swept = tokio::task::spawn_blocking(move || home::sweep(&homes)).await;
        if let Err(error) = swept.unwrap_or_else(|error| Err(io::Error::other(error))) {
            tracing::warn!(%error, "homes of earlier evaluations could not be removed");
        }
    }

    /// Returns true if a model is configured to be asked; otherwise only herder's own detector judges.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.inner.setup.settings.asks()
    }

    /// Asks the judge for a verdict on an agent's turns. If the future is dropped, the process is ended and its home is
    /// removed all the same.
    pub async fn evaluate(&self, asked: Asked) -> Evaluated {
        let Asked { marker, brief, capped, overtaken } = asked;
        let answered = self.asked(marker.clone(), Question::Turns(brief), capped, overtaken).await;
        let verdict = answered.said.and_then(|said| answer::parse(&said));
        let verdict =
            verdict.map(|verdict| self.inner.hush(verdict)).map_err(|lapse| self.inner.none(lapse, &marker));
        Evaluated { verdict, usage: answered.usage }
    }

    /// Asks the judge to split a task into parts, with the same guarantees as `Evaluator::evaluate`.
    pub async fn split(&self, asked: Asked<Whole>) -> Divided {
        let Asked { marker, brief, capped, overtaken } = asked;
        let answered = self.asked(marker.clone(), Question::Task(brief), capped, overtaken).await;
        let parts = answered.said.and_then(|said| split::parse(&said));
        let clean = |part: String| self.inner.setup.redactor.redact(&part).into_owned();
        let parts = parts.map(|parts| parts.into_iter().map(clean).collect());
        Divided { parts: parts.map_err(|lapse| self.inner.none(lapse, &marker)), usage: answered.usage }
    }

    async fn asked(
        &self,
        marker: String,
        question: Question,
        capped: bool,
        overtaken: CancellationToken,
    ) -> Answered {
        let stop = self.inner.stop.child_token();
        let _stops_with_this = stop.clone().drop_guard();
        let (inner, ends) = (Arc::clone(&self.inner), stop.clone());
        let mut task =
            self.inner.tasks.spawn(async move { inner.guarded(&marker, &question, capped, stop).await });
        let ended = tokio::select! {
            ended = &mut task => ended,
            () = overtaken.cancelled() => {
                ends.cancel();
                task.await
            }
        };
        ended.unwrap_or_else(|error| Answered {
            said: Err(Lapse::failed(&format!("the evaluation failed: {error}"))),
            usage: None,
        })
    }

    /// Ends all running evaluations and waits until their homes are removed. Later requests fail.
    pub async fn stop(&self) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

/// Builds the answer for a question that was not sent, so that it cost nothing.
fn lapsed(lapse: Lapse) -> Answered {
    Answered { said: Err(lapse), usage: Some(Usage::default()) }
}

impl Inner {
    /// Waits for one of the places for concurrent evaluations, then asks in a temporary home that is always removed.
    async fn guarded(
        &self,
        marker: &str,
        question: &Question,
        capped: bool,
        stop: CancellationToken,
    ) -> Answered {
        let patience = self.setup.settings.timeout;
        let turn = tokio::select! {
            turn = timeout(patience, self.turns.acquire()) => turn,
            () = stop.cancelled() => return lapsed(Lapse::Overtaken),
        };
        let Ok(Ok(_turn)) = turn else { return lapsed(Lapse::Busy) };
        // The result is remembered for exactly this credential: the user may log in meanwhile.
        let own = environment::own_without(&self.setup.withheld);
        let credential = Credential::find(&self.setup.settings, &own);
        let mark = Mark::of(&credential);
        if let Some(lapse) = self.refusals().standing(&mark, Instant::now()) {
            tracing::debug!(marker, detail = lapse.detail(), "the evaluator is still logged out");
            return lapsed(lapse.clone());
        }
        let mut home = match home::Home::new(&self.homes) {
            Ok(home) => home,
            Err(error) => return lapsed(self.failed(&format!("its home cannot be made: {error}"))),
        };
        let asking = self.ask((marker, question, capped), (&own, &credential), &mut home, &stop);
        let answered = match AssertUnwindSafe(asking).catch_unwind().await {
            Ok(answered) => answered,
            Err(_) => {
                // The home must not be removed while a process still uses it.
                self.setup.trees.end_marked(marker, GRACE).await;
                Answered { said: Err(Lapse::failed("the evaluation panicked")), usage: None }
            }
        };
        // It has some tens of files at most, but the disk may be slow.
        let _ = tokio::task::spawn_blocking(move || drop(home)).await;
        self.refusals().learn(mark, answered.said.as_ref().err(), Instant::now());
        answered
    }

    /// Redacts and logs the reason why the judge gave no usable answer.
    fn none(&self, lapse: Lapse, marker: &str) -> Lapse {
        let lapse = self.hush_lapse(lapse);
        tracing::warn!(marker, lapse = lapse.name(), detail = lapse.detail(), "no answer of the evaluator");
        lapse
    }

    fn refusals(&self) -> std::sync::MutexGuard<'_, Refusals> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(
        &self,
        (marker, question, capped): (&str, &Question, bool),
        (own, credential): (&BTreeMap<String, String>, &Credential),
        home: &mut home::Home,
        stop: &CancellationToken,
    ) -> Answered {
        let settings = &self.setup.settings;
        let invocation = ask::invocation(settings, own, credential, home, (marker, question.role()));
        let invocation = match invocation {
            Ok(invocation) => invocation,
            Err(error) => return lapsed(self.failed(&format!("its home cannot be furnished: {error}"))),
        };
        if spawn::locate(&invocation, &home.work()).is_err() {
            return lapsed(Lapse::missing(&invocation.program));
        }
        if let Some(how) = credential.missing(settings) {
            return lapsed(Lapse::logged_out(&how));
        }
        let nonce = match random_name() {
            Ok(nonce) => nonce,
            Err(error) => return lapsed(self.failed(&error.to_string())),
        };
        let job = child::Job {
            invocation: &invocation,
            folder: &home.work(),
            marker,
            input: question.prompt(&self.setup.redactor, &nonce),
            time: question.time(settings.timeout),
        };
        match child::run(job, &self.setup.trees, stop).await {
            Ok(ran) => self.heard(&ran, question.time(settings.timeout), capped),
            Err(why) => lapsed(self.failed(&why)),
        }
    }

    fn heard(&self, ran: &child::Ran, time: Duration, capped: bool) -> Answered {
        let settings = &self.setup.settings;
        let after_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let heard = ask::heard(settings.judge, ran, after_ms);
        let usage = heard.usage.map(|usage| self.priced(usage, capped));
        Answered { said: heard.said, usage }
    }

    /// Redacts secrets in a verdict, because a model may repeat what it was told.
    fn hush(&self, verdict: Verdict) -> Verdict {
        let clean = |message: &str| self.setup.redactor.redact(message).into_owned();
        match verdict {
            Verdict::Ok => Verdict::Ok,
            Verdict::Correction(message) => Verdict::correction(&clean(&message)),
            Verdict::ThinkDeeper(message) => Verdict::think_deeper(&clean(&message)),
            Verdict::Escalation(message) => Verdict::escalation(&clean(&message)),
        }
    }

    /// Redacts secrets in a failure, because CLIs repeat a refused key or a part of it.
    fn hush_lapse(&self, lapse: Lapse) -> Lapse {
        let clean = |text: &str| self.setup.redactor.redact(text).into_owned();
        match lapse {
            Lapse::TimedOut { .. } | Lapse::Busy | Lapse::Overtaken => lapse,
            Lapse::Missing { program } => Lapse::missing(&clean(&program)),
            Lapse::LoggedOut { why } => Lapse::logged_out(&clean(&why)),
            Lapse::Limited { why } => Lapse::limited(&clean(&why)),
            Lapse::Failed { why } => Lapse::failed(&clean(&why)),
            Lapse::Unparsable { said } => Lapse::unparsable(&clean(&said)),
        }
    }

    fn failed(&self, why: &str) -> Lapse {
        self.hush_lapse(Lapse::failed(why))
    }

    /// Sets the dollars of a usage: those that the CLI states, else by the model's price. Without a price it stays 0,
    /// or is that of the dearest models if `capped`.
    fn priced(&self, usage: Usage, capped: bool) -> Usage {
        let usage = usage.sane();
        if usage.cost_usd > 0.0 {
            return usage;
        }
        let known = self.setup.prices.of(&self.setup.settings.model);
        let cost = known.or(capped.then_some(DEAREST)).map_or(0.0, |price| price.of(usage));
        Usage { cost_usd: cost, estimated_usd: cost, ..usage }
    }
}

/// Returns sixteen random hexadecimal digits, for names of homes and for fences.
fn random_name() -> io::Result<String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| io::Error::other(format!("the system has no random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
