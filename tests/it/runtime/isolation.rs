//! The isolation of an agent: variables that it does not get unless they are named, and accesses that its sandbox
//! denies.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use herder::core::outcome::Category;
use herder::core::spec::{AgentSpec, Runtime};
use herder::runtime::{Launch, Local, ProcessTrees};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};

use super::{Running, edit, run_with, session};

/// Variables that may be in the environment from which herder is started.
const SECRETS: [&str; 18] = [
    "SSH_AUTH_SOCK",
    "SSH_ASKPASS",
    "GIT_ASKPASS",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_KEY_0",
    "GIT_CONFIG_VALUE_0",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_GLOBAL",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_CONFIG_HOME",
    "OPENAI_API_KEY",
    "DISCORD_TOKEN",
    "HERDER_WEB_TOKEN",
];

/// Returns the launch of a shell with a folder of its own, from an environment with a HOME and with keys.
fn shell(script: &str, dir: &Path) -> (Launch, Local) {
    let (workspace, home) = (dir.join("work"), dir.join("home"));
    fs::create_dir_all(&workspace).expect("a folder");
    fs::create_dir_all(home.join(".codex")).expect("a folder");
    fs::write(home.join(".codex/auth.json"), "their login").expect("written");
    fs::write(home.join(".netrc"), "machine 127.0.0.1 login me password netrc").expect("written");
    let settings = "[credential]\n\thelper = \"!printf 'username=u\\npassword=hunter2\\n'\"\n\
                    [core]\n\taskPass = HOME/askpass\n\
                    [http]\n\textraHeader = \"X-Token: hunter2\"\n\tcookieFile = ~/.gitcookies\n";
    let settings = settings.replace("HOME", &home.display().to_string());
    fs::write(home.join(".gitconfig"), settings).expect("written");
    fs::write(home.join(".gitcookies"), "127.0.0.1\tFALSE\t/\tFALSE\t0\to\thunter2\n").expect("written");
    fs::write(home.join("askpass"), "#!/bin/sh\necho hunter2\n").expect("written");
    fs::set_permissions(home.join("askpass"), fs::Permissions::from_mode(0o700)).expect("it can be run");
    let launch = session(Runtime::Command, &["sh", "-c", script], &workspace);
    let mut local = Local { state: Some(dir.join("state")), ..super::local() };
    local.environment.insert("HOME".to_owned(), home.display().to_string());
    for name in SECRETS {
        local.environment.insert(name.to_owned(), format!("secret-{name}"));
    }
    (launch, local)
}

async fn says(launch: (Launch, Local)) -> String {
    let (outcome, ..) = run_with(launch).await;
    assert_eq!(outcome.category, Category::Success, "{outcome:?}");
    outcome.text.unwrap_or_default()
}

const ASKS_GIT: &str = "printf 'protocol=https\\nhost=example.org\\n\\n' | git credential fill 2>&1; true";

#[tokio::test]
async fn nothing_to_push_with_is_inherited_that_is_not_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let environment = says(shell("env", dir.path())).await;
    assert!(!environment.contains("secret-"), "{environment}");
    assert!(environment.contains("GIT_SSH_COMMAND=ssh -F /dev/null"), "{environment}");
    let filled = says(shell(ASKS_GIT, dir.path())).await;
    assert!(!filled.contains("hunter2"), "{filled}");

    let mut named = shell(&format!("env; {ASKS_GIT}"), dir.path());
    edit(&mut named.0, |spec| {
        spec.credentials = ["git", "ssh", "gh"].map(str::to_owned).to_vec();
        spec.inherit_env
            .extend(["SSH_AUTH_SOCK", "GH_TOKEN", "DISCORD_TOKEN", "HERDER_WEB_TOKEN"].map(str::to_owned));
    });
    let said = says(named).await;
    assert!(said.contains("password=hunter2"), "{said}");
    let secrets: Vec<&str> = said.lines().filter(|line| line.contains("secret-")).collect();
    assert_eq!(secrets, ["GH_TOKEN=secret-GH_TOKEN", "SSH_AUTH_SOCK=secret-SSH_AUTH_SOCK"]);
    assert!(!said.contains("GIT_SSH_COMMAND") && !said.contains("GH_CONFIG_DIR"), "{said}");
}

