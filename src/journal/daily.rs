//! Daily exports: one file a day, of which seven complete ones are kept, and a copy of the newest elsewhere.
//!
//! An incomplete export is named `<date>-lacking.jsonl.gz` and never displaces a complete one: only complete ones do.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::core::time::Timestamp;

use super::export::{self, Exported, unfinished};
use super::handle::Journal;
use super::retention::blocking;
use super::store::Paths;
use super::{ExportError, disk, room};

const SUFFIX: &str = ".jsonl.gz";
const LACKING: &str = "-lacking.jsonl.gz";

/// Number of complete daily exports that are kept.
const KEEP: usize = 7;

/// Number of incomplete daily exports that are kept besides: the newest, and one in case that is damaged.
const KEEP_LACKING: usize = 2;

/// Parses the name of a daily export into its date and whether it is complete. Other files in the folder belong to
/// people: they do not count, and are not removed.
fn read_name(name: &str) -> Option<(&str, bool)> {
    let (date, whole) = match name.strip_suffix(LACKING) {
        Some(date) => (date, false),
        None => (name.strip_suffix(SUFFIX)?, true),
    };
    let parsed: jiff::civil::Date = date.parse().ok()?;
    (parsed.to_string() == date).then_some((date, whole))
}

/// A daily export that is kept in its folder.
#[derive(Debug, Clone)]
struct Kept {
    path: PathBuf,
    date: String,
    whole: bool,
}

/// Returns the daily exports in a folder, oldest first; empty if there is no folder.
fn kept(dir: &Path) -> Vec<Kept> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut kept: Vec<Kept> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let (date, whole) = read_name(path.file_name()?.to_str()?)?;
            let date = date.to_owned();
            Some(Kept { path, date, whole })
        })
        .collect();
    kept.sort_by(|a, b| (&a.date, a.whole).cmp(&(&b.date, b.whole)));
    kept
}

/// Returns the newest daily export in a folder.
pub(super) fn newest(dir: &Path) -> Option<PathBuf> {
    kept(dir).pop().map(|kept| kept.path)
}

/// Writes today's export, unless it exists or there is no room.
pub(super) async fn write(journal: &Journal, at: Timestamp) -> Result<Option<Exported>, ExportError> {
    let date = jiff::Timestamp::from_millisecond(at.as_millis())
        .map(|at| at.strftime("%Y-%m-%d").to_string())
        .unwrap_or_default();
    let exports = journal.paths().exports();
    let (whole, lacking) =
        (exports.join(format!("{date}{SUFFIX}")), exports.join(format!("{date}{LACKING}")));
    let (paths, today) = (journal.paths().clone(), date.clone());
    let keep_free = journal.settings().history.warn_free;
    if !blocking(move || make_room(&paths, &today, keep_free)).await? {
        return Ok(None);
    }
    // First under the name of an incomplete one: a herder that is killed in between leaves a complete export that
    // counts as incomplete, not the reverse.
    let mut exported = export::unlocked(journal, &lacking, at).await?;
    if exported.lacks.is_empty() {
        exported.file.clone_from(&whole);
    }
    let name = exported.file.clone();
    blocking(move || {
        let io = |source| ExportError::Io { file: name.clone(), source };
        if name != lacking {
            fs::rename(&lacking, &name).and_then(|()| disk::sync_dir(&exports)).map_err(io)?;
        }
        rotate(&exports).map_err(io)
    })
    .await?;
    Ok(Some(exported))
}

/// Copies the newest daily export to the folder `to`, unless it is there. The folder is not created: it may be the
/// mount point of a disk that is not mounted.
pub(super) fn copy(paths: &Paths, to: &Path) -> Result<(), ExportError> {
    let Some(newest) = newest(&paths.exports()) else { return Ok(()) };
    let name = newest.file_name().unwrap_or_default();
    let (target, tmp) = (to.join(name), to.join(unfinished(&name.to_string_lossy())));
    if target.exists() {
        return Ok(());
    }
    let copied = (|| {
        let mut out = export::private_file(&tmp)?;
        io::copy(&mut File::open(&newest)?, &mut out)?;
        out.sync_all()?;
        fs::rename(&tmp, &target)?;
        disk::sync_dir(to)?;
        rotate(to)
    })();
    copied.map_err(|source| {
        // It may not exist.
        let _ = fs::remove_file(&tmp);
        ExportError::Io { file: target, source }
    })
}

