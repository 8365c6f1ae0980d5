//! Adopted children that ended are waited for, so that they do not fill the process table; those that live are looked for.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, getpgrp, waitpid};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::table::{Identity, first_children, look, own_children};
use super::{Inner, OWN, STARTED, lock};

/// A storm of ends is one round: a dead process costs nothing but its number meanwhile.
const PAUSE: Duration = Duration::from_secs(1);

/// A dead child in this process's own group may be one that another part of the program is about to wait for. Nobody takes this
/// many rounds for that. What agents start is in other groups.
const STRANGER_ROUNDS: u32 = 30;

/// The same for one in another group, which is an agent's: what is known here is waited for by its owner, and what is being
/// started is left alone for that time.
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
        let watched = !lock(&OWN).known.is_empty();
        if strangers.is_empty() {
            // An adoption rings no bell: while agents run they are looked for.
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
    let group = u32::try_from(getpgrp().as_raw_nonzero().get()).unwrap_or(0);
    let own = lock(&OWN);
    let all = own_children().unwrap_or_default();
    let first = first_children().unwrap_or_default();
    for pid in all {
        if own.known.contains_key(&pid) {
            continue;
        }
        // One that is being started may be over before it is known.
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
            // Gone already is as good as waited for.
            let _ = pid.map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
        } else {
            still.insert(entry.identity, rounds);
        }
    }
    *strangers = still;
}

/// A child that is none of the first thread's. What carries a marker was adopted.
fn elsewhere(inner: &Inner, pid: u32) {
    let adopted = look(pid).is_some_and(|entry| inner.marker(entry.identity).is_some());
    if adopted && !inner.scattered.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            pid,
            "orphans come to another thread than the first; all threads' children are looked at"
        );
    }
}
