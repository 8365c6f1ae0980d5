//! The detector's results on transcripts whose labels are known.

use std::collections::BTreeMap;
use std::fmt::Write;

use herder::core::detector::{Finding, Pattern, find};
use herder::core::turn::Turn;

use super::script::{Scenario, Transcript};

/// The number of transcripts that are drawn from each scenario.
pub(crate) const DRAWN: u64 = 3;

/// Returns the detector's first finding in a transcript, with its turn; the detector is asked after every turn.
fn first_finding(turns: &[Turn]) -> Option<(usize, Finding)> {
    (1..=turns.len()).find_map(|length| Some((length - 1, find(&turns[..length])?)))
}

/// The results for the transcripts of one label.
#[derive(Default)]
struct Row {
    drawn: usize,
    found: usize,
    /// Findings with the label's own name.
    named: usize,
    /// Findings where nothing was to be found, or not yet.
    wrong: usize,
}

#[derive(Default)]
pub(crate) struct Measure {
    rows: BTreeMap<Option<Pattern>, Row>,
    missed: BTreeMap<String, usize>,
    wrong: BTreeMap<String, usize>,
}

impl Measure {
    pub(crate) fn of(scenarios: &[Scenario]) -> Self {
        let mut measure = Self::default();
        for scenario in scenarios {
            for seed in 0..DRAWN {
                measure.add(scenario, &scenario.transcript(seed));
            }
        }
        measure
    }

    fn add(&mut self, scenario: &Scenario, transcript: &Transcript) {
        let row = self.rows.entry(scenario.label).or_default();
        row.drawn += 1;
        let found = first_finding(&transcript.turns);
        match (transcript.stuck, found) {
            (Some(stuck), Some((at, finding))) if at >= stuck => {
                row.found += 1;
                row.named += usize::from(Some(finding.pattern()) == scenario.label);
            }
            (_, Some((at, finding))) => {
                row.wrong += 1;
                *self.wrong.entry(format!("{} turn {}: {finding:?}", scenario.name, at + 1)).or_default() +=
                    1;
            }
            (Some(_), None) => *self.missed.entry(scenario.name.clone()).or_default() += 1,
            (None, None) => {}
        }
    }

    fn sum(&self, of: impl Fn(&Row) -> usize) -> usize {
        self.rows.values().map(of).sum()
    }

    fn stuck(&self) -> usize {
        self.rows.iter().filter(|(label, _)| label.is_some()).map(|(_, row)| row.drawn).sum()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of a few hundred")]
    pub(crate) fn precision(&self) -> f64 {
        let found = self.sum(|row| row.found);
        found as f64 / (found + self.sum(|row| row.wrong)) as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of a few hundred")]
    pub(crate) fn recall(&self) -> f64 {
        self.sum(|row| row.found) as f64 / self.stuck() as f64
    }

    pub(crate) fn table(&self) -> String {
        let mut table = format!("{:<14}{:>8}{:>8}{:>8}{:>8}\n", "", "drawn", "found", "named", "wrong");
        for (label, row) in &self.rows {
            let label = label.map_or("look-alikes", Pattern::name);
            let Row { drawn, found, named, wrong } = row;
            writeln!(table, "{label:<14}{drawn:>8}{found:>8}{named:>8}{wrong:>8}")
                .expect("a string takes it");
        }
        let (precision, recall) = (self.precision(), self.recall());
        writeln!(table, "precision {precision:.3}, recall {recall:.3}").expect("a string takes it");
        for (name, times) in &self.missed {
            writeln!(table, "missed {times} of {DRAWN}: {name}").expect("a string takes it");
        }
        for (name, times) in &self.wrong {
            writeln!(table, "wrong {times} of {DRAWN}: {name}").expect("a string takes it");
        }
        table
    }
}
