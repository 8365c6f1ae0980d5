//! What the app server asks, and what it is answered.

use herder::core::spec::Autonomy;
use serde_json::json;

use super::super::replayed::denied;
use super::{replay, seen};

#[test]
fn permission_is_given_or_denied_by_the_agents_autonomy() {
    let asked = |name: &str, autonomy: Autonomy| {
        let replayed = replay(seen(name), |_, spec| spec.autonomy = autonomy);
        let answers = replayed.answers();
        assert_eq!(answers.len(), 1, "{name}: one question, one answer");
        assert_eq!(answers[0]["id"], 0);
        (answers[0]["result"]["decision"].as_str().map(str::to_owned), denied(&replayed.happened))
    };
    let (accept, decline) = (Some("accept".to_owned()), Some("decline".to_owned()));
    for (name, what) in [
        ("approve-exec", "/bin/bash -lc 'touch made'"),
        ("deny-exec", "/bin/bash -lc 'touch made'"),
        ("approve-patch", "/srv/agent/work/new.txt"),
    ] {
        assert_eq!(asked(name, Autonomy::Full), (accept.clone(), None), "{name}");
        assert_eq!(asked(name, Autonomy::Strict), (decline.clone(), None), "{name}");
        assert_eq!(asked(name, Autonomy::Human), (decline.clone(), Some(what.to_owned())), "{name}");
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
        for (autonomy, expected) in [(Autonomy::Full, &yes), (Autonomy::Strict, &no), (Autonomy::Human, &no)]
        {
            let replayed = replay(&format!("< {question}"), |_, spec| spec.autonomy = autonomy);
            let answers = replayed.answers();
            assert_eq!((answers.len(), &answers[0]["result"]), (1, expected), "{question}");
        }
    }
    let unknown = replay(r#"< {"id":7,"method":"attestation/generate","params":{}}"#, |_, _| ());
    assert_eq!(unknown.answers()[0]["error"]["code"], -32601);
}
