//! Requests of the app server, and the answers to them.

use herder::core::spec::Permissions;
use serde_json::json;

use super::super::replayed::{asked, asked_vaguely};
use super::{replay, replay_answering, seen};

#[test]
fn permission_is_asked_for_in_the_exact_words_and_given_as_it_is_answered() {
    let question = |name: &str, allow| {
        let replayed = replay_answering(seen(name), |_, _| (), allow);
        let answers = replayed.answers();
        assert_eq!(answers.len(), 1, "{name}: one question, one answer");
        assert_eq!(answers[0]["id"], 0);
        (answers[0]["result"]["decision"].as_str().map(str::to_owned), asked(&replayed.happened))
    };
    for (name, what) in [
        ("approve-exec", "/bin/bash -lc 'touch made'"),
        ("deny-exec", "/bin/bash -lc 'touch made'"),
        ("approve-patch", "/srv/agent/work/new.txt\nhello"),
    ] {
        assert_eq!(question(name, true), (Some("accept".to_owned()), Some(what.to_owned())), "{name}");
        assert_eq!(question(name, false).0.as_deref(), Some("decline"), "{name}");
    }
}

#[test]
fn with_full_permissions_only_what_is_always_asked_is_asked() {
    for (command, decision) in
        [("\"make\"", "accept"), ("\"git push\"", "decline"), ("[\"rm\",\"-rf\",\"x\"]", "decline")]
    {
        let line = format!(
            r#"< {{"id":1,"method":"item/commandExecution/requestApproval","params":{{"command":{command}}}}}"#
        );
        let replayed = replay(&line, |_, spec| spec.permissions = Permissions::Full);
        assert_eq!(asked(&replayed.happened).is_some(), decision == "decline", "{command}");
        assert_eq!(replayed.answers()[0]["result"]["decision"], decision);
    }
}

