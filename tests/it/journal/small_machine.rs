//! An import needs no more memory than the exporting herder, however large the export is.

use std::process::Command;

use herder::core::time::Timestamp;
use herder::journal::{Journal, export};

use super::{audit, batch, settings, write};
use herder::journal::Stream;

const EVENTS: usize = 5_000;

/// The memory limit of the import, in KiB: 150 MB, while the events alone are 200 MB. An import takes 80 to 100 MB, more if
/// the disk is slow.
const MOST: u64 = 146_484;

#[tokio::test]
async fn an_import_takes_less_memory_than_what_it_imports() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("all.jsonl");
    let (journal, _) = Journal::open(&settings(&dir.path().join("old"))).expect("opens");
    let text = "x".repeat(40_000);
    for _ in 0..EVENTS / 50 {
        let entries = (0..50).map(|_| audit(&text)).collect();
        journal.commit(batch(vec![write(Stream::Audit, None, entries)])).await.expect("commits");
    }
    export(&journal, &file, Timestamp::from_seconds(1)).await.expect("exports");
    journal.close().await;
    // The system gives it no more, and it says which number it did not get.
    let script = format!("ulimit -d {MOST} && exec \"$0\" import --data-dir \"$1\" \"$2\"");
    let mut import = Command::new("sh");
    import.args(["-c", &script, env!("CARGO_BIN_EXE_herder")]).arg(dir.path().join("new")).arg(&file);
    let output = import.output().expect("runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    assert!(said.contains(&format!("{EVENTS} events")), "{said}");
}
