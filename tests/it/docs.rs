//! The manual: pages that are made from the code are up to date, links resolve, and snippets work.

mod console;
pub(crate) mod pages;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every page, from the root of the project.
fn pages() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"].map(PathBuf::from).into();
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).expect("a folder of the manual") {
            let path = folder.join(entry.expect("an entry").file_name());
            if root().join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(page: &Path) -> String {
    fs::read_to_string(root().join(page)).expect("a page can be read")
}

/// The fenced blocks of one language, without the indentation of the list that they stand in.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(opened) = line.trim_start().strip_prefix("```") else { continue };
        let indent = line.len() - line.trim_start().len();
        let block: Vec<&str> = lines
            .by_ref()
            .take_while(|line| line.trim() != "```")
            .map(|l| l.get(indent..).unwrap_or(""))
            .collect();
        if opened == language {
            found.push(block.join("\n") + "\n");
        }
    }
    found
}

/// Returns the allowed anchors of a link: headings as renderers spell them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            let kept = words.chars().filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-');
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

/// The targets of a page's links, those of code left out.
fn links(text: &str) -> Vec<String> {
    let link = regex::Regex::new(r"\]\(([^()\s]+)\)").expect("a pattern");
    let mut inside = false;
    let prose = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    });
    prose
        .flat_map(|line| link.captures_iter(line).map(|found| found[1].to_owned()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = read(&page);
        for target in links(&text).into_iter().filter(|target| !target.starts_with("http")) {
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let at = if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
            let is_there =
                root().join(&at).is_file() && (anchor.is_empty() || anchors(&read(&at)).contains(anchor));
            // The book is made of `docs` alone.
            let leaves = page.starts_with("docs")
                && fs::canonicalize(root().join(&at)).is_ok_and(|at| !at.starts_with(root().join("docs")));
            if !is_there || leaves {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert_eq!(broken, [] as [String; 0]);
}

#[test]
fn the_summary_names_every_page_once() {
    let named: Vec<String> = links(&read(Path::new("docs/SUMMARY.md")));
    let unique: BTreeSet<&String> = named.iter().collect();
    assert_eq!(unique.len(), named.len(), "a page is named twice");
    for page in pages() {
        let Ok(page) = page.strip_prefix("docs") else { continue };
        let is_named = unique.contains(&page.display().to_string());
        assert!(is_named || page == Path::new("SUMMARY.md"), "{} is not in SUMMARY.md", page.display());
    }
}

#[test]
fn what_is_read_first_is_short() {
    for (page, most) in [("README.md", 200), ("CHANGELOG.md", 60)] {
        let lines = read(Path::new(page)).lines().count();
        assert!(lines <= most, "{page} has {lines} lines; at most {most}");
    }
}

/// Each block stands for a whole file: a reader who copies it gets a correct one.
#[test]
fn herder_takes_every_configuration_that_is_shown() {
    let file = regex::Regex::new(r#"file = "([^"/]+)""#).expect("a pattern");
    let variable = regex::Regex::new(r#"env = "([^"]+)""#).expect("a pattern");
    let mut count = 0;
    for page in pages() {
        // Keys lie beside the file here.
        for block in blocks(&read(&page).replace("/etc/herder/", ""), "toml") {
            let folder = tempfile::tempdir().expect("a folder");
            for found in file.captures_iter(&block) {
                let secret = folder.path().join(&found[1]);
                fs::write(&secret, "whsec_YS1zZWNyZXQtb2YtdGhlLW1hbnVhbC1pdHNlbGY=").expect("written");
                fs::set_permissions(secret, fs::Permissions::from_mode(0o600)).expect("its mode is set");
            }
            fs::write(folder.path().join("bot.toml"), &block).expect("written");
            let mut herder = Command::new(env!("CARGO_BIN_EXE_herder"));
            herder.args(["check", "--offline"]).current_dir(folder.path());
            for found in variable.captures_iter(&block) {
                herder.env(&found[1], "not-a-real-secret");
            }
            let output = herder.output().expect("herder runs");
            let complaint = String::from_utf8_lossy(&output.stdout);
            assert_ne!(output.status.code(), Some(78), "{}:\n{block}\n{complaint}", page.display());
            count += 1;
        }
    }
    assert!(count >= 15, "{count} configurations were found");
}
