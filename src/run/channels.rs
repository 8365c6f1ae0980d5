//! Which channels herder wants to be in, and their topics: one per agent, following the fleet.

use std::time::Duration;

use tokio::sync::watch;

use crate::chat::ChannelWanted;
use crate::core::agent::{Agent, Phase};
use crate::l10n::Locale;
use crate::outbox::clean::clean;
use crate::outbox::{Redactor, Target};
use crate::supervisor::Fleet;

/// Topics follow the fleet at most so often: people read them, servers limit them.
const EVERY: Duration = Duration::from_secs(2);

/// The agents' channels as they should be now.
pub(super) fn wanted(fleet: &Fleet, locale: &Locale, redactor: &Redactor) -> Vec<ChannelWanted> {
    fleet
        .agents()
        .into_iter()
        .map(|view| ChannelWanted {
            target: Target::Agent(view.name.clone()),
            topic: Some(topic(&view.agent, locale, redactor)),
        })
        .collect()
}

/// `<phase> · <task> · <since>`.
fn topic(agent: &Agent, locale: &Locale, redactor: &Redactor) -> String {
    /// A topic has some hundred bytes on every server.
    const WORK_MAX: usize = 80;
    // Nobody renews a topic by the second: a moment stays true, what is left until then does not.
    let phase = match &agent.phase {
        Phase::Waiting { until, reason } => locale.waiting_until(*until, *reason),
        phase => locale.phase(phase, agent.since),
    };
    let work = agent.current.as_ref().or_else(|| agent.queue.front());
    // A topic is read by whoever joins: it is as clean of secrets and control codes as a post.
    let work =
        work.map_or_else(|| "-".to_owned(), |work| redactor.redact(&clean(&work.text)).replace('\n', " "));
    let work: String = work.chars().take(WORK_MAX).collect();
    format!("{phase} · {work} · {}", locale.clock_time(agent.since))
}

/// Keeps `channels` as the fleet is, until dropped.
pub(super) async fn follow(
    fleet: Fleet,
    locale: Locale,
    redactor: Redactor,
    channels: watch::Sender<Vec<ChannelWanted>>,
) {
    let mut changes = fleet.changes();
    // What changed before this task began counts too.
    changes.mark_changed();
    while changes.changed().await.is_ok() {
        let now = wanted(&fleet, &locale, &redactor);
        channels.send_if_modified(|channels| {
            let changed = *channels != now;
            *channels = now;
            changed
        });
        tokio::time::sleep(EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::event::WaitReason;
    use crate::core::outcome::Category;
    use crate::core::time::Timestamp;

    #[test]
    fn a_topic_says_until_when_and_not_how_long() {
        let locale = Locale::load_in_zone("en-US", jiff::tz::TimeZone::UTC).expect("a locale");
        let (since, until) = (Timestamp::from_millis(1_000), Timestamp::from_millis(41_000));
        let phase = Phase::Waiting { until, reason: WaitReason::Backoff(Category::Permanent) };
        let agent = Agent { phase, since, ..Agent::default() };
        let topic = topic(&agent, &locale, &Redactor::default());
        assert_eq!(topic, "restarting after: permanent error, until 00:00:41 · - · 00:00:01");
    }
}
