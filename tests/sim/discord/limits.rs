//! Discord's rate limits.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The number of changes to the topic or name of a channel within a period. This limit is always in force.
const TOPIC: (usize, Duration) = (2, Duration::from_secs(600));
/// Requests of a bot altogether.
const GLOBAL: (usize, Duration) = (50, Duration::from_secs(1));

#[derive(Debug, Default)]
pub(crate) struct Limits {
    /// The limits of routes and the global one are in force, and answers carry their headers.
    pub(crate) are_real: bool,
    /// True if the number of channels is unlimited.
    pub(crate) is_roomy: bool,
    /// Topics may be changed as often as one likes.
    pub(crate) topics_are_free: bool,
    /// The number of answers with 429, then the number of global ones among them.
    pub(crate) refused: u32,
    pub(crate) refused_globally: u32,
    buckets: HashMap<String, Vec<Instant>>,
}

/// The state of a request's bucket.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    pub(crate) bucket: String,
    pub(crate) limit: usize,
    pub(crate) remaining: usize,
    pub(crate) reset_after: Duration,
    /// The time to wait, if the request is refused.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) is_global: bool,
}

/// Returns the bucket of a route: a number of requests per time. The numbers are those that the service was seen to
/// use, not documented ones.
fn bucket(route: &str) -> (usize, Duration) {
    match route {
        "POST /channels/{channel_id}/messages" | "PATCH /channels/{channel_id}/messages/{message_id}" => {
            (5, Duration::from_secs(5))
        }
        "DELETE /channels/{channel_id}/messages/{message_id}" => (5, Duration::from_secs(1)),
        "PUT /channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me"
        | "DELETE /channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me" => {
            (1, Duration::from_millis(250))
        }
        "POST /guilds/{guild_id}/channels" => (10, Duration::from_secs(10)),
        _ => (20, Duration::from_secs(1)),
    }
}

impl Limits {
    /// Takes a place in a bucket, or says how long to wait for one.
    fn take(&mut self, key: String, (limit, window): (usize, Duration), is_global: bool) -> Standing {
        let now = Instant::now();
        let taken = self.buckets.entry(key.clone()).or_default();
        // A bucket is emptied as a whole, a window after its first request.
        if taken.first().is_some_and(|first| now.duration_since(*first) >= window) {
            taken.clear();
        }
        let reset_after =
            taken.first().map_or(window, |first| window.saturating_sub(now.duration_since(*first)));
        let is_full = taken.len() >= limit;
        if !is_full {
            taken.push(now);
        }
        let remaining = limit - taken.len();
        Standing {
            bucket: key,
            limit,
            remaining,
            reset_after,
            retry_after: is_full.then_some(reset_after),
            is_global,
        }
    }

    /// Counts a request; `major` is the channel, guild or webhook it is about. Returns the state of its bucket.
    pub(crate) fn request(&mut self, route: &str, major: &str) -> Option<Standing> {
        if !self.are_real {
            return None;
        }
        let is_interaction = route.contains("/interactions/") || route.contains("/webhooks/");
        if !is_interaction {
            let standing = self.take("global".to_owned(), GLOBAL, true);
            if standing.retry_after.is_some() {
                return Some(standing);
            }
        }
        // Both reactions share one bucket.
        let name = if route.contains("/reactions/") { "reactions" } else { route };
        let standing = self.take(format!("{name} {major}"), bucket(route), false);
        // Each channel has a bucket of its own, and Discord calls them all the same.
        Some(Standing { bucket: name.to_owned(), ..standing })
    }

    /// Counts a change of a channel's name or topic. Returns the time to wait if it is refused.
    pub(crate) fn topic(&mut self, channel: u64) -> Option<Duration> {
        if self.topics_are_free {
            return None;
        }
        self.take(format!("topic {channel}"), TOPIC, false).retry_after
    }
}
