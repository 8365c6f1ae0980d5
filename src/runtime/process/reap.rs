//! Waits for adopted children that have ended, so that they do not fill the process table, and looks for living ones.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, waitpid};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::table::{Identity, first_children, look, own_children};
use super::{Inner, OWN, STARTED, lock, own_group};

/// Pause between two rounds of reaping, so that many ends at once are one round; meanwhile a dead process only occupies
/// its id.
const PAUSE: Duration = Duration::from_secs(1);

/// Number of rounds after which a dead child in this process's own group is reaped. Another part of the program may be
/// about to wait for it, but none takes that long.
const STRANGER_ROUNDS: u32 = 30;

/// Number of rounds after which a dead child in another process group, that is an agent's, is reaped. Known children
/// are waited for by their owners, and the rounds cover children that are being started.
const ADOPTED_ROUNDS: u32 = 1;

pub(super) fn start(inner: &Arc<Inner>) -> io::Result<()> {
    let ended = signal(SignalKind::child())?;
    #[expect(clippy::disallowed_methods, reason = "it ends when the service it holds weakly is dropped")]
    tokio::spawn(run(Arc::downgrade(inner), ended));
    Ok(())
}

async fn run(inner: Weak<Inner>, mut ended: Signal) {
    let mut strangers = HashMap::new();
    loop {
        let begun = STARTED.notified();
        let watched = {
            let own = lock(&OWN);
            own.known.len() > own.apart.len()
        };
        if strangers.is_empty() {
            // No notification reports an adoption: while agents run, adopted processes are polled.
            tokio::select! {
                more = ended.recv() => if more.is_none() { return },
                () = begun => {}
                () = tokio::time::sleep(PAUSE), if watched => {}
            }
        }
        let Some(inner) = inner.upgrade() else { return };
        round(&inner, &mut strangers);
        inner.look_for_strays();
        drop(inner);
        tokio::time::sleep(PAUSE).await;
    }
}

fn round(inner: &Inner, strangers: &mut HashMap<Identity, u32>) {
    let mut still = HashMap::new();
    let group = own_group();
    let own = lock(&OWN);
    let all = own_children().unwrap_or_default();
    let first = first_children().unwrap_or_default();
    for pid in all {
        if own.known.contains_key(&pid) {
            continue;
        }
        // A child that is being started may end before it is known.
        let adopted = own.starting == 0;
        if adopted && !first.contains(&pid) {
            elsewhere(inner, pid);
        }
        let Some(entry) = look(pid).filter(|entry| entry.zombie) else { continue };
        let rounds = strangers.get(&entry.identity).map_or(0, |rounds| rounds + 1);
        let is_agents = || lock(&inner.markers).contains_key(&entry.identity);
        let patience = if entry.group == group { STRANGER_ROUNDS } else { ADOPTED_ROUNDS };
        if (adopted && is_agents()) || rounds >= patience {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            // If it is gone already, nothing is left to do.
            let _ = pid.map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
        } else {
            still.insert(entry.identity, rounds);
        }
    }
    *strangers = still;
}

/// Handles a child that does not belong to the first thread: if it has a marker it was adopted, and from then on the
/// children of all threads are examined.
fn elsewhere(inner: &Inner, pid: u32) {
    let adopted = look(pid).is_some_and(|entry| inner.marker(entry.identity).is_some());
    if adopted && !inner.scattered.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            pid,
            "orphans come to another thread than the first; all threads' children are looked at"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::runtime::ProcessTrees;

    /// Time is virtual: rounds are counted, and not how fast the machine is.
    #[tokio::test(start_paused = true)]
    async fn an_adopted_orphan_that_ended_is_waited_for_after_few_rounds() {
        let trees = ProcessTrees::without_cgroups().expect("this process can adopt");
        let mut signals = signal(SignalKind::child()).expect("signals can be heard");
        let dir = tempfile::tempdir().expect("a folder");
        // It outlives its parent.
        let orphan = "echo $$ > new; mv new pid; while kill -0 $PPID 2> /dev/null; do :; done";
        let parent = format!("setsid sh -c '{orphan}' & until [ -e pid ]; do :; done");
        let status = Command::new("sh").args(["-c", &parent]).current_dir(dir.path()).status();
        assert!(status.expect("sh is there").success());
        let pid = std::fs::read_to_string(dir.path().join("pid")).expect("it began");
        let pid: u32 = pid.trim().parse().expect("a number");
        while look(pid).is_some_and(|entry| !entry.zombie) {
            tokio::task::yield_now().await;
        }
        // Signals come in real time, while which virtual time would run on: one more is heard before rounds count.
        signals.recv().await;
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::CHILD)
            .expect("a signal to itself");
        signals.recv().await;
        let ended = tokio::time::Instant::now();
        while look(pid).is_some() {
            tokio::time::sleep(PAUSE / 10).await;
        }
        assert!(ended.elapsed() <= PAUSE * 4, "{:?}", ended.elapsed());
        drop(trees);
    }
}
