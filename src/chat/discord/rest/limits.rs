//! Rate limits of requests: per route, and in total.
//!
//! Discord sends its limits with the answers (`X-RateLimit-*`), so that they are learnt, not configured. A route with
//! unknown limits gets one request at a time. All requests count against one global limit as well, of which urgent
//! ones (alerts, answers, posts that people wait for) have a reserved part. Refused requests (429) count towards a
//! ban of the whole address, so that the aim is to have none. After a 429 its route waits, after a global one
//! everything does, and also if many requests are refused for any reason ([`super::refusals`]).

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use reqwest::Method;
use tokio::time::Instant;

use super::refusals::{Refusals, Stop};
use super::route::Route;

/// Maximum number of requests in [`SECOND`]. Discord allows a bot 50; a few are left for the gateway library's own.
const GLOBAL_MAX: u32 = 47;
/// The part of `GLOBAL_MAX` that is open to requests that are not urgent.
const GLOBAL_NORMAL: u32 = 38;
/// The window of the global limit. The limits of Discord's window are unknown, so that this one holds for any second.
const SECOND: Duration = Duration::from_secs(1);
/// Margin that is added to a limit's reset time for the difference between Discord's window and ours.
const MARGIN: Duration = Duration::from_millis(20);
/// Maximum number of rate limits that are remembered: the channels of the largest fleet, several routes each. Beyond it
/// unused ones are removed.
const BUCKETS_MAX: usize = 8192;
/// Maximum length of a rate limit's name; Discord's have 32 characters.
const NAME_MAX: usize = 64;
/// Wait of all requests after Discord rejected the bot's token: such requests count towards a ban.
const UNAUTHORISED: Duration = Duration::from_secs(30);
/// Maximum wait that an answer can impose: Discord's own blocks last minutes.
const WAIT_MAX: Duration = Duration::from_secs(3600);

/// The decision of the rate limits about a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The request can be sent now; the permit has to be returned by [`Limits::answered`] or [`Limits::abandoned`].
    Go(Permit),
    /// The request cannot be sent before this time.
    At(Instant),
    /// The request cannot be sent before another request of the same limit is answered.
    AfterAnswer,
}

/// The rate limits that an answer of Discord's states.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Told {
    /// Discord's name of the limit that the request counts against; `None` if the answer states none.
    pub(super) bucket: Option<String>,
    pub(super) limit: Option<u32>,
    pub(super) remaining: Option<u32>,
    pub(super) reset_after: Option<Duration>,
    /// The wait that a 429 states, and whether it concerns all requests; `None` for other answers.
    pub(super) limited: Option<Limited>,
    /// True if Discord rejected the bot's token.
    pub(super) unauthorised: bool,
    /// True if the request was refused by Discord in a way that counts towards a ban, or by something between herder
    /// and Discord.
    pub(super) refused: bool,
}

/// The wait that an answer with status 429 states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limited {
    pub(super) after: Duration,
    pub(super) is_global: bool,
}

/// Permits one request to be sent, and counts it as in flight until it is returned.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Permit(Key);

