//! The files of a clone as a tree: those of its last commit, with the changes that are not committed.
//!
//! Which files have changed is git's answer, by the clone's own index, as a look at all contents of a large repository
//! takes too long. Their contents are read here, through no link: a folder that becomes a link while git reads it would
//! show a file from elsewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::checkout::{Checkouts, READS, unusable};
use super::super::files::{self, Content};
use super::super::{Call, words};
use super::{Change, File, Scratch};
use crate::core::detail::Detail;

/// Maximum number of new files that are looked at: a folder of packages that nobody ignores has tens of thousands.
const NEW_MAX: usize = 2000;

/// Maximum size of one file that is read, in bytes.
const FILE_MAX: u64 = 4 * 1024 * 1024;

/// Maximum size of all files that are read, in bytes.
const ALL_MAX: u64 = 64 * 1024 * 1024;

/// Mode of another repository in a tree.
const SUBMODULE: &str = "160000";

/// The tree of a clone's files.
pub(super) struct Snapshot {
    /// Name of the tree.
    pub(super) tree: String,
    /// Names of the files that differ from the last commit.
    pub(super) names: BTreeSet<Vec<u8>>,
    /// Names of the files that are not read: they are in the tree as they were committed.
    unread: BTreeSet<Vec<u8>>,
    /// Names of new folders that are repositories themselves.
    nested: BTreeSet<Vec<u8>>,
    /// Number of new files that were left out.
    pub(super) left_out: usize,
}

/// A file that differs from the last commit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Differing {
    name: Vec<u8>,
    is_new: bool,
    /// The index's entry if that is another repository.
    submodule: Option<String>,
}

/// The entry of a file in the tree.
enum Taken {
    /// The file is gone.
    Gone,
    /// A copy with this mode, of this number.
    Copy(&'static str, usize),
    /// Another repository at this commit.
    Submodule(String),
    /// The file is too large or may not be read.
    Unread,
}

impl Snapshot {
    /// Returns the tree of a commit, without a clone.
    pub(super) fn of_commit(commit: &str) -> Self {
        Self {
            tree: commit.to_owned(),
            names: BTreeSet::new(),
            unread: BTreeSet::new(),
            nested: BTreeSet::new(),
            left_out: 0,
        }
    }

    /// Marks the files that are not committed, and adds those that are in no tree.
    pub(super) fn mark(&self, files: &mut Vec<File>) {
        for file in files.iter_mut() {
            let is_listed = |name: &Vec<u8>| self.names.contains(name);
            file.is_uncommitted = is_listed(&file.name) || file.from.as_ref().is_some_and(is_listed);
        }
        for name in &self.unread {
            let at = files.iter().position(|file| file.name == *name);
            let at = at.unwrap_or_else(|| {
                let file = File::new(name.clone(), Change::Modified);
                files.push(File { is_only_listed: true, ..file });
                files.len() - 1
            });
            let file = &mut files[at];
            (file.is_unread, file.is_uncommitted, file.lines) = (true, true, None);
        }
        for name in &self.nested {
            let file = File::new(name.clone(), Change::Added);
            files.push(File { is_submodule: true, is_uncommitted: true, is_only_listed: true, ..file });
        }
    }

    /// Adds the files that a commit changes and that are, uncommitted, as they were before.
    pub(super) fn undone(&self, files: &mut Vec<File>, committed: &[File]) {
        let seen: BTreeSet<&[u8]> = files
            .iter()
            .flat_map(|file| [Some(file.name.as_slice()), file.from.as_deref()])
            .flatten()
            .collect();
        let names = committed.iter().flat_map(|file| [Some(&file.name), file.from.as_ref()]).flatten();
        let undone: BTreeSet<&Vec<u8>> =
            names.filter(|name| self.names.contains(*name) && !seen.contains(name.as_slice())).collect();
        files.extend(undone.into_iter().map(|name| {
            let file = File::new(name.clone(), Change::Modified);
            File { is_undone: true, is_uncommitted: true, ..file }
        }));
    }
}

impl Checkouts {
    /// Returns the tree of the clone `top`, whose last commit is `head`.
    pub(super) async fn snapshot(
        &self,
        scratch: &Scratch,
        top: &Path,
        head: &str,
    ) -> Result<Snapshot, Detail> {
        // The index is of no use without a difference, and takes no time beside the other command.
        let (differing, read) =
            tokio::join!(self.differing(scratch, top), self.read_tree(scratch, head, &scratch.files));
        let (differing, ()) = (differing?, read?);
        let mut snapshot = Snapshot::of_commit(head);
        let (nested, mut differing): (Vec<_>, Vec<_>) =
            differing.into_iter().partition(|differing| differing.name.ends_with(b"/"));
        snapshot.nested = nested.into_iter().map(|nested| nested.name).collect();
        let new = differing.iter().filter(|differing| differing.is_new).count();
        if let Some(surplus @ 1..) = new.checked_sub(NEW_MAX) {
            let mut kept = 0;
            differing.retain(|differing| {
                kept += usize::from(differing.is_new);
                !differing.is_new || kept <= NEW_MAX
            });
            snapshot.left_out = surplus;
        }
        snapshot.names = differing.iter().map(|differing| differing.name.clone()).collect();
        snapshot.names.extend(snapshot.nested.iter().cloned());
        if differing.is_empty() {
            return Ok(snapshot);
        }
        let copies = scratch.copies.clone();
        let copied = self.at(top, move |top| copy_all(top, &copies, differing)).await?;
        let taken = copied.map_err(|error| unusable(top, &error))?;
        let copies = taken.iter().filter(|(_, taken)| matches!(taken, Taken::Copy(..))).count();
        let mut objects = Vec::new();
        if copies > 0 {
            let list: String = (0..copies).map(|number| format!("{number}\n")).collect();
            let hash = words(&["hash-object", "-w", "--no-filters", "--stdin-paths"]);
            let said = self.ask_on(scratch, &scratch.files, &hash, list.as_bytes()).await?;
            objects = String::from_utf8_lossy(&said).lines().map(str::to_owned).collect();
        }
        let nothing = "0".repeat(head.len());
        let (mut gone, mut there) = (Vec::new(), Vec::new());
        for (name, taken) in taken {
            let (list, mode, object) = match taken {
                Taken::Gone => (&mut gone, "0", nothing.as_str()),
                Taken::Copy(mode, number) => {
                    (&mut there, mode, objects.get(number).map_or(nothing.as_str(), String::as_str))
                }
                Taken::Submodule(ref commit) => (&mut there, SUBMODULE, commit.as_str()),
                Taken::Unread => {
                    snapshot.unread.insert(name);
                    continue;
                }
            };
            list.extend_from_slice(format!("{mode} {object}\t").as_bytes());
            list.extend_from_slice(&name);
            list.push(0);
        }
        // A file that has become a folder is removed before those in it are added.
        gone.extend_from_slice(&there);
        if !gone.is_empty() {
            let update = words(&["update-index", "-z", "--index-info"]);
            self.ask_on(scratch, &scratch.files, &update, &gone).await?;
            let write = words(&["write-tree", "--missing-ok"]);
            let tree = self.ask_on(scratch, &scratch.files, &write, &[]).await?;
            snapshot.tree = String::from_utf8_lossy(&tree).trim().to_owned();
        }
        Ok(snapshot)
    }

