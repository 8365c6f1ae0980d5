//! Texts about a reload of the configuration.

use herder::core::id::AgentName;
use herder::core::notice::{Notice, Refusal};

fn agents(names: &[&str]) -> Vec<AgentName> {
    names.iter().map(|name| AgentName::new(name).expect("a good name")).collect()
}

fn sections(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Returns the notice of a reload without changes.
fn nothing() -> Notice {
    Notice::Reloaded {
        added: Vec::new(),
        changed: Vec::new(),
        restarted: Vec::new(),
        removed: Vec::new(),
        replaced: Vec::new(),
        stayed: Vec::new(),
        failed: Vec::new(),
        sections: Vec::new(),
        later: Vec::new(),
    }
}

pub(super) fn notices() -> Vec<Notice> {
    let everything = Notice::Reloaded {
        added: agents(&["ada"]),
        changed: agents(&["ben", "cleo"]),
        restarted: agents(&["dora"]),
        removed: agents(&["emil"]),
        replaced: agents(&["ben"]),
        stayed: agents(&["flint"]),
        failed: agents(&["gus"]),
        sections: sections(&["[access]", "[limits]"]),
        later: sections(&["[[irc]]", "locale"]),
    };
    let many: Vec<String> = (1..=30).map(|number| format!("agent-{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut crowd = nothing();
    if let Notice::Reloaded { added, .. } = &mut crowd {
        *added = agents(&many);
    }
    let problems = |count| {
        let Refusal::NotReloaded { problems, count } = refusal(count) else {
            unreachable!("it was made as one")
        };
        Notice::NotReloaded { problems, count }
    };
    vec![nothing(), everything, crowd, problems(1), problems(2), problems(5)]
}

pub(super) fn refusal(count: u32) -> Refusal {
    let problems =
        (1..=count).map(|line| format!("bot.toml:{line}: nam: there is no such key; did you mean \"name\"?"));
    Refusal::NotReloaded { problems: problems.collect(), count }
}
