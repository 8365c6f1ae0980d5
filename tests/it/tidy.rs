//! Rules that the compiler does not check: the core free of I/O, files of a readable length, no loose ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The longest a source file may be: beyond it there is a seam to split at.
const LINES_MAX: usize = 600;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns every file with one of the extensions below a folder of the project.
fn files(folder: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("a readable folder").path();
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if extensions.contains(&extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns `path:line: text` of every line that `is_wrong`.
fn findings(paths: &[PathBuf], is_wrong: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for path in paths {
        let shown = path.strip_prefix(root()).unwrap_or(path).display();
        for (index, line) in read(path).lines().enumerate() {
            if is_wrong(line) {
                found.push(format!("{shown}:{}: {}", index + 1, line.trim()));
            }
        }
    }
    found
}

fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

#[test]
fn the_core_does_no_io_and_asks_no_clock() {
    const BANNED: [&str; 14] = [
        "std::fs",
        "std::net",
        "std::process",
        "std::thread",
        "std::env",
        "std::io",
        // From `std::sync` the core uses `Arc` alone: large immutable values are shared, not copied.
        "std::sync::Mutex",
        "std::sync::RwLock",
        "std::sync::atomic",
        "std::sync::mpsc",
        "std::sync::{",
        "Instant",
        "SystemTime",
        "println!",
    ];
    let core = files("src/core", &["rs"]);
    assert!(core.len() > 10, "the core is where it was");
    let found = findings(&core, |line| BANNED.iter().any(|banned| without_comment(line).contains(banned)));
    assert_eq!(found, [] as [String; 0]);
}

/// The core is a crate, so that it knows nothing outside itself but these.
#[test]
fn the_core_depends_on_no_runtime_no_storage_and_no_network() {
    let manifest: toml::Table = read(&root().join("src/core/Cargo.toml")).parse().expect("a manifest");
    let dependencies = manifest["dependencies"].as_table().expect("a table");
    let names: Vec<&str> = dependencies.keys().map(String::as_str).collect();
    let known = [
        "jiff",
        "regex",
        "serde",
        "serde_json",
        "thiserror",
        "tree-sitter",
        "tree-sitter-bash",
        "unicode-segmentation",
    ];
    assert_eq!(names, known);
    assert!(!manifest.contains_key("target") && !manifest.contains_key("build-dependencies"));
}

/// Returns the variants of an enum by name, from its source.
fn variants(source: &str, name: &str) -> Vec<String> {
    let start = source.find(&format!("pub enum {name} {{")).expect("the enum is there");
    let body = &source[start..];
    let end = body.find("\n}").expect("the enum ends");
    let variant = |line: &&str| line.starts_with("    ") && line[4..].starts_with(char::is_uppercase);
    let name = |line: &str| line.trim().chars().take_while(|c| c.is_alphanumeric()).collect();
    body[..end].lines().filter(variant).map(name).collect()
}

#[test]
fn every_event_is_named_where_it_is_applied_and_reacted_to_and_posted() {
    let events = variants(&read(&root().join("src/core/event.rs")), "Event");
    assert!(events.len() > 20 && events.contains(&"SessionStarted".to_owned()), "{events:?}");
    for file in ["src/core/apply.rs", "src/core/react.rs", "src/core/posts.rs"] {
        let source = read(&root().join(file));
        let missing: Vec<&String> =
            events.iter().filter(|event| !source.contains(&format!("Event::{event}"))).collect();
        assert_eq!(missing, [] as [&String; 0], "not in {file}");
        let dispatch = &source[..source.find("\n}").expect("a function")];
        assert!(!dispatch.contains("_ =>"), "{file} would swallow a new event");
    }
}

#[test]
fn no_file_is_too_long_to_read() {
    let mut long = Vec::new();
    for path in [files("src", &["rs"]), files("commands", &["rs"])].concat() {
        let lines = read(&path).lines().count();
        if lines > LINES_MAX {
            long.push(format!("{}: {lines}", path.strip_prefix(root()).unwrap_or(&path).display()));
        }
    }
    assert_eq!(long, [] as [String; 0], "more than {LINES_MAX} lines: split at a seam");
}

/// Returns all files that a person wrote.
fn sources() -> Vec<PathBuf> {
    let folders = ["src", "commands", "tests", "benches", "docs", "locales", "scripts", ".ci", ".config"];
    let extensions = ["rs", "ftl", "toml", "md", "py", "sh", "json", "jsonl", "example", ""];
    let mut paths: Vec<PathBuf> = folders.iter().flat_map(|folder| files(folder, &extensions)).collect();
    paths.extend(
        [
            "README.md",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "SECURITY.md",
            "Cargo.toml",
            "bot.toml.example",
            "deny.toml",
            "clippy.toml",
        ]
        .map(|name| root().join(name)),
    );
    let this = root().join("tests/it/tidy.rs");
    paths.retain(|path| path.is_file() && *path != this && fs::read_to_string(path).is_ok());
    paths
}

#[test]
fn no_loose_ends() {
    const MARKS: [&str; 4] = ["TODO", "FIXME", "XXX", "HACK"];
    let word = |line: &str, mark: &str| {
        line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == mark)
    };
    let found = findings(&sources(), |line| MARKS.iter().any(|mark| word(line, mark)));
    assert_eq!(found, [] as [String; 0]);
}

#[test]
fn no_file_names_a_folder_of_the_machine_it_was_written_on() {
    let here = root().to_string_lossy().into_owned();
    let machine = ["/root/", "/work/", "/Users/"];
    let starts = |line: &str, folder: &str| {
        line.match_indices(folder).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            before.is_none_or(|c| c.is_whitespace() || "\"'`(=[<>:".contains(c))
        })
    };
    let found = findings(&sources(), |line| {
        line.contains(&here) || machine.iter().any(|folder| starts(line, folder))
    });
    assert_eq!(found, [] as [String; 0]);
}

