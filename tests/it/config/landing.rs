//! The keys that say how work gets into the base.

use herder::core::review::{Landing, Method, OnAccept, Reviewer};

use super::Folder;

/// The beginning of an agent's section.
const AGENT: &str = "[[agent]]\nname = \"a\"\nruntime = \"command\"\ncommand = [\"cat\"]\n";

#[test]
fn the_way_into_the_base_is_read() {
    for (keys, expected) in [
        ("", Landing::default()),
        ("review = \"none\"\non_accept = \"keep\"\n", Landing::default()),
        ("review = \"person\"\n", Landing { review: Reviewer::Person, on_accept: OnAccept::Keep }),
        (
            "on_accept = \"merge\"\n",
            Landing { review: Reviewer::None, on_accept: OnAccept::Merge(Method::Squash) },
        ),
        (
            "review = \"person\"\non_accept = \"merge\"\nmerge_method = \"rebase\"\n",
            Landing { review: Reviewer::Person, on_accept: OnAccept::Merge(Method::Rebase) },
        ),
    ] {
        let folder = Folder::new();
        let repository = folder.path("app");
        std::fs::create_dir(&repository).expect("a folder");
        let text = format!("{AGENT}repository = {repository:?}\n{keys}");
        let config = folder.load(&text).unwrap_or_else(|problems| panic!("{keys}: {problems}"));
        let read = config.agents[0].repository.as_ref().map(|repository| repository.landing);
        assert_eq!(read, Some(expected), "{keys}");
    }
}

#[test]
fn keys_that_lead_nowhere_are_reported() {
    let folder = Folder::new();
    let sentences = folder.sentences(&format!(
        "{AGENT}workspace = \"/\"\nreview = \"person\"\nmerge_method = \"squash\"\n\
         [[agent]]\nname = \"b\"\nruntime = \"command\"\ncommand = [\"cat\"]\nrepository = \"/\"\nreview = \"spark\"\n\
         on_accept = \"push\"\nmerge_method = \"cherry-pick\"\n"
    ));
    insta::assert_snapshot!(sentences, @r##"
    bot.toml:6: [agent.a] review: it is for agents with a repository; write repository = "/srv/repos/app"
    bot.toml:7: [agent.a] merge_method: it is for agents with a repository; write repository = "/srv/repos/app"
    bot.toml:13: [agent.b] review: "spark" is not one of none or person
    bot.toml:14: [agent.b] on_accept: "push" is not one of keep or merge
    bot.toml:15: [agent.b] merge_method: "cherry-pick" is not one of squash, rebase or merge
    "##);
}
