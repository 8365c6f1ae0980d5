//! What agents ask of herder, and what they are answered.

use herder::core::spec::{AgentSpec, Autonomy, Permissions};
use herder::runtime::Launch;
use herder::runtime::protocol::Happening;
use serde_json::{Value, json};

use super::super::replayed::denied;
use super::{replay, seen};

fn asked(
    call: &Value,
    options: &Value,
    change: impl FnOnce(&mut Launch, &mut AgentSpec),
) -> (Value, Option<String>) {
    let question = json!({
        "id": "q", "method": "session/request_permission",
        "params": { "sessionId": "c", "toolCall": call, "options": options },
    });
    let replayed = replay(&format!("< {question}"), change);
    let answer = replayed.written.last().expect("it is answered");
    assert_eq!(answer["id"], "q");
    (answer["result"]["outcome"].clone(), denied(&replayed.happened))
}

#[test]
fn permission_is_given_or_denied_by_the_agents_autonomy() {
    let question = |autonomy| {
        let replayed = replay(seen("gemini/perm-deny"), |_, spec| spec.autonomy = autonomy);
        let answer = replayed.written.iter().find(|line| line["id"] == 0).cloned().expect("it is answered");
        let denied = replayed.happened.contains(&Happening::Denied { what: "touch made.txt".to_owned() });
        (answer["result"]["outcome"]["optionId"].as_str().map(str::to_owned), denied)
    };
    assert_eq!(question(Autonomy::Full), (Some("proceed_once".to_owned()), false));
    assert_eq!(question(Autonomy::Strict), (Some("cancel".to_owned()), false));
    assert_eq!(question(Autonomy::Human), (Some("cancel".to_owned()), true));
}

#[test]
fn what_the_permissions_cover_is_allowed_and_the_rest_is_asked() {
    let options = json!([
        { "optionId": "y", "kind": "allow_once" }, { "optionId": "Y", "kind": "allow_always" },
        { "optionId": "n", "kind": "reject_once" },
    ]);
    let edit = |path: &str| json!({ "title": "edit", "kind": "edit", "locations": [{ "path": path }] });
    let execute = json!({ "title": "cargo test", "kind": "execute" });
    let table = [
        (Permissions::WorkspaceWrite, edit("/srv/agent/work/src/a.rs"), "y"),
        (Permissions::WorkspaceWrite, edit("/srv/agent/work/../../etc/passwd"), "n"),
        (Permissions::WorkspaceWrite, edit("/srv/agent/workshop/a"), "n"),
        (Permissions::WorkspaceWrite, edit("src/a.rs"), "n"),
        (Permissions::WorkspaceWrite, json!({ "title": "edit", "kind": "edit" }), "n"),
        (
            Permissions::WorkspaceWrite,
            json!({ "kind": "edit", "locations": [{ "path": "/srv/agent/work/a" }, {}] }),
            "n",
        ),
        (Permissions::WorkspaceWrite, execute.clone(), "n"),
        (Permissions::ReadOnly, edit("/srv/agent/work/src/a.rs"), "n"),
        (Permissions::Full, execute, "y"),
    ];
    for (permissions, call, expected) in table {
        let (outcome, denied) = asked(&call, &options, |_, spec| spec.permissions = permissions);
        assert_eq!(outcome, json!({ "outcome": "selected", "optionId": expected }), "{permissions:?} {call}");
        assert_eq!(denied.is_some(), expected == "n");
    }
    // Without a fitting answer to choose the question is cancelled.
    let (outcome, _) = asked(&json!({}), &json!([{ "optionId": "y", "kind": "allow_once" }]), |_, _| ());
    assert_eq!(outcome, json!({ "outcome": "cancelled" }));
    let (outcome, _) = asked(&json!(null), &json!("none"), |_, spec| spec.autonomy = Autonomy::Full);
    assert_eq!(outcome, json!({ "outcome": "cancelled" }));
}

#[test]
fn files_and_terminals_are_not_offered() {
    for method in ["fs/read_text_file", "fs/write_text_file", "terminal/create", "something/new"] {
        let line = json!({ "id": 9, "method": method, "params": { "path": "/etc/passwd" } });
        let replayed = replay(&format!("< {line}"), |_, _| ());
        assert_eq!(replayed.written.last().expect("it is answered")["error"]["code"], -32601, "{method}");
    }
    let opened = &replay("", |_, _| ()).written[0];
    insta::assert_snapshot!(opened["params"].to_string(), @r#"{"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},"clientInfo":{"name":"herder","title":"herder","version":"0.1.0"},"protocolVersion":1}"#);
}
