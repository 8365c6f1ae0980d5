//! `[telemetry]`: the collector that receives traces.

use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};

use super::section::Section;

/// Settings of the traces.
#[derive(Debug, Clone)]
pub struct Telemetry {
    /// Address of the collector (OTLP over HTTP), to which `/v1/traces` is appended; it may be a secret.
    pub otlp: SecretString,
}

/// Parses `[telemetry]`.
pub(super) fn telemetry(section: Section<'_>) -> Option<Telemetry> {
    let otlp = section.address("otlp");
    if otlp.is_none() && !section.has("otlp") {
        section.problem("otlp", "the collector is missing, e.g. otlp = \"http://127.0.0.1:4318\"");
    }
    let is_good = |text: &SecretString| {
        let url = Url::parse(text.expose_secret()).ok();
        url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.query().is_none())
    };
    if otlp.as_ref().is_some_and(|text| !is_good(text)) {
        // Without the text, which may have a password in it.
        section.problem("otlp", "this is no collector's address; write one like http://127.0.0.1:4318");
    }
    section.finish();
    otlp.filter(is_good).map(|otlp| Telemetry { otlp })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::{section, validate};

    fn problems(text: &str) -> String {
        let around = section::Surroundings { folder: Path::new("/tmp"), variable: &|_| None };
        match validate::read(text, "bot.toml", &around) {
            Ok(read) => {
                assert!(read.config.policy.evaluator.traced, "turns are recorded for the traces");
                String::new()
            }
            Err(problems) => problems.to_string(),
        }
    }

    #[test]
    fn a_mistake_is_named_without_what_may_be_a_password() {
        assert_eq!(problems("[telemetry]\notlp = \"https://collector.example.org:4318/tenant\""), "");
        assert!(problems("[telemetry]").contains("the collector is missing"));
        for wrong in ["collector:4318", "ftp://example.org", "http://example.org/?key=hunter22"] {
            let said = problems(&format!("[telemetry]\notlp = \"{wrong}\""));
            assert!(said.contains("this is no collector's address"), "{said}");
            assert!(!said.contains("hunter22"), "{said}");
        }
    }
}
