//! Parsing of the output of git about two trees: the list of files, and the text of each.

use std::collections::BTreeSet;

use super::{Change, File, Fold};

/// Mode of another repository in a tree.
const SUBMODULE: &str = "160000";

/// First words of each file's part of a diff's text. Lines of content begin with a mark of their own.
const HEAD: &[u8] = b"diff --git ";

/// Parses the output of `git diff-tree --raw --numstat -z`.
pub(super) fn files(said: &[u8]) -> Vec<File> {
    let mut pieces = said.split(|byte| *byte == 0).peekable();
    let mut files = Vec::new();
    while let Some(raw) = pieces.next_if(|piece| piece.starts_with(b":")) {
        let raw = String::from_utf8_lossy(raw);
        let fields: Vec<&str> = raw.trim_start_matches(':').split(' ').collect();
        let [before, after, _, _, letter] = fields.as_slice() else { break };
        let change = match letter.as_bytes().first() {
            Some(b'A') => Change::Added,
            Some(b'D') => Change::Removed,
            Some(b'R' | b'C') => Change::Renamed,
            Some(b'T') => Change::Type,
            _ => Change::Modified,
        };
        let from = match change {
            Change::Renamed => pieces.next().map(<[u8]>::to_vec),
            Change::Added | Change::Removed | Change::Modified | Change::Type => None,
        };
        let Some(name) = pieces.next() else { break };
        let mut file = File::new(name.to_vec(), change);
        file.from = from;
        file.is_submodule = [*before, *after].contains(&SUBMODULE);
        let is_another = before != after && matches!(change, Change::Modified | Change::Renamed);
        file.modes = is_another.then(|| ((*before).to_owned(), (*after).to_owned()));
        files.push(file);
    }
    for file in &mut files {
        let Some(counts) = pieces.next() else { break };
        let counts = String::from_utf8_lossy(counts).into_owned();
        let fields: Vec<&str> = counts.splitn(3, '\t').collect();
        let [added, removed, name] = fields.as_slice() else { break };
        if name.is_empty() {
            // A renamed file: both names follow.
            let _ = (pieces.next(), pieces.next());
        }
        if !file.is_submodule {
            file.lines = added.parse().ok().zip(removed.parse().ok());
        }
    }
    files
}

/// Parses the output of `git check-attr -z` for one attribute: for each file whether it is set, in their order.
pub(super) fn generated(said: &[u8]) -> Vec<Option<bool>> {
    let fields: Vec<&[u8]> = said.split(|byte| *byte == 0).collect();
    let values = fields.chunks_exact(3).map(|field| match field[2] {
        b"set" | b"true" => Some(true),
        b"unset" | b"false" => Some(false),
        _ => None,
    });
    values.collect()
}

/// Returns git attributes by which only the chosen files have a text, and those whatever the base says of them.
pub(super) fn attributes(files: &[File], chosen: &BTreeSet<usize>) -> Vec<u8> {
    let mut text = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let attribute: &[u8] = match (chosen.contains(&at), file.is_binary()) {
            (true, false) => continue,
            (true, true) => b" !diff\n",
            (false, _) => b" -diff\n",
        };
        for name in std::iter::once(&file.name).chain(&file.from) {
            text.extend_from_slice(&pattern(name));
            text.extend_from_slice(attribute);
        }
    }
    text
}

/// Returns the pattern of exactly one file, in the quotes of git.
fn pattern(name: &[u8]) -> Vec<u8> {
    let mut pattern = b"\"/".to_vec();
    for byte in name {
        match byte {
            b'*' | b'?' | b'[' => pattern.extend_from_slice(&[b'\\', b'\\', *byte]),
            b'\\' => pattern.extend_from_slice(b"\\\\\\\\"),
            b'"' => pattern.extend_from_slice(b"\\\""),
            0..=b' ' | 0x7f.. => pattern.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            byte => pattern.push(*byte),
        }
    }
    pattern.push(b'"');
    pattern
}

/// Gives the chosen files their part of a diff's text. If that is cut, the files for which there is no room are folded,
/// but for one that is asked for alone: it ends with a mark.
pub(super) fn give_patches(files: &mut [File], chosen: &BTreeSet<usize>, text: &[u8], cut: bool) {
    let is_alone = chosen.len() == 1;
    let mut parts = sections(text);
    if cut && !is_alone {
        parts.pop();
    }
    let mut parts = parts.into_iter();
    let in_trees = files.iter_mut().enumerate().filter(|(_, file)| file.is_in_trees());
    for (at, file) in in_trees {
        // A file that becomes a link is removed and added.
        let count = if file.change == Change::Type { 2 } else { 1 };
        let own: Vec<&[u8]> = parts.by_ref().take(count).collect();
        if chosen.contains(&at) && own.len() == count {
            let mut patch = String::from_utf8_lossy(&own.concat()).into_owned();
            if cut && is_alone {
                patch.push_str("\n…\n");
            }
            file.patch = Some(patch);
        } else if cut && chosen.contains(&at) {
            file.fold = Some(Fold::Long);
        }
    }
}

/// Splits the text of a diff into the parts of its files.
fn sections(text: &[u8]) -> Vec<&[u8]> {
    let mut begins = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(HEAD) {
            begins.push(at);
        }
        at += line.len();
    }
    let ends = begins.iter().skip(1).copied().chain([text.len()]);
    begins.iter().zip(ends).filter_map(|(begin, end)| text.get(*begin..end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_of_a_file_means_no_other_one() {
        for (name, expected) in [
            (&b"src/a b.rs"[..], &b"\"/src/a\\040b.rs\""[..]),
            (b"a*?[\\\"\n\xff", b"\"/a\\\\*\\\\?\\\\[\\\\\\\\\\\"\\012\\377\""),
        ] {
            assert_eq!(pattern(name), expected);
        }
    }
}
