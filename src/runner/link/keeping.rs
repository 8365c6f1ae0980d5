//! The loop that keeps a connection up, and the signs of life meanwhile.

use std::time::Duration;

use tracing::debug;

use super::known::Linked;
use super::{Inner, LinkState};

/// Time between two attempts to connect, and between two signs of life of sessions whose runner is away.
const AGAIN: Duration = Duration::from_millis(200);

/// Time until a bot that was refused asks again: a person has to do something first.
const REFUSED_AGAIN: Duration = Duration::from_secs(5);

impl Inner {
    /// Keeps the connection up until it is closed.
    pub(super) async fn keep(&self) {
        let kept = async {
            loop {
                let ended = self.connect().await;
                match &ended {
                    Ok(()) => debug!("the runner has closed the connection"),
                    Err(reason) => debug!(%reason, "the connection to the runner ended"),
                }
                self.known().process = None;
                self.state.send_if_modified(|state| match state {
                    LinkState::Away => false,
                    // It has just said so.
                    LinkState::Refused(_) if ended.is_ok() => false,
                    LinkState::Connected(_) | LinkState::Refused(_) => {
                        *state = LinkState::Away;
                        true
                    }
                });
                let is_refused = matches!(*self.state.borrow(), LinkState::Refused(_));
                tokio::time::sleep(if is_refused { REFUSED_AGAIN } else { AGAIN }).await;
            }
        };
        let mut state = self.state.subscribe();
        let beating = async {
            loop {
                if state.wait_for(|state| !matches!(state, LinkState::Connected(_))).await.is_err() {
                    std::future::pending::<()>().await;
                }
                if self.known().sessions.is_empty() {
                    // No supervisor waits for a sign of life.
                    self.linked.notified().await;
                    continue;
                }
                self.beat_for_all();
                tokio::time::sleep(AGAIN).await;
            }
        };
        let kept = async {
            tokio::select! {
                biased;
                () = kept => {}
                () = beating => {}
            }
        };
        if self.closed.run_until_cancelled(kept).await.is_none() {
            debug!("the connection to the runner is closed");
        }
    }

    /// Counts as a heartbeat of every session: that a runner is away is no sign of a driver that hangs.
    fn beat_for_all(&self) {
        self.known().sessions.values().for_each(Linked::beat);
    }
}
