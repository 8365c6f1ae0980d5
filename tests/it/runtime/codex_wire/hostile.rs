//! Lines that no server should write.

use herder::core::outcome::Category;
use herder::core::spec::Permissions;
use herder::runtime::codex::wire;
use herder::runtime::protocol::Happening;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::replayed::{Replayed, damage, play_damaged, times};
use super::{SEEN, launched, replay};

#[test]
fn bad_lines_are_counted_and_nothing_else() {
    let table = [
        ("not json", 1),
        ("{\"method\":\"turn/started\"", 1),
        ("[1,2]", 1),
        ("{}", 1),
        ("null", 1),
        ("   ", 0),
        ("{\"method\":\"new/in/version/9\",\"params\":[1]}", 0),
        ("{\"method\":\"turn/completed\",\"params\":7}", 0),
        ("{\"method\":\"turn/completed\",\"params\":{\"threadId\":null,\"turn\":\"x\"}}", 0),
        ("{\"method\":\"error\",\"params\":{\"error\":\"boom\",\"willRetry\":\"maybe\"}}", 0),
        ("{\"id\":99,\"result\":{}}", 0),
    ];
    for (line, bad) in table {
        let Replayed { happened, outcome, .. } = replay(&format!("< {line}"), |_, _| ());
        assert_eq!(times(&happened, &Happening::Malformed), bad, "{line}");
        assert_eq!(outcome.category, Category::Crash, "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// A line that is cut or garbled anywhere costs what it said, and nothing else.
    #[test]
    fn cut_and_garbled_lines_never_panic(which in 0..SEEN.len(), damage in damage()) {
        let (_, mut codex) = launched(|_, spec| spec.permissions = Permissions::Full);
        play_damaged(codex.as_mut(), SEEN[which].1, damage);
    }

    /// Whatever stands where something else is expected, the line is read.
    #[test]
    fn any_json_is_read(params in json(), result in json()) {
        let line = json!({ "id": 1, "method": "error", "params": params, "result": result, "error": result });
        prop_assert!(wire::parse(line.to_string().as_bytes()).is_ok());
    }
}

/// Returns a strategy for JSON with the protocol's own names in it.
fn json() -> impl Strategy<Value = Value> {
    let names =
        ["thread", "turn", "item", "error", "tokenUsage", "total", "rateLimits", "primary", "id", "_meta"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        let key = prop::sample::select(names.to_vec()).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..4)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}
