//! Files that a line names by their addresses, for networks on which nothing can be attached.

use std::sync::OnceLock;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Url;
use tracing::{debug, warn};

use super::super::parse::Heard;
use super::super::say::Voice;
use super::Inner;
use crate::core::file::{FILES_MAX, KeptFile, file_name};
use crate::core::link::DISCORD_NETWORK;
use crate::core::speech::{Inbound, Origin};
use crate::files::{FileRules, FileStore};
use crate::webhook::{Client, Unfetched};

/// Maximum time for the downloads of a line, all of which run at once. The line is answered within it: only then does it
/// count as received.
const WITHIN: Duration = Duration::from_secs(8);

/// Endings of addresses that lead to a file. Any other address is that of a page, which the agent can read itself.
const ENDINGS: [&str; 47] = [
    "png", "jpg", "jpeg", "gif", "webp", "svg", "pdf", "zip", "tar", "gz", "tgz", "bz2", "xz", "zst", "7z",
    "txt", "log", "md", "csv", "tsv", "json", "jsonl", "xml", "yaml", "yml", "toml", "ini", "conf", "sql",
    "diff", "patch", "c", "cpp", "cs", "go", "h", "java", "js", "kt", "lua", "py", "rb", "rs", "sh", "swift",
    "ts", "ipynb",
];

/// Downloads of files, under the rules of webhooks.
#[derive(Debug)]
pub(in crate::commands) struct Files {
    pub(in crate::commands) rules: FileRules,
    client: OnceLock<Option<Client>>,
}

impl Files {
    pub(super) fn new(rules: FileRules) -> Self {
        Self { rules, client: OnceLock::new() }
    }

    fn client(&self) -> Option<&Client> {
        let client = || {
            let made = Client::new(self.rules.allow_private, WITHIN);
            made.inspect_err(|reason| warn!(%reason, "no file can be fetched")).ok()
        };
        self.client.get_or_init(client).as_ref()
    }
}

impl Inner {
    /// Returns the files that go with a line: those attached to it, else those that it names by address, which are fetched.
    /// The lines say which of them do not go with it, and why.
    pub(super) async fn files_of(
        &self,
        inbound: &Inbound,
        heard: &Heard,
        voice: Voice<'_>,
    ) -> (Vec<KeptFile>, Vec<String>) {
        let is_chat = inbound.author.origin == Origin::Network;
        if !inbound.files.is_empty() || !is_chat || inbound.author.network.as_str() == DISCORD_NETWORK {
            return (inbound.files.clone(), Vec::new());
        }
        let text = match heard {
            Heard::Work { text, .. } => text,
            Heard::Command(call) if call.command.verb.takes_files() => &call.text,
            Heard::Command(_) | Heard::Problem(_) | Heard::Nothing => return (Vec::new(), Vec::new()),
        };
        let (mut kept, mut lines) = (Vec::new(), Vec::new());
        let named = addresses(text);
        let Some(client) = self.files.client().filter(|_| !named.is_empty()) else { return (kept, lines) };
        if !self.fleet.takes_files() {
            let files = named.iter().map(name).collect::<Vec<_>>().join(", ");
            return (kept, vec![voice.text("files-old-runner", &[("files", files.into())])]);
        }
        let fetch = async |url: &Url| {
            let fetched = client.fetch(url.as_str(), self.files.rules.max);
            tokio::time::timeout(WITHIN, fetched).await.unwrap_or(Err(Unfetched::Unanswered))
        };
        let fetched = join_all(named.iter().map(fetch)).await;
        for (url, fetched) in named.iter().zip(fetched) {
            let name = name(url);
            let kept_file = match fetched {
                // A page is read by the agent itself.
                Err(Unfetched::Page) => continue,
                Ok(bytes) => keep(self.fleet.files(), &name, bytes).await.ok_or("failed"),
                Err(why) => {
                    debug!(?why, "a file that a line names was not fetched");
                    Err(word(why))
                }
            };
            match kept_file {
                Ok(file) => kept.push(file),
                Err(why) => lines.push(voice.text(
                    "files-not-fetched",
                    &[
                        ("file", name.into()),
                        ("why", why.into()),
                        ("max", self.files.rules.max_mebibytes().into()),
                    ],
                )),
            }
        }
        (kept, lines)
    }
}

/// Keeps a file, and returns it once it is on disk.
async fn keep(store: FileStore, name: &str, bytes: Vec<u8>) -> Option<KeptFile> {
    let name = name.to_owned();
    let kept = tokio::task::spawn_blocking(move || store.keep(&name, &bytes)).await.ok()?;
    kept.inspect_err(|reason| warn!(%reason, "a file cannot be kept")).ok()
}

/// Returns the word for a reason in the sentence about it.
const fn word(why: Unfetched) -> &'static str {
    match why {
        Unfetched::Private => "private",
        Unfetched::Redirects => "redirects",
        Unfetched::TooLong => "long",
        Unfetched::Status(_) | Unfetched::Page => "refused",
        Unfetched::Unanswered => "unanswered",
    }
}

/// Returns the name of the file at an address.
fn name(url: &Url) -> String {
    file_name(url.path_segments().and_then(|mut parts| parts.next_back()).unwrap_or_default())
}

/// Returns the addresses of files in a text, each once.
fn addresses(text: &str) -> Vec<Url> {
    let mut found: Vec<Url> = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_start_matches(['<', '(', '"', '\'', '`']);
        if !(word.starts_with("https://") || word.starts_with("http://")) || found.len() >= FILES_MAX {
            continue;
        }
        let word = word.trim_end_matches(['>', ')', '"', '\'', '`', ',', '.', ';', ':', '!', '?']);
        let Ok(url) = Url::parse(word) else { continue };
        let ending = name(&url).rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let is_file = ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()));
        if is_file && !found.contains(&url) {
            found.push(url);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_are_told_from_those_of_pages() {
        for (text, wanted) in [
            ("look at https://example.org/a/shot.PNG please", &["https://example.org/a/shot.PNG"][..]),
            ("(see <http://example.org/log.txt>), and", &["http://example.org/log.txt"]),
            ("https://example.org/x.tar.gz?raw=1.", &["https://example.org/x.tar.gz?raw=1"]),
            ("https://example.org/a.png https://example.org/a.png", &["https://example.org/a.png"]),
            ("https://example.org/ https://example.org/page https://example.org/index.html", &[]),
            ("file:///etc/passwd.txt ftp://example.org/a.png example.org/a.png", &[]),
            ("https:// http://[::1/a.png", &[]),
        ] {
            let found: Vec<String> = addresses(text).iter().map(Url::to_string).collect();
            assert_eq!(found, wanted, "{text}");
        }
        let many: String = (0..50).map(|n| format!("https://example.org/{n}.png ")).collect();
        assert_eq!(addresses(&many).len(), FILES_MAX);
    }
}
