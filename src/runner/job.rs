//! Work on a machine beside its sessions: git in the clones of tasks, checks and merges.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::wire::{APART_FROM, FILES_FROM, JOBS_FROM, PULLS_FROM};
use crate::core::checkout::{Act, Acted, Held, Plan};
use crate::core::detail::Detail;
use crate::core::id::WorkId;
use crate::core::pull::{Forge, Look, PullRequest};
use crate::runtime::context::Context;
use crate::runtime::forge::Proposal;
use crate::runtime::git::diff::{Diff, Selection};
use crate::runtime::{Launch, check, merge, setup};

/// A job. Repeated, it finds what it has done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Value of `HERDER_SESSION` in its processes, by which they are found and ended.
    pub(crate) marker: String,
    /// The kind of work.
    pub(crate) kind: JobKind,
}

/// The work of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum JobKind {
    /// The clone of a task is made.
    Make {
        /// The clone.
        plan: Box<Plan>,
        /// Its setup; `None` if it needs none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        setup: Option<Box<setup::Run>>,
        /// The login at the remote of a repository that an address names; `None` for a person's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        login: Option<Box<Forge>>,
        /// Description of the task's branch; empty for none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        described: String,
    },
    /// The commits of a clone are fetched into the repository, and it is looked at.
    Read {
        /// The clone.
        plan: Box<Plan>,
        /// Number of the read.
        number: u32,
    },
    /// A clone is removed.
    Remove {
        /// The clone.
        plan: Box<Plan>,
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
    /// A file of a workspace is read for people; from version 4 on.
    Take {
        /// The folder that the agent works in.
        workspace: PathBuf,
        /// The task whose clone that is; `None` if it is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<WorkId>,
        /// Path of the file, as the agent states it.
        path: String,
        /// Maximum length of the file, in bytes.
        max: u64,
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
    /// The branch of accepted work is pushed, and a pull request opened for it; from version 5 on.
    Propose {
        /// Number of the merge.
        number: u32,
        /// The forge.
        forge: Box<Forge>,
        /// The work.
        proposal: Box<Proposal>,
    },
    /// A pull request is looked at; from version 5 on.
    Follow {
        /// The forge.
        forge: Box<Forge>,
        /// The task's clone.
        plan: Box<Plan>,
        /// The pull request.
        pull: Box<PullRequest>,
    },
    /// `context.md` of an agent is written or removed; from version 6 on.
    Keep {
        /// The change.
        context: Context,
    },
    /// All processes are killed whose markers begin with the job's; from version 6 on.
    End,
    /// Processes are counted whose markers begin with the job's; from version 6 on.
    Count {
        /// Beginnings of markers of processes that do not count.
        but: Vec<String>,
    },
}

/// The result of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum JobResult {
    /// A change of the clone, the check or the merge has ended, well or not.
    Acted(Acted),
    /// The contents of a clone; or the reason why it cannot be looked at.
    Looked(Result<Held, Detail>),
    /// The changes of a task; or the reason why they cannot be read.
    Compared(Result<Diff, Detail>),
    /// A pull request as it is; or the reason why it cannot be looked at.
    Followed(Result<Look, Detail>),
    /// The bytes of a file in Base64; or the reason why there are none, for the model that named it.
    Taken(Result<String, String>),
    /// `context.md` is as it should be; or the reason why not.
    Kept(Result<(), Detail>),
    /// Ids of processes that could not be ended.
    Left(Vec<u32>),
    /// Number of processes; or the reason why they were not counted.
    Counted(Result<u32, Detail>),
}

impl Job {
    /// Adds environment variables that its processes do not get.
    pub(super) fn withhold(&mut self, more: &BTreeSet<String>) {
        match &mut self.kind {
            JobKind::Check { launch, .. } | JobKind::Merge { launch, .. } => {
                launch.withheld.extend(more.iter().cloned());
            }
            JobKind::Make { setup: Some(setup), .. } => {
                setup.launch.withheld.extend(more.iter().cloned());
            }
            JobKind::Make { setup: None, .. }
            | JobKind::Read { .. }
            | JobKind::Remove { .. }
            | JobKind::Look { .. }
            | JobKind::Compare { .. }
            | JobKind::Take { .. }
            | JobKind::Propose { .. }
            | JobKind::Follow { .. }
            | JobKind::Keep { .. }
            | JobKind::Count { .. }
            | JobKind::End => {}
        }
    }

