//! Files that agents give people.

use std::path::Path;

use tracing::warn;

use super::{Arguments, Caller, Host, Told, counted};
use crate::clock;
use crate::core::cut::both_ends;
use crate::core::file::{FileKind, KeptFile};
use crate::core::post::{SentFile, Target};
use crate::core::tools::NOTE_MAX;
use crate::files::FileLinks;
use crate::runtime::outbox::without_secrets;
use crate::runtime::text::{bounded, one_line};

/// Maximum number of lines of a text that are shown on a network that takes no files, if there is no page.
const FIRST_LINES: usize = 10;

/// Maximum length of those lines together, in bytes.
const FIRST_MAX: usize = 1500;

/// Sends a file of the agent's workspace to its own channel on every network.
pub(super) async fn send(host: &Host, caller: Caller<'_>, arguments: Arguments<'_>) -> Told {
    let path = arguments.needed("path")?;
    let text = arguments.text("text")?.unwrap_or_default();
    let text = one_line(&host.without_secrets(text), NOTE_MAX);
    counted(&host.0.takes, caller.agent)
        .map_err(|seconds| format!("You have tried that too often. Wait {seconds} s."))?;
    let bytes = host.fleet().take_file(caller.agent, path, host.0.setup.files.max).await?;
    let bytes = without_secrets(bytes, &host.0.setup.redactor);
    counted(&host.0.files, caller.agent).map_err(|seconds| {
        let most = host.0.setup.files.per_hour;
        format!("You have sent {most} files within an hour, which is the limit. Wait {seconds} s, or pack several into one.")
    })?;
    let name = host.without_secrets(&Path::new(path).file_name().unwrap_or_default().to_string_lossy());
    let first = first_lines(&bytes);
    let file = keep(host, name, bytes).await?;
    let places = host.places(caller.agent);
    let own: Vec<_> = places.iter().filter(|place| matches!(place.target, Target::Agent(_))).collect();
    if own.is_empty() {
        return Err("You have no channel that it could be sent to.".to_owned());
    }
    let to = own.iter().map(|place| (place.network.clone(), place.target.clone())).collect();
    let place = own.first().map(|place| place.name.clone()).unwrap_or_default();
    let link = host.0.setup.links.as_ref().map(|links| links.link(&file, clock::now()));
    let is_public = host.0.setup.links.as_ref().is_some_and(FileLinks::are_public);
    let first = if is_public { String::new() } else { first };
    let (name, size) = (file.name.clone(), file.size);
    let sent = SentFile { agent: caller.agent.clone(), file, text, link, first };
    host.fleet().send_file(to, sent, place).await?;
    Ok(format!("Sent {name} ({size} bytes) to your channel."))
}

/// Keeps a file, which is on disk when this returns.
async fn keep(host: &Host, name: String, bytes: Vec<u8>) -> Result<KeptFile, String> {
    let store = host.fleet().files();
    let kept = tokio::task::spawn_blocking(move || store.keep(&name, &bytes)).await;
    let kept = kept.ok().and_then(|kept| {
        kept.inspect_err(|reason| warn!(%reason, "a file that an agent sends cannot be kept")).ok()
    });
    kept.ok_or_else(|| "herder cannot keep the file at the moment; nothing was sent.".to_owned())
}

/// Returns the beginning of a text; nothing of other files.
fn first_lines(bytes: &[u8]) -> String {
    if FileKind::of(bytes) != FileKind::Text {
        return String::new();
    }
    let whole = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = whole.lines().take(FIRST_LINES).map(|line| bounded(line, FIRST_MAX)).collect();
    both_ends(lines.join("\n").trim_end(), FIRST_MAX)
}
