//! The program that judges turns and splits tasks: the evaluator, or its substitute in a simulation.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Simulated;
use super::shared::Shared;
use crate::evaluator::{Asked, Divided, Evaluated, Evaluator, Whole};

/// Function that replaces [`Evaluator::evaluate`] in a simulation.
pub type Judging = dyn Fn(Asked) -> BoxFuture<'static, Evaluated> + Send + Sync;

/// Function that replaces [`Evaluator::split`] in a simulation.
pub type Splitting = dyn Fn(Asked<Whole>) -> BoxFuture<'static, Divided> + Send + Sync;

/// The evaluator, or its replacement in a simulation.
#[derive(Clone)]
pub(super) enum Judges {
    Evaluator(Evaluator),
    Simulated(Arc<Simulated>),
}

impl Shared {
    /// Returns the evaluator's program, or its replacement; `None` if none is configured.
    pub(super) fn judges(&self) -> Option<Judges> {
        match &self.fault.simulated {
            Some(simulated) => Some(Judges::Simulated(Arc::clone(simulated))),
            None => self.evaluator.clone().map(Judges::Evaluator),
        }
    }
}

impl Judges {
    pub(super) async fn evaluate(&self, asked: Asked) -> Evaluated {
        match self {
            Self::Evaluator(evaluator) => evaluator.evaluate(asked).await,
            Self::Simulated(simulated) => (simulated.judge)(asked).await,
        }
    }

    pub(super) async fn split(&self, asked: Asked<Whole>) -> Divided {
        match self {
            Self::Evaluator(evaluator) => evaluator.split(asked).await,
            Self::Simulated(simulated) => (simulated.split)(asked).await,
        }
    }
}
