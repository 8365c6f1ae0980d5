//! What agents ask of herder, and what they are answered.

use herder::core::spec::{AgentSpec, Permissions};
use herder::runtime::Launch;
use serde_json::{Value, json};

use super::super::replayed::{asked as asked_of, asked_vaguely};
use super::{replay, replay_answering, seen};

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
    (answer["result"]["outcome"].clone(), asked_of(&replayed.happened))
}

#[test]
fn permission_is_asked_for_and_given_as_it_is_answered() {
    let question = |allow| {
        let replayed = replay_answering(seen("gemini/perm-deny"), |_, _| (), allow);
        let answer = replayed.written.iter().find(|line| line["id"] == 0).cloned().expect("it is answered");
        assert_eq!(asked_of(&replayed.happened).as_deref(), Some("touch made.txt"));
        answer["result"]["outcome"]["optionId"].as_str().map(str::to_owned)
    };
    assert_eq!(question(true).as_deref(), Some("proceed_once"));
    assert_eq!(question(false).as_deref(), Some("cancel"));
}

#[test]
fn what_the_permissions_cover_is_allowed_and_the_rest_is_asked() {
    let options = json!([
        { "optionId": "y", "kind": "allow_once" }, { "optionId": "Y", "kind": "allow_always" },
        { "optionId": "n", "kind": "reject_once" },
    ]);
    let place = tempfile::tempdir().expect("a folder");
    let work = place.path().join("work");
    std::fs::create_dir_all(work.join("src")).expect("a folder");
    std::os::unix::fs::symlink("/etc", work.join("docs")).expect("linked");
    let at = |path: &str| place.path().join(path).display().to_string();
    let edit = |path: &str| {
        let path = if path.starts_with("work") { at(path) } else { path.to_owned() };
        json!({ "title": "edit", "kind": "edit", "locations": [{ "path": path }] })
    };
    let diff = |path: &str| {
        let content = json!([{ "type": "diff", "path": path, "oldText": "a", "newText": "b" }]);
        json!({ "title": "edit", "kind": "edit", "locations": [{ "path": at("work/a") }], "content": content })
    };
    let execute = json!({ "title": "cargo test", "kind": "execute" });
    let table = [
        (Permissions::WorkspaceWrite, edit("work/src/a.rs"), "y"),
        (Permissions::WorkspaceWrite, edit("work/../../etc/passwd"), "n"),
        (Permissions::WorkspaceWrite, edit("workshop/a"), "n"),
        (Permissions::WorkspaceWrite, edit("work/docs/passwd"), "n"),
        (Permissions::WorkspaceWrite, diff(&at("work/b")), "y"),
        (Permissions::WorkspaceWrite, diff("/etc/passwd"), "n"),
        (Permissions::WorkspaceWrite, edit("src/a.rs"), "n"),
        (Permissions::WorkspaceWrite, json!({ "title": "edit", "kind": "edit" }), "n"),
        (
            Permissions::WorkspaceWrite,
            json!({ "kind": "edit", "locations": [{ "path": at("work/a") }, {}] }),
            "n",
        ),
        (Permissions::WorkspaceWrite, execute.clone(), "n"),
        (Permissions::ReadOnly, edit("work/src/a.rs"), "n"),
        (Permissions::Full, execute, "y"),
        (Permissions::Full, json!({ "title": "git push", "kind": "execute" }), "n"),
        (
            Permissions::Full,
            json!({ "title": "x", "kind": "execute", "rawInput": { "command": "sudo x" } }),
            "n",
        ),
        (
            Permissions::Full,
            json!({ "title": "x", "kind": "execute", "rawInput": { "command": ["bash", "-lc", "git push"] } }),
            "n",
        ),
        (Permissions::WorkspaceWrite, edit("work/.git/hooks/pre-push"), "n"),
        (Permissions::WorkspaceWrite, edit("work/.herder/spark/context.md"), "n"),
        (
            Permissions::Full,
            json!({ "title": "It's a tool", "kind": "other", "rawInput": { "cmd": "git push" } }),
            "n",
        ),
        (
            Permissions::Full,
            json!({ "title": "x", "content": [{ "content": { "text": "{\"cmd\":\"git push\"}" } }] }),
            "n",
        ),
    ];
    let mut table = Vec::from(table);
    // herder's own tools, as gemini, claude's adapter and opencode call them; what runs has a title of the model's.
    for (title, kind, expected) in [
        ("irc_send (herder MCP Server)", "other", "y"),
        ("mcp__herder__irc_ask", "other", "y"),
        ("herder_task_done", "other", "y"),
        ("irc_send (herder MCP Server)", "execute", "n"),
        ("irc_send (herder MCP Server); sudo x", "other", "n"),
        ("irc_shout (herder MCP Server)", "other", "n"),
        ("post (sup MCP Server)", "other", "n"),
    ] {
        table.push((Permissions::ReadOnly, json!({ "title": title, "kind": kind }), expected));
    }
    let runs = json!({ "title": "herder_notify", "kind": "other", "rawInput": { "command": "ls" } });
    table.push((Permissions::WorkspaceWrite, runs, "n"));
    for (permissions, call, expected) in table {
        let (outcome, denied) = asked(&call, &options, |_, spec| {
            (spec.permissions, spec.workspace) = (permissions, work.clone());
        });
        assert_eq!(outcome, json!({ "outcome": "selected", "optionId": expected }), "{permissions:?} {call}");
        assert_eq!(denied.is_some(), expected == "n");
    }
    // Without a fitting answer to choose the question is cancelled.
    let (outcome, _) = asked(&json!({}), &json!([{ "optionId": "y", "kind": "allow_once" }]), |_, _| ());
    assert_eq!(outcome, json!({ "outcome": "cancelled" }));
    let (outcome, _) = asked(&json!(null), &json!("none"), |_, spec| spec.permissions = Permissions::Full);
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

#[test]
fn what_is_asked_for_is_shown_with_all_that_is_known_of_it() {
    // As gemini asks for a tool of an MCP server, and for a command.
    let happened = replay(seen("gemini/mcp-tool"), |_, _| ()).happened;
    assert_eq!(asked_of(&happened).as_deref(), Some("post (sup MCP Server)\n{\"text\":\"hello\"}"));
    assert_eq!(asked_vaguely(&happened), Some(false));
    assert_eq!(asked_vaguely(&replay(seen("gemini/perm-deny"), |_, _| ()).happened), Some(false));

    let diff =
        json!([{ "type": "diff", "path": "/etc/a", "oldText": "1\n2\n3\n4", "newText": "1\n2\nx\ny\n4" }]);
    let made = json!([{ "type": "diff", "path": "/etc/b", "oldText": null, "newText": "x\n" }]);
    let words = json!([{ "type": "content", "content": { "type": "text", "text": "why" } }]);
    for (call, shown, vague) in [
        (json!({ "title": "edit", "kind": "edit", "content": diff }), "edit\n/etc/a\n-3\n+x\n+y", false),
        (json!({ "title": "edit", "kind": "edit", "content": made }), "edit\n/etc/b\n+x", false),
        (json!({ "title": "t", "rawInput": { "n": 1 }, "content": words }), "t\n{\"n\":1}\nwhy", false),
        (json!({ "title": "post (sup MCP Server)", "kind": "other" }), "post (sup MCP Server)", true),
        // opencode writes down none where there are some.
        (json!({ "title": "sup_post", "rawInput": {} }), "sup_post", true),
        (json!({ "title": "t", "rawInput": { "command": "ls" }, "content": words }), "ls", false),
        (json!({}), "a tool", true),
    ] {
        let line = json!({ "id": "q", "method": "session/request_permission", "params": {
            "sessionId": "c", "toolCall": call, "options": [{ "optionId": "y", "kind": "allow_once" }],
        } });
        let happened = replay(&format!("< {line}"), |_, _| ()).happened;
        let said = (asked_of(&happened), asked_vaguely(&happened));
        assert_eq!(said, (Some(shown.to_owned()), Some(vague)), "{call}");
    }
}