type Kind = (Method, &'static str);
/// The name of a rate limit, and the channel or guild to which it applies.
type Key = (String, String);

/// All known rate limits of Discord's API.
#[derive(Debug)]
pub(super) struct Limits {
    /// Names that Discord has given to the limits of request kinds.
    names: HashMap<Kind, String>,
    buckets: HashMap<Key, Bucket>,
    global: Global,
    refusals: Refusals,
    unauthorised_until: Option<Instant>,
}

#[derive(Debug, Default)]
struct Bucket {
    /// Number of requests that the limit allows in its window; `None` if Discord has not stated it yet.
    limit: Option<u32>,
    remaining: u32,
    resets_at: Option<Instant>,
    blocked_until: Option<Instant>,
    in_flight: u32,
}

#[derive(Debug)]
struct Global {
    blocked_until: Option<Instant>,
    /// Times of the requests sent within the last [`SECOND`].
    gone: VecDeque<Instant>,
    /// Time of the last change of `pace`.
    paced: Option<Instant>,
    /// Maximum number of requests that are not urgent in any [`SECOND`]; halved by every 429, and raised by one a second.
    pace: u32,
}

impl Limits {
    pub(super) fn new() -> Self {
        let global = Global { blocked_until: None, gone: VecDeque::new(), paced: None, pace: GLOBAL_NORMAL };
        let refusals = Refusals::default();
        Self { names: HashMap::new(), buckets: HashMap::new(), global, refusals, unauthorised_until: None }
    }

    /// Decides whether a request for `route` can be sent now.
    pub(super) fn ask(&mut self, route: &Route, urgent: bool, now: Instant) -> Verdict {
        match self.refusals.ask(!route.authorised, urgent, now) {
            Some(Stop::Until(at)) => return Verdict::At(at),
            Some(Stop::Answer) => return Verdict::AfterAnswer,
            None => {}
        }
        let key = self.key(route);
        let bucket = self.buckets.entry(key.clone()).or_default();
        if let Some(wait) = bucket.ask(now) {
            return wait.map_or(Verdict::AfterAnswer, Verdict::At);
        }
        // Interactions do not count against the bot's limits.
        if route.authorised
            && let Some(at) =
                self.unauthorised_until.filter(|at| *at > now).or_else(|| self.global.ask(urgent, now))
        {
            return Verdict::At(at);
        }
        bucket.take();
        self.refusals.goes();
        if route.authorised {
            self.global.take(now);
        }
        Verdict::Go(Permit(key))
    }

    /// Records the answer to a request, with the limits that it states.
    pub(super) fn answered(&mut self, permit: &Permit, route: &Route, told: &Told, now: Instant) {
        self.abandoned(permit);
        self.refusals.answered(told.refused, now);
        if let Some(name) = told.bucket.as_ref().filter(|name| name.len() <= NAME_MAX) {
            self.names.insert(route.kind(), name.clone());
        }
        let key = self.key(route);
        let bucket = self.buckets.entry(key).or_default();
        bucket.learn(told, now);
        if let Some(limited) = told.limited {
            let until = now + limited.after.min(WAIT_MAX) + MARGIN;
            if limited.is_global {
                self.global.blocked_until = self.global.blocked_until.max(Some(until));
                self.global.slows_down(now);
            } else {
                bucket.remaining = 0;
                bucket.blocked_until = bucket.blocked_until.max(Some(until));
            }
        }
        if told.unauthorised && route.authorised {
            self.unauthorised_until = Some(now + UNAUTHORISED);
        }
        self.tidy(now);
    }

    /// Records that a request ended without an answer, or was dropped.
    pub(super) fn abandoned(&mut self, permit: &Permit) {
        self.refusals.is_over();
        if let Some(bucket) = self.buckets.get_mut(&permit.0) {
            bucket.in_flight = bucket.in_flight.saturating_sub(1);
        }
    }

    /// Returns the number of requests refused within ten minutes, if all others are stopped because of it; else `None`.
    pub(super) fn stopped(&mut self, now: Instant) -> Option<u32> {
        self.refusals.stopped(now)
    }

    fn key(&self, route: &Route) -> Key {
        let name = self.names.get(&route.kind()).cloned();
        (name.unwrap_or_else(|| route.name()), route.major.clone())
    }

    fn tidy(&mut self, now: Instant) {
        if self.buckets.len() > BUCKETS_MAX {
            self.buckets.retain(|_, bucket| !bucket.is_free(now));
        }
    }
}

impl Bucket {
    /// Checks one limit: returns `None` if a request can be sent now, `Some` of the time to wait for, or `Some(None)`
    /// to wait for an answer.
    fn ask(&mut self, now: Instant) -> Option<Option<Instant>> {
        if let Some(until) = self.blocked_until.filter(|until| *until > now) {
            return Some(Some(until));
        }
        let Some(limit) = self.limit else {
            return (self.in_flight > 0).then_some(None);
        };
        if self.resets_at.is_none_or(|at| at <= now) {
            // Requests in flight may count in this window as well as in the last one.
            (self.remaining, self.resets_at) = (limit.saturating_sub(self.in_flight), None);
        }
        (self.remaining == 0).then_some(self.resets_at)
    }

    fn take(&mut self) {
        self.in_flight += 1;
        self.remaining = self.remaining.saturating_sub(1);
    }

    fn learn(&mut self, told: &Told, now: Instant) {
        let (Some(limit), Some(remaining), Some(after)) = (told.limit, told.remaining, told.reset_after)
        else {
            return;
        };
        let resets_at = now + after.min(WAIT_MAX) + MARGIN;
        // Answers can overtake each other: within one window the lowest number is the newest.
        let same_window = self.limit.is_some()
            && self
                .resets_at
                .is_some_and(|before| before > now && before + Duration::from_millis(250) > resets_at);
        let free = remaining.saturating_sub(self.in_flight);
        self.remaining = if same_window { free.min(self.remaining) } else { free };
        self.limit = Some(limit.max(1));
        self.resets_at = Some(resets_at);
    }

    fn is_free(&self, now: Instant) -> bool {
        let over = |at: Option<Instant>| at.is_none_or(|at| at <= now);
        self.in_flight == 0 && over(self.resets_at) && over(self.blocked_until)
    }
}

impl Global {
    /// Checks the global limit: returns the time at which a request can be sent; `None` for now.
    fn ask(&mut self, urgent: bool, now: Instant) -> Option<Instant> {
        if let Some(until) = self.blocked_until.filter(|until| *until > now) {
            return Some(until);
        }
        while self.gone.front().is_some_and(|at| *at + SECOND <= now) {
            self.gone.pop_front();
        }
        let max = usize::try_from(if urgent { GLOBAL_MAX } else { self.pace }).unwrap_or(usize::MAX);
        // The request whose leaving the window makes room.
        let ends = self.gone.len().checked_sub(max)?;
        self.gone.get(ends).map(|at| *at + SECOND)
    }

    fn take(&mut self, now: Instant) {
        self.gone.push_back(now);
        let paced = *self.paced.get_or_insert(now);
        if now.duration_since(paced) >= SECOND {
            self.paced = Some(now);
            self.pace = (self.pace + 1).min(GLOBAL_NORMAL);
        }
    }

    /// Halves the number of requests per second that are not urgent, after a 429.
    fn slows_down(&mut self, now: Instant) {
        self.pace = (self.pace / 2).max(1);
        self.paced = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(channel: u64) -> Route {
        let template = "/channels/{channel.id}/messages";
        Route::post(template, format!("/channels/{channel}/messages"), channel)
    }

    fn go(limits: &mut Limits, route: &Route, urgent: bool, now: Instant) -> Permit {
        match limits.ask(route, urgent, now) {
            Verdict::Go(permit) => permit,
            other @ (Verdict::At(_) | Verdict::AfterAnswer) => panic!("it has to wait: {other:?}"),
        }
    }

    fn told(limit: u32, remaining: u32, reset_ms: u64) -> Told {
        Told {
            bucket: Some("abcd".to_owned()),
            limit: Some(limit),
            remaining: Some(remaining),
            reset_after: Some(Duration::from_millis(reset_ms)),
            limited: None,
            unauthorised: false,
            refused: false,
        }
    }

    fn limited(ms: u64, is_global: bool) -> Told {
        Told { limited: Some(Limited { after: Duration::from_millis(ms), is_global }), ..Told::default() }
    }

    #[test]
    fn a_route_is_asked_once_until_its_limit_is_known_and_then_as_far_as_it_goes() {
        let (mut limits, now) = (Limits::new(), Instant::now());
        let route = message(1);
        let first = go(&mut limits, &route, false, now);
        assert_eq!(limits.ask(&route, false, now), Verdict::AfterAnswer);
        limits.answered(&first, &route, &told(5, 4, 5000), now);
        let flying: Vec<Permit> = (0..4).map(|_| go(&mut limits, &route, false, now)).collect();
        let reset = now + Duration::from_secs(5) + MARGIN;
        assert_eq!(limits.ask(&route, false, now), Verdict::At(reset));
        assert!(matches!(limits.ask(&message(2), false, now), Verdict::Go(_)), "another channel has its own");
        // Answers that overtake each other do not return used requests.
        for (permit, remaining) in flying.iter().zip([0, 1, 2, 3]) {
            limits.answered(permit, &route, &told(5, remaining, 4990), now);
        }
        assert!(matches!(limits.ask(&route, false, now), Verdict::At(_)));
        for _ in 0..5 {
            go(&mut limits, &route, false, reset);
        }
        assert_eq!(limits.ask(&route, false, reset), Verdict::AfterAnswer);
    }

    #[test]
    fn what_is_refused_waits_and_nothing_else() {
        let (mut limits, now) = (Limits::new(), Instant::now());
        let permit = go(&mut limits, &message(1), false, now);
        limits.answered(&permit, &message(1), &limited(1500, false), now);
        let until = now + Duration::from_millis(1500) + MARGIN;
        assert_eq!(limits.ask(&message(1), true, now), Verdict::At(until));
        go(&mut limits, &message(2), false, now);
        go(&mut limits, &message(1), false, until);
    }

    #[test]
    fn a_global_refusal_stops_everything_but_interactions() {
        let (mut limits, now) = (Limits::new(), Instant::now());
        let permit = go(&mut limits, &message(1), false, now);
        limits.answered(&permit, &message(1), &limited(1000, true), now);
        let until = now + Duration::from_secs(1) + MARGIN;
        assert_eq!(limits.ask(&message(2), true, now), Verdict::At(until));
        let callback = Route::post("/interactions/callback", "/x".to_owned(), 3).by_interaction();
        go(&mut limits, &callback, true, now);
        // Afterwards requests that are not urgent are slower than before; alerts find room.
        for channel in 10..10 + u64::from(GLOBAL_NORMAL / 2 + 1) {
            go(&mut limits, &message(channel), false, until);
        }
        assert_eq!(limits.ask(&message(99), false, until), Verdict::At(until + SECOND));
        go(&mut limits, &message(99), true, until);
    }

    #[test]
    fn a_flood_leaves_room_for_alerts() {
        let (mut limits, now) = (Limits::new(), Instant::now());
        let mut gone = 0;
        while let Verdict::Go(_) = limits.ask(&message(gone + 1), false, now) {
            gone += 1;
        }
        assert_eq!(gone, u64::from(GLOBAL_NORMAL));
        for channel in 0..u64::from(GLOBAL_MAX - GLOBAL_NORMAL) {
            go(&mut limits, &message(1000 + channel), true, now);
        }
        assert_eq!(limits.ask(&message(2000), true, now), Verdict::At(now + SECOND));
        go(&mut limits, &message(2000), false, now + SECOND);
    }

    /// Checks that no second has more requests than the limit, wherever Discord's windows begin.
    #[test]
    fn no_second_has_more_requests_than_are_allowed() {
        let (mut limits, start) = (Limits::new(), Instant::now());
        let mut gone: Vec<Instant> = Vec::new();
        for step in 0..400_u64 {
            // Nothing in the first half of each second, the maximum in the other.
            let now = start + Duration::from_millis(step * 10);
            if step % 100 < 50 {
                continue;
            }
            while let Verdict::Go(_) = limits.ask(&message(10_000 + gone.len() as u64), true, now) {
                gone.push(now);
            }
        }
        let most = gone
            .iter()
            .map(|first| gone.iter().filter(|at| **at >= *first && **at < *first + SECOND).count());
        assert_eq!(most.max(), Some(GLOBAL_MAX as usize));
    }

    #[test]
    fn an_unknown_token_is_not_shown_again_at_once() {
        let (mut limits, now) = (Limits::new(), Instant::now());
        let permit = go(&mut limits, &message(1), true, now);
        limits.answered(&permit, &message(1), &Told { unauthorised: true, ..Told::default() }, now);
        assert_eq!(limits.ask(&message(2), true, now), Verdict::At(now + UNAUTHORISED));
    }

    #[test]
    fn a_request_that_nobody_waits_for_gives_its_place_back() {
        let (mut limits, now) = (Limits::new(), Instant::now());
        let permit = go(&mut limits, &message(1), false, now);
        // Its limit was named in the meantime, by another channel's answer.
        let other = go(&mut limits, &message(2), false, now);
        limits.answered(&other, &message(2), &told(5, 4, 1000), now);
        limits.abandoned(&permit);
        let again = go(&mut limits, &message(1), false, now);
        limits.abandoned(&again);
        go(&mut limits, &message(1), false, now);
    }
}
