//! Work on a machine beside its sessions: git in the clones of tasks, checks and merges.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::core::checkout::{Act, Acted, Held, Plan};
use crate::core::detail::Detail;
use crate::runtime::git::diff::{Diff, Selection};
use crate::runtime::{Launch, check, merge, setup};

/// A job. Repeated, it finds what it has done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Value of `HERDER_SESSION` in its processes, by which they are found and ended.
    pub(crate) marker: String,
    /// The kind of work.
    pub(crate) work: Kind,
}

/// The work of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// The clone of a task is made, read or removed.
    Clone {
        /// The act: [`Act::Make`], [`Act::Read`] or [`Act::Remove`].
        act: Act,
        /// The clone.
        plan: Box<Plan>,
        /// Number of the read.
        read: u32,
        /// The setup of a clone that is made; `None` if it needs none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        setup: Option<Box<setup::Run>>,
    },
    /// A person is about to remove a clone, and is told what it holds.
    Look {
        /// The clone.
        plan: Box<Plan>,
    },
    /// The changes of a task are compared with its base.
    Compare {
        /// The clone.
        plan: Box<Plan>,
        /// The files whose changes are wanted as text.
        selection: Selection,
    },
    /// The check of a task runs.
    Check {
        /// Number of the check.
        number: u32,
        /// Settings, limits and clocks of its processes.
        launch: Box<Launch>,
        /// The check.
        run: Box<check::Run>,
    },
    /// Accepted work is merged into the base.
    Merge {
        /// Number of the merge.
        number: u32,
        /// Settings, limits and clocks of its check.
        launch: Box<Launch>,
        /// The merge.
        run: Box<merge::Run>,
    },
}

/// The result of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Done {
    /// A change of the clone, the check or the merge has ended, well or not.
    Acted(Acted),
    /// The contents of a clone; or the reason why it cannot be looked at.
    Looked(Result<Held, Detail>),
    /// The changes of a task; or the reason why they cannot be read.
    Compared(Result<Diff, Detail>),
}

impl Job {
    /// Adds environment variables that its processes do not get.
    pub(super) fn withhold(&mut self, more: &BTreeSet<String>) {
        match &mut self.work {
            Kind::Check { launch, .. } | Kind::Merge { launch, .. } => {
                launch.withheld.extend(more.iter().cloned());
            }
            Kind::Clone { setup, .. } => {
                if let Some(setup) = setup {
                    setup.launch.withheld.extend(more.iter().cloned());
                }
            }
            Kind::Look { .. } | Kind::Compare { .. } => {}
        }
    }

