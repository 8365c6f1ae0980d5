//! Connections to runners on other machines.

use super::super::way::Way;
use super::super::wire::Standing;
use super::{Bot, Link, LinkState};
use crate::cluster::net::Line;
use crate::core::detail::Own;
use crate::core::id::AgentName;
use crate::core::outcome::{Category, Outcome};

impl Link {
    /// Like [`Link::to`], for a runner on another machine.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn by_line(line: Line, bot: Bot) -> Self {
        Self::by(Way::Line(line), bot)
    }

    /// Like [`Link::to`], for a runner that cannot be reached at present settings.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn nowhere(bot: Bot) -> Self {
        let link = Self::by(Way::Nowhere, bot);
        link.0.known().given_up = true;
        link
    }

    /// Returns true while the runner is connected.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        matches!(*self.0.state.borrow(), LinkState::Connected(_))
    }

    /// Gives up a runner that was taken out, until it answers again: its sessions end as interrupted, its jobs fail, and
    /// nothing is owed to it.
    pub fn give_up(&self) {
        let mut known = self.0.known();
        known.given_up = true;
        known.asked.fail_all(&Own::RunnerAway.into());
        known.forget_owed();
        let agents: Vec<AgentName> = known.sessions.keys().cloned().collect();
        for agent in agents {
            known.end(&agent, Outcome::new(Category::Interrupted, Own::RunnerAway));
        }
        drop(known);
        self.0.taken.notify_waiters();
    }

    /// Stops the sessions on a runner that no supervisor has, once it is connected for the first time.
    pub async fn stop_unknown(&self) {
        let mut state = self.state();
        let connected = state.wait_for(|state| matches!(state, LinkState::Connected(_))).await;
        let Ok(LinkState::Connected(standings)) = connected.map(|state| state.clone()) else { return };
        for Standing { of, next, .. } in standings {
            let is_known = self.0.known().last.get(&of.agent).is_some_and(|last| *last >= of.session);
            if !is_known {
                // Dropped orders mean a stop, and all of its reports are heard.
                drop(self.adopt(of, next.saturating_sub(1)));
            }
        }
    }
}
