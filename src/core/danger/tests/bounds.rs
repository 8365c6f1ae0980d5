//! Bounds: texts that take long to read, and that reading ends for every text.

use proptest::prelude::*;

use super::*;

#[test]
fn what_is_nested_too_deep_is_asked_about() {
    let deep = format!("{}true{}", "$(".repeat(500), ")".repeat(500));
    assert_eq!(of_command(&deep, &[]).as_deref(), Some(UNREADABLE));
}

#[test]
fn what_takes_too_long_to_read_is_asked_about() {
    let many = |word: &str, count| vec![word; count].join(" ");
    for command in [
        format!("{} {} x", many("git submodule", 9), many("rm", 2000)),
        format!("{} x", many("find -exec", 2000)),
        format!("{} {}", many("git submodule python3", 11), "x ".repeat(8000)),
        format!("env {} '{}'", many("python3", 1000), "x ".repeat(8000)),
        format!("x='{}'; {}", many("x", 4000), many("$x", 4000)),
        format!(
            "{{\"a\":[{}]}}",
            vec![format!("\"{} {} x\"", many("git submodule", 3), many("rm", 40)); 90].join(",")
        ),
        format!("{}ls", "{;".repeat(4000)),
        "a|".repeat(16_000),
        "while a;do ".repeat(40) + "b;" + &"done;".repeat(40),
        "x ".repeat(70_000),
        (0..600).map(|n| format!("f{n}() {{ f{} \"$@\"; }};", n + 1)).collect::<String>()
            + "f600() { \"$@\"; }",
    ] {
        assert_eq!(of_command(&command, &[]).as_deref(), Some(UNREADABLE), "{command:.60}");
    }
    // An unknown command is found before all of the text is read.
    let untold = format!("f() {{ eval \"$@\"; }}; f {} '{}'", many("$y", 1000), "x ".repeat(8000));
    assert_eq!(of_command(&untold, &[]).as_deref(), Some(UNTOLD));
}

#[test]
fn what_would_crash_the_grammar_is_asked_about() {
    for command in ["{\u{31860}", "echo {1\u{31860}}", "echo {1..\u{31860}}", "sh -c 'echo {2..3\u{31860}'"] {
        assert_eq!(of_command(command, &[]).as_deref(), Some(UNREADABLE), "{command:?}");
    }
    // Hidden characters are named before other reasons, because a person cannot see them.
    for command in ["echo {1\u{e0121}}", "echo {1..\u{e0121}}"] {
        assert_eq!(of_command(command, &[]).as_deref(), Some(HIDDEN), "{command:?}");
    }
    for command in ["echo \u{31860}{1..3}", "echo '{ \u{31860} }'", "git commit -m 'caf\u{e9} {a}'"] {
        assert_eq!(of_command(command, &[]), None, "{command:?}");
    }
}

#[test]
fn what_is_only_long_is_read_to_its_end() {
    let long = |line: &str, count| line.repeat(count);
    for command in [
        format!("npx prettier --write {}", long("src/a_file.ts ", 2000)),
        format!("rm {}", long("src/a_file.ts ", 2000)),
        format!(
            "cat > x.md <<'EOF'\n{}EOF\n",
            long("Some words about what's in it, as long as a line.\n", 600)
        ),
        long("echo \"a line\" >> log\n", 1500),
        long("x+=a;", 40),
        format!("x=a;{}", "x+=$x;".repeat(40)),
        format!("{} echo {}", (0..1500).map(|n| format!("x={n};")).collect::<String>(), "$x ".repeat(100)),
        long("x+='; ls'\n", 200),
        long("x=\"$x y\"; x+=\" $x\"\n", 100),
    ] {
        assert_eq!(of_command(&command, &[]), None, "{command:.60}");
        let then = format!("{command}\ngit push");
        assert_eq!(of_command(&then, &[]).as_deref(), Some(PUSH), "{command:.60}");
    }
}

proptest! {
    #[test]
    fn reading_ends_and_never_panics(text in "[-a-z\"'$()`<>|;&{},\\\\ \n!=]{0,80}|\\PC{0,60}") {
        let _ = of_command(&text, &[]);
    }

    #[test]
    fn reading_what_nests_ends_soon(words in prop::collection::vec("find|git|submodule|rm|env|-c|-exec|'find . rm x'|[$`(){};'\"<\n]|<<E|E\n|<<<|\\$x|x=|for x in|f\\(\\)|\"\\$@\"|f|eval|which", 0..400)) {
        let _ = of_command(&words.join(" "), &[]);
    }

    #[test]
    fn no_body_of_a_here_document_hides_what_follows(body in "[-a-z\"'$()`<>|;&{},\\\\ \n!=#]{0,60}", quote in "['\"]?") {
        let command = format!("cat <<{quote}EOF{quote}\n{body}\nEOF\ngit push");
        prop_assert!(of_command(&command, &[]).is_some(), "{}", command);
    }

    #[test]
    fn quoting_the_program_changes_nothing(before in "[a-z ]{0,8}", quote in "['\"]") {
        let command = format!("echo {before}; {quote}git{quote} push");
        prop_assert_eq!(of_command(&command, &[]), Some(PUSH.to_owned()));
    }
}
