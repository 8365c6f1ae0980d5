//! The web page and the API: opened before any agent starts, answering once everything else is ready.

use std::time::Duration;

use tracing::info;

use super::Herder;
use crate::access::{Access, Logins};
use crate::certificate::Certificate;
use crate::commands::Dispatcher;
use crate::config::Config;
use crate::core::id::NetworkName;
use crate::core::speech::{Author, Origin};
use crate::http::{self, Bound, HttpError};
use crate::journal::Journal;
use crate::l10n::Locale;
use crate::redact::Redactor;

/// The opened listener of the web page, with its URL and its logins.
pub(super) struct Opened {
    bound: Bound,
    pub(super) url: String,
    pub(super) logins: Logins,
}

/// Opens the listener of `[http]`; `None` if it is not configured.
pub(super) async fn open(config: &Config, journal: &Journal) -> Result<Option<Opened>, HttpError> {
    let Some(settings) = &config.http else { return Ok(None) };
    let bound = http::bind(settings, &config.data_dir).await?;
    let url = bound.url().to_owned();
    let logins = Logins::open(journal.clone(), &url).await;
    Ok(Some(Opened { bound, url, logins }))
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
