//! The evaluator: it judges turns and splits tasks, well or badly, in time or not, and sometimes it is not available.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use herder::core::outcome::Usage;
use herder::core::verdict::{Lapse, Verdict};
use herder::evaluator::{Asked, Divided, Evaluated, Whole};

use super::random::Random;
use super::world::Sim;

/// Longer than any wait for a split.
const AGES: Duration = Duration::from_secs(3600);

/// Draws the reason of a missing answer.
fn lapse(dice: &mut Random) -> Lapse {
    match dice.below(6) {
        0 => Lapse::TimedOut { after_ms: 30_000 },
        1 => Lapse::missing("codex"),
        2 => Lapse::logged_out("no key"),
        3 => Lapse::limited("try later"),
        4 => Lapse::failed("it fell over"),
        _ => Lapse::unparsable("I think that"),
    }
}

fn verdict(dice: &mut Random) -> Verdict {
    match dice.weighted(&[30, 35, 25, 10]) {
        0 => Verdict::Ok,
        1 => Verdict::correction("look at the log first"),
        2 => Verdict::think_deeper("why does it fail"),
        // Never at once, whatever it says.
        _ => Verdict::escalation("it is stuck"),
    }
}

/// Draws the cost of an answer, sometimes unknown.
fn usage(dice: &mut Random) -> Option<Usage> {
    let tokens = 200 + dice.below(2_000);
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let cost_usd = tokens as f64 / 100_000.0;
    dice.is(9, 10).then_some(Usage { input_tokens: tokens, cost_usd, ..Usage::default() })
}

/// Waits until there would be an answer. Returns whether it is still wanted.
async fn thinks<B>(dice: &mut Random, asked: &Asked<B>) -> bool {
    let takes = if dice.is(1, 50) { AGES } else { dice.around(Duration::from_secs(15)) };
    tokio::select! {
        biased;
        () = asked.overtaken.cancelled() => false,
        () = tokio::time::sleep(takes) => true,
    }
}

/// Stands in for the evaluator's judging.
pub(crate) fn judge(sim: &Sim, asked: Asked) -> BoxFuture<'static, Evaluated> {
    let (mut dice, calm) = sim.dice_of_an_answer();
    async move {
        let wanted = thinks(&mut dice, &asked).await;
        let verdict = match () {
            () if !wanted => Err(Lapse::Overtaken),
            () if calm => Ok(Verdict::Ok),
            () if dice.is(1, 6) => Err(lapse(&mut dice)),
            () => Ok(verdict(&mut dice)),
        };
        Evaluated { verdict, usage: usage(&mut dice) }
    }
    .boxed()
}

/// Stands in for the program that splits tasks.
pub(crate) fn split(sim: &Sim, asked: Asked<Whole>) -> BoxFuture<'static, Divided> {
    let (mut dice, _) = sim.dice_of_an_answer();
    async move {
        let wanted = thinks(&mut dice, &asked).await;
        let parts = match () {
            () if !wanted => Err(Lapse::Overtaken),
            () if dice.is(1, 4) => Err(lapse(&mut dice)),
            () => Ok((0..2 + dice.below(4)).map(|part| format!("part {part}")).collect()),
        };
        Divided { parts, usage: usage(&mut dice) }
    }
    .boxed()
}
