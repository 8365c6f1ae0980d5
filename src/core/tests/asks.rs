//! What an agent asks of people.

use super::*;
use crate::core::ask::{AskAnswer, AskKey};

#[test]
fn what_is_known_by_a_name_alone_is_allowed_once_and_by_no_rule() {
    let mut desk = Desk::busy();
    let session = desk.session();
    let mut key = 0;
    let mut asks = |desk: &mut Desk, vague| {
        key += 1;
        let (tool, command) = ("other".to_owned(), "post".to_owned());
        let signal = Signal::Asked { key: AskKey(key), tool, command, shell: true, vague };
        desk.tell(&Input::Driver { session, signal }).told()
    };
    let answer = |desk: &Desk, always| {
        let ask = desk.agent.asks.first().expect("it is open").id;
        Control::Answer { ask, answer: AskAnswer::Allow { always } }
    };
    assert_eq!(asks(&mut desk, true), "Asked");
    let refused = desk.try_ask(answer(&desk, true)).expect_err("no rule covers it");
    assert!(matches!(refused, Refusal::NoRule { cut: false, vague: true, .. }), "{refused:?}");
    desk.ask(answer(&desk, false));
    // The same words, where they are all there is to it.
    assert_eq!(asks(&mut desk, false), "Asked");
    assert_eq!(desk.ask(answer(&desk, true)).told(), "Answered, RuleAdded");
    assert_eq!(asks(&mut desk, false), "PermissionDecided");
    assert_eq!(asks(&mut desk, true), "Asked");
}