    /// Returns the files of a clone that differ from its last commit.
    async fn differing(&self, scratch: &Scratch, top: &Path) -> Result<Vec<Differing>, Detail> {
        let index = top.join(".git/index");
        let env =
            [("GIT_DIR", scratch.mirror.path()), ("GIT_WORK_TREE", top), ("GIT_INDEX_FILE", index.as_path())];
        let status = words(&[
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--ignore-submodules=all",
            "--no-renames",
        ]);
        let call = Call { folder: top, words: &status, own: &env, input: &[], local: false };
        Ok(read(&self.git().ask(call, READS).await?))
    }
}

/// Parses the output of `git status --porcelain=v2 -z --no-renames`.
pub(super) fn read(status: &[u8]) -> Vec<Differing> {
    let mut all = Vec::new();
    for entry in status.split(|byte| *byte == 0) {
        // The fields before the name: those of an ordinary, an unmerged and a new file.
        let fields = match entry.first() {
            Some(b'1') => 9,
            Some(b'u') => 11,
            Some(b'?') => 2,
            _ => continue,
        };
        let pieces: Vec<&[u8]> = entry.splitn(fields, |byte| *byte == b' ').collect();
        let (Some(name), true) = (pieces.last(), pieces.len() == fields) else { continue };
        let field = |at: usize| pieces.get(at).map(|field| String::from_utf8_lossy(field).into_owned());
        let of_index = field(4).filter(|mode| fields == 9 && mode == SUBMODULE);
        all.push(Differing {
            name: name.to_vec(),
            is_new: fields == 2,
            submodule: of_index.and_then(|_| field(7)),
        });
    }
    all
}

/// Copies the files into a folder, where they are named by numbers.
fn copy_all(top: &Path, copies: &Path, differing: Vec<Differing>) -> std::io::Result<Vec<(Vec<u8>, Taken)>> {
    let (top, mut left, mut number) = (files::folder(top)?, ALL_MAX, 0);
    let mut all = Vec::new();
    for Differing { name, submodule, .. } in differing {
        if let Some(commit) = submodule {
            all.push((name, Taken::Submodule(commit)));
            continue;
        }
        let taken = match files::read(&top, &name, FILE_MAX.min(left))? {
            Content::None => Taken::Gone,
            Content::Unread => Taken::Unread,
            Content::Of { mode, bytes } => {
                left = left.saturating_sub(bytes.len() as u64);
                let copy: PathBuf = copies.join(number.to_string());
                fs::write(copy, bytes)?;
                number += 1;
                Taken::Copy(mode, number - 1)
            }
        };
        all.push((name, taken));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_differ_are_read_whatever_their_names_are() {
        let status = b"1 .M N... 100644 100644 100644 aa bb a name\nof two lines\0? new \xff\0? nested/\0\
            u UU N... 100644 100644 100644 100644 a b c both\0\
            1 A. S... 000000 160000 160000 00 cc sub\0! ignored\0# head\0";
        let differing = |name: &[u8], is_new, submodule: Option<&str>| Differing {
            name: name.to_vec(),
            is_new,
            submodule: submodule.map(str::to_owned),
        };
        assert_eq!(
            read(status),
            [
                differing(b"a name\nof two lines", false, None),
                differing(b"new \xff", true, None),
                differing(b"nested/", true, None),
                differing(b"both", false, None),
                differing(b"sub", false, Some("cc")),
            ]
        );
    }
}
