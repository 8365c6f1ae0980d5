//! An error's words are cut to what people read. A key that lies across the cut does not stay in halves, whichever runtime it
//! came from, and wherever the cut is.

use super::*;

const KEY: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

/// Before the key, so that it lies across each of the cuts: of a field, a line and a reason.
const BEFORE: [usize; 6] = [80, 2 * 1024 - 60, 2 * 1024 - 20, 4 * 1024 - 60, 4 * 1024 - 20, 4 * 1024 - 5];

/// Returns whether no part of the key is in `text`.
fn is_whole_or_gone(text: &str) -> bool {
    !text.contains("ghp_") && !text.contains("456789")
}

/// A script in Python that says `said(before)`, where `{}` stands, for each cut; nothing that is reported has any of the key.
async fn no_half_of_a_key_stays(what: impl Fn(&str, &Path) -> Launch, said: &str) {
    for before in BEFORE {
        let folder = tempfile::tempdir().expect("a folder");
        let error = format!("('x' * {before} + ' {KEY} ' + 'y' * 5000)");
        let (outcome, signals, words) = run(what(&said.replace("{}", &error), folder.path())).await;
        assert_ne!(outcome.category, Category::Success, "{said}");
        let told = format!("{outcome:?} {signals:?} {words:?}");
        assert!(told.contains("xxx"), "{said}: it is told what was said: {told}");
        assert!(is_whole_or_gone(&told), "{said}, {before} before: {told}");
    }
}

#[tokio::test]
async fn of_claudes_errors() {
    for said in [
        "result('', subtype='success', is_error=True, api_error_status=500, result={})",
        "result('', subtype='error_during_execution', is_error=True, result=None, errors=[{}])",
        "say(type='assistant', error={}, message=dict(id='m1', model='<synthetic>', content=[])); result('no', is_error=True)",
        "result('no', subtype={}, is_error=True)",
        "say(type='system', subtype='api_retry', error={}); result('no ' + 'xxx', is_error=True)",
        "print({}, flush=True); sys.exit(3)",
        "print({}, file=sys.stderr, flush=True); sys.exit(3)",
    ] {
        no_half_of_a_key_stays(claude, said).await;
    }
}

#[tokio::test]
async fn of_codexs_errors() {
    for said in [
        "failed('other', {})",
        "failed(dict(somethingNew={}))",
        "done('failed', error=dict(message='no', codexErrorInfo='other', additionalDetails={}))",
        "note('error', willRetry=True, error=dict(message={}, codexErrorInfo='other')); done('failed', error=dict(message='no'))",
        "note('error', willRetry=False, error=dict(message={}, codexErrorInfo='other')); sys.exit(3)",
        "print({}, flush=True); sys.exit(3)",
    ] {
        no_half_of_a_key_stays(super::codex::codex, said).await;
    }
}

#[tokio::test]
async fn of_an_acp_agents_errors() {
    for said in [
        "fail(500, {})",
        "fail(-32603, 'Internal error', details={})",
        "fail(-32603, 'no', errorKind={})",
        "words('Error: ' + {}); end('refusal')",
        "words('Error: ' + {}); end(usage=dict(inputTokens=0, outputTokens=0))",
        "end({})",
        "print({}, flush=True); sys.exit(3)",
    ] {
        no_half_of_a_key_stays(|body, folder| super::acp::acp("x", body, folder), said).await;
    }
}

/// A conversation that is gone is told of, with what the agent says of it.
#[tokio::test]
async fn of_a_conversation_that_is_lost() {
    for before in BEFORE {
        let folder = tempfile::tempdir().expect("a folder");
        let mut what = super::acp::acp("x", "words('hello'); end()", folder.path());
        let error = format!("message='x' * {before} + ' {KEY} ' + 'y' * 5000");
        edit(&mut what, |spec| {
            let script = spec.command.last_mut().expect("a script");
            *script = script.replace("message=\"Internal error\"", &error);
        });
        what.conversation = Some("c-0".to_owned());
        let signals = run(what).await.1;
        let lost = signals.iter().find(|signal| matches!(signal, Signal::ConversationLost { .. }));
        let told = format!("{:?}", lost.expect("it is told"));
        assert!(told.contains("xxx") && is_whole_or_gone(&told), "{before} before: {told}");
    }
}

#[tokio::test]
async fn of_a_programs_errors() {
    let python = |body: &str, output, folder: &Path| {
        let script =
            format!("import json, sys\ndef say(**line): print(json.dumps(line), flush=True)\n{body}");
        let mut what = session(Runtime::Command, &["python3", "-c", &script], folder);
        edit(&mut what, |spec| spec.output = output);
        what
    };
    for (output, said) in [
        (Output::Text, "print({}, flush=True); sys.exit(3)"),
        (Output::Text, "print({}, file=sys.stderr, flush=True); sys.exit(3)"),
        (Output::Claude, "say(type='result', subtype='success', is_error=True, result={})"),
        (Output::Codex, "say(type='turn.failed', error=dict(message={}))"),
        (Output::Codex, "say(type='error', message='Reconnecting... ' + {}); sys.exit(3)"),
        (
            Output::Gemini,
            "say(type='error', severity='error', message={}); say(type='result', status='error', error=dict(type='x', message='no'))",
        ),
        (Output::Gemini, "say(type='result', status='error', error=dict(type={}, message='no'))"),
        (Output::Opencode, "say(type='error', error=dict(name='APIError', data=dict(message={})))"),
    ] {
        no_half_of_a_key_stays(|body, folder| python(body, output, folder), said).await;
    }
}

/// A long answer keeps both ends; a key in its middle is not cut in two.
#[tokio::test]
async fn of_long_answers() {
    const KEPT: usize = 64 * 1024;
    for before in [KEPT / 2 - 100, KEPT / 2 - 60, KEPT / 2 - 20] {
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!("('x' * {before} + ' {KEY} ' + 'y' * 50000)");
        for what in [
            claude(&format!("text({text}); result({text})"), folder.path()),
            super::codex::codex(&format!("item('agentMessage', text={text}); done()"), folder.path()),
            super::acp::acp("x", &format!("words({text}); end()"), folder.path()),
            session(Runtime::Command, &["python3", "-c", &format!("print({text} * 3)")], folder.path()),
        ] {
            let runtime = what.spec.runtime;
            let (outcome, signals, words) = run(what).await;
            assert_eq!(outcome.category, Category::Success, "{runtime:?}: {outcome:?}");
            let told = format!("{outcome:?} {signals:?} {words:?}");
            assert!(told.contains("xxx") && is_whole_or_gone(&told), "{runtime:?}, {before} before");
        }
    }
}

/// A line of what stands where an answer is due ends with no part of a key.
#[tokio::test]
async fn of_links_and_plans() {
    for before in BEFORE {
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!("'xxx ' * {} + '{KEY} ' + 'y' * 5000", before / 4);
        for piece in [
            format!("news('plan', entries=[dict(content={text}, status='pending')])"),
            format!(
                "news('agent_message_chunk', content=dict(type='resource_link', name={text}, uri='file:///a'))"
            ),
            format!(
                "news('agent_message_chunk', content=dict(type='resource', resource=dict(uri={text}, text='all')))"
            ),
        ] {
            let what = super::acp::acp("x", &format!("{piece}; end(); read()"), folder.path());
            let (outcome, signals, words) = run(what).await;
            let told = format!("{outcome:?} {signals:?} {words:?}");
            assert!(told.contains("xxx") && is_whole_or_gone(&told), "{piece}: {told}");
        }
    }
}
