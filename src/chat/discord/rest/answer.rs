//! Interpretation of Discord's answers.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap};
use reqwest::{Response, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use super::error::RestError;
use super::limits::{Limited, Told};
use super::route::Route;
use crate::core::clean::clean;
use crate::core::time::Timestamp;

/// Maximum length of an answer from Discord, in bytes; the list of the largest guild's channels is a tenth of it.
const ANSWER_MAX: usize = 8 * 1024 * 1024;
/// Maximum length of the message that Discord gives with an error, in characters.
const WORDS_MAX: usize = 300;
/// The smallest of Discord's error codes except zero. A smaller code is not Discord's but, for example, a proxy's in
/// between.
const FIRST_CODE: u32 = 10_000;
/// Wait after a 429 that states no wait.
const UNTOLD: Duration = Duration::from_secs(5);

/// Reads the body of an answer from Discord, at most `ANSWER_MAX` bytes.
pub(super) async fn read(mut response: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut answer = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        answer.extend_from_slice(&chunk);
        if answer.len() > ANSWER_MAX {
            answer.truncate(ANSWER_MAX);
            break;
        }
    }
    Ok(answer)
}

/// Reads the rate limits from an answer: from its headers and, for a 429, its body.
pub(super) fn told(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Told {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let number = |name: &str| text(name)?.trim().parse::<u32>().ok();
    let limited = (status == StatusCode::TOO_MANY_REQUESTS).then(|| {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Words {
            retry_after: Option<f64>,
            global: bool,
        }
        let words = serde_json::from_slice::<Words>(body);
        // Without Discord's JSON it comes from the proxy in front of it, which limits the whole address.
        let guard = words.is_err() && text("x-ratelimit-bucket").is_none();
        let words = words.unwrap_or_default();
        let header = text("retry-after").and_then(|text| seconds(text.trim().parse().ok()?));
        let after = words.retry_after.and_then(seconds).or(header).unwrap_or(UNTOLD);
        let global = text("x-ratelimit-global").is_some_and(|text| text.eq_ignore_ascii_case("true"));
        Limited { after, is_global: words.global || global || guard }
    });
    Told {
        bucket: text("x-ratelimit-bucket"),
        limit: number("x-ratelimit-limit"),
        remaining: number("x-ratelimit-remaining"),
        reset_after: text("x-ratelimit-reset-after").and_then(|text| seconds(text.trim().parse().ok()?)),
        limited,
        unauthorised: status == StatusCode::UNAUTHORIZED && code(body).is_some(),
        refused: is_counted(status) || (status.is_client_error() && code(body).is_none()),
    }
}

/// Returns true if Discord counts an answer of this status towards a ban of the address.
fn is_counted(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS)
}

/// Returns Discord's error code; `None` if the answer is not from Discord, whose codes have five digits or more, or are zero.
fn code(body: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Words {
        code: u32,
        message: String,
    }
    let Words { code, message } = serde_json::from_slice(body).ok()?;
    (!message.is_empty() && (code == 0 || code >= FIRST_CODE)).then_some(code)
}

/// Returns the date in the headers of an answer, by the sender's clock.
pub(super) fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let date = headers.get(DATE)?.to_str().ok()?;
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok()?;
    Some(Timestamp::from_millis(date.as_millisecond()))
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