#[test]
fn an_allowed_lint_is_an_expected_one_with_a_reason() {
    let rust = [files("src", &["rs"]), files("commands", &["rs"]), files("tests", &["rs"])].concat();
    let this = root().join("tests/it/tidy.rs");
    let rust: Vec<PathBuf> = rust.into_iter().filter(|path| *path != this).collect();
    let found = findings(&rust, |line| line.contains("#[allow(") || line.contains("#![allow("));
    assert_eq!(found, [] as [String; 0]);
}

/// Debug output is for programmers and never for people: not in a post, an answer, or a reason in the log.
#[test]
fn no_debug_form_is_put_into_a_sentence() {
    // Forms that are compared, quoted as TOML or JSON quotes, name a file of the demo's, or are read by herder alone.
    const FOR_PROGRAMS: [&str; 3] =
        ["src/config/changes.rs", "src/demo/act.rs", "src/chat/discord/gateway/overheard.rs"];
    let form = |line: &str| {
        let code = without_comment(line);
        let field =
            ["?error,", "?error)", "?reason,", "?reason)", "?why,"].iter().any(|field| code.contains(field));
        (code.contains(":?}") || code.contains(":#?}") || (field && !code.contains("debug!(")))
            && !["assert", "panic!(", "unreachable!(", "debug!(", "trace!("]
                .iter()
                .any(|of| code.contains(of))
    };
    let mut found = Vec::new();
    for path in [files("src", &["rs"]), files("commands", &["rs"])].concat() {
        let shown = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        if FOR_PROGRAMS.contains(&shown.as_str()) || shown.contains("tests") {
            continue;
        }
        let source = read(&path);
        let shipped = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let lines = shipped.lines().enumerate().filter(|(_, line)| form(line));
        found.extend(lines.map(|(index, line)| format!("{shown}:{}: {}", index + 1, line.trim())));
    }
    assert_eq!(found, [] as [String; 0]);
}

/// Words that begin a riddle: a comment that describes an item before it names it.
const RIDDLES: [&str; 9] = ["What", "Who", "Whose", "Nobody", "How", "Where", "That", "Of", "Whoever"];

/// Number of comments in a room that begin with one of [`RIDDLES`]; 0 for other rooms. It may only shrink. Those of
/// `src/cli` and `src/core` are sentences that the command line and the manual print.
const EXCEPTIONS: &[(&str, usize)] = &[("src/cli", 1), ("src/core", 2)];

/// Returns the part of the project that a source file belongs to: `src/core`, `src/access` (with `src/access.rs`),
/// `commands`.
fn room(path: &Path) -> String {
    let path = path.strip_prefix(root()).unwrap_or(path).with_extension("");
    let depth = if path.starts_with("src") || path.starts_with("tests") { 2 } else { 1 };
    path.components().take(depth).collect::<PathBuf>().display().to_string()
}

/// Pairs of rooms that import each other, by a circle of any length. The list may only shrink; it is empty.
const CIRCLES: &[(&str, &str)] = &[];

