//! The faults of a request.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::refusal::Refusal;

/// The point at which a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The request has no effect.
    Before,
    /// The request has its effect, and the bot does not learn that.
    After,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    RateLimited {
        retry_after: f64,
        is_global: bool,
    },
    Status {
        status: u16,
        effect: Effect,
    },
    Slow(Duration),
    Dropped(Effect),
    Refused(Refusal),
    /// A proxy in front of Discord answers, in HTML.
    Foreign(u16),
}

/// A fault: what goes wrong, where, and how often. Nothing happens until [`super::Discord::inject`].
///
/// ```ignore
/// sim.inject(Fault::dropped(Effect::After).on("POST /channels/{channel_id}/messages").skip(1).times(2));
/// ```
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// `METHOD /route`, as the contract names it; empty: every request.
    route: String,
    skip: u32,
    times: u32,
    gate: Option<Gate>,
}

/// Keeps answers back until it is opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate(CancellationToken);

impl Gate {
    /// Opens the gate: nothing is held back any more.
    pub(crate) fn opens(&self) {
        self.0.cancel();
    }

    /// Returns once it is open.
    pub(crate) async fn passed(&self) {
        self.0.cancelled().await;
    }
}

impl Fault {
    fn new(kind: Kind) -> Self {
        Self { kind, route: String::new(), skip: 0, times: 1, gate: None }
    }

    /// Returns a 429 for this bot on this route.
    pub(crate) fn rate_limited(retry_after: f64) -> Self {
        Self::new(Kind::RateLimited { retry_after, is_global: false })
    }

    /// Returns a 429 for every request of the bot.
    pub(crate) fn globally_rate_limited(retry_after: f64) -> Self {
        Self::new(Kind::RateLimited { retry_after, is_global: true })
    }

    /// Returns a fault that answers with a status such as 500, 502 or 503.
    pub(crate) fn status(status: u16, effect: Effect) -> Self {
        Self::new(Kind::Status { status, effect })
    }

    /// Returns a fault with the effect at once and the answer only after this time.
    pub(crate) fn slow(answer: Duration) -> Self {
        Self::new(Kind::Slow(answer))
    }

    /// Returns a fault with the effect at once and the answer only when the gate is open.
    pub(crate) fn held(gate: &Gate) -> Self {
        Self::slow(Duration::ZERO).until(gate)
    }

    /// Returns a fault that ends the connection without an answer.
    pub(crate) fn dropped(effect: Effect) -> Self {
        Self::new(Kind::Dropped(effect))
    }

    /// Returns a 403 with 50013.
    pub(crate) fn missing_permissions() -> Self {
        Self::new(Kind::Refused(Refusal::missing_permissions()))
    }

    /// Returns a 403 with 50001.
    pub(crate) fn missing_access() -> Self {
        Self::new(Kind::Refused(Refusal::missing_access()))
    }

    /// Returns a 404 with 10003.
    pub(crate) fn unknown_channel() -> Self {
        Self::new(Kind::Refused(Refusal::unknown(10003, "Channel", true)))
    }

    /// Returns any other refusal of Discord's.
    pub(crate) fn refused(status: u16, code: u64, message: &str) -> Self {
        Self::new(Kind::Refused(Refusal::circumstance(status, code, message)))
    }

    /// Returns a fault in which a proxy or a guard answers in Discord's place, with a page that says so.
    pub(crate) fn foreign(status: u16) -> Self {
        Self::new(Kind::Foreign(status))
    }

    /// Limits the fault to requests of this route: `POST /channels/{channel_id}/messages`.
    pub(crate) fn on(mut self, route: &str) -> Self {
        route.clone_into(&mut self.route);
        self
    }

    /// Spares the first `count` requests.
    pub(crate) fn skip(mut self, count: u32) -> Self {
        self.skip = count;
        self
    }

    /// Strikes that often; by default once.
    pub(crate) fn times(mut self, count: u32) -> Self {
        self.times = count;
        self
    }

    /// Delays the failure until the gate is open; the effect of the request, if it has one, comes at once.
    pub(crate) fn until(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Strikes until it is lifted.
    pub(crate) fn always(self) -> Self {
        self.times(u32::MAX)
    }
}

/// The failure of one request.
#[derive(Debug, Clone)]
pub(crate) struct Blow {
    pub(crate) kind: Kind,
    gate: Option<Gate>,
}

impl Blow {
    /// Returns when the answer may go.
    pub(crate) async fn allowed(&self) {
        if let Some(gate) = &self.gate {
            gate.passed().await;
        }
    }
}

/// A fault that waits for its requests.
#[derive(Debug)]
pub(crate) struct Injected {
    pub(crate) id: u64,
    pub(crate) fault: Fault,
    /// The number of times that it struck.
    pub(crate) struck: u32,
}

impl Injected {
    /// Returns whether it strikes this request, and counts that.
    pub(crate) fn strikes(&mut self, route: &str) -> bool {
        let fits = self.fault.route.is_empty() || self.fault.route == route;
        if !fits || self.is_spent() {
            return false;
        }
        if self.fault.skip > 0 {
            self.fault.skip -= 1;
            return false;
        }
        self.struck += 1;
        true
    }

    /// Returns its effect on a request.
    pub(crate) fn blow(&self) -> Blow {
        Blow { kind: self.fault.kind.clone(), gate: self.fault.gate.clone() }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.struck >= self.fault.times
    }
}