/// Builds the error for an answer with an error status, from Discord or from something in front of it.
pub(super) fn refused(route: &Route, status: StatusCode, body: &[u8]) -> RestError {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Words {
        message: String,
        errors: Value,
    }
    let Some(code) = code(body) else {
        return RestError::Foreign { request: route.name(), status: status.as_u16() };
    };
    let words = serde_json::from_slice::<Words>(body).unwrap_or_default();
    let mut message = clean(&words.message).replace('\n', " ");
    if !words.errors.is_null() {
        message = format!("{message}: {}", clean(&words.errors.to_string()));
    }
    message = message.chars().take(WORDS_MAX).collect();
    RestError::Refused { request: route.name(), status: status.as_u16(), code, message }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn what_an_answer_says_of_limits() {
        let ok = told(
            StatusCode::OK,
            &headers(&[
                ("x-ratelimit-bucket", "abcd1234"),
                ("x-ratelimit-limit", "5"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset-after", "1.470"),
            ]),
            b"{}",
        );
        let expected = Told {
            bucket: Some("abcd1234".to_owned()),
            limit: Some(5),
            remaining: Some(0),
            reset_after: Some(Duration::from_millis(1470)),
            limited: None,
            unauthorised: false,
            refused: false,
        };
        assert_eq!(ok, expected);
        let nonsense = headers(&[
            ("x-ratelimit-limit", "-1"),
            ("x-ratelimit-remaining", "many"),
            ("x-ratelimit-reset-after", "NaN"),
        ]);
        assert_eq!(told(StatusCode::OK, &nonsense, b"no json"), Told::default());
    }

    #[test]
    fn an_answer_says_when_it_was_given() {
        let given = |text| date(&headers(&[("date", text)])).map(Timestamp::as_millis);
        assert_eq!(given("Mon, 23 Nov 2026 19:27:41 GMT"), Some(1_795_462_061_000));
        assert_eq!(given("yesterday"), None);
    }

    #[test]
    fn who_is_to_wait_and_how_long() {
        type Pairs = &'static [(&'static str, &'static str)];
        let table: &[(Pairs, &str, f64, bool)] = &[
            (
                &[("x-ratelimit-bucket", "b"), ("retry-after", "2")],
                r#"{"retry_after": 1.5, "global": false}"#,
                1.5,
                false,
            ),
            (&[("retry-after", "1"), ("x-ratelimit-global", "true")], r#"{"retry_after": 0.5}"#, 0.5, true),
            (&[], r#"{"message": "slow", "retry_after": 64.57, "global": true}"#, 64.57, true),
            // From the proxy in front of Discord.
            (&[("retry-after", "600")], "<html>error code: 1015</html>", 600.0, true),
            (&[], "", 5.0, true),
            (&[("x-ratelimit-bucket", "b")], r#"{"retry_after": -1}"#, 5.0, false),
        ];
        for (pairs, body, after, is_global) in table {
            let headers: HeaderMap = pairs
                .iter()
                .filter_map(|(name, value)| Some((name.parse::<HeaderName>().ok()?, value.parse().ok()?)))
                .collect();
            let told = told(StatusCode::TOO_MANY_REQUESTS, &headers, body.as_bytes());
            let expected = Limited { after: Duration::from_secs_f64(*after), is_global: *is_global };
            assert_eq!(told.limited, Some(expected), "{pairs:?} {body}");
        }
    }

    #[test]
    fn a_refusal_says_what_was_asked_and_what_is_wrong() {
        let route = Route::post("/channels/{channel.id}/messages", "/channels/7/messages".to_owned(), 7);
        let body = br#"{"code": 50035, "message": "Invalid Form Body", "errors": {"content": {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH"}]}}}"#;
        let error = refused(&route, StatusCode::BAD_REQUEST, body);
        assert_eq!((error.code(), error.maybe_done()), (Some(50035), false));
        insta::assert_snapshot!(error, @r#"Discord refused POST /channels/{channel.id}/messages: Invalid Form Body: {"content":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH"}]}} (status 400, code 50035)"#);
    }

    #[test]
    fn what_has_no_code_of_discords_is_not_from_discord() {
        let route = Route::get("/channels/{channel.id}", "/channels/7".to_owned(), 7);
        let unknown = r#"{"message": "401: Unauthorized", "code": 0}"#;
        let table = [
            (404, r#"{"message": "Unknown Channel", "code": 10003}"#, Some(10003), false),
            (403, r#"{"message": "internal network error", "code": 40333}"#, Some(40333), true),
            (401, unknown, Some(0), true),
            (404, "<html><body>404 Not Found</body></html>", None, true),
            (403, "error code: 1010", None, true),
            (403, "", None, true),
            (404, r#"{"code": 404, "message": "no such backend"}"#, None, true),
            (404, r#"{"error": "not found", "code": "10003"}"#, None, true),
            (302, "<html>log in to the network</html>", None, true),
        ];
        for (status, body, code, may_come) in table {
            let status = StatusCode::from_u16(status).expect("a status");
            let error = refused(&route, status, body.as_bytes());
            assert_eq!((error.code(), error.is_worth_another_try()), (code, may_come), "{status} {body}");
            let is_counted = status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN;
            let is_foreign = code.is_none() && status.is_client_error();
            let told = told(status, &HeaderMap::new(), body.as_bytes());
            assert_eq!(told.refused, is_counted || is_foreign, "{status} {body}");
        }
        let status = StatusCode::UNAUTHORIZED;
        assert!(refused(&route, status, unknown.as_bytes()).is_unknown_token());
        assert!(!refused(&route, status, b"<html>proxy authentication</html>").is_unknown_token());
        assert!(!told(status, &HeaderMap::new(), b"<html>").unauthorised);
    }
}
