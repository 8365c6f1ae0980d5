//! Reload of the configuration while herder runs.
//!
//! ```text
//!  SIGHUP ──────────┐                                        ┌─ agents ──► added, edited, cut, removed (supervisor)
//!  `reload` ────────┴─► one after the other ─► read, checked ┼─ limits ──► every later decision
//!                                                   │        ├─ access ──► every later line
//!                                     mistakes: nothing at all └─ the rest ► named: it waits for the next start
//! ```
//!
//! A file with a mistake changes nothing. A valid one is applied step by step, each on disk before the next; a herder
//! that is killed in between applies the rest at its next start, which compares the same file with the same record.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Mutex;
use tracing::{error, info, warn};

use crate::access::Access;
use crate::certificate::Certificate;
use crate::config::{self, Config, Problems};
use crate::core::id::NetworkName;
use crate::core::notice::{Notice, Refusal};
use crate::core::post::Target;
use crate::core::work::Actor;
use crate::journal::AuditEntry;
use crate::l10n::Locale;
use crate::redact::Redactor;
use crate::supervisor::{Asked, Configured, Fleet};

/// Maximum number of mistakes that the reply to `reload` lists; the log and `herder check` have all of them.
const PROBLEMS_MAX: usize = 100;

/// Maximum number of mistakes that a post on a network lists.
const POSTED_MAX: usize = 3;

/// The place from which the configuration is read.
#[derive(Debug, Clone)]
pub struct Source {
    /// Path of the configuration file.
    pub file: PathBuf,
    /// Path of the data folder from the command line, which takes precedence over the file's.
    pub data_dir: Option<PathBuf>,
}

impl Source {
    /// Reads the configuration for a start.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn load(&self) -> Result<Config, Problems> {
        config::load(&self.file).map(|config| self.placed(config))
    }

    /// Reads the configuration while herder runs.
    ///
    /// # Errors
    /// As for [`Source::load`]; an empty file is also a problem.
    pub fn load_again(&self) -> Result<Config, Problems> {
        config::load_again(&self.file).map(|config| self.placed(config))
    }

    fn placed(&self, mut config: Config) -> Config {
        if let Some(folder) = &self.data_dir {
            config.data_dir.clone_from(folder);
        }
        config
    }
}

/// The parts that a [`Reloader`] needs.
#[derive(Debug)]
pub struct Setup {
    /// The place from which the configuration is read; `None` if herder runs without a file.
    pub source: Option<Source>,
    /// The configuration at the start.
    pub config: Config,
    /// The handle to the fleet, whose agents and limits are changed.
    pub fleet: Fleet,
    /// The access rules, shared with all parts that check them.
    pub access: Access,
    /// The redactor, shared with all that speak: it learns the new secrets before any agent receives them.
    pub redactor: Redactor,
    /// The certificate of the HTTP listener, which is read again; `None` if there is none.
    pub certificate: Option<Certificate>,
}

/// Reloads the configuration. Cheap to clone; reloads of all clones run one at a time.
#[derive(Debug, Clone)]
pub struct Reloader {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    source: Option<Source>,
    /// The configuration at the start; some differences from it wait for the next start.
    started: Arc<Config>,
    /// The last valid configuration that was read; equal to `started` until the first reload.
    read: Mutex<Arc<Config>>,
    fleet: Fleet,
    access: Access,
    redactor: Redactor,
    certificate: Option<Certificate>,
}

