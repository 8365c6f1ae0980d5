//! Jobs that the bot waits for: each is asked for again on every connection until its result is there.

use std::collections::BTreeMap;

use tokio::sync::oneshot;
use tokio_util::bytes::Bytes;

use super::job::{Job, JobResult};
use super::wire::{Envelope, JOBS_FROM, MESSAGE_MAX, ToRunner, WireError, encode};
use crate::core::detail::{Detail, Own};

/// Maximum length of a result, in bytes: several times the output of git that is read.
const RESULT_MAX: usize = 64 * 1024 * 1024;

/// The end of a job: `None` if it was ended before it was done, or the reason why its result is not known.
pub(super) type JobEnd = Result<Option<JobResult>, Detail>;

/// The jobs without a result.
#[derive(Debug, Default)]
pub(super) struct OpenJobs {
    last: u64,
    open: BTreeMap<u64, Open>,
    /// True if the runner is to be told which jobs are open.
    has_changed: bool,
}

#[derive(Debug)]
struct Open {
    message: Bytes,
    /// The first version whose runners do it.
    version: u32,
    told: bool,
    stopped: bool,
    /// The result as far as it has come.
    parts: String,
    ended: oneshot::Sender<JobEnd>,
}

impl OpenJobs {
    /// OpenJob for a job. Returns its number, and the receiver of its end.
    pub(super) fn begin(&mut self, epoch: u64, job: Job) -> (u64, oneshot::Receiver<JobEnd>) {
        let (ended, receiver) = oneshot::channel();
        self.last += 1;
        let (number, version) = (self.last, job.version());
        let body = ToRunner::Job { job: number, what: Box::new(job) };
        let encoded = encode(&Envelope::new(epoch, 0, body)).and_then(|message| match message.len() {
            0..=MESSAGE_MAX => Ok(message),
            long => Err(WireError::TooLong(long)),
        });
        match encoded {
            Ok(message) => {
                let open =
                    Open { message, version, told: false, stopped: false, parts: String::new(), ended };
                self.open.insert(number, open);
            }
            // The receiver is here.
            Err(reason) => drop(ended.send(Err(reason.to_string().into()))),
        }
        (number, receiver)
    }

    /// Ends a job on the runner; its end is still waited for.
    pub(super) fn stop(&mut self, number: u64) {
        if let Some(open) = self.open.get_mut(&number) {
            open.stopped = true;
            self.has_changed = true;
        }
    }

    /// Fails all jobs.
    pub(super) fn fail_all(&mut self, why: &Detail) {
        for open in std::mem::take(&mut self.open).into_values() {
            // The one who asked may be gone.
            drop(open.ended.send(Err(why.clone())));
        }
        self.has_changed = true;
    }

    /// Forgets a job; the runner ends it.
    pub(super) fn forget(&mut self, number: u64) {
        self.has_changed |= self.open.remove(&number).is_some();
    }

    /// Prepares for a new connection: everything is asked for again.
    pub(super) fn connect(&mut self) {
        for open in self.open.values_mut() {
            open.told = false;
            open.parts.clear();
        }
        self.has_changed = true;
    }

    /// Takes a part of a job's result.
    pub(super) fn take(&mut self, number: u64, part: &str, last: bool) {
        let Some(open) = self.open.get_mut(&number) else { return };
        let is_too_long = open.parts.len() + part.len() > RESULT_MAX;
        open.parts.push_str(part);
        if !last && !is_too_long {
            return;
        }
        let Some(open) = self.open.remove(&number) else { return };
        self.has_changed = true;
        let read = match is_too_long {
            true => Err(format!("a result of more than {RESULT_MAX} bytes cannot be taken").into()),
            false => {
                serde_json::from_str(&open.parts).map_err(|reason| WireError::Json(reason).to_string().into())
            }
        };
        // The one who asked may be gone.
        drop(open.ended.send(read));
    }

    /// Gives up the jobs that a runner of this version does not know.
    pub(super) fn refuse_newer(&mut self, version: u32) {
        let newer = |open: &Open| open.version > version;
        let refused: Vec<u64> =
            self.open.iter().filter(|(_, open)| newer(open)).map(|(number, _)| *number).collect();
        for open in refused.into_iter().filter_map(|number| self.open.remove(&number)) {
            drop(open.ended.send(Err(Own::OldRunner.into())));
        }
        // It knows no list either.
        self.has_changed &= version >= JOBS_FROM;
    }

    /// Returns the list of open jobs if it has changed, and marks it as told.
    pub(super) fn take_list(&mut self) -> Option<ToRunner> {
        let stopped = self.open.iter().filter(|(_, open)| open.stopped).map(|(number, _)| *number);
        std::mem::take(&mut self.has_changed)
            .then(|| ToRunner::Jobs { open: self.open.keys().copied().collect(), stopped: stopped.collect() })
    }

    /// Returns the next job that the runner is to be told, and marks it as told. Of one that was stopped, it needs the
    /// number alone.
    pub(super) fn take_untold(&mut self) -> Option<Bytes> {
        let open = self.open.values_mut().find(|open| !open.told && !open.stopped)?;
        open.told = true;
        Some(open.message.clone())
    }
}
