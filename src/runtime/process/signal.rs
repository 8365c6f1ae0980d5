//! Signals that only ever reach the intended process.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::table::{Identity, look};

/// Sends `signal` to exactly this process. Returns `false` if it is gone, or must not be signalled by herder.
///
/// The pidfd refers to the process that has the id now. The signal is sent only if its start time matches, so that a
/// reused id causes no harm.
pub fn send(to: Identity, signal: Signal) -> bool {
    let Some(pid) = i32::try_from(to.pid).ok().filter(|pid| *pid > 1).and_then(Pid::from_raw) else {
        return false;
    };
    if pid == rustix::process::getpid() {
        return false;
    }
    let same = || look(to.pid).is_some_and(|entry| entry.identity == to);
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => same() && pidfd_send_signal(process, signal).is_ok(),
        // Kernels before 5.3 and some sandboxes have no pidfd; a race between the two calls remains.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => same() && kill_process(pid, signal).is_ok(),
        Err(_) => false,
    }
}
