//! Changes between two readings of the file: sections that apply at once, and sections that apply from the next
//! start.
//!
//! Agents are not compared here but with the journal, which records the last reading (`supervisor`).

use std::fmt::Debug;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};

use super::{Config, Evaluator, Sasl, Subject};
use crate::core::danger::AskPattern;
use crate::core::link::EMBEDDED_NETWORK;
use crate::core::policy::{EvaluatorRules, Policy};
use crate::webhook::SigningKey;

impl Config {
    /// Returns the sections of the file that differ in `new` and apply at once, by their names.
    #[must_use]
    pub fn changed_now(&self, new: &Self) -> Vec<&'static str> {
        changed(&[
            ("[access]", self.access != new.access),
            ("[supervisor]", supervisor(&self.policy) != supervisor(&new.policy)),
            ("[quota]", self.policy.quota != new.policy.quota),
            ("[limits]", self.policy.caps != new.policy.caps),
            ("[prices]", self.policy.prices != new.policy.prices),
            ("[people]", self.policy.people != new.policy.people),
            ("[approvals]", approvals(&self.policy) != approvals(&new.policy)),
            ("[evaluator]", rhythm(&self.evaluator) != rhythm(&new.evaluator)),
            ("[escalation]", self.policy.escalation != new.policy.escalation),
        ])
    }

    /// Returns the sections and keys of the file that differ in `new` and apply from the next start, by their names;
    /// `self` is the configuration that herder was started with.
    #[must_use]
    pub fn changed_later(&self, new: &Self) -> Vec<&'static str> {
        changed(&[
            ("name", self.name != new.name),
            ("data_dir", self.data_dir != new.data_dir),
            ("locale", self.locale != new.locale),
            (
                "[discord]",
                differ(&self.discord, &new.discord) || secrets_of_discord(self) != secrets_of_discord(new),
            ),
            ("[[irc]]", differ(&self.irc, &new.irc) || secrets_of_irc(self) != secrets_of_irc(new)),
            ("[access] irc:embedded", own_accounts(self) != own_accounts(new)),
            ("drain_timeout", self.drain_timeout != new.drain_timeout),
            ("[networks]", self.networks != new.networks),
            ("[tools]", self.tools != new.tools),
            ("[files]", self.files != new.files),
            ("[runners]", self.runners != new.runners),
            ("[cluster]", self.cluster != new.cluster),
            ("[evaluator]", asks_otherwise(&self.evaluator, &new.evaluator)),
            (
                "[[webhook]]",
                differ(&self.webhooks, &new.webhooks)
                    || secrets_of_webhooks(self) != secrets_of_webhooks(new),
            ),
            (
                "[deadman]",
                differ(&self.deadman, &new.deadman) || secrets_of_deadman(self) != secrets_of_deadman(new),
            ),
            ("[http]", differ(&self.http, &new.http) || secrets_of_http(self) != secrets_of_http(new)),
            ("[telemetry]", secret_of_telemetry(self) != secret_of_telemetry(new)),
            ("[history]", self.history != new.history),
        ])
    }

    /// Returns the limits of `new` as they apply to a herder started with `self`: the kind of evaluator is fixed at the
    /// start.
    #[must_use]
    pub fn policy_with(&self, new: &Self) -> Policy {
        let EvaluatorRules { judge, traced, .. } = self.policy.evaluator;
        let policy = new.policy.clone();
        Policy { evaluator: EvaluatorRules { judge, traced, ..policy.evaluator }, ..policy }
    }
}