impl Reloader {
    /// Creates a reloader; reads nothing yet.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let Setup { source, config, fleet, access, redactor, certificate } = setup;
        let started = Arc::new(config);
        let read = Mutex::new(Arc::clone(&started));
        let inner = Inner { source, started, read, fleet, access, redactor, certificate };
        Self { inner: Arc::new(inner) }
    }

    /// Reads the file and applies its changes. Returns a notice that lists them.
    ///
    /// # Errors
    /// The file has mistakes, herder shuts down or has no file: then nothing has changed.
    pub async fn reload(&self) -> Result<Notice, Refusal> {
        let inner = &*self.inner;
        let mut read = inner.read.lock().await;
        if inner.fleet.is_draining() {
            return Err(Refusal::GoingDown);
        }
        let source = inner.source.clone().ok_or(Refusal::NoConfiguration)?;
        let file = source.file.display().to_string();
        let loaded = tokio::task::spawn_blocking(move || source.load_again()).await;
        let new = match loaded {
            Ok(Ok(new)) => new,
            Ok(Err(problems)) => return Err(refused(&problems)),
            Err(panic) => {
                error!(%panic, "reading the configuration failed");
                let problems = vec![format!("{file}: it could not be read; the log has the cause")];
                return Err(Refusal::NotReloaded { problems, count: 1 });
            }
        };
        inner.read_certificate().await?;
        for warning in &new.warnings {
            warn!("{}", warning.sentence(&file));
        }
        let folders = new.folders.clone();
        #[expect(clippy::disallowed_methods, reason = "nobody waits for folders, which may never answer")]
        tokio::spawn(async move {
            for unusable in config::unusable(&folders).await {
                warn!("{}", unusable.sentence(&file));
            }
        });
        let sections = read.changed_now(&new);
        let later = inner.started.changed_later(&new);
        // Before any agent could print or receive them.
        inner.redactor.learn(&new.secrets);
        inner.fleet.withhold(&new.secret_variables);
        inner.fleet.set_policy(inner.started.policy_with(&new));
        inner.access.set(&new.access);
        let agents = inner.fleet.configure(new.agents.clone()).await?;
        *read = Arc::new(new);
        drop(read);
        let notice = reloaded(agents, sections, later);
        info!(?notice, "the configuration was read again");
        Ok(notice)
    }

    /// Reloads because of SIGHUP: the result is announced in the control channels, mistakes in the alerts channels.
    pub async fn reload_for_signal(&self) {
        let fleet = &self.inner.fleet;
        let by = Actor { network: NetworkName::from("herder"), name: "SIGHUP".to_owned(), identity: None };
        let (place, verb) = ("local".to_owned(), "reload".to_owned());
        let audit = AuditEntry { by, place, agent: None, verb, text: "SIGHUP".to_owned() };
        let asked = Asked { audit, answer: None, message: None };
        if let Err(refusal) = fleet.record(&asked).await {
            error!(
                refusal = Locale::default().refusal(&refusal),
                "the configuration is not read again: that cannot be recorded"
            );
            return;
        }
        match self.reload().await {
            Ok(notice) => fleet.announce(notice).await,
            Err(Refusal::NotReloaded { mut problems, count }) => {
                problems.truncate(POSTED_MAX);
                fleet.alert(Notice::NotReloaded { problems, count }).await;
            }
            Err(refusal) => {
                warn!(refusal = Locale::default().refusal(&refusal), "the configuration is not read again")
            }
        }
    }

    /// Reloads the configuration for a person's command. If the reply is posted, it is in the outbox when this returns.
    ///
    /// # Errors
    /// As for [`Reloader::reload`], or the command cannot be recorded.
    pub async fn reload_for(&self, asked: &Asked) -> Result<Notice, Refusal> {
        let fleet = &self.inner.fleet;
        fleet.record(asked).await?;
        let notice = self.reload().await?;
        fleet.owe_answer(asked, &Target::Control, &notice).await?;
        Ok(notice)
    }
}

impl Inner {
    /// Reads the certificate of the HTTP listener again.
    async fn read_certificate(&self) -> Result<(), Refusal> {
        let Some(certificate) = self.certificate.clone() else { return Ok(()) };
        let read = tokio::task::spawn_blocking(move || certificate.read_again()).await;
        let why = match read {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(why)) => why.to_string(),
            Err(panic) => panic.to_string(),
        };
        error!(why, "the configuration is not taken in, and nothing has changed");
        Err(Refusal::NotReloaded { problems: vec![why], count: 1 })
    }
}

fn sentences(problems: &Problems) -> Vec<String> {
    problems.list.iter().map(|problem| problem.sentence(&problems.file)).collect()
}

/// Builds the refusal for a file with mistakes: all of them go to the log, some to the person.
fn refused(problems: &Problems) -> Refusal {
    let mut sentences = sentences(problems);
    error!("the configuration is not taken in, and nothing has changed:\n{}", sentences.join("\n"));
    let count = u32::try_from(sentences.len()).unwrap_or(u32::MAX);
    sentences.truncate(PROBLEMS_MAX);
    Refusal::NotReloaded { problems: sentences, count }
}

fn reloaded(agents: Configured, sections: Vec<&'static str>, later: Vec<&'static str>) -> Notice {
    let Configured { added, changed, restarted, removed, replaced, stayed, failed } = agents;
    let names = |names: Vec<&'static str>| names.into_iter().map(str::to_owned).collect();
    let (sections, later) = (names(sections), names(later));
    Notice::Reloaded { added, changed, restarted, removed, replaced, stayed, failed, sections, later }
}
