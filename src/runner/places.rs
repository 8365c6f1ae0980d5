//! The places of all agents: this machine, and the runners that agents are pinned to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::Place;
use super::link::{Bot, Link};
use crate::core::id::RunnerName;

/// Makes the place of a runner when it is first asked for. Cheap to clone.
#[derive(Clone)]
pub struct Finds(Arc<dyn Fn(&RunnerName) -> Place + Send + Sync>);

impl Finds {
    /// Returns one that makes places by `finds`.
    #[must_use]
    pub fn by(finds: impl Fn(&RunnerName) -> Place + Send + Sync + 'static) -> Self {
        Self(Arc::new(finds))
    }

    /// Returns one for a bot that knows no other machine: whatever runs there is out of reach.
    #[must_use]
    pub fn nowhere(bot: Bot) -> Self {
        Self::by(move |runner| Place::Remote(Link::nowhere(bot.clone()), None, Some(runner.clone())))
    }
}

impl fmt::Debug for Finds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Finds")
    }
}

/// The places of all agents.
#[derive(Debug)]
pub struct Places {
    here: Arc<Place>,
    elsewhere: RwLock<BTreeMap<RunnerName, Arc<Place>>>,
    finds: Finds,
    /// Environment variables that no agent gets, wherever it runs.
    withheld: Mutex<BTreeSet<String>>,
}

impl Places {
    /// Returns the places: the one of agents without a runner, and those that `finds` makes.
    #[must_use]
    pub fn new(here: Place, finds: Finds, withheld: BTreeSet<String>) -> Self {
        let places =
            Self { here: Arc::new(here), elsewhere: RwLock::default(), finds, withheld: Mutex::default() };
        places.withhold(&withheld);
        places
    }

    /// Returns the place of agents without a runner.
    #[must_use]
    pub fn here(&self) -> &Arc<Place> {
        &self.here
    }

    /// Returns the place of the agents of a runner; `None`: of those without one.
    #[must_use]
    pub fn of(&self, runner: Option<&RunnerName>) -> Arc<Place> {
        let Some(runner) = runner else { return Arc::clone(&self.here) };
        let known = self.elsewhere.read().unwrap_or_else(PoisonError::into_inner).get(runner).cloned();
        known.unwrap_or_else(|| {
            let mut elsewhere = self.elsewhere.write().unwrap_or_else(PoisonError::into_inner);
            let found = elsewhere.entry(runner.clone());
            Arc::clone(found.or_insert_with(|| {
                let place = (self.finds.0)(runner);
                place.withhold(&self.withheld.lock().unwrap_or_else(PoisonError::into_inner));
                Arc::new(place)
            }))
        })
    }

    /// Returns the places of runners that were asked for.
    #[must_use]
    pub fn elsewhere(&self) -> Vec<Arc<Place>> {
        self.elsewhere.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Adds environment variables that no agent gets from the next session on.
    pub fn withhold(&self, more: &BTreeSet<String>) {
        self.withheld.lock().unwrap_or_else(PoisonError::into_inner).extend(more.iter().cloned());
        self.here.withhold(more);
        self.elsewhere().iter().for_each(|place| place.withhold(more));
    }

    /// Leaves all of them: sessions in other processes go on.
    pub async fn leave(&self) {
        self.here.leave().await;
        for place in self.elsewhere() {
            place.leave().await;
        }
    }
}
