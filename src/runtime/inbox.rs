//! Files for an agent: written to the inbox in its workspace, named in the prompt, and shown to its model if they are
//! pictures.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::renameat;

use super::inside::{fresh, made, own_folder, removed};
use super::{Local, folder};
use crate::clock::running::Running;
use crate::core::context::FOLDER;
use crate::core::file::{FILES_MAX, INBOX, KeptFile, file_name};
use crate::core::id::AgentName;

/// Maximum length of a picture that a model is shown, in bytes: the model APIs take five megabytes of Base64.
const PICTURE_MAX: u64 = 3_750_000;

/// Maximum length of all pictures of a message, in bytes: it is held in memory until the CLI has read it.
const PICTURES_MAX: u64 = 4 * PICTURE_MAX;

/// Maximum time for the workspace's file system to take a file.
const WRITTEN_WITHIN: Duration = Duration::from_secs(30);

/// Prefix of the name of a file in the inbox while it is written: several are written at a time.
const NEW: &str = ".new-";

/// A picture for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Media type of the picture.
    pub media: &'static str,
    /// The picture itself.
    pub bytes: Arc<[u8]>,
    /// Path of the file in the inbox; `None` if it could not be written there.
    pub path: Option<PathBuf>,
}

impl Picture {
    /// Returns the bytes in Base64.
    #[must_use]
    pub fn base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }
}

/// Pictures on their way to a runtime's input.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    /// Pictures of the message that follows.
    pub(super) shown: Vec<Picture>,
    /// Pictures of the prompt.
    pub(super) prompt: Vec<Picture>,
}

impl Pictures {
    /// Keeps the pictures that were shown last for the prompt.
    pub(super) fn are_of_prompt(&mut self) {
        self.prompt = std::mem::take(&mut self.shown);
    }
}

/// Files that were brought to an agent.
#[derive(Debug, Default)]
pub(super) struct Brought {
    /// Note about the files for the agent.
    pub(super) note: String,
    pub(super) pictures: Vec<Picture>,
}

impl Brought {
    /// Returns what is told where files were to be brought, and herder failed.
    pub(super) fn lost() -> Self {
        let note = "Files came with this message, and herder has lost them.".to_owned();
        Self { note, ..Self::default() }
    }

    /// Returns a prompt with the note about its files.
    pub(super) fn with(&self, prompt: &str) -> String {
        if self.note.is_empty() { prompt.to_owned() } else { format!("{prompt}\n\n{}", self.note) }
    }
}

/// Brings files to an agent. One that cannot be brought is named to the agent with the reason.
pub(super) async fn bring(
    (agent, workspace): (&AgentName, &Path),
    files: &[KeptFile],
    local: &Local,
    running: &Running,
) -> Brought {
    let mut brought = Brought::default();
    if files.is_empty() {
        return brought;
    }
    let place = format!("{FOLDER}/{agent}/{INBOX}");
    brought.note = format!("Files that came with this message, in {place}/ of your workspace:");
    let mut shown = 0;
    for file in files.iter().take(FILES_MAX) {
        let name = file_name(&file.name);
        let read = match &local.files {
            Some(source) => source.read(file).await,
            None => None,
        };
        let Some(bytes) = read.map(Arc::<[u8]>::from) else {
            // A write to a string cannot fail.
            let _ = write!(brought.note, "\n- {name} is missing: herder does not have it any more");
            continue;
        };
        let path = match write_to_inbox((agent, workspace), &name, Arc::clone(&bytes), running).await {
            Ok(()) => {
                let KeptFile { size, sha256, kind, .. } = file;
                let _ = write!(brought.note, "\n- {name} ({}, {size} bytes, SHA-256 {sha256})", kind.media());
                Some(workspace.join(&place).join(&name))
            }
            Err(reason) => {
                let _ = write!(brought.note, "\n- {name} is missing: it could not be written ({reason})");
                None
            }
        };
        if file.kind.is_picture() {
            let fits = file.size <= PICTURE_MAX && shown + file.size <= PICTURES_MAX;
            if fits {
                shown += file.size;
                brought.pictures.push(Picture { media: file.kind.media(), bytes, path });
            } else {
                brought.note.push_str(", too large to be shown");
            }
        }
    }
    brought
}

async fn write_to_inbox(
    (agent, workspace): (&AgentName, &Path),
    name: &str,
    bytes: Arc<[u8]>,
    running: &Running,
) -> Result<(), String> {
    let (agent, name) = (agent.clone(), name.to_owned());
    let write = move |workspace: &Path| write(workspace, &agent, &name, &bytes);
    let written = folder::ask(running, workspace, WRITTEN_WITHIN, write).await;
    written.map_err(|silent| silent.to_string())?.map_err(|error| error.to_string())
}