    /// Returns the first version whose runners do such a job.
    pub(super) fn version(&self) -> u32 {
        let of = |plan: &Plan| if plan.repository.url.is_empty() { JOBS_FROM } else { PULLS_FROM };
        match &self.kind {
            JobKind::Take { .. } => FILES_FROM,
            JobKind::Propose { .. } | JobKind::Follow { .. } => PULLS_FROM,
            JobKind::Keep { .. } | JobKind::Count { .. } | JobKind::End => APART_FROM,
            JobKind::Make { plan, .. }
            | JobKind::Read { plan, .. }
            | JobKind::Remove { plan }
            | JobKind::Look { plan }
            | JobKind::Compare { plan, .. } => of(plan),
            JobKind::Check { run, .. } => of(&run.checkout.plan),
            JobKind::Merge { run, .. } => of(&run.order.plan),
        }
    }

    /// Returns the result of a job that cannot be done.
    pub(super) fn failed(&self, why: Detail) -> JobResult {
        match &self.kind {
            JobKind::Make { .. } => JobResult::Acted(Acted::Failed(Act::Make, why)),
            JobKind::Read { number, .. } => JobResult::Acted(Acted::Read(*number, Err(why))),
            JobKind::Remove { .. } => JobResult::Acted(Acted::Failed(Act::Remove, why)),
            JobKind::Check { number, .. } => JobResult::Acted(Acted::Checked(*number, Err(why))),
            JobKind::Merge { number, .. } | JobKind::Propose { number, .. } => {
                JobResult::Acted(Acted::Merged(*number, Err(why)))
            }
            JobKind::Follow { .. } => JobResult::Followed(Err(why)),
            JobKind::Look { .. } => JobResult::Looked(Err(why)),
            JobKind::Compare { .. } => JobResult::Compared(Err(why)),
            JobKind::Take { .. } => JobResult::Taken(Err(format!("It cannot be read: {why}."))),
            JobKind::Keep { .. } => JobResult::Kept(Err(why)),
            // Nothing was ended, and nobody knows what is left.
            JobKind::Count { .. } | JobKind::End => JobResult::Counted(Err(why)),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::core::check::Check;
    use crate::core::checkout::{Base, Checkout, CloneSetup, Repository};
    use crate::core::id::AgentName;
    use crate::core::pull::{Client, FailedCheck, Numbers, Opened, PullState, Remark, RemarkKind, Seen};
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
            check: None,
            pull: None,
        }
    }

    fn job(kind: JobKind) -> Job {
        Job { marker: "0123456789abcdef+local/spark/task-7".to_owned(), kind }
    }

    /// Returns a job of the kind that has the least settings.
    pub(in crate::runner) fn look() -> Job {
        job(JobKind::Look { plan: Box::new(plan()) })
    }

