//! Requests of agents to herder, and the answers to them.

use herder::core::ask::{About, Told};
use herder::core::spec::{AgentSpec, Permissions};
use herder::runtime::Launch;
use herder::runtime::protocol::Happening;
use serde_json::{Value, json};

use super::super::replayed::{asked as asked_of, asked_vaguely, replies};
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
        json!({ "title": "edit", "kind": "edit", "locations": [{ "path": path }], "rawInput": { "new": "b" } })
    };
    let diff = |path: &str| {
        let content = json!([{ "type": "diff", "path": path, "oldText": "a", "newText": "b" }]);
        json!({ "title": "edit", "kind": "edit", "locations": [{ "path": at("work/a") }], "content": content })
    };
    let execute = json!({ "title": "x", "kind": "execute", "rawInput": { "command": "cargo test" } });
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
        // Known by a name alone.
        (Permissions::Full, json!({ "title": "cargo test", "kind": "execute" }), "n"),
        (Permissions::Full, json!({ "title": "x", "kind": "execute", "rawInput": {} }), "n"),
        (
            Permissions::WorkspaceWrite,
            json!({ "title": "edit", "kind": "edit", "locations": [{ "path": at("work/a") }] }),
            "n",
        ),
        // A program and its arguments are one command.
        (
            Permissions::Full,
            json!({ "kind": "execute", "rawInput": { "command": "git", "args": ["push"] } }),
            "n",
        ),
        (
            Permissions::Full,
            json!({ "kind": "execute", "rawInput": { "program": "git", "arguments": "push origin" } }),
            "n",
        ),
        (
            Permissions::Full,
            json!({ "kind": "execute", "rawInput": { "program": "git", "arguments": ["status"] } }),
            "y",
        ),
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
    insta::assert_snapshot!(opened["params"].to_string(), @r#"{"clientCapabilities":{"elicitation":{"form":{}},"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},"clientInfo":{"name":"herder","title":"herder","version":"0.1.0"},"protocolVersion":1}"#);
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
        // opencode writes an empty input although there are arguments.
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

/// Asks by the name of a call alone, after the agent has said `news` of calls.
fn asked_by_name(news: &[Value], permissions: Permissions) -> (Option<String>, Option<bool>, Value) {
    let mut lines = vec![r#"> {"id":1,"method":"session/new"}"#.to_owned()];
    lines.push(r#"< {"id":1,"result":{"sessionId":"c"}}"#.to_owned());
    let updates = news.iter().map(
        |update| json!({ "method": "session/update", "params": { "sessionId": "c", "update": update } }),
    );
    lines.extend(updates.map(|line| format!("< {line}")));
    let question = json!({ "id": "q", "method": "session/request_permission", "params": {
        "sessionId": "c", "toolCall": { "toolCallId": "effect-1" },
        "options": [{ "optionId": "y", "kind": "allow_once" }, { "optionId": "n", "kind": "reject_once" }],
    } });
    lines.push(format!("< {question}"));
    let opening = r#"> {"id":0,"method":"initialize"}
< {"id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}"#;
    let replayed = replay(&format!("{opening}\n{}", lines.join("\n")), |_, spec| {
        (spec.permissions, spec.workspace) = (permissions, "/srv/agent/work".into());
    });
    let answer = replayed.written.iter().find(|line| line["id"] == "q").expect("it is answered");
    let chosen = answer["result"]["outcome"]["optionId"].clone();
    (asked_of(&replayed.happened), asked_vaguely(&replayed.happened), chosen)
}

#[test]
fn a_question_that_names_its_call_alone_is_about_what_was_announced() {
    let call = |kind: &str, more: &Value| {
        let mut call = json!({ "sessionUpdate": kind, "toolCallId": "effect-1" });
        for (name, value) in more.as_object().expect("an object") {
            call[name] = value.clone();
        }
        call
    };
    let push =
        json!({ "title": "bash", "kind": "execute", "rawInput": { "command": "git push origin main" } });
    let within = json!({ "title": "bash", "kind": "execute", "rawInput": "{\"command\":\"git push\"}" });
    let status = json!({ "title": "bash", "kind": "execute", "rawInput": { "command": "git status" } });
    let other =
        json!({ "sessionUpdate": "tool_call", "toolCallId": "effect-2", "rawInput": { "command": "ls" } });
    let over = json!({ "status": "completed" });
    let nothing = json!({ "title": "", "kind": "execute", "rawInput": {}, "content": [], "locations": [] });
    let (told, news) = ("tool_call", "tool_call_update");
    for (said, permissions, expected) in [
        (vec![call(told, &push)], Permissions::Full, (Some("git push origin main"), Some(false), "n")),
        (vec![call(told, &push)], Permissions::ReadOnly, (Some("git push origin main"), Some(false), "n")),
        (vec![call(told, &within)], Permissions::Full, (Some("git push"), Some(false), "n")),
        (vec![call(told, &status)], Permissions::Full, (None, None, "y")),
        // The last word counts, and what says nothing changes nothing.
        (
            vec![call(told, &status), call(news, &push)],
            Permissions::Full,
            (Some("git push origin main"), Some(false), "n"),
        ),
        (
            vec![call(told, &push), call(news, &nothing)],
            Permissions::Full,
            (Some("git push origin main"), Some(false), "n"),
        ),
        // Nothing is known of it.
        (vec![other], Permissions::Full, (Some("a tool"), Some(true), "n")),
        (vec![call(told, &status), call(news, &over)], Permissions::Full, (Some("a tool"), Some(true), "n")),
    ] {
        let (shown, vague, chosen) = asked_by_name(&said, permissions);
        assert_eq!((shown.as_deref(), vague, chosen.as_str().expect("an option")), expected, "{said:?}");
    }
}

/// Returns the questions to people in words, and the line that answers them.
fn inquired(line: &Value, told: &Told) -> (Vec<About>, Value) {
    let (_, mut acp) = super::launched(|_, _| ());
    let mut happened = Vec::new();
    acp.line(line.to_string().as_bytes(), &mut happened);
    let mut asked = Vec::new();
    while let Some(Happening::Inquired { key, inquiry, .. }) = happened.pop() {
        asked.push(inquiry.about());
        acp.answer(key, told, &mut happened);
        if let Some(answer) = replies(&mut happened).pop() {
            return (asked, answer);
        }
    }
    panic!("it is not answered: {asked:?} {happened:?}");
}

#[test]
fn a_form_is_filled_in_by_people() {
    let form = |method: &str| {
        json!({ "id": "q", "method": method, "params": {
            "sessionId": "c", "mode": "form", "message": "How is it to go on?",
            "requestedSchema": { "type": "object", "required": ["way"], "properties": {
                "way": { "type": "string", "title": "Way", "enum": ["left", "right"] },
            } },
        } })
    };
    for method in ["elicitation/create", "session/elicitation"] {
        let (asked, answer) = inquired(&form(method), &Told::Words(vec!["right".to_owned()]));
        assert_eq!(asked[0].words(), "How is it to go on?\nWay");
        assert_eq!(answer["result"], json!({ "action": "accept", "content": { "way": "right" } }));
        let (_, answer) = inquired(&form(method), &Told::Nobody);
        assert_eq!(answer["result"], json!({ "action": "cancel" }));
    }
}

#[test]
fn a_plan_is_shown_whole_and_no_permissions_approve_it() {
    let plan = "1. Look.\n2. Leap.";
    let question = json!({ "id": "q", "method": "session/request_permission", "params": {
        "sessionId": "c",
        "toolCall": { "toolCallId": "t", "kind": "switch_mode", "title": "Ready?", "rawInput": { "plan": plan } },
        "options": [{ "optionId": "y", "kind": "allow_once" }, { "optionId": "n", "kind": "reject_once" }],
    } });
    for (told, option) in [
        (Told::Yes, "y"),
        (Told::No, "n"),
        (Told::Nobody, "n"),
        (Told::Words(vec!["smaller".to_owned()]), "n"),
    ] {
        let (asked, answer) = inquired(&question, &told);
        assert_eq!(asked, [About::Plan { text: plan.to_owned() }]);
        assert_eq!(answer["result"]["outcome"]["optionId"], option, "{told:?}");
    }
}
