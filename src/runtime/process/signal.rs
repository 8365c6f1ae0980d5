//! Signals that reach the process they are meant for, or nobody.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::table::{Identity, look};

/// Sends `signal` to exactly this process. `false` if it is gone, or must not be signalled by us.
///
/// The pidfd holds on to the process that has the number now; only if that one has the right start time is it signalled,
/// so that a number which was given to another process meanwhile can do no harm.
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
        // Kernels before 5.3 and some sandboxes: the window between the two calls is all that is left open.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => same() && kill_process(pid, signal).is_ok(),
        Err(_) => false,
    }
}