    /// Returns the result of a job that cannot be done.
    pub(super) fn failed(&self, why: Detail) -> Done {
        match &self.work {
            Kind::Clone { act: Act::Read, read, .. } => Done::Acted(Acted::Read(*read, Err(why))),
            Kind::Clone { act, .. } => Done::Acted(Acted::Failed(*act, why)),
            Kind::Check { number, .. } => Done::Acted(Acted::Checked(*number, Err(why))),
            Kind::Merge { number, .. } => Done::Acted(Acted::Merged(*number, Err(why))),
            Kind::Look { .. } => Done::Looked(Err(why)),
            Kind::Compare { .. } => Done::Compared(Err(why)),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::core::check::Check;
    use crate::core::checkout::{Base, Checkout, CloneSetup, Repository};
    use crate::core::id::WorkId;
    use crate::core::review::{Landed, Merged, Method};
    use crate::runtime::git::merge::Order;

    fn plan() -> Plan {
        let repository = Repository { path: PathBuf::from("/srv/app"), ..Repository::default() };
        Plan {
            task: WorkId(7),
            repository,
            branch: "herder/7-port-the-build".to_owned(),
            begun: true,
            onto: Some("main".to_owned()),
            worked: Vec::new(),
        }
    }

    fn job(work: Kind) -> Job {
        Job { marker: "0123456789abcdef+local/spark/task-7".to_owned(), work }
    }

    /// Returns a job of the kind that has the least settings.
    pub(in crate::runner) fn look() -> Job {
        job(Kind::Look { plan: Box::new(plan()) })
    }

    fn launch() -> Launch {
        let launches = include_str!("../../tests/golden/runner/v1/launch.jsonl");
        serde_json::from_str(launches.lines().next().expect("a line")).expect("a launch")
    }

    fn jobs() -> Vec<Job> {
        let check = Check { command: "make test".to_owned(), timeout: Duration::from_secs(1200), tries: 2 };
        let checkout: Checkout =
            serde_json::from_value(serde_json::json!({ "plan": plan() })).expect("a clone");
        let order = Order {
            plan: plan(),
            head: "0a1b2c3d".to_owned(),
            method: Method::Squash,
            text: "port the build".to_owned(),
        };
        let setup = CloneSetup { command: "npm ci".to_owned(), timeout: CloneSetup::TIMEOUT };
        let alone = merge::Run { order, setup: None, check: Some(check.clone()), evidence: None };
        let merge = merge::Run { setup: Some(setup.clone()), ..alone.clone() };
        let make = |setup| Kind::Clone { act: Act::Make, plan: Box::new(plan()), read: 0, setup };
        let run = setup::Run { launch: launch(), setup };
        vec![
            job(make(None)),
            look(),
            job(Kind::Compare {
                plan: Box::new(plan()),
                selection: Selection::Named("src/lib.rs".to_owned()),
            }),
            job(Kind::Check {
                number: 1,
                launch: Box::new(launch()),
                run: Box::new(check::Run { check, checkout }),
            }),
            job(Kind::Merge { number: 2, launch: Box::new(launch()), run: Box::new(alone) }),
            job(make(Some(Box::new(run)))),
            job(Kind::Merge { number: 3, launch: Box::new(launch()), run: Box::new(merge) }),
        ]
    }

    fn results() -> Vec<Done> {
        let why = || Detail::from("git failed");
        let landed =
            Landed { branch: "main".to_owned(), commit: "5e6f".to_owned(), head: "0a1b2c3d".to_owned() };
        let base = Base { commit: "5e6f".to_owned(), onto: "main".to_owned() };
        vec![
            Done::Acted(Acted::Made(base)),
            Done::Acted(Acted::Read(3, Ok(Held::default()))),
            Done::Acted(Acted::Removed),
            Done::Acted(Acted::Checked(1, Ok(None))),
            Done::Acted(Acted::Merged(2, Ok(Merged::Landed(landed)))),
            Done::Acted(Acted::Failed(Act::Make, why())),
            Done::Looked(Ok(Held::default())),
            Done::Compared(Ok(Diff { base: "5e6f".to_owned(), ..Diff::default() })),
            Done::Compared(Err(why())),
        ]
    }

    fn assert_lines<T>(samples: &[T], golden: &str)
    where
        T: PartialEq + std::fmt::Debug + Serialize + serde::de::DeserializeOwned,
    {
        let lines: Vec<&str> = golden.lines().collect();
        let written: Vec<String> =
            samples.iter().map(|sample| serde_json::to_string(sample).expect("JSON")).collect();
        assert_eq!(written, lines);
        for (sample, line) in samples.iter().zip(lines) {
            assert_eq!(*sample, serde_json::from_str::<T>(line).expect("it is read"));
        }
    }

    /// Both ends may be a version apart: a line that is there never changes.
    #[test]
    fn jobs_of_version_3_are_read_and_written_as_they_were() {
        for job in jobs() {
            // Another kind needs a sample.
            match job.work {
                Kind::Clone { .. }
                | Kind::Look { .. }
                | Kind::Compare { .. }
                | Kind::Check { .. }
                | Kind::Merge { .. } => {}
            }
        }
        assert_lines(&jobs(), include_str!("../../tests/golden/runner/v3/job.jsonl"));
        assert_lines(&results(), include_str!("../../tests/golden/runner/v3/done.jsonl"));
    }

    #[test]
    fn no_process_of_a_job_gets_what_is_withheld() {
        let more = BTreeSet::from(["TOKEN".to_owned()]);
        let mut withheld = 0;
        for mut job in jobs() {
            job.withhold(&more);
            let launch = match job.work {
                Kind::Check { launch, .. } | Kind::Merge { launch, .. } => launch.withheld,
                Kind::Clone { setup: Some(setup), .. } => setup.launch.withheld,
                // git gets a path and nothing else.
                Kind::Clone { setup: None, .. } | Kind::Look { .. } | Kind::Compare { .. } => continue,
            };
            assert!(launch.contains("TOKEN"));
            withheld += 1;
        }
        assert_eq!(withheld, 4);
    }

    #[test]
    fn a_job_that_cannot_be_done_fails_as_what_it_is() {
        let why = || Detail::from("no");
        let failed: Vec<Done> = jobs().iter().map(|job| job.failed(why())).collect();
        let read = job(Kind::Clone { act: Act::Read, plan: Box::new(plan()), read: 3, setup: None });
        assert_eq!(read.failed(why()), Done::Acted(Acted::Read(3, Err(why()))));
        assert_eq!(
            failed,
            [
                Done::Acted(Acted::Failed(Act::Make, why())),
                Done::Looked(Err(why())),
                Done::Compared(Err(why())),
                Done::Acted(Acted::Checked(1, Err(why()))),
                Done::Acted(Acted::Merged(2, Err(why()))),
                Done::Acted(Acted::Failed(Act::Make, why())),
                Done::Acted(Acted::Merged(3, Err(why()))),
            ]
        );
    }
}
