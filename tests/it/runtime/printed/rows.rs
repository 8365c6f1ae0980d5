//! The table of failures: each row was seen or is marked, and none is hidden.

use super::*;

/// Rows that no recorded run has: what they look for is in the source of the CLIs, or their APIs' documentation.
const UNSEEN: &[(Field, &str)] = &[
    (Field::Kind, "FatalTurnLimitedError"),
    (Field::Kind, "FatalAuthenticationError"),
    (Field::Kind, "FatalUntrustedWorkspaceError"),
    (Field::Kind, "ProviderAuthError"),
    (Field::Kind, "ContextOverflowError"),
    (Field::Kind, "MessageOutputLengthError"),
    (Field::Kind, "ProviderModelNotFoundError"),
    (Field::Word, "context_length_exceeded"),
    (Field::Word, "insufficient_quota"),
    (Field::Word, "overloaded_error"),
    (Field::Text, "exceeds the context window"),
    (Field::Text, "prompt is too long"),
    (Field::Text, "credit balance is too low"),
    (Field::Status, "402"),
    (Field::Status, "403"),
    (Field::Status, "413"),
    (Field::Status, "422"),
    (Field::Status, "502"),
    (Field::Status, "503"),
    (Field::Status, "504"),
    (Field::Status, "529"),
    (Field::Text, "not running in a trusted directory"),
    (Field::Text, "; auto-rejecting"),
    (Field::Text, "set an auth method"),
    (Field::Text, "maximum session turns exceeded"),
];

#[test]
fn every_row_of_the_table_was_seen_or_is_marked() {
    let runs: Vec<&str> =
        GEMINI.iter().chain(&OPENCODE).map(|(_, lines)| *lines).chain([TRIES_AGAIN]).collect();
    assert_rows_were_seen(TABLE, UNSEEN, &runs, |field, value, run| match field {
        Field::Kind => stands(run, value, &[r#""error":{"type":"{}""#, r#""error":{"name":"{}""#]),
        Field::Status => stands(run, value, &[r#"\"code\":{},"#, r#""statusCode":{},"#]),
        Field::Word => {
            let forms = [r#"\"code\":\"{}\""#, r#"\"status\":\"{}\""#, r#"check quota).","status":"{}""#];
            stands(run, value, &forms)
        }
        Field::Text => run.to_lowercase().contains(value),
    });
}

#[test]
fn no_row_of_the_table_is_hidden_by_one_above_it() {
    for (field, value, category) in TABLE {
        let mut failure = Failure::default();
        match field {
            Field::Kind => failure.kind = (*value).to_owned(),
            Field::Status => failure.status = (*value).to_owned(),
            Field::Word => failure.word = (*value).to_owned(),
            Field::Text => failure.text = value.to_uppercase(),
        }
        assert_eq!(failure.category(), Some(*category), "{value}");
    }
}