/// Yields the rooms that a source file names: `crate::<room>`, without its comments and tests.
fn imports(source: &str) -> impl Iterator<Item = &str> {
    let shipped = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    shipped.lines().map(without_comment).flat_map(|line| line.split("crate::").skip(1)).map(|after| {
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        &after[..end]
    })
}

/// Returns the rooms that can be reached from each room by imports. The core is a crate, which imports no room;
/// `lib.rs`
/// and `main.rs` are no rooms.
fn reached() -> BTreeMap<String, BTreeSet<String>> {
    let name = |room: String| room.trim_start_matches("src/").to_owned();
    let files = [files("src", &["rs"]), files("commands", &["rs"])].concat();
    let mut rooms: BTreeSet<String> = files.iter().map(|path| name(room(path))).collect();
    rooms.retain(|room| !["core", "lib", "main"].contains(&room.as_str()));
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in files {
        let here = name(room(&path));
        let is_test = path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"));
        if is_test || !rooms.contains(&here) {
            continue;
        }
        let source = read(&path);
        let others = imports(&source).filter(|room| *room != here && rooms.contains(*room));
        graph.entry(here.clone()).or_default().extend(others.map(str::to_owned));
    }
    // One more step at a time, until nothing new is reached.
    loop {
        let before = graph.clone();
        for rooms in graph.values_mut() {
            let further: Vec<&String> = rooms.iter().filter_map(|room| before.get(room)).flatten().collect();
            rooms.extend(further.into_iter().cloned().collect::<Vec<_>>());
        }
        if graph == before {
            return graph;
        }
    }
}

#[test]
fn no_rooms_import_each_other() {
    let mut files = [files("src", &["rs"]), files("commands", &["rs"])].concat();
    files.retain(|path| room(path) != "src/core");
    let hidden = findings(&files, |line| without_comment(line).contains("crate::{"));
    assert_eq!(hidden, [] as [String; 0], "name each room on a line of its own: this test reads them there");
    let reached = reached();
    assert!(
        reached["http"].contains("supervisor") && reached["supervisor"].contains("runtime"),
        "{reached:?}"
    );
    let mut circles = Vec::new();
    for (room, others) in &reached {
        for other in others.iter().filter(|other| room < *other && reached[*other].contains(room)) {
            circles.push((room.as_str(), other.as_str()));
        }
    }
    let new: Vec<_> = circles.iter().filter(|circle| !CIRCLES.contains(circle)).collect();
    assert!(new.is_empty(), "move what both need to the room below, or into the core: {new:?}");
    let gone: Vec<_> = CIRCLES.iter().filter(|circle| !circles.contains(circle)).collect();
    assert!(gone.is_empty(), "take these off the list: {gone:?}");
}

/// Returns the marker and the text of a line that is a comment.
fn comment(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim_start();
    let marker = ["///", "//!", "//"].into_iter().find(|marker| line.starts_with(marker))?;
    let text = &line[marker.len()..];
    (!text.starts_with('/')).then_some((marker, text.trim_start()))
}

#[test]
fn no_comment_begins_with_a_riddle() {
    let mut found: BTreeMap<String, Vec<String>> =
        EXCEPTIONS.iter().map(|(room, _)| ((*room).to_owned(), Vec::new())).collect();
    for path in ["src", "commands", "tests", "benches"].iter().flat_map(|folder| files(folder, &["rs"])) {
        let shown = path.strip_prefix(root()).unwrap_or(&path).display();
        let found = found.entry(room(&path)).or_default();
        let source = read(&path);
        let mut marker_before = None;
        for (index, line) in source.lines().enumerate() {
            let (marker, text) = comment(line).unzip();
            let first = text.and_then(|text| text.split(|c: char| !c.is_alphanumeric()).next());
            if marker != marker_before && first.is_some_and(|word| RIDDLES.contains(&word)) {
                found.push(format!("{shown}:{}: {}", index + 1, line.trim()));
            }
            marker_before = marker;
        }
    }
    for (room, comments) in found {
        let allowed = EXCEPTIONS.iter().find(|(name, _)| *name == room).map_or(0, |(_, count)| *count);
        assert!(
            comments.len() <= allowed,
            "{room} may have {allowed} of these; begin with the thing itself, or with a verb:\n{}",
            comments.join("\n")
        );
        assert_eq!(comments.len(), allowed, "{room} has fewer: lower its number in EXCEPTIONS");
    }
}
