//! The page, the API and the probes: one listener, opened by `[http]`.
//!
//! ```text
//!  connection ─► bounds (connections, header time, slow readers) ─► guard (Host, Origin, headers) ─► route
//!                                                                     │
//!                       who: a token, or a session of the page ◄──────┘
//! ```
//!
//! Nothing here decides what somebody may do: every request becomes a [`Caller`](who::Caller) whose role comes from
//! [`crate::access`], and everything that changes something goes through [`crate::commands::Dispatcher`].

mod api;
mod doors;
mod file;
mod guard;
mod health;
mod label;
mod live;
mod metrics;
mod page;
mod screen;
mod who;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::logins::random;
use crate::access::{Access, Logins};
use crate::commands::Dispatcher;
use crate::config::Http;
use crate::core::id::NetworkName;
use crate::files::FileLinks;
use crate::journal::Journal;
use crate::l10n::Locale;
use crate::outbox::NetworkQueue;
use crate::redact::Redactor;
use crate::supervisor::Fleet;

pub use doors::{Bound, HttpError, bind};
pub use metrics::metrics_markdown;

/// The largest body of a request, in bytes.
const BODY_MAX: usize = 64 * 1024;

/// The parts of herder that the listener uses.
#[derive(Debug)]
pub struct Setup {
    /// The section.
    pub settings: Http,
    /// Display name of herder, from the configuration's `name`.
    pub name: String,
    /// The agents.
    pub fleet: Fleet,
    /// The journal, which also keeps the sessions of the page.
    pub journal: Journal,
    /// Carries out what is asked.
    pub dispatcher: Dispatcher,
    /// The access rules, which say who may use the page and the API.
    pub access: Access,
    /// The language of the posts; the page has that of the browser.
    pub locale: Locale,
    /// Takes secrets out of what is shown.
    pub redactor: Redactor,
    /// The chat networks that are configured.
    pub networks: Vec<NetworkName>,
    /// Codes and sessions of the page.
    pub logins: Logins,
    /// Checks links to files; `None` if there are none.
    pub files: Option<FileLinks>,
    /// Posts that are owed to networks.
    pub queues: Vec<Arc<NetworkQueue>>,
    /// Events that are owed to programs elsewhere.
    pub hooks: Vec<Arc<NetworkQueue>>,
}

/// [`Setup`], shared by all requests.
#[derive(Debug)]
struct App {
    setup: Setup,
    own: guard::Own,
    tokens: Vec<who::Known>,
    failed_logins: who::FailedLogins,
    health: health::Health,
    live: live::Streams,
    once: api::Known,
    locales: Vec<Locale>,
    screens: screen::Screens,
    /// Stands in rendered forms for what proves that they are a session's own; nobody can guess it.
    form_mark: String,
    /// Tasks that end with `shutdown`, and are waited for.
    tasks: TaskTracker,
    /// Cancelled when streams have to end.
    shutdown: CancellationToken,
}

type Shared = Arc<App>;

fn app(setup: Setup, own: guard::Own, (shutdown, tasks): (CancellationToken, TaskTracker)) -> Router {
    let others = crate::l10n::LOCALES.iter().filter(|(name, _)| *name != setup.locale.name());
    let others = others.filter_map(|(name, _)| setup.locale.other(name).ok());
    let app = Arc::new(App {
        tokens: who::known(&setup.settings),
        failed_logins: who::FailedLogins::default(),
        health: health::Health::default(),
        live: live::Streams::default(),
        once: api::Known::default(),
        screens: screen::Screens::default(),
        form_mark: random().unwrap_or_else(|| "a-form-of-nobody".to_owned()),
        locales: std::iter::once(setup.locale.clone())
            .chain(others)
            .map(|locale| locale.in_form(page::sentence))
            .collect(),
        tasks,
        shutdown,
        own,
        setup,
    });
    Router::new()
        .route("/livez", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics::metrics))
        .nest("/api/v1", api::routes())
        .route("/", get(page::fleet))
        .route("/agents/{name}", get(page::agent))
        .route("/agents/{name}/sessions/{session}", get(page::transcript))
        .route("/board", get(page::board))
        .route("/tasks/{id}", get(page::task))
        .route("/money", get(page::money))
        .route("/money.csv", get(page::money_csv))
        .route("/history", get(page::history))
        .route("/files/{until}/{signature}/{sha256}/{name}", get(file::serve))
        .route("/login/{code}", get(page::door).post(page::enter))
        .route("/logout", post(page::leave))
        .route("/do", post(page::act))
        .route("/language", post(page::choose_language))
        .route("/live", get(live::stream))
        .route("/assets/{file}", get(page::asset))
        .fallback(page::nowhere)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard::timely))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard::guard))
        .with_state(app)
}
