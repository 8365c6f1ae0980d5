//! The process that holds a journal, as it is recorded in the lock's file.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::core::time::Timestamp;

/// The process that holds a journal, recorded so that a second one can name it.
#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    pid: u32,
    host: String,
    since: Timestamp,
}

/// Records this process as the holder of a journal.
pub(super) fn write(file: &mut File) -> io::Result<()> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let holder = Holder { pid: std::process::id(), host, since: crate::clock::now() };
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&serde_json::to_vec(&holder)?)
}

/// Describes the recorded holder for people.
pub(super) fn describe(text: &str) -> String {
    let Ok(holder) = serde_json::from_str::<Holder>(text) else { return "another herder".to_owned() };
    let since = jiff::Timestamp::from_millisecond(holder.since.as_millis())
        .map(|since| since.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
        .unwrap_or_default();
    let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let gone = holder.host == here && !Path::new(&format!("/proc/{}", holder.pid)).exists();
    if gone {
        // The recorded process is gone: a new holder has just taken the lock and not recorded itself yet.
        return "another herder that is just starting".to_owned();
    }
    format!("the herder with process id {} on {}, running since {since}", holder.pid, holder.host)
}
