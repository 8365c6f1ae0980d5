//! Secrets that the service manager hands over (`LoadCredential=`), as the real binary reads them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// The answer of `herder check` for a configuration with this secret; `folder` is that of the credentials.
fn checked(dir: &Path, secret: &str, folder: Option<&Path>) -> (Option<i32>, String) {
    let text = format!("[[irc]]\nname = \"a\"\nserver = \"irc.example.org\"\nserver_password = {secret}\n");
    fs::write(dir.join("bot.toml"), text).expect("a file");
    let mut herder = Command::new(env!("CARGO_BIN_EXE_herder"));
    herder.args(["check", "--offline"]).current_dir(dir).env_remove("CREDENTIALS_DIRECTORY");
    if let Some(folder) = folder {
        herder.env("CREDENTIALS_DIRECTORY", folder);
    }
    let output = herder.output().expect("herder runs");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code(), said.into_owned())
}

#[test]
fn a_credential_is_read_from_the_service_managers_folder() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("credentials");
    fs::create_dir(&folder).expect("a folder");
    let file = folder.join("irc-password");
    fs::write(&file, "s3cret-word\n").expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).expect("its mode is set");
    fs::write(folder.join("empty"), "").expect("a file");
    let (code, said) = checked(dir.path(), "{ credential = \"irc-password\" }", Some(&folder));
    assert_ne!(code, Some(78), "{said}");
    assert!(!said.contains("s3cret-word"), "{said}");
    for (secret, folder, sentence) in [
        (
            "{ credential = \"irc-password\" }",
            None,
            "herder was given no credentials (CREDENTIALS_DIRECTORY is not set)",
        ),
        ("{ credential = \"none\" }", Some(&folder), "server_password credential: "),
        ("{ credential = \"empty\" }", Some(&folder), "is empty"),
        ("{ credential = \"../irc-password\" }", Some(&folder), "this is a path"),
        ("{ credential = \"..\" }", Some(&folder), "this is a path"),
        ("{ credential = \"a\", env = \"B\" }", Some(&folder), "credential is given beside another place"),
        ("{ credental = \"a\" }", Some(&folder), "did you mean \"credential\"?"),
    ] {
        let (code, said) = checked(dir.path(), secret, folder.map(|folder| &**folder));
        assert_eq!(code, Some(78), "{secret}: {said}");
        assert!(said.contains(sentence), "{secret}: {said}");
    }
}
