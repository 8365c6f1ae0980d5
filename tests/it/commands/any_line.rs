//! Properties of every line, whatever its text.

use herder::commands::parse::Heard;
use proptest::prelude::*;

use super::reading::{gist, hear};

/// Returns every text that begins a command by itself, whatever follows.
fn marked() -> impl Strategy<Value = String> {
    ("(!|herder: |！|herdbot, )", "[a-zа-я]{1,12}( \\PC{0,30})?").prop_map(|(mark, rest)| mark + &rest)
}

proptest! {
    #[test]
    fn reading_a_line_never_panics(text in "\\PC*|[!@/a-z:, \"'=\\\\]*", place in 0..5_usize) {
        let place = ["#spark", "#other", "#herder", "#work", "private"][place];
        let _ = hear(place, &text);
        let _ = hear(place, &format!("!{text}"));
        let _ = hear(place, &format!("@spark {text}"));
        let _ = hear(place, &format!("agent add x claude {text}"));
    }

    #[test]
    fn a_marked_line_is_never_work(text in marked(), place in 0..5_usize) {
        let place = ["#spark", "#other", "#herder", "#work", "private"][place];
        let heard = hear(place, &text);
        prop_assert!(!matches!(heard, Heard::Work { .. }), "{:?}", heard);
    }

    #[test]
    fn a_line_that_begins_with_a_steering_verb_is_never_work(
        verb in "(pause|resume|abort|restart|stop-all)",
        rest in "( \\PC{0,30})?",
        form in 0..3_usize,
    ) {
        let text = [format!("{verb}{rest}"), format!("@spark {verb}{rest}"), format!("spark: {verb}{rest}")][form].clone();
        let heard = hear("#spark", &text);
        prop_assert!(!matches!(heard, Heard::Work { .. } | Heard::Nothing), "{:?}", heard);
    }

    #[test]
    fn in_other_channels_only_addressed_lines_are_heard(text in "[a-z ]{0,40}") {
        prop_assert_eq!(hear("#work", &text), Heard::Nothing);
    }

    #[test]
    fn work_is_the_text_as_it_was_written(text in "[xyz][a-z ]{0,30}[xyz] [a-z]{4,9} [a-z]{4,9}") {
        prop_assert_eq!(gist(&hear("#spark", &text)), format!("work spark: {}", &text));
        prop_assert_eq!(gist(&hear("#work", &format!("@spark {text}"))), format!("work spark: {}", &text));
    }
}