/// Settings that are handed on by name hold, and let nothing else through.
#[tokio::test]
async fn settings_of_git_that_are_named_hold_and_hide_nothing_of_what_is_kept_back() {
    let dir = tempfile::tempdir().expect("a folder");
    let names = ["GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"];
    let given = |count: &str, key: &str, value: &str| {
        let mut launch = shell(&format!("git config --get user.name; {ASKS_GIT}"), dir.path());
        for (name, value) in names.into_iter().zip([count, key, value]) {
            launch.1.environment.insert(name.to_owned(), value.to_owned());
        }
        edit(&mut launch.0, |spec| spec.inherit_env.extend(names.map(str::to_owned)));
        launch
    };
    let said = says(given("1", "user.name", "spark")).await;
    assert!(said.starts_with("spark\n") && !said.contains("hunter2"), "{said}");
    // A login that is handed on so is one that was named.
    let helper = "!printf 'username=u\\npassword=named\\n'";
    let said = says(given("1", "credential.helper", helper)).await;
    assert!(said.contains("password=named") && !said.contains("hunter2"), "{said}");
    for odd in ["", "x", "-1", "99999999999"] {
        let said = says(given(odd, "user.name", "spark")).await;
        assert!(!said.contains("hunter2"), "{odd}: {said}");
    }
    let mut set = given("0", "", "");
    edit(&mut set.0, |spec| {
        spec.inherit_env.retain(|name| !name.starts_with("GIT_"));
        for (name, value) in names.into_iter().zip(["1", "user.name", "ember"]) {
            spec.env.insert(name.to_owned(), value.to_owned());
        }
    });
    let said = says(set).await;
    assert!(said.starts_with("ember\n") && !said.contains("hunter2"), "{said}");
}

/// Returns the headers that git sends to a server that asks who it is.
async fn shows(change: impl FnOnce(&mut AgentSpec)) -> String {
    let dir = tempfile::tempdir().expect("a folder");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback is up");
    let port = listener.local_addr().expect("a bound socket has an address").port();
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let server = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = tokio::io::BufReader::new(stream);
            let mut line = String::new();
            while stream.read_line(&mut line).await.is_ok_and(|read| read > 2) {
                sender.send(std::mem::take(&mut line)).expect("the test listens");
            }
            let refusal = b"HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic realm=\"x\"\r\n\
                            content-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(refusal).await.expect("git listens");
        }
    });
    let script = format!("GIT_TERMINAL_PROMPT=0 git ls-remote http://127.0.0.1:{port}/x.git 2>&1; true");
    let mut launch = shell(&script, dir.path());
    edit(&mut launch.0, change);
    says(launch).await;
    server.abort();
    let mut said = String::new();
    while let Ok(line) = heard.try_recv() {
        said.push_str(&line);
    }
    assert!(said.contains("GET /x.git"), "it was asked: {said}");
    said.to_ascii_lowercase()
}

#[tokio::test]
async fn git_sends_no_token_of_the_users_unless_it_is_named_and_no_password_of_a_home_that_is_not_shared() {
    let default = shows(|_| ()).await;
    assert!(!default.contains("x-token") && !default.contains("cookie"), "{default}");
    // git has no setting that would keep it from that file: `herder check` names it.
    assert!(default.contains("authorization: basic"), "{default}");
    let own = shows(|spec| spec.own_home = true).await;
    assert!(!own.contains("x-token") && !own.contains("authorization"), "{own}");
    let named = shows(|spec| spec.credentials = vec!["git".to_owned()]).await;
    assert!(named.contains("x-token: hunter2") && named.contains("cookie: o=hunter2"), "{named}");
}

/// An agent can change its own HOME at will; herder, which is in no sandbox, follows no link in it.
#[tokio::test]
async fn links_that_an_agent_leaves_in_its_folder_lead_nowhere() {
    let dir = tempfile::tempdir().expect("a folder");
    let home = dir.path().join("home");
    let login = home.join(".codex/auth.json");
    let session = |script: &str, credentials: &[&str]| {
        let mut launch = shell(script, dir.path());
        launch.1.environment.insert("THEIRS".to_owned(), home.display().to_string());
        let credentials = credentials.iter().map(|entry| (*entry).to_owned()).collect();
        edit(&mut launch.0, |spec| {
            (spec.own_home, spec.credentials) = (true, credentials);
            spec.inherit_env.push("THEIRS".to_owned());
        });
        launch
    };
    let reads = "cat \"$HOME/.codex/auth.json\"";
    let named: &[&str] = &[".codex/auth.json"];
    for plants in [
        "cd \"$HOME\" && rm -rf .codex && ln -s \"$THEIRS/.codex\" .codex",
        "cd \"$HERDER_STATE\" && rm -rf home && ln -s \"$THEIRS\" home",
        "cd \"$HERDER_STATE\" && ln -sf \"$THEIRS/.codex/auth.json\" credentials",
    ] {
        for credentials in [named, &[]] {
            says(session(plants, named)).await;
            let script = if credentials.is_empty() { "true" } else { reads };
            let said = says(session(script, credentials)).await;
            assert_eq!(said, if credentials.is_empty() { "" } else { "their login" }, "{plants}");
            assert!(!login.is_symlink(), "{plants}");
            assert_eq!(fs::read_to_string(&login).expect("theirs"), "their login", "{plants}");
            assert!(home.join(".netrc").exists(), "{plants}");
        }
    }
    let own = dir.path().join("state/home");
    assert!(own.is_dir() && !own.is_symlink() && !own.join(".codex").is_symlink());
}