/// Removes daily exports beyond the numbers that are kept.
fn rotate(dir: &Path) -> io::Result<()> {
    for old in surplus(kept(dir)) {
        fs::remove_file(old)?;
    }
    Ok(())
}

/// Returns the daily exports to remove: of the complete ones the oldest beyond [`KEEP`]; of the others those that a
/// complete one follows, and the oldest.
fn surplus(kept: Vec<Kept>) -> Vec<PathBuf> {
    let last_whole = kept.iter().rposition(|kept| kept.whole);
    let (mut whole, mut lacking, mut gone) = (Vec::new(), Vec::new(), Vec::new());
    for (n, Kept { path, whole: is_whole, .. }) in kept.into_iter().enumerate() {
        match is_whole {
            true => whole.push(path),
            false if last_whole.is_some_and(|last| n < last) => gone.push(path),
            false => lacking.push(path),
        }
    }
    gone.extend(whole.drain(..whole.len().saturating_sub(KEEP)));
    gone.extend(lacking.drain(..lacking.len().saturating_sub(KEEP_LACKING)));
    gone
}

/// Returns true if today's export has to be written, after making room for it. The oldest exports are removed for
/// that, but never the newest, nor the newest complete one.
fn make_room(paths: &Paths, today: &str, keep_free: u64) -> Result<bool, ExportError> {
    let dir = paths.exports();
    let io = |file: &Path| {
        let file = file.to_owned();
        move |source| ExportError::Io { file, source }
    };
    disk::private_dir(&dir).and_then(|()| disk::sync_dir(&paths.dir)).map_err(io(&dir))?;
    let dailies = kept(&dir);
    if dailies.iter().any(|daily| daily.date == today) {
        return Ok(false);
    }
    // Removes unfinished files of a killed herder.
    let entries = fs::read_dir(&dir).map_err(io(&dir))?;
    for part in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = part.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let of = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
        if of.is_some_and(|of| read_name(of).is_some() && unfinished(of) == name) {
            fs::remove_file(&part).map_err(io(&part))?;
        }
    }
    let size = |daily: &Kept| daily.path.metadata().map_or(0, |metadata| metadata.len());
    let last_whole = dailies.iter().rposition(|daily| daily.whole);
    let may_go: Vec<&Kept> = dailies
        .iter()
        .enumerate()
        .filter(|(n, _)| Some(*n) != last_whole && *n + 1 != dailies.len())
        .map(|(_, daily)| daily)
        .collect();
    let sizes: Vec<u64> = may_go.iter().map(|daily| size(daily)).collect();
    let needed = room::of_export(paths, dailies.last().map(size));
    let gone = room::to_go(&sizes, needed, room::free(&dir), keep_free).map_err(ExportError::NoRoom)?;
    for old in &may_go[..gone] {
        fs::remove_file(&old.path).map_err(io(&old.path))?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_that_lacks_something_displaces_no_whole_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let days = |whole: &str| -> Vec<String> {
            let make = |(n, kind)| {
                let suffix = if kind == 'w' { SUFFIX } else { LACKING };
                fs::write(dir.path().join(format!("2026-11-{:02}{suffix}", n + 1)), "").expect("writes");
                rotate(dir.path()).expect("rotates");
            };
            whole.chars().enumerate().for_each(make);
            let left = kept(dir.path());
            for it in &left {
                fs::remove_file(&it.path).expect("removes");
            }
            left.iter().map(|it| format!("{}{}", &it.date[8..], if it.whole { "" } else { "-" })).collect()
        };
        assert_eq!(days("wwwwwwwww"), ["03", "04", "05", "06", "07", "08", "09"]);
        assert_eq!(days("wllllllllllllll"), ["01", "14-", "15-"]);
        assert_eq!(days("wwlllw"), ["01", "02", "06"], "a whole one replaces those that lack something");
        assert_eq!(days("lll"), ["02-", "03-"]);
    }
}
