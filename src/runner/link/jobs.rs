//! Jobs that a bot has done on its runner.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::super::asked::JobEnd;
use super::super::job::{Job, JobResult};
use super::{Inner, Link, LinkState};
use crate::core::detail::{Detail, Own};

/// Time without a runner after which a job that was stopped, or that a person waits for, is not waited for any more.
const AWAY: Duration = Duration::from_secs(15);

impl Link {
    /// Does a job on the runner; `None` if it was stopped before it was done. It waits for a runner that is away, and is
    /// begun again by one that comes after it.
    ///
    /// # Errors
    /// It cannot be told to the runner, or its result cannot be read.
    pub(in crate::runner) async fn perform(
        &self,
        mut job: Job,
        stop: CancellationToken,
    ) -> Result<Option<JobResult>, Detail> {
        job.withhold(&self.0.known().withheld);
        if self.0.known().given_up {
            return Err(Own::RunnerAway.into());
        }
        loop {
            let mut asks = OpenJob::for_job(&self.0, job.clone());
            let ended = tokio::select! {
                biased;
                ended = &mut asks.ended => ended,
                () = self.0.closed.cancelled() => return Ok(None),
                () = stop.cancelled() => {
                    asks.stop();
                    // A step of the base is not cut short. A runner that is away ends the job later.
                    let ended = tokio::select! {
                        ended = &mut asks.ended => ended.unwrap_or(Ok(None)),
                        () = self.0.closed.cancelled() => Ok(None),
                        () = self.is_away() => Ok(None),
                    };
                    return ended;
                }
            };
            match ended {
                // The runner was told to end all that it does, and went on.
                Ok(Ok(None)) => {}
                Ok(ended) => return ended,
                Err(_) => return Ok(None),
            }
        }
    }

    /// Does a job that a person waits for.
    ///
    /// # Errors
    /// The runner is away, or as for [`Link::perform`].
    pub(in crate::runner) async fn perform_soon(&self, job: Job) -> Result<Option<JobResult>, Detail> {
        tokio::select! {
            biased;
            done = self.perform(job, CancellationToken::new()) => done,
            () = self.is_away() => Err(Own::RunnerAway.into()),
        }
    }

    /// Waits until the runner has been away for [`AWAY`].
    async fn is_away(&self) {
        let mut state = self.state();
        loop {
            if state.wait_for(|state| !matches!(state, LinkState::Connected(_))).await.is_err() {
                return;
            }
            let back = state.wait_for(|state| matches!(state, LinkState::Connected(_)));
            if tokio::time::timeout(AWAY, back).await.is_err() {
                return;
            }
        }
    }
}

/// A job that is asked for as long as this lives.
struct OpenJob<'a> {
    inner: &'a Inner,
    number: u64,
    ended: oneshot::Receiver<JobEnd>,
}

impl<'a> OpenJob<'a> {
    fn for_job(inner: &'a Inner, job: Job) -> Self {
        let (number, ended) = inner.known().asked.begin(inner.bot.epoch, job);
        inner.changed.notify_one();
        Self { inner, number, ended }
    }

    fn stop(&self) {
        self.inner.known().asked.stop(self.number);
        self.inner.changed.notify_one();
    }
}

impl Drop for OpenJob<'_> {
    fn drop(&mut self) {
        self.inner.known().asked.forget(self.number);
        self.inner.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio_util::bytes::BytesMut;
    use tokio_util::task::TaskTracker;

    use super::super::super::host::next;
    use super::super::super::job::tests::look;
    use super::super::super::wire::{Envelope, Frames, FromRunner, ToRunner};
    use super::super::Bot;
    use super::*;
    use crate::core::checkout::Held;

    /// Returns the bot's end of a connection to a runner that speaks this version and does each job at its second asking.
    fn linked(version: u32) -> Link {
        let (connections, mut opened) = tokio::sync::mpsc::unbounded_channel();
        let opens = move || {
            let (bot, runner) = tokio::io::duplex(1 << 16);
            connections.send(runner).map_err(std::io::Error::other)?;
            Ok(bot)
        };
        drop(TaskTracker::new().spawn(async move {
            let mut asked = 0;
            while let Some(mut stream) = opened.recv().await {
                let (mut frames, mut read) = (Frames::default(), BytesMut::new());
                while let Ok(Some(message)) = next::<ToRunner>(&mut stream, &mut frames, &mut read).await {
                    let body = match message.body {
                        ToRunner::Hello { .. } => {
                            let (sessions, past) = (Vec::new(), None);
                            FromRunner::Welcome { incarnation: "x".to_owned(), version, sessions, past }
                        }
                        ToRunner::Job { .. } if asked == 0 => {
                            asked += 1;
                            // The connection ends before the result.
                            break;
                        }
                        ToRunner::Job { job, .. } => {
                            let done = Some(JobResult::Looked(Ok(Held::default())));
                            FromRunner::Done {
                                job,
                                part: serde_json::to_string(&done).expect("JSON"),
                                last: true,
                            }
                        }
                        _ => continue,
                    };
                    let mut out = BytesMut::new();
                    Frames::default().write(&Envelope::new(1, 0, body), &mut out).expect("it is short");
                    stream.write_all(&out).await.expect("the bot reads");
                }
            }
        }));
        Link::within(Box::new(opens), Bot { journal: "j".to_owned(), epoch: 1 })
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_is_asked_for_again_on_another_connection() {
        let link = linked(3);
        let done = link.perform(look(), CancellationToken::new()).await;
        assert_eq!(done, Ok(Some(JobResult::Looked(Ok(Held::default())))));
        link.close().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_runner_of_an_older_version_is_asked_for_no_job() {
        let link = linked(2);
        let done = link.perform(look(), CancellationToken::new()).await;
        assert_eq!(done, Err(Own::OldRunner.into()));
        link.close().await;
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_a_machine_that_is_given_up_until_it_answers() {
        let opens = || Err(std::io::ErrorKind::NotFound.into());
        let link = Link::within(Box::new(opens), Bot { journal: "j".to_owned(), epoch: 1 });
        let waits = link.perform(look(), CancellationToken::new());
        let given_up = async {
            tokio::time::sleep(AWAY * 10).await;
            link.give_up();
        };
        assert_eq!(tokio::join!(waits, given_up).0, Err(Own::RunnerAway.into()));
        assert_eq!(link.perform(look(), CancellationToken::new()).await, Err(Own::RunnerAway.into()));
        link.close().await;

        let link = linked(3);
        link.give_up();
        let mut state = link.state();
        state.wait_for(|state| matches!(state, LinkState::Connected(_))).await.expect("it answers");
        let done = link.perform(look(), CancellationToken::new()).await;
        assert_eq!(done, Ok(Some(JobResult::Looked(Ok(Held::default())))));
        link.close().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_that_is_stopped_while_the_runner_is_away_is_not_waited_for() {
        let opens = || Err(std::io::ErrorKind::NotFound.into());
        let link = Link::within(Box::new(opens), Bot { journal: "j".to_owned(), epoch: 1 });
        let stop = CancellationToken::new();
        stop.cancel();
        assert_eq!(link.perform(look(), stop).await, Ok(None));
        assert_eq!(link.perform_soon(look()).await, Err(Own::RunnerAway.into()));
        assert!(
            link.0
                .known()
                .asked
                .take_list()
                .is_some_and(|list| { list == ToRunner::Jobs { open: Vec::new(), stopped: Vec::new() } })
        );
        link.close().await;
    }
}
