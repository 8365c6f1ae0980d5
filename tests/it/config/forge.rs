//! Repositories that an address names, and the forge at which pull requests are opened.

use std::path::{Path, PathBuf};
use std::time::Duration;

use herder::core::pull::{Client, Forge};
use herder::core::review::OnAccept;

use super::Folder;

/// The beginning of an agent's section.
const AGENT: &str = "[[agent]]\nname = \"a\"\nruntime = \"command\"\ncommand = [\"cat\"]\n";

#[test]
fn agents_that_open_pull_requests_get_the_forge_and_no_agent_its_login() {
    let folder = Folder::new();
    folder.file("token", "a-token-of-the-operator\n", 0o600);
    let text = format!(
        "[forge]\nclient = \"/usr/local/bin/forge\"\nhost = \"forge.example\"\nevery = \"5m\"\ninherit_env = [\"SSH_AUTH_SOCK\", \"GH_TOKEN\"]\n\
         env = {{ GH_HOST = \"forge.example\", GH_ENTERPRISE_TOKEN = {{ file = \"token\" }} }}\n\
         {AGENT}repository = \"/\"\non_accept = \"pr\"\nfollow_ups = 1\n\
         [[agent]]\nname = \"b\"\nruntime = \"command\"\ncommand = [\"cat\"]\nrepository = \"/\"\n"
    );
    let config = folder.load(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let of = |index: usize| config.agents[index].repository.as_ref().expect("it has one");
    assert_eq!(of(0).landing.on_accept, OnAccept::Pull { follow_ups: 1 });
    let forge = Forge {
        client: Client::Program(PathBuf::from("/usr/local/bin/forge")),
        host: "forge.example".to_owned(),
        env: [("GH_HOST".to_owned(), "forge.example".to_owned())].into(),
        inherit_env: vec!["SSH_AUTH_SOCK".to_owned(), "GH_TOKEN".to_owned()],
        env_files: [("GH_ENTERPRISE_TOKEN".to_owned(), folder.path("token"))].into(),
        every: Duration::from_secs(300),
    };
    assert_eq!(of(0).forge.as_deref(), Some(&forge));
    assert_eq!(of(1).forge, None);
    let withheld: Vec<&str> = config.secret_variables.iter().map(String::as_str).collect();
    assert_eq!(withheld, ["GH_ENTERPRISE_TOKEN", "GH_TOKEN"]);
    assert_eq!(config.redactor.redact("a-token-of-the-operator"), "[redacted]");
}

#[test]
fn a_repository_is_named_by_its_address() {
    for (address, copy) in [
        ("https://forge.example/moss/app.git", "app-"),
        ("ssh://git@forge.example:2222/moss/app", "app-"),
        ("git@forge.example:moss/app.git", "app-"),
        ("file:///srv/git/app", "app-"),
        ("https://forge.example/moss/.git/../..", "-"),
    ] {
        let folder = Folder::new();
        let text = format!("{AGENT}repository = {address:?}\n");
        let config = folder.load(&text).unwrap_or_else(|problems| panic!("{address}: {problems}"));
        let repository = config.agents[0].repository.as_ref().expect("it has one");
        assert_eq!(repository.url, address);
        assert_eq!(repository.forge.as_deref(), Some(&Forge::default()), "it has the login of herder's user");
        assert_eq!(repository.path.parent(), Some(Path::new("repositories")), "{address}");
        let name = repository.path.file_name().and_then(|name| name.to_str()).expect("a name");
        assert!(name.starts_with(copy) && name.ends_with(".git") && name.len() < 70, "{name}");
        assert!(!config.folders.iter().any(|folder| folder.path.to_string_lossy().contains("forge.example")));
    }
}

#[test]
fn mistakes_about_forges_and_addresses_are_named() {
    let folder = Folder::new();
    let sentences = folder.sentences(&format!(
        "[forge]\nclient = \"glab\"\nhost = \"a b\"\nevery = \"1s\"\n\
         {AGENT}repository = \"https://ghp_secret@forge.example/moss/app\"\ncopy = [\".env\"]\nfollow_ups = 2\n\
         [[agent]]\nname = \"b\"\nruntime = \"command\"\ncommand = [\"cat\"]\nrepository = \"ext::sh -c x\"\n\
         on_accept = \"pr\"\nmerge_method = \"squash\"\n\
         [[agent]]\nname = \"c\"\nruntime = \"command\"\ncommand = [\"cat\"]\nrepository = \"ftp://forge.example/app\"\n\
         [[agent]]\nname = \"d\"\nruntime = \"command\"\ncommand = [\"cat\"]\nrepository = \"app\"\n"
    ));
    insta::assert_snapshot!(sentences, @r##"
    bot.toml:2: [forge] client: "glab" is not gh and no whole path; write gh, or the path of a program of your own, from /
    bot.toml:3: [forge] host: "a b" is no name of a host; write e.g. github.com
    bot.toml:4: [forge] every: "1s" is too short; use at least 10s
    bot.toml:9: [agent.a] repository: a login in an address would be stored with the agent; take it out, and give it to git: see [forge]
    bot.toml:10: [agent.a] copy: only a repository on this machine has files beside those of git; name the path of one, or take it out
    bot.toml:11: [agent.a] follow_ups: no pull request is opened here; write on_accept = "pr" as well, or take it out
    bot.toml:16: [agent.b] repository: an address has no blanks and does not begin with -
    bot.toml:18: [agent.b] merge_method: herder merges nothing here; write on_accept = "merge" as well, or take it out
    bot.toml:23: [agent.c] repository: "ftp" is not one of https, ssh, http, git and file
    bot.toml:28: [agent.d] repository: "app" is relative; write the whole path, from /, or an address
    "##);
}