    /// Returns the launch of a session.
    pub(in crate::runner) fn launch() -> Launch {
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
            co_author: None,
        };
        let setup = CloneSetup { command: "npm ci".to_owned(), timeout: CloneSetup::TIMEOUT };
        let alone =
            merge::Run { order, setup: None, check: Some(check.clone()), evidence: None, login: None };
        let merge = merge::Run { setup: Some(setup.clone()), ..alone.clone() };
        let make =
            |setup| JobKind::Make { plan: Box::new(plan()), setup, login: None, described: String::new() };
        let run = setup::Run { launch: launch(), setup };
        vec![
            job(make(None)),
            look(),
            job(JobKind::Compare {
                plan: Box::new(plan()),
                selection: Selection::Named("src/lib.rs".to_owned()),
            }),
            job(JobKind::Check {
                number: 1,
                launch: Box::new(launch()),
                run: Box::new(check::Run { check, checkout }),
            }),
            job(JobKind::Merge { number: 2, launch: Box::new(launch()), run: Box::new(alone) }),
            job(make(Some(Box::new(run)))),
            job(JobKind::Merge { number: 3, launch: Box::new(launch()), run: Box::new(merge) }),
            job(JobKind::Read { plan: Box::new(plan()), number: 3 }),
            job(JobKind::Remove { plan: Box::new(plan()) }),
        ]
    }

    fn results() -> Vec<JobResult> {
        let why = || Detail::from("git failed");
        let landed = Landed {
            branch: "main".to_owned(),
            commit: "5e6f".to_owned(),
            head: "0a1b2c3d".to_owned(),
            link: String::new(),
        };
        let base = Base { commit: "5e6f".to_owned(), onto: "main".to_owned() };
        vec![
            JobResult::Acted(Acted::Made(base)),
            JobResult::Acted(Acted::Read(3, Ok(Held::default()))),
            JobResult::Acted(Acted::Removed),
            JobResult::Acted(Acted::Checked(1, Ok(None))),
            JobResult::Acted(Acted::Merged(2, Ok(Merged::Landed(landed)))),
            JobResult::Acted(Acted::Failed(Act::Make, why())),
            JobResult::Looked(Ok(Held::default())),
            JobResult::Compared(Ok(Diff { base: "5e6f".to_owned(), ..Diff::default() })),
            JobResult::Compared(Err(why())),
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
            match job.kind {
                JobKind::Make { .. }
                | JobKind::Read { .. }
                | JobKind::Remove { .. }
                | JobKind::Look { .. }
                | JobKind::Compare { .. }
                | JobKind::Check { .. }
                | JobKind::Take { .. }
                | JobKind::Propose { .. }
                | JobKind::Follow { .. }
                | JobKind::Keep { .. }
                | JobKind::Count { .. }
                | JobKind::End
                | JobKind::Merge { .. } => {}
            }
        }
        assert_lines(&jobs(), include_str!("../../tests/golden/runner/v3/job.jsonl"));
        assert_lines(&results(), include_str!("../../tests/golden/runner/v3/done.jsonl"));
    }

    #[test]
    fn jobs_of_version_4_are_read_and_written_as_they_were() {
        let (workspace, path) = (PathBuf::from("/srv/app"), "out/report.pdf".to_owned());
        let take = job(JobKind::Take { workspace, task: None, path, max: 8 << 20 });
        assert_eq!((take.version(), look().version()), (4, 3));
        assert_lines(&[take], include_str!("../../tests/golden/runner/v4/job.jsonl"));
        let taken =
            [JobResult::Taken(Ok("aGk=".to_owned())), JobResult::Taken(Err("There is none.".to_owned()))];
        assert_lines(&taken, include_str!("../../tests/golden/runner/v4/done.jsonl"));
    }

    #[test]
    fn jobs_of_version_5_are_read_and_written_as_they_were() {
        let forge = Box::new(Forge { inherit_env: vec!["GH_TOKEN".to_owned()], ..Forge::default() });
        let proposal = Proposal {
            plan: plan(),
            head: "0a1b2c3d".to_owned(),
            pull: None,
            text: "port the build".to_owned(),
            note: "ported".to_owned(),
            co_author: None,
        };
        let opened = Opened {
            number: 5,
            link: "https://forge.example/moss/app/pull/5".to_owned(),
            branch: "main".to_owned(),
            head: "0a1b2c3d".to_owned(),
        };
        let pull = PullRequest {
            opened: opened.clone(),
            seen: Seen {
                comments: Numbers { up_to: 0, read: [7].into() },
                lines: Numbers::default(),
                reviews: Numbers { up_to: 5, read: [8, 9].into() },
            },
            red: "0a1b2c3d".to_owned(),
            follow_ups: 1,
        };
        let again = Proposal { pull: Some(Box::new(pull.clone())), ..proposal.clone() };
        let co_author = Some("Alice <a@example.org>".to_owned());
        let known = Proposal { co_author: co_author.clone(), ..proposal.clone() };
        let described = "Task 7, given by alice (libera)".to_owned();
        let make = JobKind::Make { plan: Box::new(plan()), setup: None, login: None, described };
        let order = Order {
            plan: plan(),
            head: "0a1b2c3d".to_owned(),
            method: Method::Merge,
            text: "port it".to_owned(),
            co_author,
        };
        let run = merge::Run { order, setup: None, check: None, evidence: None, login: None };
        let client = Client::Program(PathBuf::from("/usr/local/bin/forge"));
        let other = Box::new(Forge { client, ..(*forge).clone() });
        let same = forge.clone();
        let jobs = [
            job(JobKind::Propose { number: 2, forge: forge.clone(), proposal: Box::new(proposal) }),
            job(JobKind::Propose { number: 3, forge: other, proposal: Box::new(again) }),
            job(JobKind::Follow { forge, plan: Box::new(plan()), pull: Box::new(pull) }),
        ];
        assert!(jobs.iter().all(|job| job.version() == 5));
        // Fields that came later.
        let added = [
            job(JobKind::Propose { number: 4, forge: same, proposal: Box::new(known) }),
            job(make),
            job(JobKind::Merge { number: 5, launch: Box::new(launch()), run: Box::new(run) }),
        ];
        let jobs: Vec<Job> = jobs.into_iter().chain(added).collect();
        assert_lines(&jobs, include_str!("../../tests/golden/runner/v5/job.jsonl"));
        let failed =
            FailedCheck { name: "test".to_owned(), text: "1 failed".to_owned(), link: String::new() };
        let remark = Remark {
            kind: RemarkKind::Line,
            number: 9,
            by: "moss".to_owned(),
            place: "src/lib.rs:7".to_owned(),
            text: "name the error".to_owned(),
        };
        let open = Look { state: PullState::Open, failed: vec![failed], remarks: vec![remark] };
        let over = |state| Look { state, failed: Vec::new(), remarks: Vec::new() };
        let results = [
            JobResult::Acted(Acted::Merged(2, Ok(Merged::Proposed(opened)))),
            JobResult::Followed(Ok(open)),
            JobResult::Followed(Ok(over(PullState::Merged { commit: "5e6f".to_owned() }))),
            JobResult::Followed(Ok(over(PullState::Closed))),
            JobResult::Followed(Err(Detail::from("no answer"))),
        ];
        assert_lines(&results, include_str!("../../tests/golden/runner/v5/done.jsonl"));
    }

    #[test]
    fn jobs_of_version_6_are_read_and_written_as_they_were() {
        let agent = AgentName::new("spark").expect("a good name");
        let (workspace, task) = (PathBuf::from("/srv/app"), Some(WorkId(7)));
        let context =
            Context { agent, workspace: workspace.clone(), task: None, text: Some("one".to_owned()) };
        let removed = Context { task, text: None, ..context.clone() };
        let but = vec!["0123456789abcdef+local/ada/".to_owned()];
        let jobs = [
            job(JobKind::Keep { context }),
            job(JobKind::Keep { context: removed }),
            job(JobKind::End),
            job(JobKind::Count { but }),
        ];
        assert!(jobs.iter().all(|job| job.version() == 6));
        // A field that came later.
        let take = job(JobKind::Take { workspace, task, path: "out/report.pdf".to_owned(), max: 8 << 20 });
        let jobs: Vec<Job> = jobs.into_iter().chain([take]).collect();
        assert_lines(&jobs, include_str!("../../tests/golden/runner/v6/job.jsonl"));
        let results = [
            JobResult::Kept(Ok(())),
            JobResult::Kept(Err(Detail::from("no space left"))),
            JobResult::Left(vec![4711]),
            JobResult::Counted(Ok(3)),
            JobResult::Counted(Err(Detail::from("no answer"))),
        ];
        assert_lines(&results, include_str!("../../tests/golden/runner/v6/done.jsonl"));
    }

    #[test]
    fn no_process_of_a_job_gets_what_is_withheld() {
        let more = BTreeSet::from(["TOKEN".to_owned()]);
        let mut withheld = 0;
        for mut job in jobs() {
            job.withhold(&more);
            let launch = match job.kind {
                JobKind::Check { launch, .. } | JobKind::Merge { launch, .. } => launch.withheld,
                JobKind::Make { setup: Some(setup), .. } => setup.launch.withheld,
                // git gets a path and nothing else.
                _ => continue,
            };
            assert!(launch.contains("TOKEN"));
            withheld += 1;
        }
        assert_eq!(withheld, 4);
    }

    #[test]
    fn a_job_that_cannot_be_done_fails_as_what_it_is() {
        let why = || Detail::from("no");
        let failed: Vec<JobResult> = jobs().iter().map(|job| job.failed(why())).collect();
        assert_eq!(
            failed,
            [
                JobResult::Acted(Acted::Failed(Act::Make, why())),
                JobResult::Looked(Err(why())),
                JobResult::Compared(Err(why())),
                JobResult::Acted(Acted::Checked(1, Err(why()))),
                JobResult::Acted(Acted::Merged(2, Err(why()))),
                JobResult::Acted(Acted::Failed(Act::Make, why())),
                JobResult::Acted(Acted::Merged(3, Err(why()))),
                JobResult::Acted(Acted::Read(3, Err(why()))),
                JobResult::Acted(Acted::Failed(Act::Remove, why())),
            ]
        );
    }
}
