//! Channels that herder joins, and their topics: one per agent, following the fleet.

use std::time::Duration;

use tokio::sync::watch;

use crate::core::agent::{Agent, Phase};
use crate::core::clean::clean;
use crate::core::link::ChannelWanted;
use crate::core::places;
use crate::core::post::Target;
use crate::core::promotion::Hold;
use crate::l10n::Locale;
use crate::redact::Redactor;
use crate::supervisor::Fleet;
use crate::tools::Rooms;

/// Minimum time between two updates of channel topics, because people read them and servers limit them.
const EVERY: Duration = Duration::from_secs(2);

/// Returns the channels that herder should be in, with their topics; `before` are the present ones, whose topic stays
/// while a session is being stopped.
pub(super) fn wanted(around: &Around, before: &[ChannelWanted]) -> Vec<ChannelWanted> {
    let agents = around.fleet.agents();
    let own = agents.iter().map(|view| {
        let target = Target::Agent(view.name.clone());
        // A session that is being stopped ends soon: the state after it is worth a topic, the stop is not.
        let stopping = matches!(view.agent.phase, Phase::Stopping { .. });
        let kept = before.iter().find(|channel| stopping && channel.target == target);
        let topic = kept.and_then(|channel| channel.topic.clone());
        let topic = topic
            .unwrap_or_else(|| topic_of(&view.agent, view.hold.as_ref(), &around.locale, &around.redactor));
        ChannelWanted { target, topic: Some(topic), network: None }
    });
    // The state of unreadable agents is unknown; their channels stay, with their topics.
    let unreadable = around.fleet.unreadable().into_iter();
    let unreadable =
        unreadable.map(|agent| ChannelWanted { target: Target::Agent(agent), topic: None, network: None });
    // Channels in an agent's configuration, if the agent has joined them.
    let extra = agents.iter().flat_map(|view| {
        let places = places::all(&view.name, view.agent.spec.as_ref(), &around.networks);
        places.into_iter().filter(|place| place.extra && around.rooms.has_joined(&view.name, place))
    });
    let extra =
        extra.map(|place| ChannelWanted { target: place.target, topic: None, network: Some(place.network) });
    own.chain(unreadable).chain(extra).collect()
}

/// The data from which the wanted channels and topics are computed.
#[derive(Debug, Clone)]
pub(super) struct Around {
    pub(super) fleet: Fleet,
    pub(super) locale: Locale,
    pub(super) redactor: Redactor,
    pub(super) rooms: Rooms,
    pub(super) networks: Vec<places::Network>,
}

/// Formats the topic of an agent's channel: `<phase> · <task> · <since>`, without secrets.
fn topic_of(agent: &Agent, hold: Option<&Hold>, locale: &Locale, redactor: &Redactor) -> String {
    /// Maximum length of the work's text, in characters; a topic has some hundred bytes on every server.
    const WORK_MAX: usize = 80;
    // A point in time stays true, but a remaining time would need updates.
    let hold = hold.filter(|_| agent.wants().is_some());
    let phase = match &agent.phase {
        // The number of agents at work and the free memory are left out, as they change often.
        Phase::Idle
            if matches!(hold, Some(Hold::Turn { .. } | Hold::Pressure { .. } | Hold::Memory { .. })) =>
        {
            locale.text("phase-held", &[])
        }
        Phase::Idle if hold.is_some() => hold.map(|hold| locale.hold(hold)).unwrap_or_default(),
        Phase::Waiting { until, reason } => locale.waiting_until(*until, *reason),
        _ => locale.state(agent, agent.since),
    };
    let work = agent.current.as_ref().or_else(|| agent.queue.front());
    // Everyone who joins reads a topic: it is as free of secrets and control codes as a post.
    let work =
        work.map_or_else(|| "-".to_owned(), |work| redactor.redact(&clean(&work.text)).replace('\n', " "));
    let work: String = work.chars().take(WORK_MAX).collect();
    format!("{phase} · {work} · {}", locale.clock_time(agent.since))
}

/// Recomputes the wanted channels and topics after every change of an agent and publishes them to `channels`, until
/// dropped.
pub(super) async fn follow(around: Around, channels: watch::Sender<Vec<ChannelWanted>>) {
    let (mut changes, mut wishes) = (around.fleet.changes(), around.rooms.wishes());
    // Changes before this task started count too.
    changes.mark_changed();
    loop {
        let wished = tokio::select! {
            changed = changes.changed() => changed,
            wished = wishes.changed() => wished,
        };
        if wished.is_err() {
            return;
        }
        let now = wanted(&around, &channels.borrow());
        channels.send_if_modified(|channels| {
            let changed = *channels != now;
            *channels = now;
            changed
        });
        // An agent that has requested a channel waits for it.
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            _ = wishes.changed() => wishes.mark_changed(),
        }
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
        let topic = topic_of(&agent, None, &locale, &Redactor::default());
        assert_eq!(topic, "restarting after: permanent error, until 00:00:41 · - · 00:00:01");
    }
}
