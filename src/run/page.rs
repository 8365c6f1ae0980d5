//! The web page and the API: opened before any agent starts, answering once everything else is ready.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
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
use crate::journal::Journal;
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
    let data_dir = config.data_dir.clone();
    let key = tokio::task::spawn_blocking(move || file_key(&data_dir)).await.ok();
    let key = key.and_then(|key| {
        key.inspect_err(|reason| warn!(%reason, "there are no links to files: their key cannot be kept")).ok()
    });
    let files = key.map(|key| FileLinks::new(&url, &key));
    Ok(Some(Opened { bound, url, logins, files }))
}

/// Name of the file with the key by which links to files are signed: no export of the journal has it.
const KEY_FILE: &str = "files.key";

/// Returns the key by which links to files are signed. It is kept, so that links outlive a restart.
fn file_key(data_dir: &Path) -> io::Result<Vec<u8>> {
    let path = data_dir.join(KEY_FILE);
    match fs::read(&path) {
        Ok(key) if !key.is_empty() => return Ok(key),
        Ok(_) => {}
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => {}
        Err(reason) => return Err(reason),
    }
    let key = random().ok_or_else(|| io::Error::other("there is no randomness"))?;
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
    file.write_all(key.as_bytes())?;
    file.sync_all()?;
    Ok(key.into_bytes())
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