#[test]
fn every_question_is_answered_in_its_own_terms() {
    let table = [
        (
            r#"{"id":"a","method":"mcpServer/elicitation/request","params":{"_meta":{"codex_approval_kind":"mcp_tool_call"},"message":"Allow it?"}}"#,
            json!({ "action": "accept", "content": {} }),
            json!({ "action": "decline" }),
        ),
        // A form that wants more than a yes.
        (
            r#"{"id":1,"method":"mcpServer/elicitation/request","params":{"message":"Your name?"}}"#,
            json!({ "action": "decline" }),
            json!({ "action": "decline" }),
        ),
        (
            r#"{"id":1,"method":"item/permissions/requestApproval","params":{"permissions":{"network":{"enabled":true}}}}"#,
            json!({ "permissions": { "network": { "enabled": true } }, "scope": "turn" }),
            json!({ "permissions": {} }),
        ),
        (
            r#"{"id":1,"method":"item/tool/requestUserInput","params":{"questions":[]}}"#,
            json!({ "answers": {} }),
            json!({ "answers": {} }),
        ),
        (
            r#"{"id":1,"method":"execCommandApproval","params":{"command":["rm","-rf","x"]}}"#,
            json!({ "decision": "approved" }),
            json!({ "decision": "denied" }),
        ),
        (
            r#"{"id":1,"method":"applyPatchApproval","params":null}"#,
            json!({ "decision": "approved" }),
            json!({ "decision": "denied" }),
        ),
    ];
    for (question, yes, no) in table {
        for (allow, expected) in [(true, &yes), (false, &no)] {
            let replayed = replay_answering(&format!("< {question}"), |_, _| (), allow);
            let answers = replayed.answers();
            assert_eq!((answers.len(), &answers[0]["result"]), (1, expected), "{question}");
        }
    }
    let unknown = replay(r#"< {"id":7,"method":"attestation/generate","params":{}}"#, |_, _| ());
    assert_eq!(unknown.answers()[0]["error"]["code"], -32601);
}

fn question(method: &str, params: &serde_json::Value) -> String {
    format!("< {}", json!({ "id": 7, "method": method, "params": params }))
}

/// Returns the text of a request for permission, and whether it is known by a name alone.
fn asks(lines: &str) -> (String, bool) {
    let happened = replay(lines, |_, _| ()).happened;
    (asked(&happened).expect("it is asked"), asked_vaguely(&happened).expect("it is asked"))
}

#[test]
fn a_change_of_files_is_shown_that_is_asked_about_and_no_other() {
    let started = |thread: &str, id: &str, path: &str| {
        let item = json!({ "type": "fileChange", "id": id, "changes": [{ "path": path, "diff": "x" }] });
        format!("< {}", json!({ "method": "item/started", "params": { "threadId": thread, "item": item } }))
    };
    let approval = |thread: &str, id: &str| {
        question("item/fileChange/requestApproval", &json!({ "threadId": thread, "itemId": id }))
    };
    // Two of the agent's own, and one of a helper's with the same id as one of them.
    let announced = [started("c", "1", "/w/one"), started("c", "2", "/w/two"), started("h", "1", "/w/help")];
    let after = |question: String| asks(&format!("{}\n{question}", announced.join("\n")));
    assert_eq!(after(approval("c", "1")), ("/w/one\nx".to_owned(), false));
    assert_eq!(after(approval("c", "2")), ("/w/two\nx".to_owned(), false));
    assert_eq!(after(approval("h", "1")), ("/w/help\nx".to_owned(), false));
    for unknown in [approval("h", "2"), approval("c", "3"), approval("d", "1")] {
        assert_eq!(after(unknown), ("an unknown change of files".to_owned(), true));
    }
    let mut more: Vec<String> =
        (0..64).map(|n| started("c", &format!("more {n}"), &format!("/w/{n}"))).collect();
    more.insert(0, announced.join("\n"));
    more.push(approval("c", "1"));
    assert!(asks(&more.join("\n")).1, "only so many are kept");

    // The change may become another one before it is asked about.
    let changes = json!([{ "path": "/w/three", "kind": { "type": "delete" } },
        { "path": "/w/four", "kind": { "type": "update", "move_path": "/etc/four" }, "diff": "y" }]);
    let updated = json!({ "threadId": "c", "itemId": "1", "changes": changes });
    let updated = format!("< {}", json!({ "method": "item/fileChange/patchUpdated", "params": updated }));
    let shown = after(format!("{updated}\n{}", approval("c", "1")));
    assert_eq!(shown, ("/w/three (delete)\n/w/four -> /etc/four\ny".to_owned(), false));
    let root = json!({ "threadId": "c", "itemId": "1", "grantRoot": "/etc" });
    let shown = after(question("item/fileChange/requestApproval", &root));
    assert_eq!(shown, ("/w/one\nx\nand from then on any in /etc".to_owned(), true));
}

#[test]
fn what_is_asked_for_is_shown_with_all_that_is_known_of_it() {
    let tool = |meta: serde_json::Value| json!({ "_meta": meta, "message": "Allow post?" });
    let called = "mcpServer/elicitation/request";
    let ran = "item/commandExecution/requestApproval";
    for (method, params, shown, vague) in [
        // As the CLI asks at the pinned version.
        (
            called,
            tool(json!({ "codex_approval_kind": "mcp_tool_call", "tool_params": { "text": "hi" } })),
            "Allow post?\n{\"text\":\"hi\"}",
            false,
        ),
        (
            called,
            tool(json!({ "codex_approval_kind": "x", "tool_params_display": [{ "name": "text" }] })),
            "Allow post?\n[{\"name\":\"text\"}]",
            false,
        ),
        (called, tool(json!({ "codex_approval_kind": "mcp_tool_call" })), "Allow post?", true),
        (
            ran,
            json!({ "command": null, "networkApprovalContext": { "host": "example.org", "protocol": "https" } }),
            "https example.org",
            false,
        ),
        (ran, json!({ "networkApprovalContext": { "protocol": "https" } }), "https an unknown host", true),
        (ran, json!({ "command": "y", "kind": "writeStdin" }), "y", true),
        (ran, json!({ "command": null, "reason": "for fun" }), "for fun", true),
        (ran, json!({ "command": "ls", "kind": "command" }), "ls", false),
        (
            "applyPatchApproval",
            json!({ "reason": "why", "fileChanges": { "/w/a": { "type": "delete" } } }),
            "{\"/w/a\":{\"type\":\"delete\"}}",
            false,
        ),
    ] {
        assert_eq!(asks(&question(method, &params)), (shown.to_owned(), vague), "{params}");
    }
    // The arguments of a tool call are checked, too.
    let line = question(
        called,
        &tool(json!({ "codex_approval_kind": "mcp_tool_call", "tool_params": { "cmd": "git push" } })),
    );
    let replayed = replay(&line, |_, spec| spec.permissions = Permissions::Full);
    assert!(asked(&replayed.happened).is_some());
}
