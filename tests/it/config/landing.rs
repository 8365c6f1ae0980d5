//! The keys that say how work gets into the base.

use herder::core::id::AgentName;
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
        (
            "on_accept = \"pr\"\n",
            Landing { review: Reviewer::None, on_accept: OnAccept::Pull { follow_ups: 3 } },
        ),
    ] {
        let folder = Folder::new();
        let repository = folder.path("app");
        std::fs::create_dir(&repository).expect("a folder");
        let text = format!("{AGENT}repository = {repository:?}\n{keys}");
        let config = folder.load(&text).unwrap_or_else(|problems| panic!("{keys}: {problems}"));
        let read = config.agents[0].repository.as_ref().map(|repository| repository.landing.clone());
        assert_eq!(read, Some(expected), "{keys}");
    }
}

#[test]
fn keys_that_lead_nowhere_are_reported() {
    let folder = Folder::new();
    let sentences = folder.sentences(&format!(
        "{AGENT}workspace = \"/\"\nreview = \"person\"\nmerge_method = \"squash\"\n\
         [[agent]]\nname = \"b\"\nruntime = \"command\"\ncommand = [\"cat\"]\nrepository = \"/\"\nreview = \"the boss\"\n\
         on_accept = \"push\"\nmerge_method = \"cherry-pick\"\n"
    ));
    insta::assert_snapshot!(sentences, @r##"
    bot.toml:6: [agent.a] review: it is for agents with a repository; write repository = "/srv/repos/app"
    bot.toml:7: [agent.a] merge_method: it is for agents with a repository; write repository = "/srv/repos/app"
    bot.toml:13: [agent.b] review: "the boss" is not none, not person and no name of an agent
    bot.toml:14: [agent.b] on_accept: "push" is not one of keep, merge or pr
    bot.toml:15: [agent.b] merge_method: "cherry-pick" is not one of squash, rebase or merge
    "##);
}

#[test]
fn another_agent_reviews() {
    let folder = Folder::new();
    let repository = folder.path("app");
    std::fs::create_dir(&repository).expect("a folder");
    let other = format!(
        "[[agent]]\nname = \"ember\"\nruntime = \"command\"\ncommand = [\"cat\"]\nrepository = {repository:?}\n"
    );
    for (keys, rounds) in [("", 3), ("review_rounds = 1\n", 1)] {
        let text = format!("{AGENT}repository = {repository:?}\nreview = \"ember\"\n{keys}{other}");
        let config = folder.load(&text).unwrap_or_else(|problems| panic!("{keys}: {problems}"));
        let read = config.agents[0].repository.as_ref().map(|repository| repository.landing.review.clone());
        let name = AgentName::new("ember").expect("a name");
        assert_eq!(read, Some(Reviewer::Agent { name, rounds }), "{keys}");
    }
    let text = format!("{AGENT}repository = {repository:?}\nreview = \"embr\"\n{other}");
    let config = folder.load(&text).expect("people may add it in chat");
    let warnings: Vec<String> = config.warnings.iter().map(|warning| warning.sentence("bot.toml")).collect();
    let about: Vec<&String> = warnings.iter().filter(|warning| warning.contains("review")).collect();
    let expected = "bot.toml:6: [agent.a] review: no agent here is called embr, so that a person is called for each review; did \
                    you mean \"ember\"?";
    assert_eq!(about, [expected]);
    let sentences = folder.sentences(&format!(
        "{AGENT}repository = {repository:?}\nreview = \"a\"\n\
         [[agent]]\nname = \"b\"\nruntime = \"command\"\ncommand = [\"cat\"]\nrepository = {repository:?}\n\
         review = \"person\"\nreview_rounds = 2\n\
         [[agent]]\nname = \"c\"\nruntime = \"command\"\ncommand = [\"cat\"]\nrepository = {repository:?}\n\
         review = \"d\"\nreview_rounds = 0\n\
         [[agent]]\nname = \"d\"\nruntime = \"command\"\ncommand = [\"cat\"]\nworkspace = {repository:?}\n"
    ));
    insta::assert_snapshot!(sentences, @r##"
    bot.toml:6: [agent.a] review: an agent does not review its own work; write the name of another one, or "person"
    bot.toml:13: [agent.b] review_rounds: no agent reviews the work; write the name of one, e.g. review = "ember", or take it out
    bot.toml:19: [agent.c] review: d reviews in clones; give it the repository in place of its workspace
    bot.toml:20: [agent.c] review_rounds: 0 is out of bounds; use a number from 1 to 20
    "##);
    let sentences = folder.sentences(&format!(
        "[runners]\nservers = [\"tls://box1:4222\"]\n{AGENT}repository = {repository:?}\nreview = \"ember\"\n{other}\
         runner = \"box4\"\n"
    ));
    insta::assert_snapshot!(sentences, @r##"
    bot.toml:8: [agent.a] review: ember runs on another machine, which does not have the commits to review; give both the same runner
    "##);
}
