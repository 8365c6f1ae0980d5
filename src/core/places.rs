//! The channels in which an agent may speak and read: its own, the work channel, and those of its `channels` setting. Pure.

use crate::id::{AgentName, NetworkName};
use crate::post::Target;
use crate::spec::AgentSpec;

/// Maximum number of channels in an agent's setting `channels`; herder joins each of them.
pub const CHANNELS_MAX: usize = 20;

/// The channels that every agent has on one network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The network's name in the configuration.
    pub name: NetworkName,
    /// The name of the work channel on the network, with `#`.
    pub work: String,
    /// True if the network knows channels by name and herder has to join them (IRC); false if by id (Discord).
    pub joins: bool,
}

/// A channel that an agent may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The network of the channel.
    pub network: NetworkName,
    /// The channel's name on the network, or its id; its recorded lines are found by it.
    pub name: String,
    /// The target for posts to the channel.
    pub target: Target,
    /// True if the channel comes from the agent's setting `channels`, so that herder has to join it.
    pub extra: bool,
}

/// Parses an entry of an agent's setting `channels` (`#dev`, `libera/#dev`) into the network, `None` for all networks,
/// and the channel.
///
/// # Errors
/// A sentence with the mistake.
pub fn entry(text: &str) -> Result<(Option<NetworkName>, String), String> {
    let (network, channel) = match text.split_once('/') {
        Some((network, channel)) if !network.starts_with('#') => (Some(network), channel),
        Some(_) | None => (None, text),
    };
    let by_id = network.is_some()
        && (15..=20).contains(&channel.len())
        && channel.bytes().all(|c| c.is_ascii_digit());
    let bad = |c: char| c.is_control() || c.is_whitespace() || matches!(c, ',' | '\u{7}');
    let by_name =
        channel.len() > 1 && channel.len() <= 64 && channel.starts_with('#') && !channel.contains(bad);
    if !(by_id || by_name) || network.is_some_and(str::is_empty) {
        return Err(format!(
            "\"{text}\" names no channel; write #dev, libera/#dev, or on Discord discord/<channel id>"
        ));
    }
    Ok((network.map(NetworkName::from), channel.to_ascii_lowercase()))
}

/// Returns all channels that `agent` may use with its tools: its own, the work channel, and those of its setting
/// `channels`.
#[must_use]
pub fn all(agent: &AgentName, spec: Option<&AgentSpec>, networks: &[Network]) -> Vec<Place> {
    let mut places = Vec::new();
    for network in networks {
        let place =
            |name: String, target| Place { network: network.name.clone(), name, target, extra: false };
        places.push(place(format!("#{agent}"), Target::Agent(agent.clone())));
        places.push(place(network.work.to_ascii_lowercase(), Target::Work));
    }
    let extras = spec.map(|spec| spec.channels.as_slice()).unwrap_or_default();
    for (of, channel) in extras.iter().take(CHANNELS_MAX).filter_map(|text| entry(text).ok()) {
        for network in networks {
            let named = of.as_ref().is_none_or(|of| *of == network.name);
            let place = Place {
                network: network.name.clone(),
                target: Target::Channel(channel.clone()),
                name: channel.clone(),
                extra: true,
            };
            let known =
                places.iter().any(|known: &Place| known.network == place.network && known.name == place.name);
            if named && !known && network.joins == channel.starts_with('#') {
                places.push(place);
            }
        }
    }
    places
}

/// Returns the channels that a tool call refers to: those of this name on one network or all of them; without a name
/// the agent's own channel.
///
/// # Errors
/// A sentence that lists the available ones.
pub fn meant(
    agent: &AgentName,
    places: &[Place],
    channel: Option<&str>,
    network: Option<&str>,
) -> Result<Vec<Place>, String> {
    let own = format!("#{agent}");
    let wanted = channel.map(str::trim).filter(|name| !name.is_empty()).unwrap_or(&own).to_ascii_lowercase();
    let hashed = format!("#{wanted}");
    let is_work = wanted == "#work" || wanted == "work";
    let meant = places.iter().filter(|place| {
        let named = place.name == wanted || place.name == hashed || (is_work && place.target == Target::Work);
        named && network.is_none_or(|network| place.network.as_str().eq_ignore_ascii_case(network.trim()))
    });
    let meant: Vec<Place> = meant.cloned().collect();
    if meant.is_empty() {
        let there: Vec<String> =
            places.iter().map(|place| format!("{} on {}", place.name, place.network)).collect();
        return Err(format!("You may not use that channel. You have: {}.", there.join(", ")));
    }
    Ok(meant)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::spec::Runtime;

    fn spark() -> AgentName {
        AgentName::new("spark").expect("a good name")
    }

    fn places(channels: &[&str]) -> Vec<Place> {
        let network = |name: &str, joins| Network { name: name.into(), work: "#work".into(), joins };
        let mut spec = AgentSpec::new(spark(), Runtime::Codex, PathBuf::from("/"));
        spec.channels = channels.iter().map(|name| (*name).to_owned()).collect();
        all(
            &spark(),
            Some(&spec),
            &[network("libera", true), network("oftc", true), network("discord", false)],
        )
    }

    fn names(places: &[Place]) -> Vec<String> {
        places.iter().map(|place| format!("{}/{}", place.network, place.name)).collect()
    }

    #[test]
    fn an_agent_has_its_own_channel_the_work_channel_and_its_list_alone() {
        let places =
            places(&["#Dev", "oftc/#ops", "discord/123456789012345678", "#spark", "nothing", "libera/"]);
        insta::assert_snapshot!(names(&places).join(" "), @"libera/#spark libera/#work oftc/#spark oftc/#work discord/#spark discord/#work libera/#dev oftc/#dev oftc/#ops discord/123456789012345678");
        let meant = |channel, network| {
            meant(&spark(), &places, channel, network).map(|places| names(&places).join(" "))
        };
        assert_eq!(meant(None, None).as_deref(), Ok("libera/#spark oftc/#spark discord/#spark"));
        assert_eq!(meant(Some("#SPARK"), Some("Discord")).as_deref(), Ok("discord/#spark"));
        assert_eq!(meant(Some("work"), Some("oftc")).as_deref(), Ok("oftc/#work"));
        assert_eq!(meant(Some("dev"), None).as_deref(), Ok("libera/#dev oftc/#dev"));
        for stranger in ["#flint", "#alerts", "#herder", "alice", "#ops,#spark", "#ops\r\nJOIN #x", "0"] {
            assert!(meant(Some(stranger), Some("libera")).is_err(), "{stranger}");
        }
        assert!(meant(Some("#ops"), Some("libera")).is_err());
    }

    #[test]
    fn an_entry_is_a_channel_or_says_what_it_should_be() {
        assert_eq!(entry("#dev"), Ok((None, "#dev".to_owned())));
        assert_eq!(entry("libera/#dev/x"), Ok((Some("libera".into()), "#dev/x".to_owned())));
        for wrong in
            ["", "#", "dev", "/#dev", "libera/dev", "#a,#b", "#a b", "123456789012345678", "libera/#a\r"]
        {
            assert!(entry(wrong).is_err(), "{wrong:?}");
        }
    }
}
