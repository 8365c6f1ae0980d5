//! Messages for people about an unreadable database: the cause in plain words, and the commands to type.

use std::any::Any;
use std::io;
use std::path::Path;

use super::daily;
use super::error::in_words;
use super::store::Paths;

/// Describes sled's error in words, without its stack trace.
pub(super) fn plain(error: &sled::Error) -> String {
    match error {
        sled::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            "one of its files ends too early".to_owned()
        }
        sled::Error::Io(_) => in_words(error),
        sled::Error::Corruption { at: Some(at), .. } => {
            format!("the page at byte {} of its file does not match its checksum", at.lid())
        }
        sled::Error::Corruption { at: None, .. } => "a page does not match its checksum".to_owned(),
        sled::Error::Unsupported(_) => "its settings are not those that herder makes".to_owned(),
        sled::Error::CollectionNotFound(_) | sled::Error::ReportableBug(_) => {
            "its pages do not fit together".to_owned()
        }
    }
}

/// Describes a panic of sled in words. sled's own message is for its developers and goes to the log.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("it panicked");
    tracing::error!(text, "the database is damaged");
    if text.contains("Corruption") || text.contains("corrupt") {
        return "a page does not match its checksum".to_owned();
    }
    let told = ["called `", "assertion ", "index out of", "tried to "];
    match told.iter().any(|begin| text.starts_with(begin)) || text.contains('\n') {
        true => "its pages do not fit together".to_owned(),
        false => text.to_owned(),
    }
}

/// Returns the remedy for a folder whose journal has lost something: a shell command.
#[must_use]
pub fn how_to_restore(dir: &Path) -> String {
    advice(&Paths::new(dir))
}

/// Returns the remedy for a journal that is missing or unreadable: shell commands.
///
/// The commands move the parts of the journal, not the folder: that may be a mount point, and contains the agents'
/// homes with their logins.
pub(super) fn advice(paths: &Paths) -> String {
    let recent = [paths.recent(), paths.recent_before()];
    let parts = [paths.sled(), paths.acked(), paths.archives(), paths.exports()].into_iter().chain(recent);
    let there: Vec<String> =
        parts.filter(|part| part.exists()).map(|part| quoted(&part.to_string_lossy())).collect();
    let aside = (1..).map(|n| paths.dir.join(format!("damaged-{n}"))).find(|dir| !dir.exists());
    let aside = aside.expect("there is always another number");
    let away = quoted(&aside.to_string_lossy());
    let newest = daily::newest(&paths.exports());
    let newest = newest.as_deref().and_then(Path::file_name);
    let moved = format!("mkdir {away} && mv {} {away}", there.join(" "));
    let dir = quoted(&paths.dir.to_string_lossy());
    let import =
        |export: &Path| format!("herder import --data-dir {dir} {}", quoted(&export.to_string_lossy()));
    // An empty one contains nothing to recover.
    let whole = paths.log().metadata().is_ok_and(|log| log.len() > 0);
    let salvaged = paths.dir.join("salvaged.jsonl.gz");
    let salvage = whole.then(|| {
        let output = quoted(&salvaged.to_string_lossy());
        format!("herder export --data-dir {dir} --salvage -o {output} && {moved} && {}", import(&salvaged))
    });
    let salvage = salvage.map(|line| format!("To bring out what can be read, and go on with that: {line}"));
    let restore = match newest {
        Some(newest) => {
            let export = aside.join("exports").join(newest);
            format!(
                "To keep what is left of it and restore the newest daily export: {moved} && {}",
                import(&export)
            )
        }
        None => format!(
            "There is no daily export in its folder. To begin anew, or before you restore an export from elsewhere with \
             herder import: {moved}"
        ),
    };
    [salvage, Some(restore)].into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Quotes a text for a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%".contains(c);
    match text.chars().all(plain) && !text.is_empty() {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
