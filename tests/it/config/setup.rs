//! The command that makes a new clone ready.

use std::time::Duration;

use herder::core::checkout::CloneSetup;

use super::Folder;

/// The beginning of an agent's section.
const AGENT: &str = "[[agent]]\nname = \"a\"\nruntime = \"command\"\ncommand = [\"cat\"]\n";

#[test]
fn the_setup_is_read_with_its_limit() {
    for (keys, expected) in [
        ("", None),
        ("setup = \"npm ci\"\n", Some(("npm ci", CloneSetup::TIMEOUT))),
        ("setup = \"npm ci\"\nsetup_timeout = \"5m\"\n", Some(("npm ci", Duration::from_secs(300)))),
    ] {
        let folder = Folder::new();
        let repository = folder.path("app");
        std::fs::create_dir(&repository).expect("a folder");
        let text = format!("{AGENT}repository = {repository:?}\n{keys}");
        let config = folder.load(&text).unwrap_or_else(|problems| panic!("{keys}: {problems}"));
        let read = config.agents[0].repository.as_ref().expect("it has one").setup.as_deref().cloned();
        let expected = expected.map(|(command, timeout)| CloneSetup { command: command.to_owned(), timeout });
        assert_eq!(read, expected, "{keys}");
    }
}

#[test]
fn a_setup_that_leads_nowhere_is_reported() {
    let folder = Folder::new();
    let sentences = folder.sentences(&format!(
        "{AGENT}workspace = \"/\"\nsetup = \"npm ci\"\n\
         [[agent]]\nname = \"b\"\nruntime = \"command\"\ncommand = [\"cat\"]\nrepository = \"/\"\nsetup_timeout = \"5m\"\n\
         [[agent]]\nname = \"c\"\nruntime = \"command\"\ncommand = [\"cat\"]\nrepository = \"/\"\nsetup = \"a\\u0000b\"\n"
    ));
    insta::assert_snapshot!(sentences, @r##"
    bot.toml:6: [agent.a] setup: it is for agents with a repository; write repository = "/srv/repos/app"
    bot.toml:12: [agent.b] setup_timeout: there is no setup to which it applies; write e.g. setup = "npm ci"
    bot.toml:18: [agent.c] setup: a command contains no NUL; take it out
    "##);
}
