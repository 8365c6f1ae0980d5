//! The files of a diff whose changes are read as text.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::File;

/// The files whose changes are wanted as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Selection {
    /// None: the names and counts are enough.
    Nothing,
    /// All but those that are folded.
    Unfolded,
    /// The one that a name means.
    Named(String),
    /// All, also those that are folded.
    #[cfg(test)]
    All,
}

/// The files that a name may mean.
pub(crate) enum Meant {
    /// This one.
    One(usize),
    /// One of these.
    Several(Vec<usize>),
    /// There is no such file.
    Nothing,
}

impl Selection {
    /// Returns the indices of the files.
    pub(super) fn among(&self, files: &[File]) -> BTreeSet<usize> {
        match self {
            Self::Nothing => BTreeSet::new(),
            Self::Unfolded => {
                files.iter().enumerate().filter(|(_, file)| file.fold.is_none()).map(|(at, _)| at).collect()
            }
            #[cfg(test)]
            Self::All => (0..files.len()).collect(),
            Self::Named(name) => match meant(files, name) {
                Meant::One(file) => BTreeSet::from([file]),
                Meant::Several(_) | Meant::Nothing => BTreeSet::new(),
            },
        }
    }
}

/// Finds the file that a name means: its own name comes first, then the last part of one, then its beginning.
pub(crate) fn meant(files: &[File], name: &str) -> Meant {
    let ends = format!("/{name}");
    let tests: [&dyn Fn(&str) -> bool; 4] =
        [&|file| file == name, &|file| file.ends_with(&ends), &|file| file.starts_with(name), &|file| {
            file.rsplit('/').next().is_some_and(|last| last.starts_with(name))
        }];
    for test in tests {
        // A name that a file has now comes before one that another had.
        let names: [&dyn Fn(&File) -> bool; 2] =
            [&|file| test(&file.name()), &|file| file.from().is_some_and(|from| test(&from))];
        for fits in names {
            let found: Vec<usize> =
                files.iter().enumerate().filter(|(_, file)| fits(file)).map(|(at, _)| at).collect();
            match found.as_slice() {
                [] => {}
                [one] => return Meant::One(*one),
                _ => return Meant::Several(found),
            }
        }
    }
    Meant::Nothing
}
