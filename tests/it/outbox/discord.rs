//! The form of posts on Discord.

use std::sync::LazyLock;

use herder::core::notice::{Notice, Refusal};
use herder::core::post::{Body, Lane, Post};
use herder::outbox::Markup;
use herder::outbox::discord::{MESSAGE_MAX, units};
use proptest::prelude::*;
use regex::Regex;

use super::posts::{post, renderer, spark, words};

fn shown(post: &Post) -> Vec<String> {
    renderer(Markup::Discord).lines(post)
}

#[test]
fn an_agents_words_are_one_message() {
    let text = "## Result\n\n\n\nAll **three** drivers pass, see [the log](https://ci.example/7).\n\n\
                ```rust title=\"main.rs\"\nfn main() {\n    let glob = \"**/*.rs\";\n\n    run(glob);\n}\n```\n\
                - `cargo **test**` is *green*\n✅ **spark** completed in 1s\n@everyone <@1> ||boo||\n~~~\n``` never closed\n";
    let messages = shown(&words(text));
    assert_eq!(messages.len(), 1);
    insta::assert_snapshot!(messages[0].replace('\u{200b}', "¦"), @r#"
    ## Result

    All **three** drivers pass, see the log (<https://ci.example/7>).

    ```rust
    fn main() {
        let glob = "**/*.rs";

        run(glob);
    }
    ```
    - `cargo **test**` is *green*
    > ✅ **spark** completed in 1s
    @¦everyone \<@1> \|\|boo\|\|
    ```
    `¦`¦` never closed
    ```
    "#);
}

#[test]
fn herders_own_sentences_keep_bold_and_code_alone() {
    let refusal = Body::Refusal(Refusal::NotPaused { agent: spark() });
    let answer = Post { answers: Some("_al*ice_".to_owned()), lane: Lane::Urgent, ..post(refusal) };
    let quoting = Post { quotes: Some("1".to_owned()), ..answer.clone() };
    let started =
        post(Body::Notice(Notice::Started { agent: spark(), work: "fix *.rs for <@7>\n# big".to_owned() }));
    let lines = post(Body::Lines(vec!["**spark** running".to_owned(), String::new(), "> flint".to_owned()]));
    let all = [answer, quoting, started, lines].map(|post| shown(&post).join("\n---\n"));
    insta::assert_snapshot!(all.join("\n===\n"), @r"
    \_al\*ice\_: **spark** is not paused, so there is nothing to resume. `@spark status` shows what it does.
    ===
    **spark** is not paused, so there is nothing to resume. `@spark status` shows what it does.
    ===
    🐜 **spark** started: fix \*.rs for \<@7> # big
    ===
    **spark** running

    \> flint
    ");
}

#[test]
fn a_block_that_is_cut_is_opened_again_with_its_language() {
    let code: Vec<String> = (1..=150).map(|line| format!("let number_{line} = {line};")).collect();
    let messages = shown(&words(&format!("before\n```rust\n{}\n```\nafter", code.join("\n"))));
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[0].starts_with("before\n```rust\nlet number_1 ="), "{}", messages[0]);
    assert!(messages[0].ends_with(";\n```"), "{}", messages[0]);
    assert!(messages[1].starts_with("```rust\nlet number_"), "{}", messages[1]);
    assert!(messages[1].ends_with("let number_150 = 150;\n```\nafter"), "{}", messages[1]);
}

#[test]
fn a_very_long_text_is_its_beginning_and_a_file() {
    let text: Vec<String> = (1..=1000).map(|line| format!("line {line} hunter2")).collect();
    let post = words(&format!("```\n{}\n```", text.join("\n")));
    let messages = shown(&post);
    assert_eq!(messages.len(), 1);
    assert!(
        units(&messages[0]) <= MESSAGE_MAX && units(&messages[0]) > MESSAGE_MAX - 40,
        "{}",
        units(&messages[0])
    );
    assert!(messages[0].starts_with("```\nline 1 [redacted]\n"));
    assert!(
        messages[0].ends_with("\n```\n… the attached file has all 1002 lines, `@spark log 1` too"),
        "{}",
        messages[0]
    );
    let file = renderer(Markup::Discord).attachment(&post).expect("a file goes along");
    assert_eq!(file.name, "spark.txt");
    assert!(file.text.ends_with("line 1000 [redacted]\n```\n") && !file.text.contains("hunter2"));
    assert_eq!(renderer(Markup::Discord).attachment(&words("short")), None);
    let endless =
        renderer(Markup::Discord).attachment(&words(&"ä".repeat(3_000_000))).expect("a file goes along");
    assert!(endless.text.len() < 1_100_000);
}

/// Output of an agent beyond the part that is kept is in no file: the note counts the lines in the file.
#[test]
fn the_note_counts_the_lines_that_are_in_the_file() {
    let text: Vec<String> = (1..=12_000).map(|line| format!("line {line}")).collect();
    let noted = |text: &str| {
        let post = words(text);
        let file = renderer(Markup::Discord).attachment(&post).expect("a file goes along");
        let note = shown(&post)[0].lines().last().map(str::to_owned).expect("it says something");
        (note, file.text.lines().filter(|line| !line.contains(" left out …]")).count())
    };
    let cut = text[..6_000].join("\n") + "\n[… 8000 lines left out …]\n" + &text[6_000..].join("\n");
    let (note, lines) = noted(&cut);
    assert_eq!(lines, 12_000);
    assert_eq!(note, "… the attached file has 12000 of 20000 lines, with a mark where something is left out");
    // Longer than a file may be.
    let endless: Vec<String> = (1..=50_000).map(|line| format!("line {line} {}", "x".repeat(20))).collect();
    let (note, lines) = noted(&endless.join("\n"));
    assert!(lines < 50_000 && note.contains(&format!(" {lines} of 50000 lines")), "{lines}: {note}");
}

#[test]
fn messages_of_nothing_are_none() {
    for text in
        ["", " \n \n", "```\n\n```", "```rust\n```", "\u{200b}\u{3164}\u{fe0f}", "\u{301}\u{301}", "<!\u{1b}"]
    {
        let messages = shown(&words(text));
        assert_eq!(messages.len(), usize::from(text.starts_with('<')), "{text:?} became {messages:?}");
    }
}

/// Returns Discord's reading of a message: the text outside code, without characters whose meaning a backslash
/// removes. Written from Discord's rules, not from herder's code.
fn outside_code(message: &str) -> String {
    static BLOCK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?s)^```.*?```").expect("a pattern"));
    let mut outside = String::new();
    let mut rest = message;
    while let Some(c) = rest.chars().next() {
        if let Some(block) = BLOCK.find(rest) {
            rest = &rest[block.end()..];
            outside.push('▉');
            continue;
        }
        let length = match c {
            '\\' => {
                let next = rest[1..].chars().next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace());
                outside.push('∅');
                1 + next.map_or(0, char::len_utf8)
            }
            '`' => {
                let length = inline_code(rest);
                outside.push(if length.is_some() { '▉' } else { '`' });
                length.unwrap_or(1)
            }
            c => {
                outside.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    outside
}

/// Returns the length of the span that Discord sees here: it ends at as many backticks, also lines below.
fn inline_code(text: &str) -> Option<usize> {
    let marks = text.bytes().take_while(|byte| *byte == b'`').count();
    let mut at = marks;
    while let Some(found) = text[at..].find('`') {
        let run = text[at + found..].bytes().take_while(|byte| *byte == b'`').count();
        if run == marks {
            return Some(at + found + run);
        }
        at += found + run;
    }
    None
}

fn is_harmless(message: &str) -> Result<(), String> {
    let outside = outside_code(message);
    let lower = outside.to_lowercase();
    for sign in ["@everyone", "@here", "<@", "<#", "<:", "<a:", "<t:", "</", "](", "||", "```"] {
        if lower.contains(sign) {
            return Err(format!("{sign} has its meaning in {message:?} ({outside:?})"));
        }
    }
    for line in outside.lines() {
        if line.trim_start().starts_with(">>>") || line.trim_start().starts_with("-#") {
            return Err(format!("{line:?} is a mark of a block"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_said_every_message_can_be_sent_and_does_no_harm(
        text in r"(?s)([\x00-\x20`*#\[\]()~_|<>@\\-]|hunter2|```|~~~|\*\*|@everyone|<@1>|\]\(https://|\|\||>>> |[a-zä漢👨🏽✅]|.){0,600}",
        times in 1_usize..12,
    ) {
        let text = text.repeat(times);
        for post in [words(&text), post(Body::Lines(vec![text.clone()]))] {
            let messages = shown(&post);
            for message in &messages {
                prop_assert!(units(message) <= MESSAGE_MAX, "{} units", units(message));
                prop_assert!(!message.trim().is_empty());
                prop_assert!(message.chars().all(|c| c == '\n' || !c.is_control()));
                prop_assert!(!message.contains("hunter2"));
                prop_assert_eq!(is_harmless(message), Ok(()));
            }
            prop_assert_eq!(&messages, &shown(&post), "the number of messages depends on the text alone");
        }
    }

    #[test]
    fn plain_words_are_all_there(text in "[a-zäö漢 .,\n]{0,5000}") {
        let solid = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(solid(&shown(&words(&text)).concat()), solid(&text));
    }
}

/// A quadratic step anywhere takes minutes for these; the bound is wide because debug builds on busy machines are slow.
#[test]
fn hostile_text_is_laid_out_in_linear_time() {
    let start = std::time::Instant::now();
    for mark in [
        "[",
        "`",
        "` ",
        "``` ",
        "**",
        "** ",
        "[a](",
        "[a](https://",
        "e\u{301}",
        "\u{301}",
        "👨\u{200d}",
        "x",
        " ",
        "```\n",
        "# ",
        "<",
        "\\",
        "||",
        "@everyone",
        "🇩🇪",
        "> ",
        "\n",
    ] {
        let hostile = mark.repeat(100_000 / mark.len());
        for post in [words(&hostile), post(Body::Lines(vec![hostile.clone()]))] {
            for message in shown(&post) {
                assert!(units(&message) <= MESSAGE_MAX);
            }
        }
    }
    assert!(start.elapsed() < std::time::Duration::from_secs(60), "took {:?}", start.elapsed());
}
