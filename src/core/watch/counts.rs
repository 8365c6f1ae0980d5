//! Counts of evaluations by result.

use serde::{Deserialize, Serialize};

use crate::verdict::Lapse;

/// Numbers of an agent's evaluations, findings and calls for a person, since it was first added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Number of evaluations with a verdict.
    pub judged: u64,
    /// Number of verdicts with a finding.
    pub findings: u64,
    /// Number of evaluations without a verdict, for any reason.
    pub lapses: u64,
    /// Number of evaluations without a verdict, by reason; those counted before reasons were distinguished are in none
    /// of them.
    #[serde(skip_serializing_if = "Lapses::is_empty")]
    pub kinds: Lapses,
    /// Number of evaluations with an unknown cost.
    #[serde(skip_serializing_if = "is_zero")]
    pub unmetered: u64,
    /// Number of calls for a person.
    pub escalations: u64,
    /// Number of whispers that an operator marked as right.
    pub right: u64,
    /// Number of whispers that an operator marked as wrong.
    pub wrong: u64,
}

/// Number of evaluations without a verdict, by [`Lapse`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is the kind of lapse of its name")]
pub struct Lapses {
    pub timed_out: u64,
    pub busy: u64,
    pub missing: u64,
    pub logged_out: u64,
    pub limited: u64,
    pub failed: u64,
    pub unparsable: u64,
    pub overtaken: u64,
}

impl Lapses {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn count(&mut self, lapse: &Lapse) {
        let kind = match lapse {
            Lapse::TimedOut { .. } => &mut self.timed_out,
            Lapse::Busy => &mut self.busy,
            Lapse::Missing { .. } => &mut self.missing,
            Lapse::LoggedOut { .. } => &mut self.logged_out,
            Lapse::Limited { .. } => &mut self.limited,
            Lapse::Failed { .. } => &mut self.failed,
            Lapse::Unparsable { .. } => &mut self.unparsable,
            Lapse::Overtaken => &mut self.overtaken,
        };
        *kind = kind.saturating_add(1);
    }

    /// Yields the counts that are not zero, each with the name of the reason ([`Lapse::name`]).
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = [
            ("timed-out", self.timed_out),
            ("busy", self.busy),
            ("missing", self.missing),
            ("logged-out", self.logged_out),
            ("limited", self.limited),
            ("failed", self.failed),
            ("unparsable", self.unparsable),
            ("overtaken", self.overtaken),
        ];
        all.into_iter().filter(|(_, count)| *count > 0)
    }
}

impl Counts {
    pub(super) fn lapse(&mut self, lapse: &Lapse) {
        self.lapses = self.lapses.saturating_add(1);
        self.kinds.count(lapse);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