/// Writes a file to an agent's inbox, in place of one of the same name.
fn write(workspace: &Path, agent: &AgentName, name: &str, bytes: &[u8]) -> io::Result<()> {
    let inbox = made(&own_folder(workspace, agent)?, INBOX)?;
    let new = format!("{NEW}{name}");
    // A killed herder may have left one.
    removed(&inbox, &new)?;
    let written = File::from(fresh(&inbox, &new)?).write_all(bytes);
    let written = written.and_then(|()| Ok(renameat(&inbox, &new, &inbox, name)?));
    if written.is_err() {
        drop(removed(&inbox, &new));
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::core::file::FileKind;
    use crate::files::{FileSource, FileStore};

    fn spark() -> AgentName {
        AgentName::new("spark").expect("a good name")
    }

    async fn brought(dir: &Path, files: &[KeptFile], store: &FileStore) -> Brought {
        let local = Local { files: Some(FileSource::Store(store.clone())), ..Local::default() };
        bring((&spark(), dir), files, &local, &Running::default()).await
    }

    #[tokio::test]
    async fn files_are_written_named_and_shown() {
        let (dir, data) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let store = FileStore::new(data.path());
        let kept = |name: &str, bytes: &[u8]| store.keep(name, bytes).expect("it is kept");
        let text = kept("7-1-log.txt", b"one\n");
        let picture = kept("7-2-cat.pdf", b"\x89PNG\r\n\x1a\nno more");
        let gone = KeptFile { sha256: crate::files::digest(b"other"), ..text.clone() };
        let first = brought(dir.path(), &[text.clone(), picture.clone(), gone], &store).await;
        let inbox = dir.path().join(".herder/spark/inbox");
        assert_eq!(
            first.note,
            format!(
                "Files that came with this message, in .herder/spark/inbox/ of your workspace:\n\
                 - 7-1-log.txt (text/plain; charset=utf-8, 4 bytes, SHA-256 {})\n\
                 - 7-2-cat.pdf (image/png, 15 bytes, SHA-256 {})\n\
                 - 7-1-log.txt is missing: herder does not have it any more",
                text.sha256, picture.sha256
            )
        );
        assert_eq!(std::fs::read(inbox.join("7-1-log.txt")).expect("it is there"), b"one\n");
        let [shown] = &first.pictures[..] else { panic!("one picture: {first:?}") };
        assert_eq!((shown.media, &*shown.bytes), ("image/png", &b"\x89PNG\r\n\x1a\nno more"[..]));
        assert_eq!(shown.path, Some(inbox.join("7-2-cat.pdf")));
        // Again, as after a kill: the same files, and nothing beside them.
        brought(dir.path(), &[text, picture], &store).await;
        assert_eq!(std::fs::read_dir(&inbox).expect("a folder").count(), 2);
        assert_eq!(std::fs::read(dir.path().join(".herder/.gitignore")).expect("it is there"), b"*\n");
    }

    #[tokio::test]
    async fn files_of_several_messages_at_a_time_are_each_their_own() {
        let (dir, data) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let store = FileStore::new(data.path());
        let kept: Vec<KeptFile> = (1..=16_u8)
            .map(|n| store.keep(&format!("{n}-1-a.bin"), &vec![n; 200_000]).expect("it is kept"))
            .collect();
        let all = kept.iter().map(|file| brought(dir.path(), std::slice::from_ref(file), &store));
        for brought in futures_util::future::join_all(all).await {
            assert!(!brought.note.contains("is missing"), "{}", brought.note);
        }
        for (n, file) in (1..=16_u8).zip(&kept) {
            let path = dir.path().join(".herder/spark/inbox").join(&file.name);
            assert_eq!(std::fs::read(path).expect("it is there"), vec![n; 200_000]);
        }
    }

    #[tokio::test]
    async fn a_large_picture_is_a_file_alone() {
        let (dir, data) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let store = FileStore::new(data.path());
        let bytes = [&b"\xff\xd8\xff"[..], &vec![0; 3_750_000]].concat();
        let kept = store.keep("7-1-a.jpg", &bytes).expect("it is kept");
        assert_eq!(kept.kind, FileKind::Jpeg);
        let brought = brought(dir.path(), &[kept], &store).await;
        assert_eq!(brought.pictures, []);
        assert!(brought.note.ends_with(", too large to be shown"), "{}", brought.note);
        assert!(dir.path().join(".herder/spark/inbox/7-1-a.jpg").exists());
    }

    #[tokio::test]
    async fn no_link_leads_out_of_the_inbox() {
        let data = tempfile::tempdir().expect("a folder");
        let store = FileStore::new(data.path());
        let kept = store.keep("a.txt", b"new").expect("it is kept");
        for link in [".herder", ".herder/spark", ".herder/spark/inbox", ".herder/spark/inbox/a.txt"] {
            let (dir, elsewhere) =
                (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
            let target = elsewhere.path().join("a.txt");
            std::fs::write(&target, "mine").expect("a file");
            let link = dir.path().join(link);
            std::fs::create_dir_all(link.parent().expect("a folder")).expect("a folder");
            let is_file = link.ends_with("a.txt");
            symlink(if is_file { &target } else { elsewhere.path() }, &link).expect("a link");
            let brought = brought(dir.path(), std::slice::from_ref(&kept), &store).await;
            assert_eq!(std::fs::read(&target).expect("it is there"), b"mine", "{}", link.display());
            assert_eq!(std::fs::read_dir(elsewhere.path()).expect("a folder").count(), 1);
            // A link in the file's place is replaced.
            assert_eq!(brought.note.contains("is missing"), !is_file, "{}", brought.note);
            assert!(!is_file || !link.is_symlink());
        }
    }
}
