//! What errors mean, those that were never seen included.

use herder::core::outcome::Category;
use herder::runtime::codex::classify::{Failure, Field, NO_WINDOW, TABLE};
use herder::runtime::codex::wire;
use serde_json::{Value, json};

use super::replay;
use crate::runtime::replayed::{assert_rows_were_seen, stands};

/// Every word that the protocol has for an error, those that were not seen in a run included.
#[test]
fn every_kind_of_error_has_its_class() {
    use Category::{
        Auth, Billing, Budget, ContextOverflow, Permanent, Quota, RateLimit, SandboxDenial, Transient,
    };
    let words = [
        ("contextWindowExceeded", ContextOverflow),
        ("sessionBudgetExceeded", Budget),
        ("usageLimitExceeded", Quota),
        ("rateLimitExceeded", RateLimit),
        ("flexUnavailable", Transient),
        ("serverOverloaded", Transient),
        ("modelNotFound", Permanent),
        ("policyCapacityUnavailable", Transient),
        ("cyberPolicy", Permanent),
        ("misalignmentPolicyViolation", Permanent),
        ("tooManyDenials", SandboxDenial),
        ("internalServerError", Transient),
        ("unauthorized", Auth),
        ("badRequest", Permanent),
        ("threadRollbackFailed", Transient),
        ("sandboxError", SandboxDenial),
        ("inferenceHookDenied", Permanent),
    ];
    let mut table: Vec<(Value, &str, Category)> =
        words.iter().map(|(word, category)| (json!(word), "x", *category)).collect();
    for (status, category) in [
        (json!(401), Auth),
        (json!(402), Billing),
        (json!(403), Auth),
        (json!(429), RateLimit),
        (json!(400), Permanent),
        (json!(404), Permanent),
        (json!(503), Transient),
        (json!(418), Transient),
        (json!(null), Transient),
    ] {
        for kind in [
            "httpConnectionFailed",
            "responseStreamConnectionFailed",
            "responseStreamDisconnected",
            "responseTooManyFailedAttempts",
        ] {
            table.push((json!({ kind: { "httpStatusCode": status } }), "x", category));
        }
    }
    table.push((json!({ "activeTurnNotSteerable": { "turnKind": "review" } }), "x", Transient));
    table.push((
        json!("usageLimitExceeded"),
        "Quota exceeded. Check your plan and billing details.",
        Billing,
    ));
    table.push((json!("other"), "rate limit exceeded: try again in 1.5s", RateLimit));
    table.push((json!(null), "Missing environment variable: `FAKE_KEY`.", Auth));
    for (info, message, category) in table {
        let text = json!({ "message": message, "codexErrorInfo": info }).to_string();
        let error: wire::TurnError<'_> = serde_json::from_str(&text).expect("it is an error");
        let found = Failure::of(&error, "", false).category();
        assert_eq!(found, Some(category), "{text}");
    }
    let depleted: wire::TurnError<'_> =
        serde_json::from_str(r#"{"message":"x","codexErrorInfo":"usageLimitExceeded"}"#).expect("an error");
    let of_account = Failure::of(&depleted, "workspace_owner_credits_depleted", true).category();
    assert_eq!(of_account, Some(Billing));
}

/// Rows that no recorded run has: what they look for is codex's own schema and source.
const UNSEEN: &[(Field, &str)] = &[
    (Field::Reached, "workspace_owner_credits_depleted"),
    (Field::Reached, "workspace_member_credits_depleted"),
    (Field::Info, "sessionBudgetExceeded"),
    (Field::Info, "rateLimitExceeded"),
    (Field::Info, "unauthorized"),
    (Field::Info, "badRequest"),
    (Field::Info, "cyberPolicy"),
    (Field::Info, "misalignmentPolicyViolation"),
    (Field::Info, "inferenceHookDenied"),
    (Field::Info, "tooManyDenials"),
    (Field::Info, "sandboxError"),
    (Field::Info, "flexUnavailable"),
    (Field::Info, "policyCapacityUnavailable"),
    (Field::Info, "threadRollbackFailed"),
    (Field::Info, "activeTurnNotSteerable"),
    (Field::Status, "403"),
    (Field::Status, "400"),
    (Field::Status, "404"),
    (Field::Status, "413"),
    (Field::Status, "422"),
    (Field::Status, "500"),
    (Field::Status, "502"),
    (Field::Status, "503"),
    (Field::Status, "504"),
    (Field::Text, "check your plan and billing details"),
    // No word of codex's: what the limits beside it say.
    (Field::Info, NO_WINDOW),
    (Field::Info, "responseStreamConnectionFailed"),
    (Field::Text, "rate limit exceeded"),
    (Field::Text, "missing environment variable"),
    (Field::Text, "403 forbidden"),
    (Field::Text, "codex login"),
    (Field::Text, "model provider `"),
    (Field::Text, "error loading config"),
    (Field::Text, "connection failed"),
];

#[test]
fn every_row_of_the_table_was_seen_or_is_marked() {
    let runs = super::SEEN.map(|(_, lines)| lines);
    assert_rows_were_seen(TABLE, UNSEEN, &runs, |field, value, run| match field {
        Field::Reached => stands(run, value, &[r#""rateLimitReachedType":"{}""#]),
        Field::Info => stands(run, value, &[r#""codexErrorInfo":"{}""#, r#""codexErrorInfo":{"{}":"#]),
        Field::Status => stands(run, value, &[r#""httpStatusCode":{}}"#]),
        Field::Text => run.to_lowercase().contains(value),
    });
}

#[test]
fn no_row_of_the_table_is_hidden_by_one_above_it() {
    for (field, value, category) in TABLE {
        let mut failure = Failure::default();
        match field {
            Field::Reached => failure.reached = (*value).to_owned(),
            Field::Info => failure.info = (*value).to_owned(),
            Field::Status => failure.status = (*value).to_owned(),
            Field::Text => failure.text = value.to_uppercase(),
        }
        assert_eq!(failure.category(), Some(*category), "{value}");
    }
    assert_eq!(
        Failure { info: NO_WINDOW.to_owned(), ..Failure::default() }.category(),
        Some(Category::Quota)
    );
}

#[test]
fn what_nobody_knows_is_transient_and_shown_whole() {
    let turn = |error: &str| {
        let line = format!(
            r#"< {{"method":"turn/completed","params":{{"threadId":"c","turn":{{"id":"t","status":"failed","error":{error}}}}}}}"#
        );
        let opened = "< {\"id\":1,\"result\":{}}\n< {\"id\":2,\"result\":{\"thread\":{\"id\":\"c\"}}}";
        replay(&format!("{opened}\n{line}"), |_, _| ()).outcome
    };
    let outcome = turn(
        r#"{"message":"The flux is\nlow","codexErrorInfo":{"fluxLow":{"level":3}},"additionalDetails":"see page 9"}"#,
    );
    assert_eq!((outcome.category, outcome.unknown), (Category::Transient, true));
    assert_eq!(
        outcome.detail.to_string(),
        r#"codexErrorInfo {"fluxLow":{"level":3}}: The flux is low see page 9"#
    );
    assert_eq!(turn(r#"{"message":"x","codexErrorInfo":[7]}"#).detail.to_string(), "codexErrorInfo [7]: x");
    assert!(turn("null").unknown);
    assert_eq!(turn("null").detail.to_string(), "the turn ended as \"failed\"");
    assert_eq!(turn("\"boom\"").category, Category::Transient);
}
