//! The meaning of errors, including some that were never seen.

use herder::core::outcome::Category;
use herder::runtime::codex::classify::{Failure, Field, NO_WINDOW, TABLE};
use herder::runtime::codex::wire;
use herder::runtime::protocol::Happening;
use serde_json::{Value, json};

use super::replay;
use crate::runtime::replayed::{Replayed, assert_rows_were_seen, stands, times};

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
    // Seen in `handoff_cli`, where a server of codex's own kept the conversation open.
    (Field::Text, "already has an active writer"),
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

const OPENED: &str = "< {\"id\":1,\"result\":{}}\n< {\"id\":2,\"result\":{\"thread\":{\"id\":\"c\"}}}\n\
                      < {\"id\":3,\"result\":{\"turn\":{\"id\":\"t\"}}}\n";
const EXCEEDED: &str = r#"< {"method":"turn/completed","params":{"threadId":"c","turn":{"id":"t","status":"failed","error":{"message":"no more","codexErrorInfo":"usageLimitExceeded"}}}}"#;

fn limit(id: &str, used: u8, resets_at: i64) -> serde_json::Value {
    json!({ "limitId": id, "primary": { "usedPercent": used, "resetsAt": resets_at }, "secondary": null })
}

fn updated(limit: &serde_json::Value) -> String {
    format!("< {}\n", json!({ "method": "account/rateLimits/updated", "params": { "rateLimits": limit } }))
}

/// An account can have another limit for some models, with windows of its own.
#[test]
fn the_windows_of_different_limits_are_kept_apart() {
    let resets = |updates: &[serde_json::Value]| {
        let updates: String = updates.iter().map(updated).collect();
        let outcome = replay(&format!("{OPENED}{updates}{EXCEEDED}"), |_, _| ()).outcome;
        assert_eq!(outcome.category, Category::Quota);
        outcome.resets_at.map(|at| at.as_millis() / 1000)
    };
    assert_eq!(resets(&[limit("codex", 100, 1000), limit("other", 30, 9000)]), Some(1000));
    assert_eq!(resets(&[limit("other", 100, 9000), limit("codex", 100, 1000)]), Some(1000));
    assert_eq!(resets(&[limit("codex", 30, 1000), limit("other", 100, 9000)]), Some(9000));
    assert_eq!(resets(&[limit("codex", 100, 1000), limit("codex", 100, 2000)]), Some(2000));
    let mut reached = limit("other", 100, 9000);
    reached["rateLimitReachedType"] = json!("rate_limit_reached");
    assert_eq!(resets(&[reached, limit("codex", 100, 1000)]), Some(9000));
}

/// Should no window be known when the usage limit is exceeded, the server is asked before the session ends.
#[test]
fn the_end_of_a_limit_that_was_not_told_is_asked_for() {
    let asked = |answer: &str| replay(&format!("{OPENED}{EXCEEDED}{answer}"), |_, _| ());
    let over = |replayed: &Replayed| times(&replayed.happened, &Happening::TurnEnded);
    let silent = asked("");
    assert_eq!(silent.written.last().map(|line| &line["method"]), Some(&json!("account/rateLimits/read")));
    assert_eq!((over(&silent), silent.outcome.category), (0, Category::Quota));
    assert_eq!(
        silent.stalled.last().and_then(Option::as_ref).map(|outcome| outcome.category),
        Some(Category::Quota),
        "a server that does not answer that hangs on nothing else"
    );
    let all = json!({ "codex": limit("codex", 30, 1000), "other": limit("other", 100, 9000), "odd": 7 });
    let told = json!({ "rateLimits": limit("codex", 30, 1000), "rateLimitsByLimitId": all });
    let told = asked(&format!("\n< {}", json!({ "id": 4, "result": told })));
    assert_eq!((over(&told), told.outcome.category), (1, Category::Quota));
    assert_eq!(told.outcome.resets_at.map(|at| at.as_millis() / 1000), Some(9000));
    let broke = json!({ "rateLimits": { "rateLimitReachedType": "workspace_owner_credits_depleted" } });
    let broke = asked(&format!("\n< {}", json!({ "id": 4, "result": broke })));
    assert_eq!((over(&broke), broke.outcome.category), (1, Category::Billing));
    let refused = asked(
        r#"
< {"id":4,"error":{"code":-32600,"message":"no"}}"#,
    );
    assert_eq!((over(&refused), refused.outcome.category), (1, Category::Quota));
}
