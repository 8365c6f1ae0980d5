//! Tool calls: open until they have ended, and told apart.

use super::*;

#[test]
fn tools_are_open_until_they_have_ended() {
    let codex = r#"{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"make","status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"make","aggregated_output":"no rule","exit_code":2,"status":"failed"}}
{"type":"item.completed","item":{"id":"item_2","type":"file_change","changes":[{"path":"a.rs","kind":"update"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"item_3","type":"mcp_tool_call","server":"herder","tool":"notify","arguments":{},"status":"completed"}}"#;
    let gemini = r#"{"type":"tool_use","tool_name":"run_shell_command","tool_id":"a","parameters":{"command":"make"}}
{"type":"tool_result","tool_id":"a","status":"error","error":{"type":"x","message":"no rule"}}"#;
    let opencode = r#"{"type":"tool_use","sessionID":"s","part":{"type":"tool","callID":"a","tool":"bash","state":{"status":"completed","input":{"command":"make"},"output":"done"}}}"#;
    for (output, lines, names) in [
        (Output::Codex, codex, &["shell", "end", "edit", "end", "herder/notify", "end"][..]),
        (Output::Gemini, gemini, &["run_shell_command", "end"]),
        (Output::Opencode, opencode, &["bash", "end"]),
    ] {
        let happened = read(output, lines).happened;
        assert_eq!(tools(&happened), names, "{output:?}");
        let first = happened.iter().find_map(|happening| match happening {
            Happening::ToolStarted { call, .. } => Some(call.what.as_str()),
            _ => None,
        });
        assert_eq!(first, Some("make"), "{output:?}");
        let ok = happened.iter().find_map(|happening| match happening {
            Happening::ToolEnded { end, .. } => Some((end.ok, end.said.as_str())),
            _ => None,
        });
        let expected = if output == Output::Opencode { (true, "done") } else { (false, "no rule") };
        assert_eq!(ok, Some(expected), "{output:?}");
    }
}

#[test]
fn two_edits_of_one_file_are_two_and_each_is_one() {
    let edit = |kind: &str, id: &str| {
        format!(
            r#"{{"type":"item.{kind}","item":{{"id":"{id}","type":"file_change","changes":[{{"path":"a.rs","kind":"update"}}],"status":"completed"}}}}"#
        )
    };
    let digests = |thread: &str| -> Vec<u64> {
        let began = format!(r#"{{"type":"thread.started","thread_id":"{thread}"}}"#);
        let lines = [began, edit("started", "1"), edit("completed", "1"), edit("completed", "2")].join("\n");
        let happened = read(Output::Codex, &lines).happened;
        let digest = |happening: &Happening| match happening {
            Happening::ToolStarted { call, .. } => Some(call.digest),
            _ => None,
        };
        happened.iter().filter_map(digest).collect()
    };
    let all = [digests("a"), digests("b")].concat();
    assert_eq!(all.len(), 4);
    assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "in the next session too");
}

#[test]
fn a_helper_that_is_waited_for_is_an_open_tool() {
    let line = r#"{"type":"item.started","item":{"id":"item_1","type":"collab_tool_call","tool":"wait","prompt":null,"status":"in_progress"}}"#;
    assert_eq!(tools(&read(Output::Codex, line).happened), ["wait"]);
}

#[test]
fn a_call_of_which_more_is_to_come_is_open() {
    let call = |status: &str| {
        format!(
            r#"{{"type":"tool_use","sessionID":"s","part":{{"type":"tool","callID":"a","tool":"bash","state":{{"status":"{status}","input":{{"command":"make"}}}}}}}}"#
        )
    };
    assert_eq!(tools(&read(Output::Opencode, &call("running")).happened), ["bash"]);
    let both = [call("running"), call("error")].join("\n");
    assert_eq!(tools(&read(Output::Opencode, &both).happened), ["bash", "end"]);
}
