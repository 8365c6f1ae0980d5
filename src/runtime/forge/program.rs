//! A program of the operator's that opens and shows pull requests: one JSON object in, one out.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{QUESTION, Reached, Remote, Wanted};
use crate::core::detail::{Detail, GitReason};
use crate::core::pull::{FailedCheck, Look, PullRequest, PullState, Remark, RemarkKind};
use crate::runtime::protocol::Invocation;

/// The answer of `open`.
#[derive(Deserialize)]
struct Made {
    number: u32,
    link: String,
}

/// The answer of `show`.
#[derive(Deserialize)]
struct Shown {
    state: State,
    #[serde(default)]
    commit: String,
    #[serde(default)]
    failed: Vec<FailedCheck>,
    #[serde(default)]
    remarks: Vec<Said>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Open,
    Merged,
    Closed,
}

#[derive(Deserialize)]
struct Said {
    number: u64,
    by: String,
    #[serde(default)]
    place: String,
    text: String,
}

impl Reached<'_> {
    pub(super) async fn open_by_program(
        &self,
        path: &Path,
        remote: &Remote,
        wanted: &Wanted,
    ) -> Result<(u32, String), Detail> {
        #[derive(Serialize)]
        struct Asked<'a> {
            remote: &'a str,
            #[serde(flatten)]
            wanted: &'a Wanted,
        }
        let asked = Asked { remote: &remote.address, wanted };
        let Made { number, link } = self.ask_program(path, "open", &asked).await?;
        Ok((number, link))
    }

    pub(super) async fn look_by_program(
        &self,
        path: &Path,
        remote: &Remote,
        pull: &PullRequest,
    ) -> Result<Look, Detail> {
        #[derive(Serialize)]
        struct Asked<'a> {
            remote: &'a str,
            number: u32,
            head: &'a str,
        }
        let opened = &pull.opened;
        let asked = Asked { remote: &remote.address, number: opened.number, head: &opened.head };
        let Shown { state, commit, failed, remarks } = self.ask_program(path, "show", &asked).await?;
        let state = match state {
            State::Open => PullState::Open,
            State::Merged => PullState::Merged { commit },
            State::Closed => PullState::Closed,
        };
        let remark =
            |Said { number, by, place, text }| Remark { kind: RemarkKind::Comment, number, by, place, text };
        Ok(Look { state, failed, remarks: remarks.into_iter().map(remark).collect() })
    }

    async fn ask_program<T: serde::de::DeserializeOwned>(
        &self,
        path: &Path,
        word: &str,
        asked: &impl Serialize,
    ) -> Result<T, Detail> {
        let named = format!("{} {word}", path.display());
        // Plain data can always be written as JSON.
        let input = serde_json::to_vec(asked).unwrap_or_default();
        let invocation = Invocation {
            program: path.display().to_string(),
            arguments: vec![word.to_owned()],
            environment: self.checkouts.login().clone(),
            waits: false,
        };
        let output =
            self.checkouts.git().run_program(invocation, (Path::new("/"), &input), &named, QUESTION).await?;
        let failed = || GitReason::Forge { command: named.clone() };
        if output.code != Some(0) || output.cut {
            return Err(failed().with(output.said.trim()));
        }
        let unread = |error: serde_json::Error| {
            failed().with(format!("its answer is not as the manual has it: {error}"))
        };
        serde_json::from_slice(&output.out).map_err(unread)
    }
}
