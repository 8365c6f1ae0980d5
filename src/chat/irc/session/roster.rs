//! Members and topics of the channels, collected from passing lines for agents that ask for them.

use super::super::wire::{Received, Said};
use super::Session;

/// Characters that servers put before a nick in a list of names, for operators and the like.
pub(super) const MARKS: [char; 6] = ['~', '&', '@', '%', '+', '!'];

impl Session<'_> {
    /// Updates the members and topics of channels that agents can read from one line, before the line is handled.
    pub(super) fn observe(&self, line: &Received) {
        let (rooms, network) = (&self.settings.rooms, &self.settings.network.name);
        let us = self.is_us(&line.source.name);
        match &line.said {
            Said::Numeric(353, params) => {
                let [.., channel, names] = params.as_slice() else { return };
                let names: Vec<&str> = names
                    .split_ascii_whitespace()
                    .map(|name| name.trim_start_matches(MARKS).split('!').next().unwrap_or_default())
                    .collect();
                rooms.present(network, channel, &names);
            }
            Said::Numeric(332, params) => {
                if let [_, channel, topic] = params.as_slice() {
                    rooms.topic_is(network, channel, topic);
                }
            }
            Said::Numeric(331, params) => {
                if let [_, channel, ..] = params.as_slice() {
                    rooms.topic_is(network, channel, "");
                }
            }
            Said::Topic { channel, topic } => rooms.topic_is(network, channel, topic),
            Said::Join { channel, .. } if us => rooms.inside(network, channel, true),
            Said::Join { channel, .. } => rooms.present(network, channel, &[&line.source.name]),
            Said::Part { channel } if us => rooms.inside(network, channel, false),
            Said::Part { channel } => rooms.absent(network, Some(channel), &line.source.name),
            Said::Kick { channel, nick, .. } if self.is_us(nick) => rooms.inside(network, channel, false),
            Said::Kick { channel, nick, .. } => rooms.absent(network, Some(channel), nick),
            Said::Nick(to) => rooms.renamed(network, &line.source.name, to),
            Said::Quit(_) => rooms.absent(network, None, &line.source.name),
            _ => {}
        }
    }
}