#[tokio::test]
async fn a_home_of_its_own_has_what_is_named_and_no_longer_than_it_is() {
    let dir = tempfile::tempdir().expect("a folder");
    let look = "cd \"$HOME\" && find . -type f -o -type l | sort && cat .codex/auth.json 2>/dev/null; true";
    let own = |credentials: &[&str]| {
        let mut launch = shell(look, dir.path());
        let credentials = credentials.iter().map(|entry| (*entry).to_owned()).collect();
        edit(&mut launch.0, |spec| (spec.own_home, spec.credentials) = (true, credentials));
        launch
    };
    assert_eq!(says(own(&[])).await, "");
    assert_eq!(says(own(&["git", ".codex/auth.json"])).await, "./.codex/auth.json\ntheir login");
    assert_eq!(says(own(&[])).await, "", "what is not named any more is gone");
    let trees = ProcessTrees::new().expect("this process can adopt");
    let outcome = Running::start_with(own(&[".claude/login"]), trees).ended().await.0;
    assert_eq!(outcome.category, Category::Permanent);
    assert!(outcome.detail.to_string().contains("there is no"), "{}", outcome.detail);
    assert_eq!(fs::read_to_string(dir.path().join("home/.codex/auth.json")).expect("theirs"), "their login");
}

#[tokio::test]
async fn a_sandbox_encloses_the_command_and_is_ended_with_all_that_is_in_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let script = "cat > /dev/null; touch inside; touch ../outside 2>/dev/null && echo outside; \
                  touch \"$HERDER_STATE/kept\" || echo no state; [ -e ../home/.netrc ] && echo netrc; \
                  setsid sleep 300 & echo done";
    let mut launch = shell(script, dir.path());
    let home = dir.path().join("home").display().to_string();
    edit(&mut launch.0, |spec| {
        let words = "bwrap --ro-bind / / --dev /dev --proc /proc --unshare-pid --die-with-parent \
                     --bind {workspace} {workspace} --bind {state} {state} --tmpfs";
        spec.sandbox = words.split_whitespace().map(str::to_owned).chain([home.clone()]).collect();
    });
    // The files of it are checked after it has ended: none may remain.
    assert_eq!(says(launch).await, "done");
    assert!(dir.path().join("work/inside").exists() && dir.path().join("state/kept").exists());
    assert!(!dir.path().join("outside").exists());
}

/// The manual's own words for it.
#[tokio::test]
async fn the_sandbox_of_the_manual_hides_what_it_says_and_lets_nothing_else_be_written() {
    let page = include_str!("../../../docs/guide/isolation.md");
    let mut blocks = page.split("```toml\n").filter_map(|rest| Some(rest.split_once("\n```")?.0));
    let block = blocks.find(|block| block.contains("bwrap")).expect("the manual has one");
    let dir = tempfile::tempdir().expect("a folder");
    let script = "cat > /dev/null; touch inside ~/mine || echo no room; ls ../home/.ssh; \
                  for at in .. ../home ../home/.codex; do touch $at/x 2>/dev/null && echo $at; done; \
                  [ -e ../home/.codex/auth.json ] || echo not there; echo done";
    let mut launch = shell(script, dir.path());
    let keys = dir.path().join("home/.ssh");
    fs::create_dir_all(&keys).expect("a folder");
    fs::write(keys.join("id"), "secret").expect("written");
    let block = block.replace("/home/me/.ssh", &keys.display().to_string());
    let file: toml::Table = block.parse().expect("it is TOML");
    let table = &file["agent"][0];
    let words = table.get("sandbox").and_then(|words| words.as_array()).expect("a list").iter();
    let words = words.map(|word| word.as_str().expect("a word").to_owned()).collect();
    let own = table.get("own_home").is_some_and(|own| own.as_bool() == Some(true));
    edit(&mut launch.0, |spec| (spec.sandbox, spec.own_home) = (words, own));
    assert_eq!(says(launch).await, "done");
    assert!(dir.path().join("work/inside").exists());
}
