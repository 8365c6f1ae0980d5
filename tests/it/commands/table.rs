//! The table of commands itself.

use std::collections::BTreeSet;

use herder::commands::{COMMANDS, Strictness, Verb};
use herder::core::role::Role;
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
