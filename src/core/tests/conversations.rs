//! Tests of conversations: kept, given up, and started from scratch.

use super::outcomes::EVERY_CATEGORY;
use super::*;
use crate::whisper::WHISPER_TEXT_MAX;

/// Returns the conversation and the exchanges in the effect that starts a session.
fn spawned(step: &Step) -> (Option<String>, Option<String>) {
    let spawned = step.effects.iter().find_map(|effect| match effect {
        Effect::Spawn { conversation, past, .. } => Some((conversation.clone(), past.clone())),
        _ => None,
    });
    spawned.expect("a session starts")
}

#[test]
fn the_conversation_is_kept_unless_it_is_itself_what_was_refused() {
    for category in EVERY_CATEGORY {
        let mut desk = Desk::busy();
        desk.signal(Signal::Ready { conversation: Some("c1".to_owned()) });
        let step = desk.fails(category);
        let dropped = category == Category::ContextOverflow;
        assert_eq!(desk.agent.conversation.is_none(), dropped, "{category:?}");
        assert_eq!(step.said().contains("ConversationLost"), dropped, "{category:?}: {}", step.said());
    }
    let mut desk = Desk::busy();
    desk.signal(Signal::Ready { conversation: Some("c1".to_owned()) });
    let refused = Outcome { history_refused: true, ..Outcome::new(Category::Permanent, "messages.3: no") };
    let step = desk.ends(refused);
    assert_eq!(desk.agent.conversation, None);
    let said = "ConversationLost { why: \"the model refuses its history: messages.3: no\" }";
    assert!(step.said().contains(said), "{}", step.said());
    let mut desk = Desk::busy();
    desk.signal(Signal::Ready { conversation: Some("c1".to_owned()) });
    desk.ask(Control::Restart);
    desk.signal(Signal::Ready { conversation: Some("c2".to_owned()) });
    assert_eq!(desk.agent.conversation, None);
}

#[test]
fn a_conversation_that_begins_anew_is_told_what_was_said_last() {
    let mut desk = Desk::with(spec(Runtime::Acp));
    for (id, text) in [(1, "the word is heron"), (2, "what is the word?")] {
        let step = desk.give(WorkKind::Message, id, text);
        if id == 2 {
            let (conversation, past) = spawned(&step);
            assert_eq!(conversation.as_deref(), Some("c1"), "it is tried first");
            insta::assert_snapshot!(past.expect("what was said"), @r"
            This is a new conversation. What was said in the one before it, the latest last:

            You were told: the word is heron
            You answered: noted
            ");
            let step = desk.signal(Signal::ConversationLost { why: "Session not found".to_owned() });
            let said = "ConversationLost { why: \"it cannot be opened any more: Session not found\" }";
            assert_eq!(step.said(), said);
        }
        desk.signal(Signal::Spawned { pid: 42, started: 7 });
        desk.signal(Signal::Ready { conversation: Some(format!("c{id}")) });
        desk.ends(Outcome { text: Some("noted".to_owned()), ..Outcome::new(Category::Success, "") });
    }
    assert_eq!(desk.agent.conversation.as_deref(), Some("c2"));
    desk.ask(Control::Restart);
    assert_eq!(spawned(&desk.give(WorkKind::Message, 3, "hello")), (None, None), "a person wanted it so");
    // A runtime without conversations is told nothing of other work.
    let mut desk = Desk::busy();
    desk.succeeds();
    assert_eq!(spawned(&desk.give(WorkKind::Message, 2, "hello")), (None, None));
}

#[test]
fn the_newest_whisper_and_the_newest_message_stay_in_a_recap_that_is_cut() {
    let mut desk = Desk::busy();
    for n in 0..9 {
        let text = format!("{n}: {}", "long ".repeat(200));
        desk.ask(Control::Whisper { id: WorkId(20 + n), text });
        let session = desk.agent.session().expect("it runs");
        desk.tell(&Input::WhispersTaken { session, whispers: vec![WorkId(20 + n)] });
    }
    let longest = format!("the newest: {}", "x".repeat(WHISPER_TEXT_MAX - 12));
    desk.ask(Control::Whisper { id: WorkId(40), text: longest.clone() });
    let session = desk.agent.session().expect("it runs");
    desk.tell(&Input::WhispersTaken { session, whispers: vec![WorkId(40)] });
    desk.fails(Category::Crash);
    let (_, step) = desk.waits();
    let recap = step.recap().expect("the work goes on");
    assert!(recap.ends_with(&longest), "{recap}");
    assert!(recap.contains("were told:\n(9 earlier ones are left out)\n- [WHISPER]"), "{recap}");
}

/// Checks that whispers about unfinished work stay in the recap.
#[test]
fn whispers_that_a_lost_session_had_are_told_again() {
    let mut desk = Desk::new();
    desk.ask(Control::Whisper { id: WorkId(7), text: "never touch production".to_owned() });
    let step = desk.give(WorkKind::Task, 1, "benchmark nemotron");
    assert_eq!(step.recap(), None);
    desk.runs();
    desk.fails(Category::Crash);
    let (_, step) = desk.waits();
    let told = "While you worked on it you, and you alone, were told:\n- [WHISPER] alice tells you, and you alone: never touch production";
    assert!(step.recap().is_some_and(|recap| recap.ends_with(told)), "{:?}", step.recap());
    desk.runs();
    desk.ask(Control::Restart);
    let step = desk.fails(Category::Interrupted);
    assert!(
        step.recap().is_some_and(|recap| recap.ends_with(told)),
        "a clean session hears of what people said"
    );
    desk.runs();
    desk.succeeds();
    assert_eq!(desk.give(WorkKind::Task, 2, "something else").recap(), None);
}
