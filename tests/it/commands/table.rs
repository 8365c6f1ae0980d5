//! The table of commands itself.

use std::collections::BTreeSet;

use herder::access::Role;
use herder::commands::{COMMANDS, Strictness, Verb};
use herder::l10n::Locale;

#[test]
fn the_table_of_commands_is_sound() {
    let mut names = BTreeSet::new();
    for command in COMMANDS {
        for name in std::iter::once(command.name).chain(command.aliases.iter().copied()) {
            assert!(names.insert(name), "{name} is there twice");
            assert_eq!(name, name.to_lowercase());
        }
        assert_eq!(herder::commands::command(command.verb), command);
        assert!(command.usage().starts_with(command.name));
        for locale in ["en-US", "de", "ja"] {
            let locale = Locale::load(locale).expect("a locale");
            assert!(locale.has(command.about), "{}", command.about);
        }
    }
    let steering = [Verb::Pause, Verb::Resume, Verb::Abort, Verb::Restart, Verb::StopAll, Verb::ResumeAll];
    for command in COMMANDS {
        let never = command.strictness == Strictness::Never;
        assert_eq!(never, steering.contains(&command.verb), "{}", command.name);
    }
    assert!(
        COMMANDS
            .iter()
            .all(|c| !c.name.starts_with("agent ") || matches!(c.role, Role::Admin | Role::Viewer))
    );
}

#[test]
fn the_readme_has_the_table_of_commands() {
    let readme = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let Ok(readme) = std::fs::read_to_string(readme) else { return };
    let (_, rest) =
        readme.split_once("<!-- commands -->\n").expect("README.md has the marker <!-- commands -->");
    let (table, _) =
        rest.split_once("<!-- /commands -->").expect("README.md has the marker <!-- /commands -->");
    let locale = Locale::load("en-US").expect("the source");
    assert_eq!(table.trim(), herder::commands::table_markdown(&locale).trim());
}
