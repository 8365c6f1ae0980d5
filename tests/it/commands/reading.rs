//! herder's reading of lines, in a few words.

use std::collections::BTreeSet;

use herder::commands::grammar::{Misfit, Roster};
use herder::commands::parse::{self, Heard, Problem, Room, Scene};
use herder::core::id::AgentName;
use herder::core::speech::Mention;

pub(super) struct Agents(BTreeSet<AgentName>);

impl Agents {
    pub(super) fn new(names: &[&str]) -> Self {
        Self(names.iter().map(|name| AgentName::new(name).expect("a name")).collect())
    }
}

impl Roster for Agents {
    fn knows(&self, agent: &AgentName) -> bool {
        self.0.contains(agent)
    }

    fn names(&self) -> Vec<AgentName> {
        self.0.iter().cloned().collect()
    }

    fn remembers(&self, agent: &AgentName) -> bool {
        agent.as_str() == "gone"
    }
}

/// Returns the room of a table's name.
fn room(name: &str) -> Room {
    match name {
        "#spark" => Room::Agent(AgentName::new("spark").expect("a name")),
        "#other" => Room::Agent(AgentName::new("other").expect("a name")),
        "#herder" => Room::Control,
        "#work" => Room::Other,
        "private" => Room::Private,
        name => panic!("no such room: {name}"),
    }
}

pub(super) fn hear(place: &str, text: &str) -> Heard {
    let agents = Agents::new(&["spark", "other", "spark-codex"]);
    let bob = Mention { written: "<@5>".to_owned(), shown: "@herder stop-all".to_owned(), addresses: true };
    let mentions = [bob];
    parse::line(text, Scene { room: &room(place), own_nick: "herdbot", mentions: &mentions, roster: &agents })
}

/// Returns the meaning of a line, in a few words.
pub(super) fn gist(heard: &Heard) -> String {
    match heard {
        Heard::Nothing => "nothing".to_owned(),
        Heard::Work { agent, text } => format!("work {agent}: {text}"),
        Heard::Command(call) => {
            let mut gist = format!("do {}", call.command.name);
            if let Some(agent) = &call.agent {
                gist += &format!(" @{agent}");
            }
            if call.now {
                gist += " now";
            }
            if let Some(count) = call.count {
                gist += &format!(" {count}");
            }
            for (name, number) in [("session", call.session), ("page", call.page)] {
                gist += &number.map_or_else(String::new, |number| format!(" {name} {number}"));
            }
            if let Some(task) = call.task {
                gist += &format!(" #{task}");
            }
            for word in call.word.iter().map(String::as_str).chain(call.choice) {
                gist += &format!(" {word}");
            }
            if !call.text.is_empty() {
                gist += &format!(": {}", call.text);
            }
            if !call.rest.is_empty() {
                gist += &format!(" {:?}", call.rest);
            }
            gist
        }
        Heard::Problem(Problem::Unknown { word, nearest }) => match nearest {
            Some(nearest) => format!("unknown {word}, {nearest}?"),
            None => format!("unknown {word}"),
        },
        Heard::Problem(Problem::Usage { command, why, .. }) => match why {
            Misfit::Missing(what) => format!("usage {}: no {what}", command.name),
            Misfit::Extra(word) => format!("usage {}: extra {word}", command.name),
            Misfit::NoSuchAgent { word, nearest } => match nearest {
                Some(nearest) => format!("usage {}: agent {word}, {nearest}?", command.name),
                None => format!("usage {}: agent {word}", command.name),
            },
            Misfit::Wrong { word, .. } => format!("usage {}: wrong {word}", command.name),
            Misfit::Unclosed(quote) => format!("usage {}: unclosed {quote}", command.name),
            Misfit::WholeFleet => format!("usage {}: whole fleet", command.name),
        },
        Heard::Problem(Problem::Group { group, nearest }) => match nearest {
            Some(nearest) => format!("group {group}, {nearest}?"),
            None => format!("group {group}"),
        },
        Heard::Problem(Problem::AskBack { word, options, .. }) => {
            format!("asked {word}: {}", options.join(" | "))
        }
        Heard::Problem(Problem::NoSuchAgent { word, nearest, .. }) => match nearest {
            Some(nearest) => format!("no agent {word}, {nearest}?"),
            None => format!("no agent {word}"),
        },
    }
}

/// Checks the meaning of each line of `rows`.
#[track_caller]
pub(super) fn table(place: &str, rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|(text, meaning)| (text, meaning, gist(&hear(place, text))))
        .filter(|(_, meaning, gist)| **meaning != gist)
        .map(|(text, meaning, gist)| format!("{text:?} in {place}\n   wanted {meaning}\n   is     {gist}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
