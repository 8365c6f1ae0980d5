//! The one credential of an evaluation, and its source. It is searched each time, so that a corrected key needs no restart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};

use super::{Judge, Settings};

/// Prefix of the tokens of a Claude subscription, which claude expects in another variable than an API key.
const CLAUDE_SUBSCRIPTION: &str = "sk-ant-oat";

/// The credential with which a judge's CLI logs in to its vendor.
#[derive(Debug, Clone)]
pub enum Credential {
    /// A key, which is passed in an environment variable of the CLI.
    Key {
        /// Name of the environment variable from which the judge's CLI reads the key.
        variable: &'static str,
        /// The secret key.
        value: SecretString,
        /// Source of the key, for people: the name of a variable, or of the setting.
        from: String,
    },
    /// Path of the CLI's own login file.
    Login(PathBuf),
    /// herder knows no credential; the CLI may have one by other means.
    None,
}

impl Credential {
    /// Searches the credential: in the settings, in `environment` (herder's own), then in the CLI's login file.
    #[must_use]
    pub fn find(settings: &Settings, environment: &BTreeMap<String, String>) -> Self {
        if let Some(key) = &settings.key {
            let from = "key under [evaluator]".to_owned();
            return Self::key(settings.judge, key.clone(), from);
        }
        if let Some(login) = &settings.login {
            return Self::Login(login.clone());
        }
        let (before, after) = settings.judge.variables();
        let variable = |names: &[&str]| {
            let set = |name: &&&str| environment.get(**name).is_some_and(|value| !value.trim().is_empty());
            let name = names.iter().find(set)?;
            let value = SecretString::from(environment.get(*name)?.trim().to_owned());
            Some(Self::key(settings.judge, value, (*name).to_owned()))
        };
        let login = || login_file(settings.judge, environment).filter(|path| path.is_file()).map(Self::Login);
        variable(before).or_else(login).or_else(|| variable(after)).unwrap_or(Self::None)
    }

    fn key(judge: Judge, value: SecretString, from: String) -> Self {
        let variable = match judge {
            Judge::Claude if value.expose_secret().starts_with(CLAUDE_SUBSCRIPTION) => {
                "CLAUDE_CODE_OAUTH_TOKEN"
            }
            Judge::Claude => "ANTHROPIC_API_KEY",
            Judge::Codex | Judge::Command | Judge::Builtin | Judge::Off => "CODEX_API_KEY",
        };
        Self::Key { variable, value, from }
    }

    /// Returns the path of the login file, if the credential is one and the file exists; else `None`.
    #[must_use]
    pub fn login(&self) -> Option<&Path> {
        match self {
            Self::Login(path) => Some(path.as_path()).filter(|path| path.is_file()),
            Self::Key { .. } | Self::None => None,
        }
    }

    /// Describes the missing credential and how to obtain one, if the judge's CLI needs one; else `None`.
    #[must_use]
    pub fn missing(&self, settings: &Settings) -> Option<String> {
        let how = how_to_log_in(settings.judge);
        match self {
            Self::Login(path) if !path.is_file() => {
                Some(format!("there is no login {}: {how}", path.display()))
            }
            Self::Key { .. } | Self::Login(_) => None,
            Self::None => {
                let usual = Settings::default().inherit_env;
                let told = !settings.env.is_empty()
                    || settings.command.len() > 1
                    || settings.inherit_env.iter().any(|name| !usual.contains(name));
                let needs = matches!(settings.judge, Judge::Codex | Judge::Claude) && !told;
                needs.then(|| format!("no login and no key was found: {how}"))
            }
        }
    }

    /// Describes the source of the credential, for `herder check`; `None` without a credential.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Key { from, .. } => Some(from.clone()),
            Self::Login(path) => Some(path.display().to_string()),
            Self::None => None,
        }
    }
}

/// Returns the instructions for a person to obtain a credential of this judge.
fn how_to_log_in(judge: Judge) -> &'static str {
    match judge {
        Judge::Codex => "run codex login, or set OPENAI_API_KEY where herder is started",
        Judge::Claude => {
            "run claude and log in, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN (claude setup-token) where herder is \
             started"
        }
        Judge::Command | Judge::Builtin | Judge::Off => "it needs none",
    }
}

/// Returns the path at which a judge's CLI stores its login; `None` if the judge is no such CLI.
fn login_file(judge: Judge, environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let (variable, folder, file) = match judge {
        Judge::Codex => ("CODEX_HOME", ".codex", "auth.json"),
        Judge::Claude => ("CLAUDE_CONFIG_DIR", ".claude", ".credentials.json"),
        Judge::Command | Judge::Builtin | Judge::Off => return None,
    };
    let named = environment.get(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let home = || environment.get("HOME").map(|home| Path::new(home).join(folder));
    Some(named.or_else(home)?.join(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(judge: Judge, variables: &[(&str, &str)]) -> String {
        let settings = Settings { judge, ..Settings::default() };
        shown(&settings, variables)
    }

    fn shown(settings: &Settings, variables: &[(&str, &str)]) -> String {
        let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        match Credential::find(settings, &environment.collect()) {
            Credential::Key { variable, value, from } => {
                format!("{variable}={} from {from}", value.expose_secret())
            }
            Credential::Login(path) => path.file_name().expect("a file").to_string_lossy().into_owned(),
            Credential::None => "none".to_owned(),
        }
    }

    #[test]
    fn the_credential_is_the_one_that_the_cli_would_take() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let home = folder.path().to_str().expect("a path of letters");
        let with_home = |name, value| vec![("HOME", home), (name, value)];
        assert_eq!(found(Judge::Codex, &[("HOME", home)]), "none");
        assert_eq!(
            found(Judge::Codex, &with_home("OPENAI_API_KEY", "k")),
            "CODEX_API_KEY=k from OPENAI_API_KEY"
        );
        assert_eq!(found(Judge::Claude, &with_home("OPENAI_API_KEY", "k")), "none");
        for name in [".codex/auth.json", ".claude/.credentials.json"] {
            std::fs::create_dir_all(folder.path().join(name).parent().expect("a folder"))
                .expect("it is made");
            std::fs::write(folder.path().join(name), "{}").expect("it is written");
        }
        assert_eq!(found(Judge::Codex, &with_home("OPENAI_API_KEY", "k")), "auth.json");
        assert_eq!(
            found(Judge::Codex, &with_home("CODEX_API_KEY", "k")),
            "CODEX_API_KEY=k from CODEX_API_KEY"
        );
        assert_eq!(found(Judge::Codex, &with_home("CODEX_HOME", "/nowhere")), "none");
        assert_eq!(found(Judge::Claude, &[("HOME", home)]), ".credentials.json");
        assert_eq!(
            found(Judge::Claude, &with_home("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-x")),
            "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-x from CLAUDE_CODE_OAUTH_TOKEN"
        );
        assert_eq!(found(Judge::Command, &with_home("OPENAI_API_KEY", "k")), "none");
        let own = Settings { key: Some(SecretString::from("mine")), ..Settings::default() };
        assert_eq!(
            shown(&own, &with_home("CODEX_API_KEY", "k")),
            "CODEX_API_KEY=mine from key under [evaluator]"
        );
    }
}
