//! Passwords in addresses of the file, `scheme://user:password@host`: whatever key they stand under, they are redacted in
//! all of herder's output.

use secrecy::SecretString;
use toml::de::{DeTable, DeValue};

use crate::redact::addresses::in_text;

/// Returns the passwords of all addresses in the texts of a table.
pub(super) fn in_table(table: &DeTable<'_>) -> Vec<SecretString> {
    let mut found = Vec::new();
    table.iter().for_each(|(_, item)| in_value(item.get_ref(), &mut found));
    found
}

fn in_value(value: &DeValue<'_>, found: &mut Vec<SecretString>) {
    match value {
        DeValue::String(text) => found.extend(in_text(text)),
        DeValue::Array(list) => list.iter().for_each(|item| in_value(item.get_ref(), found)),
        DeValue::Table(table) => found.extend(in_table(table)),
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::{section, validate};

    #[test]
    fn the_redactor_knows_passwords_of_every_key() {
        let around = section::Surroundings {
            folder: Path::new("/tmp"),
            variable: &|name| match name {
                "HOOK" => Some("https://ann:of-the-hook@example.org/".into()),
                "HTTPS_PROXY" => Some("http://ann:of-the-proxy@127.0.0.1:3128".into()),
                _ => None,
            },
        };
        let text = r#"
[telemetry]
otlp = "http://ann:of-the-collector@127.0.0.1:4318"
[deadman]
url = { env = "HOOK" }
[[webhook]]
url = "https://ann:of-a-webhook@example.org"
[http]
public_url = "https://ann:of-the-page@example.org"
[[agent]]
name = "a"
runtime = "command"
workspace = "/"
command = ["cat", "--mirror=https://ann:of-a-command@example.org/x"]
env = { BASE_URL = "https://ann:of-the-model@example.org" }
inherit_env = ["PATH", "HTTPS_PROXY"]
"#;
        let read = validate::read(text, "bot.toml", &around).expect("a good file");
        let redactor = read.config.redactor;
        for secret in [
            "of-the-collector",
            "of-the-hook",
            "of-the-proxy",
            "of-a-webhook",
            "of-the-page",
            "of-a-command",
            "of-the-model",
        ] {
            assert_eq!(redactor.redact(&format!("says {secret} alone")), "says [redacted] alone");
        }
        assert_eq!(redactor.redact("ann says 127.0.0.1"), "ann says 127.0.0.1");
    }
}