fn changed(sections: &[(&'static str, bool)]) -> Vec<&'static str> {
    sections.iter().filter(|(_, changed)| *changed).map(|(name, _)| *name).collect()
}

/// Returns true if two parts of a configuration differ, apart from their secrets, which `Debug` does not show.
fn differ(one: &impl Debug, other: &impl Debug) -> bool {
    format!("{one:?}") != format!("{other:?}")
}

fn exposed(secret: Option<&SecretString>) -> Option<&str> {
    secret.map(SecretString::expose_secret)
}

fn secrets_of_discord(config: &Config) -> Option<&str> {
    exposed(config.discord.as_ref().map(|discord| &discord.token))
}

fn secrets_of_irc(config: &Config) -> Vec<Option<&str>> {
    let mut secrets = Vec::new();
    for network in &config.irc {
        let sasl = match &network.sasl {
            Some(Sasl::Plain { password, .. }) => Some(password),
            Some(Sasl::External { .. }) | None => None,
        };
        let all = [network.server_password.as_ref(), network.nickserv_password.as_ref(), sasl];
        secrets.extend(all.map(exposed));
    }
    secrets
}

fn secrets_of_webhooks(config: &Config) -> Vec<(&str, Option<&SigningKey>)> {
    config.webhooks.iter().map(|hook| (hook.url.expose_secret(), hook.secret.as_ref())).collect()
}

fn secrets_of_deadman(config: &Config) -> Option<&str> {
    exposed(config.deadman.as_ref().map(|deadman| &deadman.url))
}

fn secrets_of_http(config: &Config) -> Vec<&str> {
    let tokens = config.http.iter().flat_map(|http| &http.tokens);
    tokens.map(|token| token.secret.expose_secret()).collect()
}

fn secret_of_telemetry(config: &Config) -> Option<&str> {
    exposed(config.telemetry.as_ref().map(|telemetry| &telemetry.otlp))
}

/// Returns the people that `[access]` names on herder's embedded server, if that is the only network.
fn own_accounts(config: &Config) -> Vec<&str> {
    let rules = &config.access;
    let all = rules.admins.iter().chain(&rules.operators).chain(&rules.viewers);
    let mut accounts: Vec<&str> = all
        .filter_map(|subject| match subject {
            Subject::IrcAccount { network, account } if network.as_str() == EMBEDDED_NETWORK => {
                Some(account.as_str())
            }
            _ => None,
        })
        .collect();
    accounts.sort_unstable();
    accounts.dedup();
    accounts
}

/// Returns a policy with the part of `policy` that `[supervisor]` sets, and defaults for the rest.
fn supervisor(policy: &Policy) -> Policy {
    let other = Policy::default();
    Policy {
        quota: other.quota,
        prices: other.prices,
        caps: other.caps,
        confirm_timeout: other.confirm_timeout,
        always_ask: other.always_ask,
        evaluator: other.evaluator,
        escalation: other.escalation,
        people: other.people,
        ..policy.clone()
    }
}

fn approvals(policy: &Policy) -> (Duration, &[AskPattern]) {
    (policy.confirm_timeout, &policy.always_ask)
}

fn rhythm(evaluator: &Evaluator) -> (usize, u32, u32) {
    (evaluator.window, evaluator.interval, evaluator.threshold)
}

/// Returns true if the evaluators start another program, or the same with other settings.
fn asks_otherwise(one: &Evaluator, other: &Evaluator) -> bool {
    let (window, interval, threshold) = rhythm(one);
    let alike = Evaluator { window, interval, threshold, ..other.clone() };
    differ(one, &alike) || exposed(one.key.as_ref()) != exposed(other.key.as_ref())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use crate::config::{section, validate};

    /// Returns the names of sections that apply at once and of those that apply from the next start, if `new` is
    /// added to `old`.
    fn changes(old: &str, new: &str) -> (Vec<&'static str>, Vec<&'static str>) {
        let read = |text: &str, password: &'static str| {
            let around = section::Surroundings {
                folder: Path::new("/tmp"),
                variable: &|name| name.ends_with("PASSWORD").then(|| OsString::from(password)),
            };
            validate::read(text, "bot.toml", &around).expect("the text has no mistakes").config
        };
        let (one, other) = (read(old, "correct horse"), read(new, "battery staple"));
        (one.changed_now(&other), one.changed_later(&other))
    }

    #[test]
    fn every_section_is_named_that_has_changed_and_no_other() {
        /// For each case: the text before, the text after, the name, and whether it applies at once.
        type Row<'a> = (&'a str, &'a str, &'a [(&'a str, bool)]);
        const IRC: &str = "[[irc]]\nname = \"libera\"\nserver = \"irc.libera.chat\"\n";
        const HOOK: &str = "[[webhook]]\nurl = \"https://example.org/\"\n";
        let discord = "[discord]\ntoken = { env = \"PASSWORD\" }\nguild = 1122334455\n";
        let sasl = format!(
            "{IRC}sasl = {{ mechanism = \"plain\", account = \"herder\", password = {{ env = \"PASSWORD\" }} }}\n"
        );
        let agent = "[[agent]]\nname = \"a\"\nruntime = \"claude\"\nworkspace = \"/\"\n";
        let (now, later) = (true, false);
        let table: &[Row<'_>] = &[
            ("", "", &[]),
            ("", "# a word\n[supervisor]\n[limits]\n", &[]),
            ("", agent, &[]),
            ("", "[access]\nviewers = [\"*\"]", &[("[access]", now)]),
            (
                "",
                "[access]\nadmins = [\"irc:embedded:ann\"]",
                &[("[access]", now), ("[access] irc:embedded", later)],
            ),
            ("", "[supervisor]\nstop_grace = \"3s\"", &[("[supervisor]", now)]),
            ("", "[supervisor]\nbackoff = [\"1s\"]", &[("[supervisor]", now)]),
            ("", "[supervisor]\nmax_active = 2", &[("[supervisor]", now)]),
            ("", "[quota]\nresume = \"ask\"", &[("[quota]", now)]),
            ("", "[limits]\nusd_per_day = 3", &[("[limits]", now)]),
            ("", "[prices]\nx = { input = 1, output = 2 }", &[("[prices]", now)]),
            ("", "[approvals]\ntimeout = \"3m\"", &[("[approvals]", now)]),
            ("", "[approvals]\nalways_ask = [\"^make\"]", &[("[approvals]", now)]),
            ("[approvals]\nalways_ask = [\"^make\"]", "[approvals]\nalways_ask = [\"^make\"]", &[]),
            ("", "[escalation]\nremind_times = 1", &[("[escalation]", now)]),
            ("", "[evaluator]\nwindow_size = 30", &[("[evaluator]", now)]),
            ("", "[evaluator]\nkind = \"builtin\"", &[("[evaluator]", later)]),
            (
                "",
                "[evaluator]\ntimeout = \"9s\"\neval_interval = 3",
                &[("[evaluator]", now), ("[evaluator]", later)],
            ),
            ("", "name = \"shepherd\"", &[("name", later)]),
            ("", "data_dir = \"elsewhere\"\nlocale = \"de\"", &[("data_dir", later), ("locale", later)]),
            ("", IRC, &[("[[irc]]", later)]),
            (IRC, IRC, &[]),
            // The same text, with another secret behind it.
            (&sasl, &sasl, &[("[[irc]]", later)]),
            (discord, discord, &[("[discord]", later)]),
            ("", "drain_timeout = \"5s\"", &[("drain_timeout", later)]),
            ("", "[networks]\nattempts = 3", &[("[networks]", later)]),
            ("", "[tools]\nenabled = false", &[("[tools]", later)]),
            ("", "[history]\nkeep = \"3d\"", &[("[history]", later)]),
            ("", HOOK, &[("[[webhook]]", later)]),
            (HOOK, HOOK, &[]),
            (
                HOOK,
                "[[webhook]]\nname = \"example.org\"\nurl = \"https://example.org/x\"",
                &[("[[webhook]]", later)],
            ),
            ("", "[deadman]\nurl = \"https://example.org/\"", &[("[deadman]", later)]),
            ("", "[runners]\nlocal = \"process\"", &[("[runners]", later)]),
            ("", "[cluster]\noffice = \"5s\"", &[("[cluster]", later)]),
            ("", "[telemetry]\notlp = \"http://127.0.0.1:4318\"", &[("[telemetry]", later)]),
        ];
        for (old, new, wanted) in table {
            let named = |when| {
                let named = wanted.iter().filter(move |(_, at)| *at == when);
                named.map(|(name, _)| *name).collect::<Vec<_>>()
            };
            assert_eq!(changes(old, new), (named(now), named(later)), "{old}\n--- becomes ---\n{new}");
        }
    }
}
