//! Jobs on this runner. A result is kept until the bot has it; jobs that the bot does not wait for are ended.

use std::collections::BTreeMap;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::job::JobResult;
use super::wire::FromRunner;
use crate::runtime::text::bounded;

/// Maximum length of a part of a result, in bytes. JSON may need six for one.
const PART_MAX: usize = 128 * 1024;

/// The jobs of one bot.
#[derive(Debug)]
pub(super) struct Jobs {
    jobs: BTreeMap<u64, Known>,
    /// Tasks of this bot's jobs.
    own: TaskTracker,
    /// Tasks of the jobs of bots before.
    before: TaskTracker,
}

#[derive(Debug)]
struct Known {
    stop: CancellationToken,
    /// The result as text, once the job has ended.
    result: Option<String>,
    /// Length of what was told of it on this connection.
    told: usize,
}

/// A job that begins.
pub(super) struct Begun {
    /// Cancelled when the job is to end.
    pub(super) stop: CancellationToken,
    /// Tasks that have to end first.
    pub(super) before: TaskTracker,
    /// Held until the job has ended.
    pub(super) token: TaskTrackerToken,
}

impl Default for Jobs {
    fn default() -> Self {
        let before = TaskTracker::new();
        before.close();
        Self { jobs: BTreeMap::new(), own: TaskTracker::new(), before }
    }
}

impl Jobs {
    /// Prepares for another bot: it asks for what is still due, once the jobs of the one before have ended.
    pub(super) fn begin_term(&mut self) {
        self.stop_all();
        self.jobs.clear();
        // Tasks of an earlier term wait for those before them.
        if !self.own.is_empty() {
            self.own.close();
            self.before = std::mem::replace(&mut self.own, TaskTracker::new());
        }
    }

    /// Prepares for a new connection: results are told again.
    pub(super) fn connect(&mut self) {
        self.jobs.values_mut().for_each(|job| job.told = 0);
    }

    /// Begins a job; `None` if it was begun before.
    pub(super) fn begin(&mut self, number: u64) -> Option<Begun> {
        if self.jobs.contains_key(&number) {
            return None;
        }
        let stop = CancellationToken::new();
        self.jobs.insert(number, Known { stop: stop.clone(), result: None, told: 0 });
        Some(Begun { stop, before: self.before.clone(), token: self.own.token() })
    }

    /// Keeps a result, `None` if the job was ended, until the bot has it.
    pub(super) fn end(&mut self, number: u64, done: Option<&JobResult>) {
        // Plain data can always be written as JSON.
        let text = serde_json::to_string(&done).unwrap_or_else(|_| "null".to_owned());
        if let Some(known) = self.jobs.get_mut(&number) {
            known.result = Some(text);
        }
    }

    /// Ends the jobs that the bot does not wait for, and those that it wants stopped. A stopped one that never came is not
    /// begun any more.
    pub(super) fn keep(&mut self, open: &[u64], stopped: &[u64]) {
        for number in stopped {
            let ended = || Known { stop: CancellationToken::new(), result: Some("null".to_owned()), told: 0 };
            self.jobs.entry(*number).or_insert_with(ended);
        }
        self.jobs.retain(|number, known| {
            let is_open = open.contains(number);
            if !is_open || stopped.contains(number) {
                known.stop.cancel();
            }
            is_open
        });
    }

    /// Ends all jobs.
    pub(super) fn stop_all(&self) {
        self.jobs.values().for_each(|known| known.stop.cancel());
    }

    /// Returns true if no job runs, and the bot has every result.
    pub(super) fn is_idle(&self) -> bool {
        self.jobs.is_empty() && self.own.is_empty() && self.before.is_empty()
    }

    /// Returns the number of jobs that run.
    pub(super) fn running(&self) -> usize {
        self.own.len() + self.before.len()
    }

    /// Returns the next part of a result that the bot is to be told, and marks it as told.
    pub(super) fn take_untold(&mut self) -> Option<FromRunner> {
        self.jobs.iter_mut().find_map(|(number, known)| {
            let rest = known.result.as_ref()?.get(known.told..).filter(|rest| !rest.is_empty())?;
            let part = bounded(rest, PART_MAX).to_owned();
            let last = part.len() == rest.len();
            known.told += part.len();
            Some(FromRunner::Done { job: *number, part, last })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::checkout::Acted;
    use crate::core::detail::Detail;
    use crate::runner::asked::OpenJobs;

    fn parts(jobs: &mut Jobs) -> Vec<(u64, String, bool)> {
        std::iter::from_fn(|| jobs.take_untold())
            .map(|told| match told {
                FromRunner::Done { job, part, last } => (job, part, last),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[tokio::test]
    async fn a_result_is_told_on_each_connection_until_the_bot_has_it() {
        let mut jobs = Jobs::default();
        let begun = jobs.begin(1).expect("it is new");
        assert!(jobs.begin(1).is_none() && parts(&mut jobs).is_empty());
        let long = "\u{e9}".repeat(PART_MAX);
        let done = JobResult::Looked(Err(Detail::from(long.as_str())));
        jobs.end(1, Some(&done));
        let told = parts(&mut jobs);
        assert_eq!(told.iter().map(|(_, _, last)| *last).collect::<Vec<_>>(), [false, false, true]);
        assert!(parts(&mut jobs).is_empty());
        jobs.connect();
        assert_eq!(parts(&mut jobs), told);
        drop(begun);
        assert!(!jobs.is_idle(), "the bot does not have it yet");

        let mut asked = OpenJobs::default();
        let job = super::super::job::tests::look();
        let (number, mut end) = asked.begin(1, job);
        // A connection that ends in the middle leaves nothing of the result.
        asked.take(number, &told[0].1, false);
        asked.connect();
        for (_, part, last) in &told {
            asked.take(number, part, *last);
        }
        assert_eq!(end.try_recv().expect("it has ended"), Ok(Some(done)));
        jobs.keep(&[], &[]);
        jobs.connect();
        assert!(parts(&mut jobs).is_empty() && jobs.is_idle(), "the bot has it");
    }

    #[tokio::test]
    async fn jobs_that_no_bot_waits_for_are_ended_and_the_next_bot_waits_for_their_end() {
        let mut jobs = Jobs::default();
        let [first, second, third] = [1, 2, 3].map(|number| jobs.begin(number).expect("it is new"));
        jobs.keep(&[2, 3], &[3]);
        assert!(first.stop.is_cancelled() && !second.stop.is_cancelled() && third.stop.is_cancelled());
        jobs.end(3, None);
        assert_eq!(parts(&mut jobs), [(3, "null".to_owned(), true)]);
        jobs.end(1, Some(&JobResult::Acted(Acted::Removed)));
        assert!(parts(&mut jobs).is_empty(), "the first is forgotten");
        jobs.begin_term();
        assert!(second.stop.is_cancelled());
        // A bot that asks for nothing comes between.
        jobs.begin_term();
        let next = jobs.begin(1).expect("numbers begin anew");
        assert_eq!((next.before.len(), jobs.running()), (3, 4));
        drop((first, second, third));
        next.before.wait().await;
        drop(next);
        jobs.keep(&[], &[]);
        assert!(jobs.is_idle());
    }

    #[test]
    fn a_job_that_was_stopped_before_it_came_is_not_begun() {
        let mut jobs = Jobs::default();
        jobs.keep(&[5], &[5]);
        assert!(jobs.begin(5).is_none());
        assert_eq!(parts(&mut jobs), [(5, "null".to_owned(), true)]);
        jobs.keep(&[], &[]);
        assert!(jobs.is_idle());
    }
}
