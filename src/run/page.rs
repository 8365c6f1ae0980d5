//! The web page and the API: opened before any agent starts, answering once everything else is ready.

use std::time::Duration;

use tracing::{info, warn};

use super::Herder;
use crate::access::logins::random;
use crate::access::{Access, Logins};
use crate::certificate::Certificate;
use crate::commands::Dispatcher;
use crate::config::Config;
use crate::core::id::NetworkName;
use crate::core::speech::{Author, Origin};
use crate::files::FileLinks;
use crate::http::{self, Bound, HttpError};
use crate::journal::{Journal, Memo};
use crate::l10n::Locale;
use crate::redact::Redactor;

/// The opened listener of the web page, with its URL and its logins.
pub(super) struct Opened {
    bound: Bound,
    pub(super) url: String,
    pub(super) logins: Logins,
    /// Makes links to files; `None` if there is no key to sign them.
    pub(super) files: Option<FileLinks>,
}

/// Opens the listener of `[http]`; `None` if it is not configured.
pub(super) async fn open(config: &Config, journal: &Journal) -> Result<Option<Opened>, HttpError> {
    let Some(settings) = &config.http else { return Ok(None) };
    let bound = http::bind(settings, &config.data_dir).await?;
    let url = bound.url().to_owned();
    let logins = Logins::open(journal.clone(), &url).await;
    let files = file_key(journal).await.map(|key| FileLinks::new(&url, &key));
    Ok(Some(Opened { bound, url, logins, files }))
}

/// Returns the key by which links to files are signed; `None` if it cannot be read or made. It is kept, so that links
/// outlive a restart.
async fn file_key(journal: &Journal) -> Option<Vec<u8>> {
    /// Key of the memo with it.
    const KEY: &str = "files/key";
    let reading = journal.clone();
    let read = tokio::task::spawn_blocking(move || reading.memos(KEY)).await.ok()?;
    let kept = read.ok()?.into_iter().find(|(key, _)| key == KEY);
    if let Some((_, key)) = kept {
        return Some(key.into_bytes());
    }
    let key = random()?;
    if let Err(reason) = journal.remember(vec![Memo { key: KEY.to_owned(), value: Some(key.clone()) }]).await
    {
        warn!(%reason, "links to files end with this run");
    }
    Some(key.into_bytes())
}

impl Opened {
    /// Returns the TLS certificate of the listener; `None` if connections are not encrypted.
    pub(super) fn certificate(&self) -> Option<Certificate> {
        self.bound.certificate()
    }
}

impl Herder {
    pub(super) fn start_page(
        &self,
        config: &Config,
        opened: Opened,
        (dispatcher, access, locale, redactor): (Dispatcher, Access, Locale, Redactor),
    ) {
        let Some(settings) = config.http.clone() else { return };
        info!(url = opened.url, "the page and the API are open");
        let setup = http::Setup {
            settings,
            name: config.name.clone(),
            fleet: self.fleet.clone(),
            journal: self.journal.clone(),
            dispatcher,
            access,
            locale,
            redactor,
            networks: self.queues.keys().cloned().collect(),
            logins: opened.logins,
            files: opened.files,
            queues: self.queues.values().cloned().collect(),
            hooks: self.hooks.values().cloned().collect(),
        };
        self.tasks.spawn(opened.bound.serve(setup, self.hearing.clone()));
    }

    /// Returns the prefix of links to the page, if it is enabled.
    #[must_use]
    pub fn page_url(&self) -> Option<&str> {
        self.page.as_ref().map(|(url, _)| url.as_str())
    }

    /// Returns a link that logs in to the web page, once and within `good_for`, with the rights of the local socket;
    /// `None` if the page is disabled.
    #[must_use]
    pub fn page_link(&self, nick: &str, good_for: Duration) -> Option<String> {
        let (_, logins) = self.page.as_ref()?;
        let author = Author {
            network: NetworkName::from("local"),
            nick: nick.to_owned(),
            account: None,
            mask: None,
            roles: Vec::new(),
            origin: Origin::LocalSocket,
        };
        logins.offer(&author, good_for)
    }
}
