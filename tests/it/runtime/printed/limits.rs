//! Limits: the outputs that show them, and their ends.

use super::*;

#[test]
fn a_limit_that_names_its_end_is_waited_for_until_then() {
    let before = herder::clock::now();
    let outcome = read(Output::Opencode, seen(&OPENCODE, "429-retry-after")).outcome;
    let until = outcome.resets_at.expect("two seconds");
    let waits = until.since(Timestamp::from_seconds(before.as_millis() / 1000)).as_secs();
    assert!((2..60).contains(&waits), "{waits}");
    for odd in ["-5", "soon", "99999999999999999999", "9223372036854775807"] {
        let line = seen(&OPENCODE, "429-retry-after")
            .replace(r#""retry-after":"2""#, &format!(r#""retry-after":"{odd}""#));
        let outcome = read(Output::Opencode, &line).outcome;
        assert_eq!((outcome.category, outcome.resets_at), (Category::RateLimit, None), "{odd}");
    }
}

/// codex sleeps for as long as the API says, and prints nothing then.
#[test]
fn a_limit_that_it_is_silent_over_is_what_it_waits_for() {
    let retries = seen(&CODEX, "429").lines().take(3).collect::<Vec<_>>().join("\n");
    let retry = r#"{"type":"error","message":"Reconnecting... 1/5 (unexpected status 429 Too Many Requests: Slow down.)"}"#;
    let stalled = read(Output::Codex, &format!("{retries}\n{retry}")).stalled;
    assert_eq!(stalled.map(|outcome| outcome.category), Some(Category::RateLimit));
    let words = r#"{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"On it."}}"#;
    assert_eq!(read(Output::Codex, &format!("{retries}\n{retry}\n{words}")).stalled, None, "it goes on");
    assert_eq!(read(Output::Codex, &retries).stalled, None);

    // gemini and any program say so on standard error, if at all; a stack trace follows it.
    let mut said = tail(TRIES_AGAIN);
    assert_eq!(said.last(), Some("}"));
    let limited = |output, said: &Tail| reader(output).stalled(said).map(|outcome| outcome.category);
    assert_eq!(limited(Output::Gemini, &said), Some(Category::RateLimit));
    assert_eq!(limited(Output::Text, &said), None);
    // Output that it keeps until it leaves is known then.
    let left = |output, said: &Tail| reader(output).was_stalled(said).map(|outcome| outcome.category);
    assert_eq!(left(Output::Gemini, &said), Some(Category::RateLimit));
    assert_eq!(left(Output::Codex, &said), None);
    said.outdated();
    assert_eq!(
        (limited(Output::Gemini, &said), left(Output::Gemini, &said)),
        (None, None),
        "it went on since"
    );
    // opencode says it because herder asks it to; an unpaid bill, like a limit, does not end it.
    let owed = r#"ERROR service=llm error={"error":{"code":"insufficient_quota"}} stream error"#;
    assert_eq!(limited(Output::Opencode, &tail(owed)), Some(Category::Billing));
    assert_eq!(limited(Output::Opencode, &tail("ERROR service=llm error={}")), None);

    let mut said = tail("Attempt 1 failed with status 429. Retrying with backoff...");
    assert_eq!(reader(Output::Text).stalled(&said), None);
    said.push(b"the flux is low, waiting");
    assert_eq!(reader(Output::Text).stalled(&said).map(|outcome| outcome.category), Some(Category::Quota));
    said.push(b"and on");
    assert_eq!(reader(Output::Text).stalled(&said), None, "what is said last counts");
}

/// Google tells a client that is too fast to look at their plan, and when to come back.
#[test]
fn a_limit_that_speaks_of_billing_is_a_limit() {
    let told = |wait: &str| {
        let message = format!(
            "[API Error: You exceeded your current quota, please check your plan and billing details.\\n{wait}]\\nPlease wait and try again later. To increase your limits, request a quota increase through AI Studio, or switch to another /auth method"
        );
        let line = format!(
            r#"{{"type":"result","status":"error","error":{{"type":"unknown","message":"{message}"}}}}"#
        );
        read(Output::Gemini, &line).outcome
    };
    let now = Timestamp::from_seconds(herder::clock::now().as_millis() / 1000);
    for (wait, seconds) in [
        ("Please retry in 15.2s.", Some(16)),
        ("Suggested retry after 3600s.", Some(3600)),
        ("Please retry in a while, it is late.", None),
        ("Please retry in 99999999999999999999s.", None),
        ("Please retry in -5s.", None),
        ("", None),
    ] {
        let outcome = told(wait);
        assert_eq!((outcome.category, outcome.unknown), (Category::RateLimit, false), "{wait}");
        let waits = outcome.resets_at.map(|until| until.since(now).as_secs());
        assert_eq!(waits.is_some(), seconds.is_some(), "{wait}");
        let (waits, seconds) = (waits.unwrap_or_default(), seconds.unwrap_or_default());
        assert!((seconds..seconds + 60).contains(&waits), "{wait}: {waits}");
    }
    let body = |status: &str| {
        format!(
            r#"{{"error":{{"message":"You exceeded your current quota, please check your plan and billing details.",{status}}}}}"#
        )
    };
    let of = |body: &str| {
        let mut failure = Failure { status: "429".to_owned(), ..Failure::default() };
        failure.read_body(body);
        failure.category()
    };
    assert_eq!(of(&body(r#""code":429,"status":"RESOURCE_EXHAUSTED""#)), Some(Category::RateLimit));
    assert_eq!(
        of(&body(r#""code":"insufficient_quota","type":"insufficient_quota""#)),
        Some(Category::Billing)
    );
}
