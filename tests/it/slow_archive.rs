//! An archive whose reader blocks until a test releases it.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A named pipe where the only archive of a folder was.
pub(crate) struct SlowArchive {
    file: PathBuf,
    kept: PathBuf,
    pipe: PathBuf,
    writer: Option<File>,
}

impl SlowArchive {
    pub(crate) fn in_place(dir: &Path) -> Self {
        let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        let file = files.pop().expect("an archive");
        assert!(files.is_empty(), "more than one: {files:?}");
        let (kept, pipe) = (dir.join("kept"), dir.join("pipe"));
        fs::rename(&file, &kept).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        fs::hard_link(&pipe, &file).unwrap();
        Self { file, kept, pipe, writer: None }
    }

    /// Waits until a reader has opened it.
    pub(crate) async fn is_read(&mut self) {
        let mut writing = OpenOptions::new();
        let flags = rustix::fs::OFlags::NONBLOCK.bits();
        writing.write(true).custom_flags(flags.try_into().expect("a small number"));
        // The pipe cannot be opened for writing before a reader has opened it.
        while self.writer.is_none() {
            self.writer = writing.open(&self.pipe).ok();
            tokio::task::yield_now().await;
        }
    }

    /// Makes it readable from now on; returns when the readers are `done`.
    pub(crate) async fn release(mut self, done: impl Fn() -> bool) {
        fs::rename(&self.kept, &self.file).unwrap();
        self.writer = None;
        while !done() {
            // A reader that still waits for a writer gets the end of the file.
            drop(OpenOptions::new().read(true).write(true).open(&self.pipe).unwrap());
            tokio::task::yield_now().await;
        }
    }
}
